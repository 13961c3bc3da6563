//! Ticket ids: `prefix-abcd`, given whole or in part.

use super::error::TicketError;
use std::path::Path;

/// Candidates that an ambiguous id names.
const CANDIDATES: usize = 8;

/// The prefix of a project's ids: the first letters of the words of its directory's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix(String);

impl Prefix {
    /// The prefix for a directory: `my-big-project` gives `mbp`, `plan` gives `pla`. Only plain letters and digits count,
    /// so that an id is always a visible file and a single word.
    #[must_use]
    pub(super) fn for_directory(directory: &Path) -> Prefix {
        let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |word: &str, most| -> String {
            word.chars().filter(char::is_ascii_alphanumeric).take(most).collect()
        };
        let words = name.split(|letter: char| matches!(letter, '-' | '_') || letter.is_whitespace());
        let mut prefix: String = words.map(|word| plain(word, 1)).collect();
        if prefix.len() < 2 {
            prefix = plain(&name, 3);
        }
        Prefix(if prefix.is_empty() { "tk".into() } else { prefix })
    }

    #[must_use]
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Whether a word can be written in a list of a ticket and be parsed again.
pub(super) fn fits_list(word: &str) -> bool {
    let breaks = |letter: char| {
        letter.is_control() || letter.is_whitespace() || matches!(letter, ',' | '[' | ']' | '#')
    };
    !word.is_empty() && !word.contains(breaks)
}

/// Resolves a given text to one of `ids`: the id itself, or the only one that contains the text.
///
/// # Errors
/// When there is none, when there are several, and when the text cannot be an id at all.
pub(super) fn resolve(given: &str, ids: &[String]) -> Result<String, TicketError> {
    let given = given.trim();
    let odd = given.is_empty()
        || given.starts_with('.')
        || given.len() > 200
        || given.contains(|letter: char| letter.is_control() || matches!(letter, '/' | '\\'));
    if odd {
        let shown: String = given.chars().take(60).collect();
        return Err(TicketError::Usage(format!(
            "`{}` is not a ticket id; an id looks like `nw-5c46`, or is a part of one",
            shown.escape_debug()
        )));
    }
    if ids.iter().any(|id| id == given) {
        return Ok(given.to_string());
    }
    let found: Vec<&str> = ids.iter().map(String::as_str).filter(|id| id.contains(given)).collect();
    match found.as_slice() {
        [one] => Ok((*one).to_string()),
        [] => Err(TicketError::NotFound(format!(
            "ticket '{given}' not found{}",
            marvin_base::settings::nearest_of(given, ids.iter().map(String::as_str))
                .map(|near| format!("; did you mean {near}?"))
                .unwrap_or_default()
        ))),
        several => {
            let more = several.len().saturating_sub(CANDIDATES);
            let names = several.iter().take(CANDIDATES).copied().collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(TicketError::Failed(format!(
                "ambiguous ID '{given}' matches multiple tickets: {names}{more}; give more of the id"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_follow_the_directory() {
        for (directory, prefix) in [
            ("/a/my-big_project", "mbp"),
            ("/a/plan", "pla"),
            ("/a/x", "x"),
            ("/a/.hidden", "hid"),
            ("/a/New World", "NW"),
            ("/a/日本", "tk"),
            ("/", "tk"),
            ("/a/-x-", "x"),
        ] {
            assert_eq!(Prefix::for_directory(Path::new(directory)).text(), prefix, "{directory}");
        }
    }

    #[test]
    fn ids_are_found_by_a_part_that_only_one_has() {
        let ids: Vec<String> = ["nw-5c46", "nw-5c", "nw-77aa"].map(String::from).into();
        assert_eq!(resolve("nw-5c", &ids).unwrap(), "nw-5c", "a whole id is never ambiguous");
        assert_eq!(resolve(" c46\n", &ids).unwrap(), "nw-5c46");
        let error = resolve("nw", &ids).unwrap_err().to_string();
        assert!(error.contains("nw-5c46, nw-5c, nw-77aa"), "{error}");
        assert!(resolve("zz", &ids).unwrap_err().to_string().contains("not found"));
        for odd in ["", "  ", "../x", "a/b", ".", "..", "a\\b", "a\0b", ".lock"] {
            assert!(matches!(resolve(odd, &ids), Err(TicketError::Usage(_))), "{odd:?}");
        }
    }
}
