//! Journals of seeded games that must stay the same, byte for byte, on every run and in every build.
//!
//! `MTG_GOLDEN_WRITE=1` writes the files again, after a change of the rules that is meant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use marvin_mtg::cards::Pool;
use marvin_mtg::decks::shipped_decks;
use marvin_mtg::journal::{GameJournal, JournalError, JournalHeader};
use marvin_mtg::players::{GamePlayer, RandomPlayer, continue_game};
use marvin_mtg::scenario::{CachedSource, CardSource};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

const GAMES: u64 = 20;
/// Games whose whole journals are kept.
const WHOLE: [u64; 2] = [4, 9];
const MAX_ANSWERS: usize = 20_000;

/// One game: its decks, length, last state and the hash of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GoldenGame {
    seed: u64,
    decks: [String; 2],
    answers: usize,
    state: String,
    journal: String,
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn play(seed: u64, cards: &CachedSource<'_>) -> (GoldenGame, String) {
    let playable: Vec<_> = shipped_decks()
        .iter()
        .filter(|deck| deck.deck.main.iter().all(|entry| cards.find_card(&entry.name).is_ok()))
        .collect();
    let number = usize::try_from(seed).unwrap();
    let pair = [playable[number * 3 % playable.len()], playable[(number * 5 + 1) % playable.len()]];
    let header = JournalHeader::new(seed, pair.map(|deck| deck.deck.card_names()));
    let mut journal = GameJournal::start(header, cards).unwrap();
    let (mut one, mut two) = (RandomPlayer::new(seed), RandomPlayer::new(seed + 1));
    let mut players: [&mut dyn GamePlayer; 2] = [&mut one, &mut two];
    continue_game(&mut journal, &mut players, MAX_ANSWERS).unwrap();
    let text = journal.to_text().unwrap();
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let game = GoldenGame {
        seed,
        decks: pair.map(|deck| deck.id.clone()),
        answers: journal.lines.len(),
        state: journal.lines.last().unwrap().hash.clone(),
        journal: hash,
    };
    (game, text)
}

fn whole_path(seed: u64) -> PathBuf {
    directory().join(format!("{seed}.jsonl"))
}

#[test]
fn seeded_games_stay_the_same() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let path = directory().join("games.json");
    let played: Vec<(GoldenGame, String)> = (0..GAMES).map(|seed| play(seed, &cards)).collect();
    if std::env::var_os("MTG_GOLDEN_WRITE").is_some() {
        std::fs::create_dir_all(directory()).unwrap();
        let games: Vec<&GoldenGame> = played.iter().map(|game| &game.0).collect();
        std::fs::write(&path, serde_json::to_string_pretty(&games).unwrap() + "\n").unwrap();
        for seed in WHOLE {
            std::fs::write(whole_path(seed), &played[usize::try_from(seed).unwrap()].1).unwrap();
        }
    }
    let golden: Vec<GoldenGame> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (game, known) in played.iter().map(|game| &game.0).zip(&golden) {
        assert_eq!(game, known);
    }
    assert_eq!(played.len(), golden.len());
}

#[test]
fn a_journal_replays_forks_and_names_the_line_that_differs() {
    let cards = CachedSource::new(Pool::shipped().unwrap());
    let text = std::fs::read_to_string(whole_path(4)).unwrap();
    let journal = GameJournal::replay(&text, &cards, None).unwrap();
    assert_eq!(journal.to_text().unwrap(), text);
    assert!(journal.engine().outcome().is_some());

    let fork = journal.fork(10, &cards).unwrap();
    assert_eq!(fork.lines, journal.lines[..10]);
    let back = journal.undo(1, &cards).unwrap();
    assert_eq!(back.lines.len() + 1, journal.lines.len());
    assert!(back.engine().outcome().is_none());

    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let hash = &journal.lines[20].hash;
    lines[21] = lines[21].replace(hash.as_str(), "0000000000000000");
    let error = GameJournal::replay(&lines.join("\n"), &cards, None).unwrap_err();
    assert!(matches!(error, JournalError::Hash { line: 22, .. }), "{error}");
}
