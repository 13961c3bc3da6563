//! A guard that keeps Codex's ripgrep out of generated directories.
//!
//! Codex searches with ripgrep. In a workspace with gigabytes of run records and lines of megabytes, one careless search
//! fills the memory. ripgrep reads flags from the file that `RIPGREP_CONFIG_PATH` names; the guard writes such a file into
//! the workspace and points Codex there. What the person's own file says comes first, so it still holds where it does not
//! contradict the guard.
//!
//! A Codex below a Codex finds a guard in its environment already. The guard's part begins with a marker, and of a file
//! that is handed on only what stands above the marker is taken over: the file does not grow from one level to the next.
//!
//! Limits: a ripgrep that is called with `--no-config` is not guarded.

use marvin_base::atomic;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use std::path::{Path, PathBuf};

/// The variable in which ripgrep looks for its configuration file.
pub const VARIABLE: &str = "RIPGREP_CONFIG_PATH";

/// The name of the guard file, in the workspace's scratch directory.
const FILE: &str = "tokimon-codex.ripgreprc";

/// First line of the guard's own part of the file.
const MARKER: &str = "# Guard of Marvin for Codex: from here on this file is written anew for every call.";

/// Generated files, which a search skips.
pub const EXCLUDED: [&str; 8] = [
    "**/runs/**",
    "**/.tokimon-tmp/**",
    "**/.venv/**",
    "**/node_modules/**",
    "**/dist/**",
    "**/build/**",
    "**/*.jsonl",
    "**/*.ndjson",
];

/// Writes the guard file and returns its path.
///
/// `max_columns` is the longest line that is printed whole; 0 sets no such limit.
///
/// # Errors
/// When the file cannot be written.
pub fn write(
    workspace: &Path,
    environment: &Environment,
    max_columns: usize,
) -> Result<PathBuf, atomic::WriteError> {
    let path = Layout::scratch(workspace).join(FILE);
    let text = contents(&own_flags(environment), max_columns);
    // Two calls at once write the same bytes; the second finds nothing to do.
    if std::fs::read(&path).ok().as_ref() != Some(&text) {
        atomic::replace(&path, &text)?;
    }
    Ok(path)
}

/// The flags of the person's own file, without those of an outer guard. An unreadable file has none.
fn own_flags(environment: &Environment) -> Vec<u8> {
    let Some(path) = environment.get(VARIABLE).map(Path::new).filter(|path| path.is_file()) else {
        return Vec::new();
    };
    let mut bytes = std::fs::read(path).unwrap_or_default();
    let marker = MARKER.as_bytes();
    if let Some(at) = bytes.windows(marker.len()).position(|window| window == marker) {
        bytes.truncate(at);
    }
    bytes
}

fn contents(own: &[u8], max_columns: usize) -> Vec<u8> {
    let mut text = own.to_vec();
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    let mut line = |line: &str| {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    };
    line(MARKER);
    for glob in EXCLUDED {
        line(&format!("--glob=!{glob}"));
    }
    if max_columns > 0 {
        line(&format!("--max-columns={max_columns}"));
        line("--max-columns-preview");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &str = "--glob=!**/runs/**\n--glob=!**/.tokimon-tmp/**\n--glob=!**/.venv/**\n\
        --glob=!**/node_modules/**\n--glob=!**/dist/**\n--glob=!**/build/**\n--glob=!**/*.jsonl\n\
        --glob=!**/*.ndjson\n";

    fn guard(workspace: &Path, environment: &Environment, max_columns: usize) -> String {
        let path = write(workspace, environment, max_columns).unwrap();
        assert_eq!(path, workspace.join(".tokimon-tmp/tokimon-codex.ripgreprc"));
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_file_excludes_generated_files_and_bounds_lines() {
        let directory = tempfile::tempdir().unwrap();
        let none = Environment::default();
        assert_eq!(
            guard(directory.path(), &none, 4096),
            format!("{MARKER}\n{FLAGS}--max-columns=4096\n--max-columns-preview\n")
        );
        assert_eq!(guard(directory.path(), &none, 0), format!("{MARKER}\n{FLAGS}"));
    }

    #[test]
    fn the_persons_own_file_comes_first_and_does_not_pile_up() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("ripgreprc");
        std::fs::write(&own, "# mine\n--smart-case").unwrap();
        let environment = Environment::default().with(VARIABLE, own.display().to_string());
        let first = guard(directory.path(), &environment, 80);
        assert_eq!(
            first,
            format!("# mine\n--smart-case\n{MARKER}\n{FLAGS}--max-columns=80\n--max-columns-preview\n")
        );
        let guarded = directory.path().join(".tokimon-tmp/tokimon-codex.ripgreprc");
        let below = Environment::default().with(VARIABLE, guarded.display().to_string());
        assert_eq!(guard(directory.path(), &below, 80), first, "one level deeper, same workspace");
        let other = tempfile::tempdir().unwrap();
        assert_eq!(guard(other.path(), &below, 80), first, "one level deeper, other workspace");
    }

    #[test]
    fn an_unreadable_file_of_the_person_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().join("none"), directory.path().to_path_buf()] {
            let environment = Environment::default().with(VARIABLE, path.display().to_string());
            assert_eq!(guard(directory.path(), &environment, 0), format!("{MARKER}\n{FLAGS}"));
        }
    }

    #[test]
    fn a_workspace_that_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(".tokimon-tmp"), "a file in the way").unwrap();
        let error = write(directory.path(), &Environment::default(), 0).unwrap_err().to_string();
        assert!(error.contains(".tokimon-tmp"), "{error}");
    }

    #[test]
    fn real_ripgrep_accepts_the_file() {
        let ripgrep = std::process::Command::new("rg").arg("--version").output();
        if ripgrep.is_err() {
            println!(
                "skipped: ripgrep is not installed; the test of the real programs uses the one that Codex brings"
            );
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), &Environment::default(), 20).unwrap();
        std::fs::create_dir(directory.path().join("runs")).unwrap();
        for file in ["a.txt", "a.jsonl", "runs/b.txt"] {
            std::fs::write(directory.path().join(file), format!("needle {}\n", "x".repeat(100))).unwrap();
        }
        let output = std::process::Command::new("rg")
            .args(["--no-heading", "--with-filename", "needle", "."])
            .current_dir(directory.path())
            .env(VARIABLE, path)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.starts_with("./a.txt:needle xxxxx") && text.lines().count() == 1, "{text}");
        assert!(text.contains("[... omitted end of long line]"), "{text}");
    }
}
