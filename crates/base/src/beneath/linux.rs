//! One call of Linux that resolves and guards, and directories read without allocating.

use rustix::fs::{FileType, Mode, OFlags, RawDir, ResolveFlags, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

/// Flags for a handle that does not open the file.
pub(super) const HOLD: OFlags = OFlags::PATH;

/// Set once the kernel has said that it does not know `openat2`.
static MISSING: AtomicBool = AtomicBool::new(false);

/// Opens a path by one call; none where only a walk can tell.
pub(super) fn open_at_once(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Option<Result<OwnedFd, Errno>> {
    if MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    match openat2(directory, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => {
            MISSING.store(true, Ordering::Relaxed);
            None
        }
        // A filter on system calls says one of these; the walk finds out what is true.
        Err(Errno::PERM | Errno::AGAIN) => None,
        result => Some(result),
    }
}

/// Is it certain that a path from the root has no link on its way, as far as there is something? Asked by one call.
pub(super) fn has_no_links(path: &Path) -> bool {
    let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    if !plain || MISSING.load(Ordering::Relaxed) {
        return false;
    }
    match openat2(rustix::fs::CWD, path, HOLD | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => true,
        Err(Errno::NOSYS) => {
            MISSING.store(true, Ordering::Relaxed);
            false
        }
        Err(_) => false,
    }
}

/// Calls `visit` with the name and kind of every entry of an open directory but `.` and `..`, in no order.
pub(super) fn each_entry(directory: &OwnedFd, mut visit: impl FnMut(&OsStr, FileType)) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            visit(name, entry.file_type());
        }
    }
    Ok(())
}
