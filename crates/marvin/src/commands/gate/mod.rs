//! `marvin gate`: judge commands, explain verdicts, keep rules.
//!
//! No runtime, no model, and no settings: other programs ask for most of these before every command that they run, so they
//! must cost no more than to start a process.

mod eval;
mod explain;
mod judge;
mod learned;
mod rules;
mod scene;
mod stats;
mod trust;

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use clap::{Parser, Subcommand};
use marvin_base::Exit;
use std::ffi::OsString;

/// Judge shell commands, explain verdicts, and manage rules
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin gate explain 'git push --force'\n  marvin gate judge < commands.jsonl > verdicts.jsonl\n  marvin gate rules list"
)]
pub(crate) enum GateCommand {
    Judge(judge::JudgeArguments),
    Explain(explain::ExplainArguments),
    Eval(eval::EvalArguments),
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    Trust(trust::TrustArguments),
    Suggestions(learned::SuggestionsArguments),
    #[command(subcommand)]
    Learned(learned::LearnedCommand),
    /// Count the decisions of this project by verdict, layer and rule
    #[command(after_help = "Examples:\n  marvin gate stats\n  marvin gate stats --json | jq .layers")]
    Stats(ProjectArguments),
}

/// Parses a command of the gate by itself, where the words are one.
///
/// To set up the whole command line takes longer than the answer. Words that are not understood here are left to the
/// parser of the whole command line.
pub(crate) fn parse_words(words: &[OsString]) -> Option<GateCommand> {
    /// `marvin gate` without everything beside it.
    #[derive(Parser)]
    struct Gate {
        #[command(subcommand)]
        command: GateCommand,
    }
    words.first().filter(|word| *word == "gate")?;
    Gate::try_parse_from(words).ok().map(|gate| gate.command)
}

pub(crate) fn run(command: GateCommand) -> Result<Exit, Failure> {
    match command {
        GateCommand::Judge(arguments) => judge::run(&arguments),
        GateCommand::Explain(arguments) => explain::run(&arguments),
        GateCommand::Eval(arguments) => eval::run(&arguments),
        GateCommand::Rules(command) => rules::run(command),
        GateCommand::Trust(arguments) => trust::run(&arguments),
        GateCommand::Suggestions(arguments) => learned::suggestions(arguments),
        GateCommand::Learned(command) => learned::run(command),
        GateCommand::Stats(project) => stats::run(&project),
    }
}
