//! A session for servitors without a turn, opened when it is first needed.
//!
//! A server of tools, which may never be asked for a servitor, makes no run and needs no model before the first call that does.

use super::Session;
use super::options::{Manner, SessionOptions};
use crate::error::{RegistryError, SessionError};
use crate::servitors::Servitors;
use crate::trace::Notice;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Listener to the events of the servitors.
pub type SharedListener = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

/// Session of the servitors of a process without a turn.
#[derive(Debug)]
pub struct LazySession {
    /// Tools hold them weakly; here they are kept.
    servitors: Arc<Servitors>,
    session: Arc<Mutex<Option<Session>>>,
}

impl LazySession {
    /// Session for these servitors; `cancel` interrupts them.
    #[must_use]
    pub fn new(servitors: Arc<Servitors>, listener: SharedListener, cancel: CancellationToken) -> Self {
        let session: Arc<Mutex<Option<Session>>> = Arc::default();
        // The session keeps the servitors, so they must not keep the session.
        let place = Arc::downgrade(&session);
        servitors.when_needed(Box::new(move |servitors| {
            let place = place.upgrade().filter(|_| !cancel.is_cancelled());
            let place = place.ok_or_else(|| RegistryError::Usage("this process is about to end".into()))?;
            let listener = listener.clone();
            let mut session = Session::open(SessionOptions {
                project: servitors.project().clone(),
                manner: Manner::Unattended,
                record: None,
                response_schema: None,
                listener: Box::new(move |notice| listener(notice)),
                cancel: cancel.clone(),
                replay: None,
                commitments: Vec::new(),
                servitors: Some(servitors.clone()),
                turbotime: None,
                approver: None,
            })?;
            let marked = session.mark_for_servitors();
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
            Ok(marked?)
        }));
        LazySession { servitors, session }
    }

    /// Interrupts the servitors, waits for them until the timeout, and closes the record. They can be resumed.
    pub async fn end(&self, timeout: Duration) -> Result<(), SessionError> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut session) = session else { return Ok(()) };
        session.turn.cancel.cancel();
        let mut servitors = Vec::new();
        if let Some(scheduler) = self.servitors.opened() {
            tokio::time::timeout(timeout, scheduler.settled()).await.ok();
            servitors = scheduler.registry.living();
        }
        let outcome = session.outcome_of(&servitors);
        session.close(&outcome)
    }
}
