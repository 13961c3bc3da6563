//! Code that speaks for its runner: it prints the summary of a test runner and ends the process.
//!
//! In Python this is seen while the tests run (`python/guard.py`). Elsewhere nothing outside the process can tell the runner's
//! lines from others, so files that the work added or changed are searched for both together.
//!
//! Limit: texts that are joined while the program runs are not found.

use super::source::is_test_file;
use std::path::{Path, PathBuf};

/// Files that are looked at.
const MAX_FILES: usize = 4_000;
/// Bytes of a file that are looked at.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Directories of dependencies and builds, which are compared by their own fingerprints.
const SKIPPED: [&str; 6] = [".git", "node_modules", "target", "vendor", ".venv", "venv"];

/// What ends a process in a language, and the texts by which its runners say that tests passed.
struct Language {
    endings: &'static [&'static str],
    exits: &'static [&'static str],
    summaries: &'static [&'static str],
}

const LANGUAGES: [Language; 3] = [
    Language {
        endings: &["rs"],
        exits: &["process::exit", "libc::exit", "libc::_exit"],
        summaries: &["test result:"],
    },
    Language {
        endings: &["go"],
        exits: &["os.Exit", "syscall.Exit"],
        summaries: &["--- PASS", "\"Action\""],
    },
    Language {
        endings: &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"],
        exits: &["process.exit", "process.reallyExit"],
        summaries: &["# pass", "Tests: ", "TAP version", "✔"],
    },
];

/// A sentence about a file that was added or changed since the baseline and speaks for the runner.
pub(super) fn find(root: &Path, baseline: &Path) -> Option<String> {
    let mut waiting = vec![root.to_path_buf()];
    let mut left = MAX_FILES;
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) => {
                    waiting.push(path)
                }
                Ok(kind) if kind.is_file() => {
                    left = left.checked_sub(1)?;
                    if let Some(sentence) = speaks_for_runner(root, baseline, &path) {
                        return Some(sentence);
                    }
                }
                _ => {}
            }
        }
    }
    None
}

fn speaks_for_runner(root: &Path, baseline: &Path, path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let language = LANGUAGES.iter().find(|language| language.endings.contains(&ending))?;
    let inside: PathBuf = path.strip_prefix(root).ok()?.to_path_buf();
    // Tests are part of the oracle.
    if is_test_file(&inside) || path.metadata().ok()?.len() > MAX_FILE_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let has = |words: &[&'static str]| words.iter().copied().find(|word| text.contains(word));
    let (exit, summary) = (has(language.exits)?, has(language.summaries)?);
    let before = std::fs::read_to_string(baseline.join(&inside)).unwrap_or_default();
    (before != text).then(|| {
        format!(
            "`{}` prints the summary of a test runner (`{summary}`) and ends the process (`{exit}`)",
            inside.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_code_that_speaks_for_its_runner_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (root, baseline) = (directory.path().join("now"), directory.path().join("before"));
        let put = |place: &Path, name: &str, text: &str| {
            let path = place.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let forged = "println!(\"test result: ok. 2 passed\"); std::process::exit(0)";
        put(&baseline, "src/own.rs", forged);
        put(&root, "src/own.rs", forged);
        put(&root, "src/main.rs", "std::process::exit(1)");
        put(&root, "target/debug/a.rs", forged);
        assert_eq!(find(&root, &baseline), None, "as it was, a plain exit, and a build directory");
        put(&root, "src/lib.rs", forged);
        assert!(find(&root, &baseline).unwrap().contains("src/lib.rs"));
        std::fs::remove_file(root.join("src/lib.rs")).unwrap();
        put(&root, "calc.js", "console.log('# pass 2'); process.exit(0);");
        assert!(find(&root, &baseline).unwrap().contains("calc.js"));
    }
}
