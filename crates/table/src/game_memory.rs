//! Memory of games: candidates that wait for a person, and lessons that a person approved.

use crate::error::TableError;
use marvin_base::redact::Redactor;
use marvin_memory::candidate::{Candidate, Type};
use marvin_memory::memory::{CandidateOrigin, MemoryRecord, ProposalOutcome};
use marvin_memory::proposal::Origin;
use marvin_memory::{Memory, Places};
use std::sync::Arc;

/// Memory that games propose to and learn from.
#[derive(Debug, Clone)]
pub struct GameMemory {
    pub places: Places,
    pub redactor: Arc<Redactor>,
}

/// Approved lesson about Magic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedLesson {
    pub text: String,
    pub tags: Vec<String>,
}

impl GameMemory {
    fn open(&self) -> Memory {
        Memory::open(self.places.clone(), self.redactor.clone())
    }

    /// Lessons about Magic that a person approved and that have not expired.
    ///
    /// # Errors
    /// A memory that cannot be read or does not fit its seal.
    pub fn approved(&self) -> Result<Vec<ApprovedLesson>, TableError> {
        // A memory that was never written to has nothing to say, and is not created by the question.
        if !self.places.ltm.exists() {
            return Ok(Vec::new());
        }
        let records = self.open().list()?;
        let active = records.into_iter().filter(MemoryRecord::is_active);
        let known = active.filter(|record| record.entry.candidate.kind == Type::MtgLesson);
        Ok(known
            .map(|record| ApprovedLesson {
                text: record.entry.candidate.text,
                tags: record.entry.candidate.tags,
            })
            .collect())
    }

    /// Proposes candidates; they have no effect before a person approves them.
    pub(crate) fn propose(&self, candidates: Vec<Candidate>, game_id: &str) -> Result<usize, TableError> {
        if candidates.is_empty() {
            return Ok(0);
        }
        let from = CandidateOrigin { session_id: Some(game_id), ..CandidateOrigin::default() };
        let outcomes = self.open().propose(candidates, Origin::Game, &from)?;
        Ok(outcomes.iter().filter(|outcome| matches!(outcome, ProposalOutcome::Pending(_))).count())
    }
}
