//! Speech to text: by services with OpenAI's `/audio/transcriptions`, or by a program of this machine.

use crate::choose;
use crate::wire::{WebClientError, web_client};
use marvin_base::child::{self, Child, ChildError, Ending};
use marvin_base::layout::Layout;
use marvin_base::settings::{Settings, table};
use marvin_base::truncate;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Providers that can transcribe, in the order in which a key decides; with the model that each uses.
const PROVIDERS: [&str; 3] = ["groq", "openai", "local"];
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(300);
/// Stands for the recording in the words of a program.
const FILE: &str = "FILE";
/// Bytes of an answer that are read.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// Failure to turn speech into text.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    #[error(
        "no provider can turn speech into text\n  hint: set GROQ_API_KEY or OPENAI_API_KEY, or voice.url, or voice.program"
    )]
    NoProvider,
    #[error("cannot read the recording: {0}")]
    Recording(std::io::Error),
    #[error("cannot turn speech into text: {0}")]
    Program(#[from] ChildError),
    #[error("cannot turn speech into text: `{0}` failed: {1}")]
    ProgramFailed(String, String),
    #[error(transparent)]
    Address(#[from] WebClientError),
    #[error("cannot turn speech into text: {0}")]
    Request(reqwest::Error),
    #[error("cannot turn speech into text: {0} {1}")]
    Refused(reqwest::StatusCode, String),
    #[error("the answer holds no text: {0}")]
    NoText(String),
}

impl From<SpeechError> for String {
    fn from(error: SpeechError) -> Self {
        error.to_string()
    }
}

#[derive(Deserialize)]
struct Transcription {
    text: String,
}

/// What turns speech into text.
#[derive(Debug)]
pub enum Transcriber {
    Service(TranscriptionService),
    /// Words of a program that prints the text of `FILE`.
    Program(Vec<String>),
}

/// A service that turns speech into text.
#[derive(Debug)]
pub struct TranscriptionService {
    url: String,
    key: String,
    model: String,
}

/// The program or the service that the settings name, else the provider that is chosen, else the first with a key.
///
/// # Errors
/// When no provider has a key.
pub fn transcriber(settings: &Settings, layout: &Layout) -> Result<Transcriber, SpeechError> {
    let words = settings.text(&table::VOICE_PROGRAM).split_whitespace().map(str::to_string);
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        return Ok(Transcriber::Program(words));
    }
    let model = settings.text(&table::VOICE_MODEL).to_string();
    let own = settings.text(&table::VOICE_URL).trim();
    if !own.is_empty() {
        let key = settings.text(&table::VOICE_KEY).to_string();
        return Ok(Transcriber::Service(TranscriptionService::new(own, key, model)));
    }
    let chosen = choose::provider_name(settings, layout);
    let order = PROVIDERS
        .iter()
        .filter(|name| **name == chosen)
        .chain(PROVIDERS.iter().filter(|name| **name != "local"));
    for name in order {
        let Some((url, key)) = choose::access(name, settings, layout) else { continue };
        let model = if *name == "groq" { settings.text(&table::WHISPER_MODEL).to_string() } else { model };
        return Ok(Transcriber::Service(TranscriptionService::new(&url, key, model)));
    }
    Err(SpeechError::NoProvider)
}

impl Transcriber {
    /// Transcribes a recording (WAV).
    ///
    /// # Errors
    /// When the program fails, or the service does not answer with a text.
    pub async fn text(&self, recording: &Path) -> Result<String, SpeechError> {
        match self {
            Transcriber::Service(service) => {
                service.text(std::fs::read(recording).map_err(SpeechError::Recording)?).await
            }
            Transcriber::Program(words) => run_program(words, recording).await,
        }
    }
}

/// Runs a program that prints the text of a recording.
async fn run_program(words: &[String], recording: &Path) -> Result<String, SpeechError> {
    let Some((program, rest)) = words.split_first() else { return Err(SpeechError::NoProvider) };
    let file = recording.display().to_string();
    let mut child = Child::new(program).args(rest.iter().map(|word| word.replace(FILE, &file)));
    child.deadline = PROGRAM_TIMEOUT;
    let outcome = child::run(child, &CancellationToken::new()).await?;
    match outcome.ending {
        Ending::Exited(0) => Ok(outcome.stdout.text()),
        _ => {
            let reason = truncate::line(outcome.stderr.text().trim(), 200);
            Err(SpeechError::ProgramFailed(program.clone(), reason))
        }
    }
}

impl TranscriptionService {
    fn new(url: &str, key: String, model: String) -> Self {
        let base = url.trim_end_matches('/').trim_end_matches("/chat/completions");
        TranscriptionService { url: format!("{base}/audio/transcriptions"), key, model }
    }

    async fn text(&self, sound: Vec<u8>) -> Result<String, SpeechError> {
        let mark = format!("marvin-{}", marvin_base::ids::uuid());
        let mut body = format!(
            "--{mark}\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\n{}\r\n--{mark}\r\ncontent-disposition: form-data; \
             name=\"file\"; filename=\"speech.wav\"\r\ncontent-type: audio/wav\r\n\r\n",
            self.model
        )
        .into_bytes();
        body.extend(sound);
        body.extend(format!("\r\n--{mark}--\r\n").into_bytes());
        let failed = |error: reqwest::Error| SpeechError::Request(error.without_url());
        let client = web_client(&self.url, Duration::from_secs(10))?;
        let mut request = client.post(&self.url).timeout(REQUEST_TIMEOUT).body(body);
        if !self.key.is_empty() {
            request = request.bearer_auth(&self.key);
        }
        let response = request
            .header("content-type", format!("multipart/form-data; boundary={mark}"))
            .send()
            .await
            .map_err(failed)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(failed)?;
        let answer =
            String::from_utf8_lossy(bytes.get(..bytes.len().min(MAX_REPLY_BYTES)).unwrap_or_default())
                .into_owned();
        if !status.is_success() {
            return Err(SpeechError::Refused(status, truncate::line(&answer, 200)));
        }
        serde_json::from_str(&answer)
            .map(|transcription: Transcription| transcription.text)
            .map_err(|_| SpeechError::NoText(truncate::line(&answer, 200)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_base::settings::Sources;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_recording_becomes_text() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.ends_with(b"--\r\n") {
                let read = stream.read(&mut buffer).await.unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            let answer = r#"{"text":" hello there "}"#;
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
            stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request).into_owned()
        });
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::from_iter([
            ("HOME", directory.path().display().to_string()),
            ("GROQ_API_KEY", "gsk_test".to_string()),
            ("MARVIN_GROQ_URL", format!("http://{address}/openai/v1")),
        ]);
        let layout = Layout::new(&environment, None);
        let settings = Settings::load(&Sources { environment, ..Sources::default() }).unwrap();
        let transcriber = transcriber(&settings, &layout).unwrap();
        let recording = directory.path().join("speech.wav");
        std::fs::write(&recording, b"RIFF sound").unwrap();
        assert_eq!(transcriber.text(&recording).await.unwrap(), " hello there ");
        let request = server.await.unwrap();
        assert!(request.starts_with("POST /openai/v1/audio/transcriptions"), "{request}");
        assert!(request.contains("whisper-large-v3") && request.contains("RIFF sound"), "{request}");
        let bare = Settings::defaults().unwrap();
        assert!(super::transcriber(&bare, &layout).unwrap_err().to_string().contains("GROQ_API_KEY"));
    }

    #[tokio::test]
    async fn a_program_and_an_own_service_come_before_providers() {
        let directory = tempfile::tempdir().unwrap();
        let recording = directory.path().join("speech.wav");
        std::fs::write(&recording, b"words of the file").unwrap();
        let layout = Layout::new(&Environment::default(), None);
        let with = |setting, value: &str| Settings::defaults().unwrap().with(setting, value).unwrap();
        let program = super::transcriber(&with(&table::VOICE_PROGRAM, "cat FILE"), &layout).unwrap();
        assert_eq!(program.text(&recording).await.unwrap(), "words of the file");
        let failing = super::transcriber(&with(&table::VOICE_PROGRAM, "cat FILE.none"), &layout).unwrap();
        assert!(failing.text(&recording).await.unwrap_err().to_string().contains("`cat` failed"));
        let missing =
            super::transcriber(&with(&table::VOICE_PROGRAM, "no-such-whisper FILE"), &layout).unwrap();
        assert!(missing.text(&recording).await.unwrap_err().to_string().contains("not installed"));
        let own = super::transcriber(&with(&table::VOICE_URL, "http://127.0.0.1:9/v1/"), &layout).unwrap();
        let Transcriber::Service(service) = own else { panic!("{own:?}") };
        assert_eq!(service.url, "http://127.0.0.1:9/v1/audio/transcriptions");
        assert_eq!(service.model, "whisper-1");
    }
}
