//! One turn: unattended (`--non-interactive`), or a person's single question.

use crate::argument_file::read_text;
use crate::arguments::{
    CostLimit, Deadline, ModelChoice, parse_cost, parse_deadline, parse_model, parse_rounds, path_text,
    setting_flags, text,
};
use crate::failure::Failure;
use crate::front_end::{self, OutputFormat, Reader};
use crate::project::Flags;
use crate::runtime::{cancel_on_signal, runtime, start_mcp_servers};
use crate::{output, pack_context, project, prompt};
use clap::{ArgAction, Args};
use marvin_agent::commitments::Draft;
use marvin_agent::session::{self, Manner};
use marvin_agent::{Outcome, ProjectContext, Session, SessionOptions};
use marvin_base::Exit;
use marvin_base::run_record::RunStatus;
use marvin_base::settings::{Settings, table};
use marvin_base::trace_event::{TraceEvent, TurnResult};
use marvin_model::cost::Totals;
use marvin_tools::ntfy;
use marvin_tools::turbotime::Selection;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a JSON schema.
const MAX_SCHEMA_BYTES: u64 = 4 * 1024 * 1024;

/// The arguments of a turn.
#[derive(Debug, Clone, Args)]
pub(crate) struct TurnArguments {
    /// The question, in words (asks once and exits)
    #[arg(value_name = "WORDS", conflicts_with = "non_interactive")]
    pub(crate) words: Vec<String>,
    /// Use line mode (for screen readers and pipes)
    #[arg(long, conflicts_with_all = ["non_interactive", "curses"])]
    pub(crate) plain: bool,
    /// Use the full-screen terminal front end; `marvin` alone does this in a terminal
    #[arg(long, conflicts_with = "non_interactive")]
    pub(crate) curses: bool,
    /// Run unattended: prompt from --prompt, --prompt-file or standard input, answer on standard output
    #[arg(long)]
    pub(crate) non_interactive: bool,
    /// The prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// A file that holds the prompt (for prompts too long for a command line)
    #[arg(long, value_name = "PATH")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Resume an interrupted run, by its id: the same record, budget and prompt
    #[arg(long, value_name = "RUN", conflicts_with_all = ["prompt", "prompt_file", "record"])]
    pub(crate) resume: Option<String>,
    /// Frame the goal and plan first, with these tools: scryfall, steam, knowledge, news, or all
    #[arg(long, value_name = "TOOL,…", conflicts_with = "non_interactive", value_parser = Selection::read)]
    pub(crate) turbotime: Option<Selection>,
    /// The directory to work in; every file and command stays inside it
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// The model, or the model of a tier: NAME, or TIER=NAME (tiers: low/codex, high/opus, plan, plan_gen, test_writer, aux_reviewer, fallback)
    #[arg(long, value_name = "[TIER=]MODEL", action = ArgAction::Append, value_parser = parse_model)]
    pub(crate) model: Vec<ModelChoice>,
    /// The provider (default: the first with a key, else the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// A script for the mock provider (JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Save every exchange with the model into this directory, as a script
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// The content of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,
    /// Same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// A JSON schema that the final answer must match
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// An assertion that must hold before the answer counts, for example 'shell:pytest -q'; may be given several times (exit code 3
    /// when it does not hold)
    #[arg(long, value_name = "KIND:ASSERTION", action = ArgAction::Append)]
    pub(crate) commitment: Vec<String>,
    /// A file or directory that the commitments are judged by and that must not change; may be given several times
    #[arg(long, value_name = "PATH", action = ArgAction::Append, requires = "commitment")]
    pub(crate) oracle: Vec<String>,
    /// A file that steers the tests (conftest.py, package.json, node_modules …) and that the agent may change;
    /// may be given several times
    #[arg(long, value_name = "PATH", action = ArgAction::Append, requires = "commitment")]
    pub(crate) may_change: Vec<String>,
    /// Stop everything, sub-agents included, when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    pub(crate) max_cost: Option<CostLimit>,
    /// Stop after this many tool rounds
    #[arg(long, value_name = "N", value_parser = parse_rounds)]
    pub(crate) max_rounds: Option<u64>,
    /// Stop after this many seconds, the wait for the prompt included; 0: no limit
    #[arg(long, value_name = "SECONDS", value_parser = parse_deadline)]
    pub(crate) deadline: Option<Deadline>,
    /// Build it in phases: documents, reviews, tests first, code, proofs; the same command resumes where it ended
    #[arg(long, conflicts_with_all = ["resume", "record", "output_schema", "commitment"])]
    pub(crate) design_first: bool,
    /// Push the start and the end of the run (and every phase) to this ntfy topic
    #[arg(long, value_name = "TOPIC")]
    pub(crate) ntfy: Option<String>,
    /// Keep Python children from writing bytecode files
    #[arg(short = 'B')]
    pub(crate) no_bytecode: bool,
}

impl TurnArguments {
    /// Refuses options that the way of asking would ignore.
    ///
    /// Clap's `requires` cannot say this: it is skipped where the required option conflicts with another argument, as
    /// `--non-interactive` does with words.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.non_interactive {
            return Ok(());
        }
        let unattended = [
            (self.prompt.is_some(), "--prompt"),
            (self.prompt_file.is_some(), "--prompt-file"),
            (self.resume.is_some(), "--resume"),
            (self.design_first, "--design-first"),
            (self.ntfy.is_some(), "--ntfy"),
        ];
        if let Some((_, flag)) = unattended.iter().find(|(given, _)| *given) {
            let hint = if self.words.is_empty() {
                "add --non-interactive"
            } else {
                "add --non-interactive, and give the words as --prompt"
            };
            return Err(Failure::usage(format!("{flag} needs --non-interactive")).hint(hint));
        }
        if !self.words.is_empty() {
            return Ok(());
        }
        let hint = "give words, or --non-interactive with a prompt (`marvin --help`)";
        if output_format(self) != OutputFormat::Text {
            return Err(Failure::usage("there is nothing to answer").hint(hint));
        }
        let single = [
            (!self.commitment.is_empty(), "--commitment"),
            (self.record.is_some(), "--record"),
            (self.output_schema.is_some(), "--output-schema"),
        ];
        match single.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(Failure::usage(format!("{flag} is for one answer")).hint(hint)),
            None => Ok(()),
        }
    }
}

/// `marvin --non-interactive`: whatever happens, the last line on standard error is the cost.
pub(crate) fn non_interactive(arguments: &TurnArguments) -> Result<Exit, Failure> {
    let mut totals = Totals::default();
    let result = context(arguments, true).and_then(|mut context| {
        if let Some(run) = &arguments.resume {
            let flags = project::resumed_flags(&context.layout.runs().join(run), &flags(arguments));
            context = project::context(arguments.working_dir.as_deref(), true, flags)?;
        }
        let prompt = match &arguments.resume {
            Some(run) => session::prompt_of(&context.layout, run)?,
            None => read_prompt(arguments, &context)?,
        };
        turn(arguments, context, &prompt, Manner::Unattended, &mut totals)
    });
    let exit = finish(arguments, result, &totals);
    report_cost(&totals);
    Ok(exit)
}

/// Writes the cost as the last line of standard error, after a note on models whose cost is not in it.
pub(crate) fn report_cost(totals: &Totals) {
    if !totals.unpriced.is_empty() {
        let models: Vec<&str> = totals.unpriced.iter().map(String::as_str).collect();
        output::talk(&format!(
            "note: the cost of {} is not counted, because its price is not known\n  hint: put it into prices.toml (docs/models.md)",
            models.join(", ")
        ));
    }
    output::talk(&format!("MARVIN_COST:{}", totals.marvin_cost()));
}

/// Reads the prompt of an unattended run, within its deadline.
pub(crate) fn read_prompt(arguments: &TurnArguments, context: &ProjectContext) -> Result<String, Failure> {
    let deadline = context.settings.seconds(&table::DEADLINE);
    prompt::read(arguments.prompt.as_deref(), arguments.prompt_file.as_deref(), deadline)
}

/// `marvin WORDS…`: a person asks once.
pub(crate) fn inline(arguments: &TurnArguments) -> Result<Exit, Failure> {
    let prompt = arguments.words.join(" ");
    let mut totals = Totals::default();
    // What can be verified is work in this directory.
    let coding = !arguments.commitment.is_empty();
    let result = context(arguments, coding)
        .and_then(|context| turn(arguments, context, &prompt, Manner::Attended, &mut totals));
    Ok(finish(arguments, result, &totals))
}

/// The exit code of a turn. A failure outside the record is reported, for a program as the result it waits for.
fn finish(arguments: &TurnArguments, result: Result<(Exit, Outcome), Failure>, totals: &Totals) -> Exit {
    let failure = match result {
        Ok((exit, _)) => return exit,
        Err(failure) => failure,
    };
    output::error(&failure.to_string());
    if output_format(arguments) != OutputFormat::Text {
        print_failed_result(&failure, totals);
    }
    failure.exit
}

/// Reports a command line that cannot be parsed to a program that runs Marvin unattended.
///
/// It gets the result where the words ask for JSON, and the cost as the last line.
pub(crate) fn report_usage_error(failure: &Failure, words: &[OsString]) {
    if !words.iter().any(|word| word == "--non-interactive") {
        return;
    }
    let json = ["--json", "json", "stream-json", "--output-format=json", "--output-format=stream-json"];
    if words.iter().any(|word| json.iter().any(|json| word == json)) {
        print_failed_result(failure, &Totals::default());
    }
    output::talk(&format!("MARVIN_COST:{}", Totals::default().marvin_cost()));
}

/// Prints the result of a run that has no record of it.
pub(crate) fn print_failed_result(failure: &Failure, totals: &Totals) {
    let reason = if failure.run.is_some() { "record_failed" } else { "not_started" };
    let run_id = failure.run.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let result = TurnResult {
        status: RunStatus::Failed.word().to_string(),
        reason: reason.to_string(),
        exit_code: failure.exit.code(),
        error: Some(failure.to_string()),
        failure_signature: Some(reason.replace('_', "-")),
        data: Value::Object(Map::new()),
        verification: Value::Object(Map::from_iter([
            ("status".to_string(), "none".into()),
            ("commitments".to_string(), Value::Array(Vec::new())),
        ])),
        cost: totals.report(),
        rounds: totals.turns,
        run_id: run_id.map(String::from),
        run_path: failure.run.as_ref().map(|path| path.display().to_string()),
        ..TurnResult::default()
    };
    let Ok(mut result) = serde_json::to_value(TraceEvent::from(result)) else { return };
    output::environment_redactor().value(&mut result);
    // A closed pipe was reported already.
    output::json_line(&format!("{result}\n")).ok();
}

pub(crate) fn output_format(arguments: &TurnArguments) -> OutputFormat {
    if arguments.json { OutputFormat::Json } else { arguments.output_format }
}

/// Settings and workspace as the flags want them.
pub(crate) fn context(arguments: &TurnArguments, coding: bool) -> Result<ProjectContext, Failure> {
    project::context(arguments.working_dir.as_deref(), coding, flags(arguments))
}

/// Runs one turn and gives its exit code and outcome. `totals` is what it cost, however it ended.
pub(crate) fn turn(
    arguments: &TurnArguments,
    context: ProjectContext,
    prompt: &str,
    manner: Manner,
    totals: &mut Totals,
) -> Result<(Exit, Outcome), Failure> {
    let response_schema = arguments.output_schema.as_deref().map(read_schema).transpose()?;
    disable_bytecode(arguments);
    let runner = TurnRunner {
        context,
        format: output_format(arguments),
        manner,
        record: arguments.record.clone(),
        response_schema,
        ntfy: arguments.ntfy.clone(),
        prompt: prompt.to_string(),
        commitments: Draft::all(&arguments.commitment, &arguments.oracle)
            .map_err(|why| Failure::usage(format!("--commitment: {why}")))?
            .into_iter()
            .map(|draft| draft.with_may_change(&arguments.may_change))
            .collect(),
        resume: arguments.resume.clone(),
        turbotime: arguments.turbotime.clone(),
    };
    // As a task: each wake-up of the runtime's main future costs a system call, and a stream wakes it often.
    let (result, spent) = runtime()?
        .block_on(async { tokio::spawn(runner.run()).await })
        .map_err(|error| Failure::failed(format!("the turn crashed: {error}")))?;
    *totals = spent;
    result
}

/// Keeps Python children from writing bytecode files (`-B`).
pub(crate) fn disable_bytecode(arguments: &TurnArguments) {
    if arguments.no_bytecode {
        let variables = BTreeMap::from([("PYTHONDONTWRITEBYTECODE".to_string(), "1".to_string())]);
        marvin_base::child::set_for_all(variables);
    }
}

/// One turn, with everything it needs.
struct TurnRunner {
    context: ProjectContext,
    format: OutputFormat,
    manner: Manner,
    record: Option<PathBuf>,
    response_schema: Option<Value>,
    ntfy: Option<String>,
    prompt: String,
    commitments: Vec<Draft>,
    /// The id of the run that is resumed.
    resume: Option<String>,
    turbotime: Option<Selection>,
}

impl TurnRunner {
    async fn run(self) -> (Result<(Exit, Outcome), Failure>, Totals) {
        let mut totals = Totals::default();
        let result = self.drive(&mut totals).await;
        (result, totals)
    }

    async fn drive(self, totals: &mut Totals) -> Result<(Exit, Outcome), Failure> {
        let cancel = cancel_on_signal();
        let settings = self.context.settings.clone();
        let reader = Arc::new(Reader::default());
        let listener = front_end::listener(
            self.format,
            self.context.redactor.clone(),
            self.response_schema.is_some(),
            reader.clone(),
            cancel.clone(),
        );
        let mut context = self.context;
        let servers = start_mcp_servers(&mut context, &cancel).await;
        let options = SessionOptions {
            project: context,
            manner: self.manner,
            record: self.record,
            response_schema: self.response_schema,
            listener,
            cancel,
            replay: None,
            commitments: self.commitments,
            servitors: None,
            turbotime: self.turbotime,
            approver: None,
        };
        let mut extra = pack_context::extra_context(&options.project);
        if self.manner != Manner::Attended {
            extra.offered.clear();
        }
        let mut session = Session::open_run(options, self.resume.as_deref())?;
        session.take(extra);
        session.arm_deadline();
        // A notification leaves this machine, so it is redacted too.
        let task = session.redacted(&self.prompt);
        push(self.ntfy.as_deref(), &settings, "started", &task).await;
        let outcome = session.turn(&self.prompt).await;
        servers.end().await;
        *totals = session.cost().totals().unwrap_or_default();
        let outcome = outcome.map_err(|error| Failure::from(error).in_run(session.run().path()))?;
        push(self.ntfy.as_deref(), &settings, outcome.status.name(), &task).await;
        if reader.is_gone() {
            return Ok((Exit::Failed, outcome));
        }
        if self.format == OutputFormat::Text
            && let Some(verified) = outcome.verification.last()
        {
            output::talk(session.redacted(&output::visible(&verified.text)).trim());
        }
        if let Some(error) = &outcome.error {
            output::error(&with_record(&session, error));
        }
        Ok((outcome.status.exit(), outcome))
    }
}

fn with_record(session: &Session, error: &str) -> String {
    format!("{}\n  the record: {}", session.redacted(error), session.run().path().display())
}

/// Notifies the ntfy topic, if one was given. A failure is reported and changes nothing.
async fn push(topic: Option<&str>, settings: &Settings, what: &str, prompt: &str) {
    let Some(topic) = topic else { return };
    let message = format!("{what}: {}", marvin_base::truncate::line(prompt, 120));
    if let Err(error) = ntfy::publish(settings, topic, "Marvin", &message).await {
        output::error(&format!("the notification to `{topic}` was not sent: {error}"));
    }
}

/// The flags that are settings.
fn flags(arguments: &TurnArguments) -> Flags {
    let mut flags: Flags = arguments.model.iter().map(ModelChoice::flag).collect();
    flags.extend(setting_flags([
        (&table::PROVIDER, arguments.provider.clone()),
        (&table::SCRIPT, path_text(arguments.script.as_ref())),
        (&table::MAX_COST, text(arguments.max_cost)),
        (&table::MAX_ROUNDS, text(arguments.max_rounds)),
        (&table::DEADLINE, text(arguments.deadline)),
        (&table::MAX_ROUNDS_CHAT, text(arguments.max_rounds)),
        (&table::WORKER_ROUNDS, text(arguments.max_rounds)),
    ]));
    flags
}

fn read_schema(path: &Path) -> Result<Value, Failure> {
    const HINT: &str = "--output-schema names a file with a JSON schema";
    let text = read_text(path, MAX_SCHEMA_BYTES, HINT)?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", path.display())).hint(HINT))
}
