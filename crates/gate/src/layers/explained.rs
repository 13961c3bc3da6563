//! A ruling as programs and pages read it.

use super::Ruling;
use crate::effects::SegmentJudgement;
use crate::verdict::Decision;
use serde_json::{Value, json};

impl Ruling {
    /// The line, its verdict, and every command in it with what it would do.
    #[must_use]
    pub fn explained(&self, line: &str) -> Value {
        let verdict = &self.verdict;
        let segment = |segment: &SegmentJudgement| {
            json!({
                "words": segment.words,
                "through": segment.through,
                "effects": segment.effects,
                "verdict": segment.verdict.decision.word(),
                "rule": segment.verdict.rule,
                "reason": segment.verdict.reason,
                "safer": segment.safer,
            })
        };
        json!({
            "command": line,
            "verdict": verdict.decision.word(),
            "layer": self.layer.word(),
            "rule": verdict.rule,
            "reason": verdict.reason,
            "how_to_fix": verdict.how_to_fix,
            "safer": self.safer(),
            "doubts": self.judgement.doubts,
            "segments": self.judgement.segments.iter().map(segment).collect::<Vec<_>>(),
        })
    }

    /// What could be run instead, where the line is stopped.
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
