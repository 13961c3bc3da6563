//! A home and a project in a temporary directory.

use std::fs;
use std::path::{Path, PathBuf};

/// A home and a project that vanish with the value.
#[derive(Debug)]
pub struct Project {
    root: tempfile::TempDir,
}

impl Project {
    /// A project with these files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let project = Project { root: tempfile::tempdir().unwrap() };
        fs::create_dir(project.home()).unwrap();
        fs::create_dir_all(project.path().join(".marvin")).unwrap();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// The directory that has both.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The project itself.
    pub fn path(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Writes a file of the project.
    #[track_caller]
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(self.path().join(path), content);
    }

    /// The variables of a process of the person: `HOME` and `PATH`.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let path = std::env::var("PATH").unwrap_or_default();
        [("HOME", self.home().display().to_string()), ("PATH", path)]
    }
}

/// Writes a file and the directories above it.
#[track_caller]
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
