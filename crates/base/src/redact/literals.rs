//! Search for many short literals in one pass.
//!
//! Three tables say for nearly every position of a text that no literal begins there; only behind them the literals are
//! compared. For texts without secrets, which is nearly all of them, that is faster than an automaton, which takes a
//! dependent load for every byte.

use std::ops::Range;

/// A literal of at least two bytes to look for.
#[derive(Clone, Copy)]
pub(super) struct Literal {
    pub(super) text: &'static str,
    pub(super) ignores_case: bool,
}

impl Literal {
    /// The spellings of the byte at a position; every byte behind its end.
    fn spellings(self, at: usize) -> Vec<u8> {
        match self.text.as_bytes().get(at) {
            Some(byte) if self.ignores_case => vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
            Some(byte) => vec![*byte],
            None => (0..=u8::MAX).collect(),
        }
    }

    /// The bit of its bucket. Short literals let every byte pass behind them, so they have buckets of their own.
    fn bucket(self) -> u8 {
        match *self.text.as_bytes() {
            [_, _, third, _, ..] => 4 << (third.to_ascii_lowercase() % 6),
            [_, _, _] => 2,
            _ => 1,
        }
    }

    fn is_at(self, text: &[u8], start: usize) -> bool {
        let wanted = self.text.as_bytes();
        text.get(start..start + wanted.len()).is_some_and(|part| {
            if self.ignores_case { part.eq_ignore_ascii_case(wanted) } else { part == wanted }
        })
    }
}

pub(super) struct Literals {
    /// The buckets of the literals that begin with a pair of bytes.
    pairs: Box<[u8; 1 << 16]>,
    /// The buckets of the literals that have a byte as their third, and as their fourth.
    thirds: [u8; 256],
    fourths: [u8; 256],
    /// Sorted by the first two bytes in small letters.
    sorted: Vec<Candidate>,
}

/// A literal with its place in the list.
struct Candidate {
    literal: Literal,
    number: usize,
    /// Its first four bytes in small letters; a shorter literal has fewer, and the mask leaves out the rest.
    prefix: u32,
    mask: u32,
}

impl Candidate {
    fn new(literal: Literal, number: usize) -> Self {
        let [mut prefix, mut mask] = [[0; 4]; 2];
        for (byte, (prefix, mask)) in literal.text.bytes().zip(prefix.iter_mut().zip(&mut mask)) {
            (*prefix, *mask) = (byte.to_ascii_lowercase(), u8::MAX);
        }
        Candidate { literal, number, prefix: u32::from_be_bytes(prefix), mask: u32::from_be_bytes(mask) }
    }

    fn pair(&self) -> u32 {
        self.prefix >> 16
    }
}

fn pair(first: u8, second: u8) -> u16 {
    u16::from_be_bytes([first, second])
}

#[expect(clippy::indexing_slicing, reason = "the tables have an entry for every value of their index")]
impl Literals {
    pub(super) fn new(list: impl IntoIterator<Item = Literal>) -> Self {
        let mut literals = Literals {
            pairs: Box::new([0; 1 << 16]),
            thirds: [0; 256],
            fourths: [0; 256],
            sorted: Vec::new(),
        };
        for (number, literal) in list.into_iter().enumerate() {
            if literal.text.len() < 2 {
                continue;
            }
            let bucket = literal.bucket();
            for first in literal.spellings(0) {
                for second in literal.spellings(1) {
                    literals.pairs[usize::from(pair(first, second))] |= bucket;
                }
            }
            for third in literal.spellings(2) {
                literals.thirds[usize::from(third)] |= bucket;
            }
            for fourth in literal.spellings(3) {
                literals.fourths[usize::from(fourth)] |= bucket;
            }
            literals.sorted.push(Candidate::new(literal, number));
        }
        literals.sorted.sort_by_key(Candidate::pair);
        literals
    }

    /// Whether a literal may begin with these bytes.
    #[inline]
    fn may_begin(&self, [first, second, third, fourth]: [u8; 4]) -> bool {
        let pair = self.pairs[usize::from(pair(first, second))];
        pair & self.thirds[usize::from(third)] & self.fourths[usize::from(fourth)] != 0
    }

    /// Calls `found` with the number and the range of every occurrence, overlapping ones included, in the order of their starts.
    pub(super) fn find_all(&self, text: &str, mut found: impl FnMut(usize, Range<usize>)) {
        let text = text.as_bytes();
        for (start, window) in text.windows(4).enumerate() {
            if window.try_into().is_ok_and(|bytes| self.may_begin(bytes)) {
                self.compare(text, start, &mut found);
            }
        }
        // A short literal may end the text: behind it stands any byte.
        for start in text.len().saturating_sub(3)..text.len().saturating_sub(1) {
            self.compare(text, start, &mut found);
        }
    }

    #[cold]
    fn compare(&self, text: &[u8], start: usize, found: &mut impl FnMut(usize, Range<usize>)) {
        let mut here = [0; 4];
        for (small, byte) in here.iter_mut().zip(text.iter().skip(start)) {
            *small = byte.to_ascii_lowercase();
        }
        let here = u32::from_be_bytes(here);
        let from = self.sorted.partition_point(|candidate| candidate.pair() < here >> 16);
        let candidates = self.sorted.iter().skip(from).take_while(|candidate| candidate.pair() == here >> 16);
        // Most have other bytes third and fourth, which takes one comparison of numbers.
        for Candidate { literal, number, .. } in
            candidates.filter(|candidate| here & candidate.mask == candidate.prefix)
        {
            if literal.is_at(text, start) {
                found(*number, start..start + literal.text.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::AhoCorasick;

    const SOME: [&str; 9] = ["ab", "abc", "bca", "cab", "key", "Q~", "ey", "yab", "identified by"];

    proptest::proptest! {
        #[test]
        fn the_same_is_found_as_by_an_automaton(text in "[abcekyQ~KEYidentf ü]{0,60}", ignores_case: bool) {
            let literals = Literals::new(SOME.map(|text| Literal { text, ignores_case }));
            let automaton = AhoCorasick::builder().ascii_case_insensitive(ignores_case).build(SOME).unwrap();
            let mut all = Vec::new();
            literals.find_all(&text, |number, range| all.push((number, range)));
            let mut expected: Vec<(usize, Range<usize>)> =
                automaton.find_overlapping_iter(&text).map(|hit| (hit.pattern().as_usize(), hit.range())).collect();
            all.sort_by_key(|(number, range)| (range.start, *number));
            expected.sort_by_key(|(number, range)| (range.start, *number));
            proptest::prop_assert_eq!(all, expected);
        }
    }
}
