//! Players without a model: strength, determinism, and that hidden cards do not matter to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use marvin_mtg::MTGEngine;
use marvin_mtg::ability::Zone;
use marvin_mtg::cards::Pool;
use marvin_mtg::decision::{Answer, DecisionKind};
use marvin_mtg::decks::shipped_decks;
use marvin_mtg::ids::{FaceId, ObjectId, PlayerId};
use marvin_mtg::journal::{GameJournal, JournalHeader};
use marvin_mtg::players::{
    GamePlayer, HeuristicPlayer, Observation, RandomPlayer, SearchBudget, SearchPlayer, continue_game,
};
use marvin_mtg::rng::RandomStream;
use marvin_mtg::scenario::CachedSource;
use marvin_mtg::surface::{CompactAnswer, Stops};

const MAX_ANSWERS: usize = 20_000;

/// Bytes of a compact question of a usual turn.
const MAX_QUESTION_BYTES: usize = 3 * 1024;

fn deck(id: &str) -> Vec<String> {
    shipped_decks().iter().find(|deck| deck.id == id).unwrap().deck.card_names()
}

fn header(seed: u64) -> JournalHeader {
    JournalHeader::new(seed, [deck("boundless_elves"), deck("glorious_combat")])
}

#[test]
fn the_heuristic_player_beats_the_random_one() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let games = 4;
    for seed in 0..games {
        let mut journal = GameJournal::start(header(seed), &cards).unwrap();
        let (mut heuristic, mut random) = (HeuristicPlayer, RandomPlayer::new(seed));
        let first = seed % 2 == 0;
        let mut players: [&mut dyn GamePlayer; 2] =
            if first { [&mut heuristic, &mut random] } else { [&mut random, &mut heuristic] };
        continue_game(&mut journal, &mut players, MAX_ANSWERS).unwrap();
        let winner = journal.engine().outcome().expect("the game ends").winner;
        assert_eq!(winner, Some(PlayerId(u8::from(!first))), "seed {seed}");
    }
}

/// The same game with other hidden cards for a player.
fn change_hidden_cards(engine: &MTGEngine, player: PlayerId, random: &mut RandomStream) -> MTGEngine {
    let mut other = engine.clone();
    let state = other.state_mut();
    for hidden in [state.player(player).library.clone(), hidden_of_opponent(state.player(player.opponent()))]
    {
        let mut faces: Vec<FaceId> = hidden.iter().map(|id| state.object(*id).face).collect();
        random.shuffle(&mut faces);
        for (id, face) in hidden.iter().zip(faces) {
            state.object_mut(*id).unwrap().face = face;
        }
    }
    other
}

fn hidden_of_opponent(opponent: &marvin_mtg::state::Player) -> Vec<ObjectId> {
    opponent.hand.iter().chain(&opponent.library).copied().collect()
}

#[test]
fn answers_do_not_depend_on_hidden_cards() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let mut journal = GameJournal::start(header(7), &cards).unwrap();
    let mut random = RandomStream::new(7);
    for number in 0..120_u64 {
        let Some(decision) = journal.engine().decision().cloned() else { break };
        let player = decision.player;
        let shown = Observation::new(journal.engine(), player);
        let answer = HeuristicPlayer.answer(&shown);
        let in_library = decision.options.iter().any(|option| match option {
            marvin_mtg::decision::Choosable::Entity(entity) => {
                entity.object().is_some_and(|id| journal.engine().state().object(id).zone == Zone::Library)
            }
            _ => false,
        });
        if !in_library {
            let other = change_hidden_cards(journal.engine(), player, &mut random);
            let hidden = Observation::new(&other, player);
            assert_eq!(HeuristicPlayer.answer(&hidden), answer, "decision {}", decision.number);
            if number % 20 == 0 {
                let search = |observation: &Observation| {
                    SearchPlayer::new(SearchBudget::Iterations(6), number).answer(observation)
                };
                assert_eq!(search(&shown), search(&hidden), "decision {}", decision.number);
                assert_eq!(search(&shown), search(&shown), "decision {}", decision.number);
            }
        }
        journal.submit(player, decision.number, answer).unwrap();
    }
}

#[test]
fn compact_questions_are_small_and_can_be_answered() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let mut journal = GameJournal::start(header(11), &cards).unwrap();
    let stops = Stops::default();
    let (mut questions, mut passes) = (0, 0);
    let mut random = RandomPlayer::new(11);
    for _ in 0..200 {
        passes += journal.pass_automatically([&stops, &stops]).unwrap();
        let Some(decision) = journal.engine().decision().cloned() else { break };
        let engine = journal.engine();
        assert!(engine.compact_question(decision.player.opponent()).is_none());
        let question = engine.compact_question(decision.player).unwrap();
        let text = serde_json::to_string(&question).unwrap();
        assert!(text.len() <= MAX_QUESTION_BYTES, "{} bytes: {text}", text.len());
        questions += 1;
        let answer = random.answer(&Observation::new(engine, decision.player));
        let compact = match &answer {
            Answer::Action(action) => {
                let listed = engine.compact_actions(decision.player);
                let same = listed.into_iter().find(|known| known.action == **action).unwrap();
                CompactAnswer::Action(same.id)
            }
            Answer::Options(chosen) => {
                CompactAnswer::Options(chosen.iter().map(|index| format!("o{index}")).collect())
            }
            Answer::Attack(pairs) => {
                let defender = |entity: &marvin_mtg::ids::Entity| match entity {
                    marvin_mtg::ids::Entity::Player(seat) => format!("p{}", seat.0),
                    marvin_mtg::ids::Entity::Object(id) => format!("c{}", id.0),
                };
                let pairs = pairs.iter().map(|(id, target)| (format!("c{}", id.0), defender(target)));
                CompactAnswer::Attackers(pairs.collect())
            }
            Answer::Block(pairs) => {
                let pairs = pairs.iter().map(|(one, two)| (format!("c{}", one.0), format!("c{}", two.0)));
                CompactAnswer::Blockers(pairs.collect())
            }
            Answer::Division(amounts) => CompactAnswer::Amounts(amounts.clone()),
        };
        assert_eq!(engine.read_compact(decision.player, &compact).unwrap(), answer);
        let wrong = CompactAnswer::Action("a999".to_string());
        assert!(engine.read_compact(decision.player, &wrong).is_err());
        journal.submit(decision.player, decision.number, answer).unwrap();
    }
    assert!(questions > 20, "{questions} questions");
    assert!(passes > questions, "{passes} automatic passes for {questions} questions");
}

#[test]
fn a_mulligan_puts_cards_on_the_bottom_once() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let mut journal = GameJournal::start(header(3), &cards).unwrap();
    let mut kinds = Vec::new();
    let mut redraws = 0;
    while let Some(decision) = journal.engine().decision().cloned() {
        if decision.kind == DecisionKind::Priority {
            break;
        }
        let chosen = match decision.kind {
            // The first player to be asked takes two mulligans.
            DecisionKind::Mulligan if decision.player == PlayerId(0) && redraws < 2 => {
                redraws += 1;
                vec![1]
            }
            _ => (0..decision.min).collect(),
        };
        if decision.player == PlayerId(0) {
            kinds.push(decision.kind);
        }
        journal.submit(decision.player, decision.number, Answer::Options(chosen)).unwrap();
    }
    let bottoms = kinds.iter().filter(|kind| **kind == DecisionKind::Bottom).count();
    assert_eq!(bottoms, 1, "{kinds:?}");
    assert_eq!(journal.engine().state().player(PlayerId(0)).hand.len(), 5);
    assert_eq!(journal.engine().state().player(PlayerId(1)).hand.len(), 7);
}
