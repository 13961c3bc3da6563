//! Runners solve tasks. A runner gets a workspace and leaves files in it; its report is only a claim.

mod baseline;
mod hierarchical;

use crate::error::LabError;
use crate::python::Python;
use crate::snapshot::{Snapshot, copy_files, put};
use crate::task::Task;
use marvin_agent::ProjectContext;
use marvin_base::child;
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::layout::state::VARIABLE;
use marvin_base::settings::nearest_of;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// A way to solve a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runner {
    /// One agent and one session, whose claim is accepted.
    Baseline,
    /// A planned workflow: every step is verified, every retry changes something.
    Hierarchical,
    /// Writes the reference solution, which must pass.
    Oracle,
    /// Does nothing, which must fail.
    Nop,
}

/// A name that no runner has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown runner `{name}`{near} (the runners are: {})", Runner::ALL.map(Runner::name).join(", "))]
pub struct UnknownRunner {
    name: String,
    /// The nearest name, as a question.
    near: String,
}

impl Runner {
    pub const ALL: [Runner; 4] = [Runner::Baseline, Runner::Hierarchical, Runner::Oracle, Runner::Nop];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Runner::Baseline => "baseline",
            Runner::Hierarchical => "hierarchical",
            Runner::Oracle => "oracle",
            Runner::Nop => "nop",
        }
    }

    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Runner::Baseline => "one agent, one session, believed without verification",
            Runner::Hierarchical => "a planned workflow: steps are verified, retries carry a lesson",
            Runner::Oracle => "writes the reference solution (control: must pass)",
            Runner::Nop => "does nothing (control: must fail)",
        }
    }

    /// The runner of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(name: &str) -> Result<Runner, UnknownRunner> {
        Runner::ALL.into_iter().find(|runner| runner.name() == name.trim()).ok_or_else(|| {
            let near = nearest_of(name, Runner::ALL.iter().map(|runner| runner.name()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            UnknownRunner { name: marvin_base::truncate::line(name, 40), near }
        })
    }
}

/// The environment of all runners.
#[derive(Debug, Clone)]
pub struct Bench {
    pub environment: Environment,
    /// The directory in which the program was started.
    pub directory: PathBuf,
    /// Settings from the command line: provider, model, limits.
    pub flags: Vec<(&'static str, String)>,
    /// Whether the mock plays the recordings of the tasks.
    pub recordings: bool,
    pub python: Python,
    /// A checkout whose instructions and skills the solvers work with.
    pub checkout: Option<PathBuf>,
    pub cancel: CancellationToken,
}

impl Bench {
    /// Finds the Python with this name, and puts it first for every program that solvers start.
    ///
    /// # Errors
    /// When it does not exist, or has no pytest.
    pub async fn open(
        environment: Environment,
        directory: PathBuf,
        flags: Vec<(&'static str, String)>,
        recordings: bool,
        python: &str,
        cancel: CancellationToken,
    ) -> Result<Bench, LabError> {
        let python = Python::find(python, &directory, &cancel).await?;
        let mut variables = python.variables(&environment);
        variables.insert("MARVIN_LAB".into(), "1".into());
        child::set_for_all(variables);
        Ok(Bench { environment, directory, flags, recordings, python, checkout: None, cancel })
    }

    /// The environment of a runner, with its records beside the workspace.
    #[must_use]
    pub fn environment_of(&self, workspace: &Path) -> Environment {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| self.directory.join(workspace));
        self.environment.clone().with(VARIABLE, state_beside(&workspace).display().to_string())
    }
}

/// The state directory of an attempt.
#[must_use]
pub(crate) fn state_beside(workspace: &Path) -> PathBuf {
    workspace.with_file_name("state")
}

/// The report of a runner.
#[derive(Debug, Clone, Default)]
pub struct RunnerReport {
    /// The runner's own word: `success`, `failed` …
    pub status: String,
    /// Whether it claims to have solved the task.
    pub claimed: bool,
    pub model_calls: u64,
    pub tool_calls: u64,
    /// Attempts at steps; 1 without steps.
    pub attempts: u64,
    pub lessons: u64,
    /// None if a price is not known.
    pub cost_usd: Option<f64>,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    pub error: Option<String>,
    /// Intermediate states of the graded files, oldest first.
    pub states: Vec<Snapshot>,
}

/// The directory of one attempt at a task: the workspace, and files beside it that the solver does not see.
#[derive(Debug)]
pub struct AttemptDirectory {
    directory: tempfile::TempDir,
    workspace: PathBuf,
}

impl AttemptDirectory {
    /// Creates a workspace with the starter files and the text of the task.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(task: &Task) -> Result<AttemptDirectory, LabError> {
        let directory = tempfile::Builder::new().prefix("marvin-task-").tempdir();
        let directory =
            directory.map_err(|error| LabError::file(Path::new("a temporary directory"), error))?;
        let place =
            directory.path().canonicalize().map_err(|error| LabError::file(directory.path(), error))?;
        let workspace = place.join(task.id());
        for (path, text) in task.directory("starter") {
            put(&workspace.join(path), text.as_bytes())?;
        }
        put(&workspace.join("TASK.md"), task.text.as_bytes())?;
        Ok(AttemptDirectory { directory, workspace })
    }

    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// A file beside the workspace.
    fn beside(&self, name: &str) -> Option<PathBuf> {
        self.workspace.parent().map(|directory| directory.join(name))
    }

    /// Keeps the directory on disk.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        // Dropping the value would delete the directory.
        let _directory = self.directory.keep();
        self.workspace
    }
}

/// Lets a runner solve a task.
///
/// # Errors
/// When it cannot start, or its record cannot be written. An unsolved task is not an error.
pub async fn solve(
    runner: Runner,
    task: &Task,
    attempt: &AttemptDirectory,
    bench: &Bench,
) -> Result<RunnerReport, LabError> {
    match runner {
        Runner::Nop => Ok(RunnerReport { status: "nothing".into(), ..RunnerReport::default() }),
        Runner::Oracle => {
            for (path, text) in task.directory("solution") {
                put(&attempt.workspace.join(path), text.as_bytes())?;
            }
            Ok(RunnerReport { status: "success".into(), claimed: true, ..RunnerReport::default() })
        }
        Runner::Baseline => baseline::solve(task, attempt, bench).await,
        Runner::Hierarchical => Box::pin(hierarchical::solve(task, attempt, bench)).await,
    }
}

/// The prompt of a solver.
fn prompt(task: &Task) -> String {
    format!(
        "{}\n\nThe working directory has the starter files; this text is its TASK.md. `python3 -m pytest` runs the visible tests. Graded: {}. \
         Tests are not to be changed. Say what you did when you are done.",
        task.text.trim_end(),
        task.facts.files.join(", "),
    )
}

/// Opens the workspace of a solver with the settings of the command line, and the recording to play.
fn open_project(
    runner: Runner,
    task: &Task,
    attempt: &AttemptDirectory,
    bench: &Bench,
) -> Result<ProjectContext, LabError> {
    let mut flags = bench.flags.clone();
    if bench.recordings {
        let recording = task.recording(runner.name()).unwrap_or_default();
        if let Some(path) = attempt.beside("recording.jsonl") {
            put(&path, recording.as_bytes())?;
            flags.push(("model.script", path.display().to_string()));
        }
    }
    let workspace = attempt.workspace();
    if let Some(checkout) = &bench.checkout {
        copy_guidance(&Layout::new(&bench.environment, Some(checkout)), workspace)?;
    }
    let environment = bench.environment_of(workspace);
    Ok(ProjectContext::find(environment, bench.directory.clone(), Some(workspace), true, flags)?)
}

/// Copies what a project tells its agents, instructions and skills, into the workspace of a task.
fn copy_guidance(project: &Layout, workspace: &Path) -> Result<(), LabError> {
    let Some(root) = project.project() else { return Ok(()) };
    let inside = root.canonicalize().map_err(|error| LabError::file(root, error))?;
    // Nothing is copied from where a link leads out of the project.
    let below = |path: &Path| {
        path.canonicalize().ok().filter(|path| path.starts_with(&inside))?;
        path.strip_prefix(root).ok().map(|path| workspace.join(path))
    };
    for file in project.instructions().into_iter().chain(project.common_instructions()) {
        if let (Some(target), Ok(bytes)) =
            (below(&file), files::read(&file, MAX_INSTRUCTIONS_BYTES, Links::Refuse))
        {
            put(&target, &bytes)?;
        }
    }
    let skills = project.project_skills().into_iter().chain(project.client_skills().into_iter().flatten());
    for directory in skills {
        if let Some(target) = below(&directory) {
            copy_files(&directory, &target)?;
        }
    }
    Ok(())
}

/// States that are kept of one attempt, always with the last.
const MAX_STATES: usize = 6;
/// Bytes of one file of instructions.
const MAX_INSTRUCTIONS_BYTES: u64 = 1024 * 1024;

/// Captures the graded files of a workspace during an attempt.
#[derive(Debug, Clone)]
struct Watcher {
    task: Arc<Task>,
    workspace: PathBuf,
    first: Arc<Snapshot>,
    states: Arc<Mutex<Vec<Snapshot>>>,
}

impl Watcher {
    fn new(task: &Task, workspace: &Path) -> Self {
        let first = Arc::new(Snapshot::take(task, workspace));
        Watcher {
            task: Arc::new(task.clone()),
            workspace: workspace.to_path_buf(),
            first,
            states: Arc::default(),
        }
    }

    /// Captures the current state if it differs from the last.
    fn capture(&self) {
        let now = Snapshot::take(&self.task, &self.workspace);
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if now == *states.last().unwrap_or(&self.first) {
            return;
        }
        if states.len() >= MAX_STATES {
            states.pop();
        }
        states.push(now);
    }

    fn states(&self) -> Vec<Snapshot> {
        self.capture();
        self.states.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;

    #[test]
    fn a_workspace_contains_no_hidden_files() {
        for task in task::all().unwrap().values() {
            let attempt = AttemptDirectory::new(task).unwrap();
            let mut directories = vec![attempt.directory.path().to_path_buf()];
            let mut texts = Vec::new();
            while let Some(directory) = directories.pop() {
                for entry in std::fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        directories.push(path);
                    } else {
                        texts.push(std::fs::read_to_string(path).unwrap());
                    }
                }
            }
            assert!(texts.len() >= 4);
            for (_, hidden) in task.directory("hidden") {
                assert!(!texts.iter().any(|text| text.contains(hidden)), "{}", task.id());
            }
            for (_, solution) in task.directory("solution").filter(|(path, _)| !path.ends_with("__init__.py"))
            {
                assert!(!texts.iter().any(|text| text == solution), "{}", task.id());
            }
        }
    }

    #[test]
    fn states_are_those_that_differ() {
        let task = task::find(&["lru-cache".into()]).unwrap().remove(0);
        let attempt = AttemptDirectory::new(&task).unwrap();
        let watcher = Watcher::new(&task, attempt.workspace());
        watcher.capture();
        assert!(watcher.states().is_empty());
        for at in 0..20 {
            put(&attempt.workspace().join("lru.py"), format!("x = {}", at / 2).as_bytes()).unwrap();
            put(&attempt.workspace().join("other.py"), format!("x = {at}").as_bytes()).unwrap();
            watcher.capture();
        }
        let states = watcher.states();
        assert_eq!(states.len(), MAX_STATES);
        assert_eq!(states.last().unwrap().files["lru.py"], b"x = 9");
    }

    #[test]
    fn guidance_of_a_checkout_is_copied_without_links() {
        let task = task::find(&["lru-cache".into()]).unwrap().remove(0);
        let attempt = AttemptDirectory::new(&task).unwrap();
        let place = tempfile::tempdir().unwrap();
        let checkout = place.path().join("checkout");
        for (name, text) in [
            ("AGENTS.md", "be kind"),
            (".marvin/skills/count/SKILL.md", "count"),
            (".marvin/config.toml", "provider = 'x'"),
            ("lru.py", "x = 1"),
        ] {
            put(&checkout.join(name), text.as_bytes()).unwrap();
        }
        put(&place.path().join("secret"), b"secret").unwrap();
        std::os::unix::fs::symlink(place.path().join("secret"), checkout.join("CLAUDE.md")).unwrap();
        std::os::unix::fs::symlink(place.path(), checkout.join(".marvin/skills/out")).unwrap();
        std::os::unix::fs::symlink(place.path(), checkout.join(".agents")).unwrap();
        let starter = std::fs::read(attempt.workspace().join("lru.py")).unwrap();
        let environment = Environment::from_iter([("HOME", place.path().to_str().unwrap())]);
        copy_guidance(&Layout::new(&environment, Some(&checkout)), attempt.workspace()).unwrap();
        let read = |name: &str| std::fs::read(attempt.workspace().join(name)).ok();
        assert_eq!(read("AGENTS.md").as_deref(), Some(&b"be kind"[..]));
        assert_eq!(read(".marvin/skills/count/SKILL.md").as_deref(), Some(&b"count"[..]));
        assert_eq!(read("lru.py"), Some(starter), "files of the task stay as they are");
        for absent in ["CLAUDE.md", ".marvin/config.toml", ".marvin/skills/out/secret", ".agents/skills"] {
            assert_eq!(read(absent), None, "{absent}");
        }
    }

    #[test]
    fn runners_have_names() {
        for runner in Runner::ALL {
            assert_eq!(Runner::find(runner.name()), Ok(runner));
        }
        assert!(Runner::find("oracel").unwrap_err().to_string().contains("did you mean `oracle`"));
    }
}
