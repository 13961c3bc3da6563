//! Handling of events, for the daemon and for a hook without a daemon.
//!
//! A handler serves one project and every session in it. Its state is never only in memory, so that another handler of the
//! project can continue. A call that cannot be recorded is not allowed, and one that cannot be understood is asked about.

mod injection;
mod permission;
mod prompt;
mod session_events;
mod tests_seen;

pub use permission::{ClientAnswer, ClientPlace, explain_answer};

use crate::answer::Answer;
use crate::event::{Client, Deed, Event, Input};
use crate::packs::Packs;
use crate::session::{ActivityFacts, Session, SessionError, SessionRecord};
use marvin_agent::commitments::{self, PROJECT};
use marvin_agent::{ProjectContext, evaluator};
use marvin_base::environment::Environment;
use marvin_base::trace_event::{HookObservation, TraceEvent};
use marvin_gate::effects::Grounds;
use marvin_gate::layers::Place;
use marvin_gate::{Decision, Layers};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub struct EventHandler {
    project: PathBuf,
    context: ProjectContext,
    layers: Layers,
    packs: Mutex<Packs>,
    sessions: Mutex<BTreeMap<String, Arc<Mutex<Session>>>>,
    extensions: Mutex<Option<(Instant, BTreeSet<String>)>>,
    /// The reason why no model judges commands although the settings name one.
    trouble: Option<String>,
}

/// The result of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Text for standard output.
    Print(String),
    /// The agent of this session claims to be done: the caller verifies the commitments and passes the report to
    /// [`EventHandler::verified`].
    Verify(String),
}

/// Session records that are due to be written.
#[derive(Debug)]
pub struct PendingWrites(Vec<(Arc<Mutex<Session>>, SessionRecord)>);

impl PendingWrites {
    pub fn write(self) {
        for (session, state) in self.0 {
            if !state.write() {
                lock(&session).keep_trying();
            }
        }
    }
}

impl EventHandler {
    /// Opens the handler of a project directory.
    pub fn open(
        environment: &Environment,
        project: &Path,
        cancel: &CancellationToken,
    ) -> Result<EventHandler, marvin_agent::SessionError> {
        let find = |working_dir: Option<&Path>| {
            ProjectContext::find(environment.clone(), project.to_path_buf(), working_dir, false, Vec::new())
        };
        // The home directory and `/` are not workspaces, but commands are judged there too.
        let context = match find(Some(project)) {
            Err(error @ marvin_agent::SessionError::State(_)) => return Err(error),
            found => found.or_else(|_| find(None))?,
        };
        let (layers, trouble) = if evaluator::is_wanted(&context) {
            match evaluator::for_hooks(&context, cancel) {
                Ok((layers, trouble)) => (layers, trouble),
                Err(error) => (context.layers(), Some(error.to_string())),
            }
        } else {
            (context.layers(), None)
        };
        let packs = Packs::load(&context.layout.packs());
        Ok(EventHandler {
            project: project.to_path_buf(),
            context,
            layers,
            packs: Mutex::new(packs),
            sessions: Mutex::default(),
            extensions: Mutex::default(),
            trouble,
        })
    }

    #[must_use]
    pub fn context(&self) -> &ProjectContext {
        &self.context
    }

    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The number of sessions that have not ended.
    #[must_use]
    pub fn sessions(&self) -> usize {
        lock(&self.sessions).len()
    }

    /// Answers an event; `attended`: a person can be asked.
    pub async fn answer(&self, client: Client, name: &str, attended: bool, input: &Value) -> Reply {
        let read = Input { attended, ..Input::read(input) };
        let Some(event) = Event::read(name) else {
            self.unknown(client, name, &read);
            return Reply::Print("{}".into());
        };
        let session = self.session(client, &read);
        let answer = match &session {
            Ok(session) => self.attend(event, &read, session).await,
            Err(error) if event == Event::Stop && commitments::promises(&self.context.layout, PROJECT) => {
                Answer::Note(trouble_text(event, &error.to_string()))
            }
            // Without a record nothing is allowed, but a refusal does not need one.
            Err(error) => self.unrecorded(event, &read, error).await,
        };
        if event == Event::SessionEnd {
            lock(&self.sessions).remove(key(&read));
        }
        if event == Event::Stop
            && answer == Answer::Nothing
            && let Ok(session) = &session
            && self.needs_verification(&read, &mut lock(session))
        {
            return Reply::Verify(key(&read).to_string());
        }
        Reply::Print(answer.print(client, event))
    }

    async fn attend(&self, event: Event, input: &Input, session: &Mutex<Session>) -> Answer {
        let observe = |kind: fn(HookObservation) -> TraceEvent| {
            observed(event, kind, input, &mut lock(session));
            Answer::Nothing
        };
        match event {
            Event::PreToolUse | Event::PermissionRequest => self.judged(event, input, session).await,
            Event::PostToolUse | Event::PostToolUseFailure => self.used(event, input, &mut lock(session)),
            Event::UserPromptSubmit => self.prompted(input, &mut lock(session)),
            Event::SessionStart => self.start_session(input, &mut lock(session)),
            Event::SubagentStart => self.start_subagent(input, &mut lock(session)),
            Event::PreCompact => self.before_compaction(input, &mut lock(session)),
            Event::SessionEnd => self.end_session(input, &mut lock(session)),
            Event::Setup => observe(TraceEvent::HookSetup),
            Event::UserPromptExpansion => observe(TraceEvent::HookUserPromptExpansion),
            Event::PostToolBatch => observe(TraceEvent::HookPostToolBatch),
            Event::PermissionDenied => observe(TraceEvent::HookPermissionDenied),
            Event::Notification => observe(TraceEvent::HookNotification),
            Event::Stop => observe(TraceEvent::HookStop),
            Event::StopFailure => observe(TraceEvent::HookStopFailure),
            Event::SubagentStop => observe(TraceEvent::HookSubagentStop),
            Event::PostCompact => observe(TraceEvent::HookPostCompact),
            Event::PreModelSwitch => observe(TraceEvent::HookPreModelSwitch),
            Event::PostModelSwitch => observe(TraceEvent::HookPostModelSwitch),
            Event::PreModelRequest => observe(TraceEvent::HookPreModelRequest),
            Event::TeammateIdle => observe(TraceEvent::HookTeammateIdle),
            Event::TaskCreated => observe(TraceEvent::HookTaskCreated),
            Event::TaskCompleted => observe(TraceEvent::HookTaskCompleted),
            Event::Elicitation => observe(TraceEvent::HookElicitation),
            Event::ElicitationResult => observe(TraceEvent::HookElicitationResult),
            Event::ConfigChange => observe(TraceEvent::HookConfigChange),
            Event::WorktreeCreate => observe(TraceEvent::HookWorktreeCreate),
            Event::WorktreeRemove => observe(TraceEvent::HookWorktreeRemove),
            Event::InstructionsLoaded => observe(TraceEvent::HookInstructionsLoaded),
            Event::CwdChanged => observe(TraceEvent::HookCwdChanged),
            Event::FileChanged => observe(TraceEvent::HookFileChanged),
            Event::DirectoryAdded => observe(TraceEvent::HookDirectoryAdded),
            Event::MessageDisplay => observe(TraceEvent::HookMessageDisplay),
            Event::Interrupt => observe(TraceEvent::HookInterrupt),
        }
    }

    /// The session that an event belongs to.
    fn session(&self, client: Client, input: &Input) -> Result<Arc<Mutex<Session>>, SessionError> {
        let id = key(input);
        let mut sessions = lock(&self.sessions);
        if let Some(session) = sessions.get(id) {
            // When the run directory was moved or deleted, the session continues in a new one.
            if lock(session).is_there() {
                return Ok(session.clone());
            }
        }
        let layout = &self.context.layout;
        let own = layout.runs();
        let prepared = layout.prepare_state().map_err(SessionError::from);
        layout.link_runs();
        let opened = prepared.and_then(|()| Session::open(&own, id, client, &self.context.redactor));
        let opened = opened.or_else(|error| {
            let person = layout.user_runs();
            if person == own {
                return Err(error);
            }
            Session::open(&person, id, client, &self.context.redactor)
        });
        let session = Arc::new(Mutex::new(opened?));
        sessions.insert(id.to_string(), session.clone());
        Ok(session)
    }

    /// The session records that are due. They are written beside the answers and not before them, since the trace has all
    /// of it.
    #[must_use]
    pub fn due(&self) -> Option<PendingWrites> {
        let sessions: Vec<_> = lock(&self.sessions).values().cloned().collect();
        let due = sessions.into_iter().filter_map(|session| {
            let state = lock(&session).due()?;
            Some((session, state))
        });
        let due: Vec<_> = due.collect();
        (!due.is_empty()).then_some(PendingWrites(due))
    }

    fn unknown(&self, client: Client, name: &str, input: &Input) {
        if let Ok(session) = self.session(client, input) {
            let mut session = lock(&session);
            let event = session.short(name);
            session.record(&TraceEvent::HookUnknown { event, agent_id: input.agent.clone() }).ok();
        }
    }

    /// The packs, reloaded if they changed.
    fn packs(&self) -> MutexGuard<'_, Packs> {
        let mut packs = lock(&self.packs);
        packs.refresh(Instant::now());
        packs
    }

    /// A path relative to the project; `None` for one outside.
    fn relative(&self, path: &str, input: &Input) -> Option<String> {
        let given = Path::new(path);
        let base =
            if input.directory.is_empty() { self.project.clone() } else { PathBuf::from(&input.directory) };
        let whole = if given.is_absolute() { given.to_path_buf() } else { base.join(given) };
        let whole = normal(&whole);
        let root = self.root(input);
        let below = root.as_ref().and_then(|root| whole.strip_prefix(root).ok());
        let below = below.or_else(|| whole.strip_prefix(&self.project).ok())?;
        below.to_str().filter(|text| !text.is_empty()).map(str::to_string)
    }

    /// The workspace of a call: the project, or a checkout beside it; never the home directory, its ancestors or a
    /// directory of the system.
    fn root(&self, input: &Input) -> Option<PathBuf> {
        let home = self.context.layout.home();
        let usable = |directory: &Path| {
            let system =
                ["/etc", "/usr", "/bin", "/sbin", "/lib", "/boot", "/dev", "/proc", "/sys", "/var/lib"];
            !home.starts_with(directory) && !system.iter().any(|place| directory.starts_with(place))
        };
        let directory = Path::new(&input.directory);
        if directory.is_absolute() && directory != self.project {
            let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
            if !directory.starts_with(&self.project)
                && let Some(top) = directory.ancestors().find(|directory| directory.join(".git").exists())
                && usable(top)
            {
                return Some(top.to_path_buf());
            }
        }
        Some(self.project.clone()).filter(|project| usable(project))
    }
}

/// The answer after a failure: a question or a refusal to a call, a note at the start and at a stop, an empty answer to other
/// events.
#[must_use]
pub fn in_doubt(client: Client, event: Option<Event>, reason: &str) -> String {
    if let Some(event @ (Event::SessionStart | Event::Stop)) = event {
        return Answer::Note(trouble_text(event, reason)).print(client, event);
    }
    let Some(event) = event.filter(|event| event.decides()) else { return "{}".into() };
    let decision = if event == Event::PermissionRequest { Decision::Deny } else { Decision::Ask };
    let reason = format!("Marvin could not judge this: {reason}");
    // Claude Code is asking the person already.
    if event == Event::PermissionRequest && client == Client::Claude {
        return "{}".into();
    }
    Answer::Verdict { decision, reason, context: None }.print(client, event)
}

/// A sentence for the person on a start or a stop that could not be handled.
fn trouble_text(event: Event, reason: &str) -> String {
    let what = match event {
        Event::Stop => "verify the commitments of this project",
        _ => "watch this session; calls that it cannot judge are refused or asked about",
    };
    format!("Marvin cannot {what}: {reason}. `marvin doctor` shows more.")
}

/// The answer without a handler: a command that the gate refuses without settings is refused, an agent that stops is sent
/// back once with the reason, the rest is in doubt.
#[must_use]
pub fn without_handler(
    client: Client,
    event: Option<Event>,
    input: &Value,
    home: &Path,
    why: &str,
) -> String {
    let read = Input::read(input);
    let call = read.call.clone().unwrap_or_default();
    if let (Some(event), Deed::Command(line)) = (event.filter(|event| event.decides()), call.deed()) {
        let home = home.display().to_string();
        let place = Place {
            directory: &read.directory,
            grounds: Grounds { workspace: &read.directory, home: &home },
        };
        let layers = Layers::none();
        let verdict = layers.rule(line, place, layers.look(line, place)).verdict;
        if verdict.decision == Decision::Deny {
            let reason = permission::reason(&verdict, false);
            return Answer::Verdict { decision: Decision::Deny, reason, context: None }.print(client, event);
        }
    }
    match event {
        Some(event @ Event::Stop) if !read.stop_hook_active => {
            let text = trouble_text(event, why);
            let text = format!("{text} Nothing that you did was verified. Tell the person so, and why.");
            Answer::Continue(text).print(client, event)
        }
        Some(event @ Event::SessionStart) => {
            let note = trouble_text(event, why);
            Answer::ContextAndNote { context: note.clone(), note }.print(client, event)
        }
        _ => in_doubt(client, event, why),
    }
}

/// The answer to a model that judges a command: it may not run one.
pub(crate) fn evaluating(client: Client, event: Option<Event>) -> String {
    let reason = "a model that judges a command does not run one".to_string();
    match event {
        Some(event) if event.decides() => {
            Answer::Verdict { decision: Decision::Deny, reason, context: None }.print(client, event)
        }
        _ => "{}".into(),
    }
}

/// Records an event that needs no answer.
fn observed(event: Event, kind: fn(HookObservation) -> TraceEvent, input: &Input, session: &mut Session) {
    let short = |text: &Option<String>| text.as_deref().map(|text| session.short(text));
    let message = short(&input.message);
    let tools = || input.calls.iter().map(|call| call.tool.clone()).collect();
    let observation = HookObservation {
        agent_id: input.agent.clone(),
        agent_type: input.agent_type.clone(),
        message: message.clone().or_else(|| short(&input.last_message)),
        error: short(&input.error),
        reason: Some(session.short(&input.reason)).filter(|text| !text.is_empty()),
        tool: input.call.as_ref().map(|call| call.tool.clone()),
        tools: (!input.calls.is_empty()).then(tools),
        background_tasks: (event == Event::Stop).then_some(input.background_tasks),
    };
    session.record(&kind(observation)).ok();
    let activity = match event {
        Event::SubagentStop => Some("subagent_stop"),
        Event::Notification => Some("notification"),
        Event::TeammateIdle => Some("teammate_idle"),
        Event::TaskCompleted => Some("task_completed"),
        Event::PostCompact => Some("compaction"),
        _ => None,
    };
    if let Some(kind) = activity {
        let (agent, message) = (input.agent.as_deref(), message.as_deref());
        session.activity(kind, &ActivityFacts::Message { agent, message });
    }
}

/// The id of the session.
fn key(input: &Input) -> &str {
    if input.session.is_empty() { "default" } else { &input.session }
}

/// A path without `.`, `..` and repeated separators. Symlinks are not resolved.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
