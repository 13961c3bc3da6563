//! `marvin mtg simulate`: games between players without a model.

use super::decks::load_deck;
use super::failures::journal_failure;
use super::pool::load_pool;
use super::table::{DeckArguments, SearchArguments};
use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use marvin_base::{Exit, atomic};
use marvin_mtg::cards::Pool;
use marvin_mtg::decks::check;
use marvin_mtg::journal::{GameJournal, JournalHeader};
use marvin_mtg::players::{
    GamePlayer, HeuristicPlayer, RandomPlayer, SearchBudget, SearchPlayer, continue_game,
};
use marvin_mtg::scenario::CachedSource;
use marvin_mtg::state::EndReason;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Answers after which a game is given up.
const MAX_ANSWERS: usize = 20_000;

/// Let players without a model play games
#[derive(Debug, Args)]
#[command(
    after_help = "The players change seats after each game. Each knows only what its seat may know. With the same seed, decks and players the games are the same, except for `mcts` with a time.\n\nExamples:\n  marvin mtg simulate --players heuristic,random --decks boundless_elves,dark_sacrifice --games 100\n  marvin mtg simulate --players mcts,heuristic --iterations 200 --games 4 --journals games/\n  marvin mtg simulate --continue games/0.jsonl --players heuristic,heuristic"
)]
pub(crate) struct SimulateArguments {
    /// The two players
    #[arg(long, value_delimiter = ',', default_value = "heuristic,random", value_name = "PLAYER,PLAYER")]
    players: Vec<PlayerKind>,
    #[command(flatten)]
    decks: DeckArguments,
    /// Number of games
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// The seed of the first game; the others count on from it
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    #[command(flatten)]
    search: SearchArguments,
    /// Write the journal of each game to this directory
    #[arg(long, value_name = "DIR")]
    journals: Option<PathBuf>,
    /// Play on from the last line of a journal
    #[arg(long = "continue", value_name = "FILE", conflicts_with_all = ["decks", "games"])]
    from: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlayerKind {
    Random,
    Heuristic,
    Mcts,
}

impl PlayerKind {
    fn key(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Heuristic => "heuristic",
            Self::Mcts => "mcts",
        }
    }

    fn build(self, budget: SearchBudget, seed: u64) -> Box<dyn GamePlayer> {
        match self {
            Self::Random => Box::new(RandomPlayer::new(seed)),
            Self::Heuristic => Box::new(HeuristicPlayer),
            Self::Mcts => Box::new(SearchPlayer::new(budget, seed)),
        }
    }
}

#[derive(Serialize)]
struct SimulateReport {
    games: Vec<GameRow>,
    players: [PlayerRow; 2],
    draws: u64,
    unfinished: u64,
}

#[derive(Serialize)]
struct GameRow {
    seed: u64,
    /// Which of the players had the first seat.
    first_seat: usize,
    /// Which of the players won.
    winner: Option<usize>,
    reason: Option<EndReason>,
    turns: u32,
    answers: usize,
    hash: String,
}

#[derive(Serialize)]
struct PlayerRow {
    player: &'static str,
    wins: u64,
}

pub(crate) fn run(arguments: &SimulateArguments) -> Result<Exit, Failure> {
    let [one, two] = arguments.players.as_slice() else {
        return Err(Failure::usage("two players are needed").hint("for example --players heuristic,random"));
    };
    let kinds = [*one, *two];
    let pool = load_pool()?;
    let cards = CachedSource::new(&pool);
    let mut report = SimulateReport {
        games: Vec::new(),
        players: kinds.map(|kind| PlayerRow { player: kind.key(), wins: 0 }),
        draws: 0,
        unfinished: 0,
    };
    if let Some(path) = &arguments.from {
        let text = super::replay::read_journal(path)?;
        let journal = GameJournal::replay(&text, &cards, None).map_err(journal_failure)?;
        let seed = journal.header.seed;
        let (row, journal) = play(arguments, kinds, seed, 0, journal)?;
        keep_journal(arguments, 0, &journal)?;
        count(&mut report, row);
    } else {
        let decks = read_decks(arguments, &pool)?;
        for number in 0..arguments.games {
            let seed = arguments.seed.wrapping_add(number);
            let first = usize::from(number % 2 == 1);
            let [own, other] = decks.clone();
            let seats = if first == 0 { [own, other] } else { [other, own] };
            let header = JournalHeader::new(seed, seats);
            let journal = GameJournal::start(header, &cards).map_err(Failure::failed)?;
            let (row, journal) = play(arguments, kinds, seed, first, journal)?;
            keep_journal(arguments, number, &journal)?;
            count(&mut report, row);
        }
    }
    print(arguments, &report)
}

/// The names of the cards of both decks; every card must be supported.
fn read_decks(arguments: &SimulateArguments, pool: &Pool) -> Result<[Vec<String>; 2], Failure> {
    let [one, two] = arguments.decks.names()?;
    let names = |name: &str| -> Result<Vec<String>, Failure> {
        let deck = load_deck(name)?;
        let report = check(&deck, pool);
        if !report.is_playable() {
            return Err(Failure::failed(format!(
                "cannot play deck `{name}`: it has cards that are not supported"
            ))
            .hint(format!("list them: marvin mtg decks show {name}")));
        }
        Ok(deck.card_names())
    };
    Ok([names(one)?, names(two)?])
}

fn play(
    arguments: &SimulateArguments,
    kinds: [PlayerKind; 2],
    seed: u64,
    first: usize,
    mut journal: GameJournal,
) -> Result<(GameRow, GameJournal), Failure> {
    let budget = match arguments.search.iterations {
        Some(count) => SearchBudget::Iterations(count),
        None => SearchBudget::Time(Duration::from_millis(arguments.search.think_ms)),
    };
    let [one, two] = kinds;
    let seats = if first == 0 { [one, two] } else { [two, one] };
    let [mut front, mut back] = seats.map(|kind| kind.build(budget, seed ^ 0x9e37));
    let mut players: [&mut dyn GamePlayer; 2] = [front.as_mut(), back.as_mut()];
    continue_game(&mut journal, &mut players, MAX_ANSWERS).map_err(Failure::failed)?;
    let engine = journal.engine();
    let outcome = engine.outcome();
    let winner = outcome.and_then(|outcome| outcome.winner).map(|seat| usize::from(seat.0) ^ first);
    let row = GameRow {
        seed,
        first_seat: first,
        winner,
        reason: outcome.map(|outcome| outcome.reason),
        turns: engine.state().turn,
        answers: journal.lines.len(),
        hash: format!("{:016x}", engine.state().state_hash()),
    };
    Ok((row, journal))
}

fn keep_journal(arguments: &SimulateArguments, number: u64, journal: &GameJournal) -> Result<(), Failure> {
    let Some(directory) = &arguments.journals else { return Ok(()) };
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::failed(format!("cannot create {}: {error}", directory.display())))?;
    write_journal(&directory.join(format!("{number}.jsonl")), journal)
}

pub(super) fn write_journal(path: &Path, journal: &GameJournal) -> Result<(), Failure> {
    let text = journal.to_text().map_err(Failure::failed)?;
    atomic::replace(path, text.as_bytes()).map_err(Failure::failed)
}

fn count(report: &mut SimulateReport, row: GameRow) {
    match (row.winner, row.reason) {
        (Some(winner), _) => {
            if let Some(player) = report.players.get_mut(winner) {
                player.wins += 1;
            }
        }
        (None, Some(_)) => report.draws += 1,
        (None, None) => report.unfinished += 1,
    }
    report.games.push(row);
}

fn print(arguments: &SimulateArguments, report: &SimulateReport) -> Result<Exit, Failure> {
    if arguments.json {
        return output::json(report);
    }
    let mut text = String::new();
    for row in &report.games {
        let result = match (row.winner.and_then(|winner| report.players.get(winner)), row.reason) {
            (Some(winner), _) => format!("{} wins", winner.player),
            (None, Some(_)) => "draw".to_owned(),
            (None, None) => "not finished".to_owned(),
        };
        text.push_str(&format!(
            "seed {}: {result} in turn {} after {} answers, hash {}\n",
            row.seed, row.turns, row.answers, row.hash
        ));
    }
    let [one, two] = &report.players;
    text.push_str(&format!(
        "{} {} : {} {}, {} draws, {} not finished\n",
        one.player, one.wins, two.wins, two.player, report.draws, report.unfinished
    ));
    output::line(&text)
}
