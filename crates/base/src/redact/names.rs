//! Values under secrets' names: `API_KEY=…`, `"password": "…"`, `--token …`, `?access_token=…`, `password is …`.
//!
//! A scan finds the words that such names are made of; around each the whole identifier is read, then the sign behind it,
//! then the value. [`super::values`] decides whether the value is a secret. The same reading says whether a text ends
//! inside such an assignment, which the stream needs.

use super::scan::Hits;
use super::span::{Evidence, Span};
use super::values::{self, Name, NameKind, Style};
use super::{checks, headers};
use std::ops::Range;

/// Longest value that is read.
const MAX_VALUE_BYTES: usize = 8 * 1024;
const MAX_NAME_BYTES: usize = 128;

/// As [`kind_of`], for names of which most are not secrets' names.
pub(super) fn kind_of_key(name: &str) -> Option<NameKind> {
    if Hits::find(name).names.is_empty() { None } else { kind_of(name) }
}

/// Whether what follows a name can be a value: a sign, a quote, a bracket, a line end, or a word of prose.
fn can_follow(rest: &[u8]) -> bool {
    let closing =
        |byte: &&u8| matches!(**byte, b'\\' | b'"' | b'\'' | b'`' | b']' | b'?' | b'!' | b' ' | b'\t');
    let skipped = rest.iter().take(64).take_while(closing).count();
    match rest.get(skipped) {
        None => true,
        Some(byte) => {
            skipped > 0 || matches!(byte, b'=' | b':' | b'%' | b',' | b'(' | b'{' | b'>' | b'\n' | b'\r')
        }
    }
}

/// The kind of secret that an identifier names, if it names one.
pub(super) fn kind_of(name: &str) -> Option<NameKind> {
    // A definition for a compiler: `-DAPI_KEY=X`.
    let name = name.strip_prefix("-D").unwrap_or(name);
    let words = split(name);
    if name == "OLDPWD" || words.iter().any(|word| word == "public" || word == "pub") {
        return None;
    }
    // `password_new`, `TOKEN_2`, `client-key-data` are still what they say.
    const NEUTRAL: [&str; 22] = [
        "value",
        "data",
        "base64",
        "b64",
        "raw",
        "plain",
        "current",
        "new",
        "old",
        "prod",
        "production",
        "dev",
        "staging",
        "live",
        "primary",
        "secondary",
        "default",
        "string",
        "text",
        "base",
        "test",
        "plaintext",
    ];
    let neutral =
        |word: &&String| NEUTRAL.contains(&word.as_str()) || word.bytes().all(|b| b.is_ascii_digit());
    let trailing = words.iter().rev().take_while(neutral).count();
    let words = words.get(..words.len() - trailing)?;
    let (last, before) = words.split_last()?;
    let previous = before.last().map_or("", String::as_str);
    const PASSWORDS: [&str; 6] = ["password", "passwd", "passphrase", "passcode", "passwort", "kennwort"];
    if PASSWORDS.iter().any(|word| last.ends_with(word))
        || matches!(
            last.as_str(),
            "pwd" | "pw" | "contraseña" | "bindpw" | "rootpw" | "requirepass" | "masterauth"
        )
    {
        return Some(NameKind::Password);
    }
    match last.as_str() {
        // A key is secret by what stands before it.
        #[rustfmt::skip]
        "key" => matches!(previous,
            "api" | "access" | "secret" | "private" | "encryption" | "signing" | "master" | "account" | "shared" | "storage"
            | "service" | "auth" | "app" | "application" | "write" | "jwt" | "hmac" | "license" | "webhook" | "subscription"
            | "client" | "admin" | "consumer" | "ingest" | "ingestion" | "deploy" | "preshared" | "rsa" | "tls" | "ssl" | "openai"
            | "anthropic" | "stripe" | "server" | "decryption" | "recovery" | "unseal" | "integration" | "routing" | "trusted" | "mac"
        ).then_some(NameKind::Key),
        "apikey" | "secretkey" | "accesskey" | "privatekey" | "accountkey" | "authkey" | "masterkey"
        | "presharedkey" | "privkey" | "signingkey" | "encryptionkey" | "psk" | "sharedaccesskey"
        | "appkey" | "wif" => Some(NameKind::Key),
        #[rustfmt::skip]
        "token" => (!matches!(previous,
            "page" | "next" | "continuation" | "sync" | "eos" | "bos" | "pad" | "unk" | "sep" | "cls" | "mask" | "special" | "stop"
            | "start" | "end" | "first" | "last" | "per" | "max" | "min" | "prev" | "previous" | "peek" | "lookahead" | "sub"
            | "word" | "input" | "output" | "prompt" | "completion" | "cached" | "cancellation" | "design" | "num" | "each"
            | "unexpected" | "syntax" | "css" | "expected" | "current" | "comma" | "newline" | "string" | "number" | "delimiter"
        )).then_some(NameKind::Token),
        "id" if previous == "secret" => Some(NameKind::Token),
        "pat" if name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9')) => {
            Some(NameKind::Token)
        }
        "pass" | "credential" | "auth" => Some(NameKind::Weak),
        word if word.ends_with("secret") => Some(NameKind::Key),
        word if word.ends_with("apikey") => Some(NameKind::Key),
        word if word.ends_with("token") && word != "notoken" => Some(NameKind::Token),
        _ => None,
    }
}

/// The words of an identifier in small letters: `dbPassword`, `DB_PASSWORD` and `db-password` have the same.
fn split(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut last = ' ';
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let next_small = letters.peek().is_some_and(|next| next.is_lowercase());
        let hump = letter.is_uppercase() && (last.is_lowercase() || last.is_uppercase() && next_small);
        let number = letter.is_ascii_digit() != last.is_ascii_digit()
            && last != ' '
            && !word.is_empty()
            && !matches!(word.as_str(), "base" | "b" | "s" | "k" | "x");
        if (!letter.is_alphanumeric() || hump || number) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || byte >= 0x80
}

fn identifier(text: &str, hit: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let of_name = |byte: &&u8| is_name_byte(**byte);
    let left = bytes.get(..hit.start)?.iter().rev().take(MAX_NAME_BYTES).take_while(of_name).count();
    let right = bytes.get(hit.end..)?.iter().take(MAX_NAME_BYTES).take_while(of_name).count();
    let (mut start, mut end) = (hit.start - left, hit.end + right);
    // The full stop of a sentence is not part of a name.
    while end > hit.end && matches!(bytes.get(end - 1), Some(b'.' | b'-')) {
        end -= 1;
    }
    // `API key`, `access key` in prose.
    if text.get(start..end)?.eq_ignore_ascii_case("key") && bytes.get(start.wrapping_sub(1)) == Some(&b' ') {
        let word = bytes.get(..start - 1)?.iter().rev().take(MAX_NAME_BYTES).take_while(of_name).count();
        start -= word + 1;
    }
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(start..end)
}

/// Adds a span for every secret under a name; gives where the text ends inside an assignment, if it does.
pub(super) fn find(text: &str, hits: &Hits, spans: &mut Vec<Span>) -> Option<usize> {
    let mut open: Option<usize> = None;
    let mut note = |start: usize| open = Some(open.map_or(start, |known: usize| known.min(start)));
    let (mut done, mut at) = (0, 0);
    for hit in &hits.names {
        if hit.start < at {
            continue;
        }
        at = hit.end;
        if hit.start < done {
            continue;
        }
        let word = text.get(hit.clone()).unwrap_or_default();
        let after_auth =
            || text.get(hit.end..).is_some_and(|rest| starts_with_ignore_case(rest, "orization"));
        let header = match word.as_bytes().first().map(u8::to_ascii_lowercase) {
            Some(b'b') => Some(headers::bearer(text, hit.start, hit.end)),
            Some(b'a') if after_auth() => {
                Some(headers::authorization(text, hit.start, hit.end + "orization".len()))
            }
            Some(b'c') if word.eq_ignore_ascii_case("cookie") => {
                Some(headers::cookie(text, hit.start, hit.end))
            }
            _ => None,
        };
        if let Some(found) = header {
            done = found.end;
            if found.open {
                note(found.start);
            }
            spans.extend(found.spans);
            continue;
        }
        let Some(name) = identifier(text, hit.clone()) else { continue };
        done = name.end;
        // The name itself may not be complete.
        if name.end == text.len() {
            note(name.start);
        }
        if !can_follow(text.as_bytes().get(name.end..).unwrap_or_default()) {
            continue;
        }
        let by = word.eq_ignore_ascii_case("identified by");
        let kind = if by { Some(NameKind::Password) } else { text.get(name.clone()).and_then(kind_of) };
        let Some(kind) = kind else { continue };
        let mut reading = Reading { text, at: name.end, ended: false };
        let value = reading.assignment(&name);
        if reading.ended {
            note(name.start);
        }
        let Some((range, style)) = value else { continue };
        let Some(value) = text.get(range.clone()) else { continue };
        let evidence = match kind {
            // `"auth": "BASE64"` of a user and a password, as Docker and npm keep it.
            NameKind::Weak if checks::is_basic_pair(value) && value.len() >= 8 => Some(Evidence::Generated),
            NameKind::Weak if style == Style::Variable || values::is_generated(value) => {
                values::judge(value, kind, style)
            }
            NameKind::Weak if style == Style::Flag && word.eq_ignore_ascii_case("pass") => {
                values::judge(value, kind, style)
            }
            NameKind::Weak => {
                values::judge(value, kind, style).filter(|_| value.bytes().any(|b| b.is_ascii_digit()))
            }
            kind => values::judge(value, kind, style),
        };
        if let Some(evidence) = evidence {
            let label = match style {
                Style::Variable => "environment",
                Style::Flag => "flag",
                _ => "assignment",
            };
            done = range.end;
            spans.push(Span { range, kind: label.into(), evidence });
        }
    }
    open
}

pub(super) fn starts_with_ignore_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Reads what follows a name.
pub(super) struct Reading<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Whether the end of the text was met, so that more text could change what was read.
    pub(super) ended: bool,
}

impl Reading<'_> {
    pub(super) fn peek(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied();
        self.ended |= byte.is_none();
        byte
    }

    pub(super) fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.at - start
    }

    fn eat(&mut self, literal: &str) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if starts_with_ignore_case(rest, literal) {
            self.at += literal.len();
            return true;
        }
        // It may still be arriving.
        self.ended |= !rest.is_empty() && starts_with_ignore_case(literal, rest);
        false
    }

    fn blanks(&mut self) -> usize {
        self.skip(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// The value of the assignment to a name, and how it is written.
    fn assignment(&mut self, name: &Range<usize>) -> Option<(Range<usize>, Style)> {
        let Name { before, word, is_flag, capitals } = Name::new(self.text, name);
        let is_tag = before == b'<' || before == b'/';
        let closing = self.skip(|byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']'));
        self.skip(|byte| byte == b'?' || byte == b'!');
        if (is_tag || closing > 0) && self.peek() == Some(b'>') {
            self.at += 1;
            let range = self.until(|byte| matches!(byte, b'<' | b'\n' | b'\r'))?;
            let closed = self.text.get(range.end..).is_some_and(|rest| rest.starts_with("</"));
            return closed.then_some((range, Style::Quoted));
        }
        let gap = self.blanks();
        let sign = self.at;
        match self.peek()? {
            b'=' | b':' => {}
            b'!' | b'%' if self.eat("!=") || self.eat("%3d") || self.eat("%3a") => {}
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
            b'\n' | b'\r' | b'v' | b'V' if self.is_pair_name(name, closing, gap) => {
                return self.pair(closing);
            }
            _ if is_flag && gap > 0 => return self.flag_value(),
            // `ENV API_KEY X` of a Dockerfile.
            _ if gap > 0 && capitals && self.is_after_env(name.start) => {
                return self.word().map(|range| (range, Style::Variable));
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
    fn until(&mut self, stop: impl Fn(u8) -> bool) -> Option<Range<usize>> {
        let start = self.at;
        let length = self.skip(|byte| !stop(byte));
        (length > 0 && length <= MAX_VALUE_BYTES).then_some(start..start + length)
    }

    /// Reads a word of a shell.
    fn word(&mut self) -> Option<Range<usize>> {
        self.until(|byte| b" \t\r\n\"'`;&|".contains(&byte))
    }

    fn flag_value(&mut self) -> Option<(Range<usize>, Style)> {
        if self.peek() == Some(b'-') {
            return None;
        }
        let range = self.quoted().or_else(|| self.until(|byte| b" \t\r\n\"'`;|,)".contains(&byte)))?;
        Some((range, Style::Flag))
    }

    /// Reads a text in quotes and gives what is inside. A quote that is never closed ends with its line.
    fn quoted(&mut self) -> Option<Range<usize>> {
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
    fn type_annotation(&mut self) {
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
        if !self.eat("value") {
            self.at = start;
            return None;
        }
        self.skip(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b' '));
        if self.skip(|byte| matches!(byte, b':' | b'=')) == 0 {
            return None;
        }
        self.blanks();
        let range = self.quoted().or_else(|| self.until(|byte| b" \t\r\n,}\"'".contains(&byte)))?;
        Some((range, Style::Variable))
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
        let head = self.text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
        let word = head.rsplit(['\n', ' ']).next().unwrap_or_default();
        matches!(word, "ENV" | "ARG" | "env" | "setenv" | "setx")
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

#[cfg(test)]
mod tests;
