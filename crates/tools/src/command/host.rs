//! An application that the pipeline sends requests to: sandboxed like every program, with one port to listen on.
//!
//! It can answer on that port and connect to nothing. It ends when its [`HostedApplication`] is dropped, with all that it started.
//!
//! Limits: what it says is kept by its last 64 KB. Where the kernel cannot open one port alone, it is not started.

use super::contained::{PrivateTempDir, bound, contain};
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::{self, ChildHandle};
use marvin_gate::JudgedCommand;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of what it says that are kept.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// A running application.
#[derive(Debug)]
pub struct HostedApplication {
    process: ChildHandle,
    said: Arc<Mutex<Vec<u8>>>,
    over: Arc<Mutex<u32>>,
    /// What contains it.
    pub sandbox: &'static str,
    _room: PrivateTempDir,
}

/// Starts a command in the workspace that listens on a port, which it finds in `PORT`.
///
/// # Errors
/// When it cannot be started or contained.
pub async fn host(
    command: JudgedCommand,
    port: u16,
    context: &ToolContext,
) -> Result<HostedApplication, ToolError> {
    let room = PrivateTempDir::new()?;
    let root = context.workspace()?.root().to_path_buf();
    let mut policy = room.policy(context)?;
    policy.listen = Some(port);
    let mut child = command;
    for (name, value) in
        [("PORT", port.to_string().as_str()), ("HOST", "127.0.0.1"), ("PYTHONUNBUFFERED", "1")]
    {
        child.set.insert(name.into(), value.into());
    }
    bound(&mut child, &root, context);
    let sandbox = contain(&mut child, policy, context).await?;
    let failed = |error: child::ChildError| ToolError::Failed(error.to_string());
    let (process, (_, stdout, stderr)) = child::keep(&child).map_err(failed)?;
    let (said, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
    tokio::spawn(listen(stdout, said.clone(), over.clone()));
    tokio::spawn(listen(stderr, said.clone(), over.clone()));
    Ok(HostedApplication { process, said, over, sandbox, _room: room })
}

/// Takes what it says, the last of it.
async fn listen(mut stream: impl AsyncRead + Unpin, said: Arc<Mutex<Vec<u8>>>, over: Arc<Mutex<u32>>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(read) = stream.read(&mut buffer).await {
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(piece);
        let spare = said.len().saturating_sub(MAX_OUTPUT_BYTES);
        said.drain(..spare);
    }
    *over.lock().unwrap_or_else(PoisonError::into_inner) += 1;
}

impl HostedApplication {
    /// What it said so far, the last of it.
    #[must_use]
    pub fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Whether it closed both of its streams: it ended, or will never say anything again.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) >= 2
    }

    /// Ends it, with all that it started.
    pub async fn end(self) {
        self.process.end().await;
    }
}
