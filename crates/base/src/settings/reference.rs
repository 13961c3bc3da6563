//! Documents generated from the table: `docs/settings.md` and the JSON schema of `config.toml`.

use super::load::accepted;
use super::table::RETIRED_KEYS;
use super::{Kind, Scope, TABLE};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The text of `docs/settings.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Settings\n\n\
         Made from the settings table by `marvin config --markdown`; do not edit by hand.\n\n\
         Order: flag, environment, the project's `.marvin/config.toml`, the person's `config.toml`, default.\n\
         *person*: not the project's to set, since it decides where keys, traffic or programs go. *process*: only the\n\
         environment; what one process tells another. Of several variables the first that is set wins.\n\n\
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
    let retired = RETIRED_KEYS.map(|key| format!("`{key}`")).join(", ");
    text.push_str(&format!("\nAccepted in files and ignored, because nothing uses them: {retired}.\n"));
    text
}

/// A JSON schema, as far as the settings need it.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Schema {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    dialect: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Schema>>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    choices: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_properties: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    properties: Vec<(&'static str, Schema)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'static str>,
}

/// Writes properties as an object in the order of the table.
fn as_map<S: Serializer>(properties: &[(&'static str, Schema)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(properties.iter().map(|(key, schema)| (key, schema)))
}

/// The JSON schema of `config.toml`.
#[must_use]
pub fn schema() -> Value {
    let mut root = Schema {
        dialect: Some("https://json-schema.org/draft/2020-12/schema"),
        title: Some("Marvin's config.toml"),
        ..Schema::object()
    };
    for setting in TABLE.iter().filter(|setting| setting.scope != Scope::Process) {
        root.insert(
            setting.key,
            Schema { description: Some(setting.meaning), ..Schema::of_kind(setting.kind) },
        );
    }
    serde_json::to_value(root).unwrap_or_default()
}

impl Schema {
    fn object() -> Self {
        Schema { additional_properties: Some(false), ..Schema::of_type("object") }
    }

    fn of_type(kind: &'static str) -> Self {
        Schema { kind: Some(kind), ..Schema::default() }
    }

    fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::Secret => Schema::of_type("string"),
            Kind::Switch => Schema::of_type("boolean"),
            Kind::Whole(least, most) => Schema {
                minimum: Some(least),
                maximum: Some(most).filter(|most| *most < i64::MAX),
                ..Schema::of_type("integer")
            },
            Kind::Amount => Schema { minimum: Some(0), ..Schema::of_type("number") },
            Kind::List => {
                Schema { items: Some(Box::new(Schema::of_type("string"))), ..Schema::of_type("array") }
            }
            Kind::Choice(choices) => Schema { choices: Some(choices), ..Schema::default() },
            Kind::Json => Schema::of_type("object"),
        }
    }

    /// Puts a schema at a dotted key.
    fn insert(&mut self, key: &'static str, schema: Schema) {
        let Some((head, rest)) = key.split_once('.') else {
            self.properties.push((key, schema));
            return;
        };
        match self.properties.iter_mut().find(|(known, _)| *known == head) {
            Some((_, node)) => node.insert(rest, schema),
            None => {
                let mut node = Schema::object();
                node.insert(rest, schema);
                self.properties.push((head, node));
            }
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
