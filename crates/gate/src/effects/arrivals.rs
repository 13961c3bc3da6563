//! Files that commands put into directories, where their names may steer agents.

use super::disk::{MAX_PATTERN_MATCHES, reached};
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use crate::shell::Word;
use std::path::Path;

/// What is put into a directory gets a name there, and the name may be one that steers agents: `cp -r x/.claude .`.
pub(super) fn into(look: &mut Look<'_>, sources: &[&Word], target: &Word) {
    let directory = target
        .text()
        .is_some_and(|text| text.ends_with('/') || matches!(text.rsplit('/').next(), Some("." | "..")))
        || look.place(target) == Place::Workspace
        || is_directory(look, target);
    if !directory {
        return;
    }
    let (whole, named): (Vec<&Word>, Vec<&Word>) = sources.iter().partition(|word| {
        word.globs() || word.text().is_some_and(|text| matches!(text.rsplit('/').next(), Some("." | "..")))
    });
    let whole: Vec<Word> = whole.into_iter().cloned().collect();
    brings(look, &whole, target);
    for source in named {
        let end = source.end();
        let name = end.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        lands(look, target, name);
    }
}

/// Notes a write where something of this name would steer agents, once it lies in a directory.
pub(super) fn lands(look: &mut Look<'_>, directory: &Word, name: &str) {
    let mut path = directory.clone();
    if !path.end().ends_with('/') {
        path.push("/", true);
    }
    path.push(name, true);
    if !name.is_empty() && look.place(&path).steers() && !look.place(directory).steers() {
        look.act(Act::Write, &path);
    }
}

/// Is there a directory of this name?
fn is_directory(look: &Look<'_>, word: &Word) -> bool {
    look.context.disk
        && reached(word, &look.segment.directories)
            .is_some_and(|paths| paths.iter().any(|path| path.is_dir()))
}

/// Looks at what lies in directories, or fits patterns, whose content is put into a directory.
pub(super) fn brings(look: &mut Look<'_>, sources: &[Word], target: &Word) {
    if !look.context.disk {
        return;
    }
    for source in sources {
        let paths = reached(source, &look.segment.directories).unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        for path in &paths {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            if source.globs() {
                names.extend(name(path));
            } else {
                let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
                names.extend(entries.take(MAX_PATTERN_MATCHES).filter_map(|entry| name(&entry.path())));
            }
        }
        // A directory that this line itself makes holds files that cannot be looked at yet.
        let unseen = !source.globs() && !paths.iter().any(|path| path.exists());
        if unseen && look.place(target) == Place::Workspace {
            look.ask(
                "copy.unseen",
                format!("what it would put into the workspace is not there yet: `{}`", source.shown()),
            );
        }
        for name in names {
            lands(look, target, &name);
        }
    }
}

/// Entries of a directory that are looked at before it may hold anything.
const MAX_ENTRIES: usize = 20_000;

/// Files with names that cannot be known are put into a directory: asked about where something that steers lies in it, because
/// one of them may take its place.
pub(super) fn unknown(look: &mut Look<'_>, directory: &Word) {
    if look.context.disk && holds_steering(look, directory) {
        look.ask(
            "archive.hooks",
            format!(
                "the archive may hold files that replace what steers agents or git in `{}`",
                directory.shown()
            ),
        );
    }
}

/// Does something that steers lie in a directory, or is the directory too large to know?
pub(super) fn holds_steering(look: &Look<'_>, directory: &Word) -> bool {
    let mut directories = reached(directory, &look.segment.directories).unwrap_or_default();
    let mut looked = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            looked += 1;
            let path = entry.path();
            if looked > MAX_ENTRIES
                || Place::of_path(&path.to_string_lossy(), true, false, look.grounds).steers()
            {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
            }
        }
    }
    false
}
