//! The last layer: a model may be asked about what is still a question.
//!
//! The gate knows no models; a higher layer implements [`Evaluator`]. This module says what such an answer can do: turn a
//! question into an allow or a deny when it is sure enough, and nothing else. It is never asked about what is denied, and
//! an answer that did not come, came late or has not the right shape leaves the question a question.

use super::{Layer, Place, Ruling};
use crate::shell;
use crate::verdict::{Decision, Verdict};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;

/// Bytes of an answer that are read at all.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A question to a model. Everything in it is data: it may hold instructions that an agent or a stranger wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The line as it would be run.
    pub command: String,
    /// Each command of it, in words.
    pub commands: Vec<String>,
    /// Its directory: `workspace`, `inside` of it, or `elsewhere`.
    #[serde(rename = "folder")]
    pub directory: &'static str,
    /// The reason why it is a question.
    pub reason: String,
    /// The rule that says so.
    pub rule: String,
}

impl Question {
    /// The question about a line.
    #[must_use]
    pub fn new(line: &str, place: Place<'_>, ruling: &Ruling) -> Self {
        let (directory, workspace) = (shell::normal(place.directory), shell::normal(place.grounds.workspace));
        let below = directory.strip_prefix(&workspace).is_some_and(|rest| rest.starts_with('/'));
        let through = |segment: &crate::effects::SegmentJudgement| {
            let words = segment.through.iter().chain(&segment.words);
            words.map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        Question {
            command: line.to_string(),
            commands: ruling.judgement.segments.iter().map(through).collect(),
            directory: match (directory == workspace, below) {
                (true, _) => "workspace",
                (false, true) => "inside",
                (false, false) => "elsewhere",
            },
            reason: ruling.verdict.reason.clone(),
            rule: ruling.verdict.rule.clone(),
        }
    }
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opinion {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// Why.
    pub reasoning: String,
    /// Its confidence, from 0 to 1.
    pub confidence: f64,
    /// The things that it looked at.
    pub investigated: Vec<String>,
    /// The model.
    pub model: String,
    /// The cost of the answer, where that is known.
    pub cost_usd: Option<f64>,
    /// Its duration.
    pub duration_ms: u64,
    /// Whether it was given before.
    pub cached: bool,
}

/// On what terms a model is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Whether at all.
    pub enabled: bool,
    /// The time that an answer may take.
    pub timeout_ms: u64,
    /// The budget for the answers of one run.
    pub cost_usd: f64,
    /// The confidence that an answer must have.
    pub confidence: f64,
}

impl Terms {
    /// These terms after a `config.json` of the MARVEL shape. The person's own may say anything; a project's only makes
    /// them stricter. What cannot be read says nothing.
    #[must_use]
    pub fn after(mut self, text: &str, own: bool) -> Terms {
        let config: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let value = |key: &str| config.pointer(&format!("/marvel_evaluation/agent_evaluator/{key}"));
        let number = |key: &str| value(key)?.as_f64().filter(|number| *number >= 0.0);
        if let Some(enabled) = value("enabled").and_then(serde_json::Value::as_bool) {
            self.enabled = enabled && (own || self.enabled);
        }
        if let Some(timeout) = value("evaluation_timeout_ms").and_then(serde_json::Value::as_u64) {
            self.timeout_ms = if own { timeout } else { timeout.min(self.timeout_ms) };
        }
        if let Some(cost) = number("max_cumulative_cost_usd") {
            self.cost_usd = if own { cost } else { cost.min(self.cost_usd) };
        }
        if let Some(confidence) = number("confidence_auto_threshold") {
            self.confidence = if own { confidence } else { confidence.max(self.confidence) };
        }
        self
    }
}

/// An answer that will come.
pub type OpinionFuture<'a> = Pin<Box<dyn Future<Output = Result<Opinion, String>> + Send + 'a>>;

/// A model that can be asked. Its implementation keeps deadlines, cost, cache and redaction.
pub trait Evaluator: Send + Sync + std::fmt::Debug {
    /// Asks.
    fn evaluate<'a>(&'a self, question: &'a Question) -> OpinionFuture<'a>;

    /// The confidence that an answer must have to count.
    fn threshold(&self) -> f64;
}

/// The shape of an answer, for models that can be held to one.
#[must_use]
pub fn schema() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["decision", "reasoning", "confidence", "investigated"],
        "properties": {
            "decision": {"type": "string", "enum": ["allow", "ask", "deny"]},
            "reasoning": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "investigated": {"type": "array", "items": {"type": "string"}},
        },
    })
}

/// Reads an answer: one JSON object of the right shape and nothing around it.
///
/// # Errors
/// The fault in the answer.
pub fn read_answer(text: &str) -> Result<Opinion, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        decision: Decision,
        reasoning: String,
        confidence: f64,
        #[serde(default)]
        investigated: Vec<String>,
        /// Taken and not used: rules are not learned from a model.
        #[serde(default)]
        #[expect(dead_code, reason = "accepted and not used")]
        suggested_rule: Option<serde_json::Value>,
    }
    if text.len() > MAX_ANSWER_BYTES {
        return Err(format!("the answer is longer than {MAX_ANSWER_BYTES} bytes"));
    }
    let answer: Answer = serde_json::from_str(text.trim())
        .map_err(|error| format!("the answer has not the shape that was asked for: {error}"))?;
    if !(0.0..=1.0).contains(&answer.confidence) {
        return Err(format!("a confidence of {} is none", answer.confidence));
    }
    Ok(Opinion {
        decision: answer.decision,
        reasoning: answer.reasoning,
        confidence: answer.confidence,
        investigated: answer.investigated,
        model: String::new(),
        cost_usd: None,
        duration_ms: 0,
        cached: false,
    })
}

/// Turns an answer into a verdict on the question.
#[must_use]
pub fn settle(asked: &Verdict, answer: &Result<Opinion, String>, threshold: f64) -> (Verdict, Layer) {
    let still = |rule: &str, why: String| {
        Verdict::ask(rule, format!("{}; {why}", asked.reason), asked.how_to_fix.clone())
    };
    match answer {
        Err(why) => (still("evaluator.error", format!("the evaluator could not say: {why}")), Layer::Error),
        Ok(opinion) if opinion.decision == Decision::Ask => {
            (still("evaluator.ask", format!("the evaluator: {}", opinion.reasoning)), Layer::Llm)
        }
        // A number that is none is not sure either.
        Ok(opinion) if opinion.confidence.is_nan() || opinion.confidence < threshold => {
            let why = format!(
                "the evaluator would {} it, but is only {:.2} sure of that",
                opinion.decision.word(),
                opinion.confidence
            );
            (still("evaluator.unsure", why), Layer::Llm)
        }
        Ok(opinion) if opinion.decision == Decision::Allow => {
            (Verdict::allow("evaluator.allow", &opinion.reasoning), Layer::Llm)
        }
        Ok(opinion) => {
            (Verdict::deny("evaluator.deny", &opinion.reasoning, asked.how_to_fix.clone()), Layer::Llm)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(decision: &str, confidence: f64) -> Result<Opinion, String> {
        read_answer(&format!(
            r#"{{"decision":"{decision}","reasoning":"r","confidence":{confidence},"investigated":[]}}"#
        ))
    }

    #[test]
    fn only_a_sure_answer_counts() {
        let asked = Verdict::ask("x", "it is odd", "do otherwise");
        let settled = |answer| settle(&asked, &answer, 0.85).0.decision;
        assert_eq!(settled(opinion("allow", 0.9)), Decision::Allow);
        assert_eq!(settled(opinion("deny", 0.9)), Decision::Deny);
        assert_eq!(settled(opinion("ask", 1.0)), Decision::Ask);
        for unsure in ["allow", "deny"] {
            assert_eq!(settled(opinion(unsure, 0.84)), Decision::Ask);
        }
        let (verdict, layer) = settle(&asked, &Err("late".into()), 0.0);
        assert_eq!((verdict.decision, layer), (Decision::Ask, Layer::Error));
    }

    #[test]
    fn a_project_makes_the_terms_only_stricter() {
        let terms = Terms { enabled: false, timeout_ms: 1_000, cost_usd: 0.5, confidence: 0.85 };
        let loose = r#"{"marvel_evaluation": {"agent_evaluator": {"enabled": true, "evaluation_timeout_ms": 90000,
            "max_cumulative_cost_usd": 9, "confidence_auto_threshold": 0.1}}}"#;
        assert_eq!(terms.after(loose, false), terms);
        let own = terms.after(loose, true);
        assert_eq!((own.enabled, own.timeout_ms, own.cost_usd, own.confidence), (true, 90_000, 9.0, 0.1));
        let strict = r#"{"marvel_evaluation": {"agent_evaluator": {"enabled": false, "confidence_auto_threshold": 0.99}}}"#;
        let after = own.after(strict, false);
        assert_eq!((after.enabled, after.timeout_ms, after.confidence), (false, 90_000, 0.99));
        assert_eq!(terms.after("nonsense", true), terms);
    }

    #[test]
    fn an_answer_of_another_shape_is_none() {
        for text in [
            "",
            "allow",
            "```json\n{\"decision\":\"allow\",\"reasoning\":\"r\",\"confidence\":1}\n```",
            r#"{"decision":"allow","confidence":1}"#,
            r#"{"decision":"yes","reasoning":"r","confidence":1}"#,
            r#"{"decision":"ALLOW","reasoning":"r","confidence":1}"#,
            r#"{"decision":"allow","reasoning":"r","confidence":"1"}"#,
            r#"{"decision":"allow","reasoning":"r","confidence":1.5}"#,
            r#"{"decision":"allow","reasoning":"r","confidence":1,"also":2}"#,
            r#"{"decision":"deny","reasoning":"r","confidence":1}{"decision":"allow","reasoning":"r","confidence":1}"#,
        ] {
            assert!(read_answer(text).is_err(), "{text}");
        }
        assert!(opinion("allow", 0.5).is_ok());
    }
}
