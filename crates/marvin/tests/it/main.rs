//! End to end: the real program, real files, real sockets, real signals.

// The attribute tells the linter what the directory tells the reader: these are tests, and may unwrap.
#[cfg(test)]
mod audit;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod calendar;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod crash_matrix;
#[cfg(test)]
mod diagnostics;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod honesty;
#[cfg(test)]
mod hook_trouble;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod init;
#[cfg(test)]
mod inspect_run;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod non_interactive;
#[cfg(test)]
mod packs;
#[cfg(test)]
mod pipeline;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod self_improve;
#[cfg(test)]
mod servitors;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod sub_agents;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tickets;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod verify;
#[cfg(test)]
mod web;
#[cfg(test)]
mod web_pages;
#[cfg(test)]
mod workers;
#[cfg(test)]
mod workflows;
#[cfg(test)]
mod workspace_rules;
