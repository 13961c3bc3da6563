//! Signatures: SHA-256 over canonical JSON (RFC 8785), so that equal values have equal signatures whatever the order
//! of their keys or the way their numbers were written.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// The signature of a value, as 64 hexadecimal digits.
///
/// A value that JSON cannot hold (a map with keys that are not text) signs as the error it gives; no input from
/// outside can be such a value, since it came as JSON.
#[must_use]
pub fn hash(value: &impl Serialize) -> String {
    match serde_json_canonicalizer::to_vec(value) {
        Ok(bytes) => hash_bytes(&bytes),
        Err(error) => hash_bytes(error.to_string().as_bytes()),
    }
}

/// The SHA-256 of bytes, as 64 hexadecimal digits.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn order_and_spelling_do_not_matter() {
        let one = json!({"b": 1.0, "a": [1, {"y": null, "x": "é"}]});
        let two = json!({"a": [1.0, {"x": "é", "y": null}], "b": 1});
        assert_eq!(super::hash(&one), super::hash(&two));
        assert_ne!(super::hash(&one), super::hash(&json!({"a": [1], "b": 1})));
        assert_eq!(super::hash(&one).len(), 64);
    }

    #[test]
    fn known_value() {
        assert_eq!(
            super::hash(&json!({})),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
