//! Layer 1: a hook's side of the conversation with the daemon of its project.
//!
//! `marvin-hook` is this crate and little else, because it runs before and after everything that an agent does; `marvin hook`
//! asks in the same way and answers itself where the daemon does not. [`wire`] is the protocol, which the daemon speaks too.

mod ask;
mod event;
pub mod settings;
pub mod wire;

pub use ask::{Connection, HookCall, NoAnswer, own_program, parse_words};
pub use event::{Client, Event};
