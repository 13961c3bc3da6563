//! What is remembered, and what waits for the person's word.

use crate::answer::{Answer, Refusal};
use axum::http::StatusCode;
use marvin_agent::ProjectContext;
use marvin_memory::candidate::CandidateEdit;
use marvin_memory::memory::{Decision, Memory};
use marvin_memory::{MemoryError, Person, Places};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::json;

/// The person's word about a candidate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Word {
    decision: CandidateDecision,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
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

fn open(ground: &ProjectContext) -> Memory {
    Memory::open(Places::from_settings(&ground.layout, &ground.settings), ground.redactor.clone())
}

/// What waits, and what is remembered.
pub(super) fn show(ground: &ProjectContext) -> Answer {
    let memory = open(ground);
    let pending = memory.pending().map_err(|error| refused(&error))?;
    let mut remembered = memory.list().map_err(|error| refused(&error))?;
    remembered.retain(marvin_memory::memory::MemoryRecord::is_active);
    Ok(json!({ "pending": pending, "remembered": remembered }))
}

/// Decides about a memory. The request carries the token that the server gave to the person who started it.
pub(super) fn decide(ground: &ProjectContext, person: Option<Person>, id: &str, word: Word) -> Answer {
    let person = person.ok_or_else(|| {
        Refusal::new(
            StatusCode::FORBIDDEN,
            "nothing can be decided here: the server was not started by a person\n  hint: start `marvin chat-ui` from a shell in a terminal",
        )
    })?;
    let mut memory = open(ground);
    if word.decision != CandidateDecision::Edit
        && (word.text.is_some() || word.tags.is_some() || word.ttl_days.is_some())
    {
        return Err(Refusal::bad("only an edit changes what is remembered"));
    }
    if word.decision == CandidateDecision::Forget {
        let id = memory.remembered(id).map_err(|error| named(&error))?;
        memory.forget(&id, &word.note, &person).map_err(|error| refused(&error))?;
        return Ok(json!({ "id": id }));
    }
    let proposal = memory.waiting(id).map_err(|error| named(&error))?;
    let decision = match word.decision {
        CandidateDecision::Approve => Decision::Approve,
        CandidateDecision::Edit => {
            let edit =
                CandidateEdit { text: word.text, tags: word.tags, ttl_days: word.ttl_days, kind: None };
            let changed = proposal.candidate.edited(edit, &ground.redactor);
            Decision::Edit(Box::new(changed.map_err(|error| Refusal::bad(error.to_string()))?))
        }
        CandidateDecision::Reject | CandidateDecision::Forget => Decision::Reject,
    };
    let decided =
        memory.decide(&proposal, decision, None, &word.note, &person).map_err(|error| refused(&error))?;
    Ok(json!({ "id": decided.id }))
}
