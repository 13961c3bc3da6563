//! Calendar, alarms and timers as a model calls them.

use crate::support::Fixture;
use marvin_gate::Access;
use marvin_tools::Mode;
use serde_json::json;

fn chat() -> Fixture {
    Fixture::with(Mode::Assistant, &Access::Full, &[])
}

#[tokio::test]
async fn events_are_added_shown_and_deleted() {
    let fixture = chat();
    assert_eq!(fixture.good("calendar_list_upcoming", json!({})).await, "No events in the next 7 days.");
    let day = (jiff::Timestamp::from_second(now() + 2 * 86_400).unwrap()).strftime("%Y-%m-%d").to_string();
    let start = format!("{day}T15:00Z");
    let added = fixture
        .good("calendar_add_event", json!({"title": "Dentist", "start": start, "location": "Main St 5"}))
        .await;
    assert!(added.starts_with("Added ") && added.contains("Dentist (Main St 5)"), "{added}");
    fixture.good("calendar_add_event", json!({"title": "Dentist again", "start": day})).await;
    for days in [0, -3, 100_000] {
        let text = fixture.bad("calendar_list_upcoming", json!({"days": days})).await;
        assert!(text.contains("it must be 1 to 3660 days"), "{text}");
    }
    let list = fixture.good("calendar_list_upcoming", json!({"days": 5})).await;
    assert_eq!(list.lines().count(), 2, "{list}");
    let (year, rest) = day.split_once('-').unwrap();
    let (month, _) = rest.split_once('-').unwrap();
    let (year, month): (i64, i64) = (year.parse().unwrap(), month.parse().unwrap());
    let view = fixture.good("calendar_view", json!({"month": month, "year": year})).await;
    assert!(view.contains("Mon  Tue  Wed") && view.contains("Dentist again"), "{view}");
    let question = fixture.bad("calendar_delete_event", json!({"title": "dentist"})).await;
    assert!(question.contains("2 events match") && question.contains("uid "), "{question}");
    fixture.good("calendar_delete_event", json!({"title": "again"})).await;
    fixture.good("calendar_delete_event", json!({"title": "dentist"})).await;
    for (tool, arguments) in [
        ("calendar_add_event", json!({"title": "x", "start": "tomorrow"})),
        ("calendar_add_event", json!({"title": "", "start": "2026-11-20"})),
        ("calendar_add_event", json!({"title": "x", "start": "2026-11-20T15:00", "end": "2026-11-20T14:00"})),
        ("calendar_delete_event", json!({})),
        ("calendar_delete_event", json!({"title": "dentist"})),
        ("calendar_view", json!({"month": 13})),
        ("calendar_view", json!({"month": 1, "year": 99_999_999})),
    ] {
        fixture.bad(tool, arguments).await;
    }
    let file = fixture.home.join(".config/marvin/profiles/default/calendar.ics");
    assert!(std::fs::read_to_string(file).unwrap().ends_with("END:VCALENDAR\r\n"));
}

fn now() -> i64 {
    marvin_base::clock::now().as_second()
}

#[tokio::test]
async fn a_calendar_of_another_program_is_kept() {
    let fixture = chat();
    let file = fixture.home.join(".config/marvin/profiles/default/calendar.ics");
    let foreign = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Other//EN\nX-COLOR;X-P=\"a:b\":red\nBEGIN:VTODO\nUID:t\nSUMMARY:Task\nEND:VTODO\nBEGIN:VEVENT\nUID:e\nSUMMARY:\\u001b[31m hostile\nDTSTART:20200101T000000Z\nX-APPLE-A;B=c:d\nBEGIN:VALARM\nTRIGGER:-PT5M\nACTION:DISPLAY\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n";
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, foreign).unwrap();
    fixture.good("calendar_add_event", json!({"title": "Mine", "start": "2026-11-20T15:00Z"})).await;
    fixture.good("calendar_delete_event", json!({"title": "Mine"})).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), foreign);
    std::fs::write(&file, foreign.as_bytes().get(..foreign.len() / 2).unwrap()).unwrap();
    let text = fixture.bad("calendar_list_upcoming", json!({})).await;
    assert!(text.contains("calendar.ics: line "), "{text}");
}

#[tokio::test]
async fn alarms_and_timers_are_set_listed_and_cancelled() {
    let fixture = chat();
    let set = fixture.good("set_alarm", json!({"time": "1h30m", "message": "Bread"})).await;
    assert!(set.starts_with("Alarm `local-finder-alarm` set for ") && set.contains("(in 1h 30m)"), "{set}");
    fixture.good("set_alarm", json!({"time": "23:59", "message": "Sleep", "label": "bed"})).await;
    let list = fixture.good("list_alarms", json!({})).await;
    assert!(list.contains("local-finder-alarm: Bread") && list.contains("bed: Sleep"), "{list}");
    fixture.good("cancel_alarm", json!({"label": "bed"})).await;
    let missing = fixture.bad("cancel_alarm", json!({"label": "bed"})).await;
    assert!(missing.contains("Alarms: local-finder-alarm"), "{missing}");
    for time in ["", "tomorrow", "7", "2020-01-01 10:00"] {
        fixture.bad("set_alarm", json!({"time": time, "message": "x"})).await;
    }
    fixture.good("timer_start", json!({"name": "pasta", "duration_seconds": 480})).await;
    fixture.good("timer_start", json!({"name": "run"})).await;
    fixture.bad("timer_start", json!({"name": "pasta", "duration_seconds": 5})).await;
    let check = fixture.good("timer_check", json!({})).await;
    assert!(check.contains("pasta: ") && check.contains("run: stopwatch"), "{check}");
    fixture.good("timer_stop", json!({"name": "run"})).await;
    fixture.bad("timer_check", json!({"name": "run"})).await;
    fixture.bad("timer_stop", json!({"name": "run"})).await;
}
