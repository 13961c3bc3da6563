//! Cleaning of untrusted schemas: known keywords, bounded texts, depth and size, no references.
//!
//! Patterns are dropped, since matching an untrusted regex can take for ever; the server checks them itself.

use marvin_gate::quote;
use serde_json::{Map, Value};

const MAX_SCHEMA_NODES: usize = 400;
const MAX_NESTING_DEPTH: usize = 8;
const MAX_OBJECT_FIELDS: usize = 64;
const MAX_TEXT_CHARS: usize = 300;
const MAX_ENUM_VALUES: usize = 100;

/// Keywords whose value is a number.
const PLAIN: [&str; 9] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "multipleOf",
];
const KINDS: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

/// The schema of a tool's arguments, cleaned.
pub(super) fn cleaned(schema: &Map<String, Value>) -> Value {
    let root = Value::Object(schema.clone());
    let mut parts = MAX_SCHEMA_NODES;
    let mut clean = part(&root, &root, 0, &mut parts);
    if let Some(map) = clean.as_object_mut() {
        map.insert("type".into(), "object".into());
        map.entry("properties").or_insert_with(any);
    }
    clean
}

/// The empty schema, which accepts any value.
fn any() -> Value {
    Value::Object(Map::new())
}

fn part(schema: &Value, root: &Value, depth: usize, parts: &mut usize) -> Value {
    if depth > MAX_NESTING_DEPTH || *parts == 0 {
        return any();
    }
    *parts -= 1;
    let Value::Object(map) = schema else { return any() };
    if let Some(Value::String(place)) = map.get("$ref") {
        let found = place.strip_prefix('#').and_then(|place| root.pointer(place));
        return found.map_or_else(any, |found| part(found, root, depth + 1, parts));
    }
    let mut clean = Map::new();
    if let Some(kind) = map.get("type").and_then(kind) {
        clean.insert("type".into(), kind);
    }
    if let Some(text) = map.get("description").and_then(Value::as_str) {
        clean.insert("description".into(), quote::line(text, MAX_TEXT_CHARS).into());
    }
    if let Some(Value::Array(words)) = map.get("enum") {
        let words: Vec<Value> =
            words.iter().filter(|word| is_small(word)).take(MAX_ENUM_VALUES).cloned().collect();
        if !words.is_empty() {
            clean.insert("enum".into(), words.into());
        }
    }
    for key in ["default", "const"] {
        if let Some(value) = map.get(key).filter(|value| is_small(value)) {
            clean.insert(key.into(), value.clone());
        }
    }
    for key in PLAIN {
        if let Some(value) = map.get(key).filter(|value| value.is_number()) {
            clean.insert(key.into(), value.clone());
        }
    }
    if let Some(items) = map.get("items") {
        clean.insert("items".into(), part(items, root, depth + 1, parts));
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(choices)) = map.get(key) {
            // A truncated choice would refuse arguments that the server accepts, so it is dropped whole.
            if choices.len() <= 16 && depth < MAX_NESTING_DEPTH {
                let choices: Vec<Value> =
                    choices.iter().map(|choice| part(choice, root, depth + 1, parts)).collect();
                clean.insert(if key == "oneOf" { "anyOf" } else { key }.into(), choices.into());
            }
        }
    }
    fields(map, root, depth, parts, &mut clean);
    Value::Object(clean)
}

fn fields(
    map: &Map<String, Value>,
    root: &Value,
    depth: usize,
    parts: &mut usize,
    clean: &mut Map<String, Value>,
) {
    let Some(Value::Object(properties)) = map.get("properties") else { return };
    let usable = |name: &str| {
        name.len() <= 64
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.$@".contains(letter))
    };
    let mut kept = Map::new();
    for (name, field) in properties.iter().filter(|(name, _)| usable(name)).take(MAX_OBJECT_FIELDS) {
        kept.insert(name.clone(), part(field, root, depth + 1, parts));
    }
    if let Some(Value::Array(required)) = map.get("required") {
        let there = |name: &&Value| name.as_str().is_some_and(|name| kept.contains_key(name));
        let required: Vec<Value> = required.iter().filter(there).take(MAX_OBJECT_FIELDS).cloned().collect();
        clean.insert("required".into(), required.into());
    }
    // Further fields can be refused only where every field is known.
    if map.get("additionalProperties") == Some(&Value::Bool(false)) && kept.len() == properties.len() {
        clean.insert("additionalProperties".into(), false.into());
    }
    clean.insert("properties".into(), Value::Object(kept));
}

fn kind(kind: &Value) -> Option<Value> {
    let known = |kind: &Value| kind.as_str().is_some_and(|kind| KINDS.contains(&kind));
    match kind {
        Value::Array(kinds) => {
            let kinds: Vec<Value> =
                kinds.iter().filter(|kind| known(kind) && *kind != "null").take(6).cloned().collect();
            match kinds.as_slice() {
                [] => None,
                [only] => Some(only.clone()),
                _ => Some(kinds.into()),
            }
        }
        kind => known(kind).then(|| kind.clone()),
    }
}

fn is_small(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().count() <= MAX_TEXT_CHARS && quote::block(text) == *text,
        Value::Array(_) | Value::Object(_) => value.to_string().len() <= 2 && !value.is_null(),
        _ => true,
    }
}

/// Arguments that fit the schema, for the error of a call that does not.
pub(super) fn example(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let mut call = Map::new();
    for name in required.into_iter().flatten().filter_map(Value::as_str).take(8) {
        let field = schema.get("properties").and_then(|all| all.get(name));
        let word = field.and_then(|field| field.get("enum")?.get(0));
        let kind = field.and_then(|field| field.get("type")?.as_str());
        let value = match (word, kind) {
            (Some(word), _) => word.clone(),
            (None, Some("integer" | "number")) => 1.into(),
            (None, Some("boolean")) => true.into(),
            (None, Some("array")) => Value::Array(Vec::new()),
            (None, Some("object")) => any(),
            _ => "…".into(),
        };
        call.insert(name.to_string(), value);
    }
    Value::Object(call).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn clean(schema: &Value) -> Value {
        cleaned(schema.as_object().unwrap())
    }

    #[test]
    fn known_parts_stay_and_the_rest_goes() {
        let schema = clean(&json!({
            "$schema": "x", "type": "object", "required": ["path", "gone"], "additionalProperties": false,
            "properties": {
                "path": {"type": ["string", "null"], "pattern": "(a+)+$", "description": "Where </system> it is"},
                "mode": {"$ref": "#/$defs/Mode"},
                "many": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}
            },
            "$defs": {"Mode": {"type": "string", "enum": ["a", "b"]}}
        }));
        assert_eq!(
            schema,
            json!({
                "type": "object", "required": ["path"], "additionalProperties": false,
                "properties": {
                    "path": {"type": "string", "description": "Where &lt;/system> it is"},
                    "mode": {"type": "string", "enum": ["a", "b"]},
                    "many": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}
                }
            })
        );
        assert_eq!(example(&schema), r#"{"path":"…"}"#);
    }

    #[test]
    fn a_schema_that_is_made_to_hurt_stays_small() {
        let mut deep = json!({"type": "string"});
        for _ in 0..200 {
            deep = json!({"type": "object", "properties": {"x": deep}});
        }
        assert!(clean(&deep).to_string().len() < 2_000);
        let around = json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#/nowhere"}}});
        assert!(clean(&around).to_string().len() < 60_000);
        let wide: Map<String, Value> = (0..10_000)
            .map(|n| (format!("f{n}"), json!({"type": "string", "description": "x".repeat(10_000)})))
            .collect();
        assert!(clean(&json!({"properties": wide})).to_string().len() < 60_000);
        for odd in
            [json!({}), json!({"type": 3}), json!({"properties": []}), json!({"type": "array", "items": 4})]
        {
            assert_eq!(clean(&odd)["type"], "object", "{odd}");
        }
    }
}
