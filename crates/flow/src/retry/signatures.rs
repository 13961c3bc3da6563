//! Stable signatures of calls, failures and subtrees, as SHA-256.

use marvin_base::signature;
use serde::Serialize;
use serde_json::{Map, Value};

/// The hashed parts of a call; the names of the fields are part of the signature.
#[derive(Serialize)]
struct Call<'a> {
    goal: &'a str,
    step_id: &'a str,
    worker_type: &'a str,
    key_inputs: KeyInputs<'a>,
    strategy_id: &'a str,
    retrieval_stage: u8,
}

#[derive(Serialize)]
struct KeyInputs<'a> {
    inputs: &'a Map<String, Value>,
}

/// The signature of a call: goal, step, worker, inputs, strategy and retrieval stage.
#[must_use]
pub fn call_signature(
    goal: &str,
    step_id: &str,
    worker_type: &str,
    inputs: &Map<String, Value>,
    strategy_id: &str,
    retrieval_stage: u8,
) -> String {
    let key_inputs = KeyInputs { inputs };
    signature::hash(&Call { goal, step_id, worker_type, key_inputs, strategy_id, retrieval_stage })
}

/// The key of one failure of one call of a task.
#[must_use]
pub fn failure_key(task: &str, call_signature: &str, failure_signature: &str) -> String {
    signature::hash_bytes(format!("{task}:{call_signature}:{failure_signature}").as_bytes())
}

/// The signature of a call with its artifacts.
#[must_use]
pub fn subtree_signature(call_signature: &str, artifact_hash: &str) -> String {
    signature::hash_bytes(format!("{call_signature}:{artifact_hash}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn a_signature_is_known_and_depends_on_everything_that_counts() {
        let same = inputs(&json!({"a": 1, "b": {"y": 2, "x": [1]}}));
        let sorted = r#"{"goal":"g","key_inputs":{"inputs":{"a":1,"b":{"x":[1],"y":2}}},"retrieval_stage":1,"step_id":"s","strategy_id":"draft","worker_type":"Implementer"}"#;
        let call = call_signature("g", "s", "Implementer", &same, "draft", 1);
        assert_eq!(call, signature::hash_bytes(sorted.as_bytes()));
        let other_order = inputs(&json!({"b": {"x": [1.0], "y": 2}, "a": 1}));
        assert_eq!(call, call_signature("g", "s", "Implementer", &other_order, "draft", 1));
        for other in [
            call_signature("h", "s", "Implementer", &same, "draft", 1),
            call_signature("g", "t", "Implementer", &same, "draft", 1),
            call_signature("g", "s", "Debugger", &same, "draft", 1),
            call_signature("g", "s", "Implementer", &inputs(&json!({"a": 2})), "draft", 1),
            call_signature("g", "s", "Implementer", &same, "patch", 1),
            call_signature("g", "s", "Implementer", &same, "draft", 2),
        ] {
            assert_ne!(call, other);
        }
    }

    #[test]
    fn keys_are_as_the_contract_says() {
        assert_eq!(failure_key("t", "c", "f"), signature::hash_bytes(b"t:c:f"));
        assert_eq!(subtree_signature("c", "h"), signature::hash_bytes(b"c:h"));
    }
}
