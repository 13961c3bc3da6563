//! The ground that every command stands on, session or not: settings, directories, workspace and redactor; and a call of one
//! tool outside a turn.

use crate::launch;
use crate::servitors::Servitors;
use crate::session::{self, SessionError};
use crate::tool_caller::ToolCaller;
use crate::tool_host::ToolCallResult;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_base::run_record::{RunKind, RunStatus};
use marvin_base::settings::{Settings, Sources, table};
use marvin_gate::layers::Log;
use marvin_gate::{Access, Duty, Layers, Permit, Workspace};
use marvin_model::ToolCall;
use marvin_model::choose;
use marvin_model::cost::{CostLedger, Lifetime};
use marvin_tools::{DynTool, Mode, ToolContext, Toolbox, servers, web};
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Settings, directories and redactor: what every command needs, session or not.
#[derive(Debug, Clone)]
pub struct ProjectContext {
    /// The environment.
    pub environment: Environment,
    /// The directory that the program was started in.
    pub directory: PathBuf,
    /// Whether file and command tools are on.
    pub coding: bool,
    /// The settings.
    pub settings: Arc<Settings>,
    /// The directories.
    pub layout: Layout,
    /// What must not be shown.
    pub redactor: Arc<Redactor>,
    /// The workspace, if there is one.
    pub workspace: Option<Arc<Workspace>>,
    /// The ticket that this process works on.
    pub duty: Arc<Duty>,
    /// Tools of others, lent for as long as whoever lends them lives.
    pub lent: ExternalTools,
}

/// Tools of others, and what is to be said of those that are not there.
#[derive(Clone, Default)]
pub struct ExternalTools {
    /// The tools.
    pub tools: Vec<Arc<dyn DynTool>>,
    /// What a person should know.
    pub notices: Vec<String>,
}

impl fmt::Debug for ExternalTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
        formatter.debug_tuple("Lent").field(&names).finish()
    }
}

impl ProjectContext {
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
        let files = choose::key_files(&layout);
        let mut headers = web::domain_secrets(&settings, &environment);
        headers.extend(servers::secrets(&settings, &environment));
        let further = settings
            .secrets()
            .chain(files.iter().chain(&headers).map(|(name, key)| (name.as_str(), key.as_str())));
        let redactor = Arc::new(Redactor::new(&environment, further));
        let workspace = workspace.map(Arc::new);
        let duty = Arc::new(Duty::from_settings(&settings));
        let settings = Arc::new(settings);
        let lent = ExternalTools::default();
        Ok(ProjectContext {
            environment,
            directory,
            coding,
            settings,
            layout,
            redactor,
            workspace,
            duty,
            lent,
        })
    }

    /// How deep agents on this ground are nested.
    ///
    /// # Errors
    /// When that is deeper than is allowed: nobody works there.
    pub fn depth(&self) -> Result<i64, SessionError> {
        let (depth, deepest) = (self.settings.whole(&table::DEPTH), self.settings.whole(&table::MAX_DEPTH));
        if depth > deepest { Err(SessionError::TooDeep { depth, deepest }) } else { Ok(depth) }
    }

    /// The tools that an agent on this ground is offered: those of the mode, and those that are lent.
    #[must_use]
    pub fn toolbox(&self, mode: Mode, access: &Access) -> Toolbox {
        let mut toolbox = Toolbox::new(mode, access);
        for tool in self.lent.tools.iter().filter(|tool| access.offers(tool.touches())) {
            toolbox.add(tool.clone());
        }
        toolbox
    }

    /// What a tool knows of the world when it is called outside a session.
    #[must_use]
    pub fn tool_context(&self, cancel: CancellationToken, artifacts: Option<OpenDir>) -> ToolContext {
        let lifetime = self.layout.usage();
        let usage = move |_| {
            let lifetime = Lifetime::read(&lifetime).unwrap_or_default();
            json!({ "lifetime": lifetime })
        };
        self.context(cancel, artifacts, Arc::new(usage))
    }

    /// The gate's layers, with their log; no model is asked.
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

/// Makes one call outside a turn, with a run of its own as its record.
///
/// # Errors
/// When the record cannot be written.
pub async fn record_call(
    ground: &ProjectContext,
    call: &ToolCall,
    cancel: CancellationToken,
) -> Result<ToolCallResult, SessionError> {
    let desk = ToolCaller::new(ground, RunKind::Tool, Box::new(|_| {}));
    let access = Access::from_settings(&ground.settings);
    let mut toolbox = Toolbox::new(Mode::Coding, &access);
    launch::add(&mut toolbox, &access, desk.launcher(call)?.as_ref());
    let shared = Arc::new(ground.clone());
    let servitors = Servitors::new(shared.clone(), "marvin tools call");
    session::add_tools(&mut toolbox, &shared, &servitors, &access);
    let called = desk.call(&toolbox, call, cancel, None).await?;
    desk.close(if called.ok { RunStatus::Success } else { RunStatus::Failed })?;
    Ok(called)
}

/// What `get_usage` is told.
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
