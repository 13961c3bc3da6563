//! One turn: unattended (`--non-interactive`), or a person's single question.

use crate::cli::{OutputFormat, TurnArguments};
use crate::commands::{cancel_on_signal, directory, lend, packs, prompt, runtime};
use crate::failure::Failure;
use crate::front_end::{self, Reader};
use crate::output;
use marvin_agent::commitments::Draft;
use marvin_agent::session::{self, Manner};
use marvin_agent::{Outcome, ProjectContext, Session, SessionOptions};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::run_record::RunStatus;
use marvin_base::settings::{Settings, nearest_of, table};
use marvin_base::trace_event::{TraceEvent, TurnResult};
use marvin_model::cost::Totals;
use marvin_tools::notify;
use marvin_tools::turbotime::Selection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tier names as a person writes them, and the settings behind them.
const TIERS: [(&str, &str); 9] = [
    ("low", "tier.codex"),
    ("high", "tier.opus"),
    ("codex", "tier.codex"),
    ("opus", "tier.opus"),
    ("plan", "tier.plan"),
    ("plan_gen", "tier.plan_gen"),
    ("test_writer", "tier.test_writer"),
    ("aux_reviewer", "tier.aux_reviewer"),
    ("fallback", "tier.fallback"),
];

/// `marvin --non-interactive`: whatever happens, the last line on standard error is the cost.
pub(crate) fn non_interactive(arguments: &TurnArguments) -> Result<Exit, Failure> {
    let mut totals = Totals::default();
    let result = ground(arguments, true).and_then(|ground| {
        let prompt = match &arguments.resume {
            Some(run) => session::prompt_of(&ground.layout, run)?,
            None => prompt::read(arguments, ground.settings.seconds(&table::DEADLINE))?,
        };
        turn(arguments, ground, &prompt, Manner::Unattended, &mut totals)
    });
    let exit = ended(arguments, result, &totals);
    output::talk(&format!("MARVIN_COST:{}", totals.marvin_cost()));
    Ok(exit)
}

/// `marvin WORDS…`: a person asks once.
pub(crate) fn inline(arguments: &TurnArguments) -> Result<Exit, Failure> {
    let prompt = arguments.words.join(" ");
    let mut totals = Totals::default();
    let result = ground(arguments, false)
        .and_then(|ground| turn(arguments, ground, &prompt, Manner::Attended, &mut totals));
    Ok(ended(arguments, result, &totals))
}

/// The exit code of a turn. One that failed outside the record is told here, and a program gets the result it waits for.
fn ended(arguments: &TurnArguments, result: Result<(Exit, Outcome), Failure>, totals: &Totals) -> Exit {
    let failure = match result {
        Ok((exit, _)) => return exit,
        Err(failure) => failure,
    };
    output::error(&failure.message);
    if format_of(arguments) != OutputFormat::Text {
        result_outside_the_record(&failure, totals);
    }
    failure.exit
}

/// What a command line that cannot be understood owes to a program that runs us unattended: the result, where the words
/// ask for JSON, and the cost as the last line.
pub(crate) fn not_understood(failure: &Failure, words: &[OsString]) {
    if !words.iter().any(|word| word == "--non-interactive") {
        return;
    }
    let json = ["--json", "json", "stream-json", "--output-format=json", "--output-format=stream-json"];
    if words.iter().any(|word| json.iter().any(|json| word == json)) {
        result_outside_the_record(failure, &Totals::default());
    }
    output::talk(&format!("MARVIN_COST:{}", Totals::default().marvin_cost()));
}

/// The result of a run that never began, or whose record broke.
pub(super) fn result_outside_the_record(failure: &Failure, totals: &Totals) {
    let reason = if failure.run.is_some() { "record_failed" } else { "not_started" };
    let run_id = failure.run.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let result = TurnResult {
        status: RunStatus::Failed.word().to_string(),
        reason: reason.to_string(),
        exit_code: failure.exit.code(),
        error: Some(failure.message.clone()),
        failure_signature: Some(reason.replace('_', "-")),
        data: json!({}),
        verification: json!({"status": "none", "commitments": []}),
        cost: totals.report(),
        rounds: totals.turns,
        run_id: run_id.map(String::from),
        run_path: failure.run.as_ref().map(|path| path.display().to_string()),
        ..TurnResult::default()
    };
    let mut result = json!(TraceEvent::from(result));
    output::environment_redactor().value(&mut result);
    // A reader that is gone was told so already.
    output::json_line(&format!("{result}\n")).ok();
}

pub(super) fn format_of(arguments: &TurnArguments) -> OutputFormat {
    if arguments.json { OutputFormat::Json } else { arguments.output_format }
}

/// Settings and workspace as the flags want them.
pub(super) fn ground(arguments: &TurnArguments, coding: bool) -> Result<ProjectContext, Failure> {
    let flags = flags(arguments)?;
    let working_dir = arguments.working_dir.as_deref();
    Ok(ProjectContext::find(Environment::of_process(), directory()?, working_dir, coding, flags)?)
}

/// Runs one turn and gives its exit code and the session's outcome. `totals` is what it cost, however it ended.
pub(super) fn turn(
    arguments: &TurnArguments,
    ground: ProjectContext,
    prompt: &str,
    manner: Manner,
    totals: &mut Totals,
) -> Result<(Exit, Outcome), Failure> {
    let response_schema = arguments.output_schema.as_deref().map(read_schema).transpose()?;
    keep_bytecode_away(arguments);
    let driven = TurnRunner {
        ground,
        format: format_of(arguments),
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
        turbotime: arguments
            .turbotime
            .as_deref()
            .map(Selection::read)
            .transpose()
            .map_err(|why| Failure::usage(format!("--turbotime: {why}")))?,
    };
    // As a task: what wakes the runtime's main future costs a system call each time, and a stream wakes it often.
    let (result, spent) = runtime()?
        .block_on(async { tokio::spawn(driven.run()).await })
        .map_err(|error| Failure::failed(format!("the turn broke: {error}")))?;
    *totals = spent;
    result
}

/// `-B`.
pub(super) fn keep_bytecode_away(arguments: &TurnArguments) {
    if arguments.no_bytecode {
        let variables = BTreeMap::from([("PYTHONDONTWRITEBYTECODE".to_string(), "1".to_string())]);
        marvin_base::child::set_for_all(variables);
    }
}

/// One turn, with everything it needs.
struct TurnRunner {
    ground: ProjectContext,
    format: OutputFormat,
    manner: Manner,
    record: Option<PathBuf>,
    response_schema: Option<Value>,
    ntfy: Option<String>,
    prompt: String,
    /// What must hold.
    commitments: Vec<Draft>,
    /// The run that is taken up.
    resume: Option<String>,
    /// What the person switched on.
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
        let settings = self.ground.settings.clone();
        let reader = Arc::new(Reader::default());
        let listener = front_end::listener(
            self.format,
            self.ground.redactor.clone(),
            self.response_schema.is_some(),
            reader.clone(),
            cancel.clone(),
        );
        let mut ground = self.ground;
        let servers = lend(&mut ground, &cancel).await;
        let options = SessionOptions {
            project: ground,
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
        let mut brought = packs::brought(&options.project);
        if self.manner != Manner::Attended {
            brought.offered.clear();
        }
        let mut session = Session::open_run(options, self.resume.as_deref())?;
        session.take(brought);
        session.arm_deadline();
        // What is pushed leaves this machine: it is shown like everything else, without secrets.
        let task = session.redacted(&self.prompt);
        push(self.ntfy.as_deref(), &settings, "started", &task).await;
        let outcome = session.turn(&self.prompt).await;
        servers.end().await;
        *totals = session.cost().totals().unwrap_or_default();
        let outcome = outcome.map_err(|error| Failure {
            run: Some(session.run().path().to_path_buf()),
            ..Failure::from(error)
        })?;
        push(self.ntfy.as_deref(), &settings, outcome.status.name(), &task).await;
        if reader.is_gone() {
            return Ok((Exit::Failed, outcome));
        }
        if self.format == OutputFormat::Text
            && let Some(proved) = outcome.verification.last()
        {
            output::talk(session.redacted(&output::visible(&proved.text)).trim());
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

/// Tells the ntfy topic, if one was given. A notification that fails is said and forgotten.
async fn push(topic: Option<&str>, settings: &Settings, what: &str, prompt: &str) {
    let Some(topic) = topic else { return };
    let message = format!("{what}: {}", marvin_base::truncate::line(prompt, 120));
    if let Err(error) = notify::publish(settings, topic, "Marvin", &message).await {
        output::error(&format!("the notification to `{topic}` was not sent: {error}"));
    }
}

/// Models, and models of tiers, as settings.
pub(super) fn models(models: &[String]) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut flags = Vec::new();
    for model in models {
        match model.split_once('=') {
            None => flags.push(("model.name", model.clone())),
            Some((tier, name)) => {
                let key = TIERS.iter().find(|(known, _)| *known == tier).map(|(_, key)| *key);
                let key = key.ok_or_else(|| {
                    let near = nearest_of(tier, TIERS.iter().map(|(known, _)| *known));
                    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    let all = TIERS.map(|(known, _)| known).join(", ");
                    Failure::usage(format!(
                        "--model {model}: there is no tier `{tier}`{near} (there are: {all})"
                    ))
                })?;
                flags.push((key, name.to_string()));
            }
        }
    }
    Ok(flags)
}

/// Flags as settings.
fn flags(arguments: &TurnArguments) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut flags = models(&arguments.model)?;
    if let Some(provider) = &arguments.provider {
        flags.push(("model.provider", provider.clone()));
    }
    if let Some(script) = &arguments.script {
        flags.push(("model.script", script.display().to_string()));
    }
    for (key, value) in [
        ("limits.cost_usd", &arguments.max_cost),
        ("limits.rounds", &arguments.max_rounds),
        ("limits.deadline_s", &arguments.deadline),
    ] {
        if let Some(value) = value {
            flags.push((key, value.clone()));
        }
    }
    if let Some(rounds) = &arguments.max_rounds {
        flags.push(("limits.rounds_chat", rounds.clone()));
        flags.push(("limits.rounds_worker", rounds.clone()));
    }
    Ok(flags)
}

fn read_schema(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("--output-schema {}: {error}", path.display())))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("--output-schema {} is not JSON: {error}", path.display())))
}
