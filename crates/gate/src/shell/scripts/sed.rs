//! Scripts of `sed`: `e` and `s///e` run commands, `w` and `r` write and read files.

use super::super::run::InheritedIo;
use super::super::state::Shell;
use super::super::value::Word;
use super::{Effect, Options};

const OPTIONS: Options = Options {
    flags: "-n -E -r -s -u -z -a -b -H -x --quiet --silent --regexp-extended --separate --unbuffered --null-data --zero-terminated --posix \
            --debug --sandbox --follow-symlinks --binary --version --help",
    values: "-l --line-length",
    scripts: "-e --expression",
    files: "-f --file",
    doubted: "",
    suffixed: "-i -I --in-place",
};

/// Commands without an argument.
const PLAIN: &str = "=dDgGhHnNpPxzF";

impl Shell<'_> {
    pub(super) fn sed(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let found = OPTIONS.read(words);
        found.doubts.iter().for_each(|doubt| self.doubt(*doubt));
        let mut lines: Vec<String> = Vec::new();
        for script in &found.scripts {
            let Some(text) = self.script_text(script) else { return };
            lines.push(text);
        }
        for file in &found.files {
            let Some(text) = self.script_in(file, around) else { return };
            lines.push(text);
        }
        if found.scripts.is_empty() && found.files.is_empty() {
            let Some(script) = found.operands.first() else { return };
            let Some(text) = self.script_text(script) else { return };
            lines.push(text);
            // Where `-i` takes the next word, an empty one stands before the script.
            if let (true, Some(second)) = (script.is(""), found.operands.get(1)) {
                let Some(text) = self.script_text(second) else { return };
                lines.push(text);
            }
        }
        let effects = read(&lines.join("\n"));
        self.effects(base, effects);
    }
}

/// The effects of a script. Two generations of `sed` end a pattern at different places, so it is read in both ways.
fn read(script: &str) -> Vec<Effect> {
    let readings =
        [true, false].map(|brackets| Script { rest: script, brackets, effects: Vec::new() }.read());
    let known: Vec<Vec<Effect>> = readings.into_iter().flatten().collect();
    if known.is_empty() {
        return vec![Effect::Doubt("a script of sed that cannot be read")];
    }
    let mut effects: Vec<Effect> = known.into_iter().flatten().collect();
    effects.dedup();
    effects
}

struct Script<'s> {
    rest: &'s str,
    /// Whether a delimiter in a bracket expression is text.
    brackets: bool,
    effects: Vec<Effect>,
}

impl<'s> Script<'s> {
    fn read(mut self) -> Option<Vec<Effect>> {
        loop {
            self.rest =
                self.rest.trim_start_matches(|char: char| char.is_whitespace() || matches!(char, ';' | '}'));
            if self.rest.is_empty() {
                return Some(self.effects);
            }
            self.address()?;
            self.blanks();
            if self.take(',') {
                self.blanks();
                if !self.take('+') {
                    self.take('~');
                }
                self.address()?;
                self.blanks();
            }
            while self.take('!') {
                self.blanks();
            }
            self.command()?;
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.rest = self.rest.get(char.len_utf8()..)?;
        Some(char)
    }

    fn take(&mut self, char: char) -> bool {
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn digits(&mut self) {
        self.rest = self.rest.trim_start_matches(|char: char| char.is_ascii_digit());
    }

    /// Up to the end of the line.
    fn line(&mut self) -> &'s str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    /// A number, `$`, or a pattern, if there is one.
    fn address(&mut self) -> Option<()> {
        match self.peek() {
            Some('0'..='9') => {
                self.digits();
                if self.take('~') {
                    self.digits();
                }
            }
            Some('$') => {
                self.next();
            }
            Some('/') => {
                self.next();
                self.until('/', true)?;
                self.rest = self.rest.trim_start_matches(['I', 'M']);
            }
            Some('\\') => {
                self.next();
                let delimiter = self.next()?;
                self.until(delimiter, true)?;
                self.rest = self.rest.trim_start_matches(['I', 'M']);
            }
            _ => {}
        }
        Some(())
    }

    /// Text up to a delimiter that no backslash hides.
    fn until(&mut self, delimiter: char, pattern: bool) -> Option<()> {
        while let Some(char) = self.next() {
            if char == delimiter {
                return Some(());
            }
            if char == '\\' {
                self.next()?;
            } else if char == '[' && pattern && self.brackets {
                self.bracket()?;
            }
        }
        None
    }

    /// `[…]`, whose first character may be a closing bracket.
    fn bracket(&mut self) -> Option<()> {
        self.take('^');
        self.take(']');
        loop {
            match self.next()? {
                ']' => return Some(()),
                '[' if matches!(self.peek(), Some(':' | '.' | '=')) => {
                    let kind = self.next()?;
                    let (_, rest) = self.rest.split_once(&format!("{kind}]"))?;
                    self.rest = rest;
                }
                _ => {}
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        let command = self.next()?;
        match command {
            '{' => return Some(()),
            '#' => {
                self.line();
                return Some(());
            }
            ':' => {
                self.label();
                return Some(());
            }
            'b' | 't' | 'T' => self.label(),
            'q' | 'Q' | 'l' | 'L' => {
                self.blanks();
                self.digits();
            }
            'a' | 'i' | 'c' => {
                self.text();
                return Some(());
            }
            'r' | 'R' => {
                let file = self.line().trim().to_string();
                self.effects.push(Effect::Read(file));
                return Some(());
            }
            'w' | 'W' => {
                let file = self.line().trim().to_string();
                self.effects.push(Effect::Write(file));
                return Some(());
            }
            'e' => {
                let command = self.line().trim().to_string();
                self.effects.push(Effect::Run(command));
                return Some(());
            }
            'v' => self.label(),
            's' => {
                let delimiter = self.next().filter(|char| !matches!(char, '\n' | '\\'))?;
                self.until(delimiter, true)?;
                self.until(delimiter, false)?;
                self.substitution_flags()?;
            }
            'y' => {
                let delimiter = self.next().filter(|char| !matches!(char, '\n' | '\\'))?;
                self.until(delimiter, false)?;
                self.until(delimiter, false)?;
            }
            command if PLAIN.contains(command) => {}
            _ => return None,
        }
        self.blanks();
        matches!(self.peek(), None | Some(';' | '}' | '\n' | '#')).then_some(())
    }

    fn label(&mut self) {
        let end = self.rest.find([';', '\n', '}']).unwrap_or(self.rest.len());
        self.rest = self.rest.get(end..).unwrap_or_default();
    }

    /// The text of `a`, `i`, `c`: lines that end in a backslash go on.
    fn text(&mut self) {
        self.blanks();
        loop {
            let line = self.line();
            if !line.ends_with('\\') || self.rest.is_empty() {
                return;
            }
        }
    }

    fn substitution_flags(&mut self) -> Option<()> {
        while let Some(flag) = self.peek() {
            match flag {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {
                    self.next();
                }
                'e' => {
                    self.next();
                    self.effects.push(Effect::Run(String::new()));
                }
                'w' => {
                    self.next();
                    let file = self.line().trim().to_string();
                    self.effects.push(Effect::Write(file));
                    return Some(());
                }
                _ => return Some(()),
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_scripts_of_sed_are_read() {
        for script in [
            "1,5p",
            "s/a/b/g",
            "s|/old|/new|;s,x,y,2",
            "/^fn main/,/^}/p",
            "$d",
            "$!N;s/\\n/ /",
            "1i\\header",
            "a text; e id",
            ":a;N;$!ba;s/\\n/,/g",
            "y/abc/xyz/",
            "/x/!d",
            "/ERROR/{p;n;p}",
            "s/[/]/x/",
            "0~3d",
            "1,+2d",
            "\\,x,d",
            "5q",
            "s/a\\/b/c/",
            "# comment\np",
            "s/[^]/]*//",
            "2{h;d};${G;p}",
            "s/a/b\\\nc/",
            "/[[:space:]]*$/s///",
            "",
        ] {
            assert_eq!(read(script), [], "{script}");
        }
        for script in [
            "e id",
            "1e id",
            "$!{$!N;e id}",
            ":a;e id;ba",
            "/x/,/y/e id",
            "y/a/b/;e id",
            "s/[/]/x/;e id",
            "s/a/b/e",
            "s,a,b,Ie",
            "1!e",
            "\\,x,e id",
            "/x/I e id",
            "v 4.2;e id",
            "a\\\nx\ne id",
            "s/a/b/;s/c/d/2e",
        ] {
            assert!(
                read(script).iter().any(|effect| matches!(effect, Effect::Run(_))),
                "{script}: {:?}",
                read(script)
            );
        }
        assert_eq!(read("w out.txt"), [Effect::Write("out.txt".into())]);
        assert_eq!(read("s/a/b/pw /x y"), [Effect::Write("/x y".into())]);
        assert_eq!(read("/a/r.env"), [Effect::Read(".env".into())]);
        for script in ["s/a/b", "k", "1{p;E id", "s/a/b/x"] {
            assert!(matches!(read(script).as_slice(), [Effect::Doubt(_)]), "{script}: {:?}", read(script));
        }
    }
}
