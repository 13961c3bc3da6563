//! Patches: any text may be one. A diff of two texts turns the first into the second, byte for
//! byte.

use crate::input::split_at_nul;
use marvin_tools::patch::apply_to_text;
use similar::{ChangeTag, TextDiff};
use std::time::{Duration, Instant};

/// Longer inputs only take more time.
const MAX_INPUT_BYTES: usize = 20_000;
/// Limit for a patch of this size, even under a sanitizer.
const MAX_APPLY_TIME: Duration = Duration::from_secs(20);

/// Applies the second part of the input to the first as a patch, and a diff of both parts.
pub fn patch(data: &[u8]) {
    let (old, new) = split_at_nul(data.get(..MAX_INPUT_BYTES).unwrap_or(data));
    let started = Instant::now();
    apply_to_text(&old, &new).ok();
    assert!(started.elapsed() < MAX_APPLY_TIME, "applying took {:?}", started.elapsed());
    if old != new && old.len() + new.len() < 4000 {
        for (from, to) in [(&old, &new), (&new, &old)] {
            let diff = unified(from, to);
            match apply_to_text(from, &diff) {
                Ok(text) => assert_eq!(&text, to, "{diff}"),
                Err(error) => panic!("{error}\n{diff}"),
            }
        }
    }
}

/// A unified diff with three lines around each change; lines are split at line feeds, as git splits
/// them.
fn unified(old: &str, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&before, &after);
    let mut text = "--- a/f\n+++ b/f\n".to_string();
    for group in diff.grouped_ops(3) {
        let lines: Vec<(ChangeTag, &str)> = group
            .iter()
            .flat_map(|op| diff.iter_changes(op))
            .map(|line| (line.tag(), *line.value_ref()))
            .collect();
        let count = |but: ChangeTag| lines.iter().filter(|(tag, _)| *tag != but).count();
        let start = group.first().map_or(0, |op| op.old_range().start);
        let (old, new) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        text.push_str(&format!("@@ -{},{old} +1,{new} @@\n", start + usize::from(old > 0)));
        for (tag, line) in lines {
            text.push(match tag {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}
