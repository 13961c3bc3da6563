//! Orders for sub-agents, and the processes that carry them out.

use super::launcher::Launcher;
use super::model::{ModelChoice, WantedModel};
use super::report::{self, SubAgentReport};
use crate::roles::Role;
use marvin_base::atomic;
use marvin_base::child::{self, Child, Outcome};
use marvin_base::clock;
use marvin_base::layout::state;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::Access;
use marvin_model::price::{dollars, nanos};
use marvin_tools::{ToolContext, ToolError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Variables that would lead a child's programs to this process's own.
const REMOVED: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];
/// Time beyond its deadline in which a child closes its record and reports.
const GRACE: Duration = Duration::from_secs(20);
/// Bytes of its output that are kept: one result object.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Characters of the prompt, and bytes of each stream, in its log.
const MAX_LOGGED_PROMPT_CHARS: usize = 500;
const MAX_LOGGED_STREAM_BYTES: usize = 64 * 1024;

/// Order for a sub-agent.
#[derive(Debug, Clone)]
pub struct Order {
    pub role: Role,
    pub prompt: String,
    pub directory: PathBuf,
    pub access: Access,
    pub ticket: Option<String>,
    pub model: ModelChoice,
    /// Commitments, as `KIND:ASSERTION`.
    pub commitments: Vec<String>,
    /// Whether it works as a pipeline, in phases.
    pub in_phases: bool,
    pub deadline: Duration,
    /// US dollars that it may spend; none: what is left to this process.
    pub budget: Option<f64>,
}

/// Log files of a sub-agent.
#[derive(Debug)]
struct Logs {
    /// For people.
    name: String,
    calls: PathBuf,
}

impl Launcher {
    /// Starts a sub-agent and waits for its end.
    pub(super) async fn run(
        &self,
        order: &Order,
        context: &ToolContext,
    ) -> Result<SubAgentReport, ToolError> {
        let label = format!("{}{}", order.role.name().to_lowercase(), self.next());
        let label = format!("{label}-{}", clock::now().as_second());
        let logs = Logs {
            name: format!("{label}.log"),
            calls: self.logs.path().join(format!("{label}.tools.jsonl")),
        };
        let model = order.model.model(order.role, &self.provider, &context.settings, &context.layout).wanted;
        let child = self.child(order, model.as_ref(), &logs, context)?;
        let outcome = child::run(child, &context.cancel)
            .await
            .map_err(|error| ToolError::Failed(format!("the sub-agent could not be started: {error}")))?;
        let mut launched = report::read(order.role, order.deadline, &outcome);
        launched.depth = context.settings.whole(&table::DEPTH) + 1;
        launched.model = launched.model.or(model.map(|wanted| wanted.model));
        launched.log = self.logs.path().join(&logs.name).display().to_string();
        launched.tool_log = logs.calls.display().to_string();
        // The record of the child is whole without this log, which is for people.
        self.write_log(order, &launched, &outcome, &logs, context).ok();
        Ok(launched)
    }

    fn child(
        &self,
        order: &Order,
        model: Option<&WantedModel>,
        logs: &Logs,
        context: &ToolContext,
    ) -> Result<Child, ToolError> {
        let mut words = vec!["--non-interactive".to_string(), "--output-format".into(), "json".into()];
        words.extend(["--working-dir".into(), order.directory.display().to_string()]);
        words.push(format!("--deadline={}", order.deadline.as_secs().max(1)));
        words.extend(order.commitments.iter().map(|commitment| format!("--commitment={commitment}")));
        if order.in_phases {
            words.push("--design-first".into());
        }
        let mut child = Child::new(self.program.clone()).args(words);
        child.directory = Some(self.directory.clone());
        child.input = order.prompt.clone().into_bytes();
        child.deadline = order.deadline + GRACE;
        child.keep = MAX_OUTPUT_BYTES;
        let mut removed: Vec<String> = REMOVED.map(str::to_string).into();
        let mut set = self.flags.clone();
        for (name, value) in self.variables(order, model, logs, context)? {
            match value {
                Some(value) => {
                    set.insert(name.to_string(), value);
                }
                None => removed.push(name.to_string()),
            }
        }
        let provider =
            model.and_then(|wanted| wanted.provider.clone()).zip(table::PROVIDER.variables.first());
        if let Some((provider, variable)) = provider {
            set.insert((*variable).to_string(), provider);
        }
        child.set = set;
        child.remove = removed;
        Ok(child)
    }

    /// Environment of a child; none for a variable that it must not inherit.
    fn variables(
        &self,
        order: &Order,
        model: Option<&WantedModel>,
        logs: &Logs,
        context: &ToolContext,
    ) -> Result<BTreeMap<&'static str, Option<String>>, ToolError> {
        let depth = context.settings.whole(&table::DEPTH) + 1;
        let files = match &order.access {
            Access::WritableFiles(files) => Some(files.iter().cloned().collect::<Vec<_>>().join(",")),
            Access::Full | Access::Readonly | Access::Scoped(_) => None,
        };
        let lineage: Vec<String> = self.cost.lineage().iter().map(ToString::to_string).collect();
        Ok(BTreeMap::from([
            ("MARVIN_DEPTH", Some(depth.to_string())),
            ("MARVIN_ROLE", Some(order.role.name().to_string())),
            ("MARVIN_STEP", None),
            ("MARVIN_MODEL", model.map(|wanted| wanted.model.clone())),
            ("MARVIN_TICKET", order.ticket.clone()),
            ("MARVIN_READONLY", (order.access == Access::Readonly).then(|| "1".to_string())),
            ("MARVIN_WRITABLE_FILES", files),
            ("MARVIN_SUBAGENT_LOG", Some(logs.calls.display().to_string())),
            ("MARVIN_COST_LEDGER", Some(self.cost.path().display().to_string())),
            ("MARVIN_LINEAGE", Some(lineage.join(","))),
            // A session of `self-improve` has a state directory that is not in the environment of this process.
            (state::VARIABLE, Some(context.layout.state().display().to_string())),
            ("MARVIN_SCRIPT_STATE", Some(self.script_state.display().to_string())),
            ("MARVIN_MAX_COST", self.limit(order.budget)?.map(|limit| dollars(limit).to_string())),
            ("PYTHONUNBUFFERED", Some("1".to_string())),
        ]))
    }

    /// The bound on the tree's cost for a child: this process's own, or less.
    fn limit(&self, budget: Option<f64>) -> Result<Option<u64>, ToolError> {
        let Some(budget) = budget else { return Ok(self.cost.limit()) };
        let spent = self.cost.tree().map_err(|error| ToolError::Failed(error.to_string()))?.cost;
        let own = spent.saturating_add(nanos(budget));
        Ok(Some(self.cost.limit().map_or(own, |limit| limit.min(own))))
    }

    fn write_log(
        &self,
        order: &Order,
        launched: &SubAgentReport,
        outcome: &Outcome,
        logs: &Logs,
        context: &ToolContext,
    ) -> Result<(), atomic::WriteError> {
        let calls = std::fs::read_to_string(&logs.calls).unwrap_or_default();
        let line = |line: &str| {
            let entry: serde_json::Value = serde_json::from_str(line).ok()?;
            let text = |key: &str| entry.get(key).and_then(|value| value.as_str()).unwrap_or_default();
            Some(format!("{} {} {} -> {}", text("ts"), text("tool"), text("args"), text("result")))
        };
        let calls: Vec<String> = calls.lines().filter_map(line).collect();
        let stream = |bytes: &child::Output| truncate::middle(&bytes.text(), MAX_LOGGED_STREAM_BYTES);
        let text = format!(
            "role: {}\nmodel: {}\nstatus: {} ({})\nexit code: {}\nticket: {}\n\n--- prompt\n{}\n\n--- calls\n{}\n\n--- standard output\n{}\n\n--- standard error\n{}\n",
            launched.role,
            launched.model.as_deref().unwrap_or("its own"),
            launched.status,
            launched.reason,
            launched.exit_code.map_or_else(|| "none".to_string(), |code| code.to_string()),
            order.ticket.as_deref().unwrap_or("none"),
            truncate::head(&order.prompt, MAX_LOGGED_PROMPT_CHARS),
            calls.join("\n"),
            stream(&outcome.stdout),
            stream(&outcome.stderr),
        );
        let place = self.logs.place().join(&logs.name);
        atomic::replace(&place, context.redactor.text(&text).as_bytes())
    }
}
