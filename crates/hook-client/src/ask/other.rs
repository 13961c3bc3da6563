//! Systems on which a daemon cannot be told from another process of the same user: every hook answers itself.

use super::{Connection, Peer};
use crate::wire::Place;
use marvin_base::environment::Environment;
use std::fs::Metadata;
use std::os::unix::net::UnixStream;

/// The metadata of the file of this process.
#[must_use]
pub fn own_program() -> Option<Metadata> {
    std::env::current_exe().and_then(std::fs::metadata).ok()
}

/// No daemon can be used, and none is started.
pub(super) fn connect(_: &Place) -> Connection {
    Connection::Unusable
}

/// Any process that listens.
pub(super) fn peer(_: &UnixStream, _: Option<&Metadata>, _: &Environment) -> Peer {
    Peer::Stranger
}
