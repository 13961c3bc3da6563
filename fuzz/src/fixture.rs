//! The fixture of the targets: a workspace with links that lead out of it and directories that are
//! closed, and files outside that no target may read.

use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, Sources};
use marvin_gate::{Access, Duty, Layers, Permit, Workspace};
use marvin_tools::{Mode, ToolContext, Toolbox};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Content of every file outside, and of the tickets.
pub(crate) const CANARY: &str = "canary-71c2";

pub(crate) struct Fixture {
    pub(crate) toolbox: Toolbox,
    pub(crate) context: ToolContext,
    pub(crate) workspace: Arc<Workspace>,
}

/// The fixture, created once. Its files are never removed: a fuzzer is killed, so no code runs at
/// its end.
pub(crate) fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| create().unwrap_or_else(|error| panic!("cannot create the fixture: {error}")))
}

fn create() -> Result<Fixture, Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?.keep().canonicalize()?;
    let (root, outside) = (home.join("work"), home.join("outside"));
    for directory in ["src", ".tickets", ".git", ".marvin/runs", ".marvin/notes"] {
        std::fs::create_dir_all(root.join(directory))?;
    }
    std::fs::create_dir(&outside)?;
    std::fs::write(outside.join("secret"), CANARY)?;
    std::fs::write(root.join(".tickets/t.md"), CANARY)?;
    std::fs::write(root.join("src/a.txt"), "inside\n")?;
    for (target, name) in [
        ("src", "in"),
        ("../outside", "out"),
        ("../../outside", "src/out"),
        ("loop", "loop"),
        ("in/../out/secret", "chain"),
        (".tickets", "src/tickets"),
        ("/", "root"),
        ("/proc/self/root", "proc"),
    ] {
        symlink(target, root.join(name))?;
    }
    let environment = Environment::from_iter([("HOME", home.display().to_string())]);
    let settings = Settings::load(&Sources { environment: environment.clone(), ..Sources::default() })?;
    let workspace = Arc::new(Workspace::open(&root, &home)?);
    let context = ToolContext {
        duty: Arc::new(Duty::from_settings(&settings)),
        settings: Arc::new(settings),
        layout: Layout::new(&environment, Some(&root)),
        workspace: Some(Arc::clone(&workspace)),
        access: Access::Full,
        coding: true,
        attended: true,
        cancel: CancellationToken::new(),
        redactor: Arc::new(Redactor::patterns_only()),
        layers: Arc::new(Layers::none()),
        artifacts: None,
        usage: Arc::new(|_| Value::Null),
        agent: None,
        progress: None,
        approver: None,
        grant: None,
        permit: Permit::default(),
    };
    Ok(Fixture { toolbox: Toolbox::new(Mode::Coding, &Access::Full), context, workspace })
}
