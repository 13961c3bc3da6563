//! Conversion of public datasets to labelled files.

use super::{EvalDataset, EvalDocument, Question};
use marvin_base::files::{self, Links};
use marvin_base::hint::HintLine;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub const FORMATS: [&str; 5] = ["jsonl", "locomo", "locomo-sessions", "cosqa", "cranfield"];

const MAX_INPUT_FILE_BYTES: u64 = 512 * 1024 * 1024;

/// The reason why a labelled file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error("cannot read {path}: {source}{hints}", hints = self.hint_line())]
    Read { path: String, source: std::io::Error },
    #[error("{path}: {source}{hints}", hints = self.hint_line())]
    Json { path: String, source: serde_json::Error },
    #[error("{path}, line {number}: {source}{hints}", hints = self.hint_line())]
    Line { path: String, number: usize, source: serde_json::Error },
    #[error("unknown format `{0}`{hints}", hints = self.hint_line())]
    Format(String),
    /// The JSON has another structure than the dataset.
    #[error("{0}{hints}", hints = self.hint_line())]
    Structure(&'static str),
}

impl EvalError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            EvalError::Read { .. } | EvalError::Json { .. } | EvalError::Structure(_) => {
                "name a labelled file, and its format with --format".into()
            }
            EvalError::Line { .. } => {
                r#"a line is {"doc": ID, "text": …} or {"query": TEXT, "relevant": [ID]}"#.into()
            }
            EvalError::Format(_) => format!("one of {}", FORMATS.join(", ")),
        }
    }

    fn hint_line(&self) -> HintLine<String> {
        HintLine(Some(self.hint()))
    }
}

fn text_of(path: &Path) -> Result<String, EvalError> {
    files::read(path, MAX_INPUT_FILE_BYTES, Links::Follow)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|source| EvalError::Read { path: path.display().to_string(), source })
}

/// Reads a labelled file; `cranfield` is a directory with its three files.
///
/// # Errors
/// When the format is unknown, or a file cannot be read or parsed.
pub fn read(path: &Path, format: &str) -> Result<EvalDataset, EvalError> {
    match format {
        "jsonl" => lines(&text_of(path)?, path),
        "locomo" => locomo(&json(path)?, false),
        "locomo-sessions" => locomo(&json(path)?, true),
        "cosqa" => cosqa(&json(path)?),
        "cranfield" => cranfield(path),
        other => Err(EvalError::Format(other.to_string())),
    }
}

fn json(path: &Path) -> Result<Value, EvalError> {
    serde_json::from_str(&text_of(path)?)
        .map_err(|source| EvalError::Json { path: path.display().to_string(), source })
}

fn lines(text: &str, path: &Path) -> Result<EvalDataset, EvalError> {
    let mut labelled = EvalDataset::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |source| EvalError::Line { path: path.display().to_string(), number: number + 1, source };
        let value: Value = serde_json::from_str(line).map_err(wrong)?;
        if value.get("query").is_some() {
            labelled.questions.push(serde_json::from_value::<Question>(value).map_err(wrong)?);
        } else {
            labelled.documents.push(serde_json::from_value::<EvalDocument>(value).map_err(wrong)?);
        }
    }
    Ok(labelled)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// LoCoMo: every conversation is a set; a document is a turn, or a whole session.
fn locomo(value: &Value, sessions: bool) -> Result<EvalDataset, EvalError> {
    let mut labelled = EvalDataset::default();
    let samples = value.as_array().ok_or(EvalError::Structure("it is not a list of conversations"))?;
    for (number, sample) in samples.iter().enumerate() {
        let set = number.to_string();
        let conversation = sample
            .get("conversation")
            .and_then(Value::as_object)
            .ok_or(EvalError::Structure("a sample has no conversation"))?;
        let mut known = BTreeSet::new();
        // The sessions by their numbers, not by their names.
        let mut order: Vec<(u32, &Value)> = conversation
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix("session_")?.parse().ok()?, value)))
            .collect();
        order.sort_by_key(|(number, _)| *number);
        for (number, session) in order {
            let turns = session.as_array().map(Vec::as_slice).unwrap_or_default();
            let line = |turn: &Value| format!("{}: {}", word(turn, "speaker"), word(turn, "text"));
            let doc = |id: String, text: String, thread: &str| EvalDocument {
                doc: id,
                text,
                set: set.clone(),
                thread: thread.to_string(),
                tags: Vec::new(),
            };
            if sessions {
                // The text of a session begins with its date.
                let day = conversation.get(&format!("session_{number}_date_time")).and_then(Value::as_str);
                let lines = day.map(str::to_string).into_iter().chain(turns.iter().map(line));
                let text = lines.collect::<Vec<_>>().join("\n");
                known.insert(format!("D{number}"));
                labelled.documents.push(doc(format!("D{number}"), text, ""));
                continue;
            }
            for turn in turns {
                known.insert(word(turn, "dia_id").to_string());
                labelled.documents.push(doc(word(turn, "dia_id").to_string(), line(turn), "conversation"));
            }
        }
        for question in list(sample, "qa") {
            // Some name several turns in one string.
            let named = list(question, "evidence").iter().filter_map(Value::as_str);
            let named = named.flat_map(|text| text.split([';', ' ', ',']).map(str::trim));
            let mut relevant: Vec<String> = named
                .map(|id| if sessions { id.split(':').next().unwrap_or(id) } else { id }.to_string())
                .filter(|id| known.contains(id))
                .collect();
            relevant.sort();
            relevant.dedup();
            labelled.questions.push(Question {
                query: word(question, "question").to_string(),
                relevant,
                set: set.clone(),
            });
        }
    }
    Ok(labelled)
}

/// CoSQA: every piece of code is a document, every question with an answer looks for its own.
fn cosqa(value: &Value) -> Result<EvalDataset, EvalError> {
    let mut labelled = EvalDataset::default();
    let mut codes: BTreeMap<&str, String> = BTreeMap::new();
    for row in value.as_array().ok_or(EvalError::Structure("it is not a list"))? {
        let (id, code) = (word(row, "idx"), word(row, "code"));
        // The same code may answer several questions.
        let id = codes.entry(code).or_insert_with(|| id.to_string()).clone();
        if id == word(row, "idx") {
            labelled.documents.push(EvalDocument {
                doc: id.clone(),
                text: code.to_string(),
                ..EvalDocument::default()
            });
        }
        if row.get("label").and_then(Value::as_i64) == Some(1) {
            labelled.questions.push(Question {
                query: word(row, "doc").to_string(),
                relevant: vec![id],
                set: String::new(),
            });
        }
    }
    Ok(labelled)
}

/// Cranfield: abstracts, numbered questions and judgements.
fn cranfield(directory: &Path) -> Result<EvalDataset, EvalError> {
    let mut labelled = EvalDataset::default();
    for (id, fields) in records(&text_of(&directory.join("cran.all.1400"))?) {
        // The abstract repeats the title.
        let text = fields.get("W").or(fields.get("T")).cloned().unwrap_or_default();
        labelled.documents.push(EvalDocument { doc: id, text, ..EvalDocument::default() });
    }
    let mut judged: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for line in text_of(&directory.join("cranqrel"))?.lines() {
        let mut words = line.split_whitespace();
        if let (Some(query), Some(document)) = (words.next().and_then(|word| word.parse().ok()), words.next())
        {
            judged.entry(query).or_default().push(document.to_string());
        }
    }
    // The judgements count the questions from 1, whatever numbers those have.
    for (number, (_, fields)) in records(&text_of(&directory.join("cran.qry"))?).into_iter().enumerate() {
        labelled.questions.push(Question {
            query: fields.get("W").cloned().unwrap_or_default(),
            relevant: judged.remove(&(number + 1)).unwrap_or_default(),
            set: String::new(),
        });
    }
    Ok(labelled)
}

fn records(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut field = String::new();
    for line in text.lines() {
        if let Some(id) = line.strip_prefix(".I ") {
            found.push((id.trim().to_string(), BTreeMap::new()));
            field.clear();
        } else if let Some(name) = line.strip_prefix('.').filter(|name| name.trim().len() == 1) {
            field = name.trim().to_string();
        } else if let Some((_, fields)) = found.last_mut() {
            let text: &mut String = fields.entry(field.clone()).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}
