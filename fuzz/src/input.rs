//! Inputs of two parts.

/// Splits an input at its first NUL into two texts.
pub(crate) fn split_at_nul(data: &[u8]) -> (String, String) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let mut next = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    (next(), next())
}
