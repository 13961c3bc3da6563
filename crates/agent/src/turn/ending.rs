//! End of a turn: answers are checked against their schema, claims verified, outcomes built.

use super::reply::fits;
use super::{Course, Halt, SCHEMA_TRIES, Turn};
use crate::commitments::CommitmentResult;
use crate::outcome::{Outcome, Status};
use crate::protocol::{ParsedReply, WorkerStatus};
use crate::verification::{Verification, Verifier};
use marvin_base::ledger::LedgerError;
use marvin_base::trace_event::TraceEvent;
use marvin_model::{Message, Reply};

impl Turn {
    /// Counts the skills that were loaded as uses that worked or failed; an ending that says nothing about them is not counted.
    pub(super) fn record_skills(&self, course: &Course, outcome: &Outcome) -> Result<(), LedgerError> {
        let ok = match (outcome.status, outcome.reason) {
            (Status::Success, _) => true,
            (Status::NotVerified, _) | (Status::Failed, "worker_failure" | "no_progress" | "max_rounds") => {
                false
            }
            _ => return Ok(()),
        };
        let registry = self.composer.as_ref().and_then(|composer| composer.skills.registry());
        let Some(registry) = registry.filter(|_| !course.skills.is_empty()) else { return Ok(()) };
        // A record that cannot be written changes nothing about the turn.
        match registry.record_use(&course.skills, ok, &self.redactor) {
            Ok(lost) => lost.into_iter().try_for_each(|text| self.trace.notice(text)),
            Err(error) => self.trace.notice(format!("uses of skills were not counted: {error}")),
        }
    }

    /// Returns a reply to the model with a sentence on what was wrong with it.
    pub(super) fn send_back(
        &self,
        course: &mut Course,
        reply: &Reply,
        sentence: &str,
        failure: &str,
    ) -> Result<(), Halt> {
        course.schema_failures += 1;
        if course.schema_failures > SCHEMA_TRIES {
            let why = format!("the model was told {SCHEMA_TRIES} times, and did not follow: {sentence}");
            let mut outcome = self.outcome(course, Status::Failed, "invalid_reply", Some(why));
            outcome.failure_signature = Some(failure.to_string());
            return Err(Halt::Over(Box::new(outcome)));
        }
        self.feed(course, vec![Message::assistant(reply.text.clone()), Message::user(sentence)])?;
        Ok(())
    }

    pub(super) async fn finish(
        &self,
        course: &mut Course,
        reply: &Reply,
        understood: ParsedReply,
    ) -> Result<(), Halt> {
        let mut text = understood.message;
        if let Some(schema) = &self.response_schema {
            match fits(schema, &reply.text) {
                Ok(answer) => text = answer,
                Err(problem) => {
                    let sentence = format!(
                        "Your answer does not fit the wanted schema: {problem}. Answer with one JSON value that does, and nothing else."
                    );
                    return self.send_back(course, reply, &sentence, "output-schema");
                }
            }
        }
        let needs_status = self.journal.as_ref().is_some_and(|journal| journal.needs_status());
        let (status, reason) = match understood.status {
            None if needs_status => (Status::Partial, "no_status"),
            None | Some(WorkerStatus::Success) => (Status::Success, "answered"),
            Some(WorkerStatus::Failure) => (Status::Failed, "worker_failure"),
            Some(WorkerStatus::Blocked) => (Status::Blocked, "worker_blocked"),
            Some(WorkerStatus::Partial) => (Status::Partial, "worker_partial"),
        };
        let mut outcome = self.outcome(course, status, reason, None);
        outcome.text = text;
        outcome.data = understood.data;
        outcome.failure_signature = understood.failure_signature;
        if status == Status::Success
            && let Some(journal) = &self.journal
        {
            if let Some(news) = journal.wait_for_news(&self.cancel).await {
                self.feed(course, vec![as_message(reply), Message::user(news)])?;
                return Ok(());
            }
            self.check_bounds(course)?;
            journal.claims(reply)?;
        }
        match &self.proof {
            Some(proof) if status == Status::Success && proof.applies(course.changed) => {
                self.prove(course, proof, reply, outcome).await
            }
            _ => {
                if self.journal.is_some() {
                    self.feed(course, vec![as_message(reply)])?;
                }
                Err(Halt::Over(Box::new(outcome)))
            }
        }
    }

    /// Verifies what a final answer claims. Failures go back to the model, a bounded number of times.
    async fn prove(
        &self,
        course: &mut Course,
        proof: &Verifier,
        reply: &Reply,
        mut outcome: Outcome,
    ) -> Result<(), Halt> {
        let round = course.proved.len() + 1;
        self.trace.event(TraceEvent::VerificationStarted { round })?;
        let mut recorded = Ok(());
        let mut notice = |checked: &CommitmentResult| {
            if recorded.is_ok() {
                let commitment = self.trace.within(checked, 2_000);
                recorded = self.trace.event(TraceEvent::VerificationChecked { round, commitment });
            }
        };
        let place = match &self.journal {
            Some(journal) => journal.turn_to_prove().await,
            None => None,
        };
        let proved = proof.verify(course.changed, &self.cancel, &mut notice).await;
        drop(place);
        recorded?;
        let (verified, summary) = (proved.verified, proved.summary.clone());
        self.trace.event(TraceEvent::VerificationCompleted { round, verified, summary: summary.clone() })?;
        let (interrupted, feedback) = (proved.interrupted, proved.feedback.clone());
        let over = round + course.sent_back > proof.rounds;
        if let (Some(journal), false) = (&self.journal, interrupted) {
            journal.judged(&proved, !verified && !over)?;
        }
        course.proved.push(proved);
        if interrupted {
            self.check_bounds(course)?;
        }
        outcome.verification = self.verification(course);
        if self.journal.is_some() && (verified || over) && !interrupted {
            self.feed(course, vec![as_message(reply)])?;
        }
        if verified {
            return Err(Halt::Over(Box::new(outcome)));
        }
        if over || interrupted {
            outcome.status = Status::NotVerified;
            outcome.reason = "not_verified";
            outcome.error = Some(format!("not verified: {summary}"));
            outcome.failure_signature = Some("not-verified".into());
            return Err(Halt::Over(Box::new(outcome)));
        }
        self.feed(course, vec![as_message(reply), Message::user(feedback)])?;
        self.trace.sync()?;
        Ok(())
    }

    fn verification(&self, course: &Course) -> Verification {
        let promised = match &self.proof {
            Some(proof) if course.proved.is_empty() => proof.promised(course.changed),
            _ => Vec::new(),
        };
        Verification { proved: course.proved.clone(), promised }
    }

    pub(super) fn over(
        &self,
        course: &Course,
        status: Status,
        reason: &'static str,
        error: Option<String>,
    ) -> Result<(), Halt> {
        Err(Halt::Over(Box::new(self.outcome(course, status, reason, error))))
    }

    pub(super) fn outcome(
        &self,
        course: &Course,
        status: Status,
        reason: &'static str,
        error: Option<String>,
    ) -> Outcome {
        Outcome {
            failure_signature: error.as_ref().map(|_| reason.replace('_', "-")),
            rounds: course.rounds,
            calls: course.calls,
            verification: self.verification(course),
            ..Outcome::new(status, reason, error)
        }
    }
}

/// A reply as a message of the conversation.
fn as_message(reply: &Reply) -> Message {
    Message::Assistant { content: reply.text.clone(), tool_calls: Vec::new(), opaque: reply.opaque.clone() }
}
