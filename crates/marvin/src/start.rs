//! How the process begins and ends.
//!
//! The standard library's own beginning reads the map of the process's memory and sets up a stack for signals, which takes
//! longer than everything else that a hook does before it asks. What of it is needed is done here instead: a standard
//! stream that is closed becomes `/dev/null`, so that no file gets its number, and a reader that went away is an error of a write
//! and not a signal. Not done: the message about a stack that overflowed; the process ends all the same.

#![cfg_attr(test, allow(dead_code, unused_imports))]

use crate::{output, run};
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsString, c_char, c_int};
use std::os::fd::{BorrowedFd, IntoRawFd};

/// The exit code of a panic, as everywhere.
const BROKEN: c_int = 101;

/// What the C library calls when the process is set up.
#[cfg(not(test))]
#[expect(unsafe_code, reason = "the name is what the C library looks for")]
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _words: *const *const c_char) -> c_int {
    begin();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = std::panic::catch_unwind(|| c_int::from(run(&words).code())).unwrap_or(BROKEN);
    #[expect(clippy::disallowed_methods, reason = "the one place where the process ends by itself")]
    std::process::exit(code)
}

#[expect(unsafe_code, reason = "descriptors and signals as the process was given them")]
fn begin() {
    for number in 0..3 {
        // SAFETY: the descriptor is only asked whether it exists, which is what may not be the case.
        let stream = unsafe { BorrowedFd::borrow_raw(number) };
        if rustix::io::fcntl_getfd(stream).is_ok() {
            continue;
        }
        if number == 1 {
            output::is_closed();
        }
        // The lowest free number is taken: the one that is missing. It stays for as long as the process does.
        if let Ok(nothing) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()) {
            let _: c_int = nothing.into_raw_fd();
        }
    }
    // SAFETY: before any thread; nothing else in the process handles this signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
