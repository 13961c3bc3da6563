//! The process table: what the kernel says about the ancestors of a process.
//!
//! A process chooses its own variables, name and arguments; it cannot choose its parent, its session, its terminal, its
//! namespaces, the file that it executes, or any of these of its ancestors. The table is read from the system once, or made from
//! given rows for tests.

use super::platform;
pub use super::platform::start_ticks;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Ancestors that are followed.
pub(super) const MAX_ANCESTORS: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// Its parent; 0 where the parent is outside of this PID namespace.
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// The device of its controlling terminal; 0 without one.
    pub terminal: i32,
    /// The foreground process group of that terminal.
    pub foreground: i32,
    /// Clock ticks since boot at which it started.
    pub started: u64,
    /// The name that the kernel keeps (`comm`).
    pub name: String,
    /// The file that it executes, where that may be seen.
    pub exe: Option<PathBuf>,
    /// Device and inode of that file.
    pub exe_id: Option<(u64, u64)>,
    /// Whether only root can have put that file there.
    pub exe_is_system: bool,
    /// Its arguments, beginning with its name.
    pub arguments: Vec<String>,
    /// Real, effective, saved and file-system user.
    pub users: [u32; 4],
    /// Numbers that it has in nested PID namespaces, this one included.
    pub pid_namespaces: usize,
    /// Its mount, PID and user namespaces, where they may be seen.
    pub namespaces: Option<[String; 3]>,
    /// Variables of its start that only a process below an agent has.
    pub marks: Vec<String>,
    /// `SSH_CONNECTION` of its start.
    pub ssh_connection: Option<String>,
}

impl Process {
    /// The file names by which the program goes, in lower case: of the file and of `argv[0]`.
    #[must_use]
    pub fn program_names(&self) -> Vec<String> {
        let file_name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let exe = self.exe.as_deref().and_then(file_name);
        let exe = exe.map(|name| name.trim_end_matches(" (deleted)").to_string());
        let word = self.arguments.first().map(|word| word.trim_start_matches('-').trim_end_matches(':'));
        // A title has the program's name first: `tmux: server`, `sshd: ann@pts/0`.
        let word = word.and_then(|word| word.split([' ', ':']).next());
        exe.into_iter().chain(word.and_then(|word| file_name(Path::new(word)))).collect()
    }

    /// The file name of the executed file, where it may be seen.
    #[must_use]
    pub fn exe_name(&self) -> Option<String> {
        self.exe.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned())
    }

    /// Whether it runs as root only.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.users == [0; 4]
    }

    /// Name and number, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{} (pid {})", crate::truncate::line(&crate::printable::visible(&self.name), 32), self.pid)
    }
}

/// Processes by number, and which of them talk to each other.
#[derive(Debug, Clone, Default)]
pub struct ProcessTable {
    pub(super) rows: BTreeMap<i32, Process>,
    pub(super) connected: BTreeSet<(i32, i32)>,
    pub(super) this: i32,
}

impl ProcessTable {
    /// This process, its ancestors, and the attached clients of the multiplexers among them; empty where the system's table is not
    /// read.
    #[must_use]
    pub fn of_system() -> Self {
        platform::read_table(i32::try_from(std::process::id()).unwrap_or_default())
    }

    /// A table of these rows, as process `this` sees it; `connected` pairs have a Unix socket between them.
    #[must_use]
    pub fn of_rows(this: i32, rows: impl IntoIterator<Item = Process>, connected: &[(i32, i32)]) -> Self {
        let rows = rows.into_iter().map(|row| (row.pid, row)).collect();
        let connected = connected.iter().flat_map(|(one, two)| [(*one, *two), (*two, *one)]).collect();
        ProcessTable { rows, connected, this }
    }

    #[must_use]
    pub fn this(&self) -> Option<&Process> {
        self.rows.get(&self.this)
    }

    #[must_use]
    pub fn get(&self, pid: i32) -> Option<&Process> {
        self.rows.get(&pid)
    }

    /// A process and its ancestors, itself first; none where a link is missing or does not fit.
    #[must_use]
    pub fn line(&self, pid: i32) -> Option<Vec<&Process>> {
        let mut line: Vec<&Process> = vec![self.rows.get(&pid)?];
        loop {
            let last = line.last()?;
            if last.parent == 0 {
                return Some(line);
            }
            let parent = self.rows.get(&last.parent)?;
            // A number that was given to a younger process is not the parent any more.
            if parent.started > last.started || line.len() >= MAX_ANCESTORS {
                return None;
            }
            line.push(parent);
        }
    }

    /// The processes that have a Unix socket to this one.
    pub fn connected(&self, pid: i32) -> impl Iterator<Item = &Process> {
        let pairs = self.connected.range((pid, i32::MIN)..=(pid, i32::MAX));
        pairs.filter_map(|(_, other)| self.rows.get(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_younger_parent_breaks_the_line() {
        let row = |pid, parent, started| Process { pid, parent, started, ..Process::default() };
        let table = ProcessTable::of_rows(3, [row(3, 2, 30), row(2, 1, 20), row(1, 0, 1)], &[]);
        assert_eq!(table.line(3).unwrap().len(), 3);
        let table = ProcessTable::of_rows(3, [row(3, 2, 30), row(1, 0, 1)], &[]);
        assert!(table.line(3).is_none());
        let table = ProcessTable::of_rows(3, [row(3, 2, 30), row(2, 1, 40), row(1, 0, 1)], &[]);
        assert!(table.line(3).is_none());
    }

    #[test]
    fn titles_name_their_program() {
        let titled =
            |word: &str| Process { arguments: vec![word.into()], ..Process::default() }.program_names();
        assert_eq!(titled("tmux: server"), ["tmux"]);
        assert_eq!(titled("-bash"), ["bash"]);
        assert_eq!(titled("sshd: ann@pts/0"), ["sshd"]);
    }
}
