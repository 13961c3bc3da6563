//! The record of skills in the state directory: registrations, trust, uses. Agents cannot write there.
//!
//! It only grows; the status of a skill is the fold of its entries. Entries are about a directory, not a name, so that a skill of
//! another place cannot take over the trust of one with the same name.

use super::skill::Origin;
use marvin_base::clock;
use marvin_base::layout::Layout;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_memory::lessons::health;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The directory of built-in skills in the record.
const BUILT_IN: &str = "built-in";

/// One line of the record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordEntry {
    pub timestamp: String,
    pub skill: String,
    /// The directory, or `built-in`; the name tells built-in skills apart.
    pub directory: String,
    #[serde(flatten)]
    pub event: SkillEvent,
}

/// An event in the life of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SkillEvent {
    /// Its tests passed outside the agent that built it.
    Registered(Registration),
    /// A person trusts exactly this content.
    Trusted {
        hash: String,
        by: String,
    },
    /// A person no longer trusts it.
    Distrusted {
        by: String,
    },
    Removed {
        by: String,
    },
    /// A turn that loaded it ended.
    Used {
        ok: bool,
    },
}

/// Provenance and proof of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Registration {
    pub hash: String,
    /// The run that built it.
    pub run: String,
    /// The run that showed the gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_run: Option<String>,
    pub justification: String,
    /// Tests that passed with it.
    pub tests_passed: u64,
    /// Whether they were seen to fail without its code.
    pub seen_red: bool,
    /// The lesson that names gap and benefit.
    pub lesson: String,
}

/// The person who trusted a skill, and the hash of what was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    pub by: String,
    pub hash: String,
}

/// Status of a skill according to the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SkillStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    #[serde(rename = "trust", skip_serializing_if = "Option::is_none")]
    pub trusted: Option<Trust>,
    /// Whether a person took the trust away.
    #[serde(skip)]
    pub is_distrusted: bool,
    /// Turns that loaded it, since it was registered or trusted.
    pub uses: u64,
    /// Those of them that failed.
    pub failures: u64,
    /// From 0 to 1, as for lessons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utility: Option<f64>,
    #[serde(skip)]
    last_use: Option<jiff::Timestamp>,
}

impl SkillStatus {
    /// The content that counts; any, where nothing was registered or trusted.
    #[must_use]
    pub fn hash(&self) -> Option<&str> {
        let trusted = self.trusted.as_ref().map(|trust| trust.hash.as_str());
        trusted.or(self.registration.as_ref().map(|registration| registration.hash.as_str()))
    }

    /// Whether it failed in use so often that no trust is left.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        health::is_useless(self.uses, self.utility)
    }

    /// Whether a person answers for it.
    #[must_use]
    pub fn is_trusted(&self, origin: Origin) -> bool {
        match origin {
            Origin::BuiltIn => true,
            _ if self.has_failed() || self.is_distrusted => false,
            Origin::User => true,
            Origin::Project | Origin::Agents | Origin::Claude => self.trusted.is_some(),
        }
    }

    /// Whether a person or its tests answer for it, and it lost neither in use.
    #[must_use]
    pub fn is_proved(&self, origin: Origin) -> bool {
        let is_registered = self.registration.is_some() && !self.has_failed() && !self.is_distrusted;
        is_registered || self.is_trusted(origin)
    }

    fn fold(&mut self, event: SkillEvent, timestamp: &str) {
        match event {
            SkillEvent::Registered(registration) => {
                *self = SkillStatus { registration: Some(registration), ..SkillStatus::default() };
            }
            SkillEvent::Trusted { hash, by } => {
                let registration = self.registration.take();
                *self =
                    SkillStatus { registration, trusted: Some(Trust { by, hash }), ..SkillStatus::default() };
            }
            SkillEvent::Distrusted { .. } => (self.trusted, self.is_distrusted) = (None, true),
            SkillEvent::Removed { .. } => *self = SkillStatus::default(),
            SkillEvent::Used { ok } => {
                let now = timestamp.parse().ok();
                let days = match (self.last_use, now) {
                    (Some(last), Some(now)) => {
                        jiff::Timestamp::duration_since(now, last).as_secs_f64() / 86_400.0
                    }
                    _ => 0.0,
                };
                let complaints = if ok { 0.0 } else { 1.0 };
                self.utility = Some(health::utility(self.utility, self.uses, days, 1, complaints));
                self.uses += 1;
                self.failures += u64::from(!ok);
                self.last_use = now.or(self.last_use);
            }
        }
    }
}

/// Statuses by the key of a skill.
pub(super) type Statuses = BTreeMap<String, SkillStatus>;

/// Reads the record. One that is broken trusts nothing, and says so.
pub(super) fn read(layout: &Layout) -> Result<Statuses, LedgerError> {
    let path = layout.skill_record();
    let mut statuses = Statuses::new();
    if !ledger::is_known(&path) {
        return Ok(statuses);
    }
    for entry in ledger::read_chained(&path)?.entries {
        // A line of a later version is left out.
        if let Ok(entry) = serde_json::from_value::<RecordEntry>(entry) {
            let key = match entry.directory.as_str() {
                BUILT_IN => key(&entry.skill, None),
                _ => entry.directory,
            };
            statuses.entry(key).or_default().fold(entry.event, &entry.timestamp);
        }
    }
    Ok(statuses)
}

/// Adds an event to the record.
///
/// # Errors
/// When it cannot be written; then it does not count.
pub fn append(
    layout: &Layout,
    redactor: &Arc<Redactor>,
    skill: &str,
    directory: Option<&Path>,
    event: SkillEvent,
) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open_shared_chained(&layout.skill_record(), Durability::Line, redactor.clone())?;
    let entry = RecordEntry {
        timestamp: clock::now_stamp(),
        skill: skill.to_string(),
        directory: directory
            .map_or_else(|| BUILT_IN.to_string(), |directory| directory.display().to_string()),
        event,
    };
    ledger.append(&entry).map(|_| ())
}

/// The key of a skill in [`Statuses`]: its directory, or the name of a built-in one.
pub(super) fn key(name: &str, directory: Option<&Path>) -> String {
    directory.map_or_else(|| format!("{BUILT_IN}/{name}"), |directory| directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_lost_by_failures_and_given_back_by_a_person() {
        let mut status = SkillStatus::default();
        let at = "2026-02-03T04:05:06.000Z";
        let trusted = |hash: &str| SkillEvent::Trusted { hash: hash.into(), by: "ann".into() };
        status.fold(SkillEvent::Registered(Registration { hash: "h".into(), ..Registration::default() }), at);
        assert!(!status.is_trusted(Origin::Project) && status.hash() == Some("h"));
        assert!(status.is_proved(Origin::Project));
        status.fold(trusted("i"), at);
        assert!(status.is_trusted(Origin::Project) && status.hash() == Some("i"));
        for use_number in 1..=5 {
            assert!(status.is_trusted(Origin::Project), "{use_number}");
            status.fold(SkillEvent::Used { ok: false }, at);
        }
        assert!(!status.is_trusted(Origin::Project) && !status.is_trusted(Origin::User));
        assert!(!status.is_proved(Origin::Project), "its tests do not answer for what failed in use");
        assert!(status.is_trusted(Origin::BuiltIn));
        status.fold(trusted("i"), at);
        assert!(status.is_trusted(Origin::Project));
        for ok in [true, true, false, true, false, false, true] {
            status.fold(SkillEvent::Used { ok }, at);
        }
        assert!(status.is_trusted(Origin::Project), "half of its uses worked: {status:?}");
        status.fold(SkillEvent::Distrusted { by: "ann".into() }, at);
        assert!(!status.is_trusted(Origin::User) && !status.is_proved(Origin::User));
    }
}
