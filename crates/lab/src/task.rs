//! The tasks that are packed into the binary. A task is a directory:
//!
//! | file | content |
//! |---|---|
//! | `task.json` | [`Facts`] |
//! | `task.md` | the text for the solver |
//! | `starter/` | the initial workspace, with visible tests in `tests/` |
//! | `hidden/` | acceptance tests and `probe.py`, only for the judge |
//! | `solution/` | a reference solution, for the oracle |
//! | `recordings/RUNNER.jsonl` | the replies of the mock for a runner |

use crate::error::LabError;
use flate2::read::GzDecoder;
use marvin_base::settings::nearest_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;

static PACK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tasks.pack.gz"));

/// `task.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The name of its directory.
    pub id: String,
    pub title: String,
    /// One sentence.
    pub description: String,
    /// `debugging`, `refactor`, `algorithms`, `concurrency`, `stateful`, `parsing`, `performance`.
    pub category: String,
    /// 1 (easy) to 5.
    pub difficulty: u8,
    /// The graded files: a path, or all of one kind in a directory (`shop/*.py`).
    pub files: Vec<String>,
    /// Criteria of the hidden tests with their weights; the name of a test begins with its criterion.
    pub criteria: BTreeMap<String, f64>,
    /// The number of hidden tests; those that were not run have failed.
    pub hidden_tests: u64,
}

/// One task.
#[derive(Debug, Clone)]
pub struct Task {
    pub facts: Facts,
    /// The text for the solver.
    pub text: String,
    /// Every other file, by its path in the task directory.
    files: BTreeMap<String, String>,
}

impl Task {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// The files of a directory of the task, by relative path.
    pub fn directory<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.files.iter().filter_map(move |(path, text)| {
            Some((path.strip_prefix(name)?.strip_prefix('/')?, text.as_str()))
        })
    }

    /// The replies of the mock for a runner.
    #[must_use]
    pub fn recording(&self, runner: &str) -> Option<&str> {
        self.files.get(&format!("recordings/{runner}.jsonl")).map(String::as_str)
    }

    /// The criterion of a hidden test.
    #[must_use]
    pub fn criterion(&self, test: &str) -> Option<&str> {
        let name = test.strip_prefix("test_")?;
        self.facts.criteria.keys().map(String::as_str).find(|criterion| {
            name.strip_prefix(criterion).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '[']))
        })
    }
}

/// Every task, by name.
///
/// # Errors
/// When one is damaged.
pub fn all() -> Result<BTreeMap<String, Task>, LabError> {
    let mut directories: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in unpacked() {
        if let Some((task, inner)) = path.split_once('/') {
            directories.entry(task.to_string()).or_default().insert(inner.to_string(), text);
        }
    }
    let task = |(id, mut files): (String, BTreeMap<String, String>)| {
        let damaged = |why: String| LabError::Damaged(id.clone(), why);
        let facts = files.remove("task.json").ok_or_else(|| damaged("it has no task.json".into()))?;
        let facts: Facts = serde_json::from_str(&facts).map_err(|error| damaged(error.to_string()))?;
        let text = files.remove("task.md").ok_or_else(|| damaged("it has no task.md".into()))?;
        Ok((id.clone(), Task { facts, text, files }))
    };
    directories.into_iter().map(task).collect()
}

/// The tasks with these names in alphabetical order; all without names.
///
/// # Errors
/// When a name is unknown.
pub fn find(names: &[String]) -> Result<Vec<Task>, LabError> {
    let mut all = all()?;
    if names.is_empty() {
        return Ok(all.into_values().collect());
    }
    for name in names {
        if !all.contains_key(name) {
            let near = nearest_of(name, all.keys().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(LabError::NoTask { name: marvin_base::truncate::line(name, 60), near });
        }
    }
    all.retain(|name, _| names.contains(name));
    Ok(all.into_values().collect())
}

/// The files of the pack, as (path, text).
fn unpacked() -> Vec<(String, String)> {
    let mut bytes = Vec::new();
    // A broken pack is a broken build; a test reads every task.
    GzDecoder::new(PACK).read_to_end(&mut bytes).ok();
    let mut rest = bytes.as_slice();
    let mut part = || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        String::from_utf8(text.to_vec()).ok()
    };
    let mut files = Vec::new();
    while let (Some(path), Some(text)) = (part(), part()) {
        files.push((path, text));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_complete() {
        let tasks = all().unwrap();
        assert_eq!(tasks.len(), 12);
        for (id, task) in &tasks {
            assert_eq!(id, task.id());
            let sum: f64 = task.facts.criteria.values().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{id}: the weights are {sum} together");
            let names = |directory: &str| {
                task.directory(directory).map(|(path, _)| path.to_string()).collect::<Vec<_>>()
            };
            assert!(names("starter").iter().any(|path| path.starts_with("tests/test_")), "{id}");
            assert!(names("hidden").contains(&"probe.py".to_string()), "{id}");
            assert!(!names("solution").is_empty(), "{id}");
            assert!(task.text.contains("Only the standard library"), "{id}");
            // What is graded is in the starter, or is named in the text.
            for file in task.facts.files.iter().filter(|file| !file.contains('*')) {
                assert!(
                    names("solution").contains(file) && task.text.contains(file.as_str()),
                    "{id}: {file}"
                );
            }
            let hidden: String = task.directory("hidden").map(|(_, text)| text).collect();
            for line in hidden.lines().filter_map(|line| line.strip_prefix("def test_")) {
                let name = format!("test_{}", line.split('(').next().unwrap());
                assert!(task.criterion(&name).is_some(), "{id}: {name} belongs to no criterion");
            }
        }
    }

    #[test]
    fn hidden_tests_are_not_found_by_their_text() {
        let looked_for = b"def probe";
        assert!(!PACK.windows(looked_for.len()).any(|window| window == looked_for));
        let text: String = unpacked().into_iter().map(|(_, text)| text).collect();
        assert!(text.contains("def test_threads_meet_in_the_middle(probe"));
        assert!(!PACK.windows(9).any(|window| window == b"(probe, w"));
    }

    #[test]
    fn names_are_checked() {
        let error = find(&["lru-cash".to_string()]).unwrap_err().to_string();
        assert!(error.contains("did you mean `lru-cache`?"), "{error}");
        assert_eq!(find(&["lru-cache".into(), "lru-cache".into()]).unwrap().len(), 1);
        assert_eq!(find(&[]).unwrap().len(), 12);
    }
}
