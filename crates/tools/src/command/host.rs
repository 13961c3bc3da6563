//! An application that the pipeline sends requests to: sandboxed like every program, with one port to listen on.
//!
//! It can answer on that port and connect to nothing. It ends when its [`HostedApplication`] is dropped, with all that it started.
//!
//! Limits: only the last 64 KB of its output are kept. Where the kernel cannot open one port alone, it is not started.

use super::contained::{PrivateTempDir, bound, contain};
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::{self, ChildHandle};
use marvin_gate::JudgedCommand;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of its output that are kept: the last.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// A running application.
#[derive(Debug)]
pub struct HostedApplication {
    process: ChildHandle,
    output: Arc<Mutex<Vec<u8>>>,
    closed_streams: Arc<Mutex<u32>>,
    /// The sandbox that it has.
    pub sandbox: &'static str,
    _private: PrivateTempDir,
}

/// Starts a command in the workspace that listens on the port in `PORT`.
///
/// # Errors
/// When it cannot be started or contained.
pub async fn host(
    command: JudgedCommand,
    port: u16,
    context: &ToolContext,
) -> Result<HostedApplication, ToolError> {
    let private = PrivateTempDir::new()?;
    let root = context.workspace()?.root().to_path_buf();
    let mut policy = private.policy(context)?;
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
    let (output, closed_streams) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
    tokio::spawn(collect(stdout, output.clone(), closed_streams.clone()));
    tokio::spawn(collect(stderr, output.clone(), closed_streams.clone()));
    Ok(HostedApplication { process, output, closed_streams, sandbox, _private: private })
}

/// Collects the end of a stream.
async fn collect(mut stream: impl AsyncRead + Unpin, output: Arc<Mutex<Vec<u8>>>, closed: Arc<Mutex<u32>>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(read) = stream.read(&mut buffer).await {
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend_from_slice(piece);
        let excess = output.len().saturating_sub(MAX_OUTPUT_BYTES);
        output.drain(..excess);
    }
    *closed.lock().unwrap_or_else(PoisonError::into_inner) += 1;
}

impl HostedApplication {
    /// The end of its output so far.
    #[must_use]
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Whether it closed both of its streams: it has ended, or will print nothing more.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self.closed_streams.lock().unwrap_or_else(PoisonError::into_inner) >= 2
    }

    /// Ends it, with all that it started.
    pub async fn end(self) {
        self.process.end().await;
    }
}
