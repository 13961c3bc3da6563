//! Files that the command line names: read whole, within a bound, from a disk or a pipe.

use crate::failure::Failure;
use marvin_base::files;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes of a file of at most `limit` bytes. The hint says what the file should be.
pub(crate) fn read_bytes(path: &Path, limit: u64, hint: &str) -> Result<Vec<u8>, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, &error, hint))?;
    bytes_of(file, &name, limit, hint)
}

/// The text of a file of at most `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: u64, hint: &str) -> Result<String, Failure> {
    text(read_bytes(path, limit, hint)?, &path.display().to_string(), hint)
}

/// The text of a source with this name, such as standard input.
pub(crate) fn text_of(source: impl Read, name: &str, limit: u64, hint: &str) -> Result<String, Failure> {
    text(bytes_of(source, name, limit, hint)?, name, hint)
}

/// The bytes of a source with this name.
pub(crate) fn bytes_of(source: impl Read, name: &str, limit: u64, hint: &str) -> Result<Vec<u8>, Failure> {
    files::read_stream(source, limit).map_err(|error| unreadable(name, &error, hint))
}

fn text(bytes: Vec<u8>, name: &str, hint: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        unreadable(name, &format!("it is not UTF-8 text (the first wrong byte is number {at})"), hint)
    })
}

fn unreadable(name: &str, reason: &dyn std::fmt::Display, hint: &str) -> Failure {
    Failure::usage(format!("cannot read {name}: {reason}")).hint(hint)
}
