//! Decisions of a person: approve, edit, supersede, reject, forget.

use super::{Memory, Recall, RecalledMemory};
use crate::candidate::Candidate;
use crate::decision::{EditedCandidate, Line, Word};
use crate::error::MemoryError;
use crate::index::{Document, Kind};
use crate::person::{Person, record};
use crate::places::Places;
use crate::proposal::{Origin, Proposal};
use crate::stm::{self, Promotion};
use crate::vault::{Change, Entry, Provenance, short};
use jiff::Timestamp;
use marvin_base::clock;
use serde::Serialize;
use serde_json::Value;

const MAX_NOTE_CHARS: usize = 300;

#[derive(Debug, Clone)]
pub enum Decision {
    Approve,
    /// Approve this candidate instead.
    Edit(Box<Candidate>),
    Reject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionOutcome {
    pub candidate_fingerprint: String,
    /// The new memory, if there is one.
    pub id: Option<String>,
    #[serde(rename = "type")]
    pub word: Word,
}

impl Memory {
    /// The pending proposal whose fingerprint begins with `name`.
    ///
    /// # Errors
    /// When none waits, or several do.
    pub fn waiting(&self, name: &str) -> Result<Proposal, MemoryError> {
        let all = self.pending()?;
        let found = one_of(
            all.iter().map(|proposal| proposal.fingerprint.as_str()),
            name,
            "waiting candidate has the id",
            "pending",
        )?;
        all.into_iter()
            .find(|proposal| proposal.fingerprint == found)
            .ok_or_else(|| MemoryError::Asked(format!("no waiting candidate has the id `{name}`")))
    }

    /// Decides about a pending proposal.
    ///
    /// # Errors
    /// When the edited candidate is not valid, or the record does not match the seal.
    pub fn decide(
        &mut self,
        proposal: &Proposal,
        decision: Decision,
        supersedes: Option<&str>,
        note: &str,
        person: &Person,
    ) -> Result<DecisionOutcome, MemoryError> {
        let fingerprint = proposal.fingerprint.clone();
        let note = marvin_base::truncate::line(note, MAX_NOTE_CHARS);
        let (candidate, original) = match decision {
            Decision::Reject => {
                record(person, "memory reject", &fingerprint)?;
                let mut line = Line::new(Word::Reject, &fingerprint, person.name());
                line.note = note;
                let before = self.head()?;
                let text = self.vault.text(&line);
                self.vault.commit(|_| Ok(Change { lines: vec![text], ..Change::default() }))?;
                self.keep_index(before.as_deref(), &[], &[]);
                self.follow_promotion(proposal, Promotion::Rejected);
                return Ok(DecisionOutcome {
                    candidate_fingerprint: fingerprint,
                    id: None,
                    word: Word::Reject,
                });
            }
            Decision::Approve => (proposal.candidate.clone(), None),
            Decision::Edit(changed) => (*changed, Some(fingerprint.clone())),
        };
        let supersedes = supersedes.map(|name| self.remembered(name)).transpose()?;
        let candidate =
            candidate.checked(&self.vault.redactor).map_err(|error| MemoryError::Asked(error.to_string()))?;
        let id = candidate.fingerprint();
        let original = original.filter(|original| *original != id);
        let word = match (&supersedes, &original) {
            (Some(_), _) => Word::Supersede,
            (None, None) => Word::Approve,
            (None, Some(_)) => Word::Edit,
        };
        let mut line = Line::new(word, original.as_ref().unwrap_or(&id), person.name());
        line.edited = original.as_ref().map(|_| EditedCandidate::Named { fingerprint: id.clone() });
        (line.note, line.supersedes) = (note, supersedes);
        let provenance = Provenance {
            origin: proposal.origin,
            proposed_at_utc: proposal.proposed_at_utc.clone(),
            session_id: proposal.session_id.clone(),
            turn_number: proposal.turn_number,
            claimed_source: proposal.claimed_source,
            original_fingerprint: original,
        };
        record(person, "memory approve", &id)?;
        let extra = serde_json::to_value(provenance).unwrap_or_default();
        let stored_at_utc = line.decided_at_utc.clone();
        self.store(&Entry { id: id.clone(), stored_at_utc, candidate, extra }, &line)?;
        self.follow_promotion(proposal, Promotion::Approved);
        Ok(DecisionOutcome { candidate_fingerprint: fingerprint, id: Some(id), word })
    }

    /// Records a decision in the short-term entry that was proposed.
    fn follow_promotion(&self, proposal: &Proposal, status: Promotion) {
        if proposal.origin == Origin::StmPromotion {
            let Places { stm, .. } = &self.vault.places;
            // The decision stands in the ledger; the entry's status only repeats it.
            stm::record_promotion(stm, &self.vault.redactor, &proposal.fingerprint, status).ok();
        }
    }

    /// The long-term memories that answer a query best.
    pub fn query(&mut self, text: &str, limit: usize) -> Result<Vec<RecalledMemory>, MemoryError> {
        self.recall(&Recall { text, kinds: &[Kind::Ltm], limit, ..Recall::default() })
    }

    /// The id of the memory whose id begins with `name`.
    ///
    /// # Errors
    /// When there is none, or several.
    pub fn remembered(&self, name: &str) -> Result<String, MemoryError> {
        let wanted = name.trim().to_lowercase();
        let lock = self.lock()?;
        let kept = self.vault.view(&lock)?.beginning(&wanted).map_err(|error| self.vault.failed(&error))?;
        one_of(kept.iter().map(String::as_str), name, "memory has the id", "list")
    }

    fn head(&self) -> Result<Option<String>, MemoryError> {
        Ok(self.vault.seal()?.map(|seal| seal.head))
    }

    /// Commits an approved memory with its ledger line.
    fn store(&mut self, entry: &Entry, line: &Line) -> Result<(), MemoryError> {
        let id = &entry.id;
        let stored = self.stored_line(entry)?;
        let text = self.vault.text(line);
        let before = self.head()?;
        let ltm = self.vault.places.ltm.clone();
        let mut offset = 0;
        let vault = &self.vault;
        let failed = |error: rusqlite::Error| vault.failed(&error);
        vault.commit(|view| {
            if view.is_active(id).map_err(failed)? {
                return Err(MemoryError::Asked(format!("{} is remembered already", short(id))));
            }
            offset = std::fs::metadata(&ltm).map_or(0, |facts| facts.len());
            // A memory that was approved before may still be in the file: it is not written twice.
            let store =
                if view.is_stored(id).map_err(failed)? { Vec::new() } else { vec![(id.clone(), stored)] };
            Ok(Change { lines: vec![text], store, ..Change::default() })
        })?;
        let superseded: Vec<String> = line.supersedes.clone().into_iter().collect();
        self.keep_index(before.as_deref(), &[document(entry, offset)], &superseded);
        Ok(())
    }

    /// An entry as a line of the file. Text that the redactor changes would differ from the approved one.
    fn stored_line(&self, entry: &Entry) -> Result<String, MemoryError> {
        let mut value = serde_json::to_value(entry).unwrap_or_default();
        if let Some(candidate) = value.get_mut("candidate").and_then(Value::as_object_mut) {
            candidate.insert("fingerprint".into(), entry.id.clone().into());
        }
        self.vault.redactor.value(&mut value);
        let line = value.to_string();
        if crate::vault::parse(line.as_bytes()).is_err() {
            return Err(MemoryError::Asked(
                "it holds something that looks like a secret\n  hint: change it (`edit`), and leave that out"
                    .into(),
            ));
        }
        Ok(line)
    }

    /// Erases a memory; the ledger keeps its id and who erased it.
    ///
    /// # Errors
    /// When there is none, or the record does not match the seal.
    pub fn forget(&mut self, name: &str, note: &str, person: &Person) -> Result<String, MemoryError> {
        let id = self.remembered(name)?;
        record(person, "memory forget", &id)?;
        let mut line = Line::new(Word::Forget, &id, person.name());
        line.note = marvin_base::truncate::line(note, MAX_NOTE_CHARS);
        let text = self.vault.text(&line);
        let before = self.head()?;
        self.vault.commit(|view| {
            let original = view.original(&id).map_err(|error| self.vault.failed(&error))?;
            let erase = std::iter::once(id.clone()).chain(original).collect();
            Ok(Change { lines: vec![text], erase, ..Change::default() })
        })?;
        self.keep_index(before.as_deref(), &[], std::slice::from_ref(&id));
        if let Some(index) = &self.index {
            index.settle().ok();
        }
        Ok(id)
    }
}

/// A memory as a document of the index.
pub(super) fn document(entry: &Entry, offset: u64) -> Document {
    Document {
        id: entry.id.clone(),
        text: entry.candidate.text.clone(),
        before: entry.candidate.reason.clone(),
        scope: entry.extra.get("scope").and_then(Value::as_str).unwrap_or_default().to_string(),
        source: entry.candidate.source.word().to_string(),
        tags: entry.candidate.tags.clone(),
        created: entry.stored_at_utc.parse::<Timestamp>().unwrap_or_else(|_| clock::now()).as_second(),
        place: offset.to_string(),
        ..Document::default()
    }
}

/// The only id that begins with `name`.
fn one_of<'a>(
    all: impl Iterator<Item = &'a str>,
    name: &str,
    what: &str,
    command: &str,
) -> Result<String, MemoryError> {
    let name = name.trim().to_lowercase();
    let hint = format!("  hint: `marvin memory {command}` shows them");
    if name.len() < 4 {
        return Err(MemoryError::Asked(format!(
            "`{name}` is too short for an id; write at least 4 characters of it\n{hint}"
        )));
    }
    let found: Vec<&str> = all.filter(|id| id.starts_with(&name)).collect();
    match found.as_slice() {
        [one] => Ok((*one).to_string()),
        [] => Err(MemoryError::Asked(format!("no {what} `{name}`\n{hint}"))),
        _ => Err(MemoryError::Asked(format!("`{name}` means several\n  hint: write more of the id"))),
    }
}
