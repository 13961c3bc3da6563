//! Blobs and ends of attempts.

use crate::object::{self, Object};
use crate::{Address, StoreError};
use bytes::Bytes;
use marvin_base::environment::Environment;
use marvin_base::signature;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use uuid::Uuid;

const MAX_BLOB_BYTES: u64 = 256 * 1024 * 1024;
const MAX_END_BYTES: u64 = 8 * 1024 * 1024;
/// The object in a directory that tells it from one that is created in its place.
const IDENTITY: &str = "store.id";
const MAX_IDENTITY_BYTES: u64 = 64;

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
    /// The content of [`IDENTITY`] when the directory was opened.
    identity: Option<Bytes>,
}

impl Store {
    /// Opens a store and checks that it keeps conditional writes.
    ///
    /// # Errors
    /// When the store cannot be reached, or accepts a write whose condition does not hold.
    pub async fn open(address: Address, environment: &Environment) -> Result<Self, StoreError> {
        let (objects, directory) = address.open(environment)?;
        let mut store = Store { address, objects, directory, identity: None };
        store.probe().await?;
        if store.directory.is_some() {
            store.identity = Some(store.identify().await?);
        }
        Ok(store)
    }

    /// The identity of a directory, which the first process that opens it writes.
    async fn identify(&self) -> Result<Bytes, StoreError> {
        let path = ObjectPath::from(IDENTITY);
        let new = Uuid::new_v4().to_string();
        object::write(&*self.objects, &path, new.into(), PutMode::Create, MAX_IDENTITY_BYTES).await?;
        let found = object::read(&*self.objects, &path, MAX_IDENTITY_BYTES).await?;
        found.map(|found| found.bytes).ok_or_else(|| StoreError::Missing { path: path.to_string() })
    }

    /// Checks that the directory is the one that was opened. A write would create one that was unmounted or moved away again, as
    /// an empty store, and nothing is found in such a one.
    async fn check_identity(&self) -> Result<(), StoreError> {
        let Some(identity) = &self.identity else { return Ok(()) };
        let path = ObjectPath::from(IDENTITY);
        match object::read(&*self.objects, &path, MAX_IDENTITY_BYTES).await? {
            Some(found) if found.bytes == *identity => Ok(()),
            _ => Err(StoreError::Away { address: self.address.to_string() }),
        }
    }

    /// Reads an object; none if the store does not have it.
    pub(crate) async fn read(&self, path: &ObjectPath, max: u64) -> Result<Option<Object>, StoreError> {
        let found = object::read(&*self.objects, path, max).await?;
        if found.is_none() {
            self.check_identity().await?;
        }
        Ok(found)
    }

    /// Writes an object under a condition; false if the condition does not hold.
    pub(crate) async fn write(
        &self,
        path: &ObjectPath,
        bytes: Bytes,
        mode: PutMode,
        max: u64,
    ) -> Result<bool, StoreError> {
        self.check_identity().await?;
        object::write(&*self.objects, path, bytes, mode, max).await
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
        self.write(&path, bytes, PutMode::Create, MAX_BLOB_BYTES).await?;
        Ok(id)
    }

    /// Reads a blob and checks its hash.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or has another content.
    pub async fn read_blob(&self, id: &BlobId) -> Result<Bytes, StoreError> {
        let path = object::path("blobs", id.as_str())?;
        let found = self.read(&path, MAX_BLOB_BYTES).await?;
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
            Err(object_store::Error::NotFound { .. }) => self.check_identity().await.map(|()| false),
            Err(error) => Err(StoreError::request("read", &path, error)),
        }
    }

    /// Creates the end of an attempt under its key. Of several processes, one creates it; the others are given its bytes.
    ///
    /// # Errors
    /// When it is too large or cannot be written.
    pub async fn create_end(&self, key: &str, bytes: Bytes) -> Result<Creation, StoreError> {
        let path = object::path("ends", key)?;
        let created = self.write(&path, bytes.clone(), PutMode::Create, MAX_END_BYTES).await?;
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
        Ok(self.read(&path, MAX_END_BYTES).await?.map(|found| found.bytes))
    }
}
