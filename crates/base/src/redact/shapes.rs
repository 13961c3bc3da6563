//! Shapes of provider credentials: finding them in a text.
//!
//! The shapes are data ([`super::table`]). One search for the literal anchors of all rows says where a shape
//! may begin; only there the row's regex is tried, anchored. Regexes are compiled when they are first needed, so that a
//! process that meets no anchor pays for none.
//!
//! Limits: a row knows a provider's format of today. A checksum, where the format has one, is proof even without the word
//! boundaries that the other rows need.

use super::armor;
use super::scan::Hits;
use super::shape::{Check, Edge, Shape};
use super::span::{Evidence, Span};
use super::table::SHAPES;
use super::view::{self, View};
use regex::Regex;
use std::sync::{LazyLock, OnceLock};

/// Longest part of a credential before its anchor; behind a longer word none begins.
const MAX_BACK_BYTES: usize = 256;

/// Longest shape over several lines.
const MAX_BLOCK_BYTES: usize = 4096;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

static REGEXES: LazyLock<Vec<OnceLock<Regex>>> =
    LazyLock::new(|| SHAPES.iter().map(|_| OnceLock::new()).collect());

#[expect(clippy::expect_used, reason = "the patterns are constants; the tests compile every one")]
fn regex(row: usize, shape: &Shape) -> Option<&'static Regex> {
    let compile = || Regex::new(&format!(r"\A(?:{})", shape.pattern)).expect("a constant pattern");
    REGEXES.get(row).map(|cell| cell.get_or_init(compile))
}

/// Adds a span for every shape in the text, which may be the view of another.
pub(super) fn find(text: &str, hits: &Hits, view: Option<&View>, spans: &mut Vec<Span>) {
    for &(row, start) in &hits.shapes {
        let Some(shape) = SHAPES.get(row) else { continue };
        spans.extend(try_shape(text, start, view, row, shape));
    }
    find_discord(text, spans);
}

fn try_shape(text: &str, at: usize, view: Option<&View>, row: usize, shape: &Shape) -> Option<Span> {
    let before = text.as_bytes().get(..at)?;
    let (start, bound) = match shape.edge {
        Edge::Any => (at, true),
        // An underscore joins a token to a name, as in `tool_ghp_…`.
        Edge::Start if before.last() == Some(&b'_') => return None,
        Edge::Word | Edge::Start => {
            let is_bound = !before.last().is_some_and(u8::is_ascii_alphanumeric)
                || view::ends_with_escape(before)
                || view.is_some_and(|view| view.is_joint(at));
            (at, is_bound)
        }
        Edge::Back(class) => {
            let length =
                before.iter().rev().take(MAX_BACK_BYTES + 1).take_while(|byte| class(**byte)).count();
            if length > MAX_BACK_BYTES {
                return None;
            }
            let start = at - length;
            let start = start + view::escape_tail(text.as_bytes(), start).min(at - start);
            (start, start < at)
        }
    };
    // A checksum proves also what is glued to a word.
    if !bound && shape.check != Check::Crc {
        return None;
    }
    let captures = regex(row, shape)?.captures(text.get(start..)?)?;
    let found = captures.name("value").or_else(|| captures.get(0))?;
    let proved = shape.check.holds(found.as_str())?;
    let mut range = start + found.start()..start + found.end();
    if shape.check == Check::Armor {
        let body = armor::read(text, range.end);
        if !body.has_material {
            return None;
        }
        range.end = body.end;
    }
    if shape.check == Check::EncodedArmor {
        range.end = range.end.max(armor::read(text, range.end).end);
    }
    (bound || proved).then(|| Span { range, kind: shape.kind.into(), evidence: Evidence::Certain })
}

/// Discord bot tokens have no literal: `ID.TIME.MAC`, where TIME has six characters.
fn find_discord(text: &str, spans: &mut Vec<Span>) {
    static TOKEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\A[A-Za-z0-9_-]{20,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}").ok());
    let bytes = text.as_bytes();
    for at in memchr::memchr_iter(b'.', bytes) {
        if bytes.get(at + 7) != Some(&b'.') {
            continue;
        }
        let of_token = |byte: &&u8| is_word(**byte) || **byte == b'-';
        let head = bytes.iter().take(at).rev().take(31).take_while(of_token).count();
        let Some(candidate) = at.checked_sub(head).and_then(|start| text.get(start..)) else { continue };
        if let Some(found) = TOKEN.as_ref().and_then(|token| token.find(candidate))
            && Check::Discord.holds(found.as_str()).is_some()
        {
            let start = at - head;
            let range = start..start + found.end();
            spans.push(Span { range, kind: "discord".into(), evidence: Evidence::Certain });
        }
    }
}

/// Start of a shape over several lines that may go on, for text that still arrives.
pub(super) fn open_block(text: &str) -> Option<usize> {
    const BLOCK_ANCHORS: [&str; 8] = [
        "priv:",
        "privateExponent:",
        "prime1:",
        "prime2:",
        "exponent1:",
        "exponent2:",
        "coefficient:",
        "OpenVPN Static key V1-----",
    ];
    let held = text.get(text.ceil_char_boundary(text.len().saturating_sub(MAX_BLOCK_BYTES))..)?;
    let is_open =
        |rest: &str| rest.bytes().all(|byte| byte.is_ascii_hexdigit() || b" \t\r\n:\\n".contains(&byte));
    let begin = BLOCK_ANCHORS.iter().filter_map(|anchor| {
        let at = held.rfind(anchor)?;
        is_open(held.get(at + anchor.len()..)?).then_some(at)
    });
    begin.min().map(|at| text.len() - held.len() + at)
}

/// Start of the last anchor in `line` of a shape that may hold white space, for text that still arrives.
pub(super) fn open_line(line: &str) -> Option<usize> {
    const LINE_ANCHORS: [&str; 13] = [
        "AKIA",
        "ASIA",
        "machine ",
        "default login",
        "nemonic",
        "NEMONIC",
        "phrase",
        "Phrase",
        "PHRASE",
        "seed words",
        "FlyV1",
        "SSWS ",
        "Private-Lines",
    ];
    LINE_ANCHORS.iter().filter_map(|anchor| line.find(anchor)).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::samples;

    fn found(text: &str) -> Vec<String> {
        let mut spans = Vec::new();
        find(text, &Hits::find(text), None, &mut spans);
        spans.into_iter().map(|span| span.kind.into_owned()).collect()
    }

    #[test]
    fn every_row_finds_its_examples_and_spares_the_others() {
        assert!(SHAPES.len() >= 60, "{} rows", SHAPES.len());
        for (row, shape) in SHAPES.iter().enumerate() {
            assert!(!shape.finds.is_empty() && regex(row, shape).is_some(), "{}", shape.kind);
            for template in shape.finds {
                let text = samples::expand(template, row as u64);
                assert!(found(&text).iter().any(|kind| kind == shape.kind), "{}: {text}", shape.kind);
            }
            for template in shape.spares {
                let text = samples::expand(template, row as u64);
                assert_eq!(found(&text), Vec::<String>::new(), "{}: {text}", shape.kind);
            }
        }
    }

    #[test]
    fn a_checksum_proves_what_is_glued_to_a_word() {
        let token = samples::expand("ghp_«b62:30»«crc»", 1);
        assert_eq!(found(&format!("x{token}")), ["github"]);
        let wrong = token.replace("ghp_", "ghp_0");
        assert_eq!(found(&format!("x{wrong}")), Vec::<String>::new());
    }
}
