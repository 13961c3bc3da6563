//! Completion of what is typed: commands, tools, files of the workspace.

use super::Chat;
use super::commands::COMMANDS;
use marvin_gate::Workspace;
use serde::Serialize;
use std::path::Path;

/// Entries of a directory that are looked at, and candidates that are given.
const MAX_DIRECTORY_ENTRIES: usize = 5_000;
const MAX_COMPLETIONS: usize = 200;

/// Completions of a word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// Where the word begins, in bytes.
    pub start: usize,
    /// The candidates, in order.
    pub candidates: Vec<String>,
}

impl Chat {
    /// What the word before `cursor` (a place in bytes) could become.
    #[must_use]
    pub fn complete(&self, line: &str, cursor: usize) -> Completion {
        let before = line.get(..cursor).unwrap_or(line);
        let start = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let word = before.get(start..).unwrap_or_default();
        if start == 0 && !word.is_empty() {
            let names = COMMANDS.iter().map(|command| command.name).filter(|name| name.starts_with(word));
            let candidates: Vec<String> = names.map(str::to_string).collect();
            if !candidates.is_empty() {
                return Completion { start, candidates };
            }
        }
        let project = self.project();
        let (at, path) = match word.strip_prefix('@') {
            Some(path) => ("@", path),
            None => ("", word),
        };
        let root = project.workspace.as_deref().map_or(project.directory.as_path(), Workspace::root);
        let mut candidates: Vec<String> =
            files(root, path).into_iter().map(|path| format!("{at}{path}")).collect();
        if at.is_empty() && word.len() > 1 {
            let toolbox = self.toolbox(&project);
            let names = toolbox.names().into_iter().filter(|name| name.starts_with(word));
            candidates.extend(names.map(str::to_string));
        }
        candidates.truncate(MAX_COMPLETIONS);
        Completion { start, candidates }
    }
}

/// Files and directories below `root` whose path begins like this; nothing outside of it, nothing hidden unless it is asked for.
fn files(root: &Path, typed: &str) -> Vec<String> {
    let (directory, begin) =
        typed.rsplit_once('/').map_or(("", typed), |(directory, begin)| (directory, begin));
    if typed.is_empty() || typed.starts_with('/') || directory.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    let entries = std::fs::read_dir(root.join(directory)).into_iter().flatten().take(MAX_DIRECTORY_ENTRIES);
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let hidden = name.starts_with('.') && !begin.starts_with('.');
            let odd = name.chars().any(|char| char.is_control() || char.is_whitespace());
            if hidden || odd || !name.starts_with(begin) {
                return None;
            }
            let end = if entry.file_type().ok()?.is_dir() { "/" } else { "" };
            Some(if directory.is_empty() {
                format!("{name}{end}")
            } else {
                format!("{directory}/{name}{end}")
            })
        })
        .collect();
    found.sort();
    found
}
