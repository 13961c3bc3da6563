//! Private keys in text armor (PEM, PGP, SSH2, PuTTY): how far the body behind a `BEGIN` marker goes.
//!
//! The marker alone is not a secret, because source code and documentation that deal with keys are full of it. So the body
//! is read piece by piece: base64 long enough for key material belongs to it, and between such pieces may stand what
//! files, source code and terminals put around lines (indentation, quotes, `\n`, `> `, line numbers, headers). It ends
//! at its `END` marker, or at the first piece that cannot belong to a key. A key without an `END` was truncated and is
//! still a secret.
//!
//! Limits: fewer than [`MIN_LINE_BYTES`] of a key behind a marker are not recognised.

use super::checks;

/// Shortest run of base64 that is a line of key material.
const MIN_LINE_BYTES: usize = 16;
/// Shortest run of base64 that is key material whatever stands beside it on the line.
const MIN_LONG_LINE_BYTES: usize = 40;
/// How far behind the marker an `END` marker is looked for when the body is interrupted.
const MAX_KEY_BYTES: usize = 16 * 1024;
/// Longest physical line that is read as one with a prefix.
const MAX_LINE_BYTES: usize = 512;

const END_MARKERS: [&[u8]; 2] = [b"-----END", b"---- END"];
const BEGIN_MARKERS: [&[u8]; 2] = [b"-----BEGIN", b"---- BEGIN"];
/// How a marker of SSH2 begins: there is a blank in it, behind which a stream would flow.
const SSH2_MARK: &[u8] = b"---- BEGIN";
const PUTTY_MARKER: &[u8] = b"Private-Lines:";
/// `-----BEGIN ` in base64.
const ENCODED_MARKER: &[u8] = b"LS0tLS1CRUdJTi";
/// Base64 of the longest marker.
const MAX_ENCODED_MARKER_BYTES: usize = 64;

/// The body behind a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Body {
    /// End of what belongs to the key, its `END` marker included.
    pub(super) end: usize,
    /// Whether a line of key material was read.
    pub(super) has_material: bool,
    /// Whether more text could belong to the key.
    pub(super) is_open: bool,
}

/// Start of the last marker in a text that still arrives, if what it begins is not complete, and whether key material has
/// arrived; `cut` is the end of what would be shown.
pub(super) fn find_open(text: &str, cut: usize) -> Option<(usize, bool)> {
    let is_held = |body: Body| body.is_open || body.has_material && cut < body.end;
    let putty = memchr::memmem::rfind(text.as_bytes(), PUTTY_MARKER).filter(|begin| {
        let after = begin + PUTTY_MARKER.len();
        let count = text.as_bytes().get(after..).unwrap_or_default();
        is_held(read(
            text,
            after + count.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b' ').count(),
        ))
    });
    let line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    let begins =
        |length: &usize| SSH2_MARK.get(..*length).is_some_and(|half| text.as_bytes().ends_with(half));
    let half = (5..SSH2_MARK.len()).find(begins).filter(|_| !line.contains("END"));
    let half = half.map(|length| (text.len() - length, false));
    let encoded = find_open_encoded(text, is_held);
    [putty.map(|begin| (begin, true)), find_open_marker(text, is_held), half, encoded]
        .into_iter()
        .flatten()
        .min_by_key(|(begin, _)| *begin)
}

fn find_open_marker(text: &str, is_held: impl Fn(Body) -> bool) -> Option<(usize, bool)> {
    let begin = BEGIN_MARKERS
        .iter()
        .filter_map(|marker| memchr::memmem::rfind(text.as_bytes(), marker).map(|at| (at, marker.len())))
        .max();
    let (begin, length) = begin?;
    let label = text.as_bytes().get(begin + length..)?;
    let is_label = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
    let label_length = label.iter().take_while(is_label).count();
    let label = label.get(..label_length)?;
    let after = begin + length + label_length;
    let dashes = text.as_bytes().get(after..)?.iter().take_while(|byte| **byte == b'-').count();
    if after + dashes == text.len() && dashes < 5 {
        return Some((begin, false));
    }
    memchr::memmem::find(label, b"PRIVATE KEY")?;
    let body = read(text, after + dashes);
    is_held(body).then_some((begin, body.has_material))
}

fn find_open_encoded(text: &str, is_held: impl Fn(Body) -> bool) -> Option<(usize, bool)> {
    let begin = memchr::memmem::rfind(text.as_bytes(), ENCODED_MARKER)?;
    if !is_encoded_marker(text.get(begin..)?) {
        return None;
    }
    let mut reader = Reader { bytes: text.as_bytes(), at: begin, end: begin, has_material: false };
    reader.skip_base64();
    is_held(read(text, reader.at)).then_some((begin, true))
}

/// Whether a text begins with the base64 of a marker of a private key.
pub(super) fn is_encoded_marker(text: &str) -> bool {
    let run = text.bytes().take(MAX_ENCODED_MARKER_BYTES).take_while(|byte| is_base64(*byte)).count();
    let marker = text.get(..run - run % 4).and_then(checks::base64).unwrap_or_default();
    memchr::memmem::find(&marker, b"PRIVATE KEY").is_some()
}

/// Reads the body behind a marker that ends at `at`.
pub(super) fn read(text: &str, at: usize) -> Body {
    let mut reader = Reader { bytes: text.as_bytes(), at, end: at, has_material: false };
    let body = reader.read();
    if body.is_open || !body.has_material || reader.has_end_marker_before(body.end) {
        return body;
    }
    // Something interrupts the key (a note of a cut, a log's prefix), but its end may still follow.
    let bytes = text.as_bytes();
    let limit = at.saturating_add(MAX_KEY_BYTES);
    let rest = bytes.get(body.end..limit.min(bytes.len())).unwrap_or_default();
    let first = |markers: &[&[u8]]| {
        markers.iter().filter_map(|marker| memchr::memmem::find(rest, marker)).min().map(|at| body.end + at)
    };
    let next = first(&BEGIN_MARKERS);
    match first(&END_MARKERS).filter(|end| next.is_none_or(|next| *end < next)) {
        Some(end) if is_mostly_material(bytes.get(at..end).unwrap_or_default()) => {
            match end_of_marker(bytes, end) {
                Some(end) => Body { end, ..body },
                None => Body { end: bytes.len(), is_open: true, ..body },
            }
        }
        Some(_) => body,
        None => Body { is_open: next.is_none() && bytes.len() < limit, ..body },
    }
}

/// Reads on where a text continues the body of a key, perhaps in the middle of a line.
pub(super) fn resume(text: &str) -> Body {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, end: 0, has_material: true };
    reader.skip_base64();
    reader.end = reader.at;
    reader.read()
}

/// End of the `END` marker that begins at `at`; none if it has not arrived whole.
fn end_of_marker(bytes: &[u8], at: usize) -> Option<usize> {
    let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b' ';
    let label = at + 5 + bytes.get(at + 5..)?.iter().take_while(is_label).count();
    let dashes = bytes.get(label..)?.iter().take(5).take_while(|byte| **byte == b'-').count();
    (dashes == 5 || label + dashes < bytes.len()).then_some(label + dashes)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    has_material: bool,
}

impl Reader<'_> {
    fn body(&self, is_open: bool) -> Body {
        Body { end: self.end, has_material: self.has_material, is_open }
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn has_end_marker_before(&self, end: usize) -> bool {
        self.bytes.get(..end).is_some_and(|key| key.ends_with(b"----"))
    }

    fn read(&mut self) -> Body {
        loop {
            let on_new_line = self.skip_separators();
            if self.rest().is_empty() {
                return self.body(true);
            }
            if END_MARKERS.iter().any(|marker| self.rest().starts_with(marker)) {
                let end = end_of_marker(self.bytes, self.at);
                if self.has_material {
                    self.end = end.unwrap_or(self.bytes.len());
                }
                return self.body(end.is_none());
            }
            if !self.has_material && self.skip_header() {
                continue;
            }
            let start = self.at;
            let length = self.skip_base64();
            let piece = self.bytes.get(start..self.at).unwrap_or_default();
            if self.is_material(piece, length) {
                self.has_material = true;
                self.end = self.at;
            } else if self.rest().is_empty() && length > 0 {
                // Half a line.
                self.end = if self.has_material { self.at } else { self.end };
                return self.body(true);
            } else if self.has_material && on_new_line && is_last_line(piece) && self.is_at_line_end() {
                self.end = self.at;
            } else if !(length <= 6 && length > 0 && piece.iter().all(u8::is_ascii_digit)) {
                // Digits are the number of a line.
                match self.skip_long_line(start) {
                    Some(true) => {}
                    Some(false) => return self.body(false),
                    None => return self.body(true),
                }
            }
        }
    }

    /// Skips what may stand between lines of a key; whether that includes a line end.
    fn skip_separators(&mut self) -> bool {
        let mut on_new_line = false;
        loop {
            let rest = self.rest();
            let length = match rest {
                [b'-', ..] if END_MARKERS.iter().any(|marker| rest.starts_with(marker)) => 0,
                [b'\n' | b'\r', ..] => {
                    on_new_line = true;
                    1
                }
                [b'\\', b'n' | b'r', ..] | [b'%', b'0', b'A' | b'D' | b'a' | b'd', ..] => {
                    on_new_line = true;
                    if rest.first() == Some(&b'%') { 3 } else { 2 }
                }
                [b'\\', b't', ..] => 2,
                [b'\\', b'u', b'0', b'0', _, _, ..] => 6,
                [b'\\', b'x', _, _, ..] => 4,
                [b'%', b'2', b'0' | b'2', ..] => 3,
                [b'&', b'#', ..] => 1 + rest.iter().skip(1).take(6).take_while(|byte| **byte != b';').count(),
                [byte, ..] if byte.is_ascii_whitespace() || b"\\\"'`,;>|#*-.+:\x1b)(]".contains(byte) => 1,
                [0xE2, 0x80, 0xA6, ..] => 3,
                _ => 0,
            };
            if length == 0 {
                return on_new_line;
            }
            self.at = (self.at + length).min(self.bytes.len());
        }
    }

    /// Skips a header of the armor: `Proc-Type: 4,ENCRYPTED`, `Version: …`.
    fn skip_header(&mut self) -> bool {
        let rest = self.rest();
        let name =
            rest.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
        let is_header = name >= 4
            && rest.first().is_some_and(u8::is_ascii_uppercase)
            && rest.get(name) == Some(&b':')
            && rest.get(name + 1).is_none_or(|byte| *byte == b' ');
        if !is_header {
            return false;
        }
        let is_end = |at: &usize| match rest.get(*at) {
            Some(b'\\') => matches!(rest.get(at + 1), Some(b'n' | b'r')),
            byte => matches!(byte, None | Some(b'\n' | b'\r')),
        };
        self.at += (name..).find(is_end).unwrap_or(name);
        true
    }

    /// Skips a run of base64 and returns how many of its bytes encode something; `\/`, `%2B` and `\u003d` stand for one.
    fn skip_base64(&mut self) -> usize {
        let mut length = 0;
        loop {
            let step = match self.rest() {
                [byte, ..] if byte.is_ascii_alphanumeric() || b"+/=".contains(byte) => 1,
                [b'\\', b'/', ..] => 2,
                [b'%', b'2', b'B' | b'b' | b'F' | b'f', ..] | [b'%', b'3', b'D' | b'd', ..] => 3,
                [b'\\', b'u', b'0', b'0', b'2', b'B' | b'b' | b'F' | b'f', ..]
                | [b'\\', b'u', b'0', b'0', b'3', b'D' | b'd', ..] => 6,
                _ => return length,
            };
            self.at += step;
            length += 1;
        }
    }

    fn is_material(&self, piece: &[u8], length: usize) -> bool {
        if length < MIN_LINE_BYTES {
            return false;
        }
        // Digests and numbers have no capitals, or no small letters.
        if length >= MIN_LONG_LINE_BYTES && (self.has_material || is_mixed_case(piece)) {
            return true;
        }
        let rest = self.rest();
        let is_alone = match rest {
            [] | [b'.', b'.', ..] => true,
            [byte, ..] => !byte.is_ascii_graphic() || b"\\\"'`,;-%&)|>#*]".contains(byte),
        };
        is_alone && is_mixed_case(piece) && piece.iter().any(|byte| !byte.is_ascii_alphabetic())
    }

    /// Whether only marks stand before the end of the line, or an `END` marker.
    fn is_at_line_end(&self) -> bool {
        let marks = |byte: &&u8| b" \t\"'`,;+\\)".contains(byte);
        let skipped = self.rest().iter().take_while(marks).count();
        let rest = self.rest().get(skipped..).unwrap_or_default();
        let is_escape = skipped > 0 && matches!(rest, [b'n' | b'r', ..]);
        matches!(rest, [] | [b'\n' | b'\r', ..])
            || is_escape
            || END_MARKERS.iter().any(|marker| rest.starts_with(marker))
    }

    /// Skips the rest of a line with something before its key material, such as a time stamp; none if it is not complete.
    fn skip_long_line(&mut self, start: usize) -> Option<bool> {
        let line = self.bytes.get(start..).unwrap_or_default();
        let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
        let line_end = memchr::memchr2(b'\n', b'\r', line);
        let length = line_end.unwrap_or(line.len());
        let line = line.get(..length).unwrap_or_default();
        let is_key = line.split(|byte| !is_base64(*byte)).any(|piece| {
            piece.len() >= MIN_LONG_LINE_BYTES && is_mixed_case(piece) && piece.len() * 2 > line.len()
        });
        if is_key {
            self.has_material = true;
            self.at = start + length;
            self.end = self.at;
        }
        (line_end.is_some() || length == MAX_LINE_BYTES).then_some(is_key)
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Whether a run has capitals and small letters, and enough different ones.
fn is_mixed_case(piece: &[u8]) -> bool {
    let mut seen = 0_u128;
    piece.iter().for_each(|byte| seen |= 1 << (byte & 0x7F));
    let has = |test: fn(&u8) -> bool| piece.iter().any(test);
    seen.count_ones() >= 6 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

/// The short last line of a key, or the checksum of PGP; not a word.
fn is_last_line(piece: &[u8]) -> bool {
    let has_mark = piece.iter().any(|byte| !byte.is_ascii_alphabetic());
    let has_hump = piece
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    piece.len() >= 2 && (has_mark || has_hump)
}

fn is_mostly_material(key: &[u8]) -> bool {
    let pieces = key.split(|byte| !is_base64(*byte));
    let material: usize =
        pieces.filter(|piece| piece.len() >= MIN_LINE_BYTES && is_mixed_case(piece)).map(<[u8]>::len).sum();
    material * 2 > key.iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use crate::redact::Redactor;
    use crate::redact::samples;

    /// Templates of texts with a private key; what stands between ⟦ and ⟧ is replaced, and nothing else.
    #[rustfmt::skip]
    const KEYS: &[&str] = &[
        "a\n⟦-----BEGIN PRIVATE KEY-----\n«pem:3»\n-----END PRIVATE KEY-----⟧\nb",
        "a\n⟦-----BEGIN PRIVATE KEY-----\n«pem:3»⟧\n\nfn next_one() {}\n",
        "⟦-----BEGIN PRIVATE KEY-----\r\n«b64:48»\r\n«b64:48»\r\n«b64:20»==\r\n-----END PRIVATE KEY-----⟧\r\nb",
        r#"{"key": "⟦-----BEGIN PRIVATE KEY-----\n«b64:48»\n«b64:48»\n-----END PRIVATE KEY-----⟧\n", "user": "b"}"#,
        r#"{"key": "⟦-----BEGIN PRIVATE KEY-----\n«b64:48»\n«b64:48»⟧", "user": "b"}"#,
        r#"{"key": "⟦-----BEGIN PRIVATE KEY-----\r\n«b64:9»\/«b64:9»\/«b64:9»\r\n-----END PRIVATE KEY-----⟧\n"}"#,
        "key: |\n  ⟦-----BEGIN EC PRIVATE KEY-----\n  «b64:48»\n  «b64:48»\n  «b64:6»\n  -----END EC PRIVATE KEY-----⟧\nuser: b\n",
        "> ⟦-----BEGIN RSA PRIVATE KEY-----\n> «b64:48»\n> «b64:48»\n> -----END RSA PRIVATE KEY-----⟧\n> b\n",
        "⟦-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,«hex:32»\n\n«pem:2»\n-----END RSA PRIVATE KEY-----⟧\nb",
        "⟦-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\nComment: of the office\n\n«pem:2»\n=«b64:3»\n-----END PGP PRIVATE KEY BLOCK-----⟧\nb",
        "⟦-----BEGIN PRIVATE KEY----- «b64:48» «b64:48» -----END PRIVATE KEY-----⟧ b",
        "⟦-----BEGIN PRIVATE KEY-----%0A«b64:48»%0A-----END PRIVATE KEY-----⟧%0A",
        "let key = \"⟦-----BEGIN PRIVATE KEY-----\\n\" +\n    \"«b64:48»\\n\" +\n    \"«b64:48»\\n\" +\n    \"-----END PRIVATE KEY-----⟧\\n\";\nnext();\n",
        " 1 | ⟦-----BEGIN PRIVATE KEY-----\n 2 | «b64:48»\n 3 | «b64:48»\n 4 | -----END PRIVATE KEY-----⟧\n 5 | b\n",
        "12:30:01 app ⟦-----BEGIN PRIVATE KEY-----\n12:30:01 app «b64:48»\n12:30:01 app «b64:48»\n12:30:01 app -----END PRIVATE KEY-----⟧\nb\n",
        "⟦-----BEGIN PRIVATE KEY-----\n«pem:4»\n… [12 of 99 bytes cut here] …\n«pem:4»\n-----END PRIVATE KEY-----⟧\nb\n",
        "⟦-----BEGIN PRIVATE KEY-----\n«pem:2»\n«b62:9»⟧",
        "⟦---- BEGIN SSH2 PRIVATE KEY ----\nComment: \"key of b\"\n«pem:2»\n---- END SSH2 PRIVATE KEY ----⟧\nb",
        "Private-Lines: 2\n⟦«pem:2»⟧\nPrivate-MAC: «hex:64»\nb",
    ];

    /// Templates of texts with a marker, and without a key.
    #[rustfmt::skip]
    const SOURCES: &[&str] = &[
        "const H: &str = \"-----BEGIN PRIVATE KEY-----\";\n\nfn first() {}\nfn second_function_of_the_file() {}\n",
        "const B: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst E: &str = \"-----END PRIVATE KEY-----\";\nfn f() {}\n",
        "if line == \"-----BEGIN RSA PRIVATE KEY-----\" {\n    self.inside = true;\n}\nlet other = 1;\n",
        "grep -l -- '-----BEGIN OPENSSH PRIVATE KEY-----' -r . # finds keys\necho done\n",
        "The file begins with `-----BEGIN PRIVATE KEY-----` and ends with `-----END PRIVATE KEY-----`.\n",
        "-----BEGIN PRIVATE KEY-----\n<your key here>\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\nnext\n",
        "r\"-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----[\\s\\S]*?-----END\"\nlet a = 1;\n",
        "begin = b\"-----BEGIN PRIVATE KEY-----\\n\"\ncommit = \"«hex:40»\"\n",
        "-----BEGIN PRIVATE KEY-----\n\nsome_function_name_that_is_long_enough_to_be_a_line(argument)\n",
        "---- BEGIN SSH2 PRIVATE KEY ---- is the marker of SSH2\nfn f() {}\n",
        "Private-Lines: the number of lines\nfn f() {}\n",
    ];

    #[test]
    fn a_key_is_replaced_as_far_as_it_goes() {
        let redactor = Redactor::patterns_only();
        for (seed, template) in KEYS.iter().enumerate() {
            let marked = samples::expand(template, seed as u64);
            let text = marked.replace(['⟦', '⟧'], "");
            let (before, rest) = marked.split_once('⟦').unwrap();
            let after = rest.split_once('⟧').unwrap().1;
            let expected = format!("{before}[REDACTED:private-key]{after}");
            assert_eq!(redactor.text(&text), expected, "{template}");
            assert_eq!(redactor.text(&expected), expected, "a second pass changes nothing");
        }
    }

    #[test]
    fn a_marker_in_source_code_hides_nothing() {
        let redactor = Redactor::patterns_only();
        for (seed, template) in SOURCES.iter().enumerate() {
            let text = samples::expand(template, seed as u64);
            assert_eq!(redactor.text(&text), text);
        }
    }

    #[test]
    fn keys_and_markers_in_pieces_are_redacted_as_in_the_whole() {
        let redactor = std::sync::Arc::new(Redactor::patterns_only());
        for (seed, template) in KEYS.iter().chain(SOURCES).enumerate() {
            let text = samples::expand(template, seed as u64).replace(['⟦', '⟧'], "");
            let whole = redactor.text(&text).into_owned();
            for size in [1, 3, 7, 40] {
                let mut stream = crate::redact::StreamRedactor::new(redactor.clone());
                let mut out = String::new();
                for piece in text.chars().collect::<Vec<_>>().chunks(size) {
                    stream.push(&piece.iter().collect::<String>());
                    stream.drain(&mut out);
                }
                stream.finish(&mut out);
                assert_eq!(out, whole, "in pieces of {size}: {text}");
            }
        }
    }
}
