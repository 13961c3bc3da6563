//! Servitors without a turn: a session that is opened when somebody first needs it, and that ends when it is told to.
//!
//! Whoever serves tools to others (a server that nobody may ever ask for a servitor) makes no run and asks for no model before
//! the first call that needs them.

use super::{Manner, Session, SessionError, SessionOptions};
use crate::servitors::{RegistryError, Servitors};
use crate::trace::Notice;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Who is told of what happens to the servitors.
pub type SharedListener = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

/// Where the servitors of a process without a turn live.
#[derive(Debug)]
pub struct LazySession {
    /// Tools hold them weakly; here they are kept.
    servitors: Arc<Servitors>,
    session: Arc<Mutex<Option<Session>>>,
}

impl LazySession {
    /// Quarters for these servitors; `cancel` breaks off what they do.
    #[must_use]
    pub fn new(servitors: Arc<Servitors>, told: SharedListener, cancel: CancellationToken) -> Self {
        let session: Arc<Mutex<Option<Session>>> = Arc::default();
        // The session keeps the servitors, so they must not keep the session.
        let place = Arc::downgrade(&session);
        servitors.when_needed(Box::new(move |servitors| {
            let place = place.upgrade().filter(|_| !cancel.is_cancelled());
            let place = place.ok_or_else(|| RegistryError::Usage("this process is about to end".into()))?;
            let told = told.clone();
            let mut session = Session::open(SessionOptions {
                ground: servitors.ground().clone(),
                manner: Manner::Unattended,
                record: None,
                response_schema: None,
                listener: Box::new(move |notice| told(notice)),
                cancel: cancel.clone(),
                replay: None,
                commitments: Vec::new(),
                servitors: Some(servitors.clone()),
                turbotime: None,
                approver: None,
            })?;
            let said = session.is_for_servitors();
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
            Ok(said?)
        }));
        LazySession { servitors, session }
    }

    /// Breaks off whoever works, waits for them for so long at most, and closes the record. They stay as they are written
    /// down, and go on when they are taken up again.
    ///
    /// # Errors
    /// When the record cannot be closed.
    pub async fn end(&self, longest: Duration) -> Result<(), SessionError> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut session) = session else { return Ok(()) };
        session.turn.cancel.cancel();
        let mut bodies = Vec::new();
        if let Some(household) = self.servitors.opened() {
            tokio::time::timeout(longest, household.settled()).await.ok();
            bodies = household.registry.living();
        }
        let outcome = session.outcome_of(&bodies);
        session.close(&outcome)
    }
}
