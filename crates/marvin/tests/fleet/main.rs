//! Workflows on many machines, over a real Temporal server: `cargo xtask fleet-test`.
//!
//! The server is found through `MARVIN_TEST_TEMPORAL`. Every test has a server, a store and workers of its own.

#[cfg(test)]
mod faults;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod large;
#[cfg(test)]
mod network;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod people;
#[cfg(test)]
mod random_faults;
#[cfg(test)]
#[path = "../../../store/tests/services/service.rs"]
#[allow(dead_code, reason = "the S3 services of the store's tests, of which these need one")]
mod s3;
#[cfg(test)]
mod same_state;
#[cfg(test)]
#[path = "../it/support.rs"]
#[allow(dead_code, reason = "the fixtures of the other tests, of which these need some")]
mod support;
#[cfg(test)]
mod versions;
#[cfg(test)]
mod workspaces;
