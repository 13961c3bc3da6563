//! The command line of the benchmark suite: `list-tasks`, `run-task`, `run-suite`.

use clap::Args;
use std::path::PathBuf;

pub(crate) const LIST_HELP: &str = "Examples:\n  marvin list-tasks\n  marvin list-tasks --json | jq -r '.[] | select(.difficulty > 3) | .id'\n  marvin list-tasks --show lru-cache";

pub(crate) const TASK_HELP: &str = "\
Runners:
  baseline      one agent, one session, taken at its word
  hierarchical  plans, works in steps, proves each and retries with a lesson
  oracle, nop   controls: the reference solution, and nothing at all

Without --provider and --script the built-in mock plays the task's recordings.
Exit code 0 when every hidden test passes, 3 when it was claimed and they do not, 1 otherwise, 4 without Python and pytest.

Examples:
  marvin run-task --task-id lru-cache --runner oracle
  marvin run-task --task-id single-flight --runner hierarchical --provider anthropic --max-cost 1 --json
  marvin run-task --task-id stats-summary --runner baseline --script mine.jsonl --keep";

pub(crate) const SUITE_HELP: &str = "\
Writes suite-report.json, suite-report.md and suite-report.html. Without --provider and --script the built-in mock plays the
tasks' recordings, and the report says so. Exit code 0 when everything was run, whatever came of it.

Examples:
  marvin run-suite --out report
  marvin run-suite --runners oracle,nop
  marvin run-suite --tasks lru-cache,single-flight --runners baseline,hierarchical --provider openai --repeat 3 --max-cost 1";

/// Who answers, and what grades.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The provider (default: the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A script for the mock in place of the recordings (JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// A Python that has pytest: a program, or the directory of a virtual environment (default: the setting lab.python)
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// Stop an attempt at a task when it has cost this many US dollars
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,
    /// Stop an attempt at a task after this many seconds; 0: no limit
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<String>,
    /// Where reports and artifacts go (default: a new run of the project, else of yours)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// One task.
#[derive(Debug, Args)]
pub(crate) struct RunTaskArguments {
    /// The task
    #[arg(long, value_name = "ID")]
    pub(crate) task_id: String,
    /// Who solves it
    #[arg(long, value_name = "NAME", default_value = "baseline")]
    pub(crate) runner: String,
    /// Leave the workspace where it is, and say where
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) bench: BenchArguments,
}

/// Many tasks.
#[derive(Debug, Args)]
pub(crate) struct RunSuiteArguments {
    /// Only these tasks, with commas between
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) tasks: Vec<String>,
    /// These runners, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "baseline,hierarchical")]
    pub(crate) runners: Vec<String>,
    /// How often each task is run by each runner
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// How many attempts run at the same time; more than one makes wall times longer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrency: u32,
    #[command(flatten)]
    pub(crate) bench: BenchArguments,
}
