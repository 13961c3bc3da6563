//! Where a line may mean several things, every meaning is walked, in rounds: variables with several values, and lists, of
//! which bash and zsh take different elements (zsh counts from 1, and `$list` is all of it).

use super::run::InheritedIo;
use super::state::Shell;
use super::value::{Stream, Word};
use brush_parser::ast::{self, SimpleCommand};

/// Rounds that are walked.
const MAX_WALK_ROUNDS: usize = 64;
/// Meanings of a list's element that are walked.
const MAX_MEANINGS: usize = 8;
/// Segments that the rounds of one command add.
const MAX_WALK_SEGMENTS: usize = 256;
/// Directories in which a command may run after several rounds.
const MAX_WORKING_DIRECTORIES: usize = 4;

impl Shell<'_> {
    /// A simple command, once for each choice.
    pub(super) fn simple(&mut self, simple: &SimpleCommand, around: &InheritedIo) -> Stream {
        let before = self.segments.len();
        let directories = self.state.directories.clone();
        let mut after: Vec<Word> = Vec::new();
        let mut output;
        let mut round = 0;
        let (outer_choice, outer_digits) = (self.choice, std::mem::take(&mut self.digits));
        loop {
            self.choice = round;
            let outer = std::mem::replace(&mut self.widest, 1);
            // What a later round sets, the first may have set to something else.
            self.perhaps += usize::from(round > 0);
            output = self.one_choice(simple, around);
            self.perhaps -= usize::from(round > 0);
            let widest = std::mem::replace(&mut self.widest, outer);
            self.widest = self.widest.max(if self.depth > 0 { widest } else { 1 });
            round += 1;
            let last =
                round >= widest.min(MAX_WALK_ROUNDS) || self.segments.len() - before > MAX_WALK_SEGMENTS;
            if last && round < widest {
                self.doubt("more combinations of values than can be followed");
            }
            if last && round == 1 {
                break;
            }
            for directory in std::mem::take(&mut self.state.directories) {
                if !after.contains(&directory) {
                    after.push(directory);
                }
            }
            if last {
                if after.len() > MAX_WORKING_DIRECTORIES {
                    self.doubt("a change to one of many directories");
                }
                after.truncate(MAX_WORKING_DIRECTORIES);
                self.state.directories = after;
                break;
            }
            self.state.directories.clone_from(&directories);
        }
        (self.choice, self.digits) = (outer_choice, outer_digits);
        if round > 1 { Stream::unknown(output.taint) } else { output }
    }

    /// The words that a loop goes over, with every choice of them.
    pub(super) fn listed(&mut self, words: &[ast::Word]) -> Vec<Word> {
        let mut found: Vec<Word> = Vec::new();
        let (choice, outer) = (self.choice, std::mem::replace(&mut self.widest, 1));
        let digits = std::mem::take(&mut self.digits);
        for round in 0..MAX_WALK_ROUNDS {
            if round > 0 {
                self.choice = round;
            }
            for word in words.iter().flat_map(|word| self.fields(&word.value)).collect::<Vec<_>>() {
                if round == 0 || !found.contains(&word) {
                    found.push(word);
                }
            }
            if round + 1 >= self.widest {
                break;
            }
        }
        if self.widest > MAX_WALK_ROUNDS {
            self.doubt("more combinations of values than can be followed");
        }
        (self.choice, self.widest, self.digits) = (choice, outer, digits);
        found
    }

    /// Which of so many values a variable has in this round, and the rounds after which this repeats itself. Rounds count
    /// through the combinations of all variables of a command; each variable is a digit of the round's number.
    pub(super) fn digit(&mut self, name: &str, values: usize) -> (usize, usize) {
        if values < 2 {
            return (0, 1);
        }
        let mut place = 1usize;
        for (known, base) in &self.digits {
            if known == name {
                // What the command itself assigns is followed by the walk of the loop around it.
                return (self.choice / place % base % values, place.saturating_mul(*base));
            }
            place = place.saturating_mul(*base);
        }
        self.digits.push((name.to_string(), values));
        (self.choice / place % values, place.saturating_mul(values))
    }

    /// One of several meanings, by the round; `ways` is how many the variable had already.
    pub(super) fn one_of(&mut self, mut meanings: Vec<Vec<Word>>, ways: usize) -> Vec<Word> {
        let ways = ways.max(1);
        let widest = meanings.len().saturating_mul(ways);
        if meanings.len() > MAX_MEANINGS || widest > MAX_WALK_ROUNDS {
            self.doubt("a list with more elements than can be followed");
        }
        self.widest = self.widest.max(widest);
        let at = (self.choice / ways).checked_rem(meanings.len()).unwrap_or(0);
        if at < meanings.len() { meanings.swap_remove(at) } else { Vec::new() }
    }

    /// A word that zsh takes for the place of a program: `=ls`.
    pub(super) fn equals(&mut self, source: &str) {
        let program = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if source.strip_prefix('=').is_some_and(program) {
            self.doubt("a word that shells read differently");
        }
    }
}

/// The meanings of a list's element: what bash takes, then every other element, and all of them where a shell may take all.
pub(super) fn meanings(list: &[Word], exact: Word, whole: bool) -> Vec<Vec<Word>> {
    let mut meanings = vec![vec![exact]];
    for element in list {
        if !meanings.iter().any(|known| known.first() == Some(element)) {
            meanings.push(vec![element.clone()]);
        }
    }
    if whole && list.len() > 1 {
        meanings.push(list.to_vec());
    }
    meanings
}
