//! Comparisons: `diff` and `cmp` of two different things.

use super::command::Call;
use super::files::is_same_content;
use super::program::{Input, Outcome, Output};
use super::table::Row;
use super::word::Operand;
use super::{AssertionRefusal, Checker};
use brush_parser::ast::{Command, CompoundList, Pipeline};

/// One side of a comparison.
#[derive(Debug)]
struct Side {
    /// It does not come from the line itself.
    is_work: bool,
    sources: Vec<String>,
    /// Commands print it.
    is_stream: bool,
    text: String,
}

impl Checker {
    /// Checks a comparison.
    pub(super) fn compare(
        &mut self,
        row: &Row,
        call: &Call,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        let arguments = row.arguments(&call.words, &call.part)?;
        let [one, other] = arguments.operands.as_slice() else {
            return Err(AssertionRefusal::beyond(&call.part, "does not compare two things"));
        };
        let (one, other) = (self.side(one, call, input)?, self.side(other, call, input)?);
        let hint = "compare what a program of the project wrote with what is expected";
        if one.text == other.text || is_same_content(self, &one.sources, &other.sources) {
            return Err(AssertionRefusal::new(&call.part, "compares a thing with itself", hint));
        }
        if !one.is_work && !other.is_work {
            return Err(AssertionRefusal::new(&call.part, "compares what the line itself has written", hint));
        }
        if one.is_stream && other.is_stream {
            let reason = "compares two outputs, which may both be empty or of the same program";
            return Err(AssertionRefusal::new(&call.part, reason, hint));
        }
        let reads_input = one.text == "-" || other.text == "-";
        Ok(Outcome { checks: true, takes_input: reads_input, output: Output::Work, ..Outcome::default() })
    }

    fn side(&mut self, operand: &Operand, call: &Call, input: &Input) -> Result<Side, AssertionRefusal> {
        if let Some(list) = operand.list() {
            let outcome = self.stream(list, operand.source())?;
            let is_work = matches!(outcome.output, Output::Work | Output::Findings);
            let sources = outcome.sources;
            return Ok(Side { is_work, sources, is_stream: true, text: operand.source().to_string() });
        }
        let Some(text) = operand.literal() else {
            return Err(AssertionRefusal::beyond(operand.source(), "is not a file that is compared"));
        };
        if text == "-" {
            let is_work = matches!(input.output, Output::Work | Output::Findings);
            if input.output == Output::Nothing {
                return Err(AssertionRefusal::beyond(&call.part, "gets nothing to compare"));
            }
            return Ok(Side { is_work, sources: input.sources.clone(), is_stream: false, text });
        }
        let path = self.work_path(&text)?;
        let is_work = self.written_by_line(&path).is_none_or(|(_, file)| !file.sources.is_empty());
        Ok(Side { is_work, sources: vec![path.clone()], is_stream: false, text: path })
    }

    /// The commands of a process substitution.
    fn stream(&mut self, list: &CompoundList, part: &str) -> Result<Outcome, AssertionRefusal> {
        let [item] = list.0.as_slice() else {
            return Err(AssertionRefusal::beyond(part, "is more than one pipeline"));
        };
        if !item.0.additional.is_empty() {
            return Err(AssertionRefusal::beyond(part, "is more than one pipeline"));
        }
        self.nested(part, |checker| checker.printed(&item.0.first, part))
    }

    /// A pipeline of simple commands whose output is used.
    pub(super) fn printed(&mut self, pipeline: &Pipeline, part: &str) -> Result<Outcome, AssertionRefusal> {
        let is_plain = |command: &Command| matches!(command, Command::Simple(_));
        if pipeline.bang || pipeline.timed.is_some() || !pipeline.seq.iter().all(is_plain) {
            return Err(AssertionRefusal::beyond(part, "is not a pipeline of plain commands"));
        }
        let written = self.written.clone();
        let directory = self.directory.clone();
        let pipefail = std::mem::replace(&mut self.pipefail, true);
        let outcome = self.pipeline(pipeline);
        self.pipefail = pipefail;
        let outcome = outcome?;
        if outcome.is_redirected || self.written.len() != written.len() || self.directory != directory {
            return Err(AssertionRefusal::beyond(part, "writes somewhere else than to its output"));
        }
        Ok(outcome)
    }
}
