//! Builds that a killed process left behind: a run without an end, a worktree, and perhaps a copy that was not moved to its place.
//!
//! The next build cleans them up. A draft that was written is kept as a candidate.

use super::{candidate, draft};
use crate::error::LabError;
use marvin_agent::ProjectContext;
use marvin_base::layout::Layout;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{self, RunKind, RunRecord, RunStatus};
use marvin_base::{Exit, clock};
use marvin_flow::engine::holder;
use marvin_tools::git;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

const KILLED: &str = "the build was killed before the draft was proved";

/// The worktree of a build, relative to the project.
#[must_use]
pub(super) fn worktree(run: &str) -> PathBuf {
    Layout::worktree(run, "skill", 1)
}

/// The copy of a proved skill beside its place, before it is moved there.
#[must_use]
pub(super) fn copy_beside(skills: &Path, run: &str) -> PathBuf {
    skills.join(format!(".skill-{run}"))
}

/// Removes what a build needed besides its record.
pub(super) async fn remove_worktree(project: &ProjectContext, run: &str) {
    let context = project.tool_context(CancellationToken::new(), None);
    let relative = worktree(run);
    // Best effort: what is left is removed with the next build.
    git::remove_worktree(&relative.display().to_string(), &context).await.ok();
    if let Some(workspace) = &project.workspace {
        let place = workspace.root().join(&relative);
        std::fs::remove_dir_all(&place).ok();
        if let Some(parent) = place.parent() {
            std::fs::remove_dir(parent).ok();
        }
    }
}

/// Cleans up after all builds of the project that have no end and no process.
///
/// # Errors
/// When a draft cannot be kept, or a record cannot be written.
pub(super) async fn clean_up(project: &ProjectContext, tell: &(dyn Fn(&str) + Sync)) -> Result<(), LabError> {
    let runs = project.layout.runs();
    for path in run_record::list(&runs) {
        let Ok(record) = RunRecord::read(&path) else { continue };
        let is_open = record.manner == RunKind::Skill && record.is_open();
        let id = path.file_name().and_then(|name| name.to_str()).filter(|_| is_open);
        let Some(id) = id.filter(|_| holder(&path).is_none()) else { continue };
        let run = RunDirectory::open(&runs, id).map_err(|error| LabError::file(&path, error))?;
        let root = project.workspace.as_ref().map(|workspace| workspace.root().join(worktree(id)));
        for name in root.iter().flat_map(|root| draft::names(root)) {
            let root = root.as_deref().unwrap_or(Path::new(""));
            if !candidate::is_kept(&project.layout, id) {
                candidate::keep(&project.layout, &name, id, KILLED, root)?;
                tell(&format!("the build of `{name}` in {id} was killed; its draft is kept as a candidate"));
            }
        }
        remove_worktree(project, id).await;
        if let Some(skills) = project.layout.project_skills() {
            std::fs::remove_dir_all(copy_beside(&skills, id)).ok();
        }
        let ended = RunRecord {
            status: Some(RunStatus::Interrupted),
            ended_at: Some(clock::now_stamp()),
            exit_code: Some(Exit::Interrupted.code()),
            ..record
        };
        run.save(&ended, &project.redactor)?;
    }
    Ok(())
}
