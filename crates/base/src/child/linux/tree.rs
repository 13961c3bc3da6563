//! The processes below this one, found, counted and ended without allocating: this runs in a fork of a process with threads.

/// Processes that one walk knows of; what is beyond them is found by the next.
const ROOM: usize = 65_536;

/// A list of processes, in memory of its own.
pub(super) struct Tree {
    numbers: &'static mut [i32],
    length: usize,
}

impl Tree {
    /// An empty list; `None` when memory is exhausted.
    #[expect(
        unsafe_code,
        reason = "memory straight from the kernel; the allocator may be locked after a fork"
    )]
    pub(super) fn new() -> Option<Self> {
        // SAFETY: a fresh private mapping of zeroes, never unmapped, is a slice of numbers that nothing else refers to.
        unsafe {
            let place = libc::mmap(
                std::ptr::null_mut(),
                ROOM * size_of::<i32>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if place == libc::MAP_FAILED {
                return None;
            }
            Some(Tree { numbers: std::slice::from_raw_parts_mut(place.cast(), ROOM), length: 0 })
        }
    }

    /// How many processes and threads there are below this one; the walk stops soon after `most` processes.
    pub(super) fn count(&mut self, most: u32) -> (u32, u32) {
        let mut threads = 0u32;
        let mut at = 0;
        self.begin();
        while let Some(process) = self.numbers.get(at).copied().filter(|_| at < self.length) {
            let own = self.add_children_of(process);
            threads = threads.saturating_add(if at == 0 { 0 } else { own });
            at += 1;
            if self.length > most as usize + 1 {
                break;
            }
        }
        (u32::try_from(self.length.saturating_sub(1)).unwrap_or(u32::MAX), threads)
    }

    /// Lets the processes of the last count, and what they start, run only while the CPU is idle.
    #[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
    pub(super) fn yield_to_us(&self) {
        // SAFETY: zero is a valid value of every field, of which C libraries have different ones.
        let none: libc::sched_param = unsafe { std::mem::zeroed() };
        for process in self.numbers.get(1..self.length).unwrap_or_default() {
            // SAFETY: a plain system call; the structure is ours.
            unsafe { libc::sched_setscheduler(*process, libc::SCHED_IDLE, &raw const none) };
        }
    }

    /// Ends every process below this one that can be seen. Those that begin meanwhile are seen by the next call: when
    /// their parents have ended, they are children of this process.
    #[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
    pub(super) fn end(&mut self) {
        let mut at = 0;
        self.begin();
        while let Some(process) = self.numbers.get(at).copied().filter(|_| at < self.length) {
            let known = self.length;
            self.add_children_of(process);
            for child in self.numbers.get(known..self.length).unwrap_or_default() {
                // SAFETY: a plain system call. A child that was not waited for keeps its process id; the process that
                // waits for a grandchild is one of those that are being ended.
                unsafe { libc::kill(*child, libc::SIGKILL) };
            }
            at += 1;
        }
    }

    #[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
    fn begin(&mut self) {
        // SAFETY: a plain system call.
        let own = unsafe { libc::getpid() };
        self.length = 0;
        self.add(own);
    }

    fn add(&mut self, number: i32) {
        if let Some(place) = self.numbers.get_mut(self.length) {
            *place = number;
            self.length += 1;
        }
    }

    /// Adds the children of a process, and says how many threads it has.
    fn add_children_of(&mut self, process: i32) -> u32 {
        let directory = Path::new().text(b"/proc/").number(process).text(b"/task");
        // The directory has a link for itself, one for its parent and one for each thread.
        let threads = links(&directory).saturating_sub(2);
        if threads <= 1 {
            self.add_children_in(directory.text(b"/").number(process));
        } else {
            each_entry(&directory, |thread| self.add_children_in(directory.text(b"/").number(thread)));
        }
        threads
    }

    fn add_children_in(&mut self, thread: Path) {
        let mut number = 0i32;
        each_piece(&thread.text(b"/children"), |piece| {
            for byte in piece {
                if byte.is_ascii_digit() {
                    number = number.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
                } else {
                    // Never this process's whole group (0), everybody (-1) or the first process.
                    if number > 1 {
                        self.add(number);
                    }
                    number = 0;
                }
            }
        });
    }
}

/// How many tasks the whole machine has; 0 when that cannot be known.
pub(super) fn tasks_of_machine() -> u32 {
    // `0.10 0.20 0.30 2/345 6789`: the number after the slash.
    let mut found = 0u32;
    let mut slash = false;
    each_piece(&Path::new().text(b"/proc/loadavg"), |piece| {
        for byte in piece {
            match byte {
                b'/' => slash = true,
                b'0'..=b'9' if slash => {
                    found = found.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
                }
                _ => slash = false,
            }
        }
    });
    found
}

/// A short path that ends with a zero byte.
#[derive(Clone, Copy)]
pub(super) struct Path {
    bytes: [u8; 64],
    length: usize,
}

impl Path {
    /// For system calls; ends with a zero byte.
    pub(super) fn as_pointer(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }

    pub(super) fn new() -> Self {
        Path { bytes: [0; 64], length: 0 }
    }

    /// With text at the end; what does not fit is left out, so that such a path leads nowhere.
    pub(super) fn text(mut self, text: &[u8]) -> Self {
        for byte in text {
            // The last byte stays zero.
            if let Some(place) = self.bytes.get_mut(self.length).filter(|_| self.length < 63) {
                *place = *byte;
                self.length += 1;
            }
        }
        self
    }

    pub(super) fn number(self, number: i32) -> Self {
        let mut digits = [0u8; 12];
        let mut rest = number.unsigned_abs();
        let mut at = digits.len();
        loop {
            at -= 1;
            if let Some(place) = digits.get_mut(at) {
                *place = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            }
            rest /= 10;
            if rest == 0 || at == 0 {
                break;
            }
        }
        self.text(digits.get(at..).unwrap_or_default())
    }
}

/// The number of links of a directory; 0 when it is not there.
#[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
fn links(directory: &Path) -> u32 {
    // SAFETY: the path ends with a zero byte, and the structure is ours.
    unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        if libc::stat(directory.bytes.as_ptr().cast(), &raw mut facts) != 0 {
            return 0;
        }
        u32::try_from(facts.st_nlink).unwrap_or(u32::MAX)
    }
}

/// Calls `visit` with a file, piece by piece.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn each_piece(file: &Path, mut visit: impl FnMut(&[u8])) {
    let mut piece = [0u8; 4096];
    // SAFETY: the path ends with a zero byte; the buffer is ours, and as long as is said.
    unsafe {
        let handle = libc::open(file.bytes.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if handle < 0 {
            return;
        }
        while let Ok(read @ 1..) = usize::try_from(libc::read(handle, piece.as_mut_ptr().cast(), piece.len()))
        {
            visit(piece.get(..read).unwrap_or_default());
        }
        libc::close(handle);
    }
}

/// Calls `visit` with every entry of a directory whose name is a number; false when it cannot be opened.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn each_entry(directory: &Path, mut visit: impl FnMut(i32)) -> bool {
    /// Offsets of the length of an entry and of its name.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut entries = [0u8; 4096];
    // SAFETY: the path ends with a zero byte; the buffer is ours, and as long as is said.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let handle = libc::open(directory.bytes.as_ptr().cast(), flags);
        if handle < 0 {
            return false;
        }
        loop {
            let read = libc::syscall(
                libc::SYS_getdents64,
                handle,
                entries.as_mut_ptr(),
                entries.len() as libc::c_ulong,
            );
            let Ok(read @ 1..) = usize::try_from(read) else { break };
            let mut rest = entries.get(..read).unwrap_or_default();
            while let (Some(low), Some(high)) = (rest.get(LENGTH), rest.get(LENGTH + 1)) {
                let length = usize::from(u16::from_ne_bytes([*low, *high]));
                let name = rest.get(NAME..length).unwrap_or_default();
                let mut digits = name.iter().take_while(|byte| **byte != 0);
                let number = digits.try_fold(0i32, |number, byte| match byte {
                    b'0'..=b'9' => number.checked_mul(10)?.checked_add(i32::from(byte - b'0')),
                    _ => None,
                });
                number.into_iter().for_each(&mut visit);
                rest = rest.get(length.max(1)..).unwrap_or_default();
            }
        }
        libc::close(handle);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_built_and_never_too_long() {
        let path = Path::new().text(b"/proc/").number(120).text(b"/task/").number(0);
        assert_eq!(path.bytes.get(..path.length), Some(b"/proc/120/task/0".as_slice()));
        let long = Path::new().text(&[b'x'; 100]);
        assert_eq!((long.length, long.bytes.last()), (63, Some(&0)));
    }

    #[test]
    fn children_are_counted_whichever_thread_started_them() {
        let mut tree = Tree::new().unwrap();
        let (before, _) = tree.count(100_000);
        let start = || std::process::Command::new("sh").args(["-c", "sleep 9.25 & wait"]).spawn().unwrap();
        let mut first = start();
        let mut second = std::thread::scope(|scope| {
            let second = scope.spawn(start).join().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(400));
            second
        });
        let (after, threads) = tree.count(100_000);
        // Other tests start and end children too, so this is a lower bound.
        assert!(after >= 4, "{before} {after}");
        assert!(threads >= 4, "{threads}");
        assert!(tree.count(1).0 >= 2);
        for child in [&mut first, &mut second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(tasks_of_machine() > 4);
    }
}
