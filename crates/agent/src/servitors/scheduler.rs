//! Runs servitors as tasks of this process: fairly, however many there are.
//!
//! Few at a time ask the model and few run tools (`agent.concurrency`), first come, first served; the others wait without
//! holding anything large. One at a time is verified. Whoever waits for a servitor is woken by its change.

use super::error::RegistryError;
use super::record::Entry;
use super::registry::{Registry, Requester, Summons};
use super::servitor::{Servitor, access_word};
use super::state::ServitorState;
use super::{tools, turn_journal, work};
use crate::launch::ModelChoice;
use crate::project_context::ProjectContext;
use crate::roles::Role;
use crate::session::{SessionError, model};
use crate::tool_host::{ToolCallResult, ToolHost};
use crate::turn::Turn;
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Touches, Verdict};
use marvin_model::{ModelClient, ToolCall, ToolSpec};
use marvin_tools::{Mode, ToolContext, Toolbox};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// What a household needs of the session that it belongs to.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) turn: Turn,
    pub(crate) context: ToolContext,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) date: String,
    /// Where it is kept how far a script was played; none where everybody must ask the same model.
    pub(crate) script_state: Option<PathBuf>,
}

/// Opens the session that lends what servitors need.
pub(crate) type Opener = Box<dyn Fn(&Arc<Servitors>) -> Result<(), RegistryError> + Send + Sync>;

/// The servitors of a session. The registry is taken when it is first needed.
pub struct Servitors {
    ground: Arc<ProjectContext>,
    who: String,
    parts: OnceLock<Parts>,
    opener: OnceLock<Opener>,
    household: Mutex<Option<Arc<ServitorScheduler>>>,
}

impl std::fmt::Debug for Servitors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Servitors").field("who", &self.who).finish_non_exhaustive()
    }
}

impl Servitors {
    /// The servitors of the project; `who` is what others are told of this process.
    #[must_use]
    pub fn new(ground: Arc<ProjectContext>, who: &str) -> Arc<Self> {
        Arc::new(Servitors {
            ground,
            who: who.to_string(),
            parts: OnceLock::new(),
            opener: OnceLock::new(),
            household: Mutex::new(None),
        })
    }

    /// The ground.
    #[must_use]
    pub fn ground(&self) -> &ProjectContext {
        &self.ground
    }

    pub(crate) fn lend(&self, parts: Parts) {
        self.parts.set(parts).ok();
    }

    /// The session is opened by this when it is first needed.
    pub(crate) fn when_needed(&self, opener: Opener) {
        self.opener.set(opener).ok();
    }

    /// The household, if somebody opened it.
    #[must_use]
    pub fn opened(&self) -> Option<Arc<ServitorScheduler>> {
        self.household.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The household; the registry is taken now.
    ///
    /// # Errors
    /// When somebody else has it, or nothing can run here.
    pub fn open(self: &Arc<Self>) -> Result<Arc<ServitorScheduler>, RegistryError> {
        let mut household = self.household.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(household) = &*household {
            return Ok(household.clone());
        }
        // Who cannot have the registry needs no session.
        let registry = Registry::open(self.ground.clone(), &self.who)?;
        if let (None, Some(opener)) = (self.parts.get(), self.opener.get()) {
            opener(self)?;
        }
        let parts = self.parts.get().cloned().ok_or_else(|| {
            RegistryError::Usage(
                "nobody can work here: this is one call, and no session\n  hint: `marvin servitors summon`, then `marvin servitors run`"
                    .into(),
            )
        })?;
        registry.tell(parts.turn.trace.clone());
        let many = self.ground.settings.count(&table::CONCURRENCY);
        let opened = Arc::new(ServitorScheduler {
            registry,
            parts,
            servitors: Arc::downgrade(self),
            asking: Arc::new(Semaphore::new(many)),
            acting: Arc::new(Semaphore::new(many)),
            proving: Arc::new(Semaphore::new(1)),
            boxes: Mutex::default(),
            models: Mutex::default(),
            tasks: Mutex::default(),
            letters: Mutex::default(),
        });
        *household = Some(opened.clone());
        Ok(opened)
    }
}

/// How a servitor ended.
#[derive(Debug, Clone)]
pub struct WaitResult {
    /// The servitor as it is now.
    pub body: Servitor,
    /// Whether the wait was longer than was asked for.
    pub late: bool,
}

/// The servitors that run here.
pub struct ServitorScheduler {
    /// Who there is.
    pub registry: Registry,
    pub(super) parts: Parts,
    servitors: Weak<Servitors>,
    pub(super) asking: Arc<Semaphore>,
    pub(super) acting: Arc<Semaphore>,
    pub(super) proving: Arc<Semaphore>,
    boxes: Mutex<BTreeMap<String, Arc<Toolbox>>>,
    models: Mutex<BTreeMap<String, Arc<dyn ModelClient>>>,
    tasks: Mutex<BTreeMap<String, Task>>,
    letters: Mutex<BTreeMap<String, VecDeque<(String, String)>>>,
}

#[derive(Debug)]
struct Task {
    cancel: CancellationToken,
    /// Whether it has read its record: from then on it hears word at once.
    hears: bool,
}

impl std::fmt::Debug for ServitorScheduler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Household").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl ServitorScheduler {
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn letters(&self) -> MutexGuard<'_, BTreeMap<String, VecDeque<(String, String)>>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Summons a servitor; one with an assignment begins at once.
    ///
    /// # Errors
    /// When it is refused, or cannot be written.
    pub fn summon(self: &Arc<Self>, by: &Requester, summons: &Summons) -> Result<Servitor, RegistryError> {
        let body = self.registry.summon(by, summons)?;
        self.start(&body);
        Ok(body)
    }

    /// Sends word to a servitor; one that does nothing begins to work.
    ///
    /// # Errors
    /// When there is no such servitor, or its work is done.
    pub fn message(self: &Arc<Self>, to: &str, from: &str, text: &str) -> Result<Servitor, RegistryError> {
        let body = self.registry.message(to, from, text)?;
        let hears = self.tasks().get(&body.id).is_some_and(|task| task.hears);
        if hears {
            self.post(&body.id, from, text);
        } else {
            self.start(&body);
        }
        Ok(body)
    }

    fn post(&self, to: &str, from: &str, text: &str) {
        self.letters()
            .entry(to.to_string())
            .or_default()
            .push_back((from.to_string(), text.trim().to_string()));
    }

    /// Dismisses a servitor and everybody below it; what they do is broken off.
    ///
    /// # Errors
    /// When it is refused, or cannot be written.
    pub fn dismiss(&self, by: &Requester, name: &str) -> Result<Vec<String>, RegistryError> {
        let gone = self.registry.dismiss(by, name)?;
        for id in &gone {
            if let Some(task) = self.tasks().get(id) {
                task.cancel.cancel();
            }
        }
        Ok(gone)
    }

    /// Starts everybody who has something to do; gives how many.
    pub fn start_all(self: &Arc<Self>) -> usize {
        let active: Vec<Servitor> =
            self.registry.living().into_iter().filter(|body| body.state.is_active()).collect();
        for body in &active {
            self.start(body);
        }
        active.len()
    }

    fn start(self: &Arc<Self>, body: &Servitor) {
        if !body.state.is_active() || self.tasks().contains_key(&body.id) {
            return;
        }
        let cancel = self.parts.turn.cancel.child_token();
        self.tasks().insert(body.id.clone(), Task { cancel: cancel.clone(), hears: false });
        let (household, id) = (self.clone(), body.id.clone());
        tokio::spawn(async move {
            if let Err(error) = work::work(&household, &id, &cancel).await {
                // It stays as its record says, and goes on when it is taken up again.
                let text = format!("the servitor {id} cannot go on: {error}");
                household.parts.turn.trace.notice(text).ok();
            }
            household.tasks().remove(&id);
            household.letters().remove(&id);
            household.registry.stir();
        });
    }

    /// From now on a servitor hears word at once; these letters it has not heard yet.
    pub(super) fn hear(&self, id: &str, letters: VecDeque<(String, String)>) {
        self.letters().insert(id.to_string(), letters);
        if let Some(task) = self.tasks().get_mut(id) {
            task.hears = true;
        }
    }

    pub(super) fn take_letters(&self, id: &str) -> Vec<(String, String)> {
        self.letters().get_mut(id).map(|letters| letters.drain(..).collect()).unwrap_or_default()
    }

    /// Does it run here?
    #[must_use]
    pub fn is_running(&self, id: &str) -> bool {
        self.tasks().contains_key(id)
    }

    /// Tells whoever summoned a servitor how it stands.
    pub(super) fn report(self: &Arc<Self>, body: &Servitor, text: &str) -> Result<(), RegistryError> {
        let parent = &body.parent;
        match self.registry.get(parent).filter(|parent| !parent.dismissed) {
            Some(above) if !above.state.is_over() => {
                self.message(&above.id, &body.name, text)?;
            }
            Some(_) => {}
            None => {
                let coordinator = self.registry.coordinator();
                let entry = Entry::Inbox { from: body.name.clone(), text: text.to_string() };
                self.registry.record(coordinator).append(&entry)?;
                self.post(coordinator, &body.name, text);
            }
        }
        Ok(())
    }

    /// Waits for news while somebody works for this agent; nothing when nobody does.
    pub(super) async fn company(&self, id: &str, cancel: &CancellationToken) -> Option<String> {
        let mut watch = self.registry.watch();
        loop {
            watch.borrow_and_update();
            let letters = self.take_letters(id);
            if !letters.is_empty() {
                if self.registry.get(id).is_some() {
                    // The conversation keeps it: it is heard now.
                    let heard = Entry::Fed { messages: Vec::new(), inbox: letters.len() };
                    self.registry.record(id).append(&heard).ok();
                }
                return Some(turn_journal::word(&letters));
            }
            let works = |body: &Servitor| body.parent == id && self.is_running(&body.id);
            if !self.registry.living().iter().any(works) {
                return None;
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return None },
                () = cancel.cancelled() => return None,
            }
        }
    }

    /// Waits until a servitor stops working, or for so long.
    ///
    /// # Errors
    /// When there is no such servitor.
    pub async fn wait_for(
        &self,
        name: &str,
        longest: Duration,
        cancel: &CancellationToken,
    ) -> Result<WaitResult, RegistryError> {
        let id = self.registry.find(name)?.id;
        let mut watch = self.registry.watch();
        let late = tokio::time::sleep(longest);
        tokio::pin!(late);
        loop {
            watch.borrow_and_update();
            let body = self.registry.get(&id).ok_or_else(|| RegistryError::Usage(format!("{id} is gone")))?;
            if body.dismissed || !body.state.is_active() || !self.is_running(&id) {
                return Ok(WaitResult { body, late: false });
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return Ok(WaitResult { body, late: true }) },
                () = &mut late => return Ok(WaitResult { body, late: true }),
                () = cancel.cancelled() => return Ok(WaitResult { body, late: true }),
            }
        }
    }

    /// Waits until nobody runs any more.
    pub async fn settled(&self) {
        let mut watch = self.registry.watch();
        loop {
            watch.borrow_and_update();
            if self.tasks().is_empty() || watch.changed().await.is_err() {
                return;
            }
        }
    }

    /// The model of a servitor: that of its tier, where one is set or its provider has the usual one; else its parent's.
    pub(super) fn model(&self, body: &Servitor) -> Result<Arc<dyn ModelClient>, SessionError> {
        let own = &self.parts.turn.client;
        let ground = &self.registry.ground;
        let choice = ModelChoice::find(&body.tier).unwrap_or_default();
        let wanted = choice.model(Role::Servitor, own.provider(), &ground.settings, None);
        let (Some(wanted), Some(state)) = (wanted, &self.parts.script_state) else { return Ok(own.clone()) };
        if wanted == own.model() {
            return Ok(own.clone());
        }
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = models.get(&wanted) {
            return Ok(client.clone());
        }
        let mut ground = ProjectContext::clone(ground);
        ground.settings = Arc::new(ground.settings.with(&table::MODEL, &wanted)?);
        let client = model::choose_client(&ground, None, Some(state.clone()))?;
        let turn = &self.parts.turn;
        model::check_budget(turn.cost.limit(), client.as_ref(), &turn.prices, &ground.layout)?;
        models.insert(wanted, client.clone());
        Ok(client)
    }

    /// The tools of a servitor: those of its access, made once for all that have the same.
    pub(super) fn toolbox(&self, body: &Servitor) -> Arc<Toolbox> {
        if body.access == self.parts.context.access {
            return self.parts.toolbox.clone();
        }
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        let made = boxes.entry(access_word(&body.access)).or_insert_with(|| {
            let mut toolbox = Toolbox::new(Mode::Coding, &body.access);
            for tool in tools::all(&self.servitors) {
                if body.access.offers(tool.touches()) {
                    toolbox.add(tool);
                }
            }
            Arc::new(toolbox)
        });
        made.clone()
    }
}

/// The tools of one servitor.
pub(super) struct ServitorTools {
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) context: ToolContext,
    pub(super) only: Option<Vec<String>>,
    pub(super) acting: Arc<Semaphore>,
}

impl ServitorTools {
    fn may(&self, name: &str) -> bool {
        let only = self.only.as_ref();
        self.toolbox
            .find(name)
            .is_ok_and(|tool| only.is_none_or(|only| only.iter().any(|one| one == tool.name())))
    }
}

#[async_trait]
impl ToolHost for ServitorTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.toolbox.specs();
        specs.retain(|spec| self.may(&spec.name));
        specs
    }

    fn knows(&self, name: &str) -> bool {
        self.may(name)
    }

    fn touches(&self, name: &str) -> Touches {
        self.toolbox.find(name).map_or(Touches::NOTHING, |tool| tool.touches())
    }

    async fn call(&self, call: &ToolCall) -> ToolCallResult {
        if self.toolbox.find(&call.name).is_ok() && !self.may(&call.name) {
            let why = format!(
                "`{}` is none of the tools that this servitor may use",
                truncate::line(&call.name, 60)
            );
            let verdict = Verdict::deny("servitor.tools", why.clone(), "Use one of your own tools.");
            let record = json!({"ok": false, "summary": why});
            let tool = call.name.clone();
            return ToolCallResult {
                tool,
                verdict,
                ok: false,
                text: why,
                record,
                notice: None,
                progress: None,
            };
        }
        // Whoever waits for another must not keep it from working.
        let waits = call.name == tools::WAIT;
        let _place = if waits { None } else { self.acting.clone().acquire_owned().await.ok() };
        self.toolbox.call(&call.name, &call.arguments, &self.context).await.into()
    }
}

impl ServitorState {
    /// As a parent reads it.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            ServitorState::Done => "is done, and everything that was promised holds",
            ServitorState::Failed => "failed",
            ServitorState::Waiting => "waits for an answer",
            ServitorState::Idle => "has nothing to do",
            ServitorState::Working | ServitorState::Verifying => "is at work",
        }
    }
}
