//! Words, variables and streams, as far as they are known before anything runs.

use std::borrow::Cow;

/// The origin of a value that the parser could not compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taint(u8);

impl Taint {
    /// Nothing is known against it.
    pub const NONE: Taint = Taint(0);
    /// It came from the network.
    pub const NETWORK: Taint = Taint(1);
    /// It was read from a place of secrets, or is the environment.
    pub const SECRET: Taint = Taint(2);
    /// It came out of a decoder, so it was hidden.
    pub const DECODED: Taint = Taint(4);
    /// It consists of numbers, so evaluating it runs nothing. Unlike the others this is a merit: it holds only for all.
    pub const NUMBER: Taint = Taint(8);
    /// It is the content of a file, which says what its writer wants: options, or paths of anything.
    pub const CONTENT: Taint = Taint(16);
    /// It names a place of secrets, which a program that is given it would open.
    pub const SECRET_PLACE: Taint = Taint(32);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Taint) -> Taint {
        let merit = self.0 & other.0 & Taint::NUMBER.0;
        Taint((self.0 | other.0) & !Taint::NUMBER.0 | merit)
    }

    /// The same, with numbers or not.
    #[must_use]
    pub const fn numeric(self, numbers: bool) -> Taint {
        Taint(if numbers { self.0 | Taint::NUMBER.0 } else { self.0 & !Taint::NUMBER.0 })
    }

    /// Is this among them?
    #[must_use]
    pub const fn has(self, other: Taint) -> bool {
        self.0 & other.0 == other.0 && other.0 != 0
    }
}

/// The reason why a piece of a word is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownReason {
    /// A variable that the line does not set.
    Variable,
    /// The output of a command.
    Output,
    /// An argument of a script or function.
    Argument,
    /// Arithmetic over something unknown.
    Arithmetic,
    /// A line of input.
    Input,
    /// What a search found.
    Found,
    /// It could not be read, or a bound was met.
    Unreadable,
}

impl UnknownReason {
    /// Is it what some command prints, a search among them?
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, UnknownReason::Output | UnknownReason::Found)
    }
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that is certain.
    Known {
        /// The text.
        text: String,
        /// Whether it stood in quotes, so that `*` is only a star.
        quoted: bool,
    },
    /// Text that is not.
    Unknown {
        /// Why.
        why: UnknownReason,
        /// Its origin.
        taint: Taint,
        /// Whether it may be several words, or none.
        splits: bool,
    },
}

/// A word as a program would get it, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// Its pieces; neighbours that are known and quoted alike are one.
    pub pieces: Vec<Piece>,
}

impl Word {
    /// The word without its first bytes, which are certain.
    #[must_use]
    pub fn without_start(&self, bytes: usize) -> Word {
        let mut skip = bytes;
        let mut rest = Word::default();
        for piece in &self.pieces {
            match piece {
                Piece::Known { text, quoted } => {
                    let cut = skip.min(text.len());
                    skip -= cut;
                    if let Some(text) = text.get(cut..).filter(|text| !text.is_empty()) {
                        rest.push(text, *quoted);
                    }
                }
                unknown @ Piece::Unknown { .. } => rest.pieces.push(unknown.clone()),
            }
        }
        rest
    }

    /// A word that is certain.
    pub fn known(text: impl Into<String>) -> Self {
        Word { pieces: vec![Piece::Known { text: text.into(), quoted: true }] }
    }

    /// A word of which nothing is certain.
    #[must_use]
    pub fn unknown(why: UnknownReason, taint: Taint) -> Self {
        Word { pieces: vec![Piece::Unknown { why, taint, splits: false }] }
    }

    /// The entries of a list with a separator between them: directories of a search path, values of an option.
    #[must_use]
    pub fn entries(&self, separator: char) -> Vec<Word> {
        let mut entry = Word::default();
        let mut entries: Vec<Word> = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Known { text, quoted } => {
                    for (index, part) in text.split(separator).enumerate() {
                        if index > 0 {
                            entries.push(std::mem::take(&mut entry));
                        }
                        entry.push(part, *quoted);
                    }
                }
                unknown @ Piece::Unknown { .. } => entry.pieces.push(unknown.clone()),
            }
        }
        entries.push(entry);
        entries
    }

    /// Adds text.
    pub fn push(&mut self, text: &str, quoted: bool) {
        if let Some(Piece::Known { text: last, quoted: same }) = self.pieces.last_mut()
            && *same == quoted
        {
            last.push_str(text);
            return;
        }
        self.pieces.push(Piece::Known { text: text.to_string(), quoted });
    }

    /// The text, if all of it is certain.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self.pieces.as_slice() {
            [] => Some(Cow::Borrowed("")),
            [Piece::Known { text, .. }] => Some(Cow::Borrowed(text)),
            pieces => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Known { text, .. } => Some(text.as_str()),
                    Piece::Unknown { .. } => None,
                })
                .collect::<Option<String>>()
                .map(Cow::Owned),
        }
    }

    /// Is it exactly this text?
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text)
    }

    /// The certain text before the first unknown piece.
    #[must_use]
    pub fn beginning(&self) -> Cow<'_, str> {
        match self.pieces.as_slice() {
            [] | [Piece::Unknown { .. }, ..] => Cow::Borrowed(""),
            [Piece::Known { text, .. }] | [Piece::Known { text, .. }, Piece::Unknown { .. }, ..] => {
                Cow::Borrowed(text)
            }
            pieces => {
                let known = pieces.iter().map_while(|piece| match piece {
                    Piece::Known { text, .. } => Some(text.as_str()),
                    Piece::Unknown { .. } => None,
                });
                Cow::Owned(known.collect())
            }
        }
    }

    /// The certain text after the last unknown piece.
    #[must_use]
    pub fn end(&self) -> String {
        let after = self.pieces.iter().rposition(|piece| matches!(piece, Piece::Unknown { .. }));
        let tail = self.pieces.get(after.map_or(0, |at| at + 1)..).unwrap_or_default();
        tail.iter()
            .map(|piece| match piece {
                Piece::Known { text, .. } => text.as_str(),
                Piece::Unknown { .. } => "",
            })
            .collect()
    }

    /// The certain text behind the first unknown piece.
    #[must_use]
    pub fn after_unknown(&self) -> String {
        self.pieces
            .iter()
            .skip_while(|piece| matches!(piece, Piece::Known { .. }))
            .filter_map(|piece| match piece {
                Piece::Known { text, .. } => Some(text.as_str()),
                Piece::Unknown { .. } => None,
            })
            .collect()
    }

    /// The text with another in the place of every unknown piece.
    #[must_use]
    pub fn with_unknown_as(&self, other: &str) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Known { text, .. } => text.as_str(),
                Piece::Unknown { .. } => other,
            })
            .collect()
    }

    /// Is a piece of it what a command printed or what was read from an input, so that it was chosen elsewhere?
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Known { .. } => false,
            Piece::Unknown { why, taint, .. } => {
                let is_text = matches!(why, UnknownReason::Output | UnknownReason::Input);
                !taint.has(Taint::NUMBER) && (taint.has(Taint::CONTENT) || is_text)
            }
        })
    }

    /// The word as a path below this directory.
    #[must_use]
    pub fn joined(&self, word: &Word) -> Word {
        let mut path = self.clone();
        path.push("/", true);
        for piece in &word.pieces {
            match piece {
                Piece::Known { text, quoted } => path.push(text, *quoted),
                unknown @ Piece::Unknown { .. } => path.pieces.push(unknown.clone()),
            }
        }
        path
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        let one = |piece: &Piece| match piece {
            Piece::Known { text, .. } => text.len(),
            Piece::Unknown { .. } => 0,
        };
        size_of::<Word>() + self.pieces.iter().map(|piece| size_of::<Piece>() + one(piece)).sum::<usize>()
    }

    /// Is nothing of it certain?
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.text().is_none()
            && self.pieces.iter().all(|piece| match piece {
                Piece::Known { text, .. } => text.trim().is_empty(),
                Piece::Unknown { .. } => true,
            })
    }

    /// The origin of its unknown pieces.
    #[must_use]
    pub fn taint(&self) -> Taint {
        self.pieces.iter().fold(Taint::NONE, |sum, piece| match piece {
            Piece::Known { .. } => sum,
            Piece::Unknown { taint, .. } => sum.and(*taint),
        })
    }

    /// The reason why it is not certain, if it is not.
    #[must_use]
    pub fn why(&self) -> Option<UnknownReason> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Known { .. } => None,
            Piece::Unknown { why, .. } => Some(*why),
        })
    }

    /// May it be several words, or none?
    #[must_use]
    pub fn splits(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Unknown { splits: true, .. }))
    }

    /// Does the shell look for files that match it?
    #[must_use]
    pub fn globs(&self) -> bool {
        self.pieces.iter().any(
            |piece| matches!(piece, Piece::Known { text, quoted: false } if text.contains(['*', '?', '['])),
        )
    }

    /// For people: what is not certain stands as `…`.
    #[must_use]
    pub fn shown(&self) -> String {
        self.with_unknown_as("…")
    }
}

/// The content of a pipe, a substitution or a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stream {
    /// The text, if it is certain.
    pub text: Option<String>,
    /// Its origin.
    pub taint: Taint,
}

impl Stream {
    /// Text that is certain.
    pub fn known(text: impl Into<String>) -> Self {
        Stream { text: Some(text.into()), taint: Taint::NONE }
    }

    /// Text that is not.
    #[must_use]
    pub fn unknown(taint: Taint) -> Self {
        Stream { text: None, taint }
    }

    /// Nothing.
    #[must_use]
    pub fn empty() -> Self {
        Stream::known("")
    }

    /// Does it hold nothing but numbers?
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        match &self.text {
            Some(text) => text.chars().all(|char| char.is_ascii_digit() || " \t\n-".contains(char)),
            None => self.taint.has(Taint::NUMBER),
        }
    }

    /// This, then that.
    #[must_use]
    pub fn then(self, other: Stream) -> Stream {
        let numbers = self.is_numeric() && other.is_numeric();
        let text = match (self.text, other.text) {
            (Some(first), Some(second)) if first.len() + second.len() <= super::limits::MAX_TEXT_BYTES => {
                Some(first + &second)
            }
            _ => None,
        };
        Stream { text, taint: self.taint.and(other.taint).numeric(numbers) }
    }
}

/// Says where the output of a program comes from, by its name, its words and the directories that it may run in.
pub type Taints<'a> = dyn Fn(&str, &[Word], &[Word]) -> Taint + 'a;
