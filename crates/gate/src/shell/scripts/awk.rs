//! Programs of `awk`: `system`, pipes and `getline` run commands, `print >` writes files.

use super::super::run::InheritedIo;
use super::super::state::Shell;
use super::super::value::Word;
use super::{Effect, Options};

const OPTIONS: Options = Options {
    flags: "-b -c -C -g -h -L -M -n -N -O -P -r -s -S -t -V --characters-as-bytes --traditional --copyright --help --lint --bignum \
            --use-lc-numeric --non-decimal-data --optimize --posix --re-interval --no-optimize --sandbox --lint-old --csv --version",
    values: "-F -v --field-separator --assign",
    scripts: "-e --source",
    files: "-f --file",
    doubted: "-i -l -E -o -p -d -D -W --include --load --exec --pretty-print --profile --dump-variables --debug",
    suffixed: "",
};

impl Shell<'_> {
    pub(super) fn awk(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let found = OPTIONS.read(words);
        found.doubts.iter().for_each(|doubt| self.doubt(*doubt));
        let mut programs: Vec<String> = Vec::new();
        for file in &found.files {
            let Some(text) = self.script_in(file, around) else { return };
            programs.push(text);
        }
        let mut scripts: Vec<&Word> = found.scripts.iter().collect();
        if found.files.is_empty() && scripts.is_empty() {
            scripts.extend(found.operands.first());
        }
        for script in scripts {
            let Some(text) = self.script_text(script) else { return };
            programs.push(text);
        }
        for program in programs {
            let effects = read(&program);
            self.effects(base, effects);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token<'s> {
    Name(&'s str),
    Text(String),
    Number,
    Pattern,
    Sign(&'s str),
    End,
}

/// The effects of a program; a doubt where its tokens cannot be told apart.
fn read(program: &str) -> Vec<Effect> {
    let Some(tokens) = tokens(program) else {
        return vec![Effect::Doubt("a program of awk that cannot be read")];
    };
    let mut effects = Vec::new();
    // How deep in brackets the running `print` began, if one is running.
    let mut printing: Option<usize> = None;
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        let next = |ahead: usize| tokens.get(at + ahead);
        match token {
            Token::Name("print" | "printf") => printing = Some(depth),
            Token::Name("system") => {
                let command = match next(2) {
                    Some(Token::Text(text)) => text.clone(),
                    _ => String::new(),
                };
                effects.push(Effect::Run(command));
            }
            Token::Name("getline") => {
                let source = [1, 2].into_iter().find(|ahead| next(*ahead) == Some(&Token::Sign("<")));
                if let Some(ahead) = source {
                    effects.push(file(next(ahead + 1), next(ahead + 2), Effect::Read));
                }
            }
            Token::Name("ENVIRON") => {
                let plain = match (next(1), next(2), next(3)) {
                    (Some(Token::Sign("[")), Some(Token::Text(name)), Some(Token::Sign("]"))) => {
                        is_public(name)
                    }
                    _ => false,
                };
                if !plain {
                    effects.push(Effect::Doubt("a program of awk that reads the environment"));
                }
            }
            Token::Name("PROCINFO" | "SYMTAB" | "FUNCTAB" | "ARGV") => {
                effects.push(Effect::Doubt("a program of awk that changes how it runs"));
            }
            Token::Sign("@") => {
                effects.push(Effect::Doubt("a program of awk that loads code or calls by name"));
            }
            Token::Sign("|" | "|&") => {
                let before = at.checked_sub(1).and_then(|at| tokens.get(at));
                let command = match (next(1), before) {
                    (Some(Token::Text(text)), _)
                    | (Some(Token::Name("getline")), Some(Token::Text(text))) => text.clone(),
                    _ => String::new(),
                };
                effects.push(Effect::Run(command));
            }
            Token::Sign(">" | ">>") if printing == Some(depth) => {
                effects.push(file(next(1), next(2), Effect::Write));
            }
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Token::Sign("}") => {
                depth = depth.saturating_sub(1);
                printing = None;
            }
            Token::Sign(";") | Token::End => printing = None,
            _ => {}
        }
    }
    effects
}

/// A file that is named by a literal alone; any other name is not certain.
fn file(name: Option<&Token<'_>>, behind: Option<&Token<'_>>, effect: fn(String) -> Effect) -> Effect {
    let ends = matches!(behind, None | Some(Token::End | Token::Sign(";" | "}" | ")" | ">" | ">=")));
    match name {
        Some(Token::Text(name)) if ends => effect(name.clone()),
        _ => Effect::Doubt("a program of awk that opens a file which is not known"),
    }
}

/// A variable of the environment that holds no secret, by its name.
fn is_public(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    !["KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "PAT", "URL"].iter().any(|part| name.contains(part))
}

fn tokens(program: &str) -> Option<Vec<Token<'_>>> {
    const SIGNS: [&str; 12] = ["||", "|&", ">>", "&&", "==", "!=", "<=", ">=", "+=", "++", "--", "!~"];
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut rest = program;
    while let Some(char) = rest.chars().next() {
        match char {
            '\n' => found.push(Token::End),
            '#' => {
                rest = rest.find('\n').and_then(|at| rest.get(at..)).unwrap_or_default();
                continue;
            }
            '\\' => {
                // A line is continued.
                rest = rest.strip_prefix("\\\r\n").or_else(|| rest.strip_prefix("\\\n"))?;
                continue;
            }
            char if char.is_whitespace() => {}
            '"' => {
                let (text, behind) = quoted(rest.get(1..)?, '"')?;
                found.push(Token::Text(super::super::text::ansi_c(text)));
                rest = behind;
                continue;
            }
            '/' if begins_pattern(found.last()) => {
                let (_, behind) = pattern(rest.get(1..)?)?;
                found.push(Token::Pattern);
                rest = behind;
                continue;
            }
            '0'..='9' | '.' => {
                let end = rest
                    .find(|char: char| !char.is_ascii_alphanumeric() && char != '.')
                    .unwrap_or(rest.len());
                found.push(Token::Number);
                rest = rest.get(end..)?;
                continue;
            }
            char if char.is_ascii_alphabetic() || char == '_' => {
                let end = rest
                    .find(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '_' | ':'))
                    .unwrap_or(rest.len());
                // `a ? b : c` has colons, too; `awk::system` is one name.
                let name = rest.get(..end)?;
                let end = if name.contains("::") { end } else { name.find(':').unwrap_or(end) };
                let name = rest.get(..end)?;
                found.push(Token::Name(name.rsplit("::").next().unwrap_or(name)));
                rest = rest.get(end..)?;
                continue;
            }
            _ => {
                if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                    found.push(Token::Sign(sign));
                    rest = rest.get(sign.len()..)?;
                    continue;
                }
                found.push(Token::Sign(rest.get(..char.len_utf8())?));
            }
        }
        rest = rest.get(char.len_utf8()..)?;
    }
    found.push(Token::End);
    Some(found)
}

/// Is a slash behind this token the beginning of a pattern, not a division?
fn begins_pattern(before: Option<&Token<'_>>) -> bool {
    match before {
        None | Some(Token::End) => true,
        Some(Token::Name(name)) => matches!(
            *name,
            "print"
                | "printf"
                | "return"
                | "in"
                | "else"
                | "do"
                | "case"
                | "BEGIN"
                | "END"
                | "delete"
                | "exit"
        ),
        Some(Token::Text(_) | Token::Number | Token::Pattern) => false,
        Some(Token::Sign(sign)) => !matches!(*sign, ")" | "]" | "++" | "--" | "$"),
    }
}

fn quoted(text: &str, end: char) -> Option<(&str, &str)> {
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next()?;
            }
            '\n' => return None,
            char if char == end => return Some((text.get(..at)?, text.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// A pattern up to its slash; one in a bracket expression is text.
fn pattern(text: &str) -> Option<(&str, &str)> {
    let mut bracket = None;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next()?;
            }
            '\n' => return None,
            // Not every awk knows brackets: what follows a slash inside of one would be code to another.
            '/' if bracket.is_some() => return None,
            '/' => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '[' if bracket.is_none() => bracket = Some(at),
            ']' if bracket.is_some_and(|open| at > open + 1 && text.get(open + 1..at) != Some("^")) => {
                bracket = None;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_programs_of_awk_are_read() {
        for program in [
            "{print $1}",
            "NR==5",
            "{s+=$2} END {print s}",
            "/start/{f=1} f{print} /end/{f=0}",
            "!seen[$0]++",
            "{ if ($3 > 10) print $0 }",
            "BEGIN {printf \"%.2f\\n\", 10/3}",
            "{gsub(/foo|bar/, \"x > y\"); print}",
            "$1 > 5",
            "{print (a > b) ? a : b}",
            "{print $1/$2}",
            "a || b",
            "# comment | sh\n{print}",
            "{print ENVIRON[\"HOME\"]}",
            "{while ((getline line) > 0) n++}",
            "{print a[$1]/2}",
            "$0 ~ /a[|]b/ {print}",
            "{x = $1 > 3; print x}",
        ] {
            assert_eq!(read(program), [], "{program}");
        }
        for program in [
            "BEGIN{system(\"id\")}",
            "BEGIN{\"id\"|getline x}",
            "{print | \"sh\"}",
            "BEGIN{ print \"id\" |& \"sh\" }",
            "{c | getline r}",
            "BEGIN { system (\"id\") }",
            "{print a / b; print \"/\" | \"sh\"}",
            "BEGIN{awk::system(\"id\")}",
        ] {
            assert!(
                read(program).iter().any(|effect| matches!(effect, Effect::Run(_))),
                "{program}: {:?}",
                read(program)
            );
        }
        assert_eq!(read("{print > \"out.txt\"}"), [Effect::Write("out.txt".into())]);
        assert_eq!(read("BEGIN{while((getline l < \"a\")>0) n++}"), [Effect::Read("a".into())]);
        for program in [
            "{print > $2}",
            "{print > out}",
            "{print >> \"a\" $1}",
            "BEGIN{f=\"x\"; @f(1)}",
            "@load \"x\"",
            "BEGIN{for(k in ENVIRON) print k}",
            "BEGIN{ARGV[1]=\"x\"}",
            "{print \"a}",
            "{print ENVIRON[\"API_KEY\"]}",
        ] {
            assert!(
                read(program).iter().any(|effect| matches!(effect, Effect::Doubt(_))),
                "{program}: {:?}",
                read(program)
            );
        }
    }
}
