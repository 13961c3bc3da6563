//! What a commitment is.

use marvin_base::signature;
use marvin_tools::command::TestSeal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Seconds that an assertion has, unless it says otherwise.
pub const TIMEOUT: u64 = 120;
/// The longest that an assertion may have: a day.
pub const MAX_TIMEOUT_SECS: u64 = 86_400;

/// One thing that must hold before work is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commitment {
    /// Its name, which never changes.
    pub id: String,
    /// What it means, for people.
    #[serde(default)]
    pub description: String,
    /// How it is verified.
    pub kind: Kind,
    /// What is verified; see [`super::assertion`].
    pub assertion: String,
    /// Seconds that it has.
    #[serde(default = "timeout")]
    pub timeout_s: u64,
    /// Who promised it.
    #[serde(default)]
    pub source: Source,
    /// Files that must stay as they were when it was added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oracles: Vec<Oracle>,
    /// Paths of files that steer the tests and that the agent may change all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_change: Vec<String>,
    /// What steered the tests when it was added, for `tests_pass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<TestSeal>,
    /// How it stands.
    #[serde(default)]
    pub status: Status,
    /// Why it stands so, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was seen, within bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// How long the last verification took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// When it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Keys of others, kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn timeout() -> u64 {
    TIMEOUT
}

/// How a commitment is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Every kind.
    pub const ALL: [Kind; 5] =
        [Kind::Shell, Kind::FileExists, Kind::FileContains, Kind::JsonEquals, Kind::TestsPass];

    /// As it is written.
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

/// Who promised it. Only the parent may take it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Whoever gave the work: a person, or the agent above.
    #[default]
    Parent,
    /// The agent itself.
    Agent,
}

/// How a commitment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not verified yet, or not since it changed.
    #[default]
    Pending,
    /// Being verified; found after a crash, it means nothing.
    Verifying,
    /// It holds.
    Passed,
    /// It does not hold.
    Failed,
    /// Whether it holds could not be found out; never a pass.
    CouldNotRun,
}

impl Status {
    /// As it is written.
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

    /// As people read it.
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
    /// What it means, or the assertion where nobody said.
    #[must_use]
    pub fn title(&self) -> String {
        if self.description.trim().is_empty() { self.whole() } else { self.description.clone() }
    }

    /// `KIND: ASSERTION`
    #[must_use]
    pub fn whole(&self) -> String {
        format!("{}: {}", self.kind.word(), self.assertion)
    }

    /// A hash of everything that says what is verified, and how.
    #[must_use]
    pub fn definition(&self) -> String {
        let mut definition = self.promise();
        // Commitments of earlier versions have none, and keep their hash.
        if let (Some(seal), Value::Object(map)) = (&self.seal, &mut definition) {
            map.insert("seal".into(), json!(seal));
        }
        signature::hash(&definition)
    }

    /// Whether another promises the same, whatever the tests were steered by when each was added.
    #[must_use]
    pub fn is_same_promise(&self, other: &Commitment) -> bool {
        self.promise() == other.promise()
    }

    fn promise(&self) -> Value {
        let mut promise = json!({
            "kind": self.kind, "assertion": self.assertion, "timeout_s": self.timeout_s, "source": self.source,
            "oracles": self.oracles,
        });
        if let (false, Value::Object(map)) = (self.may_change.is_empty(), &mut promise) {
            map.insert("may_change".into(), json!(self.may_change));
        }
        promise
    }
}
