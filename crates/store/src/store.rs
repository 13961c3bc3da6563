//! Blobs and ends of attempts.

use crate::object::{self, Object};
use crate::{Address, StoreError};
use bytes::Bytes;
use marvin_base::environment::Environment;
use marvin_base::signature;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

const MAX_BLOB_BYTES: u64 = 256 * 1024 * 1024;
const MAX_END_BYTES: u64 = 8 * 1024 * 1024;

/// The SHA-256 of a blob, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(String);

impl BlobId {
    /// The id of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        BlobId(signature::hash_bytes(bytes))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BlobId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(is_digit) {
            return Ok(BlobId(text.to_string()));
        }
        let name = text.chars().take(80).collect();
        Err(StoreError::Name { name, reason: "a blob is named by 64 hexadecimal digits" })
    }
}

impl TryFrom<String> for BlobId {
    type Error = StoreError;

    fn try_from(text: String) -> Result<Self, StoreError> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The result of creating an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creation {
    /// It was created with these bytes, now or by an earlier request whose answer was lost.
    Created,
    /// Another process was first, with these bytes.
    Exists(Bytes),
}

/// An open store that keeps conditional writes.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) address: Address,
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The directory of a store that is one.
    pub(crate) directory: Option<PathBuf>,
}

impl Store {
    /// Opens a store and checks that it keeps conditional writes.
    ///
    /// # Errors
    /// When the store cannot be reached, or accepts a write whose condition does not hold.
    pub async fn open(address: Address, environment: &Environment) -> Result<Self, StoreError> {
        let (objects, directory) = address.open(environment)?;
        let store = Store { address, objects, directory };
        store.probe().await?;
        Ok(store)
    }

    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Writes a blob unless it exists.
    ///
    /// # Errors
    /// When it is too large or cannot be written.
    pub async fn write_blob(&self, bytes: Bytes) -> Result<BlobId, StoreError> {
        let id = BlobId::from_bytes(&bytes);
        let path = object::path("blobs", id.as_str())?;
        object::write(&*self.objects, &path, bytes, PutMode::Create, MAX_BLOB_BYTES).await?;
        Ok(id)
    }

    /// Reads a blob and checks its hash.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or has another content.
    pub async fn read_blob(&self, id: &BlobId) -> Result<Bytes, StoreError> {
        let path = object::path("blobs", id.as_str())?;
        let found = object::read(&*self.objects, &path, MAX_BLOB_BYTES).await?;
        let Some(Object { bytes, .. }) = found else {
            return Err(StoreError::Missing { path: path.to_string() });
        };
        let actual = BlobId::from_bytes(&bytes);
        if actual != *id {
            let reason = format!("its content has the hash {actual}");
            return Err(StoreError::Damaged { path: path.to_string(), reason });
        }
        Ok(bytes)
    }

    /// Whether a blob exists.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn has_blob(&self, id: &BlobId) -> Result<bool, StoreError> {
        let path = object::path("blobs", id.as_str())?;
        match self.objects.head(&path).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(StoreError::request("read", &path, error)),
        }
    }

    /// Creates the end of an attempt under its key. Of several processes, one creates it; the others are given its bytes.
    ///
    /// # Errors
    /// When it is too large or cannot be written.
    pub async fn create_end(&self, key: &str, bytes: Bytes) -> Result<Creation, StoreError> {
        let path = object::path("ends", key)?;
        let created =
            object::write(&*self.objects, &path, bytes.clone(), PutMode::Create, MAX_END_BYTES).await?;
        if created {
            return Ok(Creation::Created);
        }
        match self.read_end(key).await? {
            // The answer to an earlier request was lost.
            Some(existing) if existing == bytes => Ok(Creation::Created),
            Some(existing) => Ok(Creation::Exists(existing)),
            None => Err(StoreError::Missing { path: path.to_string() }),
        }
    }

    /// The end of an attempt, if there is one.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn read_end(&self, key: &str) -> Result<Option<Bytes>, StoreError> {
        let path = object::path("ends", key)?;
        Ok(object::read(&*self.objects, &path, MAX_END_BYTES).await?.map(|found| found.bytes))
    }
}
