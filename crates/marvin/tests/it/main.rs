//! End to end: the real program, real files, real sockets, real signals.

// The attribute tells the linter what the folder tells the reader: these are tests, and may unwrap.
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod house;
#[cfg(test)]
mod non_interactive;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tickets;
#[cfg(test)]
mod web;
