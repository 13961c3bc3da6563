//! Systems without `openat2` and `O_PATH`: every path is walked part by part.
//!
//! Limits: a handle opens the file, so what its user may not read cannot be held.

use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Flags for a handle: without waiting, without becoming the owner of a terminal.
pub(super) const HOLD: OFlags = super::READ;

/// None: only a walk can tell.
pub(super) fn open_at_once(_: BorrowedFd<'_>, _: &Path, _: OFlags) -> Option<Result<OwnedFd, Errno>> {
    None
}

/// Is it certain that a path from the root has no link on its way? Never by one call.
pub(super) fn has_no_links(_: &Path) -> bool {
    false
}

/// Calls `visit` with the name and kind of every entry of an open directory but `.` and `..`, in no order.
pub(super) fn each_entry(directory: &OwnedFd, mut visit: impl FnMut(&OsStr, FileType)) -> Result<(), Errno> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            visit(name, entry.file_type());
        }
    }
    Ok(())
}
