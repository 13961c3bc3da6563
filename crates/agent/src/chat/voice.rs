//! `!voice`: speech as input. The person confirms the text before it is sent.

use super::recording::{Recording, VoiceError};
use super::{Chat, Reply};

impl Chat {
    /// Records speech for this many seconds and gives its text. `begun` is called when the recorder runs.
    pub async fn listen(&self, seconds: u64, begun: impl FnOnce()) -> Result<String, VoiceError> {
        let mut recording = Recording::begin(&self.project())?;
        begun();
        recording.wait(seconds).await?;
        recording.finish().await
    }

    /// Begins a recording, or ends the one that runs; its text is for the input.
    pub(super) async fn toggle_voice(&self) -> Reply {
        let running = self.state().recording.take();
        match running {
            Some(recording) => match recording.finish().await {
                Ok(text) => Reply::Speech(text),
                Err(error) => Reply::Wrong(error.to_string()),
            },
            None => match Recording::begin(&self.project()) {
                Ok(recording) => {
                    self.state().recording = Some(recording);
                    Reply::Changed("recording; `!voice` ends it, and puts the text into the input".into())
                }
                Err(error) => Reply::Wrong(error.to_string()),
            },
        }
    }
}
