//! Floor 6: what happens around somebody else's agent.
//!
//! Claude Code and Codex tell Marvin what they are about to do ([`event`]); Marvin judges it, tells what its packs know of
//! it ([`packs`]), listens for corrections ([`guidance`]) and keeps what they teach ([`lessons`]). [`init`] sets a project up.

pub mod guidance;
pub mod init;
pub mod lessons;
pub mod packs;
