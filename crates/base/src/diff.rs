//! Differences of texts: for people as a unified diff, for decisions as a number.
//!
//! All go through slices of `&str`, so that the algorithms are compiled once.

use similar::TextDiff;

/// The change of a text, each side with its name, as a unified diff; empty where nothing changed.
#[must_use]
pub fn unified(before: (&str, &str), after: (&str, &str), context_lines: usize) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.1.split_inclusive('\n').collect(), after.1.split_inclusive('\n').collect());
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    diff.unified_diff().context_radius(context_lines).header(before.0, after.0).to_string()
}

/// The share of parts that two sequences have in common in the same order, from 0 to 1.
#[must_use]
pub fn similarity(one: &[&str], other: &[&str]) -> f32 {
    TextDiff::configure().diff_slices(one, other).ratio()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_context() {
        let diff = unified(("old", "a\nb\nc\nd\ne\n"), ("new", "a\nb\nX\nd\ne"), 1);
        assert_eq!(
            diff,
            "--- old\n+++ new\n@@ -2,4 +2,4 @@\n b\n-c\n+X\n d\n-e\n+e\n\\ No newline at end of file\n"
        );
        assert_eq!(unified(("old", "a\n"), ("new", "a\n"), 3), "");
    }

    #[test]
    fn similarity_is_a_share_of_both() {
        assert!((similarity(&["a", "b", "c", "d"], &["a", "b", "x", "d"]) - 0.75).abs() < 1e-6);
        assert!(similarity(&["a"], &["b"]) < 1e-6 && similarity(&[], &["a"]) < 1e-6);
    }
}
