//! Effects of a command line, and how bad they are.
//!
//! [`crate::shell`] says which commands a line holds; here each gets its effects (reads, writes, deletes, runs, sends …),
//! each effect a place, and each act at a place its weight. The strictest finding over all commands stands.

mod alternatives;
mod archive;
mod argument_scan;
mod arguments;
mod arrivals;
mod cloud;
mod code;
mod common_flags;
mod compress;
mod container;
mod database;
mod disk;
mod environment;
mod facts;
mod facts_row;
mod files;
mod foreign_words;
mod git;
mod keys;
mod links;
mod look;
mod machine;
mod made_names;
mod network;
mod operands;
mod options;
mod package;
mod place;
mod program;
mod reach;
mod security_tools;
mod service;
mod severity;
mod transfer;
mod trees;
mod variables;
mod verbs;
mod words;

pub(crate) use facts::is_known;
pub use facts::{FactsError, MoreFacts};
pub use look::Effect;
pub use place::{Grounds, Place};
pub use severity::{Act, find, is_catastrophe, weigh};
pub(crate) use variables::steers;

use crate::command::Shape;
use crate::shell::{self, Reading, RedirectKind, Taint, Word};
use crate::verdict::{Decision, Verdict};
use look::{JudgementContext, Look};
use serde::Serialize;

/// Whether a program reads credentials of the user by itself.
pub(crate) fn uses_credentials(base: &str) -> bool {
    words::CREDENTIAL_USERS.matches(base)
}

/// A judged command.
#[derive(Debug, Clone, Serialize)]
pub struct SegmentJudgement {
    /// Its words; what is not known stands as `…`.
    pub words: Vec<String>,
    /// Programs that start it.
    pub through: Vec<String>,
    /// What it does.
    pub effects: Vec<Effect>,
    /// The finding on it alone.
    pub verdict: Verdict,
    /// Whether that is a catastrophe, which no rule lifts.
    pub catastrophe: bool,
    /// A command that does what was most likely meant, with less harm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safer: Option<String>,
}

impl SegmentJudgement {
    /// Whether it reads a file that holds secrets.
    #[must_use]
    pub fn reads_secrets(&self) -> bool {
        self.effects.iter().any(|effect| effect.act == Act::Read && effect.place.holds_secrets())
    }

    /// Whether it only reads, inside the workspace or elsewhere.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        let is_reader = self.words.first().is_some_and(|name| words::READERS.matches(name));
        let reads = |effect: &Effect| matches!(effect.act, Act::List | Act::Read);
        is_reader && self.verdict.is_allowed() && self.effects.iter().all(reads)
    }
}

/// A judged line.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// The strictest finding.
    pub verdict: Verdict,
    /// Whether it destroys a root, a home, a device, a repository's history or the record, or sends secrets out. No rule
    /// lifts that. A refusal that is not a catastrophe is still a refusal; only a question may be answered by a rule.
    pub catastrophe: bool,
    /// Each command.
    pub segments: Vec<SegmentJudgement>,
    /// Why the line is not certain, if it is not. What only a second parser doubts stands here where it decides something.
    pub doubts: Vec<String>,
}

/// The stricter of two findings; a catastrophe before a mere refusal.
fn stricter(one: Verdict, other: Verdict) -> Verdict {
    if other.decision > one.decision || is_catastrophe(&other) && !is_catastrophe(&one) { other } else { one }
}

/// Judges a line for `bash -c` in a directory.
#[must_use]
pub fn judge(line: &str, directory: &str, grounds: Grounds<'_>) -> Judgement {
    judge_at(line, directory, grounds, JudgementContext::default(), 0)
}

/// Judges a line, with programs that a project knows beside those of the table.
#[must_use]
pub fn judge_with(line: &str, directory: &str, grounds: Grounds<'_>, more: &MoreFacts) -> Judgement {
    judge_at(line, directory, grounds, JudgementContext { more: Some(more), disk: false }, 0)
}

/// Judges a line, and asks the disk where its names lead.
pub(crate) fn judge_on_disk(
    line: &str,
    directory: &str,
    grounds: Grounds<'_>,
    more: Option<&MoreFacts>,
) -> Judgement {
    judge_at(line, directory, grounds, JudgementContext { more, disk: true }, 0)
}

fn judge_at(
    line: &str,
    directory: &str,
    grounds: Grounds<'_>,
    context: JudgementContext<'_>,
    depth: usize,
) -> Judgement {
    if depth == 0 {
        shell::begin();
    }
    let taints = |name: &str, words: &[Word], directories: &[Word]| {
        environment::taint(name, words, directories, grounds)
    };
    let mut reading = shell::read_once(line, directory, grounds.home, &taints);
    conclude(line, &mut reading, grounds, context, depth)
}

fn judge_nested(
    line: &str,
    directory: &str,
    grounds: Grounds<'_>,
    context: JudgementContext<'_>,
    depth: usize,
) -> Verdict {
    judge_at(line, directory, grounds, context, depth).verdict
}

fn conclude(
    line: &str,
    reading: &mut Reading,
    grounds: Grounds<'_>,
    context: JudgementContext<'_>,
    depth: usize,
) -> Judgement {
    let fetched = reading.segments.iter().any(|segment| {
        let name = segment.words.first().and_then(Word::text);
        segment.piped && name.is_some_and(|name| network::fetches(shell::base_name(&name)))
    });
    let listed = reading.segments.len() > 1
        && reading.segments.iter().any(|segment| {
            segment.piped
                && (trees::lists_credentials(segment, grounds)
                    || context.disk && trees::lists_project_secrets(segment, grounds))
        });
    let mut segments: Vec<SegmentJudgement> = Vec::with_capacity(reading.segments.len());
    for (at, segment) in reading.segments.iter().enumerate() {
        let base = segment.words.first().and_then(Word::text);
        let starts = base.is_some_and(|name| {
            let inside =
                reading.segments.get(at + 1).and_then(|next| next.through.get(segment.through.len()));
            inside.is_some_and(|through| through == shell::base_name(&name))
        });
        let look = Look {
            segment,
            grounds,
            effects: Vec::new(),
            findings: Vec::new(),
            depth,
            starts,
            is_text: false,
            fetched,
            listed,
            context,
            judge_nested,
        };
        segments.push(judge_segment(look));
    }
    let mut findings: Vec<Verdict> = segments.iter().map(|segment| segment.verdict.clone()).collect();
    if reading.recursion {
        findings.push(Verdict::deny(
            "command.recursion",
            "a function of the line starts itself again",
            "Write a loop with an end.",
        ));
    }
    // A second parser only adds a doubt. A doubt makes a line a question and has its text looked at, so it changes nothing for a
    // line that is refused or doubted already, nor for a question whose text shows nothing worse.
    let settled = !reading.doubts.is_empty()
        || match findings.iter().map(|finding| finding.decision).max() {
            Some(Decision::Deny) => true,
            Some(Decision::Ask) => crate::command::raw(line, None).is_none(),
            _ => false,
        };
    if !settled {
        reading.confirm();
    }
    for doubt in &reading.doubts {
        findings.push(Verdict::ask(
            "command.unresolved",
            format!("the line holds {doubt}, so it is not certain what it does"),
            "Write the command out, without variables and substitutions that cannot be known.",
        ));
    }
    if !reading.doubts.is_empty() {
        // What was encoded and is read now is judged by what it says.
        let is_decoded = reading.doubts.contains(&shell::Doubt::EncodedScript);
        findings.extend(crate::command::raw(line, is_decoded.then_some(Shape::HiddenCode)));
    }
    if spawns_without_end(line) {
        findings.push(Verdict::deny(
            "availability",
            "a loop without an end starts processes behind",
            "Write a loop with an end, and wait for what it starts.",
        ));
    }
    let verdict = findings.into_iter().reduce(stricter).unwrap_or_else(|| {
        if line.trim().is_empty() {
            Verdict::ask("command.empty", "the line holds no command", "Say what to run.")
        } else {
            Verdict::allow("effect", "it only sets variables or options of the shell")
        }
    });
    Judgement {
        catastrophe: is_catastrophe(&verdict),
        verdict,
        segments,
        doubts: reading.doubts.iter().map(ToString::to_string).collect(),
    }
}

/// `while true; do … & done`.
fn spawns_without_end(line: &str) -> bool {
    static LOOP: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        regex::Regex::new(
            r"(?s)\b(while\s+(true|:|1|\[\[?\s+1\s+\]\]?|\(\(\s*1\s*\)\))|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))\s*[;\n]\s*do\b.*[^&>]&\s*;?\s*done",
        )
        .ok()
    });
    line.contains("done")
        && line.contains('&')
        && !line.contains("sleep")
        && LOOP.as_ref().is_some_and(|expression| expression.is_match(line))
}

fn judge_segment(mut look: Look<'_>) -> SegmentJudgement {
    redirects(&mut look);
    environment::judge(&mut look);
    program::judge(&mut look);
    argument_scan::stray_paths(&mut look);
    let verdict = look.findings.into_iter().reduce(stricter).unwrap_or_else(|| {
        Verdict::allow("effect", "it only reads, builds, tests, or changes what can be brought back")
    });
    let words: Vec<String> = look.segment.words.iter().map(Word::shown).collect();
    let safer = if verdict.is_allowed() { None } else { alternatives::command(&words) };
    SegmentJudgement {
        words,
        through: look.segment.through.clone(),
        effects: look.effects,
        catastrophe: is_catastrophe(&verdict),
        verdict,
        safer,
    }
}

fn redirects(look: &mut Look<'_>) {
    for redirect in &look.segment.redirects {
        let act = if redirect.kind == RedirectKind::Read { Act::Read } else { Act::Write };
        let place = look.place(&redirect.target);
        if act == Act::Write && redirect.target.taint().has(Taint::SECRET) {
            look.ask("environment.show", "a file would be named after a variable that may hold a key");
        }
        if place == Place::Network {
            let secret = look.carries(Taint::SECRET);
            let shell = look.segment.words.first().and_then(Word::text).is_some_and(|name| {
                shell::is_shell(shell::base_name(&name)) || matches!(&*name, "exec" | ":" | "tar" | "cat")
            });
            if secret || shell || look.segment.words.is_empty() {
                look.deny("network.raw", "it opens a bare connection to another machine");
            } else {
                look.ask("network.raw", "it opens a bare connection to another machine");
            }
            continue;
        }
        // Without an end it fills the disk.
        let endless = look.segment.words.iter().any(|word| {
            matches!(
                word.text().as_deref(),
                Some("yes" | "/usr/bin/yes" | "/dev/zero" | "/dev/urandom" | "/dev/random")
            )
        }) && look.segment.words.first().is_some_and(|word| word.is("yes") || word.is("cat"));
        if endless && act == Act::Write && !look.segment.piped && place != Place::Sink {
            look.deny("availability", "it writes without an end");
        }
        // A file that was just made up, or a descriptor of the line's own.
        if place == Place::Unknown && act == Act::Read {
            continue;
        }
        look.act(act, &redirect.target);
    }
}

#[cfg(test)]
mod tests;
