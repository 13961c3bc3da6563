//! Findings in a text: where a secret stands, what it is, and how sure that is.

use std::borrow::Cow;
use std::ops::Range;

/// How strong the evidence for a secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Only its name says so: `password = "hunter2"`.
    Named,
    /// Its name says so, and it looks generated.
    Generated,
    /// A known value, or the shape of a provider's credential.
    Certain,
}

#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    /// The word in the replacement.
    pub(super) kind: Cow<'static, str>,
    /// How sure it is.
    pub(super) evidence: Evidence,
}

/// The text with every span replaced; overlapping spans are one.
pub(super) fn replace(text: &str, mut spans: Vec<Span>) -> Option<String> {
    if spans.is_empty() {
        return None;
    }
    // The surest names the replacement where two begin at the same place.
    spans.sort_by(|a, b| {
        a.range
            .start
            .cmp(&b.range.start)
            .then(b.evidence.cmp(&a.evidence))
            .then(b.range.end.cmp(&a.range.end))
    });
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        if span.range.start < done {
            done = done.max(span.range.end);
            continue;
        }
        // A range off a character boundary cannot happen; if it did, text would be lost, not leaked.
        clean.push_str(text.get(done..span.range.start).unwrap_or_default());
        clean.push_str(&marker(&span.kind));
        done = span.range.end;
    }
    clean.push_str(text.get(done..).unwrap_or_default());
    Some(clean)
}

/// What is shown in place of a secret.
pub(super) fn marker(kind: &str) -> String {
    format!("[REDACTED:{kind}]")
}

/// The spans with those over several lines divided into their lines.
pub(super) fn split_at_lines(text: &str, spans: Vec<Span>) -> Vec<Span> {
    let mut parts = Vec::with_capacity(spans.len());
    for span in spans {
        let part = text.get(span.range.clone()).unwrap_or_default();
        if !part.contains('\n') {
            parts.push(span);
            continue;
        }
        let mut at = span.range.start;
        for line in part.split_inclusive('\n') {
            let start = at + line.len() - line.trim_start().len();
            let range = start..start + line.trim().len();
            if !range.is_empty() {
                parts.push(Span { range, ..span.clone() });
            }
            at += line.len();
        }
    }
    parts
}
