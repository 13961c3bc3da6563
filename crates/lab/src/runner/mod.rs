//! Who solves a task. A runner gets a workspace and leaves files in it; what it says of them is its claim, and nothing more.

mod baseline;
mod hierarchical;

use crate::error::LabError;
use crate::python::Python;
use crate::snapshot::{Snapshot, put};
use crate::task::Task;
use marvin_base::environment::Environment;
use marvin_base::layout::state::VARIABLE;
use marvin_base::settings::nearest_of;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Who solves a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runner {
    /// One agent, one session of the one loop, taken at its word.
    Baseline,
    /// A Planner, workers, a workflow: every step is proved, every retry changes something.
    Hierarchical,
    /// Writes the reference solution: what grading must let pass.
    Oracle,
    /// Does nothing: what grading must not let pass.
    Nop,
}

impl Runner {
    /// Every runner.
    pub const ALL: [Runner; 4] = [Runner::Baseline, Runner::Hierarchical, Runner::Oracle, Runner::Nop];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Runner::Baseline => "baseline",
            Runner::Hierarchical => "hierarchical",
            Runner::Oracle => "oracle",
            Runner::Nop => "nop",
        }
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Runner::Baseline => "one agent, one session, taken at its word",
            Runner::Hierarchical => "a planned workflow: steps are proved, retries carry a lesson",
            Runner::Oracle => "writes the reference solution (control: must pass)",
            Runner::Nop => "does nothing (control: must fail)",
        }
    }

    /// The runner of this name.
    ///
    /// # Errors
    /// A sentence with the nearest name and all names.
    pub fn find(name: &str) -> Result<Runner, String> {
        Runner::ALL.into_iter().find(|runner| runner.name() == name.trim()).ok_or_else(|| {
            let near = nearest_of(name, Runner::ALL.iter().map(|runner| runner.name()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let all = Runner::ALL.map(Runner::name).join(", ");
            format!("there is no runner `{}`{near} (there are: {all})", marvin_base::truncate::line(name, 40))
        })
    }
}

/// What runners are given besides the task.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The environment.
    pub environment: Environment,
    /// The directory that the program was started in.
    pub directory: PathBuf,
    /// Settings from the command line: provider, model, bounds.
    pub flags: Vec<(&'static str, String)>,
    /// Whether the mock plays the recordings of the tasks.
    pub recordings: bool,
    /// The Python that has pytest.
    pub python: Python,
    /// Ends everything.
    pub cancel: CancellationToken,
}

impl Bench {
    /// The environment of a runner: its records lie beside the workspace, with the other results of the task.
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

/// What a runner says of its work, and what it cost.
#[derive(Debug, Clone, Default)]
pub struct RunnerReport {
    /// How it ended, in its own words: `success`, `failed` …
    pub status: String,
    /// Whether it says that the task is solved.
    pub claimed: bool,
    /// Requests to a model.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Attempts at steps; 1 where there are no steps.
    pub attempts: u64,
    /// Lessons that it wrote down.
    pub lessons: u64,
    /// US dollars; none where a price is not known.
    pub cost_usd: Option<f64>,
    /// Tokens in and out.
    pub tokens: (u64, u64),
    /// What went wrong.
    pub error: Option<String>,
    /// States of the graded files on the way, oldest first.
    pub states: Vec<Snapshot>,
}

/// The directory of one attempt at a task: the workspace, and beside it what the solver does not see.
#[derive(Debug)]
pub struct AttemptDirectory {
    directory: tempfile::TempDir,
    workspace: PathBuf,
}

impl AttemptDirectory {
    /// A workspace with the starter's files and the task's text.
    ///
    /// # Errors
    /// When it cannot be made.
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

    /// Where the solver works.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// A file beside the workspace.
    fn beside(&self, name: &str) -> Option<PathBuf> {
        self.workspace.parent().map(|directory| directory.join(name))
    }

    /// Leaves the directory where it is.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        // Dropping the value would take the directory away.
        let _directory = self.directory.keep();
        self.workspace
    }
}

/// Has a runner solve a task.
///
/// # Errors
/// When it cannot begin, or its record breaks. A task that is not solved is no error.
pub async fn solve(
    runner: Runner,
    task: &Task,
    room: &AttemptDirectory,
    bench: &Bench,
) -> Result<RunnerReport, LabError> {
    match runner {
        Runner::Nop => Ok(RunnerReport { status: "nothing".into(), ..RunnerReport::default() }),
        Runner::Oracle => {
            for (path, text) in task.directory("solution") {
                put(&room.workspace.join(path), text.as_bytes())?;
            }
            Ok(RunnerReport { status: "success".into(), claimed: true, ..RunnerReport::default() })
        }
        Runner::Baseline => baseline::solve(task, room, bench).await,
        Runner::Hierarchical => Box::pin(hierarchical::solve(task, room, bench)).await,
    }
}

/// What a solver is told.
fn prompt(task: &Task) -> String {
    format!(
        "{}\n\nThe working directory holds what there is; this text is its TASK.md. `python3 -m pytest` runs the visible tests. Graded: {}. \
         Tests are not to be changed. Say what you did when you are done.",
        task.text.trim_end(),
        task.facts.files.join(", "),
    )
}

/// The settings of a solver's session: those of the command line, and the recording where one is played.
fn flags(
    runner: Runner,
    task: &Task,
    room: &AttemptDirectory,
    bench: &Bench,
) -> Result<Vec<(&'static str, String)>, LabError> {
    let mut flags = bench.flags.clone();
    if bench.recordings {
        let recording = task.recording(runner.name()).unwrap_or_default();
        if let Some(path) = room.beside("recording.jsonl") {
            put(&path, recording.as_bytes())?;
            flags.push(("model.script", path.display().to_string()));
        }
    }
    Ok(flags)
}

/// States that are kept of one attempt, the last always among them.
const STATES: usize = 6;

/// Watches the graded files of a workspace while somebody works on it.
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

    /// Looks, and keeps what is new.
    fn look(&self) {
        let now = Snapshot::take(&self.task, &self.workspace);
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if now == *states.last().unwrap_or(&self.first) {
            return;
        }
        if states.len() >= STATES {
            states.pop();
        }
        states.push(now);
    }

    fn states(&self) -> Vec<Snapshot> {
        self.look();
        self.states.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;

    #[test]
    fn a_workspace_holds_nothing_of_what_is_hidden() {
        for task in task::all().unwrap().values() {
            let room = AttemptDirectory::new(task).unwrap();
            let mut directories = vec![room.directory.path().to_path_buf()];
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
        let room = AttemptDirectory::new(&task).unwrap();
        let watcher = Watcher::new(&task, room.workspace());
        watcher.look();
        assert!(watcher.states().is_empty());
        for at in 0..20 {
            put(&room.workspace().join("lru.py"), format!("x = {}", at / 2).as_bytes()).unwrap();
            put(&room.workspace().join("other.py"), format!("x = {at}").as_bytes()).unwrap();
            watcher.look();
        }
        let states = watcher.states();
        assert_eq!(states.len(), STATES);
        assert_eq!(states.last().unwrap().files["lru.py"], b"x = 9");
    }

    #[test]
    fn runners_have_names() {
        for runner in Runner::ALL {
            assert_eq!(Runner::find(runner.name()), Ok(runner));
        }
        assert!(Runner::find("oracel").unwrap_err().contains("did you mean `oracle`"));
    }
}
