//! Workers without a model: `Command` and `Echo`.

mod command;
mod echo;

pub use command::Command;
pub use echo::Echo;
