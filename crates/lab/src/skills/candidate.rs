//! Drafts of skills that were not registered, kept with the reason.

use super::draft;
use super::proof::copy;
use crate::error::LabError;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::{atomic, clock};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FACTS: &str = "candidate.json";
const MAX_FACTS_BYTES: u64 = 64 * 1024;
/// Candidates that are listed, newest first.
const MAX_LISTED: usize = 50;

/// A draft that was not registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub skill: String,
    /// The run that wrote it.
    pub run: String,
    pub timestamp: String,
    pub reason: String,
    /// The directory of the draft; none where nothing could be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

/// Keeps a draft of a worktree. One that cannot be copied is kept as its reason alone.
pub(super) fn keep(
    layout: &Layout,
    skill: &str,
    run: &str,
    reason: &str,
    worktree: &Path,
) -> Result<Candidate, LabError> {
    let place = layout.skill_candidates().join(run);
    let directory = place.join(skill);
    let files = draft::files(worktree, skill).unwrap_or_default();
    copy(&draft::path(worktree, skill), &files, &directory)?;
    let candidate = Candidate {
        skill: skill.to_string(),
        run: run.to_string(),
        timestamp: clock::now_stamp(),
        reason: reason.to_string(),
        directory: Some(directory).filter(|directory| directory.is_dir()),
    };
    let text = serde_json::to_string_pretty(&candidate).unwrap_or_default();
    atomic::replace(&place.join(FACTS), format!("{text}\n").as_bytes())?;
    Ok(candidate)
}

/// Whether a run has kept its draft.
#[must_use]
pub(super) fn is_kept(layout: &Layout, run: &str) -> bool {
    layout.skill_candidates().join(run).join(FACTS).is_file()
}

/// The candidates of a project, newest first.
#[must_use]
pub fn candidates(layout: &Layout) -> Vec<Candidate> {
    let entries = std::fs::read_dir(layout.skill_candidates()).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let text = files::read_text(&path.join(FACTS), MAX_FACTS_BYTES, Links::Refuse).ok()?;
        let mut candidate = serde_json::from_str::<Candidate>(&text).ok()?;
        candidate.directory = candidate.directory.filter(|directory| directory.is_dir());
        // The run is the name of the place, by which a candidate is removed.
        path.ends_with(&candidate.run).then_some(candidate)
    };
    let mut all: Vec<Candidate> = entries.filter_map(|entry| read(entry.path())).collect();
    all.sort_by(|a, b| b.timestamp.cmp(&a.timestamp).then_with(|| a.run.cmp(&b.run)));
    all.truncate(MAX_LISTED);
    all
}

/// Removes a candidate, with its draft.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_candidate(layout: &Layout, candidate: &Candidate) -> Result<(), LabError> {
    let place = layout.skill_candidates().join(&candidate.run);
    std::fs::remove_dir_all(&place).map_err(|error| LabError::file(&place, error))
}
