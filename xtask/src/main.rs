//! The project's own chores. `cargo xtask test` installs what the tests need and runs everything;
//! `cargo xtask bench NAME` measures against a reference in the same run and prints JSON;
//! `cargo xtask deny` checks licences and advisories.

mod attack;
mod bench;
mod blender;
mod browser;
mod census;
mod chat_ui;
mod clients;
mod deb;
mod docs;
mod fleet;
mod fuzz;
mod kill_tests;
mod licences;
mod mcp;
mod mtg_fuzz;
mod mtg_play;
mod node;
mod notices;
mod npm;
mod output;
mod python;
mod script;
mod targets;
mod test;
mod test_programs;
mod timings;
mod tools;
mod web_fuzz;
mod workflows;

use anyhow::{Context, bail};
use output::{StdoutClosed, complain, say};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask test [--thorough] [FILTER]
                            install what the tests need, run everything, end with the counts; thorough: 1,000 servitors, gigabytes, 200 kills
cargo xtask bench NAME      measure; NAME is one of: start, stream, grep, tools, tree, gate, hook, honesty, engine, memory, faces, sandbox, prompt, skills, mtg, offer, fleet, all
cargo xtask attack [GROUP …] [--sample N] [--binary PATH]
                            attacks on the built binary, each with a control; data in attacks/
cargo xtask fuzz [TARGET] [--minutes N]
                            search for inputs that break something; TARGET is one of: patch, arguments, path, ticket, command
cargo xtask kills [N]       kill a run of five servitors N times (default 100) at random moments, and resume it
cargo xtask crash-matrix [N]
                            kill workflows N times (default 1000) at random moments, and resume them
cargo xtask turns [N]       kill a user's turn N times (default 200) at random moments, and check its record
cargo xtask approvals [N]   kill the approval of a memory N times (default 200) at random moments, and compare ledger and memory
cargo xtask web-fuzz [--minutes N]
                            Schemathesis over the OpenAPI description of the browser UI (default 10 minutes): no server error
cargo xtask mtg-fuzz [--games N] [--cards N] [--first N]
                            random games of Magic over all pairs of decks (default 20000), and one for each supported card
cargo xtask mtg-play [--games N] [--kills N]
                            games of scripted models (default 500) with replay and search for leaks, and games killed and resumed (default 50)
cargo xtask pipeline-kills [N]
                            kill a whole pipeline N times (default 30) at random moments, resume it, and compare the results
cargo xtask self-improve-kills [N]
                            kill a batch of sessions N times (default 40) at random moments, resume it, and compare winner and tree
cargo xtask fleet-test [FILTER]
                            build with feature `fleet`, install S3 services and a Temporal server, run tests over them
cargo xtask fleet-faults [N]
                            make N faults (default 300) in runs over a real Temporal server: workers and servers killed and frozen, links cut,
                            the store away, clocks shifted; every effect must happen once
cargo xtask fleet-large [--fan N] [--chain N] [--pending N] [--workers N]
                            a fan of 100,000 steps, a chain of 2,000, and 100,000 pending steps, with 4 workers over a real Temporal server
cargo xtask fleet-server    install the Temporal server for `marvin fleet up`
cargo xtask fleet-sim [--workers N] [--steps N] [--shape fan|chain|levels] [--seed N] …
                            a run of many steps on many simulated workers that are lost now and then, in virtual time; --help lists the options
cargo xtask census [FIGURE | --json | --tighten]
                            terms, names, module circles and sizes of the sources against the limits in census.toml
cargo xtask deny            licences, bans, sources and advisories of the dependencies (installs cargo-deny)
cargo xtask timings [--profile NAME]
                            build marvin from nothing and print what costs most
cargo xtask targets [--build PROFILE] [TARGET …]
                            check the programs for musl, aarch64 and macOS, or build them in a profile (`--build dist x86_64-unknown-linux-musl`), where
                            this machine has what that takes
cargo xtask deb [--programs DIR]
                            pack the .deb from the dist profile, or from programs that are built already (installs cargo-deb)
cargo xtask notices         write THIRD-PARTY.md from the licences of the shipped dependencies
cargo xtask workflows       actionlint and zizmor over .github (installs them)
cargo xtask blender         the tests of Blender's tools against the real Blender (installs bpy, about 400 MB; needs Python 3.11)
cargo xtask docs            build the site of docs/ with mdBook and check its links (installs mdBook)
cargo xtask settings        write docs/settings.md from the settings table";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<StdoutClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["test", rest @ ..] => test::run(rest),
        ["bench", name] => bench::run(name),
        ["attack", rest @ ..] => attack::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["web-fuzz", rest @ ..] => web_fuzz::run(rest),
        ["mtg-fuzz", rest @ ..] => mtg_fuzz::run(rest),
        ["mtg-play", rest @ ..] => mtg_play::run(rest),
        ["fleet-test", rest @ ..] => fleet::test(rest),
        ["fleet-faults"] => fleet::make_faults("300"),
        ["fleet-faults", count] => fleet::make_faults(count),
        ["fleet-large", rest @ ..] => fleet::large::run(rest),
        ["fleet-server"] => fleet::install_server(),
        ["fleet-sim", rest @ ..] => fleet::simulate(rest),
        ["census", rest @ ..] => census::run(rest),
        ["deny"] => licences::deny(),
        ["timings", rest @ ..] => timings::run(rest),
        ["targets", rest @ ..] => targets::run(rest),
        ["deb", rest @ ..] => deb::run(rest),
        ["notices"] => notices::write(),
        ["workflows"] => workflows::lint(),
        ["blender"] => blender::run(),
        ["docs"] => docs::build(),
        ["settings"] => write_settings_reference(),
        ["-h" | "--help" | "help"] => say(HELP),
        _ => match kill_tests::find(words) {
            Some((test, count)) => test.run(count),
            None => bail!("unknown chore: {}\n{HELP}", words.join(" ")),
        },
    }
}

/// Writes `docs/settings.md` from the settings table.
fn write_settings_reference() -> anyhow::Result<()> {
    let mut marvin = Command::new(tools::debug()?);
    let markdown = tools::output(marvin.current_dir(tools::root()).args(["config", "--markdown"]))?;
    let path = tools::root().join("docs/settings.md");
    std::fs::write(&path, markdown).with_context(|| format!("cannot write {}", path.display()))
}
