//! `marvin doc`: the documents of agents, as they are stored. Nothing stands between the disk and the reader.

use super::{directory, project};
use crate::cli::DocCommand;
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::commitments::{Store, StoreError};
use marvin_base::environment::Environment;
use marvin_base::{Exit, signature, truncate};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// Bytes of a document that is shown as JSON.
const MAX_JSON_DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;

/// Runs one of the commands about documents.
pub(super) fn run(command: DocCommand) -> Result<Exit, Failure> {
    match command {
        DocCommand::Show { id, working_dir, json } => show(&id, working_dir.as_deref(), json),
        DocCommand::List { working_dir, json } => list(working_dir.as_deref(), json),
    }
}

/// The store of the project around the directory.
fn store(working_dir: Option<&Path>) -> Result<Option<Store>, Failure> {
    let project = project(working_dir)?;
    let ground =
        ProjectContext::find(Environment::of_process(), directory()?, project.as_deref(), false, Vec::new())?;
    Ok(Store::from_layout(&ground.layout))
}

fn failed(error: &StoreError) -> Failure {
    let message = error.to_string().replace("marvin commitments list", "marvin doc list");
    match error {
        StoreError::Missing(_) | StoreError::Name(_) => Failure::usage(message),
        _ => Failure::failed(message),
    }
}

/// Prints a document byte for byte, whatever its size.
pub(super) fn print(store: &Store, id: &str) -> Result<Exit, Failure> {
    let mut file = store.open_raw(id).map_err(|error| failed(&error))?;
    if output::is_terminal() {
        // Read whole, so that no character is cut in two.
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|error| broken(store, id, &error))?;
        output::bytes(&text)?;
        return Ok(Exit::Success);
    }
    let mut buffer = vec![0; PIECE];
    loop {
        let read = file.read(&mut buffer).map_err(|error| broken(store, id, &error))?;
        if read == 0 {
            return Ok(Exit::Success);
        }
        output::bytes(buffer.get(..read).unwrap_or_default())?;
    }
}

fn broken(store: &Store, id: &str, error: &std::io::Error) -> Failure {
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
        .map_err(|error| broken(&store, id, &error))?;
    if bytes.len() as u64 > MAX_JSON_DOCUMENT_BYTES {
        return Err(Failure::failed(format!(
            "the document `{id}` is larger than {MAX_JSON_DOCUMENT_BYTES} bytes\n  hint: without --json it is printed whatever its size"
        )));
    }
    let mut shown = json!({
        "id": id, "path": store.path(id).display().to_string(), "bytes": bytes.len(),
        "sha256": signature::hash_bytes(&bytes),
    });
    if let Value::Object(map) = &mut shown {
        match std::str::from_utf8(&bytes) {
            Ok(text) => map.insert("text".into(), text.into()),
            Err(_) => map.insert("hex".into(), hex(&bytes).into()),
        };
    }
    output::json(&shown)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list(working_dir: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let Some(store) = store(working_dir)? else {
        return if as_json { output::json(&json!([])) } else { output::line("There are no documents here.") };
    };
    let names = store.list().map_err(|error| failed(&error))?;
    let rows: Vec<Value> = names.iter().map(|name| row(&store, name)).collect();
    if as_json {
        return output::json(&json!(rows));
    }
    if rows.is_empty() {
        return output::line("There are no documents here.");
    }
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let line = |row: &Value| {
        let what = match text(row, "problem") {
            problem if problem.is_empty() => output::visible(&truncate::line(&text(row, "title"), 80)),
            problem => format!("damaged: {}", truncate::line(&problem, 120)),
        };
        format!("{:width$}  {:9}  {what}", text(row, "id"), text(row, "state"))
    };
    output::line(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn row(store: &Store, name: &str) -> Value {
    match store.read(name) {
        Ok(document) => json!({
            "id": name, "title": document.value("title"), "state": document.value("state"),
            "commitments": document.commitments.len(), "path": store.path(name).display().to_string(),
        }),
        Err(error) => {
            json!({"id": name, "problem": error.to_string(), "path": store.path(name).display().to_string()})
        }
    }
}
