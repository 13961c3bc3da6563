//! Who there is, and what may become of them. One process at a time may hold the registry of a project.

use super::error::RegistryError;
use super::names;
use super::record::{Entry, Record};
use super::servitor::{self, Budget, Servitor};
use super::state::ServitorState;
use crate::commitments::{self, Commitment, Draft, PROJECT, Store, StoreError};
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
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::watch;

/// Characters of an assignment or a message.
const MAX_MESSAGE_CHARS: usize = 100_000;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requester {
    /// A person.
    Person,
    /// An agent that speaks for the coordinator: a turn, or another program's agent.
    Coordinator,
    /// A servitor.
    Servitor(String),
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Summons {
    /// What it is to do; without one it waits for word.
    pub assignment: String,
    /// Its name; else one is found.
    pub name: Option<String>,
    /// The tier of its model.
    pub tier: Option<String>,
    /// What it may spend.
    pub budget: Budget,
    /// What it may write; else what its parent may.
    pub access: Option<Access>,
    /// The tools that it may use; else those of its parent.
    pub tools: Option<Vec<String>>,
    /// What must hold.
    pub commitments: Vec<Draft>,
}

/// The registry of a project.
#[derive(Debug)]
pub struct Registry {
    pub(super) ground: Arc<ProjectContext>,
    pub(super) store: Store,
    records: PathBuf,
    coordinator: String,
    rights: Access,
    durability: Durability,
    bodies: Mutex<BTreeMap<String, Servitor>>,
    spent: Mutex<BTreeMap<String, (u64, u64)>>,
    changed: watch::Sender<u64>,
    trace: OnceLock<Arc<Trace>>,
    _lock: File,
}

/// Everybody in the store, the dismissed among them, and what cannot be read. Needs no lock.
///
/// # Errors
/// When there is no project.
pub fn bodies(ground: &ProjectContext) -> Result<(Vec<Servitor>, Vec<StoreError>), RegistryError> {
    let store = store(ground)?;
    let (documents, errors) = store.read_all();
    Ok((documents.iter().filter_map(Servitor::read).collect(), errors))
}

/// Whether a process looks after the servitors of this project now.
#[must_use]
pub fn is_held(ground: &ProjectContext) -> bool {
    let path = ground.layout.agent_records().unwrap_or_default().join(".lock");
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn store(ground: &ProjectContext) -> Result<Store, RegistryError> {
    Store::from_layout(&ground.layout).ok_or_else(|| {
        RegistryError::Usage(
            "there is no project here\n  hint: cd to its directory, or name it with --working-dir".into(),
        )
    })
}

impl Registry {
    /// Takes the registry; `who` is what others are told of this process.
    ///
    /// # Errors
    /// When somebody else has it, or it cannot be read.
    pub fn open(ground: Arc<ProjectContext>, who: &str) -> Result<Self, RegistryError> {
        let store = store(&ground)?;
        let records = ground.layout.agent_records().unwrap_or_default();
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
        let (bodies, errors) = bodies(&ground)?;
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        let coordinator = names::id_of(ground.settings.text(&table::COORDINATOR));
        let registry = Registry {
            rights: Access::from_settings(&ground.settings),
            durability: Durability::from_setting(ground.settings.text(&table::DURABILITY)),
            coordinator: if coordinator.is_empty() { "jake".into() } else { coordinator },
            store,
            records,
            bodies: Mutex::new(bodies.into_iter().map(|body| (body.id.clone(), body)).collect()),
            spent: Mutex::default(),
            changed: watch::Sender::new(0),
            trace: OnceLock::new(),
            ground,
            _lock: lock,
        };
        registry.mend()?;
        Ok(registry)
    }

    /// What was written down first counts: a document that is behind its record is brought up to it.
    fn mend(&self) -> Result<(), RegistryError> {
        let all: Vec<Servitor> = self.bodies().values().filter(|body| !body.dismissed).cloned().collect();
        for body in all {
            let restored = self.record(&body.id).restore()?;
            self.spend(&body.id, restored.nanos, restored.rounds);
            if let Some(state) = restored.state.filter(|state| *state != body.state) {
                self.write(&body.id, |body| body.state = state)?;
            }
        }
        Ok(())
    }

    fn bodies(&self) -> MutexGuard<'_, BTreeMap<String, Servitor>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spent(&self) -> MutexGuard<'_, BTreeMap<String, (u64, u64)>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what happens to a trace from now on.
    pub(super) fn tell(&self, trace: Arc<Trace>) {
        self.trace.set(trace).ok();
    }

    pub(super) fn event(&self, event: TraceEvent) -> Result<(), RegistryError> {
        if let Some(trace) = self.trace.get() {
            trace.event(event)?;
        }
        Ok(())
    }

    /// Heard whenever something changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn stir(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// The coordinator's id.
    #[must_use]
    pub fn coordinator(&self) -> &str {
        &self.coordinator
    }

    /// Everybody who was not dismissed.
    #[must_use]
    pub fn living(&self) -> Vec<Servitor> {
        self.bodies().values().filter(|body| !body.dismissed).cloned().collect()
    }

    /// The servitor of this id or name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, name: &str) -> Result<Servitor, RegistryError> {
        let id = names::id_of(name);
        let bodies = self.bodies();
        let living = || bodies.values().filter(|body| !body.dismissed);
        let found = living()
            .find(|body| body.id == name.trim())
            .or_else(|| living().find(|body| body.id == id || names::id_of(&body.name) == id));
        found.cloned().ok_or_else(|| {
            let all: Vec<&str> = living().map(|body| body.id.as_str()).take(20).collect();
            let all = if all.is_empty() {
                "there are none".into()
            } else {
                format!("there are: {}", all.join(", "))
            };
            RegistryError::Usage(format!("there is no servitor `{}` ({all})", truncate::line(name, 60)))
        })
    }

    pub(super) fn get(&self, id: &str) -> Option<Servitor> {
        self.bodies().get(id).cloned()
    }

    /// The record of a servitor.
    #[must_use]
    pub fn record(&self, id: &str) -> Record {
        Record::new(&self.records, id, self.ground.redactor.clone(), self.durability)
    }

    /// Is one the other, or summoned by it over any number of others?
    #[must_use]
    pub fn is_below(&self, id: &str, above: &str) -> bool {
        let bodies = self.bodies();
        let mut at = id.to_string();
        for _ in 0..64 {
            if at == above {
                return true;
            }
            match bodies.get(&at) {
                Some(body) => at.clone_from(&body.parent),
                None => return above == self.coordinator && at == self.coordinator,
            }
        }
        false
    }

    /// Summons a servitor: it is written down, and does not run yet.
    ///
    /// # Errors
    /// When its name is taken, it would have more than its parent, or its commitments are refused.
    pub fn summon(&self, by: &Requester, summons: &Summons) -> Result<Servitor, RegistryError> {
        let usage = |why: String| Err(RegistryError::Usage(why));
        if summons.assignment.chars().count() > MAX_MESSAGE_CHARS {
            return usage(format!("the assignment is longer than {MAX_MESSAGE_CHARS} characters"));
        }
        if let Some(Err(why)) = summons.tier.as_deref().map(ModelChoice::find) {
            return usage(format!("there is no such tier of models: {why}"));
        }
        let parent = match by {
            Requester::Person | Requester::Coordinator => self.coordinator.clone(),
            Requester::Servitor(id) => id.clone(),
        };
        let (access, tools) = self.rights(&parent, summons)?;
        self.affordable(&parent, summons.budget)?;
        let mut drafts = Vec::new();
        for draft in &summons.commitments {
            drafts.push(commitments::examine(&self.ground, draft)?.commitment);
        }
        let mut all: Vec<Commitment> = Vec::new();
        for one in drafts {
            if !all.iter().any(|known| known.definition() == one.definition()) {
                all.push(one);
            }
        }
        let mut bodies = self.bodies();
        let living = bodies.values().filter(|body| !body.dismissed).count();
        let most = self.ground.settings.count(&table::SERVITORS);
        if living >= most {
            return usage(format!(
                "there are {living} servitors already, and {most} may live at the same time (agent.servitors)"
            ));
        }
        let depth =
            std::iter::successors(bodies.get(&parent), |body| bodies.get(&body.parent)).take(64).count();
        let deepest = self.ground.settings.count(&table::MAX_DEPTH);
        if depth >= deepest {
            return Err(RegistryError::Refused(format!(
                "a servitor of this one would be {} levels deep, and {deepest} are allowed (limits.depth)",
                depth + 1
            )));
        }
        let taken = |name: &str| {
            let id = names::id_of(name);
            id == PROJECT
                || id == self.coordinator
                || bodies.values().any(|body| !body.dismissed && names::id_of(&body.name) == id)
        };
        let name = match summons.name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) if names::id_of(name).is_empty() => {
                return usage(format!(
                    "`{}` cannot be a name: it needs letters or digits",
                    truncate::line(name, 40)
                ));
            }
            Some(name) if taken(name) => {
                return usage(format!(
                    "there is a servitor `{}` already\n  hint: take another name, or none",
                    truncate::line(name, 60)
                ));
            }
            Some(name) => truncate::line(name, 80),
            None => {
                let project = self.ground.layout.project().map(|path| path.display().to_string());
                names::next(&project.unwrap_or_default(), taken)
            }
        };
        // A body of the same name may lie there: it keeps its document.
        let stem = names::id_of(&name);
        let free = |id: &String| !bodies.contains_key(id) && !self.store.path(id).exists();
        let id = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}"))).find(free);
        let body = Servitor {
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
            answer: String::new(),
            dismissed: false,
        };
        let mut document = body.document(&clock::now_stamp());
        document.commitments = all;
        commitments::create(&self.ground, &document)?;
        bodies.insert(body.id.clone(), body.clone());
        drop(bodies);
        self.event(TraceEvent::ServitorSummoned {
            agent: body.id.clone(),
            name: body.name.clone(),
            parent: body.parent.clone(),
            state: body.state.word().to_string(),
            assignment: truncate::head(&body.assignment, 2_000),
            commitments: document.commitments.len(),
        })?;
        self.stir();
        Ok(body)
    }

    /// What a child may have: what was asked for, and never more than its parent.
    fn rights(
        &self,
        parent: &str,
        summons: &Summons,
    ) -> Result<(Access, Option<Vec<String>>), RegistryError> {
        let above = self.get(parent);
        let (access, tools) =
            above.as_ref().map_or((&self.rights, None), |body| (&body.access, body.tools.as_ref()));
        let wanted = summons.access.clone().unwrap_or_else(|| access.clone());
        if !servitor::is_within(&wanted, access) {
            return Err(RegistryError::Refused(format!(
                "a servitor cannot have more access than whoever summons it: {}",
                access.describe()
            )));
        }
        match (&summons.tools, tools) {
            (None, all) => Ok((wanted, all.cloned())),
            (Some(some), Some(all)) if some.iter().any(|tool| !all.contains(tool)) => {
                Err(RegistryError::Refused(format!(
                    "a servitor cannot have more tools than whoever summons it: {}",
                    all.join(", ")
                )))
            }
            (Some(some), _) => Ok((wanted, Some(some.clone()))),
        }
    }

    /// What is left for somebody: the least of its own budget and those above it.
    #[must_use]
    pub fn left(&self, id: &str) -> Budget {
        let bodies = self.bodies();
        let spent = self.spent();
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let mut left = Budget::default();
        for body in std::iter::successors(bodies.get(id), |body| bodies.get(&body.parent)).take(64) {
            // What was spent below counts above.
            let (nanos, rounds) = spent.get(&body.id).copied().unwrap_or_default();
            left.nanos = least(left.nanos, body.budget.nanos.map(|budget| budget.saturating_sub(nanos)));
            left.rounds = least(left.rounds, body.budget.rounds.map(|budget| budget.saturating_sub(rounds)));
        }
        left
    }

    fn affordable(&self, parent: &str, wanted: Budget) -> Result<(), RegistryError> {
        let left = self.left(parent);
        let over =
            |wanted: Option<u64>, left: Option<u64>| matches!((wanted, left), (Some(a), Some(b)) if a > b);
        if left.nanos == Some(0) || left.rounds == Some(0) {
            return Err(RegistryError::Refused("the budget of whoever summons it is spent".into()));
        }
        if over(wanted.nanos, left.nanos) || over(wanted.rounds, left.rounds) {
            let dollars = left.nanos.map(|nanos| format!("{} USD", marvin_model::price::dollars(nanos)));
            let rounds = left.rounds.map(|rounds| format!("{rounds} rounds"));
            let left: Vec<String> = [dollars, rounds].into_iter().flatten().collect();
            return Err(RegistryError::Refused(format!(
                "a servitor cannot have a larger budget than is left for whoever summons it: {}",
                left.join(", ")
            )));
        }
        Ok(())
    }

    /// Counts what somebody spent, for it and for all above it. The line in its record was written before.
    pub(super) fn spend(&self, id: &str, nanos: u64, rounds: u64) {
        let bodies = self.bodies();
        let mut spent = self.spent();
        for body in std::iter::successors(bodies.get(id), |body| bodies.get(&body.parent)).take(64) {
            let one = spent.entry(body.id.clone()).or_default();
            *one = (one.0.saturating_add(nanos), one.1.saturating_add(rounds));
        }
    }

    /// Makes a servitor something else, if that may be.
    ///
    /// # Errors
    /// When it may not (that is written down too), or it cannot be written.
    pub fn become_state(&self, id: &str, to: ServitorState, reason: &str) -> Result<(), RegistryError> {
        let body = self.find(id)?;
        let from = body.state;
        if !from.may_become(to) {
            self.record(id).append(&Entry::Refused { from, to })?;
            self.event(TraceEvent::ServitorRefused {
                agent: id.to_string(),
                name: body.name.clone(),
                from: from.word().to_string(),
                to: to.word().to_string(),
            })?;
            return Err(RegistryError::Refused(format!(
                "{} is {} and cannot become {}",
                body.name,
                from.word(),
                to.word()
            )));
        }
        self.record(id).append(&Entry::State { from, to, reason: reason.to_string() })?;
        self.write(id, |body| {
            body.state = to;
            body.reason = reason.to_string();
        })?;
        self.event(TraceEvent::ServitorState {
            agent: id.to_string(),
            name: body.name,
            parent: body.parent,
            from: from.word().to_string(),
            to: to.word().to_string(),
            reason: truncate::head(reason, 1_000),
        })?;
        if to == ServitorState::Done {
            // It is proved: what it promised is no longer part of what must hold.
            commitments::close(&self.ground, id)?;
        }
        self.stir();
        Ok(())
    }

    /// Writes what changed into the document.
    pub(super) fn write(&self, id: &str, change: impl FnOnce(&mut Servitor)) -> Result<(), RegistryError> {
        let mut body = self.find(id)?;
        change(&mut body);
        self.store.change(id, |document| {
            document.set("state", body.state.word());
            document.set("reason", &truncate::head(&body.reason, 4_000));
            if !body.answer.is_empty() {
                document.set("answer", &truncate::head(&body.answer, 20_000));
            }
            document.set("updatedAt", &clock::now_stamp());
        })?;
        self.bodies().insert(id.to_string(), body);
        Ok(())
    }

    /// Sends word to a servitor; gives whether it must be started. It is written down before it counts.
    ///
    /// # Errors
    /// When there is no such servitor, its work is done, or it cannot be written.
    pub fn message(&self, to: &str, from: &str, text: &str) -> Result<Servitor, RegistryError> {
        let body = self.find(to)?;
        if text.trim().is_empty() || text.chars().count() > MAX_MESSAGE_CHARS {
            return Err(RegistryError::Usage(format!(
                "a message has between 1 and {MAX_MESSAGE_CHARS} characters"
            )));
        }
        if body.state == ServitorState::Done {
            return Err(RegistryError::Refused(format!(
                "{} is done\n  hint: summon another servitor for what is left",
                body.name
            )));
        }
        self.record(&body.id)
            .append(&Entry::Inbox { from: from.to_string(), text: text.trim().to_string() })?;
        self.event(TraceEvent::ServitorMessage {
            agent: body.id.clone(),
            from: from.to_string(),
            text: truncate::head(text.trim(), 2_000),
        })?;
        if !body.state.is_active() {
            self.become_state(&body.id, ServitorState::Working, &format!("word from {from}"))?;
        }
        self.stir();
        self.find(&body.id)
    }

    /// Dismisses a servitor and everybody that it summoned. The documents stay, the names are free. Gives the ids.
    ///
    /// # Errors
    /// When there is none, it is not the caller's, or it cannot be written.
    pub fn dismiss(&self, by: &Requester, name: &str) -> Result<Vec<String>, RegistryError> {
        let body = self.find(name)?;
        if let Requester::Servitor(caller) = by
            && (*caller == body.id || !self.is_below(&body.id, caller))
        {
            return Err(RegistryError::Refused(format!(
                "{} was not summoned by you; whoever summoned it may dismiss it",
                body.name
            )));
        }
        if *by == Requester::Coordinator && body.of_person {
            return Err(RegistryError::Refused(format!(
                "{} was summoned by a person, who alone may dismiss it\n  hint: `marvin servitors dismiss {}`",
                body.name, body.id
            )));
        }
        let below: Vec<Servitor> =
            self.living().into_iter().filter(|other| self.is_below(&other.id, &body.id)).collect();
        let mut gone = Vec::new();
        for one in below {
            let now = clock::now_stamp();
            self.store.change(&one.id, |document| {
                document.set("dismissedAt", &now);
                document.set("updatedAt", &now);
            })?;
            if let Some(known) = self.bodies().get_mut(&one.id) {
                known.dismissed = true;
            }
            if one.state != ServitorState::Done {
                commitments::close(&self.ground, &one.id)?;
            }
            self.event(TraceEvent::ServitorDismissed {
                agent: one.id.clone(),
                name: one.name,
                state: one.state.word().to_string(),
            })?;
            gone.push(one.id);
        }
        self.stir();
        Ok(gone)
    }
}

enum LockError {
    By(String),
    Io(std::io::Error),
}

/// Takes a lock that says who has it.
fn lock(path: &std::path::Path, who: &str) -> Result<File, LockError> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644).custom_flags(flags);
    let mut file = options.open(path).map_err(LockError::Io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            (&file).take(400).read_to_string(&mut holder).ok();
            let holder = holder.lines().next().unwrap_or_default().trim().to_string();
            return Err(LockError::By(if holder.is_empty() { "another process".into() } else { holder }));
        }
        Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
    }
    let text = format!("process {} ({who}) since {}\n", std::process::id(), clock::now_stamp());
    file.set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(text.as_bytes()))
        .map_err(LockError::Io)?;
    Ok(file)
}
