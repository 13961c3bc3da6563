//! Marked blocks in a person's files: `.gitignore`, `CLAUDE.md`, `AGENTS.md`.
//!
//! The block is between two marks at the end of the file. The lines between the marks are Marvin's and are rewritten when
//! they differ. Bytes outside the marks are never changed.

/// The marks of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// The prefix of the first line.
    pub(super) begin: &'static str,
    /// The last line.
    pub(super) end: &'static str,
}

/// In `.gitignore`.
pub(super) const IGNORED: Marks = Marks { begin: "# marvin: begin", end: "# marvin: end" };
/// In Markdown.
pub(super) const SECTION: Marks = Marks { begin: "<!-- marvin: begin", end: "<!-- marvin: end -->" };

/// The position of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockLocation {
    Nowhere,
    /// From the first byte of the first line to the end of the last one.
    At(usize, usize),
    /// One of the marks is missing.
    Torn,
}

pub(super) fn find(text: &[u8], marks: Marks) -> BlockLocation {
    let (mut at, mut begin, mut found) = (0, None, BlockLocation::Nowhere);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let bare = line.trim_ascii();
        let next = at + line.len();
        if bare.starts_with(marks.begin.as_bytes()) {
            if begin.is_some() || found != BlockLocation::Nowhere {
                return BlockLocation::Torn;
            }
            begin = Some(at);
        } else if bare == marks.end.as_bytes() {
            let Some(begin) = begin.take() else { return BlockLocation::Torn };
            found = BlockLocation::At(begin, next);
        }
        at = next;
    }
    if begin.is_some() { BlockLocation::Torn } else { found }
}

/// The file with the block, in its place or at the end; `None` when a mark is missing.
pub(super) fn put(text: &[u8], marks: Marks, lines: &str) -> Option<Vec<u8>> {
    let windows = text.windows(2).any(|pair| pair == b"\r\n");
    let lines = if windows { lines.replace('\n', "\r\n") } else { lines.to_string() };
    let newline: &[u8] = if windows { b"\r\n" } else { b"\n" };
    let mut new = Vec::with_capacity(text.len() + lines.len() + 4);
    match find(text, marks) {
        BlockLocation::Torn => return None,
        BlockLocation::At(from, to) => {
            new.extend_from_slice(text.get(..from)?);
            new.extend_from_slice(lines.as_bytes());
            new.extend_from_slice(text.get(to..)?);
        }
        BlockLocation::Nowhere => {
            new.extend_from_slice(text);
            if !text.is_empty() {
                if !text.ends_with(b"\n") {
                    new.extend_from_slice(newline);
                }
                new.extend_from_slice(newline);
            }
            new.extend_from_slice(lines.as_bytes());
        }
    }
    Some(new)
}

/// The file without the block and the empty line before it; `None` when a mark is missing.
pub(super) fn take_out(text: &[u8], marks: Marks) -> Option<Vec<u8>> {
    let (from, to) = match find(text, marks) {
        BlockLocation::Torn => return None,
        BlockLocation::Nowhere => return Some(text.to_vec()),
        BlockLocation::At(from, to) => (from, to),
    };
    let before = text.get(..from)?;
    let before = [&b"\r\n\r\n"[..], b"\n\n"]
        .into_iter()
        .find(|gap| before.ends_with(gap))
        .and_then(|gap| before.get(..before.len() - gap.len() / 2))
        .unwrap_or(before);
    Some([before, text.get(to..)?].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "# marvin: begin (x)\n.marvin/runs/\n# marvin: end\n";

    #[test]
    fn put_in_and_taken_out() {
        for text in ["", "a\n", "a\n\n", "\n", "# marvin\nb\n", "a\r\nb\r\n"] {
            let with = put(text.as_bytes(), IGNORED, LINES).unwrap();
            assert_eq!(put(&with, IGNORED, LINES).unwrap(), with, "again");
            assert_eq!(take_out(&with, IGNORED).unwrap(), text.as_bytes(), "{text:?}");
        }
        assert_eq!(put(b"a", IGNORED, LINES).unwrap(), format!("a\n\n{LINES}").as_bytes());
        assert_eq!(put(b"\xff\xfe", IGNORED, LINES).unwrap(), [b"\xff\xfe\n\n", LINES.as_bytes()].concat());
    }

    #[test]
    fn old_lines_are_replaced_where_they_stand() {
        let text = "a\n\n# marvin: begin (old)\nold\n# marvin: end\nz\n";
        let new = put(text.as_bytes(), IGNORED, LINES).unwrap();
        assert_eq!(String::from_utf8(new.clone()).unwrap(), format!("a\n\n{LINES}z\n"));
        assert_eq!(take_out(&new, IGNORED).unwrap(), b"a\nz\n");
    }

    #[test]
    fn a_mark_without_partner_is_left_alone() {
        for text in
            ["# marvin: begin\n", "# marvin: end\n", "# marvin: end\n# marvin: begin\n", &LINES.repeat(2)]
        {
            assert_eq!(
                (put(text.as_bytes(), IGNORED, LINES), take_out(text.as_bytes(), IGNORED)),
                (None, None)
            );
        }
    }
}
