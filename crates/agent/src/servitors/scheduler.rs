//! Scheduler: runs servitors as tasks of this process, fairly, however many there are.
//!
//! `agent.concurrency` of them ask the model at the same time and as many run tools, first come, first served; the others wait
//! without holding anything large. One at a time is verified. A caller that waits for a servitor is woken by its change.

use super::inbox::join_messages;
use super::record::Entry;
use super::registry::{Registry, Requester, Summons};
use super::servitor::{Servitor, access_word};
use super::work;
use crate::debug::debug_fields;
use crate::error::{RegistryError, SessionError};
use crate::launch::ModelChoice;
use crate::model_client::TierClients;
use crate::project_context::ProjectContext;
use crate::roles::Role;
use crate::skills::LoadSkill;
use crate::turn::Turn;
use marvin_base::settings::table;
use marvin_model::{ModelClient, choose};
use marvin_tools::{DynTool, Mode, ToolContext, Toolbox};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Parts of a session that its servitors use.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) turn: Turn,
    pub(crate) context: ToolContext,
    pub(crate) toolbox: Arc<Toolbox>,
    /// Tools for servitors of its own.
    pub(crate) servitor_tools: Vec<Arc<dyn DynTool>>,
    pub(crate) date: String,
    /// How far a script was played; none where all must ask the same model.
    pub(crate) script_state: Option<PathBuf>,
}

/// Opens the session that the servitors need.
pub(crate) type Opener = Box<dyn Fn(&Arc<Servitors>) -> Result<(), RegistryError> + Send + Sync>;

/// The servitors of a session. The registry is taken when it is first needed.
pub struct Servitors {
    project: Arc<ProjectContext>,
    who: String,
    parts: OnceLock<Parts>,
    opener: OnceLock<Opener>,
    scheduler: Mutex<Option<Arc<ServitorScheduler>>>,
}

debug_fields!(Servitors, who);

impl Servitors {
    /// Servitors of the project; `who` describes this process to others.
    #[must_use]
    pub fn new(project: Arc<ProjectContext>, who: &str) -> Arc<Self> {
        Arc::new(Servitors {
            project,
            who: who.to_string(),
            parts: OnceLock::new(),
            opener: OnceLock::new(),
            scheduler: Mutex::new(None),
        })
    }

    #[must_use]
    pub fn project(&self) -> &ProjectContext {
        &self.project
    }

    pub(crate) fn lend(&self, parts: Parts) {
        self.parts.set(parts).ok();
    }

    /// Sets how the session is opened when it is first needed.
    pub(crate) fn when_needed(&self, opener: Opener) {
        self.opener.set(opener).ok();
    }

    #[must_use]
    pub fn opened(&self) -> Option<Arc<ServitorScheduler>> {
        self.scheduler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the scheduler and takes the registry.
    ///
    /// # Errors
    /// When another process holds the registry, or no session can run here.
    pub fn open(self: &Arc<Self>) -> Result<Arc<ServitorScheduler>, RegistryError> {
        let mut scheduler = self.scheduler.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scheduler) = &*scheduler {
            return Ok(scheduler.clone());
        }
        // Without the registry no session is needed.
        let registry = Registry::open(self.project.clone(), &self.who)?;
        if let (None, Some(opener)) = (self.parts.get(), self.opener.get()) {
            opener(self)?;
        }
        let parts = self.parts.get().cloned().ok_or_else(|| {
            RegistryError::Usage(
                "no servitor can run here: this is a single call without a session\n  hint: `marvin servitors summon`, then `marvin servitors run`"
                    .into(),
            )
        })?;
        registry.tell(parts.turn.trace.clone());
        let many = self.project.settings.count(&table::CONCURRENCY);
        let opened = Arc::new(ServitorScheduler {
            registry,
            parts,
            asking: Arc::new(Semaphore::new(many)),
            acting: Arc::new(Semaphore::new(many)),
            proving: Arc::new(Semaphore::new(1)),
            toolboxes: Mutex::default(),
            tier_clients: TierClients::default(),
            tasks: Mutex::default(),
            letters: Mutex::default(),
        });
        *scheduler = Some(opened.clone());
        Ok(opened)
    }
}

/// Result of waiting for a servitor.
#[derive(Debug, Clone)]
pub struct WaitResult {
    pub servitor: Servitor,
    /// Whether the timeout passed.
    pub late: bool,
}

/// Scheduler of the servitors that run in this process.
pub struct ServitorScheduler {
    pub registry: Registry,
    pub(super) parts: Parts,
    pub(super) asking: Arc<Semaphore>,
    pub(super) acting: Arc<Semaphore>,
    pub(super) proving: Arc<Semaphore>,
    toolboxes: Mutex<BTreeMap<String, Arc<Toolbox>>>,
    tier_clients: TierClients,
    tasks: Mutex<BTreeMap<String, Task>>,
    letters: Mutex<BTreeMap<String, VecDeque<(String, String)>>>,
}

#[derive(Debug)]
struct Task {
    cancel: CancellationToken,
    /// Whether it has read its record: from then on it receives messages directly.
    hears: bool,
}

debug_fields!(ServitorScheduler, registry);

impl ServitorScheduler {
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn letters(&self) -> MutexGuard<'_, BTreeMap<String, VecDeque<(String, String)>>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Summons a servitor; one with an assignment begins at once.
    pub fn summon(self: &Arc<Self>, by: &Requester, summons: &Summons) -> Result<Servitor, RegistryError> {
        let project = &self.registry.project;
        if choose::is_builtin(&project.settings, &project.layout) {
            let why = "cannot summon a servitor: no provider has a key, and the built-in model cannot do its work\n  hint: set a key or choose a provider; `marvin doctor` shows how";
            return Err(RegistryError::Refused(why.into()));
        }
        let servitor = self.registry.summon(by, summons)?;
        self.start(&servitor);
        Ok(servitor)
    }

    /// Sends a message to a servitor; an idle one begins to work.
    pub fn message(self: &Arc<Self>, to: &str, from: &str, text: &str) -> Result<Servitor, RegistryError> {
        let servitor = self.registry.message(to, from, text)?;
        let hears = self.tasks().get(&servitor.id).is_some_and(|task| task.hears);
        if hears {
            self.post(&servitor.id, from, text);
        } else {
            self.start(&servitor);
        }
        Ok(servitor)
    }

    fn post(&self, to: &str, from: &str, text: &str) {
        self.letters()
            .entry(to.to_string())
            .or_default()
            .push_back((from.to_string(), text.trim().to_string()));
    }

    /// Dismisses a servitor and all below it; their work is interrupted.
    pub fn dismiss(&self, by: &Requester, name: &str) -> Result<Vec<String>, RegistryError> {
        let gone = self.registry.dismiss(by, name)?;
        for id in &gone {
            if let Some(task) = self.tasks().get(id) {
                task.cancel.cancel();
            }
        }
        Ok(gone)
    }

    /// Starts all active servitors; gives their number.
    pub fn start_all(self: &Arc<Self>) -> usize {
        let active: Vec<Servitor> =
            self.registry.living().into_iter().filter(|servitor| servitor.state.is_active()).collect();
        for servitor in &active {
            self.start(servitor);
        }
        active.len()
    }

    fn start(self: &Arc<Self>, servitor: &Servitor) {
        if !servitor.state.is_active() || self.tasks().contains_key(&servitor.id) {
            return;
        }
        let cancel = self.parts.turn.cancel.child_token();
        self.tasks().insert(servitor.id.clone(), Task { cancel: cancel.clone(), hears: false });
        let (scheduler, id) = (self.clone(), servitor.id.clone());
        tokio::spawn(async move {
            if let Err(error) = work::work(&scheduler, &id, &cancel).await {
                // It stays as its record says, and can be resumed.
                let text = format!("the servitor {id} cannot continue: {error}");
                scheduler.parts.turn.trace.notice(text).ok();
            }
            scheduler.tasks().remove(&id);
            scheduler.letters().remove(&id);
            scheduler.registry.notify();
        });
    }

    /// Delivers messages directly to a servitor from now on; these it has not read yet.
    pub(super) fn hear(&self, id: &str, letters: VecDeque<(String, String)>) {
        self.letters().insert(id.to_string(), letters);
        if let Some(task) = self.tasks().get_mut(id) {
            task.hears = true;
        }
    }

    pub(super) fn take_letters(&self, id: &str) -> Vec<(String, String)> {
        self.letters().get_mut(id).map(|letters| letters.drain(..).collect()).unwrap_or_default()
    }

    /// Whether it runs in this process.
    #[must_use]
    pub fn is_running(&self, id: &str) -> bool {
        self.tasks().contains_key(id)
    }

    /// Reports the state of a servitor to its parent.
    pub(super) fn report(self: &Arc<Self>, servitor: &Servitor, text: &str) -> Result<(), RegistryError> {
        let parent = &servitor.parent;
        match self.registry.get(parent).filter(|parent| !parent.dismissed) {
            Some(above) if !above.state.is_over() => {
                self.message(&above.id, &servitor.name, text)?;
            }
            Some(_) => {}
            None => {
                let coordinator = self.registry.coordinator();
                let entry = Entry::Inbox { from: servitor.name.clone(), text: text.to_string() };
                self.registry.record(coordinator).append(&entry)?;
                self.post(coordinator, &servitor.name, text);
            }
        }
        Ok(())
    }

    /// Waits for news while servitors of this agent run; none when none does.
    pub(super) async fn wait_for_news(&self, id: &str, cancel: &CancellationToken) -> Option<String> {
        let mut watch = self.registry.watch();
        loop {
            watch.borrow_and_update();
            let letters = self.take_letters(id);
            if !letters.is_empty() {
                if self.registry.get(id).is_some() {
                    // It becomes part of the conversation now.
                    let entry = Entry::Fed { messages: Vec::new(), inbox: letters.len() };
                    self.registry.record(id).append(&entry).ok();
                }
                return Some(join_messages(&letters));
            }
            let works = |servitor: &Servitor| servitor.parent == id && self.is_running(&servitor.id);
            if !self.registry.living().iter().any(works) {
                return None;
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return None },
                () = cancel.cancelled() => return None,
            }
        }
    }

    /// Waits until a servitor stops working, or until the timeout.
    pub async fn wait_for(
        &self,
        name: &str,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<WaitResult, RegistryError> {
        let id = self.registry.find(name)?.id;
        let mut watch = self.registry.watch();
        let late = tokio::time::sleep(timeout);
        tokio::pin!(late);
        loop {
            watch.borrow_and_update();
            let servitor =
                self.registry.get(&id).ok_or_else(|| RegistryError::Usage(format!("{id} is gone")))?;
            if servitor.dismissed || !servitor.state.is_active() || !self.is_running(&id) {
                return Ok(WaitResult { servitor, late: false });
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return Ok(WaitResult { servitor, late: true }) },
                () = &mut late => return Ok(WaitResult { servitor, late: true }),
                () = cancel.cancelled() => return Ok(WaitResult { servitor, late: true }),
            }
        }
    }

    /// Waits until no servitor runs.
    pub async fn settled(&self) {
        let mut watch = self.registry.watch();
        loop {
            watch.borrow_and_update();
            if self.tasks().is_empty() || watch.changed().await.is_err() {
                return;
            }
        }
    }

    /// Model of a servitor: that of its tier, where one is set or its provider has the usual one; else its parent's.
    pub(super) fn model(&self, servitor: &Servitor) -> Result<Arc<dyn ModelClient>, SessionError> {
        let (project, turn) = (&self.registry.project, &self.parts.turn);
        let Some(script_state) = &self.parts.script_state else { return Ok(turn.client.clone()) };
        let choice = ModelChoice::find(&servitor.tier).unwrap_or_default();
        let wanted = choice.model(Role::Servitor, turn.client.provider(), &project.settings, &project.layout);
        self.tier_clients.get(wanted, turn, project, script_state)
    }

    /// Tools of a servitor: those of its access, made once for all with the same access.
    pub(super) fn toolbox(&self, servitor: &Servitor) -> Arc<Toolbox> {
        if servitor.access == self.parts.context.access {
            return self.parts.toolbox.clone();
        }
        let mut toolboxes = self.toolboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let made = toolboxes.entry(access_word(&servitor.access)).or_insert_with(|| {
            let mut toolbox = Toolbox::new(Mode::Coding, &servitor.access);
            toolbox.add(Arc::new(LoadSkill(self.registry.project.skills.clone())));
            let offered = |tool: &&Arc<dyn DynTool>| servitor.access.offers(tool.touches());
            self.parts.servitor_tools.iter().filter(offered).for_each(|tool| toolbox.add(tool.clone()));
            Arc::new(toolbox)
        });
        made.clone()
    }
}
