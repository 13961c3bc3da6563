//! Speech input: recorded by a program of the system, transcribed by a provider.

use super::Chat;
use marvin_base::child::{self, Child, Ending};
use marvin_base::files::{self, Links};
use marvin_model::choose;
use marvin_model::speech;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Recorders in order of preference, with placeholders `SECONDS` and `FILE`.
const RECORDERS: [(&str, &str); 4] = [
    ("arecord", "-q -f S16_LE -r 16000 -c 1 -d SECONDS FILE"),
    ("rec", "-q -r 16000 -c 1 FILE trim 0 SECONDS"),
    ("ffmpeg", "-loglevel error -f pulse -i default -t SECONDS -ar 16000 -ac 1 -y FILE"),
    ("parecord", "--file-format=wav --rate=16000 --channels=1 FILE"),
];
/// A recording larger than this is not sent.
const MAX_RECORDING_BYTES: u64 = 24 * 1024 * 1024;

/// Why speech could not be turned into text.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    #[error(
        "no recorder was found\n  hint: install one of arecord (alsa-utils), parecord (pulseaudio-utils), rec (sox), ffmpeg"
    )]
    NoRecorder,
    #[error("nothing can be recorded: {0}")]
    Directory(std::io::Error),
    #[error("{0}")]
    Recorder(String),
    #[error("{0}")]
    Transcription(String),
}

impl Chat {
    /// Records speech and gives its text.
    pub async fn listen(&self, seconds: u64) -> Result<String, VoiceError> {
        let project = self.project();
        let found = RECORDERS.iter().find_map(|(name, words)| {
            Some((*name, choose::find_program(name, &project.environment)?, *words))
        });
        let (name, program, words) = found.ok_or(VoiceError::NoRecorder)?;
        let transcriber = speech::transcriber(&project.settings, &project.layout)
            .map_err(|error| VoiceError::Transcription(error.to_string()))?;
        let directory = tempfile::tempdir().map_err(VoiceError::Directory)?;
        let file = directory.path().join("speech.wav");
        record(name, &program, words, seconds, &file).await?;
        let sound = files::read(&file, MAX_RECORDING_BYTES, Links::Refuse)
            .map_err(|error| VoiceError::Recorder(format!("{name} recorded nothing: {error}")))?;
        let text = transcriber.text(sound).await;
        let text = text.map_err(|error| VoiceError::Transcription(error.to_string()))?;
        Ok(text.trim().to_string())
    }
}

async fn record(
    name: &str,
    program: &Path,
    words: &str,
    seconds: u64,
    file: &Path,
) -> Result<(), VoiceError> {
    let put = |word: &str| {
        word.replace("SECONDS", &seconds.to_string()).replace("FILE", &file.display().to_string())
    };
    let mut recorder = Child::new(program).args(words.split_whitespace().map(put));
    // parecord records until it is ended.
    recorder.deadline = Duration::from_secs(if name == "parecord" { seconds } else { seconds + 10 });
    let outcome = child::run(recorder, &CancellationToken::new()).await;
    let outcome =
        outcome.map_err(|error| VoiceError::Recorder(format!("{name} cannot be started: {error}")))?;
    match outcome.ending {
        Ending::Exited(0) => Ok(()),
        _ if name == "parecord" && file.exists() => Ok(()),
        _ => Err(VoiceError::Recorder(format!("{name} did not record: {}", outcome.stderr.text().trim()))),
    }
}
