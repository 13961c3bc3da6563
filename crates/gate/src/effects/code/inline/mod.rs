//! Inline code of interpreters: allowed only if all of it is known to be harmless.
//!
//! The code is read as tokens. Every module that it imports, every attribute that it uses and every name of the language
//! must be listed in `data/inline_code.toml`; a name that runs, writes or sends is doubted wherever it stands, called or
//! not, so that no alias of it gets through. Files are opened only by paths that can be read off, which are then judged
//! like the paths of any other command.
//!
//! Limits: no types are known, so an attribute is harmless only if it is so for every value that the listed names can
//! produce. What a package of the project offers is not known; there, only names that tell what they do are doubted.

mod lexer;
mod paths;
mod quotes;
mod scope;
mod table;

use crate::secrets::is_secret_variable;
use lexer::{Syntax, Token};
use scope::{Scope, closing, is_function, opening};
use table::{Language, is_acting_name, is_reading_name, lists};

/// What harmless code does beside computing and printing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Harmless {
    /// Paths, and patterns of paths, that it reads.
    pub(super) reads: Vec<String>,
    /// Whether it reads files that its arguments name.
    pub(super) reads_arguments: bool,
}

/// Code that is longer than this is not read.
pub(super) const MAX_CODE_BYTES: usize = 4_000;

/// Reads a program; `None` if something in it is not known to be harmless.
pub(super) fn read(language: &str, code: &str) -> Option<Harmless> {
    let row = table::find(language).filter(|_| code.len() <= MAX_CODE_BYTES)?;
    if language == "ipython" && has_magic(code) {
        return None;
    }
    let mut tokens = lexer::tokens(code, row.syntax)?;
    // A statement of JavaScript continues in the next line wherever it can.
    if row.syntax == Syntax::JavaScript {
        tokens.retain(|token| *token != Token::Operator("\n"));
    }
    let mut scope = scope::read(&tokens, row)?;
    let harmless = Harmless { reads: std::mem::take(&mut scope.reads), reads_arguments: false };
    let mut program = Program { tokens, row, scope, harmless };
    for at in 0..program.tokens.len() {
        program.token(at)?;
    }
    program.perl_arguments()?;
    Some(program.harmless)
}

/// Whether IPython may take a part of the code for a command of its own: `!id`, `%system id`, `,f x`.
fn has_magic(code: &str) -> bool {
    code.contains(['!', '%', '?']) || code.lines().any(|line| line.trim_start().starts_with([',', ';', '/']))
}

/// A program while it is read. Its methods answer `None` for what is not known to be harmless.
struct Program<'a> {
    tokens: Vec<Token<'a>>,
    row: &'static Language,
    scope: Scope<'a>,
    harmless: Harmless,
}

impl<'a> Program<'a> {
    fn get(&self, at: usize) -> Option<Token<'a>> {
        self.tokens.get(at).copied()
    }

    fn before(&self, at: usize) -> Option<Token<'a>> {
        at.checked_sub(1).and_then(|at| self.get(at))
    }

    fn is(&self, at: usize, operator: &str) -> bool {
        matches!(self.get(at), Some(Token::Operator(own)) if own == operator)
    }

    fn is_accessor(&self, token: Option<Token<'_>>) -> bool {
        let Some(Token::Operator(operator)) = token else { return false };
        match self.row.syntax {
            Syntax::Python => operator == ".",
            Syntax::JavaScript => matches!(operator, "." | "?."),
            Syntax::Perl => operator == "->",
            Syntax::Ruby => matches!(operator, "." | "&." | "::"),
            Syntax::Php => matches!(operator, "->" | "::" | "?->"),
            Syntax::Lua => matches!(operator, "." | ":"),
            Syntax::R => operator == "::",
        }
    }

    fn token(&mut self, at: usize) -> Option<()> {
        match self.get(at)? {
            Token::Name(_) if self.scope.imported.contains(&at) => Some(()),
            Token::Name(name) if self.is_accessor(self.before(at)) => self.attribute(at, name),
            Token::Name(name) => self.name(at, name),
            Token::Variable(name) => self.variable(at, name),
            Token::Text { text, .. } => self.text(at, text),
            Token::Symbol(name) => (!lists(self.row.doubted, name) && !is_acting_name(name)).then_some(()),
            Token::Diamond(name) => {
                (name.starts_with('$') || matches!(name, "" | "STDIN" | "ARGV")).then_some(())
            }
            Token::Operator(operator) => self.operator(at, operator),
            Token::Number | Token::Pattern => Some(()),
        }
    }

    /// A string: some languages call a function by a string with its name.
    fn text(&self, at: usize, text: &str) -> Option<()> {
        let called = self.is(at + 1, "(");
        match self.row.syntax {
            Syntax::Php | Syntax::R => (!called).then_some(()),
            // Fields of a format read attributes of what is formatted.
            Syntax::Python if self.tokens.contains(&Token::Name("format")) => {
                let field = |part: &str| {
                    let end = part.find(['}', ':', '!']);
                    end.is_some_and(|end| !part.get(..end).is_some_and(|field| field.contains(['.', '['])))
                };
                text.replace("{{", "").split('{').skip(1).all(field).then_some(())
            }
            // A template behind a value is a call.
            Syntax::JavaScript => {
                let tagged = match self.before(at) {
                    Some(Token::Name(name)) => {
                        !lists(self.row.words, name) && !self.is_accessor(self.before(at))
                    }
                    Some(Token::Operator(operator)) => matches!(operator, ")" | "]"),
                    _ => false,
                };
                (!tagged).then_some(())
            }
            _ => Some(()),
        }
    }

    /// A variable with a sigil.
    fn variable(&mut self, at: usize, variable: &str) -> Option<()> {
        let name = variable.trim_matches(['$', '@', '%', '{', '}', '#']);
        match self.row.syntax {
            Syntax::Perl => match name {
                "ENV" => {
                    (variable.starts_with('$') && self.is(at + 1, "{") && self.is(at + 3, "}"))
                        .then_some(())?;
                    match self.get(at + 2)? {
                        Token::Name(name) | Token::Text { text: name, exact: true } => self.environment(name),
                        _ => None,
                    }
                }
                "INC" | "SIG" => None,
                _ if self.is_accessor(self.before(at)) || name.contains(':') => None,
                _ => Some(()),
            },
            Syntax::Php => {
                (!matches!(name, "GLOBALS") && !self.is_accessor(self.before(at)) && !self.is(at + 1, "("))
                    .then_some(())
            }
            _ => Some(()),
        }
    }

    fn environment(&self, name: &str) -> Option<()> {
        (!is_secret_variable(name)).then_some(())
    }

    /// The object of the table that the name at this place stands for.
    fn object_at(&self, at: usize) -> Option<String> {
        let Some(Token::Name(name)) = self.get(at) else {
            return self.required_module(at);
        };
        if self.is_accessor(self.before(at)) {
            let path = format!("{}.{name}", self.object_at(at.checked_sub(2)?)?);
            return Some(path);
        }
        if let Some(path) = self.scope.aliases.get(name) {
            return Some(path.clone());
        }
        (self.row.syntax != Syntax::Python && self.row.object(name).is_some()).then(|| name.to_string())
    }

    /// The module of `require("x")`, which ends at this place.
    fn required_module(&self, at: usize) -> Option<String> {
        let [
            Token::Name("require" | "import"),
            Token::Operator("("),
            Token::Text { text, .. },
            Token::Operator(")"),
        ] = self.tokens.get(at.checked_sub(3)?..=at)?
        else {
            return None;
        };
        Some(scope::module_path(text))
    }

    /// An object must be followed by an attribute that is listed, or may stand alone.
    fn object(&mut self, at: usize, path: &str) -> Option<()> {
        let Some(attributes) = self.row.object(path) else { return Some(()) };
        if attributes == "@environment" {
            return self.environment_object(at);
        }
        if self.is_accessor(self.get(at + 1))
            && let Some(Token::Name(name)) = self.get(at + 2)
        {
            return self.row.has_attribute(attributes, name).then_some(());
        }
        let read = || {
            self.is(at + 1, "[") && closing(&self.tokens, at + 1).is_some_and(|end| !self.is(end + 1, "="))
        };
        (lists(attributes, "()") || lists(attributes, "[]") && read()).then_some(())
    }

    /// The environment: one variable at a time, by a name that is known.
    fn environment_object(&mut self, at: usize) -> Option<()> {
        let name_at = match (self.get(at + 1)?, self.get(at + 2)?) {
            (Token::Operator("["), _) if self.is(at + 3, "]") && !self.is(at + 4, "=") => at + 2,
            (operator, Token::Name("get" | "fetch" | "key?" | "has_key?"))
                if self.is_accessor(Some(operator)) =>
            {
                let open = usize::from(self.is(at + 3, "("));
                at + 3 + open
            }
            (operator, Token::Name(name)) if self.is_accessor(Some(operator)) => {
                return match self.row.syntax {
                    Syntax::JavaScript if !self.is(at + 3, "=") => self.environment(name),
                    _ => None,
                };
            }
            _ => return None,
        };
        match self.get(name_at)? {
            Token::Text { text, exact: true } if !self.is_joined(name_at) => self.environment(text),
            _ => None,
        }
    }

    /// Whether a string is only a part of what is used.
    fn is_joined(&self, at: usize) -> bool {
        matches!(
            self.get(at + 1),
            Some(Token::Text { .. } | Token::Operator("+" | "." | ".." | "%" | "*" | "<<"))
        )
    }

    /// A name behind a dot.
    fn attribute(&mut self, at: usize, name: &str) -> Option<()> {
        if self.row.syntax == Syntax::JavaScript
            && lists(self.row.properties, name)
            && name != "env"
            && name != "promises"
        {
            return None;
        }
        let receiver = at.checked_sub(2).and_then(|at| self.object_at(at));
        if let Some(path) = &receiver
            && let Some(attributes) = self.row.object(path)
        {
            let listed = attributes == "@environment" || self.row.has_attribute(attributes, name);
            listed.then_some(())?;
            let whole = format!("{path}.{name}");
            return self.function(at, &whole).and_then(|()| self.object(at, &whole));
        }
        if lists(self.row.receivers, name) {
            return self.read_receiver(at);
        }
        // `read()` of a stream; a parser of settings takes the name of a file.
        if name == "read"
            && self.is(at + 1, "(")
            && !matches!(self.get(at + 2), Some(Token::Operator(")") | Token::Number))
        {
            return self.read_argument(at + 1);
        }
        let called = self.is(at + 1, "(") || matches!(self.get(at + 1), Some(Token::Text { .. }));
        let known = lists(self.row.methods, name);
        if self.row.syntax == Syntax::JavaScript {
            if lists(self.row.properties, name) || name.starts_with("__") {
                return None;
            }
            if called && lists(self.row.callbacks, name) {
                self.callback(at + 2)?;
            }
            return (!called || known || self.is_own(name)).then_some(());
        }
        // A table of Lua holds what the program put into it, because no library has another name.
        if self.row.syntax == Syntax::Lua {
            return (known || !is_acting_name(name)).then_some(());
        }
        if self.row.syntax == Syntax::Python && name == "replace" {
            return self.is_text_replacement(at).then_some(());
        }
        let reads = called && !known && !self.is(at + 2, ")") && is_reading_name(name);
        if self.row.syntax == Syntax::Python && reads {
            self.read_first_argument(at + 1)?;
        }
        (known || self.is_own(name) && !name.starts_with('_')).then_some(())
    }

    /// `x.replace(a, b)` replaces text; with one argument, it moves a file.
    fn is_text_replacement(&self, at: usize) -> bool {
        let Some(end) = closing(&self.tokens, at + 1).filter(|_| self.is(at + 1, "(")) else { return false };
        let mut depth = 0_usize;
        let mut commas = 0;
        for token in self.tokens.get(at + 2..end).unwrap_or_default() {
            match token {
                Token::Operator("(" | "[" | "{") => depth += 1,
                Token::Operator(")" | "]" | "}") => depth = depth.saturating_sub(1),
                Token::Operator(",") if depth == 0 => commas += 1,
                _ => {}
            }
        }
        let dated = self.is(at + 3, "=") && self.get(at + 2) != Some(Token::Name("target"));
        commas > 0 || dated
    }

    /// Whether a name may be one of the program itself or of a package that it imports.
    fn is_own(&self, name: &str) -> bool {
        (self.scope.foreign || self.scope.declared.contains(name))
            && !is_acting_name(name)
            && !lists(self.row.modules, name)
    }

    /// A name that no dot stands before.
    fn name(&mut self, at: usize, name: &str) -> Option<()> {
        if self.is_key(at, name) {
            return (!lists(self.row.properties, name)).then_some(());
        }
        let path = self.object_at(at);
        self.function(at, path.as_deref().unwrap_or(name))?;
        if let Some(path) = path {
            return self.object(at, &path);
        }
        if lists(self.row.readers, name) || lists(self.row.environment, name) {
            return Some(());
        }
        if lists(self.row.doubted, name) {
            return None;
        }
        let listed = lists(self.row.words, name);
        match self.row.syntax {
            Syntax::JavaScript => {
                let declares = matches!(self.before(at), Some(Token::Name("function")));
                let called = self.is(at + 1, "(") && !declares;
                (!called || listed || self.scope.declared.contains(name)).then_some(())
            }
            // What begins with a capital is a class or a module, and must be listed.
            Syntax::Ruby if name.starts_with(|char: char| char.is_ascii_uppercase()) => {
                let bound = self.is(at + 1, "=");
                (listed || bound || self.is_own(name)).then_some(())
            }
            Syntax::Perl if name == "do" => self.is(at + 1, "{").then_some(()),
            Syntax::Python if name.starts_with("__") && !listed => None,
            _ => (!self.row.closed || listed || self.scope.declared.contains(name)).then_some(()),
        }
    }

    /// Whether a name is a key of a table, not a variable.
    fn is_key(&self, at: usize, name: &str) -> bool {
        let before = self.before(at);
        match self.row.syntax {
            Syntax::JavaScript => self.is(at + 1, ":") && matches!(before, Some(Token::Operator("{" | ","))),
            Syntax::Ruby => self.is(at + 1, ":") && !name.ends_with('?'),
            Syntax::R => self.is(at + 1, "=") || matches!(before, Some(Token::Operator("$" | "@"))),
            Syntax::Perl => {
                self.is(at + 1, "=>")
                    || self.is(at + 1, "}") && at.checked_sub(1).is_some_and(|open| self.is_subscript(open))
            }
            Syntax::Python | Syntax::Php | Syntax::Lua => false,
        }
    }

    /// Whether a brace of Perl holds a key, not a block.
    fn is_subscript(&self, open: usize) -> bool {
        if !self.is(open, "{") {
            return false;
        }
        match self.before(open) {
            Some(Token::Variable(_) | Token::Operator("->" | "]")) => true,
            Some(Token::Operator("}")) => open
                .checked_sub(1)
                .and_then(|end| opening(&self.tokens, end))
                .is_some_and(|open| self.is_subscript(open)),
            _ => false,
        }
    }

    /// Functions that read a file or a variable of the environment.
    fn function(&mut self, at: usize, path: &str) -> Option<()> {
        if self.row.syntax == Syntax::R && lists(self.row.callbacks, path) {
            self.r_callback(at + 1)?;
        }
        if lists(self.row.environment, path) {
            let open = usize::from(self.is(at + 1, "("));
            let name_at = at + 1 + open;
            return match self.get(name_at)? {
                Token::Text { text, exact: true } if !self.is_joined(name_at) => self.environment(text),
                _ => None,
            };
        }
        if self.row.syntax == Syntax::Python && path.starts_with("sys.path") {
            return self.search_path(at, path);
        }
        if lists(self.row.readers, path) { self.read_argument(at + 1) } else { Some(()) }
    }

    /// The directories that Python loads modules from may be listed, and those of the project be added.
    fn search_path(&self, at: usize, path: &str) -> Option<()> {
        if path == "sys.path" {
            let start = if self.is_accessor(self.before(at)) { at.checked_sub(2)? } else { at };
            let shown = match (start.checked_sub(2).and_then(|at| self.get(at)), self.before(start)) {
                (Some(Token::Name(function)), Some(Token::Operator("("))) => {
                    matches!(
                        function,
                        "print" | "join" | "pprint" | "len" | "enumerate" | "sorted" | "pp" | "list"
                    )
                }
                (_, before) => before == Some(Token::Name("in")),
            };
            // Without a package of the project, nothing is loaded from there.
            return (shown || self.is_accessor(self.get(at + 1)) || !self.scope.foreign).then_some(());
        }
        let end = closing(&self.tokens, at + 1)?;
        let inner = self.tokens.get(at + 2..end)?;
        let own = |token: &Token<'_>| match token {
            Token::Text { text, exact } => *exact && !text.starts_with(['/', '~']) && !text.contains(".."),
            token => matches!(token, Token::Number | Token::Operator(",")),
        };
        inner.iter().all(own).then_some(())
    }

    fn operator(&mut self, at: usize, operator: &str) -> Option<()> {
        match (self.row.syntax, operator) {
            (Syntax::Php, "(") => {
                (!matches!(self.before(at), Some(Token::Operator(")" | "]" | "}")))).then_some(())
            }
            (Syntax::JavaScript, "(") => self.javascript_call(at),
            (Syntax::JavaScript, "[") => self.javascript_subscript(at),
            // A method whose name is not known.
            (Syntax::Perl, "->") => (!self.is(at + 1, "(")).then_some(()),
            (Syntax::Ruby, "." | "&." | "::") => (!self.is(at + 1, "(")).then_some(()),
            (Syntax::Php, "->" | "::" | "?->") => {
                matches!(self.get(at + 1), Some(Token::Name(_))).then_some(())
            }
            _ => Some(()),
        }
    }

    /// A call of what an expression yields: only of a function that is written there.
    fn javascript_call(&self, at: usize) -> Option<()> {
        let Some(before) = at.checked_sub(1) else { return Some(()) };
        match self.get(before) {
            Some(Token::Operator(")")) => {
                let open = opening(&self.tokens, before)?;
                // A package of the project that is a function.
                if self.required_module(before).is_some_and(|path| self.row.object(&path).is_none()) {
                    return Some(());
                }
                // `if (…) (…)` has a name before its condition, `(() => …)()` has none.
                is_function(&self.tokens, open + 1).then_some(())
            }
            Some(Token::Operator("]" | "}" | "?.")) => None,
            _ => Some(()),
        }
    }

    /// `x[…]`: by a number, by a name, or by one string that is not the name of something that acts.
    fn javascript_subscript(&self, at: usize) -> Option<()> {
        let end = closing(&self.tokens, at)?;
        let inner = self.tokens.get(at + 1..end)?;
        let behind = match self.before(at) {
            Some(Token::Name(name)) => !lists(self.row.words, name),
            Some(Token::Operator(operator)) => matches!(operator, ")" | "]" | "}" | "?."),
            Some(Token::Text { .. }) => true,
            _ => false,
        };
        if !behind {
            // A computed key of an object, or of what is taken out of one.
            return (!self.is(end + 1, ":") || !matches!(self.before(at), Some(Token::Operator("{" | ","))))
                .then_some(());
        }
        match inner {
            [Token::Text { text, exact: true }] => {
                (!lists(self.row.properties, text) && !text.starts_with("__")).then_some(())
            }
            _ => inner
                .iter()
                .all(|token| match token {
                    Token::Text { .. } | Token::Pattern => false,
                    Token::Operator(operator) => !matches!(*operator, "(" | "⟦"),
                    _ => true,
                })
                .then_some(()),
        }
    }

    /// R calls the second argument of `sapply`, and takes a string for the name of a function.
    fn r_callback(&self, open: usize) -> Option<()> {
        let end = closing(&self.tokens, open).filter(|_| self.is(open, "("))?;
        let second = self.expression_end(open + 1) + 1;
        match self.get(second).filter(|_| second < end)? {
            Token::Name("function") => Some(()),
            Token::Name(name) => {
                let alone = self.expression_end(second) == second + 1;
                (alone && lists(self.row.words, name)).then_some(())
            }
            _ => None,
        }
    }

    /// The first argument of a method that calls it.
    fn callback(&self, at: usize) -> Option<()> {
        if is_function(&self.tokens, at) || self.is(at, ")") {
            return Some(());
        }
        match self.get(at)? {
            Token::Name(name) => (lists(self.row.words, name)
                || self.scope.declared.contains(name)
                || self.object_at(at).is_some())
            .then_some(()),
            Token::Text { .. } | Token::Number | Token::Pattern => Some(()),
            _ => None,
        }
    }

    /// Perl opens what stands in `@ARGV` as a command where it has a bar, so only the command line may fill it.
    fn perl_arguments(&self) -> Option<()> {
        if self.row.syntax != Syntax::Perl {
            return Some(());
        }
        let fills = self.tokens.iter().enumerate().any(|(at, token)| match token {
            Token::Variable("@ARGV" | "@{ARGV}") => true,
            Token::Variable("$ARGV" | "${ARGV}") => self.is(at + 1, "["),
            _ => false,
        });
        let shifts = |at: usize| matches!(self.before(at), Some(Token::Name("shift" | "scalar")));
        let only_shifts = self.tokens.iter().enumerate().all(|(at, token)| match token {
            Token::Variable("@ARGV") => shifts(at) || self.is_read_list(at),
            Token::Variable("$ARGV") if self.is(at + 1, "[") => {
                closing(&self.tokens, at + 1).is_some_and(|end| !self.is(end + 1, "="))
            }
            _ => true,
        });
        (!fills || only_shifts).then_some(())
    }

    /// `for (@ARGV)`, `join(",", @ARGV)`: the list is read, and aliases of its items are not changed.
    fn is_read_list(&self, at: usize) -> bool {
        let joined = self.is(at + 1, ")") && matches!(self.before(at), Some(Token::Operator(",")));
        joined && !self.tokens.iter().any(|token| matches!(token, Token::Name("push" | "unshift" | "splice")))
    }
}

#[cfg(test)]
mod tests;
