//! The process table of macOS: only start times are read.
//!
//! Who decides cannot be told without the table, so commands that decide are refused. `docs/design/macos.md` says what is to be read
//! for them.

use super::process::ProcessTable;

/// An empty table.
pub(super) fn read_table(this: i32) -> ProcessTable {
    ProcessTable { this, ..ProcessTable::default() }
}

/// Microseconds since the epoch at which a running process started; with its id they identify it.
#[must_use]
#[expect(unsafe_code, reason = "libproc has no safe form")]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok()?;
    let size = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    // SAFETY: zero is a valid value of the structure, which is ours and as long as is said.
    let (read, facts) = unsafe {
        let mut facts: libc::proc_bsdinfo = std::mem::zeroed();
        let read = libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, (&raw mut facts).cast(), size);
        (read, facts)
    };
    let is_running = read == size && facts.pbi_status != libc::SZOMB;
    is_running.then(|| facts.pbi_start_tvsec.saturating_mul(1_000_000).saturating_add(facts.pbi_start_tvusec))
}
