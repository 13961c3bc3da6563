//! Conversations over real sockets: every client against the model server.

// The attribute tells the linter what the directory tells the reader: these are tests, and may unwrap.
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod support;
