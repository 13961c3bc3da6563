//! Code that speaks for its runner: it prints the summary of a test runner and ends the process.
//!
//! In Python this is seen while the tests run (`python/sitecustomize.py`). Elsewhere nothing outside the process can tell the runner's
//! lines from others, so files that the work added or changed are searched for both together.
//!
//! Limits: texts that are joined while the program runs are not found. A tree with more source files than [`MAX_FILES`] cannot be
//! checked, and is a finding.

use super::process_control;
use super::rust_doubles;
use super::source::is_test_file;
use crate::pattern::{Pattern, pattern};
use std::path::{Path, PathBuf};

/// Source files that are looked at.
const MAX_FILES: usize = 40_000;
/// Bytes of a file that are looked at.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Directories of dependencies, which are compared by their own fingerprints, wherever they lie.
const DEPENDENCIES: [&str; 2] = [".git", "node_modules"];
/// Further ones of dependencies and builds, in the root alone: elsewhere they may be modules of the project.
const ROOT_DEPENDENCIES: [&str; 4] = ["target", "vendor", ".venv", "venv"];

/// What ends a process in a language, and the texts by which parsers of its runners' output tell that tests passed. These have a
/// number, or a place for one: programs that read such output hold its words alone.
struct Language {
    endings: &'static [&'static str],
    exits: &'static [&'static str],
    summary: &'static Pattern,
}

pattern!(RUST_SUMMARY, r"test result: (?:ok\. ?)?[\d{]");
pattern!(GO_SUMMARY, r#"--- PASS: [\w%]|\\?"Action\\?":\\?"pass\\?""#);
// A program that counts is seen while it runs (`node/guard.cjs`), unless the runner ends the process itself.
pattern!(
    NODE_SUMMARY,
    r"# pass \d|ℹ pass \d|Tests:       (?:\d|\$\{|%)|(?s:TAP version \d+.{0,400}?\bok \d)"
);
/// What prints in a test of Rust.
const PRINTS: [&str; 4] = ["print", "write", "stdout", "libc"];

static LANGUAGES: [Language; 3] = [
    Language {
        endings: &["rs"],
        exits: &["process::exit", "libc::exit", "libc::_exit"],
        summary: &RUST_SUMMARY,
    },
    Language { endings: &["go"], exits: &["os.Exit", "syscall.Exit"], summary: &GO_SUMMARY },
    Language {
        endings: &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"],
        exits: &["process.exit", "process.reallyExit"],
        summary: &NODE_SUMMARY,
    },
];

/// A sentence about a file that was added or changed since the baseline and speaks for the runner, or, where it is judged by tests
/// that were there, is different under test.
pub(super) fn find(root: &Path, baseline: &Path, is_judged: impl Fn(&Path) -> bool) -> Option<String> {
    let Some(sources) = sources(root) else {
        return Some(format!("it has more than {MAX_FILES} source files, so they cannot be checked"));
    };
    sources.iter().find_map(|path| finding(root, baseline, path, language(path)?, &is_judged))
}

/// The sources that were added or changed since the baseline and are judged.
pub(super) fn changed_sources(
    root: &Path,
    baseline: &Path,
    is_judged: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let is_changed = |path: &PathBuf| {
        path.strip_prefix(root).is_ok_and(|inside| {
            is_judged(inside) && std::fs::read(baseline.join(inside)).ok() != std::fs::read(path).ok()
        })
    };
    sources(root).unwrap_or_default().into_iter().filter(is_changed).collect()
}

/// The source files of a project; none where there are too many.
fn sources(root: &Path) -> Option<Vec<PathBuf>> {
    let (mut waiting, mut found) = (vec![root.to_path_buf()], Vec::new());
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_skipped = |names: &[&str]| names.iter().any(|name| entry.file_name() == *name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !is_skipped(&DEPENDENCIES) && (directory != root || !is_skipped(&ROOT_DEPENDENCIES)) {
                    waiting.push(path);
                }
            } else if language(&path).is_some() && path.is_file() {
                // Through links too: what is imported by another name runs all the same.
                found.push(path);
            }
        }
        if found.len() > MAX_FILES {
            return None;
        }
    }
    Some(found)
}

fn language(path: &Path) -> Option<&'static Language> {
    let ending = path.extension()?.to_str()?;
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

fn finding(
    root: &Path,
    baseline: &Path,
    path: &Path,
    language: &Language,
    is_judged: impl Fn(&Path) -> bool,
) -> Option<String> {
    let inside: PathBuf = path.strip_prefix(root).ok()?.to_path_buf();
    // Tests that were there are part of the oracle.
    let is_oracle = is_test_file(&inside) && baseline.join(&inside).exists();
    if is_oracle || path.metadata().ok()?.len() > MAX_FILE_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let before = std::fs::read_to_string(baseline.join(&inside)).unwrap_or_default();
    if before == text {
        return None;
    }
    let name = inside.display().to_string();
    if let Some((exit, summary)) = forged_summary(&text, language) {
        return Some(format!(
            "`{name}` prints the summary of a test runner (`{summary}`) and ends the process (`{exit}`)"
        ));
    }
    if !is_judged(&inside) {
        return None;
    }
    // What was moved here was there before.
    let is_new = !baseline.join(&inside).exists();
    let removed = || if is_new { removed_sources(root, baseline, path) } else { String::new() };
    if process_control::find(&inside, &before, &text).is_some() {
        let finding = process_control::find(&inside, &(before.clone() + &removed()), &text);
        if finding.is_some() {
            return finding;
        }
    }
    if !language.endings.contains(&"rs") || is_test_file(&inside) {
        return None;
    }
    let finding = rust_doubles::find(&name, &before, &text)?;
    if is_new { rust_doubles::find(&name, &removed(), &text) } else { Some(finding) }
}

/// The sources of a file's language that are gone since the baseline, as one text.
fn removed_sources(root: &Path, baseline: &Path, path: &Path) -> String {
    let ending = path.extension();
    let (mut waiting, mut text) = (vec![baseline.to_path_buf()], String::new());
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_skipped = DEPENDENCIES.iter().any(|name| entry.file_name() == *name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.extend(Some(path).filter(|_| !is_skipped));
                continue;
            }
            let is_gone = path.strip_prefix(baseline).is_ok_and(|inside| !root.join(inside).exists());
            let is_small = entry.metadata().is_ok_and(|facts| facts.len() <= MAX_FILE_BYTES);
            if is_gone && is_small && path.extension() == ending {
                text.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
                text.push('\n');
            }
        }
    }
    text
}

/// What ends the process in a text, and the summary that it prints.
fn forged_summary<'a>(text: &'a str, language: &Language) -> Option<(&'static str, &'a str)> {
    let exit = |text: &str| language.exits.iter().copied().find(|word| text.contains(word));
    let summary = |text: &str| {
        let found = language.summary.as_ref().and_then(|pattern| pattern.find(text));
        found.is_some()
    };
    let shown = language.summary.as_ref()?.find(text)?.as_str();
    let exit_of_all = exit(text)?;
    let parts = match language.endings.contains(&"rs") {
        true => rust_doubles::split_test_modules(text),
        false => None,
    };
    // Tests of a program that reads such output hold some, and print nothing.
    if let Some((own, of_tests)) = parts
        && !summary(&own)
        && exit(&of_tests).is_none()
        && !PRINTS.iter().any(|word| of_tests.contains(word))
    {
        return None;
    }
    Some((exit_of_all, shown.lines().next().unwrap_or(shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(root: &Path, baseline: &Path) -> Option<String> {
        super::find(root, baseline, |_| true)
    }

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
        put(
            &root,
            "src/lib.rs",
            &format!(
                "#[cfg(test)]\nmod a {{ fn f() {{ {} }} }}\nfn g() {{ std::process::exit(0) }}",
                "println!(\"test result: ok. 2 passed\")"
            ),
        );
        assert!(find(&root, &baseline).unwrap().contains("src/lib.rs"), "in a test module");
        put(&root, "src/lib.rs", "#[cfg(test)]\nmacro_rules! assert_eq { () => {} }");
        assert!(find(&root, &baseline).unwrap().contains("assert_eq"));
        put(&baseline, "src/moved.rs", "#[cfg(test)]\nmacro_rules! assert_eq { () => {} }\nfn f() {}");
        assert_eq!(find(&root, &baseline), None, "moved from another file");
        std::fs::remove_file(baseline.join("src/moved.rs")).unwrap();
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
        let tap = "exports.format = n => 'TAP version 13\\n# pass ' + n;\nexports.main = () => { console.log(1); process.exit(0) };";
        std::fs::write(root.join("tap.js"), tap).unwrap();
        let parser = "fn parse(s: &str) -> bool { s.starts_with(\"test result: ok. \") }\nfn main() { std::process::exit(1) }\n\
             #[cfg(test)]\nmod tests {\n    #[test]\n    fn ok() { assert!(super::parse(\"test result: ok. 3 passed\")) }\n}\n";
        std::fs::write(root.join("parser.rs"), parser).unwrap();
        assert_eq!(find(&root, &baseline), None);
    }
}
