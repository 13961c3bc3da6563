//! The TDD pipeline: `--design-first`, and `marvin pipeline …`.

use super::{cancel_on_signal, directory, packs, project, prompt, runtime, turn};
use crate::cli::{OutputFormat, PipelineCommand, PipelinePlace, ResumePipelineArguments, TurnArguments};
use crate::failure::Failure;
use crate::front_end::{self, Reader};
use crate::output;
use marvin_agent::trace::{Listener, Notice};
use marvin_agent::{ProjectContext, SessionError};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::ledger;
use marvin_base::run::RunDirectory;
use marvin_base::settings::{nearest_of, table};
use marvin_base::truncate;
use marvin_model::cost::Totals;
use marvin_pipeline::journal::{Journal, PhaseHistory};
use marvin_pipeline::state::StateFile;
use marvin_pipeline::{Halt, Options, Phase, Pipeline, PipelineOutcome, Trust, last_run};
use serde_json::{Value, json};
use std::sync::Arc;

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Self {
        let exit = match &halt {
            Halt::Usage(_) => Exit::Usage,
            Halt::Session(error) => error.exit(),
            other => other.stop().status.exit(),
        };
        Failure { exit, message: halt.to_string(), run: None }
    }
}

/// `marvin --non-interactive --design-first`: whatever happens, the last line on standard error is the cost.
pub(super) fn design_first(arguments: &TurnArguments) -> Result<Exit, Failure> {
    turn::keep_bytecode_away(arguments);
    let mut totals = Totals::default();
    let format = turn::format_of(arguments);
    let ended = turn::ground(arguments, true).and_then(|ground| {
        if arguments.working_dir.is_none() {
            return Err(Failure::usage(
                "--design-first needs --working-dir PATH: the directory in which everything is built",
            ));
        }
        let prompt = prompt::read(arguments, ground.settings.seconds(&table::DEADLINE))?;
        drive(ground, Some(prompt), format, arguments.ntfy.clone(), None, &mut totals)
    });
    let exit = ended.unwrap_or_else(|failure| {
        output::error(&failure.message);
        if format != OutputFormat::Text {
            turn::result_outside_the_record(&failure, &totals);
        }
        failure.exit
    });
    output::talk(&format!("MARVIN_COST:{}", totals.marvin_cost()));
    Ok(exit)
}

/// `marvin pipeline …`.
pub(super) fn run(command: PipelineCommand) -> Result<Exit, Failure> {
    match command {
        PipelineCommand::Status(place) => status(&place),
        PipelineCommand::Resume(arguments) => resume(&arguments),
        PipelineCommand::Explain { phase, json } => explain(phase.as_deref(), json),
    }
}

fn find(place: &PipelinePlace, flags: Vec<(&'static str, String)>) -> Result<ProjectContext, Failure> {
    let project = project(place.working_dir.as_deref())?;
    Ok(ProjectContext::find(Environment::of_process(), directory()?, project.as_deref(), true, flags)?)
}

fn resume(arguments: &ResumePipelineArguments) -> Result<Exit, Failure> {
    let trust = arguments.trust.as_deref().map(trust).transpose()?;
    let mut flags = turn::models(&arguments.model)?;
    for (key, value) in [
        ("model.provider", arguments.provider.clone()),
        ("model.script", arguments.script.as_ref().map(|path| path.display().to_string())),
        ("limits.cost_usd", arguments.max_cost.clone()),
    ] {
        flags.extend(value.map(|value| (key, value)));
    }
    let ground = find(&arguments.place, flags)?;
    let format = if arguments.place.json { OutputFormat::Json } else { OutputFormat::Text };
    drive(ground, None, format, arguments.ntfy.clone(), trust, &mut Totals::default())
}

fn trust(word: &str) -> Result<Trust, Failure> {
    match word {
        "record" => Ok(Trust::Record),
        "none" => Ok(Trust::After(None)),
        name => {
            Phase::find(name).map(|phase| Trust::After(Some(phase))).ok_or_else(|| no_phase("--trust", name))
        }
    }
}

fn no_phase(what: &str, name: &str) -> Failure {
    let near = nearest_of(name, Phase::ALL.iter().map(|phase| phase.name()));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let all = Phase::ALL.map(Phase::name).join(", ");
    Failure::usage(format!(
        "{what}: there is no phase `{}`{near} (there are: {all})",
        truncate::line(name, 40)
    ))
}

/// Runs to the end, on this thread: children end with the thread that started them.
fn drive(
    ground: ProjectContext,
    prompt: Option<String>,
    format: OutputFormat,
    ntfy: Option<String>,
    trust: Option<Trust>,
    totals: &mut Totals,
) -> Result<Exit, Failure> {
    let redactor = ground.redactor.clone();
    let (ended, gone) = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let reader = Arc::new(Reader::default());
        let listener: Listener = match format {
            OutputFormat::Text => Box::new(|notice| said(&notice)),
            format => front_end::listener(format, redactor.clone(), false, reader.clone(), cancel.clone()),
        };
        let extras = packs::for_agents(&ground).into_iter().collect();
        let deadline = ground.settings.seconds(&table::DEADLINE);
        let pipeline = Pipeline::open(Options {
            project: ground,
            prompt,
            listener,
            cancel,
            ntfy,
            trust,
            extras,
            deadline,
        })?;
        let ended = Box::pin(pipeline.go()).await?;
        Ok::<_, Halt>((ended, reader.is_gone()))
    })?;
    *totals = ended.totals.clone();
    if gone {
        return Ok(Exit::Failed);
    }
    if format == OutputFormat::Text {
        output::line(&output::visible(&redactor.text(&summary(&ended))))?;
    }
    Ok(ended.status.exit())
}

fn summary(ended: &PipelineOutcome) -> String {
    format!(
        "{}: {}\nreport: {}\nrun: {}",
        ended.status.name().replace('_', " "),
        ended.message,
        ended.report.display(),
        ended.run.display()
    )
}

/// One line on standard error for what a person follows.
fn said(notice: &Notice<'_>) {
    let Notice::Event(event) = notice else { return };
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let count = |key: &str| event.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let line = match text("type") {
        "phase.started" => format!("{:<10}{}", text("phase"), text("title")),
        "phase.skipped" => format!("{:<10}skipped: {}", "", text("reason")),
        "phase.completed" => format!("{:<10}over", ""),
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
            format!(
                "{:<10}finding {}",
                "",
                if shown { "reproduced" } else { "not reproduced, it does not count" }
            )
        }
        "notice" => format!("{:<10}{}", "", text("text")),
        _ => return,
    };
    output::talk(&output::visible(&truncate::head(&line.replace('\n', " "), 200)));
}

fn outcome(event: &Value) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}, {}", text("status"), truncate::line(text("summary"), 100))
}

fn listed(event: &Value) -> String {
    let list = event.get("problems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

fn explain(name: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
    let chosen: Vec<Phase> = match name {
        None => Phase::ALL.to_vec(),
        Some(name) => vec![Phase::find(name).ok_or_else(|| no_phase("explain", name))?],
    };
    if as_json {
        let all: Vec<Value> = chosen
            .iter()
            .map(|phase| json!({"phase": phase.name(), "title": phase.title(), "explanation": phase.explanation()}))
            .collect();
        return output::json(&json!(all));
    }
    let all: Vec<String> = chosen
        .iter()
        .map(|phase| format!("{phase}  {}\n  {}\n", phase.title(), phase.explanation()))
        .collect();
    output::line(all.join("\n").trim_end())
}

fn status(place: &PipelinePlace) -> Result<Exit, Failure> {
    let ground = find(place, Vec::new())?;
    let path = ground
        .layout
        .pipeline_state()
        .ok_or_else(|| Failure::usage("there is no project here\n  hint: --working-dir PATH"))?;
    let state = StateFile::new(path);
    let found = last_run(&ground.layout.runs());
    let known = found
        .as_ref()
        .map(|(id, _)| Journal::read(&ground.layout.runs().join(id)))
        .transpose()
        .map_err(SessionError::from)?;
    let known = known.unwrap_or_default();
    let under_way = found.as_ref().and_then(|(id, _)| under_way(&ground, id, &known));
    let (says, problem) = match state.read() {
        Ok(says) if found.is_none() || says == known.closed || (says.is_some() && says == known.closing) => {
            (says, None)
        }
        Ok(says) => {
            let word = |phase: Option<Phase>| phase.map_or("nothing", Phase::name);
            let problem = format!(
                "pipeline_state says {}, but by the record the last phase that is over is {}\n  hint: `marvin pipeline resume --trust record` goes on with what the record says",
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
            output::json(&json!({"begun": false}))?;
        } else {
            output::line(
                "no pipeline was begun here\n  hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'",
            )?;
        }
        return Ok(Exit::Success);
    }
    let running =
        found.as_ref().and_then(|(id, _)| marvin_flow::engine::holder(&ground.layout.runs().join(id)));
    let goal = found.as_ref().map(|(_, goal)| goal.as_str()).unwrap_or_default();
    let run = found.as_ref().map(|(id, _)| id.as_str());
    if place.json {
        let phases: Vec<Value> =
            Phase::ALL.iter().map(|phase| phase_json(*phase, &known, says, under_way)).collect();
        output::json(
            &json!({"begun": true, "after": says.map(Phase::name), "next": next(says).map(Phase::name), "goal": goal, "run": run,
            "running": running.map(|holder| holder.pid), "problem": problem, "phases": phases}),
        )?;
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
        None if next(says).is_some() => text.push_str("go on with: marvin pipeline resume"),
        None => text.push_str("every phase is over"),
    }
    output::line(&output::visible(&text))?;
    Ok(exit)
}

fn next(says: Option<Phase>) -> Option<Phase> {
    Phase::ALL.into_iter().find(|phase| says.is_none_or(|last| *phase > last))
}

/// The phase that somebody is at, or was when they were killed, and for how long by the trace, which is read only then.
fn under_way(ground: &ProjectContext, id: &str, known: &PhaseHistory) -> Option<(Phase, u64)> {
    known.under_way(&[])?;
    let run = RunDirectory::open(&ground.layout.runs(), id).ok()?;
    known.under_way(&ledger::read(&run.trace()).ok()?.entries)
}

fn phase_json(
    phase: Phase,
    known: &PhaseHistory,
    says: Option<Phase>,
    under_way: Option<(Phase, u64)>,
) -> Value {
    let record = known.phases.get(&phase);
    json!({"phase": phase.name(), "title": phase.title(), "state": word(phase, known, says), "begun": record.map(|record| &record.begun),
        "elapsed_ms": known.worked_ms(phase, under_way), "processes": record.map(|record| record.taken),
        "facts": record.and_then(|record| record.ended.as_ref())})
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
    fn what_is_trusted_is_a_phase_or_the_record() {
        assert_eq!(trust("record").unwrap(), Trust::Record);
        assert_eq!(trust("1b").unwrap(), Trust::After(Some(Phase::Design)));
        assert_eq!(trust("none").unwrap(), Trust::After(None));
        assert!(trust("1c").unwrap_err().message.contains("there is no phase `1c`"));
    }
}
