//! The TDD pipeline: `--design-first`, and `marvin pipeline …`.

use crate::arguments::{
    CostLimit, InvalidValue, ModelChoice, ProjectArguments, parse_cost, parse_model, path_text,
    setting_flags, text,
};
use crate::commands::turn::{self, TurnArguments};
use crate::failure::Failure;
use crate::front_end::{self, OutputFormat, Reader};
use crate::project::{Flags, project_context};
use crate::runtime::{cancel_on_signal, runtime};
use crate::{deciding, output, pack_context};
use clap::{Args, Subcommand};
use marvin_agent::trace::{Listener, Notice};
use marvin_agent::{ProjectContext, SessionError, Status};
use marvin_base::Exit;
use marvin_base::ledger;
use marvin_base::run::RunDirectory;
use marvin_base::settings::{nearest_of, table};
use marvin_base::truncate;
use marvin_model::cost::Totals;
use marvin_pipeline::journal::{Journal, PhaseHistory};
use marvin_pipeline::state::StateFile;
use marvin_pipeline::{Halt, Options, Phase, Pipeline, PipelineOutcome, Trust, last_run};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// Show the progress of a project's pipeline, resume it, and explain its phases
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin pipeline status\n  marvin pipeline resume --max-cost 5\n  marvin pipeline explain 4b"
)]
pub(crate) enum PipelineCommand {
    /// Show the progress of a project's pipeline, with cost and time of each phase
    #[command(
        after_help = "Examples:\n  marvin pipeline status\n  marvin pipeline status --working-dir app --json | jq -r .after"
    )]
    Status(ProjectArguments),
    Resume(ResumePipelineArguments),
    /// Explain what each phase does, and when it is complete
    #[command(after_help = "Examples:\n  marvin pipeline explain\n  marvin pipeline explain 4b")]
    Explain {
        /// Only this phase
        #[arg(value_parser = parse_phase)]
        phase: Option<Phase>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Resume at the first phase that is not complete
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes are those of an unattended run: 0 everything was verified, 1 a phase failed, 3 a commitment does not hold, 4 a person is needed, 6 the budget is spent.\n\nExamples:\n  marvin pipeline resume\n  marvin pipeline resume --max-cost 5\n  marvin pipeline resume --answer 'Port 8080, and no TLS.'\n  marvin pipeline resume --trust record    pipeline_state was changed; the record counts\n  marvin pipeline resume --trust 1b        do everything after 1b again"
)]
pub(crate) struct ResumePipelineArguments {
    #[command(flatten)]
    place: ProjectArguments,
    /// Source of truth where `pipeline_state` and the run's record disagree: `record`, or the last phase to keep
    /// (everything after it is repeated; `none`: everything)
    #[arg(long, value_name = "record|PHASE|none", value_parser = parse_trust)]
    trust: Option<Trust>,
    /// Your answer to the question at which it stopped (exit code 4)
    #[arg(long, value_name = "TEXT")]
    answer: Option<String>,
    /// The provider (default: the first with a key)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    provider: Option<String>,
    /// The model, or the model of a tier: NAME, or TIER=NAME
    #[arg(long, value_name = "[TIER=]MODEL", value_parser = parse_model)]
    model: Vec<ModelChoice>,
    /// A script for the mock provider (JSONL)
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Stop everything when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    max_cost: Option<CostLimit>,
    /// Push every phase to this ntfy topic
    #[arg(long, value_name = "TOPIC")]
    ntfy: Option<String>,
}

/// How a pipeline is started or resumed.
#[derive(Default)]
struct Start {
    prompt: Option<String>,
    ntfy: Option<String>,
    trust: Option<Trust>,
    answer: Option<String>,
}

#[derive(Serialize)]
struct StatusReport<'a> {
    begun: bool,
    after: Option<&'a str>,
    next: Option<&'a str>,
    goal: &'a str,
    run: Option<&'a str>,
    running: Option<u32>,
    problem: Option<&'a str>,
    phases: Vec<PhaseReport<'a>>,
}

#[derive(Serialize)]
struct PhaseReport<'a> {
    phase: &'a str,
    title: &'a str,
    state: &'a str,
    begun: Option<&'a str>,
    elapsed_ms: Option<u64>,
    processes: Option<u64>,
    facts: Option<&'a Map<String, Value>>,
}

#[derive(Serialize)]
struct PhaseExplanation {
    phase: &'static str,
    title: &'static str,
    explanation: &'static str,
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Self {
        let exit = match &halt {
            Halt::Usage(_) => Exit::Usage,
            Halt::Session(error) => error.exit(),
            other => other.stop().status.exit(),
        };
        Failure::new(exit, halt)
    }
}

/// `marvin --non-interactive --design-first`: whatever happens, the last line on standard error is the cost.
pub(crate) fn design_first(arguments: &TurnArguments) -> Result<Exit, Failure> {
    turn::disable_bytecode(arguments);
    let mut totals = Totals::default();
    let format = turn::output_format(arguments);
    let result = turn::context(arguments, true).and_then(|context| {
        if arguments.working_dir.is_none() {
            return Err(Failure::usage(
                "--design-first needs --working-dir PATH: the directory in which everything is built",
            ));
        }
        let prompt = turn::read_prompt(arguments, &context)?;
        let start = Start { prompt: Some(prompt), ntfy: arguments.ntfy.clone(), ..Start::default() };
        drive(context, start, format, &mut totals)
    });
    let exit = result.unwrap_or_else(|failure| {
        output::error(&failure.to_string());
        if format != OutputFormat::Text {
            turn::print_failed_result(&failure, &totals);
        }
        failure.exit
    });
    turn::report_cost(&totals);
    Ok(exit)
}

/// `marvin pipeline …`.
pub(crate) fn run(command: PipelineCommand) -> Result<Exit, Failure> {
    match command {
        PipelineCommand::Status(place) => status(&place),
        PipelineCommand::Resume(arguments) => resume(&arguments),
        PipelineCommand::Explain { phase, json } => explain(phase, json),
    }
}

fn resume(arguments: &ResumePipelineArguments) -> Result<Exit, Failure> {
    let mut flags: Flags = arguments.model.iter().map(ModelChoice::flag).collect();
    flags.extend(setting_flags([
        (&table::PROVIDER, arguments.provider.clone()),
        (&table::SCRIPT, path_text(arguments.script.as_ref())),
        (&table::MAX_COST, text(arguments.max_cost)),
    ]));
    let context = project_context(arguments.place.working_dir.as_deref(), true, flags)?;
    let format = if arguments.place.json { OutputFormat::Json } else { OutputFormat::Text };
    if let Some(answer) = &arguments.answer {
        deciding::decide("pipeline resume --answer", &context.redactor.text(answer))?;
    }
    let start = Start {
        ntfy: arguments.ntfy.clone(),
        trust: arguments.trust,
        answer: arguments.answer.clone(),
        prompt: None,
    };
    drive(context, start, format, &mut Totals::default())
}

fn parse_trust(text: &str) -> Result<Trust, InvalidValue> {
    match text {
        "record" => Ok(Trust::Record),
        "none" => Ok(Trust::After(None)),
        name => parse_phase(name).map(|phase| Trust::After(Some(phase))),
    }
}

fn parse_phase(name: &str) -> Result<Phase, InvalidValue> {
    Phase::find(name).ok_or_else(|| {
        let near = nearest_of(name, Phase::ALL.iter().map(|phase| phase.name()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let all = Phase::ALL.map(Phase::name).join(", ");
        InvalidValue(format!("no phase is called `{}`{near} (there are: {all})", truncate::line(name, 40)))
    })
}

/// Runs to the end, on this thread: children end with the thread that started them.
fn drive(
    context: ProjectContext,
    start: Start,
    format: OutputFormat,
    totals: &mut Totals,
) -> Result<Exit, Failure> {
    let redactor = context.redactor.clone();
    let (outcome, gone) = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let reader = Arc::new(Reader::default());
        let listener: Listener = match format {
            OutputFormat::Text => Box::new(|notice| show_event(&notice)),
            format => front_end::listener(format, redactor.clone(), false, reader.clone(), cancel.clone()),
        };
        let extras = pack_context::guidance(&context).into_iter().collect();
        let deadline = context.settings.seconds(&table::DEADLINE);
        let project = context;
        let Start { prompt, ntfy, trust, answer } = start;
        let options = Options { project, prompt, listener, cancel, ntfy, trust, extras, answer, deadline };
        let pipeline = Pipeline::open(options)?;
        let outcome = Box::pin(pipeline.go()).await?;
        Ok::<_, Halt>((outcome, reader.is_gone()))
    })?;
    *totals = outcome.totals.clone();
    if gone {
        return Ok(Exit::Failed);
    }
    if format == OutputFormat::Text {
        let text = redactor.text(&summary(&outcome)).into_owned();
        match outcome.status {
            Status::Success => {
                output::line(&text)?;
            }
            _ => output::talk(&text),
        }
    }
    Ok(outcome.status.exit())
}

fn summary(outcome: &PipelineOutcome) -> String {
    format!(
        "{}: {}\nreport: {}\nrun: {}",
        outcome.status.name().replace('_', " "),
        outcome.message,
        outcome.report.display(),
        outcome.run.display()
    )
}

/// Writes one line to standard error for an event that a person follows.
fn show_event(notice: &Notice<'_>) {
    let Notice::Event(event) = notice else { return };
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let count = |key: &str| event.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let line = match text("type") {
        "phase.started" => format!("{:<10}{}", text("phase"), text("title")),
        "phase.skipped" => format!("{:<10}skipped: {}", "", text("reason")),
        "phase.completed" => format!("{:<10}over", ""),
        "worker.started" => format!("{:<10}{} ({}) is at work", "", text("step_id"), text("worker_role")),
        "item.completed" => match tool_call(event) {
            Some(call) => format!("{:<10}{}: {call}", "", text("step_id")),
            None => return,
        },
        "worker.completed" => {
            format!("{:<10}{} ({}): {}", "", text("step_id"), text("worker_role"), outcome(event))
        }
        "document.checked" | "tests.checked" if count("problems") > 0 => {
            format!("{:<10}sent back: {}", "", listed(event))
        }
        "tests.counted" => format!("{:<10}tests: {}", "", text("counted")),
        "review.round" => format!("{:<10}review of {}: {} findings", "", text("of"), count("findings")),
        "finding.tried" => {
            let shown = event.get("reproduced") == Some(&Value::Bool(true));
            let result = if shown { "reproduced" } else { "not reproduced, so it does not count" };
            let of = |key: &str| event.pointer(&format!("/finding/{key}")).and_then(Value::as_str);
            let (place, what) = (of("place").unwrap_or_default(), of("text").unwrap_or_default());
            format!("{:<10}finding {result}: {place}: {}", "", truncate::line(what, 100))
        }
        "notice" => format!("{:<10}{}", "", text("text")),
        _ => return,
    };
    output::talk(&output::visible(&truncate::head(&line.replace('\n', " "), 200)));
}

/// A finished tool call of an agent, on one line.
fn tool_call(event: &Value) -> Option<String> {
    let item = event.get("item").filter(|item| item.get("type") == Some(&"tool_call".into()))?;
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let name = text("tool").or_else(|| text("name"))?;
    Some(match text("why") {
        Some(why) => format!("{name} failed: {}", truncate::line(why, 80)),
        None => name.to_string(),
    })
}

fn outcome(event: &Value) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}, {}", text("status"), truncate::line(text("summary"), 100))
}

fn listed(event: &Value) -> String {
    let list = event.get("problems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

fn explain(phase: Option<Phase>, as_json: bool) -> Result<Exit, Failure> {
    let chosen: Vec<Phase> = phase.map_or_else(|| Phase::ALL.to_vec(), |phase| vec![phase]);
    if as_json {
        let all = chosen.iter().map(|phase| PhaseExplanation {
            phase: phase.name(),
            title: phase.title(),
            explanation: phase.explanation(),
        });
        return output::json(&all.collect::<Vec<_>>());
    }
    let all: Vec<String> = chosen
        .iter()
        .map(|phase| format!("{phase}  {}\n  {}\n", phase.title(), phase.explanation()))
        .collect();
    output::line(all.join("\n").trim_end())
}

fn status(place: &ProjectArguments) -> Result<Exit, Failure> {
    let context = project_context(place.working_dir.as_deref(), true, Vec::new())?;
    let path = context
        .layout
        .pipeline_state()
        .ok_or_else(|| Failure::usage("this directory is not in a project").hint("--working-dir PATH"))?;
    let state = StateFile::new(path);
    let runs = context.layout.runs();
    let found = last_run(&runs);
    let known = found
        .as_ref()
        .map(|(id, _)| Journal::read(&runs.join(id)))
        .transpose()
        .map_err(SessionError::from)?;
    let known = known.unwrap_or_default();
    let under_way = found.as_ref().and_then(|(id, _)| under_way(&context, id, &known));
    let (says, problem) = match state.read() {
        Ok(says) if found.is_none() || says == known.closed || (says.is_some() && says == known.closing) => {
            (says, None)
        }
        Ok(says) => {
            let word = |phase: Option<Phase>| phase.map_or("nothing", Phase::name);
            let problem = format!(
                "pipeline_state says {}, but by the record the last closed phase is {}\n  hint: `marvin pipeline resume --trust record` resumes from the record",
                word(says),
                word(known.closed)
            );
            (says, Some(problem))
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let exit = if problem.is_some() { Exit::Blocked } else { Exit::Success };
    if found.is_none() && says.is_none() && problem.is_none() {
        if place.json {
            output::json_entry("begun", &false)?;
        } else {
            output::line(
                "no pipeline was started in this directory\n  hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'",
            )?;
        }
        return Ok(Exit::Success);
    }
    let running = found.as_ref().and_then(|(id, _)| marvin_flow::engine::holder(&runs.join(id)));
    let goal = found.as_ref().map(|(_, goal)| goal.as_str()).unwrap_or_default();
    let run = found.as_ref().map(|(id, _)| id.as_str());
    if place.json {
        output::json(&StatusReport {
            begun: true,
            after: says.map(Phase::name),
            next: next(says).map(Phase::name),
            goal,
            run,
            running: running.map(|holder| holder.pid),
            problem: problem.as_deref(),
            phases: Phase::ALL.iter().map(|phase| phase_report(*phase, &known, says, under_way)).collect(),
        })?;
        return Ok(exit);
    }
    let mut text = match goal {
        "" => String::new(),
        goal => format!("{}\n", truncate::line(goal, 100)),
    };
    text.push_str(&format!("run: {}\n", run.unwrap_or("none")));
    if let Some(holder) = running {
        text.push_str(&format!("at work: {holder}\n"));
    }
    for phase in Phase::ALL {
        text.push_str(&phase_line(phase, &known, says, under_way));
    }
    match &problem {
        Some(problem) => text.push_str(problem),
        None if next(says).is_some() => text.push_str("resume with: marvin pipeline resume"),
        None => text.push_str("every phase is complete"),
    }
    output::line(&output::visible(&text))?;
    Ok(exit)
}

fn next(says: Option<Phase>) -> Option<Phase> {
    Phase::ALL.into_iter().find(|phase| says.is_none_or(|last| *phase > last))
}

/// The phase that a process works on, or did when it was killed, and for how long.
///
/// The time comes from the trace, which is read only then.
fn under_way(context: &ProjectContext, id: &str, known: &PhaseHistory) -> Option<(Phase, u64)> {
    known.under_way(&[])?;
    let run = RunDirectory::open(&context.layout.runs(), id).ok()?;
    known.under_way(&ledger::read(&run.trace()).ok()?.entries)
}

fn phase_report(
    phase: Phase,
    known: &PhaseHistory,
    says: Option<Phase>,
    under_way: Option<(Phase, u64)>,
) -> PhaseReport<'_> {
    let record = known.phases.get(&phase);
    PhaseReport {
        phase: phase.name(),
        title: phase.title(),
        state: word(phase, known, says),
        begun: record.map(|record| record.begun.as_str()),
        elapsed_ms: known.worked_ms(phase, under_way),
        processes: record.map(|record| record.taken),
        facts: record.and_then(|record| record.ended.as_ref()),
    }
}

fn word(phase: Phase, known: &PhaseHistory, says: Option<Phase>) -> &'static str {
    match known.phases.get(&phase) {
        Some(record) if record.ended.as_ref().is_some_and(|facts| facts.contains_key("skipped")) => "skipped",
        _ if says.is_some_and(|last| last >= phase) => "over",
        Some(_) => "begun",
        None => "to do",
    }
}

fn phase_line(
    phase: Phase,
    known: &PhaseHistory,
    says: Option<Phase>,
    under_way: Option<(Phase, u64)>,
) -> String {
    let facts = known.phases.get(&phase).and_then(|record| record.ended.as_ref());
    let number = |key: &str| facts.and_then(|facts| facts.get(key)).and_then(Value::as_f64);
    let cost = number("cost_usd").map_or_else(String::new, |cost| format!("${cost:.4}"));
    let time = known.worked_ms(phase, under_way).filter(|time| *time > 0);
    let time = time.map_or_else(String::new, |time| format!("{}.{} s", time / 1000, time % 1000 / 100));
    let line = format!(
        "  {:<10} {:<8} {:<38} {cost:>9} {time:>9}",
        phase.name(),
        word(phase, known, says),
        phase.title()
    );
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_takes_a_phase_or_record() {
        assert_eq!(parse_trust("record").unwrap(), Trust::Record);
        assert_eq!(parse_trust("1b").unwrap(), Trust::After(Some(Phase::Design)));
        assert_eq!(parse_trust("none").unwrap(), Trust::After(None));
        assert!(parse_trust("1c").unwrap_err().to_string().contains("no phase is called `1c`"));
    }
}
