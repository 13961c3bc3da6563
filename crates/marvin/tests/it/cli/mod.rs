//! Snapshots of what a person sees: help, errors and listings of every command.
//!
//! `cargo insta test --review` shows what a change of the program does to them and accepts it. Whatever differs between
//! machines and runs (directories, times, ids, versions, ports) is replaced by its name in brackets.

mod errors;
mod help;
mod listings;

use crate::support::{Marvin, World};
use regex::{Captures, Regex};
use std::fmt::Write;
use std::sync::LazyLock;

/// Runs a command line in the project, without a terminal.
fn screen(world: &World, line: &str) -> String {
    show(world, world.marvin(words(line)))
}

/// Runs a command line as a person at a terminal.
fn person_screen(world: &World, line: &str) -> String {
    show(world, world.person(words(line)))
}

/// Runs the program and gives standard output, standard error and the exit code in one text.
fn show(world: &World, marvin: Marvin) -> String {
    let ended = marvin.run();
    let code = ended.code.unwrap_or_else(|| panic!("it was killed\n{}", ended.whole()));
    let mut text = ended.text().to_string();
    if !ended.stderr.is_empty() {
        text.push_str("--- stderr ---\n");
        text.push_str(&ended.stderr);
    }
    if !text.ends_with('\n') && !text.is_empty() {
        text.push_str("[no newline]\n");
    }
    writeln!(text, "[exit code {code}]").unwrap();
    trim_line_ends(&mask(world, &text))
}

/// Words of a command line; a quoted part ('…') is one word.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace()),
            _ => words.push(part),
        }
    }
    words
}

/// Blanks at line ends are not visible.
fn trim_line_ends(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The id of a run that a fixture writes; ids of other runs are masked.
const FIXTURE_RUN: &str = "run_20260203_040506_1a2b";

static RUN_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"run_\d{8}_\d{6}_[0-9a-f]{4}").unwrap());

/// Patterns of what differs between runs, with the name that takes its place; earlier ones win.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rows = [
        (r"\b([Mm]arvin +)\d+\.\d+\.\d+", "$1[VERSION]"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "[TIME]"),
        (r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:[PORT]"),
        (r"\blearned-\d+-[0-9a-z]+", "[RULE]"),
        (r"\bc-[0-9a-f]{6}\b", "c-[ID]"),
        (r"\bproject-[0-9a-f]{12,16}\b", "project-[HASH]"),
        (r"\b[0-9a-f]{12,}\b", "[HASH]"),
        (r"\b(pid|process) \d+", "$1 [PID]"),
        (r"\b(?:\d+(?:\.\d+)? (?:ms|µs)|\d+\.\d+ s)\b", "[DURATION]"),
        (r"\b(p50|p90|p99|maximum) \d+\.\d+", "$1 [DURATION]"),
        (r"\b\d+ commands per second", "[N] commands per second"),
        (r" *\b\d+ days\b", " [N] days"),
        (r"\b[A-Z][a-z]+day, \d{4}-\d\d-\d\d", "[DATE]"),
        // Prompts name the directory and the date, so that their length differs.
        (r#""(input|output|bytes|system_bytes|tokens|duration_ms|elapsed_ms)":\d+"#, r#""$1":[N]"#),
        (r"\b\d+ tokens in, \d+ out", "[N] tokens in, [N] out"),
        (r"\blog \d+ bytes?\b", "log [N] bytes"),
        (r"\b\d+ requests?\b", "[N] requests"),
    ];
    rows.into_iter().map(|(pattern, name)| (Regex::new(pattern).unwrap(), name)).collect()
});

/// Replaces what differs between machines and runs.
fn mask(world: &World, text: &str) -> String {
    let mut text = text.to_string();
    for (path, name) in [
        (world.state(), "[STATE]"),
        (world.project(), "[PROJECT]"),
        (world.home(), "[HOME]"),
        (world.root().to_path_buf(), "[ROOT]"),
    ] {
        text = text.replace(path.to_str().unwrap(), name);
    }
    let name_run = |id: &Captures<'_>| match &id[0] {
        FIXTURE_RUN => FIXTURE_RUN.to_string(),
        _ => "[RUN]".to_string(),
    };
    text = RUN_ID.replace_all(&text, name_run).into_owned();
    for (pattern, name) in MASKS.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    text
}
