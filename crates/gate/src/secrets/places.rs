//! Places of credentials by convention, for [`super::places`] and everything that closes them.
//!
//! The lists are `data/secret_places.toml`: `HOME` below the home directory, `SYSTEM` of the machine, and `OVERRIDES` for
//! variables that name another place.

include!(concat!(env!("OUT_DIR"), "/secret_places.rs"));
