//! Limits of what is followed.

/// Bytes of a line that is read at all.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;
/// Bytes of a text that is followed.
pub(super) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Words that one word may become.
pub(in crate::shell) const MAX_EXPANDED_WORDS: usize = 128;
/// Commands that are followed.
pub(super) const MAX_COMMANDS_PER_LINE: usize = 800;
/// Nesting of scripts in scripts that is followed.
pub(super) const MAX_SCRIPT_DEPTH: usize = 24;
