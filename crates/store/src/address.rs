//! Addresses of stores: a directory, or a bucket of an S3 service.

use crate::StoreError;
use marvin_base::environment::Environment;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, RetryConfig};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

/// The region that S3 services other than Amazon's expect.
const DEFAULT_REGION: &str = "us-east-1";
/// Repetitions of a request after an error of the service or the network.
const MAX_RETRIES: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An absolute path.
    Directory(PathBuf),
    S3 {
        bucket: String,
        /// The beginning of all names, without slashes at its ends; may be empty.
        prefix: String,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Directory(path) => write!(formatter, "{}", path.display()),
            Address::S3 { bucket, prefix } if prefix.is_empty() => write!(formatter, "s3://{bucket}"),
            Address::S3 { bucket, prefix } => write!(formatter, "s3://{bucket}/{prefix}"),
        }
    }
}

fn invalid(address: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Address { address: address.to_string(), reason: reason.into() }
}

impl FromStr for Address {
    type Err = StoreError;

    /// Parses an absolute path, `file:///PATH` or `s3://BUCKET[/PREFIX]`.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text.starts_with('/') {
            return Ok(Address::Directory(PathBuf::from(text)));
        }
        let url = Url::parse(text).map_err(|_| invalid(text, "it is neither an absolute path nor a URL"))?;
        match url.scheme() {
            "file" => url
                .to_file_path()
                .map(Address::Directory)
                .map_err(|()| invalid(text, "it does not name a directory of this machine")),
            "s3" => {
                if !url.username().is_empty() || url.password().is_some() {
                    // The text would repeat the key.
                    return Err(invalid(
                        "s3://…",
                        "keys are given in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                    ));
                }
                let bucket = url.host_str().unwrap_or_default().to_string();
                if bucket.len() < 3 {
                    return Err(invalid(text, "the name of a bucket has at least 3 characters"));
                }
                let prefix = url.path().trim_matches('/').to_string();
                ObjectPath::parse(&prefix).map_err(|error| invalid(text, error.to_string()))?;
                Ok(Address::S3 { bucket, prefix })
            }
            scheme => Err(invalid(text, format!("the scheme `{scheme}` is not known"))),
        }
    }
}

/// Objects at an address, and the directory of a store that is one.
pub(crate) type Objects = (Arc<dyn ObjectStore>, Option<PathBuf>);

impl Address {
    /// Opens the address; nothing is asked of a service yet. Keys and endpoint come from `AWS_*`.
    pub(crate) fn open(&self, environment: &Environment) -> Result<Objects, StoreError> {
        let wrap = |error: object_store::Error| invalid(&self.to_string(), error.to_string());
        match self {
            Address::Directory(path) => {
                std::fs::create_dir_all(path)
                    .map_err(|error| invalid(&self.to_string(), error.to_string()))?;
                let objects = LocalFileSystem::new_with_prefix(path).map_err(wrap)?.with_fsync(true);
                Ok((Arc::new(objects), Some(path.clone())))
            }
            Address::S3 { bucket, prefix } => {
                // One of them is used for TLS; which one is not chosen by the build.
                rustls::crypto::ring::default_provider().install_default().ok();
                let mut builder = AmazonS3Builder::new().with_region(DEFAULT_REGION);
                for (name, value) in environment.iter().filter(|(name, _)| name.starts_with("AWS_")) {
                    // Other AWS_* variables are for other programs.
                    if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let endpoint = environment.get("AWS_ENDPOINT_URL").unwrap_or_default();
                if is_loopback(endpoint) {
                    builder = builder.with_allow_http(true);
                }
                let retry = RetryConfig {
                    max_retries: MAX_RETRIES,
                    retry_timeout: RETRY_TIMEOUT,
                    ..RetryConfig::default()
                };
                let builder = builder
                    .with_bucket_name(bucket)
                    .with_retry(retry)
                    .with_conditional_put(S3ConditionalPut::ETagMatch);
                let objects: Arc<dyn ObjectStore> = Arc::new(builder.build().map_err(wrap)?);
                if prefix.is_empty() {
                    return Ok((objects, None));
                }
                let prefix = ObjectPath::parse(prefix).map_err(|error| wrap(error.into()))?;
                Ok((Arc::new(PrefixStore::new(objects, prefix)), None))
            }
        }
    }
}

/// Whether an endpoint is on this machine: then it needs no TLS.
fn is_loopback(endpoint: &str) -> bool {
    match Url::parse(endpoint).ok().and_then(|url| url.host().map(|host| host.to_owned())) {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_shown() {
        for (text, shown) in [
            ("/var/store", "/var/store"),
            ("file:///var/store", "/var/store"),
            ("s3://bucket", "s3://bucket"),
            ("s3://bucket/", "s3://bucket"),
            ("s3://bucket/team/a/", "s3://bucket/team/a"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn invalid_addresses_are_refused_without_repeating_keys() {
        for text in ["", "store", "http://bucket", "s3://ab", "s3://", "s3://bucket/a//b"] {
            assert!(matches!(text.parse::<Address>(), Err(StoreError::Address { .. })), "{text}");
        }
        let error = "s3://AKIA:hunter2@bucket".parse::<Address>().unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot use the store s3://…: keys are given in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        );
    }

    #[test]
    fn only_this_machine_needs_no_tls() {
        assert!(
            is_loopback("http://127.0.0.1:9000")
                && is_loopback("http://localhost")
                && is_loopback("http://[::1]:1")
        );
        assert!(
            !is_loopback("http://10.0.0.1:9000")
                && !is_loopback("http://localhost.example.org")
                && !is_loopback("")
        );
        let environment =
            Environment::from_iter([("AWS_ENDPOINT_URL", "http://10.0.0.1:9000"), ("AWS_SOMETHING", "else")]);
        assert!("s3://bucket".parse::<Address>().unwrap().open(&environment).is_ok());
    }
}
