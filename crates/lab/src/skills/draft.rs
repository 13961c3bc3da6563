//! The draft of a skill, as an agent wrote it into its worktree. Nothing of it is trusted, also not that it is a directory.

use marvin_agent::skills::{SkillError, is_name, list_files};
use std::path::{Path, PathBuf};

/// The directory of drafts in a worktree.
pub(super) const DIRECTORY: &str = "skill-draft";

#[must_use]
pub(super) fn path(worktree: &Path, skill: &str) -> PathBuf {
    worktree.join(DIRECTORY).join(skill)
}

/// The files of a draft. One that is reached through a link is refused: it could be any directory of the machine.
///
/// # Errors
/// When it does not exist, or a part of it is a link or neither file nor directory.
pub(super) fn files(worktree: &Path, skill: &str) -> Result<Vec<PathBuf>, SkillError> {
    let draft = path(worktree, skill);
    let is_own = match (worktree.canonicalize(), draft.canonicalize()) {
        (Ok(root), Ok(found)) => found == path(&root, skill),
        _ => draft.symlink_metadata().is_err(),
    };
    if !is_own {
        return Err(SkillError::NotAFile(format!("{DIRECTORY}/{skill}")));
    }
    list_files(&draft)
}

/// Names of the drafts in a worktree.
#[must_use]
pub(super) fn names(worktree: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(worktree.join(DIRECTORY)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| is_name(name));
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_draft_behind_a_link_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (worktree, elsewhere) = (place.path().join("worktree"), place.path().join("elsewhere"));
        for file in [path(&worktree, "good").join("SKILL.md"), elsewhere.join("linked/secret")] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
        assert_eq!(files(&worktree, "good").unwrap(), [PathBuf::from("SKILL.md")]);
        symlink(elsewhere.join("linked"), path(&worktree, "linked")).unwrap();
        symlink(elsewhere.join("missing"), path(&worktree, "dangling")).unwrap();
        symlink(elsewhere.join("linked/secret"), path(&worktree, "good").join("notes.md")).unwrap();
        for (name, refused) in
            [("linked", "skill-draft/linked"), ("dangling", "skill-draft/dangling"), ("good", "notes.md")]
        {
            assert_eq!(files(&worktree, name), Err(SkillError::NotAFile(refused.into())), "{name}");
        }
        assert_eq!(names(&worktree), ["dangling", "good", "linked"]);
        std::fs::rename(worktree.join(DIRECTORY), elsewhere.join("drafts")).unwrap();
        symlink(elsewhere.join("drafts"), worktree.join(DIRECTORY)).unwrap();
        assert!(files(&worktree, "good").is_err());
    }
}
