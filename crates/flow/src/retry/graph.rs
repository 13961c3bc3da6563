//! Delegation graph: nodes are call signatures, and an edge leads from a call to one that it caused. It finds a call that
//! returns to one of its ancestors, at any distance.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Calls and the calls that they caused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegations {
    edges: BTreeMap<String, BTreeSet<String>>,
}

/// A call that would lead back to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The calls in order; the last is the first again.
    pub path: Vec<String>,
}

impl Delegations {
    /// Adds an edge unless it closes a cycle.
    ///
    /// # Errors
    /// When the child is the parent or one of its ancestors.
    pub fn delegate(&mut self, parent: &str, child: &str) -> Result<(), Cycle> {
        if let Some(mut path) = self.path(child, parent) {
            path.push(child.to_string());
            return Err(Cycle { path });
        }
        self.note(parent, child);
        Ok(())
    }

    /// Adds an edge, even one that closes a cycle.
    pub fn note(&mut self, parent: &str, child: &str) {
        self.edges.entry(parent.to_string()).or_default().insert(child.to_string());
    }

    /// The shortest path from one call to another; a call leads to itself.
    #[must_use]
    pub fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
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
    fn a_cycle_is_found_at_any_distance() {
        let mut graph = Delegations::default();
        graph.delegate("a", "b").unwrap();
        graph.delegate("b", "c").unwrap();
        graph.delegate("a", "c").unwrap();
        graph.delegate("c", "d").unwrap();
        assert_eq!(graph.delegate("a", "a").unwrap_err().path, ["a", "a"]);
        assert_eq!(graph.delegate("b", "a").unwrap_err().path, ["a", "b", "a"]);
        assert_eq!(graph.delegate("d", "a").unwrap_err().path, ["a", "c", "d", "a"]);
        assert_eq!(graph.path("b", "a"), None, "a refused edge is not added");
        graph.delegate("b", "d").unwrap();
    }

    #[test]
    fn a_long_chain_is_walked_without_recursion() {
        let mut graph = Delegations::default();
        for n in 0..20_000 {
            graph.note(&format!("n{n}"), &format!("n{}", n + 1));
        }
        assert_eq!(graph.delegate("n20000", "n0").unwrap_err().path.len(), 20_002);
        assert!(graph.delegate("n0", "n20000").is_ok());
    }
}
