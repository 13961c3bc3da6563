//! Bounded text. Every cut says how much is missing, so that neither a person nor a model mistakes a part for a whole.

use serde_json::Value;

/// At most `limit` characters of `text`; a longer text ends in a note of what was cut (which comes on top of the limit).
#[must_use]
pub fn head(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_string(),
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            format!("{kept}… [{} more characters cut]", text.chars().count() - limit)
        }
    }
}

/// As [`head`], but a token at the cut (a word, a key, a path) is left out whole: half of a secret is not recognised by a
/// redactor that comes later. Tokens of more than [`TOKEN`] bytes are cut anyway.
#[must_use]
pub fn head_whole(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_string(),
        Some((at, _)) => {
            let kept = text.get(..token_start(text, at)).unwrap_or_default();
            format!("{kept}… [{} more characters cut]", text.chars().count() - kept.chars().count())
        }
    }
}

/// At most `limit` characters on one line, ending in `…` when cut; line breaks become spaces. For lists and labels.
#[must_use]
pub fn line(text: &str, limit: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= limit {
        return flat;
    }
    let mut cut: String = flat.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The beginning and the end of `text`, with a note of what lies between, `limit` bytes in all.
#[must_use]
pub fn middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_string();
    }
    let head = floor(text, limit * 2 / 3);
    let tail = ceil(text, text.len() - (limit - head));
    format!(
        "{}\n… [{} of {} bytes cut here] …\n{}",
        text.get(..head).unwrap_or_default(),
        tail - head,
        text.len(),
        text.get(tail..).unwrap_or_default()
    )
}

/// As [`middle`], but tokens at both cuts are left out whole, as in [`head_whole`].
#[must_use]
pub fn middle_whole(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_string();
    }
    let head = floor(text, limit * 2 / 3);
    let tail = token_end(text, ceil(text, text.len() - (limit - head)));
    let head = token_start(text, head);
    format!(
        "{}\n… [{} of {} bytes cut here] …\n{}",
        text.get(..head).unwrap_or_default(),
        tail - head,
        text.len(),
        text.get(tail..).unwrap_or_default()
    )
}

/// Bytes of the longest token that is left out whole.
const TOKEN: usize = 512;

/// Whether this character can be part of a key, a token or a path.
fn in_token(character: char) -> bool {
    character.is_alphanumeric() || "_-+/=.~%:@$!".contains(character)
}

/// Start of the token that a cut at `at` would divide; `at` if it divides none, or one that is too long.
fn token_start(text: &str, at: usize) -> usize {
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
    if !after.starts_with(in_token) {
        return at;
    }
    let start = before.trim_end_matches(in_token).len();
    if at - start > TOKEN { at } else { start }
}

/// End of the token that a cut at `at` would divide; `at` if it divides none, or one that is too long.
fn token_end(text: &str, at: usize) -> usize {
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
    if !before.ends_with(in_token) {
        return at;
    }
    let length = after.len() - after.trim_start_matches(in_token).len();
    if length > TOKEN { at } else { at + length }
}

/// A JSON value within bounds: strings of at most `characters`, lists and objects of at most `entries`, `depth` levels.
#[must_use]
pub fn value(value: &Value, characters: usize, entries: usize, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::String(head(text, characters)),
        Value::Array(_) | Value::Object(_) if depth == 0 => {
            Value::String(head(&value.to_string(), characters))
        }
        Value::Array(list) => {
            let mut kept: Vec<Value> =
                list.iter().take(entries).map(|v| self::value(v, characters, entries, depth - 1)).collect();
            if list.len() > entries {
                kept.push(Value::String(format!("… [{} more entries cut]", list.len() - entries)));
            }
            Value::Array(kept)
        }
        Value::Object(map) => {
            let mut kept: serde_json::Map<String, Value> = map
                .iter()
                .take(entries)
                .map(|(key, v)| (key.clone(), self::value(v, characters, entries, depth - 1)))
                .collect();
            if map.len() > entries {
                kept.insert("…".into(), Value::String(format!("[{} more keys cut]", map.len() - entries)));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The greatest character boundary at or below `at`.
#[must_use]
pub fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn cuts_say_what_they_cut() {
        assert_eq!(head("abcdef", 6), "abcdef");
        assert_eq!(head("abcdef", 4), "abcd… [2 more characters cut]");
        assert_eq!(line("a\n b   c", 10), "a b c");
        assert_eq!(line("abcdef", 4), "abc…");
        assert!(middle(&"x".repeat(100), 30).contains("[70 of 100 bytes cut here]"));
        assert_eq!(value(&json!([1, 2, 3]), 5, 2, 3), json!([1, 2, "… [1 more entries cut]"]));
        assert_eq!(value(&json!({"a": {"b": {"c": 1}}}), 9, 9, 2), json!({"a": {"b": "{\"c\":1}"}}));
    }

    #[test]
    fn tokens_are_left_out_whole() {
        let text = "the key is sk-abcdefghijklmnop and more";
        for limit in 12..29 {
            assert_eq!(head_whole(text, limit), "the key is … [28 more characters cut]", "{limit}");
        }
        assert!(head_whole(text, 30).starts_with("the key is sk-abcdefghijklmnop"));
        assert_eq!(head_whole(&"x".repeat(2000), 1000).matches('x').count(), 1000);
        let text = format!("{} sk-abcdefghijklmnop {}", "a ".repeat(40), "b ".repeat(40));
        for limit in 20..160 {
            let cut = middle_whole(&text, limit);
            assert!(!cut.contains("sk-") || cut.contains("sk-abcdefghijklmnop"), "{limit}: {cut}");
            assert!(!cut.contains("nop") || cut.contains("sk-abcdefghijklmnop"), "{limit}: {cut}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_stays_bounded(text in ".*", limit in 0usize..40) {
            prop_assert!(middle_whole(&text, limit).len() <= limit.max(text.len().min(limit)) + 60);
            prop_assert!(head_whole(&text, limit).chars().count() <= limit + 40);
            let cut = middle(&text, limit);
            prop_assert!(cut.len() <= limit.max(text.len().min(limit)) + 60);
            prop_assert!(head(&text, limit).chars().count() <= limit + 40);
            prop_assert!(line(&text, limit).chars().count() <= limit.max(1));
        }
    }
}
