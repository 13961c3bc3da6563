//! A small mutator for machines without a nightly toolchain. It does not see which code an input
//! reaches; it starts with good seeds, changes them in the ways that break parsers, and keeps some
//! results in its corpus.

use crate::Target;

/// A generator of the same numbers for the same seed.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Numbers(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self, below: usize) -> usize {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % below.max(1)
    }
}

/// Pieces that mean something to the code behind the targets.
const PIECES: [&[u8]; 56] = [
    b"$(",
    b")",
    b"`",
    b"${",
    b"'",
    b"; ",
    b" | ",
    b" && ",
    b"<<E\n",
    b"\nE\n",
    b"<(",
    b"$((",
    b"))",
    b"\\",
    b"\\\n",
    b"*",
    b"eval ",
    b"bash -c ",
    b"if ",
    b"; then ",
    b"; fi",
    b"x=",
    b"$x",
    b"[[ ",
    b" ]]",
    b"{a,b}",
    b"xargs ",
    b" > ",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"..",
    b"/",
    b"./",
    b"@@ -1,2 +1,2 @@\n",
    b"@@",
    b"--- a/f\n+++ b/f\n",
    b"+",
    b"-",
    b" ",
    b"\\ No newline at end of file\n",
    b"*** Begin Patch\n",
    b"*** End Patch",
    b"*** Update File: f\n",
    b"/dev/null",
    b"rename from f\n",
    b"\xff\xfe",
    "é".as_bytes(),
    "🎉".as_bytes(),
    b"\"",
    b"{",
    b"}",
    b"18446744073709551615",
    b"-1",
    b"~",
];

/// Inputs that are kept for further mutation.
const MAX_CORPUS_INPUTS: usize = 256;

/// A generator of inputs from seeds.
#[derive(Debug)]
pub struct Mutator {
    numbers: Numbers,
    kept: Vec<Vec<u8>>,
}

impl Mutator {
    #[must_use]
    pub fn new(seed: u64, seeds: &[&[u8]]) -> Self {
        Mutator { numbers: Numbers::new(seed), kept: seeds.iter().map(|seed| seed.to_vec()).collect() }
    }

    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.pick();
        for _ in 0..=self.numbers.next(4) {
            self.change(&mut input);
        }
        input.truncate(64 * 1024);
        if self.numbers.next(8) == 0 {
            let at = self.numbers.next(MAX_CORPUS_INPUTS);
            match self.kept.get_mut(at) {
                // The first ones are the seeds, which stay.
                Some(old) if at > 16 => old.clone_from(&input),
                Some(_) => {}
                None => self.kept.push(input.clone()),
            }
        }
        input
    }

    fn pick(&mut self) -> Vec<u8> {
        let at = self.numbers.next(self.kept.len());
        self.kept.get(at).cloned().unwrap_or_default()
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.numbers.next(input.len() + 1);
        let end = (at + self.numbers.next(16)).min(input.len());
        match self.numbers.next(8) {
            0 => drop(input.drain(at..end)),
            1 | 2 => {
                let piece = PIECES.get(self.numbers.next(PIECES.len())).copied().unwrap_or_default();
                input.splice(at..at, piece.iter().copied());
            }
            3 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.numbers.next(8);
                }
            }
            4 => {
                let copy = input.get(at..end).unwrap_or_default().to_vec();
                input.splice(at..at, copy);
            }
            5 => {
                // A whole line again, at another place.
                let lines: Vec<Vec<u8>> =
                    input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let line = lines.get(self.numbers.next(lines.len())).cloned().unwrap_or_default();
                input.splice(at..at, line);
            }
            6 => {
                let other = self.pick();
                let from = self.numbers.next(other.len() + 1);
                input.splice(at.., other.into_iter().skip(from));
            }
            _ => {
                let byte = u8::try_from(self.numbers.next(256)).unwrap_or(0);
                input.splice(at..end, [byte]);
            }
        }
    }
}

/// Runs a target on its seeds and then on inputs made from them, while `continues` returns true.
/// Returns the number of inputs.
pub fn run(target: Target, seeds: &[&[u8]], seed: u64, mut continues: impl FnMut(u64, &[u8]) -> bool) -> u64 {
    let mut mutator = Mutator::new(seed, seeds);
    let mut tried = 0;
    for input in seeds {
        target(input);
        tried += 1;
    }
    loop {
        let input = mutator.next_input();
        if !continues(tried, &input) {
            return tried;
        }
        target(&input);
        tried += 1;
    }
}
