//! What must hold for any input, as plain functions: each takes bytes and panics when something does not hold.
//!
//! The same functions run under libFuzzer (`fuzz/libfuzzer`, where there is a nightly toolchain), under the small mutator
//! of [`mutate`], and for a few seconds as ordinary tests. `cargo xtask fuzz` runs them for as long as it is told.
#![expect(clippy::panic, reason = "a finding is a panic: that is what a fuzzer looks for")]

mod arguments;
mod command;
pub mod mutate;
mod patch;
mod path;
pub mod seeds;
mod ticket;
mod world;

pub use arguments::arguments;
pub use command::command;
pub use patch::patch;
pub use path::path;
pub use ticket::ticket;

/// A target: any bytes, and nothing bad may come of them.
pub type Target = fn(&[u8]);

/// Every target by its name, with the inputs to begin with.
pub const TARGETS: [(&str, Target, &[&[u8]]); 5] = [
    ("patch", patch, seeds::PATCH),
    ("arguments", arguments, seeds::ARGUMENTS),
    ("path", path, seeds::PATH),
    ("ticket", ticket, seeds::TICKET),
    ("command", command, seeds::COMMAND),
];

/// Divides an input at its first NUL.
fn divided(data: &[u8]) -> (String, String) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let mut next = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    (next(), next())
}
