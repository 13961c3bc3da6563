//! Two patch languages, read strictly: Codex patches and unified diffs.
//!
//! Whatever does not fit the language is an error with its line, and nothing is guessed: a patch that was cut off must
//! not be applied by half. Deleting and renaming files is refused: agents do not delete (see the gate's `rm`).

use super::hunk::{Hunk, Kind};

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilePatch {
    /// Makes it.
    Add {
        /// Which.
        path: String,
        /// With this text.
        content: String,
    },
    /// Changes it.
    Update {
        /// Which.
        path: String,
        /// How.
        hunks: Vec<Hunk>,
    },
}

impl FilePatch {
    pub(super) fn path(&self) -> &str {
        match self {
            FilePatch::Add { path, .. } | FilePatch::Update { path, .. } => path,
        }
    }
}

const NO_DELETION: &str =
    "patches may not delete or rename files; leave the old file, or say that it should go";

/// Reads a patch; `path` names the file of a diff that does not name one.
pub(super) fn parse(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, String> {
    let text = unfence(text);
    let files =
        if text.trim_start().starts_with("*** Begin Patch") { codex(text)? } else { unified(text, path)? };
    if files.is_empty() {
        return Err("the patch changes nothing: it names no file".into());
    }
    for (number, file) in files.iter().enumerate() {
        if files.iter().take(number).any(|other| other.path() == file.path()) {
            return Err(format!("`{}` stands in the patch twice; put all its hunks together", file.path()));
        }
        if let FilePatch::Update { path, hunks } = file
            && hunks.iter().all(|hunk| hunk.lines.iter().all(|(kind, _)| *kind == Kind::Keep))
        {
            return Err(format!("the patch changes nothing in `{path}`: it has no `+` or `-` lines"));
        }
    }
    Ok(files)
}

/// Takes a code fence away.
fn unfence(text: &str) -> &str {
    let trimmed = text.trim_start_matches(['\n', '\r', ' ', '\t']);
    let Some(inner) = trimmed.strip_prefix("```") else { return text };
    let inner = inner.split_once('\n').map_or("", |(_, rest)| rest);
    inner.trim_end().strip_suffix("```").unwrap_or(inner)
}

fn plain(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

fn codex(text: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = text.trim().lines().map(plain).collect();
    let [_, body @ .., last] = lines.as_slice() else {
        return Err("the patch has no `*** End Patch`".into());
    };
    if last.trim_end() != "*** End Patch" {
        return Err("the patch does not end with `*** End Patch`; it may have been cut off".into());
    }
    let mut files: Vec<FilePatch> = Vec::new();
    for (number, line) in body.iter().enumerate() {
        let wrong = |what: &str| Err(format!("line {} of the patch: {what}: `{line}`", number + 2));
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            files.push(FilePatch::Add { path: path.trim().into(), content: String::new() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            files.push(FilePatch::Update { path: path.trim().into(), hunks: Vec::new() });
        } else if line.starts_with("*** Delete File: ") || line.starts_with("*** Move to: ") {
            return wrong(NO_DELETION);
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
                Some(FilePatch::Update { hunks, .. }) => {
                    if let Err(what) = codex_line(line, hunks) {
                        return wrong(what);
                    }
                }
            }
        }
    }
    for file in &files {
        match file {
            FilePatch::Update { path, hunks } if hunks.iter().all(|hunk| hunk.lines.is_empty()) => {
                return Err(format!("the patch changes nothing in `{path}`: it has no hunks"));
            }
            FilePatch::Add { path, content } if content.is_empty() => {
                return Err(format!("the new file `{path}` has no lines"));
            }
            _ => {}
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
    if line.trim_end() == "*** End of File" {
        hunk.at_end = true;
        return Ok(());
    }
    if hunk.at_end {
        return Err("after `*** End of File` a new `@@` is expected");
    }
    hunk.lines.push(body_line(line).ok_or("a line of a hunk begins with a space, `+` or `-`")?);
    Ok(())
}

/// A line of a hunk; an empty one is an empty line that stays.
fn body_line(line: &str) -> Option<(Kind, String)> {
    let (kind, text) = match line.chars().next() {
        None => (Kind::Keep, ""),
        Some(' ') => (Kind::Keep, line.get(1..)?),
        Some('+') => (Kind::Add, line.get(1..)?),
        Some('-') => (Kind::Remove, line.get(1..)?),
        Some(_) => return None,
    };
    Some((kind, text.to_string()))
}

fn unified(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = text.lines().map(plain).collect();
    let mut files: Vec<FilePatch> = Vec::new();
    if let (Some(path), true) = (path, text.trim_start().starts_with("@@")) {
        files.push(FilePatch::Update { path: path.to_string(), hunks: Vec::new() });
    }
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let wrong = |what: &str| Err(format!("line {} of the diff: {what}: `{line}`", at + 1));
        let header =
            lines.get(at + 1).and_then(|next| Some((line.strip_prefix("--- ")?, next.strip_prefix("+++ ")?)));
        if let Some((old, new)) = header {
            files.push(file_of(name(old), name(new))?);
            at += 2;
        } else if line.starts_with("@@") {
            let (hunk, next) = unified_hunk(&lines, at)?;
            match files.last_mut() {
                None => {
                    return wrong(
                        "the diff does not say which file this is (`--- a/path` and `+++ b/path`, or the field `path`)",
                    );
                }
                Some(FilePatch::Update { hunks, .. }) => hunks.push(hunk),
                Some(FilePatch::Add { path, content }) => {
                    if !content.is_empty() || hunk.lines.iter().any(|(kind, _)| *kind != Kind::Add) {
                        return Err(format!("the new file `{path}` has lines that are not new"));
                    }
                    *content = hunk.lines.iter().flat_map(|(_, text)| [text.as_str(), "\n"]).collect();
                    if hunk.final_newline == Some(false) {
                        content.pop();
                    }
                }
            }
            at = next;
        } else if ["rename ", "copy ", "deleted file"].iter().any(|start| line.starts_with(start)) {
            return wrong(NO_DELETION);
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return wrong("binary files cannot be patched");
        } else if line.starts_with(['+', '-', ' ']) && !line.trim().is_empty() {
            return wrong("a line outside of any hunk; check the numbers in the `@@ -a,b +c,d @@` before it");
        } else {
            at += 1;
        }
    }
    for file in &files {
        let empty = match file {
            FilePatch::Add { content, .. } => content.is_empty(),
            FilePatch::Update { hunks, .. } => hunks.is_empty(),
        };
        if empty {
            return Err(format!("the diff changes nothing in `{}`: it has no hunks", file.path()));
        }
    }
    Ok(files)
}

/// The file name of a header, without the time stamp some programs add.
fn name(header: &str) -> &str {
    header.split('\t').next().unwrap_or(header).trim().trim_matches('"')
}

fn file_of(old: &str, new: &str) -> Result<FilePatch, String> {
    let strip = |name: &str, prefix: &str| name.strip_prefix(prefix).unwrap_or(name).to_string();
    if new == "/dev/null" {
        return Err(format!("`{old}`: {NO_DELETION}"));
    }
    let path = strip(new, "b/");
    if old == "/dev/null" {
        return Ok(FilePatch::Add { path, content: String::new() });
    }
    let before = strip(old, "a/");
    if before != path {
        return Err(format!("`{before}` and `{path}`: {NO_DELETION}"));
    }
    Ok(FilePatch::Update { path, hunks: Vec::new() })
}

/// Reads the hunk whose `@@` stands at `at`; returns it and the line after it.
fn unified_hunk(lines: &[&str], at: usize) -> Result<(Hunk, usize), String> {
    let head = lines.get(at).copied().unwrap_or_default();
    let Some((line, old, new)) = ranges(head) else {
        return Err(format!(
            "line {} of the diff: expected `@@ -start,count +start,count @@`: `{head}`",
            at + 1
        ));
    };
    let mut hunk = Hunk { line: Some(line), ..Hunk::default() };
    let (mut old_left, mut new_left) = (old, new);
    let mut next = at + 1;
    while old_left > 0 || new_left > 0 {
        let short = || {
            format!(
                "line {}: the hunk ends too early: `{head}` says {old} old and {new} new lines; count them again",
                at + 1
            )
        };
        let text = lines.get(next).ok_or_else(short)?;
        next += 1;
        if text.starts_with('\\') {
            hunk.final_newline = mark(&hunk, hunk.final_newline);
            continue;
        }
        let (kind, text) = body_line(text).ok_or_else(short)?;
        let takes_old = usize::from(kind != Kind::Add);
        let takes_new = usize::from(kind != Kind::Remove);
        old_left = old_left.checked_sub(takes_old).ok_or_else(short)?;
        new_left = new_left.checked_sub(takes_new).ok_or_else(short)?;
        hunk.lines.push((kind, text));
    }
    while lines.get(next).is_some_and(|line| line.starts_with('\\')) {
        hunk.final_newline = mark(&hunk, hunk.final_newline);
        next += 1;
    }
    Ok((hunk, next))
}

/// `\ No newline at end of file` speaks of the line before it.
fn mark(hunk: &Hunk, before: Option<bool>) -> Option<bool> {
    match hunk.lines.last() {
        Some((Kind::Remove, _)) => Some(true),
        Some(_) => Some(false),
        None => before,
    }
}

/// First old line, old count, new count.
fn ranges(head: &str) -> Option<(usize, usize, usize)> {
    let inner = head.strip_prefix("@@ ")?.split(" @@").next()?;
    let (old, new) = inner.split_once(' ')?;
    let pair = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let (start, old) = pair(old.strip_prefix('-')?)?;
    let (_, new) = pair(new.strip_prefix('+')?)?;
    Some((start, old, new))
}
