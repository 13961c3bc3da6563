//! Where names lead on the disk: a name inside the workspace may be a link out of it.

use super::arguments::Arguments;
use super::{Grounds, Look, Place};
use crate::command::reach::{self, TreeFinding};
use crate::shell::Word;
use std::path::{Path, PathBuf};

/// Names that one pattern may stand for before nothing is known of it.
const MAX_PATTERN_MATCHES: usize = 2_000;

/// The paths that a word may stand for, with every link followed.
fn reached(word: &Word, directories: &[Word]) -> Option<Vec<PathBuf>> {
    let text = word.text()?;
    if text.is_empty() || text.len() > 4_096 {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for directory in directories {
        let path = Path::new(&*directory.text()?).join(&*text);
        let paths = if word.globs() { reach::expand(&path)? } else { vec![path] };
        found.extend(paths.iter().take(MAX_PATTERN_MATCHES).map(|path| reach::real(path)));
        if text.starts_with('/') {
            break;
        }
    }
    Some(found)
}

/// The worse of the place that the text names and the place that it leads to.
pub(super) fn place(word: &Word, directories: &[Word], grounds: Grounds<'_>, by_text: Place) -> Place {
    if matches!(by_text, Place::Root | Place::Device | Place::Sink | Place::Network | Place::Secret)
        || word.beginning().starts_with('-')
    {
        return by_text;
    }
    let Some(paths) = reached(word, directories) else { return by_text };
    let (workspace, home) = (reach::real(Path::new(grounds.workspace)), reach::real(Path::new(grounds.home)));
    let (workspace, home) = (workspace.to_string_lossy(), home.to_string_lossy());
    let real = Grounds { workspace: &workspace, home: &home };
    let found = paths.iter().map(|path| Place::of_path(&path.to_string_lossy(), true, false, real));
    // A directory that a pattern names as a whole is what the text says.
    match found.max() {
        Some(found) if by_text <= Place::Inside || found > by_text => found.max(by_text),
        _ => by_text,
    }
}

/// Does a word lead to the tickets?
pub(super) fn is_ticket(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> bool {
    let tickets = reach::real(Path::new(grounds.workspace)).join(".tickets");
    reached(word, directories).is_some_and(|paths| paths.iter().any(|path| path.starts_with(&tickets)))
}

/// Is there a directory of this name?
pub(super) fn is_directory(look: &Look<'_>, word: &Word) -> bool {
    look.beside.disk
        && reached(word, &look.segment.directories)
            .is_some_and(|paths| paths.iter().any(|path| path.is_dir()))
}

/// Looks at what lies in directories, or fits patterns, whose content is put into a directory.
pub(super) fn brings(look: &mut Look<'_>, sources: &[Word], target: &Word) {
    if !look.beside.disk {
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
        // A directory that this line itself makes holds what nobody has seen yet.
        let unseen = !source.globs() && !paths.iter().any(|path| path.exists());
        if unseen && look.place(target) == Place::Workspace {
            look.ask(
                "copy.unseen",
                format!("what it would put into the workspace is not there yet: `{}`", source.shown()),
            );
        }
        for name in names {
            super::files::lands(look, target, &name);
        }
    }
}

/// Could what is unpacked into a directory replace the hooks that stand there?
pub(super) fn has_hooks(look: &Look<'_>, directory: &Word) -> bool {
    look.beside.disk && look.place(directory) == Place::Workspace && {
        let workspace = Path::new(look.grounds.workspace);
        [".claude", ".codex", ".marvin"].iter().any(|name| workspace.join(name).exists())
    }
}

/// A reader of whole trees shows the secrets that lie in them, too.
pub(super) fn tree(look: &mut Look<'_>, base: &str, arguments: &Arguments) {
    let searches = matches!(base, "rg" | "ag" | "ack" | "ugrep");
    let greps = matches!(base, "grep" | "egrep" | "fgrep" | "rgrep" | "zgrep");
    let whole = searches
        || greps
            && (base == "rgrep" || arguments.has(&["-r", "-R", "--recursive", "--dereference-recursive"]))
        || matches!(base, "diff") && arguments.has(&["-r", "--recursive"]);
    if !look.beside.disk || !whole {
        return;
    }
    let patterns = usize::from((searches || greps) && !arguments.has(&["-e", "-f", "--regexp", "--file"]));
    let mut starts: Vec<Word> = arguments.operands.iter().skip(patterns).cloned().collect();
    if starts.is_empty() && (searches && look.segment.input.is_none() || greps) {
        starts.push(Word::known("."));
    }
    let links = arguments.has(&["-R", "-L", "--dereference-recursive", "--follow"]);
    let workspace = reach::real(Path::new(look.grounds.workspace));
    for start in &starts {
        for path in reached(start, &look.segment.directories).unwrap_or_default() {
            match reach::look_through(&path, &workspace, links) {
                TreeFinding::Nothing => {}
                TreeFinding::Secret => {
                    look.ask("tree.secret", format!("there are files of secrets in `{}`", start.shown()));
                }
                TreeFinding::LeadsOut => {
                    look.ask(
                        "tree.link",
                        format!("a link in `{}` leads out of the workspace", start.shown()),
                    );
                }
                TreeFinding::TooLarge => {
                    look.ask("tree.large", format!("`{}` is too large to know what is in it", start.shown()));
                }
            }
        }
    }
}
