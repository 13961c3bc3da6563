//! Lists and maps under a secret's name: `tokens: ["…", "…"]`, `"apiKeys": {"a": "…"}`, and the same in YAML.
//!
//! A plural names so much else (`max_tokens`, `secrets: inherit`) that only generated values under it are secrets.

use super::reading::Reading;
use super::{kind_of, split};
use crate::redact::values::NameKind;
use std::ops::Range;

/// Longest list that is read.
const MAX_LIST_BYTES: usize = 4 * 1024;

/// The kind of secrets that a list or a map of this name holds.
pub(in crate::redact) fn kind_of_list(name: &str) -> Option<NameKind> {
    match name.strip_suffix(['s', 'S']) {
        Some(singular) => kind_of(singular),
        None => kind_of(name).filter(|kind| *kind != NameKind::Weak),
    }
}

/// Whether a field beside a secret says something about it, and is none itself: `id`, `sha256`, `url`.
pub(in crate::redact) fn is_description(name: &str) -> bool {
    const WORDS: [&str; 20] = [
        "id",
        "ids",
        "uuid",
        "name",
        "type",
        "kind",
        "hash",
        "digest",
        "sha",
        "checksum",
        "fingerprint",
        "url",
        "uri",
        "path",
        "file",
        "version",
        "at",
        "kid",
        "issuer",
        "salt",
    ];
    let words = split(name);
    let last = words.iter().rev().find(|word| !word.bytes().all(|byte| byte.is_ascii_digit()));
    last.is_some_and(|word| WORDS.contains(&word.as_str()))
}

impl Reading<'_> {
    /// The values of the list or the map behind a name.
    pub(super) fn items(&mut self, name: &Range<usize>) -> Vec<Range<usize>> {
        self.closing();
        self.blanks();
        let sign = self.peek();
        let signs = self.skip(|byte| matches!(byte, b'=' | b':' | b'>'));
        if signs == 0 || signs > 2 {
            return Vec::new();
        }
        self.blanks();
        if sign == Some(b':') {
            self.type_annotation();
        }
        self.skip(|byte| byte == b'&');
        match self.peek() {
            Some(b'[' | b'{') => self.bracketed(),
            Some(b'\n' | b'\r') if sign == Some(b':') => self.indented(name.start),
            _ => Vec::new(),
        }
    }

    /// Reads to the bracket that closes the one here.
    fn bracketed(&mut self) -> Vec<Range<usize>> {
        let limit = self.at + MAX_LIST_BYTES;
        let (mut items, mut depth, mut key) = (Vec::new(), 0_usize, "");
        while let Some(byte) = self.peek()
            && self.at < limit
        {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                _ if byte.is_ascii_whitespace() || matches!(byte, b',' | b':' | b'=' | b'>') => {
                    if byte == b',' {
                        key = "";
                    }
                }
                _ => {
                    let Some(range) =
                        self.quoted().or_else(|| self.until(|byte| b" \t\r\n\"'`,:=[]{}".contains(&byte)))
                    else {
                        self.at += 1;
                        continue;
                    };
                    self.skip(|byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b' '));
                    let text = self.text.get(range.clone()).unwrap_or_default();
                    if matches!(self.peek(), Some(b':' | b'=')) {
                        key = text;
                    } else if !is_description(key) {
                        items.push(range);
                    }
                    continue;
                }
            }
            self.at += 1;
        }
        items
    }

    /// Reads the lines of YAML that belong to the name at `start`.
    fn indented(&mut self, start: usize) -> Vec<Range<usize>> {
        let head = self.text.get(..start).unwrap_or_default();
        let own_line = head.rsplit(['\n', '\r']).next().unwrap_or_default();
        let own_indent = own_line.len() - own_line.trim_start_matches([' ', '-']).len();
        let limit = self.at + MAX_LIST_BYTES;
        let mut items = Vec::new();
        while self.at < limit {
            self.skip(|byte| matches!(byte, b'\n' | b'\r'));
            let begin = self.at;
            let indent = self.blanks();
            let is_entry = self.peek() == Some(b'-');
            if self.peek().is_none() || indent < own_indent || indent == own_indent && !is_entry {
                break;
            }
            self.skip(|byte| matches!(byte, b'-' | b' '));
            let line_start = self.at;
            self.skip(|byte| !matches!(byte, b'\n' | b'\r'));
            let line = self.text.get(line_start..self.at).unwrap_or_default();
            let (key, value) = line.split_once(": ").unwrap_or(("", line));
            let value = value.split_once(" #").map_or(value, |(value, _)| value);
            let inside = value.trim().trim_matches(['"', '\'']);
            if let Some(at) = value.find(inside).filter(|_| !inside.is_empty() && !is_description(key)) {
                let from = line_start
                    + (line.len() - line.split_once(": ").map_or(line, |(_, value)| value).len())
                    + at;
                items.push(from..from + inside.len());
            }
            if self.at == begin {
                break;
            }
        }
        items
    }
}
