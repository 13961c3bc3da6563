//! `marvin model-server`: a script, served over HTTP in five wire formats.
//!
//! Every provider client, and programs like `codex` and `claude`, are tested against this server over real sockets. It
//! plays one [`Script`] whatever format asks, so the same conversation can be held with every client. It also fails as
//! real servers fail: with a status, with silence, with a broken connection, with bytes that are not the protocol.
//!
//! A format module reads a request into the neutral [`Request`](crate::client::Request) and writes an [`Answer`]; routing, failures and the
//! log are here. The path in front of the known endings is not looked at: `/v1/chat/completions` and
//! `/openai/v1/chat/completions` are the same.
//!
//! Limits: keys are not checked, options of the requests (temperature and the like) are ignored, and tokens are
//! estimated from characters unless the script says them. A model whose name contains `thinking` also thinks aloud,
//! so that clients can be tested for sending thoughts back.

mod answer;
mod anthropic;
mod gemini;
mod incoming;
mod ollama;
mod openai;
mod paced;
mod responses;

use crate::formats::anthropic::MessagesRequest;
use crate::formats::gemini::GenerateRequest;
use crate::formats::openai::ChatRequest;
use crate::formats::responses::ResponsesRequest;
use crate::script::{Entry, FailureKind, Script, ScriptFailure, ScriptReply};
use crate::wire::copilot::{CopilotEndpoints, CopilotToken};
use answer::{Answer, Frames, json_text};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use incoming::IncomingRequest;
use marvin_base::clock;
use paced::{End, PacedBody};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The log keeps this many requests, so that a long run does not fill the memory.
const LOG_LENGTH: usize = 200;

/// Requests beyond this size are refused.
const MAX_REQUEST_BYTES: usize = 256 << 20;

/// How long [`ModelServer::stop`] waits for connections to end.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// The answer when the script has nothing left.
const EMPTY: &str = r#"{"status":"PARTIAL","summary":"mock response","failure_signature":"mock-empty"}"#;

/// Bytes of a `garbage` failure.
const GARBAGE: &[u8] = b"<html>\x00\xff\xfe this is not the protocol {{{\n\n%%%\n";

/// The models of an OpenAI-compatible server.
const OPENAI_MODELS: &str =
    r#"{"object":"list","data":[{"id":"scripted","object":"model","created":0,"owned_by":"marvin"}]}"#;

/// The models of an Ollama server.
const OLLAMA_MODELS: &str = r#"{"models":[{"name":"scripted:latest","model":"scripted:latest","size":0}]}"#;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ServedScript>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct ServedScript {
    script: Script,
    address: SocketAddr,
    stopped: CancellationToken,
    log: Mutex<VecDeque<(String, Value)>>,
    /// Numbers answers and calls, so that ids are unique and the same in every run.
    counter: AtomicU64,
}

impl ModelServer {
    /// Binds the address (port 0 picks a free one) and serves the script. Needs a running Tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn start(script: Script, address: SocketAddr) -> std::io::Result<ModelServer> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        // Without it the kernel would hold small chunks back until earlier ones are acknowledged.
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
            stream.set_nodelay(true).ok();
        });
        let shared = Arc::new(ServedScript {
            script,
            address,
            stopped: CancellationToken::new(),
            log: Mutex::default(),
            counter: AtomicU64::new(1),
        });
        let router = Router::new().fallback(serve).with_state(Arc::clone(&shared));
        let stopped = shared.stopped.clone().cancelled_owned();
        let task = tokio::spawn(async move {
            // Serving ends only with the signal; errors of single connections are theirs alone.
            axum::serve(listener, router).with_graceful_shutdown(stopped).await.ok();
        });
        Ok(ModelServer { address, shared, task: Some(task) })
    }

    /// The address that it is bound to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The last requests, oldest first: the path with its query, and the body (`null` where there was none).
    #[must_use]
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Stops serving and waits until the connections are closed.
    pub async fn stop(mut self) {
        self.shared.stopped.cancel();
        if let Some(mut task) = self.task.take()
            && tokio::time::timeout(STOP_WAIT, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopped.cancel();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    OpenAi,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

impl Format {
    fn from_path(path: &str) -> Option<Format> {
        if path.ends_with("/chat/completions") {
            Some(Format::OpenAi)
        } else if path.ends_with("/responses") {
            Some(Format::Responses)
        } else if path.ends_with("/messages") {
            Some(Format::Anthropic)
        } else if path.ends_with("/api/chat") {
            Some(Format::Ollama)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Format::Gemini)
        } else {
            None
        }
    }

    fn read(self, path: &str, query: &str, body: &Value) -> serde_json::Result<IncomingRequest> {
        let mut incoming = match self {
            Format::OpenAi => openai::read(ChatRequest::deserialize(body)?),
            Format::Responses => responses::read(ResponsesRequest::deserialize(body)?),
            Format::Anthropic => anthropic::read(MessagesRequest::deserialize(body)?),
            Format::Gemini => gemini::read(path, query, GenerateRequest::deserialize(body)?),
            Format::Ollama => ollama::read(ChatRequest::deserialize(body)?),
        };
        if incoming.model.is_empty() {
            incoming.model = body.get("model").and_then(Value::as_str).unwrap_or("scripted").to_string();
        }
        Ok(incoming)
    }

    fn frames(self, answer: &Answer, events: bool) -> Frames {
        match self {
            Format::OpenAi => openai::frames(answer),
            Format::Responses => responses::frames(answer),
            Format::Anthropic => anthropic::frames(answer),
            Format::Gemini => gemini::frames(answer, events),
            Format::Ollama => ollama::frames(answer),
        }
    }

    /// The answer in one piece.
    fn whole(self, answer: &Answer) -> Frames {
        Frames::whole(&match self {
            Format::OpenAi => json_text(&openai::whole(answer)),
            Format::Responses => json_text(&responses::whole(answer)),
            Format::Anthropic => json_text(&anthropic::whole(answer)),
            Format::Gemini => json_text(&gemini::whole(answer)),
            Format::Ollama => json_text(&ollama::whole(answer)),
        })
    }

    /// An error body as the vendor shapes it.
    fn error(self, status: StatusCode, message: &str) -> String {
        let code = status.as_u16();
        let kind = match code {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        let error = match self {
            Format::OpenAi | Format::Responses => ErrorDetail::OpenAi { message, kind, param: (), code: () },
            Format::Anthropic => ErrorDetail::Anthropic { kind, message },
            Format::Gemini => {
                let name = status.canonical_reason().unwrap_or("UNKNOWN");
                ErrorDetail::Gemini { code, message, status: name.to_ascii_uppercase().replace(' ', "_") }
            }
            Format::Ollama => ErrorDetail::Text(message),
        };
        json_text(&ErrorBody { kind: (self == Format::Anthropic).then_some("error"), error })
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    error: ErrorDetail<'a>,
}

/// An error as each vendor describes it.
#[derive(Serialize)]
#[serde(untagged)]
enum ErrorDetail<'a> {
    Text(&'a str),
    OpenAi {
        message: &'a str,
        #[serde(rename = "type")]
        kind: &'static str,
        param: (),
        code: (),
    },
    Anthropic {
        #[serde(rename = "type")]
        kind: &'static str,
        message: &'a str,
    },
    Gemini {
        code: u16,
        message: &'a str,
        status: String,
    },
    Plain {
        message: &'a str,
    },
}

/// The answer to `/messages/count_tokens`.
#[derive(Serialize)]
struct TokenCount {
    input_tokens: usize,
}

async fn serve(State(shared): State<Arc<ServedScript>>, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().trim_end_matches('/').to_string();
    if path == "/healthz" {
        return json_response(StatusCode::OK, r#"{"ok":true}"#.into());
    }
    let Ok(bytes) = axum::body::to_bytes(body, MAX_REQUEST_BYTES).await else {
        return plain_error(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large or was cut");
    };
    let body: Value =
        if bytes.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&bytes) }.unwrap_or_default();
    shared.note(parts.uri.path_and_query().map_or(path.as_str(), |whole| whole.as_str()), &body);
    if parts.method == Method::GET {
        return shared.get(&path);
    }
    if path.ends_with("/messages/count_tokens") {
        return json_response(StatusCode::OK, json_text(&TokenCount { input_tokens: bytes.len() / 4 }));
    }
    let Some(format) = Format::from_path(&path).filter(|_| parts.method == Method::POST) else {
        return plain_error(StatusCode::NOT_FOUND, &format!("no such endpoint: {} {path}", parts.method));
    };
    let bad =
        |reason: &str| json_response(StatusCode::BAD_REQUEST, format.error(StatusCode::BAD_REQUEST, reason));
    if !body.is_object() {
        return bad("the body is not a JSON object");
    }
    let mut incoming = match format.read(&path, parts.uri.query().unwrap_or_default(), &body) {
        Ok(incoming) => incoming,
        Err(error) => return bad(&format!("cannot parse the request: {error}")),
    };
    incoming.request.role = header_text(&parts.headers, "x-marvin-role").unwrap_or_default();
    incoming.request.step = header_text(&parts.headers, "x-marvin-step");
    shared.play(format, incoming, bytes.len()).await
}

impl ServedScript {
    fn note(&self, path: &str, body: &Value) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() >= LOG_LENGTH {
            log.pop_front();
        }
        log.push_back((path.to_string(), body.clone()));
    }

    fn get(&self, path: &str) -> Response {
        if path.ends_with("/copilot_internal/v2/token") {
            let token = CopilotToken {
                token: "scripted-copilot-token".into(),
                expires_at: clock::now().as_second() + 1800,
                refresh_in: 1500,
                endpoints: CopilotEndpoints { api: Some(format!("http://{}", self.address)) },
            };
            return json_response(StatusCode::OK, json_text(&token));
        }
        if path.ends_with("/api/tags") {
            return json_response(StatusCode::OK, OLLAMA_MODELS.into());
        }
        if path.ends_with("/models") {
            return json_response(StatusCode::OK, OPENAI_MODELS.into());
        }
        plain_error(StatusCode::NOT_FOUND, &format!("no such endpoint: GET {path}"))
    }

    async fn play(&self, format: Format, incoming: IncomingRequest, size: usize) -> Response {
        let entry = match self.script.take(&incoming.request) {
            Ok(Some(entry)) => (*entry).clone(),
            Ok(None) => Entry {
                reply: Some(ScriptReply { text: EMPTY.into(), ..ScriptReply::default() }),
                ..Entry::default()
            },
            Err(error) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return json_response(status, format.error(status, &error.to_string()));
            }
        };
        if entry.delay_ms > 0 {
            tokio::select! {
                () = self.stopped.cancelled() => {}
                () = tokio::time::sleep(Duration::from_millis(entry.delay_ms)) => {}
            }
        }
        match (&entry.fail, &entry.reply) {
            (Some(failure), _) if failure.kind == FailureKind::Http => refuse(format, failure),
            (Some(failure), None) if failure.kind == FailureKind::Timeout => {
                self.stopped.cancelled().await;
                plain_error(StatusCode::SERVICE_UNAVAILABLE, "the server stops")
            }
            (failure, reply) => {
                let number = self.counter.fetch_add(1, Ordering::Relaxed);
                let frames = match reply {
                    None => Frames::empty(),
                    Some(reply) => {
                        let answer = Answer::new(number, &incoming, &entry, reply, size);
                        if incoming.stream {
                            format.frames(&answer, incoming.events)
                        } else {
                            format.whole(&answer)
                        }
                    }
                };
                self.send(frames, failure.as_ref())
            }
        }
    }

    fn send(&self, mut frames: Frames, failure: Option<&ScriptFailure>) -> Response {
        let end = match failure.map(|failure| failure.kind) {
            None | Some(FailureKind::Http) => End::Whole,
            Some(FailureKind::Disconnect) => {
                frames.halve();
                End::Break
            }
            Some(FailureKind::Timeout) => {
                frames.halve();
                End::Hang(Box::pin(self.stopped.clone().cancelled_owned()))
            }
            Some(FailureKind::Garbage) => {
                frames.halve();
                frames.list.push(Bytes::from_static(GARBAGE));
                End::Whole
            }
        };
        let kind = frames.content_type;
        let mut response = Response::new(Body::from_stream(PacedBody::new(frames.list, end)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
        headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache"));
        response
    }
}

fn refuse(format: Format, failure: &ScriptFailure) -> Response {
    let status = failure.status.and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let message = format!("the script fails with {status}");
    let mut response = json_response(status, format.error(status, &message));
    if let Some(seconds) = failure.retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
    }
    response
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_string)
}

fn json_response(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn plain_error(status: StatusCode, message: &str) -> Response {
    json_response(status, json_text(&ErrorBody { kind: None, error: ErrorDetail::Plain { message } }))
}
