//! Registry of the servitors of a project and of their states. One process at a time may hold it.

use super::lock::{LockError, lock};
use super::names;
use super::record::{Entry, Record};
use super::servitor::{self, Budget, Servitor};
use super::state::ServitorState;
use crate::commitments::{self, Commitment, Draft, PROJECT, Store, StoreError};
use crate::error::RegistryError;
use crate::launch::ModelChoice;
use crate::project_context::ProjectContext;
use crate::trace::Trace;
use marvin_base::ledger::Durability;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_base::{clock, truncate};
use marvin_gate::Access;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::watch;

/// Characters of an assignment or a message.
const MAX_MESSAGE_CHARS: usize = 100_000;
/// Servitors between one and its coordinator that are followed.
const MAX_CHAIN: usize = 64;

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requester {
    Person,
    /// An agent that speaks for the coordinator: a turn, or another program's agent.
    Coordinator,
    Servitor(String),
}

/// Request for a new servitor.
#[derive(Debug, Clone, Default)]
pub struct Summons {
    /// Its task; without one it waits for a message.
    pub assignment: String,
    /// Its name; else one is chosen.
    pub name: Option<String>,
    pub tier: Option<String>,
    pub budget: Budget,
    /// What it may write; else what its parent may.
    pub access: Option<Access>,
    /// The tools that it may use; else those of its parent.
    pub tools: Option<Vec<String>>,
    pub commitments: Vec<Draft>,
}

/// The registry of a project.
#[derive(Debug)]
pub struct Registry {
    pub(super) project: Arc<ProjectContext>,
    pub(super) store: Store,
    records: PathBuf,
    coordinator: String,
    rights: Access,
    durability: Durability,
    servitors: Mutex<BTreeMap<String, Servitor>>,
    spent: Mutex<BTreeMap<String, (u64, u64)>>,
    changed: watch::Sender<u64>,
    trace: OnceLock<Arc<Trace>>,
    _lock: File,
}

/// Lists all servitors, also dismissed ones, and the documents that cannot be read. Needs no lock.
pub fn list(project: &ProjectContext) -> Result<(Vec<Servitor>, Vec<StoreError>), RegistryError> {
    let store = store(project)?;
    let (documents, errors) = store.read_all();
    Ok((documents.iter().filter_map(Servitor::read).collect(), errors))
}

/// Whether a process holds the registry of this project now.
#[must_use]
pub fn is_held(project: &ProjectContext) -> bool {
    let path = project.layout.agent_records().unwrap_or_default().join(".lock");
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn store(project: &ProjectContext) -> Result<Store, RegistryError> {
    Store::from_layout(&project.layout).ok_or_else(|| {
        RegistryError::Usage(
            "no project was found here\n  hint: cd to its directory, or name it with --working-dir".into(),
        )
    })
}

impl Registry {
    /// Takes the registry; `who` describes this process to others.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be read.
    pub fn open(project: Arc<ProjectContext>, who: &str) -> Result<Self, RegistryError> {
        let store = store(&project)?;
        let records = project.layout.agent_records().unwrap_or_default();
        let io = |doing, error: std::io::Error| StoreError::Io {
            doing,
            path: records.display().to_string(),
            reason: error.to_string(),
        };
        for directory in [records.parent(), Some(records.as_path())].into_iter().flatten() {
            if directory.is_symlink() {
                let reason = "it is a link, and the record must not lead elsewhere\n  hint: remove it".into();
                return Err(
                    StoreError::Io { doing: "open", path: directory.display().to_string(), reason }.into()
                );
            }
        }
        std::fs::create_dir_all(&records).map_err(|error| io("make", error))?;
        let lock = lock(&records.join(".lock"), who).map_err(|error| match error {
            LockError::By(holder) => RegistryError::Held(holder),
            LockError::Io(error) => io("lock", error).into(),
        })?;
        let (servitors, errors) = list(&project)?;
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        let coordinator = names::id_of(project.settings.text(&table::COORDINATOR));
        let registry = Registry {
            rights: Access::from_settings(&project.settings),
            durability: Durability::from_setting(project.settings.text(&table::DURABILITY)),
            coordinator: if coordinator.is_empty() { "jake".into() } else { coordinator },
            store,
            records,
            servitors: Mutex::new(
                servitors.into_iter().map(|servitor| (servitor.id.clone(), servitor)).collect(),
            ),
            spent: Mutex::default(),
            changed: watch::Sender::new(0),
            trace: OnceLock::new(),
            project,
            _lock: lock,
        };
        registry.catch_up()?;
        Ok(registry)
    }

    /// Updates documents that are behind their record, which is written first.
    fn catch_up(&self) -> Result<(), RegistryError> {
        let all: Vec<Servitor> =
            self.servitors().values().filter(|servitor| !servitor.dismissed).cloned().collect();
        for servitor in all {
            let restored = self.record(&servitor.id).restore()?;
            self.spend(&servitor.id, restored.nanos, restored.rounds);
            if let Some(state) = restored.state.filter(|state| *state != servitor.state) {
                self.write(&servitor.id, |servitor| servitor.state = state)?;
            }
        }
        Ok(())
    }

    fn servitors(&self) -> MutexGuard<'_, BTreeMap<String, Servitor>> {
        self.servitors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spent(&self) -> MutexGuard<'_, BTreeMap<String, (u64, u64)>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports changes to a trace from now on.
    pub(super) fn tell(&self, trace: Arc<Trace>) {
        self.trace.set(trace).ok();
    }

    pub(super) fn event(&self, event: TraceEvent) -> Result<(), RegistryError> {
        if let Some(trace) = self.trace.get() {
            trace.event(event)?;
        }
        Ok(())
    }

    /// Notified whenever something changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn notify(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// The coordinator's id.
    #[must_use]
    pub fn coordinator(&self) -> &str {
        &self.coordinator
    }

    /// Servitors that were not dismissed.
    #[must_use]
    pub fn living(&self) -> Vec<Servitor> {
        self.servitors().values().filter(|servitor| !servitor.dismissed).cloned().collect()
    }

    /// The servitor of this id or name.
    pub fn find(&self, name: &str) -> Result<Servitor, RegistryError> {
        let id = names::id_of(name);
        let servitors = self.servitors();
        let living = || servitors.values().filter(|servitor| !servitor.dismissed);
        let found = living()
            .find(|servitor| servitor.id == name.trim())
            .or_else(|| living().find(|servitor| servitor.id == id || names::id_of(&servitor.name) == id));
        found.cloned().ok_or_else(|| {
            let all: Vec<&str> = living().map(|servitor| servitor.id.as_str()).take(20).collect();
            let all = if all.is_empty() {
                "there are none".into()
            } else {
                format!("there are: {}", all.join(", "))
            };
            RegistryError::Usage(format!("unknown servitor `{}` ({all})", truncate::line(name, 60)))
        })
    }

    pub(super) fn get(&self, id: &str) -> Option<Servitor> {
        self.servitors().get(id).cloned()
    }

    /// The record of a servitor.
    #[must_use]
    pub fn record(&self, id: &str) -> Record {
        Record::new(&self.records, id, self.project.redactor.clone(), self.durability)
    }

    /// Whether `id` is `above`, or was summoned by it directly or indirectly.
    #[must_use]
    pub fn is_below(&self, id: &str, above: &str) -> bool {
        let servitors = self.servitors();
        let mut at = id.to_string();
        for _ in 0..MAX_CHAIN {
            if at == above {
                return true;
            }
            match servitors.get(&at) {
                Some(servitor) => at.clone_from(&servitor.parent),
                None => return above == self.coordinator && at == self.coordinator,
            }
        }
        false
    }

    /// Summons a servitor: writes it down, without running it.
    ///
    /// # Errors
    /// When its name is taken, it would have more rights than its parent, or its commitments are refused.
    pub fn summon(&self, by: &Requester, summons: &Summons) -> Result<Servitor, RegistryError> {
        let usage = |why: String| Err(RegistryError::Usage(why));
        if summons.assignment.chars().count() > MAX_MESSAGE_CHARS {
            return usage(format!("the assignment is longer than {MAX_MESSAGE_CHARS} characters"));
        }
        if let Some(Err(why)) = summons.tier.as_deref().map(ModelChoice::find) {
            return usage(format!("unknown tier of models: {why}"));
        }
        let parent = match by {
            Requester::Person | Requester::Coordinator => self.coordinator.clone(),
            Requester::Servitor(id) => id.clone(),
        };
        let (access, tools) = self.rights(&parent, summons)?;
        self.affordable(&parent, summons.budget)?;
        let commitments = self.vet(&summons.commitments)?;
        let mut servitors = self.servitors();
        self.check_limits(&servitors, &parent)?;
        let name = self.choose_name(&servitors, summons.name.as_deref())?;
        // A dismissed servitor of the same name keeps its document.
        let stem = names::id_of(&name);
        let free = |id: &String| !servitors.contains_key(id) && !self.store.path(id).exists();
        let id = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}"))).find(free);
        let servitor = Servitor {
            id: id.unwrap_or(stem),
            name,
            state: if summons.assignment.trim().is_empty() {
                ServitorState::Idle
            } else {
                ServitorState::Working
            },
            reason: String::new(),
            parent,
            assignment: summons.assignment.trim().to_string(),
            access,
            tools,
            of_person: *by == Requester::Person,
            tier: summons.tier.clone().unwrap_or_default(),
            budget: summons.budget,
            failure: String::new(),
            answer: String::new(),
            dismissed: false,
        };
        let mut document = servitor.document(&clock::now_stamp());
        document.commitments = commitments;
        commitments::create(&self.project, &document)?;
        servitors.insert(servitor.id.clone(), servitor.clone());
        drop(servitors);
        self.event(TraceEvent::ServitorSummoned {
            agent: servitor.id.clone(),
            name: servitor.name.clone(),
            parent: servitor.parent.clone(),
            state: servitor.state.word().to_string(),
            assignment: truncate::head(&servitor.assignment, 2_000),
            commitments: document.commitments.len(),
        })?;
        self.notify();
        Ok(servitor)
    }

    /// Commitments of a new servitor, without repetitions.
    fn vet(&self, drafts: &[Draft]) -> Result<Vec<Commitment>, RegistryError> {
        let mut all: Vec<Commitment> = Vec::new();
        for draft in drafts {
            let one = commitments::examine(&self.project, draft)?.commitment;
            if !all.iter().any(|known| known.definition() == one.definition()) {
                all.push(one);
            }
        }
        Ok(all)
    }

    fn check_limits(
        &self,
        servitors: &BTreeMap<String, Servitor>,
        parent: &str,
    ) -> Result<(), RegistryError> {
        let living = servitors.values().filter(|servitor| !servitor.dismissed).count();
        let most = self.project.settings.count(&table::SERVITORS);
        if living >= most {
            return Err(RegistryError::Usage(format!(
                "there are {living} servitors already, and {most} may live at the same time (agent.servitors)"
            )));
        }
        let depth = std::iter::successors(servitors.get(parent), |servitor| servitors.get(&servitor.parent))
            .take(MAX_CHAIN)
            .count();
        let deepest = self.project.settings.count(&table::MAX_DEPTH);
        if depth >= deepest {
            return Err(RegistryError::Refused(format!(
                "a servitor of this one would be {} levels deep, and {deepest} are allowed (limits.depth)",
                depth + 1
            )));
        }
        Ok(())
    }

    /// Name of a new servitor: the one that is wanted, else one of the project's theme.
    fn choose_name(
        &self,
        servitors: &BTreeMap<String, Servitor>,
        wanted: Option<&str>,
    ) -> Result<String, RegistryError> {
        let taken = |name: &str| {
            let id = names::id_of(name);
            id == PROJECT
                || id == self.coordinator
                || servitors
                    .values()
                    .any(|servitor| !servitor.dismissed && names::id_of(&servitor.name) == id)
        };
        match wanted.map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) if !names::is_valid(name) => Err(RegistryError::Usage(format!(
                "`{}` cannot be a name: it needs letters or digits, and has no slash",
                truncate::line(name, 40)
            ))),
            Some(name) if taken(name) => Err(RegistryError::Usage(format!(
                "there is a servitor `{}` already\n  hint: take another name, or none",
                truncate::line(name, 60)
            ))),
            Some(name) => Ok(truncate::line(name, 80)),
            None => {
                let directory = self.project.layout.project().map(|path| path.display().to_string());
                Ok(names::next(&directory.unwrap_or_default(), taken))
            }
        }
    }

    /// Rights of a child: what was requested, and never more than its parent has.
    fn rights(
        &self,
        parent: &str,
        summons: &Summons,
    ) -> Result<(Access, Option<Vec<String>>), RegistryError> {
        let above = self.get(parent);
        let (access, tools) = above
            .as_ref()
            .map_or((&self.rights, None), |servitor| (&servitor.access, servitor.tools.as_ref()));
        let wanted = summons.access.clone().unwrap_or_else(|| access.clone());
        if !servitor::is_within(&wanted, access) {
            return Err(RegistryError::Refused(format!(
                "a servitor cannot have more access than its parent: {}",
                access.describe()
            )));
        }
        match (&summons.tools, tools) {
            (None, all) => Ok((wanted, all.cloned())),
            (Some(some), Some(all)) if some.iter().any(|tool| !all.contains(tool)) => {
                Err(RegistryError::Refused(format!(
                    "a servitor cannot have more tools than its parent: {}",
                    all.join(", ")
                )))
            }
            (Some(some), _) => Ok((wanted, Some(some.clone()))),
        }
    }

    /// Budget that is left: the least of its own and those above it.
    #[must_use]
    pub fn left(&self, id: &str) -> Budget {
        let servitors = self.servitors();
        let spent = self.spent();
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let mut left = Budget::default();
        for servitor in std::iter::successors(servitors.get(id), |servitor| servitors.get(&servitor.parent))
            .take(MAX_CHAIN)
        {
            // Spending below counts above.
            let (nanos, rounds) = spent.get(&servitor.id).copied().unwrap_or_default();
            left.nanos = least(left.nanos, servitor.budget.nanos.map(|budget| budget.saturating_sub(nanos)));
            left.rounds =
                least(left.rounds, servitor.budget.rounds.map(|budget| budget.saturating_sub(rounds)));
        }
        left
    }

    fn affordable(&self, parent: &str, wanted: Budget) -> Result<(), RegistryError> {
        let left = self.left(parent);
        let over =
            |wanted: Option<u64>, left: Option<u64>| matches!((wanted, left), (Some(a), Some(b)) if a > b);
        if left.nanos == Some(0) || left.rounds == Some(0) {
            return Err(RegistryError::Refused("the budget of its parent is spent".into()));
        }
        if over(wanted.nanos, left.nanos) || over(wanted.rounds, left.rounds) {
            let dollars = left.nanos.map(|nanos| format!("{} USD", marvin_model::price::dollars(nanos)));
            let rounds = left.rounds.map(|rounds| format!("{rounds} rounds"));
            let left: Vec<String> = [dollars, rounds].into_iter().flatten().collect();
            return Err(RegistryError::Refused(format!(
                "a servitor cannot have a larger budget than is left for its parent: {}",
                left.join(", ")
            )));
        }
        Ok(())
    }

    /// Counts spending, for a servitor and all above it. The line in its record was written before.
    pub(super) fn spend(&self, id: &str, nanos: u64, rounds: u64) {
        let servitors = self.servitors();
        let mut spent = self.spent();
        for servitor in std::iter::successors(servitors.get(id), |servitor| servitors.get(&servitor.parent))
            .take(MAX_CHAIN)
        {
            let one = spent.entry(servitor.id.clone()).or_default();
            *one = (one.0.saturating_add(nanos), one.1.saturating_add(rounds));
        }
    }

    /// Changes the state of a servitor.
    ///
    /// # Errors
    /// When the change is not allowed (which is recorded too), or it cannot be written.
    pub fn become_state(&self, id: &str, to: ServitorState, reason: &str) -> Result<(), RegistryError> {
        let servitor = self.find(id)?;
        let from = servitor.state;
        if !from.may_become(to) {
            self.record(id).append(&Entry::Refused { from, to })?;
            self.event(TraceEvent::ServitorRefused {
                agent: id.to_string(),
                name: servitor.name.clone(),
                from: from.word().to_string(),
                to: to.word().to_string(),
            })?;
            return Err(RegistryError::Refused(format!(
                "{} is {} and cannot become {}",
                servitor.name,
                from.word(),
                to.word()
            )));
        }
        self.record(id).append(&Entry::State { from, to, reason: reason.to_string() })?;
        self.write(id, |servitor| {
            servitor.state = to;
            servitor.reason = reason.to_string();
            if to != ServitorState::Failed {
                servitor.failure.clear();
            }
        })?;
        self.event(TraceEvent::ServitorState {
            agent: id.to_string(),
            name: servitor.name,
            parent: servitor.parent,
            from: from.word().to_string(),
            to: to.word().to_string(),
            reason: truncate::head(reason, 1_000),
        })?;
        if to == ServitorState::Done {
            // It is proved: its commitments no longer apply to the project.
            commitments::close(&self.project, id)?;
        }
        self.notify();
        Ok(())
    }

    /// Changes a servitor and its document.
    pub(super) fn write(&self, id: &str, change: impl FnOnce(&mut Servitor)) -> Result<(), RegistryError> {
        let mut servitor = self.find(id)?;
        change(&mut servitor);
        self.store.change(id, |document| {
            document.set("state", servitor.state.word());
            document.set("reason", &truncate::head(&servitor.reason, 4_000));
            if !servitor.failure.is_empty() || document.value("failure").is_some() {
                document.set("failure", &servitor.failure);
            }
            if !servitor.answer.is_empty() {
                document.set("answer", &truncate::head(&servitor.answer, 20_000));
            }
            document.set("updatedAt", &clock::now_stamp());
        })?;
        self.servitors().insert(id.to_string(), servitor);
        Ok(())
    }

    /// Sends a message to a servitor; it is written down before it counts.
    pub fn message(&self, to: &str, from: &str, text: &str) -> Result<Servitor, RegistryError> {
        let servitor = self.find(to)?;
        if text.trim().is_empty() || text.chars().count() > MAX_MESSAGE_CHARS {
            return Err(RegistryError::Usage(format!(
                "a message has between 1 and {MAX_MESSAGE_CHARS} characters"
            )));
        }
        if servitor.state == ServitorState::Done {
            return Err(RegistryError::Refused(format!(
                "{} is done\n  hint: summon another servitor for what is left",
                servitor.name
            )));
        }
        self.record(&servitor.id)
            .append(&Entry::Inbox { from: from.to_string(), text: text.trim().to_string() })?;
        self.event(TraceEvent::ServitorMessage {
            agent: servitor.id.clone(),
            from: from.to_string(),
            text: truncate::head(text.trim(), 2_000),
        })?;
        if !servitor.state.is_active() {
            self.become_state(&servitor.id, ServitorState::Working, &format!("word from {from}"))?;
        }
        self.notify();
        self.find(&servitor.id)
    }

    /// Dismisses a servitor and all below it. The documents stay, the names are free. Gives the ids.
    pub fn dismiss(&self, by: &Requester, name: &str) -> Result<Vec<String>, RegistryError> {
        let servitor = self.find(name)?;
        if let Requester::Servitor(caller) = by
            && (*caller == servitor.id || !self.is_below(&servitor.id, caller))
        {
            return Err(RegistryError::Refused(format!(
                "{} was not summoned by you; its parent may dismiss it",
                servitor.name
            )));
        }
        if *by == Requester::Coordinator && servitor.of_person {
            return Err(RegistryError::Refused(format!(
                "{} was summoned by a person, who alone may dismiss it\n  hint: `marvin servitors dismiss {}`",
                servitor.name, servitor.id
            )));
        }
        let below: Vec<Servitor> =
            self.living().into_iter().filter(|other| self.is_below(&other.id, &servitor.id)).collect();
        let mut gone = Vec::new();
        for one in below {
            let now = clock::now_stamp();
            self.store.change(&one.id, |document| {
                document.set("dismissedAt", &now);
                document.set("updatedAt", &now);
            })?;
            if let Some(known) = self.servitors().get_mut(&one.id) {
                known.dismissed = true;
            }
            if one.state != ServitorState::Done {
                commitments::close(&self.project, &one.id)?;
            }
            self.event(TraceEvent::ServitorDismissed {
                agent: one.id.clone(),
                name: one.name,
                state: one.state.word().to_string(),
            })?;
            gone.push(one.id);
        }
        self.notify();
        Ok(gone)
    }
}
