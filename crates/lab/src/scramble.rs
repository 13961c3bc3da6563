/// Hides bytes from a text search; applying it twice restores them.
pub(crate) fn scramble(bytes: &mut [u8]) {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for byte in bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte ^= state.to_le_bytes()[3];
    }
}
