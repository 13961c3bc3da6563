//! Choices of a variable: the values that it may have on the paths of a line.

use super::value::{Taint, UnknownReason, Word};
use crate::secrets::is_secret_variable;

/// Choices of a variable that are followed.
pub(super) const MAX_CHOICES: usize = 8;

/// Adds the choices of another path; false where there are too many.
pub(super) fn add_choices(own: &mut Vec<Vec<Word>>, others: &[Vec<Word>]) -> bool {
    for choice in others {
        if !covers(own, choice) {
            own.push(choice.clone());
        }
    }
    let fits = own.len() <= MAX_CHOICES;
    own.truncate(MAX_CHOICES);
    fits
}

/// The value that stands for too many choices: whatever a file may hold.
pub(super) fn unknown_content(choices: &[Vec<Word>]) -> Word {
    let taint = choices.iter().flatten().fold(Taint::CONTENT, |sum, word| sum.and(word.taint()));
    Word::unknown(UnknownReason::Output, taint)
}

/// Is a value among some choices, or does one of these stand for it?
pub(super) fn covers(choices: &[Vec<Word>], value: &[Word]) -> bool {
    choices.iter().any(|choice| {
        if choice.as_slice() == value {
            return true;
        }
        let [wide] = choice.as_slice() else { return false };
        let taint = wide.taint();
        if !wide.is_unknown() || wide.pieces.len() != 1 {
            return false;
        }
        match wide.why() {
            Some(UnknownReason::Arithmetic) => {
                value.len() == 1 && value.iter().all(super::evaluated::is_numeric)
            }
            Some(why) if why.is_output() => {
                let held = |word: &Word| taint.and(word.taint().numeric(false)) == taint;
                taint.has(Taint::CONTENT) && !taint.has(Taint::NUMBER) && value.iter().all(held)
            }
            _ => false,
        }
    })
}

/// The value of a variable that one of the paths does not set.
pub(super) fn absent(name: &str) -> Word {
    // A name in lower case that is not set yet is hardly one of the environment.
    let own = !name.contains(|letter: char| letter.is_ascii_uppercase());
    let secret = if is_secret_variable(name) { Taint::SECRET } else { Taint::NONE };
    Word::unknown(UnknownReason::Variable, secret.numeric(own))
}
