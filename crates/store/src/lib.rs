//! Layer 1: objects that several machines share.
//!
//! A [`Store`] is a directory or a bucket of an S3 service ([`Address`]) with three kinds of objects:
//!
//! - blobs, named by their SHA-256: written once, checked when they are read;
//! - ends of attempts, named by the key of the attempt: the process that creates one first decides, others read it;
//! - refs, named values that change: moved only from the value that was read, by compare-and-swap.
//!
//! Ends and refs stand on conditional writes. Some services accept such a request and overwrite silently, so [`Store::open`]
//! tries both kinds of conditions and refuses a store that does not keep them.
//!
//! Limits: objects are held in memory as a whole. Nothing is deleted, except what the test of a store wrote. In a directory,
//! refs are moved under a lock of the operating system, so a network file system must have locks.

#![cfg(feature = "fleet")]

mod address;
mod error;
mod object;
mod probe;
mod reference;
mod store;

pub use address::Address;
pub use error::{Condition, StoreError};
pub use reference::{RefMove, Reference};
pub use store::{BlobId, Creation, Store};
