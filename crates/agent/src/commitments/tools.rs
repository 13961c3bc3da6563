//! Tools for commitments: add one, list them, verify them.
//!
//! An agent may add commitments of its own ([`Source::Agent`]) and drop none. Verification runs programs outside the agent's
//! session, whatever the agent itself may do, so the tool counts as one that executes.

use super::{
    AddedCommitment, ChangeError, Commitment, CommitmentResult, Draft, Kind, Report, Source, TurnBaseline,
    add, all, assertion, find, verify, verify_documents,
};
use crate::project_context::ProjectContext;
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::Touches;
use marvin_tools::{DynTool, NoInput, Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Characters of evidence that a tool hands back for one commitment.
const EVIDENCE: usize = 2_000;

/// Commitments that these tools work on.
#[derive(Debug, Clone)]
pub struct Keeper {
    project: Arc<ProjectContext>,
    document: Option<String>,
    source: Source,
}

impl Keeper {
    /// The commitments of a document; of none, the project's own.
    #[must_use]
    pub fn new(project: Arc<ProjectContext>, document: Option<String>, source: Source) -> Self {
        Keeper { project, document, source }
    }

    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        vec![
            Arc::new(AddCommitment(self.clone())),
            Arc::new(ListCommitments(self.clone())),
            Arc::new(Verify(self.clone())),
        ]
    }

    /// The document: that of the agent that calls, else the one that was named; else the project's own.
    fn document(&self, context: &ToolContext) -> Option<String> {
        context.agent.as_deref().map(str::to_string).or_else(|| self.document.clone())
    }

    fn is_mine(&self, document: &str, context: &ToolContext) -> bool {
        self.document(context).is_none_or(|mine| mine == document)
    }
}

impl From<ChangeError> for ToolError {
    fn from(error: ChangeError) -> Self {
        ToolError::Failed(error.to_string())
    }
}

/// Promises something.
#[derive(Debug, Clone)]
pub struct AddCommitment(Keeper);

/// A promise.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddInput {
    /// How it is verified; not needed where `assertion` begins with it (`shell:pytest -q`).
    #[serde(default)]
    kind: Option<Kind>,
    /// What is verified: a command line; PATH; `PATH: TEXT`; `PATH: /POINTER = VALUE`; or a test runner and its words.
    assertion: String,
    /// What it means, for people.
    #[serde(default)]
    description: String,
    /// Seconds that it has; 120 unless said.
    timeout_s: Option<u64>,
    /// Files or directories that must stay as they are now.
    #[serde(default)]
    oracles: Vec<String>,
}

/// A promise that stands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedFact {
    /// Its name.
    id: String,
    /// The document that contains it.
    document: String,
    /// Whether it stood there already.
    known: bool,
    /// What keeps it from being verified until a person allows its command, if something does.
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
}

#[async_trait]
impl Tool for AddCommitment {
    type Input = AddInput;
    type Data = AddedFact;
    const NAME: &'static str = "add_commitment";
    const DESCRIPTION: &'static str = "Promise something that must hold before the work is done. It is verified by a command outside \
         your session whenever work is claimed to be done, and only a person can take it back. What cannot fail is refused.";
    const EXAMPLE: &'static str =
        r#"{"kind":"shell","assertion":"pytest -q","description":"all tests pass","oracles":["tests"]}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("command", "assertion"), ("timeout", "timeout_s"), ("oracle", "oracles")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: AddInput, context: &ToolContext) -> Result<Output<AddedFact>, ToolError> {
        let (kind, assertion) = match input.kind {
            Some(kind) => (kind, input.assertion),
            None => {
                let (kind, assertion) = assertion::split(&input.assertion)
                    .map_err(|invalid| ToolError::Usage(invalid.to_string()))?;
                (kind, assertion.to_string())
            }
        };
        let draft = Draft {
            document: self.0.document(context),
            kind,
            assertion,
            description: input.description,
            timeout_s: input.timeout_s,
            oracles: input.oracles,
            // An agent does not allow itself to steer what it is judged by.
            may_change: Vec::new(),
            source: self.0.source,
        };
        let AddedCommitment { document, commitment, known, doubt } = add(&self.0.project, draft)?;
        let word = if known { "known already" } else { "added" };
        let summary = format!("{word}: {} {}", commitment.id, truncate::line(&commitment.title(), 120));
        let doubt = doubt.map(|verdict| {
            format!(
                "the gate asks about this command ({}), so it cannot be verified until a person allows it",
                context.redactor.text(&verdict.reason)
            )
        });
        let text = doubt.iter().fold(summary.clone(), |text, doubt| format!("{text}\nnote: {doubt}"));
        Ok(Output::new(summary, text, AddedFact { id: commitment.id, document, known, doubt }))
    }
}

/// Shows what was promised.
#[derive(Debug, Clone)]
pub struct ListCommitments(Keeper);

/// What was promised.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommitmentList {
    /// Every commitment.
    commitments: Vec<Listing>,
    /// Documents that cannot be read.
    problems: Vec<String>,
}

/// One promise.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listing {
    /// Its name.
    id: String,
    /// The document that contains it.
    document: String,
    /// What it means.
    description: String,
    /// How it is verified.
    kind: &'static str,
    /// What is verified.
    assertion: String,
    /// Seconds that it has.
    timeout_s: u64,
    /// Who promised it: parent or agent.
    source: &'static str,
    /// How it stood when it was last verified.
    status: &'static str,
    /// Why, unless it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn listing((document, one): (String, Commitment)) -> Listing {
    Listing {
        id: one.id,
        document,
        description: one.description,
        kind: one.kind.word(),
        assertion: one.assertion,
        timeout_s: one.timeout_s,
        source: match one.source {
            Source::Parent => "parent",
            Source::Agent => "agent",
        },
        status: one.status.word(),
        reason: one.reason,
    }
}

#[async_trait]
impl Tool for ListCommitments {
    type Input = NoInput;
    type Data = CommitmentList;
    const NAME: &'static str = "list_commitments";
    const DESCRIPTION: &'static str =
        "List the commitments of this project with their status at the last verification. Nothing is run.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(
        &self,
        _input: NoInput,
        context: &ToolContext,
    ) -> Result<Output<CommitmentList>, ToolError> {
        let (pairs, errors) = all(&self.0.project)?;
        let mine = pairs.into_iter().filter(|(document, _)| self.0.is_mine(document, context));
        let commitments: Vec<Listing> = mine.map(listing).collect();
        let problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let row = |one: &Listing| {
            let what = if one.description.is_empty() { &one.assertion } else { &one.description };
            format!("{}  {}  {}: {}", one.status, one.id, one.kind, truncate::line(what, 160))
        };
        let mut lines: Vec<String> = commitments.iter().map(row).collect();
        lines.extend(problems.iter().map(|problem| format!("problem: {problem}")));
        let summary = match commitments.len() {
            0 => "no commitments here".to_string(),
            1 => "1 commitment".to_string(),
            many => format!("{many} commitments"),
        };
        let text = if lines.is_empty() { summary.clone() } else { lines.join("\n") };
        Ok(Output::new(summary, text, CommitmentList { commitments, problems }))
    }
}

/// Verifies what was promised.
#[derive(Debug, Clone)]
pub struct Verify(Keeper);

/// Which of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyInput {
    /// Only these commitments; without it, all of them. Only all of them prove that work is done.
    #[serde(default)]
    ids: Vec<String>,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerificationReport {
    /// How it stands, in one line.
    summary: String,
    /// Whether everything that was verified holds.
    verified: bool,
    /// Whether it was interrupted.
    interrupted: bool,
    /// How many hold.
    passed: usize,
    /// How many do not.
    failed: usize,
    /// Of how many it could not be found out; never a pass.
    could_not_run: usize,
    /// Each commitment.
    commitments: Vec<CheckedFact>,
    /// What else is wrong.
    problems: Vec<String>,
}

/// One commitment after its verification.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckedFact {
    /// Its name.
    id: String,
    /// The document that contains it.
    document: String,
    /// What it means.
    description: String,
    /// How it was verified.
    kind: &'static str,
    /// What was verified.
    assertion: String,
    /// passed, failed or could_not_run.
    status: &'static str,
    /// Why, unless it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What was seen, within bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    /// How long it took.
    duration_ms: u64,
}

fn fact(one: &CommitmentResult) -> CheckedFact {
    CheckedFact {
        id: one.id.clone(),
        document: one.document.clone(),
        description: one.description.clone(),
        kind: one.kind.word(),
        assertion: one.assertion.clone(),
        status: one.status.word(),
        reason: one.reason.clone(),
        evidence: one.evidence.as_deref().map(|text| truncate::middle_whole(text, EVIDENCE)),
        duration_ms: one.duration_ms,
    }
}

impl VerificationReport {
    fn new(report: &Report, summary: String) -> Self {
        VerificationReport {
            summary,
            verified: report.verified(),
            interrupted: report.interrupted,
            passed: report.count(super::Status::Passed),
            failed: report.count(super::Status::Failed),
            could_not_run: report.count(super::Status::CouldNotRun),
            commitments: report.commitments.iter().map(fact).collect(),
            problems: report.problems.clone(),
        }
    }
}

#[async_trait]
impl Tool for Verify {
    type Input = VerifyInput;
    type Data = VerificationReport;
    const NAME: &'static str = "verify";
    const DESCRIPTION: &'static str = "Verify what was promised here, from scratch, by commands outside your session. \
         The work is done when all of it passes; `could_not_run` is never a pass.";
    const EXAMPLE: &'static str = "{}";
    const FIELDS: &'static [(&'static str, &'static str)] = &[("id", "ids")];
    const TOUCHES: Touches = Touches::EXECUTES;

    async fn call(
        &self,
        input: VerifyInput,
        context: &ToolContext,
    ) -> Result<Output<VerificationReport>, ToolError> {
        let project = &self.0.project;
        for id in &input.ids {
            find(project, None, id)?;
        }
        let (known, _) = all(project)?;
        let total = if input.ids.is_empty() { known.len() } else { input.ids.len() } as u64;
        let mut done = 0;
        let mut notice = |checked: &CommitmentResult| {
            done += 1;
            let message = format!("{}: {}", checked.status.words(), truncate::line(&checked.title(), 120));
            context.step(done, Some(total.max(done)), &message);
        };
        let report = match context.agent.as_deref() {
            // An agent of ours verifies the commitments of its own work.
            Some(agent) if input.ids.is_empty() => {
                verify_documents(
                    project,
                    &[(agent, &[])],
                    &TurnBaseline::default(),
                    &context.cancel,
                    &mut notice,
                )
                .await
            }
            _ => verify(project, &input.ids, &context.cancel, &mut notice).await,
        };
        if report.interrupted {
            return Err(ToolError::Failed(format!("the verification was interrupted: {}", report.summary())));
        }
        let summary = match report.verified() {
            _ if report.is_empty() => {
                "there are no commitments here, so there is nothing to verify".to_string()
            }
            true => format!("verified: {}", report.summary()),
            false => format!("not verified: {}", report.summary()),
        };
        let text = match report.feedback(marvin_tools::result::TEXT_LIMIT) {
            feedback if feedback.is_empty() => summary.clone(),
            feedback => format!("{summary}\n{feedback}"),
        };
        Ok(Output::new(summary.clone(), text, VerificationReport::new(&report, summary)))
    }
}
