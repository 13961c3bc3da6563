//! The keeper of systems other than Linux, made of process groups and one socket.
//!
//! As on Linux it is a process between this one and a program, and it ends what the program left behind. It knows the program's
//! process group only: no other system hands a program's orphans to the keeper. The keeper and this process hold the two ends of
//! a socket, so that the keeper notices when this process is gone, however it ended.
//!
//! It is a fork of a process with threads, so it makes system calls only and allocates nothing.
//!
//! Limits: a process that began a session or a group of its own is not ended, and processes are not counted, so
//! [`Limits::processes`] binds nothing. Children in namespaces are refused.

use super::common::{ASK, END, StatusFile, bound, close_from, close_on_exec, leave, now, watched};
use super::{Child, Limits};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::sync::atomic::{AtomicI32, Ordering};

/// How long processes that a program left behind may continue to write, in milliseconds.
const DRAIN_MS: i64 = 300;
/// How often what is left behind is looked at, in milliseconds.
const LOOK_MS: i64 = 10;
/// The longest wait for an event, in milliseconds.
const MAX_WAIT_MS: i64 = 3_600_000;

/// This process's end of the socket. When it is closed, the keeper ends everything.
pub(super) type Word = UnixStream;

/// Did the keeper end the program because it had too many processes? It never does here.
pub(super) fn was_crowded(_: Word) -> bool {
    false
}

/// Puts a keeper between this process and the command, which lives as long as the result is held.
#[expect(
    unsafe_code,
    reason = "pre_exec runs between fork and exec; the closure makes system calls only and allocates nothing"
)]
pub(super) fn keep(command: &mut std::process::Command, child: &Child) -> std::io::Result<Word> {
    if child.namespaces.is_some() || child.limits.hard {
        return Err(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "this system has no namespaces and cannot count new processes",
        ));
    }
    let (ours, theirs) = UnixStream::pair()?;
    let (limits, own_session) = (child.limits, child.own_session);
    let status_file = child.status_file.as_deref().map(StatusFile::new).transpose()?;
    // SAFETY: only async-signal-safe calls are made on both sides of the fork, and no memory is allocated. The keeper's
    // side never returns, so nothing of the standard library runs twice.
    unsafe {
        command.pre_exec(move || {
            let watched = watched();
            libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, std::ptr::null_mut());
            match libc::fork() {
                -1 => Err(std::io::Error::last_os_error()),
                0 => begin(&watched, limits, own_session),
                program => watch(program, &watched, own_session, status_file.as_ref(), theirs.as_raw_fd()),
            }
        });
    }
    Ok(ours)
}

/// The program's side: a process group or session of its own, limits, no inherited descriptors, signals as they should be.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn begin(watched: &libc::sigset_t, limits: Limits, own_session: bool) -> std::io::Result<()> {
    // SAFETY: plain system calls; the set is valid.
    unsafe {
        if own_session {
            libc::setsid();
        } else {
            libc::setpgid(0, 0);
        }
        libc::sigprocmask(libc::SIG_UNBLOCK, watched, std::ptr::null_mut());
    }
    close_on_exec();
    bound(libc::RLIMIT_CORE, 0)?;
    limits.file_bytes.map_or(Ok(()), |bytes| bound(libc::RLIMIT_FSIZE, bytes))
}

/// Pipe into which the handler writes the signals of the keeper.
static SIGNALS: AtomicI32 = AtomicI32::new(-1);

/// Passes a signal on to the loop of the keeper.
#[expect(unsafe_code, reason = "a signal handler makes system calls only")]
extern "C" fn pass_on(signal: libc::c_int) {
    let byte = [u8::try_from(signal).unwrap_or(0)];
    // SAFETY: the buffer is ours. When the pipe is full, there is enough to read in it.
    unsafe { libc::write(SIGNALS.load(Ordering::Relaxed), byte.as_ptr().cast(), 1) };
}

/// The keeper's side: waits for the program, then for what it left behind, and ends as the program ended.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn watch(
    program: i32,
    watched: &libc::sigset_t,
    own_session: bool,
    status_file: Option<&StatusFile>,
    link: i32,
) -> ! {
    // SAFETY: plain system calls on numbers and on memory of this function.
    unsafe {
        // Both sides do this, since either may be first; the leader of a group could not start a session any more. The keeper
        // leaves the terminal's group: Ctrl-C is not for it.
        if !own_session {
            libc::setpgid(program, program);
        }
        libc::setpgid(0, 0);
        let link = keep_open(link);
        let mut ends = [-1; 2];
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            libc::kill(-program, libc::SIGKILL);
            libc::_exit(127);
        }
        let [signals, say] = ends;
        for handle in ends {
            libc::fcntl(handle, libc::F_SETFL, libc::O_NONBLOCK);
        }
        SIGNALS.store(say, Ordering::Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        for signal in [libc::SIGCHLD, ASK.as_raw(), END.as_raw()] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        libc::sigprocmask(libc::SIG_UNBLOCK, watched, std::ptr::null_mut());

        let mut ended: Option<i32> = None;
        let mut deadline = i64::MAX;
        loop {
            let mut status = 0;
            if ended.is_none() && libc::waitpid(program, &raw mut status, libc::WNOHANG) == program {
                ended = Some(status);
                // What was told to end did not end by itself.
                if let Some(file) = status_file.filter(|_| deadline == i64::MAX) {
                    file.write(status);
                }
                deadline = deadline.min(now().saturating_add(DRAIN_MS));
            }
            // The number of the group is not given out again while a process is in it.
            if ended.is_some() && libc::kill(-program, 0) != 0 {
                leave(ended);
            }
            let rest = deadline.saturating_sub(now());
            if rest <= 0 {
                libc::kill(-program, libc::SIGKILL);
            }
            let wait = if ended.is_some() || rest <= 0 { LOOK_MS } else { rest.min(MAX_WAIT_MS) };
            let ready = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut both = [ready(signals), ready(link)];
            // A closed link is always ready: it is looked at until everything was told to end.
            let count = if rest <= 0 { 1 } else { 2 };
            libc::poll(both.as_mut_ptr(), count, i32::try_from(wait).unwrap_or(i32::MAX));
            let [_, of_link] = both;
            if of_link.revents != 0 {
                deadline = now();
            }
            let mut told = [0u8; 64];
            let read = libc::read(signals, told.as_mut_ptr().cast(), told.len());
            for signal in told.get(..usize::try_from(read).unwrap_or(0)).unwrap_or_default() {
                if i32::from(*signal) == END.as_raw() {
                    deadline = now();
                } else if i32::from(*signal) == ASK.as_raw() && ended.is_none() {
                    // Until the program is waited for, its process id cannot be reused.
                    libc::kill(-program, libc::SIGTERM);
                }
            }
        }
    }
}

/// Closes every descriptor but the link, which gets the lowest number: pipes of this and of other runs must not be held open,
/// nor must the one that tells of a successful start.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn keep_open(link: i32) -> i32 {
    // SAFETY: nothing of this process uses the other handles any more.
    unsafe {
        libc::dup2(link, 0);
    }
    close_from(1);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    fn shell(script: &str, child: &Child) -> (std::process::Child, Word) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let word = keep(&mut command, child).unwrap();
        (command.spawn().unwrap(), word)
    }

    /// Reads the first line of a program, then everything until the last process that holds its output has ended.
    fn first_line(process: &mut std::process::Child) -> String {
        let mut line = Vec::new();
        let output = process.stdout.as_mut().unwrap();
        let mut byte = [0];
        while output.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            line.extend(byte);
        }
        String::from_utf8(line).unwrap()
    }

    fn wait_for_end_of_output(process: &mut std::process::Child) -> Duration {
        let started = Instant::now();
        process.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        started.elapsed()
    }

    #[test]
    fn the_keeper_ends_as_its_program() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Child::new("sh");
        child.status_file = Some(directory.path().join("status"));
        let (mut process, _word) = shell("exit 7", &child);
        assert_eq!(process.wait().unwrap().code(), Some(7));
        assert_eq!(std::fs::read(directory.path().join("status")).unwrap(), b"007");
        let (mut process, word) = shell("kill -9 $$", &Child::new("sh"));
        assert_eq!(process.wait().unwrap().signal(), Some(9));
        assert!(!was_crowded(word));
        let mut missing = Command::new("/does/not/exist");
        let _word = keep(&mut missing, &Child::new("sh")).unwrap();
        assert_eq!(missing.spawn().unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn what_a_program_leaves_in_its_group_is_ended() {
        for own_session in [false, true] {
            let mut child = Child::new("sh");
            child.own_session = own_session;
            let (mut process, _word) = shell("trap '' TERM; sleep 60 & echo left", &child);
            assert_eq!(first_line(&mut process), "left");
            assert!(wait_for_end_of_output(&mut process) < Duration::from_secs(20));
            assert_eq!(process.wait().unwrap().code(), Some(0));
        }
    }

    #[test]
    fn a_program_is_asked_and_then_ended() {
        let (mut process, _word) =
            shell("trap 'exit 5' TERM; echo ready; sleep 60 & wait", &Child::new("sh"));
        assert_eq!(first_line(&mut process), "ready");
        let keeper = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(keeper, ASK).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(5));
        let (mut process, _word) = shell("trap '' TERM; echo ready; sleep 60 & wait", &Child::new("sh"));
        assert_eq!(first_line(&mut process), "ready");
        let keeper = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(keeper, END).unwrap();
        assert_eq!(process.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(wait_for_end_of_output(&mut process) < Duration::from_secs(20));
    }

    #[test]
    fn everything_ends_with_the_process_that_started_it() {
        let (mut process, word) = shell("trap '' TERM; echo ready; sleep 60 & wait", &Child::new("sh"));
        assert_eq!(first_line(&mut process), "ready");
        drop(word);
        assert!(wait_for_end_of_output(&mut process) < Duration::from_secs(20));
        assert_eq!(process.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn inherited_descriptors_are_closed() {
        use super::super::tests::inheritable_descriptor;
        let directory = inheritable_descriptor();
        let script = format!("test -e /dev/fd/{} && echo open || echo closed", directory.as_raw_fd());
        let (mut process, _word) = shell(&script, &Child::new("sh"));
        assert_eq!(first_line(&mut process), "closed");
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn what_only_linux_has_is_refused() {
        let mut child = Child::new("true");
        child.limits.hard = true;
        let refused = keep(&mut Command::new("true"), &child).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
    }
}
