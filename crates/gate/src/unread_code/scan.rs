//! A scanner for the plainest lines: simple commands joined by `|`, `&&`, `||`, `;` and line ends.
//!
//! It does not interpret anything. A line with an expansion, a substitution, an assignment, a group, a here-document, a function
//! or a job in the background is refused, whatever it would do.

use std::iter::Peekable;
use std::str::Chars;

/// The first word of every command; `None` for a line that is not plain.
pub(super) fn commands(line: &str) -> Option<Vec<String>> {
    let mut scanner = Scanner {
        chars: line.trim().chars().peekable(),
        firsts: Vec::new(),
        word: String::new(),
        in_word: false,
        is_first: true,
    };
    while let Some(char) = scanner.chars.next() {
        scanner.take(char)?;
    }
    scanner.end_word()?;
    Some(scanner.firsts)
}

struct Scanner<'a> {
    chars: Peekable<Chars<'a>>,
    firsts: Vec<String>,
    word: String,
    in_word: bool,
    /// The next word is the name of a command.
    is_first: bool,
}

impl Scanner<'_> {
    fn take(&mut self, char: char) -> Option<()> {
        match char {
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '\\' => {
                self.in_word = true;
                let escaped = self.chars.next().filter(|char| *char != '\n')?;
                self.word.push(escaped);
                Some(())
            }
            '$' | '`' | '(' | ')' | '{' | '}' | '\r' | '\0' => None,
            '#' if !self.in_word => None,
            '=' if self.is_first => None,
            ' ' | '\t' => self.end_word(),
            '<' | '>' => self.redirection(),
            '&' | '|' | ';' | '\n' => self.separator(char),
            char if char.is_control() || !char.is_ascii() && self.is_first => None,
            char => {
                self.in_word = true;
                self.word.push(char);
                Some(())
            }
        }
    }

    /// Ends the current word; `None` when it is the name of a command and not a plain one.
    fn end_word(&mut self) -> Option<()> {
        if !std::mem::take(&mut self.in_word) {
            return Some(());
        }
        let text = std::mem::take(&mut self.word);
        if std::mem::take(&mut self.is_first) {
            let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
            if text.is_empty() || !text.chars().all(is_plain) {
                return None;
            }
            self.firsts.push(text);
        }
        Some(())
    }

    fn single_quotes(&mut self) -> Option<()> {
        self.in_word = true;
        loop {
            match self.chars.next()? {
                '\'' => return Some(()),
                char => self.word.push(char),
            }
        }
    }

    fn double_quotes(&mut self) -> Option<()> {
        self.in_word = true;
        loop {
            match self.chars.next()? {
                '"' => return Some(()),
                '$' | '`' | '!' => return None,
                '\\' => {
                    self.word.push('\\');
                    let escaped = self.chars.next().filter(|char| *char != '\n')?;
                    self.word.push(escaped);
                }
                char => self.word.push(char),
            }
        }
    }

    fn redirection(&mut self) -> Option<()> {
        // A descriptor before it belongs to it.
        let is_descriptor = !self.word.is_empty() && self.word.bytes().all(|byte| byte.is_ascii_digit());
        if is_descriptor && !self.is_first {
            self.word.clear();
            self.in_word = false;
        } else {
            self.end_word()?;
        }
        // Before the command's name, or doubled for a here-document, it is not plain.
        if self.is_first || self.chars.peek() == Some(&'<') {
            return None;
        }
        self.chars.next_if_eq(&'>');
        if self.chars.next_if_eq(&'&').is_some() {
            self.chars.next().filter(char::is_ascii_digit)?;
        }
        Some(())
    }

    fn separator(&mut self, char: char) -> Option<()> {
        self.end_word()?;
        if self.is_first && char != '\n' {
            return None;
        }
        match (char, self.chars.peek()) {
            ('&', _) => {
                self.chars.next().filter(|next| *next == '&')?;
            }
            ('|', Some('|')) => {
                self.chars.next();
            }
            ('|', Some('&')) | (';', Some(';')) => return None,
            _ => {}
        }
        self.is_first = true;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_give_their_commands() {
        for (line, firsts) in [
            ("ls", vec!["ls"]),
            ("ls -la | head -5", vec!["ls", "head"]),
            ("cd src && ls; pwd || true", vec!["cd", "ls", "pwd", "true"]),
            ("grep 'a$b' x 2>/dev/null", vec!["grep"]),
            ("grep \"a b\" x 2>&1 | wc -l", vec!["grep", "wc"]),
            ("find . \\( -name a \\)", vec!["find"]),
            ("ls\npwd", vec!["ls", "pwd"]),
        ] {
            assert_eq!(commands(line), Some(firsts.iter().map(ToString::to_string).collect()), "{line}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for line in [
            "A=1 ls",
            "A=1; ls",
            "PATH=.:x; ls",
            "ls $(id)",
            "ls `id`",
            "ls $HOME",
            "ls \"$HOME\"",
            "(ls)",
            "{ ls; }",
            "ls & pwd",
            "ls <<EOF\nx\nEOF",
            "cat <<< x",
            "f() ls",
            "> x ls",
            "ls # comment",
            "ls |& cat",
            "ls 'open",
            "./ls",
            "ls \\\n-la",
            "cat <(id)",
            "ls {a,b}",
            "ls; ; ls",
            "a[0]=1; ls",
        ] {
            assert_eq!(commands(line), None, "{line}");
        }
    }
}
