//! Errors of every command: one message that names the cause, and the documented exit code.

mod agents;
mod gate;
mod knowledge;
mod program;
mod prompts;
mod runs;
mod services;
mod settings;
mod workflows;
