//! Encryption of payloads, so that server and store have only ciphertext.
//!
//! The key is in the environment of clients and workers ([`KEY_VARIABLE`]), as 64 hexadecimal digits. AES-256-GCM with a random
//! nonce in front of each ciphertext. Names of runs, steps' numbers and sizes stay visible.

use crate::FleetError;
use marvin_base::environment::Environment;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Arc;

/// The variable with the key.
pub const KEY_VARIABLE: &str = "MARVIN_FLEET_KEY";
const KEY_BYTES: usize = 32;

/// A key for payloads.
#[derive(Clone)]
pub(crate) struct Cipher {
    key: Arc<LessSafeKey>,
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Cipher")
    }
}

/// Why a payload cannot be decrypted.
#[derive(Debug, thiserror::Error)]
#[error("cannot decrypt a payload: it was encrypted with another key, or was changed")]
pub(crate) struct CipherError;

impl Cipher {
    /// The cipher with the key in the environment, if one is set.
    pub(crate) fn from_environment(environment: &Environment) -> Result<Option<Self>, FleetError> {
        let Some(text) = environment.get(KEY_VARIABLE) else { return Ok(None) };
        let refuse = || FleetError::Key;
        let bytes = decode_hex(text).ok_or_else(refuse)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| refuse())?;
        Ok(Some(Cipher { key: Arc::new(LessSafeKey::new(key)) }))
    }

    pub(crate) fn encrypt(&self, mut data: Vec<u8>) -> Result<Vec<u8>, CipherError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| CipherError)?;
        let used = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(used, Aad::empty(), &mut data).map_err(|_| CipherError)?;
        Ok([nonce.as_slice(), &data].concat())
    }

    pub(crate) fn decrypt(&self, data: &[u8]) -> Result<Vec<u8>, CipherError> {
        let (nonce, rest) = data.split_at_checked(NONCE_LEN).ok_or(CipherError)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| CipherError)?;
        let mut rest = rest.to_vec();
        let plain = self.key.open_in_place(nonce, Aad::empty(), &mut rest).map_err(|_| CipherError)?;
        Ok(plain.to_vec())
    }
}

fn decode_hex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * KEY_BYTES)?;
    let mut bytes = [0; KEY_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = pair.iter().fold(0, |byte, digit| (byte << 4) | digit);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(digit: &str) -> Cipher {
        let environment = Environment::from_iter([(KEY_VARIABLE, digit.repeat(64))]);
        Cipher::from_environment(&environment).unwrap().unwrap()
    }

    #[test]
    fn only_the_same_key_decrypts() {
        let (one, other) = (cipher("a"), cipher("b"));
        let secret = one.encrypt(b"outputs".to_vec()).unwrap();
        assert!(!secret.windows(7).any(|part| part == b"outputs"));
        assert_eq!(one.decrypt(&secret).unwrap(), b"outputs");
        assert!(other.decrypt(&secret).is_err());
        assert_ne!(one.encrypt(b"outputs".to_vec()).unwrap(), secret, "the nonce differs");
        let mut changed = secret;
        *changed.last_mut().unwrap() ^= 1;
        assert!(one.decrypt(&changed).is_err() && one.decrypt(b"short").is_err());
    }

    #[test]
    fn a_key_that_is_none_is_refused_without_repeating_it() {
        for text in ["abc", &"g".repeat(64), &"a".repeat(63), &"ä".repeat(64)] {
            let environment = Environment::from_iter([(KEY_VARIABLE, text)]);
            let error = Cipher::from_environment(&environment).unwrap_err().to_string();
            assert_eq!(
                error,
                "cannot use the key in MARVIN_FLEET_KEY: it does not have 64 hexadecimal digits"
            );
        }
        assert!(Cipher::from_environment(&Environment::default()).unwrap().is_none());
    }
}
