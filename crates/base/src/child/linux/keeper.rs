//! The keeper: a process between this one and a program, which sees to it that nothing of the program's is left behind.
//!
//! It is forked just before the program is, and it is a *subreaper*: whatever the program starts, in whatever session or
//! group, becomes the keeper's child when its own parent ends. So when the program has ended, the keeper's children are
//! exactly what it left behind; they get a moment to end by themselves and are then ended, and theirs after them, until
//! there are none. Each run has its own keeper, so runs at the same time do not touch each other. When this process dies,
//! however it dies, the kernel tells the keeper, which then ends everything too.
//!
//! It also counts: a program with more processes than its bound is ended with all of them, and the keeper says so through a
//! pipe. Contained programs ask before each new process ([`forks`]), so that none is too many. For others counting is a
//! matter of moments: a fork bomb may exceed the limit by what it starts between two counts. So that the keeper gets to count
//! and ends processes faster than a bomb starts them, programs with many processes run only while the CPU is idle
//! (`SCHED_IDLE`), the keeper of root runs before all other processes, and users other than root have a hard bound besides (`RLIMIT_NPROC`). While a program grows fast, its process group stands still for
//! the moment of counting. The keeper does not end before everything has.
//!
//! The keeper never runs another program. It is a fork of a process with threads, so it makes system calls only and
//! allocates nothing; it holds open only what it needs for its own work.
//!
//! Limits: where programs do not ask, root without the right to run before others (`CAP_SYS_NICE`, which containers often
//! lack) can be outrun by a bomb whose every process begins a session of its own. A process that changed its user (`sudo`)
//! cannot be ended. An uncontained program can kill its own keeper with `SIGKILL`; a contained one cannot signal outside its
//! sandbox (Linux 6.12 and newer). On a kernel without `/proc/PID/task/TID/children` only the program's process group is ended.

use super::forks::{self, ForkEvent};
use super::namespaces::{self, IdMaps};
use super::tree;
use crate::child::common::{ASK, END, StatusFile, bound, close_from, close_on_exec, leave, now, watched};
use crate::child::{Child, Limits};
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

/// How long processes that a program left behind may continue to write, in milliseconds.
const DRAIN: i64 = 300;
/// At which distance, in nanoseconds, what is left is ended; the keeper does not give up before nothing is left.
const KILL_INTERVAL_NS: i64 = 500_000;
const MAX_KILL_INTERVAL_NS: i64 = 500_000_000;
/// How often processes are counted, in milliseconds; every so many times even when the machine seems quiet.
const LOOK: i64 = 25;
const QUIET_LOOKS: u32 = 20;
/// Threads for each process of the bound.
const THREADS: u32 = 8;
/// Byte by which the keeper reports that a program had too many processes.
const CROWDED: u8 = b'c';

/// What the keeper has to say at the end.
pub(in crate::child) type Word = PipeReader;

/// Did the keeper end the program because it had too many processes? To be asked when the keeper has ended.
pub(in crate::child) fn was_crowded(mut word: Word) -> bool {
    // The writer has ended, but another child before its exec may hold the pipe for a moment.
    let flags = rustix::fs::fcntl_getfl(word.as_fd()).unwrap_or(rustix::fs::OFlags::empty());
    if rustix::fs::fcntl_setfl(word.as_fd(), flags | rustix::fs::OFlags::NONBLOCK).is_err() {
        return false;
    }
    let mut byte = [0];
    matches!(word.read(&mut byte), Ok(1)) && byte == [CROWDED]
}

/// Puts a keeper between this process and the command. What it has to say at the end can be read from the pipe.
#[expect(
    unsafe_code,
    reason = "pre_exec runs between fork and exec; the closure makes system calls only and allocates nothing"
)]
pub(in crate::child) fn keep(command: &mut std::process::Command, child: &Child) -> std::io::Result<Word> {
    let (word, say) = std::io::pipe()?;
    let (limits, own_session) = (child.limits, child.own_session);
    let rules = KeeperOptions {
        max_processes: limits.processes,
        own_session,
        status_file: child.status_file.as_deref().map(StatusFile::new).transpose()?,
    };
    let isolation = match child.namespaces.clone() {
        Some(isolation) => Some((isolation, IdMaps::of_process()?, UnixStream::pair()?)),
        None => None,
    };
    let ask = (limits.hard && limits.processes.is_some()).then(UnixStream::pair).transpose()?;
    let hard = limits.processes.and_then(hard_bound);
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: only async-signal-safe calls are made on both sides of the fork, and no memory is allocated. The keeper's
    // side never returns, so nothing of the standard library runs twice.
    unsafe {
        command.pre_exec(move || {
            let watched = watched();
            libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, std::ptr::null_mut());
            if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_PDEATHSIG, END.as_raw() as libc::c_ulong, 0, 0, 0) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            // The parent may have died before the line above took effect.
            if libc::getppid() != parent {
                return Err(std::io::Error::from_raw_os_error(libc::ECANCELED));
            }
            let keeper = libc::getpid();
            let program = match &isolation {
                Some((isolation, _, _)) => namespaces::clone(isolation.flags),
                None => libc::fork(),
            };
            match program {
                -1 => Err(std::io::Error::last_os_error()),
                0 => {
                    close_regular_files();
                    // In a PID namespace of its own a process has no parent that it could see.
                    let keeper = if isolation.is_some() { 0 } else { keeper };
                    begin(keeper, &watched, limits, hard, own_session)?;
                    if let Some((isolation, _, (_, theirs))) = &isolation {
                        namespaces::wait_for_release(theirs.as_raw_fd())?;
                        (isolation.setup)()?;
                        namespaces::become_init(theirs.as_raw_fd())?;
                    }
                    if let Some((_, theirs)) = &ask {
                        forks::ask(theirs.as_raw_fd());
                    }
                    Ok(())
                }
                program => {
                    close_regular_files();
                    let link = isolation.as_ref().map(|(_, maps, (ours, _))| {
                        namespaces::release(program, maps, ours.as_raw_fd());
                        ours.as_raw_fd()
                    });
                    let open = Handles {
                        say: say.as_raw_fd(),
                        ask: ask.as_ref().map(|(ours, _)| ours.as_raw_fd()),
                        link,
                    };
                    watch(program, &watched, &rules, open)
                }
            }
        });
    }
    Ok(word)
}

/// Closes the regular files of the parent beyond the standard streams: locks on ledgers must not outlive the parent by the
/// time that the sandbox takes to be set up.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn close_regular_files() {
    super::each_open_descriptor(|handle| {
        // SAFETY: the structure is ours. Nothing of this process uses these files any more.
        unsafe {
            let mut facts: libc::stat = std::mem::zeroed();
            let is_regular =
                libc::fstat(handle, &raw mut facts) == 0 && facts.st_mode & libc::S_IFMT == libc::S_IFREG;
            if handle > 2 && is_regular {
                libc::close(handle);
            }
        }
    });
}

/// Descriptors that the keeper holds open.
#[derive(Clone, Copy)]
struct Handles {
    /// Pipe for its report.
    say: i32,
    /// Socket over which the listener of new processes arrives.
    ask: Option<i32>,
    /// The socket that it shares with init, where there is one.
    link: Option<i32>,
}

/// Facts of the program for the keeper.
struct KeeperOptions {
    max_processes: Option<u32>,
    own_session: bool,
    status_file: Option<StatusFile>,
}

/// The program's side: a process group or session of its own, ended with its keeper, no inherited descriptors, signals as
/// they should be.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn begin(
    keeper: i32,
    watched: &libc::sigset_t,
    limits: Limits,
    hard: Option<u64>,
    own_session: bool,
) -> std::io::Result<()> {
    // SAFETY: plain system calls; the set is valid.
    unsafe {
        if own_session {
            libc::setsid();
        } else {
            libc::setpgid(0, 0);
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        if libc::getppid() != keeper {
            return Err(std::io::Error::from_raw_os_error(libc::ECANCELED));
        }
        libc::sigprocmask(libc::SIG_UNBLOCK, watched, std::ptr::null_mut());
        if limits.expendable {
            // Raising the score is allowed to everybody; where it is not there, nothing is lost.
            let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            libc::write(file, c"700".as_ptr().cast(), 3);
            libc::close(file);
        }
    }
    close_on_exec();
    bound(libc::RLIMIT_CORE, 0)?;
    if let Some(hard) = hard {
        bound(libc::RLIMIT_NPROC, hard)?;
    }
    limits.file_bytes.map_or(Ok(()), |bytes| bound(libc::RLIMIT_FSIZE, bytes))
}

/// The bound on tasks that the kernel keeps by itself: those that the user has, and as many as the program may have. It does
/// not bind root. Called before the fork.
fn hard_bound(most: u32) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::getuid();
    if own.is_root() {
        return None;
    }
    let mut tasks = 0;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        // The directory of the threads has a link for each, and two of its own.
        let Ok(facts) = entry.path().join("task").symlink_metadata() else { continue };
        if facts.uid() == own.as_raw() {
            tasks += facts.nlink().saturating_sub(2);
        }
    }
    Some(tasks + u64::from(most) * u64::from(THREADS))
}

/// The keeper's side: waits for the program, then for what it left behind, and ends as the program ended.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn watch(program: i32, watched: &libc::sigset_t, child: &KeeperOptions, open: Handles) -> ! {
    // SAFETY: plain system calls on numbers and on memory of this function.
    unsafe {
        // Both sides do this, since either may be first; the leader of a group could not start a session any more. The keeper
        // leaves the terminal's group: Ctrl-C is not for it.
        if !child.own_session {
            libc::setpgid(program, program);
        }
        libc::setpgid(0, 0);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        // Before anything else: the program may be waiting for an answer.
        let listener = open.ask.and_then(forks::receive);
        // The lowest numbers are taken for what stays open; the rest is closed.
        let (say, mut listener, link) = keep_open(open.say, listener, open.link);
        let signals = libc::signalfd(-1, watched, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
        libc::prctl(libc::PR_SET_NAME, c"marvin-keeper".as_ptr(), 0, 0, 0);
        // Among hundreds of busy processes the keeper must still get its turn. Only root may do this; for others, see
        // `Tree::yield_to_us`.
        let mut first: libc::sched_param = std::mem::zeroed();
        first.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first);
        let Some(mut tree) = tree::Tree::new() else { libc::_exit(127) };
        let mut looks = Looks::new(child.max_processes);
        let mut ended: Option<i32> = None;
        let mut deadline = i64::MAX;
        loop {
            loop {
                let mut status = 0;
                match libc::waitpid(-1, &raw mut status, libc::WNOHANG) {
                    0 => break,
                    // No child is left.
                    -1 => leave(ended),
                    found if found == program => {
                        let status = link.and_then(namespaces::program_status).unwrap_or(status);
                        ended = Some(status);
                        // What was told to end did not end by itself.
                        if let Some(file) = child.status_file.as_ref().filter(|_| deadline == i64::MAX) {
                            file.write(status);
                        }
                        deadline = deadline.min(now().saturating_add(DRAIN));
                    }
                    _ => {}
                }
            }
            let rest = deadline.saturating_sub(now());
            if rest <= 0 {
                if ended.is_none() {
                    libc::kill(-program, libc::SIGKILL);
                }
                tree.end();
                // What cannot be ended at all is looked at less and less often.
                let longer = rest.saturating_neg().saturating_mul(KILL_INTERVAL_NS / 100);
                let pause = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: KILL_INTERVAL_NS.max(longer.min(MAX_KILL_INTERVAL_NS)),
                };
                libc::nanosleep(&raw const pause, std::ptr::null_mut());
                continue;
            }
            let group = ended.is_none().then_some(program);
            if listener.is_none() && looks.are_too_many(&mut tree, group) {
                libc::write(say, [CROWDED].as_ptr().cast(), 1);
                deadline = now();
                continue;
            }
            let signal = if let Some(open) = listener {
                match forks::wait(open, signals, rest.min(3_600_000)) {
                    ForkEvent::Question(id) if looks.has_room(&mut tree) => forks::allow(open, id),
                    // From here on questions get no answer, until the process that asks is ended.
                    ForkEvent::Question(_) => {
                        libc::write(say, [CROWDED].as_ptr().cast(), 1);
                        deadline = now();
                        continue;
                    }
                    ForkEvent::NoneLeft => listener = None,
                    ForkEvent::Nothing => {}
                }
                let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(watched, std::ptr::null_mut(), &raw const at_once)
            } else {
                let rest = rest.min(if child.max_processes.is_some() { LOOK } else { 3_600_000 });
                let timeout = libc::timespec { tv_sec: rest / 1000, tv_nsec: (rest % 1000) * 1_000_000 };
                libc::sigtimedwait(watched, std::ptr::null_mut(), &raw const timeout)
            };
            if signal == END.as_raw() {
                deadline = now();
            } else if signal == ASK.as_raw() && ended.is_none() {
                // Until the program is waited for, its process id cannot be reused.
                libc::kill(-program, libc::SIGTERM);
            }
        }
    }
}

/// Moves what stays open to the lowest numbers and closes the rest: pipes of this and of other runs must not be held open,
/// nor must the one that tells of a successful start.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn keep_open(say: i32, listener: Option<i32>, link: Option<i32>) -> (i32, Option<i32>, Option<i32>) {
    // SAFETY: nothing of this process uses the other handles any more.
    unsafe {
        // Their numbers may collide, so they are first moved to free ones.
        let far = |handle: i32| libc::fcntl(handle, libc::F_DUPFD_CLOEXEC, 3);
        let (far_say, far_listener, far_link) = (far(say), listener.map(far), link.map(far));
        libc::dup2(far_say, 0);
        let place = |handle: Option<i32>, number: i32| match handle {
            Some(handle) => Some(libc::dup2(handle, number)).filter(|placed| *placed == number),
            None => {
                libc::close(number);
                None
            }
        };
        let (listener, link) = (place(far_listener, 1), place(far_link, 2));
        close_from(3);
        (0, listener, link)
    }
}

/// Schedule of process counts, and the limit.
struct Looks {
    most: Option<u32>,
    /// Time of the next count.
    due: i64,
    /// How many there were, and how many tasks the machine had, at the last count.
    last: (u32, u32),
    /// Looks at the machine since then.
    quiet: u32,
    /// How many may begin before they are counted again, where each is asked about.
    room: u32,
}

impl Looks {
    fn new(most: Option<u32>) -> Self {
        Looks { most, due: 0, last: (0, tree::tasks_of_machine()), quiet: 0, room: 0 }
    }

    /// May one more begin? Asked for each.
    fn has_room(&mut self, tree: &mut tree::Tree) -> bool {
        if self.room == 0 {
            let most = self.most.unwrap_or(u32::MAX);
            let (processes, threads) = tree.count(most);
            self.room =
                most.saturating_sub(processes).min(most.saturating_mul(THREADS).saturating_sub(threads));
        }
        let has = self.room > 0;
        self.room = self.room.saturating_sub(1);
        has
    }

    /// `group` is the program's process group, while it has its number for certain.
    #[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
    fn are_too_many(&mut self, tree: &mut tree::Tree, group: Option<i32>) -> bool {
        let Some(most) = self.most else { return false };
        let time = now();
        if time < self.due {
            return false;
        }
        self.due = time.saturating_add(LOOK);
        // The machine's own count is one small file. As long as it has not grown much, neither have we.
        let machine = tree::tasks_of_machine();
        self.quiet += 1;
        let grown = machine.saturating_sub(self.last.1);
        if machine > 0 && self.last.0.saturating_add(grown) < most / 2 && self.quiet < QUIET_LOOKS {
            return false;
        }
        self.quiet = 0;
        // Some process group grows fast. If it is ours, it must not grow while it is counted; it is stopped at once.
        let stopped = group.filter(|_| grown > most / 4);
        let tell = |signal| {
            if let Some(group) = stopped {
                // SAFETY: a plain system call.
                unsafe { libc::kill(-group, signal) };
            }
        };
        tell(libc::SIGSTOP);
        let (processes, threads) = tree.count(most);
        if processes > most / 4 {
            tree.yield_to_us();
        }
        let too_many = processes > most || threads > most.saturating_mul(THREADS);
        if !too_many {
            tell(libc::SIGCONT);
        }
        self.last = (processes, machine);
        too_many
    }
}
