//! The process table of Linux, read from `/proc`.

mod unix_peers;

use super::process::{MAX_ANCESTORS, Process, ProcessTable};
use super::{known, marks};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

/// Bytes of one file below `/proc` that are read.
const MAX_PROC_BYTES: u64 = 256 * 1024;
/// Places in which only the system's administrator installs programs.
const SYSTEM_PLACES: [&str; 10] = [
    "/usr/",
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/opt/",
    "/nix/store/",
    "/gnu/store/",
    "/snap/",
    "/app/",
];

/// This process, its ancestors, and the attached clients of the multiplexers among them.
pub(super) fn read_table(this: i32) -> ProcessTable {
    let mut table = ProcessTable { this, ..ProcessTable::default() };
    table.read_line(this);
    let servers: Vec<i32> =
        table.rows.values().filter(|row| is_multiplexer(row)).map(|row| row.pid).collect();
    if !servers.is_empty() {
        table.read_clients(&servers);
    }
    table
}

impl ProcessTable {
    fn read_line(&mut self, from: i32) {
        let mut next = from;
        for _ in 0..MAX_ANCESTORS {
            if next == 0 || self.rows.contains_key(&next) {
                return;
            }
            let Some(row) = read_process(next) else { return };
            next = row.parent;
            self.rows.insert(row.pid, row);
        }
    }

    /// Reads the processes that are connected to these servers and run the same program.
    fn read_clients(&mut self, servers: &[i32]) {
        let Some(peers) = unix_peers::read() else { return };
        let user = rustix::process::getuid().as_raw();
        let mut owners: BTreeMap<u32, i32> = BTreeMap::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let name = read_text(pid, "comm").unwrap_or_default();
            let known = servers.contains(&pid) || name.trim_end().starts_with("tmux");
            if !known || entry.metadata().map_or(true, |facts| facts.uid() != user) {
                continue;
            }
            for inode in unix_peers::sockets_of(pid) {
                owners.insert(inode, pid);
            }
        }
        for (one, two) in peers {
            if let (Some(one), Some(two)) = (owners.get(&one).copied(), owners.get(&two).copied()) {
                self.connected.extend([(one, two), (two, one)]);
                for pid in [one, two] {
                    self.read_line(pid);
                }
            }
        }
    }
}

fn is_multiplexer(row: &Process) -> bool {
    let kind = row.exe_name().and_then(|name| known::find_terminal(&name));
    kind == Some(known::TerminalKind::Multiplexer)
}

fn read_bytes(pid: i32, file: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    let file = std::fs::File::open(format!("/proc/{pid}/{file}")).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_PROC_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn read_text(pid: i32, file: &str) -> Option<String> {
    read_bytes(pid, file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn split_words(bytes: &[u8]) -> Vec<String> {
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Clock ticks since boot at which a running process started; with its id they identify it.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let text = read_text(i32::try_from(pid).ok()?, "stat")?;
    // A process that ended stays in the table until its parent has asked for its exit code.
    let has_ended = text.rsplit_once(')')?.1.trim_start().starts_with(['Z', 'X']);
    if has_ended { None } else { Some(parse_stat(&text)?.started) }
}

fn read_process(pid: i32) -> Option<Process> {
    let mut row = parse_stat(&read_text(pid, "stat")?)?;
    parse_status(&read_text(pid, "status")?, &mut row)?;
    row.arguments = split_words(&read_bytes(pid, "cmdline").unwrap_or_default());
    let link = format!("/proc/{pid}/exe");
    row.exe = std::fs::read_link(&link).ok();
    if let (Some(path), Ok(facts)) = (&row.exe, std::fs::metadata(&link)) {
        row.exe_id = Some((facts.dev(), facts.ino()));
        let placed = SYSTEM_PLACES.iter().any(|place| path.starts_with(place));
        row.exe_is_system = placed && facts.uid() == 0 && facts.mode() & 0o022 == 0;
    }
    let namespace = |kind: &str| {
        let link = std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()?;
        Some(link.display().to_string())
    };
    row.namespaces = (|| Some([namespace("mnt")?, namespace("pid")?, namespace("user")?]))();
    for variable in split_words(&read_bytes(pid, "environ").unwrap_or_default()) {
        let Some((name, value)) = variable.split_once('=') else { continue };
        if marks::is_mark(name, value) {
            row.marks.push(name.to_string());
        }
        if name == "SSH_CONNECTION" {
            row.ssh_connection = Some(value.to_string());
        }
    }
    Some(row)
}

/// The fields of `/proc/PID/stat`. The name is in parentheses and may contain anything, so the last parenthesis ends it.
fn parse_stat(text: &str) -> Option<Process> {
    let (head, rest) = text.rsplit_once(')')?;
    let (pid, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<i32>().ok());
    Some(Process {
        pid: pid.trim().parse().ok()?,
        name: name.to_string(),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        terminal: number(4)?,
        foreground: number(5)?,
        started: fields.get(19)?.parse().ok()?,
        ..Process::default()
    })
}

fn parse_status(text: &str, row: &mut Process) -> Option<()> {
    for line in text.lines() {
        let (key, value) = line.split_once(':').unwrap_or_default();
        let mut numbers = value.split_whitespace();
        match key {
            "Uid" => {
                for user in &mut row.users {
                    *user = numbers.next()?.parse().ok()?;
                }
            }
            "NSpid" => row.pid_namespaces = numbers.count(),
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_the_fields_behind_it() {
        let row =
            parse_stat("12 (a) S 1 1 1 (b)) S 7 8 9 34816 10 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0").unwrap();
        assert_eq!((row.pid, row.parent, row.group, row.session), (12, 7, 8, 9));
        assert_eq!((row.terminal, row.foreground, row.started), (34816, 10, 99));
        assert_eq!(row.name, "a) S 1 1 1 (b)");
        assert!(parse_stat("12 (a S 1").is_none());
    }

    #[test]
    fn an_ended_process_has_no_start_before_it_is_reaped() {
        assert!(start_ticks(std::process::id()).is_some());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while start_ticks(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(std::path::Path::new(&format!("/proc/{}/stat", child.id())).exists());
        child.wait().unwrap();
    }

    #[test]
    fn this_process_and_its_parent_are_seen() {
        let table = ProcessTable::of_system();
        let this = table.this().unwrap();
        assert_eq!(this.exe.as_deref(), Some(std::env::current_exe().unwrap().as_path()));
        let line = table.line(this.pid).unwrap();
        assert!(line.len() > 1 && line[1].pid == this.parent);
    }
}
