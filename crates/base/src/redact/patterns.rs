//! The shapes that credentials have.
//!
//! A shape whose match could also be ordinary code (`token = lexer.next()`) is checked once more before it is
//! replaced: what stands after the sign must look like a secret, not like an expression, a path or a word.

use regex::{Captures, Regex, RegexSet};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A shape: its name in the replacement, the expression, and whether a match must still be checked.
struct Shape {
    kind: &'static str,
    expression: &'static str,
    check: fn(&Captures<'_>) -> bool,
}

fn always(_: &Captures<'_>) -> bool {
    true
}

/// The whole match is replaced, except a group named `keep` at its beginning.
const SHAPES: [Shape; 16] = [
    Shape {
        kind: "private-key",
        expression: r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        check: always,
    },
    Shape {
        kind: "jwt",
        expression: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        check: always,
    },
    Shape { kind: "aws", expression: r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?-u:\b)", check: always },
    Shape {
        kind: "github",
        expression: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        check: always,
    },
    Shape { kind: "slack", expression: r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}", check: always },
    Shape {
        kind: "stripe",
        expression: r"(?-u:\b)(?:sk|pk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{10,}",
        check: has_digit,
    },
    Shape { kind: "google", expression: r"(?-u:\b)AIza[0-9A-Za-z_-]{30,}", check: always },
    Shape { kind: "npm", expression: r"(?-u:\b)npm_[A-Za-z0-9]{30,}", check: always },
    Shape { kind: "key", expression: r"(?-u:\b)(?:sk|pk)-[A-Za-z0-9_-]{10,}", check: has_digit },
    Shape {
        kind: "url-password",
        expression: r"(?<keep>(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://)[^ \t\r\n/:@'\x22]*:[^ \t\r\n/@'\x22]+@",
        check: always,
    },
    Shape {
        kind: "bearer",
        expression: r"(?<keep>(?i-u:(?-u:\b)bearer|(?-u:\b)authorization:[ \t\r\n]*basic)[ \t\r\n]+)(?<value>[A-Za-z0-9._~+/=-]{8,})",
        check: not_a_word,
    },
    Shape { kind: "vault", expression: r"(?-u:\b)hv[sbr]\.[A-Za-z0-9_-]{8,}", check: always },
    Shape {
        kind: "flag",
        expression: r"(?<keep>(?:^|[ \t\r\n])(?:--?(?i-u:[a-z-]*token|[a-z-]*password|passwd|[a-z-]*secret|[a-z-]*api-?key|passphrase)|--pass)(?:=|[ \t\r\n]+))(?<value>[^ \t\r\n-][^ \t\r\n]*)",
        check: not_an_expression,
    },
    Shape {
        kind: "assignment",
        expression: r#"(?<keep>(?i-u:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|[a-z_]*token|credential)["']?[ \t\r\n]*(?:=>|[:=])[ \t\r\n]*)(?<value>["'`][^"'` \t\r\n]{6,}["'`]|[^ \t\r\n"'`,;(){}\[\]]{6,})"#,
        check: looks_secret,
    },
    Shape {
        kind: "environment",
        expression: r#"(?<keep>(?-u:\b)(?<name>[A-Z][A-Z0-9_]{2,})=["']?)(?<value>[^ \t\r\n"']+)"#,
        check: long_or_secret,
    },
    Shape { kind: "token", expression: r"(?-u:\b)[A-Za-z0-9_+-]{32,}={0,2}", check: random_looking },
];

/// The index of the shape that structural fields are spared from.
const TOKEN: usize = SHAPES.len() - 1;

/// All shapes as one: nearly all text has none of them, and this is quick to find that out.
#[expect(clippy::expect_used, reason = "the expressions are constants; the tests compile every one")]
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    let nameless = |shape: &Shape| {
        format!(
            "(?:{})",
            shape
                .expression
                .replace("(?<keep>", "(?:")
                .replace("(?<value>", "(?:")
                .replace("(?<name>", "(?:")
        )
    };
    Regex::new(&SHAPES.iter().map(nameless).collect::<Vec<_>>().join("|")).expect("constant expressions")
});

/// Which shapes, and each of them: looked at only once it is known that there is one.
#[expect(clippy::expect_used, reason = "the expressions are constants; the tests compile every one")]
static EACH: LazyLock<(RegexSet, Vec<Regex>)> = LazyLock::new(|| {
    let expressions = SHAPES.iter().map(|shape| shape.expression);
    let single = expressions.clone().map(|e| Regex::new(e).expect("a constant expression"));
    (RegexSet::new(expressions.clone()).expect("constant expressions"), single.collect())
});

/// Replaces every shape in `text`; `tokens` says whether long random-looking tokens count.
pub(super) fn redact(text: &str, tokens: bool) -> Cow<'_, str> {
    // Names of fields and plain words: no shape is so short and made of small letters only.
    let plain = text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if plain || !ANY.is_match(text) {
        return Cow::Borrowed(text);
    }
    let (set, single) = &*EACH;
    let found = set.matches(text);
    let mut clean = Cow::Borrowed(text);
    for index in found.iter().filter(|index| tokens || *index != TOKEN) {
        let (Some(shape), Some(regex)) = (SHAPES.get(index), single.get(index)) else { continue };
        let replaced = regex.replace_all(&clean, |captures: &Captures<'_>| {
            let whole = captures.get(0).map_or("", |m| m.as_str());
            if whole.contains("[REDACTED:") || !(shape.check)(captures) {
                return whole.to_string();
            }
            let keep = captures.name("keep").map_or("", |m| m.as_str());
            format!("{keep}[REDACTED:{}]", shape.kind)
        });
        if let Cow::Owned(replaced) = replaced
            && replaced != clean
        {
            clean = Cow::Owned(replaced);
        }
    }
    clean
}

fn value<'a>(captures: &'a Captures<'_>) -> &'a str {
    captures.name("value").or_else(|| captures.get(0)).map_or("", |m| m.as_str())
}

fn has_digit(captures: &Captures<'_>) -> bool {
    value(captures).contains(|c: char| c.is_ascii_digit())
}

fn not_a_word(captures: &Captures<'_>) -> bool {
    !is_plain_word(value(captures))
}

/// A path, a variable, a place holder or an address is not a secret.
fn not_an_expression(captures: &Captures<'_>) -> bool {
    is_value(value(captures))
}

/// The same for a text.
pub(super) fn is_value(text: &str) -> bool {
    let value = text.trim_start_matches('\\').trim_matches(['"', '\'', '`']);
    let innocent = ["/", "./", "../", "~", "$", "<", "{", "http://", "https://", "file:"];
    !value.is_empty() && !innocent.iter().any(|start| value.starts_with(start))
}

/// A variable's value is taken for a secret when it is long, or when the name says so and it switches nothing.
fn long_or_secret(captures: &Captures<'_>) -> bool {
    const SECRETS: [&str; 11] = [
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "TOKEN",
        "SECRET",
        "APIKEY",
        "API_KEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "_PWD",
        "_PASS",
    ];
    const SWITCHES: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "none", "null", "prompt"];
    let value = value(captures);
    let name = captures.name("name").map_or("", |found| found.as_str());
    let switch =
        || SWITCHES.contains(&value.trim_end_matches([',', '.', ')', ';']).to_ascii_lowercase().as_str());
    not_an_expression(captures)
        && (value.len() >= 16
            || SECRETS.iter().any(|end| name.ends_with(end)) && !value.starts_with('=') && !switch())
}

/// A quoted text, or a bare one with a digit in it that is not a call, a member or a place holder.
fn looks_secret(captures: &Captures<'_>) -> bool {
    let value = value(captures);
    let bare = value.trim_matches(['"', '\'', '`']);
    let quoted = bare.len() < value.len();
    let digit = bare.contains(|c: char| c.is_ascii_digit());
    let expression = bare.contains("::") || bare.contains("->") || (bare.contains('.') && !quoted);
    not_an_expression(captures) && !expression && (digit || (quoted && !is_plain_word(bare)))
}

/// Long, with a long unbroken run of letters and digits in which both occur more than once. Spares names made of
/// words (`handles_nested_brackets_and_quotes`) and UUIDs.
fn random_looking(captures: &Captures<'_>) -> bool {
    let token = value(captures);
    let longest = token.split(['_', '-', '+']).max_by_key(|run| run.len()).unwrap_or_default();
    let digits = longest.bytes().filter(u8::is_ascii_digit).count();
    longest.len() >= 16 && digits >= 2 && longest.len() - digits >= 2
}

/// Letters only, in one case or capitalised: a word, not a secret.
pub(super) fn is_plain_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(char::is_alphabetic) && {
        let rest: Vec<char> = characters.collect();
        rest.iter().all(|c| c.is_lowercase()) || rest.iter().all(|c| c.is_uppercase())
    }
}

/// Does the name of an environment variable say that its value is secret?
pub(super) fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 13] = [
        "KEY",
        "KEYS",
        "APIKEY",
        "SECRETS",
        "PASS",
        "PWD",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
        "PAT",
        "WEBHOOK",
        "COOKIE",
        "DSN",
    ];
    const ENDINGS: [&str; 6] = ["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY"];
    let name = name.to_ascii_uppercase();
    // The shell's own: where one is and was.
    if name == "PWD" || name == "OLDPWD" {
        return false;
    }
    name.split('_').any(|part| WORDS.contains(&part) || ENDINGS.iter().any(|ending| part.ends_with(ending)))
}

/// Does the key of a JSON object say that its value is secret?
pub(super) fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    matches!(
        key.as_str(),
        "password"
            | "passwd"
            | "secret"
            | "api_key"
            | "apikey"
            | "token"
            | "access_token"
            | "refresh_token"
            | "authorization"
            | "client_secret"
            | "private_key"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_the_contract_is_caught() {
        for (text, kind) in [
            ("x 4f9d8a7b6c5e4d3f2a1b0c9d8e7f6a5b y", "token"),
            ("password = \"hunter2!\"", "assignment"),
            ("api_key: abc123def", "assignment"),
            ("DATABASE=abcdefghijklmnopq", "environment"),
            ("Authorization: Bearer abc.def-123", "bearer"),
            ("AKIAIOSFODNN7EXAMPLE", "aws"),
            ("tool --token abc123", "flag"),
            ("tool --password=abc", "flag"),
            ("sk-proj-abc123def456", "key"),
            ("postgres://bob:pw@host/db", "url-password"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "jwt"),
            ("ghp_0123456789abcdefghij0123456789abcdef", "github"),
            ("xoxb-1234567890-abcdef", "slack"),
            ("sk_live_abcdefgh12345678", "stripe"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "google"),
            ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm"),
            ("-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----", "private-key"),
        ] {
            let clean = redact(text, true);
            assert!(clean.contains(&format!("[REDACTED:{kind}]")), "{text} -> {clean}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "let token = lexer.next_token();",
            "password: String,",
            "secret: &str",
            "fn handles_nested_brackets_and_quotes_in_2_ways() {}",
            "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "CARGO_TARGET_DIR=/var/tmp/some/long/folder",
            "RUST_LOG=$LEVEL_FROM_SOMEWHERE",
            "the token: separated by commas",
            "https://example.com/a/b?c=d",
            "the bearer of this letter",
            "sk-learn-is-a-library",
            "=====================================================",
            "------------------------------------------------------",
        ] {
            assert_eq!(redact(text, true), text);
        }
    }

    #[test]
    fn names() {
        for name in [
            "OPENAI_API_KEY",
            "github_token",
            "DB_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASS",
            "SLACK_WEBHOOK_URL",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "KEYBOARD", "MONKEY", "PATTERN", "PWD", "OLDPWD", "COMPASS"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
