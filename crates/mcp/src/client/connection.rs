//! One server that runs, or that is spoken to over HTTP.

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

/// Bytes of one message of a server; a longer one is dropped, and what waits for it runs out of time.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Pages of a list of tools.
const MAX_TOOL_LIST_PAGES: usize = 50;
/// Tools that are looked at; those of them that are taken are fewer.
const MAX_LISTED_TOOLS: usize = 2_000;
/// Bytes of a server's standard error that are kept: the last.
const LAST_WORDS: usize = 4 * 1024;
/// How long the last words of a server are waited for.
const LISTENING: Duration = Duration::from_millis(500);
/// How long a server may take to close its side.
const CLOSING: Duration = Duration::from_secs(2);
/// Processes that a server may have at the same time.
const MAX_SERVER_PROCESSES: u32 = 512;
/// A server.
pub(super) struct Connection {
    pub(super) name: String,
    peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, Ears>>>,
    kept: Mutex<Option<ChildHandle>>,
    /// The directory that it started in, which goes with it.
    neutral: Mutex<Option<NeutralDirectory>>,
    changed: Arc<AtomicBool>,
    words: LastWords,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Hears what a server says unasked. Whatever it asks of us is declined: nothing of the kind was declared.
#[derive(Debug, Clone)]
struct Ears {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("marvin", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// Starts the server, or reaches it, and says hello.
    pub(super) async fn open(ground: &ProjectContext, server: &Server) -> Result<Self, String> {
        let changed = Arc::new(AtomicBool::new(false));
        let ears = Ears { changed: changed.clone() };
        let words = LastWords::default();
        let (running, kept, neutral) = match &server.definition.url {
            Some(url) => (over_http(ground, &server.definition, url, ears).await?, None, None),
            None => {
                let (child, neutral) = program(ground, server)?;
                let (kept, (stdin, stdout, stderr)) =
                    child::keep(&child).map_err(|error| error.to_string())?;
                tokio::spawn(words.clone().listen(stderr));
                let transport =
                    AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_MESSAGE_BYTES);
                let mode = ClientLifecycleMode::Initialize;
                match serve_client_with_lifecycle(ears, transport, mode).await {
                    Ok(running) => (running, Some(kept), neutral),
                    Err(error) => return Err(words.after(&no_hello(&error), &ground.redactor).await),
                }
            }
        };
        Ok(Connection {
            name: server.name.clone(),
            peer: running.peer().clone(),
            running: Mutex::new(Some(running)),
            kept: Mutex::new(kept),
            neutral: Mutex::new(neutral),
            changed,
            words,
        })
    }

    /// Its tools, as it tells them, within bounds.
    pub(super) async fn list(&self) -> Result<Vec<Tool>, String> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_TOOL_LIST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(page)).await;
            let page = page.map_err(|error| format!("it does not list its tools: {}", plain(&error)))?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= MAX_LISTED_TOOLS {
                break;
            }
        }
        tools.truncate(MAX_LISTED_TOOLS);
        Ok(tools)
    }

    /// Did it say that its tools are no longer what they were? Only said once.
    pub(super) fn take_change(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// To be asked again.
    pub(super) fn put_change_back(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Makes a call; dropped before it is answered, the server is told to end it.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<CallToolResponse, String> {
        match self.peer.call_tool_once(params).await {
            Ok(response) => Ok(response),
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                Err(format!("the server `{}` is gone; its tools cannot be used any more", self.name))
            }
            Err(error) => Err(plain(&error)),
        }
    }

    /// A sentence with what the server last said on its standard error.
    pub(super) async fn with_last_words(&self, sentence: &str, redactor: &Redactor) -> String {
        if self.peer.is_transport_closed() {
            self.words.after(sentence, redactor).await
        } else {
            sentence.to_string()
        }
    }

    /// Ends it, with everything that it started.
    pub(super) async fn end(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            running.close_with_timeout(CLOSING).await.ok();
        }
        if let Some(kept) = kept {
            kept.end().await;
        }
        drop(self.neutral.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// An error of the protocol on one line, bounded: the server wrote part of it.
fn plain(error: &impl std::fmt::Display) -> String {
    truncate::line(&marvin_gate::quote::seen(&error.to_string()), 300)
}

/// Why a server could not be spoken to.
fn no_hello(error: &ClientInitializeError) -> String {
    match error {
        _ if error.is_authorization_required() => {
            "it wants to know who asks\n  hint: headers = { Authorization = \"Bearer $VARIABLE\" }"
                .to_string()
        }
        ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be spoken to: {}", plain(&error.error))
        }
        ClientInitializeError::ConnectionClosed(_) => "it ended before it said hello".to_string(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => no_hello(fallback),
        error => format!("it did not say hello: {}", plain(error)),
    }
}

/// The end of what a server says on its standard error.
#[derive(Debug, Clone, Default)]
struct LastWords {
    text: Arc<Mutex<Vec<u8>>>,
    ended: CancellationToken,
}

impl LastWords {
    async fn listen(self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(read) = stderr.read(&mut buffer).await {
            if read == 0 {
                break;
            }
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            text.extend_from_slice(buffer.get(..read).unwrap_or_default());
            let excess = text.len().saturating_sub(LAST_WORDS);
            text.drain(..excess);
        }
        self.ended.cancel();
    }

    /// A sentence with the last of them; a server that is gone has a moment to be heard to its end.
    async fn after(&self, sentence: &str, redactor: &Redactor) -> String {
        tokio::time::timeout(LISTENING, self.ended.cancelled()).await.ok();
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
        let said: Vec<String> =
            lines.iter().rev().map(|line| truncate::line(&redactor.text(line), 160)).collect();
        if said.is_empty() {
            sentence.to_string()
        } else {
            format!("{sentence}; it said: {}", said.join(" / "))
        }
    }
}

/// The program, in its own directory and with only the variables that it was given.
fn program(ground: &ProjectContext, server: &Server) -> Result<(Child, Option<NeutralDirectory>), String> {
    let launch = server.launch(&ground.layout, &ground.environment)?;
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
    ground: &ProjectContext,
    definition: &Definition,
    url: &str,
    ears: Ears,
) -> Result<RunningService<RoleClient, Ears>, String> {
    let client = marvin_model::wire::web_client(url, definition.startup())?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(MAX_MESSAGE_BYTES);
    for (name, value) in &definition.headers {
        let value = filled(value, &ground.environment)?;
        let wrong = || format!("its header `{}` cannot be sent", truncate::line(name, 40));
        let name = name.parse().map_err(|_| wrong())?;
        config.custom_headers.insert(name, value.parse().map_err(|_| wrong())?);
    }
    // The present revision first; a server that knows only an older one may not even refuse it properly.
    let present = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let mut last = String::new();
    for mode in [present, ClientLifecycleMode::Initialize] {
        let transport = StreamableHttpClientTransport::with_client(client.clone(), config.clone());
        match serve_client_with_lifecycle(ears.clone(), transport, mode).await {
            Ok(running) => return Ok(running),
            Err(error) if error.is_authorization_required() => return Err(no_hello(&error)),
            Err(error) => last = no_hello(&error),
        }
    }
    Err(last)
}
