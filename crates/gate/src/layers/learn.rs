//! Rules that are learned from approvals.
//!
//! An approval of a line says that this line may run, no more. So what is learned is the exact command with its launchers,
//! redirections and kind of directory. Some things are never learned: code in an argument, words that are not certain, what
//! deletes, sends or changes rights, what runs elsewhere. Nothing is learned from a model, and nothing without a person who
//! says so: an approval becomes a suggestion, and `marvin gate suggestions accept` makes a rule of it.

use super::form::{self, Form};
use super::rule::{Kind, List, MAX_LEARNED_PATTERN_CHARS, Rule};
use super::{Layer, Place, RuleFileError, Ruling, Trust, file};
use crate::shell;
use crate::verdict::Decision;
use marvin_base::atomic;
use marvin_base::files::Links;
use marvin_base::layout::Layout;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::{clock, ids, truncate};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The file of suggestions.
pub const SUGGESTIONS: &str = "suggestions.jsonl";
/// A shorter command says too little.
const MIN_COMMAND_CHARS: usize = 5;
/// Learned rules that are kept; more than this is a list that a person should write.
const MAX_LEARNED_RULES: usize = 1_000;
/// The time that an answer to a question may take.
pub const PENDING: Duration = Duration::from_secs(300);
/// Questions that are waited for at the same time.
const MAX_PENDING_QUESTIONS: usize = 256;

/// Programs that are never learned: what they do depends on the moment, or cannot be taken back.
const NEVER: [&str; 30] = [
    "rm", "rmdir", "unlink", "shred", "curl", "wget", "chmod", "chown", "chgrp", "dd", "kill", "pkill",
    "killall", "sudo", "doas", "su", "mkfs", "mount", "umount", "eval", "source", ".", "exec", "trap",
    "crontab", "ssh", "scp", "rsync", "nc", "truncate",
];

/// The reason why nothing is learned of a line, or what is learned cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The line needs no rule, no rule lifts its verdict, or it is decided each time.
    #[error("{0}")]
    Unlearnable(String),
    /// It holds a secret.
    #[error("it holds a secret, which must not be written down")]
    Secret,
    /// The list is full.
    #[error(
        "there are {} learned rules already; write a rule into allowlist.json instead",
        MAX_LEARNED_RULES
    )]
    Full,
    /// The file of suggestions is a link.
    #[error("{} is a link, and the record must not lead elsewhere", .0.display())]
    Link(PathBuf),
    /// A ledger cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The rule file cannot be used or written.
    #[error(transparent)]
    File(#[from] RuleFileError),
}

impl LearnError {
    fn unlearnable(why: impl Into<String>) -> Self {
        LearnError::Unlearnable(why.into())
    }
}

/// A rule that could be learned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Candidate {
    /// Always exact.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The command.
    pub pattern: String,
    /// In which kind of directory.
    #[serde(rename = "folder")]
    pub directory: String,
    /// Why.
    pub reason: String,
}

/// The rules that a question could become: one for every command that was asked about.
pub(super) fn candidates(
    line: &str,
    place: Place<'_>,
    ruling: &Ruling,
) -> Result<Vec<Candidate>, LearnError> {
    let unlearnable = |why: &str| Err(LearnError::unlearnable(why));
    match ruling.verdict.decision {
        Decision::Allow => return unlearnable("it is allowed already"),
        Decision::Deny => {
            return unlearnable(&format!("it is denied ({}), and no rule lifts that", ruling.verdict.rule));
        }
        Decision::Ask if ruling.layer == Layer::Error => return unlearnable(&ruling.verdict.reason),
        Decision::Ask => {}
    }
    let segments = &ruling.judgement.segments;
    let forms = form::read(line, place.directory, place.grounds);
    let whole = ruling.judgement.doubts.is_empty() && forms.certain && forms.commands.len() == segments.len();
    let asked: Vec<&Form> = forms
        .commands
        .iter()
        .zip(segments)
        .filter(|(_, segment)| segment.verdict.decision != Decision::Allow)
        .map(|(form, _)| form)
        .collect();
    if !whole || asked.is_empty() {
        return unlearnable("the line cannot be read with certainty");
    }
    asked.into_iter().map(candidate).collect()
}

fn candidate(form: &Form) -> Result<Candidate, LearnError> {
    let Some(pattern) = form.text.clone() else { return Err(LearnError::unlearnable(form.why)) };
    let program = form.words.first().map_or("", |word| shell::base_name(word));
    let length = pattern.chars().count();
    let why = if form.elsewhere {
        Some("it runs on another machine or in a container".to_string())
    } else if let Some(through) = form.through.first() {
        Some(format!("it is started by `{through}`"))
    } else if form.environment {
        Some("variables are set for it".to_string())
    } else if form.globs {
        Some("it depends on which files there are".to_string())
    } else if form::holds_code(&form.words) {
        Some("it holds code for an interpreter".to_string())
    } else if NEVER.contains(&program) || program.starts_with("mkfs.") {
        Some(format!("`{program}` is decided each time"))
    } else if program == "git" && loses_work(&form.words) {
        Some("it can lose work, and is decided each time".to_string())
    } else if !(MIN_COMMAND_CHARS..=MAX_LEARNED_PATTERN_CHARS).contains(&length) {
        Some(format!(
            "it has {length} characters; {MIN_COMMAND_CHARS} to {MAX_LEARNED_PATTERN_CHARS} can be learned"
        ))
    } else {
        None
    };
    match why {
        Some(why) => Err(LearnError::Unlearnable(why)),
        None => {
            let reason = format!("User approved: {}", truncate::line(&pattern, 80));
            Ok(Candidate { kind: Kind::Exact, pattern, directory: form.directory.to_string(), reason })
        }
    }
}

/// Git's commands that throw away what is not in a commit, or what others have.
fn loses_work(words: &[String]) -> bool {
    let rest: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(word));
    let forces =
        rest.iter().any(|word| word.starts_with("--force") || *word == "-f" || word.starts_with('+'));
    // A flag before the command (`-C`, `-c`) may change everything.
    match rest.first() {
        Some(first) if first.starts_with('-') => true,
        Some(
            &("reset" | "clean" | "restore" | "filter-branch" | "update-ref" | "gc" | "reflog" | "config"),
        ) => true,
        Some(&"push") => forces || has(&["--delete", "-d", "--mirror", "--prune"]),
        Some(&("checkout" | "switch")) => forces || has(&[".", "--", "--discard-changes"]),
        Some(&"branch") => has(&["-D", "-d", "--delete", "-M"]) || forces,
        Some(&"stash") => has(&["drop", "clear"]),
        Some(&"tag") => has(&["-d", "--delete"]) || forces,
        Some(&"worktree") => has(&["remove"]),
        _ => false,
    }
}

/// Questions that were put to a person and may still be answered, by session and line.
#[derive(Debug, Default)]
pub struct Pending {
    asked: BTreeMap<(String, String), Instant>,
}

impl Pending {
    /// Notes that a session asked about a line.
    pub fn ask(&mut self, session: &str, line: &str, now: Instant) {
        self.asked.retain(|_, since| now.saturating_duration_since(*since) < PENDING);
        if self.asked.len() >= MAX_PENDING_QUESTIONS
            && let Some(oldest) =
                self.asked.iter().min_by_key(|(_, since)| **since).map(|(key, _)| key.clone())
        {
            self.asked.remove(&oldest);
        }
        self.asked.insert(key(session, line), now);
    }

    /// Whether a line that runs now was asked about by the same session a short time ago. Once.
    pub fn answered(&mut self, session: &str, line: &str, now: Instant) -> bool {
        let since = self.asked.remove(&key(session, line));
        since.is_some_and(|since| now.saturating_duration_since(since) < PENDING)
    }

    /// Forgets a session.
    pub fn end(&mut self, session: &str) {
        self.asked.retain(|(of, _), _| of != session);
    }
}

fn key(session: &str, line: &str) -> (String, String) {
    (session.to_string(), line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An approval that could become a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// Its name.
    pub id: String,
    /// When it was made.
    pub timestamp: String,
    /// The approved line, without secrets.
    pub command: String,
    /// The session of the approval.
    pub session: String,
    /// The rules that it would become.
    pub rules: Vec<Candidate>,
}

/// Writes down that a line was approved, if a rule can be made of it. Returns the suggestion's id.
///
/// # Errors
/// When nothing can be learned of it, or the file cannot be written.
pub fn suggest(
    directory: &Path,
    line: &str,
    session: &str,
    rules: &[Candidate],
    redactor: &Arc<Redactor>,
) -> Result<String, LearnError> {
    refuse_secrets(rules, redactor)?;
    let known = suggestions(directory)?;
    if let Some(same) = known.iter().find(|known| known.rules == rules) {
        return Ok(same.id.clone());
    }
    let id = format!("s-{}", ids::base36(6));
    let entry = SuggestionEntry::Suggested {
        id: id.clone(),
        timestamp: clock::now_stamp(),
        command: truncate::head_whole(&redactor.text(line), 1_000),
        session: session.to_string(),
        suggestions: SuggestedRules { allow: rules.to_vec() },
    };
    append(directory, &entry, redactor)?;
    Ok(id)
}

/// A line of the file of suggestions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum SuggestionEntry {
    /// A line was approved.
    Suggested {
        #[serde(default)]
        id: String,
        #[serde(default)]
        timestamp: String,
        #[serde(default)]
        command: String,
        #[serde(rename = "sessionId", default)]
        session: String,
        suggestions: SuggestedRules,
    },
    /// A person decided on a suggestion.
    Decided {
        #[serde(default)]
        timestamp: String,
        decided: String,
        #[serde(default)]
        accepted: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct SuggestedRules {
    allow: Vec<Candidate>,
}

fn refuse_secrets(rules: &[Candidate], redactor: &Redactor) -> Result<(), LearnError> {
    let is_secret =
        |rule: &Candidate| redactor.finds(&rule.pattern) || redactor.text(&rule.pattern) != rule.pattern;
    if rules.iter().any(is_secret) { Err(LearnError::Secret) } else { Ok(()) }
}

fn append(directory: &Path, entry: &SuggestionEntry, redactor: &Arc<Redactor>) -> Result<(), LearnError> {
    let path = directory.join(SUGGESTIONS);
    if path.is_symlink() {
        return Err(LearnError::Link(path));
    }
    Ledger::open_shared_chained(&path, Durability::Turn, redactor.clone())?.append(entry)?;
    Ok(())
}

/// The suggestions that wait for a decision.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn suggestions(directory: &Path) -> Result<Vec<Suggestion>, ledger::LedgerError> {
    let path = directory.join(SUGGESTIONS);
    if !ledger::is_known(&path) {
        return Ok(Vec::new());
    }
    let entries = ledger::read_chained(&path)?.entries;
    let mut found = Vec::new();
    let mut settled = BTreeSet::new();
    for entry in entries.iter().filter_map(|entry| SuggestionEntry::deserialize(entry).ok()) {
        match entry {
            SuggestionEntry::Suggested { id, timestamp, command, session, suggestions } => {
                found.push(Suggestion { id, timestamp, command, session, rules: suggestions.allow });
            }
            SuggestionEntry::Decided { decided, .. } => {
                settled.insert(decided);
            }
        }
    }
    found.retain(|suggestion| !settled.contains(&suggestion.id));
    Ok(found)
}

/// Writes down what a person decided on a suggestion.
///
/// # Errors
/// When the file cannot be written.
pub fn decide(
    directory: &Path,
    id: &str,
    accepted: bool,
    redactor: &Arc<Redactor>,
) -> Result<(), LearnError> {
    let entry = SuggestionEntry::Decided { timestamp: clock::now_stamp(), decided: id.to_string(), accepted };
    append(directory, &entry, redactor)
}

/// The file of learned rules for a layout.
#[must_use]
pub fn path(layout: &Layout) -> PathBuf {
    layout.security().join(List::Learned.file())
}

/// Adds learned rules: called when a person says so. Returns those that are new.
///
/// # Errors
/// When the file is not as the person left it, is full, or cannot be written.
pub fn add(
    layout: &Layout,
    line: &str,
    session: &str,
    rules: &[Candidate],
    redactor: &Redactor,
) -> Result<Vec<Rule>, LearnError> {
    refuse_secrets(rules, redactor)?;
    let mut known = learned(layout)?;
    let mut new = Vec::new();
    for rule in rules {
        if known
            .iter()
            .any(|known| known.pattern == rule.pattern && known.directory.as_deref() == Some(&rule.directory))
        {
            continue;
        }
        let moment = clock::now().as_millisecond();
        let rule = Rule {
            id: format!("learned-{moment}-{}", ids::base36(6)),
            kind: Kind::Exact,
            pattern: rule.pattern.clone(),
            reason: rule.reason.clone(),
            matches: Vec::new(),
            not_match: Vec::new(),
            learned_at: Some(clock::now_stamp()),
            approved_command: Some(truncate::head_whole(&redactor.text(line), 1_000)),
            session_id: Some(session.to_string()),
            directory: Some(rule.directory.clone()),
        };
        known.push(rule.clone());
        new.push(rule);
    }
    if known.len() > MAX_LEARNED_RULES {
        return Err(LearnError::Full);
    }
    write(layout, &known)?;
    Ok(new)
}

/// Removes a learned rule by its id. Returns whether there was one.
///
/// # Errors
/// When the file is not as the person left it, or cannot be written.
pub fn remove(layout: &Layout, id: &str) -> Result<bool, LearnError> {
    let mut known = learned(layout)?;
    let before = known.len();
    known.retain(|rule| rule.id != id);
    let removed = known.len() != before;
    if removed {
        write(layout, &known)?;
    }
    Ok(removed)
}

/// The learned rules as the person left them.
///
/// # Errors
/// When another process changed the file, or it is broken.
pub fn learned(layout: &Layout) -> Result<Vec<Rule>, LearnError> {
    let path = path(layout);
    let loaded = file::load(&path, List::Learned, Links::Refuse);
    if let Some(problem) = loaded.problems.first() {
        return Err(RuleFileError::from(problem.clone()).into());
    }
    let own = layout.record().is_none();
    if path.exists() && !own && !Trust::read(&layout.trusted()).holds(&path, &loaded.hash) {
        return Err(RuleFileError::Foreign(path).into());
    }
    Ok(loaded.set.rules().to_vec())
}

fn write(layout: &Layout, rules: &[Rule]) -> Result<(), RuleFileError> {
    let path = path(layout);
    let mut text = String::new();
    for rule in rules {
        text.push_str(&serde_json::to_string(rule)?);
        text.push('\n');
    }
    atomic::replace_private(&path, text.as_bytes())?;
    // Until this is done the rules do not count, which is the safe side.
    Ok(Trust::note(&layout.trusted(), &path)?)
}
