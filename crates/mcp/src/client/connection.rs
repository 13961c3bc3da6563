//! The connection to one server, over its standard streams or over HTTP.

use super::error::ClientError;
use marvin_agent::ProjectContext;
use marvin_base::child::{self, Child, ChildHandle, Limits};
use marvin_base::redact::Redactor;
use marvin_base::truncate;
use marvin_tools::servers::{Definition, NeutralDirectory, Server, filled};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
    PaginatedRequestParams, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientHandler, RoleClient};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// Bytes of one message of a server; a longer one is dropped, and its request times out.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
const MAX_TOOL_LIST_PAGES: usize = 50;
/// Tools that are read from the list; fewer are taken.
const MAX_LISTED_TOOLS: usize = 2_000;
/// Bytes of a server's standard error that are kept: the last.
const MAX_STDERR_BYTES: usize = 4 * 1024;
/// Time to wait for the rest of a server's standard error.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_SERVER_PROCESSES: u32 = 512;

/// A connected server.
pub(super) struct Connection {
    pub(super) name: String,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, ListChanges>>>,
    process: Mutex<Option<ChildHandle>>,
    /// Its working directory, which is removed with it.
    neutral: Mutex<Option<NeutralDirectory>>,
    changed: Arc<AtomicBool>,
    stderr: StderrTail,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Receives a server's notifications. Its requests are declined, since no such capability was declared.
#[derive(Debug, Clone)]
struct ListChanges {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for ListChanges {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("marvin", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// Starts the server, or connects to it, and initialises the protocol.
    pub(super) async fn open(context: &ProjectContext, server: &Server) -> Result<Self, ClientError> {
        let changed = Arc::new(AtomicBool::new(false));
        let handler = ListChanges { changed: changed.clone() };
        let stderr_tail = StderrTail::default();
        let (service, process, neutral) = match &server.definition.url {
            Some(url) => (over_http(context, &server.definition, url, handler).await?, None, None),
            None => {
                let (child, neutral) = program(context, server)?;
                let (process, (stdin, stdout, stderr)) = child::keep(&child)?;
                tokio::spawn(stderr_tail.clone().collect(stderr));
                let transport =
                    AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_MESSAGE_BYTES);
                let mode = ClientLifecycleMode::Initialize;
                match serve_client_with_lifecycle(handler, transport, mode).await {
                    Ok(service) => (service, Some(process), neutral),
                    Err(error) => {
                        return Err(stderr_tail.append_to(handshake_error(&error), &context.redactor).await);
                    }
                }
            }
        };
        Ok(Connection {
            name: server.name.clone(),
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            process: Mutex::new(process),
            neutral: Mutex::new(neutral),
            changed,
            stderr: stderr_tail,
        })
    }

    /// Its tools, within bounds.
    pub(super) async fn list(&self) -> Result<Vec<Tool>, ClientError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_TOOL_LIST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(page)).await;
            let page = page.map_err(|error| {
                ClientError::Protocol(format!("it does not list its tools: {}", plain(&error)))
            })?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= MAX_LISTED_TOOLS {
                break;
            }
        }
        tools.truncate(MAX_LISTED_TOOLS);
        Ok(tools)
    }

    /// Whether it notified that its tools changed; this resets it.
    pub(super) fn take_change(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn put_change_back(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Makes a call; when this future is dropped, the server is told to cancel it.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<CallToolResponse, ClientError> {
        let response = self.peer.call_tool_once(params).await;
        response.map_err(|error| {
            ClientError::Protocol(match error {
                ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                    format!("the server `{}` is gone; its tools cannot be used any more", self.name)
                }
                error => plain(&error),
            })
        })
    }

    /// Adds the end of the server's standard error, if it is gone.
    pub(super) async fn with_stderr(&self, error: ClientError, redactor: &Redactor) -> ClientError {
        if self.peer.is_transport_closed() { self.stderr.append_to(error, redactor).await } else { error }
    }

    /// Ends it, with everything that it started.
    pub(super) async fn end(&self) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            service.close_with_timeout(CLOSE_TIMEOUT).await.ok();
        }
        if let Some(process) = process {
            process.end().await;
        }
        drop(self.neutral.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// An error of the protocol on one line, bounded: the server wrote part of it.
fn plain(error: &impl std::fmt::Display) -> String {
    truncate::line(&marvin_gate::quote::seen(&error.to_string()), 300)
}

/// Why the protocol could not be initialised.
fn handshake_error(error: &ClientInitializeError) -> ClientError {
    ClientError::Protocol(match error {
        _ if error.is_authorization_required() => {
            "it requires authorization\n  hint: headers = { Authorization = \"Bearer $VARIABLE\" }"
                .to_string()
        }
        ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be reached: {}", plain(&error.error))
        }
        ClientInitializeError::ConnectionClosed(_) => "it ended during the handshake".to_string(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return handshake_error(fallback),
        error => format!("the handshake failed: {}", plain(error)),
    })
}

/// The end of a server's standard error.
#[derive(Debug, Clone, Default)]
struct StderrTail {
    text: Arc<Mutex<Vec<u8>>>,
    ended: CancellationToken,
}

impl StderrTail {
    async fn collect(self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(read) = stderr.read(&mut buffer).await {
            if read == 0 {
                break;
            }
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            text.extend_from_slice(buffer.get(..read).unwrap_or_default());
            let excess = text.len().saturating_sub(MAX_STDERR_BYTES);
            text.drain(..excess);
        }
        self.ended.cancel();
    }

    /// Adds the last lines to an error; it waits a moment for a server that is about to end.
    async fn append_to(&self, error: ClientError, redactor: &Redactor) -> ClientError {
        tokio::time::timeout(STDERR_TIMEOUT, self.ended.cancelled()).await.ok();
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
        let lines: Vec<String> =
            lines.iter().rev().map(|line| truncate::line(&redactor.text(line), 160)).collect();
        if lines.is_empty() {
            return error;
        }
        ClientError::Protocol(format!("{error}; its standard error: {}", lines.join(" / ")))
    }
}

/// The program, in its own directory and with only the variables that it was given.
fn program(
    context: &ProjectContext,
    server: &Server,
) -> Result<(Child, Option<NeutralDirectory>), ClientError> {
    let launch = server.launch(&context.layout, &context.environment)?;
    let child = Child {
        directory: Some(launch.directory),
        set: launch.variables,
        inherit: false,
        limits: Limits { processes: Some(MAX_SERVER_PROCESSES), ..Limits::default() },
        ..Child::new(launch.program).args(launch.arguments)
    };
    Ok((child, launch.neutral))
}

async fn over_http(
    context: &ProjectContext,
    definition: &Definition,
    url: &str,
    handler: ListChanges,
) -> Result<RunningService<RoleClient, ListChanges>, ClientError> {
    let client = marvin_model::wire::web_client(url, definition.startup())
        .map_err(|error| ClientError::Protocol(error.to_string()))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(MAX_MESSAGE_BYTES);
    for (name, value) in &definition.headers {
        let value = filled(value, &context.environment)?;
        let wrong =
            || ClientError::Protocol(format!("its header `{}` cannot be sent", truncate::line(name, 40)));
        let name = name.parse().map_err(|_| wrong())?;
        config.custom_headers.insert(name, value.parse().map_err(|_| wrong())?);
    }
    // The current revision first; a server that knows only an older one may not even refuse it properly.
    let present = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let mut last = ClientError::Interrupted;
    for mode in [present, ClientLifecycleMode::Initialize] {
        let transport = StreamableHttpClientTransport::with_client(client.clone(), config.clone());
        match serve_client_with_lifecycle(handler.clone(), transport, mode).await {
            Ok(service) => return Ok(service),
            Err(error) if error.is_authorization_required() => return Err(handshake_error(&error)),
            Err(error) => last = handshake_error(&error),
        }
    }
    Err(last)
}
