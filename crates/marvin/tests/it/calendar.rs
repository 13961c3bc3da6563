//! Calendar, alarms, timers and topics: real processes, kills, several writers, and another program's parser.

use crate::support::{Marvin, World, json_file, put, until};
use marvin_testing::skip;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The program without a scheduler of its own.
fn alone(world: &World, words: &[&str]) -> Marvin {
    world.marvin(words).env("MARVIN_ALARMS_SCHEDULER", "off").env("TZ", "Europe/Berlin")
}

fn calendar(world: &World) -> PathBuf {
    world.user().join("profiles/default/calendar.ics")
}

fn alarms(world: &World) -> PathBuf {
    world.home().join(".local/state/marvin/alarms/alarms.json")
}

#[test]
fn events_are_added_listed_removed_and_moved() {
    let world = World::new();
    let run = |words: &[&str]| alone(&world, words).run().exits(0).quiet().text().to_string();
    assert_eq!(run(&["calendar", "list"]), "No events in the next 7 days.\n");
    let added = run(&["calendar", "add", "Dentist", "2030-11-20T15:00", "--location", "Main St 5"]);
    assert!(added.starts_with("Added 2030-11-20 15:00–16:00  Dentist (Main St 5)  [uid "), "{added}");
    run(&["calendar", "add", "Dentist, again", "2030-11-22", "2030-11-23"]);
    run(&["calendar", "add", "Choir", "2030-11-05T19:00", "--repeat", "freq=weekly;count=2"]);
    let view = run(&["calendar", "view", "11", "2030"]);
    assert_eq!(
        view.lines().collect::<Vec<_>>(),
        [
            "           November 2030",
            " Mon  Tue  Wed  Thu  Fri  Sat  Sun",
            "                      1    2    3",
            "  4    5*   6    7    8    9   10",
            " 11   12*  13   14   15   16   17",
            " 18   19   20*  21   22*  23*  24",
            " 25   26   27   28   29   30",
            "",
            "2030-11-05 19:00–20:00  Choir (every week, 2 times)",
            "2030-11-12 19:00–20:00  Choir (every week, 2 times)",
            "2030-11-20 15:00–16:00  Dentist (Main St 5)",
            "2030-11-22 to 2030-11-23 all day  Dentist, again",
        ]
    );
    let exported = world.root().join("out.ics").display().to_string();
    run(&["calendar", "export", &exported]);
    let question = alone(&world, &["calendar", "remove", "dentist"]).run().exits(4);
    assert!(question.stderr.contains("2 events match `dentist`"), "{}", question.whole());
    let removed = run(&["calendar", "remove", "again"]);
    assert!(
        removed.starts_with("Removed 2030-11-22 to 2030-11-23 all day  Dentist, again (uid "),
        "{removed}"
    );
    assert_eq!(run(&["calendar", "import", &exported]), "1 added, 0 updated, 2 unchanged.\n");
    assert_eq!(run(&["calendar", "import", &exported]), "0 added, 0 updated, 3 unchanged.\n");
    alone(&world, &["calendar", "export", &exported]).run().exits(2);
    let absent = world.root().join("absent/x.ics").display().to_string();
    alone(&world, &["calendar", "export", &absent]).run().exits(2);
    assert!(!world.root().join("absent").exists(), "a mistyped directory is not created");
    let wrong = alone(&world, &["calendar", "add", "x", "tomorrow"]).run().exits(2);
    assert!(
        wrong.message().contains("not a day or time that exists; write `2026-11-20`"),
        "{}",
        wrong.whole()
    );
    alone(&world, &["calendar", "import", "-"]).input("not a calendar").run().exits(2);
    let large = world.root().join("large.ics");
    fs::File::create(&large).unwrap().set_len(33 << 20).unwrap();
    let directory = world.root().display().to_string();
    for source in ["/dev/zero", &directory, &large.display().to_string()] {
        let refused = alone(&world, &["calendar", "import", source]).run().exits(2);
        assert!(
            refused.message().contains(source) && refused.stderr.contains("hint: "),
            "{}",
            refused.whole()
        );
    }
    let zeros = alone(&world, &["calendar", "import", "-"]).input(vec![b'x'; 33 << 20]).run().exits(2);
    assert!(zeros.stderr.contains("hint: name an iCalendar file"), "{}", zeros.whole());
}

#[test]
fn another_programs_parser_reads_the_file() {
    let Some(python) = std::env::var_os("MARVIN_TEST_PYTHON") else {
        return skip("MARVIN_TEST_PYTHON is not set; `cargo xtask test` installs the parser");
    };
    let world = World::new();
    let add = |words: &[&str]| {
        alone(&world, &[&["calendar", "add"], words].concat()).run().exits(0);
    };
    let long = "Größe; \"quoted\", 日本語 and \\ back ".repeat(8);
    add(&[
        "Dentist",
        "2030-07-20T15:00",
        "2030-07-20T15:45",
        "--location",
        "Main St, 5; left",
        "--description",
        &long,
    ]);
    add(&["Fair", "2030-11-20", "2030-11-22"]);
    add(&["Call", "2030-11-20T09:00[America/New_York]", "--repeat", "FREQ=WEEKLY;COUNT=4"]);
    add(&["Moment", "2030-11-20T09:00Z"]);
    let script = r#"
import sys, json, icalendar
calendar = icalendar.Calendar.from_ical(open(sys.argv[1], 'rb').read())
rows = []
for event in calendar.walk('VEVENT'):
    start, end = event['DTSTART'].dt, event['DTEND'].dt
    rows.append([str(event['SUMMARY']), start.isoformat(), end.isoformat(), str(event.get('LOCATION', '')),
        str(event.get('DESCRIPTION', '')), event['RRULE'].to_ical().decode() if 'RRULE' in event else '',
        bool(event['UID']) and bool(event['DTSTAMP']) and bool(event['CREATED']), [str(e) for e in event.errors]])
zones = sorted(str(zone['TZID']) for zone in calendar.walk('VTIMEZONE'))
print(json.dumps({'rows': rows, 'zones': zones, 'errors': [str(e) for e in calendar.errors]}))
"#;
    let output = Command::new(PathBuf::from(python).join("bin/python3"))
        .args(["-c", script])
        .arg(calendar(&world))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let none: [&str; 0] = [];
    assert_eq!(
        read,
        serde_json::json!({
            "rows": [
                ["Dentist", "2030-07-20T15:00:00+02:00", "2030-07-20T15:45:00+02:00", "Main St, 5; left", long, "", true, none],
                ["Fair", "2030-11-20", "2030-11-23", "", "", "", true, none],
                ["Call", "2030-11-20T09:00:00-05:00", "2030-11-20T10:00:00-05:00", "", "", "FREQ=WEEKLY;COUNT=4", true, none],
                ["Moment", "2030-11-20T09:00:00+00:00", "2030-11-20T10:00:00+00:00", "", "", "", true, none],
            ],
            "zones": ["America/New_York", "Europe/Berlin"],
            "errors": none,
        })
    );
}

/// The SplitMix64 sequence: the same kills in every run of the test.
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How often each name stands in the files.
fn kept(world: &World) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    if let Ok(text) = fs::read_to_string(calendar(world)) {
        assert!(text.ends_with("END:VCALENDAR\r\n"), "torn: {text}");
        for line in text.lines().filter_map(|line| line.strip_prefix("SUMMARY:")) {
            *counts.entry(line.to_string()).or_default() += 1;
        }
    }
    if alarms(world).exists() {
        let state = json_file(&alarms(world));
        for (list, key) in [("alarms", "label"), ("timers", "name")] {
            for row in state[list].as_array().unwrap() {
                *counts.entry(row[key].as_str().unwrap().to_string()).or_default() += 1;
            }
        }
    }
    for (file, key) in [("bookmarks.json", "title"), ("profiles/default/saved_places.json", "label")] {
        let path = world.user().join(file);
        if path.exists() {
            for row in json_file(&path).as_array().unwrap() {
                *counts.entry(row[key].as_str().unwrap().to_string()).or_default() += 1;
            }
        }
    }
    let tokens = world.user().join("profiles/default/tokens.json");
    assert!(!tokens.exists() || json_file(&tokens).is_object());
    counts
}

/// Number of kinds of commands that keep something.
const KINDS: u64 = 6;

/// A command that keeps something under this name.
fn keep(world: &World, kind: u64, name: &str) -> Marvin {
    let call = |tool: &str, arguments: String| alone(world, &["tools", "call", tool, "--args", &arguments]);
    match kind {
        0 => alone(world, &["calendar", "add", name, "2030-01-01T10:00"]),
        1 => alone(world, &["alarms", "set", "23:59", "message", "--label", name]),
        2 => alone(world, &["alarms", "start-timer", name, "86400"]),
        3 => call("bookmark_save", format!(r#"{{"url": "https://example.org/{name}", "title": "{name}"}}"#)),
        4 => call("save_place", format!(r#"{{"label": "{name}", "address": "1 Long Road"}}"#)),
        // The beginning of a sign-in, which is kept until the person comes back with the code.
        _ => call("spotify_auth", "{}".into())
            .env("MARVIN_SPOTIFY_CLIENT_ID", "client")
            .env("MARVIN_TOOLS_PRIVATE", "allow"),
    }
}

#[test]
fn kills_lose_nothing_double_nothing_and_tear_nothing() {
    const KILLS: u64 = 100;
    let world = World::new();
    let mut acknowledged = Vec::new();
    // How long each command takes here, without a kill.
    let usual: Vec<u64> = (0..KINDS)
        .map(|kind| {
            let (name, begun) = (format!("first{kind}"), Instant::now());
            keep(&world, kind, &name).run().exits(0);
            acknowledged.extend((kind < KINDS - 1).then_some(name));
            u64::try_from(begun.elapsed().as_micros()).unwrap().max(1000)
        })
        .collect();
    let (mut killed, mut unknown) = (0, Vec::new());
    for number in 0..KILLS {
        let (name, kind) = (format!("n{number}"), number % KINDS);
        let running = keep(&world, kind, &name).start();
        let usual = usual[usize::try_from(kind).unwrap()];
        std::thread::sleep(Duration::from_micros(random(number) % (usual + usual / 4)));
        running.signal(Signal::KILL);
        let ended = running.end();
        if ended.code == Some(0) {
            acknowledged.extend((kind < KINDS - 1).then_some(name));
        } else {
            unknown.push(name);
        }
        killed += u64::from(ended.signal == Some(9));
        kept(&world);
    }
    assert!(killed > KILLS / 4, "only {killed} kills came in time");
    let counts = kept(&world);
    for name in &acknowledged {
        assert_eq!(counts.get(name), Some(&1), "{name}");
    }
    for name in &unknown {
        assert!(counts.get(name).is_none_or(|count| *count == 1), "{name}: {counts:?}");
    }
    // Nothing that a killed process left is in the way of the next.
    for kind in 0..KINDS {
        keep(&world, kind, &format!("last{kind}")).run().exits(0);
    }
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let world = World::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let world = &world;
            scope.spawn(move || {
                for number in 0..5 {
                    for kind in [0, 1, 3, 4] {
                        keep(world, kind, &format!("w{kind}-{writer}-{number}")).run().exits(0);
                    }
                }
            });
        }
    });
    let counts = kept(&world);
    assert_eq!(counts.len(), 80, "{counts:?}");
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}

/// A directory with a `notify-send` that writes down what it is told; gives the directory and the file.
fn desktop(world: &World) -> (String, PathBuf) {
    let (bin, told) = (world.root().join("bin"), world.root().join("told.txt"));
    let script = format!("#!/bin/sh\nprintf '%s|%s|%s\\n' \"$3\" \"$5\" \"$6\" >> '{}'\n", told.display());
    let program = put(&bin.join("notify-send"), &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    (format!("{}:{path}", bin.display()), told)
}

/// The program at a desktop, with its own scheduler process.
fn at_desktop(world: &World, path: &str, words: &[&str]) -> Marvin {
    let marvin = world.marvin(words).env("PATH", path).env("XDG_RUNTIME_DIR", world.root());
    marvin.env("MARVIN_ALARMS_SCHEDULER", "process")
}

fn told(file: &PathBuf) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_string).collect()
}

#[test]
fn wrong_arguments_of_the_calendar_are_refused() {
    let world = World::new();
    for days in ["0", "-3"] {
        world.marvin(["calendar", "list", &format!("--days={days}")]).run().exits(2);
    }
    let missing = world.marvin(["calendar", "import", "missing.ics"]).run().exits(2);
    assert!(missing.stderr.contains("hint: name an iCalendar file"), "{}", missing.stderr);
    let mixed = world.marvin(["calendar", "add", "Fair", "2030-11-20", "2030-11-20T14:00"]).run().exits(2);
    assert!(mixed.stderr.contains("hint: give start and end both as days"), "{}", mixed.stderr);
    alone(&world, &["calendar", "add", "Fair", "2030-11-20"]).run().exits(0);
    let whole = fs::read_to_string(calendar(&world)).unwrap();
    put(&calendar(&world), &whole.replace("END:VEVENT", ""));
    let damaged = world.marvin(["calendar", "list"]).run().exits(1);
    assert!(damaged.stderr.contains("hint: correct this line"), "{}", damaged.stderr);
}

#[test]
fn an_alarm_rings_after_the_program_ended() {
    let world = World::new();
    let (path, file) = desktop(&world);
    at_desktop(&world, &path, &["alarms", "set", "2s", "Tea is ready", "--label", "tea"])
        .run()
        .exits(0)
        .quiet();
    at_desktop(&world, &path, &["alarms", "start-timer", "egg", "1"]).run().exits(0).quiet();
    at_desktop(&world, &path, &["alarms", "set", "1h", "not yet", "--label", "late"]).run().exits(0).quiet();
    until("both rang", || told(&file).len() >= 2);
    let mut shown = told(&file);
    shown.sort();
    assert!(shown.iter().any(|line| line.ends_with("|Alarm: tea|Tea is ready")), "{shown:?}");
    assert!(shown.iter().any(|line| line.ends_with("|Timer: egg|1s are over")), "{shown:?}");
    // The scheduler ends when nothing waits any more.
    let lock = world.home().join(".local/state/marvin/alarms/scheduler.lock");
    let is_free = || fs::File::options().write(true).open(&lock).unwrap().try_lock().is_ok();
    assert!(!is_free(), "it waits for the last alarm");
    at_desktop(&world, &path, &["alarms", "cancel", "late"]).run().exits(0).quiet();
    until("the scheduler ended", is_free);
    assert_eq!(told(&file).len(), 2);
    let list = at_desktop(&world, &path, &["alarms", "list"]).run().exits(0).quiet();
    assert!(list.text().starts_with("egg: finished "), "{}", list.text());
}

#[test]
fn listing_alarms_starts_a_scheduler_that_is_gone() {
    let world = World::new();
    let (path, _) = desktop(&world);
    let set = at_desktop(&world, &path, &["alarms", "set", "1h", "two\nlines", "--label", "late"]);
    set.env("MARVIN_ALARMS_SCHEDULER", "off").run().exits(0);
    let lock = world.home().join(".local/state/marvin/alarms/scheduler.lock");
    assert!(!lock.exists(), "no scheduler was started");
    let list = at_desktop(&world, &path, &["alarms", "list"]).run().exits(0).quiet();
    assert!(list.text().trim_end().ends_with("late: two lines"), "{}", list.text());
    // The process ends with the directory of this test.
    until("the scheduler runs", || {
        fs::File::options().write(true).open(&lock).is_ok_and(|lock| lock.try_lock().is_err())
    });
}

#[test]
fn a_running_scheduler_follows_changed_settings() {
    let world = World::new();
    let (path, _) = desktop(&world);
    at_desktop(&world, &path, &["alarms", "set", "1h", "later", "--label", "late"]).run().exits(0).quiet();
    let lock = world.home().join(".local/state/marvin/alarms/scheduler.lock");
    until("the scheduler runs", || {
        fs::File::options().write(true).open(&lock).is_ok_and(|lock| lock.try_lock().is_err())
    });
    let config = "[notify]\nurl = \"http://127.0.0.1:9\"\n[alarms]\ntopic = \"my-phone\"\n";
    put(&world.home().join(".config/marvin/config.toml"), config);
    at_desktop(&world, &path, &["alarms", "set", "1s", "now"]).run().exits(0).quiet();
    // Nothing listens there: it is tried again later. The process ends with the directory of this test.
    until("it was tried", || json_file(&alarms(&world))["rings"][0]["ntfy"]["next"].is_string());
}

#[test]
fn a_killed_scheduler_loses_no_alarm_and_rings_none_twice() {
    const ALARMS: usize = 12;
    let world = World::new();
    let (path, file) = desktop(&world);
    for number in 0..ALARMS {
        let label = format!("a{number}");
        let seconds = format!("{}s", 2 + number / 4);
        let set = world.marvin(["alarms", "set", &seconds, "message", "--label", &label]);
        set.env("MARVIN_ALARMS_SCHEDULER", "off").run().exits(0);
    }
    let rings = || -> Vec<Value> { json_file(&alarms(&world))["rings"].as_array().unwrap().clone() };
    let done = || {
        let rings = rings();
        rings.len() == ALARMS && rings.iter().all(|ring| ring["desktop"]["state"] == "done")
    };
    let mut seed = 0;
    until("every alarm rang", || {
        seed += 1;
        // Two at once, as two front ends would start them.
        let running: Vec<_> = (0..2).map(|_| at_desktop(&world, &path, &["alarms", "run"]).start()).collect();
        std::thread::sleep(Duration::from_millis(100 + random(seed) % 1200));
        for one in running {
            one.signal(Signal::KILL);
            one.end();
        }
        done()
    });
    let rings = rings();
    let labels: std::collections::BTreeSet<&str> =
        rings.iter().map(|ring| ring["title"].as_str().unwrap()).collect();
    assert_eq!((rings.len(), labels.len()), (ALARMS, ALARMS), "each rang once");
    // A notification that was repeated after a kill carries the tag of the first, which it replaces on the desktop.
    let shown: BTreeMap<String, String> = told(&file)
        .iter()
        .map(|line| {
            let (tag, rest) = line.split_once('|').unwrap();
            (tag.to_string(), rest.to_string())
        })
        .collect();
    assert_eq!(shown.len(), ALARMS, "{shown:?}");
    let texts: std::collections::BTreeSet<&String> = shown.values().collect();
    assert_eq!(texts.len(), ALARMS, "{shown:?}");
}

#[test]
fn an_open_conversation_shows_what_rings_before_the_next_prompt() {
    use std::io::Write;
    let world = World::new();
    let script = world.script(&[crate::support::say("one"), crate::support::say("two")]);
    let words = ["--plain", "--script", &script];
    let (mut running, mut input) = alone(&world, &words).converse();
    input.write_all(b"hello\n").unwrap();
    running.wait_for("one");
    alone(&world, &["alarms", "set", "1s", "Tea \u{1b}[31mis ready", "--label", "tea"]).run().exits(0);
    until("it rang", || alarms(&world).exists() && json_file(&alarms(&world))["last_ring"] == 1);
    // The conversation looks twice a second.
    std::thread::sleep(Duration::from_millis(1500));
    input.write_all(b"again\n").unwrap();
    running.wait_for("two");
    drop(input);
    let ended = running.end();
    assert_eq!(ended.stderr.matches("* Alarm: tea: Tea \\u{1b}[31mis ready").count(), 1, "{}", ended.whole());
}

#[test]
fn reminders_come_from_the_calendar() {
    let world = World::new();
    let (path, file) = desktop(&world);
    // The first pass notes from when on reminders are of interest.
    at_desktop(&world, &path, &["alarms", "deliver"]).run().exits(0).quiet();
    let start =
        marvin_base::clock::now() + jiff::SignedDuration::from_mins(30) + jiff::SignedDuration::from_secs(3);
    let start = start.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    at_desktop(&world, &path, &["calendar", "add", "Dentist", &start]).run().exits(0).quiet();
    until("the reminder rang", || !told(&file).is_empty());
    let shown = told(&file);
    assert!(shown[0].contains("|Reminder: Dentist|in 30m, at "), "{shown:?}");
    until("the scheduler ended", || {
        let lock = world.home().join(".local/state/marvin/alarms/scheduler.lock");
        fs::File::options().write(true).open(lock).unwrap().try_lock().is_ok()
    });
    assert_eq!(told(&file).len(), 1);
}

#[test]
fn systemd_is_told_of_the_next_moment_where_it_runs() {
    let world = World::new();
    let (bin, calls) = (world.root().join("bin"), world.root().join("calls.txt"));
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", calls.display());
    let program = put(&bin.join("systemctl"), &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let run = |words: &[&str]| {
        let marvin = world.marvin(words).env("PATH", &path).env("XDG_RUNTIME_DIR", world.root());
        marvin.run().exits(0).quiet();
    };
    run(&["alarms", "set", "2030-11-20 15:00", "message", "--label", "far"]);
    let units = world.home().join(".config/systemd/user");
    let timer = fs::read_to_string(units.join("marvin-alarms.timer")).unwrap();
    assert!(timer.contains("OnCalendar=2030-11-20 ") && timer.contains("Persistent=true"), "{timer}");
    let service = fs::read_to_string(units.join("marvin-alarms.service")).unwrap();
    assert!(service.contains("alarms deliver"), "{service}");
    let said = fs::read_to_string(&calls).unwrap();
    assert!(
        said.ends_with(
            "--user daemon-reload\n--user enable marvin-alarms.timer\n--user restart marvin-alarms.timer\n"
        ),
        "{said}"
    );
    // The same moment changes nothing.
    run(&["alarms", "set", "2030-11-20 16:00", "message", "--label", "farther"]);
    assert_eq!(fs::read_to_string(&calls).unwrap().matches("restart").count(), 1);
    run(&["alarms", "cancel", "far"]);
    assert_eq!(fs::read_to_string(&calls).unwrap().matches("restart").count(), 2);
    assert!(
        !world.home().join(".local/state/marvin/alarms/scheduler.lock").exists(),
        "no process of its own"
    );
}
