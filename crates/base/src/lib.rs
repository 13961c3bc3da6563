//! Layer 0: the foundation of every other crate.
//!
//! Nothing here knows of models, tools or people. It knows how to keep a record that only grows ([`ledger`]), how to
//! replace a file without ever showing half of it ([`atomic`]), where things live ([`layout`]), what may be set and
//! by whom ([`settings`]), what must never be written down ([`redact`]), and how to run another program without
//! losing it ([`child`]).

pub mod atomic;
pub mod beneath;
pub mod child;
pub mod clock;
pub mod diagnostic_log;
pub mod diff;
pub mod environment;
pub mod exit;
pub mod file_stamp;
pub mod files;
pub mod hint;
pub mod ids;
pub mod layout;
pub mod ledger;
pub mod open_dir;
pub mod person;
pub mod printable;
pub mod profile;
pub mod redact;
pub mod run;
pub mod run_record;
pub mod settings;
pub mod signature;
pub mod token;
pub mod trace_event;
pub mod trim_memory;
pub mod truncate;
pub mod wake;

pub use exit::Exit;
