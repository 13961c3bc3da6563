//! Refs: named values that are moved by compare-and-swap.
//!
//! An S3 service compares the ETag of the object, which is often a hash of its content. Each move therefore has a number and an
//! id of its own, so that a ref that returns to an earlier value is another object. A directory has no such comparison: there a
//! lock of the operating system is held while the ref is compared and replaced.

use crate::object::{self, Object};
use crate::{Store, StoreError};
use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{PutMode, UpdateVersion};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::path::Path;
use uuid::Uuid;

const MAX_REF_BYTES: u64 = 64 * 1024;
/// The version of the document.
const VERSION: u32 = 1;
/// The file that is locked while a ref in a directory is moved.
const LOCK_FILE: &str = "refs.lock";

/// A ref as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    document: RefDocument,
    version: UpdateVersion,
}

impl Reference {
    #[must_use]
    pub fn value(&self) -> &str {
        &self.document.value
    }

    /// How often it was moved, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.document.number
    }
}

/// The content of a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefDocument {
    version: u32,
    number: u64,
    value: String,
    /// The id of the move.
    moved_by: String,
}

/// The result of moving a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefMove {
    Moved(Reference),
    /// Another process moved it; the ref as it is now.
    Conflict(Option<Reference>),
}

impl Store {
    /// Reads a ref; none if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub async fn read_ref(&self, name: &str) -> Result<Option<Reference>, StoreError> {
        let path = object::path("refs", name)?;
        self.load_ref(&path).await
    }

    /// Moves a ref from what was read to another value; none creates it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn move_ref(
        &self,
        name: &str,
        from: Option<&Reference>,
        value: &str,
    ) -> Result<RefMove, StoreError> {
        let path = object::path("refs", name)?;
        let document = RefDocument {
            version: VERSION,
            number: from.map_or(0, Reference::number) + 1,
            value: value.to_string(),
            moved_by: Uuid::new_v4().to_string(),
        };
        let bytes = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
        let _lock = match &self.directory {
            Some(directory) => Some(lock(directory).await?),
            None => None,
        };
        let mode = match from {
            None => PutMode::Create,
            // Nothing compares in a directory: the lock is held, so the comparison is made here.
            Some(from) if self.directory.is_some() => {
                let current = self.load_ref(&path).await?;
                if current.as_ref().map(|current| &current.document) != Some(&from.document) {
                    return Ok(RefMove::Conflict(current));
                }
                PutMode::Overwrite
            }
            Some(from) => PutMode::Update(from.version.clone()),
        };
        self.write(&path, bytes, mode, MAX_REF_BYTES).await?;
        // It is read in any case: for its version, and because the answer to an earlier request may have been lost.
        match self.load_ref(&path).await? {
            Some(current) if current.document == document => Ok(RefMove::Moved(current)),
            current => Ok(RefMove::Conflict(current)),
        }
    }

    async fn load_ref(&self, path: &ObjectPath) -> Result<Option<Reference>, StoreError> {
        let Some(Object { bytes, version }) = self.read(path, MAX_REF_BYTES).await? else {
            return Ok(None);
        };
        let damaged = |reason: String| StoreError::Damaged { path: path.to_string(), reason };
        let document: RefDocument =
            serde_json::from_slice(&bytes).map_err(|error| damaged(format!("it is not a ref: {error}")))?;
        if document.version != VERSION {
            let reason = format!("it is of version {}, and this program knows {VERSION}", document.version);
            return Err(damaged(reason));
        }
        Ok(Some(Reference { document, version }))
    }
}

/// Waits for the lock of a directory.
async fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join(LOCK_FILE);
    let shown = path.display().to_string();
    let take = move || -> std::io::Result<File> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    let taken =
        tokio::task::spawn_blocking(take).await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    taken.map_err(|source| StoreError::Lock { path: shown, source })
}
