//! Secrets never reach a record, a log or standard output.
//!
//! Three nets. *Known values*: whatever the environment, the settings or a key file holds under a name that says it is
//! secret is looked for literally. *Patterns*: shapes that credentials have (see [`patterns`]) are replaced wherever they
//! stand. *Commands*: what programs take for a password among their words (see [`commands`]). What is replaced reads
//! `[REDACTED:kind]`, so that the reader knows something was there.
//!
//! Limits: a secret that is short, unknown and looks like a word cannot be told from a word. The reverse also happens:
//! a long random-looking token that is not secret (a full commit hash) is replaced too; the record errs on that side.
//! Text that goes to a model or into a file the person asked for is not touched: that is work, not record.

mod commands;
mod patterns;
mod stream;

pub use stream::StreamRedactor;

use crate::environment::Environment;
use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Values shorter than this are not looked for literally: they would match ordinary words.
const SHORTEST_KNOWN: usize = 6;

/// A plain word of this length or more under a secret's name is taken for the secret.
const LONGEST_SWITCH: usize = 10;

/// Keys whose values the shell itself computes: hashes and ids that look like random tokens but are no secrets.
const STRUCTURAL: [&str; 21] = [
    "run_id",
    "runId",
    "run_path",
    "id",
    "call_signature",
    "signature",
    "request_signature",
    "tools_signature",
    "resultSignature",
    "workspace_hash",
    "artifact_delta_hash",
    "commit",
    "sha256",
    "fingerprint",
    "candidate_fingerprint",
    "original_fingerprint",
    "supersedes",
    "timestamp",
    "startedAt",
    "endedAt",
    "model",
];

/// Does the name of an environment variable say that its value is secret?
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    patterns::is_secret_name(name)
}

/// Is a value under a secret's name only the path of a socket or a file? One that begins at a folder that is there.
fn is_path(value: &str) -> bool {
    let first = value.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| std::path::Path::new("/").join(first).exists())
}

/// Knows what must not be written down.
#[derive(Debug)]
pub struct Redactor {
    known: Option<AhoCorasick>,
    labels: Vec<String>,
    values: Vec<String>,
}

impl Redactor {
    /// A redactor that knows no values, only patterns.
    #[must_use]
    pub fn patterns_only() -> Self {
        Redactor { known: None, labels: Vec::new(), values: Vec::new() }
    }

    /// A redactor for the secrets of an environment and further named values (keys from settings and key files).
    #[must_use]
    pub fn new<'a>(
        environment: &'a Environment,
        further: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let from_environment =
            environment.iter().filter(|(name, value)| patterns::is_secret_name(name) && !is_path(value));
        // By value, so that one value under two names is looked for once.
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in from_environment.chain(further) {
            let value = value.trim();
            // A short word (`true`, `prompt`, `none`) under such a name is a switch, not a secret.
            let is_switch = value.len() < LONGEST_SWITCH && patterns::is_plain_word(value);
            if value.len() >= SHORTEST_KNOWN && !is_switch {
                // A value may also arrive inside JSON text, where quotes and backslashes look otherwise.
                let quoted = Value::from(value).to_string();
                let escaped = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                known.insert(escaped.unwrap_or(&quoted).to_string(), name.to_string());
                known.insert(value.to_string(), name.to_string());
            }
        }
        let (values, labels): (Vec<String>, Vec<String>) = known.into_iter().unzip();
        let matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values);
        Redactor { known: matcher.ok().filter(|_| !values.is_empty()), labels, values }
    }

    /// `text` without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact(text, true)
    }

    /// Is there a secret in it? Random-looking tokens alone are none here: commit hashes stand in many addresses.
    #[must_use]
    pub fn finds(&self, text: &str) -> bool {
        matches!(self.redact(text, false), Cow::Owned(_))
    }

    fn redact<'a>(&self, text: &'a str, tokens: bool) -> Cow<'a, str> {
        let mut clean = self.known_values(text);
        if let Some(cleaner) = commands::redact(&clean) {
            clean = Cow::Owned(cleaner);
        }
        match clean {
            Cow::Borrowed(text) => patterns::redact(text, tokens),
            Cow::Owned(text) => Cow::Owned(patterns::redact(&text, tokens).into_owned()),
        }
    }

    fn known_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(known) = &self.known else { return Cow::Borrowed(text) };
        if !known.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        known.replace_all_with(text, &mut clean, |found, _, out| {
            let label = self.labels.get(found.pattern().as_usize()).map_or("secret", String::as_str);
            out.push_str("[REDACTED:");
            out.push_str(label);
            out.push(']');
            true
        });
        Cow::Owned(clean)
    }

    /// Cleans every string of a JSON value, keys included.
    pub fn value(&self, value: &mut Value) {
        self.clean(value, true);
    }

    fn clean(&self, value: &mut Value, tokens: bool) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redact(text, tokens) {
                    *text = clean;
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|entry| self.clean(entry, tokens)),
            Value::Object(map) => {
                for (key, entry) in map.iter_mut() {
                    if entry.is_string() && patterns::is_secret_key(key) {
                        *entry = Value::String(format!("[REDACTED:{key}]"));
                    } else {
                        self.clean(entry, !STRUCTURAL.contains(&key.as_str()));
                    }
                }
                if map.keys().any(|key| matches!(self.redact(key, tokens), Cow::Owned(_))) {
                    let entries = std::mem::take(map);
                    map.extend(
                        entries
                            .into_iter()
                            .map(|(key, entry)| (self.redact(&key, tokens).into_owned(), entry)),
                    );
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The known values that contain white space or characters beyond ASCII, which the stream must not break at.
    fn awkward_values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str).filter(|value| value.contains(stream::is_break))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redactor() -> Redactor {
        let environment = Environment::from_iter([
            ("MY_API_KEY", "correct-horse-battery"),
            ("DB_PASSWORD", "two words"),
            ("PGPASSWORD", "correcthorsebatterystaple"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("USE_TOKEN", "true"),
            ("EDITOR", "nano-is-fine"),
        ]);
        Redactor::new(&environment, [("file", "from-a-file")])
    }

    #[test]
    fn known_values_are_replaced_by_their_name() {
        let clean = redactor();
        assert_eq!(
            clean.text("say correcthorsebatterystaple correct-horse-battery and two words and from-a-file"),
            "say [REDACTED:PGPASSWORD] [REDACTED:MY_API_KEY] and [REDACTED:DB_PASSWORD] and [REDACTED:file]"
        );
        assert_eq!(clean.text("true /tmp/agent nano-is-fine"), "true /tmp/agent nano-is-fine");
    }

    #[test]
    fn secrets_are_found_and_hashes_are_none() {
        let clean = redactor();
        assert!(clean.finds("https://h/?q=correct-horse-battery"));
        assert!(clean.finds("https://h/ghp_0123456789abcdefghijABCDEFGHIJ456789"));
        assert!(!clean.finds("https://h/commit/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"));
        assert!(!clean.finds("https://example.com/a?page=2"));
    }

    #[test]
    fn values_are_cleaned_all_the_way_down() {
        let mut value = json!({
            "a": ["correct-horse-battery"],
            "password": "x",
            "AKIAIOSFODNN7EXAMPLE": 1,
            "id": "0123456789abcdef0123456789abcdef",
            "text": "0123456789abcdef0123456789abcdef",
        });
        redactor().value(&mut value);
        assert_eq!(
            value,
            json!({
                "a": ["[REDACTED:MY_API_KEY]"],
                "password": "[REDACTED:password]",
                "[REDACTED:aws]": 1,
                "id": "0123456789abcdef0123456789abcdef",
                "text": "[REDACTED:token]",
            })
        );
    }
}
