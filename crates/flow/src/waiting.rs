//! Steps of workflows that wait for a person, for the list of everything that waits (`marvin_agent::chat`).
//!
//! The record of a run is read again only after it changed, so that a front end can ask every second. An answer is recorded as
//! `marvin workflow approve`, `answer` and `settle` record it: who decided, first in the person's decisions, then in the run.

use crate::engine::{self, EngineError, PersonDecision};
use crate::record::{FILE, Record, WaitingStep};
use marvin_agent::chat::{Answer, AnswerWord, Approval, ChatError, Choice, Kind, StepSource, choice};
use marvin_base::file_stamp::FileStamp;
use marvin_base::person::Person;
use marvin_base::run_record::{self, RunRecord};
use marvin_base::{ids, truncate};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const APPROVE: &[Choice] = &[
    choice(AnswerWord::Yes, "Approve"),
    choice(AnswerWord::No, "Refuse"),
    choice(AnswerWord::Edit, "Refuse, with this reason"),
];
const ANSWER: &[Choice] = &[choice(AnswerWord::Edit, "Send this answer")];
const WORKER: &[Choice] = &[
    choice(AnswerWord::Yes, "Continue"),
    choice(AnswerWord::No, "Give it up"),
    choice(AnswerWord::Edit, "Send this answer"),
];
const SETTLE: &[Choice] = &[
    choice(AnswerWord::Yes, "It is done"),
    choice(AnswerWord::No, "It failed"),
    choice(AnswerWord::Again, "Run it again"),
];

/// What a step needs a person for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepQuestion {
    Approval,
    Answer,
    /// An answer to its worker, which cannot continue alone.
    Worker,
    /// The outcome of an attempt that was interrupted, or a merge conflict.
    Outcome,
}

impl StepQuestion {
    fn from_data(blocked: Option<&str>) -> Self {
        match blocked {
            Some("approve") => StepQuestion::Approval,
            Some("answer") => StepQuestion::Answer,
            Some("worker") => StepQuestion::Worker,
            _ => StepQuestion::Outcome,
        }
    }

    fn choices(self) -> &'static [Choice] {
        match self {
            StepQuestion::Approval => APPROVE,
            StepQuestion::Answer => ANSWER,
            StepQuestion::Worker => WORKER,
            StepQuestion::Outcome => SETTLE,
        }
    }

    fn title(self, step: &str) -> String {
        match self {
            StepQuestion::Approval => format!("Approve step {step}?"),
            StepQuestion::Answer => format!("Step {step} asks"),
            StepQuestion::Worker => format!("Step {step} cannot continue alone"),
            StepQuestion::Outcome => format!("What became of step {step}?"),
        }
    }

    /// The decision that an answer means, and the command that would make it.
    fn decision(self, answer: &Answer) -> Option<(PersonDecision, &'static str)> {
        let approve = |yes: bool, reason: &str| PersonDecision::Approve { yes, reason: reason.to_string() };
        let settle = |word: &str| PersonDecision::Settle { word: word.to_string(), outputs: Map::new() };
        let reject = "workflow approve --reject";
        Some(match (self, answer) {
            (StepQuestion::Approval | StepQuestion::Worker, Answer::Yes) => {
                (approve(true, ""), "workflow approve")
            }
            (StepQuestion::Approval | StepQuestion::Worker, Answer::No) => (approve(false, ""), reject),
            (StepQuestion::Approval, Answer::Edit(reason)) => (approve(false, reason.trim()), reject),
            (StepQuestion::Answer | StepQuestion::Worker, Answer::Edit(text)) => {
                (PersonDecision::Answer(text.as_str().into()), "workflow answer")
            }
            (StepQuestion::Outcome, Answer::Yes) => (settle("done"), "workflow settle"),
            (StepQuestion::Outcome, Answer::No) => (settle("failed"), "workflow settle"),
            (StepQuestion::Outcome, Answer::Again) => (settle("again"), "workflow settle"),
            _ => return None,
        })
    }
}

/// Waiting steps of the runs of a project, with what was read of each run and when.
#[derive(Debug, Default)]
pub struct WaitingSteps {
    runs: Mutex<BTreeMap<PathBuf, CachedRun>>,
}

#[derive(Debug, Clone)]
struct CachedRun {
    /// Of the record and its write-ahead log.
    stamps: [Option<FileStamp>; 2],
    waiting: Vec<Approval>,
}

impl WaitingSteps {
    fn of_run(&self, run: &Path) -> Vec<Approval> {
        let file = run.join(FILE);
        let stamps = [FileStamp::from_path(&file), FileStamp::from_path(&run.join(format!("{FILE}-wal")))];
        if stamps[0].is_none() {
            return Vec::new();
        }
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |known: &CachedRun| known.stamps.iter().zip(stamps).all(|(old, new)| FileStamp::still(*old, new));
        if let Some(known) = runs.get(run).filter(|known| same(known)) {
            return known.waiting.clone();
        }
        // A record that cannot be read now is tried again; `inspect-run` says what is wrong with it.
        let Ok(steps) = Record::waiting(run) else { return Vec::new() };
        let waiting: Vec<Approval> = steps.iter().map(|step| approval(run, step)).collect();
        runs.insert(run.to_path_buf(), CachedRun { stamps, waiting: waiting.clone() });
        waiting
    }
}

fn approval(run: &Path, step: &WaitingStep) -> Approval {
    let question = StepQuestion::from_data(step.data.blocked.as_deref());
    let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let goal = RunRecord::read(run).ok().and_then(|record| record.goal).unwrap_or_default();
    let since = marvin_base::clock::stamp_of(step.since_ms);
    Approval {
        id: format!("step:{name}:{}", step.step_id),
        kind: Kind::Step,
        title: question.title(&step.step_id),
        text: step.data.error.clone().unwrap_or_default(),
        source: format!("run {name}"),
        why: match goal.is_empty() {
            true => format!("the run waits since {since}"),
            false => format!("{}; the run waits since {since}", truncate::line(&goal, 200)),
        },
        choices: question.choices(),
    }
}

/// The run directory and the step that an id names.
fn find<'a>(runs: &[PathBuf], id: &'a str) -> Option<(PathBuf, &'a str)> {
    let (run, step) = id.strip_prefix("step:")?.split_once(':')?;
    ids::run_started(run)?;
    let path = runs.iter().map(|runs| runs.join(run)).find(|path| path.join(FILE).is_file())?;
    (!path.is_symlink()).then_some((path, step))
}

fn failed(error: &EngineError) -> ChatError {
    let hint = error.hint().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
    ChatError::Failed(format!("{error}{hint}"))
}

impl StepSource for WaitingSteps {
    fn waiting(&self, runs: &[PathBuf]) -> Vec<Approval> {
        let mut all: Vec<PathBuf> = runs.iter().flat_map(|runs| run_record::list(runs)).collect();
        all.sort_by(|one, two| one.file_name().cmp(&two.file_name()));
        all.iter().flat_map(|run| self.of_run(run)).collect()
    }

    fn answer(
        &self,
        runs: &[PathBuf],
        id: &str,
        answer: &Answer,
        person: &Person,
    ) -> Result<String, ChatError> {
        let missing = || ChatError::NotWaiting(truncate::line(id, 80));
        let (run, step) = find(runs, id).ok_or_else(missing)?;
        let waiting = Record::waiting(&run).map_err(|error| ChatError::Failed(error.to_string()))?;
        let found = waiting.iter().find(|waiting| waiting.step_id == step).ok_or_else(missing)?;
        let question = StepQuestion::from_data(found.data.blocked.as_deref());
        let (decision, command) = question.decision(answer).ok_or_else(missing)?;
        person
            .record(command, &format!("{} {step}", run.display()))
            .map_err(|error| ChatError::Failed(format!("nothing was decided: {error}")))?;
        let by = person.decided_by();
        let recorded = match engine::record_decision(&run, step, &decision, by) {
            // The step may want a number or a list, which a person types as JSON.
            Err(error @ EngineError::Decision { .. }) => match as_json(&decision) {
                Some(decision) => engine::record_decision(&run, step, &decision, by),
                None => Err(error),
            },
            recorded => recorded,
        };
        recorded.map_err(|error| failed(&error))?;
        Ok(match engine::holder(&run) {
            Some(_) => format!("noted for step {step}; the run takes it"),
            None => {
                format!("noted for step {step}; resume with: marvin resume-run --run-path {}", run.display())
            }
        })
    }
}

/// The same answer, read as JSON that is not a text.
fn as_json(decision: &PersonDecision) -> Option<PersonDecision> {
    let PersonDecision::Answer(Value::String(text)) = decision else { return None };
    let value: Value = serde_json::from_str(text).ok()?;
    (!value.is_string()).then_some(PersonDecision::Answer(value))
}
