//! Credentials in headers: `Authorization`, `Bearer`, `Cookie`; and in addresses: `scheme://user:password@host`.

use super::names::{Reading, starts_with_ignore_case};
use super::span::{Evidence, Span};
use super::values;

pub(super) struct HeaderFinding {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the text ends inside it.
    pub(super) open: bool,
    pub(super) spans: Vec<Span>,
}

impl HeaderFinding {
    fn new(start: usize, reading: &Reading<'_>, span: Option<Span>) -> Self {
        let end = span.as_ref().map_or(reading.at, |span| span.range.end);
        HeaderFinding { start, end, open: reading.ended, spans: span.into_iter().collect() }
    }
}

fn is_credential_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=-:$<>{}*%@|!".contains(&byte)
}

/// `Bearer X`, wherever it stands.
pub(super) fn bearer(text: &str, start: usize, end: usize) -> HeaderFinding {
    let mut reading = Reading { text, at: end, ended: false };
    let mut gap = reading.skip(|byte| byte.is_ascii_whitespace() || byte == b':');
    gap += usize::from(reading.eat("%20"));
    let at = reading.at;
    let length = if gap == 0 { 0 } else { reading.skip(is_credential_byte) };
    let range = at..at + length;
    let value = text.get(range.clone()).unwrap_or_default();
    let span = values::judge_credential(value).filter(|_| length > 0).map(|evidence| Span {
        range,
        kind: "bearer".into(),
        evidence,
    });
    let mut found = HeaderFinding::new(start, &reading, span);
    if found.spans.is_empty() {
        found.end = end;
    }
    found
}

/// `Authorization: SCHEME X`, as a header, a JSON field or a call's argument.
pub(super) fn authorization(text: &str, start: usize, end: usize) -> HeaderFinding {
    let mut reading = Reading { text, at: end, ended: false };
    reading.skip(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b']' | b' '));
    if reading.skip(|byte| matches!(byte, b':' | b'=' | b',')) == 0 {
        return HeaderFinding { start, end, open: reading.ended, spans: Vec::new() };
    }
    reading.skip(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b' ' | b'\t'));
    let at = reading.at;
    reading.skip(|byte| !matches!(byte, b'\r' | b'\n' | b'"' | b'\'' | b'`'));
    let value = text.get(at..reading.at).unwrap_or_default();
    // The scheme is not secret: `Basic X`, `token X`, `AWS4-HMAC-SHA256 Credential=…`.
    let (scheme, rest) = match value.split_once(' ') {
        Some((scheme, rest))
            if scheme.len() < 24 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') =>
        {
            (scheme, rest)
        }
        _ => ("", value),
    };
    let credential = rest.trim_start();
    let begin = at + value.len() - credential.len();
    let parameters =
        matches!(scheme.to_ascii_lowercase().as_str(), "digest" | "aws4-hmac-sha256" | "oauth" | "hawk");
    let length = if parameters {
        credential.len()
    } else {
        credential.find([' ', ',', ';', ')', '\\']).unwrap_or(credential.len())
    };
    let range = begin..begin + length;
    let credential = text.get(range.clone()).unwrap_or_default();
    let has_parameters = parameters && credential.contains('=') && !credential.contains('<');
    let is_pair = scheme.eq_ignore_ascii_case("basic") && super::checks::is_basic_pair(credential);
    let evidence = if has_parameters || is_pair {
        Some(Evidence::Certain)
    } else {
        values::judge_credential(credential)
    };
    let span = evidence.map(|evidence| Span { range, kind: "authorization".into(), evidence });
    HeaderFinding::new(start, &reading, span)
}

/// `Cookie: a=b; c=d` and `Set-Cookie: a=b; Path=/`: the values that identify a session.
pub(super) fn cookie(text: &str, start: usize, end: usize) -> HeaderFinding {
    let mut reading = Reading { text, at: end, ended: false };
    reading.skip(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
    // `document.cookie = "…"`, `--cookie '…'`.
    let before = text.get(..start).unwrap_or_default();
    let is_flag = before.ends_with("--");
    let blanks = reading.skip(|byte| is_flag && matches!(byte, b' ' | b'='));
    let is_member = before.ends_with('.') && reading.skip(|byte| matches!(byte, b' ' | b'=')) > 1;
    if blanks == 0 && !is_member && reading.skip(|byte| byte == b':') != 1 {
        return HeaderFinding { start, end, open: reading.ended, spans: Vec::new() };
    }
    reading.skip(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b' '));
    let at = reading.at;
    reading.skip(|byte| !matches!(byte, b'\r' | b'\n' | b'"' | b'\'' | b'`'));
    let line = text.get(at..reading.at).unwrap_or_default();
    let mut spans = Vec::new();
    let mut begin = at;
    for part in line.split_inclusive(';') {
        if let Some((name, value)) = part.split_once('=') {
            let value = value.trim_end_matches([';', ' ']);
            let from = begin + name.len() + 1;
            let session = ["sess", "sid", "auth", "token", "jwt", "remember", "csrf"];
            let named =
                session.iter().any(|word| name.to_ascii_lowercase().contains(word)) && value.len() >= 8;
            let date = starts_with_ignore_case(name.trim(), "expires")
                || starts_with_ignore_case(name.trim(), "max-age");
            let spared = date || values::is_reference(value) || values::is_placeholder(value);
            if !spared && (named || values::is_generated(value)) {
                spans.push(Span {
                    range: from..from + value.len(),
                    kind: "cookie".into(),
                    evidence: Evidence::Certain,
                });
            }
        }
        begin += part.len();
    }
    HeaderFinding { start, end: reading.at, open: reading.ended, spans }
}

/// Whether an address names a password as documentation and local services do: `user:password@`, `guest:guest@`.
fn is_documented(user: &str, password: &str) -> bool {
    const WORDS: [&str; 8] = ["password", "pass", "guest", "root", "postgres", "test", "admin", "changeme"];
    let is_short_word = password.len() <= 10 && password.bytes().all(|byte| byte.is_ascii_alphabetic());
    WORDS.contains(&password) || is_short_word && password == user
}

/// Adds a span for the password of every `scheme://user:password@host`.
pub(super) fn find_urls(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let slashes = memchr::memchr_iter(b':', bytes).filter_map(|at| match bytes.get(at + 1..)? {
        [b'/', b'/', ..] => Some((at, 3)),
        // As JSON may escape them.
        [b'\\', b'/', b'\\', b'/', ..] => Some((at, 5)),
        _ => None,
    });
    for (at, length) in slashes {
        let scheme = bytes.get(..at).and_then(<[u8]>::last);
        if !scheme.is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let begin = at + length;
        let rest = text.get(begin..).unwrap_or_default();
        let end = rest.find(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\' | ')' | ']')
        });
        let whole = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        // A password may hold a slash, but then a colon stands before it.
        let path = whole.find(['/', '?', '#']).unwrap_or(whole.len());
        let authority = match whole.get(..path).and_then(|head| head.rfind('@')) {
            Some(at) => whole.get(..at),
            None => whole
                .rfind('@')
                .filter(|at| {
                    let head = whole.get(..*at).unwrap_or_default();
                    let host = whole.get(at + 1..).unwrap_or_default();
                    let colon = head.find(':').is_some_and(|colon| colon < path);
                    let port = head.split_once(':').is_some_and(|(_, port)| {
                        port.bytes().take_while(u8::is_ascii_digit).count() > 0
                            && port
                                .trim_start_matches(|c: char| c.is_ascii_digit())
                                .starts_with(['/', '?', '#'])
                    });
                    colon && !port && host.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
                })
                .and_then(|at| whole.get(..at)),
        };
        let Some(authority) = authority else { continue };
        let Some((user, password)) = authority.split_once(':') else {
            // A token alone, as `https://TOKEN@host`.
            let known_public = whole.contains("sentry") || whole.contains("bugsnag");
            if authority.len() >= 20 && values::is_generated(authority) && !known_public {
                let range = begin..begin + authority.len();
                spans.push(Span { range, kind: "url-password".into(), evidence: Evidence::Generated });
            }
            continue;
        };
        let template = password.is_empty()
            || values::is_reference(password)
            || password.contains("***")
            || password.contains("${")
            || password.contains("{{")
            || password.to_ascii_lowercase().contains("xxxx")
            || matches!(
                password,
                "PASSWORD" | "PASS" | "YOUR_PASSWORD" | "TOKEN" | "SECRET" | "…" | "..." | "PWD"
            )
            || password.starts_with("[REDACTED")
            || is_documented(user, password);
        if template {
            continue;
        }
        // A long user beside a fixed word is the token itself.
        let from = if values::is_generated(user) { begin } else { begin + user.len() + 1 };
        let evidence = if values::is_generated(password) || values::is_generated(user) {
            Evidence::Generated
        } else {
            Evidence::Named
        };
        spans.push(Span { range: from..begin + authority.len(), kind: "url-password".into(), evidence });
    }
}
