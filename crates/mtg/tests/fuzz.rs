//! Random games: over all pairs of shipped decks, and one for each supported card.
//!
//! `MTG_FUZZ_GAMES` and `MTG_FUZZ_CARDS` set their numbers, `MTG_FUZZ_FIRST` the first one;
//! `cargo xtask mtg-fuzz` sets all of them. A failure names the game, which is repeated by its
//! number alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

use marvin_mtg::MTGEngine;
use marvin_mtg::ability::{TurnStep, Zone};
use marvin_mtg::action::{Action, ActivateAction, CastAction, Payment};
use marvin_mtg::card::{CardFace, Color};
use marvin_mtg::cards::{Pool, compile};
use marvin_mtg::decision::{Answer, Decision, DecisionKind};
use marvin_mtg::decks::shipped_decks;
use marvin_mtg::ids::{AbilityRef, Entity, FaceId, ObjectId, PlayerId};
use marvin_mtg::journal::{GameJournal, JournalHeader};
use marvin_mtg::players::random_answer;
use marvin_mtg::rng::RandomStream;
use marvin_mtg::scenario::{CachedSource, CardSource};
use marvin_mtg::state::{CastWay, GameState, Object, ObjectKind};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const DEFAULT_GAMES: u64 = 12;
const DEFAULT_CARDS: u64 = 40;
const MAX_DECISIONS: usize = 20_000;
/// Decisions of a game for one card; it need not end.
const MAX_CARD_DECISIONS: usize = 400;
/// Positions from which a card is tried until it is played.
const MAX_POSITIONS: u64 = 24;
/// Every so many decisions all listed actions are tried, and the views are compared.
const THOROUGH_EVERY: usize = 25;
/// Answers that must be refused, for each decision with a thorough check.
const WRONG_ANSWERS: usize = 12;
/// Every so many games the journal is replayed.
const REPLAY_EVERY: u64 = 10;
/// Failures that are printed before the run stops.
const MAX_FAILURES: usize = 20;

/// Numbers of all games, for the last line of a run.
#[derive(Debug, Default)]
struct Counts {
    games: u64,
    decisions: u64,
    listed: u64,
    refused: u64,
    views: u64,
    replays: u64,
}

fn read_count(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The supported cards of each shipped deck.
fn deck_names(cards: &CachedSource<'_>) -> Vec<Vec<String>> {
    let names = |deck: &marvin_mtg::decks::ShippedDeck| {
        let entries = deck.deck.main.iter().filter(|entry| cards.find_card(&entry.name).is_ok());
        entries
            .flat_map(|entry| std::iter::repeat_n(entry.name.clone(), usize::try_from(entry.count).unwrap()))
            .collect()
    };
    shipped_decks().iter().map(names).collect()
}

/// Every card is in the zone that it says, in the list of that zone, once, and none is missing.
fn check_zones(engine: &MTGEngine, cards: [usize; 2]) {
    let state = engine.state();
    let mut listed: BTreeSet<ObjectId> = BTreeSet::new();
    for zone in [Zone::Library, Zone::Hand, Zone::Battlefield, Zone::Graveyard, Zone::Exile, Zone::Stack] {
        for id in state.zone_objects(zone) {
            assert!(listed.insert(id), "{id:?} is listed twice");
            assert_eq!(state.object(id).zone, zone, "{id:?} is listed in another zone");
        }
    }
    for player in PlayerId::BOTH {
        let own = state.objects.iter().filter(|object| {
            object.owner == player && object.kind == ObjectKind::Card && object.zone != Zone::Command
        });
        let mut count = 0;
        for object in own {
            assert!(listed.contains(&object.id), "{object:?} is in no zone");
            count += 1;
        }
        assert_eq!(count, cards[usize::from(player.0)], "cards of player {}", player.0);
    }
}

/// Views of two games that differ only in hidden cards are equal.
fn check_views(engine: &MTGEngine, random: &mut RandomStream) {
    for player in PlayerId::BOTH {
        let mut other = engine.clone();
        let state = other.state_mut();
        let mut hidden: Vec<ObjectId> = state.player(player.opponent()).hand.clone();
        hidden.extend(state.zone_objects(Zone::Library));
        let shown = PlayerId::BOTH.map(|seat| engine.shown_top_card(seat, player));
        hidden.retain(|id| !shown.contains(&Some(*id)));
        let mut faces: Vec<FaceId> = hidden.iter().map(|id| state.object(*id).face).collect();
        random.shuffle(&mut faces);
        for (id, face) in hidden.iter().zip(faces) {
            state.object_mut(*id).unwrap().face = face;
        }
        assert_eq!(other.visible(player), engine.visible(player), "the view of player {}", player.0);
    }
}

/// Answers that no rule allows: other players, old numbers, unknown objects, wrong kinds.
fn wrong_answer(
    engine: &MTGEngine,
    decision: &Decision,
    random: &mut RandomStream,
) -> (PlayerId, u32, Answer) {
    let player = decision.player;
    let objects = &engine.state().objects;
    let object = objects[random.below(objects.len())].id;
    let stale = ObjectId(object.0.wrapping_add(1 << 20));
    let right = random_answer(engine, decision, random);
    match random.below(6) {
        0 => (player.opponent(), decision.number, right),
        1 => (player, decision.number.wrapping_add(1), right),
        2 => (player, decision.number, Answer::Action(Box::new(Action::PlayLand { card: stale }))),
        3 => {
            let cast = CastAction {
                card: if decision.kind == DecisionKind::Priority { stale } else { object },
                way: CastWay::Free,
                modes: vec![9],
                targets: Vec::new(),
                x: 0,
                kicked: 0,
                buyback: false,
                additional: 0,
                payment: Payment::default(),
                ask: false,
            };
            (player, decision.number, Answer::Action(Box::new(Action::Cast(cast))))
        }
        4 => {
            let activate = ActivateAction {
                source: object,
                ability: AbilityRef::Loose(u16::MAX),
                modes: Vec::new(),
                targets: Vec::new(),
                x: 0,
                mana: 0,
                payment: Payment::default(),
                ask: false,
            };
            (player, decision.number, Answer::Action(Box::new(Action::Activate(activate))))
        }
        _ => {
            let answer = match decision.kind {
                DecisionKind::DeclareAttackers => Answer::Attack(vec![(stale, Entity::Player(player))]),
                DecisionKind::DeclareBlockers => Answer::Block(vec![(stale, stale)]),
                DecisionKind::Priority => Answer::Options(vec![0]),
                _ => Answer::Options(vec![u32::MAX]),
            };
            (player, decision.number, answer)
        }
    }
}

/// Actions on objects that the list of actions does not have must be refused.
fn unlisted_action(engine: &MTGEngine, listed: &[Action], random: &mut RandomStream) -> Option<Action> {
    let objects = &engine.state().objects;
    let id = objects[random.below(objects.len())].id;
    let known = listed.iter().any(|action| match action {
        Action::PlayLand { card } => *card == id,
        Action::Cast(cast) => cast.card == id,
        Action::Activate(activate) => activate.source == id,
        Action::Pass | Action::Concede => false,
    });
    (!known).then_some(Action::PlayLand { card: id })
}

fn check_thoroughly(engine: &MTGEngine, decision: &Decision, random: &mut RandomStream, counts: &mut Counts) {
    let hash = engine.state().state_hash();
    let listed = engine.list_actions(decision.player);
    for action in &listed {
        let mut trial = engine.clone();
        let answer = Answer::Action(Box::new(action.clone()));
        if let Err(refusal) = trial.submit(decision.player, decision.number, answer) {
            panic!("the listed action `{}` is refused: {refusal}\n{action:?}", engine.label(action));
        }
        counts.listed += 1;
    }
    let mut trial = engine.clone();
    for _ in 0..WRONG_ANSWERS {
        let (player, number, answer) = wrong_answer(engine, decision, random);
        let shown = format!("{answer:?}");
        assert!(trial.submit(player, number, answer).is_err(), "accepted: {shown} to {decision:?}");
        assert_eq!(trial.state().state_hash(), hash, "a refused answer changed the state: {shown}");
        counts.refused += 1;
        if let Some(action) = unlisted_action(engine, &listed, random) {
            let shown = format!("{action:?}");
            let answer = Answer::Action(Box::new(action));
            assert!(trial.submit(decision.player, decision.number, answer).is_err(), "accepted: {shown}");
            assert_eq!(trial.state().state_hash(), hash, "a refused answer changed the state: {shown}");
            counts.refused += 1;
        }
    }
    check_views(engine, random);
    counts.views += 2;
}

/// Plays one game by random answers; `choose` may prefer one.
fn play(
    header: JournalHeader,
    cards: &CachedSource<'_>,
    limit: usize,
    counts: &mut Counts,
    choose: &mut dyn FnMut(&MTGEngine, &Decision, &mut RandomStream) -> Option<Answer>,
) -> GameJournal {
    let mut random = RandomStream::new(header.seed ^ 0x5bd1_e995);
    let sizes = [header.decks[0].len(), header.decks[1].len()];
    let mut journal = GameJournal::start(header, cards).expect("decks of supported cards");
    for index in 0..limit {
        let Some(decision) = journal.engine().decision().cloned() else { break };
        if index % THOROUGH_EVERY == 0 {
            check_zones(journal.engine(), sizes);
            check_thoroughly(journal.engine(), &decision, &mut random, counts);
        }
        let answer = choose(journal.engine(), &decision, &mut random)
            .unwrap_or_else(|| random_answer(journal.engine(), &decision, &mut random));
        if let Err(refusal) = journal.submit(decision.player, decision.number, answer.clone()) {
            panic!("the answer {answer:?} to {decision:?} is refused: {refusal}");
        }
        counts.decisions += 1;
    }
    check_zones(journal.engine(), sizes);
    counts.games += 1;
    journal
}

/// Runs a game and returns what went wrong.
fn find_failure(game: impl FnOnce()) -> Option<String> {
    let failure = catch_unwind(AssertUnwindSafe(game)).err()?;
    let text = failure
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| failure.downcast_ref::<&str>().map(ToString::to_string));
    Some(text.unwrap_or_default())
}

fn report(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn random_games_over_pairs_of_decks() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let decks = deck_names(&cards);
    let (first, games) = (read_count("MTG_FUZZ_FIRST", 0), read_count("MTG_FUZZ_GAMES", DEFAULT_GAMES));
    let mut counts = Counts::default();
    let mut failures: Vec<String> = Vec::new();
    for seed in first..first + games {
        // Steps of a number without common factors reach all pairs, different ones first.
        let pair = usize::try_from(seed).unwrap() * 1021 % (decks.len() * decks.len());
        let (one, two) = (pair / decks.len(), pair % decks.len());
        let header = JournalHeader::new(seed, [decks[one].clone(), decks[two].clone()]);
        let failure = find_failure(|| {
            let journal = play(header, &cards, MAX_DECISIONS, &mut counts, &mut |_, _, _| None);
            let state = journal.engine().state();
            assert!(
                state.outcome.is_some(),
                "the game does not end: turn {}, {:?}, {} on the stack",
                state.turn,
                state.step,
                state.stack.len()
            );
            if seed % REPLAY_EVERY == 0 {
                let text = journal.to_text().unwrap();
                let again = GameJournal::replay(&text, &cards, None).expect("replay with equal hashes");
                assert_eq!(again.to_text().unwrap(), text);
                counts.replays += 1;
            }
        });
        if let Some(failure) = failure {
            let ids = [&shipped_decks()[one].id, &shipped_decks()[two].id];
            eprintln!("game {seed} ({} against {}): {failure}", ids[0], ids[1]);
            failures.push(format!("game {seed}: {failure}"));
            if failures.len() >= MAX_FAILURES {
                break;
            }
        }
    }
    eprintln!("{counts:?}");
    report(&failures);
}

/// An ability on the stack whose source has become a hidden card.
#[test]
fn a_view_names_an_ability_by_what_its_source_was() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let mut state = GameState::new(1);
    let owner = PlayerId(0);
    let mut add = |name: &str, zone: Zone| {
        let face = state.faces.intern(&cards.find_card(name).unwrap());
        let id = state.add_object(ObjectKind::Card, face, owner, zone);
        match zone {
            Zone::Graveyard => state.player_mut(owner).graveyard.push(id),
            _ => state.player_mut(owner).library.push(id),
        }
    };
    add("Sanitarium Skeleton", Zone::Graveyard);
    for land in ["Swamp", "Forest", "Island", "Plains"] {
        add(land, Zone::Library);
    }
    state.step = TurnStep::Main1;
    state.player_mut(owner).mana = [0, 0, 6, 0, 0, 0];
    let mut engine = MTGEngine::from_state(state);
    engine.advance();
    let mut answer = |action: Option<Action>| {
        let decision = engine.decision().cloned().unwrap();
        let listed = engine.list_actions(decision.player);
        let action = action.unwrap_or_else(|| listed.last().cloned().unwrap());
        engine.submit(decision.player, decision.number, Answer::Action(Box::new(action))).unwrap();
        engine.clone()
    };
    answer(None);
    answer(None);
    answer(Some(Action::Pass));
    let engine = answer(Some(Action::Pass));
    assert_eq!(engine.state().player(owner).hand.len(), 1);
    assert_eq!(engine.visible(PlayerId(1)).stack[0].source, "Sanitarium Skeleton");
    for seed in 0..8 {
        check_views(&engine, &mut RandomStream::new(seed));
    }
}

/// Deck for a card: many copies, lands of its colours, creatures for nothing as targets.
fn deck_for(face: &CardFace) -> Vec<String> {
    let lands: Vec<&str> = [
        (Color::White, "Plains"),
        (Color::Blue, "Island"),
        (Color::Black, "Swamp"),
        (Color::Red, "Mountain"),
        (Color::Green, "Forest"),
    ]
    .into_iter()
    .filter(|(color, _)| face.colors.is_empty() || face.colors.contains(*color))
    .map(|(_, land)| land)
    .collect();
    let mut deck = vec![face.name.clone(); 12];
    deck.extend(lands.iter().cycle().take(20).map(ToString::to_string));
    deck.extend(vec!["Ornithopter".to_string(); 8]);
    deck
}

fn is_about(engine: &MTGEngine, action: &Action, name: &str) -> bool {
    let card = match action {
        Action::PlayLand { card } => *card,
        Action::Cast(cast) => cast.card,
        _ => return false,
    };
    engine.view().name(card) == name
}

/// What both players have in the position of a card: mana of all kinds, and something of each type to aim at.
const SUPPORT: [(&str, Zone, usize); 19] = [
    ("Plains", Zone::Battlefield, 6),
    ("Island", Zone::Battlefield, 6),
    ("Swamp", Zone::Battlefield, 6),
    ("Mountain", Zone::Battlefield, 6),
    ("Forest", Zone::Battlefield, 6),
    ("Wastes", Zone::Battlefield, 6),
    ("Ornithopter", Zone::Battlefield, 2),
    ("Grizzly Bears", Zone::Battlefield, 3),
    ("Glorious Anthem", Zone::Battlefield, 1),
    ("Isamaru, Hound of Konda", Zone::Battlefield, 1),
    ("Wei Scout", Zone::Battlefield, 1),
    ("Vampire Nighthawk", Zone::Battlefield, 1),
    ("Grizzly Bears", Zone::Graveyard, 2),
    ("Lightning Bolt", Zone::Graveyard, 2),
    ("Forest", Zone::Graveyard, 1),
    ("Lightning Bolt", Zone::Hand, 2),
    ("Serra Angel", Zone::Hand, 2),
    ("Colossal Dreadmaw", Zone::Library, 3),
    ("Grizzly Bears", Zone::Library, 30),
];

/// What they have besides for a card that was not played with that.
const RARE_SUPPORT: [(&str, Zone, usize); 23] = [
    ("Prodigal Sorcerer", Zone::Battlefield, 2),
    ("Raging Goblin", Zone::Battlefield, 2),
    ("Vampire Nighthawk", Zone::Battlefield, 1),
    ("Wall of Stone", Zone::Battlefield, 1),
    ("Bonesplitter", Zone::Battlefield, 1),
    ("Hill Giant", Zone::Battlefield, 1),
    ("Watchwolf", Zone::Battlefield, 1),
    ("Kami of Ancient Law", Zone::Battlefield, 1),
    ("Shivan Dragon", Zone::Battlefield, 1),
    ("Snow-Covered Forest", Zone::Battlefield, 1),
    ("Evolving Wilds", Zone::Battlefield, 1),
    ("Divination", Zone::Graveyard, 1),
    ("Raging Goblin", Zone::Graveyard, 1),
    ("Bonesplitter", Zone::Graveyard, 1),
    ("Watchwolf", Zone::Graveyard, 1),
    ("Opt", Zone::Hand, 2),
    ("Divination", Zone::Hand, 2),
    ("Lightning Helix", Zone::Hand, 2),
    ("Reach Through Mists", Zone::Hand, 1),
    ("Lava Spike", Zone::Hand, 1),
    ("Pacifism", Zone::Hand, 1),
    ("Battlegrowth", Zone::Hand, 1),
    ("Raise the Alarm", Zone::Hand, 1),
];

/// A main phase in which nearly every card can be played.
fn position_for(name: &str, seed: u64, cards: &CachedSource<'_>, has_rare: bool) -> MTGEngine {
    let mut state = GameState::new(seed);
    state.turn = 3;
    state.step = TurnStep::Main1;
    for owner in PlayerId::BOTH {
        state.player_mut(owner).latest_turn = 3 - u32::from(owner.0);
        let own = (owner == PlayerId(0)).then_some((name, Zone::Hand, 3));
        let rare = RARE_SUPPORT.into_iter().filter(|_| has_rare);
        for (card, zone, count) in SUPPORT.into_iter().chain(own).chain(rare) {
            let face = cards.find_card(card).unwrap();
            let face = state.faces.intern(&face);
            for _ in 0..count {
                let id = state.add_object(ObjectKind::Card, face, owner, zone);
                match zone {
                    Zone::Battlefield => {
                        state.battlefield.push(id);
                        let timestamp = state.next_timestamp();
                        state.object_mut(id).unwrap().timestamp = timestamp;
                    }
                    Zone::Hand => state.player_mut(owner).hand.push(id),
                    Zone::Graveyard => state.player_mut(owner).graveyard.push(id),
                    _ => state.player_mut(owner).library.push(id),
                }
            }
        }
    }
    let mut engine = MTGEngine::from_state(state);
    engine.advance();
    engine
}

#[test]
fn alternatives_of_additional_costs_and_buyback_are_listed() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    for (name, expected) in [
        ("Thunderherd Migration", &["cast Thunderherd Migration (pay {1})"][..]),
        (
            "Brush with Death",
            &["cast Brush with Death on player 1", "cast Brush with Death with buyback on player 1"],
        ),
    ] {
        let engine = position_for(name, 1, &cards, false);
        let listed = engine.list_actions(PlayerId(0));
        let about = listed.iter().filter(|action| is_about(&engine, action, name));
        let labels: BTreeSet<String> = about.map(|action| engine.label(action)).collect();
        assert_eq!(labels, expected.iter().map(ToString::to_string).collect());
    }
}

/// Plays on at random from a position; the card is played whenever it can be. Returns how often it was.
fn play_position(mut engine: MTGEngine, name: &str, counts: &mut Counts) -> usize {
    let mut random = RandomStream::new(engine.state().state_hash());
    let sizes = PlayerId::BOTH.map(|owner| {
        let is_own = |object: &&Arc<Object>| object.owner == owner;
        engine.state().objects.iter().filter(is_own).count()
    });
    let mut played = 0;
    for index in 0..MAX_CARD_DECISIONS {
        let Some(decision) = engine.decision().cloned() else { break };
        if index % THOROUGH_EVERY == 0 {
            check_zones(&engine, sizes);
            check_thoroughly(&engine, &decision, &mut random, counts);
        }
        let listed = if decision.kind == DecisionKind::Priority && decision.player == PlayerId(0) {
            engine.list_actions(decision.player)
        } else {
            Vec::new()
        };
        let wanted: Vec<Action> =
            listed.into_iter().filter(|action| is_about(&engine, action, name)).collect();
        let answer = if wanted.is_empty() || played > 3 {
            random_answer(&engine, &decision, &mut random)
        } else {
            played += 1;
            Answer::Action(Box::new(wanted[random.below(wanted.len())].clone()))
        };
        if let Err(refusal) = engine.submit(decision.player, decision.number, answer.clone()) {
            panic!("the answer {answer:?} to {decision:?} is refused: {refusal}");
        }
        counts.decisions += 1;
    }
    counts.games += 1;
    played
}

#[test]
fn each_supported_card_is_played() {
    let pool = Pool::shipped().unwrap();
    let cards = CachedSource::new(pool);
    let all: Vec<_> = pool.iter().collect();
    let (first, count) = (read_count("MTG_FUZZ_FIRST", 0), read_count("MTG_FUZZ_CARDS", DEFAULT_CARDS));
    let mut counts = Counts::default();
    let mut failures: Vec<String> = Vec::new();
    let mut never: Vec<&str> = Vec::new();
    let step = if count < 1000 { 379 } else { 1 };
    for number in first..first + count.min(u64::try_from(all.len()).unwrap()) {
        let facts = all[usize::try_from(number * step).unwrap() % all.len()];
        if compile(facts).is_err() {
            continue;
        }
        let name = facts.name.as_str();
        let (mut played, mut from_position) = (0, 0);
        let face = cards.find_card(name).unwrap();
        let other = cards.find_card("Grizzly Bears").unwrap();
        let header = JournalHeader::new(number, [deck_for(&face), deck_for(&other)]);
        let failure = find_failure(|| {
            for seed in 0..MAX_POSITIONS {
                if from_position == 0 {
                    let engine = position_for(name, number + seed, &cards, seed > 0);
                    from_position = play_position(engine, name, &mut counts);
                }
            }
            play(header, &cards, MAX_CARD_DECISIONS, &mut counts, &mut |engine, decision, random| {
                let is_own = decision.player == PlayerId(0);
                if decision.kind != DecisionKind::Priority || !is_own || played > 6 {
                    return None;
                }
                let actions = engine.list_actions(decision.player);
                let wanted: Vec<&Action> =
                    actions.iter().filter(|action| is_about(engine, action, name)).collect();
                let free = || {
                    actions.iter().find(|action| {
                        matches!(action, Action::PlayLand { .. }) || is_about(engine, action, "Ornithopter")
                    })
                };
                let action = if wanted.is_empty() {
                    // Mana is kept for the card.
                    free().or(actions.first()).filter(|_| played == 0)?
                } else {
                    played += 1;
                    wanted[random.below(wanted.len())]
                };
                Some(Answer::Action(Box::new(action.clone())))
            });
        });
        if let Some(failure) = failure {
            eprintln!("card {number} ({name}): {failure}");
            failures.push(format!("card {number} ({name}): {failure}"));
            if failures.len() >= MAX_FAILURES {
                break;
            }
        } else if played + from_position == 0 {
            never.push(name);
        }
    }
    eprintln!("{counts:?}");
    report(&failures);
    assert!(never.is_empty(), "never played: {never:?}");
}
