//! Faults of an answer, before they become a [`ModelError`].

use crate::client::{Failure, ModelError};
use marvin_base::truncate;
use serde_json::Value;

/// A vendor's sentence is shown up to this length.
const MAX_MESSAGE_CHARS: usize = 500;

/// A fault that a reader found.
#[derive(Debug)]
pub(super) enum Fault {
    /// Not the protocol; the text that was found.
    Garbage(String),
    /// The vendor reports an error in the stream.
    Vendor {
        message: String,
        /// Whether the same request may succeed later.
        transient: bool,
    },
    /// The stream ended before its terminal marker.
    Cut,
}

impl Fault {
    /// Bytes that are not what the wire promises.
    pub(super) fn garbage(bytes: &[u8]) -> Self {
        // Only the beginning is shown, so only the beginning is looked at.
        let head = bytes.get(..400).unwrap_or(bytes);
        Fault::Garbage(truncate::line(&String::from_utf8_lossy(head), 80))
    }

    /// A line that belongs to no field: an error object, or garbage.
    pub(super) fn from_stray(line: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.get("error").is_some() => Fault::from_vendor(&value),
            _ => Fault::garbage(line),
        }
    }

    /// An error event: `{"error": …}`, or what stands behind `error`.
    pub(super) fn from_vendor(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let number = ["code", "status", "status_code"]
            .iter()
            .filter_map(|key| error.get(key))
            .find_map(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let words = ["type", "code", "status"]
            .iter()
            .filter_map(|key| error.get(key)?.as_str())
            .collect::<Vec<_>>()
            .join(" ")
            .to_ascii_lowercase();
        let transient = number.is_some_and(|code| transient_status(u16::try_from(code).unwrap_or(0)))
            || [
                "overloaded",
                "rate_limit",
                "server_error",
                "api_error",
                "unavailable",
                "timeout",
                "exhausted",
                "internal",
            ]
            .iter()
            .any(|word| words.contains(word));
        let message = message_of(value).unwrap_or_else(|| value.to_string());
        Fault::Vendor { message: truncate::line(&message, MAX_MESSAGE_CHARS), transient }
    }

    /// The same as the error that everything above knows.
    pub(super) fn into_error(self, provider: &str, format: &str) -> ModelError {
        match self {
            Fault::Garbage(found) => {
                ModelError::new(provider, Failure::Garbage, format!("the answer is not {format}: `{found}`"))
            }
            Fault::Vendor { message, transient } => {
                let failure = if transient { Failure::Unavailable } else { Failure::Rejected };
                ModelError::new(provider, failure, format!("the server ended the answer: {message}"))
            }
            Fault::Cut => ModelError::new(
                provider,
                Failure::Disconnected,
                "the connection broke before the answer was complete",
            ),
        }
    }
}

/// Statuses after which the same request may succeed.
pub(super) fn transient_status(status: u16) -> bool {
    matches!(status, 408 | 429) || (500..600).contains(&status)
}

/// The vendor's sentence in an error body, in any of the shapes that vendors use.
pub(super) fn message_of(value: &Value) -> Option<String> {
    let value = value.get(0).unwrap_or(value);
    let error = value.get("error").unwrap_or(value);
    let text = error
        .as_str()
        .or_else(|| error.get("message")?.as_str())
        .or_else(|| value.get("message")?.as_str())?;
    Some(text.to_string())
}

/// The message of an error body, truncated, on one line.
pub(super) fn body_message(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => message_of(&value).unwrap_or_else(|| value.to_string()),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    truncate::line(&text, MAX_MESSAGE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn vendors_say_errors_in_many_shapes() {
        for body in [
            json!({"error": {"message": "no"}}),
            json!({"error": "no"}),
            json!([{"error": {"message": "no", "code": 400}}]),
            json!({"message": "no"}),
            json!({"type": "error", "error": {"type": "x", "message": "no"}}),
        ] {
            assert_eq!(body_message(body.to_string().as_bytes()), "no", "{body}");
        }
        assert_eq!(body_message(b"<html>\n<b>no</b>"), "<html> <b>no</b>");
        assert!(body_message("x".repeat(9000).as_bytes()).chars().count() <= MAX_MESSAGE_CHARS);
    }

    #[test]
    fn transient_errors_are_distinguished_from_permanent_ones() {
        let transient =
            |value: Value| matches!(Fault::from_vendor(&value), Fault::Vendor { transient: true, .. });
        assert!(transient(json!({"error": {"type": "overloaded_error", "message": "x"}})));
        assert!(transient(json!({"error": {"code": 503, "message": "x"}})));
        assert!(transient(json!({"error": {"code": "429", "message": "x"}})));
        assert!(!transient(json!({"error": {"type": "invalid_request_error", "message": "x"}})));
        assert!(!transient(json!({"error": "x"})));
    }
}
