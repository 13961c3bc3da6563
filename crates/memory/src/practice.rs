//! Practice: proposes candidates from the person's recent turns. They wait for a person like every other candidate.

use crate::candidate::{Candidate, Source, Type};
use crate::error::MemoryError;
use crate::memory::{CandidateOrigin, Memory, ProposalOutcome};
use crate::proposal::{Origin, TurnSources};
use crate::turns::Turns;
use marvin_base::ledger::{Durability, Ledger};
use serde::Serialize;
use serde_json::Value;

const MAX_TURNS: usize = 200;
const MAX_PRACTICE_CANDIDATES: usize = 8;
const CANDIDATE_DAYS: u32 = 180;
const SENTENCE_CHARS: std::ops::RangeInclusive<usize> = 8..=300;

const PREFERENCE: [&str; 18] = [
    "i prefer",
    "i like",
    "i love",
    "i hate",
    "i dislike",
    "i don't like",
    "i do not like",
    "i always",
    "i never",
    "i usually",
    "i want you to",
    "please always",
    "please never",
    "from now on",
    "my favourite",
    "my favorite",
    "call me",
    "i'd rather",
];
const GAME: [&str; 9] =
    ["mtg", "magic deck", " deck", "mulligan", "commander", "planeswalker", "sideboard", "mana", "draft"];
const REGRET: [&str; 6] =
    ["i should have", "i forgot to", "i keep forgetting", "my mistake was", "i misplayed", "next time i"];

/// A line of `practice_candidates.jsonl`.
#[derive(Serialize)]
struct PracticeLine<'a> {
    fingerprint: &'a str,
    candidate: &'a Candidate,
}

/// The type of the candidate that a sentence makes; `None` for sentences that are not worth it.
fn kind(sentence: &str) -> Option<Type> {
    let low = sentence.to_lowercase().replace('\u{2019}', "'");
    let any = |markers: &[&str]| markers.iter().any(|marker| low.contains(marker));
    match (any(&GAME), any(&PREFERENCE), any(&REGRET)) {
        (true, _, true) => Some(Type::MtgLesson),
        (true, true, _) => Some(Type::MtgProfile),
        (false, true, _) => Some(Type::Preference),
        _ => None,
    }
}

/// The sentences of a text, without questions, which state no preference.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '!', '?', '\n'])
        .filter(|sentence| !sentence.trim_end().ends_with('?'))
        .map(|sentence| sentence.trim().trim_end_matches(['.', '!']).trim())
        .filter(|sentence| SENTENCE_CHARS.contains(&sentence.chars().count()))
}

/// Proposes candidates from the last turns.
pub fn practice(memory: &mut Memory) -> Result<Vec<(Candidate, ProposalOutcome)>, MemoryError> {
    let turns = Turns::at(&memory.places().turns).last(MAX_TURNS)?;
    let mut outcomes = Vec::new();
    let mut taken = 0;
    for turn in &turns {
        let text = |key: &str| turn.get(key).and_then(Value::as_str).unwrap_or_default();
        let person = text("user_input");
        let from = CandidateOrigin {
            session_id: Some(text("session_id")),
            turn_number: turn.get("turn_number").and_then(Value::as_u64),
            sources: TurnSources { person, ..TurnSources::default() },
        };
        for sentence in sentences(person) {
            let Some(kind) = kind(sentence) else { continue };
            if taken == MAX_PRACTICE_CANDIDATES {
                return Ok(outcomes);
            }
            let mut candidate = Candidate::new(sentence, kind, Source::UserSaid, "said in a recent turn");
            candidate.tags.push("practice".into());
            candidate.ttl_days = Some(CANDIDATE_DAYS);
            let proposed = memory.propose(vec![candidate.clone()], Origin::Practice, &from)?;
            for outcome in proposed {
                if let ProposalOutcome::Pending(fingerprint) = &outcome {
                    taken += 1;
                    let path = &memory.places().practice;
                    let mut file = Ledger::open_shared(path, Durability::Turn, memory.redactor().clone())?;
                    file.append(&PracticeLine { fingerprint, candidate: &candidate })?;
                }
                outcomes.push((candidate.clone(), outcome));
            }
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_not_preferences() {
        let text = "Hello. I prefer tabs! Do I like tea? From now on, answer in French.\nOk.";
        let found: Vec<&str> = sentences(text).filter(|sentence| kind(sentence).is_some()).collect();
        assert_eq!(found, ["I prefer tabs", "From now on, answer in French"]);
        assert_eq!(kind("I like my red deck"), Some(Type::MtgProfile));
        assert_eq!(kind("I forgot to play a land, bad mulligan"), Some(Type::MtgLesson));
        assert_eq!(kind("The build is broken"), None);
    }
}
