//! Project context of every command: settings, directories, workspace and redactor.

use crate::error::SessionError;
use crate::skills::{LoadSkill, SkillRegistry};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::settings::{Origin, Setting, Settings, Sources, table};
use marvin_gate::layers::Log;
use marvin_gate::{Access, Duty, Layers, Permit, Workspace};
use marvin_model::choose;
use marvin_model::cost::{CostLedger, Lifetime};
use marvin_tools::{DynTool, Mode, ToolContext, Toolbox, servers, service, web};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Settings, directories, workspace and redactor of a project.
#[derive(Debug, Clone)]
pub struct ProjectContext {
    pub environment: Environment,
    /// The directory that the program was started in.
    pub directory: PathBuf,
    /// Whether file and command tools are on.
    pub coding: bool,
    pub settings: Arc<Settings>,
    pub layout: Layout,
    pub redactor: Arc<Redactor>,
    pub workspace: Option<Arc<Workspace>>,
    /// The ticket that this process works on.
    pub duty: Arc<Duty>,
    pub external_tools: ExternalTools,
    pub skills: Arc<SkillRegistry>,
}

/// Settings that a run is started with, and that a resume of it uses.
static STARTING: [&Setting; 14] = [
    &table::MODEL,
    &table::PROTOCOL,
    &table::TIER_CODEX,
    &table::TIER_OPUS,
    &table::TIER_PLAN,
    &table::TIER_PLAN_GEN,
    &table::TIER_TEST_WRITER,
    &table::TIER_AUX_REVIEWER,
    &table::TIER_FALLBACK,
    &table::MAX_COST,
    &table::MAX_ROUNDS,
    &table::MAX_ROUNDS_CHAT,
    &table::WORKER_ROUNDS,
    &table::DEADLINE,
];

/// Tools of other servers, and notices about those that are not available.
#[derive(Clone, Default)]
pub struct ExternalTools {
    pub tools: Vec<Arc<dyn DynTool>>,
    pub notices: Vec<String>,
}

/// Usage outside a session.
#[derive(Serialize)]
struct LifetimeUsage {
    lifetime: Lifetime,
}

impl fmt::Debug for ExternalTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
        formatter.debug_tuple("ExternalTools").field(&names).finish()
    }
}

impl ProjectContext {
    /// The settings that a run of this project starts with, as `run.json` keeps them. The provider is the one that answers,
    /// also where nothing names it.
    #[must_use]
    pub fn starting_settings(&self) -> BTreeMap<String, String> {
        let is_set = |setting: &&&Setting| {
            self.settings.value(setting).is_some_and(|value| value.origin != Origin::Default)
        };
        let mut start: BTreeMap<String, String> = STARTING
            .iter()
            .filter(is_set)
            .map(|setting| (setting.key.to_string(), self.settings.text(setting).to_string()))
            .collect();
        start.insert(table::PROVIDER.key.into(), choose::provider_name(&self.settings, &self.layout));
        if let Some(script) = self.settings.given(&table::SCRIPT) {
            start.insert(table::SCRIPT.key.into(), self.directory.join(script).display().to_string());
        }
        start
    }

    /// Removes the temporary files of a killed process from the workspace and from the record of its run. The caller must hold the
    /// lock of the run, and no step may run yet.
    pub fn remove_temporary_files(&self, run: &RunDirectory) {
        let in_workspace = self.workspace.as_deref().map_or(0, Workspace::remove_temporary_files);
        let in_record = run.remove_temporary_files();
        if in_workspace + in_record > 0 {
            tracing::info!(in_workspace, in_record, "removed temporary files of the process that was killed");
        }
    }

    /// Finds the workspace and reads the settings.
    ///
    /// # Errors
    /// When the working directory is refused or a setting is wrong.
    pub fn find(
        environment: Environment,
        directory: PathBuf,
        working_dir: Option<&Path>,
        coding: bool,
        flags: Vec<(&'static str, String)>,
    ) -> Result<Self, SessionError> {
        let coding = coding || working_dir.is_some();
        let bare = Layout::new(&environment, None);
        let home = bare.home().to_path_buf();
        let workspace = match working_dir {
            Some(path) if !directory.join(path).is_dir() => {
                return Err(SessionError::NoDirectory(path.display().to_string()));
            }
            Some(path) => Some(Workspace::open(&directory.join(path), &home)?),
            // Without --working-dir: the directory itself when coding, else the project around it; never `/` or home.
            None if coding => Workspace::open(&directory, &home).ok(),
            None => bare.find_project(&directory).and_then(|path| Workspace::open(&path, &home).ok()),
        };
        let layout = Layout::new(&environment, workspace.as_ref().map(Workspace::root));
        for path in layout.record().into_iter().flat_map(|record| [record.join("security"), record]) {
            if path.is_symlink() {
                return Err(SessionError::LinkedRecord(path.display().to_string()));
            }
        }
        if let Some(workspace) = &workspace {
            layout.check_state(workspace.root())?;
        }
        let settings = Settings::load(&Sources {
            flags: flags.into_iter().collect(),
            environment: environment.clone(),
            project: layout.project_config(),
            user: Some(layout.user_config()),
        })?;
        let mut files = choose::key_files(&layout);
        files.extend(service::key_files(&layout));
        let mut headers = web::domain_secrets(&settings, &environment);
        headers.extend(servers::secrets(&settings, &environment));
        let further = settings
            .secrets()
            .chain(files.iter().chain(&headers).map(|(name, key)| (name.as_str(), key.as_str())));
        let redactor = Arc::new(Redactor::new(&environment, further));
        marvin_base::diagnostic_log::redact_with(&redactor);
        log_project(workspace.as_ref(), &layout, &settings);
        let workspace = workspace.map(Arc::new);
        let duty = Arc::new(Duty::from_settings(&settings));
        let settings = Arc::new(settings);
        let external_tools = ExternalTools::default();
        let skills = SkillRegistry::new(&layout);
        Ok(ProjectContext {
            environment,
            directory,
            coding,
            settings,
            layout,
            redactor,
            workspace,
            duty,
            external_tools,
            skills,
        })
    }

    /// Nesting depth of the agents of this process.
    pub fn depth(&self) -> Result<i64, SessionError> {
        let (depth, deepest) = (self.settings.whole(&table::DEPTH), self.settings.whole(&table::MAX_DEPTH));
        if depth > deepest { Err(SessionError::TooDeep { depth, deepest }) } else { Ok(depth) }
    }

    /// Tools that an agent is offered here: those of the mode, the external ones, and the one that loads skills.
    #[must_use]
    pub fn toolbox(&self, mode: Mode, access: &Access) -> Toolbox {
        let mut toolbox = Toolbox::new(mode, access);
        for tool in self.external_tools.tools.iter().filter(|tool| access.offers(tool.touches())) {
            toolbox.add(tool.clone());
        }
        toolbox.add(Arc::new(LoadSkill(self.skills.clone())));
        toolbox
    }

    /// Context of a tool call outside a session.
    #[must_use]
    pub fn tool_context(&self, cancel: CancellationToken, artifacts: Option<OpenDir>) -> ToolContext {
        let lifetime = self.layout.usage();
        let usage = move |_| {
            let lifetime = Lifetime::read(&lifetime).unwrap_or_default();
            serde_json::to_value(LifetimeUsage { lifetime }).unwrap_or_default()
        };
        self.context(cancel, artifacts, Arc::new(usage))
    }

    /// The gate's layers with their log, without a model.
    #[must_use]
    pub fn layers(&self) -> Layers {
        Layers::new(&self.layout).recording(Log::new(&self.layout.security(), self.redactor.clone()))
    }

    pub(crate) fn context(
        &self,
        cancel: CancellationToken,
        artifacts: Option<OpenDir>,
        usage: Arc<dyn Fn(bool) -> Value + Send + Sync>,
    ) -> ToolContext {
        ToolContext {
            settings: self.settings.clone(),
            layout: self.layout.clone(),
            workspace: self.workspace.clone(),
            access: Access::from_settings(&self.settings),
            duty: self.duty.clone(),
            coding: self.coding,
            attended: false,
            cancel,
            redactor: self.redactor.clone(),
            layers: Arc::new(self.layers()),
            artifacts,
            usage,
            agent: None,
            progress: None,
            approver: None,
            grant: None,
            permit: Permit::default(),
        }
    }
}

/// Logs which project was found, and which settings are not defaults, without their values.
fn log_project(workspace: Option<&Workspace>, layout: &Layout, settings: &Settings) {
    let workspace = workspace.map(|workspace| tracing::field::display(workspace.root().display()));
    tracing::info!(workspace, state = %layout.project_state().display(), "project found");
    for (setting, value) in settings.iter().filter(|(_, value)| value.origin != Origin::Default) {
        tracing::debug!(key = setting.key, origin = %value.origin, "setting");
    }
}

/// Reporter that answers `get_usage`.
pub(crate) fn usage_reporter(
    cost: Arc<CostLedger>,
    lifetime: PathBuf,
) -> Arc<dyn Fn(bool) -> Value + Send + Sync> {
    Arc::new(move |include_lifetime| {
        let report = cost.totals().map(|totals| totals.report()).unwrap_or_default();
        let mut report = serde_json::to_value(report).unwrap_or_default();
        if include_lifetime && let Some(map) = report.as_object_mut() {
            let lifetime = Lifetime::read(&lifetime).unwrap_or_default();
            map.insert("lifetime".into(), serde_json::to_value(lifetime).unwrap_or(Value::Null));
        }
        report
    })
}
