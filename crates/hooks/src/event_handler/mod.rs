//! What happens at each event: the one place that both the daemon and a hook without a daemon ask.
//!
//! A desk serves one project and every session in it. Nothing that it knows is only in memory, so that any desk of the project can
//! go on where another ended. What cannot be recorded is not allowed, and what cannot be understood is asked about.

mod injection;
mod permission;
mod prompt;
mod session_events;
mod tests_seen;

pub use permission::{ClientAnswer, explain_answer};

use crate::answer::Answer;
use crate::event::{Client, Deed, Event, Input};
use crate::packs::Packs;
use crate::session::{Session, SessionRecord};
use marvin_agent::{ProjectContext, evaluator};
use marvin_base::environment::Environment;
use marvin_base::resolver;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::Place;
use marvin_gate::{Decision, Layers};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Serves one project.
#[derive(Debug)]
pub struct EventHandler {
    project: PathBuf,
    ground: ProjectContext,
    layers: Layers,
    packs: Mutex<Packs>,
    sessions: Mutex<BTreeMap<String, Arc<Mutex<Session>>>>,
    extensions: Mutex<Option<(Instant, BTreeSet<String>)>>,
    /// Why commands cannot be judged as they should be.
    trouble: Option<String>,
}

/// What comes of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// This goes to standard output.
    Print(String),
    /// The agent claims to be done: the caller verifies the commitments and passes the report to [`EventHandler::verified`].
    Verify(String),
}

/// What of some sessions is to be written down.
#[derive(Debug)]
pub struct PendingWrites(Vec<(Arc<Mutex<Session>>, SessionRecord)>);

impl PendingWrites {
    /// Writes it down.
    pub fn write(self) {
        for (session, state) in self.0 {
            if !state.write() {
                lock(&session).keep_trying();
            }
        }
    }
}

impl EventHandler {
    /// A desk for a project directory.
    ///
    /// # Errors
    /// When the directory or the settings cannot be used.
    pub fn open(
        environment: &Environment,
        project: &Path,
        cancel: &CancellationToken,
    ) -> Result<EventHandler, String> {
        let find = |working_dir: Option<&Path>| {
            ProjectContext::find(environment.clone(), project.to_path_buf(), working_dir, false, Vec::new())
        };
        // The home directory and `/` are no workspace, and still commands are judged there.
        let ground = find(Some(project)).or_else(|_| find(None)).map_err(|error| error.to_string())?;
        let (layers, trouble) = if evaluator::is_wanted(&ground) {
            resolver::prepare();
            match evaluator::for_hooks(&ground, cancel) {
                Ok((layers, trouble)) => (layers, trouble),
                Err(error) => (ground.layers(), Some(error.to_string())),
            }
        } else {
            (ground.layers(), None)
        };
        let packs = Packs::load(&ground.layout.packs());
        Ok(EventHandler {
            project: project.to_path_buf(),
            ground,
            layers,
            packs: Mutex::new(packs),
            sessions: Mutex::default(),
            extensions: Mutex::default(),
            trouble,
        })
    }

    /// Everything that the desk stands on.
    #[must_use]
    pub fn ground(&self) -> &ProjectContext {
        &self.ground
    }

    /// Why no model judges commands although one should.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// How many sessions have begun and not ended.
    #[must_use]
    pub fn sessions(&self) -> usize {
        lock(&self.sessions).len()
    }

    /// Answers an event. `attended`: somebody can be asked.
    pub async fn answer(&self, client: Client, name: &str, attended: bool, input: &Value) -> Reply {
        let read = Input { attended, ..Input::read(input) };
        let Some(event) = Event::read(name) else {
            self.unknown(client, name, &read);
            return Reply::Print("{}".into());
        };
        let session = self.session(client, &read);
        let answer = match &session {
            Ok(session) => self.attend(event, &read, session).await,
            // Without a record nothing is allowed, but refusing does not need one.
            Err(why) => self.unrecorded(event, &read, why).await,
        };
        if event == Event::SessionEnd {
            lock(&self.sessions).remove(key(&read));
        }
        if event == Event::Stop
            && answer == Answer::Nothing
            && let Ok(session) = &session
            && self.is_to_be_proved(&read, &mut lock(session))
        {
            return Reply::Verify(key(&read).to_string());
        }
        Reply::Print(answer.print(client, event))
    }

    async fn attend(&self, event: Event, input: &Input, session: &Mutex<Session>) -> Answer {
        match event {
            Event::PreToolUse | Event::PermissionRequest => self.judged(event, input, session).await,
            Event::PostToolUse | Event::PostToolUseFailure => self.used(event, input, &mut lock(session)),
            Event::UserPromptSubmit => self.prompted(input, &mut lock(session)),
            Event::SessionStart => self.begins(input, &mut lock(session)),
            Event::SubagentStart => self.helper_begins(input, &mut lock(session)),
            Event::PreCompact => self.shortens(input, &mut lock(session)),
            Event::SessionEnd => self.ends(input, &mut lock(session)),
            _ => observed(event, input, &mut lock(session)),
        }
    }

    /// The session that an event belongs to.
    fn session(&self, client: Client, input: &Input) -> Result<Arc<Mutex<Session>>, String> {
        let id = key(input);
        let mut sessions = lock(&self.sessions);
        if let Some(session) = sessions.get(id) {
            // A directory that was moved or deleted keeps nothing: then the session is kept where one can be.
            if lock(session).is_there() {
                return Ok(session.clone());
            }
        }
        let own = self.ground.layout.runs();
        let prepared = self.ground.layout.prepare_state().map_err(|error| error.to_string());
        self.ground.layout.link_runs();
        let opened = prepared.and_then(|()| Session::open(&own, id, client, &self.ground.redactor));
        let opened = opened.or_else(|why| {
            let person = self.ground.layout.user_runs();
            if person == own {
                return Err(why);
            }
            Session::open(&person, id, client, &self.ground.redactor)
        });
        let session = Arc::new(Mutex::new(opened?));
        sessions.insert(id.to_string(), session.clone());
        Ok(session)
    }

    /// What of the sessions is to be written down now, if anything: beside the answers and not before them, since the trace
    /// has it all already.
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
            let name = session.short(name);
            session.record("unknown", json!({"event": name, "agent_id": input.agent})).ok();
        }
    }

    /// The packs as they are on the disk now.
    fn packs(&self) -> MutexGuard<'_, Packs> {
        let mut packs = lock(&self.packs);
        packs.refresh(Instant::now());
        packs
    }

    /// A path as the project's own, with `/` between its parts; `None` for one outside.
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

    /// The workspace that a call belongs to: the project, or a checkout beside it. The home directory, what lies above it and
    /// the system's directories are none.
    fn root(&self, input: &Input) -> Option<PathBuf> {
        let home = self.ground.layout.home();
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

/// The answer when something does not work that should: a question or a refusal where something is decided, else nothing.
#[must_use]
pub fn in_doubt(client: Client, event: Option<Event>, reason: &str) -> String {
    let Some(event) = event.filter(|event| event.decides()) else { return "{}".into() };
    let decision = if event == Event::PermissionRequest { Decision::Deny } else { Decision::Ask };
    let reason = format!("Marvin could not judge this: {reason}");
    // A person who is asked already decides.
    if event == Event::PermissionRequest && client == Client::Claude {
        return "{}".into();
    }
    Answer::Verdict { decision, reason, context: None }.print(client, event)
}

/// The answer when there is no desk: what the judge alone would refuse is refused, and everything else is in doubt.
#[must_use]
pub fn without(client: Client, event: Option<Event>, input: &Value, home: &Path, why: &str) -> String {
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
    in_doubt(client, event, why)
}

/// The answer to a program that judges a command for us: it runs nothing.
pub(crate) fn evaluating(client: Client, event: Option<Event>) -> String {
    let reason = "a model that judges a command does not run one".to_string();
    match event {
        Some(event) if event.decides() => {
            Answer::Verdict { decision: Decision::Deny, reason, context: None }.print(client, event)
        }
        _ => "{}".into(),
    }
}

/// Records an event that nothing more happens at.
fn observed(event: Event, input: &Input, session: &mut Session) -> Answer {
    let short = |text: &Option<String>, session: &Session| text.as_deref().map(|text| session.short(text));
    let facts = json!({
        "agent_id": input.agent, "agent_type": input.agent_type,
        "message": short(&input.message, session).or_else(|| short(&input.last_message, session)),
        "error": short(&input.error, session),
        "reason": Some(session.short(&input.reason)).filter(|text| !text.is_empty()),
        "tool": input.call.as_ref().map(|call| call.tool.clone()),
        "tools": (!input.calls.is_empty()).then(|| input.calls.iter().map(|call| call.tool.clone()).collect::<Vec<_>>()),
        "background_tasks": (event == Event::Stop).then_some(input.background_tasks),
    });
    session.record(event.kebab(), facts).ok();
    let activity = match event {
        Event::SubagentStop => Some("subagent_stop"),
        Event::Notification => Some("notification"),
        Event::TeammateIdle => Some("teammate_idle"),
        Event::TaskCompleted => Some("task_completed"),
        Event::PostCompact => Some("compaction"),
        _ => None,
    };
    if let Some(kind) = activity {
        let data = json!({"agent": input.agent, "message": short(&input.message, session)});
        session.activity(kind, &data);
    }
    Answer::Nothing
}

/// The session's name.
fn key(input: &Input) -> &str {
    if input.session.is_empty() { "default" } else { &input.session }
}

/// A path without `.`, `..` and doubled signs. Links are left as they are.
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
