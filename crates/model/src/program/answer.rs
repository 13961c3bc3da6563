//! The one JSON object that a program answers.
//!
//! Programs are told to answer an object and nothing else, and mostly do. Two slips are forgiven because they leave no
//! doubt about what was meant: a code fence around the object, and prose around it. Where a text holds several objects, the
//! one that speaks the worker contract (`status` or `tool_calls`) is meant; if there is not exactly one of those either,
//! the answer is refused: a guessed call is worse than a refused one.

use serde_json::{Deserializer, Map, Value};

/// Failure to find the one JSON object in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no JSON in it, or no telling which of several objects is meant.
    #[error("what came is not JSON")]
    NotJson,
    #[error("what came is JSON, but not an object")]
    NotAnObject,
}

/// The object in an answer.
///
/// # Errors
/// When there is none, or no single one.
pub fn object(text: &str) -> Result<Map<String, Value>, AnswerError> {
    let bare = unfenced(text.trim());
    match serde_json::from_str(bare) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(AnswerError::NotAnObject),
        Err(_) => objects(bare).and_then(single).ok_or(AnswerError::NotJson),
    }
}

/// The inside of a code fence that is the whole text; else the text.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let plain = language.trim().is_empty() || language.trim().eq_ignore_ascii_case("json");
        plain.then(|| rest.strip_suffix("```")).flatten()
    };
    inside().map_or(text, str::trim)
}

/// Every object that stands in the text and is not part of another, or `None` when one begins and does not end well: what
/// stands inside a broken object is not an answer. A brace that no key follows is code or prose, not the beginning of one.
fn objects(text: &str) -> Option<Vec<Map<String, Value>>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, inside)) = rest.split_once('{') {
        if inside.trim_start().starts_with('"') {
            let from = rest.get(rest.len() - inside.len() - 1..)?;
            let mut stream = Deserializer::from_str(from).into_iter::<Map<String, Value>>();
            found.push(stream.next()?.ok()?);
            rest = from.get(stream.byte_offset()..)?;
        } else {
            rest = inside;
        }
    }
    Some(found)
}

fn single(mut found: Vec<Map<String, Value>>) -> Option<Map<String, Value>> {
    if found.len() > 1 {
        found.retain(|map| map.contains_key("status") || map.contains_key("tool_calls"));
    }
    match found.len() {
        1 => found.pop(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &str) -> Result<String, AnswerError> {
        object(answer).map(|map| Value::Object(map).to_string())
    }

    #[test]
    fn an_object_is_found_in_every_forgiven_form() {
        let bare = r#"{"status":"SUCCESS","summary":"a } and ``` inside"}"#;
        let pretty = "{\n  \"status\": \"SUCCESS\",\n  \"summary\": \"a } and ``` inside\"\n}";
        for answer in [
            bare.to_string(),
            pretty.to_string(),
            format!("```json\n{bare}\n```"),
            format!("```\n{pretty}\n```\n"),
            format!("Done. Here is the result:\n\n{pretty}\n\nTell me if {{more}} is needed."),
            format!("As asked:\n```json\n{bare}\n```\nGoodbye."),
            format!("I wrote fn main() {{}} and {{\"a\": 1}}. {bare}"),
        ] {
            assert_eq!(text(&answer).as_deref(), Ok(bare), "{answer}");
        }
    }

    #[test]
    fn the_order_of_keys_is_kept() {
        assert_eq!(text(r#" { "b" : 1, "a" : [ ] } "#).as_deref(), Ok(r#"{"b":1,"a":[]}"#));
    }

    #[test]
    fn text_that_is_not_one_object_is_refused() {
        for answer in [
            "",
            "I am done.",
            "{\"status\": \"SUCC",
            "{}{}",
            "{\"a\":1} or {\"b\":2}",
            "fn main() {}",
            "{\"tool_calls\":[{\"name\":\"a\",\"arguments\":{\"b\":1}}",
            "Here: {\"status\": SUCCESS, \"data\": {\"status\":\"FAILURE\"}}",
        ] {
            assert_eq!(text(answer), Err(AnswerError::NotJson), "{answer}");
        }
        for answer in ["[1]", "\"text\"", "7", "null", "```json\n[{\"a\":1}]\n```"] {
            assert_eq!(text(answer), Err(AnswerError::NotAnObject), "{answer}");
        }
        let two = r#"{"status":"SUCCESS"} {"status":"FAILURE"}"#;
        assert_eq!(text(two), Err(AnswerError::NotJson));
    }

    #[test]
    fn deep_or_long_rubbish_ends_quickly() {
        let started = marvin_testing::CpuTimer::start();
        assert_eq!(text(&"{\"a\":".repeat(100_000)), Err(AnswerError::NotJson));
        assert_eq!(text(&"{".repeat(1_000_000)), Err(AnswerError::NotJson));
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    }
}
