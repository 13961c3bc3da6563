//! Pieces of change, and how they are put into a text.
//!
//! Both patch languages come down to this: a list of hunks, each a run of lines that stay, go or come. The lines that
//! stay and go must stand in the file exactly, once, after the hunk before. Lines are compared without their line end, and
//! new lines take the line end that the file uses, so a patch with plain line feeds fits a file from Windows.

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It comes.
    Add,
}

/// A run of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines after which to look, one after the other.
    pub(super) anchors: Vec<String>,
    /// The line (from 1) at which it should stand; of several places the nearest is taken.
    pub(super) line: Option<usize>,
    /// The lines.
    pub(super) lines: Vec<(Kind, String)>,
    /// Whether the last line that comes has no line end; unset means that the file keeps what it had.
    pub(super) final_newline: Option<bool>,
    /// Whether it stands at the end of the file.
    pub(super) at_end: bool,
}

impl Hunk {
    fn old(&self) -> Vec<&str> {
        self.lines.iter().filter(|(kind, _)| *kind != Kind::Add).map(|(_, text)| text.as_str()).collect()
    }
}

/// A line of a file, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    text: String,
    end: &'static str,
}

fn lines_of(text: &str) -> Vec<Line> {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            None => Line { text: line.to_string(), end: "" },
            Some(line) => match line.strip_suffix('\r') {
                Some(line) => Line { text: line.to_string(), end: "\r\n" },
                None => Line { text: line.to_string(), end: "\n" },
            },
        })
        .collect()
}

/// The line end that most lines have.
fn usual_end(lines: &[Line]) -> &'static str {
    let windows = lines.iter().filter(|line| line.end == "\r\n").count();
    if windows * 2 > lines.len() { "\r\n" } else { "\n" }
}

/// The text with every hunk put in.
///
/// # Errors
/// Which hunk does not fit, and what stands nearest to it.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let mut lines = lines_of(text);
    let end = usual_end(&lines);
    let had_final_newline = text.is_empty() || text.ends_with('\n');
    let mut final_newline = None;
    let mut cursor = 0;
    let mut shift: isize = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let at =
            find(&lines, hunk, cursor, shift).map_err(|error| format!("hunk {}: {error}", number + 1))?;
        let old = hunk.old().len();
        let touches_end = at + old >= lines.len();
        let mut kept = lines.get(at..at + old).unwrap_or_default().iter().cloned();
        let mut fresh = Vec::new();
        for (kind, text) in &hunk.lines {
            match kind {
                Kind::Keep => fresh.extend(kept.next()),
                Kind::Remove => {
                    kept.next();
                }
                Kind::Add => fresh.push(Line { text: text.clone(), end }),
            }
        }
        cursor = at + fresh.len();
        shift += fresh.len().cast_signed() - old.cast_signed();
        lines.splice(at..at + old, fresh);
        if touches_end {
            final_newline = hunk.final_newline;
        }
    }
    let count = lines.len();
    for (number, line) in lines.iter_mut().enumerate() {
        if number + 1 < count {
            if line.end.is_empty() {
                line.end = end;
            }
        } else {
            let wanted = final_newline.unwrap_or(had_final_newline);
            line.end = match (wanted, line.end) {
                (true, "") => end,
                (true, end) => end,
                (false, _) => "",
            };
        }
    }
    Ok(lines.iter().flat_map(|line| [line.text.as_str(), line.end]).collect())
}

/// Where a hunk stands.
fn find(lines: &[Line], hunk: &Hunk, cursor: usize, shift: isize) -> Result<usize, String> {
    let mut start = cursor;
    for anchor in &hunk.anchors {
        let rest = lines.get(start..).unwrap_or_default();
        let exact = rest.iter().position(|line| line.text == *anchor);
        let found = exact.or_else(|| rest.iter().position(|line| line.text.trim() == anchor.trim()));
        start += 1 + found.ok_or_else(|| {
            format!("the line `{anchor}` after `@@` is not in the file from line {}", cursor + 1)
        })?;
    }
    // An anchor may itself be the first line of the hunk.
    let start = if hunk.anchors.is_empty() { start } else { start - 1 };
    let old = hunk.old();
    if old.is_empty() {
        return Ok(insertion(lines, hunk, start, shift));
    }
    let fits = |at: &usize| {
        lines.get(*at..*at + old.len()).is_some_and(|window| {
            window.iter().zip(&old).all(|(line, wanted)| line.text == wanted.trim_end_matches('\r'))
        })
    };
    let mut places: Vec<usize> = (start..=lines.len().saturating_sub(old.len())).filter(fits).collect();
    if hunk.at_end {
        places.retain(|at| at + old.len() == lines.len());
    }
    match (places.as_slice(), hunk.line) {
        ([only], _) => Ok(*only),
        ([], _) => {
            let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            Err(format!(
                "its lines are not in the file{}. {}",
                if start > 0 { format!(" from line {}", start + 1) } else { String::new() },
                super::nearest::describe(&text, &old)
            ))
        }
        (several, Some(line)) => {
            let wanted = line.saturating_sub(1).saturating_add_signed(shift);
            Ok(several.iter().copied().min_by_key(|at| at.abs_diff(wanted)).unwrap_or(wanted))
        }
        ([first, ..], None) if !hunk.anchors.is_empty() => Ok(*first),
        (several, None) => Err(format!(
            "its lines stand in the file {} times (lines {}); add lines around them, or a line after `@@`, to say which",
            several.len(),
            several.iter().take(5).map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// Where lines come that have nothing around them.
fn insertion(lines: &[Line], hunk: &Hunk, start: usize, shift: isize) -> usize {
    match hunk.line {
        // `@@ -5,0 +6,2 @@` comes after line 5.
        Some(line) => line.saturating_add_signed(shift).clamp(start.min(lines.len()), lines.len()),
        None if !hunk.anchors.is_empty() => (start + 1).min(lines.len()),
        None => lines.len(),
    }
}
