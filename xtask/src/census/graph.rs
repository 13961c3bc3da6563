//! Module graph of each crate, and its circles.
//!
//! An edge goes from a module to the one that defines an item it names, by `use` or by a path;
//! imports and re-exports are followed to the definition. `mod child;` is not an edge, nor is a
//! re-export, unless the module names the item itself.
//!
//! Limits: names that a macro makes up are not seen; a name that is not found counts as defined
//! where its path ends.

use super::modules::{Import, ModuleFacts, children_directory};
use std::collections::{BTreeMap, BTreeSet};

/// Imports that may lead from one to the next before a name is given up.
const MAX_IMPORT_HOPS: usize = 16;

/// The largest strongly connected component of a crate.
#[derive(Debug)]
pub(super) struct Circle {
    /// Directory of the crate; with the file's name where it has several roots.
    pub(super) root: String,
    /// Paths of its modules, as code would write them.
    pub(super) members: Vec<String>,
    /// Edges between members: file, line, module it leads to.
    pub(super) edges: Vec<(String, usize, String)>,
}

/// Largest circle of each crate that has one, largest first.
pub(super) fn find_circles(files: &[ModuleFacts]) -> Vec<Circle> {
    let by_path: BTreeMap<&str, &ModuleFacts> =
        files.iter().map(|facts| (facts.path.as_str(), facts)).collect();
    let roots = files.iter().filter(|facts| is_root(&facts.path));
    let mut circles: Vec<Circle> =
        roots.filter_map(|root| Tree::build(root, &by_path).largest_circle()).collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.members.len()));
    circles
}

fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs")
        || path.ends_with("/src/main.rs")
        || path.rsplit_once('/').is_some_and(|(directory, _)| directory.ends_with("/src/bin"))
}

struct Module<'a> {
    facts: &'a ModuleFacts,
    name: String,
    parent: usize,
    children: BTreeMap<String, usize>,
}

/// Modules of one crate; the first is the root.
struct Tree<'a> {
    modules: Vec<Module<'a>>,
}

/// Where a path leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item of a module.
    Item(usize),
    /// Another crate, or something that is not a path to an item.
    Elsewhere,
}

impl<'a> Tree<'a> {
    fn build(root: &'a ModuleFacts, files: &BTreeMap<&str, &'a ModuleFacts>) -> Self {
        let module = |facts, name: &str, parent| Module {
            facts,
            name: name.to_owned(),
            parent,
            children: BTreeMap::new(),
        };
        let mut modules = vec![module(root, "crate", 0)];
        let mut at = 0;
        while let Some(parent) = modules.get(at) {
            let directory = children_directory(&parent.facts.path);
            let path = parent.name.clone();
            let mut children = BTreeMap::new();
            for name in &parent.facts.children {
                let candidates = [format!("{directory}/{name}.rs"), format!("{directory}/{name}/mod.rs")];
                if let Some(facts) = candidates.iter().find_map(|file| files.get(file.as_str())) {
                    children.insert(name.clone(), *facts);
                }
            }
            for (name, facts) in children {
                let index = modules.len();
                modules.push(module(facts, &format!("{path}::{name}"), at));
                if let Some(parent) = modules.get_mut(at) {
                    parent.children.insert(name, index);
                }
            }
            at += 1;
        }
        Self { modules }
    }

    /// Follows a path that is written in the module `from`.
    fn resolve(&self, from: usize, path: &[String], hops: usize) -> Target {
        let (Some(module), Some((first, rest))) = (self.modules.get(from), path.split_first()) else {
            return Target::Elsewhere;
        };
        match first.as_str() {
            "crate" => self.descend(0, rest, hops),
            "self" => self.descend(from, rest, hops),
            "super" => self.descend(module.parent, rest, hops),
            name if module.children.contains_key(name) || find_import(module.facts, name).is_some() => {
                self.descend(from, path, hops)
            }
            _ => Target::Elsewhere,
        }
    }

    /// Follows the segments of a path below a module.
    fn descend(&self, from: usize, path: &[String], hops: usize) -> Target {
        let (Some(module), Some((name, rest))) = (self.modules.get(from), path.split_first()) else {
            return Target::Module(from);
        };
        if name == "super" {
            return self.descend(module.parent, rest, hops);
        }
        if let Some(child) = module.children.get(name) {
            return self.descend(*child, rest, hops);
        }
        if module.facts.items.contains(name) || hops == 0 {
            return Target::Item(from);
        }
        if let Some(import) = find_import(module.facts, name) {
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            return self.resolve(from, &path, hops - 1);
        }
        for import in module.facts.imports.iter().filter(|import| import.name.is_none()) {
            if let Target::Module(origin) = self.resolve(from, &import.path, hops - 1)
                && origin != from
                && self.defines(origin, name)
            {
                return self.descend(origin, path, hops - 1);
            }
        }
        Target::Item(from)
    }

    fn defines(&self, module: usize, name: &str) -> bool {
        self.modules.get(module).is_some_and(|module| {
            module.facts.items.contains(name)
                || module.children.contains_key(name)
                || find_import(module.facts, name).is_some()
        })
    }

    /// Modules that a module depends on, with the line that first says so.
    fn edges(&self, from: usize) -> BTreeMap<usize, usize> {
        let mut edges = BTreeMap::new();
        let Some(module) = self.modules.get(from) else { return edges };
        let mut add = |target: usize, line: usize| {
            if target != from {
                edges.entry(target).and_modify(|first: &mut usize| *first = line.min(*first)).or_insert(line);
            }
        };
        for import in &module.facts.imports {
            let is_used = match &import.name {
                Some(name) => !import.is_public || module.facts.identifiers.contains(name),
                None => !import.is_public,
            };
            match self.resolve(from, &import.path, MAX_IMPORT_HOPS) {
                Target::Item(target) if is_used => add(target, import.line),
                Target::Module(target) if is_used && import.name.is_none() => add(target, import.line),
                // Paths through the imported module lead to what is used of it.
                Target::Item(_) | Target::Module(_) | Target::Elsewhere => {}
            }
        }
        for (path, line) in &module.facts.paths {
            if let Target::Item(target) = self.resolve(from, path, MAX_IMPORT_HOPS) {
                add(target, *line);
            }
        }
        edges
    }

    fn largest_circle(&self) -> Option<Circle> {
        let edges: Vec<BTreeMap<usize, usize>> =
            (0..self.modules.len()).map(|module| self.edges(module)).collect();
        let targets: Vec<Vec<usize>> = edges.iter().map(|edges| edges.keys().copied().collect()).collect();
        let largest = find_components(&targets).into_iter().max_by_key(BTreeSet::len)?;
        if largest.len() < 2 {
            return None;
        }
        let named = |index: &usize| self.modules.get(*index);
        let mut inner = Vec::new();
        for (from, edges) in edges.iter().enumerate().filter(|(from, _)| largest.contains(from)) {
            for (target, line) in edges.iter().filter(|(target, _)| largest.contains(target)) {
                if let (Some(from), Some(target)) = (named(&from), named(target)) {
                    inner.push((from.facts.path.clone(), *line, target.name.clone()));
                }
            }
        }
        Some(Circle {
            root: self.modules.first()?.facts.path.clone(),
            members: largest.iter().filter_map(named).map(|module| module.name.clone()).collect(),
            edges: inner,
        })
    }
}

fn find_import<'a>(facts: &'a ModuleFacts, name: &str) -> Option<&'a Import> {
    facts.imports.iter().find(|import| import.name.as_deref() == Some(name))
}

/// Strongly connected components, by Tarjan's algorithm.
fn find_components(targets: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let mut search = ComponentSearch { targets, ..ComponentSearch::default() };
    for node in 0..targets.len() {
        if !search.order.contains_key(&node) {
            search.visit(node);
        }
    }
    search.components
}

#[derive(Default)]
struct ComponentSearch<'a> {
    targets: &'a [Vec<usize>],
    /// Order in which nodes were first seen.
    order: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    components: Vec<BTreeSet<usize>>,
}

impl ComponentSearch<'_> {
    /// Visits a node and returns the earliest node on the stack that it reaches.
    fn visit(&mut self, node: usize) -> usize {
        let own = self.order.len();
        self.order.insert(node, own);
        self.stack.push(node);
        let mut earliest = own;
        for target in self.targets.get(node).into_iter().flatten() {
            match self.order.get(target) {
                None => earliest = earliest.min(self.visit(*target)),
                Some(order) if self.stack.contains(target) => earliest = earliest.min(*order),
                Some(_) => {}
            }
        }
        if earliest == own {
            let start = self.stack.iter().position(|other| *other == node).unwrap_or(0);
            self.components.push(self.stack.drain(start..).collect());
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::modules;
    use crate::census::source::Source;

    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let read = |(path, text): &(&str, &str)| {
            let source = Source::parse(&format!("crates/a/src/{path}"), (*text).to_owned()).unwrap();
            modules::read(&source, &syn::parse2(source.tokens.clone()).unwrap())
        };
        let facts: Vec<ModuleFacts> = files.iter().map(read).collect();
        find_circles(&facts).into_iter().next().map(|circle| circle.members).unwrap_or_default()
    }

    #[test]
    fn components_are_found() {
        let components = find_components(&[vec![1], vec![2], vec![0, 3], vec![4], vec![3], vec![]]);
        let sets: Vec<Vec<usize>> = components.into_iter().map(|set| set.into_iter().collect()).collect();
        assert_eq!(sets, [vec![3, 4], vec![0, 1, 2], vec![5]]);
    }

    #[test]
    fn imports_and_paths_make_a_circle() {
        let root = ("lib.rs", "mod a;\nmod b;\nmod c;");
        let a = ("a.rs", "use crate::b::B;\npub struct A(B);");
        let c = ("c.rs", "pub struct C;");
        assert_eq!(
            circle(&[root, a, c, ("b.rs", "pub struct B;\nfn f() { vec![super::a::A] }")]),
            ["crate::a", "crate::b"]
        );
        assert_eq!(circle(&[root, a, c, ("b.rs", "pub struct B(super::c::C);")]), [""; 0]);
        let test_only = "pub struct B;\n#[cfg(test)]\nmod tests {\n  use crate::a::A;\n}";
        assert_eq!(circle(&[root, a, c, ("b.rs", test_only)]), [""; 0]);
    }

    #[test]
    fn re_exports_lead_to_the_definition() {
        let root = ("lib.rs", "mod a;");
        let a = ("a/mod.rs", "mod b;\nmod c;\npub use self::b::B;\npub use c::*;\nfn f() { b::g(); }");
        let b = ("a/b.rs", "use super::C;\npub struct B;\npub fn g() {}");
        // The parent calls `b`, and `b` names an item that the parent only re-exports.
        assert_eq!(circle(&[root, a, b, ("a/c.rs", "pub struct C;")]), [""; 0]);
        assert_eq!(
            circle(&[root, a, b, ("a/c.rs", "pub struct C(crate::a::B);")]),
            ["crate::a::b", "crate::a::c"]
        );
        let uses_parent = ("a/b.rs", "use super::f;\npub struct B;\npub fn g() {}");
        assert_eq!(circle(&[root, a, uses_parent]), ["crate::a", "crate::a::b"]);
    }

    #[test]
    fn imported_modules_count_where_they_are_used() {
        let root = ("lib.rs", "mod a;\nmod b;");
        let a = ("a/mod.rs", "pub mod inner;\npub struct A;");
        let inner = ("a/inner.rs", "pub fn g() {}");
        let b = ("b.rs", "use crate::a;\nfn f() { a::inner::g() }\npub struct B;");
        let back = ("a/mod.rs", "pub mod inner;\npub struct A(crate::b::B);");
        assert_eq!(circle(&[root, back, inner, b]), [""; 0]);
        let names_a = ("b.rs", "use crate::a;\nfn f() -> a::A {}\npub struct B;");
        assert_eq!(circle(&[root, back, inner, names_a]), ["crate::a", "crate::b"]);
        assert_eq!(circle(&[root, a, inner, names_a]), [""; 0]);
    }

    #[test]
    fn inline_modules_belong_to_their_file() {
        let root = ("lib.rs", "mod a;\npub struct R;");
        let within = ("a.rs", "mod b { use super::A; fn f() -> super::A {} }\nstruct A;");
        let beyond = ("a.rs", "mod b { use super::super::R; }\npub struct A;");
        assert_eq!(circle(&[root, within]), [""; 0]);
        assert_eq!(circle(&[("lib.rs", "mod a;\npub struct R(a::A);"), beyond]), ["crate", "crate::a"]);
    }
}
