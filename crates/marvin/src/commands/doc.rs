//! `marvin doc`: the documents of agents, as they are stored on the disk.

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::{output, project};
use clap::Subcommand;
use marvin_agent::commitments::{Store, StoreError};
use marvin_base::{Exit, signature, truncate};
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Bytes of a document that is shown as JSON.
const MAX_JSON_DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;

/// Show the documents of agents as they are stored
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  marvin doc list\n  marvin doc show project")]
pub(crate) enum DocCommand {
    /// Print a document, byte for byte as it is stored
    #[command(after_help = "Examples:\n  marvin doc show project\n  marvin doc show project > project.md")]
    Show {
        /// The document: the name of its file in .marvin/agents, without .md
        #[arg(value_name = "ID")]
        id: String,
        /// The project's directory (default: the project around this directory)
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON: id, path, size, hash and text; text that is not UTF-8 is shown as hexadecimal bytes
        #[arg(long)]
        json: bool,
    },
    /// List the documents
    #[command(after_help = "Examples:\n  marvin doc list\n  marvin doc list --json | jq -r '.[].id'")]
    List(ProjectArguments),
}

#[derive(Serialize)]
struct ShownDocument<'a> {
    id: &'a str,
    path: String,
    bytes: usize,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

/// One row of the list. A damaged document has a problem instead of facts.
#[derive(Serialize)]
#[serde(untagged)]
enum DocumentRow<'a> {
    Sound { id: &'a str, title: Option<String>, state: Option<String>, commitments: usize, path: String },
    Damaged { id: &'a str, problem: String, path: String },
}

pub(crate) fn run(command: DocCommand) -> Result<Exit, Failure> {
    match command {
        DocCommand::Show { id, working_dir, json } => show(&id, working_dir.as_deref(), json),
        DocCommand::List(project) => list(&project),
    }
}

/// The store of the project around the directory.
fn store(working_dir: Option<&Path>) -> Result<Option<Store>, Failure> {
    Ok(Store::from_layout(&project::project_context(working_dir, false, Vec::new())?.layout))
}

fn failed(error: &StoreError) -> Failure {
    let message = error.to_string().replace("marvin commitments list", "marvin doc list");
    match error {
        StoreError::Missing(_) | StoreError::Name(_) => Failure::usage(message),
        _ => Failure::failed(message),
    }
}

/// Prints a document byte for byte, whatever its size.
pub(crate) fn print(store: &Store, id: &str) -> Result<Exit, Failure> {
    let mut file = store.open_raw(id).map_err(|error| failed(&error))?;
    if output::is_terminal() {
        // Read whole, so that no character is cut in two.
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|error| unreadable(store, id, &error))?;
        output::bytes(&text)?;
        return Ok(Exit::Success);
    }
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read(&mut buffer).map_err(|error| unreadable(store, id, &error))?;
        if read == 0 {
            return Ok(Exit::Success);
        }
        output::bytes(buffer.get(..read).unwrap_or_default())?;
    }
}

fn unreadable(store: &Store, id: &str, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{} cannot be read: {error}", store.path(id).display()))
}

fn show(id: &str, working_dir: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let store = store(working_dir)?.ok_or_else(|| failed(&StoreError::Missing(id.to_string())))?;
    if !as_json {
        return print(&store, id);
    }
    let file = store.open_raw(id).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    file.take(MAX_JSON_DOCUMENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&store, id, &error))?;
    if bytes.len() as u64 > MAX_JSON_DOCUMENT_BYTES {
        return Err(Failure::failed(format!(
            "the document `{id}` is larger than {MAX_JSON_DOCUMENT_BYTES} bytes"
        ))
        .hint("without --json it is printed whatever its size"));
    }
    let text = std::str::from_utf8(&bytes).ok();
    output::json(&ShownDocument {
        id,
        path: store.path(id).display().to_string(),
        bytes: bytes.len(),
        sha256: signature::hash_bytes(&bytes),
        text,
        hex: text.is_none().then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    })
}

fn list(project: &ProjectArguments) -> Result<Exit, Failure> {
    let store = store(project.working_dir.as_deref())?;
    let names = store.as_ref().map(Store::list).transpose().map_err(|error| failed(&error))?;
    let names = names.unwrap_or_default();
    let rows: Vec<DocumentRow<'_>> =
        store.iter().flat_map(|store| names.iter().map(move |name| row(store, name))).collect();
    if project.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        return output::line("This project has no documents.");
    }
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let line = |row: &DocumentRow<'_>| match row {
        DocumentRow::Sound { id, title, state, .. } => {
            let title = truncate::line(title.as_deref().unwrap_or_default(), 80);
            format!("{id:width$}  {:9}  {}", state.as_deref().unwrap_or_default(), output::visible(&title))
        }
        DocumentRow::Damaged { id, problem, .. } => {
            format!("{id:width$}  {:9}  damaged: {}", "", truncate::line(problem, 120))
        }
    };
    output::line(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn row<'a>(store: &Store, id: &'a str) -> DocumentRow<'a> {
    let path = store.path(id).display().to_string();
    match store.read(id) {
        Ok(document) => DocumentRow::Sound {
            id,
            title: document.value("title"),
            state: document.value("state"),
            commitments: document.commitments.len(),
            path,
        },
        Err(error) => DocumentRow::Damaged { id, problem: error.to_string(), path },
    }
}
