//! JSON schemas that every vendor accepts: one plain object, no references, nothing nullable.
//!
//! An optional field is simply not required; a `null` for it is accepted (see the registry) but not advertised. Vendors
//! differ in the keywords that they accept, so only the common ones are left.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Default of a field that holds a count.
pub(crate) fn count<const N: usize>() -> usize {
    N
}

/// Default of a field that holds another number.
pub(crate) fn number<const N: u64>() -> u64 {
    N
}

/// Default of a switch that is on.
pub(crate) fn yes() -> bool {
    true
}

/// The schema of a tool's facts: exact, nullable fields included.
#[must_use]
pub fn for_output<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// The schema of a tool's input.
#[must_use]
pub fn for_input<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Some(map) = schema.as_object_mut() {
        map.remove("description");
        map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

fn simplify(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for noise in ["$schema", "title", "format"] {
        map.remove(noise);
    }
    plain_type(map);
    plain_choice(map);
    if map.get("default") == Some(&Value::Null) {
        map.remove("default");
    }
    // An object of any shape allows further properties explicitly.
    let is_free = map.get("additionalProperties") == Some(&Value::Bool(true));
    if map.get("type").is_some_and(|kind| kind == "object") && !is_free {
        map.insert("additionalProperties".into(), Value::Bool(false));
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = map.get_mut("items") {
        simplify(items);
    }
}

/// Replaces `oneOf` over constants by a plain `enum`: not every vendor takes `oneOf`, and a validator can list the words
/// of an `enum`.
fn plain_choice(map: &mut Map<String, Value>) {
    let Some(Value::Array(members)) = map.get("oneOf") else { return };
    let words = |member: &Value| match (member.get("const"), member.get("enum")) {
        (Some(word @ Value::String(_)), _) => Some(vec![word.clone()]),
        (None, Some(Value::Array(words))) => Some(words.clone()),
        _ => None,
    };
    let Some(words) = members.iter().map(words).collect::<Option<Vec<_>>>() else { return };
    map.remove("oneOf");
    map.insert("type".into(), "string".into());
    map.insert("enum".into(), words.concat().into());
}

/// `["string", "null"]` becomes `"string"`; `anyOf` of something and null becomes the something.
fn plain_type(map: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = map.get("type") {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        if let [kind] = kinds.as_slice() {
            map.insert("type".into(), kind.clone());
        }
    }
    if let Some(Value::Array(options)) = map.get("anyOf") {
        let real: Vec<Value> = options
            .iter()
            .filter(|option| option.get("type").is_none_or(|kind| kind != "null"))
            .cloned()
            .collect();
        if let [Value::Object(only)] = real.as_slice() {
            let only = only.clone();
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        deep: bool,
    }

    /// Not for the model.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// What to read.
        path: String,
        start: Option<u32>,
        #[serde(default)]
        append: bool,
        inner: Option<Inner>,
        list: Vec<Inner>,
        #[serde(default)]
        choice: Choice,
    }

    #[derive(Deserialize, JsonSchema, Serialize, Default)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        /// Described, which makes a schema of its own of it.
        #[default]
        First,
        Second,
    }

    #[test]
    fn schemas_are_plain() {
        assert_eq!(
            for_input::<Sample>(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "What to read.", "type": "string"},
                    "start": {"type": "integer", "minimum": 0},
                    "append": {"type": "boolean", "default": false},
                    "inner": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"], "additionalProperties": false},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"], "additionalProperties": false}},
                    "choice": {"type": "string", "enum": ["second", "first"], "default": "first"}
                },
                "required": ["path", "list"],
                "additionalProperties": false
            })
        );
    }
}
