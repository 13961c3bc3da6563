//! Memory tools for other programs: query memories, and propose new ones.
//!
//! A proposal waits for a person. It is never attributed to the person, whom this process does not hear. Texts from memory are
//! not proposed again, and the ledger records which memories were given out.

use crate::project_context::ProjectContext;
use async_trait::async_trait;
use marvin_base::ids;
use marvin_gate::Touches;
use marvin_memory::candidate::{Candidate, Source, Type};
use marvin_memory::decision::InjectedMemory;
use marvin_memory::index::Kind;
use marvin_memory::memory::{CandidateOrigin, Memory, ProposalOutcome, Recall, RecalledMemory};
use marvin_memory::places::Places;
use marvin_memory::proposal::{Origin, TurnSources};
use marvin_tools::{DynTool, Output, Tool, ToolContext, ToolError, run_blocking};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Results of a query, by default and at most.
const DEFAULT_QUERY_RESULTS: usize = 8;
const MAX_QUERY_RESULTS: usize = 50;
/// Texts given out that are remembered here.
const MAX_INJECTED_TEXTS: usize = 500;

/// Memory of these tools.
#[derive(Debug)]
struct MemoryHandle {
    project: Arc<ProjectContext>,
    /// Name of this process in the ledger.
    session: String,
    injected: Mutex<(u64, VecDeque<String>)>,
}

#[must_use]
pub fn tools(project: &Arc<ProjectContext>) -> Vec<Arc<dyn DynTool>> {
    let session = format!("tools_{}", ids::short(12));
    let asked = Arc::new(MemoryHandle { project: project.clone(), session, injected: Mutex::default() });
    vec![Arc::new(MemoryQuery(asked.clone())), Arc::new(MemoryPropose(asked))]
}

impl MemoryHandle {
    fn memory(&self) -> Memory {
        let places = Places::from_settings(&self.project.layout, &self.project.settings);
        Memory::open(places, self.project.redactor.clone())
    }

    fn injected(&self) -> std::sync::MutexGuard<'_, (u64, VecDeque<String>)> {
        self.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn query(&self, input: &QueryInput, kinds: &[Kind]) -> Result<(u64, Vec<RecalledMemory>), ToolError> {
        let mut memory = self.memory();
        let limit = input.limit.unwrap_or(DEFAULT_QUERY_RESULTS).clamp(1, MAX_QUERY_RESULTS);
        let recall = Recall { text: &input.text, kinds, tags: &input.tags, limit, ..Recall::default() };
        let found = memory.recall(&recall).map_err(failed)?;
        let number = {
            let mut injected = self.injected();
            injected.0 += 1;
            injected.1.extend(found.iter().map(|one| one.text.clone()));
            let over = injected.1.len().saturating_sub(MAX_INJECTED_TEXTS);
            injected.1.drain(..over);
            injected.0
        };
        let injected = found
            .iter()
            .map(|one| InjectedMemory { kind: one.kind.word().into(), id: one.id.clone() })
            .collect();
        memory.inject(&self.session, number, injected).map_err(failed)?;
        Ok((number, found))
    }

    fn propose(&self, candidate: Candidate) -> Result<Option<ProposalOutcome>, ToolError> {
        let injected: Vec<String> = self.injected().1.iter().cloned().collect();
        let from = CandidateOrigin {
            session_id: Some(&self.session),
            turn_number: None,
            sources: TurnSources { person: "", tools: &[], injected: &injected },
        };
        let mut outcomes = self.memory().propose(vec![candidate], Origin::Think, &from).map_err(failed)?;
        Ok(outcomes.pop())
    }
}

fn failed(error: impl std::fmt::Display) -> ToolError {
    ToolError::Failed(error.to_string())
}

/// Asks the memory.
#[derive(Debug, Clone)]
pub struct MemoryQuery(Arc<MemoryHandle>);

/// A question.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryInput {
    /// What is asked, in words.
    text: String,
    /// Only these kinds: ltm, stm, lesson, pack_lesson, artifact; all unless said.
    #[serde(default)]
    kinds: Vec<String>,
    /// Tags that make a find better.
    #[serde(default)]
    tags: Vec<String>,
    /// At most so many; 8 unless said.
    #[serde(default)]
    limit: Option<usize>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Under which name the ledger knows that these were told.
    told_as: String,
    /// Best first.
    found: Vec<FoundFact>,
}

/// One find.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundFact {
    /// What it is.
    kind: &'static str,
    /// Its id.
    id: String,
    /// What it says.
    text: String,
    /// Where it comes from.
    source: String,
    /// How old it is.
    age_days: Option<i64>,
    /// It was not verified.
    unverified: bool,
}

#[async_trait]
impl Tool for MemoryQuery {
    type Input = QueryInput;
    type Data = Answer;
    const NAME: &'static str = "memory_query";
    const DESCRIPTION: &'static str = "Ask what is remembered for this project: what its person agreed to, lessons of earlier failures, \
         traces of what went on. Memories are unverified: files and the person's words are right where they differ.";
    const EXAMPLE: &'static str = r#"{"text": "how are releases tagged?", "limit": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("query", "text"), ("k", "limit")];
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: QueryInput, _context: &ToolContext) -> Result<Output<Answer>, ToolError> {
        let mut kinds = Vec::new();
        for word in &input.kinds {
            let kind = Kind::find(word).ok_or_else(|| {
                let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
                ToolError::Usage(format!("Unknown kind `{word}`; one of {}.", known.join(", ")))
            })?;
            kinds.push(kind);
        }
        let asked = self.0.clone();
        let (number, found) = run_blocking(move || asked.query(&input, &kinds)).await?;
        let mut text = String::new();
        for one in &found {
            let age = one.age_days.map_or(String::new(), |days| format!(", {days} days old"));
            text.push_str(&format!("- ({}, {}{age}) {}\n", one.kind.word(), one.source, one.text));
        }
        let summary = match found.len() {
            0 => "nothing of that is remembered".to_string(),
            count => format!("{count} found (unverified)"),
        };
        let text = if found.is_empty() { summary.clone() } else { format!("{summary}\n{}", text.trim_end()) };
        let found = found.into_iter().map(|one| FoundFact {
            kind: one.kind.word(),
            id: one.id,
            text: one.text,
            source: one.source,
            age_days: one.age_days,
            unverified: one.unverified,
        });
        let told_as = format!("{}:{number}", self.0.session);
        Ok(Output::new(summary, text, Answer { told_as, found: found.collect() }))
    }
}

#[derive(Debug, Clone)]
pub struct MemoryPropose(Arc<MemoryHandle>);

/// What a memory is, for the schema.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TypeChoice {
    /// What a person likes or wants.
    Preference,
    /// What is so.
    Fact,
    /// How something is done; told, never executed.
    Procedure,
    /// What was decided for the project.
    ProjectDecision,
}

/// A proposal.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeInput {
    /// What is to be remembered: one statement that stands by itself.
    text: String,
    /// What it is.
    #[serde(rename = "type")]
    kind: TypeChoice,
    /// Why it is worth remembering, in a line.
    why_store: String,
    /// Words to find it by.
    #[serde(default)]
    tags: Vec<String>,
    /// Days until it is no longer true.
    #[serde(default)]
    ttl_days: Option<u32>,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposedFact {
    /// The name of the candidate.
    candidate: String,
    /// Whether it waits for a person.
    waits: bool,
    /// Why not, where it does not.
    reason: Option<String>,
}

#[async_trait]
impl Tool for MemoryPropose {
    type Input = ProposeInput;
    type Data = ProposedFact;
    const NAME: &'static str = "memory_propose";
    const DESCRIPTION: &'static str = "Propose something to be remembered for this project. It is not remembered before a person agrees \
         (`marvin memory pending`), and it is shown to them as your conclusion, not as their words.";
    const EXAMPLE: &'static str = r#"{"text": "Releases are tagged vMAJOR.MINOR.PATCH on main.", "type": "project_decision", "why_store": "asked for in every release"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("why", "why_store"), ("kind", "type")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: ProposeInput,
        context: &ToolContext,
    ) -> Result<Output<ProposedFact>, ToolError> {
        let kind = match input.kind {
            TypeChoice::Preference => Type::Preference,
            TypeChoice::Fact => Type::Fact,
            TypeChoice::Procedure => Type::Procedure,
            TypeChoice::ProjectDecision => Type::ProjectDecision,
        };
        let mut candidate = Candidate::new(input.text, kind, Source::AssistantInferred, input.why_store);
        (candidate.tags, candidate.ttl_days) = (input.tags, input.ttl_days);
        let candidate =
            candidate.checked(&context.redactor).map_err(|error| ToolError::Usage(error.to_string()))?;
        let name = candidate.fingerprint();
        let asked = self.0.clone();
        let outcome = run_blocking(move || asked.propose(candidate)).await?;
        let reason = match outcome {
            Some(ProposalOutcome::Pending(_)) => None,
            Some(ProposalOutcome::Skipped(why)) => Some(why.to_string()),
            None => Some("it was not written down".to_string()),
        };
        let text = match &reason {
            None => "It waits for a person: `marvin memory pending` shows it.".to_string(),
            Some(why) => format!("It was not proposed: {why}."),
        };
        Ok(Output::line(text, ProposedFact { candidate: name, waits: reason.is_none(), reason }))
    }
}
