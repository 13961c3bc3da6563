//! Findings of one source file: terms, names, macros, function lengths, return types.

use super::source::{Prose, Source, find_prose, is_joint, is_punct};
use super::table::{Counter, Figure, Measure};
use proc_macro2::{Span, TokenStream, TokenTree};
use regex::Regex;
use syn::visit::{self, Visit};

/// Functions with more lines than this are listed.
const MAX_FUNCTION_LINES: usize = 100;

/// One place that a figure counts.
#[derive(Debug)]
pub(super) struct Finding {
    /// Index of the figure in `census.toml`.
    pub(super) figure: usize,
    pub(super) line: usize,
    pub(super) weight: u64,
    pub(super) note: String,
    pub(super) in_test: bool,
}

/// Collects the findings of one file.
pub(super) fn count(source: &Source, syntax: &syn::File, figures: &[Figure]) -> Vec<Finding> {
    let mut collector = Collector { source, figures, found: Vec::new() };
    collector.count_text();
    collector.scan_tokens(source.tokens.clone(), false);
    collector.visit_file(syntax);
    collector.add(Measure::SourceLines, 1, source.lines_outside_tests(), String::new());
    collector.found
}

struct Collector<'a> {
    source: &'a Source,
    figures: &'a [Figure],
    found: Vec<Finding>,
}

impl Collector<'_> {
    fn push(&mut self, figure: usize, line: usize, weight: usize, note: String) {
        let in_test = self.source.is_test_line(line);
        self.found.push(Finding { figure, line, weight: weight as u64, note, in_test });
    }

    fn add(&mut self, measure: Measure, line: usize, weight: usize, note: String) {
        if let Some(figure) = self.figures.iter().position(|figure| figure.is(measure)) {
            self.push(figure, line, weight, note);
        }
    }

    fn count_text(&mut self) {
        let source = self.source;
        let prose = find_prose(&source.text);
        for (index, figure) in self.figures.iter().enumerate() {
            match &figure.counter {
                Counter::Words(regex) => {
                    for found in regex.find_iter(&source.text) {
                        let line = source.line_at(found.start());
                        self.push(index, line, 1, excerpt(&source.text, found.start()));
                    }
                }
                Counter::Prose { pattern, except } => {
                    for part in &prose {
                        self.count_prose(index, part, pattern, except.as_ref());
                    }
                }
                _ => {}
            }
        }
    }

    fn count_prose(&mut self, figure: usize, part: &Prose, pattern: &Regex, except: Option<&Regex>) {
        // The escape is replaced by as many spaces, so that a word after it starts at a word
        // boundary.
        let text = self.source.text.get(part.range.clone()).unwrap_or_default().replace("\\n", "  ");
        for found in pattern.find_iter(&text) {
            if except.is_none_or(|except| !except.is_match(found.as_str())) {
                let start = part.range.start + found.start();
                self.push(figure, self.source.line_at(start), 1, excerpt(&self.source.text, start));
            }
        }
    }

    /// Records a name that one of the figures lists.
    fn count_name(&mut self, name: &str, span: Span, is_listed: impl Fn(&Counter, &str) -> bool) {
        let figures = self.figures;
        for (index, figure) in figures.iter().enumerate() {
            if is_listed(&figure.counter, name) {
                self.push(index, span.start().line, 1, name.to_owned());
            }
        }
    }

    fn count_type(&mut self, name: &syn::Ident) {
        self.count_name(
            &name.to_string(),
            name.span(),
            |counter, name| matches!(counter, Counter::Types(names) if names.iter().any(|own| own == name)),
        );
    }

    fn count_constant(&mut self, name: &syn::Ident) {
        self.count_name(&name.to_string(), name.span(), |counter, name| {
            matches!(counter, Counter::Constants(names) if names.iter().any(|own| {
                name == own
                    || name.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('_'))
                    || name.strip_suffix(own.as_str()).is_some_and(|rest| rest.ends_with('_'))
            }))
        });
    }

    fn count_function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = signature.fn_token.span.start().line;
        let lines = body.brace_token.span.close().end().line + 1 - line;
        let note = format!("{} ({lines} lines)", signature.ident);
        if self.source.path.starts_with("crates/gate/") {
            self.add(Measure::LongestFunctionGate, line, lines, note.clone());
        }
        if lines > MAX_FUNCTION_LINES {
            self.add(Measure::LongFunctions, line, 1, note);
        }
    }

    /// Looks for macro calls and comparisons. Arguments of macros are only tokens, so a syntax tree
    /// does not show them.
    fn scan_tokens(&mut self, tokens: TokenStream, in_assertion: bool) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            let before = trees.get(..at).unwrap_or_default();
            let after = trees.get(at + 1..).unwrap_or_default();
            match tree {
                TokenTree::Group(group) => {
                    let is_assertion = matches!(before, [.., TokenTree::Ident(name), exclamation]
                        if is_punct(exclamation, '!') && name.to_string().contains("assert"));
                    self.scan_tokens(group.stream(), in_assertion || is_assertion);
                }
                TokenTree::Ident(name) => {
                    self.scan_call(&name.to_string(), tree, before, after, in_assertion);
                }
                TokenTree::Literal(_) if is_compared(before, after) => self.count_sentence(tree, "=="),
                TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    fn scan_call(
        &mut self,
        name: &str,
        tree: &TokenTree,
        before: &[TokenTree],
        after: &[TokenTree],
        in_assertion: bool,
    ) {
        let line = tree.span().start().line;
        match after {
            [exclamation, TokenTree::Group(arguments), ..] if is_punct(exclamation, '!') => {
                if name == "json" {
                    self.add(Measure::JsonMacros, line, 1, String::new());
                }
                let is_inline = || arguments.stream().into_iter().any(|argument| is_punct(&argument, '@'));
                if name.starts_with("assert_") && name.ends_with("snapshot") && is_inline() {
                    self.add(Measure::InlineSnapshots, line, 1, String::new());
                }
            }
            [TokenTree::Group(arguments), ..] if before.last().is_some_and(|dot| is_punct(dot, '.')) => {
                let Some(first) = arguments.stream().into_iter().next().filter(is_string) else { return };
                if name == "contains" && in_assertion {
                    self.add(Measure::ContainsAssertions, line, 1, first.to_string());
                }
                if ["contains", "starts_with"].contains(&name) {
                    self.count_sentence(&first, name);
                }
            }
            _ => {}
        }
    }

    /// Records a decision that depends on a string literal with a space in it.
    fn count_sentence(&mut self, literal: &TokenTree, comparison: &str) {
        let text = literal.to_string();
        if is_string(literal) && text.contains(' ') && self.source.path.starts_with("crates/") {
            self.add(
                Measure::EnglishDecisions,
                literal.span().start().line,
                1,
                format!("{comparison} {text}"),
            );
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.count_type(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.count_type(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.count_type(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.count_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.count_constant(&item.ident);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.count_constant(&item.ident);
        visit::visit_item_static(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.count_constant(&item.ident);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.count_constant(&item.ident);
        visit::visit_trait_item_const(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.count_name(&signature.ident.to_string(), signature.ident.span(), |counter, name| {
            matches!(counter, Counter::Functions(names) if names.iter().any(|own| own == name))
        });
        visit::visit_signature(self, signature);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.count_function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.count_function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.count_function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_return_type(&mut self, output: &'ast syn::ReturnType) {
        if let syn::ReturnType::Type(_, declared) = output {
            let mut search = StringErrorSearch(None);
            search.visit_type(declared);
            if let Some(span) = search.0 {
                self.add(Measure::StringErrors, span.start().line, 1, String::new());
            }
        }
        visit::visit_return_type(self, output);
    }
}

/// Finds `Result<_, String>` in a type.
struct StringErrorSearch(Option<Span>);

impl<'ast> Visit<'ast> for StringErrorSearch {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.iter().nth(1)
            && error.path.is_ident("String")
        {
            self.0.get_or_insert(segment.ident.span());
        }
        visit::visit_path_segment(self, segment);
    }

    // A function type that is returned has a return type of its own.
    fn visit_return_type(&mut self, _: &'ast syn::ReturnType) {}
}

fn is_string(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Literal(literal) if literal.to_string().ends_with(['"', '#']))
}

/// Does `==` stand before or after a literal?
fn is_compared(before: &[TokenTree], after: &[TokenTree]) -> bool {
    let is_equality =
        |first: &TokenTree, second: &TokenTree| is_joint(first, &['=']) && is_punct(second, '=');
    matches!(before, [.., first, second] if is_equality(first, second))
        || matches!(after, [first, second, ..] if is_equality(first, second))
}

/// Beginning of the text from `start` to the end of its line.
fn excerpt(text: &str, start: usize) -> String {
    let rest = text.get(start..).unwrap_or_default().trim_start();
    rest.lines().next().unwrap_or_default().chars().take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::table;

    /// Names of the figures that find something in a text, once per finding outside tests.
    fn found(text: &str) -> Vec<String> {
        let figures = table::load(&crate::tools::root()).unwrap();
        let source = Source::parse("crates/gate/src/lib.rs", text.to_owned()).unwrap();
        let syntax = syn::parse2(source.tokens.clone()).unwrap();
        let findings = count(&source, &syntax, &figures);
        let counted = findings.into_iter().filter(|finding| !finding.in_test && finding.weight == 1);
        counted.map(|finding| figures[finding.figure].row.name.clone()).collect()
    }

    #[test]
    fn macros_are_found_in_arguments_of_macros() {
        assert_eq!(found("fn a() {\n  vec![json!({}), b!(json!([]))];\n}\n"), ["json_macros", "json_macros"]);
        assert_eq!(
            found("fn a() {\n  with!({ insta::assert_snapshot!(x, @\"y\") });\n}\n"),
            ["inline_snapshots"]
        );
        assert!(found("fn a() {\n  assert_snapshot!(x);\n}\n").is_empty());
    }

    #[test]
    fn sentences_in_comparisons_are_found() {
        let text =
            "fn a() {\n  x.starts_with(\"not so\") || \"a b\" == y || y == r\"c d\" || y == \"c\";\n}\n";
        assert_eq!(found(text), ["english_decisions"; 3]);
        assert_eq!(found("fn a() {\n  assert!(x.contains(\"one\"));\n}\n"), ["contains_assertions"]);
    }

    #[test]
    fn errors_that_are_strings_are_found() {
        assert_eq!(found("fn a()\n-> Option<Result<Vec<u8>, String>> {\n}\n"), ["string_errors"]);
        assert!(found("fn a() -> Result<String, Error> {\n}\n").is_empty());
        assert!(found("#[cfg(test)]\nfn a() -> Result<u8, String> {\n}\n").is_empty());
    }

    #[test]
    fn names_are_found_whole_or_in_part() {
        let text = "const MOST: u8 = 1;\nconst MOST_BYTES: u8 = 1;\nconst UTMOST: u8 = 1;\n\
                    enum State {}\nenum StateOf {}\n";
        assert_eq!(found(text), ["vague_constants", "vague_constants", "types_called_state"]);
    }
}
