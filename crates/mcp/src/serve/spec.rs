//! A tool's description in the protocol: schemas of both directions, and hints.

use marvin_gate::Touches;
use marvin_tools::DynTool;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Hints that do not follow from what a tool touches: (name, destructive, idempotent).
const KNOWN: [(&str, bool, bool); 6] = [
    ("add_commitment", false, true),
    // It runs judged and sandboxed assertions, which change nothing.
    ("verify", false, true),
    ("memory_propose", false, true),
    ("summon_servitor", false, false),
    ("message_servitor", false, false),
    // Its work is interrupted, and its commitments no longer count.
    ("dismiss_servitor", true, true),
];

pub(super) fn describe(tool: &dyn DynTool) -> Tool {
    let mut spec = Tool::new(tool.name().to_string(), tool.description().to_string(), object(tool.schema()));
    spec.title = Some(title(tool.name()));
    spec.annotations = Some(hints(tool.name(), tool.touches()));
    let mut facts = tool.data_schema();
    portable(&mut facts);
    let facts = object(facts);
    // The protocol allows only schemas of objects here.
    if facts.get("type").is_some_and(|kind| kind == "object") {
        spec.output_schema = Some(facts);
    }
    spec
}

/// Writes `"type": ["string", "null"]` as two alternatives of one type each, which more clients understand, and removes
/// formats, which are schemars' own.
fn portable(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(portable),
        Value::Object(map) => {
            map.values_mut().for_each(portable);
            if map.get("format").is_some_and(Value::is_string) {
                map.remove("format");
            }
            if let Some(Value::Array(kinds)) = map.get("type").cloned() {
                map.remove("type");
                let one = |kind: &Value| Value::Object(Map::from_iter([("type".to_string(), kind.clone())]));
                map.insert("anyOf".into(), kinds.iter().map(one).collect::<Vec<_>>().into());
            }
        }
        _ => {}
    }
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(map) => Arc::new(map),
        _ => Arc::new(JsonObject::new()),
    }
}

/// `Gate explain` for `gate_explain`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn hints(name: &str, touches: Touches) -> ToolAnnotations {
    let known = KNOWN.iter().find(|(known, ..)| *known == name);
    let hints = ToolAnnotations::new().read_only(touches.changes_nothing()).open_world(touches.network);
    if touches.changes_nothing() {
        return hints;
    }
    match known {
        Some((_, destroys, repeatable)) => hints.destructive(*destroys).idempotent(*repeatable),
        None => hints.destructive(touches.writes || touches.executes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_tools::explain::GateExplain;
    use serde_json::json;

    #[test]
    fn a_tool_declares_input_output_and_effects() {
        let spec = describe(&GateExplain);
        assert_eq!(spec.title.as_deref(), Some("Gate explain"));
        assert_eq!(spec.input_schema["required"], serde_json::json!(["command_line"]));
        let output = spec.output_schema.unwrap();
        assert_eq!(output["type"], "object");
        assert_eq!(output["properties"]["safer"]["anyOf"], json!([{"type": "string"}, {"type": "null"}]));
        assert_eq!(spec.annotations.unwrap().read_only_hint, Some(true));
        assert!(hints("run_command", Touches::EXECUTES).is_destructive());
        assert!(!hints("verify", Touches::EXECUTES).is_destructive());
    }
}
