//! The commitment and its parts.

use marvin_base::signature;
use marvin_tools::command::TestSeal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Seconds that an assertion has, unless it says otherwise.
pub const TIMEOUT: u64 = 120;
/// The longest that an assertion may have: a day.
pub const MAX_TIMEOUT_SECS: u64 = 86_400;

/// One thing that must hold before work is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commitment {
    /// Never changes.
    pub id: String,
    /// What it means, for people.
    #[serde(default)]
    pub description: String,
    pub kind: Kind,
    /// See [`super::assertion`].
    pub assertion: String,
    #[serde(default = "timeout")]
    pub timeout_s: u64,
    #[serde(default)]
    pub source: Source,
    /// Files that must stay as they were when it was added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracles: Vec<Oracle>,
    /// Paths of files that steer the tests and that the agent may change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_change: Vec<String>,
    /// What steered the tests when it was added, for `tests_pass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<TestSeal>,
    #[serde(default)]
    pub status: Status,
    /// Why it has this status, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Output of the last check, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Unknown keys, kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn timeout() -> u64 {
    TIMEOUT
}

/// How a commitment is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "KindChoice", description = "How a commitment is verified, for the schema.")]
pub enum Kind {
    /// A command line that must end with exit code 0.
    Shell,
    /// A file or directory that must be there.
    FileExists,
    /// A file that must hold a text.
    FileContains,
    /// A value in a JSON file that must be equal to another.
    JsonEquals,
    /// Tests of which at least one must run and none may fail.
    TestsPass,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::Shell, Kind::FileExists, Kind::FileContains, Kind::JsonEquals, Kind::TestsPass];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Shell => "shell",
            Kind::FileExists => "file_exists",
            Kind::FileContains => "file_contains",
            Kind::JsonEquals => "json_equals",
            Kind::TestsPass => "tests_pass",
        }
    }
}

/// Who added a commitment. An agent cannot drop any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The parent of the work: a person, or the agent above.
    #[default]
    Parent,
    Agent,
}

/// Status of a commitment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not verified yet, or not since it changed.
    #[default]
    Pending,
    /// Being verified; found after a crash, it means nothing.
    Verifying,
    Passed,
    Failed,
    /// Whether it holds could not be found out; never a pass.
    CouldNotRun,
}

impl Status {
    /// Word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Verifying => "verifying",
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::CouldNotRun => "could_not_run",
        }
    }

    /// Words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Status::CouldNotRun => "could not run",
            other => other.word(),
        }
    }

    /// The sign in documents.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Status::Pending => "⏳",
            Status::Verifying => "🔄",
            Status::Passed => "✅",
            Status::Failed => "❌",
            Status::CouldNotRun => "⚠️",
        }
    }
}

/// A file or directory that an assertion judges by, and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oracle {
    /// Relative to the project.
    pub path: String,
    /// The SHA-256 of its content.
    pub sha256: String,
}

impl Commitment {
    /// Its description, or the assertion where it has none.
    #[must_use]
    pub fn title(&self) -> String {
        if self.description.trim().is_empty() { self.whole() } else { self.description.clone() }
    }

    /// `KIND: ASSERTION`
    #[must_use]
    pub fn whole(&self) -> String {
        format!("{}: {}", self.kind.word(), self.assertion)
    }

    /// Hash of what is verified, and how.
    #[must_use]
    pub fn definition(&self) -> String {
        // Commitments of earlier versions have no seal, and keep their hash.
        signature::hash(&Definition { seal: self.seal.as_ref(), ..self.promise() })
    }

    /// Whether another asserts the same; the seals may differ.
    #[must_use]
    pub fn is_same_promise(&self, other: &Commitment) -> bool {
        self.promise() == other.promise()
    }

    fn promise(&self) -> Definition<'_> {
        Definition {
            kind: self.kind,
            assertion: &self.assertion,
            timeout_s: self.timeout_s,
            source: self.source,
            oracles: &self.oracles,
            may_change: &self.may_change,
            seal: None,
        }
    }
}

/// Fields that define what a commitment verifies.
#[derive(PartialEq, Serialize)]
struct Definition<'a> {
    kind: Kind,
    assertion: &'a str,
    timeout_s: u64,
    source: Source,
    oracles: &'a [Oracle],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    may_change: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<&'a TestSeal>,
}
