//! Options of programs: which are known, and what each does with its value.
//!
//! Every program that the judge knows has a list of its options by effect, in `data/programs/*.toml`. An option that is not in
//! the list is doubt: whether it writes, runs or sends something is not known, so a person is asked. Programs of `facts.toml`
//! without a list of their own know only the options of their row and a few that mean the same everywhere.
//!
//! Limits: the lists are facts about usual versions. An option that a newer version adds is asked about until it is added here.

mod judge;
mod parse;
mod table;

pub(super) use judge::{all_operands, judge, judge_text, listed, operands};

#[cfg(test)]
mod tests;
