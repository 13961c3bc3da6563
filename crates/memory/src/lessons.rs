//! Lessons from failures.
//!
//! A lesson is a file, `memory/lessons/lesson-<uuid>.md`: one line of JSON with sorted keys, a line `---`, then Markdown.
//! Lessons are records of runs and need no approval.

mod file;
pub mod health;
mod store;

pub use store::Lessons;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// `lesson-<uuid>`.
    pub id: String,
    /// RFC 3339.
    pub timestamp: String,
    /// The task or the run.
    pub task_id: String,
    pub step_id: String,
    pub failure_signature: String,
    /// The next strategy.
    pub strategy_id: String,
    pub tags: Vec<String>,
    /// A worker, a module or a tool.
    pub component: String,
    pub root_cause_hypothesis: String,
    pub strategy_change: String,
    pub evidence_of_novelty: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    pub header: Header,
    /// Markdown.
    pub body: String,
}

#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Any text.
    pub text: String,
    /// Tags that broaden the query at stage 2.
    pub tags: Vec<String>,
    /// The component that narrows it at stage 1.
    pub component: Option<String>,
    /// The failure that stage 3 searches.
    pub failure_signature: Option<String>,
    /// 1 narrow, 2 broader, 3 by failure.
    pub stage: u8,
    pub limit: usize,
}

#[derive(Debug, Clone)]
pub struct LessonMatch {
    pub lesson: Lesson,
    /// The stage that found it.
    pub stage: u8,
    pub score: f64,
}
