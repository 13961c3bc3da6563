//! `read` and `mapfile`: what variables get from the input of a line.

use super::choices;
use super::run::InheritedIo;
use super::state::Shell;
use super::value::{Piece, Stream, Taint, UnknownReason, Word};

/// The usual value of `IFS`.
const BLANKS: &str = " \t\n";

impl Shell<'_> {
    /// `read`: every line of what is certain, as a loop would get it, else anything.
    pub(super) fn read(&mut self, words: &[Word], around: &InheritedIo) {
        let (options, operands) = short_options(words, "adinNptu");
        let array = options.iter().find(|(letter, _)| *letter == 'a').and_then(|(_, name)| name.clone());
        let mut names: Vec<String> = Vec::new();
        for word in array.iter().chain(operands) {
            self.check_name(word);
            names.extend(word.text().map(std::borrow::Cow::into_owned));
        }
        if names.is_empty() {
            names.push("REPLY".to_string());
        }
        let stream = around.input.clone().unwrap_or_else(|| Stream::unknown(Taint::NONE));
        let separators = self.separators();
        let raw = options.iter().any(|(letter, _)| *letter == 'r');
        let exact = options.iter().all(|(letter, _)| matches!(letter, 'a' | 'e' | 'p' | 'r' | 's'))
            && (separators == BLANKS || separators.is_empty() && names.len() == 1 && array.is_none());
        let whole = separators.is_empty();
        let text = stream.text.as_deref().filter(|text| exact && (raw || !text.contains('\\')));
        let lines: Option<Vec<Vec<Vec<Word>>>> = text.map(|text| {
            let lines: Vec<&str> = if text.is_empty() { vec![""] } else { text.lines().collect() };
            lines.into_iter().map(|line| fields(line, &names, array.is_some(), whole)).collect()
        });
        match lines.filter(|lines| lines.len() <= choices::MAX_CHOICES) {
            Some(lines) => {
                for (index, line) in lines.into_iter().enumerate() {
                    // Each line may be the last that is read.
                    self.perhaps += usize::from(index > 0);
                    for (name, values) in names.iter().zip(line) {
                        self.assign(name, values, false);
                    }
                    self.perhaps = self.perhaps.saturating_sub(usize::from(index > 0));
                }
            }
            None => {
                let known = stream.text.is_some();
                let taint = if known { stream.taint.and(Taint::CONTENT) } else { stream.taint };
                for name in names {
                    let splits = vec![Piece::Unknown { why: UnknownReason::Input, taint, splits: true }];
                    self.assign(&name, vec![Word { pieces: splits }], false);
                }
            }
        }
    }

    /// `mapfile`: lines become an array, and a callback runs as a command.
    pub(super) fn map_file(&mut self, words: &[Word], around: &InheritedIo) {
        let (options, operands) = short_options(words, "CcdnOsu");
        let mut exact = true;
        for (letter, value) in options {
            let value = value.unwrap_or_default();
            match letter {
                'C' => {
                    self.doubt("a command that runs for every line");
                    let text = self.source(std::slice::from_ref(&value));
                    self.script(&format!("{text} 0 \"$__line\""), &InheritedIo::default());
                }
                't' => {}
                _ => {
                    exact = false;
                    self.check_numbers(std::slice::from_ref(&value));
                }
            }
        }
        let mut name = "MAPFILE".to_string();
        if let Some(word) = operands.first() {
            self.check_name(word);
            if let Some(text) = word.text() {
                name = text.into_owned();
            }
        }
        let stream = around.input.clone().unwrap_or_else(|| Stream::unknown(Taint::NONE));
        let values = match stream.text.as_deref().filter(|_| exact) {
            Some(text) => text.lines().map(Word::known).collect(),
            None => {
                let known = stream.text.is_some();
                let taint = if known { stream.taint.and(Taint::CONTENT) } else { stream.taint };
                vec![Word::unknown(UnknownReason::Input, taint)]
            }
        };
        self.assign(&name, values, false);
    }
}

/// The values that a line gives to the names of `read`.
fn fields(line: &str, names: &[String], array: bool, whole: bool) -> Vec<Vec<Word>> {
    if whole {
        return vec![vec![Word::known(line)]];
    }
    let mut fields = line.split_whitespace();
    if array {
        return vec![fields.map(Word::known).collect()];
    }
    let last = names.len().saturating_sub(1);
    let value = |index| {
        if index == last {
            fields.by_ref().collect::<Vec<_>>().join(" ")
        } else {
            fields.next().unwrap_or_default().to_string()
        }
    };
    (0..names.len()).map(value).map(|text| vec![Word::known(text)]).collect()
}

/// Short options in groups, each with its value if it takes one, and the operands behind them.
pub(super) fn short_options<'w>(words: &'w [Word], takes: &str) -> (Vec<(char, Option<Word>)>, &'w [Word]) {
    let mut options = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let text = word.beginning();
        if word.is("--") {
            index += 1;
            break;
        }
        if !text.starts_with('-') || text.len() < 2 {
            break;
        }
        index += 1;
        for (at, letter) in text.char_indices().skip(1) {
            if !takes.contains(letter) {
                options.push((letter, None));
                continue;
            }
            let attached = word.without_start(at + letter.len_utf8());
            let value = if attached.pieces.is_empty() {
                index += 1;
                words.get(index - 1).cloned()
            } else {
                Some(attached)
            };
            options.push((letter, value));
            break;
        }
    }
    (options, words.get(index..).unwrap_or_default())
}
