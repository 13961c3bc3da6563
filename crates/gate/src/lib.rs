//! Layer 1: judging and containing what agents do.
//!
//! Everything that an agent wants to do to the world is put as an [`Intent`] and answered by [`judge`] with a
//! [`Verdict`]. Paths become [`WorkspacePath`]s before anything is opened ([`workspace`]); shell commands are parsed as
//! bash parses them ([`shell`]) and judged by what they do ([`effects`], [`command`]); requests are judged by host and by address
//! ([`network`]); and what is allowed still runs in a sandbox of the operating system ([`sandbox`]), because a judge that reads text can be wrong.

pub mod access;
pub mod agent;
pub mod change;
pub mod command;
pub mod effects;
pub mod grant;
pub mod intent;
pub mod judged;
pub mod layers;
pub mod network;
pub mod path;
pub mod quote;
pub mod refusal;
pub mod sandbox;
pub mod score;
pub mod secrets;
pub mod shell;
pub mod steering;
mod stream;
pub mod ticket;
pub mod tree_scan;
pub mod unread_code;
pub mod verdict;
pub mod workspace;

pub use access::{Access, Scope};
pub use change::Change;
pub use command::{CommandContext, judge_command, judge_command_with};
pub use effects::{Judgement, MoreFacts, SegmentJudgement};
pub use grant::Grant;
pub use intent::{Context, Intent, Touches, decide, judge};
pub use judged::{JudgedCall, JudgedCommand, Permit, decide_approved_command, decide_command};
pub use layers::Layers;
pub use path::WorkspacePath;
pub use refusal::{Refusal, RefusalKind};
pub use ticket::Duty;
pub use verdict::{Decision, Verdict};
pub use workspace::{DirectoryEntry, DirectoryEntryKind, DirectoryLock, Entry, Workspace};
