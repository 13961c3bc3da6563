//! Wire formats of the vendors as serde types.
//!
//! A request is written by the clients in [`crate::wire`] and read by [`crate::server`], so its type
//! is one for both. Answers of the server are types too; the clients read them with types of their
//! own, which borrow from the network's buffer and tolerate what imitators of a vendor get wrong.
//!
//! Limits: only the fields that Marvin sends or reads are here. Other fields of a request are ignored.

pub(crate) mod anthropic;
pub(crate) mod gemini;
pub(crate) mod openai;
pub(crate) mod responses;

use crate::client::ToolSpec;
use crate::parameters::Parameters;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;

/// Reads a list leniently: elements of another shape, or a value that is not a list, are left out.
fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let Value::Array(values) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

/// The text of content that is a string, or a list of parts of which some have text.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// A tool in the neutral shape.
pub(crate) fn spec(name: &str, description: Option<String>, parameters: Parameters) -> ToolSpec {
    ToolSpec { name: name.to_string(), description: description.unwrap_or_default(), parameters }
}
