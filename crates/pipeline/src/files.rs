//! Files of a project: which are tests, and their texts.
//!
//! Limits: 20,000 files and 2,000 directories; links are not followed; directories of build products and records are left out.

use marvin_base::files::{self, Links};
use marvin_flow::retry::measure::IGNORED;
use marvin_gate::Scope;
use std::path::Path;

const MAX_PROJECT_FILES: usize = 20_000;
const MAX_PROJECT_DIRECTORIES: usize = 2_000;
pub(crate) const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024;
/// Further directories of build products and third-party code.
const PRODUCTS: [&str; 3] = ["venv", "dist", "vendor"];

/// A language of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    /// JavaScript or TypeScript.
    Script,
    Rust,
    Go,
}

impl Language {
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        match path.rsplit('.').next()? {
            "py" => Some(Language::Python),
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Some(Language::Script),
            "rs" => Some(Language::Rust),
            "go" => Some(Language::Go),
            _ => None,
        }
    }
}

/// Tests: directories and file names, as patterns of a [`Scope`].
pub const TESTS: [&str; 23] = [
    "tests/",
    "test/",
    "__tests__/",
    "e2e/",
    "test_*.py",
    "*_test.py",
    "conftest.py",
    "*_test.go",
    "*.test.js",
    "*.test.mjs",
    "*.test.cjs",
    "*.test.ts",
    "*.test.jsx",
    "*.test.tsx",
    "*.spec.js",
    "*.spec.mjs",
    "*.spec.ts",
    "*.spec.jsx",
    "*.spec.tsx",
    "*-test.js",
    "*_test.js",
    "pytest.ini",
    "tox.ini",
];

/// Manifests that tests need, and the entry file that cargo requires.
pub const MANIFESTS: [&str; 14] = [
    "Cargo.toml",
    "go.mod",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "requirements*.txt",
    "tsconfig.json",
    ".gitignore",
    "src/lib.rs",
    "src/main.rs",
    "jest.config.*",
    "vitest.config.*",
    "__init__.py",
];

/// Lists of patterns as one list for a [`Scope`].
#[must_use]
pub fn patterns(lists: &[&[&str]]) -> Vec<String> {
    lists.iter().flat_map(|list| list.iter()).map(|pattern| (*pattern).to_string()).collect()
}

#[must_use]
pub fn is_test(path: &str) -> bool {
    let product = path.ends_with(".pyc") || path.ends_with(".pyo") || path.ends_with(".snap.new");
    !product && Scope::covers(&patterns(&[&TESTS]), path)
}

/// Every file of a project, as sorted relative paths.
#[must_use]
pub fn all(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    let mut scanned = 0;
    while let Some(directory) = directories.pop() {
        scanned += 1;
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten().take(MAX_PROJECT_FILES) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() {
                let ignored = IGNORED.iter().chain(&PRODUCTS).any(|ignored| name.as_os_str() == *ignored);
                if !ignored && scanned + directories.len() < MAX_PROJECT_DIRECTORIES {
                    directories.push(entry.path());
                }
            } else if kind.is_file() && found.len() < MAX_PROJECT_FILES {
                let path = entry.path();
                if let Some(path) = path.strip_prefix(root).ok().and_then(Path::to_str) {
                    found.push(path.to_string());
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// The test files of a project.
#[must_use]
pub fn tests(root: &Path) -> Vec<String> {
    all(root).into_iter().filter(|path| is_test(path)).collect()
}

/// A file as text; invalid UTF-8 is replaced, a large file is cut.
#[must_use]
pub fn text(root: &Path, path: &str) -> String {
    let bytes = files::read(&root.join(path), MAX_FILE_BYTES, Links::Refuse).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_place_or_name() {
        for test in
            ["tests/a.rs", "pkg/test_a.py", "a_test.go", "web/x.spec.ts", "conftest.py", "tests/data/a.json"]
        {
            assert!(is_test(test), "{test}");
        }
        for other in ["src/a.rs", "latest.py", "contest.py", "tests/__pycache__/a.pyc", "attest/a.py"] {
            assert!(!is_test(other), "{other}");
        }
    }

    #[test]
    fn links_and_products_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["a.py", "tests/test_a.py", "node_modules/x/test_b.py", ".marvin/spec.md"] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, [0xff, 0xfe]).unwrap();
        }
        std::os::unix::fs::symlink("/etc", directory.path().join("tests/etc")).unwrap();
        assert_eq!(all(directory.path()), ["a.py", "tests/test_a.py"]);
        assert_eq!(text(directory.path(), "a.py"), "\u{fffd}\u{fffd}");
    }
}
