//! Paths that a model may name: relative, plain, and not into places that have their own tools.
//!
//! What can be seen in the text alone is judged here; what only the disk knows (symbolic links, pipes) is judged when
//! the path is opened, see [`crate::workspace`]. A [`WorkspacePath`] can only be made by [`crate::Workspace::path`], so
//! code that takes one cannot be handed an unchecked string.

pub use crate::command::reach::real;

use crate::refusal::{Refusal, RefusalKind};
use std::fmt;
use std::path::Path;

/// Longest path and longest part of one, as on Linux.
const MAX_PATH_BYTES: usize = 4096;
const MAX_PATH_COMPONENT_BYTES: usize = 255;

/// Entries of `.marvin` that only Marvin itself writes.
const RECORD: [&str; 8] =
    ["runs", "memory", "security", "agents", "logs", "config.toml", "pipeline_state", "upstream"];

/// A checked path, relative to the workspace: no empty parts, no `.` or `..`. The workspace itself is `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspacePath {
    text: String,
}

impl WorkspacePath {
    /// The path as text, `/` between its parts.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.text)
    }

    /// The last part.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    /// The directory it lies in.
    #[must_use]
    pub fn parent(&self) -> WorkspacePath {
        let text = self.text.rsplit_once('/').map_or(".", |(parent, _)| parent);
        WorkspacePath { text: text.to_string() }
    }

    /// The path from parts that are known to be plain.
    pub(crate) fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let text = parts.into_iter().collect::<Vec<_>>().join("/");
        WorkspacePath { text: if text.is_empty() { ".".into() } else { text } }
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The fault in a path's text; the caller adds where the workspace is.
pub(crate) fn parse(text: &str) -> Result<WorkspacePath, Refusal> {
    let unusable = |reason: String| {
        Refusal::new(
            RefusalKind::Unusable,
            reason,
            "Give a path relative to the working directory, for example `src/main.rs`.",
        )
    };
    if text.trim().is_empty() {
        return Err(unusable("the path is empty".into()));
    }
    if text.len() > MAX_PATH_BYTES {
        return Err(unusable(format!("the path is longer than {MAX_PATH_BYTES} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(unusable(format!("the path {text:?} holds control characters")));
    }
    if text.starts_with('/') || text == "~" || text.starts_with("~/") {
        return Err(Refusal::new(
            RefusalKind::Absolute,
            format!("`{text}` is an absolute path; paths are relative to the working directory"),
            String::new(),
        ));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(Refusal::new(
            RefusalKind::Climbing,
            format!("`{text}` climbs with `..`; paths may not leave the working directory"),
            "Name the file by its path below the working directory, without `..`.",
        ));
    }
    if parts.iter().any(|part| part.len() > MAX_PATH_COMPONENT_BYTES) {
        return Err(unusable(format!("a part of the path is longer than {MAX_PATH_COMPONENT_BYTES} bytes")));
    }
    not_tickets(&parts, text)?;
    // Most paths are plain already.
    let plain = parts.len() == text.split('/').count();
    Ok(if plain { WorkspacePath { text: text.to_string() } } else { WorkspacePath::from_parts(parts) })
}

/// A name as the most forgiving file system reads it: some know no case, some drop dots and spaces at the end, some do not
/// see characters without width. What is closed by name is closed under all of these.
pub(crate) fn folded(name: &str) -> String {
    let unseen = |letter: &char| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let seen: String = name.chars().filter(|letter| !unseen(letter)).collect();
    seen.trim_end_matches(['.', ' ']).to_ascii_lowercase()
}

/// Refuses `.tickets` and what lies below it.
pub(crate) fn not_tickets(parts: &[&str], shown: &str) -> Result<(), Refusal> {
    if parts.first().is_none_or(|first| folded(first) != ".tickets") {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalKind::Tickets,
        format!("`{shown}` belongs to the tickets, which file tools do not touch"),
        "Use the tk tool, for example: tk ls · tk show ID · tk create \"title\" -d \"what and why\" · tk close ID.",
    ))
}

/// Refuses places that are read but never written by tools.
pub(crate) fn open_for_writing(parts: &[&str], shown: &str) -> Result<(), Refusal> {
    let closed = |what: &str, hint: &str| {
        Err(Refusal::new(RefusalKind::Closed, format!("cannot write `{shown}`: {what}"), hint))
    };
    let folded: Vec<String> = parts.iter().map(|part| folded(part)).collect();
    let parts: Vec<&str> = folded.iter().map(String::as_str).collect();
    // `git~1` is what file systems of the old DOS kind call it.
    if parts.iter().any(|part| matches!(*part, ".git" | "git~1")) {
        return closed("git's own files are closed for writing", "Use git commands.");
    }
    match parts.as_slice() {
        [] => closed("it is the working directory itself", "Name a file inside it."),
        [".marvin"] => closed("it is the record's directory", "Name a file elsewhere."),
        [".marvin", "upstream", ..] => closed(
            "upstream documents are read-only",
            "Write your own document and refer to the upstream one.",
        ),
        [".marvin", entry, ..] if RECORD.contains(entry) => closed(
            "the record is written by the shell only",
            "Write notes with write_note, and project files outside `.marvin`.",
        ),
        _ => Ok(()),
    }
}

/// Does this belong to the record in `.marvin`?
pub(crate) fn is_record(parts: &[&str]) -> bool {
    matches!(parts, [".marvin", inner, ..] if RECORD.contains(inner))
}

/// Whether a path lies in the directory of the daemon's socket, `mhd-UID` among temporary files.
///
/// A process that writes there could answer in the daemon's place.
#[must_use]
pub fn is_daemon_place(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_str().is_some_and(is_daemon_name))
}

/// `mhd-` and a person's number.
fn is_daemon_name(name: &str) -> bool {
    // Most names need not be folded to see that.
    let begins = name.bytes().next().is_some_and(|first| matches!(first, b'm' | b'M') || !first.is_ascii());
    begins
        && folded(name)
            .strip_prefix("mhd-")
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Is this a file that agents take instructions from? What they are told is a person's decision, not their own.
#[must_use]
pub fn is_instruction(parts: &[&str]) -> bool {
    match parts {
        [".marvin", "packs" | "skills" | "instructions.md", ..] | [".marvin-instructions", ..] => true,
        _ => matches!(parts.last(), Some(&("AGENTS.md" | "CLAUDE.md"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_paths_are_normalised() {
        for (text, normal) in [("a", "a"), ("./a//b/", "a/b"), (".", "."), ("a/./b", "a/b"), ("...", "...")] {
            assert_eq!(parse(text).unwrap().as_str(), normal, "{text}");
        }
        assert_eq!(parse("a/b").unwrap().parent().as_str(), "a");
        assert_eq!(parse("a").unwrap().parent().as_str(), ".");
    }

    #[test]
    fn closed_places_are_closed_for_writing_only() {
        for path in [
            ".git/config",
            "sub/.git/hooks/x",
            ".marvin/runs/r",
            ".marvin/config.toml",
            ".marvin/memory/stm.jsonl",
            ".marvin//./upstream/a.md",
            ".marvin/pipeline_state",
            ".marvin/agents/a.md",
            ".marvin/security/denylist.json",
            ".marvin",
            ".GIT/config",
            ".Git./hooks/x",
            "a/.g\u{200c}it/config",
            "GIT~1/config",
            ".Marvin/RUNS/r",
            ".marvin./runs /r",
        ] {
            let path = parse(path).unwrap();
            let parts: Vec<&str> = path.as_str().split('/').collect();
            assert!(open_for_writing(&parts, path.as_str()).is_err(), "{path}");
        }
        for path in [".marvin/spec.md", ".marvin/notes/a.md", ".github/x.yml", ".gitignore", "runs/a"] {
            let parts: Vec<&str> = path.split('/').collect();
            open_for_writing(&parts, path).unwrap();
        }
    }

    #[test]
    fn tickets_are_closed_under_every_spelling() {
        for path in [".tickets", ".Tickets/a", ".TICKETS", ".tickets./a", ".tickets /a", ".\u{200d}tickets/a"]
        {
            assert_eq!(parse(path).unwrap_err().kind, RefusalKind::Tickets, "{path}");
        }
        for path in ["tickets", "a/.tickets", ".tickets-old/a", ".ticket"] {
            parse(path).unwrap();
        }
    }

    #[test]
    fn the_directory_of_the_daemon_is_known_by_its_name() {
        for path in ["/tmp/mhd-1000", "/var/tmp/x/mhd-0/a.sock", "mhd-7", "/tmp/MHD-1000/a"] {
            assert!(is_daemon_place(Path::new(path)), "{path}");
        }
        for path in ["/tmp/mhd-", "/tmp/mhd-x", "/tmp/mhd", "/tmp/amhd-1", "/tmp/mhd-1a/b", "/"] {
            assert!(!is_daemon_place(Path::new(path)), "{path}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_has_plain_parts_only(text in "[./a~\\x00 ]{0,12}|.*") {
            if let Ok(path) = parse(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.as_str() == "." || path.as_str().split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
            }
        }
    }
}
