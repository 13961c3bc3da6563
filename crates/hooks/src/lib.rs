//! Layer 6: hooks of other agent programs.
//!
//! Claude Code and Codex report what they are about to do ([`event`]). Marvin judges it, adds what its packs know about it
//! ([`packs`]), detects corrections ([`guidance`]) and turns them into [`lessons`]. [`event_handler`] handles each event,
//! and each [`session`] is recorded as a run. A hook ([`client`]) asks the [`daemon`] of its project over a socket
//! (`marvin_hook_client`), or answers itself. [`init`] sets a project up; [`inspect`] reports on a run.

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
