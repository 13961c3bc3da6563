//! `cargo xtask mtg-fuzz`: random games of the rules engine for Magic over all pairs of decks, and
//! one game for each supported card (`crates/mtg/tests/fuzz.rs`, optimised).

use crate::tools;
use anyhow::{Context, bail};

const DEFAULT_GAMES: &str = "20000";
/// More than the pool has: every supported card is played.
const ALL_CARDS: &str = "20000";

/// What a run plays.
struct FuzzOptions<'a> {
    games: &'a str,
    cards: &'a str,
    first: &'a str,
}

/// Plays the games; a failure names the game, which `--first NUMBER --games 1` repeats.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = parse(words)?;
    let mut test = tools::cargo();
    test.args(["test", "--release", "--package", "marvin-mtg", "--test", "fuzz", "--", "--nocapture"])
        // The games are not optimised in a build for people.
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
        .env("MTG_FUZZ_GAMES", options.games)
        .env("MTG_FUZZ_CARDS", options.cards)
        .env("MTG_FUZZ_FIRST", options.first);
    tools::run(&mut test)
}

fn parse<'a>(words: &[&'a str]) -> anyhow::Result<FuzzOptions<'a>> {
    let mut options = FuzzOptions { games: DEFAULT_GAMES, cards: ALL_CARDS, first: "0" };
    for pair in words.chunks(2) {
        let [flag, number] = pair else {
            bail!("usage: cargo xtask mtg-fuzz [--games N] [--cards N] [--first N]")
        };
        number.parse::<u64>().with_context(|| format!("{flag} {number} is not a whole number"))?;
        match *flag {
            "--games" => options.games = number,
            "--cards" => options.cards = number,
            "--first" => options.first = number,
            _ => bail!("usage: cargo xtask mtg-fuzz [--games N] [--cards N] [--first N]"),
        }
    }
    Ok(options)
}
