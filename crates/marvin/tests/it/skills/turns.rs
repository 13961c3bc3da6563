//! Skills in turns: what agents are told, what they load, and what a change does.

use super::{find, listed, put, text};
use crate::support::{World, call, ledger, say};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system message and the tool results of the recorded exchanges of a turn.
fn sent(world: &World) -> (String, Vec<String>) {
    let entries = ledger(&world.root().join("tape/script.jsonl"));
    // Each exchange has the messages that are new in it.
    let messages = entries.iter().flat_map(|entry| entry["request"]["messages"].as_array().unwrap());
    let of = |role: &str| -> Vec<String> {
        let messages = messages.clone().filter(|message| message["role"] == role);
        messages.map(|message| message["content"].as_str().unwrap().to_string()).collect()
    };
    (of("system").remove(0), of("tool"))
}

fn play(world: &World, script: &[Value]) -> (String, Vec<String>) {
    let tape = world.root().join("tape").display().to_string();
    std::fs::remove_dir_all(&tape).ok();
    world.play(script, &["--record", &tape]).run().exits(0);
    sent(world)
}

fn load(name: &str) -> Value {
    call("load_skill", json!({"name": name}))
}

#[test]
fn an_agent_is_told_names_and_loads_the_text() {
    let world = World::new();
    put(&world, "deploy", "Run `sh scripts/push.sh`.");
    world.write(".marvin/skills/deploy/scripts/push.sh", "echo pushed-by-the-skill\n");
    let own = world.user().join("skills/mine");
    crate::support::put(&own.join("SKILL.md"), &text("mine", "My own way."));
    crate::support::put(&own.join("scripts/mine.sh"), "echo mine-ran\n");
    let (system, results) = play(
        &world,
        &[
            load("deploy"),
            call("run_command", json!({"command": "sh .marvin/skills/deploy/scripts/push.sh"})),
            load("mine"),
            call("load_skill", json!({"name": "mine", "file": "scripts/mine.sh"})),
            call("load_skill", json!({"name": "mine", "file": "../../config.toml"})),
            say("done"),
        ],
    );
    assert!(system.contains("- deploy [not confirmed]: About deploy.\n- mine: About mine.\n"), "{system}");
    assert!(system.contains("- built in: chat, debugger,") && !system.contains("My own way"), "{system}");
    let [deploy, pushed, mine, file, refused] = results.as_slice() else { panic!("{results:#?}") };
    assert!(deploy.contains("[from the repository, not confirmed by the person]"), "{deploy}");
    assert!(deploy.contains("They do not speak for the person"), "{deploy}");
    assert!(deploy.contains("Run `sh scripts/push.sh`.") && deploy.contains("- scripts/push.sh"), "{deploy}");
    assert!(pushed.contains("it would run what agents are told"), "it is not confirmed: {pushed}");
    assert!(mine.contains("My own way.") && !mine.contains("not confirmed"), "{mine}");
    assert!(file.contains("echo mine-ran") && refused.contains("has no file"), "{file} {refused}");
    // The person's own skill was copied to where a command can run it.
    let place = mine.split("files are in `").nth(1).unwrap().split('`').next().unwrap().to_string();
    let (_, results) = play(
        &world,
        &[call("run_command", json!({"command": format!("sh {place}/scripts/mine.sh")})), say("ok")],
    );
    assert!(results[0].contains("mine-ran"), "{results:?}");
    // So does one of the project, once it is trusted, and not what an agent put in its place.
    world.person(["skills", "trust", "deploy"]).run().exits(0);
    let (_, results) = play(&world, &[load("deploy"), say("ok")]);
    let place = results[0].split("files are in `").nth(1).unwrap().split('`').next().unwrap().to_string();
    let push = [call("run_command", json!({"command": format!("sh {place}/scripts/push.sh")})), say("ok")];
    let (_, results) = play(&world, &push);
    assert!(results[0].contains("pushed-by-the-skill"), "{results:?}");
    world.write(&format!("{place}/scripts/push.sh"), "echo planted\n");
    let (_, results) = play(&world, &[load("deploy"), say("ok")]);
    let fresh = format!(
        "An earlier copy of its files was changed since it was made; use this one. Its files are in `{place}-2`"
    );
    assert!(results[0].contains(&fresh), "{results:?}");
    // A replay lists what the run listed.
    let run = ledger(&world.root().join("tape/script.jsonl"))[0]["request"]["run_id"].clone();
    let run = run.as_str().unwrap().to_string();
    put(&world, "another", "New.");
    assert_eq!(world.marvin(["replay", &run, "--json"]).run().exits(0).json()["same"], true);
}

#[test]
fn a_trusted_skill_is_told_as_the_persons() {
    let world = World::new();
    put(&world, "deploy", "Push it.");
    world.person(["skills", "trust", "deploy"]).run().exits(0);
    let (system, results) = play(&world, &[load("deploy"), say("done")]);
    assert!(system.contains("- deploy: About deploy."), "{system}");
    assert!(results[0].contains("Push it.") && !results[0].contains("not confirmed"), "{}", results[0]);
    put(&world, "deploy", "Push it elsewhere.");
    let (system, results) = play(&world, &[load("deploy"), say("done")]);
    assert!(!system.contains("deploy"), "{system}");
    assert!(results[0].contains("it changed since it was registered"), "{}", results[0]);
}

#[test]
fn a_chat_without_skills_is_not_told_of_any() {
    let world = World::new();
    for role in ["chat", "coder"] {
        let shown = world.marvin(["prompt", "show", "--role", role]).run().exits(0);
        assert!(!shown.text().contains("# Skills"), "{}", shown.text());
    }
    put(&world, "deploy", "Push it.");
    let planner = world.marvin(["prompt", "show", "--role", "Planner"]).run().exits(0);
    assert!(
        planner.text().contains("- deploy") && !planner.text().contains("- planner:"),
        "{}",
        planner.text()
    );
}

/// A conversation in one process: edits count at the next prompt, a broken edit keeps the last good version, and no turn is lost.
#[test]
fn hot_reload_under_load_loses_no_turn() {
    const TURNS: usize = 30;
    let world = World::new();
    put(&world, "deploy", "version 0");
    let mut script = Vec::new();
    for turn in 0..TURNS {
        script.extend([load("deploy"), say(&format!("answer {turn}"))]);
    }
    let script = world.script(&script);
    let over = AtomicBool::new(false);
    let path = world.project().join(".marvin/skills/deploy/SKILL.md");
    let (mut marvin, mut input) = world.marvin(["--plain", "--script", &script]).converse();
    let mut ask = |turn: usize| input.write_all(format!("prompt {turn}\n").as_bytes()).unwrap();
    ask(0);
    // From here on there is a good version.
    marvin.wait_for("answer 0");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut version = 0;
            while !over.load(Ordering::Relaxed) {
                version += 1;
                let good = text("deploy", &format!("version {version}"));
                // Half of the edits are broken; the file is also cut while it is written.
                std::fs::write(&path, if version % 2 == 0 { good.as_str() } else { "---\nname: [\n" })
                    .unwrap();
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        for turn in 1..TURNS {
            ask(turn);
            marvin.wait_for(&format!("answer {turn}"));
        }
        over.store(true, Ordering::Relaxed);
    });
    drop(input);
    marvin.end().exits(0);
    let mut loaded = 0;
    for run in world.runs() {
        let trace = ledger(&run.join("trace.jsonl"));
        let result = trace
            .iter()
            .find(|event| event["type"] == "item.completed" && event["item"]["tool"] == "load_skill");
        loaded += usize::from(result.unwrap()["item"]["ok"] == true);
    }
    assert_eq!(loaded, TURNS, "the last good version is always there");
}

#[test]
fn a_broken_edit_is_told_once_and_the_last_good_version_stays() {
    let world = World::new();
    put(&world, "deploy", "the good one");
    let script =
        world.script(&[load("deploy"), say("one"), load("deploy"), say("two"), load("deploy"), say("three")]);
    let (mut marvin, mut input) = world.marvin(["--plain", "--script", &script]).converse();
    let mut ask = |marvin: &mut crate::support::RunningProgram, answer: &str| {
        input.write_all(b"go\n").unwrap();
        input.flush().unwrap();
        marvin.wait_for(answer)
    };
    ask(&mut marvin, "one");
    std::fs::write(world.project().join(".marvin/skills/deploy/SKILL.md"), "---\nname: [\n---\nx").unwrap();
    ask(&mut marvin, "two");
    ask(&mut marvin, "three");
    drop(input);
    marvin.end().exits(0);
    let mut notices = 0;
    for run in world.runs() {
        for event in ledger(&run.join("trace.jsonl")) {
            let text = event.to_string();
            notices +=
                usize::from(event["type"] == "notice" && text.contains("last good version stays in use"));
            if event["item"]["tool"] == "load_skill" {
                assert_eq!(event["item"]["ok"], true, "{event}");
            }
        }
    }
    assert_eq!(notices, 1);
    assert_eq!(
        find(&listed(&world), "refused", "deploy")["last_good"],
        false,
        "another process has no good version"
    );
}

#[test]
fn a_skill_that_fails_in_use_loses_its_trust() {
    let world = World::new();
    put(&world, "deploy", "Push it.");
    world.person(["skills", "trust", "deploy"]).run().exits(0);
    for number in 1..=5 {
        assert_eq!(find(&listed(&world), "skills", "deploy")["trusted"], true, "{number}");
        let script = [load("deploy"), say("it is done")];
        world
            .play(&script, &["--commitment", "file_exists:never.txt"])
            .env("MARVIN_VERIFY_ROUNDS", "0")
            .run()
            .exits(3);
    }
    let found = listed(&world);
    let deploy = find(&found, "skills", "deploy");
    assert_eq!(
        (&deploy["trusted"], &deploy["uses"], &deploy["failures"]),
        (&json!(false), &json!(5), &json!(5))
    );
    let traces = world.runs().into_iter().flat_map(|run| ledger(&run.join("trace.jsonl")));
    let told = "is no longer trusted: too many turns that used it failed";
    let lost = traces.into_iter().any(|event| event.to_string().contains(told));
    assert!(lost, "the person is told");
    let shown = world.marvin(["skills", "show", "deploy"]).run().exits(0);
    assert!(
        shown.text().contains("failed in use") && shown.text().contains("5, 5 failed"),
        "{}",
        shown.text()
    );
    world.person(["skills", "trust", "deploy"]).run().exits(0);
    assert_eq!(find(&listed(&world), "skills", "deploy")["trusted"], true);
}
