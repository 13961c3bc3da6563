//! One agent of a phase: an attempt under a key, with its rights, its ticket and its commit.

use super::{Pipeline, interrupted};
use crate::phase::Phase;
use crate::stop::{Halt, Stop};
use crate::{files, oracle};
use marvin_agent::compose::PromptExtra;
use marvin_agent::launch::ModelChoice;
use marvin_agent::outcome::Status;
use marvin_agent::protocol;
use marvin_agent::roles::Role;
use marvin_agent::step_agents::{Job, JobResult, Rights};
use marvin_base::files::{self as bounded, Links};
use marvin_base::trace_event::{TraceEvent, WorkerEvent, WorkerOutcome};
use marvin_base::{atomic, truncate};
use marvin_flow::retry::Snapshot;
use marvin_gate::{Access, Duty, Scope};
use marvin_tools::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often an agent is asked again after it was blocked.
const MAX_BLOCKED_RETRIES: usize = 20;
const MAX_BASELINE_BYTES: u64 = 128 * 1024 * 1024;
/// Tools that only read.
const READ_TOOLS: [&str; 9] = [
    "read_file",
    "tree",
    "list_files",
    "code_grep",
    "git_status",
    "git_diff",
    "git_log",
    "get_usage",
    "load_skill",
];

/// The only tool of pipeline agents that reaches the network.
const INSTALL_TOOL: &str = "install_packages";
/// The beginning of the names of tools for clones of other repositories.
const CLONE_TOOLS: &str = "github_";

/// The access of an agent.
#[derive(Debug, Clone)]
pub(crate) enum TaskAccess {
    /// Read.
    Read,
    /// Read, and write these files with these tools.
    Write(Vec<String>, &'static [&'static str]),
    /// Read, run, and write what the scope leaves open; with a ticket of its own.
    Work(Scope),
}

/// The task of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) phase: Phase,
    /// The step id in records and scripts.
    pub(crate) step: String,
    pub(crate) role: Role,
    pub(crate) model: ModelChoice,
    pub(crate) text: String,
    pub(crate) may: TaskAccess,
    pub(crate) schema: Option<Value>,
    pub(crate) commitments: Vec<String>,
}

/// The result of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AgentReport {
    /// The status of its turn.
    pub(crate) status: String,
    /// Its summary, with the result of the verification.
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) outputs: Map<String, Value>,
    /// Files of the oracle that it changed; they were restored.
    #[serde(default)]
    pub(crate) tampered: Vec<String>,
    /// Files outside of its scope that it wrote; they were restored.
    #[serde(default)]
    pub(crate) outside: Vec<String>,
}

/// The files when an agent began.
#[derive(Debug, Serialize, Deserialize)]
struct FileBaseline {
    marks: Snapshot,
    /// Files outside of its scope, as hexadecimal digits.
    contents: BTreeMap<String, String>,
}

impl AgentReport {
    pub(crate) fn succeeded(&self) -> bool {
        self.status == Status::Success.name()
    }
}

impl Pipeline {
    /// Lets an agent work, or returns its recorded result.
    pub(crate) async fn work(&self, task: &Task) -> Result<AgentReport, Halt> {
        let mut key = self.key(task.phase, &task.step);
        let mut asked = None;
        for number in 2..=MAX_BLOCKED_RETRIES {
            let Some(kept) = self.agents.kept(&key)? else { break };
            let report: AgentReport = serde_json::from_value(kept)
                .map_err(|error| Halt::Tool(format!("the record of {key}: {error}")))?;
            if report.status != Status::Blocked.name() {
                return Ok(report);
            }
            // It was blocked, and the pipeline was resumed: it is asked again.
            asked = Some(report.summary);
            key = format!("{}-again{number}", self.key(task.phase, &task.step));
        }
        if self.cancel.is_cancelled() {
            return Err(interrupted());
        }
        let ticket = self.tickets()?.phase(task.phase)?;
        let duty = self.duty(task, &key, &ticket)?;
        let mut job = self.job(task, &key, &duty);
        if let Some(questions) = asked {
            job.task.push_str(&self.answered(&questions));
        }
        let mut worker = Box::new(WorkerEvent {
            phase: Some(task.phase.name().into()),
            step_id: task.step.clone(),
            worker_role: task.role.name().into(),
            readonly: job.readonly,
            ticket: duty.parent().map(str::to_string),
            ..WorkerEvent::default()
        });
        self.trace.event(TraceEvent::WorkerStarted(worker.clone()))?;
        let before = self.snapshot(task, &key)?;
        let done = self.agents.work(&job, &self.cancel).await?;
        let mut report = agent_report(&done);
        match done.outcome.status {
            Status::Budget => return Err(budget(&done)),
            Status::Interrupted => return Err(interrupted()),
            _ if self.cancel.is_cancelled() => return Err(interrupted()),
            Status::Failed if done.outcome.reason == "model_error" => {
                let why = done.outcome.error.clone().unwrap_or_default();
                return Err(Halt::failed(
                    "model_error",
                    format!(
                        "cannot reach the model: {why}\n  hint: run the same command to continue from here"
                    ),
                ));
            }
            _ => {}
        }
        if !job.readonly {
            self.restore_files(task, before.as_ref(), &mut report)?;
            let own = duty.current().unwrap_or_else(|| ticket.clone());
            self.commit(&format!("{}: {}", task.step, truncate::line(&report.summary, 72)), &own).await?;
            if let Some(own) = duty.current() {
                self.tickets()?.close(&own)?;
            }
        }
        self.keep(&key, &report)?;
        worker.outcome = Some(WorkerOutcome {
            status: report.status.clone(),
            summary: self.trace.within_text(&report.summary, 2_000),
            tampered: Some(report.tampered.clone()),
            outside: Some(report.outside.clone()),
            ..WorkerOutcome::default()
        });
        self.trace.event(TraceEvent::WorkerCompleted(worker))?;
        if report.status == Status::Blocked.name() {
            let message = format!(
                "{} needs a person: {}\n  hint: continue with `marvin pipeline resume --answer 'YOUR ANSWER'`",
                task.step, report.summary
            );
            return Err(Halt::Stop(Stop { status: Status::Blocked, reason: "blocked", message }));
        }
        Ok(report)
    }

    /// The part of a task that tells an agent what it had asked, and the answer.
    fn answered(&self, questions: &str) -> String {
        let answer = self.answer.as_deref().unwrap_or(
            "The person resumed the work without an answer. Look again at the files; ask again only what they do not settle.",
        );
        format!("\n# You had asked\n{}\n\n# The answer\n{}\n", questions.trim(), answer.trim())
    }

    fn job(&self, task: &Task, key: &str, duty: &Arc<Duty>) -> Job {
        let (access, tools) = match &task.may {
            TaskAccess::Read => (Access::Readonly, Some(self.coding_tools(&Access::Readonly))),
            TaskAccess::Write(files, tools) => {
                let names = READ_TOOLS.iter().chain(tools.iter()).map(|name| (*name).to_string()).collect();
                (Access::writable(files.iter().cloned()), Some(names))
            }
            TaskAccess::Work(scope) => {
                let access = Access::Scoped(scope.clone());
                let tools = self.coding_tools(&access);
                (access, Some(tools))
            }
        };
        Job {
            key: key.to_string(),
            role: task.role,
            step: task.step.clone(),
            attempt: 1,
            call_id: format!("call-{}", task.step),
            task: task.text.clone(),
            workspace: None,
            readonly: matches!(task.may, TaskAccess::Read),
            commitments: task.commitments.clone(),
            outputs_schema: task.schema.clone(),
            extras: [self.policy(), self.listing()].into_iter().chain(self.extras.iter().cloned()).collect(),
            rights: Rights {
                access: Some(access),
                duty: Some(duty.clone()),
                tools,
                model: task.model,
                logs_calls: true,
            },
        }
    }

    /// The tools of coding without those for other places: the network, and clones of other repositories. Packages are
    /// installed by the project's own manager.
    fn coding_tools(&self, access: &Access) -> Vec<String> {
        let toolbox = self.project.toolbox(Mode::Coding, access);
        let is_local = |name: &str| {
            !name.starts_with(CLONE_TOOLS) && toolbox.find(name).is_ok_and(|tool| !tool.touches().network)
        };
        let stays = |name: &&str| *name == INSTALL_TOOL || is_local(name);
        toolbox.names().into_iter().filter(stays).map(str::to_string).collect()
    }

    /// The no-mock policy, which is part of every prompt.
    fn policy(&self) -> PromptExtra {
        PromptExtra {
            name: "Tests".into(),
            text: include_str!("../../prompts/policy.md").trim().to_string(),
            priority: 90,
        }
    }

    /// The list of files for the prompt.
    fn listing(&self) -> PromptExtra {
        let size =
            |path: &String| std::fs::symlink_metadata(self.root().join(path)).map_or(0, |facts| facts.len());
        let mut lines: Vec<String> = files::all(self.root())
            .iter()
            .take(120)
            .map(|path| format!("{path} ({} bytes)", size(path)))
            .collect();
        let upstream = self.project.layout.upstream().unwrap_or_default();
        let names = std::fs::read_dir(upstream)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.map(|name| format!(".marvin/upstream/{name} (for reading only)")).collect();
        names.sort_unstable();
        lines.extend(names);
        let text = if lines.is_empty() { "none yet".to_string() } else { lines.join("\n") };
        PromptExtra { name: "Files of the project".into(), text, priority: 40 }
    }

    /// The ticket of the agent, with the child that an earlier process of the same attempt made.
    fn duty(&self, task: &Task, key: &str, ticket: &str) -> Result<Arc<Duty>, Halt> {
        let works = matches!(task.may, TaskAccess::Work(_));
        let duty = Arc::new(Duty::new(works.then_some(ticket)));
        if !works {
            return Ok(duty);
        }
        let children = self.tickets()?.children(ticket)?;
        let path = self.agents.beside(key, "tickets.json");
        let before: Option<BTreeSet<String>> = bounded::read_text(&path, 1024 * 1024, Links::Refuse)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok());
        match before {
            Some(before) => {
                duty.recall(
                    false,
                    children.iter().find(|child| !before.contains(*child)).map(String::as_str),
                );
            }
            None => atomic::replace(&path, &serde_json::to_vec(&children).unwrap_or_default())?,
        }
        Ok(duty)
    }

    /// The files when the attempt began, possibly in an earlier process; only for a scope with open files.
    fn snapshot(&self, task: &Task, key: &str) -> Result<Option<FileBaseline>, Halt> {
        let TaskAccess::Work(scope) = &task.may else { return Ok(None) };
        if scope.open.is_empty() {
            return Ok(None);
        }
        let path = self.agents.beside(key, "before.json");
        let read = bounded::read_text(&path, MAX_BASELINE_BYTES, Links::Refuse).ok();
        if let Some(before) = read.and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(Some(before));
        }
        let closed = files::all(self.root()).into_iter().filter(|path| !scope.allows(path));
        let before = FileBaseline {
            marks: Snapshot::take(self.root()),
            contents: oracle::contents(self.root(), closed),
        };
        atomic::replace(&path, &serde_json::to_vec(&before).unwrap_or_default())?;
        Ok(Some(before))
    }

    /// Restores files that an agent must not change: its commands can write where the file tools refuse to.
    fn restore_files(
        &self,
        task: &Task,
        before: Option<&FileBaseline>,
        report: &mut AgentReport,
    ) -> Result<(), Halt> {
        if let (Some(before), TaskAccess::Work(scope)) = (before, &task.may) {
            let after = Snapshot::take(self.root());
            let touched = before.marks.touched(&after).into_iter().filter(|path| !scope.allows(path));
            for path in touched {
                report.outside.push(path.to_string());
                let content = before.contents.get(path);
                // A file that was too large to keep cannot be restored; it is only reported.
                if content.is_some() || !before.marks.contains(path) {
                    oracle::restore(self.root(), path, content)?;
                }
            }
        }
        if task.phase >= Phase::Implementation {
            report.tampered = self.oracle()?.restore(self.root())?;
        }
        Ok(())
    }
}

/// The report of a finished turn.
fn agent_report(done: &JobResult) -> AgentReport {
    let outcome = &done.outcome;
    let mut summary = outcome.text.trim().to_string();
    if let Some(text) =
        outcome.data.get("summary").and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    {
        summary = text.trim().to_string();
    }
    if summary.is_empty() {
        summary = outcome.error.clone().unwrap_or_else(|| outcome.reason.replace('_', " "));
    }
    if outcome.status == Status::NotVerified {
        let found = outcome.verification.last().map(|last| last.summary.clone()).unwrap_or_default();
        summary = format!("not verified ({found}); the agent had said: {summary}");
    }
    AgentReport {
        status: outcome.status.name().into(),
        summary: truncate::head(&summary, 6_000),
        outputs: protocol::outputs(&outcome.data),
        tampered: Vec::new(),
        outside: Vec::new(),
    }
}

fn budget(done: &JobResult) -> Halt {
    let message = done.outcome.error.clone().unwrap_or_else(|| "the budget is spent".into());
    let message = format!(
        "{message}\n  hint: raise it with --max-cost, and run the same command to continue from here"
    );
    Halt::Stop(Stop { status: Status::Budget, reason: "max_cost", message })
}
