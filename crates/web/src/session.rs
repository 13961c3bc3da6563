//! One-time codes: how a browser gets the token without the token standing in an address.
//!
//! The link for people holds a code. The page sends it once, gets the token, and keeps that for its tab; from then on the code is
//! dead, so that it is worth nothing in a history, a screen recording or a list of processes.

use marvin_base::ids;
use marvin_base::token::TokenHash;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Codes that are good at the same time; the oldest is dropped for a new one.
const MAX_OPEN_CODES: usize = 4;
/// Hexadecimal digits of a code.
const CODE_DIGITS: usize = 32;

/// The token of a server, and the codes that are exchanged for it.
#[derive(Debug)]
pub(crate) struct Sessions {
    token: String,
    codes: Mutex<VecDeque<TokenHash>>,
    opened: Notify,
}

impl Sessions {
    pub(crate) fn new(token: &str) -> Self {
        Sessions { token: token.to_string(), codes: Mutex::default(), opened: Notify::new() }
    }

    pub(crate) fn issue(&self) -> String {
        let code = ids::short(CODE_DIGITS);
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.push_back(TokenHash::new(&code));
        while codes.len() > MAX_OPEN_CODES {
            codes.pop_front();
        }
        code
    }

    /// Exchanges a code for the token, once.
    pub(crate) fn exchange(&self, code: &str) -> Option<String> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = codes.iter().position(|known| known.fits(code))?;
        codes.remove(at);
        self.opened.notify_one();
        Some(self.token.clone())
    }

    /// Waits until a code was exchanged.
    pub(crate) async fn opened(&self) {
        self.opened.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once() {
        let sessions = Sessions::new("token");
        let (one, two) = (sessions.issue(), sessions.issue());
        assert_eq!(sessions.exchange("guess"), None);
        assert_eq!(sessions.exchange(&one).as_deref(), Some("token"));
        assert_eq!(sessions.exchange(&one), None);
        assert_eq!(sessions.exchange(&two).as_deref(), Some("token"));
        let first = sessions.issue();
        for _ in 0..MAX_OPEN_CODES {
            sessions.issue();
        }
        assert_eq!(sessions.exchange(&first), None);
    }
}
