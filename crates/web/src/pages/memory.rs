//! Long-term memory, and candidates that wait for the person.

use crate::answer::{Answer, Refusal, json};
use axum::http::StatusCode;
use marvin_agent::ProjectContext;
use marvin_memory::candidate::CandidateEdit;
use marvin_memory::memory::{Decision, Memory, MemoryRecord};
use marvin_memory::proposal::Proposal;
use marvin_memory::{MemoryError, Person, Places};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

/// The person's word about a candidate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Word {
    decision: CandidateDecision,
    text: Option<String>,
    tags: Option<Vec<String>>,
    /// 0: for good.
    #[serde(default, deserialize_with = "whole")]
    ttl_days: Option<u32>,
    #[serde(default)]
    note: String,
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

/// A whole number, also one that is written as `3.0`: to JSON they are the same.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(from)? else { return Ok(None) };
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and in the range"
        )]
        return Ok(Some(number as u32));
    }
    Err(D::Error::custom("a whole number is wanted"))
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
    let person = person.ok_or_else(|| {
        Refusal::new(
            StatusCode::FORBIDDEN,
            "nothing can be decided here: the server was not started by a person\n  hint: start `marvin chat-ui` from a shell in a terminal",
        )
    })?;
    let mut memory = open(context);
    if word.decision != CandidateDecision::Edit
        && (word.text.is_some() || word.tags.is_some() || word.ttl_days.is_some())
    {
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
            let edit =
                CandidateEdit { text: word.text, tags: word.tags, ttl_days: word.ttl_days, kind: None };
            let changed = proposal.candidate.edited(edit, &context.redactor);
            Decision::Edit(Box::new(changed.map_err(|error| Refusal::bad(error.to_string()))?))
        }
        CandidateDecision::Reject | CandidateDecision::Forget => Decision::Reject,
    };
    let decided =
        memory.decide(&proposal, decision, None, &word.note, &person).map_err(|error| refused(&error))?;
    json(&MemoryId { id: decided.id })
}
