//! Line mode.

use super::stage::{Screen, is_there};
use super::{log, run_command};
use crate::support::{World, json_file, say};
use serde_json::json;

#[test]
fn a_pipe_is_a_conversation() {
    let world = World::new();
    let script = world.script(&[
        json!({"when": {"contains": "first"}, "reply": {"text": "one \u{1b}[31mraw"}, "chunks": 3}),
        json!({"when": {"contains": "second"}, "reply": {"text": "two\n"}}),
    ]);
    let ended = world
        .marvin(["--script", &script])
        .input("first question\n\n/status\nsecond question\n/nonsense\n")
        .run()
        .exits(1);
    assert!(
        ended.text().starts_with("one \u{1b}[31mraw\n"),
        "a program gets it as it is: {:?}",
        ended.text()
    );
    assert!(ended.text().contains("who answers") && ended.text().ends_with("two\n"), "{:?}", ended.text());
    assert!(ended.stderr.contains("unknown command `/nonsense`"), "{}", ended.stderr);
    assert!(!ended.text().contains("\u{1b}[?"), "no screen of its own");
    assert_eq!(log(&world).as_array().unwrap().len(), 4);
    let quit = world.marvin(["--script", &script, "--plain"]).input("quit\nnever\n").run().exits(0);
    assert_eq!(quit.text(), "");
}

#[test]
fn questions_are_denied_in_a_pipe() {
    let world = World::new();
    let script = world.script(&[run_command("xyzzy"), say("So be it.")]);
    let ended = world.marvin(["--script", &script, "--plain", "--working-dir", "."]).input("go\ny\n").run();
    assert!(ended.stderr.contains("there is none to ask"), "{}", ended.stderr);
    assert!(ended.text().contains("So be it."), "{}", ended.text());
}

#[test]
fn incompatible_flags_are_refused() {
    let world = World::new();
    for (arguments, part) in [
        (&["--curses"][..], "--curses needs a terminal"),
        (&["--plain", "--curses"], "cannot be used with"),
        (&["--json"], "there is nothing to answer"),
        (&["--record", "x"], "--record is for one answer"),
    ] {
        let ended = world.marvin(arguments).input("hello\n").run().exits(2);
        assert!(ended.stderr.contains(part), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn line_mode_in_a_terminal() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world.script(&[
        say("Hello \u{1b}]52;c;QQ==\u{7}there."),
        run_command("xyzzy || echo forty-two"),
        say("It said so."),
    ]);
    let screen = Screen::start(&world, (80, 30), &["--plain", "--script", &script, "--working-dir", "."]);
    screen.wait("`quit` leaves");
    screen.send("hi there");
    screen.wait("Hello \\u{1b}]52;c;QQ==\\u{7}there.");
    screen.send("run it");
    screen.wait("y: yes; n: no");
    screen.send("y");
    screen.wait("It said so.");
    // Typed lines are in the history, and commands are completed.
    screen.press(&["Up"]);
    screen.wait("> run it");
    screen.press(&["C-u"]);
    screen.write("/serv");
    screen.press(&["Tab"]);
    screen.wait("> /servitors");
    screen.press(&["Enter"]);
    // The end of the input counts once it is read.
    screen.wait("no servitors here\n>");
    std::thread::sleep(std::time::Duration::from_millis(300));
    screen.press(&["C-d"]);
    assert_eq!(screen.ended(), "0");
    let typed = std::fs::read_to_string(world.user().join("profiles/default/history")).unwrap();
    assert_eq!(typed, "_HiStOrY_V2_\nhi there\nrun it\n/servitors\n");
    assert_eq!(json_file(&world.user().join("profiles/default/chat_log.json")).as_array().unwrap().len(), 4);
}

#[test]
fn a_conversation_without_a_person_says_so_at_the_start() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world.script(&[say("Hello.")]);
    for front_end in ["--plain", "--curses"] {
        let words = [front_end, "--script", &script, "--working-dir", "."];
        // A program of agents set this mark.
        let screen = Screen::start_with(&world, (120, 30), &words, &[("CLAUDECODE", "1")]);
        screen.wait("note: nothing can be approved here");
    }
}
