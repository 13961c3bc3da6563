//! What the names of a program stand for: modules that it imports, functions that it declares.

use super::lexer::{Syntax, Token};
use super::table::{Language, is_acting_name, lists};
use std::collections::{BTreeMap, BTreeSet};

/// The names of a program.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    /// Names of modules and of what was imported from them, with the object of the table that they stand for.
    pub(super) aliases: BTreeMap<&'a str, String>,
    /// Functions and classes that the program declares.
    pub(super) declared: BTreeSet<&'a str>,
    /// Where names stand in the statements that import them.
    pub(super) imported: BTreeSet<usize>,
    /// Files of data that it imports.
    pub(super) reads: Vec<String>,
    /// Whether it imports a package that the language does not bring along: what that offers is not known.
    pub(super) foreign: bool,
}

/// Reads the names of a program; `None` if it imports what is not known to be harmless.
pub(super) fn read<'a>(tokens: &[Token<'a>], row: &Language) -> Option<Scope<'a>> {
    let mut scope = Scope::default();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let behind_dot =
            matches!(at.checked_sub(1).and_then(|at| tokens.get(at)), Some(Token::Operator("." | "->")));
        if behind_dot {
            // `self.x = …`.
            if row.syntax == Syntax::Python && matches!(tokens.get(at + 1), Some(Token::Operator("="))) {
                scope.declared.insert(name);
            }
            continue;
        }
        match (row.syntax, *name) {
            (Syntax::Python, "from") => {
                scope.python_from(tokens, at, row)?;
            }
            (Syntax::Python, "import") => scope.python_import(tokens, at, row)?,
            (Syntax::JavaScript, "require" | "import") => scope.javascript_import(tokens, at, row)?,
            (Syntax::Ruby, "require") => scope.ruby_require(tokens, at, row)?,
            (Syntax::Perl, "use" | "no") => match tokens.get(at + 1)? {
                Token::Name(module) if lists(row.imports, module) => {
                    scope.imported.insert(at + 1);
                }
                Token::Number => {}
                _ => return None,
            },
            (_, "def" | "class" | "function" | "sub" | "module") => {
                if let Some(Token::Name(name)) = tokens.get(at + 1) {
                    scope.declared.insert(name);
                }
            }
            (Syntax::JavaScript, _) if is_function_binding(tokens, at) => {
                scope.declared.insert(name);
            }
            (Syntax::R, _) if is_r_binding(tokens, at) => {
                scope.declared.insert(name);
            }
            _ => {}
        }
    }
    Some(scope)
}

/// `NAME = x => …`, `NAME = (…) => …`, `NAME = async …`, `NAME = function …`.
fn is_function_binding(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(tokens.get(at + 1), Some(Token::Operator("="))) && is_function(tokens, at + 2)
}

/// Whether a function of JavaScript is written here.
pub(super) fn is_function(tokens: &[Token<'_>], at: usize) -> bool {
    let arrow = |at: usize| matches!(tokens.get(at), Some(Token::Operator("=>")));
    match tokens.get(at) {
        Some(Token::Name("function")) => true,
        Some(Token::Name("async")) => {
            matches!(tokens.get(at + 1), Some(Token::Name("function"))) || is_function(tokens, at + 1)
        }
        Some(Token::Name(_)) => arrow(at + 1),
        Some(Token::Operator("(")) => closing(tokens, at).is_some_and(|end| arrow(end + 1)),
        _ => false,
    }
}

/// `NAME <- …`, `NAME = …`, `for (NAME in …)`, and parameters of functions.
fn is_r_binding(tokens: &[Token<'_>], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let parameter = || {
        let mut back = 1;
        while let Some(Token::Name(_) | Token::Operator(",")) = before(back) {
            back += 1;
        }
        matches!(before(back), Some(Token::Operator("(")))
            && matches!(before(back + 1), Some(Token::Name("function")))
    };
    matches!(tokens.get(at + 1), Some(Token::Operator("<-" | "=")))
        || matches!(before(2), Some(Token::Name("for")))
            && matches!(tokens.get(at + 1), Some(Token::Name("in")))
        || parameter()
}

/// Where the bracket at this place is closed.
pub(super) fn closing(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Operator("(" | "[" | "{" | "⟦") => depth += 1,
            Token::Operator(")" | "]" | "}" | "⟧") => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the bracket that closes at this place was opened.
pub(super) fn opening(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().take(at + 1).rev() {
        match token {
            Token::Operator(")" | "]" | "}" | "⟧") => depth += 1,
            Token::Operator("(" | "[" | "{" | "⟦") => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// A name with dots at this place, and where it ends.
fn dotted(tokens: &[Token<'_>], mut at: usize) -> Option<(String, usize)> {
    let Some(Token::Name(first)) = tokens.get(at) else { return None };
    let mut path = (*first).to_string();
    at += 1;
    while let (Some(Token::Operator(".")), Some(Token::Name(name))) = (tokens.get(at), tokens.get(at + 1)) {
        path.push('.');
        path.push_str(name);
        at += 2;
    }
    Some((path, at))
}

impl<'a> Scope<'a> {
    /// `import a.b as c, d`.
    fn python_import(&mut self, tokens: &[Token<'a>], at: usize, row: &Language) -> Option<()> {
        let mut at = at + 1;
        // `from x import y` was read at `from`.
        if let Some(before) = at.checked_sub(3)
            && (0..=before).rev().take(12).find_map(|at| match tokens.get(at) {
                Some(Token::Name("from")) => Some(true),
                Some(Token::Name(_) | Token::Operator(".")) => None,
                _ => Some(false),
            }) == Some(true)
        {
            return Some(());
        }
        loop {
            let (path, end) = dotted(tokens, at)?;
            self.add_python_module(&path, row)?;
            self.imported.extend(at..end);
            at = end;
            let root = path.split('.').next().unwrap_or_default();
            if let (Some(Token::Name("as")), Some(Token::Name(alias))) = (tokens.get(at), tokens.get(at + 1))
            {
                self.aliases.insert(alias, path);
                self.imported.extend([at, at + 1]);
                at += 2;
            } else if let Some(Token::Name(name)) = tokens.get(end - 1 - 2 * path.matches('.').count()) {
                self.aliases.insert(name, root.to_string());
            }
            if !matches!(tokens.get(at), Some(Token::Operator(","))) {
                return Some(());
            }
            at += 1;
        }
    }

    fn add_python_module(&mut self, path: &str, row: &Language) -> Option<()> {
        let root = path.split('.').next().unwrap_or_default();
        if row.object(path).is_some() {
            return Some(());
        }
        if lists(row.modules, root) || root.starts_with('_') || row.object(root).is_some() {
            return None;
        }
        self.foreign = true;
        Some(())
    }

    /// `from a.b import (c as d, e)`.
    fn python_from(&mut self, tokens: &[Token<'a>], at: usize, row: &Language) -> Option<()> {
        // `yield from x`, `raise x from y`.
        let Some((path, end)) = dotted(tokens, at + 1) else { return Some(()) };
        if !matches!(tokens.get(end), Some(Token::Name("import"))) {
            return Some(());
        }
        self.add_python_module(&path, row)?;
        self.imported.extend(at + 1..end);
        let attributes = row.object(&path);
        let mut at = end + 1;
        let grouped = matches!(tokens.get(at), Some(Token::Operator("(")));
        at += usize::from(grouped);
        loop {
            while grouped && matches!(tokens.get(at), Some(Token::Operator("\n"))) {
                at += 1;
            }
            self.imported.insert(at);
            let name = match tokens.get(at)? {
                Token::Name(name) => name,
                Token::Operator("*") if attributes.is_none() => return Some(()),
                Token::Operator(")") if grouped => return Some(()),
                _ => return None,
            };
            match attributes {
                Some(attributes) if !row.has_attribute(attributes, name) => return None,
                None if is_acting_name(name) || lists(row.modules, name) => return None,
                _ => {}
            }
            at += 1;
            let mut alias = name;
            if let (Some(Token::Name("as")), Some(Token::Name(own))) = (tokens.get(at), tokens.get(at + 1)) {
                alias = own;
                self.imported.extend([at, at + 1]);
                at += 2;
            }
            let whole = format!("{path}.{name}");
            if attributes.is_some() {
                self.aliases.insert(alias, whole);
            }
            while grouped && matches!(tokens.get(at), Some(Token::Operator("\n"))) {
                at += 1;
            }
            if !matches!(tokens.get(at), Some(Token::Operator(","))) {
                return Some(());
            }
            at += 1;
        }
    }

    /// `NAME = require("x")`, `{a, b} = require("x")`, `import … from "x"`, `import("x")`.
    fn javascript_import(&mut self, tokens: &[Token<'a>], at: usize, row: &Language) -> Option<()> {
        let called = matches!(tokens.get(at + 1), Some(Token::Operator("(")));
        let (names, module) = if called {
            let names =
                at.checked_sub(1).filter(|before| matches!(tokens.get(*before), Some(Token::Operator("="))));
            let awaited =
                at.checked_sub(2).filter(|_| matches!(tokens.get(at - 1), Some(Token::Name("await"))));
            let before = names.or(awaited).and_then(|equals| equals.checked_sub(1));
            let start = before.and_then(|end| match tokens.get(end) {
                Some(Token::Operator("}")) => opening(tokens, end),
                _ => Some(end),
            });
            (start.zip(before), at + 2)
        } else {
            let from =
                tokens.iter().skip(at).position(|token| *token == Token::Name("from")).map(|more| at + more);
            match from {
                Some(from) => (Some((at + 1, from.checked_sub(1)?)), from + 1),
                None => (None, at + 1),
            }
        };
        let Some(Token::Text { text, exact: true }) = tokens.get(module) else { return None };
        let path = module_path(text);
        if called && !matches!(tokens.get(module + 1), Some(Token::Operator(")"))) {
            return None;
        }
        if path.ends_with(".json") {
            self.reads.push(path);
            return Some(());
        }
        if path.contains("..") || path.starts_with('/') {
            return None;
        }
        let attributes = row.object(&path);
        if attributes.is_none() {
            (!lists(row.modules, path.split('.').next().unwrap_or_default())).then_some(())?;
            self.foreign = true;
            let range = names.and_then(|(start, end)| tokens.get(start..=end)).unwrap_or_default();
            for token in range {
                if let Token::Name(name) = token {
                    self.declared.insert(name);
                }
            }
            return Some(());
        }
        let Some((start, end)) = names else { return Some(()) };
        self.imported.extend(start..=end);
        let whole = matches!(tokens.get(start), Some(Token::Name(_)));
        for token in tokens.get(start..=end)? {
            match token {
                Token::Name("as") | Token::Operator("," | "{" | "}" | "*") => {}
                Token::Name(name) if whole || matches!(tokens.get(start), Some(Token::Operator("*"))) => {
                    self.aliases.insert(name, path.clone());
                }
                Token::Name(name) if row.has_attribute(attributes?, name) => {
                    self.aliases.insert(name, format!("{path}.{name}"));
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn ruby_require(&mut self, tokens: &[Token<'a>], at: usize, row: &Language) -> Option<()> {
        let open = usize::from(matches!(tokens.get(at + 1), Some(Token::Operator("("))));
        let Some(Token::Text { text, exact: true }) = tokens.get(at + 1 + open) else { return None };
        // A name that is put together loads something else.
        let joined = matches!(tokens.get(at + 2 + open), Some(Token::Operator(next)) if !matches!(*next, ")" | ";" | "\n" | "}"));
        if joined || text.starts_with(['/', '~']) || text.contains("..") {
            return None;
        }
        if !lists(row.imports, text) {
            (!lists(row.modules, text.split('/').next().unwrap_or_default())).then_some(())?;
            self.foreign = true;
        }
        Some(())
    }
}

/// The path of a module of Node in the table: `node:fs/promises` is `fs.promises`.
pub(super) fn module_path(text: &str) -> String {
    let text = text.strip_prefix("node:").unwrap_or(text);
    if text.starts_with(['.', '/']) { text.to_string() } else { text.replace('/', ".") }
}
