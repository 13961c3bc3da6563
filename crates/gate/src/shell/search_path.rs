//! `PATH`: a directory before those of the system decides which program a name means.

use super::state::Shell;
use super::value::Word;

/// Directories of a home in which tool chains keep their programs.
const TOOL_DIRECTORIES: [&str; 26] = [
    ".asdf",
    ".bun",
    ".cabal",
    ".cargo",
    ".deno",
    ".dotnet",
    ".foundry",
    ".fnm",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".local",
    ".mise",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".poetry",
    ".pyenv",
    ".rbenv",
    ".rvm",
    ".sdkman",
    ".volta",
    ".yarn",
    "bin",
    "go",
    "miniconda3",
];
/// Directories of a project in which its package manager keeps programs.
const PROJECT_DIRECTORIES: [&str; 6] =
    ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin", "target/debug", "target/release"];
/// Directories of the system's programs.
const SYSTEM_DIRECTORIES: [&str; 8] =
    ["/usr/", "/bin", "/sbin", "/opt/", "/snap/", "/nix/", "/lib/", "/home/linuxbrew/"];

/// Is this a path of the system's programs, or of a tool chain in the home directory?
pub(crate) fn is_tool_path(path: &str, home: &str) -> bool {
    let path = super::normal(path);
    let below = |start: &&str| {
        path == start.trim_end_matches('/') || path.starts_with(&format!("{}/", start.trim_end_matches('/')))
    };
    if SYSTEM_DIRECTORIES.iter().any(below) {
        return true;
    }
    let own = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'));
    own.and_then(|rest| rest.split('/').next()).is_some_and(|first| TOOL_DIRECTORIES.contains(&first))
}

impl Shell<'_> {
    /// Doubts a directory of programs that any process may have filled.
    pub(super) fn check_search_path(&mut self, value: &Word) {
        if value.entries(':').iter().any(|entry| !self.is_usual(entry)) {
            self.doubt("a directory of programs that is not one of the system or of a tool chain");
        }
    }

    /// Is this a script that a tool chain or the person put into the home for shells to read?
    pub(super) fn is_own_script(&self, path: &str) -> bool {
        const START_UP: [&str; 5] = [".bashrc", ".profile", ".bash_profile", ".zshrc", ".zprofile"];
        let path = super::normal(path);
        let own = path.strip_prefix(self.home).and_then(|rest| rest.strip_prefix('/'));
        own.and_then(|rest| rest.split('/').next())
            .is_some_and(|first| START_UP.contains(&first) || TOOL_DIRECTORIES.contains(&first))
    }

    fn is_usual(&self, entry: &Word) -> bool {
        let start = entry.beginning();
        let end = entry.end();
        if entry.text().is_none() {
            // `$JAVA_HOME/bin`; what is nothing but a value may be anything.
            return start.is_empty() && end.ends_with("/bin")
                || start.starts_with('/') && self.is_usual_path(&start);
        }
        start.starts_with('/') && self.is_usual_path(&start)
    }

    fn is_usual_path(&self, path: &str) -> bool {
        let normal = super::normal(path);
        let is_project = PROJECT_DIRECTORIES.iter().any(|end| normal.ends_with(&format!("/{end}")));
        is_tool_path(path, self.home) || is_project && !normal.starts_with("/tmp/")
    }
}
