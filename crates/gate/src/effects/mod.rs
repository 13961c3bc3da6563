//! What a command line does, and how bad that is.
//!
//! [`crate::shell`] says which commands a line holds; here each gets its effects (reads, writes, deletes, runs, sends …),
//! each effect a place, and each act at a place its weight. The strictest finding over all commands stands.

mod alternatives;
mod archive;
mod argument_scan;
mod arguments;
mod cloud;
mod code;
mod common_flags;
mod container;
mod database;
mod disk;
mod distribution;
mod environment;
mod facts;
mod facts_row;
mod files;
mod forge;
mod git;
mod keys;
mod machine;
mod network;
mod options;
mod package;
mod place;
mod places;
mod program;
mod security_tools;
mod service;
mod severity;
mod storage;
mod transfer;
mod trees;
mod variables;

pub use facts::{FactsError, MoreFacts};
pub use place::{Grounds, Place};
pub use severity::{Act, find, weigh};
pub(crate) use variables::steers;

use crate::shell::{self, Reading, RedirectKind, Segment, Taint, Word};
use crate::verdict::{Decision, Verdict};
use serde::Serialize;

/// Something that a command does.
#[derive(Debug, Clone, Serialize)]
pub struct Effect {
    /// What.
    pub act: Act,
    /// To what, as far as it is known.
    pub target: String,
    /// What kind of place that is, in words.
    pub class: &'static str,
    /// What kind of place that is.
    #[serde(skip)]
    pub place: Place,
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

/// A judged line.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// The strictest finding.
    pub verdict: Verdict,
    /// Whether it destroys a root, a home, a device, a repository's history or the record, or sends secrets out. No rule
    /// lifts that. A refusal that is no catastrophe is still a refusal; only a question may be answered by a rule.
    pub catastrophe: bool,
    /// Each command.
    pub segments: Vec<SegmentJudgement>,
    /// Why the line is not certain, if it is not. What only a second reader doubts stands here where it decides something.
    pub doubts: Vec<String>,
}

/// What is looked at while one command is judged.
pub(crate) struct Look<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) grounds: Grounds<'a>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) findings: Vec<Verdict>,
    /// How deep this is inside programs that start programs.
    pub(crate) depth: usize,
    /// Whether the next command is started by this one.
    pub(crate) starts: bool,
    /// Whether something on the line is fetched into a substitution.
    pub(crate) fetched: bool,
    /// Whether a command of the line lists the names in a directory that holds credentials.
    pub(crate) listed: bool,
    /// What is known beside the line.
    pub(crate) beside: JudgementContext<'a>,
}

/// What is known beside the line itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JudgementContext<'a> {
    /// Programs that the project knows.
    pub(crate) more: Option<&'a MoreFacts>,
    /// Whether the disk is asked where names lead.
    pub(crate) disk: bool,
}

/// Rules of this kind are catastrophes.
const CATASTROPHE: &str = "catastrophe.";

/// Does this rule stand for a catastrophe?
#[must_use]
pub fn is_catastrophe(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Deny && verdict.rule.starts_with(CATASTROPHE)
}

/// The stricter of two findings; a catastrophe before a mere refusal.
fn stricter(one: Verdict, other: Verdict) -> Verdict {
    if other.decision > one.decision || is_catastrophe(&other) && !is_catastrophe(&one) { other } else { one }
}

/// How deep commands inside of arguments are followed.
const MAX_NESTED_COMMAND_DEPTH: usize = 4;

impl Look<'_> {
    /// Notes an act on what a word names.
    pub(crate) fn act(&mut self, act: Act, word: &Word) {
        let place = self.place(word);
        self.act_at(act, place, &word.shown());
        // Of several directories that it may run in, the one with credentials counts beside the largest.
        if act == Act::Read && place != Place::Secret && self.segment.directories.len() > 1 {
            let secret = |directory| {
                Place::classify(word, std::slice::from_ref(directory), self.grounds) == Place::Secret
            };
            if self.segment.directories.iter().any(secret) {
                self.act_at(act, Place::Secret, &word.shown());
            }
        }
    }

    /// Notes an act at a place that is known already.
    pub(crate) fn act_at(&mut self, act: Act, place: Place, target: &str) {
        let elsewhere = self.segment.elsewhere;
        let mut verdict = severity::find(act, place, target);
        let name = shell::base_name(target);
        if act == Act::Write && place == Place::Temporary && name.starts_with('.') && name.len() > 1 {
            verdict = Verdict::ask(
                "effect.hidden",
                format!("it would hide a file in a temporary directory: `{target}`"),
                "Give the file a name that is seen.",
            );
        }
        // On another machine the workspace means nothing: what is not harmless here is asked about there.
        let verdict =
            if elsewhere && verdict.decision == Decision::Allow && act != Act::Read && act != Act::List {
                Verdict::ask(
                    "effect.elsewhere",
                    format!("it would {} `{target}` on another machine", act.verb()),
                    "Say what should be done there.",
                )
            } else {
                verdict
            };
        if verdict.decision != Decision::Allow {
            self.findings.push(verdict);
        }
        if self.effects.len() < 64 {
            self.effects.push(Effect { act, target: target.to_string(), class: place.describe(), place });
        }
    }

    /// The place that a word names: by its text, and by where it leads on the disk.
    pub(crate) fn place(&self, word: &Word) -> Place {
        let place = Place::classify(word, &self.segment.directories, self.grounds);
        if self.beside.disk {
            disk::place(word, &self.segment.directories, self.grounds, place)
        } else {
            place
        }
    }

    /// Notes an effect that no place weighs: on machines, services, users, packages, processes.
    fn note(&mut self, rule: &str) {
        let Some(act) = Act::of_rule(rule) else { return };
        if self.effects.len() < 64 && !self.effects.iter().any(|effect| effect.act == act) {
            let words: Vec<String> = self.segment.words.iter().take(4).map(Word::shown).collect();
            self.effects.push(Effect {
                act,
                target: words.join(" "),
                class: Place::Unknown.describe(),
                place: Place::Unknown,
            });
        }
    }

    /// Notes that a person must be asked.
    pub(crate) fn ask(&mut self, rule: &'static str, reason: impl Into<String>) {
        self.note(rule);
        self.findings.push(Verdict::ask(rule, reason, "Say in your answer what should be run and why."));
    }

    /// Notes that this must not happen.
    pub(crate) fn deny(&mut self, rule: &'static str, reason: impl Into<String>) {
        self.note(rule);
        self.findings.push(Verdict::deny(
            rule,
            reason,
            "Leave it; say in your answer what you wanted to reach.",
        ));
    }

    /// Judges a command that stands inside an argument.
    pub(crate) fn nested(&mut self, line: &str) {
        if line.trim().is_empty() || line.len() > 16 * 1024 {
            return;
        }
        if self.depth >= MAX_NESTED_COMMAND_DEPTH {
            return self.ask("nested", "commands are nested deeper than can be followed");
        }
        let directory = self
            .segment
            .directories
            .first()
            .and_then(Word::text)
            .map_or_else(|| self.grounds.workspace.to_string(), std::borrow::Cow::into_owned);
        let judged = judge_at(line, &directory, self.grounds, self.beside, self.depth + 1);
        // Only what is certainly bad counts: the text may be no command at all.
        if judged.verdict.decision == Decision::Deny {
            self.findings.push(judged.verdict);
        }
    }

    /// Notes what nothing lifts.
    pub(crate) fn catastrophe(&mut self, rule: &'static str, reason: impl Into<String>) {
        self.note(rule);
        self.findings.push(Verdict::deny(
            format!("{CATASTROPHE}{rule}"),
            reason,
            "Leave it; say in your answer what you wanted to reach.",
        ));
    }

    /// Does it run with root's rights?
    pub(crate) fn privileged(&self) -> bool {
        self.segment.through.iter().any(|name| {
            matches!(
                name.as_str(),
                "sudo"
                    | "doas"
                    | "pkexec"
                    | "su"
                    | "runuser"
                    | "sudo-rs"
                    | "gosu"
                    | "su-exec"
                    | "run0"
                    | "dzdo"
            )
        })
    }

    /// The words after the program's name.
    pub(crate) fn rest(&self) -> &[Word] {
        self.segment.words.get(1..).unwrap_or_default()
    }

    /// Whether what flows in, or any word, carries this.
    pub(crate) fn carries(&self, taint: Taint) -> bool {
        self.segment.input.as_ref().is_some_and(|stream| stream.taint.has(taint))
            || self.segment.words.iter().any(|word| word.taint().has(taint))
    }
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
    beside: JudgementContext<'_>,
    depth: usize,
) -> Judgement {
    if depth == 0 {
        shell::begin();
    }
    let taints = |name: &str, words: &[Word], directories: &[Word]| {
        environment::taint(name, words, directories, grounds)
    };
    let mut reading = shell::read_once(line, directory, grounds.home, &taints);
    conclude(line, &mut reading, grounds, beside, depth)
}

fn conclude(
    line: &str,
    reading: &mut Reading,
    grounds: Grounds<'_>,
    beside: JudgementContext<'_>,
    depth: usize,
) -> Judgement {
    let fetched = reading.segments.iter().any(|segment| {
        let name = segment.words.first().and_then(Word::text);
        segment.piped && name.is_some_and(|name| network::fetches(shell::base_name(&name)))
    });
    let listed = reading.segments.len() > 1
        && reading.segments.iter().any(|segment| segment.piped && trees::lists_credentials(segment, grounds));
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
            fetched,
            listed,
            beside,
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
    // A second reader only adds a doubt. A doubt makes a line a question and has its text looked at, so it changes nothing for a
    // line that is refused or doubted already, nor for a question whose text shows nothing worse.
    let settled = !reading.doubts.is_empty()
        || match findings.iter().map(|finding| finding.decision).max() {
            Some(Decision::Deny) => true,
            Some(Decision::Ask) => crate::command::raw(line, "").is_none(),
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
        let read = reading.doubts.iter().any(|doubt| doubt == "a script that was encoded");
        findings.extend(crate::command::raw(line, if read { "hidden-code" } else { "" }));
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
            Verdict::ask("command.empty", "there is no command", "Say what to run.")
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
