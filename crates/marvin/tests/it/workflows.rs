//! Workflows from the command line.

use crate::bad_input::with_mounts;
use crate::support::{World, commands_run, files_below, json_file, ledger, put, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn echo(id: &str, after: &[&str]) -> Value {
    json!({"id": id, "worker": "Echo", "depends_on": after, "inputs": {"n": 1}})
}

fn command(id: &str, after: &[&str], line: &str) -> Value {
    json!({"id": id, "worker": "Command", "depends_on": after, "inputs": {"command": line}})
}

fn flow(world: &World, steps: &[Value]) {
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try it", "steps": steps}).to_string());
}

#[test]
fn the_documented_example_runs() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workflows.md")).unwrap();
    let example = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    world.write("release.yaml", example);
    world.marvin(["workflow", "check", "release.yaml"]).run().exits(0);
    let ended = world.marvin(["run-workflow", "release.yaml", "--json"]).run().exits(4);
    let result = ended.json();
    assert_eq!(result["status"], "BLOCKED");
    assert_eq!(result["waiting"][0]["step_id"], "approve");
    let path = result["run_path"].as_str().unwrap();
    world.person(["workflow", "approve", "--run-path", path, "--step", "approve"]).run().exits(0);
    let result = world.marvin(["resume-run", "--run-path", path, "--json"]).run().exits(0).json();
    assert_eq!(result["status"], "SUCCEEDED");
    let state = json_file(&Path::new(path).join("workflow_state.json"));
    assert_eq!(state["state"]["steps"]["publish"]["outputs"]["stdout"], "3 words\n");
    assert!(world.project().join("out/words.txt").exists());
    let inspected = world.marvin(["inspect-run", "--run-path", path, "--json"]).run().exits(0).json();
    assert_eq!(inspected["artifacts"][0]["path"], "out/words.txt");
    let shown = world.marvin(["inspect-run", "--run-path", path]).run().exits(0);
    assert!(shown.text().contains("SUCCEEDED") && shown.text().contains("out/words.txt"), "{}", shown.text());
    let timeline = world.marvin(["inspect-run", path, "--timeline"]).run().exits(0);
    assert!(
        timeline.text().contains("RUNNING") && timeline.text().contains("BLOCKED"),
        "{}",
        timeline.text()
    );
    let types: Vec<String> = ledger(&Path::new(path).join("trace.jsonl"))
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_string())
        .collect();
    for kind in
        ["workflow.started", "step.started", "step.succeeded", "step.blocked", "workflow.resumed", "result"]
    {
        assert!(types.iter().any(|one| one == kind), "{kind}: {types:?}");
    }
}

#[test]
fn the_result_is_one_object() {
    let world = World::new();
    flow(&world, &[echo("a", &[]), echo("b", &["a"])]);
    let result = world.marvin(["run-workflow", "w.json", "--json"]).run().exits(0).json();
    assert_eq!(result["status"], "SUCCEEDED");
    assert_eq!(result["steps"], json!({"SUCCEEDED": 2}));
    assert!(result["run_id"].as_str().unwrap().starts_with("run_"));
    let path = Path::new(result["run_path"].as_str().unwrap());
    assert_eq!(json_file(&path.join("run.json"))["status"], "succeeded");
    let listed = world.marvin(["list-runs", "--json"]).run().exits(0).json();
    assert_eq!((&listed[0]["status"], &listed[0]["run_id"]), (&json!("SUCCEEDED"), &result["run_id"]));
    assert!(world.marvin(["list-runs"]).run().exits(0).text().starts_with("SUCCEEDED"));
    let plain = world.marvin(["run-workflow", "w.json"]).run().exits(0);
    assert!(plain.text().starts_with("SUCCEEDED: 2 succeeded of 2 steps"), "{}", plain.text());
}

#[test]
fn a_run_without_a_plan_is_reported_and_no_older_one_is_resumed() {
    let world = World::new();
    flow(&world, &[json!({"id": "a", "worker": "Echo"})]);
    world.marvin(["run-workflow", "w.json"]).run().exits(0);
    world.marvin(["resume-run"]).run().exits(0);
    let later = "runs/run_29990101_000000_abcd/run.json";
    world.write_state(later, "{\"manner\": \"workflow\", \"status\": \"planning\", \"goal\": \"g\"}");
    let ended = world.marvin(["resume-run"]).run().exits(2);
    assert!(ended.message().contains("run_29990101_000000_abcd has no plan"), "{}", ended.whole());
}

#[test]
fn invalid_workflows_are_named_and_nothing_is_begun() {
    let world = World::new();
    world.write("w.yaml", "steps:\n  - id: a\n    worker: Echo\n    depends_on: [b]\n");
    for words in [
        ["run-workflow", "w.yaml"].as_slice(),
        &["workflow", "check", "w.yaml"],
        &["workflow", "graph", "w.yaml"],
    ] {
        world.marvin(words).run().exits(2);
    }
    let checked = world.marvin(["workflow", "check", "w.yaml", "--json"]).run().exits(2).json();
    assert_eq!((&checked["ok"], &checked["problems"][0]["line"]), (&json!(false), &json!(2)));
    world.marvin(["run-workflow", "nothing.json"]).run().exits(2);
    flow(&world, &[json!({"id": "a", "worker": "Ehco"})]);
    for words in [["run-workflow", "w.json"].as_slice(), &["workflow", "check", "w.json"]] {
        world.marvin(words).run().exits(2);
    }
    let checked = world.marvin(["workflow", "check", "w.json", "--json"]).run().exits(2).json();
    assert_eq!((&checked["ok"], checked["problems"].as_array().map(Vec::len)), (&json!(false), Some(1)));
    assert!(world.runs().is_empty());
    world.marvin(["resume-run", "--run-path", "nothing"]).run().exits(2);
    world.marvin(["resume-run"]).run().exits(2);
    world.marvin(["stop-run"]).run().exits(2);
}

#[test]
fn graphs_are_drawn_in_every_format() {
    let world = World::new();
    flow(&world, &[echo("a", &[]), echo("b", &["a"]), echo("c", &["a"]), echo("d", &["b", "c"])]);
    let svg = world.marvin(["workflow", "graph", "w.json", "--svg"]).run().exits(0);
    assert!(
        svg.text().starts_with("<svg ")
            && svg.text().contains("prefers-color-scheme:dark")
            && svg.text().matches("<rect ").count() == 4
    );
    let json = world.marvin(["workflow", "graph", "w.json", "--json"]).run().exits(0).json();
    assert_eq!(json["steps"][3]["level"], 2);
}

#[test]
fn commands_are_judged_sandboxed_and_verified_by_exit_code() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    flow(
        &world,
        &[
            command("good", &[], "echo \"$MARVIN_STEP $MARVIN_STEP_ATTEMPT\" | tee made.txt"),
            command("bad", &[], "echo it is wrong >&2; exit 7"),
            command("outside", &[], "echo x > ../home/x"),
            command("hidden", &[], "printf x | tee /tmp/marvin-outside.txt"),
            // A command that is known only when it runs; others are refused before.
            json!({"id": "line", "worker": "Echo", "inputs": {"line": "rm -rf /"}}),
            json!({"id": "forbidden", "worker": "Command", "depends_on": ["line"], "inputs": {"command": {"from": "line.outputs.line"}}}),
            json!({"id": "absent", "worker": "Command", "inputs": {"command": "true", "artifacts": ["no.txt"]}}),
            json!({"id": "late", "worker": "Command", "inputs": {"command": "sleep 60"}, "timeout_s": 1}),
        ],
    );
    let ended = world.marvin(["run-workflow", "w.json", "--json"]).run().exits(4);
    let state = json_file(&world.run().join("workflow_state.json"));
    let step = |id: &str| state["state"]["steps"][id].clone();
    assert_eq!(
        (&step("good")["status"], &step("good")["outputs"]["stdout"]),
        (&json!("SUCCEEDED"), &json!("good 1\n"))
    );
    assert_eq!(world.read("made.txt"), "good 1\n");
    assert_eq!(step("outside")["status"], "BLOCKED", "a person could allow it");
    assert!(!Path::new("/tmp/marvin-outside.txt").exists());
    for (id, why) in
        [("bad", "exit-7"), ("forbidden", "refused"), ("absent", "artifact-missing"), ("late", "timeout")]
    {
        assert_eq!(step(id)["status"], "FAILED", "{id}: {}", ended.whole());
        assert!(step(id)["error"].as_str().unwrap().contains(why), "{id}: {}", step(id));
    }
    assert_eq!(
        step("bad")["attempts"].as_array().unwrap().len(),
        1,
        "a step with effects is not repeated automatically"
    );
    assert!(!world.home().join("x").exists());
}

#[test]
fn a_partial_run_says_what_is_missing() {
    let world = World::new();
    let goal = ["run-workflow", "--goal", "tidy up", "--provider", "mock"];
    let ended = world.marvin(goal).run().exits(1);
    assert!(
        ended.text().contains("\npartial: work: mock: I am Marvin's built-in model"),
        "{}",
        ended.whole()
    );
}

#[test]
fn a_directory_that_holds_the_home_directory_is_refused_before_a_run() {
    let world = World::new();
    let steps = |steps: &[Value]| json!({"workflow_id": "w", "goal": "try it", "steps": steps}).to_string();
    let file = put(&world.root().join("w.json"), &steps(&[command("a", &[], "true")]));
    let echo = json!({"id": "a", "worker": "Echo", "inputs": {"text": "hello"}});
    let echoes = put(&world.root().join("echo.json"), &steps(&[echo]));
    let places =
        [(world.home(), "the home directory"), (world.root().to_path_buf(), "holds the home directory")];
    for (directory, reason) in &places {
        let run = |words: &[&str]| world.marvin(["run-workflow"]).args(words).directory(directory).run();
        let refused = run(&[file.to_str().unwrap()]).exits(5);
        assert!(refused.message().contains(reason), "{}", refused.whole());
        run(&["--goal", "tidy up", "--provider", "mock"]).exits(5);
        let listed =
            world.marvin(["list-runs", "--all", "--json"]).directory(directory).run().exits(0).json();
        assert_eq!(listed, json!([]));
    }
    for (directory, _) in &places {
        // Steps that only pass values on need no workspace.
        world.marvin(["run-workflow", echoes.to_str().unwrap()]).directory(directory).run().exits(0);
    }
}

#[test]
fn a_stopped_workflow_is_resumed() {
    for by_command in [false, true] {
        let world = World::new();
        if !commands_run(&world) {
            return;
        }
        let length = format!("300.{}{}", std::process::id(), u8::from(by_command));
        let mut wait = command("wait", &["first"], &format!("test -f go.txt || sleep {length}"));
        wait["repeatable"] = true.into();
        flow(&world, &[command("first", &[], "echo 1 >> first.txt"), wait]);
        let running = world.marvin(["run-workflow", "w.json", "--json"]).start();
        until("the second step runs", || {
            world.runs().first().is_some_and(|run| {
                fs::read_to_string(run.join("trace.jsonl"))
                    .is_ok_and(|text| text.contains("\"step_id\":\"wait\""))
            })
        });
        let path = world.run().display().to_string();
        let held = world.marvin(["resume-run", "--run-path", &path]).run().exits(1);
        assert!(held.message().contains(&format!("held by process {}", running.id())), "{}", held.whole());
        let listed = world.marvin(["list-runs", "--json"]).run().exits(0).json();
        assert_eq!(
            (&listed[0]["status"], &listed[0]["holder"]["pid"]),
            (&json!("RUNNING"), &json!(running.id()))
        );
        if by_command {
            world.marvin(["stop-run", "--run-path", &path]).run().exits(0);
        } else {
            running.signal(Signal::INT);
        }
        let result = running.end().exits(130).json();
        assert_eq!(result["status"], "STOPPED");
        let shown = world.marvin(["inspect-run", "--run-path", &path]).run().exits(0);
        let row = shown.text().lines().find(|line| line.split_whitespace().nth(1) == Some("wait"));
        let tries = row.and_then(|row| row.split_whitespace().nth(3));
        assert_eq!(tries, Some("1"), "the attempt was begun\n{}", shown.text());
        let again = world.marvin(["stop-run", "--run-path", &path]).run().exits(1);
        assert!(again.message().contains("is not running"));
        world.write("go.txt", "");
        let result = world.marvin(["resume-run", "--run-path", &path, "--json"]).run().exits(0).json();
        assert_eq!(result["status"], "SUCCEEDED");
        assert_eq!(world.read("first.txt"), "1\n", "what was over did not run again");
    }
}

#[test]
fn a_person_decides_while_it_runs() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let mut wait = command("wait", &[], "while ! test -f go.txt; do sleep 0.05; done");
    wait["writes"] = false.into();
    flow(
        &world,
        &[
            json!({"id": "ask", "worker": "answer", "description": "Which colour?"}),
            json!({"id": "use", "worker": "Command", "depends_on": ["ask"], "inputs": {"command": "touch go.txt", "colour": {"from": "ask.outputs.answer"}}}),
            wait,
        ],
    );
    let running = world.marvin(["run-workflow", "w.json", "--json"]).start();
    until("it asks", || {
        world.runs().first().is_some_and(|run| {
            fs::read_to_string(run.join("trace.jsonl")).is_ok_and(|text| text.contains("\"step.blocked\""))
        })
    });
    let decided = world
        .person(["workflow", "answer", "--step", "ask", "--text", "blue", "--json"])
        .run()
        .exits(0)
        .json();
    assert_eq!(decided["heard"], true);
    assert_eq!(running.end().exits(0).json()["status"], "SUCCEEDED");
    let state = json_file(&world.run().join("workflow_state.json"));
    assert_eq!(state["state"]["steps"]["use"]["inputs"]["colour"], "blue");
}

#[test]
fn a_damaged_record_or_a_deleted_artifact_stops_it() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let mut make = command("make", &[], "echo x > made.txt");
    make["inputs"]["artifacts"] = json!(["made.txt"]);
    flow(
        &world,
        &[make, json!({"id": "ok", "worker": "approve", "depends_on": ["make"]}), echo("end", &["ok"])],
    );
    world.marvin(["run-workflow", "w.json"]).run().exits(4);
    let path = world.run().display().to_string();
    world.person(["workflow", "approve", "--step", "ok"]).run().exits(0);
    fs::remove_file(world.project().join("made.txt")).unwrap();
    let ended = world.marvin(["resume-run"]).run().exits(1);
    assert!(
        ended.stderr.contains("step `make` left") && ended.stderr.contains("made.txt"),
        "{}",
        ended.whole()
    );
    world.write("made.txt", "x\n");
    let database = world.run().join("run.sqlite");
    let whole = fs::read(&database).unwrap();
    let mut broken = whole.clone();
    let from = broken.len() - 4096;
    broken[from..].fill(0x5a);
    fs::write(&database, &broken).unwrap();
    fs::remove_file(world.run().join("run.sqlite-wal")).ok();
    fs::remove_file(world.run().join("run.sqlite-shm")).ok();
    let ended = world.marvin(["resume-run", "--run-path", &path]).run().exits(1);
    assert!(ended.stderr.contains("damaged"), "{}", ended.whole());
    fs::write(&database, &whole).unwrap();
    world.person(["workflow", "approve", "--step", "ok"]).run().exits(0);
    world.marvin(["resume-run", "--run-path", &path]).run().exits(0);
}

#[test]
fn command_output_is_recorded_without_secrets() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let secret = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH";
    flow(
        &world,
        &[
            command("a", &[], "cat key.txt"),
            json!({"id": "b", "worker": "Echo", "depends_on": ["a"], "inputs": {"x": {"from": "a.outputs.stdout"}}}),
        ],
    );
    world.write("key.txt", secret);
    world.marvin(["run-workflow", "w.json"]).run().exits(0);
    let files = files_below(&world.run());
    assert!(files.iter().any(|file| file.ends_with("artifacts/steps/a/outputs.json")), "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", file.display());
    }
}

#[test]
fn a_full_or_read_only_disk_stops_it() {
    let world = World::new();
    let steps: Vec<Value> = (0..600)
        .map(|n| {
            let mut step = echo(&format!("s{n}"), &[]);
            step["inputs"]["text"] = "word ".repeat(80).into();
            if n > 0 {
                step["depends_on"] = json!([format!("s{}", n - 1)]);
            }
            step
        })
        .collect();
    fs::write(world.root().join("w.json"), json!({ "steps": steps }).to_string()).unwrap();
    let line = "mkdir -p ../home/.local/state && mount -t tmpfs -o size=1400k tmpfs ../home/.local/state && \"$MARVIN\" run-workflow ../w.json --json; code=$?; \
         cp -r ../home/.local/state/marvin/projects/* ../kept; exit $code";
    let Some(ended) = with_mounts(&world, line) else { return };
    let ended = ended.exits(1);
    assert!(ended.stderr.contains("the disk is full") && ended.stdout.is_empty(), "{}", ended.whole());
    // The run resumes where there is room.
    let runs = crate::support::runs_below(&world.root().join("kept/runs"));
    let moved = world.state().join("runs");
    fs::create_dir_all(&moved).unwrap();
    fs::copy(world.root().join("kept/project.json"), world.state().join("project.json")).unwrap();
    let run = moved.join(runs[0].file_name().unwrap());
    fs::rename(&runs[0], &run).unwrap();
    let before = marvin_flow::record::Record::look(&run).unwrap().2;
    let over = before.status.iter().filter(|status| status.is_complete()).count();
    assert!((1..600).contains(&over), "{over} steps were over when the disk was full");
    let result = world
        .marvin(["resume-run", "--run-path", &run.display().to_string(), "--json"])
        .run()
        .exits(0)
        .json();
    assert_eq!(result["steps"], json!({"SUCCEEDED": 600}));
    let line = "mount -t tmpfs tmpfs ../home/.local/state && mount -o remount,ro ../home/.local/state && \"$MARVIN\" run-workflow ../w.json";
    let ended = with_mounts(&world, line).unwrap().exits(1);
    assert!(ended.stderr.contains("read-only"), "{}", ended.whole());
}

#[test]
fn parallel_writers_have_worktrees() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let git = |words: &[&str]| marvin_testing::git(&world.project(), words);
    world.write("shared.txt", "first\n");
    world.write(".gitignore", ".marvin/\nw.json\n");
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "begin"]);
    let write = |id: &str, line: &str| {
        let mut step = command(id, &[], line);
        step["worktree"] = true.into();
        step
    };
    flow(
        &world,
        &[
            write("b", "sleep 0.3; pwd > where_b.txt; echo b > b.txt"),
            write("a", "pwd > where_a.txt; echo a > a.txt"),
            write("one", "sleep 0.2; echo one > shared.txt"),
            write("two", "echo two > shared.txt"),
            command("end", &["a", "b"], "cat a.txt b.txt"),
        ],
    );
    let result =
        world.marvin(["run-workflow", "w.json", "--json", "--concurrency", "4"]).run().exits(4).json();
    assert_eq!(result["steps"], json!({"BLOCKED": 1, "SUCCEEDED": 4}), "{result}");
    assert_eq!(
        (&result["waiting"][0]["step_id"], &result["waiting"][0]["kind"]),
        (&json!("two"), &json!("merge"))
    );
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("a\n".into(), "b\n".into()));
    assert_eq!(world.read("shared.txt"), "one\n", "the first of the file comes first, however long it takes");
    let kept = world
        .project()
        .join(".marvin/worktrees")
        .join(result["run_id"].as_str().unwrap())
        .join("two-1/shared.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "two\n", "nothing is lost");
    assert_ne!(world.read("where_a.txt"), world.read("where_b.txt"));
    world.person(["workflow", "settle", "--step", "two", "--as", "done"]).run().exits(0);
    world.marvin(["resume-run"]).run().exits(0);
}
