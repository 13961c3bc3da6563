//! Findings of reviewers and testers: from the outputs of a report, or from lines in the seed's formats.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot stay.
    Critical,
    /// It should not stay.
    Major,
    /// It can stay.
    Minor,
}

impl Severity {
    fn find(word: &str) -> Option<Self> {
        let word = word.trim().trim_matches(['*', '`', '.', ',']).to_lowercase();
        [Severity::Critical, Severity::Major, Severity::Minor].into_iter().find(|one| one.to_string() == word)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Severity::Critical => "critical",
            Severity::Major => "major",
            Severity::Minor => "minor",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    /// `FILE:LINE`, or a document and its section.
    #[serde(default)]
    pub place: String,
    /// What is wrong, and how to fix it.
    pub text: String,
    /// How to reproduce it, in phase 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<Value>,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.is_empty() {
            true => write!(formatter, "{}: {}", self.severity, self.text),
            false => write!(formatter, "{} — {}: {}", self.severity, self.place, self.text),
        }
    }
}

/// A parsed review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub findings: Vec<Finding>,
    pub checked: Vec<String>,
}

/// Why a review cannot be used; the next attempt is told.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("its findings are invalid: {0}")]
    Invalid(#[from] serde_json::Error),
    #[error("the review is empty: it has no finding, and does not say what was checked")]
    Empty,
    #[error("it ended with {status}: {summary}")]
    Unsuccessful { status: String, summary: String },
}

/// Words of the seed's formats for a review without findings.
const PASSED: [&str; 4] = ["SPEC_VERIFIED", "REVIEW_CLEAN", "SPEC_CONFORMANT", "QA_CLEAN"];

/// The JSON Schema of a reviewer's outputs.
#[must_use]
pub fn schema(repro: bool) -> Value {
    let mut required = vec!["severity", "place", "text"];
    required.extend(repro.then_some("repro"));
    json!({
        "type": "object", "required": ["findings", "checked"],
        "properties": {
            "findings": {"type": "array", "maxItems": 50, "items": {
                "type": "object", "required": required,
                "properties": {
                    "severity": {"enum": ["critical", "major", "minor"]},
                    "place": {"type": "string"}, "text": {"type": "string", "minLength": 3},
                },
            }},
            "checked": {"type": "array", "items": {"type": "string"}},
        },
    })
}

/// Parses a review from its outputs, or from its text.
///
/// # Errors
/// When it has neither findings nor checks, or is invalid.
pub fn parse_review(outputs: &Map<String, Value>, text: &str) -> Result<Review, ReviewError> {
    let review = match outputs.get("findings") {
        Some(findings) => Review {
            findings: serde_json::from_value(findings.clone())?,
            checked: outputs
                .get("checked")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .filter(|line| !line.trim().is_empty())
                .map(str::to_string)
                .collect(),
        },
        None => parse_lines(text),
    };
    match review.findings.is_empty() && review.checked.is_empty() {
        true => Err(ReviewError::Empty),
        false => Ok(review),
    }
}

/// Parses lines: `SPEC_MISMATCH: a vs b — text` followed by `SEVERITY: word`, `SPEC_GAP: text`, `FILE:LINE — SEVERITY — text`,
/// and the words for a review without findings.
fn parse_lines(text: &str) -> Review {
    let mut review = Review::default();
    for line in text.lines().map(str::trim) {
        let line = line.trim_start_matches(['-', '*', ' ']);
        if let Some(word) = line.strip_prefix("SEVERITY:") {
            if let (Some(last), Some(severity)) = (review.findings.last_mut(), Severity::find(word)) {
                last.severity = severity;
            }
            continue;
        }
        let marked = ["SPEC_MISMATCH:", "SPEC_GAP:"].into_iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(rest) = marked {
            let (place, text) = rest.split_once('—').unwrap_or(("", rest));
            // Without a severity it is major.
            let (place, text) = (place.trim().to_string(), text.trim().to_string());
            review.findings.push(Finding { severity: Severity::Major, place, text, repro: None });
            continue;
        }
        let parts: Vec<&str> = line.splitn(3, '—').map(str::trim).collect();
        if let [place, severity, text] = parts.as_slice()
            && let Some(severity) = Severity::find(severity)
        {
            let (place, text) = ((*place).to_string(), (*text).to_string());
            review.findings.push(Finding { severity, place, text, repro: None });
            continue;
        }
        if PASSED.contains(&line) {
            review.checked.push(line.to_string());
        }
    }
    review
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn outputs_become_findings() {
        let outputs = map(
            &json!({"findings": [{"severity": "major", "place": "a.py:3", "text": "wrong"}], "checked": ["all"]}),
        );
        let review = parse_review(&outputs, "").unwrap();
        assert_eq!(review.findings[0].to_string(), "major — a.py:3: wrong");
        let odd = map(&json!({"findings": [{"severity": "terrible", "text": "x"}]}));
        assert!(parse_review(&odd, "").unwrap_err().to_string().contains("are invalid"));
    }

    #[test]
    fn the_formats_of_the_seed_are_parsed() {
        let text = "SPEC_MISMATCH: prompt:1 vs spec.md:2 — the flag is missing\nSEVERITY: critical\n\
                    a.py:7 — minor — a name\n- SPEC_GAP: no word on errors\nREVIEW_FAILED";
        let review = parse_review(&Map::new(), text).unwrap();
        let severities: Vec<Severity> = review.findings.iter().map(|finding| finding.severity).collect();
        assert_eq!(severities, [Severity::Critical, Severity::Minor, Severity::Major]);
        assert_eq!(review.findings[0].place, "prompt:1 vs spec.md:2");
        assert_eq!(parse_review(&Map::new(), "SPEC_VERIFIED").unwrap().findings, []);
    }

    #[test]
    fn an_empty_review_is_an_error() {
        for text in ["", "Looks good to me!", "I say: SPEC_VERIFIED, I think"] {
            assert!(matches!(parse_review(&Map::new(), text), Err(ReviewError::Empty)), "{text}");
        }
        assert!(parse_review(&map(&json!({"findings": [], "checked": [" "]})), "").is_err());
        assert!(parse_review(&map(&json!({"findings": [], "checked": ["R1"]})), "").is_ok());
    }
}
