//! Tokens of inline code, for languages that resemble each other enough.
//!
//! The lexer gives up (`None`) wherever two readings are possible, because a quote that only one of them sees can hide
//! code in a string: heredocs, `/` that may divide or begin a regex, characters outside of ASCII, carriage returns.
//! Code inside of a string (`f"{x}"`, `${x}`, `#{x}`) becomes tokens between `⟦` and `⟧` behind the string.

use super::quotes;

/// How a language is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name without a sigil: a variable, a function, a keyword.
    Name(&'a str),
    /// A variable with its sigil: `$x`, `@x`, `%x`.
    Variable(&'a str),
    Number,
    /// A string. `exact`: its text is its value, without escapes and without code inside.
    Text {
        text: &'a str,
        exact: bool,
    },
    /// A regex, or words of which none is code.
    Pattern,
    /// Perl's `<STDIN>`, with the text between the brackets.
    Diamond(&'a str),
    /// A symbol of Ruby: `:name`.
    Symbol(&'a str),
    Operator(&'a str),
}

/// Operators of more than one character that must not be taken apart.
const OPERATORS: [&str; 30] = [
    "<=>", "===", "!==", "...", "**=", "->", "=>", "==", "!=", "<=", ">=", "::", "?.", "&.", ":=", "<-",
    "=~", "!~", "++", "--", "&&", "||", "..", "**", "//", "??", "+=", "-=", "<<", ">>",
];

pub(super) struct Lexer<'a> {
    pub(super) code: &'a str,
    pub(super) at: usize,
    pub(super) syntax: Syntax,
    pub(super) tokens: Vec<Token<'a>>,
    /// How deep this is in code inside of strings.
    depth: usize,
}

/// How deep code inside of strings is followed.
const MAX_STRING_DEPTH: usize = 4;

/// The tokens of a program, if it can be read in one way only.
pub(super) fn tokens(code: &str, syntax: Syntax) -> Option<Vec<Token<'_>>> {
    let escapes = match syntax {
        // HTML comments of JavaScript, the end of PHP.
        Syntax::JavaScript => code.contains("<!--") || code.contains("-->"),
        Syntax::Php => code.contains("?>") || code.contains("<<<"),
        // Documentation between the lines.
        Syntax::Perl | Syntax::Ruby => code.lines().any(is_documentation),
        Syntax::Python | Syntax::Lua | Syntax::R => false,
    };
    if escapes || code.contains(['\r', '\0', '\u{2028}', '\u{2029}']) {
        return None;
    }
    nested_tokens(code, syntax, 0)
}

fn is_documentation(line: &str) -> bool {
    line.strip_prefix('=').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_alphabetic()))
}

fn nested_tokens(code: &str, syntax: Syntax, depth: usize) -> Option<Vec<Token<'_>>> {
    if depth > MAX_STRING_DEPTH {
        return None;
    }
    let mut lexer = Lexer { code, at: 0, syntax, tokens: Vec::new(), depth };
    while lexer.at < code.len() {
        lexer.step()?;
    }
    Some(lexer.tokens)
}

pub(super) fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

impl<'a> Lexer<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.code.get(self.at..).unwrap_or_default()
    }

    fn before(&self) -> Option<char> {
        self.code.get(..self.at)?.chars().next_back()
    }

    pub(super) fn push(&mut self, token: Token<'a>, length: usize) -> Option<()> {
        self.tokens.push(token);
        self.at += length;
        Some(())
    }

    /// Adds code that stands inside of a string.
    pub(super) fn splice(&mut self, code: &'a str) -> Option<()> {
        let inner = nested_tokens(code, self.syntax, self.depth + 1)?;
        self.tokens.push(Token::Operator("⟦"));
        self.tokens.extend(inner);
        self.tokens.push(Token::Operator("⟧"));
        Some(())
    }

    /// Whether a value ends here, so that an operator follows rather than a value.
    pub(super) fn is_behind_value(&self) -> bool {
        match self.tokens.last() {
            None => false,
            Some(Token::Operator(operator)) => matches!(*operator, ")" | "]" | "}" | "⟧"),
            Some(_) => true,
        }
    }

    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if first == '\n' {
            return self.push(Token::Operator("\n"), 1);
        }
        if first.is_ascii_whitespace() {
            self.at += 1;
            return Some(());
        }
        if !first.is_ascii() {
            return None;
        }
        if first == '\\' {
            // A line that is continued; otherwise an escape in a name, or a reference of Perl.
            return match rest.as_bytes().get(1) {
                Some(b'\n') => {
                    self.at += 2;
                    Some(())
                }
                _ => None,
            };
        }
        if self.skip_comment()? {
            return Some(());
        }
        if first.is_ascii_digit()
            || first == '.'
                && !self.is_behind_value()
                && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
        {
            return self.number();
        }
        if self.special(first)? {
            return Some(());
        }
        if first.is_ascii_alphabetic() || first == '_' || first == '$' && self.syntax == Syntax::JavaScript {
            return self.name();
        }
        if matches!(first, '"' | '\'' | '`') {
            return self.string(false, false);
        }
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
        let length = operator.map_or(1, |operator| operator.len());
        self.push(Token::Operator(rest.get(..length)?), length)
    }

    /// Reads what only this language has; false if nothing of it is here.
    fn special(&mut self, first: char) -> Option<bool> {
        let rest = self.rest();
        let syntax = self.syntax;
        let quoted = match syntax {
            Syntax::Perl => quotes::perl(self)?,
            Syntax::Ruby => quotes::ruby(self)?,
            _ => false,
        };
        let slashes = matches!(syntax, Syntax::JavaScript | Syntax::Perl | Syntax::Ruby) && first == '/';
        if quoted || slashes && self.slash()? {
            return Some(true);
        }
        match (syntax, first) {
            (Syntax::Php, '$') => self.php_variable()?,
            (Syntax::Lua, '[') if rest.starts_with("[=") => return None,
            (Syntax::Lua, '[') if rest.starts_with("[[") => {
                let text = rest.get(2..)?.split_once("]]")?.0;
                self.push(Token::Text { text, exact: true }, text.len() + 4)?;
            }
            (Syntax::R, '%') => {
                let length = rest.get(1..)?.find('%')? + 2;
                self.push(Token::Operator("%%"), length)?;
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// Skips a comment; `None` where it may end elsewhere than it seems to.
    fn skip_comment(&mut self) -> Option<bool> {
        let rest = self.rest();
        let hash =
            matches!(self.syntax, Syntax::Python | Syntax::Perl | Syntax::Ruby | Syntax::Php | Syntax::R);
        let slashes = matches!(self.syntax, Syntax::JavaScript | Syntax::Php);
        if slashes && rest.starts_with("/*") {
            self.at += rest.get(2..)?.find("*/")? + 4;
            return Some(true);
        }
        if self.syntax == Syntax::Lua && rest.starts_with("--[") {
            return None;
        }
        let begins = hash && rest.starts_with('#')
            || slashes && rest.starts_with("//")
            || self.syntax == Syntax::Lua && rest.starts_with("--");
        if !begins {
            return Some(false);
        }
        let comment = rest.split('\n').next()?;
        // A declared encoding changes what the bytes of the program mean.
        if comment.contains("coding") && !comment.contains("utf-8") {
            return None;
        }
        self.at += comment.len();
        Some(true)
    }

    fn number(&mut self) -> Option<()> {
        let rest = self.rest();
        let ends = |char: char| !(is_word(char) || char == '.');
        let mut length = rest.find(ends).unwrap_or(rest.len());
        // `1..5` is a range, `3.times` a method.
        if let Some(dot) = rest.get(..length)?.find('.')
            && !rest.get(dot + 1..length)?.starts_with(|char: char| char.is_ascii_digit())
        {
            length = if rest.get(dot + 1..length)?.is_empty() { dot + 1 } else { dot };
        }
        self.push(Token::Number, length.max(1))
    }

    fn name(&mut self) -> Option<()> {
        let rest = self.rest();
        let part = |char: char| {
            is_word(char)
                || char == '$' && self.syntax == Syntax::JavaScript
                || char == '.' && self.syntax == Syntax::R
        };
        let mut length = rest.find(|char: char| !part(char)).unwrap_or(rest.len());
        // `List::Util` is one name.
        while self.syntax == Syntax::Perl
            && let Some(more) =
                rest.get(length..)?.strip_prefix("::").filter(|more| more.starts_with(is_word))
        {
            length += 2 + more.find(|char: char| !is_word(char)).unwrap_or(more.len());
        }
        let after = rest.get(length..)?;
        match self.syntax {
            Syntax::Python if after.starts_with(['"', '\'']) => {
                let prefix = rest.get(..length)?.to_ascii_lowercase();
                if !matches!(prefix.as_str(), "r" | "b" | "u" | "f" | "rb" | "br" | "fr" | "rf") {
                    // `in"x"`: a keyword right before a string.
                    return self.push(Token::Name(rest.get(..length)?), length);
                }
                self.at += length;
                return self.string(prefix.contains('r'), prefix.contains('f'));
            }
            Syntax::R if after.starts_with(['"', '\'']) => return None,
            Syntax::Ruby if after.starts_with(['?', '!']) && !after.starts_with("!=") => length += 1,
            _ => {}
        }
        self.push(Token::Name(rest.get(..length)?), length)
    }

    fn php_variable(&mut self) -> Option<()> {
        let rest = self.rest();
        let name = rest.get(1..)?;
        let length = name.find(|char: char| !is_word(char)).unwrap_or(name.len());
        (length > 0).then_some(())?;
        self.push(Token::Variable(rest.get(..=length)?), length + 1)
    }

    /// A string in quotes; `raw` without escapes, `formatted` with code between braces.
    fn string(&mut self, raw: bool, formatted: bool) -> Option<()> {
        let rest = self.rest();
        let quote = rest.get(..1)?;
        let triple = quote.repeat(3);
        let long = self.syntax == Syntax::Python && rest.starts_with(&triple);
        let close = if long { triple.as_str() } else { quote };
        match (self.syntax, quote) {
            (Syntax::JavaScript, "`") => {}
            (_, "`") => return None,
            _ => {}
        }
        let body = rest.get(close.len()..)?;
        let length = quotes::find_end(body, close, quotes::code_opener(self.syntax, quote))?;
        let text = body.get(..length)?;
        let single_line = matches!(self.syntax, Syntax::Python | Syntax::JavaScript | Syntax::Lua);
        if single_line && !long && quote != "`" && text.replace("\\\n", "").contains('\n') {
            return None;
        }
        let interpolated = match self.syntax {
            Syntax::Python => formatted && text.contains(['{', '}']),
            Syntax::JavaScript => quote == "`" && text.contains("${"),
            Syntax::Ruby => quote == "\"" && text.contains('#'),
            Syntax::Perl | Syntax::Php => quote == "\"" && text.contains(['$', '@']),
            Syntax::Lua | Syntax::R => false,
        };
        let exact = !interpolated && (raw || !text.contains('\\'));
        self.push(Token::Text { text, exact }, text.len() + 2 * close.len())?;
        if interpolated { quotes::splice_code(self, text) } else { Some(()) }
    }

    /// A regex where a value is expected; false where `/` divides.
    fn slash(&mut self) -> Option<bool> {
        let rest = self.rest();
        let line = rest.get(1..)?.split('\n').next()?;
        let regex = match self.tokens.last() {
            None => true,
            Some(Token::Name(name)) => {
                if quotes::takes_regex(name, self.syntax) {
                    true
                } else if self.syntax == Syntax::JavaScript || !line.contains('/') {
                    false
                } else {
                    return None;
                }
            }
            Some(Token::Operator(")" | "}" | "⟧" | "++" | "--")) => {
                let divides = self.syntax != Syntax::JavaScript && self.before() != Some('}');
                if line.contains('/') && !divides {
                    return None;
                }
                false
            }
            Some(Token::Operator("]")) => false,
            Some(Token::Operator(_)) => true,
            Some(_) => false,
        };
        if !regex {
            return Some(false);
        }
        quotes::regex(self, 1)?;
        Some(true)
    }
}
