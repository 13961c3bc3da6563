//! Settings as people and programs may see them: secrets are only said to be there.

use super::{Kind, Setting, Value};
use serde_json::json;

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

/// A setting with its value, where that came from, and what it means.
#[must_use]
pub fn row(setting: &Setting, value: &Value) -> serde_json::Value {
    json!({
        "key": setting.key,
        "value": shown(setting, value),
        "origin": value.origin.to_string(),
        "default": setting.default,
        "variables": setting.variables,
        "meaning": setting.meaning,
    })
}
