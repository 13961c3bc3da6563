//! Long-term memory, and candidates that wait for the person.

use crate::answer::{Answer, Refusal, json};
use axum::http::StatusCode;
use marvin_agent::ProjectContext;
use marvin_memory::candidate::CandidateEdit;
use marvin_memory::memory::{Decision, Memory, MemoryRecord};
use marvin_memory::proposal::Proposal;
use marvin_memory::{MemoryError, Person, Places};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The person's word about a candidate.
#[derive(Debug, Deserialize)]
pub(super) struct Word {
    decision: CandidateDecision,
    #[serde(default)]
    note: String,
    /// The fields of a [`CandidateEdit`].
    #[serde(flatten)]
    edit: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CandidateDecision {
    Approve,
    Reject,
    Edit,
    Forget,
}

#[derive(Serialize)]
struct MemoryList {
    pending: Vec<Proposal>,
    remembered: Vec<MemoryRecord>,
}

#[derive(Serialize)]
struct MemoryId {
    id: Option<String>,
}

fn refused(error: &MemoryError) -> Refusal {
    match error {
        MemoryError::Asked(why) => Refusal::bad(why.clone()),
        MemoryError::Refused(why) => Refusal::new(StatusCode::FORBIDDEN, why.clone()),
        _ => Refusal::broken(error.to_string()),
    }
}

/// Nothing, or more than one thing, has this name.
fn named(error: &MemoryError) -> Refusal {
    match error {
        MemoryError::Asked(why) => Refusal::absent(why.clone()),
        _ => refused(error),
    }
}

fn open(context: &ProjectContext) -> Memory {
    Memory::open(Places::from_settings(&context.layout, &context.settings), context.redactor.clone())
}

/// Candidates that wait, and active memories.
pub(super) fn show(context: &ProjectContext) -> Answer {
    let memory = open(context);
    let pending = memory.pending().map_err(|error| refused(&error))?;
    let mut remembered = memory.list().map_err(|error| refused(&error))?;
    remembered.retain(MemoryRecord::is_active);
    json(&MemoryList { pending, remembered })
}

/// Decides about a memory. The request carries the token that the server gave to the person who started it.
pub(super) fn decide(context: &ProjectContext, person: Option<Person>, id: &str, word: Word) -> Answer {
    let edit = CandidateEdit::deserialize(Value::Object(word.edit))
        .map_err(|error| Refusal::unreadable_body(&error))?;
    let person = person.ok_or_else(|| {
        Refusal::new(
            StatusCode::FORBIDDEN,
            "nothing can be decided here: the server was not started by a person\n  hint: start `marvin chat-ui` from a shell in a terminal",
        )
    })?;
    let mut memory = open(context);
    if word.decision != CandidateDecision::Edit && edit != CandidateEdit::default() {
        return Err(Refusal::bad("only an edit changes what is remembered"));
    }
    if word.decision == CandidateDecision::Forget {
        let id = memory.remembered(id).map_err(|error| named(&error))?;
        memory.forget(&id, &word.note, &person).map_err(|error| refused(&error))?;
        return json(&MemoryId { id: Some(id) });
    }
    let proposal = memory.waiting(id).map_err(|error| named(&error))?;
    let decision = match word.decision {
        CandidateDecision::Approve => Decision::Approve,
        CandidateDecision::Edit => {
            let changed = proposal.candidate.edited(edit, &context.redactor);
            Decision::Edit(Box::new(changed.map_err(|error| Refusal::bad(error.to_string()))?))
        }
        CandidateDecision::Reject | CandidateDecision::Forget => Decision::Reject,
    };
    let decided =
        memory.decide(&proposal, decision, None, &word.note, &person).map_err(|error| refused(&error))?;
    json(&MemoryId { id: decided.id })
}
