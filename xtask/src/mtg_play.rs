//! `cargo xtask mtg-play`: games of scripted models against the heuristic player, and games that are
//! killed and resumed (`crates/table/tests/table_games.rs`, optimised).

use crate::tools;
use anyhow::{Context, bail};

const USAGE: &str = "usage: cargo xtask mtg-play [--games N] [--kills N]";

/// Plays the games; a failure names the game and what went wrong.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (mut games, mut kills) = ("500", "50");
    for pair in words.chunks(2) {
        let [flag, number] = pair else { bail!(USAGE) };
        number.parse::<u64>().with_context(|| format!("{flag} {number} is not a whole number"))?;
        match *flag {
            "--games" => games = number,
            "--kills" => kills = number,
            _ => bail!(USAGE),
        }
    }
    let mut test = tools::cargo();
    test.args([
        "test",
        "--release",
        "--package",
        "marvin-table",
        "--test",
        "table_games",
        "--",
        "--nocapture",
    ])
    .env("MTG_PLAY_GAMES", games)
    .env("MTG_PLAY_KILLS", kills);
    tools::run(&mut test)
}
