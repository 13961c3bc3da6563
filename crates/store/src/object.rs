//! Single objects: names, limits, and conditional writes.

use crate::StoreError;
use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};

/// Bytes of a name.
const MAX_NAME_BYTES: usize = 200;

/// An object with the version that a conditional write needs.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) bytes: Bytes,
    pub(crate) version: UpdateVersion,
}

/// The path of an object: letters, digits, `.`, `_` and `-`, and `/` between the parts of a ref.
pub(crate) fn path(kind: &str, name: &str) -> Result<ObjectPath, StoreError> {
    let refuse = |reason| Err(StoreError::Name { name: name.chars().take(80).collect(), reason });
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return refuse("it is empty or too long");
    }
    for part in name.split('/') {
        if !part.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric()) || !part.bytes().all(plain)
        {
            return refuse(
                "its parts have letters, digits, `.`, `_` and `-`, and begin with a letter or digit",
            );
        }
    }
    Ok(ObjectPath::from(format!("{kind}/{name}")))
}

/// Reads an object; none if it does not exist.
pub(crate) async fn read(
    objects: &dyn ObjectStore,
    path: &ObjectPath,
    max: u64,
) -> Result<Option<Object>, StoreError> {
    let found = match objects.get(path).await {
        Ok(found) => found,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(StoreError::request("read", path, error)),
    };
    let meta = &found.meta;
    if meta.size > max {
        let reason = format!("it has {} bytes, more than {max}", meta.size);
        return Err(StoreError::Damaged { path: path.to_string(), reason });
    }
    let version = UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() };
    let bytes = found.bytes().await.map_err(|error| StoreError::request("read", path, error))?;
    Ok(Some(Object { bytes, version }))
}

/// Writes an object under a condition; false if the condition does not hold.
pub(crate) async fn write(
    objects: &dyn ObjectStore,
    path: &ObjectPath,
    bytes: Bytes,
    mode: PutMode,
    max: u64,
) -> Result<bool, StoreError> {
    let size = bytes.len() as u64;
    if size > max {
        return Err(StoreError::TooLarge { path: path.to_string(), bytes: size, max });
    }
    let options = PutOptions { mode, ..PutOptions::default() };
    match objects.put_opts(path, bytes.into(), options).await {
        Ok(_) => Ok(true),
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
        Err(error) => Err(StoreError::request("write", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_kind() {
        assert_eq!(path("refs", "project/main").unwrap().as_ref(), "refs/project/main");
        for name in ["", "..", "a/../b", "/a", "a/", "a//b", "-a", "a b", "ä", "a\\b", &"x".repeat(201)] {
            assert!(matches!(path("refs", name), Err(StoreError::Name { .. })), "{name}");
        }
    }
}
