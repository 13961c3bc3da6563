//! The graph of calls: nodes are call signatures, and an edge leads from a call to the one that followed it. It finds a call
//! that returns to an earlier one, at any distance.

use super::attempt::Attempt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Calls and the calls that followed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallGraph {
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl CallGraph {
    /// The graph of successive attempts.
    pub(super) fn from_attempts(attempts: &[Attempt]) -> Self {
        let mut graph = CallGraph::default();
        for (before, after) in attempts.iter().zip(attempts.iter().skip(1)) {
            if before.call_signature != after.call_signature {
                graph.note(&before.call_signature, &after.call_signature);
            }
        }
        graph
    }

    fn note(&mut self, parent: &str, child: &str) {
        self.edges.entry(parent.to_string()).or_default().insert(child.to_string());
    }

    /// The shortest path from one call to another; a call leads to itself.
    pub(super) fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<&str, Option<&str>> = BTreeMap::from([(from, None)]);
        let mut queue = VecDeque::from([from]);
        while let Some(here) = queue.pop_front() {
            if here == to {
                let mut path: Vec<String> = Vec::new();
                let mut at = Some(here);
                while let Some(node) = at {
                    path.push(node.to_string());
                    at = came_from.get(node).copied().flatten();
                }
                path.reverse();
                return Some(path);
            }
            for next in self.edges.get(here).into_iter().flatten() {
                if !came_from.contains_key(next.as_str()) {
                    came_from.insert(next, Some(here));
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_at_any_distance() {
        let mut graph = CallGraph::default();
        for (before, after) in [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")] {
            graph.note(before, after);
        }
        assert_eq!(graph.path("a", "a").unwrap(), ["a"]);
        assert_eq!(graph.path("a", "b").unwrap(), ["a", "b"]);
        assert_eq!(graph.path("a", "d").unwrap(), ["a", "c", "d"]);
        assert_eq!(graph.path("b", "a"), None);
    }

    #[test]
    fn a_long_chain_is_walked_without_recursion() {
        let mut graph = CallGraph::default();
        for n in 0..20_000 {
            graph.note(&format!("n{n}"), &format!("n{}", n + 1));
        }
        assert_eq!(graph.path("n0", "n20000").unwrap().len(), 20_001);
        assert_eq!(graph.path("n20000", "n0"), None);
    }
}
