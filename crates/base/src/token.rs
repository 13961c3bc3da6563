//! Access tokens, kept as hashes: comparing hashes does not reveal how much of a guess was right.

use crate::signature;

#[derive(Debug, Clone)]
pub struct TokenHash(String);

impl TokenHash {
    #[must_use]
    pub fn new(token: &str) -> Self {
        TokenHash(signature::hash_bytes(token.as_bytes()))
    }

    /// Is this the token?
    #[must_use]
    pub fn fits(&self, given: &str) -> bool {
        signature::hash_bytes(given.as_bytes()) == self.0
    }

    /// Is this the value of an `Authorization` header with the token?
    #[must_use]
    pub fn fits_bearer(&self, header: &str) -> bool {
        let (scheme, token) = header.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && self.fits(token.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_fits() {
        let key = TokenHash::new("abc");
        assert!(key.fits("abc") && key.fits_bearer("Bearer abc") && key.fits_bearer("bearer  abc"));
        for header in ["", "abc", "Bearer", "Bearer ", "Bearer abcd", "Basic abc", "Bearer abc abc"] {
            assert!(!key.fits_bearer(header), "{header}");
        }
    }
}
