//! Generated values behind commands and calls that take a secret among their words: `cargo login X`, `Fernet("X")`.
//!
//! Where the secret stands differs from one to the other, so every word there that looks generated counts, and no other:
//! an ordinary word, a digest or a path stays.

use super::scan::Hits;
use super::span::{Evidence, Span};
use super::values;
use std::ops::Range;

/// Longest part of a line that is read before and behind a phrase.
const MAX_LINE_BYTES: usize = 1024;

/// A phrase, and where its secret stands.
#[derive(Clone, Copy)]
pub(super) struct Phrase {
    pub(super) text: &'static str,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the same line, behind it.
    Behind,
    /// On the same line, before it.
    Before,
}

const fn behind(text: &'static str) -> Phrase {
    Phrase { text, place: Place::Behind }
}

const fn before(text: &'static str) -> Phrase {
    Phrase { text, place: Place::Before }
}

#[rustfmt::skip]
pub(super) const PHRASES: &[Phrase] = &[
    // Package registries and forges.
    behind("cargo login "), behind("twine upload "), behind("nuget push "), behind("gem push "), behind("gem signin "),
    behind("poetry config "), behind("composer config "), behind("secret set "), behind("variable set "),
    // Users, networks, archives.
    behind("htpasswd "), behind("wpa_passphrase "), behind("useradd "), behind("usermod "), behind("net user "),
    behind("lftp "), behind("mc alias set "), behind("mc config host "), behind("rar "), behind("unrar "), behind("snmpwalk "), behind("snmpget "),
    behind("xfreerdp "), behind("signtool "), behind("influx "), behind("activate-refresh-token "), behind("ConvertTo-SecureString"),
    behind("rocommunity "), behind("rwcommunity "), before("| chpasswd"), before("| cryptsetup"), before("| kinit"),
    // Databases.
    behind("sqlplus "), behind("impdp "), behind("expdp "), behind("sqlldr "), behind("jdbc:oracle:"), behind("SET PASSWORD FOR"),
    before("@tcp("), before("@unix("),
    // Calls of libraries.
    behind("NetworkCredential("), behind("unsafePlainText("), behind("Fernet("), behind("jwt.sign("), behind("jwt.verify("),
    behind("jwt.encode("), behind("jwt.decode("), behind("hmac.new("), behind("createHmac("), behind("HTTPBasicAuth("),
    behind("auth=("), behind("auth = ("), behind("AUTH = ("),
];

/// Adds a span for every generated value beside a phrase.
pub(super) fn find(text: &str, hits: &Hits, spans: &mut Vec<Span>) {
    let mut done = 0;
    for &(number, at) in &hits.phrases {
        let Some(phrase) = PHRASES.get(number) else { continue };
        let glued = at.checked_sub(1).and_then(|last| text.as_bytes().get(last));
        let starts_word = phrase.text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts_word && glued.is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let range = match phrase.place {
            Place::Behind => line_behind(text, at + phrase.text.len()),
            Place::Before => line_before(text, at),
        };
        // What stands beside two phrases is searched once.
        let range = range.start.max(done)..range.end.max(done);
        done = range.end;
        values_in(text, range, spans);
    }
}

fn line_behind(text: &str, at: usize) -> Range<usize> {
    let end = text.floor_char_boundary(text.len().min(at + MAX_LINE_BYTES));
    let line = text.get(at..end).unwrap_or_default();
    at..at + line.find('\n').unwrap_or(line.len())
}

fn line_before(text: &str, at: usize) -> Range<usize> {
    let start = text.ceil_char_boundary(at.saturating_sub(MAX_LINE_BYTES));
    let line = text.get(start..at).unwrap_or_default();
    start + line.rfind('\n').map_or(0, |line_end| line_end + 1)..at
}

/// Adds a span for every word of a range that looks generated.
fn values_in(text: &str, range: Range<usize>, spans: &mut Vec<Span>) {
    let mut at = range.start;
    let is_mark = |c: char| c.is_whitespace() || "\"'`,;:@()[]{}<>|\\".contains(c);
    for word in text.get(range).unwrap_or_default().split(is_mark) {
        let start = at;
        at += word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        if !word.starts_with(['/', '.', '~', '$']) && values::is_mixed_generated(word) {
            let range = start..start + word.len();
            spans.push(Span { range, kind: "password".into(), evidence: Evidence::Generated });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{Redactor, Scope, samples};

    #[test]
    fn generated_values_beside_a_phrase_are_secrets() {
        let redactor = Redactor::patterns_only();
        for template in [
            "cargo login ⟦«b62:32»⟧",
            "twine upload -u __token__ -p ⟦«b62:24»⟧ dist/*",
            "dotnet nuget push a.nupkg -k ⟦«b62:24»⟧",
            "composer config http-basic.r.com bob ⟦«b62:24»⟧",
            "gh secret set FOO --body ⟦«b62:24»⟧",
            "wpa_passphrase net ⟦«b62:24»⟧",
            "echo \"bob:⟦«b62:24»⟧\" | chpasswd",
            "htpasswd -bc f bob ⟦«b62:24»⟧",
            "lftp -u bob,⟦«b62:24»⟧ h",
            "mc alias set m http://h:9000 minio ⟦«b62:24»⟧",
            "net user bob ⟦«b62:24»⟧ /add",
            "ConvertTo-SecureString \"⟦«b62:24»⟧\" -AsPlainText -Force",
            "dsn := \"bob:⟦«b62:24»⟧@tcp(db:3306)/x?parseTime=true\"",
            "SET PASSWORD FOR 'bob' = '⟦«b62:24»⟧'",
            "f = Fernet(\"⟦«b62:24»⟧\")",
            "new NetworkCredential(\"bob\", \"⟦«b62:24»⟧\")",
            "requests.get(url, auth=('bob', '⟦«b62:24»⟧'))",
        ] {
            let (text, secret) = samples::secret(template, 1);
            let clean = text.replace(&secret, "[REDACTED:password]");
            assert_eq!(redactor.text_for(&text, Scope::Model), clean);
            assert_eq!(redactor.text(&clean), clean);
        }
        for template in [
            "cargo login --registry my-registry",
            "composer config repositories.foo git https://example.com/a.git",
            "twine upload dist/marvin-0.1.0-cp311-manylinux_2_17_x86_64.whl",
            "net user interface: «hex:40»",
            "jwt.sign(payload, process.env.JWT_SECRET, { expiresIn: '1h' })",
            "auth=(settings.USER, settings.PASSWORD)",
            "root:$PASSWORD@tcp(db:3306)/x",
            "sqlplus / as sysdba @/opt/oracle/scripts/CreateTables2024Final.sql",
        ] {
            let text = samples::expand(template, 1);
            assert_eq!(redactor.text(&text), text);
        }
    }
}
