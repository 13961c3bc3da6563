//! Checksums and structures that credentials of some providers carry.
//!
//! A valid checksum is proof. A missing or wrong one is not proof of the opposite (formats change, tokens are cut), so
//! the table in [`super::shapes`] also names shapes whose prefix and length are enough.

use serde_json::Value;
use sha2::{Digest, Sha256};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/// Longest JWT header or base58 payload that is decoded.
const MAX_DECODED_BYTES: usize = 4096;

/// CRC-32 (IEEE), as GitHub and npm append it to their tokens.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let low = crc & 1;
            crc >>= 1;
            if low == 1 {
                crc ^= 0xEDB8_8320;
            }
        }
    }
    !crc
}

/// Six base62 digits of a CRC-32.
pub(super) fn crc32_base62(bytes: &[u8]) -> String {
    let mut rest = crc32(bytes);
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62.get((rest % 62) as usize).copied().unwrap_or(b'0');
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

/// Whether a token of the form `PREFIX_BODYCHECKSUM` ends in the base62 CRC-32 of its body.
pub(super) fn has_crc32(token: &str) -> bool {
    let body = token.rsplit('_').next().unwrap_or_default();
    let Some(cut) = body.len().checked_sub(6).filter(|cut| *cut >= 10) else { return false };
    match (body.get(..cut), body.get(cut..)) {
        (Some(random), Some(sum)) => crc32_base62(random.as_bytes()) == sum,
        _ => false,
    }
}

/// Decodes base64 in either alphabet, with or without padding.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    if text.len() > MAX_DECODED_BYTES || text.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xFF) as u8);
        }
    }
    Some(out)
}

/// Encodes base64 (standard alphabet, no padding).
pub(super) fn to_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            let six = (group >> (18 - 6 * at) & 63) as usize;
            out.push(ALPHABET.get(six).map_or('A', |byte| char::from(*byte)));
        }
    }
    out
}

/// Whether the first part of `a.b.c` is a JSON header with an algorithm, as every JWT and JWE has.
pub(super) fn is_jwt(token: &str) -> bool {
    let header = token.split('.').next().and_then(base64);
    let header = header.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    header.is_some_and(|header| header.get("alg").is_some_and(Value::is_string))
}

/// Whether the first part of a Discord bot token is a decimal id in base64.
pub(super) fn is_discord(token: &str) -> bool {
    let id = token.split('.').next().and_then(base64).unwrap_or_default();
    id.len() >= 15 && id.iter().all(u8::is_ascii_digit)
}

/// Whether this is base64 of `user:password`.
pub(super) fn is_basic_pair(text: &str) -> bool {
    let Some(bytes) = base64(text).filter(|bytes| bytes.len() >= 3) else { return false };
    let printable = bytes.iter().all(|byte| matches!(byte, 0x20..=0x7e));
    printable && bytes.iter().position(|byte| *byte == b':').is_some_and(|at| at > 0 && at + 1 < bytes.len())
}

/// Whether the text is base58 with the four checksum bytes that Bitcoin keys carry.
pub(super) fn is_base58check(text: &str) -> bool {
    let mut bytes: Vec<u8> = Vec::with_capacity(96);
    for letter in text.bytes() {
        let Some(mut carry) = BASE58.iter().position(|known| *known == letter) else { return false };
        for byte in bytes.iter_mut() {
            carry += usize::from(*byte) * 58;
            *byte = (carry & 0xFF) as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push((carry & 0xFF) as u8);
            carry >>= 8;
        }
    }
    bytes.reverse();
    let Some(cut) = bytes.len().checked_sub(4) else { return false };
    let (payload, sum) = bytes.split_at(cut);
    Sha256::digest(Sha256::digest(payload)).get(..4) == Some(sum)
}

/// Encodes a payload as base58 with checksum.
pub(super) fn to_base58check(payload: &[u8]) -> String {
    let sum = Sha256::digest(Sha256::digest(payload));
    let mut digits: Vec<u8> = Vec::new();
    for byte in payload.iter().chain(sum.iter().take(4)) {
        let mut carry = usize::from(*byte);
        for digit in digits.iter_mut() {
            carry += usize::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let letter = |digit: &u8| BASE58.get(usize::from(*digit)).map_or('1', |byte| char::from(*byte));
    digits.iter().rev().map(letter).collect()
}

fn bech32_polymod(values: impl Iterator<Item = u8>) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let mut sum = 1u32;
    for value in values {
        let top = sum >> 25;
        sum = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (at, part) in GENERATOR.iter().enumerate() {
            if top >> at & 1 == 1 {
                sum ^= part;
            }
        }
    }
    sum
}

fn bech32_prefix(prefix: &str) -> Vec<u8> {
    let high = prefix.bytes().map(|byte| byte >> 5);
    let low = prefix.bytes().map(|byte| byte & 31);
    high.chain([0]).chain(low).collect()
}

/// Whether the text is bech32 (`PREFIX1DATA`) with a valid checksum.
pub(super) fn is_bech32(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some((prefix, data)) = lower.rsplit_once('1') else { return false };
    let values: Option<Vec<u8>> = data
        .bytes()
        .map(|letter| BECH32.iter().position(|known| *known == letter).map(|at| at as u8))
        .collect();
    values.is_some_and(|values| {
        values.len() >= 6 && bech32_polymod(bech32_prefix(prefix).into_iter().chain(values)) == 1
    })
}

/// Encodes five-bit values as bech32 with this prefix.
pub(super) fn to_bech32(prefix: &str, values: &[u8]) -> String {
    let open = bech32_prefix(prefix).into_iter().chain(values.iter().copied()).chain([0; 6]);
    let sum = bech32_polymod(open) ^ 1;
    let ends = (0..6).map(|at| (sum >> (5 * (5 - at)) & 31) as u8);
    let letters = values.iter().copied().chain(ends);
    let data: String = letters
        .map(|value| BECH32.get(usize::from(value & 31)).map_or('q', |letter| char::from(*letter)))
        .collect();
    format!("{prefix}1{data}")
}

/// Whether a text has the variety of a generated value: not `xxxxxxxx`, not `0000-0000`.
pub(super) fn is_varied(text: &str) -> bool {
    let mut seen = 0u128;
    for byte in text.bytes().filter(u8::is_ascii) {
        seen |= 1 << (byte & 0x7F);
    }
    let lower = text.to_ascii_lowercase();
    let marked = ["xxxx", "your", "placeholder", "....", "****", "redacted", "changeme"];
    seen.count_ones() >= 6 && !marked.iter().any(|mark| lower.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_agree_with_published_values() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(to_base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw");
        assert_eq!(base64("YW55IGNhcm5hbCBwbGVhcw==").unwrap(), b"any carnal pleas");
        // The test vectors of BIP 173 and of the Bitcoin wiki.
        assert!(is_bech32("A12UEL5L") && !is_bech32("A12UEL5M"));
        assert!(is_base58check("5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"));
        assert!(!is_base58check("5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK"));
    }

    #[test]
    fn encoders_agree_with_checks() {
        assert!(is_bech32(&to_bech32("age-secret-key-", &[7; 52])));
        assert!(is_base58check(&to_base58check(&[128, 1, 2, 3, 4, 5, 6, 7])));
        let token = format!("npm_{}{}", "a".repeat(30), crc32_base62("a".repeat(30).as_bytes()));
        assert!(has_crc32(&token) && !has_crc32(&token.replace("npm_a", "npm_b")));
        assert!(is_jwt("eyJhbGciOiJIUzI1NiJ9.e30.x") && !is_jwt("eyJhIjoxfQ.e30.x"));
        assert!(is_basic_pair("Ym9iOmh1bnRlcjI=") && !is_basic_pair("aGVsbG8gd29ybGQ="));
    }
}
