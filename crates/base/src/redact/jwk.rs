//! Private members of JSON Web Keys: `{"kty": "EC", …, "d": "…"}`.
//!
//! Their names have one or two letters, so only the `kty` beside them says what they are.
//!
//! Limits: a stream holds a key back once its `kty` or its first private member arrived.

use super::span::{Evidence, Span};
use memchr::memmem::Finder;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Name of the member that every key has.
const KEY_TYPE: &str = "\"kty";
/// How far before and behind `kty` the members of a key are looked for.
const MAX_KEY_BYTES: usize = 8 * 1024;
/// The members of private keys and of symmetric ones.
pub(super) const PRIVATE_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// Made once: every text is searched for it.
static FIND_KEY_TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(KEY_TYPE));

static MEMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*"(?<value>[A-Za-z0-9_-]{16,}={0,2})"#).ok()
});

/// Adds a span for every private member of a key.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let mut done = 0;
    for at in FIND_KEY_TYPE.find_iter(text.as_bytes()) {
        if at < done {
            continue;
        }
        let key = object_around(text, at, done);
        done = key.end;
        let (Some(members), Some(member)) = (text.get(key.clone()), MEMBER.as_ref()) else { continue };
        for found in member.captures_iter(members).filter_map(|captures| captures.name("value")) {
            let range = key.start + found.start()..key.start + found.end();
            spans.push(Span { range, kind: "jwk".into(), evidence: Evidence::Certain });
        }
    }
}

/// The object that a place is in, as far as it can be seen; nothing before `from`.
fn object_around(text: &str, at: usize, from: usize) -> Range<usize> {
    let from = text.ceil_char_boundary(from.max(at.saturating_sub(MAX_KEY_BYTES)));
    let to = text.floor_char_boundary(text.len().min(at + MAX_KEY_BYTES));
    let head = text.get(from..at).unwrap_or_default();
    let start = head.rfind(['{', '}']).map_or(from, |brace| from + brace);
    let end = text.get(at..to).and_then(|rest| rest.find('}')).map_or(to, |brace| at + brace);
    start..end
}

/// Start of the members of an object that may be a key and has not arrived whole.
pub(super) fn open(text: &str) -> Option<usize> {
    const NAMES: [&str; 5] = [KEY_TYPE, "\"d\"", "\"k\"", "\"d\\", "\"k\\"];
    let from = text.rfind('}').map_or(0, |brace| brace + 1);
    let object = text.get(from..).filter(|object| object.contains('"'))?;
    let start = from + NAMES.iter().filter_map(|name| object.find(name)).min()?;
    (text.len() - start < MAX_KEY_BYTES).then_some(start)
}

#[cfg(test)]
mod tests {
    use crate::redact::{Redactor, samples};
    use serde_json::{Value, json};

    #[test]
    fn private_members_of_a_key_are_secrets() {
        let redactor = Redactor::patterns_only();
        for template in [
            r#"{"kty":"EC","crv":"P-256","x":"«b64u:32»","d":"⟦«b64u:32»⟧"}"#,
            r#"{"d": "⟦«b64u:32»⟧", "kty": "OKP", "x": "«b64u:32»"}"#,
            "{\n  \"kty\": \"oct\",\n  \"k\": \"⟦«b64u:32»⟧\"\n}",
            r#""{\"kty\":\"EC\",\"d\":\"⟦«b64u:32»⟧\"}""#,
        ] {
            let (text, secret) = samples::secret(template, 1);
            let clean = text.replace(&secret, "[REDACTED:jwk]");
            assert_eq!(redactor.text(&text), clean);
            assert_eq!(redactor.text(&clean), clean);
        }
        let public = samples::expand(r#"{"kty":"EC","crv":"P-256","x":"«b64u:32»","y":"«b64u:32»"}"#, 1);
        let other = samples::expand(r#"{"d":"«b64u:32»","k":"«b64u:32»"} {"kty":"EC"}"#, 1);
        assert!(!redactor.finds(&public) && !redactor.finds(&other));
        let mut value: Value = json!({"kty": "EC", "d": samples::expand("«b64u:32»", 1), "x": "abc"});
        redactor.value(&mut value);
        assert_eq!(value, json!({"kty": "EC", "d": "[REDACTED:jwk]", "x": "abc"}));
    }
}
