//! A strict parser of two patch languages: Codex patches here, unified diffs in [`unified`](super::unified).
//!
//! A line that does not fit the language is an error, and nothing is guessed: a truncated patch must not be applied by half.

use super::error::{PatchError, malformed};
use super::hunk::{Hunk, Kind};
use super::unified;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// The changes of a patch to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilePatch {
    Add {
        path: String,
        content: String,
    },
    Update {
        path: String,
        /// May be empty when the file is only moved.
        hunks: Vec<Hunk>,
        moved: Option<String>,
    },
    Delete {
        path: String,
        /// The deleted content; none when the patch does not show it.
        hunks: Vec<Hunk>,
    },
}

impl FilePatch {
    /// An update without hunks so far.
    pub(super) fn update(path: &str) -> Self {
        FilePatch::Update { path: path.to_string(), hunks: Vec::new(), moved: None }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            FilePatch::Add { path, .. } | FilePatch::Update { path, .. } | FilePatch::Delete { path, .. } => {
                path
            }
        }
    }

    /// Every path that is written.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let moved = match self {
            FilePatch::Update { moved, .. } => moved.as_deref(),
            _ => None,
        };
        std::iter::once(self.path()).chain(moved)
    }

    /// Refuses a patch that changes nothing.
    fn changes_something(&self) -> Result<(), PatchError> {
        let FilePatch::Update { path, hunks, moved: None } = self else { return Ok(()) };
        if hunks.iter().all(|hunk| hunk.lines.is_empty()) {
            return Err(malformed(format!("the patch changes nothing in `{path}`: it has no hunks")));
        }
        let kept = |hunk: &Hunk| hunk.lines.iter().all(|(kind, _)| *kind == Kind::Keep);
        // A kept line may still lose its line ending.
        if hunks.iter().all(|hunk| kept(hunk) && hunk.final_newline.is_none()) {
            return Err(malformed(format!(
                "the patch changes nothing in `{path}`: it has no `+` or `-` lines"
            )));
        }
        Ok(())
    }
}

/// Parses a patch; `path` names the file of a diff that does not name one.
pub(super) fn parse(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, PatchError> {
    let text = unfence(text);
    let lines = lines_of(text);
    let codex = text.trim_start().starts_with(BEGIN);
    let files = if codex { codex_files(&lines)? } else { unified::files(&lines, path)? };
    if files.is_empty() {
        return Err(malformed("the patch changes nothing: it names no file"));
    }
    let mut named: Vec<&str> = Vec::new();
    for file in &files {
        for path in file.paths() {
            if named.contains(&path) {
                return Err(malformed(format!("`{path}` is in the patch twice; put all its hunks together")));
            }
            named.push(path);
        }
        file.changes_something()?;
    }
    Ok(files)
}

/// The lines of a patch. Where every line ends in a carriage return, these are not part of the lines.
fn lines_of(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let (last, before) = lines.split_last().map_or((&"", [].as_slice()), |(last, before)| (last, before));
    let throughout = !before.is_empty() && before.iter().all(|line| line.ends_with('\r'));
    // The last line may have lost its line ending.
    if throughout || (before.is_empty() && last.ends_with('\r')) {
        for line in &mut lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
    }
    lines
}

/// Removes a code fence.
fn unfence(text: &str) -> &str {
    let trimmed = text.trim_start_matches(['\n', '\r', ' ', '\t']);
    let Some(inner) = trimmed.strip_prefix("```") else { return text };
    let inner = inner.split_once('\n').map_or("", |(_, rest)| rest);
    inner.trim_end().strip_suffix("```").unwrap_or(inner)
}

fn codex_files(lines: &[&str]) -> Result<Vec<FilePatch>, PatchError> {
    let blank = |line: &&&str| line.trim().is_empty();
    let first = lines.iter().take_while(blank).count();
    let end = lines.len() - lines.iter().rev().take_while(blank).count();
    let Some([_, body @ .., last]) = lines.get(first..end) else {
        return Err(malformed(format!("the patch has no `{END}`")));
    };
    if last.trim_end() != END {
        return Err(malformed(format!("the patch does not end with `{END}`; it may be truncated")));
    }
    let mut files: Vec<FilePatch> = Vec::new();
    for (number, line) in body.iter().enumerate() {
        let wrong = |problem| Err(PatchError::line("patch", first + number + 2, problem, line));
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            files.push(FilePatch::Add { path: path.trim().into(), content: String::new() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            files.push(FilePatch::update(path.trim()));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            files.push(FilePatch::Delete { path: path.trim().into(), hunks: Vec::new() });
        } else if let Some(path) = line.strip_prefix("*** Move to: ") {
            match files.last_mut() {
                Some(FilePatch::Update { hunks, moved: moved @ None, .. }) if hunks.is_empty() => {
                    *moved = Some(path.trim().to_string());
                }
                _ => return wrong("`*** Move to:` must follow `*** Update File:` directly"),
            }
        } else {
            match files.last_mut() {
                None => return wrong("expected `*** Update File: path` or `*** Add File: path`"),
                Some(FilePatch::Add { content, .. }) => match line.strip_prefix('+') {
                    Some(added) => {
                        content.push_str(added);
                        content.push('\n');
                    }
                    None => return wrong("every line of a new file begins with `+`"),
                },
                Some(FilePatch::Delete { .. }) => {
                    return wrong("after `*** Delete File:` no lines are expected");
                }
                Some(FilePatch::Update { hunks, .. }) => {
                    if let Err(problem) = codex_line(line, hunks) {
                        return wrong(problem);
                    }
                }
            }
        }
    }
    for file in &files {
        if let FilePatch::Add { path, content } = file
            && content.is_empty()
        {
            return Err(malformed(format!("the new file `{path}` has no lines")));
        }
    }
    Ok(files)
}

fn codex_line(line: &str, hunks: &mut Vec<Hunk>) -> Result<(), &'static str> {
    if let Some(anchor) = line.strip_prefix("@@") {
        // Several `@@` lines in a row narrow the place down.
        if hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
            hunks.push(Hunk::default());
        }
        let anchor = anchor.strip_prefix(' ').unwrap_or(anchor).trim_end();
        if !anchor.is_empty()
            && let Some(hunk) = hunks.last_mut()
        {
            hunk.anchors.push(anchor.to_string());
        }
        return Ok(());
    }
    if hunks.is_empty() {
        hunks.push(Hunk::default());
    }
    let Some(hunk) = hunks.last_mut() else { return Ok(()) };
    if line.trim_end() == END_OF_FILE {
        hunk.at_end = true;
        return Ok(());
    }
    if hunk.at_end {
        return Err("after `*** End of File` a new `@@` is expected");
    }
    hunk.lines.push(body_line(line).ok_or("a line of a hunk begins with a space, `+` or `-`")?);
    Ok(())
}

/// A line of a hunk; an empty one is a kept empty line.
pub(super) fn body_line(line: &str) -> Option<(Kind, String)> {
    let (kind, text) = match line.chars().next() {
        None | Some('\r') => (Kind::Keep, line),
        Some(' ') => (Kind::Keep, line.get(1..)?),
        Some('+') => (Kind::Add, line.get(1..)?),
        Some('-') => (Kind::Remove, line.get(1..)?),
        Some(_) => return None,
    };
    Some((kind, text.to_string()))
}
