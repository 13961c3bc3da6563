//! The no-progress rule: the same call with the same result, while nothing in the workspace changed, makes no progress.
//!
//! The second time the model is told so; the third time (a setting) the turn stops. Polling that returns something new is not a
//! loop, and neither is a test run after an edit. The files are compared only after a command, because the writes of other tools
//! are known.

use marvin_base::signature;
use marvin_gate::Touches;
use marvin_model::ToolCall;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Entries looked at when the workspace is compared; a larger workspace counts as changed only in its first part.
const MAX_WORKSPACE_ENTRIES: usize = 20_000;
/// Directories that change although no agent works in them.
const IGNORED: [&str; 6] = [".git", ".marvin", "target", "node_modules", ".venv", "__pycache__"];

/// Reaction to a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing.
    Made,
    /// Tell the model how often this happened.
    Repeated(usize),
    /// End the turn.
    Stuck(usize),
}

/// Beginning of the shell's note in a result.
const NOTE: &str = "\n[The shell notes: this is call number ";

/// Adds the shell's note about a repetition to a result.
#[must_use]
pub fn noted(mut result: String, times: usize) -> String {
    result.push_str(&format!(
        "{NOTE}{times} with the same arguments and the same result, and nothing in the workspace has changed. Change something: other arguments, another tool, or an answer.]"
    ));
    result
}

/// Splits the shell's note from a recorded result.
#[must_use]
pub fn unnoted(result: &str) -> (&str, Progress) {
    match result.split_once(NOTE) {
        None => (result, Progress::Made),
        Some((result, note)) => {
            let times = note.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(2);
            (result, Progress::Repeated(times))
        }
    }
}

/// Watches the calls of a turn.
#[derive(Debug, Default)]
pub struct Watch {
    limit: usize,
    seen: BTreeMap<String, Repetition>,
    now: Workspace,
}

/// State of the workspace, as far as it is known: writes of tools, and a fingerprint after the last command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Workspace {
    writes: u64,
    after_command: Option<String>,
}

#[derive(Debug)]
struct Repetition {
    times: usize,
    workspace: Workspace,
}

impl Watch {
    /// Watch that stops at `limit` repetitions.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Watch { limit: limit.max(1), seen: BTreeMap::new(), now: Workspace::default() }
    }

    /// Notes a call and its result. The files are compared only after a command.
    pub fn note(
        &mut self,
        call: &ToolCall,
        touches: Touches,
        called: (&str, bool),
        workspace: Option<&Path>,
    ) -> Progress {
        let (result, ok) = called;
        if touches.executes {
            self.now.after_command = workspace.map(fingerprint);
        } else if !touches.changes_nothing() && ok {
            self.now.writes += 1;
        }
        let key = signature::hash(&(&call.name, &call.arguments, result));
        let now = &self.now;
        let seen = self.seen.entry(key).or_insert_with(|| Repetition { times: 0, workspace: now.clone() });
        if seen.workspace != *now {
            *seen = Repetition { times: 0, workspace: now.clone() };
        }
        seen.times += 1;
        match seen.times {
            times if times >= self.limit => Progress::Stuck(times),
            1 => Progress::Made,
            times => Progress::Repeated(times),
        }
    }
}

/// A signature of names, sizes and times of the files of a directory.
#[must_use]
pub fn fingerprint(directory: &Path) -> String {
    let mut facts = Vec::new();
    let mut directories = vec![directory.to_path_buf()];
    while let Some(next) = directories.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            if facts.len() >= MAX_WORKSPACE_ENTRIES {
                break;
            }
            let name = entry.file_name();
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                if !IGNORED.iter().any(|ignored| name.as_os_str() == *ignored) {
                    directories.push(entry.path());
                }
                continue;
            }
            let modified = metadata
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |time| time.as_nanos());
            facts.push(format!("{} {} {modified}", entry.path().display(), metadata.len()));
        }
    }
    facts.sort_unstable();
    signature::hash_bytes(facts.join("\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_model::Arguments;
    use serde_json::json;

    fn call(command: &str) -> ToolCall {
        ToolCall {
            id: "x".into(),
            name: "run_command".into(),
            arguments: Arguments::from_value(json!({ "command": command })),
            opaque: None,
        }
    }

    #[test]
    fn a_repetition_is_noted_then_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let mut watch = Watch::new(3);
        let mut note = |command: &str, result: &str| {
            watch.note(&call(command), Touches::EXECUTES, (result, true), Some(directory.path()))
        };
        assert_eq!(note("cargo test", "1 failed"), Progress::Made);
        assert_eq!(note("cargo test", "1 failed"), Progress::Repeated(2));
        assert_eq!(note("cargo test", "2 failed"), Progress::Made);
        assert_eq!(note("cargo test", "1 failed"), Progress::Stuck(3));
    }

    #[test]
    fn a_changed_workspace_resets_the_count() {
        let directory = tempfile::tempdir().unwrap();
        let mut watch = Watch::new(3);
        for round in 0..6 {
            fs::write(directory.path().join("a.txt"), "x".repeat(round)).unwrap();
            let progress = watch.note(&call("t"), Touches::EXECUTES, ("same", true), Some(directory.path()));
            assert_eq!(progress, Progress::Made, "round {round}");
        }
        // What a tool wrote is known without looking.
        let look = |watch: &mut Watch| watch.note(&call("look"), Touches::READS, ("same", true), None);
        assert_eq!(look(&mut watch), Progress::Made);
        watch.note(&call("write"), Touches::WRITES, ("written", true), None);
        assert_eq!(look(&mut watch), Progress::Made);
        watch.note(&call("write"), Touches::WRITES, ("refused", false), None);
        assert_eq!(look(&mut watch), Progress::Repeated(2));
        // Records of ours do not count as a change.
        fs::create_dir(directory.path().join(".marvin")).unwrap();
        let before = fingerprint(directory.path());
        fs::write(directory.path().join(".marvin/trace.jsonl"), "x").unwrap();
        assert_eq!(before, fingerprint(directory.path()));
    }

    #[test]
    fn the_shells_note_is_split_off_again() {
        assert_eq!(unnoted(&noted("result".into(), 4)), ("result", Progress::Repeated(4)));
        assert_eq!(unnoted("result"), ("result", Progress::Made));
    }
}
