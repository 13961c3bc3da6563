//! The parts that every run is opened with: prices, cost ledger, gate layers, and the frame of its turns.

use crate::compaction::Window;
use crate::error::SessionError;
use crate::evaluator;
use crate::project_context::{ProjectContext, usage_reporter};
use crate::protocol::Native;
use crate::roles::Role;
use crate::tool_host::ToolHost;
use crate::trace::Trace;
use crate::turn::{Bounds, Turn};
use marvin_base::ledger::Durability;
use marvin_base::run::RunDirectory;
use marvin_base::settings::{Setting, Settings, table};
use marvin_gate::Layers;
use marvin_model::ModelClient;
use marvin_model::cost::CostLedger;
use marvin_model::price::{self, Prices};
use marvin_tools::ToolContext;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where a run writes its cost, and how far its script was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunScope {
    /// The run may belong to a tree of runs: the settings name what its agents share.
    Tree,
    /// The run stands alone.
    Alone,
}

/// Parts of an open run.
pub(crate) struct RunParts {
    pub(crate) project: Arc<ProjectContext>,
    pub(crate) run: RunDirectory,
    pub(crate) prices: Arc<Prices>,
    pub(crate) cost: Arc<CostLedger>,
    pub(crate) script_state: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) layers: Arc<Layers>,
    /// Why no model judges commands although the settings ask for one.
    pub(crate) unjudged: Option<String>,
    pub(crate) cancel: CancellationToken,
}

impl RunParts {
    /// Opens the parts of a run whose directory exists.
    pub(crate) fn open(
        project: &Arc<ProjectContext>,
        run: &RunDirectory,
        scope: RunScope,
        prices: Prices,
        cancel: &CancellationToken,
    ) -> Result<Self, SessionError> {
        let settings = &project.settings;
        let durability = durability(settings);
        let (cost_path, lineage): (PathBuf, Vec<u32>) = match scope {
            RunScope::Tree => (
                settings.given(&table::COST_LEDGER).map_or_else(|| run.cost(), PathBuf::from),
                settings.list(&table::LINEAGE).iter().filter_map(|id| id.parse().ok()).collect(),
            ),
            RunScope::Alone => (run.cost(), Vec::new()),
        };
        let cost = CostLedger::open(
            &cost_path,
            &lineage,
            cost_limit(settings),
            durability,
            project.redactor.clone(),
        )?;
        let (cost, prices) = (Arc::new(cost), Arc::new(prices));
        let script_state = match scope {
            RunScope::Tree => script_state(settings, run),
            RunScope::Alone => run.script_state(),
        };
        let (layers, unjudged) = evaluator::layers(project, &cost, &prices, script_state.clone(), cancel);
        Ok(RunParts {
            project: project.clone(),
            run: run.clone(),
            prices,
            cost,
            script_state,
            durability,
            layers: Arc::new(layers),
            unjudged,
            cancel: cancel.clone(),
        })
    }

    /// Context of the tools that an agent of this run calls.
    pub(crate) fn tool_context(&self) -> ToolContext {
        let usage = usage_reporter(self.cost.clone(), self.project.layout.usage());
        let artifacts = Some(self.run.artifacts().clone());
        ToolContext {
            layers: self.layers.clone(),
            ..self.project.context(self.cancel.clone(), artifacts, usage)
        }
    }

    /// A turn of this run; the caller adds what its agent has of its own.
    pub(crate) fn turn(
        &self,
        client: Arc<dyn ModelClient>,
        trace: Arc<Trace>,
        tools: Arc<dyn ToolHost>,
        role: Role,
        rounds: &'static Setting,
    ) -> Turn {
        let settings = &self.project.settings;
        Turn {
            client,
            protocol: Arc::new(Native),
            tools,
            trace,
            cost: self.cost.clone(),
            prices: self.prices.clone(),
            redactor: self.project.redactor.clone(),
            bounds: Bounds {
                rounds: settings.count(rounds),
                no_progress: settings.count(&table::NO_PROGRESS),
                window: Window {
                    warn: settings.count(&table::CONTEXT_WARN),
                    compact: settings.count(&table::CONTEXT_COMPACT),
                    hard: settings.count(&table::CONTEXT_HARD),
                },
            },
            cancel: self.cancel.clone(),
            late: CancellationToken::new(),
            workspace: self.project.workspace.as_ref().map(|workspace| workspace.root().to_path_buf()),
            logs: self.run.logs().clone(),
            role: role.name().to_string(),
            step: None,
            response_schema: None,
            composer: None,
            proof: None,
            journal: None,
            stages: None,
        }
    }
}

/// How soon the ledgers of a run reach the disk.
pub(crate) fn durability(settings: &Settings) -> Durability {
    Durability::from_setting(settings.text(&table::DURABILITY))
}

/// Nano-dollars that a run may cost.
pub(crate) fn cost_limit(settings: &Settings) -> Option<u64> {
    settings.amount(&table::MAX_COST).map(price::nanos)
}

/// Where a run keeps how far its script was played.
pub(crate) fn script_state(settings: &Settings, run: &RunDirectory) -> PathBuf {
    settings.given(&table::SCRIPT_STATE).map_or_else(|| run.script_state(), PathBuf::from)
}
