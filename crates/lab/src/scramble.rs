/// Changes bytes so that they are not found by looking for their text; doing it twice gives them back.
pub(crate) fn scramble(bytes: &mut [u8]) {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for byte in bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte ^= state.to_le_bytes()[3];
    }
}
