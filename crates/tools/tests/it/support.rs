//! Shared fixture of the tests.

use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, Sources};
use marvin_gate::layers::Log;
use marvin_gate::{Access, Duty, Layers, Permit, Workspace};
use marvin_model::Arguments;
use marvin_tools::{CallOutcome, Mode, ToolContext, Toolbox};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A home with a workspace in it, and the tools to work there.
pub(crate) struct Fixture {
    _directory: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) toolbox: Toolbox,
    pub(crate) context: ToolContext,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Fixture::with(Mode::Coding, &Access::Full, &[])
    }

    pub(crate) fn with(mode: Mode, access: &Access, variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("work");
        std::fs::create_dir_all(root.join("src")).unwrap();
        let mut environment = Environment::from_iter(variables.iter().copied());
        environment = environment.with("HOME", home.display().to_string());
        let settings =
            Settings::load(&Sources { environment: environment.clone(), ..Sources::default() }).unwrap();
        let layout = Layout::new(&environment, Some(&root));
        let redactor = Arc::new(Redactor::patterns_only());
        let context = ToolContext {
            layout: layout.clone(),
            workspace: Some(Arc::new(Workspace::open(&root, &home).unwrap())),
            access: access.clone(),
            duty: Arc::new(Duty::from_settings(&settings)),
            coding: mode == Mode::Coding,
            attended: false,
            cancel: CancellationToken::new(),
            layers: Arc::new(Layers::new(&layout).recording(Log::new(&layout.security(), redactor.clone()))),
            redactor,
            artifacts: None,
            settings: Arc::new(settings),
            usage: Arc::new(|lifetime| json!({"turns": 3, "lifetime": lifetime})),
            agent: None,
            progress: None,
            approver: None,
            grant: None,
            permit: Permit::default(),
        };
        Fixture { _directory: directory, home, root, toolbox: Toolbox::new(mode, access), context }
    }

    /// With a run of its own in the workspace, as in a session.
    pub(crate) fn with_run(mut self) -> Self {
        let run = self.root.join(".marvin/runs/run_1");
        std::fs::create_dir_all(&run).unwrap();
        self.context.artifacts = Some(OpenDir::create(&run.join("artifacts")).unwrap());
        self
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        self.toolbox.call(tool, &Arguments::from_value(arguments), &self.context).await
    }

    #[track_caller]
    pub(crate) fn write(&self, path: &str, text: &str) {
        marvin_testing::write(self.root.join(path), text);
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// A call that succeeds; its facts must be what the tool declares.
    pub(crate) async fn good(&self, tool: &str, arguments: Value) -> String {
        let called = self.call(tool, arguments.clone()).await;
        assert!(called.result.ok, "{tool} {arguments}: {}", called.result.for_model());
        let schema = self.toolbox.find(tool).unwrap().data_schema();
        let wrong = jsonschema::validate(&schema, &called.result.data).err();
        assert!(wrong.is_none(), "{tool}: {wrong:?} in {}", called.result.data);
        called.result.for_model()
    }

    pub(crate) async fn bad(&self, tool: &str, arguments: Value) -> String {
        let called = self.call(tool, arguments.clone()).await;
        assert!(!called.result.ok, "{tool} {arguments}: {}", called.result.for_model());
        assert_eq!(called.result.error.as_deref(), Some(called.result.text.as_str()));
        called.result.for_model()
    }
}
