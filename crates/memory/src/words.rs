//! Tokenizer: splits a text into the terms that it is found by.
//!
//! The index itself folds case, removes accents and stems. This module splits identifiers (`parseHttpHeader`,
//! `HTTPServer2`), and makes a query an FTS5 expression in which every word is quoted, so that any text is valid.

use std::collections::BTreeSet;

const MAX_QUERY_TERMS: usize = 64;
const MAX_TERM_CHARS: usize = 64;

/// English stop words, left out of a query that has other words.
const COMMON: [&str; 70] = [
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "s", "she", "should", "so", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "was", "we", "were",
    "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// The words of a text: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The parts of an identifier: `parseHttpHeader` has three, a plain word none.
#[must_use]
pub fn parts(word: &str) -> Vec<&str> {
    // A fast path, because most words are plain.
    if word.chars().all(char::is_alphabetic) && !word.chars().skip(1).any(char::is_uppercase) {
        return Vec::new();
    }
    let mut cuts = Vec::new();
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    for (at, window) in chars.windows(2).enumerate() {
        let [(_, one), (start, two)] = window else { continue };
        let next_is_small = chars.get(at + 2).is_some_and(|(_, char)| char.is_lowercase());
        let hump = one.is_lowercase() && two.is_uppercase();
        let end_of_capitals = one.is_uppercase() && two.is_uppercase() && next_is_small;
        let number = one.is_alphabetic() != two.is_alphabetic();
        if hump || end_of_capitals || number {
            cuts.push(*start);
        }
    }
    if cuts.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut rest = word;
    for cut in cuts.into_iter().rev() {
        let Some((head, tail)) = rest.split_at_checked(cut) else { continue };
        found.push(tail);
        rest = head;
    }
    found.push(rest);
    found.reverse();
    found
}

/// The distinct parts of all identifiers in a text, which are indexed beside it.
#[must_use]
pub fn all_parts(text: &str) -> String {
    // A fast path: most texts contain no identifier, which has a digit, or a capital after a letter.
    let inside =
        |pair: &[u8]| matches!(pair, [one, two] if two.is_ascii_uppercase() && one.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    if text.is_ascii() && !bytes.iter().any(u8::is_ascii_digit) && !bytes.windows(2).any(inside) {
        return String::new();
    }
    let mut seen = BTreeSet::new();
    let mut found = String::new();
    for part in words(text).filter(|word| word.len() <= MAX_TERM_CHARS).flat_map(parts) {
        if part.chars().any(char::is_alphabetic) && seen.insert(part.to_lowercase()) {
            found.push_str(part);
            found.push(' ');
        }
    }
    found
}

/// The distinct terms of a query, in lower case, without stop words.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    'words: for word in words(text) {
        let parts = parts(word);
        for term in std::iter::once(word).chain(parts) {
            let term: String = term.chars().take(MAX_TERM_CHARS).collect::<String>().to_lowercase();
            if seen.insert(term.clone()) {
                all.push(term);
            }
            if all.len() == 4 * MAX_QUERY_TERMS {
                break 'words;
            }
        }
    }
    let telling: Vec<String> =
        all.iter().filter(|term| COMMON.binary_search(&term.as_str()).is_err()).cloned().collect();
    let mut chosen = if telling.is_empty() { all } else { telling };
    chosen.truncate(MAX_QUERY_TERMS);
    chosen
}

/// A word without its most common endings: `likes` and `like` have the same root.
#[must_use]
pub fn root(word: &str) -> String {
    let cut =
        ["ing", "ed", "es", "s"].iter().find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() >= 3));
    let root = cut.unwrap_or(word);
    root.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(root).to_string()
}

/// Whether a word is this root with one of the endings.
fn is_form_of(word: &str, root: &str) -> bool {
    word.split_at_checked(root.len()).is_some_and(|(head, end)| {
        head.eq_ignore_ascii_case(root)
            && ["", "e", "s", "es", "ed", "ing"].iter().any(|known| end.eq_ignore_ascii_case(known))
    }) || (!word.is_ascii() && self::root(&word.to_lowercase()) == root)
}

/// The share of these roots that a text contains, between 0 and 1.
#[must_use]
pub fn covered(roots: &[String], text: &str) -> f64 {
    if roots.is_empty() {
        return 0.0;
    }
    let mut missing: Vec<&str> = roots.iter().map(String::as_str).collect();
    for word in words(text) {
        missing.retain(|root| !is_form_of(word, root));
        for part in parts(word) {
            missing.retain(|root| !is_form_of(part, root));
        }
        if missing.is_empty() {
            break;
        }
    }
    let found = roots.len() - missing.len();
    #[expect(clippy::cast_precision_loss, reason = "a few dozen words")]
    let share = found as f64 / roots.len() as f64;
    share
}

/// A text as a quoted string of an FTS5 expression.
#[must_use]
pub fn quoted(text: &str) -> String {
    let clean: String = text.chars().filter(|char| *char != '\0').collect();
    format!("\"{}\"", clean.replace('"', "\"\""))
}

/// The FTS5 expression for any of the terms of a text; `None` without terms.
#[must_use]
pub fn any_of(text: &str) -> Option<String> {
    let terms: Vec<String> = terms(text).iter().map(|term| quoted(term)).collect();
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split() {
        assert_eq!(parts("parseHttpHeader"), ["parse", "Http", "Header"]);
        assert_eq!(parts("HTTPServer2"), ["HTTP", "Server", "2"]);
        assert!(parts("plain").is_empty() && parts("").is_empty() && parts("ÜBER").is_empty());
        assert_eq!(all_parts("a readFile and ReadFile b"), "read File ");
    }

    proptest::proptest! {
        #[test]
        fn the_fast_path_misses_no_identifier(text in "[a-zA-Z0-9 _.é-]{0,40}") {
            // The fast path covers only ASCII.
            proptest::prop_assert_eq!(all_parts(&text), all_parts(&format!("{text} é")));
        }
    }

    #[test]
    fn a_query_has_no_stop_words() {
        assert_eq!(terms("What did the parseConfig do?"), ["parseconfig", "parse", "config"]);
        assert_eq!(terms("who is it"), ["who", "is", "it"], "nothing else is there");
        assert!(COMMON.is_sorted());
        assert_eq!(any_of("a-b: \"c\" OR NEAR(x) *"), Some("\"b\" OR \"c\" OR \"near\" OR \"x\"".into()));
        assert_eq!(any_of("  -- :: \0 "), None);
    }

    #[test]
    fn words_are_known_by_their_roots() {
        let roots: Vec<String> = ["likes", "make", "parsed", "café"].iter().map(|word| root(word)).collect();
        assert_eq!(roots, ["lik", "mak", "pars", "café"]);
        let covers = |text: &str| (covered(&roots, text) * 4.0) as u32;
        assert_eq!(covers("She LIKED making ParseTrees in the Café"), 4);
        assert_eq!(covers("likely makeshift parsec cafés"), 1);
        assert_eq!((covers(""), covered(&[], "x") as u32), (0, 0));
    }
}
