//! The entry point that the C library calls, in place of the standard library's.
//!
//! The standard library's entry point reads the process's memory map and sets up a stack for signals, which takes longer
//! than everything else that a hook does before it asks. The parts that are needed are done here: a closed standard stream
//! becomes `/dev/null`, so that no file gets its descriptor, and a closed pipe is an error of a write instead of SIGPIPE.
//! Not done: the message about a stack overflow; the process ends anyway.

#![cfg_attr(test, allow(dead_code, unused_imports))]

use crate::{output, run};
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsString, c_char, c_int};
use std::os::fd::{BorrowedFd, IntoRawFd};

/// The exit code of a panic, as in every Rust program.
const PANIC_EXIT_CODE: c_int = 101;

#[cfg(not(test))]
#[expect(unsafe_code, reason = "the name is what the C library looks for")]
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _words: *const *const c_char) -> c_int {
    set_up_streams();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = std::panic::catch_unwind(|| c_int::from(run(&words).code())).unwrap_or(PANIC_EXIT_CODE);
    #[expect(clippy::disallowed_methods, reason = "the one place where the process ends by itself")]
    std::process::exit(code)
}

#[expect(unsafe_code, reason = "descriptors and signals as the process was given them")]
fn set_up_streams() {
    for number in 0..3 {
        // SAFETY: the descriptor is only asked whether it exists.
        let stream = unsafe { BorrowedFd::borrow_raw(number) };
        if rustix::io::fcntl_getfd(stream).is_ok() {
            continue;
        }
        if number == 1 {
            output::note_closed();
        }
        // The lowest free descriptor is taken, which is the missing one. It stays open as long as the process lives.
        if let Ok(nothing) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()) {
            let _: c_int = nothing.into_raw_fd();
        }
    }
    // SAFETY: before any thread; nothing else in the process handles this signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
