//! The answer of the gate: allow, ask or deny, with a reason, the rule that decided, and what to do instead.

use serde::{Deserialize, Serialize};

/// The answer itself, in order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may happen.
    Allow,
    /// A person must say yes first.
    Ask,
    /// It may not happen.
    Deny,
}

impl Decision {
    /// The word that records use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

/// A decision with its reason. Every one is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// Why, in one sentence.
    pub reason: String,
    /// The name of the rule that decided.
    pub rule: String,
    /// The hint; empty when there is nothing to fix.
    pub how_to_fix: String,
}

impl Verdict {
    /// It may happen.
    pub fn allow(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Verdict {
            decision: Decision::Allow,
            reason: reason.into(),
            rule: rule.into(),
            how_to_fix: String::new(),
        }
    }

    /// A person must say yes first.
    pub fn ask(rule: impl Into<String>, reason: impl Into<String>, how_to_fix: impl Into<String>) -> Self {
        Verdict {
            decision: Decision::Ask,
            reason: reason.into(),
            rule: rule.into(),
            how_to_fix: how_to_fix.into(),
        }
    }

    /// It may not happen.
    pub fn deny(rule: impl Into<String>, reason: impl Into<String>, how_to_fix: impl Into<String>) -> Self {
        Verdict {
            decision: Decision::Deny,
            reason: reason.into(),
            rule: rule.into(),
            how_to_fix: how_to_fix.into(),
        }
    }

    /// May it happen?
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.decision == Decision::Allow
    }

    /// The stricter of two verdicts; of two equally strict ones, the first.
    #[must_use]
    pub fn strictest(self, other: Verdict) -> Verdict {
        if other.decision > self.decision { other } else { self }
    }

    /// Settles whether a person can be asked: where none can, a question is a refusal.
    #[must_use]
    pub fn settle(mut self, attended: bool) -> Verdict {
        if self.decision == Decision::Ask && !attended {
            self.decision = Decision::Deny;
            self.reason =
                format!("{}; this needs a person's approval, and there is none to ask", self.reason);
        }
        self
    }

    /// The verdict as the model reads it: what, why, and what to do instead.
    #[must_use]
    pub fn for_model(&self) -> String {
        let start = match self.decision {
            Decision::Allow => "allowed",
            Decision::Ask => "needs approval",
            Decision::Deny => "refused",
        };
        if self.how_to_fix.is_empty() {
            format!("{start}: {} [{}]", self.reason, self.rule)
        } else {
            format!("{start}: {} [{}]\n{}", self.reason, self.rule, self.how_to_fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_a_person_is_a_refusal() {
        let ask = Verdict::ask("r", "it is odd", "do it otherwise");
        assert_eq!(ask.clone().settle(true), ask);
        let settled = ask.settle(false);
        assert_eq!(settled.decision, Decision::Deny);
        assert!(settled.reason.contains("there is none to ask"), "{settled:?}");
        assert!(settled.for_model().contains("do it otherwise"));
    }

    #[test]
    fn the_stricter_verdict_stands_and_words_are_lowercase() {
        let allow = Verdict::allow("a", "fine");
        let deny = Verdict::deny("d", "no", "");
        assert_eq!(allow.clone().strictest(deny.clone()), deny);
        assert_eq!(deny.clone().strictest(allow), deny);
        assert_eq!(serde_json::to_value(&deny).unwrap()["decision"], "deny");
    }
}
