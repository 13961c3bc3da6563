//! `marvin`: a deterministic shell for LLM agents. This file shows the whole program: read the command line, run one
//! command, turn what came of it into an exit code. How the process begins and ends is in [`start`].

#![cfg_attr(not(test), no_main)]

mod cli;
mod commands;
mod failure;
mod front_end;
mod mathematics;
mod output;
mod start;

use failure::Failure;
use marvin_base::Exit;
use std::ffi::OsString;

/// Everything between the two. `words` are those after the program's name.
fn run(words: &[OsString]) -> Exit {
    // Asked for by every script and shell prompt: answered before anything is set up.
    if let [word] = words
        && (word == "--version" || word == "-V")
    {
        return finish(output::line(concat!("marvin ", env!("CARGO_PKG_VERSION"))));
    }
    // And this runs around everything that an agent does.
    if let Some((event, client)) = commands::hook::words(words) {
        return finish(commands::hook::run(&event, client));
    }
    // And this before everything that other programs run.
    if let Some(command) = cli::gate(words) {
        return finish(commands::gate::run(command));
    }
    match cli::parse() {
        Ok(arguments) => finish(commands::run(arguments)),
        Err(exit) => exit,
    }
}

/// Says what went wrong, once, and gives the exit code.
fn finish(result: Result<Exit, Failure>) -> Exit {
    match result {
        Ok(exit) => exit,
        Err(failure) => {
            output::error(&failure.message);
            failure.exit
        }
    }
}
