//! `marvin attempt` as a child process.
//!
//! The order is the first line of its stdin, which stays open: when the worker dies, it ends, and the child cancels the
//! attempt. A child that does not end after that is killed.

use marvin_flow::remote::AttemptReply;
use marvin_flow::remote::attempt::AttemptRequest;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Time for a child to end after its attempt was cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of a reply.
const MAX_REPLY_BYTES: u64 = 16 * 1024 * 1024;
/// Characters of a child's errors in a message.
const MAX_ERROR_CHARS: usize = 600;

/// Why an attempt did not reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildError {
    #[error("cannot run `marvin attempt`: {0}")]
    Io(#[from] std::io::Error),
    #[error("`marvin attempt` ended with {status}: {errors}")]
    Failed { status: ExitStatus, errors: String },
    #[error("cannot read the reply of `marvin attempt`: {0}")]
    Reply(serde_json::Error),
    #[error("the attempt was cancelled")]
    Cancelled,
}

/// The program and the directory of attempts.
#[derive(Debug, Clone)]
pub(crate) struct AttemptProgram {
    pub(crate) program: PathBuf,
    pub(crate) directory: PathBuf,
}

impl AttemptProgram {
    /// Makes the attempt in this directory, else in that of the worker, until `cancelled` is over.
    pub(crate) async fn run(
        &self,
        request: &AttemptRequest,
        directory: Option<&Path>,
        cancelled: impl Future<Output = ()>,
    ) -> Result<AttemptReply, ChildError> {
        let mut line = serde_json::to_vec(request).map_err(std::io::Error::from)?;
        line.push(b'\n');
        let mut child = spawn(&self.program, directory.unwrap_or(&self.directory))?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(std::io::Error::other("it has no pipes").into());
        };
        let (mut text, mut errors) = (Vec::new(), Vec::new());
        let (mut stdout, mut stderr) = (stdout.take(MAX_REPLY_BYTES), stderr.take(MAX_REPLY_BYTES));
        let talk = async {
            stdin.write_all(&line).await?;
            stdin.flush().await?;
            tokio::try_join!(stdout.read_to_end(&mut text), stderr.read_to_end(&mut errors))?;
            child.wait().await
        };
        let ended = tokio::select! {
            ended = talk => Some(ended?),
            () = cancelled => None,
        };
        let Some(status) = ended else {
            drop((stdin, stdout, stderr));
            end(&mut child).await;
            return Err(ChildError::Cancelled);
        };
        if !status.success() {
            let errors = String::from_utf8_lossy(&errors).trim().chars().take(MAX_ERROR_CHARS).collect();
            return Err(ChildError::Failed { status, errors });
        }
        serde_json::from_slice(&text).map_err(ChildError::Reply)
    }
}

fn spawn(program: &Path, directory: &Path) -> std::io::Result<Child> {
    Command::new(program)
        .args(["attempt", "--watch"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Waits until a child has ended whose attempt was cancelled.
async fn end(child: &mut Child) {
    if tokio::time::timeout(CANCEL_TIMEOUT, child.wait()).await.is_err() {
        // Its own children die with it: they are tied to its threads.
        child.kill().await.ok();
    }
}
