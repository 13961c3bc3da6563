//! A text that cannot be read as shell still holds commands. Each piece that can be read is walked, so that what it would
//! do is weighed; a person is asked in any case.

use super::run::InheritedIo;
use super::state::Shell;

/// Pieces that are tried.
const MAX_SALVAGED_PIECES: usize = 48;

/// Words that stand before a command and are none.
const KEYWORDS: [&str; 12] =
    ["do", "then", "else", "elif", "if", "while", "until", "!", "time", "coproc", "done", "fi"];

impl Shell<'_> {
    /// Walks what can be read of a text.
    pub(super) fn salvage(&mut self, text: &str) {
        if self.salvaging {
            return;
        }
        self.salvaging = true;
        let ends = |char: char| matches!(char, '\n' | ';' | '&' | '|' | '(' | ')' | '`' | '{' | '}');
        for piece in text.split(ends).filter(|piece| !piece.trim().is_empty()).take(MAX_SALVAGED_PIECES) {
            let mut command = piece.trim();
            while let Some((first, rest)) = command.split_once(char::is_whitespace)
                && KEYWORDS.contains(&first)
            {
                command = rest.trim_start();
            }
            self.script(command, &InheritedIo::default());
        }
        self.salvaging = false;
    }
}
