//! The retry rule as a whole: what is refused and allowed, independent of order and crashes.

use super::*;
use crate::worker::Status;
use serde_json::{Map, Value, json};

/// A step with a ladder and the measurements of each attempt.
pub(super) struct Case {
    name: String,
    worker: &'static str,
    pub(super) ladder: Vec<Strategy>,
    inputs: Value,
    attempts: Vec<(Option<&'static str>, Progress)>,
}

impl Case {
    pub(super) fn new(
        name: impl Into<String>,
        ladder: Vec<Strategy>,
        attempts: Vec<(Option<&'static str>, Progress)>,
    ) -> Self {
        Case { name: name.into(), worker: "Implementer", ladder, inputs: json!({}), attempts }
    }

    pub(super) fn inputs(&self) -> Map<String, Value> {
        self.inputs.as_object().cloned().unwrap_or_default()
    }

    pub(super) fn task<'a>(&'a self, inputs: &'a Map<String, Value>) -> Task<'a> {
        Task {
            run_id: "run_1",
            goal: "the goal",
            step_id: "s1",
            worker: self.worker,
            inputs,
            ladder: &self.ladder,
        }
    }

    pub(super) fn made(&self) -> Vec<Attempt> {
        let inputs = self.inputs();
        let task = self.task(&inputs);
        self.attempts
            .iter()
            .enumerate()
            .map(|(at, (failure, progress))| {
                let strategy = task.strategy(at + 1).expect("a rung for every attempt");
                attempt(&task, at as u32 + 1, &strategy, *failure, progress.clone())
            })
            .collect()
    }

    pub(super) fn decide(&self) -> Decision {
        let inputs = self.inputs();
        let attempts = self.made();
        let mut seen = AttemptLog::default();
        attempts.iter().for_each(|attempt| seen.note("s1", attempt));
        let decision = decide(&self.task(&inputs), &attempts, &seen);
        // Neither attempts that are logged already nor other attempts of the run make a difference.
        assert_eq!(decide(&self.task(&inputs), &attempts, &AttemptLog::default()), decision, "{}", self.name);
        let mut busy = seen.clone();
        attempts.iter().for_each(|other| {
            let call_signature =
                call_signature("the goal", "s2", &other.worker_type, &inputs, &other.strategy_id, 1);
            busy.note("s2", &Attempt { call_signature, ..other.clone() });
        });
        assert_eq!(decide(&self.task(&inputs), &attempts, &busy), decision, "{}", self.name);
        decision
    }
}

pub(super) fn attempt(
    task: &Task<'_>,
    number: u32,
    strategy: &Strategy,
    failure: Option<&str>,
    progress: Progress,
) -> Attempt {
    Attempt {
        attempt_id: number,
        status: Status::Failure,
        call_signature: task.signature(strategy),
        worker_type: strategy.worker.clone(),
        strategy_id: strategy.strategy_id.clone(),
        retrieval_stage: strategy.retrieval_stage,
        summary: format!("what attempt {number} said"),
        failure_signature: failure.map(str::to_string),
        progress,
        artifacts: Vec::new(),
    }
}

pub(super) fn rungs(names: &str) -> Vec<Strategy> {
    names.split(' ').map(|name| Strategy::new("Implementer", name, 1)).collect()
}

fn nothing() -> Progress {
    Progress::default()
}

fn tests(failing: u64, passed: u64) -> Progress {
    Progress { failing_tests: Some(failing), passed_tests: Some(passed), ..Progress::default() }
}

pub(super) fn left(hash: &str) -> Progress {
    Progress { artifact_delta_hash: hash.into(), ..Progress::default() }
}

/// Cases in which the next attempt would change nothing, with the code of the refusal.
fn identical() -> Vec<(Case, &'static str)> {
    let mut cases: Vec<(Case, &'static str)> = Vec::new();
    let mut refused = |code, name: &str, ladder: &str, attempts: Vec<(Option<&'static str>, Progress)>| {
        cases.push((Case::new(name, rungs(ladder), attempts), code));
    };
    // The same call once more.
    refused("same_call", "nothing measured", "a a", vec![(Some("f"), nothing())]);
    refused("same_call", "a failure without a name", "a a", vec![(None, nothing())]);
    refused("same_call", "tests as red as they were", "a a", vec![(Some("not-verified:t"), tests(3, 4))]);
    refused("same_call", "no tests at all", "a a", vec![(Some("f"), tests(0, 0))]);
    refused(
        "same_call",
        "it was busy",
        "a a",
        vec![(Some("f"), Progress { model_calls: 20, tool_calls: 99, iteration_count: 20, ..nothing() })],
    );
    refused(
        "same_call",
        "artifacts it claims and did not touch",
        "a a",
        vec![(Some("f"), Progress { new_artifacts: 3, ..nothing() })],
    );
    refused("same_call", "the model was silent", "a a", vec![(Some("empty-reply"), nothing())]);
    refused(
        "same_call",
        "a new strategy between, then the last again",
        "a b b",
        vec![(Some("f"), nothing()), (Some("g"), nothing())],
    );
    refused(
        "same_call",
        "again after a change that came before it",
        "a b b",
        vec![(Some("f"), left("x")), (Some("g"), nothing())],
    );
    refused(
        "same_call",
        "the last of a long ladder again",
        "a b c d d",
        vec![(Some("f"), left("x")), (Some("f"), left("y")), (Some("f"), left("z")), (Some("f"), nothing())],
    );
    refused(
        "same_call",
        "the same files as the attempt before",
        "a b b",
        vec![(Some("f"), left("x")), (Some("f"), left("x"))],
    );
    refused(
        "same_call",
        "more tests fail than before, files as they were",
        "a b b",
        vec![(Some("f"), tests(2, 5)), (Some("f"), tests(4, 3))],
    );
    // The same failure of the same call, twice.
    refused("same_failure", "twice the same", "a a a", vec![(Some("f"), left("x")), (Some("f"), nothing())]);
    refused(
        "same_failure",
        "twice the same, with tests",
        "a a a",
        vec![(Some("f"), Progress { failing_tests: Some(3), ..left("x") }), (Some("f"), tests(3, 0))],
    );
    refused(
        "same_failure",
        "three times",
        "a a a a",
        vec![(Some("f"), left("x")), (Some("f"), left("y")), (Some("f"), nothing())],
    );
    refused(
        "same_failure",
        "after another strategy",
        "a b b b",
        vec![(Some("f"), left("x")), (Some("f"), left("y")), (Some("f"), nothing())],
    );
    // Everything as it was left before.
    refused(
        "repeated_subtree",
        "the same files, another failure",
        "a a a",
        vec![(Some("f"), left("x")), (Some("g"), left("x"))],
    );
    refused(
        "repeated_subtree",
        "to and fro between two states",
        "a a a a",
        vec![(Some("f"), left("x")), (Some("g"), left("y")), (Some("h"), left("x"))],
    );
    refused(
        "repeated_subtree",
        "no name for either failure",
        "a a a",
        vec![(None, left("x")), (None, left("x"))],
    );
    // Made more than once, never the same failure, nothing left.
    refused(
        "no_progress",
        "another failure each time",
        "a a a",
        vec![(Some("f"), left("x")), (Some("g"), nothing())],
    );
    refused("no_progress", "no name, nothing left", "a a a", vec![(None, left("x")), (None, nothing())]);
    refused(
        "no_progress",
        "another failure each time, many times",
        "a a a a a",
        vec![(Some("f"), left("w")), (Some("g"), left("x")), (Some("h"), left("y")), (Some("i"), nothing())],
    );
    // In a circle.
    refused("cycle", "there and back", "a b a", vec![(Some("f"), nothing()), (Some("g"), nothing())]);
    refused(
        "cycle",
        "there and back with the same failure",
        "a b a",
        vec![(Some("f"), nothing()), (Some("f"), nothing())],
    );
    refused(
        "cycle",
        "three in a circle",
        "a b c a",
        vec![(Some("f"), nothing()), (Some("g"), nothing()), (Some("h"), nothing())],
    );
    refused(
        "cycle",
        "back into the middle",
        "a b c b",
        vec![(Some("f"), left("x")), (Some("g"), nothing()), (Some("h"), nothing())],
    );
    refused(
        "cycle",
        "tests red all along",
        "a b a",
        vec![(Some("f"), tests(3, 1)), (Some("f"), tests(3, 1))],
    );
    // The ladder is used up.
    refused("no_strategies", "one rung", "a", vec![(Some("f"), left("x"))]);
    refused(
        "no_strategies",
        "progress to the end",
        "a b",
        vec![(Some("f"), tests(9, 1)), (Some("f"), tests(1, 9))],
    );
    // A deterministic worker is only repeated.
    let worker = |worker, failure, inputs: Value| Case {
        worker,
        inputs,
        ..Case::new(format!("{worker} again"), Vec::new(), vec![(Some(failure), nothing())])
    };
    cases.push((worker("Command", "exit-1", json!({"command": "make"})), "same_call"));
    // A8: its outputs alone are no news, and another name of the strategy is not another command.
    let said = Progress { outputs_only: true, ..left("exit code 1") };
    let again = |name: &str, ladder: Vec<Strategy>| Case {
        worker: "Command",
        inputs: json!({"command": "false"}),
        ..Case::new(name, ladder, vec![(Some("exit-1"), said.clone())])
    };
    cases.push((again("a8: the same command", Vec::new()), "same_call"));
    let names = ["one", "two", "three", "four"].map(|name| Strategy::new("Command", name, 1));
    cases.push((again("a8: the same command under four names", names.to_vec()), "same_call"));
    cases.push((worker("Echo", "echo-failed", json!({"b": 1, "a": {"z": [1, 2.0]}})), "same_call"));
    // Failures that no strategy can fix.
    cases.push((Case::new("the budget is spent", Vec::new(), vec![(Some("max-cost"), left("x"))]), "final"));
    cases
}

/// Cases in which the next attempt differs, or something measurable changed.
fn changed() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut allowed = |name: &str, ladder: &str, attempts: Vec<(Option<&'static str>, Progress)>| {
        cases.push(Case::new(name, rungs(ladder), attempts));
    };
    // A new strategy.
    allowed("another strategy", "a b", vec![(Some("f"), nothing())]);
    allowed("another strategy, red tests", "a b", vec![(Some("f"), tests(3, 1))]);
    allowed(
        "another strategy after no progress",
        "a b c",
        vec![(Some("f"), nothing()), (Some("f"), nothing())],
    );
    allowed(
        "another strategy, the same failure all along",
        "a b c d",
        vec![(Some("f"), nothing()), (Some("f"), nothing()), (Some("f"), nothing())],
    );
    allowed(
        "another strategy after a step back",
        "a b c",
        vec![(Some("f"), tests(1, 9)), (Some("g"), tests(9, 1))],
    );
    allowed("another strategy, no name for the failure", "a b", vec![(None, nothing())]);
    allowed(
        "another strategy after a circle was left out",
        "a b c d e",
        vec![(Some("f"), nothing()), (Some("f"), nothing()), (Some("f"), nothing()), (Some("f"), nothing())],
    );
    // The same call in a changed state.
    allowed("it left files", "a a", vec![(Some("f"), left("x"))]);
    allowed("it left new files", "a a", vec![(Some("f"), Progress { new_artifacts: 2, ..left("x") })]);
    allowed(
        "fewer tests fail",
        "a a a",
        vec![
            (Some("f"), Progress { failing_tests: Some(5), ..left("x") }),
            (Some("f"), Progress { failing_tests: Some(4), ..left("x") }),
        ],
    );
    allowed(
        "more tests pass",
        "a a a",
        vec![
            (Some("f"), Progress { passed_tests: Some(5), ..left("x") }),
            (Some("f"), Progress { passed_tests: Some(6), ..left("x") }),
        ],
    );
    allowed("other files each time", "a a a", vec![(Some("f"), left("x")), (Some("f"), left("y"))]);
    allowed("back on the path after a change", "a b a", vec![(Some("f"), left("x")), (Some("f"), left("y"))]);
    allowed(
        "back on the path, fewer tests fail",
        "a b a",
        vec![(Some("f"), tests(3, 1)), (Some("f"), tests(2, 1))],
    );
    allowed(
        "back on the path: the change was the first attempt's own",
        "a b a",
        vec![(Some("f"), left("x")), (Some("g"), nothing())],
    );
    allowed(
        "a circle with a change in it",
        "a b c a",
        vec![(Some("f"), nothing()), (Some("g"), left("y")), (Some("h"), nothing())],
    );
    allowed(
        "tests that fail in another number and other files",
        "a a a",
        vec![
            (Some("f"), Progress { failing_tests: Some(2), ..left("x") }),
            (Some("f"), Progress { failing_tests: Some(3), ..left("z") }),
        ],
    );
    // Other workers, other stages.
    let step = |name: &str, ladder: Vec<Strategy>| Case::new(name, ladder, vec![(Some("f"), nothing())]);
    cases.push(step(
        "another worker",
        vec![Strategy::new("Implementer", "a", 1), Strategy::new("Debugger", "a", 1)],
    ));
    cases.push(step(
        "lessons looked for more widely",
        vec![Strategy::new("Implementer", "a", 1), Strategy::new("Implementer", "a", 2)],
    ));
    cases.push(step(
        "lessons looked for by failure",
        vec![Strategy::new("Implementer", "a", 2), Strategy::new("Implementer", "a", 3)],
    ));
    // The default ladders, rung by rung.
    for worker in ["Implementer", "Debugger", "SkillBuilder", "Planner", "Reviewer", "TestTriager"] {
        let first = vec![(Some("f"), nothing())];
        cases.push(Case { worker, ..Case::new(format!("{worker}: the second rung"), Vec::new(), first) });
    }
    for worker in ["Implementer", "Debugger", "Planner"] {
        let two = vec![(Some("f"), nothing()), (Some("f"), nothing())];
        cases.push(Case { worker, ..Case::new(format!("{worker}: the third rung"), Vec::new(), two) });
    }
    // A command that got further, and one that says something new.
    let command = |name: &str, progress| Case {
        worker: "Command",
        inputs: json!({"command": "poll"}),
        ..Case::new(name, Vec::new(), vec![(Some("exit-1"), progress)])
    };
    cases.push(command("a command that changed files", left("x")));
    cases.push(command("a command that said something new", left("facts")));
    cases
}

#[test]
fn an_identical_retry_is_refused_with_its_reason() {
    let cases = identical();
    assert!(cases.len() >= 30, "{}", cases.len());
    for (case, wanted) in &cases {
        match case.decide() {
            Decision::Refuse { reason, code } => {
                assert_eq!(code, *wanted, "{}: {reason}", case.name);
                assert!(reason.len() > 20, "{}: {reason}", case.name);
            }
            Decision::Retry { reason, .. } => panic!("{}: allowed, because {reason}", case.name),
        }
    }
}

#[test]
fn a_real_change_is_allowed_and_leaves_a_lesson() {
    let cases = changed();
    assert!(cases.len() >= 30, "{}", cases.len());
    for case in &cases {
        match case.decide() {
            Decision::Retry { strategy, lesson, reason } => {
                let header = &lesson.header;
                for (what, text) in [
                    ("root_cause_hypothesis", &header.root_cause_hypothesis),
                    ("strategy_change", &header.strategy_change),
                    ("evidence_of_novelty", &header.evidence_of_novelty),
                    ("component", &header.component),
                    ("failure_signature", &header.failure_signature),
                    ("body", &lesson.body),
                    ("reason", &reason),
                ] {
                    assert!(!text.is_empty(), "{}: {what}", case.name);
                }
                assert_eq!(header.strategy_id, strategy.strategy_id, "{}", case.name);
                assert_eq!((header.id.len(), header.id.matches('-').count()), (43, 5), "{}", header.id);
                assert!(!header.tags.is_empty());
            }
            Decision::Refuse { reason, code } => panic!("{}: refused ({code}): {reason}", case.name),
        }
    }
}

#[test]
fn polling_is_not_a_loop() {
    // The same call fifty times; each time something else came out.
    let ladder = rungs(&["poll"; 60].join(" "));
    for times in 1..50 {
        let attempts = (0..times).map(|n| (Some("not-ready"), left(&format!("page {n}")))).collect();
        let decision = Case::new("polling", ladder.clone(), attempts).decide();
        assert!(matches!(decision, Decision::Retry { .. }), "{times}: {decision:?}");
    }
}

#[test]
fn batch_work_is_not_a_loop() {
    // The same worker, the same strategy and the same failure for many inputs, in one run.
    let ladder = rungs("a b");
    let mut seen = AttemptLog::default();
    for n in 0..50 {
        let inputs = json!({"file": format!("{n}.csv")}).as_object().cloned().unwrap();
        let step = format!("s{n}");
        let task = Task {
            run_id: "r",
            goal: "g",
            step_id: &step,
            worker: "Implementer",
            inputs: &inputs,
            ladder: &ladder,
        };
        let first = attempt(&task, 1, &ladder[0], Some("exit-1"), nothing());
        seen.note(&step, &first);
        assert!(matches!(decide(&task, &[first], &seen), Decision::Retry { .. }), "{n}");
    }
    // Also where the step is one and the inputs are what changes.
    for n in 0..50 {
        let inputs = json!({"page": n}).as_object().cloned().unwrap();
        let task = Task {
            run_id: "r",
            goal: "g",
            step_id: "one",
            worker: "Implementer",
            inputs: &inputs,
            ladder: &ladder,
        };
        let first = attempt(&task, n + 1, &ladder[0], Some("exit-1"), nothing());
        seen.note("one", &first);
        assert!(matches!(decide(&task, &[first], &seen), Decision::Retry { .. }), "{n}");
    }
}

#[test]
fn a_call_of_an_earlier_plan_is_known() {
    // The work was planned again and leads to the same call: only the log of the run shows it.
    let inputs = Map::new();
    let ladder = rungs("a b");
    let task = Task {
        run_id: "r",
        goal: "g",
        step_id: "s",
        worker: "Implementer",
        inputs: &inputs,
        ladder: &ladder,
    };
    let mut seen = AttemptLog::default();
    seen.note("s", &attempt(&task, 7, &ladder[1], Some("f"), nothing()));
    let first = attempt(&task, 1, &ladder[0], Some("f"), nothing());
    assert!(matches!(
        decide(&task, std::slice::from_ref(&first), &seen),
        Decision::Refuse { code: "same_call", .. }
    ));
}

#[test]
fn the_lesson_is_the_same_file_each_time() {
    let case = Case::new("x", rungs("a b"), vec![(Some("not-verified:tests"), tests(2, 3))]);
    let Decision::Retry { lesson, .. } = case.decide() else { panic!("refused") };
    let Decision::Retry { lesson: again, .. } = case.decide() else { panic!("refused") };
    assert_eq!(lesson, again);
    assert_eq!(lesson.header.tags, ["Implementer", "a", "not-verified", "retry", "s1"]);
    assert!(lesson.header.root_cause_hypothesis.contains("2 test(s) failed and 3 passed"), "{lesson:?}");
    assert!(lesson.body.contains("Reported: what attempt 1 said"), "{}", lesson.body);
}
