//! Values that stand under a secret's name: which of them are secrets?
//!
//! A name such as `password` or `api_key` is evidence only together with a value that can be one. References
//! (`$PASSWORD`, `os.environ["X"]`), placeholders (`<password>`, `***`, `changeme`), types, calls and interface texts are
//! spared; what looks generated is strong evidence; the rest depends on the name and on how it is written.
//!
//! Limits: a short dictionary word cannot be told from a word, except where only a value can stand (`PGPASSWORD=word`).

use super::checks::is_varied;
use super::span::Evidence;
use std::ops::Range;

/// A name before a value, and how it is written.
pub(super) struct Name<'a> {
    /// The byte before it.
    pub(super) before: u8,
    pub(super) word: &'a str,
    pub(super) is_flag: bool,
    /// Whether it is written as an environment variable is.
    pub(super) capitals: bool,
}

impl<'a> Name<'a> {
    pub(super) fn new(text: &'a str, range: &Range<usize>) -> Self {
        let before = range.start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        let word = text.get(range.clone()).unwrap_or_default();
        let has_lowercase = word.bytes().any(|byte| byte.is_ascii_lowercase());
        Name {
            before: before.copied().unwrap_or(b'\n'),
            word,
            is_flag: word.starts_with('-') && word.len() > 2,
            capitals: !has_lowercase && !word.contains('-') && word.len() > 2,
        }
    }
}

/// Kind of secret that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Chosen by a person: password, passphrase.
    Password,
    /// Generated: api key, client secret, private key.
    Key,
    /// Generated, but the word also means much else: token.
    Token,
    /// A short name that often means something else: pass, auth.
    Weak,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `NAME=value` in capitals without blanks, as in shells and `.env` files: only a value can stand there.
    Variable,
    /// `--name value`, `--name=value`.
    Flag,
    /// In quotes, after a sign.
    Quoted,
    /// Bare, and the rest of a line that holds nothing else (YAML, INI).
    Line,
    /// Bare, within a line.
    Bare,
    /// In prose: `the password is X`.
    Prose,
}

/// Words that stand under secrets' names in schemas, interfaces and documentation.
#[rustfmt::skip]
const SCHEMA_WORDS: &[&str] = &[
    "string", "str", "text", "bool", "boolean", "true", "false", "yes", "no", "on", "off", "none", "null", "nil",
    "undefined", "required", "optional", "hidden", "password", "passwd", "passphrase", "pass", "secret", "token", "key",
    "apikey", "credential", "credentials", "bearer", "basic", "value", "default", "prompt", "auto", "enabled", "disabled",
    "invalid", "missing", "expired", "incorrect", "wrong", "valid", "empty", "unset", "forgot", "forgotten", "reset",
    "change", "changed", "changeme", "changeit", "enter", "confirm", "repeat", "show", "hide", "new", "old", "current", "plaintext",
    "encrypted", "hashed", "redacted", "masked", "removed", "example", "sample", "placeholder", "dummy", "fake", "test",
    "testing", "foo", "bar", "baz", "foobar", "todo", "tbd", "read", "write", "access", "refresh", "session", "number",
    "integer", "object", "array", "file", "env", "environment", "vault", "keyring", "keychain", "inherit", "include",
    "omit", "name", "user", "username", "admin", "email", "login", "logout", "mock", "stub", "secretstring", "option",
    "field", "input", "label", "self", "this", "config", "unknown", "any", "never", "void", "bytes", "char", "varchar",
    "pending", "failed", "success", "error", "warning", "info", "debug", "set", "get", "is", "was", "and", "or", "the",
    "for", "from", "with", "flag", "to", "if", "in", "of", "a", "an", "must", "should", "will", "can", "not", "when",
];

/// Words that mark a placeholder, wherever they stand in a value.
#[rustfmt::skip]
const MARKERS: &[&str] = &[
    "your", "example", "placeholder", "changeme", "change", "replace", "insert", "dummy", "fake", "sample", "todo",
    "redacted", "masked", "hidden", "removed", "mock", "stub", "foo", "bar", "baz", "foobar", "foobared", "goes", "here", "put",
];

/// Words with digits that are names of formats, not values.
#[rustfmt::skip]
const TECHNICAL: &[&str] = &[
    "base64", "base32", "base58", "base62", "sha1", "sha256", "sha384", "sha512", "md5", "utf8", "utf16", "oauth2", "oauth1",
    "http2", "http3", "x509", "es256", "hs256", "rs256", "rs512", "hs512", "ed25519", "ecdsa", "p256", "aes256", "aes128",
    "ipv4", "ipv6", "pbkdf2", "argon2", "argon2id", "argon2i", "uuid4", "uuidv4", "v1", "v2", "v3", "v4", "i32", "i64", "u8", "u16", "u32",
    "u64", "f32", "f64", "int32", "int64", "uint32", "uint64", "float32", "float64", "s3", "ec2", "k8s", "b64", "utf", "latin1",
    "bip39", "pkcs1", "pkcs8", "pkcs12", "rfc6749", "rfc7519", "tls12", "tls13", "2fa", "u2f", "sha3", "blake3", "crc32", "hex32",
];

/// Whether a value under a secret's name is a secret, and how sure that is.
pub(super) fn judge(value: &str, kind: NameKind, style: Style) -> Option<Evidence> {
    let trimmed = value.trim();
    if is_reference(trimmed) || is_placeholder(trimmed) {
        return None;
    }
    let bare = matches!(style, Style::Line | Style::Bare | Style::Prose);
    // `token123` stands for a token.
    let stem = trimmed.trim_end_matches(|c: char| c.is_ascii_digit());
    if matches!(kind, NameKind::Token | NameKind::Key)
        && SCHEMA_WORDS.contains(&stem.to_ascii_lowercase().as_str())
    {
        return None;
    }
    if bare && is_code(trimmed) || is_version(trimmed) {
        return None;
    }
    if is_generated(trimmed) {
        return Some(Evidence::Generated);
    }
    let counts = Counts::from_text(trimmed);
    let named = |holds: bool| holds.then_some(Evidence::Named);
    let lower = trimmed.trim_end_matches(['.', ',', ';', ')', '!']).to_ascii_lowercase();
    let schema = SCHEMA_WORDS.contains(&lower.as_str());
    match style {
        Style::Variable => {
            // `MAX_TOKEN=5` counts something.
            let count = counts.digits == counts.length && counts.length < 6 && kind != NameKind::Password;
            named(!schema && !count && !trimmed.starts_with('='))
        }
        Style::Flag => named(!schema && !is_metavariable(trimmed) && !is_setting(trimmed)),
        Style::Prose => named(counts.length >= 6 && counts.is_mixed() && !is_wordy(trimmed)),
        _ if counts.blanks > 0 => {
            named(kind == NameKind::Password && style == Style::Quoted && is_phrase(trimmed))
        }
        _ if counts.letters == counts.length => {
            let word = trimmed.bytes().all(|byte| byte.is_ascii_lowercase());
            let long_enough = if kind == NameKind::Password { 6 } else { 18 };
            let place = matches!(style, Style::Quoted | Style::Line);
            named(place && word && counts.length >= long_enough && !schema && kind != NameKind::Weak)
        }
        _ if counts.digits == counts.length => {
            let quoted = style == Style::Quoted && counts.length >= 6;
            named(kind == NameKind::Password && counts.length >= 4 || quoted && kind != NameKind::Weak)
        }
        _ if is_wordy(trimmed) => {
            let parts = trimmed.split(['-', '_', '.', ' ']).count();
            let names_itself = has_word(trimmed, SCHEMA_WORDS);
            named(kind == NameKind::Password && parts >= 2 && !names_itself && style != Style::Bare)
        }
        _ => {
            let shortest = match (kind, style) {
                (NameKind::Password, _) => 4,
                (NameKind::Weak, _) | (_, Style::Quoted) => 6,
                _ => 8,
            };
            let letters_and_more = counts.letters > 0 && counts.letters < counts.length;
            let enough = match style {
                Style::Quoted | Style::Line => letters_and_more,
                _ => counts.is_mixed() && (kind == NameKind::Password || counts.changes >= 2),
            };
            named(counts.length >= shortest && enough && !is_identifier_with_number(trimmed, kind, style))
        }
    }
}

/// Whether a credential in a header (`Bearer X`) is one, and how sure that is.
pub(super) fn judge_credential(value: &str) -> Option<Evidence> {
    let value = value.trim_matches(['"', '\'', '`', ',', ';', ')', '.']);
    if is_reference(value) || is_placeholder(value) || is_code(value) {
        return None;
    }
    let counts = Counts::from_text(value);
    if is_generated(value) || counts.length >= 12 && counts.is_mixed() && is_varied(value) && !is_wordy(value)
    {
        return Some(Evidence::Certain);
    }
    let cases = counts.letters == counts.length && counts.length >= 20 && counts.case_changes >= 4;
    (cases || counts.length >= 8 && counts.is_mixed() && !is_wordy(value)).then_some(Evidence::Named)
}

struct Counts {
    length: usize,
    letters: usize,
    digits: usize,
    blanks: usize,
    /// How often a letter follows a digit or the other way round.
    changes: usize,
    /// How often a capital follows a small letter or the other way round.
    case_changes: usize,
}

impl Counts {
    fn from_text(text: &str) -> Self {
        let mut counts = Counts { length: 0, letters: 0, digits: 0, blanks: 0, changes: 0, case_changes: 0 };
        let mut last = ' ';
        for letter in text.chars() {
            counts.length += 1;
            counts.letters += usize::from(letter.is_alphabetic());
            counts.digits += usize::from(letter.is_ascii_digit());
            counts.blanks += usize::from(letter.is_whitespace());
            let change = letter.is_ascii_digit() && last.is_alphabetic()
                || letter.is_alphabetic() && last.is_ascii_digit();
            counts.changes += usize::from(change);
            let case =
                letter.is_uppercase() && last.is_lowercase() || letter.is_lowercase() && last.is_uppercase();
            counts.case_changes += usize::from(case);
            last = letter;
        }
        counts
    }

    fn is_mixed(&self) -> bool {
        self.letters > 0 && self.digits > 0
    }
}

/// A value that comes from elsewhere: a variable, a template, a call's argument, a path, an address.
pub(super) fn is_reference(value: &str) -> bool {
    const STARTS: [&str; 24] = [
        "${",
        "$(",
        "{{",
        "{%",
        "#{",
        "%(",
        "%{",
        "<%",
        "[REDACTED",
        "http://",
        "https://",
        "file:",
        "op://",
        "vault:",
        "arn:",
        "env:",
        "env(",
        "ssm:",
        "sops:",
        "!ref",
        "!secret",
        "!vault",
        "!sub",
        "keyring:",
    ];
    let lower = value.get(..value.floor_char_boundary(10)).unwrap_or(value).to_ascii_lowercase();
    if STARTS.iter().any(|start| lower.starts_with(start.to_ascii_lowercase().as_str())) {
        return true;
    }
    let bytes = value.as_bytes();
    let inner = |open: char, close: char| value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b':'))
    };
    let wrapped = inner('<', '>').is_some()
        || inner('{', '}').is_some()
        || inner('[', ']').is_some()
        || inner('%', '%').is_some_and(is_name);
    // `$NAME` and `$env:NAME`, but not `$ecret!1`.
    let variable = value
        .strip_prefix('$')
        .is_some_and(|name| is_name(name.trim_end_matches(['"', '\'', ',', ';', ')', '}'])));
    let format = bytes.first() == Some(&b'%') && bytes.get(1).is_some_and(|byte| b"sdvqr@x".contains(byte));
    let truncated = value.starts_with('<') && !value.contains('>')
        || value.strip_prefix('{').is_some_and(|name| is_name(name) && name.len() < 32);
    wrapped || variable || format || truncated || is_path(value)
}

/// A path of files: it begins like one, and its parts are names.
fn is_path(value: &str) -> bool {
    if ["./", "../", "~/", "~\\"].iter().any(|start| value.starts_with(start)) || value == "~" {
        return true;
    }
    let drive = value.as_bytes().get(1) == Some(&b':') && value.as_bytes().get(2) == Some(&b'\\');
    let rooted = value.starts_with('/') && {
        let longest = value.split('/').max_by_key(|part| part.len()).unwrap_or_default();
        let counts = Counts::from_text(longest);
        // Base64 may begin with a slash too.
        !(value.len() >= 20
            && counts.is_mixed()
            && counts.case_changes >= 3
            && !longest.contains(['.', '-', '_']))
    };
    drive || rooted
}

/// A value that says that the secret goes here.
pub(super) fn is_placeholder(value: &str) -> bool {
    if value.is_empty()
        || value.contains("***")
        || value.contains("...")
        || value.contains('…')
        || value.contains('•')
    {
        return true;
    }
    let first = value.chars().next().unwrap_or('x');
    if value.chars().all(|letter| letter == first)
        && value.len() > 1
        && (value.len() > 2 || "*xX.-_?#".contains(first))
    {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    if lower.contains("xxxx") || is_metavariable(value) {
        return true;
    }
    if is_generated(value) {
        return false;
    }
    let all_known = words(value).all(|word| {
        let word = word.to_ascii_lowercase();
        SCHEMA_WORDS.contains(&word.as_str())
            || MARKERS.contains(&word.as_str())
            || word.len() == 1
            || word == "my"
            || word == "some"
            || word == "api"
    });
    has_word(value, MARKERS)
        || (all_known
            && words(value).count() > 1
            && words(value).any(|w| {
                matches!(w.to_ascii_lowercase().as_str(), "my" | "test" | "testing" | "some" | "user")
            }))
}

/// Capitals with underlines that name what goes there: `API_KEY`, `TOKEN`.
fn is_metavariable(value: &str) -> bool {
    let capitals = value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte == b'-');
    let names = value.contains(['_', '-']) || SCHEMA_WORDS.contains(&value.to_ascii_lowercase().as_str());
    capitals && names && value.len() > 1
}

/// `7.3`, `^1.2.0`: the version of a package with a secret's name.
fn is_version(value: &str) -> bool {
    let parts = value.trim_start_matches(['^', '~', '=', 'v']).split('.');
    let numbers = parts
        .clone()
        .all(|part| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()));
    numbers && (2..=4).contains(&parts.count())
}

/// `id=npm`: a setting of its own.
fn is_setting(value: &str) -> bool {
    value.split_once('=').is_some_and(|(name, rest)| {
        let plain =
            !name.is_empty() && name.len() <= 10 && name.bytes().all(|byte| byte.is_ascii_lowercase());
        plain && !rest.is_empty() && !rest.starts_with('=')
    })
}

/// The words of letters in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty())
}

fn has_word(text: &str, list: &[&str]) -> bool {
    words(text).any(|word| list.contains(&word.to_ascii_lowercase().as_str()))
}

/// An expression of a program: a call, a member, a type, a path of modules.
fn is_code(value: &str) -> bool {
    let open = value.contains(['(', ')', '[', ']', '{', '}', '<', '>'])
        || value.contains("::")
        || value.contains("->");
    let starts = value.starts_with(['&', '\\', '|', '(', '@', '?', '+', '"', '\'']);
    let member = value.contains('.')
        && value.split('.').all(|part| {
            part.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
        && !is_generated(value);
    open || starts || member
}

/// Words and numbers joined by `-`, `_`, `.` or `/`: a name that a person made up.
fn is_wordy(value: &str) -> bool {
    value.split(['-', '_', '.', '/', ' ', ':']).all(|part| {
        let lower = part.to_ascii_lowercase();
        let word = part.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (part.len() < 20 && Counts::from_text(part).case_changes <= 3);
        let number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        let version =
            lower.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        word || number || version || TECHNICAL.contains(&lower.as_str())
    })
}

/// `token2`, `Sha256Digest`, `arg1`: an identifier of a program, where one can stand.
fn is_identifier_with_number(value: &str, kind: NameKind, style: Style) -> bool {
    if matches!(style, Style::Quoted) {
        return false;
    }
    let letters = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let few = value.len() - letters.len() <= 3;
    let plain = letters.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let lower = value.to_ascii_lowercase();
    let technical = TECHNICAL.iter().any(|word| lower == *word || word.len() >= 4 && lower.starts_with(word));
    let named = has_word(letters, SCHEMA_WORDS) || letters.len() <= 2;
    let camel =
        letters.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase()) && kind != NameKind::Password;
    technical || plain && few && (named || camel || !matches!(kind, NameKind::Password | NameKind::Weak))
}

/// Four or more small words that are not a sentence of an interface.
fn is_phrase(value: &str) -> bool {
    let small = value.split(' ').all(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    small && value.split(' ').count() >= 4 && !has_word(value, SCHEMA_WORDS) && !has_word(value, MARKERS)
}

/// Long, varied, with letters and digits that no person would choose.
pub(super) fn is_generated(value: &str) -> bool {
    let counts = Counts::from_text(value);
    if counts.length < 16 || counts.blanks > 0 || !value.is_ascii() || !is_varied(value) {
        return false;
    }
    let uuid = is_uuid(value);
    let mixed =
        counts.digits >= 2 && counts.letters >= 2 && (counts.changes >= 3 || counts.case_changes >= 3);
    // One digit or none: one of four passwords of 16 letters and digits.
    let symbols = counts.length - counts.letters - counts.digits;
    let varied = counts.letters >= 8
        && counts.case_changes + counts.changes + symbols.min(3) >= 5
        && counts.case_changes >= 2
        && !is_joined_words(value);
    uuid || (mixed || varied) && !is_wordy(value)
}

/// Generated from letters of both cases and digits, as no digest, number or id is.
pub(super) fn is_mixed_generated(value: &str) -> bool {
    const MAX_BYTES: usize = 512;
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    (16..MAX_BYTES).contains(&value.len())
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && !is_reference(value)
        && !is_placeholder(value)
        && is_generated(value)
}

/// Words written together, as in `getAccessToken` or `Foo.barBaz/qux`: each has a vowel, a consonant, and one capital at most.
fn is_joined_words(value: &str) -> bool {
    let is_vowel = |byte: &u8| b"aeiouy".contains(&byte.to_ascii_lowercase());
    let is_word = |word: &[u8]| {
        let capitals = word.iter().filter(|byte| byte.is_ascii_uppercase()).count();
        let vowels = word.iter().filter(|byte| is_vowel(byte)).count();
        word.len() >= 2 && (capitals <= 1 && vowels > 0 && vowels < word.len() || capitals == word.len())
    };
    let is_hump = |a: &u8, b: &u8| !(a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let (mut all, mut good) = (0_usize, 0_usize);
    for run in words(value) {
        for word in run.as_bytes().chunk_by(is_hump) {
            all += 1;
            good +=
                usize::from(is_word(word) && (word.len() < 12 || word.iter().all(u8::is_ascii_lowercase)));
        }
    }
    good * 3 >= all * 2
}

fn is_uuid(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_letters_look_generated_and_joined_words_do_not() {
        for (alphabet, length, most) in [("b62", 16, 8), ("b62", 20, 5), ("b62", 24, 3), ("letters", 20, 8)] {
            let missed = (0..500)
                .filter(|seed| {
                    // Long samples begin with letters of each kind, random texts do not.
                    let text = crate::redact::samples::expand("«b62:90»", *seed);
                    let letters =
                        text.chars().skip(3).filter(|c| alphabet == "b62" || c.is_ascii_alphabetic());
                    !is_generated(&letters.take(length).collect::<String>())
                })
                .count();
            assert!(missed * 100 <= most * 500, "{missed} of 500 of {length} {alphabet}");
        }
        for words in [
            "getAccessTokenFromVault",
            "AbstractTokenFactoryBean",
            "com.example.auth.TokenProvider",
            "src/components/LoginPassword.tsx",
            "SecretManagerServiceClient",
            "parseJSONWebTokenHeader",
            "current_user.accessToken.value",
            "onPasswordChangeHandler",
            "XMLHttpRequestToken",
        ] {
            assert!(!is_generated(words), "{words}");
        }
    }
}
