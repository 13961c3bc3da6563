//! A ruling as programs and pages read it.

use super::Ruling;
use crate::effects::{Effect, SegmentJudgement};
use crate::verdict::Decision;
use serde::Serialize;
use serde_json::Value;

/// The line, its verdict, and every command in it with what it would do.
#[derive(Serialize)]
struct Explanation<'a> {
    command: &'a str,
    verdict: Decision,
    layer: &'static str,
    rule: &'a str,
    reason: &'a str,
    how_to_fix: &'a str,
    safer: Option<String>,
    doubts: &'a [String],
    segments: Vec<ExplainedSegment<'a>>,
}

#[derive(Serialize)]
struct ExplainedSegment<'a> {
    words: &'a [String],
    through: &'a [String],
    effects: Vec<ExplainedEffect<'a>>,
    verdict: Decision,
    rule: &'a str,
    reason: &'a str,
    safer: Option<&'a str>,
}

#[derive(Serialize)]
struct ExplainedEffect<'a> {
    #[serde(flatten)]
    effect: &'a Effect,
    /// The act in words, as in "would VERB TARGET".
    verb: &'static str,
}

impl<'a> From<&'a Effect> for ExplainedEffect<'a> {
    fn from(effect: &'a Effect) -> Self {
        ExplainedEffect { effect, verb: effect.act.verb() }
    }
}

impl<'a> From<&'a SegmentJudgement> for ExplainedSegment<'a> {
    fn from(segment: &'a SegmentJudgement) -> Self {
        ExplainedSegment {
            words: &segment.words,
            through: &segment.through,
            effects: segment.effects.iter().map(ExplainedEffect::from).collect(),
            verdict: segment.verdict.decision,
            rule: &segment.verdict.rule,
            reason: &segment.verdict.reason,
            safer: segment.safer.as_deref(),
        }
    }
}

impl Ruling {
    /// The ruling on a line as JSON shows it.
    #[must_use]
    pub fn explained(&self, line: &str) -> Value {
        let explanation = Explanation {
            command: line,
            verdict: self.verdict.decision,
            layer: self.layer.word(),
            rule: &self.verdict.rule,
            reason: &self.verdict.reason,
            how_to_fix: &self.verdict.how_to_fix,
            safer: self.safer(),
            doubts: &self.judgement.doubts,
            segments: self.judgement.segments.iter().map(ExplainedSegment::from).collect(),
        };
        serde_json::to_value(explanation).unwrap_or_default()
    }

    /// A command to run instead, where the line is stopped.
    #[must_use]
    pub fn safer(&self) -> Option<String> {
        if self.verdict.decision == Decision::Allow {
            return None;
        }
        let mut stopped =
            self.judgement.segments.iter().filter(|one| one.verdict.decision != Decision::Allow);
        stopped.find_map(|segment| segment.safer.clone())
    }
}
