//! Unified diffs, plain ones and git's: changed, new, deleted and renamed files.

use super::error::{PatchError, malformed};
use super::hunk::{Hunk, Kind};
use super::parse::{FilePatch, body_line};

/// Begin lines of git's headers that cannot be applied, and the reason.
const REFUSED_HEADERS: [(&str, &str); 4] = [
    ("copy from ", "copies are not made by patches; add the new file with its lines"),
    ("copy to ", "copies are not made by patches; add the new file with its lines"),
    ("GIT binary patch", "binary files cannot be patched"),
    ("Binary files ", "binary files cannot be patched"),
];

/// Git's header of a file, before its hunks.
#[derive(Debug, Default)]
struct Header {
    /// The name on both sides of the line `diff --git`; none when they differ, as for a rename.
    name: Option<String>,
    from: Option<String>,
    to: Option<String>,
    is_new: bool,
    is_deleted: bool,
    /// Whether `---` and `+++` were read, so that the file is already listed.
    listed: bool,
}

impl Header {
    /// The header that a line belongs to: one whose file is listed has ended, also without another `diff --git`.
    fn open(&mut self) -> &mut Header {
        if self.listed {
            *self = Header::default();
        }
        self
    }

    /// The file of a header without hunks: an empty file, or one that is only renamed.
    fn close(self) -> Result<Option<FilePatch>, PatchError> {
        if self.listed {
            return Ok(None);
        }
        let path = match self.name {
            None if self.is_deleted || self.is_new => {
                return Err(malformed("a file is new or deleted, but its line `diff --git` is ambiguous"));
            }
            name => name.unwrap_or_default(),
        };
        Ok(match (self.from, self.to) {
            (Some(from), Some(to)) => {
                Some(FilePatch::Update { path: from, hunks: Vec::new(), moved: Some(to) })
            }
            (Some(name), None) | (None, Some(name)) => {
                return Err(malformed(format!(
                    "the rename of `{name}` says only one of `rename from` and `rename to`"
                )));
            }
            _ if self.is_deleted => Some(FilePatch::Delete { path, hunks: Vec::new() }),
            _ if self.is_new => Some(FilePatch::Add { path, content: String::new() }),
            // A change of the mode alone is ignored: modes are kept.
            _ => None,
        })
    }

    /// The file that `---` and `+++` name.
    fn file(&self, old: &str, new: &str) -> Result<FilePatch, PatchError> {
        let strip = |name: &str, prefix: &str| name.strip_prefix(prefix).unwrap_or(name).to_string();
        let (before, path) = (strip(old, "a/"), strip(new, "b/"));
        if old == "/dev/null" && new == "/dev/null" {
            return Err(malformed("the diff names no file: both sides are /dev/null"));
        }
        let renamed = (self.from.as_deref(), self.to.as_deref());
        if renamed != (None, None) && renamed != (Some(before.as_str()), Some(path.as_str())) {
            return Err(malformed(format!(
                "the diff says `rename from {}` and `rename to {}`, but then `--- {old}` and `+++ {new}`; they must name the \
                 same files",
                renamed.0.unwrap_or("?"),
                renamed.1.unwrap_or("?")
            )));
        }
        if new == "/dev/null" {
            return Ok(FilePatch::Delete { path: before, hunks: Vec::new() });
        }
        if old == "/dev/null" {
            return Ok(FilePatch::Add { path, content: String::new() });
        }
        if before == path {
            return Ok(FilePatch::update(&path));
        }
        if renamed != (None, None) {
            return Ok(FilePatch::Update { path: before, hunks: Vec::new(), moved: Some(path) });
        }
        Err(malformed(format!(
            "the diff names two files, `{before}` and `{path}`; give both the same name, or for a rename add the lines \
             `rename from {before}` and `rename to {path}` before them"
        )))
    }
}

const SPECIAL: &str = "symbolic links and submodules cannot be patched";

/// Is this git's mode of a symbolic link or of a submodule?
fn is_special(mode: &str) -> bool {
    matches!(mode.trim(), "120000" | "160000")
}

/// Parses a diff; `path` names the file of one that begins with a hunk.
pub(super) fn files(lines: &[&str], path: Option<&str>) -> Result<Vec<FilePatch>, PatchError> {
    let mut files: Vec<FilePatch> = Vec::new();
    let begins_with_hunk =
        lines.iter().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("@@"));
    if let (Some(path), true) = (path, begins_with_hunk) {
        files.push(FilePatch::update(path));
    }
    let mut header = Header { listed: true, ..Header::default() };
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let wrong = |problem| Err(PatchError::line("diff", at + 1, problem, line));
        let refused = REFUSED_HEADERS.iter().find(|(start, _)| line.starts_with(start));
        let pair =
            lines.get(at + 1).and_then(|next| Some((line.strip_prefix("--- ")?, next.strip_prefix("+++ ")?)));
        if let Some(names) = line.strip_prefix("diff --git ") {
            files.extend(std::mem::take(&mut header).close()?);
            header.name = one_name(names.trim_end());
        } else if let Some((old, new)) = pair {
            let file = header.open().file(&name(old), &name(new))?;
            files.push(file);
            header.listed = true;
            at += 1;
        } else if line.starts_with("@@") {
            let (hunk, next) = hunk(lines, at)?;
            let Some(file) = files.last_mut().filter(|_| header.listed) else {
                return wrong(
                    "the diff does not say which file this is (`--- a/path` and `+++ b/path`, or the field `path`)",
                );
            };
            add_hunk(file, hunk)?;
            at = next;
            continue;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            header.open().from = Some(name(from));
        } else if let Some(to) = line.strip_prefix("rename to ") {
            header.open().to = Some(name(to));
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            if is_special(mode) {
                return wrong(SPECIAL);
            }
            header.open().is_deleted = true;
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            if is_special(mode) {
                return wrong(SPECIAL);
            }
            header.open().is_new = true;
        } else if let Some((_, problem)) = refused {
            return wrong(problem);
        } else if line.starts_with(['+', '-', ' ']) && !line.trim().is_empty() {
            return wrong("a line outside of any hunk; check the numbers in the `@@ -a,b +c,d @@` before it");
        }
        at += 1;
    }
    files.extend(header.close()?);
    for file in &files {
        let empty = match file {
            FilePatch::Add { .. } | FilePatch::Update { moved: Some(_), .. } | FilePatch::Delete { .. } => {
                false
            }
            FilePatch::Update { hunks, .. } => hunks.is_empty(),
        };
        if empty {
            return Err(malformed(format!("the diff changes nothing in `{}`: it has no hunks", file.path())));
        }
    }
    Ok(files)
}

fn add_hunk(file: &mut FilePatch, hunk: Hunk) -> Result<(), PatchError> {
    match file {
        FilePatch::Update { hunks, .. } | FilePatch::Delete { hunks, .. } => hunks.push(hunk),
        FilePatch::Add { path, content } => {
            if !content.is_empty() || hunk.lines.iter().any(|(kind, _)| *kind != Kind::Add) {
                return Err(malformed(format!("the new file `{path}` has lines that are not new")));
            }
            *content = hunk.lines.iter().flat_map(|(_, text)| [text.as_str(), "\n"]).collect();
            if hunk.final_newline == Some(false) {
                content.pop();
            }
        }
    }
    Ok(())
}

/// The file name of a header, without the time stamp that some programs add, and without git's quotes.
fn name(header: &str) -> String {
    let name = header.split('\t').next().unwrap_or(header).trim();
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        None => name.to_string(),
        Some(quoted) => unquote(quoted),
    }
}

/// The name in `a/x b/x`, plain or quoted. A name may itself contain ` b/`, so both must be equal.
fn one_name(text: &str) -> Option<String> {
    text.match_indices(' ').find_map(|(at, _)| {
        let (old, new) = (name(text.get(..at)?), name(text.get(at + 1..)?));
        let (old, new) = (old.strip_prefix("a/")?, new.strip_prefix("b/")?);
        (old == new).then(|| old.to_string())
    })
}

/// Decodes the C escapes of git's quoted names.
fn unquote(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                while let Some(digit) = rest.next_if(|next| (b'0'..=b'7').contains(next) && value < 32) {
                    value = value * 8 + u32::from(digit - b'0');
                }
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses the hunk whose `@@` is at `at`; returns it and the line after it.
fn hunk(lines: &[&str], at: usize) -> Result<(Hunk, usize), PatchError> {
    let head = lines.get(at).copied().unwrap_or_default();
    let Some((line, old, new)) = ranges(head) else {
        return Err(PatchError::line("diff", at + 1, "expected `@@ -start,count +start,count @@`", head));
    };
    let mut hunk = Hunk { line: Some(line), ..Hunk::default() };
    let (mut old_left, mut new_left) = (old, new);
    let mut next = at + 1;
    while old_left > 0 || new_left > 0 {
        let short = || {
            malformed(format!(
                "line {}: the hunk ends too early: `{head}` says {old} old and {new} new lines; count them again",
                at + 1
            ))
        };
        let text = lines.get(next).ok_or_else(short)?;
        next += 1;
        if text.starts_with('\\') {
            mark(&mut hunk);
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
        mark(&mut hunk);
        next += 1;
    }
    Ok((hunk, next))
}

/// Applies `\ No newline at end of file` to the line before it. Of the old text alone, it means that the new text has a
/// line ending.
fn mark(hunk: &mut Hunk) {
    hunk.final_newline = match (hunk.lines.last(), hunk.final_newline) {
        (Some((Kind::Remove, _)), None) => Some(true),
        (Some((Kind::Remove, _)) | None, before) => before,
        (Some((Kind::Add | Kind::Keep, _)), _) => Some(false),
    };
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
