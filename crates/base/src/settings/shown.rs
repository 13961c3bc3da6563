//! Settings as people and programs may see them: secrets are only said to be there, and removed from other values.

use super::{Kind, Setting, Value};
use crate::redact::Redactor;
use serde::Serialize;

/// A value as a person may see it.
#[must_use]
pub fn shown(setting: &Setting, value: &Value) -> String {
    let hidden =
        setting.kind == Kind::Secret || (setting.kind == Kind::Json && setting.key.ends_with("secrets"));
    match hidden {
        true if value.text.is_empty() => String::new(),
        true => "(set, hidden)".to_string(),
        false => without_secrets(setting, &value.text),
    }
}

/// Headers, arguments and addresses in a value may be credentials.
fn without_secrets(setting: &Setting, text: &str) -> String {
    let redactor = Redactor::patterns_only();
    if setting.kind == Kind::Json
        && let Ok(mut value) = serde_json::from_str::<serde_json::Value>(text)
    {
        let before = value.clone();
        redactor.value(&mut value);
        return if value == before { text.to_string() } else { value.to_string() };
    }
    redactor.text(text).into_owned()
}

/// A setting with its value, its origin and its meaning.
#[derive(Serialize)]
struct SettingRow {
    key: &'static str,
    value: String,
    origin: String,
    default: &'static str,
    variables: &'static [&'static str],
    meaning: &'static str,
}

/// The row of a setting, with secrets hidden.
#[must_use]
pub fn row(setting: &Setting, value: &Value) -> serde_json::Value {
    let row = SettingRow {
        key: setting.key,
        value: shown(setting, value),
        origin: value.origin.to_string(),
        default: setting.default,
        variables: setting.variables,
        meaning: setting.meaning,
    };
    serde_json::to_value(row).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, table};
    use super::*;

    #[test]
    fn credentials_in_ordinary_settings_are_not_shown() {
        let shown = |setting: &Setting, text: &str| {
            shown(setting, &Value { text: text.to_string(), origin: Origin::Default })
        };
        let servers = r#"{"d":{"headers":{"Authorization":"Bearer 3f2504e04f8941d39a0c0305e82c3301"},"command":"npx"}}"#;
        let text = shown(&table::MCP_SERVERS, servers);
        assert!(!text.contains("3f2504e0") && text.contains("npx"), "{text}");
        assert_eq!(
            shown(&table::MCP_SERVERS, r#"{"a": {"command": "npx"}}"#),
            r#"{"a": {"command": "npx"}}"#
        );
    }
}
