//! What holds for every patch: applied it gives the new text to the byte, and its reverse gives the old one back.

use super::hunk::apply;
use super::parse::{FilePatch, parse};
use proptest::collection::vec;
use proptest::prelude::*;
use similar::TextDiff;

/// A line without its end: few words so that lines repeat, marks that mean something in patches, odd letters.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{0,2}",
        2 => "(\\+|-| |\\\\ No newline|@@|@@ -1 \\+1 @@|---|--- a/f|\\+\\+\\+ b/f|\\*\\*\\* End Patch|\\*\\*\\* End of File|diff --git a/f b/f|```)[ab]?",
        2 => "[ü日🎉e\u{301}\t \u{200b}]{1,4}",
        1 => ("[a-z ]{1,3}", 100..800usize).prop_map(|(piece, times)| piece.repeat(times)),
        1 => "a\r[b]?",
    ]
}

/// How lines end.
#[derive(Debug, Clone, Copy)]
enum Ends {
    Unix,
    Windows,
    Mixed,
}

type Text = (Vec<(String, bool)>, bool);

fn join((lines, closed): &Text, ends: Ends) -> String {
    let mut text = String::new();
    for (number, (line, windows)) in lines.iter().enumerate() {
        text.push_str(line);
        if number + 1 < lines.len() || *closed {
            let windows = match ends {
                Ends::Unix => false,
                Ends::Windows => true,
                Ends::Mixed => *windows,
            };
            text.push_str(if windows { "\r\n" } else { "\n" });
        }
    }
    text
}

/// Two different texts: one, and what some edits make of it (or another one altogether). `closed` says whether both end
/// in a line end; carriage returns in the middle of lines come only where lines may end in one.
fn pair(ends: Ends, closed: Option<bool>) -> impl Strategy<Value = (String, String)> {
    let line = || {
        line().prop_map(move |line| if matches!(ends, Ends::Unix) { line.replace('\r', "") } else { line })
    };
    let lines = move || vec((line(), any::<bool>()), 0..14);
    let edits = vec((any::<prop::sample::Index>(), 0..3u8, line(), any::<bool>()), 0..5);
    let ending = any::<bool>().prop_map(move |drawn| closed.unwrap_or(drawn));
    let texts = (lines(), ending.clone(), ending, edits, prop::option::weighted(0.2, lines())).prop_map(
        move |(old, closed, still_closed, edits, other)| {
            let mut new = other.unwrap_or_else(|| old.clone());
            for (at, kind, text, windows) in edits {
                let at = at.index(new.len() + 1);
                match kind {
                    0 => new.insert(at, (text, windows)),
                    1 if at < new.len() => drop(new.remove(at)),
                    2 if at < new.len() => new[at] = (text, windows),
                    _ => {}
                }
            }
            (join(&(old, closed), ends), join(&(new, still_closed), ends))
        },
    );
    texts.prop_filter("the same", |(old, new)| old != new)
}

fn any_pair(closed: Option<bool>) -> impl Strategy<Value = (String, String)> {
    prop_oneof![pair(Ends::Unix, closed), pair(Ends::Windows, closed), pair(Ends::Mixed, closed)]
}

/// What two texts differ in: groups of lines with their signs, and where each begins.
fn groups(old: &str, new: &str, context: usize) -> Vec<(usize, Vec<(char, String)>)> {
    let lines = |text: &'static str| text.split_inclusive('\n').collect::<Vec<_>>();
    // The diff borrows from both for as long as it lives, and these are tests.
    let (old, new) = (lines(old.to_string().leak()), lines(new.to_string().leak()));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    let group = |ops: &Vec<similar::DiffOp>| {
        let lines = ops.iter().flat_map(|op| diff.iter_changes(op)).map(|change| {
            let sign = match change.tag() {
                similar::ChangeTag::Equal => ' ',
                similar::ChangeTag::Delete => '-',
                similar::ChangeTag::Insert => '+',
            };
            (sign, change.value().to_string())
        });
        (ops.first().map_or(0, |op| op.old_range().start), lines.collect())
    };
    diff.grouped_ops(context).iter().map(group).collect()
}

/// A unified diff. Lines are divided at line feeds only, as git divides them.
fn diff(old: &str, new: &str, context: usize) -> String {
    let mut text = "--- a/f\n+++ b/f\n".to_string();
    for (start, lines) in groups(old, new, context) {
        let count = |but: char| lines.iter().filter(|(sign, _)| *sign != but).count();
        // A range without lines is named by the line before it.
        let first = if count('+') == 0 { start } else { start + 1 };
        text.push_str(&format!("@@ -{first},{} +1,{} @@\n", count('+'), count('-')));
        for (sign, line) in lines {
            text.push(sign);
            text.push_str(&line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn patched(old: &str, patch: &str) -> Result<String, String> {
    match parse(patch, None).map_err(|error| error.to_string())?.as_slice() {
        [FilePatch::Update { hunks, .. }] => apply(old, hunks).map_err(|error| error.to_string()),
        other => Err(format!("{other:?}")),
    }
}

/// A Codex patch whose hunks have this many lines around them.
fn codex(old: &str, new: &str, context: usize) -> String {
    let mut patch = "*** Begin Patch\n*** Update File: f\n".to_string();
    for (_, lines) in groups(old, new, context) {
        patch.push_str("@@\n");
        for (sign, line) in lines {
            patch.push_str(&format!("{sign}{}\n", line.strip_suffix('\n').unwrap_or(&line)));
        }
    }
    patch.push_str("*** End Patch\n");
    patch
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_gives_the_new_text_and_its_reverse_the_old((old, new) in any_pair(None), context in 1..5usize) {
        let there = diff(&old, &new, context);
        prop_assert_eq!(patched(&old, &there), Ok(new.clone()), "{}", there);
        let back = diff(&new, &old, context);
        prop_assert_eq!(patched(&new, &back), Ok(old), "{}", back);
    }

    /// Without lines around them, insertions show nothing of how lines end; where all end alike, that is enough.
    #[test]
    fn a_diff_without_context_too((old, new) in pair(Ends::Unix, None)) {
        let there = diff(&old, &new, 0);
        prop_assert_eq!(patched(&old, &there), Ok(new), "{}", there);
    }

    /// A Codex patch has no line numbers: it gives exactly the new text, or says that its place is not clear.
    #[test]
    fn a_codex_patch_gives_the_new_text_or_says_why_not((old, new) in any_pair(Some(true)), context in 1..20usize) {
        for (from, to) in [(&old, &new), (&new, &old)] {
            let patch = codex(from, to, context);
            match patched(from, &patch) {
                // The whole file is around it, so its place is clear.
                Err(error) if context >= 14 => prop_assert!(false, "{error}\n{patch}"),
                Err(error) => prop_assert!(error.contains("times"), "{error}\n{patch}"),
                Ok(text) => prop_assert_eq!(&text, to, "{}", patch),
            }
        }
    }

    /// Models write plain line feeds; a file from Windows stays one.
    #[test]
    fn a_plain_patch_fits_a_file_from_windows((old, new) in pair(Ends::Unix, None), context in 1..5usize) {
        prop_assume!(old.contains('\n'));
        let windows = |text: &str| text.replace('\n', "\r\n");
        let patch = diff(&old, &new, context);
        prop_assert_eq!(patched(&windows(&old), &patch), Ok(windows(&new)), "{}", patch);
        // And one whose own lines end as on Windows fits a plain file.
        prop_assert_eq!(patched(&old, &windows(&patch)), Ok(new), "{}", patch);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// A patch for another text is refused, or fits: it never panics, and never takes long.
    #[test]
    fn a_patch_for_another_text_does_no_harm((old, new) in any_pair(None), (other, _) in any_pair(None), context in 0..5usize) {
        for patch in [diff(&old, &new, context), codex(&old, &new, context)] {
            patched(&other, &patch).ok();
        }
    }
}
