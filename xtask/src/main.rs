//! The project's own chores. `cargo xtask test` installs what the tests need and runs everything; `cargo xtask bench NAME`
//! measures against a reference in the same run and prints JSON; `cargo xtask deny` checks licences and advisories.

mod attack;
mod bench;
mod browser;
mod census;
mod clients;
mod fuzz;
mod licences;
mod mcp;
mod output;
mod python;
mod test;
mod tools;
mod web_fuzz;

pub(crate) use output::{complain, say};

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test            install what the tests need, run everything, end with the counts
cargo xtask bench NAME      measure; NAME is one of: start, stream, grep, tools, tree, gate, hook, honesty, engine, memory, faces, sandbox, all
cargo xtask attack [GROUP …] [--sample N] [--binary PATH]
                            attacks on the built binary, each with a control; data in attacks/
cargo xtask fuzz [TARGET] [--minutes N]
                            look for inputs that break something; TARGET is one of: patch, arguments, path, ticket, command
cargo xtask kills [N]       kill a run of five servitors N times (default 100) at any moment, and take it up again
cargo xtask crash-matrix [N]
                            kill workflows N times (default 1000) at any moment, and take them up again
cargo xtask turns [N]       kill a person's turn N times (default 200) at any moment, and look at what it left
cargo xtask approvals [N]   kill the approval of a memory N times (default 200) at any moment, and compare ledger and memory
cargo xtask web-fuzz [--minutes N]
                            Schemathesis over the description of the browser face (default 10 minutes): no error of the server
cargo xtask pipeline-kills [N]
                            kill a whole pipeline N times (default 30) at any moment, go on with it, and compare what is left
cargo xtask census [FIGURE | --json | --tighten]
                            terms, names, module circles and sizes of the sources against the limits in census.toml
cargo xtask deny            licences, bans, sources and advisories of the dependencies (installs cargo-deny)
cargo xtask settings        write docs/settings.md anew from the settings table";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test", rest @ ..] => test::run(rest),
        ["bench", name] => bench::run(name),
        ["attack", rest @ ..] => attack::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["kills"] => kills("100"),
        ["kills", times] => kills(times),
        ["crash-matrix"] => crash_matrix("1000"),
        ["crash-matrix", times] => crash_matrix(times),
        ["turns"] => turns("200"),
        ["turns", times] => turns(times),
        ["approvals"] => approvals("200"),
        ["approvals", times] => approvals(times),
        ["web-fuzz", rest @ ..] => web_fuzz::run(rest),
        ["pipeline-kills"] => pipeline_kills("30"),
        ["pipeline-kills", times] => pipeline_kills(times),
        ["census", rest @ ..] => census::run(rest).map_err(|error| error.to_string()),
        ["deny"] => licences::deny(),
        ["settings"] => tools::settings_reference(),
        ["-h" | "--help" | "help"] => {
            say(HELP);
            Ok(())
        }
        _ => Err(format!("unknown chore: {}\n{HELP}", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            complain(&message);
            ExitCode::FAILURE
        }
    }
}

/// The test that kills servitors, as often as is asked for.
fn kills(times: &str) -> Result<(), String> {
    let mut test = tools::cargo();
    test.args(["test", "--package", "marvin", "--test", "it", "killed_anywhere_no_servitor_is_lost"]);
    tools::run(test.env("MARVIN_TEST_KILLS", times))
}

/// The test that kills workflows, as often as is asked for.
fn crash_matrix(times: &str) -> Result<(), String> {
    let mut test = tools::cargo();
    test.args(["test", "--package", "marvin", "--test", "it", "a_workflow_that_is_killed_anywhere"]);
    tools::run(test.env("MARVIN_TEST_CRASHES", times))
}

/// The test that kills turns, as often as is asked for.
fn turns(times: &str) -> Result<(), String> {
    let mut test = tools::cargo();
    test.args(["test", "--package", "marvin", "--test", "it", "a_turn_that_is_killed_leaves_a_record"]);
    tools::run(test.env("MARVIN_TEST_KILLS", times))
}

/// The test that kills approvals, as often as is asked for.
fn approvals(times: &str) -> Result<(), String> {
    let mut test = tools::cargo();
    test.args(["test", "--package", "marvin", "--test", "it", "kept_words_survive_a_kill_at_any_moment"]);
    tools::run(test.env("MARVIN_TEST_KILLS", times))
}

/// The test that kills a pipeline, as often as is asked for.
fn pipeline_kills(times: &str) -> Result<(), String> {
    let python = python::install(&tools::directory())?;
    let mut test = tools::cargo();
    test.args(["test", "--package", "marvin", "--test", "it", "a_pipeline_that_is_killed_anywhere"]);
    tools::run(test.env("MARVIN_TEST_PYTHON", python).env("MARVIN_PIPELINE_KILLS", times))
}
