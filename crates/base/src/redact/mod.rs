//! Redaction: secrets are replaced by evidence before a text is recorded, shown or sent to a model.
//!
//! Evidence, from strong to weak ([`span::Evidence`]):
//! - *certain*: a known value of the environment, the settings or a key file, in any usual encoding ([`known`]); the
//!   shape of a provider's credential, with its checksum or structure where it has one ([`shapes`], [`table`]); a
//!   credential in a header ([`headers`]);
//! - *generated*: a value that looks generated under a secret's name, in a connection string, or where a program takes a
//!   password ([`names`], [`values`], [`commands`], [`phrases`]);
//! - *named*: any other value under a secret's name, or where a program takes a password ([`commands`]).
//!
//! Randomness alone is not evidence: object names of git, digests, ids and encoded data stay. Where a text goes decides
//! which evidence counts ([`Scope`]). A replaced secret reads `[REDACTED:kind]`.
//!
//! A text with terminal escapes or invisible characters is searched in a view without them, too ([`view`]).
//!
//! Limits: an unknown secret of no provider's shape, without a name beside it, is not found; a short dictionary word
//! under a secret's name in prose or code is taken for a word.

mod armor;
mod checks;
mod commands;
mod headers;
mod jwk;
mod known;
mod literals;
mod names;
mod phrases;
pub mod samples;
mod scan;
mod shape;
mod shapes;
mod span;
mod stream;
mod table;
mod values;
mod view;

pub use stream::StreamRedactor;

use crate::environment::Environment;
use known::KnownValues;
use scan::Hits;
use serde_json::{Map, Value};
use span::{Evidence, Span};
use std::borrow::Cow;
use std::ops::Range;
use values::{NameKind, Style};
use view::View;

/// Destination of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Into a record, a log or a document that outlives the turn: all evidence counts.
    Record,
    /// From a tool to the model: what is certain or looks generated. Fixtures such as `password = "hunter2"` stay, so
    /// that a model can work on the code around them.
    Model,
    /// Back to the caller who asked: only what is certain, so that answers and schemas stay intact.
    Caller,
}

impl Scope {
    fn least(self) -> Evidence {
        match self {
            Scope::Record => Evidence::Named,
            Scope::Model => Evidence::Generated,
            Scope::Caller => Evidence::Certain,
        }
    }
}

/// Does the name of an environment variable say that its value is secret?
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 15] = [
        "KEY",
        "KEYS",
        "APIKEY",
        "SECRETS",
        "PASS",
        "PWD",
        "PW",
        "PSK",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
        "PAT",
        "WEBHOOK",
        "COOKIE",
        "DSN",
    ];
    const ENDINGS: [&str; 6] = ["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY"];
    let name = name.to_ascii_uppercase();
    // The shell's own: where one is and was.
    if name == "PWD" || name == "OLDPWD" {
        return false;
    }
    name.split('_').any(|part| WORDS.contains(&part) || ENDINGS.iter().any(|ending| part.ends_with(ending)))
}

/// Whether a value of an environment variable is or holds a secret, whatever the variable is called.
#[must_use]
pub fn is_secret_value(value: &str) -> bool {
    Redactor::patterns_only().finds(value)
}

/// Knows what must not be written down.
#[derive(Debug)]
pub struct Redactor {
    known: KnownValues,
}

impl Redactor {
    /// A redactor that knows no values, only shapes and names.
    #[must_use]
    pub fn patterns_only() -> Self {
        Redactor { known: KnownValues::default() }
    }

    /// A redactor for the secrets of an environment and further named values (keys from settings and key files).
    #[must_use]
    pub fn new<'a>(
        environment: &'a Environment,
        further: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        Redactor { known: KnownValues::new(environment, further) }
    }

    /// `text` without secrets, for a record.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.text_for(text, Scope::Record)
    }

    /// `text` without the secrets that must not go there.
    #[must_use]
    pub fn text_for<'a>(&self, text: &'a str, scope: Scope) -> Cow<'a, str> {
        match span::replace(text, self.spans(text, scope)) {
            Some(clean) => Cow::Owned(clean),
            None => Cow::Borrowed(text),
        }
    }

    /// As [`Redactor::text_for`], but every line stays a line: each part of a secret over several lines is replaced. So
    /// lines can be cut out or numbered afterwards, without losing the evidence that stands on other lines.
    #[must_use]
    pub fn lines_for<'a>(&self, text: &'a str, scope: Scope) -> Cow<'a, str> {
        match span::replace(text, span::split_at_lines(text, self.spans(text, scope))) {
            Some(clean) => Cow::Owned(clean),
            None => Cow::Borrowed(text),
        }
    }

    /// The secrets over several lines that must not go there, in their order.
    #[must_use]
    pub fn multiline_secrets(&self, text: &str, scope: Scope) -> Vec<SecretRange> {
        let mut spans = self.spans(text, scope);
        spans.retain(|span| text.get(span.range.clone()).is_some_and(|part| part.contains('\n')));
        spans.sort_by_key(|span| span.range.start);
        let mut secrets: Vec<SecretRange> = Vec::new();
        for Span { range, kind, .. } in spans {
            match secrets.last_mut().filter(|last| range.start < last.range.end) {
                Some(last) => last.range.end = last.range.end.max(range.end),
                None => secrets.push(SecretRange { range, marker: span::marker(&kind) }),
            }
        }
        secrets
    }

    /// Whether the text holds a secret by any evidence.
    #[must_use]
    pub fn finds(&self, text: &str) -> bool {
        !self.spans(text, Scope::Record).is_empty()
    }

    /// Whether the text holds a secret that must not go there.
    #[must_use]
    pub fn finds_for(&self, text: &str, scope: Scope) -> bool {
        !self.spans(text, scope).is_empty()
    }

    fn spans(&self, text: &str, scope: Scope) -> Vec<Span> {
        let mut spans = Vec::new();
        // Names of fields and plain words: no evidence is so short and made of small letters only.
        if text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            self.known.find(text, &mut spans);
            return spans;
        }
        self.find(text, None, scope, &mut spans);
        for view in View::all(text) {
            let mut seen = Vec::new();
            self.find(&view.text, Some(&view), scope, &mut seen);
            spans
                .extend(seen.into_iter().map(|span| Span { range: view.range_in_text(&span.range), ..span }));
        }
        spans.retain(|span| span.evidence >= scope.least() && !is_redacted(text, span));
        spans
    }

    /// Adds a span for every secret in a text, which may be the view of another.
    fn find(&self, text: &str, view: Option<&View>, scope: Scope, spans: &mut Vec<Span>) {
        self.known.find(text, spans);
        let hits = Hits::find(text);
        shapes::find(text, &hits, view, spans);
        headers::find_urls(text, spans);
        jwk::find(text, spans);
        names::find(text, &hits, spans);
        phrases::find(text, &hits, spans);
        if scope != Scope::Caller {
            commands::find(text, spans);
        }
    }

    /// Cleans every string of a JSON value, keys included, for a record.
    pub fn value(&self, value: &mut Value) {
        self.value_for(value, Scope::Record);
    }

    /// Cleans every string of a JSON value, keys included, of the secrets that must not go there.
    pub fn value_for(&self, value: &mut Value, scope: Scope) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text_for(text, scope) {
                    *text = clean;
                }
            }
            Value::Array(list) => self.array(list, scope),
            Value::Object(map) => self.object(map, scope),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn array(&self, list: &mut [Value], scope: Scope) {
        list.iter_mut().for_each(|entry| self.value_for(entry, scope));
        // `["--password", "X"]`: words of a command in a list.
        let mut secret = None;
        for entry in list {
            if let (Some(kind), Value::String(text)) = (secret.take(), &mut *entry)
                && self.is_secret(kind, text, Style::Flag, scope)
            {
                *text = "[REDACTED:flag]".to_string();
            }
            let flag = entry.as_str().filter(|text| text.starts_with('-') && !text.contains(['=', ' ']));
            secret = flag.and_then(names::kind_of_key);
        }
    }

    fn object(&self, map: &mut Map<String, Value>, scope: Scope) {
        // `{"name": "DB_PASSWORD", "value": "X"}`.
        let named = ["name", "key", "header", "variable"].iter();
        let pair = named.filter_map(|key| map.get(*key)?.as_str()).find_map(names::kind_of_key);
        let is_cookie = map.get("name").and_then(Value::as_str).is_some_and(|name| {
            name.eq_ignore_ascii_case("cookie") || name.eq_ignore_ascii_case("set-cookie")
        });
        let is_jwk = map.contains_key("kty");
        for (key, entry) in map.iter_mut() {
            if is_jwk && entry.is_string() && jwk::PRIVATE_MEMBERS.contains(&key.as_str()) {
                *entry = Value::from("[REDACTED:jwk]");
                continue;
            }
            let kind = names::kind_of_key(key).or(pair.filter(|_| key == "value"));
            match (kind, &mut *entry) {
                (Some(kind), Value::String(text)) if self.is_secret(kind, text, Style::Quoted, scope) => {
                    *text = format!("[REDACTED:{}]", self.text(key));
                }
                // The header's value is a credential though no name stands beside it.
                (_, Value::String(text))
                    if key.eq_ignore_ascii_case("authorization") || key.eq_ignore_ascii_case("cookie") =>
                {
                    let line = format!("{key}: {text}");
                    if self.finds_for(&line, scope) {
                        *text = format!("[REDACTED:{key}]");
                    }
                }
                (_, Value::String(text)) if key == "value" && is_cookie => {
                    let line = format!("cookie: {text}");
                    if self.finds_for(&line, scope) {
                        *text = "[REDACTED:cookie]".to_string();
                    }
                }
                _ => {
                    self.value_for(entry, scope);
                    // `{"tokens": ["X", "Y"]}`, `{"apiKeys": {"a": "X"}}`.
                    let is_list = matches!(entry, Value::Array(_) | Value::Object(_));
                    if is_list && let Some(kind) = names::kind_of_list_key(key) {
                        self.generated_below(entry, kind, &self.text(key), scope);
                    }
                }
            }
        }
        if map.keys().any(|key| self.finds_for(key, scope)) {
            let entries = std::mem::take(map);
            let clean = |(key, entry): (String, Value)| (self.text_for(&key, scope).into_owned(), entry);
            map.extend(entries.into_iter().map(clean));
        }
    }

    /// Replaces the generated values inside a list or an object under a secret's name.
    fn generated_below(&self, value: &mut Value, kind: NameKind, name: &str, scope: Scope) {
        match value {
            Value::String(text) => {
                let evidence = values::judge(text, kind, Style::Quoted);
                if evidence == Some(Evidence::Generated) && scope.least() <= Evidence::Generated {
                    *text = format!("[REDACTED:{name}]");
                }
            }
            Value::Array(list) => {
                list.iter_mut().for_each(|entry| self.generated_below(entry, kind, name, scope));
            }
            Value::Object(map) => {
                let entries = map.iter_mut().filter(|(key, _)| !names::is_description(key));
                entries.for_each(|(_, entry)| self.generated_below(entry, kind, name, scope));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether a value under a secret's name is a secret for this scope.
    fn is_secret(&self, kind: NameKind, text: &str, style: Style, scope: Scope) -> bool {
        values::judge(text, kind, style).is_some_and(|evidence| evidence >= scope.least())
    }
}

/// A secret in a text, and what is shown in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRange {
    pub range: Range<usize>,
    /// `[REDACTED:kind]`.
    pub marker: String,
}

/// Whether a text may hold a secret over several lines that one of its lines does not show.
#[must_use]
pub fn may_hold_multiline_secret(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 2] = [b"PRIVATE KEY", b"Private-Lines"];
    WORDS.iter().any(|word| memchr::memmem::find(text, word).is_some())
}

/// Whether the span is the replacement of an earlier pass.
fn is_redacted(text: &str, span: &Span) -> bool {
    text.get(span.range.clone()).is_some_and(|part| part.contains("[REDACTED"))
}

#[cfg(test)]
mod tests;
