//! Lessons of a game for the long-term memory, and lessons that were approved and fit a deck.
//!
//! A lesson says what to do in later games. It names a deck and a skill, and nothing of a game's state.

use crate::game_memory::ApprovedLesson;
use crate::setup::GameSetup;
use crate::table::Table;
use crate::turning_point::Skill;
use crate::tutor::Review;
use marvin_memory::candidate::{Candidate, Source, Type};
use marvin_mtg::ids::PlayerId;

/// Lessons that one game proposes at most.
const MAX_LESSONS: usize = 3;
/// Candidates about the person that one game proposes at most.
const MAX_PROFILES: usize = 2;
/// Lessons that are told in a game.
const MAX_TOLD_LESSONS: usize = 5;
/// Tag of everything about Magic.
const GAME_TAG: &str = "mtg";
/// Games with the same deck from which on it is a preference.
const PREFERRED_DECK_GAMES: usize = 3;

fn lesson_text(skill: Skill) -> &'static str {
    match skill {
        Skill::Mulligan => "look at lands and cheap spells of an opening hand before keeping it",
        Skill::LandDrop => "play a land in every turn that allows it, before passing",
        Skill::Casting => "compare what each castable spell does to the board before passing or casting",
        Skill::Attacking => {
            "before attacking, compare the damage that gets through with what the counter-attack can deal"
        }
        Skill::Blocking => {
            "before blocking, compare trades by what each creature is worth and by the life left"
        }
        Skill::Choosing => "read the card that asks, and choose by what the board needs next",
    }
}

fn lesson(deck: &str, skill: Skill, reason: &str) -> Candidate {
    let text = format!("Magic, deck {deck}: {}.", lesson_text(skill));
    let mut candidate = Candidate::new(text, Type::MtgLesson, Source::AssistantInferred, reason);
    candidate.tags = vec![GAME_TAG.to_owned(), deck.to_owned(), skill.key().to_owned()];
    candidate
}

/// Lessons of a review: the skills that cost most, or what worked.
fn make_lessons(setup: &GameSetup, review: &Review, won: bool) -> Vec<Candidate> {
    let deck = setup.deck(review.seat).name.as_str();
    let mut lessons: Vec<Candidate> = Vec::new();
    let mut skills: Vec<Skill> = Vec::new();
    if review.missed_land_drops > 0 {
        skills.push(Skill::LandDrop);
    }
    for point in &review.turning_points {
        if !skills.contains(&point.skill) {
            skills.push(point.skill);
        }
    }
    for skill in skills.into_iter().take(MAX_LESSONS) {
        let reason = format!("the review of a game found answers about {} that cost chances", skill.key());
        lessons.push(lesson(deck, skill, &reason));
    }
    if lessons.is_empty() {
        let (skill, reason) = if won && review.attacks * 2 >= review.attack_chances {
            (Skill::Attacking, "a game was won with steady attacks")
        } else if won {
            (Skill::Casting, "a game was won with what was cast")
        } else {
            (Skill::Blocking, "a game was lost without a clear mistake")
        };
        lessons.push(lesson(deck, skill, reason));
    }
    lessons
}

/// What a game says about the person.
fn make_profiles(setup: &GameSetup, review: &Review, deck_games: usize, hints: usize) -> Vec<Candidate> {
    let deck = setup.deck(review.seat).name.as_str();
    let mut found = Vec::new();
    let mut add = |text: String, kind: Type, reason: &str, tag: &str| {
        let mut candidate = Candidate::new(text, kind, Source::AssistantInferred, reason);
        candidate.tags = vec![GAME_TAG.to_owned(), tag.to_owned()];
        found.push(candidate);
    };
    if deck_games >= PREFERRED_DECK_GAMES {
        let text = format!("Likes to play Magic with the deck {deck}.");
        add(text, Type::Preference, "several games were played with it", deck);
    }
    if hints > 2 {
        let text = "Asks for hints while playing Magic: explain lines before they are asked for.";
        add(text.to_owned(), Type::MtgProfile, "hints were asked for several times in a game", "tutor");
    }
    let style = match (review.attacks, review.attack_chances) {
        (_, 0) => "Plays Magic without creatures that attack.",
        (attacks, chances) if attacks * 3 >= chances * 2 => {
            "Plays Magic aggressively: attacks in most turns that allow it."
        }
        (attacks, chances) if attacks * 3 <= chances => {
            "Plays Magic defensively: holds creatures back in most turns."
        }
        _ => "Plays Magic with a balance of attack and defence.",
    };
    add(style.to_owned(), Type::MtgProfile, "seen in the declarations of attackers of a game", "style");
    found.truncate(MAX_PROFILES);
    found
}

impl Table {
    /// Lessons that a person approved and that fit the deck of a seat, or every deck.
    #[must_use]
    pub fn fitting_lessons(&self, seat: PlayerId) -> Vec<String> {
        let deck = &self.setup().deck(seat).name;
        let decks: Vec<&str> =
            marvin_mtg::decks::shipped_decks().iter().map(|shipped| shipped.id.as_str()).collect();
        let fits = |lesson: &&ApprovedLesson| {
            let for_deck = lesson.tags.iter().any(|tag| tag == deck);
            let for_other = lesson.tags.iter().any(|tag| decks.contains(&tag.as_str()));
            for_deck || !for_other
        };
        let lessons = self.context().lessons.iter().filter(fits);
        lessons.map(|lesson| lesson.text.clone()).take(MAX_TOLD_LESSONS).collect()
    }

    /// Candidates for the long-term memory from this game.
    pub(crate) fn make_candidates(&self, review: &Review, questions: usize) -> Vec<Candidate> {
        let deck = &self.setup().deck(review.seat).name;
        let same =
            |row: &crate::GameRow| row.decks.get(usize::from(review.seat.0)).is_some_and(|name| name == deck);
        let deck_games =
            Self::list(self.context()).map_or(0, |rows| rows.iter().filter(|row| same(row)).count());
        let won = self.outcome().is_some_and(|outcome| outcome.winner == Some(review.seat));
        let mut candidates = make_lessons(self.setup(), review, won);
        candidates.extend(make_profiles(self.setup(), review, deck_games, questions));
        candidates
    }
}
