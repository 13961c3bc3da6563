//! Rust sources of the workspace: their files, their comments and strings, and the lines that
//! belong to tests.
//!
//! Comments are not part of a syntax tree, so a small lexer finds them. It knows strings, raw
//! strings, character literals and nested block comments, and nothing else of the language.

use super::error::CensusError;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::ops::{Range, RangeInclusive};
use std::path::Path;

/// Directories whose sources are counted.
const DIRECTORIES: [&str; 4] = ["crates", "xtask", "bench", "fuzz"];

/// One source file, tokenised.
pub(super) struct Source {
    /// Path below the workspace root.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tokens: TokenStream,
    line_starts: Vec<usize>,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub(super) fn parse(path: &str, text: String) -> Result<Self, CensusError> {
        let tokens: TokenStream =
            text.parse().map_err(|error| CensusError::parse(path, &format!("{error}")))?;
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut test_lines = Vec::new();
        if is_test_path(path) || is_test_file(&tokens) {
            test_lines.push(1..=usize::MAX);
        } else {
            find_test_items(tokens.clone(), &mut test_lines);
        }
        Ok(Self { path: path.to_owned(), text, tokens, line_starts, test_lines })
    }

    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// Number of lines outside tests, counted as `wc -l` counts them.
    pub(super) fn lines_outside_tests(&self) -> usize {
        (1..=self.text.matches('\n').count()).filter(|line| !self.is_test_line(*line)).count()
    }
}

/// Paths of all sources below the workspace root, sorted.
pub(super) fn list(root: &Path) -> Result<Vec<String>, CensusError> {
    let mut paths = Vec::new();
    for directory in DIRECTORIES {
        let walk = ignore::WalkBuilder::new(root.join(directory))
            .filter_entry(|entry| entry.file_name() != "target")
            .build();
        for entry in walk {
            let entry = entry.map_err(|error| CensusError::read(directory, &error))?;
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            if path.extension().is_some_and(|extension| extension == "rs") {
                paths.push(path.to_string_lossy().into_owned());
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether a path belongs to tests: a `tests` directory or file, or the crate of their fixtures.
pub(super) fn is_test_path(path: &str) -> bool {
    path.starts_with("crates/testing/") || path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// A comment or a string literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prose {
    pub(super) kind: ProseKind,
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProseKind {
    Comment,
    Text,
}

/// Comments and string literals of a source, in order. Comments on neighbouring lines are one
/// comment, so that a phrase is found across a line break.
pub(super) fn find_prose(text: &str) -> Vec<Prose> {
    let mut found: Vec<Prose> = Vec::new();
    let mut at = 0;
    let mut in_word = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, kind) = read_piece(rest, in_word);
        in_word = kind.is_none() && rest.starts_with(|first: char| first.is_alphanumeric() || first == '_');
        if let Some(kind) = kind {
            match found.last_mut() {
                Some(last) if kind == ProseKind::Comment && continues(text, last, at) => {
                    last.range.end = at + length;
                }
                _ => found.push(Prose { kind, range: at..at + length }),
            }
        }
        at += length;
    }
    found
}

/// Does a comment that starts at `at` stand on the line below another one?
fn continues(text: &str, last: &Prose, at: usize) -> bool {
    let between = text.get(last.range.end..at).unwrap_or_default();
    last.kind == ProseKind::Comment && between.trim().is_empty() && between.matches('\n').count() == 1
}

/// Length of the piece that `rest` starts with, and its kind unless it is code.
fn read_piece(rest: &str, in_word: bool) -> (usize, Option<ProseKind>) {
    let first = rest.chars().next().map_or(1, char::len_utf8);
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Some(ProseKind::Comment));
    }
    if rest.starts_with("/*") {
        return (block_comment_length(rest), Some(ProseKind::Comment));
    }
    if rest.starts_with('"') {
        return (quoted_length(rest, '"'), Some(ProseKind::Text));
    }
    if !in_word && let Some(length) = raw_string_length(rest) {
        return (length, Some(ProseKind::Text));
    }
    if let Some(after) = rest.strip_prefix('\'') {
        let mut next = after.chars();
        let is_character = match next.next() {
            Some('\\') => true,
            Some(_) => next.next() == Some('\''),
            None => false,
        };
        return (if is_character { quoted_length(rest, '\'') } else { 1 }, None);
    }
    (first, None)
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of a literal that starts with `quote`, up to the next one that is not escaped.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if !escaped && character == quote {
            return at + 1;
        }
        escaped = !escaped && character == '\\';
    }
    rest.len()
}

fn raw_string_length(rest: &str) -> Option<usize> {
    let after = ["r", "br", "cr"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let content = after.trim_start_matches('#');
    let hashes = after.len() - content.len();
    let body = content.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len();
    Some(body.find(&end).map_or(rest.len(), |at| start + at + end.len()))
}

/// Does the file start with `#![cfg(test)]`?
fn is_test_file(tokens: &TokenStream) -> bool {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    trees.windows(3).any(|window| match window {
        [hash, exclamation, attribute] => {
            is_punct(hash, '#') && is_punct(exclamation, '!') && is_test_attribute(attribute)
        }
        _ => false,
    })
}

/// Collects the lines of items under `#[cfg(test)]` or `#[test]`.
fn find_test_items(tokens: TokenStream, found: &mut Vec<RangeInclusive<usize>>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        if is_punct(tree, '#') && trees.get(at + 1).is_some_and(is_test_attribute) {
            let end = item_end(&trees, at + 2);
            let last = trees.get(end).or(trees.last()).unwrap_or(tree);
            found.push(tree.span().start().line..=last.span().end().line);
            at = end;
        } else if let TokenTree::Group(group) = tree {
            find_test_items(group.stream(), found);
        }
        at += 1;
    }
}

fn is_test_attribute(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else { return false };
    if group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let trees: Vec<TokenTree> = group.stream().into_iter().collect();
    match trees.as_slice() {
        [cfg, TokenTree::Group(condition)] if is_ident(cfg, "cfg") => requires_test(condition.stream()),
        [.., last] | [.., last, TokenTree::Group(_)] if is_ident(last, "test") => true,
        _ => false,
    }
}

/// `test`, or `all(…)` with `test` in it.
fn requires_test(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    match trees.as_slice() {
        [only] => is_ident(only, "test"),
        [all, TokenTree::Group(inner)] if is_ident(all, "all") => {
            inner.stream().into_iter().any(|tree| is_ident(&tree, "test"))
        }
        _ => false,
    }
}

/// Index of the last token of the item, field or statement that starts at `start`.
fn item_end(trees: &[TokenTree], start: usize) -> usize {
    let mut depth = 0_i32;
    for (at, tree) in trees.iter().enumerate().skip(start) {
        let is_arrow = at > start && trees.get(at - 1).is_some_and(|before| is_joint(before, &['-', '=']));
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at,
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => return at,
                ',' if depth == 0 => return at,
                '<' => depth += 1,
                '>' if !is_arrow => depth -= 1,
                _ => {}
            },
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => {}
        }
    }
    trees.len()
}

pub(super) fn is_ident(tree: &TokenTree, name: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == name)
}

pub(super) fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// One of `characters`, with the next token joined to it.
pub(super) fn is_joint(tree: &TokenTree, characters: &[char]) -> bool {
    matches!(tree, TokenTree::Punct(punct)
        if punct.spacing() == Spacing::Joint && characters.contains(&punct.as_char()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        find_prose(text).into_iter().filter_map(|prose| text.get(prose.range)).collect()
    }

    #[test]
    fn lexer_separates_code_from_prose() {
        assert_eq!(pieces("let a = \"x // \\\" y\"; // end"), ["\"x // \\\" y\"", "// end"]);
        assert_eq!(pieces("r#\"a \" b\"# + br\"c\\\" + for\"d\""), ["r#\"a \" b\"#", "br\"c\\\"", "\"d\""]);
        assert_eq!(pieces("r#type /* a /* b */ \" */ 'x'"), ["/* a /* b */ \" */"]);
        assert_eq!(pieces(r#"'"' '\'' '\\' b'"' fn f<'a>(x: &'a str) "t""#), ["\"t\""]);
        assert_eq!(pieces("'ä' \"ö\" 'static // ü"), ["\"ö\"", "// ü"]);
    }

    #[test]
    fn comments_on_neighbouring_lines_are_one() {
        assert_eq!(pieces("// a\n  // b\n\n// c\n\"d\"\n\"e\""), ["// a\n  // b", "// c", "\"d\"", "\"e\""]);
    }

    #[test]
    fn lines_of_tests_are_known() {
        let text = "fn a() {}\n#[cfg(test)]\nuse x::{\n  b,\n};\nfn c() {}\n#[cfg(all(test, unix))]\n\
                    #[allow(x)]\n\
                    mod d {\n}\n#[cfg(not(test))]\nfn e() {}\n#[tokio::test]\nasync fn f<A, B>() -> X {\n}\n\
                    struct S {\n  #[cfg(test)]\n  g: M<A, B>,\n  h: u8,\n}\n";
        let source = Source::parse("crates/a/src/lib.rs", text.to_owned()).unwrap();
        let lines: Vec<usize> = (1..=20).filter(|line| source.is_test_line(*line)).collect();
        assert_eq!(lines, [2, 3, 4, 5, 7, 8, 9, 10, 13, 14, 15, 17, 18]);
        assert_eq!(source.lines_outside_tests(), 7);
    }

    #[test]
    fn files_of_tests_are_known() {
        let is_test = |path: &str, text: &str| Source::parse(path, text.to_owned()).unwrap().is_test_line(1);
        assert!(is_test("crates/a/tests/it/main.rs", "fn a() {}"));
        assert!(is_test("crates/a/src/b/tests.rs", "fn a() {}"));
        assert!(is_test("crates/a/src/b.rs", "//! Text.\n#![cfg(test)]\nfn a() {}"));
        assert!(!is_test("crates/a/src/contests.rs", "fn a() {}"));
    }
}
