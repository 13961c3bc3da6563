//! Checks of a reply: distinct ids of its calls, and the schema of its answer.

use crate::protocol::unfenced;
use marvin_model::{Message, ToolCall};
use serde_json::Value;

/// Gives calls ids that no earlier call of the conversation has.
pub(super) fn distinct_ids(calls: &mut [ToolCall], messages: &[Message]) {
    let mut seen: std::collections::BTreeSet<String> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls.iter().map(|call| call.id.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    for call in calls {
        let wanted = if call.id.is_empty() { "call".to_string() } else { call.id.clone() };
        let mut id = wanted.clone();
        let mut n = 1;
        while !seen.insert(id.clone()) {
            n += 1;
            id = format!("{wanted}_{n}");
        }
        call.id = id;
    }
}

/// Why an answer does not fit its schema.
#[derive(Debug, thiserror::Error)]
pub(super) enum SchemaMismatch {
    #[error("it is not JSON ({0})")]
    NotJson(serde_json::Error),
    #[error("{0}")]
    Invalid(String),
}

/// The answer as canonical JSON text, if it fits the schema.
pub(super) fn fits(schema: &Value, text: &str) -> Result<String, SchemaMismatch> {
    let value: Value = serde_json::from_str(unfenced(text)).map_err(SchemaMismatch::NotJson)?;
    let validator =
        jsonschema::validator_for(schema).map_err(|error| SchemaMismatch::Invalid(error.to_string()))?;
    match validator.iter_errors(&value).next() {
        None => Ok(value.to_string()),
        Some(error) => Err(SchemaMismatch::Invalid(format!("{error} at `{}`", error.instance_path()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_held_against_the_schema() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        assert_eq!(fits(&schema, "```json\n{\"n\": 1}\n```").unwrap(), r#"{"n":1}"#);
        assert!(fits(&schema, "{}").unwrap_err().to_string().contains("required"));
        assert!(fits(&schema, "n is 1").unwrap_err().to_string().contains("not JSON"));
    }

    #[test]
    fn ids_become_distinct() {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "t".into(),
            arguments: marvin_model::Arguments::from_text(""),
            opaque: None,
        };
        let earlier =
            vec![Message::Assistant { content: String::new(), tool_calls: vec![call("a")], opaque: None }];
        let mut calls = vec![call("a"), call("a"), call("")];
        distinct_ids(&mut calls, &earlier);
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a_2", "a_3", "call"]);
    }
}
