//! `marvin`: a deterministic shell for LLM agents. This file shows the whole program: read the command line, run one
//! command, turn what came of it into an exit code.

mod cli;
mod commands;
mod face;
mod failure;
mod output;

use failure::Failure;
use marvin_base::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Asked for by every script and shell prompt: answered before anything is set up.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [word] = words.as_slice()
        && (word == "--version" || word == "-V")
    {
        return finish(output::line(concat!("marvin ", env!("CARGO_PKG_VERSION"))));
    }
    // And this runs around everything that an agent does.
    if let Some((event, client)) = commands::hook::words(&words) {
        return finish(commands::hook::run(&event, client));
    }
    match cli::parse() {
        Ok(arguments) => finish(commands::run(arguments)),
        Err(exit) => exit.into(),
    }
}

/// Says what went wrong, once, and gives the exit code.
fn finish(result: Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::error(&failure.message);
            failure.exit.into()
        }
    }
}
