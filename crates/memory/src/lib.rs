//! Layer 2: memory.
//!
//! Files are the record; the index over them ([`index`]) can be deleted at any time and is rebuilt from them.
//! [`lessons`] come from failures and need no approval. [`memory`] holds what a person approved; [`vault`] detects entries
//! without an approval. [`stm`], [`turns`] and [`state`] describe the current conversations.

pub mod candidate;
pub mod decision;
pub mod embed;
pub mod error;
pub mod eval;
pub mod index;
pub mod lessons;
mod lines;
pub mod memory;
pub mod open_turns;
pub mod person;
pub mod places;
pub mod practice;
pub mod proposal;
pub mod state;
pub mod stm;
pub mod turns;
pub mod vault;
pub mod words;

pub use candidate::Candidate;
pub use error::MemoryError;
pub use memory::Memory;
pub use person::Person;
pub use places::Places;
