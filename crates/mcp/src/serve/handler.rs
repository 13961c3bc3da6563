//! The server's answers on every transport: its tools with their results, and skills as prompts.
//!
//! An unknown tool is an error of the protocol; every other failure is a result that the model reads, with its fix.

// Log messages are deprecated in the protocol; current clients still show them.
#![expect(deprecated, reason = "log messages: see above")]

use super::toolbox::Offer;
use super::{GRACE, prompts, spec};
use marvin_agent::session::LazySession;
use marvin_agent::skills::SkillRegistry;
use marvin_agent::{Notice, ProjectContext, ToolCaller};
use marvin_base::redact::{Redactor, Scope};
use marvin_base::run_record::{RunKind, RunStatus};
use marvin_flow::tools::Workflows;
use marvin_model::{Arguments, ToolCall};
use marvin_tools::{ProgressSink, Step, Toolbox};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig, SetLevelRequestParams, Tool,
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
     summon_servitor gives work to another agent, with commitments that prove it; wait_for_servitor returns its result. \
     workflow_run runs steps that survive a crash. memory_query returns what is remembered, unverified; memory_propose asks a person to \
     remember something.";

/// Clients that are notified of events at the same time.
const MAX_NOTIFIED_CLIENTS: usize = 64;
/// Progress steps of one call that wait to be sent; further ones are dropped.
const MAX_QUEUED_STEPS: usize = 64;
/// Methods with parameters that this server answers in every revision of the protocol: `logging/setLevel` is gone from the newest.
const METHODS: [&str; 4] = ["tools/list", "tools/call", "prompts/list", "prompts/get"];
/// Prefix of events that clients are notified of.
const NOTIFIED_EVENTS: &str = "servitor.";

/// Answers one client; clones share the tools and the tool caller.
#[derive(Clone)]
pub struct Handler {
    shared: Arc<HandlerContext>,
}

/// State that all clients share.
struct HandlerContext {
    toolbox: Toolbox,
    caller: ToolCaller,
    session: LazySession,
    workflows: Arc<Workflows>,
    skills: Arc<SkillRegistry>,
    redactor: Arc<Redactor>,
    cancel: CancellationToken,
    calls: TaskTracker,
    count: AtomicU64,
    peers: Mutex<Vec<Peer<RoleServer>>>,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Handler").field("toolbox", &self.shared.toolbox).finish_non_exhaustive()
    }
}

impl Handler {
    /// Serves these tools until `cancel`. Must be created inside of a runtime.
    #[must_use]
    pub fn new(context: &ProjectContext, offer: Offer, cancel: CancellationToken) -> Self {
        let (sender, mut events) = mpsc::channel::<Value>(256);
        let listener = move |notice: Notice<'_>| {
            if let Notice::Event(event) = notice
                && event
                    .get("type")
                    .and_then(Value::as_str)
                    .is_some_and(|kind| kind.starts_with(NOTIFIED_EVENTS))
            {
                // A slow client does not hold up the work.
                sender.try_send(event.clone()).ok();
            }
        };
        let shared = Arc::new(HandlerContext {
            toolbox: offer.toolbox,
            workflows: offer.workflows,
            caller: ToolCaller::new(context, RunKind::Mcp, Box::new(listener.clone())),
            session: LazySession::new(offer.servitors, Arc::new(listener), cancel.clone()),
            skills: context.skills.clone(),
            redactor: context.redactor.clone(),
            cancel,
            calls: TaskTracker::new(),
            count: AtomicU64::new(0),
            peers: Mutex::new(Vec::new()),
        });
        let weak = Arc::downgrade(&shared);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let Some(shared) = weak.upgrade() else { break };
                shared.notify(event).await;
            }
        });
        Handler { shared }
    }

    /// Names of the tools.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.shared.toolbox.names()
    }

    /// Cancels every running call, workflow and servitor, waits for their processes, and closes the record.
    ///
    /// # Errors
    /// When the record cannot be closed.
    pub async fn end(&self) -> Result<(), marvin_agent::SessionError> {
        let shared = &self.shared;
        shared.cancel.cancel();
        shared.calls.close();
        tokio::time::timeout(GRACE, shared.calls.wait()).await.ok();
        shared.workflows.end(GRACE).await;
        let ended = shared.session.end(GRACE).await;
        shared.caller.close(RunStatus::Success).and(ended)
    }

    fn tools(&self) -> Vec<Tool> {
        let toolbox = &self.shared.toolbox;
        toolbox
            .names()
            .iter()
            .filter_map(|name| toolbox.find(name).ok())
            .map(|tool| spec::describe(&**tool))
            .collect()
    }
}

impl HandlerContext {
    /// Notifies every connected client.
    async fn notify(&self, event: Value) {
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

    /// Makes a call, reports its progress, and cancels it with its request.
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
        let report = async |step: Step| {
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
        let mut running = std::pin::pin!(self.caller.call(&self.toolbox, call, cancel.clone(), sink));
        let outcome = loop {
            tokio::select! {
                biased;
                Some(step) = steps.recv() => report(step).await,
                outcome = &mut running => break outcome,
                // A cancelled call still runs to its end, so that its processes are gone when it returns.
                () = context.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        while let Ok(step) = steps.try_recv() {
            report(step).await;
        }
        let outcome = outcome.map_err(|error| {
            let message = format!("the call cannot be recorded, so it does not count: {error}");
            ErrorData::internal_error(self.redactor.text(&message).into_owned(), None)
        })?;
        let mut text = self.redactor.text_for(&outcome.text, Scope::Caller).into_owned();
        if let Some(notice) = &outcome.notice {
            text.push_str(&format!("\nnote: {}", self.redactor.text(notice)));
        }
        let content = vec![ContentBlock::text(text)];
        let mut result =
            if outcome.ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
        // Redacted with the record already.
        result.structured_content = outcome.record.get("data").filter(|data| data.is_object()).cloned();
        Ok(result)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_logging().build();
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
        let toolbox = &self.shared.toolbox;
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
        let shared = &self.shared;
        if !shared.toolbox.names().contains(&request.name.as_ref()) {
            // The error names the nearest tool, and all of them.
            let error = shared.toolbox.find(&request.name).err().map(|error| error.to_string());
            let message = format!("Unknown tool: {}", error.unwrap_or_default());
            return Err(ErrorData::invalid_params(shared.redactor.text(&message).into_owned(), None));
        }
        let number = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
        let call = ToolCall {
            id: format!("call_{number}"),
            name: request.name.to_string(),
            arguments: Arguments::Object(request.arguments.unwrap_or_default()),
            opaque: None,
        };
        let token = context.meta.get_progress_token();
        let result = shared.calls.track_future(shared.call(&call, token, &context)).await?;
        Ok(CallToolResponse::Complete(result))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // All messages have one level.
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        tracing::info!("MCP client connected");
        let mut peers = self.shared.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|peer| !peer.is_transport_closed());
        if peers.len() < MAX_NOTIFIED_CLIENTS {
            peers.push(context.peer);
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if request.and_then(|request| request.cursor).is_some() {
            return Err(ErrorData::invalid_params("there is only one page of prompts", None));
        }
        Ok(ListPromptsResult::with_all_items(prompts::list(&self.shared.skills.refresh())))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let skills = self.shared.skills.refresh();
        let result = prompts::get(&skills, &request, &self.shared.redactor)?;
        Ok(GetPromptResponse::Complete(result))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // The library takes a request whose parameters cannot be parsed for one of an unknown method.
        if METHODS.contains(&request.method.as_str()) {
            let message = format!("the parameters of {} are missing or wrong", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    // Undeclared capabilities answer "method not found".

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

    /// A client that forwards log messages.
    struct LogClient(mpsc::UnboundedSender<Value>);

    impl ClientHandler for LogClient {
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
    async fn clients_are_notified_of_servitors_and_of_nothing_else() {
        let files = marvin_testing::Project::new(&[]);
        let (environment, project) = (Environment::from_iter(files.variables()), files.path());
        let context =
            ProjectContext::find(environment, project.clone(), Some(&project), true, Vec::new()).unwrap();
        let offer = super::super::toolbox(&context, &[]).unwrap();
        let handler = Handler::new(&context, offer, CancellationToken::new());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let server = tokio::spawn(handler.clone().serve(ours));
        let (sender, mut messages) = mpsc::unbounded_channel();
        let client = LogClient(sender).serve(theirs).await.unwrap();
        let server = server.await.unwrap().unwrap();
        let call = CallToolRequestParams::new("list_commitments");
        client.peer().call_tool_once(call).await.unwrap();
        let caller = &handler.shared.caller;
        caller.event(TraceEvent::notice("not for clients")).unwrap();
        let (agent, name, state) = ("a1".to_string(), "Arthur".to_string(), "done".to_string());
        caller.event(TraceEvent::ServitorDismissed { agent, name, state }).unwrap();
        let event = messages.recv().await.unwrap();
        assert_eq!((&event["type"], &event["name"]), (&json!("servitor.dismissed"), &json!("Arthur")));
        client.cancel().await.unwrap();
        server.cancel().await.ok();
        handler.end().await.unwrap();
        assert!(messages.try_recv().is_err());
    }
}
