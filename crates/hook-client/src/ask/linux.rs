//! The daemon of a project on Linux, known by what the kernel says about the process that listens.

use super::{Connection, Peer};
use crate::settings;
use crate::wire::{self, Place};
use marvin_base::environment::Environment;
use rustix::io::Errno;
use rustix::path::DecInt;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// More than the kernel gives a program (`MAX_ARG_STRLEN` for each variable, a quarter of the stack for all).
const MAX_ENVIRONMENT_BYTES: u64 = 8 << 20;

/// The metadata of the file of this process, also after another one took its place.
#[must_use]
pub fn own_program() -> Option<Metadata> {
    std::fs::metadata("/proc/self/exe").ok()
}

/// Connects to the daemon of a place.
pub(super) fn connect(place: &Place) -> Connection {
    if !wire::is_private(place.directory()) {
        return Connection::NoDaemon;
    }
    match connect_socket(&place.socket()) {
        Ok(stream) => Connection::Open(stream),
        // The backlog is full: the daemon runs, and is too busy.
        Err(Errno::AGAIN) => Connection::Unusable,
        Err(_) => Connection::NoDaemon,
    }
}

/// Connects without blocking, also to a daemon that does not accept.
fn connect_socket(socket: &Path) -> Result<UnixStream, Errno> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let own = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&own, &SocketAddrUnix::new(socket)?)?;
    let stream = UnixStream::from(own);
    stream.set_nonblocking(false).map_err(|_| Errno::IO)?;
    Ok(stream)
}

/// Identifies the process that listens; `program` is the metadata of the file of `marvin`.
pub(super) fn peer(stream: &UnixStream, program: Option<&Metadata>, environment: &Environment) -> Peer {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return Peer::Stranger };
    if peer.uid != rustix::process::getuid() {
        return Peer::Stranger;
    }
    let identity = |facts: &Metadata| (facts.dev(), facts.ino());
    let process = ["/proc/", DecInt::new(peer.pid.as_raw_nonzero().get()).as_str()].concat();
    let theirs = std::fs::metadata([&process, "/exe"].concat()).ok();
    let same = theirs.is_some() && theirs.as_ref().map(identity) == program.map(identity);
    if same && has_same_settings(&process, environment) { Peer::Own } else { Peer::Other }
}

/// Whether a process was started with the same variables for settings (S12). The kernel keeps them, so that a daemon cannot
/// claim others.
fn has_same_settings(process: &str, environment: &Environment) -> bool {
    let mut bytes = Vec::with_capacity(8 << 10);
    let file = File::open([process, "/environ"].concat());
    if file.and_then(|file| file.take(MAX_ENVIRONMENT_BYTES).read_to_end(&mut bytes)).is_err() {
        return false;
    }
    let theirs: Environment = bytes
        .split(|byte| *byte == 0)
        .filter_map(|variable| std::str::from_utf8(variable).ok()?.split_once('='))
        .collect();
    // Few differ, and most of those belong to a session: the table of settings is searched only for the others.
    let differs = |one: &Environment, other: &Environment| {
        one.iter().any(|(name, _)| one.get(name) != other.get(name) && settings::is_variable(name))
    };
    !differs(&theirs, environment) && !differs(environment, &theirs)
}
