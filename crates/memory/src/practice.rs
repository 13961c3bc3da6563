//! Practice: looks through what the person said lately and proposes what seems worth remembering. It never remembers
//! anything itself: what it finds waits for a person like every other candidate.

use crate::candidate::{Candidate, Source, Type};
use crate::error::MemoryError;
use crate::memory::{CandidateOrigin, Memory, ProposalOutcome};
use crate::proposal::{Origin, TurnSources};
use crate::turns::Turns;
use marvin_base::ledger::{Durability, Ledger};
use serde_json::{Value, json};

/// Turns that are looked through.
const TURNS: usize = 200;
/// Candidates of one practice.
const MAX_PRACTICE_CANDIDATES: usize = 8;
/// Days that they are proposed for.
const DAYS: u32 = 180;
/// Characters of a sentence that can be one.
const SENTENCE: std::ops::RangeInclusive<usize> = 8..=300;

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

/// What a sentence would be remembered as, if it is worth it.
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

/// The sentences of a text. A question wishes for nothing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '!', '?', '\n'])
        .filter(|sentence| !sentence.trim_end().ends_with('?'))
        .map(|sentence| sentence.trim().trim_end_matches(['.', '!']).trim())
        .filter(|sentence| SENTENCE.contains(&sentence.chars().count()))
}

/// Proposes what the last turns suggest, and says what became of each proposal.
///
/// # Errors
/// When the record cannot be read or written.
pub fn practice(memory: &mut Memory) -> Result<Vec<(Candidate, ProposalOutcome)>, MemoryError> {
    let turns = Turns::at(&memory.places().turns).last(TURNS)?;
    let mut outcomes = Vec::new();
    let mut taken = 0;
    for turn in &turns {
        let text = |key: &str| turn.get(key).and_then(Value::as_str).unwrap_or_default();
        let person = text("user_input");
        let from = CandidateOrigin {
            session_id: Some(text("session_id")),
            turn_number: turn.get("turn_number").and_then(Value::as_u64),
            heard: TurnSources { person, ..TurnSources::default() },
        };
        for sentence in sentences(person) {
            let Some(kind) = kind(sentence) else { continue };
            if taken == MAX_PRACTICE_CANDIDATES {
                return Ok(outcomes);
            }
            let candidate = Candidate {
                text: sentence.to_string(),
                kind,
                tags: vec!["practice".into()],
                ttl_days: Some(DAYS),
                source: Source::UserSaid,
                why_store: "said in a recent turn".into(),
            };
            let proposed = memory.propose(vec![candidate.clone()], Origin::Practice, &from)?;
            for outcome in proposed {
                if let ProposalOutcome::Pending(fingerprint) = &outcome {
                    taken += 1;
                    let places = memory.places().clone();
                    let mut file =
                        Ledger::open_shared(&places.practice, Durability::Turn, memory.redactor().clone())?;
                    file.append(&json!({"fingerprint": fingerprint, "candidate": candidate}))?;
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
    fn wishes_are_told_from_questions() {
        let text = "Hello. I prefer tabs! Do I like tea? From now on, answer in French.\nOk.";
        let found: Vec<&str> = sentences(text).filter(|sentence| kind(sentence).is_some()).collect();
        assert_eq!(found, ["I prefer tabs", "From now on, answer in French"]);
        assert_eq!(kind("I like my red deck"), Some(Type::MtgProfile));
        assert_eq!(kind("I forgot to play a land, bad mulligan"), Some(Type::MtgLesson));
        assert_eq!(kind("The build is broken"), None);
    }
}
