//! Setup of a project: the git repository, tickets, and documents of the enclosing project.

use crate::phase::Phase;
use crate::stop::Halt;
use marvin_agent::ProjectContext;
use marvin_base::atomic::{self, WriteError};
use marvin_base::child::{self, Child, Ending};
use marvin_base::files::{self, Links};
use marvin_base::layout;
use marvin_base::truncate;
use marvin_gate::{Access, Workspace};
use marvin_model::Arguments;
use marvin_tools::tickets::{Draft, Store};
use marvin_tools::{Mode, ToolContext, ToolError, Toolbox};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// The `.gitignore` of a new repository.
const IGNORED: &str = "__pycache__/\n*.pyc\n.pytest_cache/\ntarget/\nnode_modules/\n.venv/\n.marvin/runs/\n.marvin/memory/\n.marvin/security/\n.marvin/agents/\n";
/// Documents of the enclosing project.
const UPSTREAM: [&str; 8] = [
    "MARVIN_API_SPEC.md",
    "MARVIN_SPEC.md",
    "TOOLS.md",
    "SHARP_EDGES.md",
    "README.md",
    "REFERENCE.md",
    "WEB_SPEC.md",
    "WEB_DESIGN.md",
];
const MAX_UPSTREAM_DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Creates a git repository if there is none or an incomplete one. `again` removes the lock of a killed git.
pub(crate) async fn repository(root: &Path, again: bool, cancel: &CancellationToken) -> Result<(), Halt> {
    let git = root.join(".git");
    if again && git.is_dir() {
        // The lock of the run is held, so no git of this run is alive.
        std::fs::remove_file(git.join("index.lock")).ok();
    }
    if git.is_file() || git.join("HEAD").is_file() {
        return Ok(());
    }
    let ignore = root.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        atomic::replace(&ignore, IGNORED.as_bytes())?;
    }
    let mut child = Child::new("git").args(["init", "--quiet", "--initial-branch=main"]);
    child.directory = Some(root.to_path_buf());
    let outcome = child::run(child, cancel).await.map_err(|error| Halt::Tool(error.to_string()))?;
    match outcome.ending {
        Ending::Exited(0) => Ok(()),
        _ => Err(Halt::Tool(format!("git init failed: {}", truncate::line(&outcome.stderr.text(), 300)))),
    }
}

/// Commits everything with the tool of the agents.
pub(crate) async fn commit(message: &str, context: &ToolContext) -> Result<(), ToolError> {
    let toolbox = Toolbox::new(Mode::Coding, &Access::Full);
    let arguments = Value::from_iter([("message", Value::from(message)), ("add_all", true.into())]);
    let arguments = Arguments::from_value(arguments);
    let called = toolbox.call("git_commit", &arguments, context).await;
    match called.result.ok || called.result.nothing_to_do {
        true => Ok(()),
        false => Err(ToolError::Failed(called.result.for_model())),
    }
}

/// Copies changed documents of the enclosing project as read-only files; returns their names.
pub(crate) fn upstream(project: &ProjectContext) -> Result<Vec<String>, Halt> {
    let (Some(root), Some(to)) = (project.layout.project(), project.layout.upstream()) else {
        return Ok(Vec::new());
    };
    let above = root.parent().and_then(|above| {
        let home = project.layout.home();
        let of_git = || {
            above
                .ancestors()
                .take_while(|directory| *directory != home && directory.parent().is_some())
                .find(|directory| directory.join(".git").exists())
        };
        layout::find_project(above, home).or_else(|| of_git().map(Path::to_path_buf))
    });
    let Some(above) = above else { return Ok(Vec::new()) };
    let mut copied = Vec::new();
    for name in UPSTREAM {
        let found = [above.join(name), above.join("docs").join(name)].into_iter().find(|path| path.is_file());
        let Some(bytes) =
            found.and_then(|path| files::read(&path, MAX_UPSTREAM_DOCUMENT_BYTES, Links::Refuse).ok())
        else {
            continue;
        };
        let place = to.join(name);
        if files::read(&place, MAX_UPSTREAM_DOCUMENT_BYTES, Links::Refuse).is_ok_and(|before| before == bytes)
        {
            continue;
        }
        let wrap = |source| WriteError { path: place.display().to_string(), source };
        std::fs::create_dir_all(&to).map_err(wrap)?;
        atomic::replace(&place, &bytes)?;
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o444)).map_err(wrap)?;
        copied.push(name.to_string());
    }
    Ok(copied)
}

/// The tickets of a pipeline: an epic, and a child for each phase, identified by the run.
#[derive(Debug)]
pub(crate) struct Tickets {
    store: Store,
    run: String,
    epic: String,
}

impl Tickets {
    pub(crate) fn open(project: &ProjectContext, run: &str, goal: &str) -> Result<Self, Halt> {
        let workspace: &Workspace =
            project.workspace.as_deref().ok_or_else(|| Halt::Usage("a pipeline needs a workspace".into()))?;
        let store = Store::of_workspace(workspace, true)?;
        let mut tickets = Tickets { store, run: run.to_string(), epic: String::new() };
        let known = tickets.store.shelf()?.tickets;
        let draft = Draft {
            title: truncate::line(goal, 100),
            description: goal.to_string(),
            kind: "epic".into(),
            priority: "0".into(),
            // Where an agent started the pipeline, its ticket is the parent.
            parent: project.duty.parent().filter(|id| known.contains_key(*id)).unwrap_or_default().into(),
            acceptance: "Every phase of the pipeline is complete and everything is verified.".into(),
            ..Draft::default()
        };
        tickets.epic = tickets.find_or_create("epic", draft)?;
        Ok(tickets)
    }

    /// The ticket of a phase, in progress.
    pub(crate) fn phase(&self, phase: Phase) -> Result<String, Halt> {
        let draft = Draft {
            title: format!("{phase}: {}", phase.title()),
            description: phase.explanation().to_string(),
            parent: self.epic.clone(),
            tags: "pipeline".into(),
            ..Draft::default()
        };
        self.find_or_create(phase.name(), draft)
    }

    fn find(&self, name: &str) -> Result<Option<String>, Halt> {
        let mark = format!("{}/{name}", self.run);
        let shelf = self.store.shelf()?;
        let found = shelf.tickets.iter().find(|(_, ticket)| ticket.value("external-ref") == mark);
        Ok(found.map(|(id, _)| id.clone()))
    }

    fn find_or_create(&self, name: &str, mut draft: Draft) -> Result<String, Halt> {
        if let Some(id) = self.find(name)? {
            return Ok(id);
        }
        draft.external_ref = format!("{}/{name}", self.run);
        draft.name = name.replace('_', "-");
        let (id, _) = self.store.create(draft)?;
        self.store.set_status(&id, "in_progress")?;
        Ok(id)
    }

    /// Closes the tickets of complete phases, and with the last phase the epic.
    pub(crate) fn settle(&self, over: Option<Phase>) -> Result<(), Halt> {
        for phase in Phase::ALL.into_iter().filter(|phase| Some(*phase) <= over) {
            if let Some(id) = self.find(phase.name())? {
                self.close(&id)?;
            }
        }
        if over == Some(Phase::Quality) { self.close(&self.epic) } else { Ok(()) }
    }

    /// The children of a ticket.
    pub(crate) fn children(&self, parent: &str) -> Result<Vec<String>, Halt> {
        let shelf = self.store.shelf()?;
        let mut children: Vec<String> = shelf
            .tickets
            .iter()
            .filter(|(_, ticket)| ticket.value("parent") == parent)
            .map(|(id, _)| id.clone())
            .collect();
        children.sort_unstable();
        Ok(children)
    }

    /// Closes a ticket if it exists.
    pub(crate) fn close(&self, id: &str) -> Result<(), Halt> {
        if self.store.read(id).is_ok_and(|ticket| ticket.status() != "closed") {
            self.store.set_status(id, "closed")?;
        }
        Ok(())
    }

    pub(crate) fn epic(&self) -> &str {
        &self.epic
    }
}
