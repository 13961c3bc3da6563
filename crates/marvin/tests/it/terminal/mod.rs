//! The terminal front end in a real terminal, and line mode in a terminal and in a pipe.

mod board;
mod plain;
mod stage;

use crate::support::{World, files_below, json_file, put, say};
use serde_json::{Value, json};
use stage::{Screen, is_there};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Keys that arrive sooner than this do not answer a question.
const CALM: Duration = Duration::from_millis(700);

fn log(world: &World) -> Value {
    json_file(&world.user().join("profiles/default/chat_log.json"))
}

fn remember(world: &World, messages: &[(&str, String)]) {
    let entries: Vec<Value> =
        messages.iter().map(|(role, text)| json!({"role": role, "text": text, "time": "09:15"})).collect();
    put(&world.user().join("profiles/default/chat_log.json"), &json!(entries).to_string());
}

fn run_command(line: &str) -> Value {
    json!({"reply": {"text": "I try it.", "tool_calls": [{"name": "run_command", "arguments": {"command": line}}]}})
}

#[test]
fn first_start_answer_and_quit() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let answer = "# Answer\n\nIt is **42.16** km, see `convert`:\n\n```rust\nfn main() { println!(\"{}\", 26.2); } // done\n```\n\n- one\n- two";
    let script = world.script(&[json!({"reply": {"text": answer}, "chunks": 12, "delay_ms": 15})]);
    let screen = Screen::start(&world, (80, 24), &["--script", &script]);
    let first = screen.wait("a deterministic shell");
    assert!(first.contains("ANTHROPIC_API_KEY") && first.contains("/help"), "{first}");
    screen.wait("mock");
    screen.keep("first-start");
    screen.write("how long is a marathon?");
    screen.wait("> how long is a marathon?");
    screen.press(&["Enter"]);
    screen.wait("- two");
    let text = screen.wait_until("the answer is stored", |text| text.contains("2 messages"));
    assert!(text.contains("you") && text.contains("marvin"), "{text}");
    screen.keep("answer");
    assert_eq!(log(&world)[1]["text"], answer, "what is shown is what is stored");
    screen.press(&["?"]);
    screen.wait("Keys and commands");
    screen.keep("help");
    screen.press(&["Escape"]);
    screen.wait_until("the help is closed", |text| !text.contains("Keys and commands"));
    screen.send("/tools");
    screen.wait("`!code` adds files and commands.");
    // Typed lines are in the history; so is a searched word.
    screen.press(&["Up", "Up"]);
    screen.wait("> how long is a marathon?");
    screen.press(&["C-u", "C-r"]);
    screen.write("tools");
    screen.wait("looking for `tools`");
    screen.press(&["Escape"]);
    screen.wait_until("the search is over", |text| !text.contains("looking for"));
    screen.press(&["C-d"]);
    assert_eq!(screen.ended(), "0");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    for back in ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?2004l", "\u{1b}[?1000l"] {
        assert!(raw.contains(back), "the terminal is given back: {back:?}");
    }
    let again = Screen::start(&world, (80, 24), &["--script", &script]);
    let text = again.wait("session resumed: 2 messages");
    assert!(text.contains("- two"), "{text}");
}

#[test]
fn diagnostic_lines_go_to_the_log_and_not_to_the_screen() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world.script(&[say("Hello to you.")]);
    let screen = Screen::start(&world, (100, 30), &["-vv", "--script", &script]);
    screen.wait("a deterministic shell");
    screen.send("hello");
    screen.wait("2 messages");
    screen.press(&["C-d"]);
    assert_eq!(screen.ended(), "0");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    let logs: String = files_below(world.root())
        .into_iter()
        .filter(|path| path.ends_with("marvin.log"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let line = logs.lines().find(|line| line.contains("DEBUG") || line.contains("INFO"));
    assert!(line.is_some(), "nothing was logged: {logs}");
    let (_, screen) = raw.split_once("\u{1b}[?1049h").expect("it takes the screen");
    assert!(!screen.contains("DEBUG") && !screen.contains(" INFO"), "{raw}");
}

#[test]
fn a_command_is_asked_about_and_tool_results_are_folded() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world.script(&[
        run_command("xyzzy || echo forty-two"),
        run_command("xyzzy second"),
        run_command("rm -rf /"),
        json!({"reply": {"tool_calls": [{"name": "create_file", "arguments": {"path": "a.txt", "content": "one\ntwo\n"}}]}}),
        say("All done."),
    ]);
    let screen = Screen::start(&world, (90, 40), &["--script", &script, "--working-dir", "."]);
    screen.wait("coding");
    screen.send("go on");
    let text = screen.wait("Run this command?");
    assert!(text.contains("xyzzy || echo forty-two") && text.contains("y yes; n no"), "{text}");
    std::thread::sleep(CALM);
    screen.keep("approval");
    screen.press(&["y"]);
    screen.wait("xyzzy second");
    screen.wait("Run this command?");
    std::thread::sleep(CALM);
    screen.press(&["n"]);
    let text = screen.wait("All done.");
    for part in
        ["a person said yes", "the person said no", "⊘ run_command  rm -rf /", "+one", "▸ ✔ create_file"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    screen.keep("tools");
    screen.press(&["C-o"]);
    let text = screen.wait("rule of the gate");
    assert!(text.contains("▾"), "{text}");
    assert_eq!(world.read("a.txt"), "one\ntwo\n");
    screen.press(&["F4"]);
    screen.wait("succeeded");
    screen.keep("runs");
}

#[test]
fn an_answer_is_interrupted_and_the_next_one_works() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world
        .script(&[json!({"reply": {"text": "this takes for ever"}, "delay_ms": 120_000}), say("Quick.")]);
    let screen = Screen::start(&world, (80, 24), &["--script", &script]);
    screen.wait("mock");
    screen.send("slow one");
    screen.wait("working");
    screen.send("never asked");
    screen.wait("next: never asked");
    screen.press(&["Escape"]);
    screen.wait("interrupted");
    screen.send("another");
    screen.wait("Quick.");
    let roles: Vec<String> = log(&world)
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["role"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(roles, ["you", "system", "you", "assistant"]);
}

#[test]
fn narrow_terminals_and_wide_characters() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let wide = "日本語のテキストはここで折り返されます。👩‍👩‍👧 🇩🇪 ✅ naïve é";
    remember(&world, &[("you", "wide?".into()), ("assistant", wide.into()), ("assistant", "y".repeat(300))]);
    let screen = Screen::start(&world, (100, 30), &[]);
    let text = screen.wait("session resumed");
    assert!(text.contains("日本語のテキストはここで折り返されます。"), "{text}");
    screen.write("漢字 👍 ok");
    screen.wait("> 漢字 👍 ok");
    screen.resize(40, 14);
    let text = screen.wait_until("forty columns", |text| {
        text.lines().all(|line| line.chars().count() <= 40)
            && text.contains("> 漢字")
            && text.contains("mock")
    });
    assert!(text.contains("yyyyyyyy"), "{text}");
    screen.keep("narrow");
    screen.press(&["C-Home"]);
    screen.wait("日本語");
    for size in [(20, 6), (9, 4), (5, 2), (120, 40)] {
        screen.resize(size.0, size.1);
        std::thread::sleep(Duration::from_millis(60));
    }
    screen.wait("漢字");
}

#[test]
fn long_histories_and_long_answers_stay_fast() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let messages: Vec<(&str, String)> = (0..5_000)
        .map(|n| {
            (
                if n % 2 == 0 { "you" } else { "assistant" },
                format!("message {n}: {}", "some words ".repeat(20)),
            )
        })
        .collect();
    remember(&world, &messages);
    let long =
        format!("{}\nTHE END", "A line of the long answer, with **marks** and words.\n".repeat(20_000));
    let script = world.script(&[json!({"reply": {"text": long}, "chunks": 500})]);
    let screen = Screen::start(&world, (100, 30), &["--script", &script]);
    screen.wait("message 4999");
    screen.press(&["PPage"]);
    screen.wait("scrolled");
    screen.press(&["C-Home"]);
    screen.wait("message 0:");
    let began = Instant::now();
    screen.write("typed quickly");
    screen.wait("> typed quickly");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    screen.press(&["Enter"]);
    screen.wait("THE END");
    screen.press(&["PPage", "PPage", "PPage"]);
    screen.wait("A line of the long answer");
    screen.press(&["C-End"]);
    screen.wait("THE END");
    let stored = log(&world);
    assert_eq!(stored.as_array().unwrap().last().unwrap()["text"].as_str().map(str::len), Some(long.len()));
}

#[test]
fn a_turn_interrupted_by_a_crash_is_offered_again() {
    if !is_there() {
        return;
    }
    let world = World::new();
    // The second round waits for a model that never answers.
    let slow = world.script(&[
        json!({"reply": {"tool_calls": [{"name": "create_file", "arguments": {"path": "once.txt", "content": "x\n"}}]}}),
        json!({"reply": {"text": "lost"}, "delay_ms": 120_000}),
    ]);
    let screen = Screen::start(&world, (80, 24), &["--script", &slow, "--working-dir", "."]);
    screen.wait("coding");
    screen.send("make the file");
    screen.wait("✔ create_file");
    screen.wait_until("the second round", |text| text.contains("working"));
    std::thread::sleep(Duration::from_millis(300));
    let process = screen.process();
    assert_eq!(end_at_once(process), 0);
    screen.tmux(&["kill-server"]);
    // The reply that the kill cut off is played again, this time at once.
    let text = std::fs::read_to_string(&slow).unwrap();
    std::fs::write(&slow, text.replace("120000", "0").replace("lost", "Now it is there.")).unwrap();
    let again = Screen::start(&world, (80, 24), &["--script", &slow, "--working-dir", "."]);
    let text = again.wait("was interrupted before");
    assert!(text.contains("make the file") && text.contains("y take it up"), "{text}");
    std::thread::sleep(CALM);
    again.keep("crash");
    again.press(&["y"]);
    again.wait("Now it is there.");
    again.wait_until("it is stored", |_| log(&world).as_array().is_some_and(|entries| entries.len() == 2));
    assert_eq!(log(&world)[0]["text"], "make the file");
    again.press(&["C-d"]);
    assert_eq!(again.ended(), "0");
    let third = Screen::start(&world, (80, 24), &["--script", &slow, "--working-dir", "."]);
    let text = third.wait("session resumed");
    assert!(!text.contains("was interrupted before"), "it is not offered again:\n{text}");
}

/// Kills a process.
fn end_at_once(process: i32) -> i32 {
    let done = std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
    i32::from(!done.success())
}

#[test]
fn e1_a_step_that_waits_is_listed_and_answered_in_the_same_panel() {
    if !is_there() {
        return;
    }
    let world = World::new();
    world.write(".marvin/config.toml", "");
    let flow = json!({"workflow_id": "w", "goal": "try", "steps": [
        {"id": "ok", "worker": "approve", "inputs": {"question": "Publish 1.2?"}},
        {"id": "name", "worker": "answer", "inputs": {"question": "What is its name?"}}]});
    world.write("w.json", &flow.to_string());
    let screen = Screen::start(&world, (90, 24), &[]);
    screen.wait("0 messages");
    world.marvin(["run-workflow", "w.json"]).run().exits(4);
    screen.wait("2 waiting (F2)");
    screen.press(&["F2"]);
    screen.wait("Publish 1.2?");
    screen.wait("y: Approve   n: Refuse   e: Refuse, with this reason");
    screen.keep("steps");
    screen.press(&["y"]);
    screen.wait("e: Send this answer");
    screen.press(&["y"]);
    screen.wait("y is not an answer to this");
    screen.press(&["e"]);
    screen.write("Marvin");
    screen.press(&["Enter"]);
    screen.wait_until("nothing waits", |text| !text.contains("waiting (F2)"));
    world.marvin(["resume-run"]).run().exits(0);
    assert!(world.trace().iter().any(|event| event["decided_by"]["via"] == "screen"), "{:#?}", world.trace());
}

#[test]
fn memory_is_decided_in_its_panel() {
    if !is_there() {
        return;
    }
    let world = World::new();
    world.write(".marvin/config.toml", "");
    let candidate = json!({"text": "tests need a database", "type": "fact", "tags": [], "source": "assistant_inferred", "why_store": "said twice"});
    let file = world.write("candidates.jsonl", &format!("{candidate}\n"));
    world.marvin(["memory", "import", &file.display().to_string()]).run().exits(0);
    let screen = Screen::start(&world, (80, 24), &[]);
    screen.wait("1 waiting (F2)");
    screen.press(&["F2"]);
    let text = screen.wait("tests need a database");
    assert!(text.contains("y: Remember it   n: No   e: Remember this instead"), "{text}");
    screen.keep("memory");
    screen.press(&["e"]);
    screen.wait("remember instead> tests need a database");
    screen.write(" and a queue");
    screen.press(&["Enter"]);
    screen.wait_until("nothing waits", |text| !text.contains("waiting (F2)"));
    let list = world.marvin(["memory", "list"]).run().exits(0);
    assert!(list.text().contains("tests need a database and a queue"), "{}", list.text());
}

/// Texts of models and tools with terminal escape sequences.
const INJECTIONS: [(&str, &str); 20] = [
    ("colour", "\u{1b}[31mred\u{1b}[0m"),
    ("clear", "\u{1b}[2J\u{1b}[H"),
    ("title", "\u{1b}]0;INJECTED\u{7}"),
    ("title-st", "\u{1b}]2;INJECTED\u{1b}\\"),
    ("clipboard", "\u{1b}]52;c;SU5KRUNURUQ=\u{7}"),
    ("clipboard-st", "\u{1b}]52;p;SU5KRUNURUQ=\u{1b}\\"),
    ("link", "\u{1b}]8;;https://evil.example/\u{1b}\\click\u{1b}]8;;\u{1b}\\"),
    ("c1", "\u{9b}2J\u{9d}0;INJECTED\u{9c}"),
    ("device", "\u{1b}P+q544e\u{1b}\\"),
    ("report", "\u{1b}[6n\u{1b}[c"),
    ("screen", "\u{1b}[?1049l"),
    ("mouse", "\u{1b}[?1003h"),
    ("tmux", "\u{1b}Ptmux;\u{1b}\u{1b}]52;c;QQ==\u{7}\u{1b}\\"),
    ("kitty", "\u{1b}_Ga=T,f=24;AAAA\u{1b}\\"),
    ("return", "safe\rEVIL"),
    ("backspace", "rm -rf /\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}ls"),
    ("bidi", "invoice\u{202e}fdp.exe\u{202c}"),
    ("isolate", "\u{2066}a\u{2069}\u{200f}b\u{200b}c\u{feff}"),
    ("tags", "plain\u{e0049}\u{e0047}\u{e004e}"),
    ("bell", "\u{7}\u{0}\u{7f}\u{85}"),
];

#[test]
fn escape_sequences_are_shown_and_not_executed() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let all: String = INJECTIONS.iter().map(|(name, text)| format!("{name}: <{text}>\n")).collect();
    put(&world.project().join("evil.txt"), &all);
    // From the stored log, streamed, as a tool's name and arguments, as a tool's result, and in a question of the gate.
    remember(
        &world,
        &[("assistant", all.clone()), ("system", INJECTIONS[2].1.into()), ("you", INJECTIONS[4].1.into())],
    );
    let script = world.script(&[
        json!({"reply": {"text": format!("streamed\n{all}"), "tool_calls": [
            {"name": "read_file", "arguments": {"path": "evil.txt"}},
            {"name": format!("odd{}", INJECTIONS[2].1), "arguments": {"x": all}},
        ]}, "chunks": 40}),
        run_command(&format!("xyzzy '{}'", INJECTIONS[4].1)),
        say("THE LAST WORD"),
    ]);
    let screen = Screen::start(&world, (100, 45), &["--script", &script, "--working-dir", "."]);
    screen.wait("session resumed");
    screen.press(&["C-Home"]);
    let text = screen.wait("colour: <\\u{1b}[31mred\\u{1b}[0m>");
    for part in [
        "\\u{1b}]52;c;SU5KRUNURUQ=\\u{7}",
        "invoice\\u{202e}fdp.exe\\u{202c}",
        "safe\\u{d}EVIL",
        "plain\\u{e0049}",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    screen.keep("injections");
    screen.press(&["C-End"]);
    screen.send("read it");
    screen.wait("Run this command?");
    std::thread::sleep(CALM);
    screen.press(&["C-o"]);
    screen.press(&["y"]);
    screen.wait("THE LAST WORD");
    screen.press(&["C-Home"]);
    screen.press(&["C-End"]);
    screen.press(&["F4"]);
    screen.wait("Runs");
    let raw = screen.raw();
    let has = |bytes: &[u8]| raw.windows(bytes.len()).any(|window| window == bytes);
    for bytes in [
        "\u{1b}]0;",
        "\u{1b}]2;",
        "\u{1b}]52",
        "\u{1b}]8;",
        "\u{1b}P",
        "\u{1b}_",
        "\u{9b}",
        "\u{9d}",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{200b}",
        "\u{feff}",
        "\u{e0049}",
        "\u{7}",
        "\u{8}",
        "\u{7f}",
        "\u{85}",
        "\u{1b}[6n",
        "\u{1b}[c",
    ] {
        assert!(!has(bytes.as_bytes()), "{bytes:?} reached the terminal");
    }
    assert!(!has(b"\x1b[?1049l"), "the screen was not left");
    assert!(!screen.tmux(&["display", "-p", "-t", "t", "#{pane_title}#{window_name}"]).contains("INJECTED"));
    assert_eq!(screen.tmux(&["list-buffers"]), "");
    assert_eq!(log(&world)[0]["text"], all, "the log has the original text");
}

#[test]
fn an_editor_gets_the_terminal_and_returns_it() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let editor = world.write(
        "editor.sh",
        "#!/bin/sh\necho the editor is ready\nread -r line\nprintf '%s\\n' \"$line\" >> \"$1\"\n",
    );
    let mut mode = std::fs::metadata(&editor).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&editor, mode).unwrap();
    let editor = editor.display().to_string();
    let screen = Screen::start_with(&world, (80, 24), &[], &[("EDITOR", &editor)]);
    screen.wait("mock");
    screen.send("preferences");
    screen.wait("the editor is ready");
    screen.send("notes: likes tea");
    screen.wait("closed: preferences.yaml");
    let kept = std::fs::read_to_string(world.user().join("profiles/default/preferences.yaml")).unwrap();
    assert!(kept.ends_with("notes: likes tea\n") && kept.contains("spice_tolerance"), "{kept}");
    screen.send("!code");
    screen.wait("coding");
    screen.press(&["C-q"]);
    assert_eq!(screen.ended(), "0");
}

#[test]
fn servitors_are_listed() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let call = |name: &str, arguments: Value| json!({"tool_calls": [{"name": name, "arguments": arguments}]});
    let summon = json!({"assignment": "begin", "name": "Ann", "commitments": ["file_exists:ann.txt"]});
    let script = world.script(&[
        json!({"reply": call("summon_servitor", summon)}),
        json!({"when": {"role": "Coder", "contains": "Summoned Ann (id: ann)"}, "reply": {"text": "All is in hand."}}),
        json!({"when": {"step": "ann", "contains": "begin"}, "reply": call("create_file", json!({"path": "ann.txt", "content": "x\n"})), "repeat": true}),
        json!({"when": {"step": "ann", "contains": "Created"}, "reply": {"text": "I made it.\nSTATUS: DONE"}, "repeat": true}),
        json!({"when": {"role": "Coder", "contains": "Ann (id: ann) is done"}, "reply": {"text": "Ann did it."}}),
    ]);
    let screen = Screen::start(&world, (100, 40), &["--script", &script, "--working-dir", "."]);
    screen.wait("coding");
    screen.send("have it made");
    let text = screen.wait("Ann did it.");
    assert!(text.contains("Ann: summoned") && text.contains("Ann: done"), "{text}");
    screen.press(&["F3"]);
    let text = screen.wait("passed: ");
    assert!(text.contains("ann.txt"), "{text}");
}

#[test]
fn pending_decisions_are_made_one_by_one() {
    if !is_there() {
        return;
    }
    let world = World::new();
    world.write(".marvin/config.toml", "");
    let candidate = |text: &str| json!({"text": text, "type": "fact", "tags": [], "source": "assistant_inferred", "why_store": "said twice"});
    let lines: String = ["alpha is first", "beta is second", "gamma is third", "delta is fourth"]
        .map(|text| format!("{}\n", candidate(text)))
        .concat();
    let file = world.write("candidates.jsonl", &lines);
    world.marvin(["memory", "import", &file.display().to_string()]).run().exits(0);
    let screen = Screen::start(&world, (100, 60), &["memory", "pending"]);
    let asked = |number: usize| {
        screen
            .wait_until("the next one is asked about", |text| text.matches("Remember it?").count() == number)
    };
    for (number, answer) in [(1, "what?"), (2, "y"), (3, "n"), (4, "s"), (5, "e")] {
        asked(number);
        screen.send(answer);
    }
    screen.wait("The new text");
    screen.send("delta is changed");
    screen.wait("Tags, with commas");
    screen.send("order");
    screen.wait("Days until it expires");
    screen.send("");
    assert_eq!(screen.ended(), "0");
    let list = world.marvin(["memory", "list"]).run().exits(0);
    let kept = |text: &str| list.text().contains(text);
    assert!(kept("alpha is first") && kept("delta is changed"), "{}", list.text());
    assert!(!kept("beta is second") && !kept("gamma is third"), "{}", list.text());
    let waits = world.person(["memory", "pending", "--json"]).run().exits(0).json();
    assert_eq!(waits.as_array().unwrap().len(), 1, "what was put off still waits: {waits:#}");
}

#[test]
fn speech_becomes_a_prompt_or_the_missing_program_is_named() {
    use std::io::{Read, Write};
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world.script(&[say("Far.")]);
    let bin = world.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.display().to_string();
    let screen = Screen::start_with(&world, (100, 30), &["--script", &script], &[("PATH", &path)]);
    screen.wait("mock");
    screen.send("!v 1");
    screen.wait("no recorder was found");
    // A recorder that records nothing but itself.
    let recorder = bin.join("arecord");
    std::fs::write(&recorder, "#!/bin/sh\nfor file; do :; done\necho \"RIFF $*\" > \"$file\"\n").unwrap();
    std::fs::set_permissions(&recorder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    screen.send("!v 1");
    screen.wait("no provider can turn speech into text");
    drop(screen);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let request = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&bytes).contains("--\r\n") {
            let read = stream.read(&mut part).unwrap();
            bytes.extend_from_slice(&part[..read]);
            if read == 0 {
                break;
            }
        }
        let body = r#"{"text": " how far is it? "}"#;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let variables = [
        ("PATH", path.as_str()),
        ("OPENAI_API_KEY", "sk-test-0123456789"),
        ("MARVIN_OPENAI_URL", &url),
        ("MARVIN_PROVIDER", "mock"),
    ];
    let screen = Screen::start_with(&world, (100, 30), &["--script", &script], &variables);
    screen.wait("mock");
    screen.send("!v 1");
    screen.wait("> how far is it?");
    screen.press(&["Enter"]);
    screen.wait("Far.");
    let request = request.join().unwrap();
    for part in ["POST /v1/audio/transcriptions", "whisper-1", "RIFF -q -t raw -f S16_LE -r 16000 -c 1"] {
        assert!(request.contains(part), "{part}: {request}");
    }
}

/// Requests a page; returns the status.
fn status_of(url: &str, path: &str, token: Option<&str>) -> String {
    use std::io::{Read, Write};
    let address = url.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{bearer}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_string()
}

/// Exchanges a code for the server's token.
fn exchange(url: &str, code: &str) -> Option<String> {
    use std::io::{Read, Write};
    let host = url.trim_start_matches("http://");
    let body = format!("{{\"code\": \"{code}\"}}");
    let request = format!(
        "POST /api/session HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let body = answer.split("\r\n\r\n").nth(1)?;
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    value["token"].as_str().map(str::to_string)
}

#[test]
fn the_browser_shows_the_same_conversation_if_enabled() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let script = world.script(&[say("Said once, shown twice.")]);
    let beside = [("MARVIN_UI", "true")];
    let screen = Screen::start_with(&world, (140, 24), &["--script", &script], &beside);
    let text = screen.wait("In the browser: http://127.0.0.1:");
    let link = text.split("In the browser: ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let (url, code) = link.split_once("/#code=").unwrap();
    let token = exchange(url, code).expect("the code of the link is good");
    let token = token.as_str();
    assert_eq!(exchange(url, code), None, "once");
    screen.send("hello");
    screen.wait("Said once, shown twice.");
    assert_eq!(status_of(url, "/api/messages", Some(token)), "200");
    assert_eq!(status_of(url, "/api/messages", None), "401");
    screen.press(&["C-d"]);
    assert_eq!(screen.ended(), "0");
    // As the main front end: opened in the user's browser, without taking over the screen.
    let seen = world.root().join("opened");
    world.write("browser", &format!("#!/bin/sh\nprintf %s \"$1\" > {}\n", seen.display()));
    let browser = world.project().join("browser");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let first = [("MARVIN_ENTRY", "ui"), ("BROWSER", browser.to_str().unwrap())];
    let screen = Screen::start_with(&world, (140, 24), &["--script", &script], &first);
    let text = screen.wait("end with Ctrl-C");
    let opened = || std::fs::read_to_string(&seen).unwrap_or_default();
    screen.wait_until("the browser is opened", |_| !opened().is_empty());
    // The browser is started with a file that only this user can read; its code differs from that of the printed link.
    let door = opened().strip_prefix("file://").unwrap().to_string();
    assert!(!opened().contains("token") && !opened().contains("code"), "{}", opened());
    assert_eq!(std::fs::metadata(&door).unwrap().permissions().mode() & 0o777, 0o600);
    let page = std::fs::read_to_string(&door).unwrap();
    let link = page.split("url=").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(!text.contains(link) && !page.contains("token"), "{page}");
    let (url, code) = link.split_once("/#code=").unwrap();
    assert!(exchange(url, code).is_some());
    screen.wait("For another window: http://127.0.0.1:");
    assert!(!std::path::Path::new(&door).exists(), "the file is gone once it was used");
    screen.press(&["C-c"]);
    assert_eq!(screen.ended(), "0");
}

#[test]
fn questions_are_answered_by_tools_in_the_terminal() {
    use crate::questions::{OWN, QUESTIONS, script};
    if !is_there() {
        return;
    }
    let world = World::new();
    let questions = &QUESTIONS[..OWN.min(5)];
    let script = world.script(&script(questions));
    let screen = Screen::start(&world, (100, 40), &["--script", &script]);
    screen.wait("a deterministic shell");
    for (at, question) in questions.iter().enumerate() {
        screen.send(question.text);
        screen.wait(&format!("Answer {}.", at + 1));
    }
    screen.press(&["C-d"]);
    assert_eq!(screen.ended(), "0");
}
