//! Search for many short literals at once.
//!
//! A bitmap of byte pairs says for most positions of a text that no literal begins there; only behind it the literals of the
//! pair are compared. For texts without secrets, which is nearly all of them, that is faster than an automaton, which takes a
//! dependent load for every byte.

use std::ops::Range;

/// Literals of at least two bytes.
pub(super) struct Literals {
    /// One bit for every pair of bytes that begins a literal.
    pairs: Vec<u64>,
    /// The literals by their first two bytes, in small letters where case does not matter; sorted.
    groups: Vec<(u16, Vec<Literal>)>,
    ignores_case: bool,
}

struct Literal {
    bytes: &'static [u8],
    /// Its place in the list.
    number: usize,
}

impl Literals {
    pub(super) fn new(list: impl IntoIterator<Item = &'static str>, ignores_case: bool) -> Self {
        let mut pairs = vec![0; 1024];
        let mut groups: Vec<(u16, Vec<Literal>)> = Vec::new();
        for (number, literal) in list.into_iter().enumerate() {
            let bytes = literal.as_bytes();
            let [first, second, ..] = *bytes else { continue };
            let spellings = |byte: u8| {
                if ignores_case { [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] } else { [byte; 2] }
            };
            for first in spellings(first) {
                for second in spellings(second) {
                    let bit = u16::from_be_bytes([first, second]);
                    if let Some(word) = pairs.get_mut(usize::from(bit >> 6)) {
                        *word |= 1_u64 << (bit & 63);
                    }
                }
            }
            let key = group_key(first, second, ignores_case);
            let at = groups.partition_point(|group| group.0 < key);
            if groups.get(at).is_none_or(|group| group.0 != key) {
                groups.insert(at, (key, Vec::new()));
            }
            if let Some(group) = groups.get_mut(at) {
                group.1.push(Literal { bytes, number });
            }
        }
        for (_, group) in &mut groups {
            group.sort_by_key(|literal| literal.bytes.len());
        }
        Literals { pairs, groups, ignores_case }
    }

    /// Calls `found` with the number and the range of every occurrence, overlapping ones included, in the order of their starts.
    /// It ends when `found` returns false.
    fn each(&self, text: &[u8], from: usize, mut found: impl FnMut(usize, Range<usize>) -> bool) {
        for (offset, window) in text.get(from..).unwrap_or_default().windows(2).enumerate() {
            let &[first, second] = window else { continue };
            let bit = u16::from_be_bytes([first, second]);
            if self.pairs.get(usize::from(bit >> 6)).is_none_or(|word| word >> (bit & 63) & 1 == 0) {
                continue;
            }
            let start = from + offset;
            let key = group_key(first, second, self.ignores_case);
            let Ok(group) = self.groups.binary_search_by_key(&key, |group| group.0) else { continue };
            for literal in self.groups.get(group).map(|group| group.1.as_slice()).unwrap_or_default() {
                let range = start..start + literal.bytes.len();
                let is_equal = text.get(range.clone()).is_some_and(|part| {
                    if self.ignores_case {
                        part.eq_ignore_ascii_case(literal.bytes)
                    } else {
                        part == literal.bytes
                    }
                });
                if is_equal && !found(literal.number, range) {
                    return;
                }
            }
        }
    }

    /// Every occurrence, overlapping ones included.
    pub(super) fn find_all(&self, text: &str, mut found: impl FnMut(usize, usize)) {
        self.each(text.as_bytes(), 0, |number, range| {
            found(number, range.start);
            true
        });
    }

    /// The occurrence from `from` on that ends first.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let text = text.as_bytes();
        let mut best = self.find_start(text, from)?;
        // One that begins later may end before it.
        while let Some(inner) = self.find_start(text.get(..best.end - 1)?, best.start + 1) {
            best = inner;
        }
        Some(best)
    }

    /// The occurrence that begins first; of those that begin there, the shortest.
    fn find_start(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let mut first = None;
        self.each(text, from, |_, range| {
            first = Some(range);
            false
        });
        first
    }
}

fn group_key(first: u8, second: u8, ignores_case: bool) -> u16 {
    if ignores_case {
        u16::from_be_bytes([first.to_ascii_lowercase(), second.to_ascii_lowercase()])
    } else {
        u16::from_be_bytes([first, second])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::AhoCorasick;

    const WORDS: [&str; 9] = ["ab", "abc", "bca", "cab", "key", "Q~", "ey", "yab", "identified by"];

    proptest::proptest! {
        #[test]
        fn the_same_is_found_as_by_an_automaton(text in "[abcekyQ~KEYidentf ü]{0,60}", ignores_case: bool) {
            let literals = Literals::new(WORDS, ignores_case);
            let automaton = AhoCorasick::builder().ascii_case_insensitive(ignores_case).build(WORDS).unwrap();
            let mut all = Vec::new();
            literals.find_all(&text, |number, start| all.push((number, start)));
            let mut expected: Vec<(usize, usize)> =
                automaton.find_overlapping_iter(&text).map(|hit| (hit.pattern().as_usize(), hit.start())).collect();
            all.sort_unstable();
            expected.sort_unstable();
            proptest::prop_assert_eq!(all, expected);
            let (mut at, mut found) = (0, Vec::new());
            while let Some(range) = literals.find(&text, at) {
                at = range.end;
                found.push(range);
            }
            let expected: Vec<Range<usize>> = automaton.find_iter(&text).map(|hit| hit.range()).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
