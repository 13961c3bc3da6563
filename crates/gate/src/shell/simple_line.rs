//! The second opinion where there is nothing to misunderstand: commands of plain words, joined by `|`, `&&`, `||`, `;` and new
//! lines.
//!
//! Many lines are like that, and a whole grammar takes a good part of the time of a judgement. Everything that could be read in
//! two ways is not plain: reserved words and assignments before a command, substitutions, comments, brackets, lines that
//! go on, here-documents, what runs behind, and quotes, escapes or variables in the name of a command.

/// Words that begin something else than a command.
const RESERVED: [&str; 17] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while",
];

/// The names of the commands of a plain line, as they stand in it; none where it is not plain.
pub(super) fn names(line: &str) -> Option<Vec<&str>> {
    let mut text = Text { line, at: 0 };
    let mut names = Vec::new();
    loop {
        text.between();
        names.push(text.name()?);
        text.arguments()?;
        match (text.next(), text.peek()) {
            (None, _) => return Some(names),
            (Some(b'|'), Some(b'|')) | (Some(b'&'), Some(b'&')) => text.at += 1,
            (Some(b'|'), Some(b'&')) | (Some(b'&'), _) => return None,
            (Some(b';' | b'\n'), _) => {
                text.between();
                if text.peek().is_none() {
                    return Some(names);
                }
            }
            (Some(_), _) => {}
        }
    }
}

/// A line and how far it is read.
struct Text<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> Text<'l> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn while_is(&mut self, is: impl Fn(u8) -> bool) -> &'l str {
        let from = self.at;
        while self.peek().is_some_and(&is) {
            self.at += 1;
        }
        self.line.get(from..self.at).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.while_is(|byte| matches!(byte, b' ' | b'\t'));
    }

    fn between(&mut self) {
        self.while_is(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
    }

    /// The name of a command.
    fn name(&mut self) -> Option<&'l str> {
        let name = self.while_is(|byte| byte.is_ascii_alphanumeric() || b"_./+-[".contains(&byte));
        let ends = self.peek().is_none_or(|byte| b" \t\n|&;".contains(&byte));
        let plain = !name.is_empty() && !RESERVED.contains(&name) && (name == "[" || !name.contains('['));
        (ends && plain).then_some(name)
    }

    /// Words and redirections, up to what joins this command with the next one.
    fn arguments(&mut self) -> Option<()> {
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'|' | b'&' | b';' | b'\n') => return Some(()),
                Some(b'>') => {
                    self.at += 1;
                    if matches!(self.peek(), Some(b'>' | b'&')) {
                        self.at += 1;
                    }
                    self.blanks();
                    self.word()?;
                }
                Some(b'<') => {
                    self.at += 1;
                    self.blanks();
                    self.word()?;
                }
                Some(_) => self.word()?,
            }
        }
    }

    /// One word: plain characters, escaped ones, variables and quotes.
    fn word(&mut self) -> Option<()> {
        let from = self.at;
        loop {
            match self.peek() {
                Some(b'\'') => {
                    self.at += 1;
                    self.while_is(|byte| byte != b'\'' && is_readable(byte));
                    (self.next() == Some(b'\'')).then_some(())?;
                }
                Some(b'"') => {
                    self.at += 1;
                    loop {
                        self.while_is(|byte| !b"\"$`\\!".contains(&byte) && is_readable(byte));
                        match self.peek() {
                            Some(b'$') => self.variable()?,
                            Some(b'\\') => self.escaped()?,
                            _ => break,
                        }
                    }
                    (self.next() == Some(b'"')).then_some(())?;
                }
                Some(b'$') => self.variable()?,
                Some(b'\\') => self.escaped()?,
                Some(byte) if byte.is_ascii_alphanumeric() || b"_./+-,:@%^=*?~[]{}".contains(&byte) => {
                    self.at += 1;
                }
                None | Some(b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'<' | b'>') => {
                    return (self.at > from).then_some(());
                }
                Some(_) => return None,
            }
        }
    }

    /// A character behind a backslash.
    fn escaped(&mut self) -> Option<()> {
        self.at += 1;
        self.next().filter(|byte| matches!(byte, b' '..=b'~')).map(|_| ())
    }

    /// `$name` or `${name}`.
    fn variable(&mut self) -> Option<()> {
        self.at += 1;
        let braces = self.peek() == Some(b'{');
        self.at += usize::from(braces);
        let first = self.peek()?;
        (first.is_ascii_alphabetic() || first == b'_').then_some(())?;
        self.while_is(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if braces { (self.next() == Some(b'}')).then_some(()) } else { Some(()) }
    }
}

/// Whether a character may stand between quotes: all but invisible ones.
fn is_readable(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\t') || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests;
