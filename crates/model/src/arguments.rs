//! The arguments of a call, whatever the model made of them.
//!
//! Models send an object; or the object as JSON text; or that text as JSON text once more; or, for patches, the bare
//! patch. All of these are understood here and nowhere else. What is none of them is kept as it came, so that the
//! refusal can show it: a guessed call is worse than a refused one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Understood arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// An object, as it should be.
    Object(Map<String, Value>),
    /// A patch in place of an object: a Codex patch or a unified diff.
    Patch(String),
    /// Something else, as it came.
    Unreadable(String),
}

impl Arguments {
    /// Understands a JSON value.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(map) => Arguments::Object(map),
            Value::Null => Arguments::Object(Map::new()),
            Value::String(text) => Arguments::from_text(&text),
            other => Arguments::Unreadable(other.to_string()),
        }
    }

    /// Understands text that should be JSON. No text at all means no arguments.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Arguments::understand(text, 2)
    }

    fn understand(text: &str, unwrap: u8) -> Self {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Arguments::Object(Map::new());
        }
        match serde_json::from_str(trimmed) {
            Ok(Value::Object(map)) => Arguments::Object(map),
            Ok(Value::Null) => Arguments::Object(Map::new()),
            Ok(Value::String(inner)) if unwrap > 0 => Arguments::understand(&inner, unwrap - 1),
            _ if is_patch(trimmed) => Arguments::Patch(text.to_string()),
            _ => Arguments::Unreadable(text.to_string()),
        }
    }

    /// The object, if it is one.
    #[must_use]
    pub fn object(&self) -> Option<&Map<String, Value>> {
        match self {
            Arguments::Object(map) => Some(map),
            Arguments::Patch(_) | Arguments::Unreadable(_) => None,
        }
    }

    /// As a JSON value: the object, or the text as it came.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Arguments::Object(map) => Value::Object(map.clone()),
            Arguments::Patch(text) | Arguments::Unreadable(text) => Value::String(text.clone()),
        }
    }

    /// As a JSON object for wires that take nothing else: text goes under `input`.
    #[must_use]
    pub fn to_object(&self) -> Value {
        match self {
            Arguments::Object(map) => Value::Object(map.clone()),
            Arguments::Patch(text) | Arguments::Unreadable(text) => {
                Value::Object(Map::from_iter([("input".to_string(), Value::from(text.as_str()))]))
            }
        }
    }

    /// As JSON text, for wires that carry arguments as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Arguments::Object(map) => Value::Object(map.clone()).to_string(),
            Arguments::Patch(text) | Arguments::Unreadable(text) => text.clone(),
        }
    }
}

/// First lines of a Codex patch, a git diff and a hunk.
const PATCH_STARTS: [&str; 3] = ["*** Begin Patch", "diff --git ", "@@ "];
/// The two lines of a unified diff that name its files.
const OLD_FILE: &str = "--- ";
const NEW_FILE: &str = "\n+++ ";

/// A Codex patch, or a unified diff, with or without a code fence around it.
fn is_patch(text: &str) -> bool {
    let text = text.trim_start_matches("```diff").trim_start_matches("```patch").trim_start_matches("```");
    let text = text.trim_start();
    PATCH_STARTS.iter().any(|start| text.starts_with(start))
        || (text.starts_with(OLD_FILE) && text.contains(NEW_FILE))
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Arguments::from_value(Value::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Arguments {
        let Value::Object(map) = value else { panic!("not an object") };
        Arguments::Object(map)
    }

    #[test]
    fn every_quirk_is_understood() {
        let good = object(json!({"path": "a"}));
        assert_eq!(Arguments::from_value(json!({"path": "a"})), good);
        assert_eq!(Arguments::from_text(r#"{"path":"a"}"#), good);
        assert_eq!(Arguments::from_value(json!(r#"{"path":"a"}"#)), good);
        assert_eq!(Arguments::from_text(r#""{\"path\":\"a\"}""#), good);
        assert_eq!(Arguments::from_text(" "), object(json!({})));
        assert_eq!(Arguments::from_value(Value::Null), object(json!({})));
    }

    #[test]
    fn patches_are_kept_as_they_came() {
        for patch in [
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git a/x b/x\n",
            "```diff\n--- a/x\n+++ b/x\n```",
        ] {
            assert_eq!(Arguments::from_text(patch), Arguments::Patch(patch.into()), "{patch}");
        }
    }

    #[test]
    fn ambiguous_arguments_are_refused() {
        for text in ["{\"path\": ", "[1]", "7", "path=a"] {
            assert_eq!(Arguments::from_text(text), Arguments::Unreadable(text.into()));
        }
    }
}
