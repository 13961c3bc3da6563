//! The patch language of notes: blocks that replace, insert and delete lines by their numbers.
//!
//! All numbers refer to the text before the patch, so that blocks do not depend on each other; two that touch the same
//! line are refused.

use crate::result::ToolError;

/// One change of a run of lines.
#[derive(Debug, PartialEq, Eq)]
struct Block<'a> {
    /// The first line, from 0.
    at: usize,
    /// Number of lines that are removed.
    gone: usize,
    /// Lines that are inserted.
    fresh: Vec<&'a str>,
}

/// Is the patch written in this language?
pub(super) fn are(patch: &str) -> bool {
    let first = patch.lines().find(|line| !line.trim().is_empty() && line.trim() != "---");
    first.is_some_and(|line| matches!(line.split_whitespace().next(), Some("REPLACE" | "INSERT" | "DELETE")))
}

/// Applies every block.
pub(super) fn apply(text: &str, patch: &str) -> Result<String, ToolError> {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut blocks = parse(patch, lines.len())?;
    blocks.sort_by_key(|block| (block.at, block.gone));
    for pair in blocks.windows(2) {
        if let [one, other] = pair
            && (one.at + one.gone > other.at || (one.at == other.at && one.gone == other.gone))
        {
            return Err(wrong(format!("two blocks change line {}; put them together", other.at + 1)));
        }
    }
    for block in blocks.iter().rev() {
        lines.splice(block.at..block.at + block.gone, block.fresh.iter().copied());
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new = lines.join(end);
    if !lines.is_empty() && (text.is_empty() || text.ends_with('\n')) {
        new.push_str(end);
    }
    Ok(new)
}

fn wrong(problem: impl std::fmt::Display) -> ToolError {
    ToolError::Usage(format!("{problem}."))
}

fn parse(patch: &str, count: usize) -> Result<Vec<Block<'_>>, ToolError> {
    let lines: Vec<&str> = patch.lines().collect();
    lines
        .split(|line| line.trim_end() == "---")
        .filter(|block| block.iter().any(|line| !line.trim().is_empty()))
        .map(|block| read(block, count))
        .collect()
}

fn read<'a>(lines: &[&'a str], count: usize) -> Result<Block<'a>, ToolError> {
    let skipped = lines.iter().take_while(|line| line.trim().is_empty()).count();
    let (head, fresh) = match lines.get(skipped..) {
        Some([head, fresh @ ..]) => (*head, fresh.to_vec()),
        _ => return Err(wrong("a block has no lines")),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let number = |word: &str| {
        let read = word.parse::<usize>().ok().filter(|number| *number > 0);
        read.ok_or_else(|| wrong(format!("`{head}`: `{word}` is not a line number (they begin at 1)")))
    };
    let within = |at: usize, gone: usize| {
        if at.saturating_add(gone) <= count + 1 {
            Ok(at - 1)
        } else {
            Err(wrong(format!("`{head}`: the note has only {count} lines")))
        }
    };
    match words.as_slice() {
        ["REPLACE", at] => Ok(Block { at: within(number(at)?, 1)?, gone: 1, fresh }),
        ["INSERT", at] if fresh.is_empty() => Err(wrong(format!("`INSERT {at}` is followed by no lines"))),
        ["INSERT", at] => Ok(Block { at: within(number(at)?, 0)?, gone: 0, fresh }),
        ["DELETE", at, rest @ ..] if rest.len() <= 1 => {
            if fresh.iter().any(|line| !line.trim().is_empty()) {
                return Err(wrong(format!(
                    "`{head}` is followed by lines; to put lines in their place use REPLACE"
                )));
            }
            let gone = rest.first().map_or(Ok(1), |word| number(word))?;
            Ok(Block { at: within(number(at)?, gone)?, gone, fresh: Vec::new() })
        }
        _ => {
            Err(wrong(format!("`{head}`: a block begins with `REPLACE n`, `INSERT n` or `DELETE n [count]`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_change_lines_by_their_old_numbers() {
        let text = "1\n2\n3\n4\n";
        for (patch, new) in [
            ("REPLACE 2\ntwo\nand a half", "1\ntwo\nand a half\n3\n4\n"),
            ("INSERT 1\nzero", "zero\n1\n2\n3\n4\n"),
            ("INSERT 5\nfive", "1\n2\n3\n4\nfive\n"),
            ("DELETE 2", "1\n3\n4\n"),
            ("DELETE 1 4", ""),
            ("DELETE 1\n---\nREPLACE 3\nIII\n---\nINSERT 5\n5\n", "2\nIII\n4\n5\n"),
            ("INSERT 2\n\n", "1\n\n2\n3\n4\n"),
            ("---\nINSERT 2\nx\n---\nDELETE 2\n---\n", "1\nx\n3\n4\n"),
        ] {
            assert!(are(patch), "{patch}");
            assert_eq!(apply(text, patch).unwrap(), new, "{patch}");
        }
        assert_eq!(apply("a\r\nb", "REPLACE 2\nc").unwrap(), "a\r\nc");
        assert_eq!(apply("", "INSERT 1\na").unwrap(), "a\n");
        assert!(!are("@@ -1 +1 @@\n-a\n+b\n") && !are("--- a/x\n+++ b/x\n"));
    }

    #[test]
    fn invalid_blocks_are_refused() {
        for (patch, message) in [
            ("REPLACE 5\nx", "only 4 lines"),
            ("INSERT 6\nx", "only 4 lines"),
            ("DELETE 3 3", "only 4 lines"),
            ("DELETE 0", "not a line number"),
            ("REPLACE x\ny", "not a line number"),
            ("DELETE 99999999999999999999", "not a line number"),
            ("DELETE 1 18446744073709551615", "only 4 lines"),
            ("INSERT 2", "followed by no lines"),
            ("DELETE 2\nx", "use REPLACE"),
            ("REPLACE 2\na\n---\nDELETE 1 2", "two blocks change line 2"),
            ("INSERT 2\na\n---\nINSERT 2\nb", "two blocks change line 2"),
            ("REPLACE 2 3\na", "a block begins with"),
            ("DELETE 1\n---\nMOVE 2", "a block begins with"),
        ] {
            let error = apply("1\n2\n3\n4\n", patch).expect_err(patch).to_string();
            assert!(error.contains(message), "{patch}: {error}");
        }
    }
}
