//! Lessons: what a failure taught. A lesson is a file, `memory/lessons/lesson-<uuid>.md`: one line of JSON with sorted keys, a line
//! `---`, then text for whoever reads it. Lessons are the record of runs and need no approval.

mod file;
mod store;

pub use store::Lessons;

use serde::{Deserialize, Serialize};

/// What is known of a lesson besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// `lesson-<uuid>`.
    pub id: String,
    /// When it was written, RFC 3339.
    pub timestamp: String,
    /// The task or the run that it belongs to.
    pub task_id: String,
    /// The step that failed.
    pub step_id: String,
    /// The stable name of the failure.
    pub failure_signature: String,
    /// The strategy that comes next.
    pub strategy_id: String,
    /// Words to find it by: task, component, tool.
    pub tags: Vec<String>,
    /// The part of the work that it is about: a worker, a module, a tool.
    pub component: String,
    /// Why it failed, as far as is known.
    pub root_cause_hypothesis: String,
    /// What is done differently now.
    pub strategy_change: String,
    /// What shows that it is different.
    pub evidence_of_novelty: String,
}

/// One lesson.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lesson {
    /// What is known of it.
    pub header: Header,
    /// Its text, Markdown.
    pub body: String,
}

/// What lessons are looked for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words, as a person or a worker says them; any text.
    pub text: String,
    /// Tags that broaden it at stage 2.
    pub tags: Vec<String>,
    /// The component that narrows it at stage 1.
    pub component: Option<String>,
    /// The failure that it is looked for at stage 3.
    pub failure_signature: Option<String>,
    /// 1 tight, 2 broader, 3 by failure.
    pub stage: u8,
    /// At most so many.
    pub limit: usize,
}

/// A lesson that was found, and why.
#[derive(Debug, Clone)]
pub struct LessonMatch {
    /// The lesson.
    pub lesson: Lesson,
    /// The stage that found it.
    pub stage: u8,
    /// Its rank: higher is nearer.
    pub score: f64,
}
