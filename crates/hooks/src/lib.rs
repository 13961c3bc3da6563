//! Layer 6: hooks of other agent programs.
//!
//! Claude Code and Codex tell Marvin what they are about to do ([`event`]); Marvin judges it, tells what its packs know of
//! it ([`packs`]), listens for corrections ([`guidance`]) and keeps what they teach ([`lessons`]). What happens at each event stands
//! in [`event_handler`], and each [`session`] is kept as a run. A hook ([`client`]) asks the [`daemon`] of its project over a socket
//! ([`wire`]), or answers itself. [`init`] sets a project up; [`inspect`] tells what happened in a run.

pub mod answer;
pub mod client;
mod client_rules;
pub mod daemon;
pub mod event;
pub mod event_handler;
pub mod guidance;
pub mod init;
pub mod inspect;
pub mod lessons;
pub mod packs;
pub mod session;
mod verify;
pub mod wire;
