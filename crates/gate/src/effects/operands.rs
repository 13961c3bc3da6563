//! Operands of a command that are files, in every reading of its options.
//!
//! A row of `facts.toml` lists the flags with a value of all its programs together, so a flag of one program may hide an
//! operand of another. Where the options of a program are listed on their own, that reading counts too.
//!
//! Limit: a program without such a list is read by its row, and once more without the flags that mean the same everywhere.

use super::arguments::{Arguments, FlagNames};
use super::facts::{Facts, Words};
use super::{options, words};
use crate::shell::Word;

/// The flags of a row that take a value, without those that take none in any program.
struct UncommonFlags<'a>(&'a Words);

impl FlagNames for UncommonFlags<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names().filter(|name| !words::COMMON_OPTIONS.matches(name))
    }
}

/// The files among the words behind a program's name: by its row, and by its own options where that differs.
pub(super) fn readings(base: &str, words: &[Word], facts: &Facts) -> Vec<Vec<Word>> {
    let arguments = Arguments::new(words, &facts.values);
    let skip = if arguments.has(&facts.patterns) { 0 } else { facts.skip };
    let own = match options::operands(base, words) {
        Some(listed) => {
            let behind = words.iter().skip_while(|word| !word.is("--")).skip(1);
            let is_option = |word: &&Word| word.beginning().starts_with('-') && !word.is("-");
            listed.into_iter().filter(|word| !is_option(word)).chain(behind).cloned().collect()
        }
        None => Arguments::new(words, &UncommonFlags(&facts.values)).operands,
    };
    let mut readings: Vec<Vec<Word>> = Vec::new();
    for operands in [arguments.operands, own] {
        let files: Vec<Word> = operands.into_iter().skip(skip).collect();
        if !readings.contains(&files) {
            readings.push(files);
        }
    }
    readings
}

/// Every file that one of the readings has, once.
pub(super) fn files(base: &str, words: &[Word], facts: &Facts) -> Vec<Word> {
    let mut files: Vec<Word> = Vec::new();
    for word in readings(base, words, facts).into_iter().flatten() {
        if !files.contains(&word) {
            files.push(word);
        }
    }
    files
}
