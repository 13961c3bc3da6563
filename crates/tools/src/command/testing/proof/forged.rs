//! Code that speaks for its runner: it prints the summary of a test runner and ends the process.
//!
//! In Python this is seen while the tests run (`python/sitecustomize.py`). Elsewhere nothing outside the process can tell the runner's
//! lines from others, so files that the work added or changed are searched for both together.
//!
//! Limits: texts that are joined while the program runs are not found. A tree with more source files than [`MAX_FILES`] cannot be
//! checked, and is a finding.

use super::source::is_test_file;
use std::path::{Path, PathBuf};

/// Source files that are looked at.
const MAX_FILES: usize = 40_000;
/// Bytes of a file that are looked at.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Directories of dependencies, which are compared by their own fingerprints, wherever they lie.
const DEPENDENCIES: [&str; 2] = [".git", "node_modules"];
/// Further ones of dependencies and builds, in the root alone: elsewhere they may be modules of the project.
const ROOT_DEPENDENCIES: [&str; 4] = ["target", "vendor", ".venv", "venv"];

/// What ends a process in a language, and the texts by which parsers of its runners' output tell that tests passed.
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
        summaries: &["--- PASS:", "\"Action\":\"pass\"", "\\\"Action\\\":\\\"pass\\\""],
    },
    Language {
        endings: &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"],
        exits: &["process.exit", "process.reallyExit"],
        summaries: &["# pass ", "ℹ pass ", "Tests:       ", "TAP version"],
    },
];

/// A sentence about a file that was added or changed since the baseline and speaks for the runner.
pub(super) fn find(root: &Path, baseline: &Path) -> Option<String> {
    let mut waiting = vec![root.to_path_buf()];
    let mut left = MAX_FILES;
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_skipped = |names: &[&str]| names.iter().any(|name| entry.file_name() == *name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !is_skipped(&DEPENDENCIES) && (directory != root || !is_skipped(&ROOT_DEPENDENCIES)) {
                    waiting.push(path);
                }
                continue;
            }
            // Through links too: what is imported by another name runs all the same.
            let Some(language) = language(&path).filter(|_| path.is_file()) else { continue };
            left -= 1;
            if left == 0 {
                return Some(format!("it has more than {MAX_FILES} source files, so they cannot be checked"));
            }
            if let Some(sentence) = speaks_for_runner(root, baseline, &path, language) {
                return Some(sentence);
            }
        }
    }
    None
}

fn language(path: &Path) -> Option<&'static Language> {
    let ending = path.extension()?.to_str()?;
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

fn speaks_for_runner(root: &Path, baseline: &Path, path: &Path, language: &Language) -> Option<String> {
    let inside: PathBuf = path.strip_prefix(root).ok()?.to_path_buf();
    // Tests that were there are part of the oracle.
    let is_oracle = is_test_file(&inside) && baseline.join(&inside).exists();
    if is_oracle || path.metadata().ok()?.len() > MAX_FILE_BYTES {
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
        std::fs::remove_file(root.join("calc.js")).unwrap();
        for hidden in ["src/vendor/forge.rs", "src/target/mod.rs", "tests/new_test.rs"] {
            put(&root, hidden, forged);
            assert!(find(&root, &baseline).unwrap().contains(hidden), "{hidden}");
            std::fs::remove_file(root.join(hidden)).unwrap();
        }
        put(&baseline, "tests/own.rs", "");
        put(&root, "tests/own.rs", forged);
        put(&root, "node_modules/tap/index.js", "console.log('# pass 2'); process.exit(0);");
        assert_eq!(find(&root, &baseline), None, "sealed tests and dependencies are compared elsewhere");
    }

    #[test]
    fn ordinary_programs_do_not_speak_for_a_runner() {
        let directory = tempfile::tempdir().unwrap();
        let (root, baseline) = (directory.path().join("now"), directory.path().join("before"));
        std::fs::create_dir_all(&root).unwrap();
        let tool = "console.log('✔ done'); console.log(`Tests: ${n}`); process.exit(1);";
        std::fs::write(root.join("cli.js"), tool).unwrap();
        let event = "type Event struct { Action string `json:\"Action\"` }\nfunc main() { os.Exit(1) }";
        std::fs::write(root.join("main.go"), event).unwrap();
        assert_eq!(find(&root, &baseline), None);
    }
}
