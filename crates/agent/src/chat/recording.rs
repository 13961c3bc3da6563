//! Speech input: recorded by a program of the system, transcribed by a service or a program.
//!
//! A recorder runs until it is ended. It writes WAV, or raw samples that become WAV here; so a recorder that was killed before it
//! could complete its header leaves a recording all the same. The text goes to the input, where the person confirms it.

use crate::project_context::ProjectContext;
use marvin_base::child::{self, Child, Ending};
use marvin_base::files::{self, Links};
use marvin_base::settings::table;
use marvin_model::choose;
use marvin_model::speech::{self, Transcriber};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Recorders in order of preference, with the placeholder `FILE`.
const RECORDERS: [(&str, &str); 5] = [
    ("arecord", "-q -t raw -f S16_LE -r 16000 -c 1 FILE"),
    ("parecord", "--raw --format=s16le --rate=16000 --channels=1 FILE"),
    ("pw-record", "--format=s16 --rate=16000 --channels=1 FILE"),
    ("rec", "-q -r 16000 -c 1 -b 16 -e signed-integer -t raw FILE"),
    ("ffmpeg", "-loglevel error -f pulse -i default -ar 16000 -ac 1 -f s16le -y FILE"),
];
/// A recording larger than this is not sent.
const MAX_RECORDING_BYTES: u64 = 24 * 1024 * 1024;
const MAX_RECORDING_TIME: Duration = Duration::from_secs(600);
/// Samples of raw recordings: 16 bits, mono.
const SAMPLES_PER_SECOND: u32 = 16_000;
const WAV_HEADER_BYTES: usize = 44;

/// Why speech could not be turned into text.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    #[error(
        "no recorder was found\n  hint: install one of arecord (alsa-utils), parecord (pulseaudio-utils), pw-record (pipewire), rec \
         (sox), ffmpeg; or set voice.recorder"
    )]
    NoRecorder,
    #[error("nothing can be recorded: {0}")]
    Directory(std::io::Error),
    #[error("{0}")]
    Recorder(String),
    #[error("{0}")]
    Transcription(String),
}

/// A recording that runs. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Recording {
    /// Holds the file.
    directory: tempfile::TempDir,
    name: String,
    transcriber: Transcriber,
    stop: CancellationToken,
    recorder: JoinHandle<Result<(), VoiceError>>,
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Recording {
    /// Begins to record. What is missing is said before a word is spoken.
    pub(super) fn begin(project: &ProjectContext) -> Result<Self, VoiceError> {
        let (name, program, words) = find_recorder(project)?;
        let transcriber = speech::transcriber(&project.settings, &project.layout)
            .map_err(|error| VoiceError::Transcription(error.to_string()))?;
        let directory = tempfile::tempdir().map_err(VoiceError::Directory)?;
        let file = directory.path().join("recording");
        let stop = CancellationToken::new();
        let recorder = tokio::spawn(record(name.clone(), program, words, file, stop.clone()));
        Ok(Recording { directory, name, transcriber, stop, recorder })
    }

    /// Whether something was recorded so far.
    #[cfg(test)]
    pub(super) fn has_sound(&self) -> bool {
        has_bytes(&self.directory.path().join("recording"))
    }

    /// Records for this many seconds, or until the recorder ends.
    pub(super) async fn wait(&mut self, seconds: u64) -> Result<(), VoiceError> {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(seconds)) => Ok(()),
            // A recorder that fails is not waited for.
            ended = &mut self.recorder => {
                ended.map_err(|error| VoiceError::Recorder(error.to_string()))??;
                self.recorder = tokio::spawn(async { Ok(()) });
                Ok(())
            }
        }
    }

    /// Ends the recording and gives its text.
    pub(super) async fn finish(mut self) -> Result<String, VoiceError> {
        self.stop.cancel();
        let ended = (&mut self.recorder).await;
        ended.map_err(|error| VoiceError::Recorder(error.to_string()))??;
        let recorded = self.directory.path().join("recording");
        let bytes = files::read(&recorded, MAX_RECORDING_BYTES, Links::Refuse)
            .map_err(|error| VoiceError::Recorder(format!("{} recorded nothing: {error}", self.name)))?;
        if bytes.is_empty() {
            return Err(VoiceError::Recorder(format!("{} recorded nothing", self.name)));
        }
        let file = self.directory.path().join("speech.wav");
        std::fs::write(&file, to_wav(bytes)).map_err(VoiceError::Directory)?;
        let text = self.transcriber.text(&file).await;
        let text = text.map_err(|error| VoiceError::Transcription(error.to_string()))?;
        Ok(text.trim().to_string())
    }
}

/// Name, path and words of the recorder.
fn find_recorder(project: &ProjectContext) -> Result<(String, PathBuf, Vec<String>), VoiceError> {
    let split = |words: &str| words.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let own = split(project.settings.text(&table::VOICE_RECORDER));
    if let Some((name, words)) = own.split_first() {
        if !words.iter().any(|word| word.contains("FILE")) {
            return Err(VoiceError::Recorder(format!(
                "the recorder `{name}` does not know where to write\n  hint: put FILE into {}, in place of the path",
                table::VOICE_RECORDER.key
            )));
        }
        let missing = || VoiceError::Recorder(format!("the recorder `{name}` is not installed"));
        let program = choose::find_program(name, &project.environment).ok_or_else(missing)?;
        return Ok((name.clone(), program, words.to_vec()));
    }
    let found = RECORDERS.iter().find_map(|(name, words)| {
        Some((name.to_string(), choose::find_program(name, &project.environment)?, split(words)))
    });
    found.ok_or(VoiceError::NoRecorder)
}

async fn record(
    name: String,
    program: PathBuf,
    words: Vec<String>,
    file: PathBuf,
    stop: CancellationToken,
) -> Result<(), VoiceError> {
    let path = file.display().to_string();
    let mut recorder = Child::new(program).args(words.iter().map(|word| word.replace("FILE", &path)));
    recorder.deadline = MAX_RECORDING_TIME;
    let outcome = child::run(recorder, &stop).await;
    let outcome =
        outcome.map_err(|error| VoiceError::Recorder(format!("{name} cannot be started: {error}")))?;
    match outcome.ending {
        Ending::Exited(0) | Ending::Cancelled | Ending::Late => Ok(()),
        _ if has_bytes(&file) => Ok(()),
        _ => Err(VoiceError::Recorder(format!("{name} did not record: {}", outcome.stderr.text().trim()))),
    }
}

fn has_bytes(file: &Path) -> bool {
    file.metadata().is_ok_and(|facts| facts.len() > 0)
}

/// The recording as WAV: raw samples get a header, and the lengths of a header that was not completed are set.
fn to_wav(bytes: Vec<u8>) -> Vec<u8> {
    let is_wav = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE");
    if is_wav {
        return with_lengths(bytes);
    }
    let mut wav = Vec::with_capacity(bytes.len() + WAV_HEADER_BYTES);
    wav.extend_from_slice(b"RIFF\0\0\0\0WAVEfmt ");
    wav.extend_from_slice(&16u32.to_le_bytes());
    // PCM, one channel.
    wav.extend_from_slice(&[1, 0, 1, 0]);
    wav.extend_from_slice(&SAMPLES_PER_SECOND.to_le_bytes());
    wav.extend_from_slice(&(SAMPLES_PER_SECOND * 2).to_le_bytes());
    // Two bytes per sample, sixteen bits.
    wav.extend_from_slice(&[2, 0, 16, 0]);
    wav.extend_from_slice(b"data\0\0\0\0");
    wav.extend(bytes);
    with_lengths(wav)
}

/// Sets the lengths of a WAV file to what is there.
fn with_lengths(mut wav: Vec<u8>) -> Vec<u8> {
    let length = |rest: usize| u32::try_from(rest).unwrap_or(u32::MAX).to_le_bytes();
    let whole = wav.len();
    if let Some(field) = wav.get_mut(4..8) {
        field.copy_from_slice(&length(whole.saturating_sub(8)));
    }
    // Only the usual header, whose last chunk is the sound, is changed.
    if wav.get(36..40) == Some(b"data")
        && let Some(field) = wav.get_mut(40..WAV_HEADER_BYTES)
    {
        field.copy_from_slice(&length(whole.saturating_sub(WAV_HEADER_BYTES)));
    }
    wav
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_samples_and_broken_headers_become_wav() {
        let wav = to_wav(vec![7; 1_000]);
        assert_eq!(wav.len(), 1_044);
        assert_eq!(&wav[4..8], &1_036u32.to_le_bytes());
        assert_eq!(&wav[40..44], &1_000u32.to_le_bytes());
        let mut broken = wav.clone();
        broken[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(to_wav(broken), wav);
        assert_eq!(to_wav(b"RIFF".to_vec()).len(), 48);
    }
}
