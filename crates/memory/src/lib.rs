//! Layer 2: memory.
//!
//! Files are the record; the index over them ([`index`]) can be thrown away at any time and is built again from them.
//! [`lessons`] are what failures taught, and need nobody's approval. [`memory`] is what a person agreed to; [`vault`] is how
//! it is known that nothing else got in. [`stm`], [`turns`] and [`state`] are what goes on.

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
