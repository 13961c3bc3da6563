//! Entries of the short-term memory, in a format that other programs read.

use jiff::Timestamp;
use marvin_base::{clock, truncate};
use serde::{Deserialize, Serialize};

const MAX_INTENT_CHARS: usize = 300;
const MAX_RESOLUTION_CHARS: usize = 600;
const MAX_QUESTION_CHARS: usize = 200;
const MAX_NAME_CHARS: usize = 120;
const MAX_OPEN_QUESTIONS: usize = 3;
const MAX_NAMES: usize = 10;
/// Further sessions of an entry are not counted.
const MAX_SESSIONS: usize = 16;

/// The trace of a turn: a few lines, not a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trace {
    pub intent: String,
    pub resolution: String,
    pub open_questions: Vec<String>,
    pub tools_used: Vec<String>,
    /// Names: files, people, cards.
    pub entities: Vec<String>,
}

impl Trace {
    /// The text of an entry, shortened to a limit; `None` where even the shortest form does not fit.
    #[must_use]
    pub fn text(&self, characters: usize) -> Option<String> {
        let lines = |lines: &[String], most: usize, longest: usize| -> Vec<String> {
            lines
                .iter()
                .map(|line| truncate::line(line, longest))
                .filter(|line| !line.is_empty())
                .take(most)
                .collect()
        };
        let mut trace = Trace {
            intent: truncate::line(&self.intent, MAX_INTENT_CHARS),
            resolution: truncate::line(&self.resolution, MAX_RESOLUTION_CHARS),
            open_questions: lines(&self.open_questions, MAX_OPEN_QUESTIONS, MAX_QUESTION_CHARS),
            tools_used: lines(&self.tools_used, MAX_NAMES, MAX_NAME_CHARS),
            entities: lines(&self.entities, MAX_NAMES, MAX_NAME_CHARS),
        };
        loop {
            let text = serde_json::to_string(&trace).ok()?;
            if text.chars().count() <= characters {
                return Some(text);
            }
            // The least important parts are removed first.
            if trace.entities.pop().is_none()
                && trace.tools_used.pop().is_none()
                && trace.open_questions.pop().is_none()
            {
                let half = trace.resolution.chars().count() / 2;
                if half == 0 {
                    return None;
                }
                trace.resolution = truncate::line(&trace.resolution, half);
            }
        }
    }
}

/// Whether an entry was proposed for the long-term memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promotion {
    #[default]
    None,
    Attempted,
    Approved,
    Rejected,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    pub created_at_utc: String,
    pub expires_at_utc: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_injected_at_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_accessed_utc: Option<String>,
    pub access_count: u64,
    pub sessions_seen: u64,
    /// The first sessions that used it.
    pub sessions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_session_id: Option<String>,
    /// From a turn that failed.
    pub error_tainted: bool,
    pub promotion_status: Promotion,
    /// The session and turn that wrote it.
    pub session_id: String,
    pub turn_number: u64,
}

fn hours(moment: Timestamp, since: &str) -> Option<i64> {
    let since: Timestamp = since.parse().ok()?;
    Some((moment.as_second() - since.as_second()).max(0) / 3600)
}

impl Metadata {
    pub(super) fn new(now: Timestamp, ttl_hours: i64, session_id: &str, turn_number: u64) -> Self {
        let end = Timestamp::from_second(now.as_second().saturating_add(ttl_hours.saturating_mul(3600)))
            .unwrap_or(now);
        Metadata {
            created_at_utc: clock::stamp(now),
            expires_at_utc: clock::stamp(end),
            session_id: session_id.to_string(),
            turn_number,
            ..Metadata::default()
        }
    }

    /// Whether the last injection is long enough ago.
    pub(super) fn is_injectable(&self, refresh_hours: i64, now: Timestamp) -> bool {
        let Some(last) = &self.last_injected_at_utc else { return true };
        hours(now, last).is_none_or(|passed| passed >= refresh_hours)
    }

    /// Records an injection, which is an access.
    pub(super) fn count_injection(&mut self, session_id: &str, now: Timestamp) {
        self.last_injected_at_utc = Some(clock::stamp(now));
        self.count_access(session_id, now);
    }

    pub(super) fn count_access(&mut self, session_id: &str, now: Timestamp) {
        self.last_accessed_utc = Some(clock::stamp(now));
        self.access_count += 1;
        if !self.sessions.iter().any(|known| known == session_id) && self.sessions.len() < MAX_SESSIONS {
            self.sessions.push(session_id.to_string());
        }
        self.sessions_seen = self.sessions_seen.max(self.sessions.len() as u64);
        self.last_session_id = Some(session_id.to_string());
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StmEntry {
    /// `stm_<uuid>`.
    pub id: String,
    /// The trace, as JSON text.
    pub text: String,
    #[serde(default)]
    pub metadata: Metadata,
}

impl StmEntry {
    #[must_use]
    pub fn created(&self) -> Option<Timestamp> {
        self.metadata.created_at_utc.parse().ok()
    }

    /// Whether it has expired, as every entry without a time of creation has.
    #[must_use]
    pub fn is_over(&self, ttl_hours: i64, now: Timestamp) -> bool {
        hours(now, &self.metadata.created_at_utc).is_none_or(|passed| passed >= ttl_hours)
    }

    /// The trace; a text that is not a trace becomes its intent.
    #[must_use]
    pub fn trace(&self) -> Trace {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|_| Trace { intent: self.text.clone(), ..Trace::default() })
    }

    /// The text that the index searches.
    #[must_use]
    pub fn searchable_text(&self) -> String {
        let trace = self.trace();
        let mut lines = vec![trace.intent, trace.resolution];
        lines.extend(trace.open_questions);
        lines.extend(trace.entities);
        lines.extend(trace.tools_used);
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }
}
