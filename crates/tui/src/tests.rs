//! What a screen looks like, as text. `cargo insta` shows what changed.

use crate::app::{App, Effect};
use crate::keys;
use crate::panel::Panel;
use crate::theme::Theme;
use crate::view;
use crossterm::event::{Event as Key, KeyCode, KeyEvent, KeyModifiers};
use marvin_agent::chat::{
    Answer, AnswerWord, Approval, Choice, Event, Kind, Message, ServitorRow, Status, choice,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use std::sync::Arc;

fn status() -> Status {
    Status {
        provider: "mock".into(),
        model: "mock".into(),
        profile: "default".into(),
        mode: "chat".into(),
        workspace: None,
        busy: false,
        turn: None,
        prompt: None,
        turn_after: None,
        seconds: 0,
        queued: None,
        cost_usd: 0.0123,
        budget_usd: Some(2.0),
        sandbox: "landlock".into(),
        turbotime: None,
        servitors: 0,
        approvals: 0,
        messages: 2,
        subscriptions: 0,
        unread: 0,
        seq: 0,
    }
}

fn message(role: &str, text: &str) -> Arc<Message> {
    Arc::new(Message { number: 0, role: role.into(), text: text.into(), time: "12:30".into(), run: None })
}

fn notify(app: &mut App, kind: &str, data: Value) {
    app.event(&Event { seq: 1, kind: kind.into(), data });
}

fn screen(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(app, frame)).unwrap();
    let rows: Vec<String> =
        terminal.backend().to_string().lines().map(|row| row.trim_end().to_string()).collect();
    rows.join("\n")
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    keys::input(app, &Key::Key(KeyEvent::new(code, modifiers)), None)
}

fn write(app: &mut App, text: &str) {
    for char in text.chars() {
        press(app, KeyCode::Char(char), KeyModifiers::NONE);
    }
}

fn talk() -> App {
    let mut app = App::new(Theme::plain());
    app.show(
        &[
            message("you", "what is 26.2 miles in km?"),
            message("assistant", "# Answer\n\nIt is **42.16** km:\n\n```python\nprint(26.2 * 1.609344)  # exact\n```\n- see https://example.org"),
        ],
        "",
    );
    app.stands(status(), Vec::new());
    app
}

#[test]
fn a_conversation() {
    insta::assert_snapshot!(screen(&mut talk(), 70, 22));
}

#[test]
fn turbotime_has_a_banner() {
    let mut app = talk();
    app.stands(Status { turbotime: Some(vec!["scryfall.lookup".into()]), ..status() }, Vec::new());
    assert!(
        screen(&mut app, 70, 12).starts_with("\"TURBOTIME: scryfall.lookup"),
        "{}",
        screen(&mut app, 70, 12)
    );
}

#[test]
fn a_narrow_one() {
    insta::assert_snapshot!(screen(&mut talk(), 40, 16));
    for (width, height) in [(7, 3), (8, 4), (1, 1), (20, 5), (200, 60)] {
        screen(&mut talk(), width, height);
    }
}

#[test]
fn a_turn_with_a_tool_and_a_change() {
    let mut app = talk();
    app.stands(Status { busy: true, queued: Some("and then?".into()), ..status() }, Vec::new());
    notify(&mut app, "turn.started", json!({"prompt": "fix it"}));
    notify(
        &mut app,
        "item.updated",
        json!({"item": {"id": "item_1_message", "type": "message", "delta": "Let me "}}),
    );
    notify(
        &mut app,
        "item.updated",
        json!({"item": {"id": "item_1_message", "type": "message", "delta": "look."}}),
    );
    for (id, name, arguments) in [
        ("item_2", "run_command", json!({"command": "cargo test"})),
        (
            "item_3",
            "apply_patch",
            json!({"path": "a.rs", "old_str": "let x = 1;", "new_str": "let x = 2;\nlet y = 3;"}),
        ),
        ("item_4", "run_command", json!({"command": "rm -rf /"})),
    ] {
        notify(
            &mut app,
            "item.started",
            json!({"item": {"id": id, "type": "tool_call", "name": name, "arguments": arguments}}),
        );
    }
    for (id, ok, decision, reason) in [
        ("item_2", true, "allow", "it only reads, builds, tests"),
        ("item_4", false, "deny", "it destroys a root"),
    ] {
        let verdict = json!({"decision": decision, "reason": reason, "rule": "effect"});
        notify(
            &mut app,
            "item.completed",
            json!({"item": {"id": id, "type": "tool_call", "ok": ok, "verdict": verdict,
            "result": {"elapsed_ms": 1200, "summary": "done", "data": {"exit_code": 0}}}}),
        );
    }
    insta::assert_snapshot!(screen(&mut app, 70, 24));
    press(&mut app, KeyCode::Char('o'), KeyModifiers::CONTROL);
    let open = screen(&mut app, 70, 60);
    assert!(open.contains("\"exit_code\": 0") && open.contains("rule of the gate: effect"), "{open}");
    // What is stored takes the place of what arrived.
    notify(&mut app, "message", json!({"number": 7, "role": "you", "text": "fix it", "time": "12:31"}));
    notify(
        &mut app,
        "message",
        json!({"number": 8, "role": "assistant", "text": "Let me look.", "time": "12:31"}),
    );
    let shown = screen(&mut app, 70, 60);
    assert_eq!(shown.matches("Let me look.").count(), 1, "{shown}");
    assert_eq!(shown.matches("fix it").count(), 1, "{shown}");
}

const CHOICES: [Choice; 3] =
    [choice(AnswerWord::Yes, "Yes"), choice(AnswerWord::No, "No"), choice(AnswerWord::Edit, "This instead")];

fn asked() -> Approval {
    Approval {
        id: "command:1".into(),
        kind: Kind::Command,
        title: "Run this command?".into(),
        text: "npm publish \u{1b}]52;c;AAAA\u{7}".into(),
        source: "the conversation".into(),
        why: "it sends something out [effect]".into(),
        choices: &CHOICES,
    }
}

#[test]
fn a_question_is_answered_only_by_a_key_that_was_meant_for_it() {
    let mut app = talk();
    app.stands(Status { busy: true, approvals: 1, ..status() }, vec![asked()]);
    insta::assert_snapshot!(screen(&mut app, 70, 22));
    assert!(press(&mut app, KeyCode::Char('y'), KeyModifiers::NONE).is_empty(), "it just appeared");
    assert_eq!(app.editor.text(), "y");
    std::thread::sleep(std::time::Duration::from_millis(550));
    assert!(press(&mut app, KeyCode::Char('n'), KeyModifiers::NONE).is_empty(), "something is being typed");
    press(&mut app, KeyCode::Char('u'), KeyModifiers::CONTROL);
    let yes = press(&mut app, KeyCode::Char('y'), KeyModifiers::NONE);
    assert_eq!(yes, [Effect::Answer("command:1".into(), Answer::Yes)]);
    press(&mut app, KeyCode::Char('e'), KeyModifiers::NONE);
    write(&mut app, "use a branch");
    let edit = press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(edit, [Effect::Answer("command:1".into(), Answer::Edit("use a branch".into()))]);
}

#[test]
fn panels() {
    let mut app = talk();
    let memory = Approval {
        id: "memory:ab".into(),
        kind: Kind::Memory,
        title: "Remember this fact?".into(),
        text: "tests need a database".into(),
        source: "user_said, proposed by think".into(),
        why: "it failed twice".into(),
        choices: &CHOICES,
    };
    app.stands(
        Status { approvals: 2, ..status() },
        vec![memory.clone(), Approval { id: "memory:cd".into(), text: "the second one".into(), ..memory }],
    );
    app.panel = Some(Panel::Approvals { at: 0, scroll: 0 });
    insta::assert_snapshot!(screen(&mut app, 70, 18));
    press(&mut app, KeyCode::Char('s'), KeyModifiers::NONE);
    assert_eq!(
        press(&mut app, KeyCode::Char('n'), KeyModifiers::NONE),
        [Effect::Answer("memory:cd".into(), Answer::No)]
    );
    press(&mut app, KeyCode::Char('e'), KeyModifiers::NONE);
    assert_eq!(app.editor.text(), "the second one");
    press(&mut app, KeyCode::Esc, KeyModifiers::NONE);
    app.show_servitors(vec![ServitorRow {
        id: "vega".into(),
        name: "Vega".into(),
        state: "working".into(),
        reason: String::new(),
        assignment: "write the parser".into(),
        answer: String::new(),
        parent: "jake".into(),
        commitments: vec![("pytest -q".into(), "pending".into())],
    }]);
    insta::assert_snapshot!(screen(&mut app, 60, 12));
    press(&mut app, KeyCode::Esc, KeyModifiers::NONE);
    press(&mut app, KeyCode::Char('?'), KeyModifiers::NONE);
    assert!(screen(&mut app, 80, 40).contains("Keys and commands"));
    for _ in 0..50 {
        press(&mut app, KeyCode::PageDown, KeyModifiers::NONE);
        screen(&mut app, 80, 20);
    }
    assert!(screen(&mut app, 80, 20).contains("begins with a space"));
}

#[test]
fn every_key_of_the_input() {
    let mut app = talk();
    write(&mut app, "one two");
    press(&mut app, KeyCode::Char('a'), KeyModifiers::CONTROL);
    write(&mut app, "x");
    press(&mut app, KeyCode::End, KeyModifiers::NONE);
    write(&mut app, "y");
    assert_eq!(app.editor.text(), "xone twoy");
    press(&mut app, KeyCode::Home, KeyModifiers::NONE);
    press(&mut app, KeyCode::Char('k'), KeyModifiers::CONTROL);
    assert!(app.editor.is_empty());
    write(&mut app, "first");
    press(&mut app, KeyCode::Enter, KeyModifiers::ALT);
    write(&mut app, "line two");
    assert_eq!(press(&mut app, KeyCode::Enter, KeyModifiers::NONE), [Effect::Line("first\nline two".into())]);
    write(&mut app, "second");
    press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    write(&mut app, "draft");
    press(&mut app, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(app.editor.text(), "second");
    press(&mut app, KeyCode::Down, KeyModifiers::NONE);
    assert_eq!(app.editor.text(), "draft");
    press(&mut app, KeyCode::Char('u'), KeyModifiers::CONTROL);
    press(&mut app, KeyCode::Char('r'), KeyModifiers::CONTROL);
    write(&mut app, "fir");
    assert_eq!(app.editor.text(), "first\nline two");
    assert!(screen(&mut app, 70, 12).contains("looking for `fir`"));
    press(&mut app, KeyCode::Esc, KeyModifiers::NONE);
    for (code, modifiers) in
        [(KeyCode::Char('d'), KeyModifiers::CONTROL), (KeyCode::Char('q'), KeyModifiers::CONTROL)]
    {
        assert_eq!(press(&mut app, code, modifiers), [Effect::Quit]);
    }
    app.stands(Status { busy: true, ..status() }, Vec::new());
    assert_eq!(press(&mut app, KeyCode::Esc, KeyModifiers::NONE), [Effect::Cancel]);
    screen(&mut app, 40, 10);
    for code in [KeyCode::PageUp, KeyCode::PageDown] {
        press(&mut app, code, KeyModifiers::NONE);
        press(&mut app, KeyCode::Up, KeyModifiers::SHIFT);
        press(&mut app, KeyCode::Down, KeyModifiers::SHIFT);
    }
}

#[test]
fn long_things_stay_quick() {
    let mut app = App::new(Theme::dark());
    let many: Vec<Arc<Message>> = (0..5_000)
        .map(|n| {
            message(
                if n % 2 == 0 { "you" } else { "assistant" },
                &format!("message {n} {}", "word ".repeat(50)),
            )
        })
        .collect();
    let began = std::time::Instant::now();
    app.show(&many, "");
    app.stands(status(), Vec::new());
    screen(&mut app, 100, 40);
    for _ in 0..20 {
        press(&mut app, KeyCode::PageUp, KeyModifiers::NONE);
        screen(&mut app, 100, 40);
    }
    press(&mut app, KeyCode::End, KeyModifiers::CONTROL);
    // A megabyte in small pieces, without a line break, then with.
    for text in ["x".repeat(500), "some words here and there\n".repeat(20)] {
        for _ in 0..(500_000 / text.len()) {
            notify(&mut app, "item.updated", json!({"item": {"id": "i", "type": "message", "delta": text}}));
        }
        screen(&mut app, 100, 40);
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}
