//! Marks of transitions: hashes that depend on everything written before.

use sha2::{Digest, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark(i64);

impl Mark {
    /// The mark of a transition that follows this one.
    pub(super) fn after(self, seq: i64, step: i64, status: &str, at: i64, data: &str) -> Mark {
        let mut hash = Sha256::new();
        for number in [self.0, seq, step, at] {
            hash.update(number.to_le_bytes());
        }
        hash.update(status.as_bytes());
        hash.update([0]);
        hash.update(data.as_bytes());
        Mark::from_hash(hash)
    }

    /// The mark of a text that follows this one.
    pub(super) fn after_text(self, text: &str) -> Mark {
        let mut hash = Sha256::new();
        hash.update(self.0.to_le_bytes());
        hash.update(text.as_bytes());
        Mark::from_hash(hash)
    }

    fn from_hash(hash: Sha256) -> Mark {
        let digest = hash.finalize();
        let mut first = [0_u8; 8];
        for (slot, byte) in first.iter_mut().zip(digest) {
            *slot = byte;
        }
        Mark(i64::from_le_bytes(first))
    }

    pub(super) fn number(self) -> i64 {
        self.0
    }
}
