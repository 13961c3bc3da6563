//! Layer 1: clients for models of every provider.
//!
//! A [`ModelClient`] takes a [`Request`] and streams [`Event`]s until it has a [`Reply`]. Everything above knows only
//! these types; what a vendor's wire looks like stays in [`wire`], what a vendor's program prints stays in [`program`],
//! and what models get wrong about arguments is corrected in one place, [`arguments`].

pub mod arguments;
pub mod choose;
pub mod client;
pub mod cost;
pub mod fallback;
mod formats;
pub mod message;
pub mod mock;
mod parameters;
pub mod price;
pub mod program;
pub mod record;
pub mod retry;
pub mod script;
pub mod server;
pub mod speech;
pub mod wire;

pub use arguments::Arguments;
pub use client::{Event, Failure, ModelClient, ModelError, Reply, Request, Stop, ToolSpec, Usage};
pub use message::{Message, ToolCall};
pub use parameters::Parameters;
