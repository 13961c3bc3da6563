//! `marvin mtg replay`: replays the journal of a game and checks every state.

use super::failures::{JOURNAL_HINT, journal_failure};
use super::pool::load_pool;
use super::simulate::write_journal;
use crate::argument_file::read_text;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::GameJournal;
use marvin_mtg::scenario::CachedSource;
use marvin_mtg::state::Outcome;
use marvin_mtg::view::VisibleState;
use serde::Serialize;
use std::path::{Path, PathBuf};

const MAX_JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// Replay the journal of a game and check the state after each line
#[derive(Debug, Args)]
#[command(
    after_help = "The first line that differs is named; the exit code is 1 then. A fork is a journal of the first lines, from which `marvin mtg simulate --continue` plays on.\n\nExamples:\n  marvin mtg replay game.jsonl\n  marvin mtg replay game.jsonl --until 40 --fork what-if.jsonl\n  marvin mtg replay game.jsonl --undo 1 --fork game.jsonl\n  marvin mtg replay game.jsonl --until 40 --view 0 --json | jq .view.battlefield"
)]
pub(crate) struct ReplayArguments {
    /// The journal
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replay only up to this line of the file; line 1 is the header
    #[arg(long, value_name = "LINE")]
    until: Option<usize>,
    /// Leave off so many answers of the end
    #[arg(long, value_name = "N", conflicts_with = "until")]
    undo: Option<usize>,
    /// Write the journal of the replayed lines to this file
    #[arg(long, value_name = "PATH")]
    fork: Option<PathBuf>,
    /// Show the game at the end as this seat sees it (0 or 1)
    #[arg(long, value_name = "SEAT", value_parser = clap::value_parser!(u8).range(0..2))]
    view: Option<u8>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ReplayReport {
    answers: usize,
    turn: u32,
    life: [i32; 2],
    hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<VisibleState>,
}

pub(super) fn read_journal(path: &Path) -> Result<String, Failure> {
    read_text(path, MAX_JOURNAL_BYTES, JOURNAL_HINT)
}

pub(crate) fn run(arguments: &ReplayArguments) -> Result<Exit, Failure> {
    let text = read_journal(&arguments.file)?;
    let pool = load_pool()?;
    let cards = CachedSource::new(&pool);
    let limit = arguments.until.map(|line| line.saturating_sub(1));
    let mut journal = GameJournal::replay(&text, &cards, limit).map_err(journal_failure)?;
    if let Some(count) = arguments.undo {
        journal = journal.undo(count, &cards).map_err(Failure::failed)?;
    }
    if let Some(path) = &arguments.fork {
        write_journal(path, &journal)?;
    }
    let state = journal.engine().state();
    let [first, second] = &state.players;
    let report = ReplayReport {
        answers: journal.lines.len(),
        turn: state.turn,
        life: [first.life, second.life],
        hash: format!("{:016x}", state.state_hash()),
        outcome: journal.engine().outcome(),
        view: arguments.view.map(|seat| journal.engine().visible(PlayerId(seat))),
    };
    if arguments.json {
        return output::json(&report);
    }
    let [first, second] = report.life;
    let mut text = format!(
        "{} answers replayed, all states equal; turn {}, life {first} and {second}, hash {}\n",
        report.answers, report.turn, report.hash
    );
    if let Some(view) = &report.view {
        for permanent in &view.battlefield {
            text.push_str(&format!("player {}: {}\n", permanent.controller_id.0, permanent.name));
        }
        let hand: Vec<&str> = view.hand.iter().map(|card| card.name.as_str()).collect();
        text.push_str(&format!("hand: {}\n", hand.join(", ")));
    }
    output::line(&text)
}
