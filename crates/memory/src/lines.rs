//! Reading of JSON Lines files: refuses symlinks, passes over long lines, leaves out an incomplete last line.

use crate::error::MemoryError;
use marvin_base::files::{self, Links};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Longer lines were not written by Marvin.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) offset: u64,
    /// Counted from 1.
    pub(crate) number: u64,
    /// Without the line end; `None` where the line is too long.
    pub(crate) bytes: Option<&'a [u8]>,
}

/// Calls `take` for the complete lines of a file up to an offset, and returns their bytes. A missing file is empty.
pub(crate) fn each(
    path: &Path,
    until: Option<u64>,
    mut take: impl FnMut(Line<'_>),
) -> Result<u64, MemoryError> {
    let file = match files::open(path, Links::Refuse) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(MemoryError::read(path, &error)),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, file.take(until.unwrap_or(u64::MAX)));
    let failed = |error: std::io::Error| MemoryError::read(path, &error);
    let (mut offset, mut number) = (0, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut read =
            reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line).map_err(failed)? as u64;
        let whole = line.last() == Some(&b'\n');
        if !whole && read > MAX_LINE_BYTES {
            let (more, ended) = skip(&mut reader).map_err(failed)?;
            read += more;
            if !ended {
                return Ok(offset);
            }
            number += 1;
            take(Line { offset, number, bytes: None });
            offset += read;
            continue;
        }
        if !whole {
            // The end of the file, or an incomplete line.
            return Ok(offset);
        }
        line.pop();
        number += 1;
        take(Line { offset, number, bytes: Some(&line) });
        offset += read;
    }
}

/// Skips the rest of a line; returns its length and whether it has an end.
fn skip(reader: &mut impl BufRead) -> std::io::Result<(u64, bool)> {
    let mut passed = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((passed, false));
        }
        let (used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(used);
        passed += used as u64;
        if ended {
            return Ok((passed, true));
        }
    }
}

/// The line that begins at an offset.
pub(crate) fn at(path: &Path, offset: u64) -> Option<Vec<u8>> {
    let mut file = files::open(path, Links::Refuse).ok()?;
    // A line begins at the start of the file or after a line end.
    file.seek(SeekFrom::Start(offset.saturating_sub(1))).ok()?;
    let mut reader = BufReader::with_capacity(4096, file);
    if offset > 0 {
        let mut before = [0];
        reader.read_exact(&mut before).ok()?;
        if before != [b'\n'] {
            return None;
        }
    }
    let mut line = Vec::new();
    reader.take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line).ok()?;
    (line.pop() == Some(b'\n')).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_and_long_lines_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let long = "x".repeat(MAX_LINE_BYTES as usize + 10);
        std::fs::write(&path, format!("a\n\n{long}\nb\ntorn")).unwrap();
        let mut seen = Vec::new();
        let whole = each(&path, None, |line| {
            seen.push((
                line.number,
                line.offset,
                line.bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            ));
        })
        .unwrap();
        let end = 3 + MAX_LINE_BYTES + 11;
        assert_eq!(
            seen,
            [(1, 0, Some("a".into())), (2, 2, Some(String::new())), (3, 3, None), (4, end, Some("b".into()))]
        );
        assert_eq!(whole, end + 2);
        assert_eq!(at(&path, end), Some(b"b".to_vec()));
        assert_eq!((at(&path, end + 1), at(&path, end + 2), at(&path, 9_999_999)), (None, None, None));
        assert_eq!(each(&directory.path().join("none"), None, |_| panic!()).unwrap(), 0);
        std::os::unix::fs::symlink(&path, directory.path().join("link")).unwrap();
        assert!(each(&directory.path().join("link"), None, |_| {}).is_err());
    }
}
