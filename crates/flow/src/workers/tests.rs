//! Role workers against the scripted model: the real loop, the real tools, the real gate.

use super::*;
use crate::engine::EngineError;
use crate::manager;
use crate::worker::Status;
use marvin_agent::{ProjectContext, Trace};
use marvin_base::environment::Environment;
use marvin_base::ledger::{self, Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

/// A project with a scripted model.
struct World {
    files: marvin_testing::Project,
    run: Option<RunDirectory>,
}

impl World {
    fn new() -> Self {
        World { files: marvin_testing::Project::new(&[]), run: None }
    }

    fn project(&self) -> PathBuf {
        self.files.path()
    }

    fn run(&self) -> &RunDirectory {
        self.run.as_ref().unwrap()
    }

    /// Agents for the run of this world whose model plays a script from its beginning.
    fn agents(&mut self, script: &[Value], more: &[(&'static str, &str)]) -> Arc<StepAgents> {
        let path = self.files.root().join("script.jsonl");
        fs::write(&path, script.iter().map(|entry| format!("{entry}\n")).collect::<String>()).unwrap();
        let environment = Environment::from_iter(self.files.variables());
        let mut flags =
            vec![("model.provider", "mock".to_string()), ("model.script", path.display().to_string())];
        flags.extend(more.iter().map(|(key, value)| (*key, value.to_string())));
        let project =
            ProjectContext::find(environment, self.project(), Some(&self.project()), true, flags).unwrap();
        let run =
            self.run.get_or_insert_with(|| RunDirectory::create(&project.layout.runs()).unwrap()).clone();
        fs::remove_file(run.script_state()).ok();
        let ledger =
            Ledger::open_chained(&run.trace(), Durability::System, Arc::new(Redactor::patterns_only()))
                .unwrap();
        let trace = Trace::new(ledger, Box::new(|_| {}));
        Arc::new(StepAgents::open(&project, &run, &trace, &CancellationToken::new()).unwrap())
    }

    fn order(&self, worker: &str, commitments: &[&str]) -> Order {
        Order {
            run_id: self.run().id().to_string(),
            run_directory: self.run().path().to_path_buf(),
            workspace: self.project(),
            goal: "Make it".into(),
            step_id: "s1".into(),
            name: "s1".into(),
            description: "Make a.txt".into(),
            worker: worker.into(),
            inputs: Map::new(),
            outputs_schema: json!({}),
            attempt: 1,
            key: "s1/1".into(),
            call_id: "call-7".into(),
            strategy_id: "draft".into(),
            retrieval_stage: 1,
            lessons: Vec::new(),
            failure_signature: None,
            commitments: commitments.iter().map(ToString::to_string).collect(),
            poll: None,
            is_approved: false,
        }
    }

    fn trace(&self) -> Vec<Value> {
        ledger::read(&self.run().trace()).unwrap().entries
    }

    async fn work(&mut self, script: &[Value], worker: &str, commitments: &[&str]) -> Report {
        let agents = self.agents(script, &[]);
        let order = self.order(worker, commitments);
        self.ask(&agents, &order).await
    }

    async fn ask(&self, agents: &Arc<StepAgents>, order: &Order) -> Report {
        roles_for(agents, &Map::new())[&order.worker].work(order, &CancellationToken::new()).await
    }
}

fn create(path: &str) -> Value {
    json!({"reply": {"tool_calls": [{"name": "create_file", "arguments": {"path": path, "content": "x\n"}}]}})
}

fn end(status: &str) -> Value {
    json!({"reply": {"json": {"status": status, "summary": "what I did", "outputs": {"n": 1},
        "metrics": {"model_calls": 99, "tool_calls": 99}}}})
}

#[tokio::test]
async fn a_success_is_verified_and_everything_is_counted_by_the_shell() {
    let mut world = World::new();
    let mut ends = end("SUCCESS");
    ends["reply"]["json"]["artifacts"] = json!(["a.txt"]);
    let report = world.work(&[create("a.txt"), ends], "Implementer", &["file_exists:a.txt"]).await;
    assert_eq!((report.status, report.call_id.as_str()), (Status::Success, "call-7"), "{report:?}");
    assert_eq!((report.artifacts.as_slice(), &report.outputs["n"]), (&["a.txt".to_string()][..], &json!(1)));
    assert_eq!((&report.metrics["model_calls"], &report.metrics["tool_calls"]), (&json!(2), &json!(1)));
    let progress = progress_of(&report).unwrap();
    assert_eq!((progress.new_artifacts, progress.model_calls), (1, 2));
    assert_eq!(report.failure_signature, None);
    // The trace has the events of the loop, each with its step.
    let trace = world.trace();
    let kinds = |kind: &str| trace.iter().filter(|event| event["item"]["type"] == kind).count();
    assert_eq!((kinds("model_call"), kinds("tool_call")), (4, 2));
    for event in &trace {
        assert_eq!(
            (&event["step_id"], &event["worker_role"]),
            (&json!("s1"), &json!("Implementer")),
            "{event}"
        );
        assert_eq!(event["call_id"], "call-7", "{event}");
    }
    let last = trace.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("worker.completed"), &json!("SUCCESS")));
    // No commitment of the step is left in the project.
    assert_eq!(
        fs::read_dir(world.run().path().parent().unwrap().with_file_name("agents"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().ends_with(".md"))
            .count(),
        0
    );
}

#[tokio::test]
async fn a_false_claim_is_sent_back_and_then_refused() {
    let mut world = World::new();
    let claim =
        json!({"reply": {"json": {"status": "SUCCESS", "summary": "All done, honestly."}}, "repeat": true});
    let report = world.work(&[claim], "Implementer", &["file_exists:a.txt", "file_exists:b.txt"]).await;
    assert_eq!(report.status, Status::Failure);
    let signature = report.failure_signature.unwrap();
    let ids: Vec<&str> = signature.strip_prefix("not-verified:").unwrap().split(',').collect();
    assert_eq!(ids.len(), 2, "{signature}");
    // Sent back three times, then refused.
    assert_eq!(report.metrics["model_calls"], 4);
    // The same failure has the same name elsewhere.
    let claim = json!({"reply": {"json": {"status": "SUCCESS", "summary": "Done."}}, "repeat": true});
    let mut other = World::new();
    let again = other.work(&[claim], "Debugger", &["file_exists:b.txt", "file_exists:a.txt"]).await;
    assert_eq!(again.failure_signature.unwrap(), signature);
}

#[tokio::test]
async fn a_read_only_role_cannot_write() {
    for worker in ["Reviewer", "Planner", "TestTriager"] {
        let mut world = World::new();
        let script = [
            create("a.txt"),
            json!({"reply": {"tool_calls": [{"name": "run_command", "arguments": {"command": "touch b.txt"}}]}}),
            end("SUCCESS"),
        ];
        let report = world.work(&script, worker, &[]).await;
        assert_eq!(report.status, Status::Success, "{worker}: {report:?}");
        assert!(
            !world.project().join("a.txt").exists() && !world.project().join("b.txt").exists(),
            "{worker}"
        );
        assert!(report.artifacts.is_empty());
    }
    // With the strategy `refactor`, a Reviewer may write.
    let mut world = World::new();
    let agents = world.agents(&[create("a.txt"), end("SUCCESS")], &[]);
    let order = Order {
        strategy_id: "refactor".into(),
        attempt: 3,
        ..world.order("Reviewer", &["file_exists:a.txt"])
    };
    assert_eq!(world.ask(&agents, &order).await.status, Status::Success);
}

#[tokio::test]
async fn every_failure_has_its_signature() {
    let reply = |json: Value| json!({"reply": {"json": json}, "repeat": true});
    for (entry, status, signature) in [
        (reply(json!({"tool_calls": "tree"})), Status::Failure, "worker-invalid-tool-calls"),
        (
            json!({"reply": {"text": "I am DONE. STATUS: SUCCESS, I think"}, "repeat": true}),
            Status::Failure,
            "worker-no-status",
        ),
        (reply(json!({"status": "MARVELLOUS"})), Status::Partial, "worker-partial"),
        (reply(json!({"status": "PARTIAL", "failure_signature": "half-done"})), Status::Partial, "half-done"),
        (reply(json!({"status": "FAILURE"})), Status::Failure, "worker-failure"),
        (reply(json!({"status": "BLOCKED", "summary": "Which port?"})), Status::Blocked, "worker-blocked"),
        (
            reply(json!({"status": "SUCCESS", "outputs": {"n": "one"}})),
            Status::Failure,
            "worker-invalid-outputs",
        ),
        (
            json!({"when": {"contains": "no such text"}, "reply": {"text": "x"}}),
            Status::Partial,
            "mock-empty",
        ),
    ] {
        let mut world = World::new();
        let agents = world.agents(std::slice::from_ref(&entry), &[]);
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let order = Order { outputs_schema: schema, ..world.order("Implementer", &[]) };
        let report = world.ask(&agents, &order).await;
        assert_eq!(
            (report.status, report.failure_signature.as_deref()),
            (status, Some(signature)),
            "{entry}"
        );
    }
}

#[tokio::test]
async fn a_worker_that_never_ends_is_ended() {
    let mut world = World::new();
    // Each call differs, so the loop guard does not stop it; the limit must.
    let calls: Vec<Value> = (0..40).map(|n| create(&format!("{n}.txt"))).collect();
    let report = world.work(&calls, "Implementer", &[]).await;
    assert_eq!(report.failure_signature.as_deref(), Some("worker-max-iterations"), "{report:?}");
    assert_eq!((report.status, &report.metrics["tool_calls"]), (Status::Failure, &json!(20)));
}

#[tokio::test]
async fn calls_as_text_are_echoed_by_their_id() {
    let mut world = World::new();
    let calls = json!({"tool_calls": [{"tool": "create_file", "args": {"path": "a.txt", "content": "x"}, "call_id": "mine"}]});
    let script = [
        json!({"reply": {"json": calls}}),
        json!({"when": {"contains": "\"call_id\":\"mine\""}, "reply": {"json": {"status": "SUCCESS"}}}),
    ];
    let report = world.work(&script, "Implementer", &["file_exists:a.txt"]).await;
    assert_eq!(report.status, Status::Success, "{report:?}");
}

#[tokio::test]
async fn a_recorded_attempt_is_not_repeated() {
    let mut world = World::new();
    let first = world.work(&[create("a.txt"), end("SUCCESS")], "Implementer", &[]).await;
    fs::remove_file(world.project().join("a.txt")).unwrap();
    let again = world.work(&[create("other.txt"), end("FAILURE")], "Implementer", &[]).await;
    assert_eq!(first, again);
    assert!(!world.project().join("other.txt").exists());
}

#[tokio::test]
async fn an_interrupted_attempt_is_resumed() {
    let mut world = World::new();
    let slow = json!({"reply": {"json": {"status": "FAILURE"}}, "delay_ms": 60_000});
    let agents = world.agents(&[create("a.txt"), slow], &[]);
    let order = world.order("Implementer", &["file_exists:a.txt"]);
    let cancel = CancellationToken::new();
    let workers = roles_for(&agents, &Map::new());
    let working = workers["Implementer"].work(&order, &cancel);
    let breaking = async {
        while !world.project().join("a.txt").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        cancel.cancel();
    };
    let (broken, ()) = tokio::join!(working, breaking);
    assert_eq!(broken.failure_signature.as_deref(), Some("interrupted"));
    drop((workers, agents));
    fs::write(world.project().join("a.txt"), "changed since\n").unwrap();
    // The second process continues after the call and does not repeat it.
    let agents = world.agents(&[end("SUCCESS")], &[]);
    let report = world.ask(&agents, &order).await;
    assert_eq!(report.status, Status::Success, "{report:?}");
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "changed since\n");
    assert_eq!((&report.metrics["tool_calls"], &report.metrics["model_calls"]), (&json!(1), &json!(2)));
    // Changes of the first process belong to the attempt.
    assert_eq!(progress_of(&report).unwrap().new_artifacts, 1);
}

#[tokio::test]
async fn a_worker_ends_the_workflow_only_if_verification_supports_it() {
    let over = json!({"reply": {"json": {"status": "SUCCESS", "metrics": {"terminate_workflow": true, "terminate_reason": "it works"}}}});
    let mut world = World::new();
    let proved = world.work(&[create("a.txt"), over.clone()], "Implementer", &["file_exists:a.txt"]).await;
    assert_eq!(
        (&proved.metrics["terminate_workflow"], &proved.metrics["terminate_reason"]),
        (&json!(true), &json!("it works"))
    );
    let mut world = World::new();
    let claimed = world.work(&[over], "Implementer", &[]).await;
    assert_eq!(claimed.metrics.get("terminate_workflow"), None);
    assert!(claimed.metrics["terminate_refused"].is_string());
}

#[tokio::test]
async fn one_budget_for_all() {
    let mut world = World::new();
    let prices = world.files.root().join("home/.config/marvin/prices.toml");
    fs::create_dir_all(prices.parent().unwrap()).unwrap();
    fs::write(&prices, "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n").unwrap();
    let costs = |mut entry: Value, dollars: u64| {
        entry["reply"]["usage"] = json!({"input": dollars, "output": 0});
        entry["repeat"] = json!(true);
        entry
    };
    let agents = world.agents(&[costs(end("SUCCESS"), 3)], &[("limits.cost_usd", "5")]);
    for (key, status) in [("s1", Status::Success), ("s2", Status::Failure), ("s3", Status::Failure)] {
        let order = Order { key: key.into(), ..world.order("Implementer", &[]) };
        let report = world.ask(&agents, &order).await;
        assert_eq!(report.status, status, "{key}: {report:?}");
        if status == Status::Failure {
            assert_eq!(report.failure_signature.as_deref(), Some("max-cost"));
        }
    }
    assert!(agents.cost().is_spent().unwrap());
}

#[tokio::test]
async fn a_commitment_that_cannot_fail_is_refused() {
    let mut world = World::new();
    let report = world.work(&[end("SUCCESS")], "Implementer", &["shell:true"]).await;
    assert_eq!(report.failure_signature.as_deref(), Some("commitment-refused"), "{report:?}");
}

#[tokio::test]
async fn commands_are_verified_too() {
    let mut world = World::new();
    let agents = world.agents(&[], &[]);
    let order = world.order("Command", &["file_exists:a.txt"]);
    let cancel = CancellationToken::new();
    let red = verify(agents.project(), &order, &cancel).await.unwrap();
    assert!(!red.verified && red.failure_signature.unwrap().starts_with("not-verified:c-"));
    fs::write(world.project().join("a.txt"), "x").unwrap();
    assert!(verify(agents.project(), &order, &cancel).await.unwrap().verified);
    assert!(verify(agents.project(), &world.order("Command", &[]), &cancel).await.unwrap().verified);
}

#[tokio::test]
async fn a_goal_becomes_a_workflow() {
    let reply = |json: Value| json!({"when": {"role": "Planner", "step": "plan"}, "reply": {"json": json}});
    let steps = json!([{"id": "a", "worker": "Implementer"}, {"id": "b", "depends_on": ["a"]}]);
    let good = reply(json!({"status": "SUCCESS", "task_steps": steps}));
    let bad = reply(json!({"status": "SUCCESS", "summary": "first a, then b"}));
    let odd = reply(json!({"status": "SUCCESS", "workflow": {"steps": [{"id": "odd"}]}}));
    let check = |workflow: &Value| match workflow["steps"][0]["id"] == "odd" {
        true => Err(EngineError::Internal("step `odd` is odd".to_string()).into()),
        false => Ok(()),
    };
    for (script, steps, fallback) in [
        (vec![good.clone()], 3, None),
        (vec![bad.clone(), good.clone()], 3, None),
        (vec![odd.clone(), good.clone()], 3, None),
        (vec![bad.clone(), odd.clone(), good.clone()], 1, Some("step `odd` is odd")),
        (vec![], 1, Some("did not make a plan")),
    ] {
        let mut world = World::new();
        let agents = world.agents(&script, &[]);
        let cancel = CancellationToken::new();
        let plan = manager::plan(&agents, "Make it", &["file_exists:x".into()], &check, &cancel)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(plan.workflow["steps"].as_array().unwrap().len(), steps, "{script:?}");
        match fallback {
            None => assert_eq!(plan.fallback, None),
            Some(why) => {
                assert!(plan.fallback.as_ref().unwrap().contains(why), "{plan:?}");
                assert_eq!(plan.workflow["steps"][0]["commitments"], json!(["file_exists:x"]));
            }
        }
        // A plan is made once.
        drop(agents);
        let again = world.agents(&[], &[]);
        assert_eq!(manager::plan(&again, "Make it", &[], &check, &cancel).await.unwrap().unwrap(), plan);
    }
}
