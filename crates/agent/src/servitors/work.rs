//! Work of one servitor: turns, until its work is over or it needs an answer.

use super::inbox::join_messages;
use super::record::{Entry, ResumePoint};
use super::scheduler::ServitorScheduler;
use super::servitor::Servitor;
use super::state::ServitorState;
use super::tool_host::ServitorTools;
use super::turn_journal::RecordJournal;
use crate::compose::{Composer, budget, tool_names};
use crate::error::RegistryError;
use crate::outcome::{Outcome, Status};
use crate::roles::Role;
use crate::tool_host::ToolHost;
use crate::turn::Turn;
use crate::verification::Verifier;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_base::truncate;
use marvin_model::Message;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How a servitor ends a turn. A reply without one of these lines does not end its work.
const ENDINGS: &str = "End with a last line of its own: `STATUS: DONE` when it is done, `STATUS: WAITING` after a question to \
                       your parent, or `STATUS: FAILED` after the reason why it cannot be done.";

/// Works until there is nothing to do.
pub(super) async fn work(
    scheduler: &Arc<ServitorScheduler>,
    id: &str,
    cancel: &CancellationToken,
) -> Result<(), RegistryError> {
    loop {
        let Some(servitor) = scheduler.registry.get(id) else { return Ok(()) };
        if !servitor.state.is_active() || servitor.dismissed || cancel.is_cancelled() {
            return Ok(());
        }
        let mut restored = scheduler.registry.record(id).restore()?;
        scheduler.hear(id, std::mem::take(&mut restored.inbox));
        let prompted = restored.prompted;
        let outcome = turn(scheduler, &servitor, restored, cancel).await?;
        if scheduler.registry.get(id).is_none_or(|servitor| servitor.dismissed) {
            return Ok(());
        }
        if !decide(scheduler, &servitor, &outcome, prompted)? {
            return Ok(());
        }
    }
}

/// Runs one turn, or resumes it.
async fn turn(
    scheduler: &Arc<ServitorScheduler>,
    servitor: &Servitor,
    mut restored: ResumePoint,
    cancel: &CancellationToken,
) -> Result<Outcome, RegistryError> {
    let parts = &scheduler.parts;
    if restored.messages.is_empty() {
        let mut task = servitor.assignment.clone();
        let letters = scheduler.take_letters(&servitor.id);
        if !letters.is_empty() {
            task = format!("{task}\n\n{}", join_messages(&letters));
        }
        let message = Message::user(format!("{}\n\n[{ENDINGS}]", task.trim()));
        let fed = Entry::Fed { messages: vec![message.clone()], inbox: letters.len() };
        scheduler.registry.record(&servitor.id).append(&fed)?;
        restored.messages.push(message);
        restored.opening = 1;
    }
    let project = scheduler.registry.project.clone();
    let mut context = parts.context.clone();
    context.access = servitor.access.clone();
    context.agent = Some(servitor.id.as_str().into());
    context.cancel = cancel.clone();
    let tools = ServitorTools {
        toolbox: scheduler.toolbox(servitor),
        context: context.clone(),
        only: servitor.tools.clone(),
        acting: scheduler.acting.clone(),
    };
    let composer = Composer {
        date: parts.date.clone(),
        documents: vec![servitor.id.clone()],
        budget: budget(parts.turn.bounds.window.compact),
        ..Composer::of_agent(&project, &context, tool_names(&tools.specs()), Role::Servitor, &servitor.id)
    };
    composer.skills.tell(&parts.turn.trace)?;
    let system = Message::system(composer.compose().text);
    let promised = scheduler.registry.store.read(&servitor.id)?.commitments;
    let rounds = project.settings.count(&table::VERIFY_ROUNDS);
    let proof = Verifier::documents(project, Some((&servitor.id, promised)), false, rounds);
    let journal = RecordJournal::of_servitor(scheduler, &servitor.id, &mut restored);
    let turn = Turn {
        client: scheduler.model(servitor)?,
        tools: Arc::new(tools),
        cancel: cancel.clone(),
        role: Role::Servitor.name().to_string(),
        step: Some(servitor.id.clone()),
        response_schema: None,
        composer: Some(Arc::new(composer)),
        proof: Some(Arc::new(proof)),
        journal: Some(Arc::new(journal)),
        ..parts.turn.clone()
    };
    Ok(turn.resume(restored.start(system)).await?)
}

/// Changes the state of a servitor after a turn; gives whether it continues at once.
fn decide(
    scheduler: &Arc<ServitorScheduler>,
    servitor: &Servitor,
    outcome: &Outcome,
    prompted: usize,
) -> Result<bool, RegistryError> {
    let registry = &scheduler.registry;
    if !outcome.text.is_empty() {
        registry.write(&servitor.id, |servitor| servitor.answer.clone_from(&outcome.text))?;
    }
    let why = outcome.error.clone().unwrap_or_else(|| outcome.reason.replace('_', " "));
    match outcome.status {
        // It continues when it is resumed.
        Status::Interrupted => return Ok(false),
        Status::Failed if outcome.reason == "deadline" => return Ok(false),
        Status::Success => end(scheduler, servitor, ServitorState::Done, "", outcome)?,
        Status::Blocked => end(scheduler, servitor, ServitorState::Waiting, "it needs an answer", outcome)?,
        Status::NotVerified | Status::Budget => {
            end(scheduler, servitor, ServitorState::Failed, &why, outcome)?;
        }
        Status::Failed | Status::Partial if may_continue(outcome) => {
            let most = registry.project.settings.count(&table::PERSEVERANCE);
            if prompted < most {
                let text = format!(
                    "You stopped, and your assignment is not finished ({}). Continue with it. {ENDINGS}",
                    truncate::line(&why, 200)
                );
                registry.record(&servitor.id).append(&Entry::Prompted { text })?;
                registry.event(TraceEvent::ServitorPrompted {
                    agent: servitor.id.clone(),
                    name: servitor.name.clone(),
                    reason: outcome.reason.to_string(),
                    time: prompted + 1,
                })?;
                return Ok(true);
            }
            let why = format!("it stopped unfinished and was told to continue {most} times: {why}");
            end(scheduler, servitor, ServitorState::Failed, &why, outcome)?;
        }
        Status::Failed | Status::Partial => end(scheduler, servitor, ServitorState::Failed, &why, outcome)?,
    }
    Ok(false)
}

/// Whether it may be told to continue: not when it says itself that it failed, nor when the model is not available.
fn may_continue(outcome: &Outcome) -> bool {
    !matches!(outcome.reason, "worker_failure" | "model_error" | "mock_empty" | "not_understood")
}

/// Changes its state, and reports to its parent.
fn end(
    scheduler: &Arc<ServitorScheduler>,
    servitor: &Servitor,
    to: ServitorState,
    why: &str,
    outcome: &Outcome,
) -> Result<(), RegistryError> {
    let registry = &scheduler.registry;
    let now = registry.get(&servitor.id).map_or(servitor.state, |servitor| servitor.state);
    if to == ServitorState::Waiting && now == ServitorState::Verifying {
        registry.become_state(&servitor.id, ServitorState::Working, why)?;
    }
    if to == ServitorState::Failed {
        registry.write(&servitor.id, |servitor| servitor.failure = outcome.reason.to_string())?;
    }
    registry.become_state(&servitor.id, to, why)?;
    let mut text = format!("{} (id: {}) {}", servitor.name, servitor.id, to.sentence());
    if !why.is_empty() {
        text.push_str(&format!(": {}", truncate::line(why, 400)));
    }
    if let Some(proved) = outcome.verification.last().filter(|proved| !proved.empty) {
        text.push_str(&format!(" [{}]", proved.summary));
    }
    if !outcome.text.trim().is_empty() {
        text.push_str(&format!(
            "\nWhat it said (a claim, not a fact):\n{}",
            truncate::head(outcome.text.trim(), 4_000)
        ));
    }
    scheduler.report(servitor, &text)
}
