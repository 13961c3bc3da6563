//! Large payloads as blobs of the store.
//!
//! A server refuses payloads of more than 2 MB and histories of more than 50 MB, while outputs of a step may have 4 MB and a
//! workflow 100,000 steps. So a payload above [`MAX_INLINE_BYTES`] is written to the store, and its hash is what the history has.
//! The SDK applies this outside workflow code, which sees whole values.
//!
//! With a key, every payload is encrypted first ([`crate::cipher`]).

use crate::FleetError;
use crate::cipher::{Cipher, CipherError};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use marvin_base::environment::Environment;
use marvin_store::{BlobId, Store};
use temporalio_common::data_converters::{PayloadCodec, PayloadConversionError, SerializationContextData};
use temporalio_common::protos::temporal::api::common::v1::Payload;

/// Bytes of a payload that the history has itself.
pub const MAX_INLINE_BYTES: usize = 128 * 1024;
/// The key of a payload's encoding.
const ENCODING: &str = "encoding";
/// The encoding of a payload that is in the store.
const BLOB_ENCODING: &[u8] = b"binary/marvin-blob";
/// The encoding of the payload in the store.
const BLOB_CONTENT: &str = "marvin-content";

/// The encoding of a payload that is encrypted.
const SECRET_ENCODING: &[u8] = b"binary/marvin-secret";
/// The encoding of the payload that is encrypted.
const SECRET_CONTENT: &str = "marvin-secret-content";

/// A codec that keeps large payloads in a store, and encrypts all of them where there is a key.
#[derive(Debug, Clone)]
pub struct BlobCodec {
    store: Store,
    cipher: Option<Cipher>,
}

impl BlobCodec {
    /// A codec with the key in the environment, if there is one.
    ///
    /// # Errors
    /// When the key is invalid.
    pub fn new(store: Store, environment: &Environment) -> Result<Self, FleetError> {
        Ok(BlobCodec { store, cipher: Cipher::from_environment(environment)? })
    }

    async fn encode_one(&self, mut payload: Payload) -> Result<Payload, PayloadConversionError> {
        if let Some(cipher) = &self.cipher {
            payload.data = cipher.encrypt(std::mem::take(&mut payload.data)).map_err(wrap)?;
            set_encoding(&mut payload, SECRET_ENCODING, SECRET_CONTENT);
        }
        self.shrink(payload).await
    }

    pub(crate) async fn decode_one(&self, payload: Payload) -> Result<Payload, PayloadConversionError> {
        let mut payload = self.expand(payload).await?;
        if payload.metadata.get(ENCODING).map(Vec::as_slice) != Some(SECRET_ENCODING) {
            return Ok(payload);
        }
        let cipher = self.cipher.as_ref().ok_or(CipherError).map_err(wrap)?;
        payload.data = cipher.decrypt(&payload.data).map_err(wrap)?;
        restore_encoding(&mut payload, SECRET_CONTENT);
        Ok(payload)
    }

    async fn shrink(&self, mut payload: Payload) -> Result<Payload, PayloadConversionError> {
        if payload.data.len() <= MAX_INLINE_BYTES {
            return Ok(payload);
        }
        let data = Bytes::from(std::mem::take(&mut payload.data));
        let id = self.store.write_blob(data).await.map_err(wrap)?;
        set_encoding(&mut payload, BLOB_ENCODING, BLOB_CONTENT);
        payload.data = id.as_str().as_bytes().to_vec();
        Ok(payload)
    }

    async fn expand(&self, mut payload: Payload) -> Result<Payload, PayloadConversionError> {
        if payload.metadata.get(ENCODING).map(Vec::as_slice) != Some(BLOB_ENCODING) {
            return Ok(payload);
        }
        let id: BlobId = String::from_utf8_lossy(&payload.data).parse().map_err(wrap)?;
        payload.data = self.store.read_blob(&id).await.map_err(wrap)?.to_vec();
        restore_encoding(&mut payload, BLOB_CONTENT);
        Ok(payload)
    }
}

/// Sets the encoding of a payload, and keeps the one that it had under a key.
fn set_encoding(payload: &mut Payload, encoding: &[u8], key: &str) {
    let content = payload.metadata.insert(ENCODING.into(), encoding.to_vec());
    payload.metadata.insert(key.into(), content.unwrap_or_default());
}

fn restore_encoding(payload: &mut Payload, key: &str) {
    let content = payload.metadata.remove(key).unwrap_or_default();
    payload.metadata.insert(ENCODING.into(), content);
}

fn wrap(error: impl std::error::Error + Send + Sync + 'static) -> PayloadConversionError {
    PayloadConversionError::EncodingError(Box::new(error))
}

impl PayloadCodec for BlobCodec {
    fn encode(
        &self,
        _: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let codec = self.clone();
        async move { try_join_all(payloads.into_iter().map(|payload| codec.encode_one(payload))).await }
            .boxed()
    }

    fn decode(
        &self,
        _: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let codec = self.clone();
        async move { try_join_all(payloads.into_iter().map(|payload| codec.decode_one(payload))).await }
            .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::KEY_VARIABLE;

    #[tokio::test]
    async fn large_payloads_are_blobs_and_all_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let address = directory.path().to_str().unwrap().parse().unwrap();
        let store = Store::open(address, &Environment::default()).await.unwrap();
        let with_key = Environment::from_iter([(KEY_VARIABLE, "7".repeat(64))]);
        for (environment, is_secret) in [(Environment::default(), false), (with_key, true)] {
            let codec = BlobCodec::new(store.clone(), &environment).unwrap();
            for (bytes, is_blob) in
                [(1, false), (MAX_INLINE_BYTES - 100, false), (MAX_INLINE_BYTES + 1, true)]
            {
                let mut payload = Payload { data: vec![b'x'; bytes], ..Payload::default() };
                payload.metadata.insert(ENCODING.into(), b"json/plain".to_vec());
                let encoded = codec.encode_one(payload.clone()).await.unwrap();
                assert_eq!(encoded == payload, !is_blob && !is_secret, "{bytes}");
                assert_eq!(encoded.data.len() == 64, is_blob, "{bytes}");
                assert_eq!(codec.decode_one(encoded.clone()).await.unwrap(), payload, "{bytes}");
                let without = BlobCodec::new(store.clone(), &Environment::default()).unwrap();
                assert_eq!(without.decode_one(encoded).await.is_err(), is_secret, "{bytes}");
            }
        }
    }
}
