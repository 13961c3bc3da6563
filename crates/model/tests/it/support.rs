//! Shared helpers: a server with a script, and a client for each provider.

use marvin_model::client::Sink;
use marvin_model::retry::RetryClient;
use marvin_model::script::{Script, parse};
use marvin_model::server::ModelServer;
use marvin_model::wire::{CopilotModel, HttpModel, HttpOptions, WireKind};
use marvin_model::{Event, Message, ModelClient, ModelError, Reply, Request, ToolSpec, Usage};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A provider as the tests see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) wire: WireKind,
    pub(crate) base: &'static str,
}

pub(crate) const OPENAI: Provider = Provider { name: "openai", wire: WireKind::OpenAi, base: "/v1" };
pub(crate) const GROQ: Provider = Provider { name: "groq", wire: WireKind::OpenAi, base: "/openai/v1" };
pub(crate) const ANTHROPIC: Provider = Provider { name: "anthropic", wire: WireKind::Anthropic, base: "" };
pub(crate) const GEMINI: Provider = Provider { name: "gemini", wire: WireKind::Gemini, base: "" };
pub(crate) const OLLAMA: Provider = Provider { name: "ollama", wire: WireKind::Ollama, base: "" };
pub(crate) const COPILOT: Provider = Provider { name: "copilot", wire: WireKind::OpenAi, base: "" };

pub(crate) fn server(script: &str) -> ModelServer {
    let script = Script::new(parse("script", script).unwrap());
    ModelServer::start(script, "127.0.0.1:0".parse().unwrap()).unwrap()
}

impl Provider {
    pub(crate) fn options(self, server: SocketAddr, model: &str, idle: Duration) -> HttpOptions {
        HttpOptions {
            provider: self.name.into(),
            wire: self.wire,
            url: format!("http://{server}{}", self.base),
            key: Some("gho_test".into()),
            model: model.into(),
            headers: Vec::new(),
            connect: Duration::from_secs(5),
            first: idle,
            idle,
            total: Duration::from_secs(60),
            context: Some(4096),
        }
    }

    pub(crate) fn client_with(
        self,
        server: &ModelServer,
        model: &str,
        idle: Duration,
    ) -> Arc<dyn ModelClient> {
        let options = self.options(server.address(), model, idle);
        if self.name == "copilot" {
            let token = format!("http://{}/copilot_internal/v2/token", server.address());
            Arc::new(CopilotModel::new(options, token).unwrap())
        } else {
            Arc::new(HttpModel::new(options).unwrap())
        }
    }

    pub(crate) fn client(self, server: &ModelServer) -> Arc<dyn ModelClient> {
        self.client_with(server, "scripted-1", Duration::from_secs(10))
    }

    pub(crate) fn retrying(self, server: &ModelServer, retries: u32) -> RetryClient {
        RetryClient { inner: self.client(server), retries }
    }
}

pub(crate) fn request(text: &str) -> Request {
    Request {
        messages: vec![Message::system("Be brief."), Message::user(text)],
        tools: vec![ToolSpec {
            name: "read_file".into(),
            description: "Reads a file.".into(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}).into(),
        }],
        role: "Chat".into(),
        ..Request::default()
    }
}

/// The outcome of a request: the reply or the error, and the events before it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Reply, ModelError>,
    pub(crate) texts: Vec<String>,
    pub(crate) reasoning: String,
    pub(crate) restarts: Vec<(String, u32)>,
    /// Cost of the attempts that were repeated.
    pub(crate) lost: Vec<Usage>,
    /// Tokens of the prompt that were read, of how many.
    pub(crate) reading: Vec<(u64, u64)>,
}

impl Outcome {
    pub(crate) fn reply(self) -> Reply {
        self.result.unwrap()
    }
}

pub(crate) async fn ask(client: &dyn ModelClient, request: &Request) -> Outcome {
    ask_until(client, request, &CancellationToken::new()).await
}

pub(crate) async fn ask_until(
    client: &dyn ModelClient,
    request: &Request,
    cancel: &CancellationToken,
) -> Outcome {
    let (mut texts, mut reasoning, mut restarts) = (Vec::new(), String::new(), Vec::new());
    let (mut lost, mut reading) = (Vec::new(), Vec::new());
    let mut collect = |event: Event<'_>| match event {
        Event::Text(piece) => texts.push(piece.to_string()),
        Event::Reasoning(piece) => reasoning.push_str(piece),
        Event::Fallback { .. } => {}
        Event::Restart { reason, attempt, spent } => {
            texts.clear();
            lost.extend(spent);
            restarts.push((reason.to_string(), attempt));
        }
        Event::Reading { done, total } => reading.push((done, total)),
        Event::Idle => {}
    };
    let sink: &mut Sink<'_> = &mut collect;
    let result = client.send(request, sink, cancel).await;
    Outcome { result, texts, reasoning, restarts, lost, reading }
}
