//! Files of a game: setup, journal, questions, calls of the model, summary.
//!
//! The journal has one whole line per answer, appended before the next question is asked. A line that
//! was cut off by a killed process was never acknowledged; opening the game removes it. A lock file
//! keeps two processes from playing the same game.

use crate::error::TableError;
use crate::setup::GameSetup;
use crate::summary::Summary;
use marvin_base::ledger::{self, Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::{atomic, clock, ids};
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::{GameJournal, JournalHeader, JournalLine};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SETUP_FILE: &str = "setup.json";
const JOURNAL_FILE: &str = "journal.jsonl";
const QUESTIONS_FILE: &str = "questions.jsonl";
const MODEL_FILE: &str = "model.jsonl";
const SUMMARY_FILE: &str = "summary.json";
const LOCK_FILE: &str = "lock";

/// Ids that are tried for a new game, one per moment.
const MAX_ID_TRIES: i32 = 64;

/// What a question outside the game was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Hint,
    WhyNot,
    Warning,
    /// Talk with the model while it does not act.
    Talk,
    Review,
}

/// Question outside the game with its answer: a line of `questions.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRecord {
    pub ts_utc: String,
    pub seat: PlayerId,
    pub kind: QuestionKind,
    pub turn: u32,
    /// Number of the decision that was open.
    pub decision: u32,
    pub question: String,
    pub answer: String,
}

/// Game in a list of games.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GameRow {
    pub id: String,
    pub decks: [String; 2],
    pub players: [&'static str; 2],
    pub answers: usize,
    /// `None` while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

impl std::fmt::Display for GameRow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [one, two] = &self.decks;
        let [first, second] = self.players;
        let state = match &self.summary {
            Some(summary) if summary.reason.is_some() => match summary.winner_id {
                Some(winner) => format!("seat {} won in turn {}", winner.0, summary.turns),
                None => format!("draw in turn {}", summary.turns),
            },
            _ => format!("open, {} answers", self.answers),
        };
        write!(formatter, "{}  {one} ({first}) against {two} ({second}): {state}", self.id)
    }
}

/// Directory of a game that this process plays.
#[derive(Debug)]
pub(crate) struct GameRecords {
    pub directory: PathBuf,
    journal: File,
    redactor: Arc<Redactor>,
    /// Held as long as the game is played.
    _lock: File,
}

fn file_error(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> TableError + use<> {
    let path = path.to_path_buf();
    move |source| TableError::File { verb, path, source }
}

fn write_error<E: std::error::Error + Send + Sync + 'static>(
    path: &Path,
) -> impl FnOnce(E) -> TableError + use<E> {
    let path = path.to_path_buf();
    move |source| TableError::Write { path, source: Box::new(source) }
}

/// Makes the directory of a new game and returns its id.
pub(crate) fn make_directory(games: &Path) -> Result<String, TableError> {
    fs::create_dir_all(games).map_err(file_error("create", games))?;
    let mut moment = clock::now();
    for _ in 0..MAX_ID_TRIES {
        let id = ids::run_id(moment).replacen("run_", "game_", 1);
        match fs::create_dir(games.join(&id)) {
            Ok(()) => return Ok(id),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                moment = moment.checked_add(ids::RUN_ID_STEP).unwrap_or(moment);
            }
            Err(source) => return Err(TableError::File { verb: "create", path: games.join(&id), source }),
        }
    }
    Err(TableError::Busy { id: "new".to_owned() })
}

/// Whether a text can be the name of a game's directory.
fn is_game_id(id: &str) -> bool {
    id.starts_with("game_") && id.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
}

/// Ids of all games, newest first.
pub(crate) fn list_ids(games: &Path) -> Vec<String> {
    let entries = fs::read_dir(games).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut all: Vec<String> =
        names.filter(|name| is_game_id(name) && games.join(name).join(SETUP_FILE).is_file()).collect();
    all.sort_unstable_by(|one, two| two.cmp(one));
    all
}

/// The directory of a game that exists.
pub(crate) fn find_directory(games: &Path, id: &str) -> Result<PathBuf, TableError> {
    let directory = games.join(id);
    if is_game_id(id) && directory.join(SETUP_FILE).is_file() {
        return Ok(directory);
    }
    Err(TableError::UnknownGame { id: id.to_owned(), known: list_ids(games) })
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, TableError> {
    let text = fs::read_to_string(path).map_err(file_error("read", path))?;
    serde_json::from_str(&text).map_err(|source| TableError::Json { path: path.to_path_buf(), source })
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TableError> {
    let mut text = serde_json::to_string_pretty(value).map_err(write_error(path))?;
    text.push('\n');
    atomic::replace(path, text.as_bytes()).map_err(write_error(path))
}

pub(crate) fn read_setup(directory: &Path) -> Result<GameSetup, TableError> {
    read_json(&directory.join(SETUP_FILE))
}

pub(crate) fn write_setup(directory: &Path, setup: &GameSetup) -> Result<(), TableError> {
    write_json(&directory.join(SETUP_FILE), setup)
}

/// The summary of a game that was closed.
pub(crate) fn read_summary(directory: &Path) -> Option<Summary> {
    read_json(&directory.join(SUMMARY_FILE)).ok()
}

/// Whole lines of the journal; a torn last line is left out.
pub(crate) fn read_journal(directory: &Path) -> Result<String, TableError> {
    let path = directory.join(JOURNAL_FILE);
    let mut text = String::new();
    match File::open(&path) {
        Ok(mut file) => {
            file.read_to_string(&mut text).map_err(file_error("read", &path))?;
        }
        // A game that was killed before its first line has a setup only.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(TableError::File { verb: "read", path, source }),
    }
    let end = text.rfind('\n').map_or(0, |position| position + 1);
    text.truncate(end);
    Ok(text)
}

/// Lines of `questions.jsonl`.
pub(crate) fn read_questions(directory: &Path) -> Vec<QuestionRecord> {
    read_entries(&directory.join(QUESTIONS_FILE))
}

fn read_entries<T: serde::de::DeserializeOwned>(path: &Path) -> Vec<T> {
    let contents = ledger::read(path).unwrap_or_default();
    contents.entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect()
}

pub(crate) fn game_row(games: &Path, id: &str) -> Result<GameRow, TableError> {
    let directory = find_directory(games, id)?;
    let setup = read_setup(&directory)?;
    let answers = read_journal(&directory)?.lines().count().saturating_sub(1);
    let [one, two] = &setup.decks;
    Ok(GameRow {
        id: id.to_owned(),
        decks: [one.name.clone(), two.name.clone()],
        players: setup.seats.map(crate::setup::SeatKind::key),
        answers,
        summary: read_summary(&directory),
    })
}

impl GameRecords {
    /// Takes the game for this process, and removes a torn last line of its journal.
    pub(crate) fn open(directory: &Path, redactor: Arc<Redactor>) -> Result<Self, TableError> {
        let path = directory.join(LOCK_FILE);
        let lock =
            OpenOptions::new().create(true).append(true).open(&path).map_err(file_error("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
                return Err(TableError::Busy { id: name.unwrap_or_default() });
            }
            Err(TryLockError::Error(source)) => return Err(TableError::File { verb: "lock", path, source }),
        }
        let whole = read_journal(directory)?;
        let path = directory.join(JOURNAL_FILE);
        let journal = open_journal(&path)?;
        let length = journal.metadata().map_err(file_error("read", &path))?.len();
        if u64::try_from(whole.len()).is_ok_and(|whole| whole < length) {
            let whole = u64::try_from(whole.len()).unwrap_or(length);
            journal.set_len(whole).map_err(file_error("cut", &path))?;
        }
        Ok(Self { directory: directory.to_path_buf(), journal, redactor, _lock: lock })
    }

    fn append(&mut self, value: &impl Serialize) -> Result<(), TableError> {
        let path = self.directory.join(JOURNAL_FILE);
        let mut line = serde_json::to_string(value).map_err(write_error(&path))?;
        line.push('\n');
        self.journal.write_all(line.as_bytes()).map_err(file_error("write", &path))
    }

    pub(crate) fn append_header(&mut self, header: &JournalHeader) -> Result<(), TableError> {
        self.append(header)
    }

    pub(crate) fn append_line(&mut self, line: &JournalLine) -> Result<(), TableError> {
        self.append(line)
    }

    /// Replaces the whole journal, after answers were taken back.
    pub(crate) fn replace_journal(&mut self, journal: &GameJournal) -> Result<(), TableError> {
        let path = self.directory.join(JOURNAL_FILE);
        let text = journal.to_text().map_err(write_error(&path))?;
        atomic::replace(&path, text.as_bytes()).map_err(write_error(&path))?;
        self.journal = open_journal(&path)?;
        Ok(())
    }

    pub(crate) fn append_question(&self, record: &QuestionRecord) -> Result<(), TableError> {
        self.append_entry(QUESTIONS_FILE, record)
    }

    pub(crate) fn append_model_call(&self, record: &impl Serialize) -> Result<(), TableError> {
        self.append_entry(MODEL_FILE, record)
    }

    pub(crate) fn read_model_calls<T: serde::de::DeserializeOwned>(&self) -> Vec<T> {
        read_entries(&self.directory.join(MODEL_FILE))
    }

    fn append_entry(&self, name: &str, record: &impl Serialize) -> Result<(), TableError> {
        let path = self.directory.join(name);
        let mut ledger =
            Ledger::open(&path, Durability::System, self.redactor.clone()).map_err(write_error(&path))?;
        ledger.append(record).map_err(write_error(&path))?;
        Ok(())
    }

    pub(crate) fn write_summary(&self, summary: &Summary) -> Result<(), TableError> {
        write_json(&self.directory.join(SUMMARY_FILE), summary)
    }
}

fn open_journal(path: &Path) -> Result<File, TableError> {
    OpenOptions::new().create(true).append(true).open(path).map_err(file_error("open", path))
}
