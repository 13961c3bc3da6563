//! Cards as data: facts of cards, the compiler of their rules text, and the shipped pool.

mod compile;
mod facts;
mod grammar;
mod normalise;
mod overrides;
mod pool;

pub(crate) use compile::print_ability;
pub use compile::{Decline, DeclineReason, compile};
pub use facts::{CardFacts, fold_name};
pub use normalise::{find_subtype, normalise, plural_name};
pub use overrides::{OverrideFault, check_overrides, override_faults};
pub use pool::{Pool, PoolError};
