//! Words of an assertion: text, with at most one command substitution or variable as a whole operand.
//!
//! Everything that bash would make another text of (braces, tildes, arithmetic, `$'…'`, backquotes, parameters with
//! operators) is refused here, so that the rest of the module compares words as they stand.

use super::{AssertionRefusal, SCRIPT_HINT};
use crate::shell::bounds::guarded;
use brush_parser::ParserOptions;
use brush_parser::ast::CompoundList;
use brush_parser::word::{self, Parameter, ParameterExpr, WordPiece, WordPieceWithSource};

/// A piece of a word.
#[derive(Debug, Clone)]
enum Part {
    Text { text: String, quoted: bool },
    Substitution { script: String, quoted: bool },
    Variable { name: String, quoted: bool },
    Stream(Box<CompoundList>),
}

/// One word of a command.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    parts: Vec<Part>,
    source: String,
}

impl Operand {
    /// Parses the source of a word.
    pub(super) fn parse(source: &str) -> Result<Self, AssertionRefusal> {
        let pieces = guarded(|| word::parse(source, &ParserOptions::default()).ok());
        let Some(pieces) = pieces else {
            return Err(AssertionRefusal::new(source, "cannot be parsed as a word of shell", SCRIPT_HINT));
        };
        let mut parts = Vec::new();
        for piece in &pieces {
            push_piece(piece, false, source, &mut parts)?;
        }
        let operand = Operand { parts, source: source.to_string() };
        operand.refuse_expansion()?;
        Ok(operand)
    }

    /// A word that is known already.
    pub(super) fn known(text: &str) -> Self {
        Operand { parts: vec![Part::Text { text: text.into(), quoted: true }], source: text.into() }
    }

    /// A process substitution, `<(…)`.
    pub(super) fn stream(list: &CompoundList) -> Self {
        Operand { parts: vec![Part::Stream(Box::new(list.clone()))], source: format!("<({list})") }
    }

    fn refuse_expansion(&self) -> Result<(), AssertionRefusal> {
        let mut unquoted = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, quoted: false } => Some(text.as_str()),
            _ => None,
        });
        let expands = |text: &str| text.contains(['{', '}', '(', ')', '|', '<', '>']) && text != "{}";
        let is_home = |text: &str| text.starts_with('~') || text.contains("=~") || text.contains(":~");
        match unquoted.find(|text| expands(text) || is_home(text)) {
            Some(_) => {
                let reason = "is a word that bash expands to others";
                Err(AssertionRefusal::new(&self.source, reason, "write the words out, or quote them"))
            }
            None => Ok(()),
        }
    }

    /// As it stands in the line.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The text, with glob characters as they stand; none with a substitution or a variable in it.
    pub(super) fn text(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| if let Part::Text { text, .. } = part { Some(text.as_str()) } else { None })
            .collect()
    }

    /// The text of a word that bash leaves as it is.
    pub(super) fn literal(&self) -> Option<String> {
        if self.has_glob() { None } else { self.text() }
    }

    /// Whether file names may take the place of the word.
    pub(super) fn has_glob(&self) -> bool {
        let unquoted = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, quoted: false } => Some(text.as_str()),
            _ => None,
        });
        let unquoted: String = unquoted.collect();
        unquoted.contains(['*', '?']) || unquoted.contains('[') && unquoted.contains(']')
    }

    /// The script of a word that is nothing but one command substitution, and whether it is quoted.
    pub(super) fn substitution(&self) -> Option<(&str, bool)> {
        let mut found = None;
        for part in &self.parts {
            match part {
                Part::Substitution { script, quoted } if found.is_none() => {
                    found = Some((script.as_str(), *quoted));
                }
                Part::Text { text, quoted: true } if text.is_empty() => {}
                _ => return None,
            }
        }
        found
    }

    /// The commands of a process substitution.
    pub(super) fn list(&self) -> Option<&CompoundList> {
        match self.parts.as_slice() {
            [Part::Stream(list)] => Some(list),
            _ => None,
        }
    }

    /// The path behind `"$HOME/…"`.
    pub(super) fn home_path(&self) -> Option<&str> {
        let mut parts =
            self.parts.iter().filter(|part| !matches!(part, Part::Text { text, .. } if text.is_empty()));
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Part::Variable { name, quoted: true }), Some(Part::Text { text, quoted: true }), None)
                if name == "HOME" =>
            {
                text.strip_prefix('/')
            }
            _ => None,
        }
    }
}

fn push_piece(
    piece: &WordPieceWithSource,
    quoted: bool,
    source: &str,
    parts: &mut Vec<Part>,
) -> Result<(), AssertionRefusal> {
    let refuse = |reason: &str| Err(AssertionRefusal::new(source, reason, SCRIPT_HINT));
    match &piece.piece {
        WordPiece::Text(text) => parts.push(Part::Text { text: text.clone(), quoted }),
        WordPiece::SingleQuotedText(text) => parts.push(Part::Text { text: text.clone(), quoted: true }),
        WordPiece::EscapeSequence(text) => {
            let plain = text.strip_prefix('\\').unwrap_or(text);
            let is_kept = quoted && !plain.starts_with(['$', '`', '"', '\\', '\n']);
            let text = if plain == "\n" {
                ""
            } else if is_kept {
                text
            } else {
                plain
            };
            parts.push(Part::Text { text: text.to_string(), quoted: true });
        }
        WordPiece::DoubleQuotedSequence(inner) => {
            parts.push(Part::Text { text: String::new(), quoted: true });
            for piece in inner {
                push_piece(piece, true, source, parts)?;
            }
        }
        WordPiece::CommandSubstitution(script) => {
            parts.push(Part::Substitution { script: script.clone(), quoted });
        }
        WordPiece::ParameterExpansion(ParameterExpr::Parameter {
            parameter: Parameter::Named(name),
            indirect: false,
        }) => parts.push(Part::Variable { name: name.clone(), quoted }),
        WordPiece::ParameterExpansion(_) => return refuse("uses a parameter of the shell"),
        WordPiece::AnsiCQuotedText(_) | WordPiece::GettextDoubleQuotedSequence(_) => {
            return refuse("is quoted in a form that is not part of assertions");
        }
        WordPiece::TildeExpansion(_) => {
            return refuse("stands for a home directory, which is not part of the work");
        }
        WordPiece::BackquotedCommandSubstitution(_) => {
            return Err(AssertionRefusal::new(source, "is a substitution in backquotes", "write `$(…)`"));
        }
        WordPiece::ArithmeticExpression(_) => return refuse("is arithmetic"),
    }
    Ok(())
}
