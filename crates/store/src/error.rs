//! Errors of a store.

use std::fmt;

/// A condition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The object does not exist yet.
    Absent,
    /// The object was not changed since it was read.
    Unchanged,
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Condition::Absent => "create an object only if it does not exist (If-None-Match)",
            Condition::Unchanged => "replace an object only if it was not changed (If-Match)",
        })
    }
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the store {address}: {reason}")]
    Address { address: String, reason: String },
    /// The store accepts a conditional write and does not keep its condition, or refuses such writes.
    #[error("cannot use the store {address}: it does not {condition}")]
    NoConditionalWrites { address: String, condition: Condition },
    /// The directory was unmounted, moved away, or replaced.
    #[error("cannot use the store {address}: its directory is not the one that was opened")]
    Away { address: String },
    #[error("cannot use the name `{name}` in a store: {reason}")]
    Name { name: String, reason: &'static str },
    #[error("cannot write {path}: {bytes} bytes are more than {max}")]
    TooLarge { path: String, bytes: u64, max: u64 },
    #[error("cannot read {path}: it does not exist in the store")]
    Missing { path: String },
    /// The content of an object is not what was written.
    #[error("cannot read {path}: {reason}")]
    Damaged { path: String, reason: String },
    #[error("cannot {verb} {path} in the store: {source}")]
    Request { verb: &'static str, path: String, source: Box<object_store::Error> },
    #[error("cannot lock {path}: {source}")]
    Lock { path: String, source: std::io::Error },
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::NoConditionalWrites { .. } => {
                Some("use a service that keeps conditions, such as Amazon S3 or SeaweedFS, or a directory")
            }
            StoreError::Address { .. } => {
                Some("give a directory, or s3://BUCKET/PREFIX with AWS_ENDPOINT_URL and keys in AWS_*")
            }
            StoreError::Away { .. } => Some("mount it again, or move it back"),
            StoreError::Damaged { .. } => Some("remove the object; it is written again from its source"),
            StoreError::Request { .. } => {
                Some("check that the service runs and that the keys in AWS_* are valid")
            }
            StoreError::Name { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Missing { .. }
            | StoreError::Lock { .. } => None,
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, StoreError::Away { .. } | StoreError::Request { .. })
    }

    pub(crate) fn request(
        verb: &'static str,
        path: &object_store::path::Path,
        source: object_store::Error,
    ) -> Self {
        StoreError::Request { verb, path: path.to_string(), source: Box::new(source) }
    }
}
