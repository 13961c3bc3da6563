//! The text behind a name: the sign of an assignment, and the value.

use super::starts_with_ignore_case;
use crate::redact::values::{self, Name, Style};
use std::ops::Range;

/// Longest value that is read.
const MAX_VALUE_BYTES: usize = 8 * 1024;
/// Quotes as addresses, JSON, source code and HTML escape them.
const ESCAPED_QUOTES: [&str; 9] =
    ["%22", "%27", "%2522", "\\u0022", "\\u0027", "\\x22", "\\x27", "&quot;", "&#34;"];
/// Signs of an assignment in the same escapes, and of full width.
#[rustfmt::skip]
const ESCAPED_SIGNS: [&str; 14] = [
    "%3d", "%3a", "%253d", "%253a", "\\u003d", "\\u003a", "\\x3d", "\\x3a", "&#61;", "&#58;", "&equals;", "&colon;", "：", "＝",
];
/// Signs of an assignment that begin with another byte than it.
const OPERATORS: [&str; 5] = ["?=", "||=", "??=", "+=", ".="];
/// Words between a name and the value that is declared for it: types, constructors, accessors.
#[rustfmt::skip]
const DECLARATION_WORDS: &[&str] = &[
    "as", "string", "str", "varchar", "nvarchar", "varchar2", "char", "text", "bytes", "buffer", "value", "default", "not", "null",
    "from", "new", "get", "set", "init", "private", "protected", "internal", "std", "some", "ok", "is", "secret", "secretstring",
    "q", "qq", "&str", "string?",
];
/// Longest text between a name and the value that is declared for it.
const MAX_DECLARATION_BYTES: usize = 64;

/// Longest attributes of an element around a value.
const MAX_ATTRIBUTE_BYTES: usize = 256;

/// Reads what follows a name.
pub(in crate::redact) struct Reading<'a> {
    pub(in crate::redact) text: &'a str,
    pub(in crate::redact) at: usize,
    /// Whether the end of the text was met, so that more text could change what was read.
    pub(in crate::redact) ended: bool,
}

impl Reading<'_> {
    pub(in crate::redact) fn peek(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied();
        self.ended |= byte.is_none();
        byte
    }

    pub(in crate::redact) fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.at - start
    }

    pub(in crate::redact) fn eat(&mut self, literal: &str) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if starts_with_ignore_case(rest, literal) {
            self.at += literal.len();
            return true;
        }
        // It may still be arriving.
        self.ended |= !rest.is_empty() && starts_with_ignore_case(literal, rest);
        false
    }

    fn eat_any(&mut self, literals: &[&'static str]) -> Option<&'static str> {
        literals.iter().copied().find(|literal| self.eat(literal))
    }

    /// Skips the quotes behind a name.
    pub(super) fn closing(&mut self) -> usize {
        let start = self.at;
        loop {
            if self.eat_any(&ESCAPED_QUOTES).is_some() {
                continue;
            }
            let at = self.at;
            if self.eat_any(&ESCAPED_SIGNS).is_some() {
                self.at = at;
                break;
            }
            match self.peek() {
                Some(b'\\' | b'"' | b'\'' | b'`' | b']') => self.at += 1,
                _ => break,
            }
        }
        self.at - start
    }

    /// Reads a text in quotes that another language escaped: `%22X%22`.
    fn escaped_quoted(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.eat("%20");
        let Some(quote) = self.eat_any(&ESCAPED_QUOTES) else {
            self.at = start;
            return None;
        };
        let inside = self.at;
        let rest = self.text.get(inside..)?;
        let line = rest.split([' ', '\t', '\n', '\r', '"']).next().unwrap_or_default();
        let length = line.find(quote).unwrap_or(line.len());
        self.ended |= length == rest.len();
        self.at += length;
        (length > 0 && length <= MAX_VALUE_BYTES).then_some(inside..inside + length)
    }

    pub(super) fn blanks(&mut self) -> usize {
        let start = self.at;
        while self.skip(|byte| matches!(byte, b' ' | b'\t')) > 0 || self.eat("\u{a0}") {}
        self.at - start
    }

    /// The generated value of a declaration, a table or a sentence without a sign: `Dim token As String = "X"`,
    /// `| API key | X |`, `**Token:** X`, `using token X`.
    pub(super) fn declared(&mut self) -> Option<Range<usize>> {
        let limit = self.at + MAX_DECLARATION_BYTES;
        let start = self.at;
        loop {
            self.skip(|byte| {
                byte.is_ascii_punctuation() && !matches!(byte, b'/' | b'+' | b'$' | b'%' | b'#')
                    || matches!(byte, b' ' | b'\t')
            });
            if self.at == start || self.at > limit {
                return None;
            }
            let word =
                self.until(|byte| byte.is_ascii_whitespace() || b"\"'`()[]{}<>|,;:*\\".contains(&byte))?;
            let text = self.text.get(word.clone())?;
            if values::is_mixed_generated(text) {
                return Some(word);
            }
            let is_number = text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number && !DECLARATION_WORDS.contains(&text.to_ascii_lowercase().as_str()) {
                return None;
            }
        }
    }

    /// Whether the name is the one of an element, perhaps behind that of a namespace: `<ns:password`.
    fn is_tag(&self, start: usize) -> bool {
        let head = self.text.as_bytes().get(..start).unwrap_or_default();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'-' | b'_' | b'.');
        let outer = match head.strip_suffix(b":") {
            Some(head) => head.get(..head.len() - head.iter().rev().take(64).take_while(is_name).count()),
            None => Some(head),
        };
        outer.is_some_and(|head| head.ends_with(b"<") || head.ends_with(b"/"))
    }

    /// Steps over attributes to the end of an element's begin.
    fn attributes(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let rest = rest.get(..rest.floor_char_boundary(MAX_ATTRIBUTE_BYTES)).unwrap_or(rest);
        match rest.find(['<', '>', '\n', '\r']) {
            Some(end) if rest.get(end..).is_some_and(|rest| rest.starts_with('>')) => {
                self.at += end;
                !rest.get(..end).is_some_and(|attributes| attributes.ends_with('/'))
            }
            found => {
                self.ended |= found.is_none();
                false
            }
        }
    }

    /// The text inside an element, from behind its begin.
    fn element_text(&mut self) -> Option<Range<usize>> {
        self.skip(|byte| byte.is_ascii_whitespace());
        let is_raw = self.eat("<![CDATA[");
        let range = self.until(|byte| matches!(byte, b'<' | b'\n' | b'\r') || is_raw && byte == b']')?;
        self.skip(|byte| byte.is_ascii_whitespace());
        let closed = if is_raw { self.eat("]]>") } else { self.eat("</") };
        let length = self.text.get(range.clone())?.trim_end().len();
        (closed && length > 0).then_some(range.start..range.start + length)
    }

    /// The text of the element behind the one that holds the name: `<key>apiToken</key><string>X</string>`.
    fn next_element(&mut self) -> Option<(Range<usize>, Style)> {
        self.until(|byte| matches!(byte, b'>' | b'<' | b'\n' | b' '))?;
        if !self.eat(">") {
            return None;
        }
        self.skip(|byte| byte.is_ascii_whitespace());
        if !self.eat("<string>") && !self.eat("<value>") {
            return None;
        }
        self.element_text().map(|range| (range, Style::Quoted))
    }

    /// Steps over an anchor or a tag of YAML before a value: `&name X`, `!!str X`.
    fn yaml_properties(&mut self) {
        let start = self.at;
        let length = self.eat("!!") || self.eat("&");
        self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !length || self.blanks() == 0 {
            self.at = start;
        }
    }

    /// The value of the assignment to a name, and how it is written.
    pub(super) fn assignment(&mut self, name: &Range<usize>) -> Option<(Range<usize>, Style)> {
        let Name { before, word, is_flag, capitals } = Name::new(self.text, name);
        let is_tag = matches!(before, b'<' | b'/' | b':') && self.is_tag(name.start);
        let closing = self.closing();
        self.skip(|byte| byte == b'?' || byte == b'!');
        if (is_tag || closing > 0) && self.peek() == Some(b'>') {
            self.at += 1;
            return self.element_text().map(|range| (range, Style::Quoted));
        }
        if is_tag && matches!(self.peek(), Some(b' ' | b'\t')) && self.attributes() {
            self.at += 1;
            return self.element_text().map(|range| (range, Style::Quoted));
        }
        if self.eat("</") {
            return self.next_element();
        }
        let gap = self.blanks();
        let sign = self.at;
        match self.peek()? {
            b'=' | b':' => {}
            b'!' | b'%' | b'\\' | b'&' | 0xEF if self.eat("!=") || self.eat_any(&ESCAPED_SIGNS).is_some() => {
            }
            b'?' | b'|' | b'+' | b'.' if self.eat_any(&OPERATORS).is_some() => {}
            // `("password", "X")`.
            b',' if closing > 0 => {
                self.at += 1;
                self.blanks();
                if let Some(pair) = self.pair(closing) {
                    return Some(pair);
                }
                let range = self.quoted()?;
                let value = self.text.get(range.clone())?;
                return (value.bytes().any(|b| b.is_ascii_digit()) || value.len() > 20)
                    .then_some((range, Style::Quoted));
            }
            // `setPassword("X")`.
            b'(' => {
                self.at += 1;
                return self.quoted().map(|range| (range, Style::Quoted));
            }
            // `variable "db_password" { default = "X" }` of Terraform.
            b'{' if closing > 0 => {
                self.at += 1;
                self.skip(|byte| byte.is_ascii_whitespace());
                if !self.eat("default") {
                    return None;
                }
                self.skip(|byte| matches!(byte, b' ' | b'='));
                return self.quoted().map(|range| (range, Style::Quoted));
            }
            b'\n' | b'\r' | b'v' | b'V' | b'c' | b'C' if self.is_pair_name(name, closing, gap) => {
                return self.pair(closing);
            }
            _ if is_flag && gap > 0 => return self.flag_value(),
            // `ENV API_KEY X` of a Dockerfile.
            _ if gap > 0 && capitals && self.is_after_env(name.start) => {
                return self.quoted().or_else(|| self.word()).map(|range| (range, Style::Variable));
            }
            // Files of settings that separate by a blank.
            _ if gap > 0 && matches!(word, "requirepass" | "masterauth" | "bindpw" | "rootpw") => {
                return self.rest_of_line().map(|range| (range, Style::Line));
            }
            // `PASSWORD 'X'` of SQL.
            b'\'' | b'"' if gap > 0 => return self.quoted().map(|range| (range, Style::Quoted)),
            _ if gap > 0 => return self.prose(),
            _ => return None,
        }
        self.assigned(name, sign, gap, closing)
    }

    /// The value behind the sign of an assignment, and how it is written.
    fn assigned(
        &mut self,
        name: &Range<usize>,
        sign: usize,
        gap: usize,
        closing: usize,
    ) -> Option<(Range<usize>, Style)> {
        let Name { before, word, is_flag, capitals } = Name::new(self.text, name);
        let is_query = matches!(before, b'?' | b'&');
        // `=`, `==`, `===`, `=>`, `:`, `:=`; `::` is a path of modules.
        let signs = self.skip(|byte| matches!(byte, b'=' | b':' | b'>' | b'~'));
        if self.text.get(sign..sign + 2) == Some("::") || signs > 3 {
            return None;
        }
        let colon = self.text.as_bytes().get(sign) == Some(&b':') && signs == 1;
        let tight = gap == 0 && !colon;
        let space = self.blanks();
        // `arn:aws:…:secret:NAME`.
        if colon && gap == 0 && space == 0 && closing == 0 && before == b':' {
            return None;
        }
        if colon {
            self.type_annotation();
            self.yaml_properties();
        }
        if colon && matches!(self.peek(), Some(b'|' | b'>')) {
            self.skip(|byte| matches!(byte, b'|' | b'>' | b'-' | b'+'));
            self.blanks();
        }
        if matches!(self.peek(), Some(b'\n' | b'\r')) && (colon || space == 0 && signs == 1) {
            // On the next line, if that is indented.
            self.skip(|byte| matches!(byte, b'\n' | b'\r'));
            if self.blanks() == 0 {
                return None;
            }
        }
        if is_flag {
            return self.flag_value();
        }
        if let Some(range) = self.escaped_quoted() {
            return Some((range, Style::Quoted));
        }
        if let Some(range) = self.quoted() {
            let variable = capitals && tight && space == 0;
            return Some((range, if variable { Style::Variable } else { Style::Quoted }));
        }
        if is_query && tight {
            return self
                .until(|byte| b"&# \t\r\n\"'`<>\\)]},;".contains(&byte))
                .map(|range| (range, Style::Variable));
        }
        // `Server=h;Password=X;` of a connection string.
        if tight && space == 0 && !capitals && self.is_in_connection(name.start) {
            return self.until(|byte| b";\r\n\"'`".contains(&byte)).map(|range| (range, Style::Variable));
        }
        if capitals && tight && space == 0 {
            return self.word().map(|range| (range, Style::Variable));
        }
        let start = self.at;
        let is_header = colon && space > 0 && word.contains('-');
        if (is_line_start(self.text, name.start) || is_header)
            && let Some(range) = self.rest_of_line()
        {
            return Some((range, Style::Line));
        }
        self.at = start;
        let style = if is_header { Style::Line } else { Style::Bare };
        self.until(|byte| b" \t\r\n\"'`,;)}]<>|".contains(&byte)).map(|range| (range, style))
    }

    /// Reads up to a byte of the stop set.
    pub(super) fn until(&mut self, stop: impl Fn(u8) -> bool) -> Option<Range<usize>> {
        let start = self.at;
        let length = self.skip(|byte| !stop(byte));
        (length > 0 && length <= MAX_VALUE_BYTES).then_some(start..start + length)
    }

    /// Reads a word of a shell.
    fn word(&mut self) -> Option<Range<usize>> {
        self.until(|byte| b" \t\r\n\"'`;&|".contains(&byte))
    }

    fn flag_value(&mut self) -> Option<(Range<usize>, Style)> {
        if self.eat("\\\n") || self.eat("\\\r\n") {
            self.blanks();
        }
        if self.peek() == Some(b'-') {
            return None;
        }
        let range = self.quoted().or_else(|| self.until(|byte| b" \t\r\n\"'`;|,)".contains(&byte)))?;
        Some((range, Style::Flag))
    }

    /// Reads a text in quotes and gives what is inside. A quote that is never closed ends with its line.
    pub(super) fn quoted(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        // `b"…"`, `f'…'`, `@"…"`.
        let prefix = self
            .skip(|byte| matches!(byte, b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'F' | b'U' | b'@' | b'$'));
        let slashes = self.skip(|byte| byte == b'\\');
        let quote = match self.peek() {
            Some(quote @ (b'"' | b'\'' | b'`')) if prefix <= 2 => quote,
            _ => {
                self.at = start;
                return None;
            }
        };
        self.at += 1;
        if slashes == 0
            && self.text.as_bytes().get(self.at) == Some(&quote)
            && self.text.as_bytes().get(self.at + 1) == Some(&quote)
        {
            self.at += 2;
            let _ = self.eat("\n") || self.eat("\r\n");
        }
        let inside = self.at;
        let mut escapes = 0;
        while let Some(byte) = self.peek() {
            if byte == quote && escapes == slashes
                || matches!(byte, b'\n' | b'\r')
                || self.at - inside > MAX_VALUE_BYTES
            {
                break;
            }
            escapes = if byte == b'\\' { escapes + 1 } else { 0 };
            self.at += 1;
        }
        let end = self.at - escapes.min(self.at - inside);
        (end > inside && self.text.is_char_boundary(end)).then_some(inside..end)
    }

    /// `: &'static str = "X"`: steps over the type.
    pub(super) fn type_annotation(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        let of_type = |c: char| c.is_ascii_alphanumeric() || "&'_<>[]?:| .".contains(c);
        let length = line.find(|c: char| !of_type(c)).unwrap_or(line.len());
        if length < 48
            && line.get(length..).is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("=="))
            && line.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'&')
        {
            self.at += length + 1;
            self.blanks();
        }
    }

    /// Whether this name is the value of `name:` or `key=`, so that its own value is called `value`.
    fn is_pair_name(&self, name: &Range<usize>, closing: usize, gap: usize) -> bool {
        let head = self.text.get(..name.start).unwrap_or_default();
        let head = head.get(head.floor_char_boundary(head.len().saturating_sub(16))..).unwrap_or_default();
        let head = head.trim_end_matches(['"', '\'', '\\', ' ']);
        let named = [":", "="].iter().any(|sign| {
            head.strip_suffix(sign).is_some_and(|head| {
                let head = head.trim_end_matches(['"', '\'', '\\', ' ']).to_ascii_lowercase();
                ["name", "key", "header", "variable", "id"].iter().any(|word| head.ends_with(word))
            })
        });
        named && (closing > 0 || gap == 0)
    }

    /// `… value: X` behind the name of a pair.
    fn pair(&mut self, _closing: usize) -> Option<(Range<usize>, Style)> {
        let start = self.at;
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'\\' | b','));
        let is_content = self.eat("content");
        if !is_content && !self.eat("value") {
            self.at = start;
            return None;
        }
        self.skip(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b' '));
        if self.skip(|byte| matches!(byte, b':' | b'=')) == 0 {
            return None;
        }
        self.blanks();
        let range = self.quoted().or_else(|| self.until(|byte| b" \t\r\n,}\"'".contains(&byte)))?;
        Some((range, if is_content { Style::Quoted } else { Style::Variable }))
    }

    /// `password is X`, `set the token to X`.
    fn prose(&mut self) -> Option<(Range<usize>, Style)> {
        if !["is ", "was ", "to ", "is: ", "of ", "for "].iter().any(|word| self.eat(word)) {
            return None;
        }
        let range = self.quoted().or_else(|| self.until(|byte| b" \t\r\n\"'`,;)".contains(&byte)))?;
        let end = range.end - usize::from(self.text.as_bytes().get(range.end - 1) == Some(&b'.'));
        Some((range.start..end, Style::Prose))
    }

    fn is_after_env(&self, start: usize) -> bool {
        let head = self.text.get(..start).unwrap_or_default();
        let line = head.get(head.floor_char_boundary(head.len().saturating_sub(64))..).unwrap_or_default();
        let mut words = line.rsplit(['\n', ' ', '\t']).filter(|word| !word.is_empty());
        match words.next() {
            Some("ENV" | "ARG" | "env" | "setenv" | "setx" | "SetEnv") => true,
            // `set -gx API_KEY X` of fish.
            Some(flags) if flags.starts_with('-') && flags.contains('x') => words.next() == Some("set"),
            _ => false,
        }
    }

    /// Whether a name stands in `a=b;c=d`.
    fn is_in_connection(&self, start: usize) -> bool {
        let head = self.text.get(..start).unwrap_or_default();
        let line = head.rsplit(['\n', '"']).next().unwrap_or_default();
        let behind = self.text.get(self.at..).unwrap_or_default();
        let behind = behind.split(['\n', '"', ' ']).next().unwrap_or_default();
        line.contains(';') && line.contains('=')
            || behind.contains(';') && behind.rsplit(';').next().is_some_and(|rest| rest.contains('='))
    }

    /// The rest of the line, if it is one word; a comment behind it is not part of it.
    fn rest_of_line(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let length = self.skip(|byte| !matches!(byte, b'\n' | b'\r'));
        let line = self.text.get(start..start + length)?;
        let line = line.split_once(" #").map_or(line, |(value, _)| value).trim_end();
        // Behind `;` and `,` of a program nothing is a line of its own.
        let plain = !line.contains([' ', '\t', '"']) && !line.ends_with([',', ';', '{', '(', '[']);
        (plain && !line.is_empty() && line.len() <= MAX_VALUE_BYTES).then_some(start..start + line.len())
    }
}

/// Whether only marks (`- `, `+`, `>`, line numbers, `export`) stand between the beginning of the line and `start`.
fn is_line_start(text: &str, start: usize) -> bool {
    let head = text.get(..start).unwrap_or_default();
    let line = head.rsplit(['\n', '\r']).next().unwrap_or_default();
    let line = line.trim_end().trim_end_matches("export").trim_end_matches("set");
    line.bytes().all(|byte| byte.is_ascii_digit() || b" \t-+>|#*/\"':".contains(&byte))
}
