//! Promises are made, taken back, and their oracles looked at again.

use super::assertion::{self, Assertion};
use super::commitment::{Commitment, Kind, MAX_TIMEOUT_SECS, Oracle, Source, Status, TIMEOUT};
use super::document::{self, Document};
use super::store::{DocumentCommitment, PROJECT, Store, StoreError};
use super::{check, oracle, seal};
use crate::project_context::ProjectContext;
use marvin_base::{clock, ids};
use marvin_gate::{Decision, Intent, Verdict, judge};
use marvin_tools::command::TestSeal;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

/// A commitment that is to be made.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The document; else the project's own.
    pub document: Option<String>,
    /// How it is verified.
    pub kind: Kind,
    /// What is verified.
    pub assertion: String,
    /// What it means.
    pub description: String,
    /// Seconds that it has.
    pub timeout_s: Option<u64>,
    /// Files that must stay as they are.
    pub oracles: Vec<String>,
    /// Files that steer the tests and that the agent may change all the same.
    pub may_change: Vec<String>,
    /// Who promises it.
    pub source: Source,
}

impl Draft {
    /// What is asked of whoever is given work: each `KIND:ASSERTION`, judged by the same oracles.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn all(texts: &[String], oracles: &[String]) -> Result<Vec<Draft>, String> {
        let draft = |text: &String| {
            let (kind, line) = assertion::split(text)?;
            Ok(Draft {
                document: None,
                kind,
                assertion: line.to_string(),
                description: String::new(),
                timeout_s: None,
                oracles: oracles.to_vec(),
                may_change: Vec::new(),
                source: Source::Parent,
            })
        };
        texts.iter().map(draft).collect()
    }

    /// The same, where the agent may change these files although they steer the tests.
    #[must_use]
    pub fn with_may_change(self, paths: &[String]) -> Draft {
        Draft { may_change: paths.to_vec(), ..self }
    }
}

/// A commitment that was made.
#[derive(Debug, Clone)]
pub struct AddedCommitment {
    /// The document that it stands in.
    pub document: String,
    /// The commitment.
    pub commitment: Commitment,
    /// Whether it stood there already.
    pub known: bool,
    /// What the gate says of its command, where that is not yes.
    pub doubt: Option<Verdict>,
}

/// Why something was not done, as a sentence with its mend, and whether the gate refused it.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The input was wrong.
    #[error("{0}")]
    Usage(String),
    /// The gate refused.
    #[error("{0}")]
    Refused(String),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn store(ground: &ProjectContext) -> Result<Store, ChangeError> {
    Store::from_layout(&ground.layout).ok_or_else(|| {
        ChangeError::Usage(
            "there is no project here\n  hint: cd to its directory, or name it with --working-dir".into(),
        )
    })
}

/// A promise that may be made.
#[derive(Debug, Clone)]
pub struct VettedCommitment {
    /// The commitment as it would be written.
    pub commitment: Commitment,
    /// What the gate says of its command, where that is not yes.
    pub doubt: Option<Verdict>,
}

/// Looks at a promise that is to be made; nothing is written.
///
/// # Errors
/// When it cannot fail, or is not understood.
pub fn examine(ground: &ProjectContext, draft: &Draft) -> Result<VettedCommitment, ChangeError> {
    let usage = |why: String| ChangeError::Usage(format!("this commitment is refused: {why}"));
    let timeout_s = draft.timeout_s.unwrap_or(TIMEOUT);
    if !(1..=MAX_TIMEOUT_SECS).contains(&timeout_s) {
        return Err(usage(format!("its timeout is {timeout_s} s\n  hint: between 1 and {MAX_TIMEOUT_SECS}")));
    }
    let assertion = draft.assertion.trim().to_string();
    let understood = Assertion::parse(draft.kind, &assertion).map_err(usage)?;
    let whole = format!("{assertion} {}", draft.description);
    if ground.redactor.finds(&whole) {
        let why = "it holds what looks like a secret, and it is written down as it is";
        return Err(usage(format!(
            "{why}\n  hint: let a script of the project read the secret where it is needed"
        )));
    }
    let doubt = doubt(ground, &understood)?;
    let oracles = oracles(ground, &draft.oracles).map_err(usage)?;
    let seal = test_seal(ground, &understood, timeout_s).map_err(usage)?;
    let now = clock::now_stamp();
    let commitment = Commitment {
        id: format!("c-{}", ids::short(6)),
        description: draft.description.trim().to_string(),
        kind: draft.kind,
        assertion,
        timeout_s,
        source: draft.source,
        oracles,
        may_change: draft.may_change.clone(),
        seal,
        status: Status::Pending,
        reason: None,
        evidence: None,
        duration_ms: None,
        created_at: Some(now.clone()),
        updated_at: Some(now),
        other: Map::new(),
    };
    Ok(VettedCommitment { commitment, doubt })
}

/// The state of what steers the tests, for `tests_pass`.
fn test_seal(
    ground: &ProjectContext,
    assertion: &Assertion,
    timeout_s: u64,
) -> Result<Option<TestSeal>, String> {
    let Some(input) = check::tests_input(assertion, timeout_s) else { return Ok(None) };
    let context = ground.tool_context(CancellationToken::new(), None);
    let seal = TestSeal::take(&input, true, &context);
    seal.map(Some).map_err(|why| format!("what steers its tests cannot be read: {why}"))
}

/// Writes a new document together with everything that it promises: it is there whole, or not at all.
///
/// # Errors
/// When there is one already, or it cannot be written.
pub fn create(ground: &ProjectContext, document: &Document) -> Result<(), ChangeError> {
    let store = store(ground)?;
    store.create(document)?;
    // Found in the document without a line here, a commitment is still verified.
    for commitment in &document.commitments {
        seal::append(&store, &ground.redactor, seal::build_entry("added", &document.id, commitment))?;
    }
    Ok(())
}

/// Closes a document: its work is proved, or was given up by whoever asked for it. What it promised stays written down,
/// and is no longer part of what must hold in the project.
///
/// # Errors
/// When it cannot be written.
pub fn close(ground: &ProjectContext, document: &str) -> Result<(), ChangeError> {
    let store = store(ground)?;
    seal::append(&store, &ground.redactor, json!({"type": "closed", "document": document}))?;
    Ok(())
}

/// Makes a promise.
///
/// # Errors
/// When it cannot fail, is not understood, or cannot be written.
pub fn add(ground: &ProjectContext, draft: Draft) -> Result<AddedCommitment, ChangeError> {
    let store = store(ground)?;
    let usage = |why: String| ChangeError::Usage(format!("this commitment is refused: {why}"));
    let VettedCommitment { mut commitment, doubt } = examine(ground, &draft)?;
    // It is verified on other machines and after other installations.
    commitment.seal = commitment.seal.map(TestSeal::lasting);
    let id = draft.document.unwrap_or_else(|| PROJECT.to_string());
    if !document::is_name(&id) {
        return Err(StoreError::Name(id).into());
    }
    let now = clock::now_stamp();
    let title = if id == PROJECT { "Project" } else { &id };
    let purpose =
        if id == PROJECT { "What must hold in this project before work in it is done." } else { "" };
    match store.create(&Document::new(&id, title, purpose, &now)) {
        Ok(()) | Err(StoreError::Exists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let added = store.change(&id, |document| {
        if let Some(known) = document.commitments.iter().find(|one| one.is_same_promise(&commitment)) {
            return Ok((known.clone(), true));
        }
        if document.commitments.len() >= document::MAX_COMMITMENTS {
            return Err(format!("there are {} commitments in `{id}` already", document::MAX_COMMITMENTS));
        }
        document.commitments.push(commitment.clone());
        document.set("updatedAt", &now);
        Ok((commitment, false))
    })?;
    let (commitment, known) = added.map_err(usage)?;
    if !known {
        seal::append(&store, &ground.redactor, seal::build_entry("added", &id, &commitment))?;
    }
    Ok(AddedCommitment { document: id, commitment, known, doubt })
}

/// What the gate says of the command; a denial is an error.
fn doubt(ground: &ProjectContext, assertion: &Assertion) -> Result<Option<Verdict>, ChangeError> {
    let line = match assertion {
        Assertion::Shell { line } => line,
        Assertion::TestsPass { line: Some(line), .. } => line,
        _ => return Ok(None),
    };
    let mut context = ground.tool_context(CancellationToken::new(), None);
    context.attended = true;
    context.access = marvin_gate::Access::Full;
    let verdict = judge(&Intent::Command { line: line.clone() }, &context.gate());
    match verdict.decision {
        Decision::Allow => Ok(None),
        Decision::Ask => Ok(Some(verdict)),
        Decision::Deny => Err(ChangeError::Refused(format!(
            "this commitment is refused: the gate would not let it run: {} [{}]\n  hint: {}",
            verdict.reason, verdict.rule, verdict.how_to_fix
        ))),
    }
}

fn oracles(ground: &ProjectContext, paths: &[String]) -> Result<Vec<Oracle>, String> {
    let workspace = ground.workspace.as_deref().ok_or("there is no working directory")?;
    let mut found: Vec<Oracle> = Vec::new();
    for path in paths {
        let path = path.trim_start_matches("./").trim_end_matches('/').to_string();
        let sha256 = oracle::hash(workspace, &path).map_err(|why| {
            let root = workspace.root().display();
            format!("its oracle `{path}` cannot be read: {why}\n  hint: give a path inside of {root}, relative to it")
        })?;
        if !found.iter().any(|one| one.path == path) {
            found.push(Oracle { path, sha256 });
        }
    }
    Ok(found)
}

/// Every commitment with its document, and why other documents cannot be read.
///
/// # Errors
/// When there is no project.
pub fn all(ground: &ProjectContext) -> Result<(Vec<DocumentCommitment>, Vec<StoreError>), ChangeError> {
    Ok(store(ground)?.commitments())
}

/// The commitment of this id, with its document.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(
    ground: &ProjectContext,
    document: Option<&str>,
    id: &str,
) -> Result<DocumentCommitment, ChangeError> {
    let (pairs, _) = all(ground)?;
    let mut found = pairs
        .into_iter()
        .filter(|(of, commitment)| commitment.id == id && document.is_none_or(|document| document == of));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(ChangeError::Usage(format!(
            "several documents have a commitment `{id}`\n  hint: name the document with --agent"
        ))),
        (None, _) => Err(ChangeError::Usage(format!(
            "there is no commitment `{id}`\n  hint: `marvin commitments list` shows what there is"
        ))),
    }
}

/// Takes a promise back. One whose document is gone can be taken back too.
///
/// # Errors
/// When there is none, or it cannot be written.
pub fn drop_one(ground: &ProjectContext, document: Option<&str>, id: &str) -> Result<String, ChangeError> {
    let store = store(ground)?;
    let of = match find(ground, document, id) {
        Ok((of, commitment)) => {
            // Written down first: found in the document without a line here, it would still be verified.
            seal::append(&store, &ground.redactor, seal::build_entry("dropped", &of, &commitment))?;
            store.change(&of, |document| {
                document.commitments.retain(|commitment| commitment.id != id);
                document.set("updatedAt", &clock::now_stamp());
            })?;
            return Ok(of);
        }
        Err(error) => {
            let seals = seal::read(&store)?;
            let mut keys = seals.promises.into_keys();
            let found = keys.find(|(of, one)| one == id && document.is_none_or(|document| document == of));
            found.map(|(of, _)| of).ok_or(error)?
        }
    };
    seal::append(&store, &ground.redactor, json!({"type": "dropped", "document": of, "id": id}))?;
    Ok(of)
}

/// Takes the oracles of a commitment as they are now.
///
/// # Errors
/// When there is none, one cannot be read, or it cannot be written.
pub fn rehash(ground: &ProjectContext, document: Option<&str>, id: &str) -> Result<Commitment, ChangeError> {
    let store = store(ground)?;
    let (of, commitment) = find(ground, document, id)?;
    let sealed = Assertion::parse(commitment.kind, &commitment.assertion);
    let sealed = sealed.and_then(|assertion| test_seal(ground, &assertion, commitment.timeout_s));
    let sealed = sealed.map_err(ChangeError::Usage)?.map(TestSeal::lasting);
    if commitment.oracles.is_empty() && sealed.is_none() {
        return Err(ChangeError::Usage(format!(
            "the commitment `{id}` has no oracles\n  hint: `marvin commitments add … --oracle PATH` protects a file"
        )));
    }
    let paths: Vec<String> = commitment.oracles.iter().map(|oracle| oracle.path.clone()).collect();
    let fresh = oracles(ground, &paths).map_err(ChangeError::Usage)?;
    let changed = store.change(&of, |document| {
        document.set("updatedAt", &clock::now_stamp());
        let commitment = document.commitment(id)?;
        commitment.oracles = fresh;
        commitment.seal = sealed;
        commitment.status = Status::Pending;
        commitment.reason = None;
        commitment.evidence = None;
        commitment.updated_at = Some(clock::now_stamp());
        Some(commitment.clone())
    })?;
    let commitment = changed.ok_or_else(|| ChangeError::Usage(format!("the commitment `{id}` is gone")))?;
    seal::append(&store, &ground.redactor, seal::build_entry("rehashed", &of, &commitment))?;
    Ok(commitment)
}
