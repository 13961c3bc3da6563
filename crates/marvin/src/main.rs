//! `marvin`: a deterministic shell for LLM agents.
//!
//! This file shows the whole program: read the command line, run one command, turn its result into an exit code.

mod argument_file;
mod arguments;
mod cli;
mod commands;
mod deciding;
mod failure;
mod front_end;
mod logging;
mod migration;
mod output;
mod pack_context;
mod project;
mod prompt;
mod runtime;

use failure::Failure;
use marvin_base::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(run(&words).code())
}

/// Runs the command line, given without the program's name.
fn run(words: &[OsString]) -> Exit {
    // Every script and shell prompt asks for the version: it is answered before anything is set up.
    if let [word] = words
        && (word == "--version" || word == "-V")
    {
        return finish(output::line(concat!("marvin ", env!("CARGO_PKG_VERSION"))));
    }
    let (verbosity, words) = logging::leading_verbosity(words);
    // A hook runs before and after everything that an agent does.
    if let Some(arguments) = commands::hook::words(words) {
        logging::start_for_hook(verbosity);
        return finish(commands::hook::run(arguments));
    }
    // Other programs ask the gate before every command that they run.
    if let Some(command) = commands::gate::parse_words(words) {
        return finish(logging::start(verbosity).and_then(|()| commands::gate::run(command)));
    }
    match cli::parse(words) {
        Ok(arguments) => finish(arguments.run(words, verbosity)),
        Err(exit) => exit,
    }
}

/// Reports a failure, once, and gives the exit code.
fn finish(result: Result<Exit, Failure>) -> Exit {
    match result {
        Ok(exit) => exit,
        Err(failure) => {
            output::error(&failure.to_string());
            failure.exit
        }
    }
}
