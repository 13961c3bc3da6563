//! Settings as people and programs may see them: secrets are only said to be there.

use super::{Kind, Setting, Value};
use serde::Serialize;

/// A value as a person may see it.
#[must_use]
pub fn shown(setting: &Setting, value: &Value) -> String {
    let hidden =
        setting.kind == Kind::Secret || (setting.kind == Kind::Json && setting.key.ends_with("secrets"));
    match hidden {
        true if value.text.is_empty() => String::new(),
        true => "(set, hidden)".to_string(),
        false => value.text.clone(),
    }
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
