//! A person's word: approve, change, reject, put in another's place, forget.

use super::{ApprovedCandidate, LtmStore, Memory, Recall, RecalledMemory};
use crate::candidate::Candidate;
use crate::decision::{Line, Word};
use crate::error::MemoryError;
use crate::index::{Document, Kind};
use crate::person::{Person, record};
use crate::proposal::Proposal;
use crate::vault::{Change, Entry, short};
use jiff::Timestamp;
use marvin_base::clock;
use serde::Serialize;
use serde_json::{Value, json};

/// Characters of what a person adds.
const MAX_NOTE_CHARS: usize = 300;

/// What a person says about a candidate.
#[derive(Debug, Clone)]
pub enum Decision {
    /// Remember it.
    Approve,
    /// Remember this instead.
    Edit(Box<Candidate>),
    /// Do not remember it.
    Reject,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionOutcome {
    /// What was proposed.
    pub candidate_fingerprint: String,
    /// What is remembered now, if anything is.
    pub id: Option<String>,
    /// What the ledger says.
    #[serde(rename = "type")]
    pub word: Word,
}

impl Memory {
    /// The proposal that waits under this name, or under the beginning of it.
    ///
    /// # Errors
    /// When none waits, or several do.
    pub fn waiting(&self, name: &str) -> Result<Proposal, MemoryError> {
        let all = self.pending()?;
        let found = one_of(
            all.iter().map(|proposal| proposal.fingerprint.as_str()),
            name,
            "candidate waits",
            "pending",
        )?;
        all.into_iter()
            .find(|proposal| proposal.fingerprint == found)
            .ok_or_else(|| MemoryError::Asked(format!("no candidate waits as `{name}`")))
    }

    /// Decides about a candidate that waits.
    ///
    /// # Errors
    /// When it does not wait, what it was changed to is wrong, or the record does not fit what was sealed.
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
        let approved = ApprovedCandidate { candidate, person, original, supersedes, note };
        let mut extra = json!({
            "origin": proposal.origin, "proposed_at_utc": proposal.proposed_at_utc,
            "session_id": proposal.session_id, "turn_number": proposal.turn_number,
        });
        if let (Some(claimed), Value::Object(extra)) = (proposal.claimed_source, &mut extra) {
            extra.insert("claimed_source".into(), json!(claimed));
        }
        let (id, word) = self.remember(&approved, extra)?;
        Ok(DecisionOutcome { candidate_fingerprint: fingerprint, id: Some(id), word })
    }

    /// The id of the memory that has this name, or this beginning of it.
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

    fn remember(
        &mut self,
        approved: &ApprovedCandidate<'_>,
        mut extra: Value,
    ) -> Result<(String, Word), MemoryError> {
        let candidate =
            approved.candidate.clone().checked(&self.vault.redactor).map_err(MemoryError::Asked)?;
        let id = candidate.fingerprint();
        let proposed = approved.original.clone().unwrap_or_else(|| id.clone());
        let word = match (&approved.supersedes, proposed == id) {
            (Some(_), _) => Word::Supersede,
            (None, true) => Word::Approve,
            (None, false) => Word::Edit,
        };
        record(approved.person, "memory approve", &id)?;
        let mut line = Line::new(word, &proposed, approved.person.name());
        line.note.clone_from(&approved.note);
        line.supersedes.clone_from(&approved.supersedes);
        if proposed != id {
            line.changed_to(&id);
            if let Value::Object(extra) = &mut extra {
                extra.insert("original_fingerprint".into(), proposed.clone().into());
            }
        }
        let entry = Entry { id: id.clone(), stored_at_utc: line.decided_at_utc.clone(), candidate, extra };
        let stored = self.stored_line(&entry)?;
        let text = self.vault.text(&line);
        let before = self.head()?;
        let ltm = self.vault.places.ltm.clone();
        let mut offset = 0;
        let vault = &self.vault;
        let failed = |error: rusqlite::Error| vault.failed(&error);
        vault.commit(|view| {
            if view.is_active(&id).map_err(failed)? {
                return Err(MemoryError::Asked(format!("{} is remembered already", short(&id))));
            }
            offset = std::fs::metadata(&ltm).map_or(0, |facts| facts.len());
            // It was agreed to before and stands there still: nothing is written twice.
            let store =
                if view.is_stored(&id).map_err(failed)? { Vec::new() } else { vec![(id.clone(), stored)] };
            Ok(Change { lines: vec![text], store, ..Change::default() })
        })?;
        let gone: Vec<String> = approved.supersedes.clone().into_iter().collect();
        self.keep_index(before.as_deref(), &[document(&entry, offset)], &gone);
        Ok((id, word))
    }

    /// A line of the memory as it is written. What the redactor changes would no longer be what was agreed to.
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

    /// Erases a memory. That it was there, and who had it erased, stays on the ledger.
    ///
    /// # Errors
    /// When there is none, or the record does not fit what was sealed.
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

impl LtmStore for Memory {
    fn upsert(&mut self, approved: &ApprovedCandidate<'_>, extra: Value) -> Result<String, MemoryError> {
        self.remember(approved, extra).map(|(id, _)| id)
    }

    fn query(&mut self, text: &str, k: usize) -> Result<Vec<RecalledMemory>, MemoryError> {
        self.recall(&Recall { text, kinds: &[Kind::Ltm], limit: k, ..Recall::default() })
    }
}

/// A memory as the index knows it.
pub(super) fn document(entry: &Entry, offset: u64) -> Document {
    Document {
        id: entry.id.clone(),
        text: entry.candidate.text.clone(),
        before: entry.candidate.why_store.clone(),
        scope: entry.extra.get("scope").and_then(Value::as_str).unwrap_or_default().to_string(),
        source: entry.candidate.source.word().to_string(),
        tags: entry.candidate.tags.clone(),
        created: entry.stored_at_utc.parse::<Timestamp>().unwrap_or_else(|_| clock::now()).as_second(),
        place: offset.to_string(),
        ..Document::default()
    }
}

/// The one that has this name, or the only one that begins so.
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
