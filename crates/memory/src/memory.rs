//! The memory of one project or person: candidates, decisions, approved memories, and queries over them.
//!
//! The only way into the long-term memory is [`Memory::decide`], which takes a [`Person`].

mod decide;
mod recall;

pub use decide::{Decision, DecisionOutcome};
pub use recall::{Recall, RecalledMemory};

use crate::candidate::{Candidate, Source};
use crate::decision::{Approval, Fate, InjectedMemory, Line, Word};
use crate::embed::Embedder;
use crate::error::MemoryError;
use crate::index::Index;
use crate::lessons::Lessons;
use crate::lines;
use crate::person::Person;
use crate::places::Places;
use crate::proposal::{Origin, Proposal, TurnSources};
use crate::stm::{Stm, StmEntry};
use crate::turns::Turns;
use crate::vault::{Entry, Finding, Vault};
use marvin_base::clock;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::redact::Redactor;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

pub const MAX_CANDIDATES_PER_TURN: usize = 2;
/// Further candidates are not written.
const MAX_PENDING_CANDIDATES: usize = 1_000;

/// The turn that a candidate comes from.
#[derive(Debug, Clone, Default)]
pub struct CandidateOrigin<'a> {
    pub session_id: Option<&'a str>,
    pub turn_number: Option<u64>,
    pub sources: TurnSources<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "status", content = "reason")]
pub enum ProposalOutcome {
    /// It waits for a person, under this fingerprint.
    Pending(String),
    /// It was not written, for this reason.
    Skipped(&'static str),
}

/// A memory with its approval.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryRecord {
    #[serde(flatten)]
    pub entry: Entry,
    pub approval: Approval,
    pub expired: bool,
}

impl MemoryRecord {
    /// Whether queries return it.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.expired && self.approval.fate == Fate::Active
    }
}

/// The result of comparing the ledger with the memory.
#[derive(Debug, Serialize)]
pub struct Audit {
    pub ok: bool,
    /// Ledger lines within the seal.
    pub ledger_lines: u64,
    pub active: usize,
    pub expired: usize,
    pub superseded: usize,
    pub forgotten: usize,
    pub findings: Vec<Finding>,
}

#[derive(Debug)]
pub struct Memory {
    vault: Vault,
    index: Option<Index>,
    lessons: Lessons,
    embedder: Option<Box<dyn Embedder + Send + Sync>>,
}

impl Memory {
    /// The memory in these places; files are opened when they are needed.
    #[must_use]
    pub fn open(places: Places, redactor: Arc<Redactor>) -> Self {
        let lessons = Lessons::open(&places.lessons, &places.index, redactor.clone());
        Memory { vault: Vault::new(places, redactor), index: None, lessons, embedder: None }
    }

    /// Adds search by embeddings.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Box<dyn Embedder + Send + Sync>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    #[must_use]
    pub fn places(&self) -> &Places {
        &self.vault.places
    }

    #[must_use]
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.vault.redactor
    }

    pub(crate) fn lock(&self) -> Result<crate::vault::Lock, MemoryError> {
        self.vault.lock()
    }

    pub fn lessons(&mut self) -> &mut Lessons {
        &mut self.lessons
    }

    /// Writes candidates for a person to decide, without those that are known, decided or pending already.
    pub fn propose(
        &mut self,
        candidates: Vec<Candidate>,
        origin: Origin,
        from: &CandidateOrigin<'_>,
    ) -> Result<Vec<ProposalOutcome>, MemoryError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let lock = self.vault.lock()?;
        let view = self.vault.view(&lock)?;
        let failed = |error: rusqlite::Error| self.vault.failed(&error);
        let mut waiting: BTreeSet<String> =
            self.proposals()?.into_iter().map(|proposal| proposal.fingerprint).collect();
        let mut open = 0;
        for fingerprint in &waiting {
            open += usize::from(view.decided(fingerprint).map_err(failed)?.is_none());
        }
        let mut outcomes = Vec::new();
        let mut ledger = Ledger::open_shared(
            &self.vault.places.candidates,
            Durability::Turn,
            self.vault.redactor.clone(),
        )?;
        for candidate in candidates {
            let Ok(mut candidate) = candidate.checked(&self.vault.redactor) else {
                outcomes.push(ProposalOutcome::Skipped("it is not whole"));
                continue;
            };
            let fingerprint = candidate.fingerprint();
            let is_decided = view.decided(&fingerprint).map_err(failed)?.is_some();
            let skip = if from.sources.is_echo(&candidate) {
                Some("it was told from memory")
            } else if view.is_active(&fingerprint).map_err(failed)? {
                Some("it is remembered already")
            } else if waiting.contains(&fingerprint) && !is_decided {
                Some("it waits already")
            } else if origin != Origin::Import && is_decided {
                Some("a person decided about it before")
            } else if open >= MAX_PENDING_CANDIDATES {
                Some("too many wait already")
            } else {
                None
            };
            if let Some(reason) = skip {
                outcomes.push(ProposalOutcome::Skipped(reason));
                continue;
            }
            let claimed = candidate.source;
            candidate.source = from.sources.source_of(&candidate);
            let proposal = Proposal {
                fingerprint: fingerprint.clone(),
                claimed_source: (claimed != candidate.source).then_some(claimed),
                candidate,
                proposed_at_utc: clock::now_stamp(),
                origin,
                session_id: from.session_id.map(str::to_string),
                turn_number: from.turn_number,
            };
            ledger.append(&proposal)?;
            open += 1;
            waiting.insert(fingerprint.clone());
            outcomes.push(ProposalOutcome::Pending(fingerprint));
        }
        ledger.sync()?;
        Ok(outcomes)
    }

    /// Every proposal that can be read, oldest first.
    pub(crate) fn proposals(&self) -> Result<Vec<Proposal>, MemoryError> {
        let mut found: Vec<Proposal> = Vec::new();
        lines::each(&self.vault.places.candidates, None, |line| {
            let read = line.bytes.and_then(|bytes| serde_json::from_slice::<Proposal>(bytes).ok());
            // Any program of the project can write this file: the fingerprint is computed, not read.
            let read = read.and_then(|proposal| {
                let candidate = proposal.candidate.clone().checked(&self.vault.redactor).ok()?;
                Some(Proposal { fingerprint: candidate.fingerprint(), candidate, ..proposal })
            });
            found.extend(read);
        })?;
        Ok(found)
    }

    /// The proposals that wait for a person, oldest first, with their sources checked against the turns.
    pub fn pending(&self) -> Result<Vec<Proposal>, MemoryError> {
        let lock = self.lock()?;
        let view = self.vault.view(&lock)?;
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<Proposal> = Vec::new();
        for proposal in self.proposals()? {
            let decided = view.decided(&proposal.fingerprint).map_err(|error| self.vault.failed(&error))?;
            if self.is_open(&proposal, decided) && seen.insert(proposal.fingerprint.clone()) {
                waiting.push(proposal);
            }
        }
        drop((view, lock));
        let turns = Turns::at(&self.vault.places.turns);
        for proposal in &mut waiting {
            check_source(proposal, &turns);
        }
        Ok(waiting)
    }

    /// Whether it was never decided, or was imported again after it was rejected or forgotten.
    fn is_open(&self, proposal: &Proposal, decided: Option<Word>) -> bool {
        match decided {
            None => true,
            Some(Word::Reject | Word::Forget) => {
                proposal.origin == Origin::Import
                    && self.decided_before(&proposal.fingerprint, &proposal.proposed_at_utc)
            }
            Some(_) => false,
        }
    }

    /// Whether the last decision about it is older than a moment.
    fn decided_before(&self, fingerprint: &str, moment: &str) -> bool {
        let mut last = String::new();
        let read = lines::each(&self.vault.places.approvals, None, |line| {
            let line = line.bytes.and_then(|bytes| serde_json::from_slice::<Line>(bytes).ok());
            if let Some(line) = line.filter(|line| line.candidate_fingerprint == fingerprint) {
                last = line.decided_at_utc;
            }
        });
        read.is_ok() && last.as_str() < moment
    }

    /// Every memory, oldest first, including superseded and expired ones.
    pub fn list(&self) -> Result<Vec<MemoryRecord>, MemoryError> {
        let scan = self.vault.audit()?;
        let now = clock::now();
        let remembered = scan.entries.into_iter().filter_map(|(_, entry)| {
            let approval = scan.standing.memories.get(&entry.id)?.clone();
            Some(MemoryRecord { expired: entry.is_over(now), approval, entry })
        });
        Ok(remembered.collect())
    }

    /// Every entry of the short-term memory, oldest first.
    pub fn traces(&self) -> Result<Vec<StmEntry>, MemoryError> {
        Stm::entries_of(&self.vault.places.stm)
    }

    /// Replays the ledger and compares it with the memory.
    pub fn audit(&self) -> Result<Audit, MemoryError> {
        let scan = self.vault.audit()?;
        let now = clock::now();
        let fate = |wanted: fn(&Fate) -> bool| {
            scan.standing.memories.values().filter(|memory| wanted(&memory.fate)).count()
        };
        let active = |entry: &Entry| scan.standing.is_active(&entry.id);
        let over = |entry: &&(u64, Entry)| active(&entry.1) && entry.1.is_over(now);
        let expired = scan.entries.iter().filter(over).count();
        Ok(Audit {
            ok: scan.findings.is_empty(),
            ledger_lines: scan.standing.lines,
            active: scan.entries.iter().filter(|(_, entry)| active(entry)).count() - expired,
            expired,
            superseded: fate(|fate| matches!(fate, Fate::Superseded { .. })),
            forgotten: fate(|fate| *fate == Fate::Forgotten),
            findings: scan.findings,
        })
    }

    /// Adopts a memory that was made elsewhere.
    pub fn adopt(&mut self, person: &Person) -> Result<(), MemoryError> {
        self.vault.adopt(person).map(|_| ())
    }

    /// Records which memories went into a turn.
    ///
    /// # Errors
    /// When the ledger cannot be written, or does not fit what was sealed.
    pub fn inject(
        &mut self,
        session_id: &str,
        turn_number: u64,
        injected: Vec<InjectedMemory>,
    ) -> Result<(), MemoryError> {
        if injected.is_empty() {
            return Ok(());
        }
        let before = self.vault.seal()?.map(|seal| seal.head);
        let mut line = Line::new(Word::Inject, "", "marvin");
        line.session_id = Some(session_id.to_string());
        line.turn_number = Some(turn_number);
        line.injected = injected;
        self.vault.append(&line)?;
        self.keep_index(before.as_deref(), &[], &[]);
        Ok(())
    }

    /// The memories that went into a turn.
    pub fn injected(&self, session_id: &str, turn_number: u64) -> Result<Vec<InjectedMemory>, MemoryError> {
        let mut found = Vec::new();
        lines::each(&self.vault.places.approvals, None, |line| {
            let line = line.bytes.and_then(|bytes| serde_json::from_slice::<Line>(bytes).ok());
            let same = |line: &Line| {
                line.word == Some(Word::Inject)
                    && line.session_id.as_deref() == Some(session_id)
                    && line.turn_number == Some(turn_number)
            };
            found.extend(line.filter(same).map(|line| line.injected).unwrap_or_default());
        })?;
        Ok(found)
    }
}

/// Compares a claim of `user_said` with the turn that it names.
fn check_source(proposal: &mut Proposal, turns: &Turns) {
    if proposal.candidate.source != Source::UserSaid {
        return;
    }
    let turn = match (&proposal.session_id, proposal.turn_number) {
        (Some(session), Some(number)) => turns.find(session, number),
        _ => None,
    };
    let person = turn.as_ref().and_then(|turn| turn.get("user_input")?.as_str()).unwrap_or_default();
    let output = |call: &Value| Some(call.get("output")?.get("data")?.to_string());
    let tools = turn.as_ref().and_then(|turn| turn.get("tools")?.as_array());
    let tools: Vec<String> = tools.into_iter().flatten().filter_map(output).collect();
    let sources = TurnSources { person, tools: &tools, ..TurnSources::default() };
    let source = sources.source_of(&proposal.candidate);
    if source != proposal.candidate.source {
        proposal.claimed_source = Some(proposal.candidate.source);
        proposal.candidate.source = source;
    }
}

#[cfg(test)]
mod tests;
