//! Workflows killed at random moments and resumed: no finished step runs again, no effect is applied twice or lost, and the
//! final state equals that of an uninterrupted run.

use crate::support::{Marvin, ProgramOutput, World, commands_run, json_file};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Kills in an ordinary test run; `cargo xtask crash-matrix` makes more.
const KILLS: u64 = 60;
const WORKERS: u64 = 4;

/// The SplitMix64 sequence: the same kills in every run of the test.
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Appends its key to a file, once per execution.
const ONCE: &str = "echo \"$MARVIN_STEP $MARVIN_STEP_KEY\" >> effects.txt; echo \"out of $MARVIN_STEP\"";
/// The same, but idempotent: it checks for its key first, so it may run again.
const KEYED: &str = "grep -qs \"$MARVIN_STEP_KEY\" effects.txt || echo \"$MARVIN_STEP $MARVIN_STEP_KEY\" >> effects.txt; echo \"out of $MARVIN_STEP\"";

fn command(id: &str, after: &[&str], keyed: bool) -> Value {
    let line = if keyed { KEYED } else { ONCE };
    json!({"id": id, "worker": "Command", "depends_on": after, "inputs": {"command": line}, "repeatable": keyed})
}

fn echo(id: &str, after: &[&str], from: Option<&str>) -> Value {
    let value = from.map_or(json!(1), |from| json!({"from": format!("{from}.outputs.stdout")}));
    json!({"id": id, "worker": "Echo", "depends_on": after, "inputs": {"value": value}})
}

/// A step whose first strategy fails and whose second succeeds; each leaves an effect.
fn tried_twice(id: &str, after: &[&str], keyed: bool) -> Value {
    let mut step = command(id, after, keyed);
    let line = step["inputs"]["command"].as_str().unwrap().to_string();
    step["inputs"]["command"] = format!("{line}; test \"$MARVIN_STEP_STRATEGY\" = second").into();
    let rung = |id: &str| json!({"strategy_id": id, "worker": "Command", "retrieval_stage": 1});
    step["ladder"] = json!([rung("first"), rung("second")]);
    step
}

fn shapes() -> Vec<(&'static str, Value)> {
    let chain = json!({"goal": "chain", "steps": [
        command("a", &[], true), echo("b", &["a"], Some("a")), command("c", &["b"], false), command("d", &["c"], true), echo("e", &["d"], Some("d")),
    ]});
    let mut fan = vec![echo("root", &[], None)];
    for n in 0..6 {
        let mut step = command(&format!("f{n}"), &["root"], n % 2 == 0);
        step["writes"] = false.into();
        fan.push(step);
    }
    fan.push(echo("join", &["f0", "f1", "f2", "f3", "f4", "f5"], Some("f5")));
    let diamond = json!({"goal": "diamond", "steps": [
        command("top", &[], false), command("left", &["top"], true), command("right", &["top"], false),
        command("bottom", &["left", "right"], true),
    ]});
    let retries = json!({"goal": "retries", "steps": [
        tried_twice("x", &[], true), command("y", &["x"], true), tried_twice("z", &["y"], false), echo("end", &["z"], Some("z")),
    ]});
    vec![
        ("chain", chain),
        ("fan", json!({"goal": "fan", "steps": fan})),
        ("diamond", diamond),
        ("retries", retries),
    ]
}

/// One workflow in its own directory.
struct Case<'a> {
    world: &'a World,
    directory: PathBuf,
    seed: String,
}

/// State that does not depend on interruptions: step statuses, outputs and attempts.
fn essence(state: &Value, but: &BTreeSet<String>) -> Value {
    let mut steps = BTreeMap::new();
    for (id, step) in state["state"]["steps"].as_object().unwrap() {
        let attempts: Vec<Value> = step["attempts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                json!([
                    one["attempt_id"],
                    one["status"],
                    one["strategy_id"],
                    one["call_signature"],
                    one["failure_signature"]
                ])
            })
            .collect();
        let of_person = but.contains(id);
        let attempts = if of_person { Value::Null } else { attempts.into() };
        steps.insert(
            id.clone(),
            json!({"status": step["status"], "outputs": step["outputs"], "attempts": attempts}),
        );
    }
    json!(steps)
}

impl Case<'_> {
    fn marvin(&self, words: &[&str]) -> Marvin {
        self.world.marvin(words).directory(&self.directory)
    }

    fn run_path(&self) -> Option<PathBuf> {
        crate::support::runs_below(&self.directory.join(".marvin/runs")).pop()
    }

    /// Starts it, waits for this many lines and then this long, and kills it.
    fn kill(&self, words: &[&str], lines: u64, then: Duration) {
        let mut command = self.marvin(words).into_command();
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        for _ in 0..lines {
            let mut line = String::new();
            if talk.read_line(&mut line).unwrap_or(0) == 0 {
                break;
            }
            assert!(!line.contains("panicked"), "{}: {line}", self.seed);
        }
        std::thread::sleep(then);
        child.kill().ok();
        child.wait().unwrap();
    }

    fn effects(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("effects.txt")).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }

    /// Decides as a person would, by looking at the effects.
    fn settle(&self, ended: &ProgramOutput, path: &str, settled: &mut BTreeSet<String>) {
        for waiting in ended.json()["waiting"].as_array().unwrap() {
            assert_eq!(waiting["kind"], "unknown", "{}: {}", self.seed, ended.whole());
            let (step, text) = (waiting["step_id"].as_str().unwrap(), waiting["text"].as_str().unwrap());
            let key = text.rsplit_once("(key ").unwrap().1.trim_end_matches(')');
            let done = self.effects().iter().any(|line| line.ends_with(key));
            if done {
                settled.insert(step.to_string());
            }
            let word = if done && !step.starts_with('z') {
                "done"
            } else if done {
                "failed"
            } else {
                "again"
            };
            let outputs =
                json!({"exit_code": 0, "stdout": format!("out of {step}\n"), "stderr": ""}).to_string();
            let words = [
                "workflow",
                "settle",
                "--run-path",
                path,
                "--step",
                step,
                "--as",
                word,
                "--outputs",
                &outputs,
            ];
            self.marvin(&words).at_terminal().run().exits(0);
        }
    }

    /// Resumes until it is finished; returns the steps that a person had to decide.
    fn finish(&self, path: &Path) -> (ProgramOutput, BTreeSet<String>) {
        let mut settled = BTreeSet::new();
        let path = path.display().to_string();
        for _ in 0..20 {
            let ended = self.marvin(&["resume-run", "--run-path", &path, "--json"]).run();
            assert!(!ended.stderr.contains("panicked"), "{}: {}", self.seed, ended.whole());
            match ended.code {
                Some(4) => self.settle(&ended, &path, &mut settled),
                _ => return (ended, settled),
            }
        }
        panic!("{}: it never ends", self.seed);
    }
}

/// The state of an uninterrupted run.
fn undisturbed(world: &World, name: &str, workflow: &Value) -> (Value, usize, usize) {
    let directory = world.root().join(format!("whole-{name}"));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("w.json"), workflow.to_string()).unwrap();
    let case = Case { world, directory, seed: name.to_string() };
    let ended = case.marvin(&["run-workflow", "w.json"]).run().exits(0);
    let lines = ended.stderr.lines().count();
    (json_file(&case.run_path().unwrap().join("workflow_state.json")), case.effects().len(), lines)
}

fn kill_once(world: &World, number: u64, whole: &BTreeMap<&str, (Value, usize, usize)>) -> bool {
    let shapes = shapes();
    let (name, workflow) = &shapes[usize::try_from(number).unwrap() % shapes.len()];
    let (expected, effects, lines) = &whole[name];
    let directory = world.root().join(format!("k{number}"));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("w.json"), workflow.to_string()).unwrap();
    let case = Case { world, directory, seed: format!("kill {number} of {name}") };
    let moment = |salt: u64| {
        let lines = random(number * 8 + salt) % (*lines as u64 + 1);
        (lines, Duration::from_micros(random(number * 8 + salt + 1) % 20_000))
    };
    let (after, then) = moment(0);
    case.kill(&["run-workflow", "w.json", "--concurrency", "3"], after, then);
    let Some(path) = case.run_path().filter(|path| path.join("run.sqlite").exists()) else {
        // Nothing was begun, so there is nothing to resume.
        assert!(case.effects().is_empty(), "{}: effects without a run", case.seed);
        return false;
    };
    let shown = path.display().to_string();
    if number.is_multiple_of(3) {
        let (after, then) = moment(4);
        case.kill(&["resume-run", "--run-path", &shown, "--concurrency", "3"], after, then);
    }
    if case.marvin(&["inspect-run", "--run-path", &shown, "--json"]).run().code != Some(0) {
        // Killed before the specification was written: nothing was begun, and the message says so.
        assert!(case.effects().is_empty(), "{}: effects without a record", case.seed);
        let ended = case.marvin(&["resume-run", "--run-path", &shown]).run();
        assert!(matches!(ended.code, Some(1 | 2)), "{}: {}", case.seed, ended.whole());
        return false;
    }
    let before = finished(&path);
    let (ended, settled) = case.finish(&path);
    let failed_by_person = settled.iter().any(|step| step.starts_with('z'));
    if !failed_by_person {
        assert_eq!(ended.code, Some(0), "{}: {}", case.seed, ended.whole());
        let state = json_file(&path.join("workflow_state.json"));
        assert_eq!(essence(&state, &settled), essence(expected, &settled), "{}", case.seed);
        assert_eq!(case.effects().len(), *effects, "{}: {:?}", case.seed, case.effects());
    }
    let distinct: BTreeSet<String> = case.effects().into_iter().collect();
    assert_eq!(distinct.len(), case.effects().len(), "{}: an effect twice: {:?}", case.seed, case.effects());
    for (step, seq) in before {
        assert_eq!(finished(&path).get(&step), Some(&seq), "{}: `{step}` was over, and ran again", case.seed);
    }
    true
}

/// Finished steps, each with the transition that finished it.
fn finished(path: &Path) -> BTreeMap<u32, i64> {
    let (_, _, folded) = marvin_flow::record::Record::look(path).unwrap();
    let over =
        (0_u32..).zip(folded.status.iter().zip(&folded.seq)).filter(|(_, (status, _))| status.is_complete());
    over.map(|(step, (_, seq))| (step, *seq)).collect()
}

#[test]
fn a_workflow_that_is_killed_anywhere_ends_as_an_uninterrupted_one() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let kills = std::env::var("MARVIN_TEST_CRASHES").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let all = shapes();
    let whole: BTreeMap<&str, _> =
        all.iter().map(|(name, workflow)| (*name, undisturbed(&world, name, workflow))).collect();
    let in_the_middle: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (world, whole) = (&world, &whole);
                scope.spawn(move || {
                    let mine = (0..kills).filter(move |number| number % WORKERS == worker);
                    mine.filter(|number| kill_once(world, *number, whole)).count()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(in_the_middle as u64 > kills / 2, "only {in_the_middle} of {kills} kills fell into a run");
}
