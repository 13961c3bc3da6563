//! What is made from the table: `docs/settings.md` and the JSON schema of `config.toml`.

use super::load::accepted;
use super::{Kind, Scope, TABLE};
use serde_json::{Value, json};

/// `docs/settings.md`, whole.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Settings\n\n\
         Made from the settings table by `marvin config --markdown`; do not edit by hand.\n\n\
         Order: flag, environment, the project's `.marvin/config.toml`, the person's `config.toml`, default.\n\
         *person*: not the project's to set, since it decides where keys, traffic or programs go. *process*: only the\n\
         environment; what one process tells another. Of several variables the first that is set wins.\n\n\
         Checked, but without effect until the parts that they belong to are there: `tier.*`, `web.*`, `pipeline.*`,\n\
         `tickets.*`, `memory.stm.dimensions`, `mtg.*`, `interface.*`, `tools.session_grant`, `tools.roots`,\n\
         `provider.groq.whisper_model`, `process.hook_session`, `process.hook_daemon`,\n\
         `process.hook_request`, `process.hook_log`, `process.delegated`.\n\n\
         | key | default | takes | who | variables | meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in TABLE {
        let who = match setting.scope {
            Scope::Anyone => "project",
            Scope::Person => "person",
            Scope::Process => "process",
        };
        let default =
            if setting.default.is_empty() { String::new() } else { format!("`{}`", setting.default) };
        let variables =
            setting.variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(
            "| `{}` | {default} | {} | {who} | {variables} | {} |\n",
            setting.key,
            accepted(setting.kind),
            setting.meaning
        ));
    }
    text
}

/// The JSON schema of `config.toml`.
#[must_use]
pub fn schema() -> Value {
    let mut root = object();
    for setting in TABLE.iter().filter(|setting| setting.scope != Scope::Process) {
        insert(&mut root, setting.key, leaf(setting.kind, setting.meaning));
    }
    let mut schema =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Marvin's config.toml"});
    if let (Some(schema), Value::Object(root)) = (schema.as_object_mut(), root) {
        schema.extend(root);
    }
    schema
}

fn object() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {}})
}

fn leaf(kind: Kind, meaning: &str) -> Value {
    let mut schema = match kind {
        Kind::Text | Kind::Secret => json!({"type": "string"}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Whole(least, i64::MAX) => json!({"type": "integer", "minimum": least}),
        Kind::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Amount => json!({"type": "number", "minimum": 0}),
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Choice(choices) => json!({"enum": choices}),
        Kind::Json => json!({"type": "object"}),
    };
    if let Some(map) = schema.as_object_mut() {
        map.insert("description".into(), meaning.into());
    }
    schema
}

/// Puts a leaf at a dotted key.
fn insert(node: &mut Value, key: &str, leaf: Value) {
    let Some(properties) = node.pointer_mut("/properties").and_then(Value::as_object_mut) else { return };
    match key.split_once('.') {
        None => {
            properties.insert(key.to_string(), leaf);
        }
        Some((head, rest)) => {
            insert(properties.entry(head.to_string()).or_insert_with(object), rest, leaf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_reaches_every_key() {
        let schema = schema();
        assert_eq!(schema.pointer("/properties/pipeline/properties/qa_rounds/type").unwrap(), "integer");
        assert_eq!(
            schema.pointer("/properties/memory/properties/stm/properties/top/type").unwrap(),
            "integer"
        );
    }

    #[test]
    fn the_reference_has_a_row_for_every_setting() {
        let text = markdown();
        for setting in TABLE {
            assert!(text.contains(&format!("| `{}` |", setting.key)), "{}", setting.key);
        }
    }
}
