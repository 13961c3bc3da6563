//! `marvin hook`: reads an event, asks the daemon, prints the answer.
//!
//! Where the daemon is missing, of another build, late or sends an invalid answer, the hook answers itself. A call that could
//! not be judged is never allowed: both clients take silence for a yes.

use crate::event;
use crate::event_handler::{self, EventHandler, Reply};
use crate::{daemon, verify};
use marvin_base::layout::Layout;
use marvin_hook_client::wire;
use marvin_hook_client::{Connection, Event, HookCall, NoAnswer, own_program};
use serde_json::Value;
use std::io::Read;
use tokio_util::sync::CancellationToken;

/// The output of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutcome {
    /// Text for standard output.
    pub print: String,
    /// Text for standard error; the exit code then blocks the call.
    pub blocked: Option<String>,
}

impl HookOutcome {
    fn print(text: impl Into<String>) -> HookOutcome {
        HookOutcome { print: text.into(), blocked: None }
    }
}

#[derive(Debug)]
pub struct Hook {
    call: HookCall,
    /// Why `marvin-hook` got no answer from the daemon, if it asked.
    handed_over: Option<NoAnswer>,
}

impl Hook {
    #[must_use]
    pub fn new(call: HookCall, handed_over: Option<NoAnswer>) -> Hook {
        Hook { call, handed_over }
    }

    fn event(&self) -> Option<Event> {
        self.call.event()
    }

    /// Answers the event on `input`. If that takes longer than the client waits, `late` gets an answer on another thread,
    /// and ends the process.
    pub fn run(
        &mut self,
        input: &mut impl Read,
        late: impl FnOnce(HookOutcome) + Send + 'static,
    ) -> HookOutcome {
        let evaluating = self.call.is_evaluating();
        let asks = !evaluating && self.handed_over.is_none();
        let connection = if asks { self.call.connect() } else { Connection::Unusable };
        let mut event = Vec::new();
        match input.take(wire::MAX_EVENT_BYTES as u64 + 1).read_to_end(&mut event) {
            Ok(_) if event.len() <= wire::MAX_EVENT_BYTES => {}
            Ok(_) => return self.doubt("more was told than is read"),
            Err(error) => return self.doubt(&format!("standard input cannot be read: {error}")),
        }
        if event.trim_ascii().is_empty() {
            return self.doubt("the input is empty");
        }
        if self.event().is_none()
            && let Some(name) = event::named(&event)
        {
            // The name on the command line may be misspelt; the client's own is in its input.
            self.call.name = name;
        }
        if evaluating {
            return HookOutcome::print(event_handler::evaluating(self.call.client, self.event()));
        }
        let reason = match self.handed_over.take() {
            Some(reason) => reason,
            None => match self.call.ask(connection, &event, own_program().as_ref()) {
                Ok(text) => return HookOutcome::print(text),
                Err(reason) => reason,
            },
        };
        self.watch(late);
        match reason {
            NoAnswer::Verify(session) => {
                let input = event::parse(&event).unwrap_or_default();
                self.with_handler(&input, |hook, handler| hook.verify(handler, &session))
            }
            NoAnswer::NoDaemon => {
                // A session that ends does not need a daemon, and a directory that is gone has none.
                if self.event() != Some(Event::SessionEnd) && self.call.project.is_dir() {
                    self.start();
                }
                self.answer_here(&event)
            }
            NoAnswer::OtherBuild | NoAnswer::Unusable => self.answer_here(&event),
        }
    }

    /// Ensures an answer in time, since the client takes silence for a yes: this process may block on a pipe or on a lock
    /// that is never released.
    fn watch(&self, late: impl FnOnce(HookOutcome) + Send + 'static) {
        let limit = match self.event() {
            // Verification has its own timeout.
            Some(Event::Stop | Event::SubagentStop) => return,
            event => wire::hook_timeout(event),
        };
        let ended = self.doubt("it took too long");
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            late(ended);
        });
    }

    /// Starts a daemon, unless another process does.
    fn start(&self) {
        if let Ok(program) = std::env::current_exe() {
            daemon::start(&self.call.environment, &self.call.project, &program).ok();
        }
    }

    /// Answers without a daemon.
    fn answer_here(&self, event: &[u8]) -> HookOutcome {
        let Some(value) = event::parse(event) else { return self.doubt("the input is not JSON") };
        self.with_handler(&value, |hook, handler| {
            let answer =
                async { handler.answer(hook.call.client, &hook.call.name, hook.call.attended, &value).await };
            let limit = wire::handler_timeout(hook.event());
            match block_on(async { tokio::time::timeout(limit, answer).await }) {
                Some(Ok(Reply::Print(text))) => HookOutcome::print(text),
                Some(Ok(Reply::Verify(session))) => hook.verify(handler, &session),
                Some(Err(_)) | None => hook.doubt("it took too long"),
            }
        })
    }

    fn with_handler(
        &self,
        event: &Value,
        then: impl FnOnce(&Hook, &EventHandler) -> HookOutcome,
    ) -> HookOutcome {
        match EventHandler::open(&self.call.environment, &self.call.project, &CancellationToken::new()) {
            Ok(handler) => then(self, &handler),
            Err(error) => {
                let home = Layout::new(&self.call.environment, None).home().to_path_buf();
                let why = error.to_string();
                let answer =
                    event_handler::without_handler(self.call.client, self.event(), event, &home, &why);
                HookOutcome::print(answer)
            }
        }
    }

    /// Verifies the commitments in this process, so that the verification ends with the hook.
    fn verify(&self, handler: &EventHandler, session: &str) -> HookOutcome {
        match block_on(verify::report(handler.context())) {
            Some(report) => match handler.verified(self.call.client, session, &report) {
                Reply::Print(text) => HookOutcome::print(text),
                Reply::Verify(_) => self.doubt("it was verified again and again"),
            },
            None => self.doubt("the verification cannot be started"),
        }
    }

    /// The answer after a failure.
    #[must_use]
    pub fn doubt(&self, why: &str) -> HookOutcome {
        let text = event_handler::in_doubt(self.call.client, self.event(), why);
        let decides = self.event().is_some_and(Event::decides);
        // An empty answer to a permission request leaves the decision to the person; before a call it would allow it.
        let silent = decides && text == "{}" && self.event() == Some(Event::PreToolUse);
        HookOutcome { print: text, blocked: silent.then(|| format!("Marvin could not judge this: {why}")) }
    }
}

/// Runs a future to its end on this thread.
fn block_on<T>(work: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    Some(runtime.block_on(work))
}
