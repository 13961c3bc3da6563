//! Takes a line apart into simple commands, and says where it is not sure.
//!
//! This is no shell: it knows quotes, escapes, separators and redirections, and calls everything else by its name as a
//! [`Doubt`]. A line with a doubt is never allowed, so a construct that is not understood costs a question, not a hole.
//! Substitutions and groups are cut at their brackets, so that the commands inside them are seen too.

use std::fmt;

/// Why the words of a line are not certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// `$NAME` and its kin.
    Variable,
    /// `$(…)` or backticks.
    Substitution,
    /// `<(…)` or `>(…)`.
    ProcessSubstitution,
    /// `<<` or `<<<`.
    HereDocument,
    /// `(…)`, `{…}`, functions, brace expansion.
    Group,
    /// A redirection to or from a file.
    Redirection,
    /// `NAME=value` before a command.
    Assignment,
    /// A word of the shell's own language, such as `for` or `!`.
    Keyword,
    /// `#` and what follows.
    Comment,
    /// A quote that is not closed, or a backslash at the end.
    Unclosed,
    /// Characters that are not seen, or pretend to be others.
    Invisible,
    /// `;;` and other separators that stand where a command should.
    Separator,
}

impl Doubt {
    /// What to do instead.
    #[must_use]
    pub(super) fn mend(self) -> &'static str {
        match self {
            Doubt::Variable => "Write the value out instead of a variable.",
            Doubt::Substitution | Doubt::ProcessSubstitution => {
                "Run the inner command by itself first, then use what it printed."
            }
            Doubt::HereDocument | Doubt::Redirection => {
                "Use create_file, append_file or apply_patch instead of a redirection; output is captured anyway. \
                 Only /dev/null and 2>&1 are understood."
            }
            Doubt::Group => "Run the commands one after the other, without brackets, braces or functions.",
            Doubt::Assignment => "Run the command without setting variables before it.",
            Doubt::Keyword => "Run plain commands instead of loops and conditions, one call each.",
            Doubt::Comment => "Leave the comment out.",
            Doubt::Unclosed => "Close every quote, and end the line without a backslash.",
            Doubt::Invisible => "Use plain characters only.",
            Doubt::Separator => "Put exactly one separator between two commands.",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Doubt::Variable => "a variable",
            Doubt::Substitution => "a command substitution",
            Doubt::ProcessSubstitution => "a process substitution",
            Doubt::HereDocument => "a here-document",
            Doubt::Group => "a group, function or brace expansion",
            Doubt::Redirection => "a redirection to or from a file",
            Doubt::Assignment => "a variable assignment",
            Doubt::Keyword => "a keyword of the shell's language",
            Doubt::Comment => "a comment",
            Doubt::Unclosed => "an unclosed quote or escape",
            Doubt::Invisible => "control or invisible characters",
            Doubt::Separator => "a misplaced separator",
        })
    }
}

/// One word, quotes removed. What could not be resolved stands in it as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text.
    pub(super) text: String,
    /// Whether it holds an unquoted `*`, `?` or `[`.
    pub(super) glob: bool,
    /// Whether it begins with an unquoted `~`.
    pub(super) tilde: bool,
    /// Whether any part of it was quoted or escaped.
    pub(super) quoted: bool,
}

/// A redirection to or from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    /// Whether it writes.
    pub(super) writes: bool,
    /// The file.
    pub(super) target: Word,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, the program first.
    pub(super) words: Vec<Word>,
    /// Its redirections.
    pub(super) redirects: Vec<Redirect>,
    /// Whether it reads what the command before it prints.
    pub(super) piped: bool,
}

/// A line, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The simple commands, in order.
    pub(super) commands: Vec<Simple>,
    /// Where the words are not certain, each once.
    pub(super) doubts: Vec<Doubt>,
}

/// Words with which the shell's own language begins or continues.
const KEYWORDS: [&str; 19] = [
    "!", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "function", "select", "time", "coproc", "[[",
];

/// Is this a word of the shell's own language?
#[must_use]
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Is this `NAME=value`?
#[must_use]
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or_default();
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Takes a line apart. Never fails: what is not understood is a doubt.
#[must_use]
pub(super) fn split(text: &str) -> Line {
    let mut splitter = Splitter {
        letters: text.chars().collect(),
        at: 0,
        line: Line::default(),
        now: Simple::default(),
        word: None,
        pending: None,
    };
    splitter.run();
    let mut line = splitter.line;
    if text.chars().any(is_invisible) {
        line.doubts.push(Doubt::Invisible);
    }
    for command in &line.commands {
        let Some(first) = command.words.first() else { continue };
        if is_assignment(&first.text) {
            line.doubts.push(Doubt::Assignment);
        }
        if is_keyword(&first.text) && !first.quoted {
            line.doubts.push(Doubt::Keyword);
        }
    }
    line.doubts.sort_unstable();
    line.doubts.dedup();
    line
}

/// Control characters (but not tab and line feed), and characters that hide or turn text.
fn is_invisible(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t')
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

struct Splitter {
    letters: Vec<char>,
    at: usize,
    line: Line,
    now: Simple,
    word: Option<Word>,
    /// A redirection (and whether it writes) whose file comes next.
    pending: Option<bool>,
}

impl Splitter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn doubt(&mut self, doubt: Doubt) {
        self.line.doubts.push(doubt);
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let Some(writes) = self.pending.take() else { return self.now.words.push(word) };
        if word.text != "/dev/null" || word.glob {
            self.doubt(Doubt::Redirection);
        }
        self.now.redirects.push(Redirect { writes, target: word });
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        if self.pending.take().is_some() {
            self.doubt(Doubt::Redirection);
        }
        let command = std::mem::replace(&mut self.now, Simple { piped, ..Simple::default() });
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.line.commands.push(command);
        }
    }

    fn run(&mut self) {
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                ' ' | '\t' => self.end_word(),
                '\n' => self.end_command(false),
                '\'' => self.single_quotes(),
                '"' => self.double_quotes(),
                '\\' => self.escape(),
                '$' => {
                    let substitution = self.peek(0) == Some('(');
                    self.doubt(if substitution { Doubt::Substitution } else { Doubt::Variable });
                    self.dollar();
                }
                '`' => {
                    self.doubt(Doubt::Substitution);
                    self.end_command(false);
                }
                '(' | ')' => {
                    self.doubt(Doubt::Group);
                    self.end_command(false);
                }
                '{' | '}' => {
                    self.doubt(Doubt::Group);
                    if self.word.is_none() {
                        self.end_command(false);
                    } else {
                        self.word().text.push(letter);
                    }
                }
                '#' if self.word.is_none() => {
                    self.doubt(Doubt::Comment);
                    while self.peek(0).is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                ';' => self.separator(),
                '&' if self.peek(0) == Some('>') => {
                    self.at += 1;
                    self.end_word();
                    self.redirect(true);
                }
                '&' => {
                    if self.peek(0) == Some('&') {
                        self.at += 1;
                    }
                    self.separator();
                }
                '|' => {
                    let or = self.peek(0) == Some('|');
                    if or || self.peek(0) == Some('&') {
                        self.at += 1;
                    }
                    self.misplaced();
                    self.end_command(!or);
                }
                '<' | '>' => self.angle(letter),
                '~' if self.word.is_none() => {
                    let word = self.word();
                    word.tilde = true;
                    word.text.push('~');
                }
                '*' | '?' | '[' => {
                    let word = self.word();
                    word.glob = true;
                    word.text.push(letter);
                }
                _ => self.word().text.push(letter),
            }
        }
        self.end_command(false);
        for command in &mut self.line.commands {
            for word in &mut command.words {
                // `[` by itself is the program of that name.
                word.glob &= word.text != "[";
            }
        }
    }

    fn separator(&mut self) {
        self.misplaced();
        self.end_command(false);
    }

    fn misplaced(&mut self) {
        if self.now.words.is_empty() && self.word.is_none() && self.now.redirects.is_empty() {
            self.doubt(Doubt::Separator);
        }
    }

    /// After a `$`: keeps `NAME`, `{NAME}` in the word, so that `$HOME` can be recognised.
    fn dollar(&mut self) {
        self.word().text.push('$');
        if self.peek(0) == Some('{') {
            while let Some(letter) = self.peek(0) {
                self.at += 1;
                self.word().text.push(letter);
                if letter == '}' {
                    break;
                }
            }
        }
    }

    fn single_quotes(&mut self) {
        self.word().quoted = true;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            if letter == '\'' {
                return;
            }
            self.word().text.push(letter);
        }
        self.doubt(Doubt::Unclosed);
    }

    fn double_quotes(&mut self) {
        self.word().quoted = true;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '"' => return,
                '`' => self.doubt(Doubt::Substitution),
                '$' => match self.peek(0) {
                    Some('(') => self.doubt(Doubt::Substitution),
                    Some('"' | ' ' | '|' | '\'' | ')' | '\\' | '/') | None => {}
                    Some(_) => self.doubt(Doubt::Variable),
                },
                '\\' => match self.peek(0) {
                    Some('\n') => {
                        self.at += 1;
                        continue;
                    }
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.at += 1;
                        self.word().text.push(escaped);
                        continue;
                    }
                    _ => {}
                },
                _ => {}
            }
            self.word().text.push(letter);
        }
        self.doubt(Doubt::Unclosed);
    }

    fn escape(&mut self) {
        match self.peek(0) {
            None => self.doubt(Doubt::Unclosed),
            Some('\n') => self.at += 1,
            Some(letter) => {
                self.at += 1;
                let word = self.word();
                word.quoted = true;
                word.text.push(letter);
            }
        }
    }

    /// At a `<` or `>` that was just read.
    fn angle(&mut self, letter: char) {
        // Digits right before it name a stream, not an argument.
        let stream = self.word.as_ref().is_some_and(|word| {
            !word.quoted && !word.text.is_empty() && word.text.chars().all(|digit| digit.is_ascii_digit())
        });
        if stream {
            self.word = None;
        } else {
            self.end_word();
        }
        match (letter, self.peek(0)) {
            (_, Some('(')) => {
                self.doubt(Doubt::ProcessSubstitution);
                self.end_command(true);
            }
            ('<', Some('<')) => {
                self.doubt(Doubt::HereDocument);
                while self.peek(0) == Some('<') || self.peek(0) == Some('-') {
                    self.at += 1;
                }
            }
            (_, Some('&')) => self.duplicate(letter == '>'),
            _ => self.redirect(letter == '>' || self.peek(0) == Some('>')),
        }
    }

    /// `>&1`, `2>&1`, `<&-` join streams; `>&file` writes a file.
    fn duplicate(&mut self, writes: bool) {
        self.at += 1;
        let rest: String = self
            .letters
            .iter()
            .skip(self.at)
            .take_while(|letter| letter.is_ascii_digit() || **letter == '-')
            .collect();
        let after = self.peek(rest.len());
        let ends = after.is_none_or(|letter| " \t\n;&|<>)".contains(letter));
        if !rest.is_empty() && ends && (rest == "-" || !rest.contains('-')) {
            self.at += rest.len();
        } else {
            self.redirect(writes);
        }
    }

    /// The next word is the file of a redirection.
    fn redirect(&mut self, writes: bool) {
        while self.peek(0).is_some_and(|letter| matches!(letter, '>' | '|')) {
            self.at += 1;
        }
        if self.pending.replace(writes).is_some() {
            self.doubt(Doubt::Redirection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let plain = |command: Simple| command.words.into_iter().map(|word| word.text).collect();
        split(text).commands.into_iter().map(plain).collect()
    }

    #[test]
    fn words_are_what_a_shell_makes_of_them() {
        assert_eq!(words("a 'b c' \"d e\"f \\g"), [["a", "b c", "d ef", "g"]]);
        assert_eq!(words("a && b||c;d|e &f\ng"), [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]);
        assert_eq!(words("a 2>&1 b >/dev/null 2>/dev/null"), [["a", "b"]]);
        assert_eq!(words("r''m \"-r\"f"), [["rm", "-rf"]]);
        assert_eq!(words("a\\\nb"), [["ab"]]);
        assert_eq!(words("echo ''"), [["echo", ""]]);
        assert_eq!(words("a $(b c) `d`"), [vec!["a", "$"], vec!["b", "c"], vec!["d"]]);
    }

    #[test]
    fn certain_lines_have_no_doubts() {
        for text in [
            "ls -la | wc -l",
            "grep 'a$' \"b$\" x",
            "cargo test 2>&1 >/dev/null",
            "echo '$(x)' \\$y \"\\`\"",
            "a &",
            "git commit -m \"naïve — fix\"",
        ] {
            assert_eq!(split(text).doubts, [], "{text}");
        }
    }

    #[test]
    fn every_doubt_is_named() {
        for (text, doubt) in [
            ("echo $HOME", Doubt::Variable),
            ("echo \"$HOME\"", Doubt::Variable),
            ("echo $'a'", Doubt::Variable),
            ("echo $(date)", Doubt::Substitution),
            ("echo \"`date`\"", Doubt::Substitution),
            ("diff <(a) b", Doubt::ProcessSubstitution),
            ("cat <<E\nx\nE", Doubt::HereDocument),
            ("cat <<< x", Doubt::HereDocument),
            ("(ls)", Doubt::Group),
            ("{ ls; }", Doubt::Group),
            ("echo {a,b}", Doubt::Group),
            ("f() { ls; }", Doubt::Group),
            ("ls > out", Doubt::Redirection),
            ("ls >> out", Doubt::Redirection),
            ("ls &> out", Doubt::Redirection),
            ("ls >& out", Doubt::Redirection),
            ("ls >&1x", Doubt::Redirection),
            ("ls < in", Doubt::Redirection),
            ("ls >", Doubt::Redirection),
            ("ls > /dev/nullx", Doubt::Redirection),
            ("A=b ls", Doubt::Assignment),
            ("a[0]=b ls", Doubt::Assignment),
            ("for f in a; do ls; done", Doubt::Keyword),
            ("! ls", Doubt::Keyword),
            ("ls # x", Doubt::Comment),
            ("echo 'x", Doubt::Unclosed),
            ("echo \"x", Doubt::Unclosed),
            ("echo \\", Doubt::Unclosed),
            ("ls\rrm", Doubt::Invisible),
            ("ls \u{202e}x", Doubt::Invisible),
            ("ls \0", Doubt::Invisible),
            ("; ls", Doubt::Separator),
            ("a;; b", Doubt::Separator),
        ] {
            assert!(split(text).doubts.contains(&doubt), "{text}: {:?}", split(text));
        }
    }

    #[test]
    fn what_a_redirection_names_is_kept() {
        let line = split("echo x > ~/'a b'");
        let redirect = &line.commands[0].redirects[0];
        assert!(redirect.writes && redirect.target.tilde);
        assert_eq!(redirect.target.text, "~/a b");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

        /// Where there is no doubt, bash sees the same words.
        #[test]
        fn bash_agrees(arguments in "[ab '\"\\\\\t$!=#-]{0,24}") {
            let text = format!("printf '%s|' {arguments}");
            let line = split(&text);
            if let ([command], []) = (line.commands.as_slice(), line.doubts.as_slice()) {
                let Ok(output) = std::process::Command::new("bash").args(["-c", &text]).output() else { return Ok(()) };
                // Without a word `printf` prints its format once.
                let words: Vec<&str> = command.words.iter().skip(2).map(|word| word.text.as_str()).collect();
                let expected = if words.is_empty() { "|".to_string() } else { words.iter().map(|word| format!("{word}|")).collect() };
                proptest::prop_assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", text);
            }
        }
    }
}
