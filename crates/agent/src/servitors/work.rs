//! One servitor at work: turns, until its work is over or it needs somebody.

use super::error::RegistryError;
use super::record::{Entry, ResumePoint};
use super::scheduler::{ServitorScheduler, ServitorTools};
use super::servitor::Servitor;
use super::state::ServitorState;
use super::turn_journal::{ServitorJournal, word};
use crate::compose::{Coding, Composer, access_sentence, budget};
use crate::outcome::{Outcome, Status};
use crate::roles::Role;
use crate::turn::Turn;
use crate::verification::Verifier;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_base::truncate;
use marvin_model::Message;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How a servitor says how it stands. A reply without one of these lines is no end.
const ENDINGS: &str = "End with a last line of its own: `STATUS: DONE` when it is done, `STATUS: WAITING` after a question to \
                       whoever summoned you, or `STATUS: FAILED` after the reason why it cannot be done.";

/// Works until there is nothing to do.
pub(super) async fn work(
    household: &Arc<ServitorScheduler>,
    id: &str,
    cancel: &CancellationToken,
) -> Result<(), RegistryError> {
    loop {
        let Some(body) = household.registry.get(id) else { return Ok(()) };
        if !body.state.is_active() || body.dismissed || cancel.is_cancelled() {
            return Ok(());
        }
        let mut restored = household.registry.record(id).restore()?;
        household.hear(id, std::mem::take(&mut restored.inbox));
        let prompted = restored.prompted;
        let outcome = turn(household, &body, restored, cancel).await?;
        if household.registry.get(id).is_none_or(|body| body.dismissed) {
            return Ok(());
        }
        if !decide(household, &body, &outcome, prompted)? {
            return Ok(());
        }
    }
}

/// One turn, begun or taken up.
async fn turn(
    household: &Arc<ServitorScheduler>,
    body: &Servitor,
    mut restored: ResumePoint,
    cancel: &CancellationToken,
) -> Result<Outcome, RegistryError> {
    let parts = &household.parts;
    if restored.messages.is_empty() {
        let mut task = body.assignment.clone();
        let letters = household.take_letters(&body.id);
        if !letters.is_empty() {
            task = format!("{task}\n\n{}", word(&letters));
        }
        let message = Message::user(format!("{}\n\n[{ENDINGS}]", task.trim()));
        let fed = Entry::Fed { messages: vec![message.clone()], inbox: letters.len() };
        household.registry.record(&body.id).append(&fed)?;
        restored.messages.push(message);
        restored.opening = 1;
    }
    let ground = household.registry.ground.clone();
    let mut context = parts.context.clone();
    context.access = body.access.clone();
    context.agent = Some(body.id.as_str().into());
    context.cancel = cancel.clone();
    let coding = Coding::new(ground.workspace.as_deref(), access_sentence(&body.access, &context.duty));
    let composer = Composer {
        layout: ground.layout.clone(),
        workspace: ground.workspace.clone(),
        profile: String::new(),
        history: Vec::new(),
        coding: Some(coding),
        date: parts.date.clone(),
        role: Role::Servitor,
        step: Some(body.id.clone()),
        has_parent: false,
        documents: vec![body.id.clone()],
        recorded: None,
        extras: Vec::new(),
        budget: budget(parts.turn.bounds.window.compact),
    };
    let system = Message::system(composer.compose().text);
    let promised = household.registry.store.read(&body.id)?.commitments;
    let rounds = ground.settings.count(&table::VERIFY_ROUNDS);
    let proof = Verifier::documents(ground, Some((&body.id, promised)), false, rounds);
    let tools = ServitorTools {
        toolbox: household.toolbox(body),
        context,
        only: body.tools.clone(),
        acting: household.acting.clone(),
    };
    let life = ServitorJournal::new(household.clone(), &body.id, &mut restored);
    let turn = Turn {
        client: household.model(body)?,
        tools: Arc::new(tools),
        cancel: cancel.clone(),
        role: Role::Servitor.name().to_string(),
        step: Some(body.id.clone()),
        response_schema: None,
        composer: Some(Arc::new(composer)),
        proof: Some(Arc::new(proof)),
        life: Some(Arc::new(life)),
        ..parts.turn.clone()
    };
    Ok(turn.take_up(restored.start(system)).await?)
}

/// What becomes of a servitor after a turn; gives whether it goes on at once.
fn decide(
    household: &Arc<ServitorScheduler>,
    body: &Servitor,
    outcome: &Outcome,
    prompted: usize,
) -> Result<bool, RegistryError> {
    let registry = &household.registry;
    if !outcome.text.is_empty() {
        registry.write(&body.id, |body| body.answer.clone_from(&outcome.text))?;
    }
    let why = outcome.error.clone().unwrap_or_else(|| outcome.reason.replace('_', " "));
    match outcome.status {
        // It goes on when it is taken up again.
        Status::Interrupted => return Ok(false),
        Status::Failed if outcome.reason == "deadline" => return Ok(false),
        Status::Success => end(household, body, ServitorState::Done, "", outcome)?,
        Status::Blocked => end(household, body, ServitorState::Waiting, "it needs an answer", outcome)?,
        Status::NotVerified | Status::Budget => end(household, body, ServitorState::Failed, &why, outcome)?,
        Status::Failed | Status::Partial if goes_on(outcome) => {
            let most = registry.ground.settings.count(&table::PERSEVERANCE);
            if prompted < most {
                let text = format!(
                    "You stopped, and your assignment is not finished ({}). Go on with it. {ENDINGS}",
                    truncate::line(&why, 200)
                );
                registry.record(&body.id).append(&Entry::Prompted { text })?;
                registry.event(TraceEvent::ServitorPrompted {
                    agent: body.id.clone(),
                    name: body.name.clone(),
                    reason: outcome.reason.to_string(),
                    time: prompted + 1,
                })?;
                return Ok(true);
            }
            let why = format!("it stopped unfinished and was told to go on {most} times: {why}");
            end(household, body, ServitorState::Failed, &why, outcome)?;
        }
        Status::Failed | Status::Partial => end(household, body, ServitorState::Failed, &why, outcome)?,
    }
    Ok(false)
}

/// Is it worth telling it to go on? Not when it says itself that it failed, nor when the model cannot be had.
fn goes_on(outcome: &Outcome) -> bool {
    !matches!(outcome.reason, "worker_failure" | "model_error" | "mock_empty" | "not_understood")
}

/// Makes it what it is now, and tells whoever summoned it.
fn end(
    household: &Arc<ServitorScheduler>,
    body: &Servitor,
    to: ServitorState,
    why: &str,
    outcome: &Outcome,
) -> Result<(), RegistryError> {
    let registry = &household.registry;
    let now = registry.get(&body.id).map_or(body.state, |body| body.state);
    if to == ServitorState::Waiting && now == ServitorState::Verifying {
        registry.become_state(&body.id, ServitorState::Working, why)?;
    }
    registry.become_state(&body.id, to, why)?;
    let mut text = format!("{} (id: {}) {}", body.name, body.id, to.sentence());
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
    household.report(body, &text)
}
