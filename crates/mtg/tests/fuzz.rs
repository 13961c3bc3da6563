//! Random games over pairs of shipped decks. `MTG_FUZZ_GAMES` sets their number.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use marvin_mtg::card::CardFace;
use marvin_mtg::decision::DecisionKind;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::{GameJournal, JOURNAL_VERSION, JournalHeader};
use marvin_mtg::players::random_answer;
use marvin_mtg::rng::RandomStream;
use marvin_mtg::scenario::{CardSource, PoolSource, ScenarioError};
use marvin_mtg::{MTGEngine, Status};
use std::cell::RefCell;
use std::collections::BTreeMap;

const DEFAULT_GAMES: u64 = 20;
const MAX_DECISIONS: usize = 6000;

/// Compiled cards, so that each is compiled once.
#[derive(Default)]
struct CachedSource {
    known: RefCell<BTreeMap<String, Option<CardFace>>>,
}

impl CardSource for CachedSource {
    fn find_card(&self, name: &str) -> Result<CardFace, ScenarioError> {
        let known = self.known.borrow().get(name).cloned();
        let face = known.unwrap_or_else(|| {
            let face = PoolSource.find_card(name).ok();
            self.known.borrow_mut().insert(name.to_string(), face.clone());
            face
        });
        face.ok_or_else(|| ScenarioError::UnknownCard(name.to_string()))
    }
}

/// Cards of a colour that compile, with lands: a deck of 40.
fn decks(cards: &CachedSource) -> Vec<Vec<String>> {
    let themes: [(&str, &[&str]); 5] = [
        (
            "Plains",
            &[
                "White Knight",
                "Silvercoat Lion",
                "Elite Vanguard",
                "Glorious Anthem",
                "Raise the Alarm",
                "Cloudshift",
                "Ajani's Sunstriker",
                "Wrath of God",
            ],
        ),
        (
            "Island",
            &[
                "Merfolk Looter",
                "Maritime Guard",
                "Unsummon",
                "Counterspell",
                "Clone",
                "Mind Control",
                "Fortress Crab",
                "Waterfall Aerialist",
            ],
        ),
        (
            "Swamp",
            &[
                "Typhoid Rats",
                "Murder",
                "Drudge Skeletons",
                "Blood Artist",
                "Last Gasp",
                "Geralf's Messenger",
                "Altar's Reap",
                "Alley Strangler",
            ],
        ),
        (
            "Mountain",
            &[
                "Lightning Bolt",
                "Raging Goblin",
                "Hill Giant",
                "Monastery Swiftspear",
                "Pyroclasm",
                "Act of Treason",
                "Warmind Infantry",
                "Markov Blademaster",
            ],
        ),
        (
            "Forest",
            &[
                "Grizzly Bears",
                "Llanowar Elves",
                "Craw Wurm",
                "Colossal Dreadmaw",
                "Titanic Growth",
                "Battlegrowth",
                "Ambush Viper",
                "Centaur Courser",
            ],
        ),
    ];
    let mut all = Vec::new();
    for (land, spells) in themes {
        let mut deck: Vec<String> = vec![land.to_string(); 17];
        for name in spells {
            if cards.find_card(name).is_ok() {
                deck.extend(vec![(*name).to_string(); 3]);
            }
        }
        all.push(deck);
    }
    all
}

fn count_cards(engine: &MTGEngine, player: PlayerId) -> usize {
    let state = engine.state();
    state
        .objects
        .iter()
        .filter(|object| object.owner == player && object.kind == marvin_mtg::state::ObjectKind::Card)
        .count()
}

fn play(header: JournalHeader, seed: u64, cards: &CachedSource) -> GameJournal {
    let mut journal = GameJournal::start(header, cards).expect("decks of supported cards");
    let mut random = RandomStream::new(seed);
    let before = PlayerId::BOTH.map(|player| count_cards(journal.engine(), player));
    for _ in 0..MAX_DECISIONS {
        let Some(decision) = journal.engine().decision().cloned() else { break };
        let mut answer = random_answer(journal.engine(), &decision, &mut random);
        if decision.kind == DecisionKind::Priority {
            let other = decision.player.opponent();
            let refused = journal.engine().clone().submit(other, decision.number, answer.clone());
            assert!(refused.is_err(), "the other player cannot answer");
            answer = random_answer(journal.engine(), &decision, &mut random);
        }
        let hash = journal.engine().state().state_hash();
        if let Err(refusal) = journal.submit(decision.player, decision.number, answer.clone()) {
            panic!(
                "listed answer {answer:?} to {decision:?} is refused: {refusal} (seed {seed}, hash {hash:x})"
            );
        }
    }
    let after = PlayerId::BOTH.map(|player| count_cards(journal.engine(), player));
    assert_eq!(before, after, "cards are conserved per owner (seed {seed})");
    journal
}

#[test]
fn random_games_end_and_replay() {
    let games =
        std::env::var("MTG_FUZZ_GAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_GAMES);
    let cards = CachedSource::default();
    let decks = decks(&cards);
    let mut ended = 0;
    let mut decisions = 0;
    for seed in 0..games {
        let index = usize::try_from(seed).unwrap();
        let first = decks[index % decks.len()].clone();
        let second = decks[(index / decks.len() + index) % decks.len()].clone();
        let header = JournalHeader { version: JOURNAL_VERSION, seed, decks: [first, second] };
        let journal = play(header, seed, &cards);
        decisions += journal.lines.len();
        if let Some(_outcome) = journal.engine().outcome() {
            ended += 1;
        }
        if seed % 5 == 0 {
            let text = journal.to_text().unwrap();
            let again = GameJournal::replay(&text, &cards, None).expect("replay with equal hashes");
            assert_eq!(again.to_text().unwrap(), text);
            let mut fork = GameJournal::replay(&text, &cards, Some(10)).expect("fork").engine().clone();
            assert!(matches!(fork.advance(), Status::Waiting(_) | Status::Over(_)));
        }
    }
    eprintln!("{games} games, {ended} ended, {decisions} decisions");
    assert_eq!(ended, games);
}

#[test]
fn views_depend_only_on_visible_cards() {
    let cards = CachedSource::default();
    let decks = decks(&cards);
    let header =
        JournalHeader { version: JOURNAL_VERSION, seed: 3, decks: [decks[0].clone(), decks[3].clone()] };
    let mut journal = GameJournal::start(header, &cards).unwrap();
    let mut random = RandomStream::new(3);
    for _ in 0..120 {
        let Some(decision) = journal.engine().decision().cloned() else { break };
        let seen = serde_json::to_string(&journal.engine().visible(PlayerId(0))).unwrap();
        // The opponent's hand and both libraries get other cards; the view stays the same.
        let mut other = journal.engine().clone();
        let hidden = other.state().player(PlayerId(1)).hand.clone();
        let swap = other.state().faces.len() - 1;
        for id in hidden.iter().chain(other.state().player(PlayerId(0)).library.clone().iter()) {
            if let Some(object) = other.state_mut().object_mut(*id) {
                object.face = marvin_mtg::ids::FaceId(u16::try_from(swap).unwrap());
            }
        }
        if decision.player == PlayerId(1) || decision.kind == DecisionKind::Priority {
            assert_eq!(serde_json::to_string(&other.visible(PlayerId(0))).unwrap(), seen);
        }
        let answer = random_answer(journal.engine(), &decision, &mut random);
        journal.submit(decision.player, decision.number, answer).unwrap();
    }
}
