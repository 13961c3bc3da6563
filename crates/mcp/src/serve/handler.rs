//! One server's answers, whatever the transport: which tools there are, and what comes of a call.
//!
//! A tool that nobody knows is an error of the protocol; everything else that goes wrong is a result that the model reads,
//! with the mend in it.

// Log messages are on their way out of the protocol; today's clients still take them.
#![expect(deprecated, reason = "log messages: see above")]

use super::toolbox::Offer;
use super::{GRACE, spec};
use marvin_agent::session::LazySession;
use marvin_agent::{Notice, ProjectContext, ToolCaller};
use marvin_base::redact::{Redactor, Scope};
use marvin_base::run_record::{RunKind, RunStatus};
use marvin_flow::tools::Workflows;
use marvin_model::{Arguments, ToolCall};
use marvin_tools::{ProgressSink, Step, Toolbox};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ContentBlock, ErrorData, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, LoggingLevel, LoggingMessageNotificationParam,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, Tool,
};
use rmcp::service::{NotificationContext, Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const INSTRUCTIONS: &str = "Marvin judges commands and proves work. Before a command that could do harm, ask gate_explain. \
     Promise what must hold with add_commitment, and call verify before you say that work is done: it is done when verify says so. \
     summon_servitor gives work to an agent beside you, with commitments that prove it; wait_for_servitor tells what came of it. \
     workflow_run runs steps that survive a crash. memory_query tells what is remembered, unverified; memory_propose asks a person to \
     remember something.";

/// Clients that are told of events at the same time.
const MAX_NOTIFIED_CLIENTS: usize = 64;
/// Steps of one call that wait to be told; further ones are left out.
const MAX_QUEUED_STEPS: usize = 64;
/// Events that clients are told of begin so.
const TOLD: &str = "servitor.";

/// Answers one client; clones answer others from the same tools and the same desk.
#[derive(Clone)]
pub struct Handler {
    house: Arc<HandlerContext>,
}

/// What all clients share.
struct HandlerContext {
    toolbox: Toolbox,
    desk: ToolCaller,
    quarters: LazySession,
    workflows: Arc<Workflows>,
    redactor: Arc<Redactor>,
    cancel: CancellationToken,
    calls: TaskTracker,
    count: AtomicU64,
    peers: Mutex<Vec<Peer<RoleServer>>>,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Handler").field("toolbox", &self.house.toolbox).finish_non_exhaustive()
    }
}

impl Handler {
    /// Serves these tools on this ground until `cancel`. Must be made inside of a runtime.
    #[must_use]
    pub fn new(ground: &ProjectContext, offer: Offer, cancel: CancellationToken) -> Self {
        let (sender, mut events) = mpsc::channel::<Value>(256);
        let listener = move |notice: Notice<'_>| {
            if let Notice::Event(event) = notice
                && event.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with(TOLD))
            {
                // A client that does not listen does not hold up the work.
                sender.try_send(event.clone()).ok();
            }
        };
        let house = Arc::new(HandlerContext {
            toolbox: offer.toolbox,
            workflows: offer.workflows,
            desk: ToolCaller::new(ground, RunKind::Mcp, Box::new(listener.clone())),
            quarters: LazySession::new(offer.servitors, Arc::new(listener), cancel.clone()),
            redactor: ground.redactor.clone(),
            cancel,
            calls: TaskTracker::new(),
            count: AtomicU64::new(0),
            peers: Mutex::new(Vec::new()),
        });
        let listeners = Arc::downgrade(&house);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let Some(house) = listeners.upgrade() else { break };
                house.tell(event).await;
            }
        });
        Handler { house }
    }

    /// Names of the tools.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.house.toolbox.names()
    }

    /// Ends every call that still runs, breaks off whoever works, waits for their processes to be gone, and closes the record.
    ///
    /// # Errors
    /// When the record cannot be closed.
    pub async fn end(&self) -> Result<(), marvin_agent::SessionError> {
        self.house.cancel.cancel();
        self.house.calls.close();
        tokio::time::timeout(GRACE, self.house.calls.wait()).await.ok();
        self.house.workflows.end(GRACE).await;
        let ended = self.house.quarters.end(GRACE).await;
        self.house.desk.close(RunStatus::Success).and(ended)
    }

    fn tools(&self) -> Vec<Tool> {
        let toolbox = &self.house.toolbox;
        toolbox
            .names()
            .iter()
            .filter_map(|name| toolbox.find(name).ok())
            .map(|tool| spec::describe(&**tool))
            .collect()
    }
}

impl HandlerContext {
    /// Tells every client that listens.
    async fn tell(&self, event: Value) {
        let peers: Vec<Peer<RoleServer>> = {
            let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
            peers.retain(|peer| !peer.is_transport_closed());
            peers.clone()
        };
        for peer in peers {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, event.clone());
            peer.notify_logging_message(message.with_logger("marvin")).await.ok();
        }
    }

    /// Makes a call, tells its steps, and ends it with its request.
    async fn call(
        &self,
        call: &ToolCall,
        token: Option<ProgressToken>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let cancel = self.cancel.child_token();
        let (sender, mut steps) = mpsc::channel::<Step>(MAX_QUEUED_STEPS);
        let sink: Option<ProgressSink> = token.is_some().then(|| {
            let sink: ProgressSink = Arc::new(move |step| {
                sender.try_send(step).ok();
            });
            sink
        });
        let tell = async |step: Step| {
            let Some(token) = token.clone() else { return };
            #[expect(clippy::cast_precision_loss, reason = "steps are few")]
            let mut param =
                ProgressNotificationParam::new(token, step.done as f64).with_message(step.message);
            #[expect(clippy::cast_precision_loss, reason = "steps are few")]
            if let Some(total) = step.total {
                param = param.with_total(total as f64);
            }
            context.peer.notify_progress(param).await.ok();
        };
        let mut running = std::pin::pin!(self.desk.call(&self.toolbox, call, cancel.clone(), sink));
        let called = loop {
            tokio::select! {
                biased;
                Some(step) = steps.recv() => tell(step).await,
                called = &mut running => break called,
                // Its processes end first: an answer nobody waits for is the sign that they did.
                () = context.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        while let Ok(step) = steps.try_recv() {
            tell(step).await;
        }
        let called = called.map_err(|error| {
            let message = format!("the call cannot be recorded, so it does not count: {error}");
            ErrorData::internal_error(self.redactor.text(&message).into_owned(), None)
        })?;
        let mut text = self.redactor.text_for(&called.text, Scope::Caller).into_owned();
        if let Some(notice) = &called.notice {
            text.push_str(&format!("\nnote: {}", self.redactor.text(notice)));
        }
        let content = vec![ContentBlock::text(text)];
        let mut result =
            if called.ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
        // Redacted with the record already.
        result.structured_content = called.record.get("data").filter(|data| data.is_object()).cloned();
        Ok(result)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_logging().build();
        let name = Implementation::new("marvin", env!("CARGO_PKG_VERSION")).with_title("Marvin");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.and_then(|request| request.cursor).is_some() {
            return Err(ErrorData::invalid_params("there is only one page of tools", None));
        }
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let toolbox = &self.house.toolbox;
        toolbox
            .names()
            .contains(&name)
            .then(|| toolbox.find(name).ok().map(|tool| spec::describe(&**tool)))?
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let house = &self.house;
        if !house.toolbox.names().contains(&request.name.as_ref()) {
            // The sentence names the nearest tool, and all of them.
            let sentence = house.toolbox.find(&request.name).err().unwrap_or_default();
            let message = format!("Unknown tool: {sentence}");
            return Err(ErrorData::invalid_params(house.redactor.text(&message).into_owned(), None));
        }
        let number = house.count.fetch_add(1, Ordering::Relaxed) + 1;
        let call = ToolCall {
            id: format!("call_{number}"),
            name: request.name.to_string(),
            arguments: Arguments::Object(request.arguments.unwrap_or_default()),
            opaque: None,
        };
        let token = context.meta.get_progress_token();
        let result = house.calls.track_future(house.call(&call, token, &context)).await?;
        Ok(CallToolResponse::Complete(result))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // There is one level, and few messages.
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut peers = self.house.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|peer| !peer.is_transport_closed());
        if peers.len() < MAX_NOTIFIED_CLIENTS {
            peers.push(context.peer);
        }
    }

    // What is not declared is not there.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_base::trace_event::TraceEvent;
    use rmcp::model::{ClientCapabilities, ClientConfig};
    use rmcp::{ClientHandler, RoleClient, ServiceExt};
    use serde_json::json;

    /// A client that passes on what it is told.
    struct Ears(mpsc::UnboundedSender<Value>);

    impl ClientHandler for Ears {
        fn get_info(&self) -> ClientConfig {
            ClientConfig::new(ClientCapabilities::default(), Implementation::new("test", "1"))
        }

        async fn on_logging_message(
            &self,
            message: LoggingMessageNotificationParam,
            _context: NotificationContext<RoleClient>,
        ) {
            self.0.send(message.data).ok();
        }
    }

    #[tokio::test]
    async fn clients_are_told_of_servitors_and_of_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (home, project) = (directory.path().join("home"), directory.path().join("project"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(project.join(".marvin")).unwrap();
        let environment = Environment::from_iter([("HOME", home.display().to_string())]);
        let ground =
            ProjectContext::find(environment, project.clone(), Some(&project), true, Vec::new()).unwrap();
        let offer = super::super::toolbox(&ground, &[]).unwrap();
        let handler = Handler::new(&ground, offer, CancellationToken::new());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let server = tokio::spawn(handler.clone().serve(ours));
        let (sender, mut heard) = mpsc::unbounded_channel();
        let client = Ears(sender).serve(theirs).await.unwrap();
        let server = server.await.unwrap().unwrap();
        let call = CallToolRequestParams::new("list_commitments");
        client.peer().call_tool_once(call).await.unwrap();
        handler.house.desk.event(TraceEvent::notice("a word")).unwrap();
        let told = heard.recv().await.unwrap();
        assert_eq!((&told["type"], &told["text"]), (&json!("notice"), &json!("a word")));
        client.cancel().await.unwrap();
        server.cancel().await.ok();
        handler.end().await.unwrap();
        assert!(heard.try_recv().is_err());
    }
}
