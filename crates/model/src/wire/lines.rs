//! Splits a stream of bytes into lines, and finds the data in lines of server-sent events.
//!
//! Most lines lie whole within one chunk of the network and are handed on from there; only a line that is spread over
//! chunks is put together in a buffer, which is reused.

use super::errors::Fault;
use memchr::memchr;

/// Maximum length of a line; without a limit a broken server could fill the memory.
const MAX_LINE_BYTES: usize = 64 << 20;

/// A splitter of lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Hands on every line that `bytes` completes, until `each` says `false`.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Result<bool, Fault>,
    ) -> Result<bool, Fault> {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, after) = bytes.split_at(at);
            bytes = after.get(1..).unwrap_or_default();
            let more = if self.rest.is_empty() {
                each(trimmed(line))?
            } else {
                self.rest.extend_from_slice(line);
                let more = each(trimmed(&self.rest))?;
                self.rest.clear();
                more
            };
            if !more {
                return Ok(false);
            }
        }
        if self.rest.len() + bytes.len() > MAX_LINE_BYTES {
            return Err(Fault::Garbage("a line without end".into()));
        }
        self.rest.extend_from_slice(bytes);
        Ok(true)
    }

    /// Passes on the text after the last line break.
    pub(super) fn finish(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Result<bool, Fault>,
    ) -> Result<bool, Fault> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { Ok(true) } else { each(trimmed(&rest)) }
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The data of a line of server-sent events; `None` for every other field, for comments and for blank lines.
pub(super) fn data(line: &[u8]) -> Result<Option<&[u8]>, Fault> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if let Some(data) = line.strip_prefix(b"data:") {
        let data = data.trim_ascii_start();
        return Ok(if data.is_empty() { None } else { Some(data) });
    }
    let field =
        |name: &[u8]| line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b":"));
    if line.is_empty()
        || line.starts_with(b":")
        || field(b"event")
        || field(b"id")
        || field(b"retry")
        || field(b"data")
    {
        return Ok(None);
    }
    // Some servers answer 200 and put a bare error object where the stream should be.
    Err(Fault::from_stray(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let mut each = |line: &[u8]| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            Ok(true)
        };
        for chunk in chunks {
            lines.feed(chunk, &mut each).unwrap();
        }
        lines.finish(&mut each).unwrap();
        seen
    }

    #[test]
    fn lines_may_be_spread_over_chunks() {
        assert_eq!(split(&[b"a\nb", b"c", b"d\r", b"\n\ne"]), ["a", "bcd", "", "e"]);
    }

    #[test]
    fn data_is_found_with_and_without_a_space() {
        assert_eq!(data(b"data: {}").unwrap(), Some(&b"{}"[..]));
        assert_eq!(data(b"data:{}").unwrap(), Some(&b"{}"[..]));
        for other in ["", ": ping", "event: x", "id: 1", "retry: 5", "data:", "data"] {
            assert!(data(other.as_bytes()).unwrap().is_none(), "{other}");
        }
        assert!(matches!(data(b"<html>"), Err(Fault::Garbage(_))));
        assert!(matches!(data(br#"{"error":{"message":"no"}}"#), Err(Fault::Vendor { .. })));
    }

    proptest! {
        #[test]
        fn any_division_gives_the_same_lines(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let at = at.min(bytes.len());
            prop_assert_eq!(split(&[&bytes]), split(&[&bytes[..at], &bytes[at..]]));
        }
    }
}
