//! Files whose bytes come piece by piece, such as downloads.

use crate::path::WorkspacePath;
use crate::refusal::Refusal;
use crate::workspace::Workspace;
use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use std::io::Read;

impl Workspace {
    /// Makes a file that must not exist yet, in a directory that does, with what a reader gives. It appears whole or not at all.
    ///
    /// # Errors
    /// When it exists, the place is closed, a link on the way leads out, or the reader fails.
    pub fn create_from(&self, path: &WorkspacePath, source: &mut dyn Read) -> Result<u64, Refusal> {
        self.writable(path)?;
        let fail = |error| Refusal::from_io("create", path.as_str(), &error);
        let directory = self.directory().open_dir(path.parent().as_path()).map_err(fail)?;
        let temporary = marvin_base::atomic::temporary_name();
        fill(&directory, &temporary, path.name(), source)
            .inspect_err(|_| {
                // The failed attempt is what matters; a leftover temporary file is only untidy.
                directory.remove_file(&temporary).ok();
            })
            .map_err(fail)
    }
}

fn fill(directory: &Dir, temporary: &str, name: &str, source: &mut dyn Read) -> std::io::Result<u64> {
    let mut file = directory.open_with(temporary, OpenOptions::new().write(true).create_new(true))?;
    let bytes = std::io::copy(source, &mut file)?;
    file.sync_all()?;
    match renameat_with(directory, temporary, directory, name, RenameFlags::NOREPLACE) {
        // A file system that cannot rename so (NFS) can link.
        Err(Errno::INVAL | Errno::NOSYS) => {
            directory
                .hard_link(temporary, directory, name)
                .and_then(|()| directory.remove_file(temporary))?;
        }
        result => result?,
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalKind;
    use std::path::Path;

    struct FailingReader;

    impl Read for FailingReader {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("broken"))
        }
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), Path::new("/nowhere")).unwrap();
        let path = workspace.path("a").unwrap();
        assert!(workspace.create_from(&path, &mut FailingReader).is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(workspace.create_from(&path, &mut &b"one"[..]).unwrap(), 3);
        let refusal = workspace.create_from(&path, &mut &b"two"[..]).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Exists);
        assert_eq!(std::fs::read(directory.path().join("a")).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let closed = workspace.path(".git/config").unwrap();
        assert_eq!(workspace.create_from(&closed, &mut &b"x"[..]).unwrap_err().kind, RefusalKind::Closed);
    }
}
