//! `marvin tk`, many processes at once, and a non-interactive agent that works on a ticket.

use crate::support::{PROGRAM, ProgramOutput, World, call, put, say};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

impl World {
    fn tk(&self, words: &[&str]) -> ProgramOutput {
        self.marvin([&["tk"], words].concat()).run()
    }

    #[track_caller]
    fn made(&self, words: &[&str]) -> String {
        let ended = self.tk(&[&["create"], words].concat()).exits(0).quiet();
        ended.text().trim_end().to_string()
    }

    fn ticket(&self, id: &str) -> String {
        self.read(&format!(".tickets/{id}.md"))
    }

    /// Files of the directory, sorted.
    fn tickets(&self) -> Vec<String> {
        let entries = fs::read_dir(self.project().join(".tickets")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Installs a program of this name first in the PATH; returns the `PATH`.
    fn program(&self, name: &str, script: &str) -> String {
        let path = put(&self.root().join("bin").join(name), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.root().join("bin").display())
    }
}

#[test]
fn a_ticket_from_creation_to_close() {
    let world = World::new();
    let first = world.made(&["Login fails", "-t", "bug", "-p", "1", "-d", "Error 500"]);
    assert!(first.starts_with("pro-"), "{first}");
    let second = world.made(&["Second", "--parent", first.trim_start_matches("pro")]);
    assert!(world.ticket(&second).contains(&format!("parent: {first}\n")));
    let says = |words: &[&str]| world.tk(words).exits(0).quiet().text().to_string();
    assert_eq!(says(&["dep", &first, &second]), format!("Added dependency: {first} -> {second}\n"));
    assert_eq!(says(&["ready"]), format!("{second} [P2][open] - Second\n"));
    assert_eq!(says(&["blocked"]), format!("{first} [P1][open] - Login fails <- [{second}]\n"));
    assert_eq!(says(&["super", "close", &second]), format!("Updated {second} -> closed\n"));
    assert_eq!(says(&["closed"]), format!("{second} [closed] - Second\n"));
    assert_eq!(says(&["add-note", &first, "seen", "again"]), format!("Note added to {first}\n"));
    let piped = world.marvin(["tk", "add-note", &first]).input("from a pipe\n\n").run().exits(0);
    assert_eq!(piped.text(), format!("Note added to {first}\n"));
    let shown = says(&["show", &first]);
    assert!(shown.contains("\nseen again\n") && shown.contains("\nfrom a pipe\n"), "{shown}");
    assert!(shown.ends_with(&format!("\n## Children\n\n- {second} [closed] Second\n")), "{shown}");
    // The same as JSON.
    let facts = world.tk(&["show", &first, "--json"]).exits(0).json();
    assert_eq!(
        (&facts["id"], &facts["type"], &facts["deps"]),
        (&json!(first), &json!("bug"), &json!([second]))
    );
    assert_eq!(facts["relations"]["children"], json!([second]));
    for (list, count) in [("ls", 2), ("ready", 1), ("blocked", 0), ("closed", 1)] {
        let array = world.tk(&[list, "--json"]).exits(0).json();
        assert_eq!(array.as_array().unwrap().len(), count, "{list}: {array}");
    }
    let made = world.tk(&["create", "Third", "--json"]).exits(0).json();
    assert_eq!((&made["title"], &made["status"]), (&json!("Third"), &json!("open")));
    assert_eq!(world.tk(&["start", &first, "--json"]).exits(0).json()["status"], "in_progress");
}

#[test]
fn errors_have_their_exit_codes_and_one_message() {
    let world = World::new();
    let fails = |words: &[&str], code: i32, part: &str| {
        let ended = world.tk(words).exits(code);
        assert!(ended.stdout.is_empty(), "{}", ended.whole());
        assert!(ended.message().contains(part), "{words:?}: {}", ended.whole());
    };
    fails(&["ls"], 1, "no .tickets directory found");
    fails(&["create", "x", "-p", "9"], 2, "invalid priority '9'. Must be one of: 0 1 2 3 4");
    assert!(!world.project().join(".tickets").exists(), "only a good create makes the directory");
    let id = world.made(&["x"]);
    fails(&["create", "x", "--parent", "../../etc/passwd"], 2, "is not a ticket id");
    fails(&["show", "nothing"], 1, "ticket 'nothing' not found");
    fails(&["status", &id, "done"], 2, "Must be one of: open in_progress closed");
    fails(&["crate"], 2, "did you mean `create`?");
    fails(&["show"], 2, "Usage: tk show ID");
    fails(&["ls", "--colour"], 2, "Unknown option: --colour");
    fails(&["add-note", &id], 2, "no note provided");
    world.made(&["y"]);
    fails(&["close", "pro-"], 1, "ambiguous ID 'pro-' matches multiple tickets: pro-");
    for words in [&["help"][..], &["--help"], &["create", "--help"], &[]] {
        let help = world.tk(words).exits(0).quiet();
        assert!(help.text().contains("Examples:") && help.text().contains("add-note"), "{}", help.whole());
    }
    // A damaged file is reported and breaks nothing else.
    world.write(".tickets/torn.md", "---\nid: torn\n");
    let ended = world.tk(&["ls", "--json"]).exits(0);
    assert_eq!(ended.json().as_array().unwrap().len(), 2);
    assert!(ended.stderr.contains("note: damaged ticket torn.md"), "{}", ended.whole());
}

#[test]
fn the_ticket_directory_is_found_as_documented() {
    let world = World::new();
    let id = world.made(&["x"]);
    let deep = world.project().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let below = world.marvin(["tk", "ls"]).directory(&deep).run().exits(0);
    assert!(below.text().starts_with(&id));
    let made = world.marvin(["tk", "create", "y"]).directory(&deep).run().exits(0);
    assert!(made.text().starts_with("pro-"), "called after the project: {}", made.text());
    assert_eq!(world.tickets().len(), 2);
    let other = world.root().join("other");
    for name in ["TICKETS_DIR", "MARVIN_TICKETS_DIR"] {
        let missing = world.marvin(["tk", "ls"]).env(name, &other).run().exits(1);
        assert!(missing.message().contains("does not exist"), "{}", missing.whole());
    }
    world.marvin(["tk", "create", "z"]).env("TICKETS_DIR", &other).run().exits(0);
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    assert_eq!(world.tickets().len(), 2);
}

#[test]
fn only_git_and_jq_are_started() {
    let world = World::new();
    let path = world.program("git", "echo 'Ann Other'");
    let run = |words: &[&str], path: &str| world.marvin([&["tk"], words].concat()).env("PATH", path).run();
    let id = run(&["create", "x"], &path).exits(0).text().trim_end().to_string();
    assert!(world.ticket(&id).contains("assignee: Ann Other\n"));
    let own = run(&["create", "x", "-a", "Bob"], &path).exits(0).text().trim_end().to_string();
    assert!(world.ticket(&own).contains("assignee: Bob\n"));
    // A plugin is not run, and the message names the limitation.
    let path = world.program("tk-ls", "touch PLUGIN");
    assert_eq!(run(&["ls"], &path).exits(0).text().lines().count(), 2);
    world.program("tk-hello", "touch PLUGIN");
    assert!(run(&["hello"], &path).exits(2).message().contains("Plugins"));
    assert!(!world.project().join("PLUGIN").exists());
    // Without jq a filter is an error that says so; everything else works.
    let empty = world.root().join("empty");
    fs::create_dir(&empty).unwrap();
    let bare = empty.display().to_string();
    let ended = run(&["query", ".status"], &bare).exits(1);
    assert!(ended.message().contains("`jq` is not installed"), "{}", ended.whole());
    assert_eq!(run(&["query"], &bare).exits(0).events().len(), 2);
    assert!(!world.ticket(run(&["create", "x"], &bare).exits(0).text().trim_end()).contains("assignee"));
    let path = world.program("jq", "echo \"$@\" >args; cat >input; echo '{\"id\":\"one\"}'");
    assert_eq!(run(&["query", ".status == \"open\""], &path).exits(0).text(), "{\"id\":\"one\"}\n");
    assert_eq!(world.read("args"), "-c select(.status == \"open\")\n");
    assert_eq!(world.read("input").lines().count(), 3);
    let path = world.program("jq", "echo 'no good' >&2; exit 3");
    assert!(run(&["query", "x"], &path).exits(2).message().contains("no good"));
    // Without a terminal no editor is started.
    let ended = world.marvin(["tk", "edit", &id]).env("EDITOR", "touch EDITED").run().exits(0);
    assert!(ended.text().starts_with("Edit ticket file: ") && ended.text().contains(&id));
    assert!(!world.project().join("EDITED").exists());
}

#[test]
fn a_person_edits_in_an_editor() {
    let world = World::new();
    let id = world.made(&["First"]);
    // `script` gives the program a terminal.
    let edit = |editor: &str| {
        let line = format!("{PROGRAM} tk edit {id}");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(world.project());
        world.bare(&mut command);
        command.env("EDITOR", editor).stdin(Stdio::null());
        let output = command.output().ok()?;
        Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let editor = put(&world.root().join("editor"), "#!/bin/sh\nsed -i \"s/$1/$2/\" \"$3\"\n");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let editor = editor.display();
    let Some(ended) = edit(&format!("{editor} First 'Second one'")) else {
        marvin_testing::skip("`script` is not installed");
        return;
    };
    assert_eq!(ended, (Some(0), String::new()));
    assert!(world.ticket(&id).contains("# Second one\n"), "{}", world.ticket(&id));
    let before = world.ticket(&id);
    // Text that is no longer a ticket is not saved, and not lost.
    let (code, message) = edit(&format!("{editor} ^id: no:")).unwrap();
    assert!(code == Some(1) && message.contains("your text was not taken over"), "{message}");
    let drafts = fs::read_dir(world.user().join("drafts")).unwrap();
    let drafts: Vec<PathBuf> = drafts.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(drafts.len(), 1, "{drafts:?}");
    assert!(fs::read_to_string(&drafts[0]).unwrap().contains("no: "));
    let (code, _) = edit("false").unwrap();
    assert_eq!((code, world.ticket(&id)), (Some(1), before));
}

/// Starts `marvin tk` without waiting for it.
fn start(world: &World, words: &[String]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.arg("tk").args(words).current_dir(world.project());
    world.bare(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn concurrent_processes_lose_no_change() {
    const ROUNDS: usize = 3;
    const EACH: usize = 8;
    let world = World::new();
    let hub = world.made(&["Hub"]);
    let others: Vec<String> = (0..EACH).map(|at| world.made(&[&format!("Other {at}")])).collect();
    let mut ids = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut children = Vec::new();
        for (at, other) in others.iter().enumerate() {
            let word = |text: &str| text.to_string();
            let other = other.clone();
            let status = if round % 2 == 0 { "in_progress" } else { "open" };
            // Creates, notes, dependencies, links and states; on the same ticket and on different ones.
            for words in [
                vec![word("create"), format!("New {round} {at}"), word("--parent"), hub.clone()],
                vec![word("add-note"), hub.clone(), format!("note {round}/{at}.")],
                vec![word("dep"), hub.clone(), other.clone()],
                vec![word("link"), hub.clone(), other.clone()],
                vec![word("status"), other.clone(), word(status)],
                vec![word("add-note"), other, format!("own {round}/{at}.")],
            ] {
                children.push(start(&world, &words));
            }
        }
        assert_eq!(children.len(), 48);
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            if text.starts_with("pro-") {
                assert!(ids.insert(text.trim_end().to_string()), "{text} twice");
            }
        }
    }
    assert_eq!(ids.len(), ROUNDS * EACH);
    assert_eq!(world.tickets().len(), 1 + EACH + ROUNDS * EACH, "{:?}", world.tickets());
    let text = world.ticket(&hub);
    for round in 0..ROUNDS {
        for (at, other) in others.iter().enumerate() {
            assert_eq!(text.matches(&format!("note {round}/{at}.\n")).count(), 1, "{round}/{at} in {text}");
            assert!(world.ticket(other).contains(&format!("own {round}/{at}.\n")));
        }
    }
    assert_eq!(text.matches("## Notes").count(), 1);
    let facts = world.tk(&["show", &hub, "--json"]).exits(0).quiet().json();
    let set = |value: &Value| -> BTreeSet<String> {
        value.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_string()).collect()
    };
    assert_eq!(set(&facts["deps"]), others.iter().cloned().collect());
    assert_eq!(set(&facts["links"]), others.iter().cloned().collect());
    assert_eq!(facts["deps"].as_array().unwrap().len(), EACH, "each once");
    assert_eq!(set(&facts["relations"]["children"]), ids);
    for other in &others {
        let text = world.ticket(other);
        assert!(
            text.contains("status: in_progress\n") && text.contains(&format!("links: [{hub}]\n")),
            "{text}"
        );
    }
}

#[test]
fn killed_writers_leave_complete_files() {
    let world = World::new();
    let id = world.made(&["Victim", "-d", &"long description ".repeat(7_000)]);
    let begin = Instant::now();
    let (mut killed, mut done, mut wait) = (0, 0, 0);
    while killed + done < 60 && begin.elapsed() < Duration::from_secs(60) {
        let words: &[String] = match (killed + done) % 3 {
            0 => &["add-note".into(), id.clone(), "x".repeat(1000)],
            1 => &["status".into(), id.clone(), "in_progress".into()],
            _ => &["create".into(), "New".into(), "-d".into(), "y".repeat(100_000)],
        };
        let mut child = start(&world, words);
        // Later and later, so that kills fall into every step of the work.
        std::thread::sleep(Duration::from_micros(wait));
        wait = (wait + 397) % 12_000;
        child.kill().unwrap();
        match child.wait().unwrap().success() {
            true => done += 1,
            false => killed += 1,
        }
    }
    assert!(killed > 10, "{killed} of {} were killed", killed + done);
    // The next writer is not blocked, and removes the leftovers.
    world.tk(&["close", &id]).exits(0).quiet();
    let listed = world.tk(&["ls", "--json"]).exits(0).quiet();
    let names = world.tickets();
    assert_eq!(listed.json().as_array().unwrap().len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| name.ends_with(".md")), "{names:?}");
    let text = world.ticket(&id);
    assert!(text.contains("status: closed\n") && text.contains(&"long description ".repeat(7_000)));
    assert!(names.iter().all(|name| {
        let text = world.read(&format!(".tickets/{name}"));
        text.contains("# Victim\n") || text.ends_with(&format!("{}\n\n", "y".repeat(100_000)))
    }));
}

/// Every call of the run with the rule of its verdict and whether it succeeded.
fn calls(world: &World) -> Vec<(String, String, bool)> {
    let completed =
        |event: &&Value| event["type"] == "item.completed" && event["item"]["type"] == "tool_call";
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    world
        .trace()
        .iter()
        .filter(completed)
        .map(|event| {
            let item = &event["item"];
            (text(&item["name"]), text(&item["verdict"]["rule"]), item["ok"] == true)
        })
        .collect()
}

#[test]
fn a_non_interactive_agent_creates_its_own_ticket_first() {
    let world = World::new();
    let parent = world.made(&["The whole"]);
    let write = |name: &str| call("create_file", json!({"path": name, "content": "x"}));
    let create = |line: &str| call("tk", json!({"args": line}));
    let script = [
        write("early.txt"),
        create("create 'My part' -d 'no parent'"),
        create(&format!("create 'My part' --parent {parent}")),
        write("still.txt"),
        create(&format!("create 'My part' -d 'What, criteria, files' -t task --tags a --parent {parent}")),
        write("late.txt"),
        say("done"),
    ];
    world.play(&script, &[]).env("MARVIN_TICKET", &parent).run().exits(0);
    let rules: Vec<(String, String, bool)> = calls(&world);
    let short: Vec<(&str, &str, bool)> =
        rules.iter().map(|(tool, rule, ok)| (tool.as_str(), rule.as_str(), *ok)).collect();
    assert_eq!(
        short,
        [
            ("create_file", "ticket.needed", false),
            ("tk", "ticket.parent", false),
            ("tk", "ticket.first", false),
            ("create_file", "ticket.needed", false),
            ("tk", "ticket.create", true),
            ("create_file", "path.inside", true),
        ]
    );
    let exists = |name: &str| world.project().join(name).exists();
    assert!(!exists("early.txt") && !exists("still.txt") && exists("late.txt"));
    let child = world.tk(&["show", &parent, "--json"]).exits(0).json()["relations"]["children"][0].clone();
    let child = world.ticket(child.as_str().unwrap());
    assert!(
        child.contains("# My part\n\nWhat, criteria, files\n") && child.contains("tags: [a]\n"),
        "{child}"
    );
}

#[test]
fn agents_with_a_ticket_may_read_and_commands_cannot_reach_tickets() {
    let world = World::new();
    let parent = world.made(&["The whole"]);
    let script = [
        call("ticket_show", json!({"ticket_id": parent})),
        call("create_file", json!({"path": "a.txt", "content": "x"})),
        call("tk", json!({"args": "ls"})),
        say("done"),
    ];
    world.play(&script, &[]).env("MARVIN_TICKET", &parent).env("MARVIN_READONLY", "1").run().exits(0);
    let results: Vec<bool> = calls(&world).into_iter().map(|(_, _, ok)| ok).collect();
    assert_eq!(results, [true, false, false]);
    let bound = World::new();
    let script = [call("create_file", json!({"path": "a.txt", "content": "x"})), say("done")];
    bound.play(&script, &[]).env("MARVIN_TICKET", "t-1").env("MARVIN_WRITABLE_FILES", "a.txt").run().exits(0);
    assert!(bound.project().join("a.txt").exists());
    for line in ["tk ls", "marvin tk close x", "bash -c 'ticket ls'", "cat .tickets/x.md"] {
        let arguments = json!({"command": line}).to_string();
        let ended = world.marvin(["tools", "call", "run_command", "--args", &arguments]).run().exits(5);
        assert!(ended.message().contains("Use the tk tool"), "{line}: {}", ended.whole());
    }
    let place: PathBuf = world.project().join(".tickets");
    assert_eq!(fs::read_dir(place).unwrap().count(), 1);
}
