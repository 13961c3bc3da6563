//! The documents under `.marvin/agents/`: one file each, written whole, changed under a lock.
//!
//! Links are not followed: the directory is held open, and a document is opened by its name in it. Hidden files and files of
//! other kinds are ignored.

use super::commitment::Commitment;
use super::document::{self, Document};
use super::error::StoreError;
use super::seal;
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The document with the project's own commitments.
pub const PROJECT: &str = "project";

/// Prefix of documents that belong to one turn and end with it.
pub const TURN: &str = "turn-";

const MAX_DOCUMENTS: usize = 20_000;
/// How long a change waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Taken while a document is changed.
const LOCK: &str = ".lock";
/// Taken while commitments are verified.
const VERIFYING: &str = ".verifying";

/// A commitment with the name of its document.
pub type DocumentCommitment = (String, Commitment);

/// The store of one project.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Store of a project; none outside a project.
    #[must_use]
    pub fn from_layout(layout: &Layout) -> Option<Store> {
        layout.agents().map(|directory| Store { directory })
    }

    /// Where a document lies.
    #[must_use]
    pub fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.md"))
    }

    /// Where the promises are written down.
    #[must_use]
    pub(super) fn ledger(&self) -> PathBuf {
        self.directory.join(seal::FILE)
    }

    fn io(&self, doing: &'static str, path: &Path, error: &std::io::Error) -> StoreError {
        let reason = match error.raw_os_error() {
            Some(libc::ELOOP | libc::ENOTDIR) => {
                "it is a link or of the wrong type, and commitments must not lead elsewhere\n  hint: remove it".into()
            }
            _ => format!("{error}{}", atomic::hint(error)),
        };
        StoreError::Io { doing, path: path.display().to_string(), reason }
    }

    /// The directory, held; none when it is not there.
    fn held(&self) -> Result<Option<OpenDir>, StoreError> {
        match OpenDir::open(&self.directory) {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io("open", &self.directory, &error)),
        }
    }

    fn made(&self) -> Result<OpenDir, StoreError> {
        if let Some(held) = self.held()? {
            return Ok(held);
        }
        std::fs::create_dir_all(&self.directory).map_err(|error| self.io("make", &self.directory, &error))?;
        OpenDir::open(&self.directory).map_err(|error| self.io("open", &self.directory, &error))
    }

    /// The names of all documents, sorted.
    pub fn list(&self) -> Result<Vec<String>, StoreError> {
        let Some(held) = self.held()? else { return Ok(Vec::new()) };
        let entries =
            std::fs::read_dir(held.place()).map_err(|error| self.io("list", &self.directory, &error))?;
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".md").filter(|id| document::is_name(id)).map(str::to_string)
        };
        let mut names: Vec<String> = entries.filter_map(name).take(MAX_DOCUMENTS + 1).collect();
        if names.len() > MAX_DOCUMENTS {
            // A document that is not read is not verified, so this is an error.
            let reason = format!("there are more than {MAX_DOCUMENTS} documents");
            return Err(StoreError::Io { doing: "list", path: self.directory.display().to_string(), reason });
        }
        names.sort();
        Ok(names)
    }

    pub fn read(&self, id: &str) -> Result<Document, StoreError> {
        if !document::is_name(id) {
            return Err(StoreError::Name(id.to_string()));
        }
        let held = self.held()?.ok_or_else(|| StoreError::Missing(id.to_string()))?;
        self.read_in(&held, id)
    }

    /// The file of a document, to be shown as it is.
    pub fn open_raw(&self, id: &str) -> Result<File, StoreError> {
        if !document::is_name(id) {
            return Err(StoreError::Name(id.to_string()));
        }
        let missing = || StoreError::Missing(id.to_string());
        let held = self.held()?.ok_or_else(missing)?;
        files::open(&held.place().join(format!("{id}.md")), Links::Refuse).map_err(|error| {
            match error.kind() {
                ErrorKind::NotFound => missing(),
                _ => self.io("read", &self.path(id), &error),
            }
        })
    }

    fn read_in(&self, held: &OpenDir, id: &str) -> Result<Document, StoreError> {
        let path = self.path(id);
        let bytes = match files::read(
            &held.place().join(format!("{id}.md")),
            document::MAX_DOCUMENT_BYTES,
            Links::Refuse,
        ) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::Missing(id.to_string()));
            }
            Err(error) => return Err(self.io("read", &path, &error)),
        };
        let damaged = |line, problem| StoreError::Damaged { path: path.display().to_string(), line, problem };
        if bytes.len() as u64 > document::MAX_DOCUMENT_BYTES {
            return Err(damaged(1, format!("it is larger than {} bytes", document::MAX_DOCUMENT_BYTES)));
        }
        Document::parse(id, &bytes).map_err(|damage| damaged(damage.line, damage.problem))
    }

    /// Every document that can be read, and why the others cannot.
    #[must_use]
    pub fn read_all(&self) -> (Vec<Document>, Vec<StoreError>) {
        let names = match self.list() {
            Ok(names) => names,
            Err(error) => return (Vec::new(), vec![error]),
        };
        let mut documents = Vec::new();
        let mut errors = Vec::new();
        for name in names {
            match self.read(&name) {
                Ok(document) => documents.push(document),
                Err(error) => errors.push(error),
            }
        }
        (documents, errors)
    }

    /// Writes a new document.
    pub fn create(&self, document: &Document) -> Result<(), StoreError> {
        if !document::is_name(&document.id) {
            return Err(StoreError::Name(document.id.clone()));
        }
        let held = self.made()?;
        let _lock = self.lock(&held)?;
        match self.read_in(&held, &document.id) {
            Err(StoreError::Missing(_)) => self.write(&held, document),
            _ => Err(StoreError::Exists(document.id.clone())),
        }
    }

    /// Changes a document under the store's lock.
    ///
    /// # Errors
    /// When there is none, or it cannot be read or written; then it is as it was.
    pub fn change<T>(&self, id: &str, change: impl FnOnce(&mut Document) -> T) -> Result<T, StoreError> {
        if !document::is_name(id) {
            return Err(StoreError::Name(id.to_string()));
        }
        let held = self.held()?.ok_or_else(|| StoreError::Missing(id.to_string()))?;
        let _lock = self.lock(&held)?;
        let mut document = self.read_in(&held, id)?;
        let before = document.clone();
        let result = change(&mut document);
        if document != before {
            self.write(&held, &document)?;
        }
        Ok(result)
    }

    fn write(&self, held: &OpenDir, document: &Document) -> Result<(), StoreError> {
        let name = format!("{}.md", document.id);
        let text = document.render();
        let path = self.path(&document.id);
        if text.len() as u64 > document::MAX_DOCUMENT_BYTES {
            let reason = format!("it would be larger than {} bytes", document::MAX_DOCUMENT_BYTES);
            return Err(StoreError::Io { doing: "write", path: path.display().to_string(), reason });
        }
        atomic::replace(&held.place().join(name), text.as_bytes())
            .map_err(|error| self.io("write", &path, &error.source))
    }

    fn lock_file(&self, held: &OpenDir, name: &str) -> Result<File, StoreError> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o644).custom_flags(flags);
        options
            .open(held.place().join(name))
            .map_err(|error| self.io("open", &self.directory.join(name), &error))
    }

    fn lock(&self, held: &OpenDir) -> Result<File, StoreError> {
        let file = self.lock_file(held, LOCK)?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Busy(self.directory.display().to_string()));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(self.io("lock", &self.directory.join(LOCK), &error));
                }
            }
        }
    }

    /// Takes the lock of verifications, if it is free.
    pub(super) fn try_verifying(&self) -> Result<Option<File>, StoreError> {
        let file = self.lock_file(&self.made()?, VERIFYING)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(self.io("lock", &self.directory.join(VERIFYING), &error)),
        }
    }

    /// Whether there is anything to verify. A document that cannot be read counts.
    pub(super) fn has_commitments(&self) -> bool {
        let Ok(seals) = seal::read(self) else { return true };
        let is_open = |document: &str| seals.is_open(document);
        if seals.promises.keys().any(|(document, _)| is_open(document)) {
            return true;
        }
        let promises = |name: &String| self.read(name).map_or(true, |found| !found.commitments.is_empty());
        self.list().map_or(true, |names| names.iter().filter(|name| is_open(name)).any(promises))
    }

    /// Takes a document out of the store; gives its text.
    pub fn remove(&self, id: &str) -> Result<String, StoreError> {
        let held = self.held()?.ok_or_else(|| StoreError::Missing(id.to_string()))?;
        let _lock = self.lock(&held)?;
        let text = self.read_in(&held, id)?.render();
        std::fs::remove_file(held.place().join(format!("{id}.md")))
            .map_err(|error| self.io("remove", &self.path(id), &error))?;
        Ok(text)
    }

    #[must_use]
    pub fn commitments(&self) -> (Vec<DocumentCommitment>, Vec<StoreError>) {
        let (documents, errors) = self.read_all();
        let pairs = documents.into_iter().flat_map(|document| {
            let Document { id, commitments, .. } = document;
            commitments.into_iter().map(move |commitment| (id.clone(), commitment))
        });
        (pairs.collect(), errors)
    }
}
