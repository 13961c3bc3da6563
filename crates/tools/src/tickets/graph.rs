//! The dependency graph: the tree below a ticket, and cycles.
//!
//! Both walk without recursion, so that a chain of any length is walked to its end. A dependency that leads back to a
//! ticket on the current path is not followed.

use super::store::Shelf;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Lines and bytes of a tree; with `--full` the number of paths can be astronomical.
const LINES: usize = 10_000;
const BYTES: usize = 1_000_000;

impl Shelf {
    /// The dependency tree of a ticket. Each ticket appears once, at its greatest depth; with `full` wherever it is needed.
    #[must_use]
    pub fn tree(&self, root: &str, full: bool) -> String {
        let walk = Walk::new(self, root);
        let mut text = format!("{}\n", self.line(root));
        let mut printed = BTreeSet::from([root.to_string()]);
        let mut top = Branch::default();
        top.id = root.to_string();
        let top = Rc::new(top);
        let mut stack = walk.below(&top, full, &printed);
        for line in 0.. {
            let Some(branch) = stack.pop() else { break };
            if line >= LINES || text.len() > BYTES {
                text.push_str("… (more)\n");
                break;
            }
            let end = if branch.last { "└── " } else { "├── " };
            text.push_str(&format!("{}{end}{}\n", branch.before, self.line(&branch.id)));
            printed.insert(branch.id.clone());
            stack.extend(walk.below(&Rc::new(branch), full, &printed));
        }
        text
    }

    /// Cycles among the tickets that are not closed: one for each dependency that closes one, beginning with its smallest
    /// id.
    #[must_use]
    pub fn circles(&self) -> Vec<Vec<String>> {
        let open = |id: &&String| self.tickets.get(*id).is_some_and(|ticket| ticket.status() != "closed");
        let deps: BTreeMap<&String, Vec<String>> = self
            .tickets
            .iter()
            .filter(|(id, _)| open(id))
            .map(|(id, ticket)| (id, ticket.list("deps").into_iter().filter(|dep| open(&dep)).collect()))
            .collect();
        let mut circles = BTreeSet::new();
        let mut done: BTreeSet<&String> = BTreeSet::new();
        for start in deps.keys() {
            // The path from the start, and how many dependencies of each were visited.
            let mut way: Vec<(&String, usize)> = Vec::new();
            if !done.contains(*start) {
                way.push((start, 0));
            }
            while let Some((id, looked)) = way.last_mut() {
                let next = deps.get(*id).and_then(|deps| deps.get(*looked));
                *looked += 1;
                match next {
                    None => {
                        done.insert(id);
                        way.pop();
                    }
                    Some(next) => {
                        if let Some(at) = way.iter().position(|(id, _)| *id == next) {
                            let circle = way.iter().skip(at).map(|(id, _)| (*id).clone()).collect();
                            circles.insert(from_smallest(circle));
                        } else if !done.contains(next)
                            && let Some((next, _)) = deps.get_key_value(next)
                        {
                            way.push((next, 0));
                        }
                    }
                }
            }
        }
        circles.into_iter().collect()
    }

    /// The cycles as text.
    #[must_use]
    pub fn circles_text(&self, circles: &[Vec<String>]) -> String {
        if circles.is_empty() {
            return "No dependency cycles found\n".to_string();
        }
        let mut parts = Vec::new();
        for (at, circle) in circles.iter().enumerate() {
            let way: Vec<&str> = circle.iter().chain(circle.first()).map(String::as_str).collect();
            let mut text = format!("Cycle {}: {}\n", at + 1, way.join(" -> "));
            for id in circle {
                let line = self.line(id);
                let rest = line.strip_prefix(id.as_str()).unwrap_or_default().trim_start();
                text.push_str(&format!("  {id:<8} {rest}\n"));
            }
            parts.push(text);
        }
        parts.join("\n")
    }
}

fn from_smallest(mut circle: Vec<String>) -> Vec<String> {
    let smallest = circle.iter().enumerate().min_by_key(|(_, id)| (*id).clone()).map_or(0, |(at, _)| at);
    circle.rotate_left(smallest);
    circle
}

/// A line of the tree.
#[derive(Debug, Default)]
struct Branch {
    id: String,
    depth: usize,
    before: String,
    last: bool,
    above: Option<Rc<Branch>>,
}

impl Branch {
    /// Whether the path from the root leads through this ticket.
    fn comes_from(&self, id: &str) -> bool {
        let mut here = Some(self);
        while let Some(branch) = here {
            if branch.id == id {
                return true;
            }
            here = branch.above.as_deref();
        }
        false
    }
}

impl Drop for Branch {
    /// A long path is dropped step by step, not by recursion.
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(mut branch) = above.and_then(Rc::into_inner) {
            above = branch.above.take();
        }
    }
}

/// The tickets below a root.
struct Walk {
    /// Dependencies that exist.
    all: BTreeMap<String, Vec<String>>,
    /// The same without those that lead back.
    deps: BTreeMap<String, Vec<String>>,
    /// The length of the longest path from the root to each.
    depth: BTreeMap<String, usize>,
    /// The greatest depth at or below each.
    deepest: BTreeMap<String, usize>,
}

impl Walk {
    fn new(shelf: &Shelf, root: &str) -> Walk {
        let mut walk = Walk {
            all: BTreeMap::new(),
            deps: BTreeMap::new(),
            depth: BTreeMap::from([(root.to_string(), 0)]),
            deepest: BTreeMap::new(),
        };
        // Postorder: those below first.
        let mut order: Vec<String> = Vec::new();
        let mut on_way: BTreeSet<String> = BTreeSet::from([root.to_string()]);
        walk.all.insert(root.to_string(), existing(shelf, root));
        let mut way: Vec<(String, usize)> = vec![(root.to_string(), 0)];
        while let Some((id, looked)) = way.last_mut() {
            let Some(next) = walk.all.get(id).and_then(|all| all.get(*looked)).cloned() else {
                order.push(id.clone());
                on_way.remove(id);
                way.pop();
                continue;
            };
            *looked += 1;
            if on_way.contains(&next) {
                continue;
            }
            walk.deps.entry(id.clone()).or_default().push(next.clone());
            if !walk.all.contains_key(&next) {
                walk.all.insert(next.clone(), existing(shelf, &next));
                on_way.insert(next.clone());
                way.push((next, 0));
            }
        }
        for id in order.iter().rev() {
            let here = walk.depth.get(id).copied().unwrap_or(0);
            for dep in walk.deps.get(id).into_iter().flatten() {
                let there = walk.depth.entry(dep.clone()).or_insert(0);
                *there = (*there).max(here + 1);
            }
        }
        for id in &order {
            let own = walk.depth.get(id).copied().unwrap_or(0);
            let deps = walk.deps.get(id).into_iter().flatten();
            let under = deps.filter_map(|dep| walk.deepest.get(dep).copied()).max();
            walk.deepest.insert(id.clone(), own.max(under.unwrap_or(0)));
        }
        walk
    }

    /// The lines below a line, the first of them last.
    fn below(&self, above: &Rc<Branch>, full: bool, printed: &BTreeSet<String>) -> Vec<Branch> {
        let depth = above.depth + 1;
        let deps = if full { &self.all } else { &self.deps };
        let mut ids: Vec<&String> = deps.get(&above.id).into_iter().flatten().collect();
        ids.retain(|dep| match full {
            true => !above.comes_from(dep),
            false => self.depth.get(*dep) == Some(&depth) && !printed.contains(*dep),
        });
        ids.sort_by_key(|dep| (self.deepest.get(*dep).copied().unwrap_or(0), (*dep).clone()));
        ids.dedup();
        let before = match above.depth {
            0 => String::new(),
            _ => format!("{}{}", above.before, if above.last { "    " } else { "│   " }),
        };
        let branch = |(at, dep): (usize, &&String)| Branch {
            id: (*dep).clone(),
            depth,
            before: before.clone(),
            last: at == 0,
            above: Some(Rc::clone(above)),
        };
        ids.iter().rev().enumerate().map(branch).collect()
    }
}

fn existing(shelf: &Shelf, id: &str) -> Vec<String> {
    let deps = shelf.tickets.get(id).map(|ticket| ticket.list("deps")).unwrap_or_default();
    deps.into_iter().filter(|dep| shelf.tickets.contains_key(dep)).collect()
}
