//! Known secret values: from the environment, settings and key files, in the encodings in which they travel.

use super::scan::Hits;
use super::span::{Evidence, Span};
use super::{checks, headers, names, shapes, values};
use crate::environment::Environment;
use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// Values shorter than this are not looked for literally: they would match ordinary words.
const MIN_KNOWN_BYTES: usize = 6;
/// A plain word shorter than this under a secret's name is a switch, not a secret.
const MIN_WORD_BYTES: usize = 10;
/// Shortest base64 text that stands for a known value.
const MIN_ENCODED_BYTES: usize = 10;

/// The values that a redactor looks for.
#[derive(Debug, Default)]
pub(super) struct KnownValues {
    scan: Option<AhoCorasick>,
    labels: Vec<String>,
    values: Vec<String>,
}

impl KnownValues {
    pub(super) fn new<'a>(
        environment: &'a Environment,
        further: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        // By value, so that one value under two names is looked for once.
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in environment.iter() {
            if super::is_secret_name(name) && !is_path(value) {
                add(&mut known, name, value);
            } else {
                // A connection string or a token under a name that does not say so.
                for secret in secrets_in(value) {
                    add(&mut known, name, &secret);
                }
            }
        }
        for (name, value) in further {
            add(&mut known, name, value);
        }
        let (values, labels): (Vec<String>, Vec<String>) = known.into_iter().unzip();
        let scan = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values);
        KnownValues { scan: scan.ok().filter(|_| !values.is_empty()), labels, values }
    }

    pub(super) fn find(&self, text: &str, spans: &mut Vec<Span>) {
        let Some(scan) = &self.scan else { return };
        for found in scan.find_iter(text) {
            let label = self.labels.get(found.pattern().as_usize()).map_or("secret", String::as_str);
            spans.push(Span {
                range: found.range(),
                kind: label.to_string().into(),
                evidence: Evidence::Certain,
            });
        }
    }

    /// The values that contain characters at which a stream would break.
    pub(super) fn with_breaks(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str).filter(|value| value.contains(super::stream::is_break))
    }
}

/// The secrets inside a value: tokens, and passwords of connection strings.
fn secrets_in(value: &str) -> Vec<String> {
    if value.len() < MIN_KNOWN_BYTES {
        return Vec::new();
    }
    let mut spans = Vec::new();
    let hits = Hits::find(value);
    shapes::find(value, &hits, None, &mut spans);
    headers::find_urls(value, &mut spans);
    names::find(value, &hits, &mut spans);
    spans.into_iter().filter_map(|span| value.get(span.range).map(str::to_string)).collect()
}

/// Whether a value under a secret's name is only the path of a socket or a file: it begins at a directory that exists.
fn is_path(value: &str) -> bool {
    let first = value.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| std::path::Path::new("/").join(first).exists())
}

fn add(known: &mut BTreeMap<String, String>, name: &str, value: &str) {
    let value = value.trim();
    let is_switch = value.len() < MIN_WORD_BYTES && is_plain_word(value);
    // What begins with a slash is a path only when it leads somewhere: a token may begin so too.
    let is_reference = if value.starts_with('/') { is_path(value) } else { values::is_reference(value) };
    if value.len() < MIN_KNOWN_BYTES || is_switch || is_reference && !value.contains("://") {
        return;
    }
    for form in encodings(value) {
        known.insert(form, name.to_string());
    }
    known.insert(value.to_string(), name.to_string());
    // The password of a connection string is secret without the rest, too.
    if value.contains("://") {
        let mut spans = Vec::new();
        headers::find_urls(value, &mut spans);
        for span in spans {
            if let Some(part) = value.get(span.range).filter(|part| part.len() >= MIN_KNOWN_BYTES) {
                known.insert(part.to_string(), name.to_string());
            }
        }
    }
}

/// The other forms of a value: escaped in JSON, percent-encoded, hexadecimal, and base64 at each of the three offsets.
fn encodings(value: &str) -> Vec<String> {
    let quoted = Value::from(value).to_string();
    let mut forms = vec![quoted.trim_start_matches('"').trim_end_matches('"').to_string()];
    let percent = |hex: fn(u8) -> String, plus: bool| -> String {
        let encode = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            b' ' if plus => "+".to_string(),
            byte => hex(byte),
        };
        value.bytes().map(encode).collect()
    };
    forms.push(percent(|byte| format!("%{byte:02X}"), false));
    forms.push(percent(|byte| format!("%{byte:02x}"), false));
    forms.push(percent(|byte| format!("%{byte:02X}"), true));
    if value.len() >= 8 {
        forms.push(hex::encode(value));
        forms.push(hex::encode_upper(value));
        for offset in 0..3 {
            // Bytes before and after are unknown: the letters that depend on them are left out.
            let padded = [vec![0; offset], value.as_bytes().to_vec()].concat();
            let whole = checks::to_base64(&padded);
            let from = (offset * 8).div_ceil(6);
            let to = padded.len() * 8 / 6;
            if let Some(form) = whole.get(from..to).filter(|form| form.len() >= MIN_ENCODED_BYTES) {
                forms.push(form.to_string());
                forms.push(form.replace('+', "-").replace('/', "_"));
            }
        }
    }
    forms.retain(|form| form.len() >= MIN_KNOWN_BYTES);
    forms
}

/// Letters only, in one case or capitalised: a word, not a secret.
fn is_plain_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(char::is_alphabetic) && {
        let rest: Vec<char> = characters.collect();
        rest.iter().all(|c| c.is_lowercase()) || rest.iter().all(|c| c.is_uppercase())
    }
}
