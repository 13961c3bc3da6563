//! Lines of shell mode: each is a process of its own, and the directory stays.
//!
//! A line that begins elsewhere than in the root, or that may change the directory, is run between a `cd` to the directory of shell
//! mode and a `printf` of the one that it ends in. The gate judges all of it.

use marvin_base::ids;
use std::path::{Path, PathBuf};

/// Words that change the directory.
const CHANGING: [&str; 3] = ["cd", "pushd", "popd"];

/// A line as it is run.
#[derive(Debug)]
pub(super) struct ShellLine {
    pub(super) text: String,
    /// The beginning of the line of output that names the directory; none: the directory stays the same.
    mark: Option<String>,
}

impl ShellLine {
    /// The line as it is.
    pub(super) fn unchanged(line: &str) -> Self {
        ShellLine { text: line.to_string(), mark: None }
    }

    /// The line for a shell that is in `directory`; none: in the root.
    pub(super) fn new(line: &str, directory: Option<&Path>) -> Self {
        let words = line.split(|char: char| char.is_whitespace() || ";&|(){}".contains(char));
        let changes = words.into_iter().any(|word| CHANGING.contains(&word));
        if directory.is_none() && !changes {
            return ShellLine::unchanged(line);
        }
        let mark = format!("marvin-directory-{}:", ids::short(8));
        let begin =
            directory.map(|directory| format!("cd {} || exit 1\n", quote(directory))).unwrap_or_default();
        let end = format!("marvin_status=$?\nprintf '\\n{mark}%s\\n' \"$PWD\"\nexit $marvin_status");
        ShellLine { text: format!("{begin}{line}\n{end}"), mark: Some(mark) }
    }

    /// The output without the line that names the directory, and that directory.
    pub(super) fn split_output(&self, output: &str) -> (String, Option<PathBuf>) {
        let Some((before, rest)) = self.mark.as_ref().and_then(|mark| output.rsplit_once(mark.as_str()))
        else {
            return (output.to_string(), None);
        };
        let (directory, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let before = before.trim_end_matches('\n');
        let shown = if before.is_empty() { after.to_string() } else { format!("{before}\n{after}") };
        (shown, Some(PathBuf::from(directory)))
    }
}

/// A directory that shell mode cannot be in.
#[derive(Debug, thiserror::Error)]
#[error("{} is not below {}, so the shell stays where it was", .found.display(), .root.display())]
pub(super) struct OutsideRoot {
    found: PathBuf,
    root: PathBuf,
}

/// The directory that shell mode is in after a line; none: the root.
pub(super) fn keep_directory(found: &Path, root: &Path) -> Result<Option<PathBuf>, OutsideRoot> {
    match found.starts_with(root) && found.is_dir() {
        true if found == root => Ok(None),
        true => Ok(Some(found.to_path_buf())),
        false => Err(OutsideRoot { found: found.to_path_buf(), root: root.to_path_buf() }),
    }
}

fn quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_change_nothing_are_run_as_they_are() {
        for line in ["ls", "echo cdrom", "cargo test -p cd-rs"] {
            let plain = ShellLine::new(line, None);
            assert_eq!((plain.text.as_str(), plain.mark), (line, None));
        }
        for line in ["cd src", "ls;cd src", "(cd x && ls)", "pushd a"] {
            assert!(ShellLine::new(line, None).mark.is_some(), "{line}");
        }
        let elsewhere = ShellLine::new("ls", Some(Path::new("/a/it's")));
        assert!(elsewhere.text.starts_with("cd '/a/it'\\''s' || exit 1\nls\n"), "{}", elsewhere.text);
        let mark = elsewhere.mark.clone().unwrap();
        let output = format!("one\n\n{mark}/a/b\n[exit code: 0]");
        assert_eq!(elsewhere.split_output(&output), ("one\n[exit code: 0]".into(), Some("/a/b".into())));
        assert_eq!(elsewhere.split_output("nothing").1, None);
    }
}
