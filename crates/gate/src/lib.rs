//! Floor 1: may this happen?
//!
//! Everything that an agent wants to do to the world is put as an [`Intent`] and answered by [`judge`] with a
//! [`Verdict`]. Paths become [`WorkspacePath`]s before anything is opened ([`workspace`]); shell commands are taken
//! apart and matched against a table ([`command`]); requests are judged by host and by address ([`network`]); and what is allowed still runs inside a box that the operating
//! system guards ([`containment`]), because a judge that reads text can be wrong.

pub mod access;
mod beneath;
pub mod change;
pub mod command;
pub mod containment;
pub mod intent;
pub mod network;
pub mod path;
pub mod refusal;
pub mod secrets;
mod stream;
pub mod ticket;
pub mod verdict;
pub mod workspace;

pub use access::Access;
pub use change::Change;
pub use command::{CommandContext, Judged, Segment, judge_command};
pub use intent::{Context, Intent, Touches, judge};
pub use path::WorkspacePath;
pub use refusal::{Refusal, RefusalKind};
pub use ticket::Duty;
pub use verdict::{Decision, Verdict};
pub use workspace::{Entry, Held, Listed, ListedKind, Workspace};
