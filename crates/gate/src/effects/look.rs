//! The command that is judged, with what was found on it so far.

use super::disk;
use super::facts::MoreFacts;
use super::place::{Grounds, Place};
use super::severity::{self, Act, CATASTROPHE};
use crate::secrets;
use crate::shell::{self, Segment, Taint, Word};
use crate::verdict::{Decision, Verdict};
use serde::Serialize;
use std::collections::BTreeSet;

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

/// One command while it is judged.
pub(crate) struct Look<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) grounds: Grounds<'a>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) findings: Vec<Verdict>,
    /// How deep this is inside programs that start programs.
    pub(crate) depth: usize,
    /// Whether the next command is started by this one.
    pub(crate) starts: bool,
    /// Whether the words of its program are text or names, never files that are opened.
    pub(crate) is_text: bool,
    /// Whether something on the line is fetched into a substitution.
    pub(crate) fetched: bool,
    /// Whether a command of the line lists the names in a directory that holds credentials.
    pub(crate) listed: bool,
    /// What is known apart from the line.
    pub(crate) context: JudgementContext<'a>,
    /// Judges a command that stands inside an argument.
    pub(crate) judge_nested: NestedJudge,
}

/// Judges a line in a directory, at a depth of nesting.
pub(crate) type NestedJudge = fn(&str, &str, Grounds<'_>, JudgementContext<'_>, usize) -> Verdict;

/// What is known apart from the line itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JudgementContext<'a> {
    /// Programs that the project knows.
    pub(crate) more: Option<&'a MoreFacts>,
    /// Whether the disk is asked where names lead.
    pub(crate) disk: bool,
}

/// How deep commands inside of arguments are followed.
const MAX_NESTED_COMMAND_DEPTH: usize = 4;

impl Look<'_> {
    /// Notes an act on what a word names.
    pub(crate) fn act(&mut self, act: Act, word: &Word) {
        let (place, found) = self.places(word);
        self.act_at(act, place, &word.shown());
        if place == Place::Workspace && word.text().is_none() && matches!(act, Act::Write | Act::Change) {
            self.ask(
                "effect.unknown",
                format!(
                    "it would {} a file of the workspace that cannot be known from the line, git's own among them: `{}`",
                    act.verb(),
                    word.shown()
                ),
            );
        }
        // A pattern finds several things, of which the largest is not the worst for every act.
        for found in found {
            if severity::weigh(act, found) > severity::weigh(act, place) {
                self.act_at(act, found, &word.shown());
            }
        }
        // `.*` is all of a directory for what deletes, and also the project's secrets for what reads.
        if act == Act::Read
            && word.globs()
            && matches!(place, Place::Workspace | Place::Inside | Place::Repository)
        {
            let shown = word.shown();
            if secrets::may_be_project_secret(shell::base_name(&shown)) {
                self.act_at(act, Place::ProjectSecret, &shown);
            }
        }
        // `.envrc` steers and may hold keys; `.$x` may be it.
        if act == Act::Read
            && (self.holds_keys(word, place) || place == Place::Workspace && begins_dot_file(word))
        {
            self.act_at(act, Place::ProjectSecret, &word.shown());
        }
        if act == Act::Read && word.globs() && place == Place::Home {
            let shown = word.shown();
            if shell::base_name(&shown).starts_with('.') {
                self.act_at(act, Place::Secret, &shown);
            }
        }
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

    /// Whether a file that steers may also hold the project's secrets.
    fn holds_keys(&self, word: &Word, place: Place) -> bool {
        place == Place::Instructions && secrets::is_project_secret(shell::base_name(&word.shown()))
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
        self.places(word).0
    }

    /// The same, and the places of all that it finds on the disk.
    fn places(&self, word: &Word) -> (Place, BTreeSet<Place>) {
        let by_text = Place::classify(word, &self.segment.directories, self.grounds);
        if !self.context.disk {
            return (by_text, BTreeSet::new());
        }
        let found = disk::places(word, &self.segment.directories, self.grounds, by_text);
        (disk::worst(by_text, &found), found)
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

    /// Judges what may be a command inside an argument: only what is certainly bad counts.
    pub(crate) fn nested(&mut self, line: &str) {
        self.judge_inner(line, |decision| decision == Decision::Deny);
    }

    /// Judges what certainly is a command inside an argument: its questions count too.
    pub(crate) fn nested_command(&mut self, line: &str) {
        self.judge_inner(line, |decision| decision != Decision::Allow);
    }

    fn judge_inner(&mut self, line: &str, counts: impl Fn(Decision) -> bool) {
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
        let verdict = (self.judge_nested)(line, &directory, self.grounds, self.context, self.depth + 1);
        if counts(verdict.decision) {
            self.findings.push(verdict);
        }
    }

    /// Notes a catastrophe, which no rule lifts.
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
        self.segment.through.iter().any(|name| shell::grants_privileges(name))
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

/// `.$x` and `./.$x`: the name of a hidden file, of which only the dot is known.
fn begins_dot_file(word: &Word) -> bool {
    let begun = word.beginning();
    word.text().is_none() && begun.rsplit('/').next() == Some(".")
}
