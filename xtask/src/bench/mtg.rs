//! `mtg`: the rules engine for Magic on one thread with the welcome decks of Core Set 2019: random
//! games and decisions per second, copies, lists of actions, projections, the card pack, rollouts,
//! and how often the better players win with seats that change (`bench/mtg`).
//!
//! The targets are absolute: `managym`, the engine for comparison, is not on PyPI (the index answers
//! 404), and no other that plays these decks can be installed from a registry. The search plays
//! fewer games than the heuristic player, because it thinks about each decision;
//! `MARVIN_BENCH_MTG_GAMES` sets their number.

use super::timing::round;
use crate::tools;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Why the report has no figures of another engine.
const REFERENCE: &str =
    "none: PyPI has no package `managym` (404), so nothing is measured beside this engine";
const SPEED_SECONDS: &str = "10";
const THINK_MS: &str = "500";
const HEURISTIC_GAMES: &str = "400";
const SEARCH_GAMES: &str = "40";
const MIN_GAMES_PER_S: f64 = 300.0;
const MAX_CLONE_US: f64 = 20.0;
const MAX_LIST_US: f64 = 1000.0;
const MAX_PROJECTION_US: f64 = 50.0;
const MAX_PACK_MS: f64 = 100.0;
const MIN_ROLLOUTS_PER_S: f64 = 300.0;
const MIN_HEURISTIC_SHARE: f64 = 0.95;
const MIN_SEARCH_SHARE: f64 = 0.60;

/// What `marvin-bench-mtg speed` prints.
#[derive(Serialize, Deserialize)]
struct Speed {
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

/// What `marvin-bench-mtg match` prints.
#[derive(Serialize, Deserialize)]
struct Match {
    games: u64,
    wins: [u64; 2],
    draws: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Strength {
    what: String,
    #[serde(flatten)]
    result: Match,
    share: f64,
    target: f64,
    ok: bool,
}

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    what: &'static str,
    reference: &'static str,
    speed: Speed,
    targets: Targets,
    heuristic: Strength,
    search: Strength,
    ok: bool,
}

#[derive(Serialize)]
struct Targets {
    games_per_s: f64,
    clone_us: f64,
    list_p99_us: f64,
    projection_us: f64,
    pack_ms: f64,
    rollouts_per_s: f64,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let program = tools::build_release("marvin-bench-mtg")?;
    let speed: Speed = tools::json(Command::new(&program).args(["speed", SPEED_SECONDS]))?;
    let games = std::env::var("MARVIN_BENCH_MTG_GAMES").unwrap_or_else(|_| SEARCH_GAMES.to_owned());
    let heuristic = play(&program, ["heuristic", "random"], HEURISTIC_GAMES, MIN_HEURISTIC_SHARE)?;
    let search = play(&program, ["mcts", "heuristic"], &games, MIN_SEARCH_SHARE)?;
    let is_fast = speed.games_per_s >= MIN_GAMES_PER_S
        && speed.clone_us <= MAX_CLONE_US
        && speed.list_p99_us <= MAX_LIST_US
        && speed.projection_us <= MAX_PROJECTION_US
        && speed.pack_ms <= MAX_PACK_MS
        && speed.rollouts_per_s >= MIN_ROLLOUTS_PER_S;
    let ok = is_fast && heuristic.ok && search.ok;
    Ok(serde_json::to_value(Report {
        bench: "mtg",
        what: "random games with the welcome decks of Core Set 2019, one thread",
        reference: REFERENCE,
        speed,
        targets: Targets {
            games_per_s: MIN_GAMES_PER_S,
            clone_us: MAX_CLONE_US,
            list_p99_us: MAX_LIST_US,
            projection_us: MAX_PROJECTION_US,
            pack_ms: MAX_PACK_MS,
            rollouts_per_s: MIN_ROLLOUTS_PER_S,
        },
        heuristic,
        search,
        ok,
    })?)
}

fn play(program: &Path, players: [&str; 2], games: &str, target: f64) -> anyhow::Result<Strength> {
    let [one, two] = players;
    let result: Match = tools::json(Command::new(program).args(["match", one, two, games, "1", THINK_MS]))?;
    let [wins, _] = result.wins;
    let share = wins as f64 / result.games.max(1) as f64;
    let what = format!("{one} against {two}, {THINK_MS} ms for a decision of the search");
    Ok(Strength { what, result, share: round(share), target, ok: share >= target })
}
