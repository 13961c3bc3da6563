//! Listings and reports of every command, with content.

mod agents;
mod explain;
mod explain_shell;
mod gate;
mod knowledge;
mod program;
mod replies;
mod runs;
mod services;
mod settings;
mod skills;
mod tickets;
mod workflows;
