//! Search for many short literals in one pass.
//!
//! A table says for nearly every position of a text, by the hash of three bytes, that no literal begins there; only behind it
//! the literals are compared. For texts without secrets, which is nearly all of them, that is faster than an automaton, which takes a
//! dependent load for every byte.

use std::ops::Range;

/// A literal of at least two bytes to look for.
#[derive(Clone, Copy)]
pub(super) struct Literal {
    pub(super) text: &'static str,
    pub(super) ignores_case: bool,
}

impl Literal {
    /// The hashes of its first three bytes; a shorter one passes with every third byte.
    fn hashes(self) -> Vec<u16> {
        match *self.text.as_bytes() {
            [first, second, third, ..] => vec![hash([first, second, third])],
            [first, second] => {
                let mut hashes: Vec<u16> = (0..=u8::MAX).map(|third| hash([first, second, third])).collect();
                hashes.sort_unstable();
                hashes.dedup();
                hashes
            }
            _ => Vec::new(),
        }
    }

    /// The bits of the fourth bytes that it passes with.
    fn fourth_bits(self) -> u8 {
        self.text.as_bytes().get(3).map_or(u8::MAX, |fourth| fourth_bit(*fourth))
    }

    fn is_at(self, text: &[u8], start: usize) -> bool {
        let wanted = self.text.as_bytes();
        text.get(start..start + wanted.len()).is_some_and(|part| {
            if self.ignores_case { part.eq_ignore_ascii_case(wanted) } else { part == wanted }
        })
    }
}

/// The hash of three bytes. Letters are made small; other bytes may become the same, which costs a comparison at most.
#[inline]
fn hash([first, second, third]: [u8; 3]) -> u16 {
    let three = u32::from_le_bytes([first, second, third, 0]) | 0x0020_2020;
    let [.., third, fourth] = three.wrapping_mul(0x9E37_79B1).to_le_bytes();
    u16::from_le_bytes([third, fourth])
}

/// One of eight bits for a byte, the same for both cases of a letter.
#[inline]
fn fourth_bit(fourth: u8) -> u8 {
    1 << (fourth & 7)
}

/// Beginnings of parts of the candidates.
const PARTS: usize = 1 << 10;

fn part(hash: u16) -> usize {
    usize::from(hash >> 6)
}

pub(super) struct Literals {
    /// For the hash of three bytes: the bits of the fourth bytes of literals that begin so.
    fourths: Box<[u8; 1 << 16]>,
    /// Sorted by their hashes.
    sorted: Vec<Candidate>,
    /// Where each part of them begins, and the end.
    starts: Box<[usize; PARTS + 1]>,
}

/// A literal with one of its hashes and its place in the list.
struct Candidate {
    hash: u16,
    literal: Literal,
    number: usize,
    /// Its first four bytes, letters small, and a mask that leaves out what a shorter one does not have.
    prefix: u32,
    mask: u32,
}

impl Candidate {
    fn new(hash: u16, literal: Literal, number: usize) -> Self {
        let [mut prefix, mut mask] = [[0; 4]; 2];
        for (byte, (prefix, mask)) in literal.text.bytes().zip(prefix.iter_mut().zip(&mut mask)) {
            (*prefix, *mask) = (byte | 0x20, u8::MAX);
        }
        let [prefix, mask] = [prefix, mask].map(u32::from_le_bytes);
        Candidate { hash, literal, number, prefix, mask }
    }

    /// Whether it may begin with these bytes. That is one comparison of numbers, and most candidates are none.
    #[inline]
    fn may_begin(&self, bytes: [u8; 4]) -> bool {
        (u32::from_le_bytes(bytes) | 0x2020_2020) & self.mask == self.prefix
    }
}

#[expect(clippy::indexing_slicing, reason = "the tables have an entry for every value of their index")]
impl Literals {
    pub(super) fn new(list: impl IntoIterator<Item = Literal>) -> Self {
        let (mut fourths, mut sorted) = (Box::new([0; 1 << 16]), Vec::new());
        for (number, literal) in list.into_iter().enumerate() {
            for hash in literal.hashes() {
                fourths[usize::from(hash)] |= literal.fourth_bits();
                sorted.push(Candidate::new(hash, literal, number));
            }
        }
        sorted.sort_by_key(|candidate| candidate.hash);
        let begins = |number| sorted.partition_point(|candidate: &Candidate| part(candidate.hash) < number);
        let starts = Box::new(std::array::from_fn(begins));
        Literals { fourths, sorted, starts }
    }

    /// Calls `found` with the number and the range of every occurrence, overlapping ones included, in the order of their starts.
    pub(super) fn find_all(&self, text: &str, mut found: impl FnMut(usize, Range<usize>)) {
        let text = text.as_bytes();
        for (start, window) in text.windows(4).enumerate() {
            let &[first, second, third, fourth] = window else { continue };
            let hash = hash([first, second, third]);
            if self.fourths[usize::from(hash)] & fourth_bit(fourth) != 0 {
                self.compare(text, start, hash, [first, second, third, fourth], &mut found);
            }
        }
        // A short literal may end the text: behind it stands any byte.
        for start in text.len().saturating_sub(3)..text.len().saturating_sub(1) {
            let mut last = [0; 4];
            for (byte, given) in last.iter_mut().zip(text.iter().skip(start)) {
                *byte = *given;
            }
            let [first, second, third, _] = last;
            self.compare(text, start, hash([first, second, third]), last, &mut found);
        }
    }

    #[cold]
    fn compare(
        &self,
        text: &[u8],
        start: usize,
        hash: u16,
        bytes: [u8; 4],
        found: &mut impl FnMut(usize, Range<usize>),
    ) {
        let candidates = self.sorted.get(self.starts[part(hash)]..self.starts[part(hash) + 1]);
        for Candidate { literal, number, .. } in
            candidates.into_iter().flatten().filter(|candidate| candidate.may_begin(bytes))
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
