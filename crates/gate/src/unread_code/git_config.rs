//! Whether git commands that only read would run programs that the repository names.
//!
//! `git status`, `log` and `diff` start what a repository's configuration and hooks tell them to: fsmonitor, pagers, external
//! diff programs, text converters, filters, submodules with a configuration of their own. In a client an agent can write all of
//! that. So a repository counts as quiet only when every setting in it is known to name no program; one that is not known, an
//! included file, a linked worktree, a submodule or a hook on reading is a doubt. Settings of the person and of the system are
//! the person's own.

use crate::command::reach;
use marvin_base::files::{self, Links};
use std::path::Path;

/// Bytes of a configuration and of an index that are read.
const MAX_CONFIG_BYTES: u64 = 256 * 1024;
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;
/// Mode bits of an index entry that stands for another repository.
const GITLINK_MODE: u32 = 0o160_000;

/// Settings that name no program and no other file, as `section.key`; a subsection may stand between.
const QUIET: [&str; 49] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.abbrev",
    "core.longpaths",
    "core.protecthfs",
    "core.protectntfs",
    "core.untrackedcache",
    "core.preloadindex",
    "core.commitgraph",
    "core.whitespace",
    "core.trustctime",
    "user.name",
    "user.email",
    "user.signingkey",
    "user.useconfigonly",
    "remote.url",
    "remote.pushurl",
    "remote.fetch",
    "remote.tagopt",
    "remote.prune",
    "remote.pushdefault",
    "branch.remote",
    "branch.merge",
    "branch.rebase",
    "branch.pushremote",
    "branch.description",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.vscode-merge-base",
    "init.defaultbranch",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "commit.gpgsign",
    "tag.gpgsign",
    "merge.conflictstyle",
    "diff.algorithm",
    "rerere.enabled",
];

/// Do git commands that read, started in this directory, run nothing that the repository names?
pub(super) fn runs_nothing(directory: &Path, workspace: &Path) -> bool {
    let (directory, workspace) = (reach::real(directory), reach::real(workspace));
    let Some(dot_git) = repository(&directory, &workspace) else { return false };
    let is_absent = |name: &str| dot_git.join(name).symlink_metadata().is_err();
    is_absent("commondir")
        && is_absent("config.worktree")
        && is_absent("hooks/post-index-change")
        && is_absent("info/grafts")
        && is_absent("objects/info/alternates")
        && files::read(&dot_git.join("config"), MAX_CONFIG_BYTES, Links::Refuse)
            .is_ok_and(|bytes| String::from_utf8(bytes).is_ok_and(|text| is_quiet(&text)))
        && has_no_submodules(&dot_git.join("index"))
}

/// The `.git` that git would find: a real directory in the workspace, with no bare repository on the way to it.
fn repository(directory: &Path, workspace: &Path) -> Option<std::path::PathBuf> {
    for place in directory.ancestors() {
        if !place.starts_with(workspace) {
            return None;
        }
        let dot_git = place.join(".git");
        if let Ok(facts) = dot_git.symlink_metadata() {
            return facts.is_dir().then_some(dot_git);
        }
        if place.join("HEAD").symlink_metadata().is_ok() {
            return None;
        }
    }
    None
}

/// Is every setting known to name no program?
fn is_quiet(text: &str) -> bool {
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            // Anything behind the bracket is a setting on the same line.
            let Some(name) = rest.strip_suffix(']') else { return false };
            let name = name.split(['"', ' ', '\t', '.']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            continue;
        }
        let key = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        let name = format!("{section}.{key}");
        // A value that continues in the next line hides it.
        if !QUIET.contains(&name.as_str()) || line.ends_with('\\') {
            return false;
        }
        // Some transports are programs.
        if matches!(name.as_str(), "remote.url" | "remote.pushurl") && line.contains("::") {
            return false;
        }
    }
    true
}

/// Does an index hold no entry that stands for another repository? One that cannot be read may.
fn has_no_submodules(index: &Path) -> bool {
    if index.symlink_metadata().is_err() {
        return true;
    }
    let Ok(bytes) = files::read(index, MAX_INDEX_BYTES, Links::Refuse) else { return false };
    entries_have_no_gitlink(&bytes).unwrap_or(false)
}

fn entries_have_no_gitlink(bytes: &[u8]) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !matches!(version, 2 | 3) {
        return None;
    }
    let count = number(8)?;
    let mut at = 12;
    for _ in 0..count {
        if number(at + 24)? & 0o170_000 == GITLINK_MODE {
            return Some(false);
        }
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        let name = at + if version == 3 && flags & 0x4000 != 0 { 64 } else { 62 };
        let length = bytes.get(name..)?.iter().position(|byte| *byte == 0)?;
        // Entries are padded with at least one NUL to a multiple of eight bytes.
        let size = name - at + length;
        at += (size + 8) & !7;
    }
    // The `link` extension names another index with further entries.
    let rest = bytes.get(at..)?;
    Some(!rest.windows(4).any(|four| four == b"link"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_programs_or_are_not_known_are_a_doubt() {
        assert!(is_quiet(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote \"origin\"]\n\turl = https://x/y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n"
        ));
        for text in [
            "[core]\n\tfsmonitor = ./x",
            "[core]\n\tpager = ./x",
            "[core] pager = ./x",
            "[CORE]\n\tPAGER = ./x",
            "[core]\n\thooksPath = .",
            "[core]\n\tattributesFile = x",
            "[pager]\n\tlog = ./x",
            "[diff]\n\texternal = ./x",
            "[diff \"a\"]\n\ttextconv = ./x",
            "[diff \"a\"]\n\tcommand = ./x",
            "[filter \"a\"]\n\tclean = ./x",
            "[include]\n\tpath = x",
            "[includeIf \"gitdir:/\"]\n\tpath = x",
            "[gpg]\n\tprogram = ./x",
            "[log]\n\tshowSignature = true",
            "[alias]\n\tx = !y",
            "[extensions]\n\tworktreeConfig = true",
            "[remote \"a\"]\n\tpromisor = true",
            "[remote \"a\"]\n\tuploadpack = ./x",
            "[remote \"a\"]\n\turl = ext::./x",
            "[user]\n\tname = a\\\n[core]\n\tpager = ./x",
            "[submodule \"a\"]\n\turl = x",
        ] {
            assert!(!is_quiet(text), "{text}");
        }
    }

    #[test]
    fn an_index_with_another_repository_in_it_is_found() {
        let entry = |mode: u32, name: &str| {
            let mut bytes = vec![0_u8; 24];
            bytes.extend(mode.to_be_bytes());
            bytes.extend([0; 32]);
            bytes.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
            bytes.extend(name.as_bytes());
            let size = (bytes.len() + 8) & !7;
            bytes.resize(size, 0);
            bytes
        };
        let index = |entries: &[Vec<u8>]| {
            let mut bytes = b"DIRC\0\0\0\x02".to_vec();
            bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
            bytes.extend(entries.concat());
            bytes.extend([7; 20]);
            bytes
        };
        let file = entry(0o100_644, "a.txt");
        assert_eq!(entries_have_no_gitlink(&index(&[file.clone(), file.clone()])), Some(true));
        assert_eq!(entries_have_no_gitlink(&index(&[file, entry(GITLINK_MODE, "sub")])), Some(false));
        assert_eq!(entries_have_no_gitlink(b"DIRC\0\0\0\x04\0\0\0\0"), None);
        assert_eq!(entries_have_no_gitlink(b"x"), None);
    }
}
