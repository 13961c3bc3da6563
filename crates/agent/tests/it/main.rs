//! The agent loop with real tools, a real record and a scripted model.

// The attribute tells the linter what the directory tells the reader: these are tests, and may unwrap.
#[cfg(test)]
mod conversation;
