//! Paths that inline code reads, as far as they can be read off the code.

use super::Program;
use super::lexer::{Syntax, Token};
use super::scope::{closing, opening};
use super::table::lists;

/// How often a name may stand for another one.
const MAX_NAME_DEPTH: usize = 3;

/// What is known of a path.
#[derive(Default)]
struct PathParts {
    texts: Vec<String>,
    from_arguments: bool,
}

impl Program<'_> {
    /// The arguments of a function that reads a file: the path, then a mode that does not write.
    pub(super) fn read_argument(&mut self, at: usize) -> Option<()> {
        let open = self.is(at, "(");
        let start = at + usize::from(open);
        let end = if open { closing(&self.tokens, at)? } else { self.statement_end(start) };
        let comma = self.expression_end(start).min(end);
        self.read_path(start, comma)?;
        self.modes(comma, end)
    }

    /// The first argument of a function of a package that reads a file.
    pub(super) fn read_first_argument(&mut self, open: usize) -> Option<()> {
        let end = closing(&self.tokens, open)?;
        self.read_path(open + 1, self.expression_end(open + 1).min(end))
    }

    /// The object before a method that reads the file that it stands for: `Path("x").read_text()`.
    pub(super) fn read_receiver(&mut self, at: usize) -> Option<()> {
        let end = at.checked_sub(1)?;
        let last = end.checked_sub(1)?;
        let mut start = if self.is(last, ")") { opening(&self.tokens, last)? } else { last };
        while let Some(before) = start.checked_sub(1) {
            let chained = matches!(self.get(before), Some(Token::Name(_))) && self.is(start, "(")
                || self.is(before, ".");
            let name = matches!(self.get(start), Some(Token::Operator(".")))
                && matches!(self.get(before), Some(Token::Name(_)));
            if chained || name {
                start = before;
            } else if self.is(before, ")") && self.is(start, ".") {
                start = opening(&self.tokens, before)?;
            } else {
                break;
            }
        }
        self.read_path(start, end)
    }

    /// Notes the path that an expression stands for.
    fn read_path(&mut self, start: usize, end: usize) -> Option<()> {
        let mut parts = PathParts::default();
        self.path_parts(start, end, 0, &mut parts)?;
        self.harmless.reads_arguments |= parts.from_arguments;
        if parts.texts.len() > 1 {
            let joined = parts.texts.join("/");
            self.harmless.reads.push(joined);
        }
        self.harmless.reads.append(&mut parts.texts);
        Some(())
    }

    fn path_parts(&self, start: usize, end: usize, depth: usize, parts: &mut PathParts) -> Option<()> {
        (start < end && depth <= MAX_NAME_DEPTH).then_some(())?;
        for at in start..end {
            match self.get(at)? {
                Token::Text { text, exact: true } => {
                    // Strings that stand side by side are one string.
                    if matches!(self.get(at + 1), Some(Token::Text { .. })) {
                        return None;
                    }
                    parts.texts.push(text.to_string());
                }
                // A dot joins strings in some languages.
                Token::Operator(".") => {
                    matches!(self.get(at + 1), Some(Token::Name(_))).then_some(())?;
                }
                Token::Number | Token::Operator("(" | ")" | "," | "[" | "]" | "\n") => {}
                Token::Name(name) if lists(self.row.paths, name) => {
                    parts.from_arguments |= name == "argv" || name == "ARGV";
                }
                Token::Name(name) if !self.is_accessor(self.before(at)) => {
                    self.bindings(name, depth, parts)?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Everything that a name is bound to must be a path as well.
    fn bindings(&self, name: &str, depth: usize, parts: &mut PathParts) -> Option<()> {
        // Parameters hide names, and what a function is called with is not followed.
        let functions = ["def", "lambda", "function", "case", "class", "global", "nonlocal"];
        let has_functions = self.tokens.iter().any(|token| match token {
            Token::Name(name) => functions.contains(name),
            token => *token == Token::Operator("=>"),
        });
        if has_functions || !matches!(self.row.syntax, Syntax::Python | Syntax::JavaScript) {
            return None;
        }
        let mut found = false;
        for at in 0..self.tokens.len() {
            if self.get(at) == Some(Token::Name(name))
                && !self.is_accessor(self.before(at))
                && self.is_bound(at)?
            {
                found = true;
                self.path_parts(at + 2, self.expression_end(at + 2), depth + 1, parts)?;
            }
        }
        found.then_some(())
    }

    /// Whether a name gets a value here; `None` where it is bound or changed in a way that is not followed.
    fn is_bound(&self, at: usize) -> Option<bool> {
        let before = self.before(at);
        if matches!(before, Some(Token::Name("as"))) {
            return None;
        }
        match self.get(at + 1) {
            Some(Token::Operator("=" | ":=")) => (before != Some(Token::Operator(","))).then_some(true),
            Some(Token::Name("in" | "of")) => match before {
                Some(Token::Name("for" | "const" | "let" | "var") | Token::Operator("(")) => Some(true),
                Some(Token::Operator(",")) => None,
                _ => Some(false),
            },
            Some(Token::Operator("+=" | "-=" | "**=" | "++" | "--")) => None,
            Some(Token::Operator(":")) if matches!(before, None | Some(Token::Operator(";" | "\n"))) => None,
            Some(Token::Operator("," | ")" | "]" | "}")) if self.is_target_list(at) => None,
            Some(Token::Operator(_)) if self.is(at + 2, "=") => None,
            _ => Some(false),
        }
    }

    /// Whether names between commas are assigned to.
    fn is_target_list(&self, at: usize) -> bool {
        let rest = self.tokens.get(at..).unwrap_or_default();
        let skipped = |token: &&Token<'_>| match token {
            Token::Name(name) => !matches!(*name, "in" | "of"),
            Token::Operator(operator) => matches!(*operator, "," | ")" | "]" | "}" | "*"),
            _ => false,
        };
        let end = rest.iter().find(|token| !skipped(token));
        matches!(end, Some(Token::Operator("=") | Token::Name("in" | "of")))
    }

    /// Where an expression ends: at a comma, a closing bracket or the end of the statement.
    pub(super) fn expression_end(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        for at in start..self.tokens.len() {
            match self.get(at) {
                Some(Token::Operator("(" | "[" | "{")) => depth += 1,
                Some(Token::Operator(")" | "]" | "}" | "⟧")) => match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => return at,
                },
                Some(Token::Operator("," | ";" | "\n")) if depth == 0 => return at,
                Some(Token::Operator(":")) if depth == 0 && self.row.syntax != Syntax::R => return at,
                Some(Token::Name("for" | "if" | "do")) if depth == 0 => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    fn statement_end(&self, start: usize) -> usize {
        let mut end = self.expression_end(start);
        while self.is(end, ",") {
            end = self.expression_end(end + 1);
        }
        end
    }

    /// What stands behind the path: an encoding, or a mode that reads.
    fn modes(&self, comma: usize, end: usize) -> Option<()> {
        let mut at = comma;
        while at < end {
            match self.get(at)? {
                Token::Operator("," | "{" | "}" | ":" | "=" | "=>" | "\n") | Token::Number => {}
                Token::Name(
                    "encoding" | "errors" | "newline" | "mode" | "None" | "true" | "flag" | "header" | "sep"
                    | "null" | "chomp" | "stringsAsFactors" | "FALSE" | "TRUE" | "symbolize_names",
                ) => {}
                Token::Text { text, exact: true } if !self.is_joined(at) => {
                    matches!(
                        text,
                        "r" | "rb"
                            | "rt"
                            | "br"
                            | "utf8"
                            | "utf-8"
                            | "UTF-8"
                            | "utf-8-sig"
                            | "ascii"
                            | "latin-1"
                            | "latin1"
                            | "ignore"
                            | "replace"
                            | "strict"
                            | "base64"
                            | "hex"
                            | "binary"
                            | ""
                            | ","
                    )
                    .then_some(())?;
                }
                _ => return None,
            }
            at += 1;
        }
        Some(())
    }
}
