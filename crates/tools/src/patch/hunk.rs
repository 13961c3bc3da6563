//! Hunks, and how they are applied to a text.
//!
//! Both patch languages come down to this: a list of hunks, each a run of lines that are kept, removed or added. The kept
//! and removed lines must occur in the file exactly, once, after the hunk before.
//!
//! Line endings: a patch that a program made states them exactly and is followed. A patch that a model made has plain line
//! feeds, whatever the file has; where its lines fit only without carriage returns, new lines take the endings of the
//! lines around them.

use super::error::{PatchError, misplaced};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Keep,
    Remove,
    Add,
}

/// A run of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines after which to search, one after the other.
    pub(super) anchors: Vec<String>,
    /// The expected line (from 1); of several matches the nearest is taken.
    pub(super) line: Option<usize>,
    /// The lines, without their line feeds.
    pub(super) lines: Vec<(Kind, String)>,
    /// Whether the last line of the new text has a line ending; unset means that the file keeps what it had.
    pub(super) final_newline: Option<bool>,
    /// Whether it must be at the end of the file.
    pub(super) at_end: bool,
}

impl Hunk {
    fn old(&self) -> Vec<&str> {
        self.lines.iter().filter(|(kind, _)| *kind != Kind::Add).map(|(_, text)| text.as_str()).collect()
    }
}

/// A line of a file without its line feed, and whether it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    text: &'a str,
    /// Whether a carriage return is added: for a new line in a file from Windows.
    carriage: bool,
    newline: bool,
}

fn lines_of(text: &str) -> Vec<Line<'_>> {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            None => Line { text: line, carriage: false, newline: false },
            Some(line) => Line { text: line, carriage: false, newline: true },
        })
        .collect()
}

/// The line without the carriage return of a line end.
fn plain(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

/// Whether most of these lines end as on Windows; `None` when none of them has a line ending.
fn mostly_windows(lines: &[Line<'_>]) -> Option<bool> {
    let ended = || lines.iter().filter(|line| line.newline);
    let windows = ended().filter(|line| line.carriage || line.text.ends_with('\r')).count();
    ended().next().map(|_| windows * 2 > ended().count())
}

/// Applies every hunk.
///
/// # Errors
/// Names the hunk that does not fit, and the nearest lines of the file.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, PatchError> {
    let mut lines = lines_of(text);
    let windows = mostly_windows(&lines).unwrap_or(false);
    let had_final_newline = text.is_empty() || text.ends_with('\n');
    let mut final_newline = None;
    let mut cursor = 0;
    let mut shift: isize = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let place = find(&lines, hunk, cursor, shift).map_err(|error| {
            misplaced(format!("hunk {}: {error}{}", number + 1, overlap(text, hunk, number)))
        })?;
        let old = hunk.old().len();
        let window = lines.get(place.at..place.at + old).unwrap_or_default();
        let touches_end = place.at + old >= lines.len();
        let fresh = put(hunk, window, &place, windows);
        cursor = place.at + fresh.len();
        shift += fresh.len().cast_signed() - old.cast_signed();
        lines.splice(place.at..place.at + old, fresh);
        if touches_end {
            final_newline = hunk.final_newline;
        }
    }
    let wanted = final_newline.unwrap_or(had_final_newline);
    let count = lines.len();
    let mut result = String::with_capacity(text.len() + 256);
    for (number, line) in lines.iter().enumerate() {
        let last = number + 1 == count;
        result.push_str(line.text);
        // A line without a line ending that is no longer the last one gets the ending of the others.
        let missing = !line.newline && windows && !line.text.ends_with('\r');
        if (!last || wanted) && (line.carriage || missing) {
            result.push('\r');
        }
        if !last || wanted {
            result.push('\n');
        }
    }
    Ok(result)
}

/// A note for a hunk that would fit if the hunks before it had not been applied.
fn overlap(text: &str, hunk: &Hunk, number: usize) -> String {
    if number == 0 {
        return String::new();
    }
    match places(&lines_of(text), &hunk.old(), 0, LOOSE).first() {
        Some(at) => format!(
            "\nIts lines are at line {} of the file as it is, where earlier hunks were applied already: hunks must not \
             overlap, and must be in the order of the file.",
            at + 1
        ),
        _ => String::new(),
    }
}

/// The lines that replace those of a hunk.
fn put<'a>(hunk: &'a Hunk, window: &[Line<'a>], place: &Place, windows: bool) -> Vec<Line<'a>> {
    let mut kept = window.iter().copied();
    let carriage = match mostly_windows(window) {
        Some(_) if place.exact => false,
        Some(windows) => windows,
        // No line around it shows which line ending is used here.
        None => windows && !hunk.lines.iter().any(|(_, text)| text.ends_with('\r')),
    };
    let mut fresh = Vec::new();
    for (kind, text) in &hunk.lines {
        match kind {
            Kind::Keep => fresh.extend(kept.next()),
            Kind::Remove => {
                kept.next();
            }
            Kind::Add => {
                let text = if place.exact { text } else { plain(text) };
                fresh.push(Line { text, carriage, newline: true });
            }
        }
    }
    fresh
}

/// Comparison of two lines: exact, or without carriage returns. Both are equivalence relations.
type LineEquality = fn(&str, &str) -> bool;
const EXACT: LineEquality = |line, wanted| line == wanted;
const LOOSE: LineEquality = |line, wanted| plain(line) == plain(wanted);

/// Every position from `start` at which these lines occur, by Knuth-Morris-Pratt: each line of the file is compared about
/// twice, however much the lines repeat themselves.
fn places(lines: &[Line<'_>], old: &[&str], start: usize, same: LineEquality) -> Vec<usize> {
    let matches = |text: &str, at: usize| old.get(at).is_some_and(|wanted| same(text, wanted));
    // The failure function: for a number of fitting lines, the longest proper prefix that is also their suffix.
    let mut shorter: Vec<usize> = vec![0, 0];
    let fall = |shorter: &[usize], mut fitting: usize, text: &str| {
        while fitting > 0 && !matches(text, fitting) {
            fitting = shorter.get(fitting).copied().unwrap_or(0);
        }
        fitting + usize::from(matches(text, fitting))
    };
    for text in old.iter().skip(1) {
        let fitting = fall(&shorter, shorter.last().copied().unwrap_or(0), text);
        shorter.push(fitting);
    }
    let mut places = Vec::new();
    let mut fitting = 0;
    for (at, line) in lines.iter().enumerate().skip(start) {
        fitting = fall(&shorter, fitting, line.text);
        if fitting == old.len() && fitting > 0 {
            places.push(at + 1 - fitting);
        }
    }
    places
}

/// Position of a hunk, and whether its lines match exactly.
struct Place {
    at: usize,
    exact: bool,
}

fn find(lines: &[Line<'_>], hunk: &Hunk, cursor: usize, shift: isize) -> Result<Place, PatchError> {
    let start = after_anchors(lines, hunk, cursor)?;
    let old = hunk.old();
    if old.is_empty() {
        return Ok(Place { at: insertion(lines, hunk, start, shift), exact: true });
    }
    let wanted = hunk.line.map(|line| line.saturating_sub(1).saturating_add_signed(shift));
    let fits = |at: usize, same: LineEquality| {
        // A patch may state any number.
        let Some(end) = at.checked_add(old.len()) else { return false };
        (!hunk.at_end || end == lines.len())
            && lines
                .get(at..end)
                .is_some_and(|window| window.iter().zip(&old).all(|(line, wanted)| same(line.text, wanted)))
    };
    // Lines that a program counted are where it says, also when only their line endings differ.
    for (same, exact) in [(EXACT, true), (LOOSE, false)] {
        if let Some(at) = wanted.filter(|at| *at >= start && fits(*at, same)) {
            return Ok(Place { at, exact });
        }
    }
    let all = |same| {
        let mut places = places(lines, &old, start, same);
        places.retain(|at| !hunk.at_end || at + old.len() == lines.len());
        places
    };
    // Plain line feeds do not single out a line of a file from Windows, not even its last one without a line ending.
    let plainly =
        lines.iter().any(|line| line.text.ends_with('\r')) && !old.iter().any(|line| line.ends_with('\r'));
    for (same, exact) in [(EXACT, true), (LOOSE, false)] {
        let mut places = all(same);
        if exact && plainly && places.len() == 1 {
            places = all(LOOSE);
        }
        let at = match (places.as_slice(), wanted) {
            ([], _) => continue,
            ([only], _) => *only,
            (several, Some(wanted)) => {
                several.iter().copied().min_by_key(|at| at.abs_diff(wanted)).unwrap_or(wanted)
            }
            ([first, ..], None) if !hunk.anchors.is_empty() => *first,
            (several, None) => {
                return Err(misplaced(format!(
                    "its lines occur in the file {} times (lines {}); add lines around them, or a line after `@@`, to say which",
                    several.len(),
                    several.iter().take(5).map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(", ")
                )));
            }
        };
        return Ok(Place { at, exact });
    }
    let text: Vec<&str> = lines.iter().map(|line| plain(line.text)).collect();
    Err(misplaced(format!(
        "its lines are not in the file{}. {}",
        if start > 0 { format!(" from line {}", start + 1) } else { String::new() },
        super::nearest::describe(&text, &old)
    )))
}

/// Where the search begins, after the lines that follow `@@`.
fn after_anchors(lines: &[Line<'_>], hunk: &Hunk, cursor: usize) -> Result<usize, PatchError> {
    let mut start = cursor;
    for anchor in &hunk.anchors {
        let rest = lines.get(start..).unwrap_or_default();
        let exact = rest.iter().position(|line| plain(line.text) == *anchor);
        let found = exact.or_else(|| rest.iter().position(|line| line.text.trim() == anchor.trim()));
        start += 1 + found.ok_or_else(|| {
            misplaced(format!("the line `{anchor}` after `@@` is not in the file from line {}", cursor + 1))
        })?;
    }
    // An anchor may itself be the first line of the hunk.
    Ok(if hunk.anchors.is_empty() { start } else { start - 1 })
}

/// The position of added lines without lines around them.
fn insertion(lines: &[Line<'_>], hunk: &Hunk, start: usize, shift: isize) -> usize {
    match hunk.line {
        // `@@ -5,0 +6,2 @@` comes after line 5.
        Some(line) => line.saturating_add_signed(shift).clamp(start.min(lines.len()), lines.len()),
        None if !hunk.anchors.is_empty() => (start + 1).min(lines.len()),
        None => lines.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn repeated_lines_take_linear_time() {
        let text = "\n".repeat(200_000);
        let mut lines = vec![(Kind::Keep, String::new()); 2_000];
        lines.push((Kind::Remove, "zz".into()));
        let started = marvin_testing::CpuTimer::start();
        let hunks = [Hunk { lines, ..Hunk::default() }];
        assert!(apply(&text, &hunks).unwrap_err().to_string().contains("not in the file"));
        // Looked at line by line from every place, it would be minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn every_place_is_found(text in "([ab]\r?\n){0,12}", old in prop::collection::vec("[ab]\r?", 1..5), start in 0..6usize) {
            let (lines, old) = (lines_of(&text), old.iter().map(String::as_str).collect::<Vec<_>>());
            for same in [EXACT, LOOSE] {
                let fits = |at: &usize| {
                    lines.get(*at..at + old.len()).is_some_and(|window| {
                        window.iter().zip(&old).all(|(line, wanted)| same(line.text, wanted))
                    })
                };
                let plainly: Vec<usize> = (start..=lines.len()).filter(fits).collect();
                prop_assert_eq!(places(&lines, &old, start, same), plainly);
            }
        }
    }
}
