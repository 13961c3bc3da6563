//! Checks that a store keeps conditional writes.

use crate::object::{self, Object};
use crate::{Condition, Store, StoreError};
use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStoreExt, PutMode};
use uuid::Uuid;

const MAX_PROBE_BYTES: u64 = 64;

impl Store {
    /// Makes conditional writes that must be refused, and looks whether they had an effect.
    pub(crate) async fn probe(&self) -> Result<(), StoreError> {
        let path = object::path("probe", &Uuid::new_v4().to_string())?;
        let result = self.probe_at(&path).await;
        // What is left over does no harm.
        self.objects.delete(&path).await.ok();
        result
    }

    async fn probe_at(&self, path: &ObjectPath) -> Result<(), StoreError> {
        let refused =
            |condition| StoreError::NoConditionalWrites { address: self.address.to_string(), condition };
        if !self.put(path, "one", PutMode::Create, Condition::Absent).await? {
            return Err(refused(Condition::Absent));
        }
        let first = self.content(path).await?;
        let created = self.put(path, "two", PutMode::Create, Condition::Absent).await?;
        if created || self.content(path).await?.bytes != "one" {
            return Err(refused(Condition::Absent));
        }
        if self.directory.is_some() {
            return Ok(());
        }
        let version = first.version;
        if version.e_tag.is_none()
            || !self.put(path, "two", PutMode::Update(version.clone()), Condition::Unchanged).await?
        {
            return Err(refused(Condition::Unchanged));
        }
        let replaced = self.put(path, "three", PutMode::Update(version), Condition::Unchanged).await?;
        if replaced || self.content(path).await?.bytes != "two" {
            return Err(refused(Condition::Unchanged));
        }
        Ok(())
    }

    async fn put(
        &self,
        path: &ObjectPath,
        content: &'static str,
        mode: PutMode,
        condition: Condition,
    ) -> Result<bool, StoreError> {
        let bytes = Bytes::from_static(content.as_bytes());
        match object::write(&*self.objects, path, bytes, mode, MAX_PROBE_BYTES).await {
            Err(StoreError::Request { source, .. })
                if matches!(*source, Error::NotImplemented { .. } | Error::NotSupported { .. }) =>
            {
                Err(StoreError::NoConditionalWrites { address: self.address.to_string(), condition })
            }
            other => other,
        }
    }

    async fn content(&self, path: &ObjectPath) -> Result<Object, StoreError> {
        let found = object::read(&*self.objects, path, MAX_PROBE_BYTES).await?;
        found.ok_or_else(|| StoreError::Missing { path: path.to_string() })
    }
}
