//! One row of the table of provider credentials: what it looks like, and what must hold besides.

use super::{armor, checks};

/// A row of the table.
pub(super) struct Shape {
    /// Name in the replacement: `[REDACTED:kind]`.
    pub(super) kind: &'static str,
    /// Literals one of which every match contains; a match begins at it, or before it by [`Shape::edge`].
    pub(super) anchors: &'static [&'static str],
    /// Regex of the credential from its beginning; only a group named `value` is replaced, if there is one.
    pub(super) pattern: &'static str,
    /// A further check.
    pub(super) check: Check,
    /// Context before the anchor.
    pub(super) edge: Edge,
    /// Templates of texts that hold the shape (see [`super::samples`]), and of texts that look like it and are harmless.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests check every row by its examples"))]
    pub(super) finds: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests check every row by its examples"))]
    pub(super) spares: &'static [&'static str],
}

/// A condition beyond the regex.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// The regex says enough.
    Always,
    /// Not a placeholder such as `xxxx` (see [`checks::is_varied`]).
    Varied,
    /// Varied, with at least one digit and one letter.
    Mixed,
    /// Varied, and one run of letters and digits that has both and at least ten of them.
    Run,
    /// Mixed case and digits, and not hexadecimal: an AWS secret key.
    AwsSecret,
    /// Varied, or proved by its CRC-32.
    Crc,
    /// The header decodes to JSON with `alg`.
    Jwt,
    /// The first part decodes to a decimal id.
    Discord,
    /// The base58 checksum holds.
    Base58,
    /// The bech32 checksum holds.
    Bech32,
    /// Key material stands behind it, which is replaced with it.
    Armor,
    /// Base64 of the marker of a private key, with what follows it.
    EncodedArmor,
}

/// Context that an anchor needs before it.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    /// Nothing that belongs to the same word.
    Word,
    /// As [`Edge::Word`], and no underscore.
    Start,
    /// Anything.
    Any,
    /// The match begins further left, behind the bytes of this class.
    Back(fn(u8) -> bool),
}

impl Check {
    /// Whether the condition holds; `Some(true)` is proof.
    pub(super) fn holds(self, text: &str) -> Option<bool> {
        let digit = || text.bytes().any(|byte| byte.is_ascii_digit());
        let letter = || text.bytes().any(|byte| byte.is_ascii_alphabetic());
        let plain = |holds: bool| holds.then_some(false);
        let proof = |holds: bool| holds.then_some(true);
        match self {
            Check::Always | Check::Armor => plain(true),
            Check::Varied => plain(checks::is_varied(text)),
            Check::EncodedArmor => proof(armor::is_encoded_marker(text)),
            Check::Mixed => plain(checks::is_varied(text) && digit() && letter()),
            Check::Run => plain(checks::is_varied(text) && has_mixed_run(text)),
            Check::AwsSecret => {
                let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
                let cases = text.bytes().any(|byte| byte.is_ascii_lowercase())
                    && text.bytes().any(|byte| byte.is_ascii_uppercase());
                plain(!hex && cases && digit())
            }
            Check::Crc if checks::has_crc32(text) => Some(true),
            Check::Crc => plain(checks::is_varied(text) && digit()),
            Check::Jwt => proof(checks::is_jwt(text)),
            Check::Discord => proof(checks::is_discord(text)),
            Check::Base58 => proof(checks::is_base58check(text)),
            Check::Bech32 => proof(checks::is_bech32(text)),
        }
    }
}

/// Whether one run of letters and digits has at least ten bytes, two digits and two letters.
fn has_mixed_run(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        run.len() >= 10 && digits >= 2 && run.len() - digits >= 2
    })
}
