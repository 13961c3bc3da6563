//! Turns that have begun and are not in the log yet.
//!
//! Each has a file that its process holds locked. When the process dies, the next one logs the turn as interrupted and
//! finishes the commit of its state.
//!
//! Limits: the files are in the project. A program that writes one there can add a line to the log of turns, which it
//! could write to directly. Nothing is decided by it.

use crate::error::MemoryError;
use crate::memory::Memory;
use crate::state::ConversationState;
use crate::turns::{Turn, TurnEntry, Turns};
use marvin_base::clock;
use marvin_base::files::{self, Links};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

const MAX_TURN_FILE_BYTES: u64 = 4 * 1024 * 1024;
const MAX_TURN_FILES: usize = 200;
/// The error of a turn whose process died.
const INTERRUPTED: &str = "the process ended in the middle of the turn";

/// The content of an open turn's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStart {
    pub session_id: String,
    pub turn_number: u64,
    /// Without secrets.
    pub user_input: String,
    pub state_before: ConversationState,
}

/// The lock on an open turn's file.
#[derive(Debug)]
pub struct OpenTurn {
    path: PathBuf,
    _lock: File,
}

impl OpenTurn {
    fn close(self) {
        // A file that stays is found again, and so is its line in the log.
        std::fs::remove_file(&self.path).ok();
    }
}

/// The known part of an interrupted turn.
#[derive(Debug, Clone, Default)]
pub struct PartialTurn {
    pub think: String,
    pub tools: Vec<TurnEntry>,
    /// The last answer, possibly empty.
    pub output: String,
}

impl Memory {
    fn open_turns(&self) -> PathBuf {
        self.places().directory.join("open")
    }

    /// Records the start of a turn.
    pub fn begin(&self, begun: &TurnStart) -> Result<OpenTurn, MemoryError> {
        let directory = self.open_turns();
        let path = directory.join(format!("{}.json", plain(&begun.session_id)));
        let failed = |error: std::io::Error| MemoryError::read(&path, &error);
        let _lock = self.lock()?;
        std::fs::create_dir_all(&directory).map_err(failed)?;
        let mut file = File::options().create_new(true).write(true).open(&path).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        file.write_all(serde_json::to_string(begun).unwrap_or_default().as_bytes()).map_err(failed)?;
        Ok(OpenTurn { path, _lock: file })
    }

    /// Takes over a turn whose process died; `None` where it still runs or is in the log.
    ///
    /// # Errors
    /// When another process does not release the memory in time.
    pub fn resume_turn(&self, session_id: &str) -> Result<Option<(TurnStart, OpenTurn)>, MemoryError> {
        let path = self.open_turns().join(format!("{}.json", plain(session_id)));
        let _lock = self.lock()?;
        let Some(file) = files::open(&path, Links::Refuse).ok().filter(|file| file.try_lock().is_ok()) else {
            return Ok(None);
        };
        let begun = read(&path).filter(|begun| begun.session_id == session_id);
        let begun = begun.filter(|begun| {
            Turns::at(&self.places().turns).find(&begun.session_id, begun.turn_number).is_none()
        });
        Ok(begun.map(|begun| (begun, OpenTurn { path, _lock: file })))
    }

    /// Logs a turn and commits the state that `account` describes; `None` keeps the state. Returns the new state.
    pub fn finish(
        &self,
        mut turn: Turn,
        account: Option<&str>,
        open: Option<OpenTurn>,
    ) -> Result<ConversationState, MemoryError> {
        let _lock = self.lock()?;
        // Another session may have changed the state since this turn began: the new state is based on the current one.
        let now = ConversationState::read(&self.places().state);
        let current = now.as_ref().unwrap_or(&turn.state_before).clone();
        let after = match (account, &now) {
            (Some(account), Ok(current)) => current.after(account, &turn.user_input),
            _ => current.clone(),
        };
        turn.state_after = after.clone();
        Turns::at(&self.places().turns).append(&turn, self.redactor())?;
        if after != current {
            after.write(&self.places().state)?;
        }
        if let Some(open) = open {
            open.close();
        }
        now.map(|_| after)
    }

    /// Logs the turns whose processes died and finishes the commits of logged ones. Returns the number of the former.
    ///
    /// `done` provides the known part of a turn.
    pub fn settle_turns(&self, done: impl Fn(&TurnStart) -> PartialTurn) -> Result<usize, MemoryError> {
        let directory = self.open_turns();
        let Ok(entries) = std::fs::read_dir(&directory) else { return Ok(0) };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).take(MAX_TURN_FILES).collect();
        if paths.is_empty() {
            return Ok(0);
        }
        paths.sort();
        let _lock = self.lock()?;
        let turns = Turns::at(&self.places().turns);
        let mut interrupted = 0;
        for path in paths {
            let Ok(file) = files::open(&path, Links::Refuse) else { continue };
            if file.try_lock().is_err() {
                continue;
            }
            if let Some(begun) = read(&path) {
                match turns.find(&begun.session_id, begun.turn_number) {
                    Some(line) => self.finish_commit(&line)?,
                    None => {
                        interrupted += 1;
                        let known = done(&begun);
                        turns.append(&begun.interrupted(known), self.redactor())?;
                    }
                }
            }
            std::fs::remove_file(&path).ok();
        }
        Ok(interrupted)
    }

    /// Commits the state of a logged turn, if its process died before it did.
    fn finish_commit(&self, line: &Value) -> Result<(), MemoryError> {
        let state = |key: &str| serde_json::from_value::<ConversationState>(line.get(key)?.clone()).ok();
        if let (Some(before), Some(after)) = (state("state_before"), state("state_after"))
            && before != after
            && ConversationState::read(&self.places().state)? == before
        {
            after.write(&self.places().state)?;
        }
        Ok(())
    }
}

impl TurnStart {
    fn interrupted(self, done: PartialTurn) -> Turn {
        Turn {
            ts_utc: clock::now_stamp(),
            session_id: self.session_id,
            turn_number: self.turn_number,
            user_input: self.user_input,
            final_output: done.output,
            think: done.think,
            tools: done.tools,
            state_after: self.state_before.clone(),
            state_before: self.state_before,
            error: Some(INTERRUPTED.into()),
            ..Turn::default()
        }
    }
}

/// The content of a file whose name matches its session.
fn read(path: &Path) -> Option<TurnStart> {
    let text = files::read_text(path, MAX_TURN_FILE_BYTES, Links::Refuse).ok()?;
    let begun: TurnStart = serde_json::from_str(&text).ok()?;
    (path.file_stem()?.to_str()? == plain(&begun.session_id)).then_some(begun)
}

/// A file name without path separators.
fn plain(name: &str) -> String {
    let keep =
        |char: char| if char.is_ascii_alphanumeric() || matches!(char, '-' | '_') { char } else { '_' };
    name.chars().take(100).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Places;
    use marvin_base::environment::Environment;
    use marvin_base::layout::Layout;
    use marvin_base::redact::Redactor;
    use std::sync::Arc;

    fn memory(directory: &Path) -> Memory {
        let environment = Environment::from_iter([("HOME", directory.display().to_string())]);
        let places = Places::below(&directory.join("memory"), &Layout::new(&environment, None));
        Memory::open(places, Arc::new(Redactor::patterns_only()))
    }

    fn begun(session: &str) -> TurnStart {
        TurnStart {
            session_id: session.into(),
            turn_number: 1,
            user_input: "Why?".into(),
            state_before: ConversationState::default(),
        }
    }

    fn turn(session: &str) -> Turn {
        Turn { session_id: session.into(), turn_number: 1, final_output: "So.".into(), ..Turn::default() }
    }

    const ACCOUNT: &str = r#"{"active_context": ["the cat"], "open_threads": ["feed it"]}"#;

    #[test]
    fn a_turn_is_logged_and_its_state_committed() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(directory.path());
        let open = memory.begin(&begun("a")).unwrap();
        // Another process looks at the open turns: this one is not interrupted.
        assert_eq!(memory.settle_turns(|_| PartialTurn::default()).unwrap(), 0);
        let after = memory.finish(turn("a"), Some(ACCOUNT), Some(open)).unwrap();
        assert_eq!(ConversationState::read(&memory.places().state).unwrap(), after);
        assert_eq!(after.open_threads, ["feed it"]);
        // Another session that began earlier continues from the current state.
        let other = r#"{"open_threads": ["wash it"]}"#;
        let after = memory.finish(turn("b"), Some(other), None).unwrap();
        assert_eq!(after.open_threads, ["feed it", "wash it"]);
        assert_eq!(memory.finish(turn("c"), None, None).unwrap(), after);
        assert_eq!(std::fs::read_dir(memory.open_turns()).unwrap().count(), 0);
        std::fs::write(&memory.places().state, "{").unwrap();
        assert!(memory.finish(turn("d"), Some(ACCOUNT), None).is_err());
        assert_eq!(std::fs::read_to_string(&memory.places().state).unwrap(), "{", "never overwritten unseen");
    }

    #[test]
    fn a_turn_whose_process_died_is_logged_by_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(directory.path());
        drop(memory.begin(&begun("a")).unwrap());
        let done = |_: &TurnStart| PartialTurn {
            think: "SITUATION".into(),
            output: "Half".into(),
            ..PartialTurn::default()
        };
        assert_eq!(memory.settle_turns(done).unwrap(), 1);
        assert_eq!(memory.settle_turns(done).unwrap(), 0);
        let line = Turns::at(&memory.places().turns).find("a", 1).unwrap();
        assert_eq!((&line["error"], &line["think"]), (&INTERRUPTED.into(), &"SITUATION".into()));
        assert_eq!(line["final_output"], "Half");
        assert_eq!((&line["user_input"], &line["state_before"]), (&"Why?".into(), &line["state_after"]));
        // The process died after the log and before the state: the commit is finished, and nothing is logged twice.
        drop(memory.begin(&begun("b")).unwrap());
        let after = ConversationState { active_context: vec!["x".into()], ..ConversationState::default() };
        let whole = Turn { state_after: after.clone(), ..turn("b") };
        Turns::at(&memory.places().turns).append(&whole, memory.redactor()).unwrap();
        assert_eq!(memory.settle_turns(done).unwrap(), 0);
        assert_eq!(ConversationState::read(&memory.places().state).unwrap(), after);
        assert_eq!(Turns::at(&memory.places().turns).last(9).unwrap().len(), 2);
    }

    #[test]
    fn a_resumed_turn_is_logged_once() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(directory.path());
        let first = memory.begin(&begun("a")).unwrap();
        assert!(memory.resume_turn("a").unwrap().is_none(), "it runs");
        drop(first);
        let (begun, open) = memory.resume_turn("a").unwrap().unwrap();
        assert_eq!(begun.user_input, "Why?");
        assert_eq!(memory.settle_turns(|_| PartialTurn::default()).unwrap(), 0, "it runs again");
        memory.finish(turn("a"), Some(ACCOUNT), Some(open)).unwrap();
        assert!(memory.resume_turn("a").unwrap().is_none() && memory.resume_turn("b").unwrap().is_none());
        assert_eq!(Turns::at(&memory.places().turns).last(9).unwrap().len(), 1);
    }

    #[test]
    fn other_files_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(directory.path());
        let open = memory.open_turns();
        std::fs::create_dir_all(open.join("directory.json")).unwrap();
        std::fs::write(open.join("empty.json"), "").unwrap();
        std::fs::write(open.join("bad.json"), [0xff, 0xfe]).unwrap();
        std::fs::write(open.join("other.json"), serde_json::to_string(&begun("a")).unwrap()).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", open.join("link.json")).unwrap();
        assert_eq!(memory.settle_turns(|_| PartialTurn::default()).unwrap(), 0);
        assert!(!memory.places().turns.exists());
    }
}
