//! Problems of a workflow specification, with place, step and hint.

use marvin_base::hint::HintLine;
use std::fmt;

const MAX_SHOWN_PROBLEMS: usize = 20;

/// Line and column in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: u64,
    /// In characters.
    pub column: u64,
}

impl Place {
    /// The place of a byte offset in a text.
    #[must_use]
    pub fn from_offset(text: &str, at: usize) -> Place {
        let before = text.get(..at).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
        Place { line, column }
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Set if the workflow was read from a file.
    pub place: Option<Place>,
    /// The id of the step that it is about.
    pub step: Option<String>,
    pub text: String,
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(place: Option<Place>, step: Option<&str>, text: impl Into<String>) -> Self {
        Problem { place, step: step.map(str::to_string), text: text.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Why a workflow cannot be used.
#[derive(Debug)]
pub struct SpecError {
    /// The file or other source.
    pub source_name: String,
    /// At least one, in the order of their places.
    pub problems: Vec<Problem>,
}

impl SpecError {
    pub(crate) fn new(source_name: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place);
        SpecError { source_name: source_name.to_string(), problems }
    }
}

impl std::error::Error for SpecError {}

impl fmt::Display for SpecError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(MAX_SHOWN_PROBLEMS).enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            formatter.write_str(&self.source_name)?;
            if let Some(place) = problem.place {
                write!(formatter, ":{}:{}", place.line, place.column)?;
            }
            formatter.write_str(": ")?;
            if let Some(step) = &problem.step {
                write!(formatter, "step `{step}`: ")?;
            }
            formatter.write_str(&problem.text)?;
            write!(formatter, "{}", HintLine(problem.hint.as_deref()))?;
        }
        match self.problems.len().saturating_sub(MAX_SHOWN_PROBLEMS) {
            0 => Ok(()),
            more => write!(formatter, "\n… and {more} more"),
        }
    }
}
