//! Fuzz targets: functions that take any bytes and panic when a property does not hold.
//!
//! The same functions run under libFuzzer (`fuzz/libfuzzer`, where a nightly toolchain is
//! installed), under the small mutator of [`mutate`], and for a few seconds as ordinary tests.
//! `cargo xtask fuzz` runs them for a given time.
#![expect(clippy::panic, reason = "a finding is a panic, which the fuzzer reports")]

mod arguments;
mod command;
mod fixture;
mod input;
pub mod mutate;
mod patch;
mod path;
pub mod seeds;
mod ticket;

pub use arguments::arguments;
pub use command::command;
pub use patch::patch;
pub use path::path;
pub use ticket::ticket;

/// A function that panics when a property does not hold for its input.
pub type Target = fn(&[u8]);

/// Inputs that a target starts with.
pub type Seeds = &'static [&'static [u8]];

/// Every target: name, function, seeds.
pub const TARGETS: [(&str, Target, Seeds); 5] = [
    ("patch", patch, seeds::PATCH),
    ("arguments", arguments, seeds::ARGUMENTS),
    ("path", path, seeds::PATH),
    ("ticket", ticket, seeds::TICKET),
    ("command", command, seeds::COMMAND),
];
