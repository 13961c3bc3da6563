//! Values under secrets' names: `API_KEY=…`, `"password": "…"`, `--token …`, `?access_token=…`, `password is …`.
//!
//! A scan finds the words that such names are made of; around each the whole identifier is read, then the sign behind it,
//! then the value. [`super::values`] decides whether the value is a secret. The same reading says whether a text ends
//! inside such an assignment, which the stream needs.

mod lists;
mod reading;

pub(super) use lists::is_description;
use lists::kind_of_list;
pub(super) use reading::Reading;

use super::scan::Hits;
use super::span::{Evidence, Span};
use super::values::{self, NameKind, Style};
use super::{checks, headers, view};
use std::ops::Range;

const MAX_NAME_BYTES: usize = 128;

/// As [`kind_of`], for names of which most are not secrets' names.
pub(super) fn kind_of_key(name: &str) -> Option<NameKind> {
    if Hits::find(name).names.is_empty() { None } else { kind_of(name) }
}

/// As [`kind_of_list`], for names of which most are not secrets' names.
pub(super) fn kind_of_list_key(name: &str) -> Option<NameKind> {
    if Hits::find(name).names.is_empty() { None } else { kind_of_list(name) }
}

/// Whether what follows a name can be a value: a sign, a quote, a bracket, a line end, or a word of prose.
fn can_follow(rest: &[u8]) -> bool {
    let closing =
        |byte: &&u8| matches!(**byte, b'\\' | b'"' | b'\'' | b'`' | b']' | b'?' | b'!' | b' ' | b'\t');
    let skipped = rest.iter().take(64).take_while(closing).count();
    match rest.get(skipped) {
        None => true,
        Some(byte) => {
            skipped > 0
                || matches!(byte, b'=' | b':' | b'%' | b',' | b'(' | b'{' | b'>' | b'<' | b'&' | b'\n' | b'\r')
                // A sign of full width, or a blank that does not break.
                || matches!(byte, 0xEF | 0xC2)
                || matches!(byte, b'[' | b'|' | b'*')
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
    #[rustfmt::skip]
    const PASSWORDS: [&str; 17] = [
        "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "storepass", "keypass", "sshpass",
        "wachtwoord", "senha", "heslo", "hasło", "пароль", "パスワード", "비밀번호", "密码",
    ];
    if PASSWORDS.iter().any(|word| last.ends_with(word))
        || matches!(
            last.as_str(),
            "pwd" | "pw" | "contraseña" | "密碼" | "bindpw" | "rootpw" | "requirepass" | "masterauth"
        )
        || last == "passe" && previous == "de"
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
            | "aes" | "functions" | "sas"
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
        // Also the path of a secret in a vault.
        "id" if previous == "secret" => Some(NameKind::Weak),
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
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // `：` and the blank that does not break are not part of a name, as letters beyond ASCII are.
    let is_sign = |c: char| !c.is_ascii() && !c.is_alphanumeric();
    if let Some(at) = text.get(hit.end..end).and_then(|tail| tail.find(is_sign)) {
        end = hit.end + at;
    }
    if let Some((at, sign)) =
        text.get(start..hit.start).and_then(|head| head.char_indices().rfind(|(_, c)| is_sign(*c)))
    {
        start += at + sign.len_utf8();
    }
    // `Mot de passe`.
    if text.get(start..end)?.eq_ignore_ascii_case("passe") && text.get(..start)?.ends_with("ot de ") {
        start -= "mot de ".len().min(start);
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

/// Whether a name says less than [`kind_of`] wants: `X_KEY`, `PASSWORD_SALT`, `remotepass`, `credentials`. Behind it only
/// a generated value counts.
fn is_weak_name(name: &str) -> bool {
    let words = split(name);
    let is_public =
        |word: &String| matches!(word.as_str(), "public" | "pub" | "cache" | "sort" | "partition");
    let capitals = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    !words.iter().any(is_public)
        && words.last().is_some_and(|last| match last.as_str() {
            "key" | "salt" | "pepper" => capitals && (words.len() > 1 || last == "pepper"),
            "auth" | "credential" | "credentials" | "creds" => true,
            word => word.ends_with("pass") && !matches!(word, "bypass" | "compass"),
        })
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
        let Some(mut name) = identifier(text, hit.clone()) else { continue };
        done = name.end;
        // The name itself may not be complete.
        if name.end == text.len() {
            note(name.start);
        }
        if !can_follow(text.as_bytes().get(name.end..).unwrap_or_default()) {
            continue;
        }
        let by = word.eq_ignore_ascii_case("identified by");
        let mut kind = if by { Some(NameKind::Password) } else { text.get(name.clone()).and_then(kind_of) };
        // The `n` of `\nAPI_KEY` is not part of the name.
        let tail = view::escape_tail(text.as_bytes(), name.start).min(name.len());
        if tail > 0
            && let Some(behind) = text.get(name.start + tail..name.end).and_then(kind_of)
        {
            kind = Some(behind);
            name.start += tail;
        }
        let list = match kind {
            Some(kind) => Some(kind).filter(|kind| *kind != NameKind::Weak),
            None => text.get(name.clone()).filter(|name| name.ends_with(['s', 'S'])).and_then(kind_of_list),
        };
        if let Some(kind) = list {
            let mut reading = Reading { text, at: name.end, ended: false };
            for range in reading.items(&name) {
                let value = text.get(range.clone()).unwrap_or_default();
                if values::judge(value, kind, Style::Quoted) == Some(Evidence::Generated) {
                    spans.push(Span { range, kind: "assignment".into(), evidence: Evidence::Generated });
                }
            }
            if reading.ended {
                note(name.start);
            }
        }
        let mut reading = Reading { text, at: name.end, ended: false };
        let span = match kind {
            Some(kind) => {
                assigned_span(&mut reading, &name, kind, word).or_else(|| declared_span(&mut reading, &name))
            }
            None if text.get(name.clone()).is_some_and(is_weak_name) => declared_span(&mut reading, &name),
            None => continue,
        };
        if reading.ended {
            note(name.start);
        }
        if let Some(span) = span {
            done = span.range.end;
            // Without white space behind what was read, a stream would show the name before all of it.
            if !text.get(reading.at.max(done)..).is_some_and(|rest| rest.contains(char::is_whitespace)) {
                note(name.start);
            }
            spans.push(span);
        }
    }
    open
}

/// The value that is assigned to a name, if it is a secret.
fn assigned_span(reading: &mut Reading<'_>, name: &Range<usize>, kind: NameKind, word: &str) -> Option<Span> {
    let (range, style) = reading.assignment(name)?;
    let evidence = judge_named(reading.text.get(range.clone())?, kind, style, word)?;
    let label = match style {
        Style::Variable => "environment",
        Style::Flag => "flag",
        _ => "assignment",
    };
    Some(Span { range, kind: label.into(), evidence })
}

/// The generated value that is declared under a name.
fn declared_span(reading: &mut Reading<'_>, name: &Range<usize>) -> Option<Span> {
    reading.at = name.end;
    let range = reading.declared()?;
    Some(Span { range, kind: "assignment".into(), evidence: Evidence::Generated })
}

/// The evidence that a value under a name is; `word` is the part of the name that speaks of secrets.
fn judge_named(value: &str, kind: NameKind, style: Style, word: &str) -> Option<Evidence> {
    let evidence = || values::judge(value, kind, style);
    match kind {
        // `"auth": "BASE64"` of a user and a password, as Docker and npm keep it.
        NameKind::Weak if checks::is_basic_pair(value) && value.len() >= 8 => Some(Evidence::Generated),
        NameKind::Weak if style == Style::Variable || values::is_generated(value) => evidence(),
        NameKind::Weak if style == Style::Flag && word.eq_ignore_ascii_case("pass") => evidence(),
        NameKind::Weak => evidence().filter(|_| value.bytes().any(|byte| byte.is_ascii_digit())),
        _ => evidence(),
    }
}

pub(super) fn starts_with_ignore_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests;
