//! Figures of the rules engine for Magic, in one process and one thread, with the welcome decks of
//! Core Set 2019. Prints JSON.
//!
//! `marvin-bench-mtg speed SECONDS` measures random games, copies of a game, lists of actions,
//! projections, the card pack and rollouts. `marvin-bench-mtg match PLAYER PLAYER GAMES SEED MS [FROM]`
//! plays two players against each other with seats that change; `mcts:N` searches with N iterations
//! in place of a time. FROM is the number of the first game, so that a long series can be played in
//! parts.

use anyhow::{Context, bail};
use marvin_mtg::MTGEngine;
use marvin_mtg::card::CardFace;
use marvin_mtg::cards::Pool;
use marvin_mtg::decision::DecisionKind;
use marvin_mtg::decks::shipped_decks;
use marvin_mtg::journal::{GameJournal, JournalHeader};
use marvin_mtg::players::{
    GamePlayer, HeuristicPlayer, Observation, RandomPlayer, SearchBudget, SearchPlayer, continue_game,
    random_answer,
};
use marvin_mtg::rng::RandomStream;
use marvin_mtg::scenario::{CachedSource, CardSource};
use marvin_mtg::state::Outcome;
use serde::Serialize;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Answers after which a game is given up.
const MAX_ANSWERS: usize = 20_000;
/// Games of which each decision is measured.
const MEASURED_GAMES: u64 = 20;
/// Decisions that the search is measured with.
const SEARCHED_DECISIONS: usize = 20;
const SEARCH_TIME: Duration = Duration::from_millis(200);

#[derive(Serialize)]
struct SpeedReport {
    games_per_s: f64,
    decisions_per_s: f64,
    decisions_per_game: f64,
    clone_us: f64,
    list_p50_us: f64,
    list_p99_us: f64,
    projection_us: f64,
    pack_ms: f64,
    rollouts_per_s: f64,
}

#[derive(Serialize)]
struct MatchReport {
    games: u64,
    wins: [u64; 2],
    draws: u64,
    seconds: f64,
    /// Games that the first player did not win.
    lost: Vec<LostGame>,
}

#[derive(Serialize)]
struct LostGame {
    number: u64,
    turn: u32,
    outcome: Option<Outcome>,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        ["speed", seconds] => serde_json::to_string(&measure_speed(seconds.parse()?)?)?,
        ["match", one, two, games, seed, think, from @ ..] if from.len() <= 1 => {
            let think = Duration::from_millis(think.parse()?);
            let from = from.first().map_or(Ok(0), |from| from.parse())?;
            let games: u64 = games.parse()?;
            serde_json::to_string(&play_match(
                [one, two],
                from..from.saturating_add(games),
                seed.parse()?,
                think,
            )?)?
        }
        _ => bail!("usage: marvin-bench-mtg speed SECONDS | match PLAYER PLAYER GAMES SEED MS [FROM]"),
    };
    println!("{text}");
    Ok(())
}

/// The cards of a deck, by name and compiled.
struct Deck {
    names: Vec<String>,
    faces: Vec<CardFace>,
}

/// The welcome decks that are supported as a whole.
fn load_decks(cards: &CachedSource<'_>) -> anyhow::Result<Vec<Deck>> {
    let mut decks = Vec::new();
    for deck in shipped_decks().iter().filter(|deck| deck.id.contains("2019_welcome_deck")) {
        let names = deck.deck.card_names();
        if let Ok(faces) = names.iter().map(|name| cards.find_card(name)).collect() {
            decks.push(Deck { names, faces });
        }
    }
    if decks.len() < 2 {
        bail!("cannot find two welcome decks whose cards are supported");
    }
    Ok(decks)
}

/// Two different decks for a game.
fn pick_pair(decks: &[Deck], seed: u64) -> anyhow::Result<[&Deck; 2]> {
    let number = usize::try_from(seed)?;
    let one = number % decks.len();
    let two = (one + 1 + number / decks.len() % (decks.len() - 1)) % decks.len();
    let find = |index: usize| decks.get(index).context("no such deck");
    Ok([find(one)?, find(two)?])
}

fn new_game(decks: &[Deck], seed: u64) -> anyhow::Result<MTGEngine> {
    let [one, two] = pick_pair(decks, seed)?;
    let mut engine = MTGEngine::new_game(seed, [&one.faces, &two.faces]);
    engine.advance();
    Ok(engine)
}

fn measure_speed(seconds: u64) -> anyhow::Result<SpeedReport> {
    let begun = Instant::now();
    let pool = Pool::shipped().map_err(|error| anyhow::anyhow!("{error}"))?;
    let pack_ms = begun.elapsed().as_secs_f64() * 1000.0;
    let cards = CachedSource::new(pool);
    let decks = load_decks(&cards)?;

    let limit = Duration::from_secs(seconds);
    let begun = Instant::now();
    let (mut games, mut decisions) = (0_u64, 0_u64);
    while begun.elapsed() < limit {
        let mut engine = new_game(&decks, games)?;
        let mut random = RandomStream::new(games);
        decisions += play_randomly(&mut engine, &mut random)?;
        games += 1;
    }
    let taken = begun.elapsed().as_secs_f64();
    let details = measure_details(&decks)?;
    Ok(SpeedReport {
        games_per_s: round(games as f64 / taken),
        decisions_per_s: round(decisions as f64 / taken),
        decisions_per_game: round(decisions as f64 / games as f64),
        clone_us: round(details.clone),
        list_p50_us: round(percentile(&details.lists, 50)),
        list_p99_us: round(percentile(&details.lists, 99)),
        projection_us: round(details.projection),
        pack_ms: round(pack_ms),
        rollouts_per_s: round(measure_rollouts(&decks)?),
    })
}

fn play_randomly(engine: &mut MTGEngine, random: &mut RandomStream) -> anyhow::Result<u64> {
    let mut decisions = 0;
    while let Some(decision) = engine.decision().cloned() {
        let answer = random_answer(engine, &decision, random);
        engine.submit(decision.player, decision.number, answer)?;
        decisions += 1;
        if decisions >= MAX_ANSWERS as u64 {
            break;
        }
    }
    Ok(decisions)
}

/// Means and single times in microseconds.
struct Details {
    clone: f64,
    projection: f64,
    lists: Vec<f64>,
}

fn measure_details(decks: &[Deck]) -> anyhow::Result<Details> {
    let (mut clones, mut projections, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..MEASURED_GAMES {
        let mut engine = new_game(decks, seed)?;
        let mut random = RandomStream::new(seed);
        while let Some(decision) = engine.decision().cloned() {
            if decision.kind == DecisionKind::Priority {
                let begun = Instant::now();
                let copy = std::hint::black_box(engine.clone());
                clones.push(micros(begun));
                let cold = MTGEngine::from_state(copy.state().clone());
                let begun = Instant::now();
                std::hint::black_box(cold.view());
                projections.push(micros(begun));
                let begun = Instant::now();
                std::hint::black_box(engine.list_actions(decision.player));
                lists.push(micros(begun));
            }
            let answer = random_answer(&engine, &decision, &mut random);
            engine.submit(decision.player, decision.number, answer)?;
        }
    }
    lists.sort_by(f64::total_cmp);
    Ok(Details { clone: mean(&clones), projection: mean(&projections), lists })
}

/// Rollouts per second of the search, in the middle of games.
fn measure_rollouts(decks: &[Deck]) -> anyhow::Result<f64> {
    let mut player = SearchPlayer::new(SearchBudget::Time(SEARCH_TIME), 1);
    let mut taken = Duration::ZERO;
    let mut searched = 0;
    for seed in 0.. {
        let mut engine = new_game(decks, seed)?;
        let mut heuristic = HeuristicPlayer;
        while let Some(decision) = engine.decision().cloned() {
            let observation = Observation::new(&engine, decision.player);
            if engine.state().turn == 8 && engine.has_real_action(decision.player) {
                let (before, begun) = (player.rollouts, Instant::now());
                player.answer(&observation);
                if player.rollouts > before {
                    taken += begun.elapsed();
                    searched += 1;
                }
            }
            if engine.state().turn > 8 || searched >= SEARCHED_DECISIONS {
                break;
            }
            let answer = heuristic.answer(&observation);
            engine.submit(decision.player, decision.number, answer)?;
        }
        if searched >= SEARCHED_DECISIONS {
            break;
        }
    }
    Ok(player.rollouts as f64 / taken.as_secs_f64())
}

fn build_player(name: &str, seed: u64, think: Duration) -> anyhow::Result<Box<dyn GamePlayer>> {
    Ok(match name {
        "random" => Box::new(RandomPlayer::new(seed)),
        "heuristic" => Box::new(HeuristicPlayer),
        "mcts" => Box::new(SearchPlayer::new(SearchBudget::Time(think), seed)),
        _ => {
            let iterations =
                name.strip_prefix("mcts:").with_context(|| format!("unknown player `{name}`"))?;
            Box::new(SearchPlayer::new(SearchBudget::Iterations(iterations.parse()?), seed))
        }
    })
}

fn play_match(
    names: [&str; 2],
    games: Range<u64>,
    seed: u64,
    think: Duration,
) -> anyhow::Result<MatchReport> {
    let pool = Pool::shipped().map_err(|error| anyhow::anyhow!("{error}"))?;
    let cards = CachedSource::new(pool);
    let decks = load_decks(&cards)?;
    let begun = Instant::now();
    let mut report = MatchReport {
        games: games.end - games.start,
        wins: [0, 0],
        draws: 0,
        seconds: 0.0,
        lost: Vec::new(),
    };
    for number in games {
        // The same decks twice: each player has each of them once, and each seat once.
        let pair = pick_pair(&decks, seed + number / 2)?;
        let first = usize::from(number % 2 == 1);
        let header = JournalHeader::new(seed + number / 2, pair.map(|deck| deck.names.clone()));
        let mut journal = GameJournal::start(header, &cards)?;
        let [one, two] = names;
        let mut own = build_player(one, seed + number, think)?;
        let mut other = build_player(two, seed + number, think)?;
        let mut players: [&mut dyn GamePlayer; 2] =
            if first == 0 { [own.as_mut(), other.as_mut()] } else { [other.as_mut(), own.as_mut()] };
        continue_game(&mut journal, &mut players, MAX_ANSWERS)?;
        let outcome = journal.engine().outcome();
        let winner = outcome.and_then(|outcome| outcome.winner);
        if winner.is_none_or(|seat| usize::from(seat.0) != first) {
            report.lost.push(LostGame { number, turn: journal.engine().state().turn, outcome });
        }
        match winner.and_then(|seat| report.wins.get_mut(usize::from(seat.0) ^ first)) {
            Some(wins) => *wins += 1,
            None => report.draws += 1,
        }
    }
    report.seconds = round(begun.elapsed().as_secs_f64());
    Ok(report)
}

fn micros(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0.0)
}

fn round(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
