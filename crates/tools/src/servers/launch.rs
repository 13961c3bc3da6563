//! Start of a server's program: file, directory and variables.
//!
//! A server runs outside of the sandbox, so nothing that an agent can write into the project may decide what it runs. It
//! starts in a new empty directory of the person, its program is resolved to a file outside of the project, `PATH` holds no
//! directory of the project, and its environment is built from a list. `cwd = "project"` in the person's own settings gives
//! that up for one server, and [`super::Server::notes`] says so.
//!
//! Limits: files that a program loads besides those on its command line are not checked: packages that `npx` or `uvx`
//! fetch, modules that a script imports from its own directory.

use super::error::ServerError;
use super::{Definition, Server, ServerOwner};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables that every server gets where they are set; `PATH` is made safe first.
const PASSED: [&str; 10] =
    ["HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];
/// Value of `cwd` for the project's directory.
const PROJECT: &str = "project";
const NEUTRAL_MODE: u32 = 0o700;
/// Age after which an empty directory of a start that was killed is removed.
const MAX_LEFTOVER_AGE: Duration = Duration::from_secs(24 * 3600);

/// An empty working directory of a server; it is removed with this value.
#[derive(Debug)]
pub struct NeutralDirectory(PathBuf);

impl Drop for NeutralDirectory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A program with its arguments, directory and environment.
#[derive(Debug)]
pub struct Launch {
    /// The program, absolute.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    /// The same, where it is an empty directory; it must live as long as the server runs.
    pub neutral: Option<NeutralDirectory>,
    /// The whole environment.
    pub variables: BTreeMap<String, String>,
}

impl Server {
    /// Resolves program, directory and environment.
    ///
    /// # Errors
    /// When its program is not found or lies in the project, or its directory cannot be used.
    pub fn launch(&self, layout: &Layout, environment: &Environment) -> Result<Launch, ServerError> {
        let refuse = |directory: &Path, reason, hint| {
            Err(ServerError::Start { what: format!("in {}", directory.display()), reason, hint })
        };
        let (directory, neutral) = match starts_in(&self.definition, layout) {
            Some(directory) if self.owner == ServerOwner::Project => {
                let reason = "a server that a project names starts in an empty directory";
                return refuse(&directory, reason, Some("take `cwd` out of its definition"));
            }
            Some(directory) if directory.is_dir() => (directory, None),
            Some(directory) => return refuse(&directory, "it is not a directory", None),
            None => {
                let neutral = neutral(layout, &self.name)?;
                (neutral.0.clone(), Some(neutral))
            }
        };
        let path = safe_path(environment.get("PATH").unwrap_or_default(), layout.project());
        let program = self.resolve_program(layout, environment)?;
        let mut variables = BTreeMap::new();
        for name in PASSED.iter().copied().chain(self.definition.env.iter().map(String::as_str)) {
            if let Some(value) = environment.get(name) {
                variables.insert(name.to_string(), value.to_string());
            }
        }
        variables.insert("PATH".into(), path);
        // Python would import from the directory of a script in the project, or from the project itself.
        if !names_own_script(&self.definition, layout) {
            variables.insert("PYTHONSAFEPATH".into(), "1".into());
        }
        Ok(Launch { program, arguments: self.arguments(layout), directory, neutral, variables })
    }

    /// The program as an absolute path.
    pub(super) fn resolve_program(
        &self,
        layout: &Layout,
        environment: &Environment,
    ) -> Result<PathBuf, ServerError> {
        let path = safe_path(environment.get("PATH").unwrap_or_default(), layout.project());
        let command = self.definition.command.as_deref().unwrap_or_default();
        let in_project = self.owner == ServerOwner::Project || starts_in(&self.definition, layout).is_some();
        let given = Path::new(command);
        let refuse = |what: String, reason, hint| ServerError::Start { what, reason, hint };
        let found = if given.is_absolute() {
            given.to_path_buf()
        } else if command.contains('/') {
            let base = layout.project().filter(|_| in_project).ok_or_else(|| {
                refuse(format!("`{command}`"), "the path is relative", Some("write it in full"))
            })?;
            starts_in(&self.definition, layout).unwrap_or_else(|| base.to_path_buf()).join(given)
        } else {
            let mut directories = path.split(':').map(|directory| Path::new(directory).join(command));
            directories
                .find(|path| is_executable(path))
                .ok_or_else(|| refuse(format!("`{command}`"), "no such program is on the PATH", None))?
        };
        let shown = found.display().to_string();
        if !is_executable(&found) {
            return Err(refuse(shown, "it is not an executable file", None));
        }
        if !in_project && is_inside(&found, layout.project()) {
            let hint = "install it elsewhere, or say cwd = \"project\"";
            return Err(refuse(shown, "it lies inside the project, where agents write", Some(hint)));
        }
        Ok(found)
    }

    /// The arguments; files of a project that its own server names are given in full.
    fn arguments(&self, layout: &Layout) -> Vec<String> {
        let full = |word: &String| {
            let project = layout.project().filter(|_| self.owner == ServerOwner::Project)?;
            let path = project.join(word);
            (!word.starts_with('-') && path.is_file()).then(|| path.display().to_string())
        };
        self.definition.args.iter().map(|word| full(word).unwrap_or_else(|| word.clone())).collect()
    }
}

/// The directory that a definition names; `None` for the empty one.
pub(super) fn starts_in(definition: &Definition, layout: &Layout) -> Option<PathBuf> {
    let cwd = definition.cwd.as_deref()?;
    match (cwd, layout.project()) {
        (PROJECT, Some(project)) => Some(project.to_path_buf()),
        (PROJECT, None) => None,
        (cwd, Some(project)) => Some(project.join(cwd)),
        (cwd, None) => Some(PathBuf::from(cwd)),
    }
}

/// Whether a definition names a script of the person's own, outside of the project.
fn names_own_script(definition: &Definition, layout: &Layout) -> bool {
    let named = definition.args.iter().map(Path::new).filter(|path| path.is_absolute() && path.is_file());
    named.into_iter().any(|path| !is_inside(path, layout.project()))
}

/// `PATH` without directories that are relative, missing, or inside the project.
fn safe_path(path: &str, project: Option<&Path>) -> String {
    let is_safe = |directory: &&str| {
        let directory = Path::new(directory);
        directory.is_absolute() && directory.is_dir() && !is_inside(directory, project)
    };
    path.split(':').filter(is_safe).collect::<Vec<_>>().join(":")
}

/// Whether a path leads into the project.
pub(super) fn is_inside(path: &Path, project: Option<&Path>) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    project.is_some_and(|project| path.starts_with(project) || real(path).starts_with(real(project)))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// Creates a new empty directory of the person.
fn neutral(layout: &Layout, name: &str) -> Result<NeutralDirectory, ServerError> {
    let parent = layout.user().join("mcp");
    let fail = |source: std::io::Error| ServerError::Directory { parent: parent.clone(), source };
    std::fs::create_dir_all(&parent).map_err(fail)?;
    for entry in std::fs::read_dir(&parent).into_iter().flatten().flatten() {
        let age =
            entry.metadata().and_then(|facts| facts.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > MAX_LEFTOVER_AGE) {
            // Only an empty one is removed.
            std::fs::remove_dir(entry.path()).ok();
        }
    }
    let directory = parent.join(format!("{name}-{}", marvin_base::ids::short(12)));
    std::fs::DirBuilder::new().mode(NEUTRAL_MODE).create(&directory).map_err(fail)?;
    Ok(NeutralDirectory(directory))
}
