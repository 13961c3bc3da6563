//! The answer that a hook may give a client about a line that the gate allows.
//!
//! A client runs commands without Marvin's sandbox, and an "allow" from a hook lifts the client's own question. So it takes more
//! than a verdict that allows: the line is of the closed class of [`crate::unread_code`], or rules of the person cover every
//! command that is not.

use super::rule::Kind;
use super::{Layer, Layers, Place, Rule, Ruling, file, form};
use crate::unread_code;
use crate::verdict::Decision;
use serde::Serialize;

/// The reason why a line may run in a client without a question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clearance {
    /// Nothing is known that would lift the client's own question.
    #[default]
    None,
    /// Every effect is known and harmless, and no code runs that has not been read.
    Harmless,
    /// Rules of the person cover it: the name of the first.
    Rule(String),
}

impl Layers {
    /// The clearance of a line, by the ruling on it.
    #[must_use]
    pub fn clearance(&self, line: &str, place: Place<'_>, ruling: &Ruling) -> Clearance {
        // A model's opinion is neither the person's word nor knowledge of what a line does.
        if ruling.verdict.decision != Decision::Allow || ruling.layer == Layer::Llm {
            return Clearance::None;
        }
        if unread_code::is_harmless(line, place.directory, place.grounds, &ruling.judgement) {
            return Clearance::Harmless;
        }
        self.rule_for_all(line, place, ruling).map_or(Clearance::None, Clearance::Rule)
    }

    /// The first rule, where every command of the line has one or is harmless by itself.
    fn rule_for_all(&self, line: &str, place: Place<'_>, ruling: &Ruling) -> Option<String> {
        let rules = self.last_read();
        if rules.allow.is_empty() && rules.learned.is_empty() {
            return None;
        }
        let forms = form::read(line, place.directory, place.grounds);
        let segments = &ruling.judgement.segments;
        if !forms.certain || !ruling.judgement.doubts.is_empty() || forms.commands.len() != segments.len() {
            return None;
        }
        let harmless = unread_code::harmless_commands(line, place.directory, place.grounds)
            .filter(|harmless| harmless.len() == segments.len())
            .unwrap_or_else(|| vec![false; segments.len()]);
        let mut found: Option<&Rule> = None;
        for ((form, segment), harmless) in forms.commands.iter().zip(segments).zip(harmless) {
            if harmless && segment.verdict.is_allowed() {
                continue;
            }
            let lists = rules.allow.iter().chain(&rules.learned);
            let counts = |rule: &&Rule| !segment.reads_secrets() || rule.kind == Kind::Exact;
            let rule = lists.filter_map(|list| file::permits(&list.set, form).filter(counts)).min()?;
            found = found.or(Some(rule));
        }
        found.map(|rule| rule.id.clone())
    }
}
