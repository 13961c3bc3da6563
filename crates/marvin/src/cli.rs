//! The command line: one definition, from which help, completions and the man page are made.

mod commitments;
mod documents;
mod gate;
mod hooks;
mod init;
mod lab;
mod mcp;
mod memory;
mod model;
mod packs;
mod pipeline;
mod servitors;
mod web;
mod workflows;

pub(crate) use commitments::{CommitmentChoice, CommitmentsCommand, CommitmentsPlace};
pub(crate) use documents::{DocCommand, PromptCommand};
pub(crate) use gate::{GateCommand, GatePlace, LearnedCommand, RulesCommand, SuggestionsCommand};
pub(crate) use hooks::{DaemonCommand, DaemonPlace};
pub(crate) use init::{ClientChoice, InitArguments, InspectRunArguments};
pub(crate) use lab::{BenchArguments, RunSuiteArguments, RunTaskArguments};
pub(crate) use mcp::{McpArguments, McpCommand, ServersCommand, ServersPlace};
pub(crate) use memory::{Change as MemoryChange, MemoryCommand, Question as MemoryQuestion, Reviewer};
pub(crate) use model::ModelArguments;
pub(crate) use packs::{Consent, LessonsCommand, PacksCommand};
pub(crate) use pipeline::{PipelineCommand, PipelinePlace, ResumePipelineArguments};
pub(crate) use servitors::{RunArguments, ServitorsCommand, SummonArguments};
pub(crate) use web::ChatUiArguments;
pub(crate) use workflows::{
    FlowArguments, ListRunsArguments, ResumeRunArguments, RunWorkflowArguments, WhichRun, WhichStep,
    WorkflowCommand,
};

use crate::commands::schema::SchemaArguments;
use crate::failure::Failure;
use crate::{commands, output};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use marvin_base::Exit;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  marvin                                                talk, in a terminal (--plain: line by line)
  marvin what is 3 km in miles                          ask once, as a person
  marvin --non-interactive --prompt 'fix the test'      run unattended in this directory
  echo 'list files' | marvin --non-interactive          the prompt from standard input
  marvin --non-interactive --prompt-file task.md --working-dir ~/src/app --max-cost 2 --output-format stream-json
  marvin --non-interactive --prompt 'mend the tests' --commitment 'shell:pytest -q'
                                                        done when the command says so, not when the model does
  marvin --non-interactive --working-dir app --design-first --prompt 'a to-do list as a web service'
                                                        from one sentence to verified software, in phases
  marvin doctor                                         what is ready, and how to mend the rest

Exit codes: 0 success, 1 the work failed, 2 usage, 3 not verified, 4 blocked, 5 refused by the gate, 6 budget spent, 130 interrupted";

/// A deterministic shell for LLM agents: models propose, the shell decides.
#[derive(Debug, Parser)]
#[command(name = "marvin", version, about, after_help = EXAMPLES, subcommand_negates_reqs = true, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) turn: TurnArguments,
}

/// One turn.
#[derive(Debug, Clone, Args)]
pub(crate) struct TurnArguments {
    /// What to ask, in words (asks once and exits)
    #[arg(value_name = "WORDS", conflicts_with = "non_interactive")]
    pub(crate) words: Vec<String>,
    /// Talk line by line, without a screen of its own (for screen readers and pipes)
    #[arg(long, conflicts_with_all = ["non_interactive", "curses"])]
    pub(crate) plain: bool,
    /// Talk in a screen of its own; this is what `marvin` alone does in a terminal
    #[arg(long, conflicts_with = "non_interactive")]
    pub(crate) curses: bool,
    /// Run unattended: prompt from --prompt, --prompt-file or standard input, answer on standard output
    #[arg(long)]
    pub(crate) non_interactive: bool,
    /// The prompt
    #[arg(long, value_name = "TEXT", requires = "non_interactive", conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// A file that holds the prompt (for prompts too long for a command line)
    #[arg(long, value_name = "PATH", requires = "non_interactive")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Take up a run that broke off, by its id: the same record, budget and prompt
    #[arg(long, value_name = "RUN", requires = "non_interactive", conflicts_with_all = ["prompt", "prompt_file", "record"])]
    pub(crate) resume: Option<String>,
    /// Frame the goal and plan first, with these tools: scryfall, steam, knowledge, news, or all
    #[arg(long, value_name = "TOOL,…", conflicts_with = "non_interactive")]
    pub(crate) turbotime: Option<String>,
    /// The directory to work in; every file and command stays inside it
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// The model, or the model of a tier: NAME, or TIER=NAME (tiers: low/codex, high/opus, plan, plan_gen, test_writer, aux_reviewer, fallback)
    #[arg(long, value_name = "[TIER=]MODEL", action = ArgAction::Append)]
    pub(crate) model: Vec<String>,
    /// The provider (default: the first with a key, else the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// A script for the mock provider (JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Save every exchange with the model into this directory, as a script
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,
    /// Same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// A JSON schema that the final answer must have
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// What must hold before the answer counts, for example 'shell:pytest -q'; may be given several times (exit code 3
    /// when it does not hold)
    #[arg(long, value_name = "KIND:ASSERTION", action = ArgAction::Append, requires = "non_interactive")]
    pub(crate) commitment: Vec<String>,
    /// A file or directory that the commitments judge by and that must stay as it is; may be given several times
    #[arg(long, value_name = "PATH", action = ArgAction::Append, requires = "commitment")]
    pub(crate) oracle: Vec<String>,
    /// A file that steers the tests (conftest.py, package.json, node_modules …) and that the agent may change all the same;
    /// may be given several times
    #[arg(long, value_name = "PATH", action = ArgAction::Append, requires = "commitment")]
    pub(crate) may_change: Vec<String>,
    /// Stop everything, sub-agents included, when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,
    /// Stop after this many tool rounds
    #[arg(long, value_name = "N")]
    pub(crate) max_rounds: Option<String>,
    /// Stop after this many seconds, the wait for the prompt included; 0: no limit
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<String>,
    /// Build it in phases: documents, reviews, tests first, code, proofs; the same command goes on where it ended
    #[arg(long, requires = "non_interactive", conflicts_with_all = ["resume", "record", "output_schema", "commitment"])]
    pub(crate) design_first: bool,
    /// Push the start and the end of the run (and every phase) to this ntfy topic
    #[arg(long, value_name = "TOPIC", requires = "non_interactive")]
    pub(crate) ntfy: Option<String>,
    /// Keep Python children from writing bytecode files
    #[arg(short = 'B')]
    pub(crate) no_bytecode: bool,
}

/// What standard output carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Raw text, as it arrives
    Text,
    /// One result object
    Json,
    /// One event a line, the last being the result
    StreamJson,
}

/// Everything besides a turn.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show every setting with its value and where it came from
    #[command(
        after_help = "Examples:\n  marvin config\n  marvin config limits.rounds\n  marvin config --json | jq '.[] | select(.origin != \"default\")'\n  marvin config --schema > config.schema.json"
    )]
    Config {
        /// Only this setting
        key: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// The JSON schema of config.toml
        #[arg(long, conflicts_with_all = ["key", "json"])]
        schema: bool,
        /// The reference of all settings, as Markdown
        #[arg(long, conflicts_with_all = ["key", "json", "schema"])]
        markdown: bool,
    },
    /// Show what is ready on this machine, and how to mend what is not
    #[command(
        after_help = "Exit code 1 when something that Marvin needs is missing.\n\nExamples:\n  marvin doctor\n  marvin doctor --json | jq '.problems'"
    )]
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List, explain and call tools
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Judge shell commands, explain verdicts, and keep the lists of rules
    #[command(subcommand)]
    Gate(GateCommand),
    /// Answer a hook of Claude Code or Codex: what it tells on standard input, the answer on standard output
    #[command(
        after_help = "Events have the client's own name or a kebab one. A call that cannot be judged is never let through: the answer is a question, a refusal, or exit code 2.\n\nExamples:\n  marvin hook pre-tool-use --client claude < event.json\n  echo '{\"session_id\":\"s\",\"cwd\":\"/tmp\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | marvin hook PreToolUse"
    )]
    Hook {
        /// The event
        event: String,
        /// Who asks: claude or codex (default: by the environment)
        #[arg(long, value_name = "NAME", value_parser = ["claude", "codex"])]
        client: Option<String>,
        /// Accepted for symmetry: answers are always what the client expects
        #[arg(long)]
        json: bool,
    },
    /// Look after the daemons that answer hooks: start, stop, list, status, log, restart, cleanup
    #[command(
        subcommand,
        after_help = "A hook starts the daemon of its project by itself, and it ends with the last session.\n\nExamples:\n  marvin daemon status\n  marvin daemon list --json | jq -r '.[].project'\n  marvin daemon log --follow"
    )]
    Daemon(DaemonCommand),
    /// Promise what must hold before work is done, and verify it
    #[command(subcommand)]
    Commitments(CommitmentsCommand),
    /// Verify everything that was promised in this project
    #[command(
        after_help = "Every commitment is verified again from scratch, outside of any agent, contained and without network.\nExit code 0 when all of them pass, or there is none; 3 when one failed or could not run; 130 when interrupted.\n\nExamples:\n  marvin verify\n  marvin verify --working-dir ~/src/app --json | jq .verified"
    )]
    Verify(CommitmentsPlace),
    /// Show what an agent is told, and what it is made of
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Show the documents of agents as they are stored
    #[command(subcommand)]
    Doc(DocCommand),
    /// Summon agents that outlive a process, and run them to their end
    #[command(subcommand)]
    Servitors(ServitorsCommand),
    /// Decide what is remembered, ask for it, and see who agreed to it
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Keep packs: what agents are told about files
    #[command(subcommand)]
    Packs(PacksCommand),
    /// Keep lessons: what agents learned from corrections
    #[command(subcommand)]
    Lessons(LessonsCommand),
    /// Work with tickets: create, start, close, dep, ls, ready, show, add-note …
    #[command(
        disable_help_flag = true,
        after_help = "`marvin tk help` explains every command; `--json` gives results as JSON.\n\nExamples:\n  marvin tk create 'Login fails' -t bug -p 1 -d 'Error 500 after a wrong password'\n  marvin tk ready\n  marvin tk show 5c46"
    )]
    Tk {
        /// The command and its words
        #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Serve a script as a model over HTTP (OpenAI chat and responses, Anthropic, Gemini, Ollama)
    #[command(
        after_help = "Prints {\"address\":\"http://127.0.0.1:PORT\"} and serves until it is interrupted.\n\nExamples:\n  marvin model-server --script hello.jsonl\n  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=x marvin --provider openai hello"
    )]
    ModelServer {
        /// The script (JSONL)
        #[arg(long, value_name = "FILE")]
        script: PathBuf,
        /// Where to listen; only this machine. Port 0: any free port
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
        listen: String,
        /// Accepted for symmetry: the address is always printed as JSON
        #[arg(long)]
        json: bool,
    },
    /// Serve Marvin's tools over the Model Context Protocol, and keep servers of others
    #[command(after_help = mcp::MCP_HELP)]
    Mcp(McpArguments),
    /// Serve the page for your browser: chat, approvals, runs, servitors, gate, packs, settings
    #[command(name = "chat-ui", after_help = web::CHAT_UI_HELP)]
    ChatUi(ChatUiArguments),
    /// Set a project up for Claude Code and Codex: hooks, packs, rules, skills
    #[command(after_help = init::INIT_HELP)]
    Init(InitArguments),
    /// Run a workflow
    #[command(name = "run-workflow", after_help = workflows::RUN_WORKFLOW_HELP)]
    RunWorkflow(RunWorkflowArguments),
    /// Check and draw workflows, and speak for steps that wait for a person
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Go on with the run of a workflow that broke off, was stopped, or waited for somebody
    #[command(name = "resume-run", after_help = workflows::RESUME_RUN_HELP)]
    ResumeRun(ResumeRunArguments),
    /// List the runs of workflows
    #[command(name = "list-runs", after_help = workflows::LIST_RUNS_HELP)]
    ListRuns(ListRunsArguments),
    /// Stop the run of a workflow, from anywhere
    #[command(name = "stop-run", after_help = workflows::STOP_RUN_HELP)]
    StopRun(WhichRun),
    /// Show what happened in a run
    #[command(name = "inspect-run", after_help = init::INSPECT_RUN_HELP)]
    InspectRun(InspectRunArguments),
    /// See how far the pipeline of a project is, go on with it, and what its phases are
    #[command(subcommand)]
    Pipeline(PipelineCommand),
    /// List the tasks of the benchmark suite
    #[command(name = "list-tasks", after_help = lab::LIST_HELP)]
    ListTasks {
        /// What a solver of this task is told
        #[arg(long, value_name = "ID")]
        show: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Have one task of the benchmark suite solved, and grade what comes of it
    #[command(name = "run-task", after_help = lab::TASK_HELP)]
    RunTask(RunTaskArguments),
    /// Run the benchmark suite and write reports: JSON, Markdown, and a page with plots
    #[command(name = "run-suite", after_help = lab::SUITE_HELP)]
    RunSuite(RunSuiteArguments),
    /// Run a recorded run again and show the first point at which it differs
    #[command(
        after_help = "The run must have been made with --record. Models and tools answer from the recording; nothing is touched.\n\nExamples:\n  marvin --non-interactive --prompt 'list files' --record tape\n  marvin replay run_20260203_040506_1a2b"
    )]
    Replay {
        /// The run's directory or id
        #[arg(value_name = "RUN")]
        run: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of a file that Marvin writes
    Schema(SchemaArguments),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  marvin completions bash > ~/.local/share/bash-completion/completions/marvin\n  marvin completions zsh > ~/.zfunc/_marvin"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    #[command(after_help = "Example:\n  marvin man > ~/.local/share/man/man1/marvin.1")]
    Man,
}

/// Tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    #[command(after_help = "Examples:\n  marvin tools list\n  marvin tools list --json | jq -r '.[].name'")]
    List {
        /// As JSON, with schemas
        #[arg(long)]
        json: bool,
    },
    /// Show the schema of a tool's arguments
    #[command(
        after_help = "Examples:\n  marvin tools schema read_file\n  marvin tools schema read_file --result"
    )]
    Schema {
        /// The tool
        name: String,
        /// Show the schema of the result's data instead of the arguments
        #[arg(long)]
        result: bool,
        /// Accepted for symmetry: a schema is always JSON
        #[arg(long)]
        json: bool,
    },
    /// Call a tool, judged and recorded as an agent's call would be
    #[command(
        after_help = "Examples:\n  marvin tools call convert_units --args '{\"value\":3,\"from_unit\":\"km\",\"to_unit\":\"miles\"}'\n  marvin tools call read_file --args '{\"path\":\"Cargo.toml\"}' --working-dir ~/src/app"
    )]
    Call {
        /// The tool
        name: String,
        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        /// The directory to work in
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// The whole result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Reads the command line. Help and version are answered here; a mistake is exit code 2.
pub(crate) fn parse() -> Result<Arguments, Exit> {
    Arguments::try_parse().map_err(|error| {
        let text = error.render().to_string();
        if error.use_stderr() {
            let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            output::error(message);
            let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
            commands::not_understood(&Failure::usage(message), &words);
            return Exit::Usage;
        }
        match output::line(&text) {
            Ok(exit) => exit,
            Err(failure) => {
                output::error(&failure.message);
                failure.exit
            }
        }
    })
}

/// A command of the gate by itself, where the words are one. Other programs ask the gate before all that they run, and to set up
/// the whole command line takes longer than the answer. What is not understood here is left to [`parse`].
pub(crate) fn gate(words: &[OsString]) -> Option<GateCommand> {
    /// `marvin gate` without everything beside it.
    #[derive(Parser)]
    struct Gate {
        #[command(subcommand)]
        command: GateCommand,
    }
    words.first().filter(|word| *word == "gate")?;
    Gate::try_parse_from(words).ok().map(|gate| gate.command)
}

/// The definition itself, for completions and the man page.
pub(crate) fn definition() -> clap::Command {
    Arguments::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_consistent() {
        super::definition().debug_assert();
    }
}
