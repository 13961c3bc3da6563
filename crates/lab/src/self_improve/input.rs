//! The input of a run: a URL, a file or a text beside the goal. What it says is data, not an instruction.

use super::ImproveError;
use marvin_agent::ProjectContext;
use marvin_agent::tool_caller::record_call;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_gate::secrets;
use marvin_model::{Arguments, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Bytes of an input.
pub(super) const MAX_INPUT_BYTES: u64 = 512_000;
/// Seconds that fetching a URL may take.
const FETCH_TIMEOUT_SECONDS: u64 = 15;
/// Characters at the end of a sentence that do not belong to a URL in it.
const SENTENCE_END: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '\'', '"', '`'];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    #[default]
    None,
    Url,
    File,
    Text,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    pub kind: InputKind,
    /// The URL or the path.
    #[serde(rename = "ref", default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
}

impl Input {
    /// Reads what `--input` names, else the first URL in the goal.
    ///
    /// # Errors
    /// When a URL or file cannot be read.
    pub async fn read(
        given: Option<&str>,
        goal: &str,
        project: &ProjectContext,
        cancel: &CancellationToken,
    ) -> Result<Input, ImproveError> {
        let given = given.map(strip_file_url).transpose()?;
        let input = detect(given, goal, &project.directory);
        // Detected as a text only because no such file exists.
        if input.kind == InputKind::Text && given.is_some_and(looks_like_path) {
            return Err(ImproveError::MissingInput(truncate::line(given.unwrap_or_default(), 200)));
        }
        let content = match input.kind {
            InputKind::None | InputKind::Text => return Ok(input),
            InputKind::Url => fetch(&input.reference, project, cancel).await?,
            InputKind::File => read_file(&input.reference, &project.directory, project.layout.home())?,
        };
        Ok(Input { content: bounded(&content), ..input })
    }
}

/// Reads a file for the prompts of every session. Credentials do not belong there.
fn read_file(reference: &str, directory: &Path, home: &Path) -> Result<String, ImproveError> {
    let cannot = |error: String| ImproveError::Input(reference.to_string(), error);
    let path = directory.join(reference).canonicalize().map_err(|error| cannot(error.to_string()))?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    if secrets::is_secret_place(&path, home) || secrets::is_project_secret(&name) {
        return Err(ImproveError::SecretInput(reference.to_string()));
    }
    let unusable = |reason| ImproveError::UnusableInput { reference: reference.to_string(), reason };
    if path.is_dir() {
        return Err(unusable("it is a directory"));
    }
    let bytes =
        files::read(&path, MAX_INPUT_BYTES, Links::Refuse).map_err(|error| cannot(error.to_string()))?;
    if bytes.contains(&0) {
        return Err(unusable("it is not a text: it has NUL bytes"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path that a `file://` URL names; other texts as they are. One with a host or with escapes is refused: its path would have
/// to be guessed.
fn strip_file_url(text: &str) -> Result<&str, ImproveError> {
    match text.strip_prefix("file://") {
        None => Ok(text),
        Some(path) if path.starts_with('/') && !path.contains('%') => Ok(path),
        Some(_) => Err(ImproveError::UnusableInput {
            reference: truncate::line(text, 200),
            reason: "it is a file URL with a host or with escapes",
        }),
    }
}

fn bounded(text: &str) -> String {
    let end = truncate::floor(text, usize::try_from(MAX_INPUT_BYTES).unwrap_or(usize::MAX).min(text.len()));
    text.get(..end).unwrap_or_default().to_string()
}

/// Detects the kind of the input, without reading it.
fn detect(given: Option<&str>, goal: &str, directory: &Path) -> Input {
    let of = |kind, reference: &str| Input { kind, reference: reference.to_string(), content: String::new() };
    match given {
        Some(text) if url_at(text) == Some(text) => of(InputKind::Url, text),
        Some(text) if is_path(text, directory) => of(InputKind::File, text),
        Some(text) => Input { content: bounded(text), ..of(InputKind::Text, "") },
        None => first_url(goal).map(|url| of(InputKind::Url, url)).unwrap_or_default(),
    }
}

/// Whether a text names a file, or a directory, which cannot be read as a text.
fn is_path(text: &str, directory: &Path) -> bool {
    !text.trim().is_empty() && !text.contains('\n') && directory.join(text).exists()
}

/// Whether one word has the form of a path: a directory in it, or a file extension.
fn looks_like_path(text: &str) -> bool {
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_extension =
        extension.chars().all(char::is_alphanumeric) && extension.chars().any(char::is_alphabetic);
    !text.contains(char::is_whitespace) && url_at(text).is_none() && (text.contains('/') || is_extension)
}

/// The first URL in a text.
fn first_url(text: &str) -> Option<&str> {
    text.char_indices().find_map(|(at, char)| if char == 'h' { url_at(text.get(at..)?) } else { None })
}

/// The URL at the beginning of a text.
fn url_at(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let end = rest.find(|char: char| char.is_whitespace() || matches!(char, '<' | '"')).unwrap_or(rest.len());
    let host = rest.get(..end)?.trim_end_matches(SENTENCE_END);
    if host.is_empty() { None } else { text.get(..text.len() - rest.len() + host.len()) }
}

/// Fetches a URL as an agent would: judged, limited and recorded.
async fn fetch(
    url: &str,
    project: &ProjectContext,
    cancel: &CancellationToken,
) -> Result<String, ImproveError> {
    let arguments = Map::from_iter([
        ("url".to_string(), url.into()),
        ("max_bytes".to_string(), MAX_INPUT_BYTES.into()),
        ("timeout_s".to_string(), FETCH_TIMEOUT_SECONDS.into()),
    ]);
    let call = ToolCall {
        id: "input".into(),
        name: "web_fetch".into(),
        arguments: Arguments::Object(arguments),
        opaque: None,
    };
    let called = record_call(project, &call, None, cancel.clone()).await?;
    let content = called.record.pointer("/data/content").and_then(Value::as_str);
    match content.filter(|content| called.ok && !content.is_empty()) {
        Some(content) => Ok(content.to_string()),
        // The advice of the gate is for an agent.
        None if !called.verdict.is_allowed() => {
            Err(ImproveError::RefusedInput { url: url.to_string(), reason: called.verdict.reason })
        }
        None => Err(ImproveError::Input(url.to_string(), truncate::head(&called.text, 400))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_follows_from_the_text() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("notes.md"), "x").unwrap();
        let kind = |given: Option<&str>, goal: &str| {
            let input = detect(given, goal, directory.path());
            (input.kind, input.reference)
        };
        assert_eq!(kind(Some("https://a.example/x"), ""), (InputKind::Url, "https://a.example/x".into()));
        assert_eq!(kind(Some("notes.md"), "see http://b.example"), (InputKind::File, "notes.md".into()));
        assert_eq!(kind(Some("see https://a.example/x"), ""), (InputKind::Text, String::new()));
        assert_eq!(kind(Some("missing.md"), ""), (InputKind::Text, String::new()));
        let goal = "Read (https://a.example/x?y=1), then http://b.example.";
        assert_eq!(kind(None, goal), (InputKind::Url, "https://a.example/x?y=1".into()));
        assert_eq!(kind(None, "Ends at http://b.example/p."), (InputKind::Url, "http://b.example/p".into()));
        assert_eq!(kind(None, "https:// is no URL, and neither is http"), (InputKind::None, String::new()));
    }

    #[test]
    fn one_word_may_look_like_a_path() {
        for text in ["nope.txt", "docs/nope", "/nope", "../a.b.md"] {
            assert!(looks_like_path(text), "{text}");
        }
        for text in ["", "faster", "v1.2", "faster.", "https://a.example/x.", "see nope.txt", "a/b\nc"] {
            assert!(!looks_like_path(text), "{text}");
        }
    }

    #[test]
    fn files_of_credentials_are_not_an_input() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        std::fs::create_dir(home.join(".ssh")).unwrap();
        for name in ["notes.md", ".env", ".ssh/id_ed25519"] {
            std::fs::write(home.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(".ssh/id_ed25519", home.join("link.md")).unwrap();
        let read = |name: &str| read_file(name, &home, &home);
        assert_eq!(read("notes.md").unwrap(), "x");
        for name in [".env", ".ssh/id_ed25519", "link.md", "/etc/shadow"] {
            assert!(matches!(read(name), Err(ImproveError::SecretInput(_))), "{name}");
        }
    }

    #[test]
    fn what_is_not_a_text_is_not_an_input() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("src")).unwrap();
        std::fs::write(home.join("data.bin"), b"a\0b").unwrap();
        std::fs::write(home.join("notes.md"), "x").unwrap();
        for name in ["src", "data.bin"] {
            assert_eq!(detect(Some(name), "", &home).kind, InputKind::File, "{name}");
            let read = read_file(name, &home, &home);
            assert!(matches!(read, Err(ImproveError::UnusableInput { .. })), "{name}: {read:?}");
        }
        let url = format!("file://{}/notes.md", home.display());
        assert_eq!(read_file(strip_file_url(&url).unwrap(), &home, &home).unwrap(), "x");
        assert_eq!(strip_file_url("fix the file://-scheme").unwrap(), "fix the file://-scheme");
        for url in ["file://host/notes.md", "file:///a%20b"] {
            assert!(matches!(strip_file_url(url), Err(ImproveError::UnusableInput { .. })), "{url}");
        }
    }

    #[test]
    fn texts_are_cut_at_a_character() {
        let long = "ä".repeat(300_000);
        let input = detect(Some(&long), "", Path::new("/"));
        assert!(input.content.len() as u64 <= MAX_INPUT_BYTES && input.content.len() > 511_000);
        assert!(input.content.chars().all(|char| char == 'ä'));
    }
}
