//! Declarations, imports and paths of one module; a module is a file. Tests are left out, and so
//! are modules with a `#[path]`, which only share a file between crates.

use super::source::{Source, is_ident, is_joint, is_punct};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// What one file says about modules.
#[derive(Debug, Default)]
pub(super) struct ModuleFacts {
    pub(super) path: String,
    /// Modules in files of their own.
    pub(super) children: BTreeSet<String>,
    /// Modules in files of their own, under `#[cfg(test)]`.
    test_children: BTreeSet<String>,
    /// Names that are defined here.
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths in code, with the line of the first.
    pub(super) paths: BTreeMap<Vec<String>, usize>,
    /// Identifiers outside `use` declarations.
    pub(super) identifiers: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct Import {
    /// Segments as written; `super` only where it leaves the file.
    pub(super) path: Vec<String>,
    /// The name it binds; none for `*`.
    pub(super) name: Option<String>,
    pub(super) is_public: bool,
    pub(super) line: usize,
}

/// Reads what a file says about modules.
pub(super) fn read(source: &Source, syntax: &syn::File) -> ModuleFacts {
    let facts = ModuleFacts { path: source.path.clone(), ..ModuleFacts::default() };
    let mut reader = Reader { source, facts, depth: 0 };
    reader.visit_file(syntax);
    reader.scan_paths(source.tokens.clone());
    reader.facts
}

/// Prefixes of paths of files that are tests because their `mod` declaration is under
/// `#[cfg(test)]`.
pub(super) fn test_files(facts: &ModuleFacts) -> impl Iterator<Item = String> + '_ {
    let directory = children_directory(&facts.path);
    facts.test_children.iter().map(move |name| format!("{directory}/{name}"))
}

/// Directory with the files of a file's child modules.
pub(super) fn children_directory(path: &str) -> String {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    if ["lib.rs", "main.rs", "mod.rs"].contains(&file) || directory.ends_with("/bin") {
        return directory.to_owned();
    }
    path.trim_end_matches(".rs").to_owned()
}

struct Reader<'a> {
    source: &'a Source,
    facts: ModuleFacts,
    /// Number of inline modules around the current place.
    depth: usize,
}

impl Reader<'_> {
    /// Replaces leading `self` and `super` segments by those that count from the file's own module.
    fn normalise(&self, path: Vec<String>) -> Vec<String> {
        let is_relative = |segment: &&String| ["self", "super"].contains(&segment.as_str());
        let relative: Vec<&String> = path.iter().take_while(is_relative).collect();
        if relative.is_empty() {
            return path;
        }
        let parents =
            relative.iter().filter(|segment| **segment == "super").count().saturating_sub(self.depth);
        let start = if parents == 0 { vec!["self"] } else { vec!["super"; parents] };
        start.into_iter().map(str::to_owned).chain(path.iter().skip(relative.len()).cloned()).collect()
    }

    fn read_use(&mut self, tree: &syn::UseTree, prefix: &[String], is_public: bool, line: usize) {
        let with = |name: &syn::Ident| {
            let mut path = prefix.to_vec();
            path.push(name.to_string());
            path
        };
        let (path, name) = match tree {
            syn::UseTree::Path(path) => {
                return self.read_use(&path.tree, &with(&path.ident), is_public, line);
            }
            syn::UseTree::Group(group) => {
                for item in &group.items {
                    self.read_use(item, prefix, is_public, line);
                }
                return;
            }
            syn::UseTree::Name(name) if name.ident == "self" => (prefix.to_vec(), prefix.last().cloned()),
            syn::UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            syn::UseTree::Rename(rename) if rename.ident == "self" => {
                (prefix.to_vec(), Some(rename.rename.to_string()))
            }
            syn::UseTree::Rename(rename) => (with(&rename.ident), Some(rename.rename.to_string())),
            syn::UseTree::Glob(_) => (prefix.to_vec(), None),
        };
        let path = self.normalise(path);
        self.facts.imports.push(Import { path, name, is_public, line });
    }

    /// Collects identifiers and paths. `use` declarations are left to the syntax tree.
    fn scan_paths(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            let line = tree.span().start().line;
            let next = trees.get(at + 1);
            at += 1;
            match tree {
                _ if self.source.is_test_line(line) => {}
                TokenTree::Ident(_)
                    if is_ident(tree, "use") && next.is_some_and(|next| !is_punct(next, '<')) =>
                {
                    at += trees.iter().skip(at).take_while(|tree| !is_punct(tree, ';')).count();
                }
                TokenTree::Ident(name) => {
                    self.facts.identifiers.insert(name.to_string());
                    let path = read_path(trees.get(at - 1..).unwrap_or_default());
                    if path.len() > 1 && !follows_separator(trees.get(..at - 1).unwrap_or_default()) {
                        let path = self.normalise(path);
                        self.facts.paths.entry(path).or_insert(line);
                    }
                }
                TokenTree::Group(group) => {
                    let before = trees.get(..at - 1).unwrap_or_default();
                    let is_inline_module =
                        matches!(before, [.., keyword, TokenTree::Ident(_)] if is_ident(keyword, "mod"));
                    self.depth += usize::from(is_inline_module);
                    self.scan_paths(group.stream());
                    self.depth -= usize::from(is_inline_module);
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

/// The identifiers of the path that the tokens start with.
fn read_path(trees: &[TokenTree]) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = trees;
    while let [TokenTree::Ident(name), after @ ..] = rest {
        path.push(name.to_string());
        match after {
            [first, second, next @ ..] if is_joint(first, &[':']) && is_punct(second, ':') => rest = next,
            _ => break,
        }
    }
    path
}

/// Do the tokens end with `::` or `.`?
fn follows_separator(before: &[TokenTree]) -> bool {
    match before {
        [.., first, second] if is_joint(first, &[':']) && is_punct(second, ':') => true,
        [.., dot] => is_punct(dot, '.'),
        [] => false,
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let line = item.use_token.span.start().line;
        if !self.source.is_test_line(line) {
            let is_public = !matches!(item.vis, syn::Visibility::Inherited);
            self.read_use(&item.tree, &[], is_public, line);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = self.source.is_test_line(item.mod_token.span.start().line);
        let has_path = item.attrs.iter().any(|attribute| attribute.path().is_ident("path"));
        match &item.content {
            None if is_test => _ = self.facts.test_children.insert(item.ident.to_string()),
            None if !has_path => _ = self.facts.children.insert(item.ident.to_string()),
            Some(_) if !is_test => {
                self.facts.items.insert(item.ident.to_string());
                self.depth += 1;
                visit::visit_item_mod(self, item);
                self.depth -= 1;
            }
            None | Some(_) => {}
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.facts.items.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }
}
