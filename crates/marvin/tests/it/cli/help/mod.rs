//! Help of every command and subcommand.

mod agents;
mod assistant;
mod fleet;
mod gate;
mod lessons;
mod memory;
mod mtg;
mod program;
mod runs;
mod services;
mod skills;
mod workflows;

use crate::cli::trim_line_ends;
use crate::support::World;
use std::collections::BTreeSet;

/// The modules with the snapshots, which name the commands that they cover.
const SOURCES: [&str; 12] = [
    include_str!("agents.rs"),
    include_str!("assistant.rs"),
    include_str!("fleet.rs"),
    include_str!("gate.rs"),
    include_str!("lessons.rs"),
    include_str!("memory.rs"),
    include_str!("mtg.rs"),
    include_str!("program.rs"),
    include_str!("runs.rs"),
    include_str!("services.rs"),
    include_str!("skills.rs"),
    include_str!("workflows.rs"),
];

/// The help of a command, which is given as its words; of the program, where there is none.
fn help(command: &str) -> String {
    let ended = World::new().marvin(command.split_whitespace().chain(["--help"])).run().exits(0).quiet();
    trim_line_ends(ended.text())
}

/// Subcommands in the help of a command.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| !line.is_empty());
    // Continued descriptions are indented deeper.
    let names = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.map(|line| line.split(' ').next().unwrap().to_string()).collect()
}

#[test]
fn every_command_has_a_snapshot_of_its_help() {
    let mut commands = BTreeSet::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        for name in subcommands(&help(&command)) {
            open.push(format!("{command} {name}").trim_start().to_string());
        }
        commands.insert(command);
    }
    assert!(commands.len() > 100, "only {} commands were found", commands.len());
    let call = regex::Regex::new(r#"assert_snapshot!\(help\("([^"]*)"\), @"#).unwrap();
    let pinned = SOURCES.iter().flat_map(|source| call.captures_iter(source));
    let pinned: BTreeSet<String> = pinned.map(|call| call[1].to_string()).collect();
    assert_eq!(commands, pinned);
}
