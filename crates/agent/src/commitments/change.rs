//! Adding and dropping commitments, and rehashing their oracles.

use super::assertion::{self, Assertion};
use super::commitment::{Commitment, Kind, MAX_TIMEOUT_SECS, Oracle, Source, Status, TIMEOUT};
use super::document::{self, Document};
use super::error::{ChangeError, InvalidCommitment, StoreError};
use super::oracle::VerifiedTree;
use super::seal::{Entry, EntryKind};
use super::store::{DocumentCommitment, PROJECT, Store};
use super::{check, oracle, seal};
use crate::project_context::ProjectContext;
use marvin_base::{clock, ids};
use marvin_gate::{Decision, Intent, Verdict, judge};
use marvin_tools::command::TestSeal;
use serde_json::Map;
use tokio_util::sync::CancellationToken;

/// A commitment that is to be added.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The document; else the project's own.
    pub document: Option<String>,
    pub kind: Kind,
    pub assertion: String,
    pub description: String,
    pub timeout_s: Option<u64>,
    /// Files that must stay as they are.
    pub oracles: Vec<String>,
    /// Files that steer the tests and that the agent may change.
    pub may_change: Vec<String>,
    pub source: Source,
}

impl Draft {
    /// Drafts of the commitments that a task is given, each `KIND:ASSERTION`, all with the same oracles.
    pub fn all(texts: &[String], oracles: &[String]) -> Result<Vec<Draft>, InvalidCommitment> {
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

#[derive(Debug, Clone)]
pub struct AddedCommitment {
    /// The document that contains it.
    pub document: String,
    pub commitment: Commitment,
    /// Whether it stood there already.
    pub known: bool,
    /// What the gate says of its command, where that is not yes.
    pub doubt: Option<Verdict>,
}

fn store(project: &ProjectContext) -> Result<Store, ChangeError> {
    Store::from_layout(&project.layout).ok_or_else(|| {
        ChangeError::Usage(
            "no project was found here\n  hint: cd to its directory, or name it with --working-dir".into(),
        )
    })
}

/// A commitment that may be added.
#[derive(Debug, Clone)]
pub struct VettedCommitment {
    /// The commitment as it would be written.
    pub commitment: Commitment,
    /// What the gate says of its command, where that is not yes.
    pub doubt: Option<Verdict>,
}

/// Vets a commitment; nothing is written.
pub fn examine(project: &ProjectContext, draft: &Draft) -> Result<VettedCommitment, ChangeError> {
    let timeout_s = draft.timeout_s.unwrap_or(TIMEOUT);
    if !(1..=MAX_TIMEOUT_SECS).contains(&timeout_s) {
        let hint = format!("between 1 and {MAX_TIMEOUT_SECS}");
        return Err(InvalidCommitment::new(format!("its timeout is {timeout_s} s"), hint).into());
    }
    let assertion = draft.assertion.trim().to_string();
    let understood = Assertion::parse(draft.kind, &assertion)?;
    let whole = format!("{assertion} {}", draft.description);
    if project.redactor.finds(&whole) {
        return Err(InvalidCommitment::new(
            "it holds what looks like a secret, and it is written down as it is",
            "let a script of the project read the secret where it is needed",
        )
        .into());
    }
    let doubt = doubt(project, &understood)?;
    let oracles = oracles(project, &draft.oracles, check::verified_tree(&understood, timeout_s))?;
    let seal = test_seal(project, &understood, timeout_s)?;
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

/// Seal of what steers the tests, for assertions that run some.
fn test_seal(
    project: &ProjectContext,
    assertion: &Assertion,
    timeout_s: u64,
) -> Result<Option<TestSeal>, InvalidCommitment> {
    let Some(input) = check::tests_input(assertion, timeout_s) else { return Ok(None) };
    let context = project.tool_context(CancellationToken::new(), None);
    let seal = TestSeal::take(&input, true, &context);
    seal.map(Some)
        .map_err(|why| InvalidCommitment::new(format!("what steers its tests cannot be read: {why}"), ""))
}

/// Writes a new document together with its commitments: completely, or not at all.
pub fn create(project: &ProjectContext, document: &Document) -> Result<(), ChangeError> {
    let store = store(project)?;
    store.create(document)?;
    // A commitment that the ledger does not know is still verified.
    for commitment in &document.commitments {
        seal::append(&store, &project.redactor, &Entry::about(EntryKind::Added, &document.id, commitment))?;
    }
    Ok(())
}

/// Closes a document: its work is proved, or its parent gave it up. Its commitments stay on record and no longer apply to the
/// project.
pub fn close(project: &ProjectContext, document: &str) -> Result<(), ChangeError> {
    let store = store(project)?;
    seal::append(&store, &project.redactor, &Entry::new(EntryKind::Closed, document, ""))?;
    Ok(())
}

pub fn add(project: &ProjectContext, draft: Draft) -> Result<AddedCommitment, ChangeError> {
    let store = store(project)?;
    let VettedCommitment { mut commitment, doubt } = examine(project, &draft)?;
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
            let reason = format!("there are {} commitments in `{id}` already", document::MAX_COMMITMENTS);
            return Err(InvalidCommitment::new(reason, ""));
        }
        document.commitments.push(commitment.clone());
        document.set("updatedAt", &now);
        Ok((commitment, false))
    })?;
    let (commitment, known) = added?;
    if !known {
        seal::append(&store, &project.redactor, &Entry::about(EntryKind::Added, &id, &commitment))?;
    }
    Ok(AddedCommitment { document: id, commitment, known, doubt })
}

/// Verdict of the gate on the command, unless it allows it; a denial is an error.
fn doubt(project: &ProjectContext, assertion: &Assertion) -> Result<Option<Verdict>, ChangeError> {
    let line = match assertion {
        Assertion::Shell { line } => line,
        Assertion::TestsPass { line: Some(line), .. } => line,
        _ => return Ok(None),
    };
    let mut context = project.tool_context(CancellationToken::new(), None);
    context.attended = true;
    context.access = marvin_gate::Access::Full;
    let verdict = judge(&Intent::Command { line: line.clone() }, &context.gate());
    match verdict.decision {
        Decision::Allow => Ok(None),
        Decision::Ask => {
            let how_to_fix = check::permission_hint(line, &context);
            Ok(Some(Verdict { how_to_fix, ..verdict }))
        }
        Decision::Deny => Err(ChangeError::Refused(format!(
            "this commitment is refused: the gate would not let it run: {} [{}]\n  hint: {}",
            verdict.reason, verdict.rule, verdict.how_to_fix
        ))),
    }
}

fn oracles(
    project: &ProjectContext,
    paths: &[String],
    tree: VerifiedTree,
) -> Result<Vec<Oracle>, InvalidCommitment> {
    let workspace = project.workspace.as_deref();
    let workspace = workspace.ok_or_else(|| InvalidCommitment::new("no working directory is set", ""))?;
    let mut found: Vec<Oracle> = Vec::new();
    for path in paths {
        let path = path.trim_start_matches("./").trim_end_matches('/').to_string();
        let sha256 = oracle::hash(workspace, &path, tree).map_err(|why| {
            let hint = format!("give a path inside of {}, relative to it", workspace.root().display());
            InvalidCommitment::new(format!("its oracle `{path}` cannot be read: {why}"), hint)
        })?;
        if !found.iter().any(|one| one.path == path) {
            found.push(Oracle { path, sha256 });
        }
    }
    Ok(found)
}

/// Every commitment with its document, and why other documents cannot be read.
pub fn all(project: &ProjectContext) -> Result<(Vec<DocumentCommitment>, Vec<StoreError>), ChangeError> {
    Ok(store(project)?.commitments())
}

/// The commitment of this id, with its document.
pub fn find(
    project: &ProjectContext,
    document: Option<&str>,
    id: &str,
) -> Result<DocumentCommitment, ChangeError> {
    let (pairs, _) = all(project)?;
    let mut found = pairs
        .into_iter()
        .filter(|(of, commitment)| commitment.id == id && document.is_none_or(|document| document == of));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(ChangeError::Usage(format!(
            "several documents have a commitment `{id}`\n  hint: name the document with --agent"
        ))),
        (None, _) => Err(ChangeError::Usage(format!(
            "unknown commitment `{id}`\n  hint: `marvin commitments list` shows what there is"
        ))),
    }
}

/// Drops a commitment, also one whose document is gone.
pub fn drop_one(project: &ProjectContext, document: Option<&str>, id: &str) -> Result<String, ChangeError> {
    let store = store(project)?;
    let of = match find(project, document, id) {
        Ok((of, commitment)) => {
            // The ledger comes first: a commitment that only the document has would still be verified.
            seal::append(&store, &project.redactor, &Entry::about(EntryKind::Dropped, &of, &commitment))?;
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
    seal::append(&store, &project.redactor, &Entry::new(EntryKind::Dropped, &of, id))?;
    Ok(of)
}

/// Hashes the oracles of a commitment again, as they are now.
pub fn rehash(project: &ProjectContext, document: Option<&str>, id: &str) -> Result<Commitment, ChangeError> {
    let store = store(project)?;
    let (of, commitment) = find(project, document, id)?;
    let assertion = Assertion::parse(commitment.kind, &commitment.assertion);
    let tree = assertion
        .as_ref()
        .map_or(VerifiedTree::Workspace, |assertion| check::verified_tree(assertion, commitment.timeout_s));
    let sealed = assertion.and_then(|assertion| test_seal(project, &assertion, commitment.timeout_s));
    let sealed = sealed.map_err(|error| ChangeError::Usage(error.to_string()))?.map(TestSeal::lasting);
    if commitment.oracles.is_empty() && sealed.is_none() {
        return Err(ChangeError::Usage(format!(
            "the commitment `{id}` has no oracles\n  hint: `marvin commitments add … --oracle PATH` protects a file"
        )));
    }
    let paths: Vec<String> = commitment.oracles.iter().map(|oracle| oracle.path.clone()).collect();
    let fresh = oracles(project, &paths, tree).map_err(|error| ChangeError::Usage(error.to_string()))?;
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
    seal::append(&store, &project.redactor, &Entry::about(EntryKind::Rehashed, &of, &commitment))?;
    Ok(commitment)
}
