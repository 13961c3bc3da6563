//! Synthetic secrets for tests, made from templates.
//!
//! Secret scanners of forges block repositories that hold tokens, synthetic ones included. So examples are written as
//! templates, `ghp_«b62:30»«crc»`, and expanded when a test or an attack runs. The same seed gives the same text.

use super::checks;

const LOWER: &[u8] = b"abcdefghijkmnpqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";
const HEX: &[u8] = b"0123456789abcdef";
const UPPER: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ0123456789";
const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const WORDS: [&str; 24] = [
    "ladder", "velvet", "orbit", "canyon", "pepper", "island", "mirror", "tunnel", "rocket", "garden",
    "silver", "window", "hammer", "forest", "bridge", "candle", "dragon", "engine", "fabric", "gravel",
    "helmet", "insect", "jacket", "kitten",
];

/// A small generator of numbers (splitmix64); nothing here is secret.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) as usize
    }

    fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        let mut letter =
            |_| alphabet.get(self.next() % alphabet.len().max(1)).map_or('0', |b| char::from(*b));
        (0..count).map(&mut letter).collect()
    }

    /// Letters and digits; the first three have one of each kind, as a long random text has.
    fn mixed(&mut self, count: usize) -> String {
        let mut text = format!("{}{}", self.letters(b"fghjk", 1), self.letters(b"23456789", 1));
        text.push_str(&self.letters(b"QRSTUV", 1));
        text.push_str(&self.letters(BASE62, count.saturating_sub(3)));
        text.truncate(count);
        text
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() & 0xFF) as u8).collect()
    }
}

/// The text that a template stands for: `«kind:count»` becomes a generated value.
///
/// Kinds: `b62`, `hex`, `up`, `low`, `dig` (letters of these alphabets), `b64` and `b64u` (encoded bytes, without
/// padding), `crc` (the CRC-32 of the value before it), `jwt`, `pem` (lines of base64), `bech32:PREFIX`, `agekey`, `xprv`, `words`,
/// `pair` (base64 of a user and a password), `snowflake` (base64 of an id), `nl` (a line end), `uuid`, and by their names the
/// characters `esc`, `bs`, `zwsp`, `shy` and `bom`.
#[must_use]
pub fn expand(template: &str, seed: u64) -> String {
    let mut numbers = Numbers(seed.wrapping_mul(7919).wrapping_add(42));
    let mut text = String::new();
    let mut last = String::new();
    let mut rest = template;
    while let Some((plain, after)) = rest.split_once('«') {
        text.push_str(plain);
        let (field, after) = after.split_once('»').unwrap_or((after, ""));
        let value = field_value(field, &last, &mut numbers);
        text.push_str(&value);
        last = value;
        rest = after;
    }
    text.push_str(rest);
    text
}

fn field_value(field: &str, last: &str, numbers: &mut Numbers) -> String {
    let (kind, detail) = field.split_once(':').unwrap_or((field, ""));
    let count = detail.parse().unwrap_or(0);
    match kind {
        "b62" => numbers.mixed(count),
        "hex" => {
            let rest = numbers.letters(HEX, count.saturating_sub(3));
            format!("b3e{rest}").chars().take(count).collect()
        }
        "up" => {
            let rest = numbers.letters(UPPER, count.saturating_sub(3));
            format!("Q7Z{rest}").chars().take(count).collect()
        }
        "low" => numbers.letters(LOWER, count),
        "dig" => {
            let first = numbers.letters(b"123456789", 1);
            first + &numbers.letters(DIGITS, count.saturating_sub(1))
        }
        "b64" => checks::to_base64(&numbers.bytes(count)),
        "b64u" => checks::to_base64(&numbers.bytes(count)).replace('+', "-").replace('/', "_"),
        "crc" => checks::crc32_base62(last.as_bytes()),
        "jwt" => {
            let part = |text: &str| checks::to_base64(text.as_bytes());
            let header = part(r#"{"alg":"HS256","typ":"JWT"}"#);
            let id = numbers.letters(DIGITS, 9);
            let claims = part(&format!(r#"{{"sub":"{id}","iat":1516239022}}"#));
            let mac = checks::to_base64(&numbers.bytes(32)).replace('+', "-").replace('/', "_");
            format!("{header}.{claims}.{mac}")
        }
        "pem" => {
            let lines: Vec<String> = (0..count).map(|_| checks::to_base64(&numbers.bytes(48))).collect();
            lines.join("\n")
        }
        "bech32" => {
            let values: Vec<u8> = numbers.bytes(52).iter().map(|byte| byte & 31).collect();
            checks::to_bech32(detail, &values)
        }
        "agekey" => {
            let values: Vec<u8> = numbers.bytes(52).iter().map(|byte| byte & 31).collect();
            checks::to_bech32("age-secret-key-", &values).to_ascii_uppercase()
        }
        "xprv" => {
            let payload = [&[0x04, 0x88, 0xad, 0xe4], numbers.bytes(74).as_slice()].concat();
            checks::to_base58check(&payload)
        }
        "words" => {
            let word = |_| WORDS.get(numbers.next() % WORDS.len()).copied().unwrap_or("ladder");
            (0..count).map(word).collect::<Vec<_>>().join(" ")
        }
        "pair" => checks::to_base64(format!("bob:{}", numbers.mixed(count.max(8))).as_bytes()),
        "snowflake" => checks::to_base64(format!("1{}", numbers.letters(DIGITS, 17)).as_bytes()),
        "uuid" => [8, 4, 4, 4, 12].map(|length| numbers.letters(HEX, length)).join("-"),
        "nl" => "\n".to_string(),
        "esc" => "\u{1b}".to_string(),
        "bs" => "\u{8}".to_string(),
        "zwsp" => "\u{200b}".to_string(),
        "shy" => "\u{ad}".to_string(),
        "bom" => "\u{feff}".to_string(),
        _ => String::new(),
    }
}

const COMMENT: &str = "# ";

/// The lines of a list of templates that are not comments, as `(kind, template)`; the two are separated by a tab.
pub fn list(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(COMMENT));
    lines.map(|line| line.split_once('\t').unwrap_or(("", line)))
}

/// Templates of synthetic secrets, one per line, each behind its kind; `⟦…⟧` marks what must not remain.
pub const SECRETS: &str = include_str!("data/secrets.tsv");

/// Harmless texts that look like secrets or stand where secrets stand, one per line, each behind its kind.
pub const HARMLESS: &str = include_str!("data/harmless.tsv");

/// A secret of [`SECRETS`]: the whole text, and the part that must not remain.
#[must_use]
pub fn secret(template: &str, seed: u64) -> (String, String) {
    let marked = expand(template, seed);
    let text = marked.replace(['⟦', '⟧'], "");
    let part = marked.split_once('⟦').and_then(|(_, rest)| rest.split_once('⟧')).map(|(part, _)| part);
    let part = part.unwrap_or(&text).to_string();
    (text, part)
}
