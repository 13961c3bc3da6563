//! Places and names of credentials by convention, for [`super::places`] and everything that closes them.
//!
//! The lists are `data/secret_places.toml`: `HOME` below the home directory, `SYSTEM` of the machine, `OVERRIDES` for
//! variables that name another place, and the names and endings of files that hold secrets wherever they lie.

include!(concat!(env!("OUT_DIR"), "/secret_places.rs"));
