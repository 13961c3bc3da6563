//! The session service: one conversation, shared by every front end.
//!
//! A front end shows what is stored and sends intents; everything else is here. A prompt is one [`crate::Session`] with a run of
//! its own, and the conversation continues from the chat log of the profile. While one is answered, one further prompt waits; a
//! third is refused. Everything is an [`Event`] with a number, so that all front ends see the same in the same order.
//!
//! Limits: the buffer of events is bounded (see [`events`]); the chat log keeps its last hundred entries, and older ones are
//! still shown as long as this process runs.

mod approvals;
mod blender;
mod broken;
mod commands;
mod complete;
mod error;
mod events;
mod games;
mod lists;
mod notifications;
mod recording;
mod reply;
mod shell;
mod status;
mod turn;
mod typed;
mod voice;

pub use approvals::{Answer, AnswerWord, Approval, Choice, Kind, StepSource, choice};
pub use commands::{COMMANDS, Command, help};
pub use complete::Completion;
pub use error::{ChatError, Refusal};
pub use events::{Event, Events};
pub use games::{GameHost, GameReply};
pub use lists::{RunRow, ServitorRow};
pub use notifications::arm_alarms;
pub use recording::VoiceError;
pub use reply::Reply;
pub use status::Status;
pub use typed::InputHistory;

use crate::agent_toolbox::agent_toolbox;
use crate::debug::debug_fields;
use crate::error::SessionError;
use crate::history::History;
use crate::person_tools::SessionChange;
use crate::profile;
use crate::project_context::ProjectContext;
use crate::session::{self, ExtraContext};
use crate::skills::SkillRegistry;
use approvals::ApprovalQueue;
use broken::InterruptedPrompt;
use events::{AnsweredEvent, Log, TextEvent};
use marvin_base::layout::Layout;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Access, Workspace};
use marvin_memory::Person;
use marvin_tools::Toolbox;
use marvin_tools::ntfy::Follower;
use marvin_tools::turbotime::Selection;
use recording::Recording;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Additions of higher layers to every turn.
pub type ExtraContextProvider = Arc<dyn Fn(&ProjectContext) -> ExtraContext + Send + Sync>;

pub struct ChatOptions {
    pub project: ProjectContext,
    /// The person who can be asked; without one every question of the gate is a refusal, and nothing can be remembered.
    pub person: Option<Person>,
    /// Additions of higher layers to its turns.
    pub brings: Option<ExtraContextProvider>,
    /// Steps of workflows that wait for the person.
    pub steps: Option<Arc<dyn StepSource>>,
    /// Games that `/mtg` plays.
    pub games: Option<Arc<dyn GameHost>>,
}

debug_fields!(ChatOptions, project);

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Its number in this conversation; it stays the same for as long as the process lives.
    pub number: u64,
    /// `you`, `assistant` or `system`.
    pub role: String,
    /// The text, byte for byte.
    pub text: String,
    /// `HH:MM`.
    pub time: String,
    /// The run that gave this answer, where it called tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Result of sending a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Submission {
    /// It is being answered; this is the turn's name.
    Started(String),
    /// It is answered next.
    Queued,
}

/// Result of interrupting an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interruption {
    /// Whether something was being answered.
    pub cancelled: bool,
    /// The prompt that waited, for the input.
    pub queued: Option<String>,
}

/// One conversation. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Chat {
    inner: Arc<Inner>,
}

struct Inner {
    /// Runtime of the turns.
    handle: Handle,
    person: Option<Person>,
    brings: Option<ExtraContextProvider>,
    steps: Option<Arc<dyn StepSource>>,
    games: Option<Arc<dyn GameHost>>,
    log: Log,
    asking: Arc<ApprovalQueue>,
    state: Mutex<ChatState>,
}

struct ChatState {
    project: ProjectContext,
    profile: String,
    messages: VecDeque<Arc<Message>>,
    next: u64,
    running: Option<ActiveTurn>,
    turns: u64,
    queued: Option<String>,
    /// Whether every line is a command of the shell.
    shell: bool,
    /// The directory of shell mode, where `cd` left the root.
    shell_directory: Option<PathBuf>,
    /// Speech that is being recorded.
    recording: Option<Recording>,
    /// The tools of TURBOTIME, where it is on.
    turbotime: Option<Selection>,
    provider: String,
    model: String,
    /// Nano-dollars.
    spent: u64,
    broken: Vec<InterruptedPrompt>,
    /// How far a script was played: all turns of a conversation play one.
    script_state: Option<PathBuf>,
    /// Approvals on disk, and when they were read.
    waiting: Option<(Instant, Vec<Approval>)>,
    /// Model calls that cost something.
    paid_calls: u64,
    /// Topics of push notifications that are followed.
    topics: usize,
    /// Their messages since the last prompt.
    unread: usize,
    /// Their streams.
    follower: Option<Follower>,
    /// Whether the conversation is to end.
    is_leaving: bool,
}

/// A turn that is being answered.
struct ActiveTurn {
    id: String,
    prompt: String,
    cancel: CancellationToken,
    /// The event before its first.
    after: u64,
    since: Instant,
}

impl std::fmt::Debug for Chat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Chat").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Chat {
    /// Opens the conversation of the active profile, and offers its interrupted prompts again. Must be called within a runtime,
    /// on which the turns run.
    ///
    /// # Errors
    /// When the person's directory cannot be used.
    pub async fn open(options: ChatOptions) -> Result<Chat, SessionError> {
        let ChatOptions { project, person, brings, steps, games } = options;
        let log = Log::new();
        let asking = Arc::new(ApprovalQueue::new(log.clone(), project.settings.seconds(&table::APPROVAL)));
        let (provider, model) = status::model_of(&project);
        let name = profile::active(&project.layout, project.settings.given(&table::PROFILE));
        let state = ChatState {
            profile: String::new(),
            messages: VecDeque::new(),
            next: 0,
            running: None,
            turns: 0,
            queued: None,
            shell: false,
            shell_directory: None,
            recording: None,
            turbotime: None,
            provider,
            model,
            spent: 0,
            broken: Vec::new(),
            script_state: None,
            waiting: None,
            paid_calls: 0,
            topics: 0,
            unread: 0,
            follower: None,
            is_leaving: false,
            project,
        };
        let handle = Handle::current();
        let inner = Inner { handle, person, brings, steps, games, log, asking, state: Mutex::new(state) };
        let chat = Chat { inner: Arc::new(inner) };
        chat.take_profile(&name);
        chat.watch();
        chat.watch_alarms();
        Ok(chat)
    }

    fn state(&self) -> MutexGuard<'_, ChatState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches to a profile: its chat log, and its interrupted prompts.
    /// Makes a profile the active one of this conversation.
    fn use_profile(&self, name: &str) {
        {
            let mut state = self.state();
            // A name on the command line was for the beginning.
            if let Ok(settings) = state.project.settings.with(&table::PROFILE, name) {
                state.project.settings = Arc::new(settings);
            }
        }
        self.take_profile(name);
    }

    /// Makes the changes that tools of a turn asked for.
    fn apply_changes(&self, changes: Vec<SessionChange>) {
        for change in changes {
            match change {
                SessionChange::Profile(name) => self.use_profile(&name),
                SessionChange::ChatLog => {
                    let name = self.state().profile.clone();
                    self.take_profile(&name);
                }
                SessionChange::WorkingDir(path) => self.work_in(&path),
                SessionChange::Exit(text) => {
                    self.state().is_leaving = true;
                    self.inner.log.push("leave", &TextEvent { text: &text });
                }
            }
        }
    }

    /// Works in another directory from the next turn on.
    fn work_in(&self, path: &Path) {
        let mut state = self.state();
        let opened = Workspace::open(path, state.project.layout.home())
            .map_err(|refusal| refusal.to_string())
            .and_then(|workspace| {
                let layout = Layout::new(&state.project.environment, Some(workspace.root()));
                layout.check_state(workspace.root()).map_err(|error| error.to_string())?;
                Ok((workspace, layout))
            });
        match opened {
            Ok((workspace, layout)) => {
                state.project.skills = SkillRegistry::new(&layout);
                state.project.layout = layout;
                state.project.workspace = Some(Arc::new(workspace));
                // The person agreed that agents read and write there.
                state.project.coding = true;
                drop(state);
                self.tell_status();
            }
            Err(error) => {
                drop(state);
                self.inner.log.push("notice", &TextEvent { text: &error });
            }
        }
    }

    /// Whether the conversation is to end, because a tool of the last turn said so.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.state().is_leaving
    }

    fn take_profile(&self, name: &str) {
        let project = self.project();
        let history = History::read(&project.layout.chat_log(name));
        let broken = broken::find(
            &project.layout.open_turns(name),
            &project.layout.runs(),
            &project.layout.chat_log(name),
        );
        let mut state = self.state();
        state.profile = name.to_string();
        state.messages.clear();
        state.broken = broken;
        state.waiting = None;
        match history {
            Ok(history) => {
                let runs = lists::answers_with_calls(&project.layout.runs());
                for entry in history.entries() {
                    let run =
                        (entry.role == "assistant").then(|| lists::run_of(&runs, &entry.text)).flatten();
                    state.keep(&entry.role, &entry.text, &entry.time, run);
                }
            }
            Err(error) => {
                let path = project.layout.chat_log(name);
                let text = format!("{} cannot be read and is left alone: {error}", path.display());
                self.inner.log.push("notice", &TextEvent { text: &text });
            }
        }
        drop(state);
        self.follow_topics();
        self.tell_status();
    }

    /// Project context of the next turn.
    #[must_use]
    pub fn project(&self) -> ProjectContext {
        self.state().project.clone()
    }

    /// The tools of the next turn, for listings.
    pub(super) fn toolbox(&self, project: &ProjectContext) -> Toolbox {
        let mut toolbox = agent_toolbox(project, &Access::from_settings(&project.settings));
        let switched_on = self.state().turbotime.as_ref().map(Selection::tools).unwrap_or_default();
        switched_on.into_iter().for_each(|tool| toolbox.add(tool));
        toolbox
    }

    /// Messages as they are stored, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.state().messages.iter().cloned().collect()
    }

    /// Reader of the events after this one; none: only of new ones.
    #[must_use]
    pub fn events(&self, after: Option<u64>) -> Events {
        self.inner.log.read(after)
    }

    /// Takes a prompt: it is answered now, or next.
    pub fn send(&self, text: &str) -> Result<Submission, Refusal> {
        self.start(text, turn::Kind::Prompt)
    }

    fn start(&self, text: &str, kind: turn::Kind) -> Result<Submission, Refusal> {
        if text.trim().is_empty() {
            return Err(Refusal::Empty);
        }
        let mut state = self.state();
        if state.left() == Some(0) {
            let limit = state.project.settings.text(&table::MAX_COST).to_string();
            return Err(Refusal::Spent(limit));
        }
        if state.running.is_some() {
            if state.queued.is_some() || kind != turn::Kind::Prompt {
                return Err(Refusal::Full);
            }
            state.queued = Some(text.to_string());
            drop(state);
            let shown = self.project().redactor.text(text).into_owned();
            self.inner.log.push("queued", &TextEvent { text: &shown });
            self.tell_status();
            return Ok(Submission::Queued);
        }
        let id = state.begin(text, self.inner.log.last());
        state.unread = 0;
        drop(state);
        self.tell_status();
        let (chat, prompt) = (self.clone(), text.to_string());
        self.inner.handle.spawn(async move { chat.drive(prompt, kind).await });
        Ok(Submission::Started(id))
    }

    /// Interrupts the answer. The prompt that waited is not sent; it goes back to the person.
    pub fn cancel(&self) -> Interruption {
        let mut state = self.state();
        let queued = state.queued.take();
        let queued = queued.map(|text| state.project.redactor.text(&text).into_owned());
        if let Some(running) = &state.running {
            running.cancel.cancel();
        }
        let cancelled = state.running.is_some();
        drop(state);
        if queued.is_some() {
            self.tell_status();
        }
        Interruption { cancelled, queued }
    }

    /// Turns TURBOTIME on with these tools, or off.
    pub fn select(&self, turbotime: Option<Selection>) {
        self.state().turbotime = turbotime;
        self.tell_status();
    }

    /// The person who may decide here.
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        self.inner.person.clone()
    }

    #[must_use]
    pub fn approvals(&self) -> Vec<Approval> {
        let mut all = self.inner.asking.all();
        all.extend(self.waiting());
        all
    }

    /// Answers something that waits.
    ///
    /// # Errors
    /// When nothing of this name waits, no person may answer it, or it could not be done.
    pub fn answer(&self, id: &str, answer: &Answer) -> Result<(), ChatError> {
        let refused = || {
            ChatError::Refused("no person is here who may decide\n  hint: start Marvin in a terminal".into())
        };
        let person = self.inner.person.as_ref().ok_or_else(refused)?;
        let missing = || ChatError::NotWaiting(truncate::line(id, 80));
        self.state().waiting = None;
        let waiting = self.approvals().into_iter().find(|approval| approval.id == id).ok_or_else(missing)?;
        if !waiting.takes(answer) {
            let words = waiting.choices.iter().map(|choice| format!("`{}`", choice.answer.word()));
            let why = format!(
                "`{}` is not an answer to this\n  hint: answer with {}",
                answer.word().word(),
                words.collect::<Vec<_>>().join(" or ")
            );
            return Err(ChatError::Failed(why));
        }
        if waiting.is_call() {
            return if self.inner.asking.answer(id, answer) { Ok(()) } else { Err(missing()) };
        }
        let done = match id.split_once(':') {
            Some(("memory", name)) => lists::decide(&self.project(), name, answer, person),
            Some(("servitor", name)) => lists::tell(&self.project(), name, answer),
            Some(("turn", _)) => self.settle_broken(id, answer),
            Some(("step", _)) => self.answer_step(id, answer, person),
            _ => Err(missing()),
        };
        self.state().waiting = None;
        done?;
        let word = answer.word().word();
        self.inner.log.push("approval.answered", &AnsweredEvent { id, answer: word });
        self.tell_status();
        Ok(())
    }

    /// Records the answer to a step of a workflow.
    fn answer_step(&self, id: &str, answer: &Answer, person: &Person) -> Result<(), ChatError> {
        let missing = || ChatError::NotWaiting(truncate::line(id, 80));
        let steps = self.inner.steps.as_ref().ok_or_else(missing)?;
        let next = steps.answer(&self.project().layout.run_directories(), id, answer, person)?;
        self.say(&next);
        Ok(())
    }

    /// Resumes an interrupted prompt (yes), closes it (no), or sends another.
    fn settle_broken(&self, id: &str, answer: &Answer) -> Result<(), ChatError> {
        let missing = || ChatError::NotWaiting(truncate::line(id, 80));
        let found =
            self.state().broken.iter().find(|broken| broken.id() == id).cloned().ok_or_else(missing)?;
        let layout = self.project().layout;
        // A run that ended after all, or never began, cannot be resumed; its prompt can still be sent.
        let run = found.run.as_deref().filter(|run| session::prompt_of(&layout, run).is_ok());
        let (prompt, kind) = match (answer, run) {
            (Answer::No | Answer::Again, run) => {
                let closed = run.map(|run| session::close_broken(&layout, run));
                closed.transpose().map_err(|error| ChatError::Failed(error.to_string()))?;
                (None, turn::Kind::Prompt)
            }
            (Answer::Yes, Some(run)) => (Some(found.prompt.clone()), turn::Kind::Resumed(run.to_string())),
            (Answer::Yes, None) => (Some(found.prompt.clone()), turn::Kind::Prompt),
            (Answer::Edit(text), run) => {
                if let Some(run) = run {
                    session::close_broken(&layout, run)
                        .map_err(|error| ChatError::Failed(error.to_string()))?;
                }
                (Some(text.clone()), turn::Kind::Prompt)
            }
        };
        if let Some(prompt) = prompt {
            self.start(&prompt, kind).map_err(|refusal| ChatError::Failed(refusal.to_string()))?;
        }
        found.settle();
        self.state().broken.retain(|broken| broken.id() != id);
        Ok(())
    }

    /// Shows a notice that is not stored.
    fn say(&self, text: &str) {
        self.inner.log.push("notice", &TextEvent { text });
    }

    fn tell_status(&self) {
        let status = self.status();
        self.inner.log.push("status", &status);
    }
}

impl ChatState {
    /// Stores a message.
    fn keep(&mut self, role: &str, text: &str, time: &str, run: Option<String>) -> Arc<Message> {
        let (role, text, time) = (role.to_string(), text.to_string(), time.to_string());
        let message = Arc::new(Message { number: self.next, role, text, time, run });
        self.next += 1;
        self.messages.push_back(message.clone());
        message
    }

    /// Notes that a turn begins; gives its name.
    fn begin(&mut self, prompt: &str, after: u64) -> String {
        self.turns += 1;
        let id = format!("turn_{}", self.turns);
        let prompt = self.project.redactor.text(prompt).into_owned();
        let (cancel, since) = (CancellationToken::new(), Instant::now());
        self.running = Some(ActiveTurn { id: id.clone(), prompt, cancel, after, since });
        id
    }

    /// Nano-dollars that are left of the conversation's budget; `None` without a budget.
    fn left(&self) -> Option<u64> {
        let limit = self.project.settings.amount(&table::MAX_COST).map(marvin_model::price::nanos)?;
        Some(limit.saturating_sub(self.spent))
    }
}

#[cfg(test)]
mod tests;
