//! Problems are reported with their place, and valid workflows are read without loss.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn problems(text: &str, name: &str) -> Vec<String> {
    let error = from_text(text, name).unwrap_err();
    error.to_string().lines().map(str::to_string).collect()
}

const DIAMOND: &str = r#"workflow_id: d
goal: a diamond
steps:
  - id: a
    worker: Echo
    inputs: {n: 1}
  - {id: b, worker: Echo, depends_on: [a], inputs: {n: {from: a.outputs.n}}}
  - id: c
    worker: Echo
    depends_on: a
  - id: d
    worker: Command
    depends_on: [b, c]
    inputs:
      command: "true"
    timeout_s: 5
    repeatable: true
"#;

#[test]
fn b3_yaml_follows_the_core_schema_of_1_2() {
    let text = "steps:\n  - id: n\n    worker: Echo\n    inputs: {country: NO, light: off, mode: 0755, deep: [y, 1.5, true, 0o17]}\n";
    let workflow = from_text(text, "w.yaml").unwrap().to_json();
    let step = &workflow["steps"][0];
    assert_eq!(step["id"], "n");
    assert_eq!(
        step["inputs"],
        json!({"country": "NO", "light": "off", "mode": 755, "deep": ["y", 1.5, true, 15]})
    );
}

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = from_text(DIAMOND, "d.yaml").unwrap();
    let json = from_text(&yaml.to_json().to_string(), "d.json").unwrap();
    assert_eq!(yaml.to_json(), json.to_json());
    assert_eq!(json.depths(), [0, 1, 1, 2]);
    assert_eq!(json.order(), [0, 1, 2, 3]);
    let last = json.steps.last().unwrap();
    assert_eq!((last.extra().timeout_s, last.extra().repeatable), (Some(5), Some(true)));
    assert_eq!(Followers::from_steps(&json.steps).after(0), [1, 2]);
    let built = Workflow::builder("d")
        .goal("a diamond")
        .step(StepBuilder::new("a", "Echo").input("n", 1))
        .step(StepBuilder::new("b", "Echo").after("a").input("n", json!({"from": "a.outputs.n"})))
        .step(StepBuilder::new("c", "Echo").after("a"))
        .step(
            StepBuilder::new("d", "Command")
                .after("b")
                .after("c")
                .input("command", "true")
                .timeout_s(5)
                .repeatable(true),
        )
        .build()
        .unwrap();
    assert_eq!(built.to_json(), yaml.to_json());
}

#[test]
fn defaults_are_those_of_the_contract() {
    let workflow = from_text(r#"{"steps": [{"id": "a"}]}"#, "w.json").unwrap();
    assert_eq!(
        workflow.to_json(),
        json!({"workflow_id": "workflow", "goal": "", "metadata": {}, "steps": [{
            "id": "a", "name": "a", "description": "", "worker": "Implementer", "depends_on": [],
            "inputs_schema": {}, "outputs_schema": {}, "inputs": {},
        }]})
    );
}

#[test]
fn problems_have_a_place_and_a_step() {
    let text = "{\"goal\": \"x\",\n \"steps\": [\n  {\"id\": \"a\", \"wroker\": \"Echo\"},\n  {\"id\": \"b\", \"depends_on\": [\"aa\"]},\n  {\"id\": \"b\"},\n  {\"name\": \"c\"}\n]}";
    assert_eq!(
        problems(text, "w.json"),
        [
            "w.json:3:25: step `a`: unknown key `wroker`",
            "  hint: did you mean `worker`?",
            "w.json:4:3: step `b`: it depends on `aa`, which does not exist",
            "  hint: did you mean `a`?",
            "w.json:5:3: step `b`: there are two steps with this id (the first is at line 4)",
            "w.json:6:3: a step has no `id`",
            "  hint: every step has an `id`, a text",
        ]
    );
    let yaml = "steps:\n  - id: a\n    worker: Echo\n    dependson: [b]\n  - id: b\n    timeout_s: soon\n";
    assert_eq!(
        problems(yaml, "w.yaml"),
        [
            "w.yaml:4:5: step `a`: unknown key `dependson`",
            "  hint: did you mean `depends_on`?",
            "w.yaml:6:5: step `b`: `timeout_s` must be a whole number of seconds, 1 to 2592000",
        ]
    );
    assert!(problems("{\"steps\": [{\"id\": \"a\",}]}", "w.json")[0].starts_with("w.json:1:23: "));
    assert!(problems("steps: [\n", "w.yaml")[0].starts_with("w.yaml:"));
    assert_eq!(problems("{}", "w.json")[0], "w.json: it has no key `steps`");
    assert_eq!(problems("{\"steps\": []}", "w.json")[0], "w.json: it has no steps");
    assert!(problems("[1]", "w.json")[1].contains("a workflow is an object"));
}

#[test]
fn a_dependency_cycle_is_shown() {
    let step = |id: &str, after: &str| json!({"id": id, "worker": "Echo", "depends_on": [after]});
    let text =
        json!({"steps": [step("a", "c"), step("b", "a"), step("c", "b"), {"id": "z", "worker": "Echo"}]})
            .to_string();
    let all = problems(&text, "w.json");
    assert!(all[0].contains("steps depend on each other: a → c → b → a"), "{all:?}");
    assert_eq!(all.len(), 2);
    let own = json!({"steps": [step("a", "a")]}).to_string();
    assert!(problems(&own, "w.json")[0].contains("it depends on itself"));
}

#[test]
fn references_need_a_dependency() {
    let flow = |from: &str, after: &[&str]| {
        json!({"steps": [
            {"id": "a", "worker": "Echo"},
            {"id": "b", "worker": "Echo", "depends_on": ["a"]},
            {"id": "c", "worker": "Echo", "depends_on": after, "inputs": {"x": [{"y": {"from": from}}]}},
        ]})
        .to_string()
    };
    assert!(from_text(&flow("a.outputs.n", &["b"]), "w.json").is_ok(), "a dependency of a dependency");
    assert!(from_text(&flow("ann@example.org", &[]), "w.json").is_ok(), "not a reference");
    assert!(problems(&flow("a.outputs.n", &[]), "w.json")[1].contains("add `a` to its depends_on"));
    assert!(problems(&flow("q.outputs.n", &["b"]), "w.json")[0].contains("refer to `q`"));
    assert!(problems(&flow("a.output.n", &["b"]), "w.json")[0].contains("which is not a valid reference"));
}

#[test]
fn schemas_are_checked_and_shared() {
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let flow = |inputs: Value| {
        json!({"steps": [
            {"id": "a", "worker": "Echo", "inputs_schema": schema, "outputs_schema": schema, "inputs": inputs},
            {"id": "b", "worker": "Echo", "inputs_schema": schema, "inputs": inputs},
        ]})
        .to_string()
    };
    let workflow = from_text(&flow(json!({"n": 3})), "w.json").unwrap();
    let of = |at: usize| workflow.steps[at].inputs_schema.clone().unwrap();
    assert!(std::sync::Arc::ptr_eq(&of(0), &of(1)));
    assert!(
        problems(&flow(json!({"n": "three"})), "w.json")[0].contains("do not match its inputs_schema: /n:")
    );
    let broken =
        json!({"steps": [{"id": "a", "worker": "Echo", "outputs_schema": {"type": "nothing"}}]}).to_string();
    assert!(problems(&broken, "w.json")[0].contains("is not a JSON Schema"));
}

#[test]
fn invalid_ids_are_refused() {
    for id in ["", ".a", "-a", "a/b", "a b", "ä", "a.outputs", &"a".repeat(200)] {
        let text = json!({"steps": [{"id": id, "worker": "Echo"}]}).to_string();
        assert!(from_text(&text, "w.json").is_err(), "{id}");
    }
    for id in ["a", "1", "a.b-c_d", &"a".repeat(128)] {
        let text = json!({"steps": [{"id": id, "worker": "Echo"}]}).to_string();
        assert!(from_text(&text, "w.json").is_ok(), "{id}");
    }
}

#[test]
fn many_steps_are_read_quickly() {
    let steps: Vec<Value> =
        (0..20_000).map(|n| json!({"id": format!("s{n}"), "worker": "Echo", "inputs": {"n": n}})).collect();
    let text = json!({ "steps": steps }).to_string();
    assert_eq!(from_text(&text, "w.json").unwrap().steps.len(), 20_000);
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "\\PC{0,200}", yaml in any::<bool>()) {
        from_text(&text, if yaml { "w.yaml" } else { "w.json" }).ok();
    }

    #[test]
    fn nothing_in_a_step_breaks_it(key in "[a-z_]{1,12}", value in "\\PC{0,40}") {
        let text = format!("{{\"steps\": [{{\"id\": \"a\", {key:?}: {value}}}, {{\"id\": {value:?}}}]}}");
        from_text(&text, "w.json").ok();
        from_text(&text, "w.yaml").ok();
    }
}
