//! Decisions by the words of a command, from the rows of `data/verbs`.
//!
//! A row names programs and their rules; the first rule whose conditions hold decides. Rules carry lines that
//! they match and lines that they do not, which a test judges. What a row cannot say is code in the modules
//! beside this one.

use super::argument_scan::generic;
use super::common_flags;
use super::look::Look;
use super::security_tools::is_defence;
use super::words::{WordList, WordMatch};
use crate::shell::{UnknownReason, Word};

/// When a program's row is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before the table of programs.
    Program,
    /// For programs of the class `verbs`.
    Verbs,
}

struct Program {
    stage: Stage,
    partial: bool,
    project: bool,
    rules: &'static [Rule],
}

struct Rule {
    outcome: Outcome,
    rule: &'static str,
    reason: &'static str,
    when: &'static [&'static [Condition]],
    unless: &'static [&'static [Condition]],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Allow,
    Ask,
    Deny,
    Catastrophe,
    /// Looks at the paths among the words; further rules decide.
    Scan,
    /// The same for credentials alone.
    ScanSecrets,
    /// Judges words that hold a blank as commands; further rules decide.
    Nested,
}

struct Condition {
    subject: Subject,
    negated: bool,
    words: WordList,
}

/// The texts that a condition is about; it holds when one of them matches.
#[derive(Debug, Clone, Copy)]
enum Subject {
    Program,
    /// The first word behind the program's name, flags included.
    Leading,
    First,
    Second,
    Third,
    /// One of the first operands.
    Operands(usize),
    /// Operands behind the first.
    Later,
    Words,
    /// Words in small letters.
    LowerWords,
    /// Two words that follow each other, with a blank between them.
    Pairs,
    /// All words with blanks between them.
    Line,
    /// Beginnings of words that hold the output of a command.
    Output,
    OperandCount,
    WordCount,
    Privileged,
    /// Whether something on the line is fetched into a substitution.
    Fetched,
    /// Whether the next command is started by this one.
    Starting,
    /// Whether code comes from a bare address, or over a connection that others can change.
    Unvouched,
    /// Whether an operand behind the first watches over the machine.
    Defence,
}

include!(concat!(env!("OUT_DIR"), "/verbs.rs"));

/// The words of the command that is judged.
struct Command<'a> {
    base: &'a str,
    operands: Vec<String>,
    words: Vec<String>,
}

impl Command<'_> {
    fn holds(&self, look: &Look<'_>, condition: &Condition) -> bool {
        let one = |text: &str| condition.words.matches(text);
        let operand = |at: usize| self.operands.get(at).map_or("", String::as_str);
        let flag = |set: bool| one(if set { "yes" } else { "no" });
        let found = match condition.subject {
            Subject::Program => one(self.base),
            Subject::Leading => one(self.words.first().map_or("", String::as_str)),
            Subject::First => one(operand(0)),
            Subject::Second => one(operand(1)),
            Subject::Third => one(operand(2)),
            Subject::Operands(count) => self.operands.iter().take(count).any(|word| one(word)),
            Subject::Later => self.operands.iter().skip(1).any(|word| one(word)),
            Subject::Words => self.words.iter().any(|word| one(word)),
            Subject::LowerWords => self.words.iter().any(|word| one(&word.to_ascii_lowercase())),
            Subject::Pairs => self.words.windows(2).any(|pair| one(&pair.join(" "))),
            Subject::Line => one(&self.words.join(" ")),
            Subject::Output => look
                .rest()
                .iter()
                .any(|word| word.why().is_some_and(UnknownReason::is_output) && one(&word.beginning())),
            Subject::OperandCount => one(&self.operands.len().to_string()),
            Subject::WordCount => one(&self.words.len().to_string()),
            Subject::Privileged => flag(look.privileged()),
            Subject::Fetched => flag(look.fetched),
            Subject::Starting => flag(look.starts),
            Subject::Unvouched => flag(is_unvouched(&self.words)),
            Subject::Defence => flag(self.operands.iter().skip(1).any(|word| is_defence(word))),
        };
        found != condition.negated
    }

    fn applies(&self, look: &Look<'_>, rule: &Rule) -> bool {
        let all = |conditions: &&[Condition]| conditions.iter().all(|condition| self.holds(look, condition));
        (rule.when.is_empty() || rule.when.iter().any(&all)) && !rule.unless.iter().any(all)
    }
}

/// Judges a command by its row; true when there is one that decides.
pub(super) fn judge(look: &mut Look<'_>, base: &str, stage: Stage, operands: &[Word]) -> bool {
    let row = NAMES.find(base).and_then(|number| PROGRAMS.get(number.parse::<usize>().ok()?));
    let Some(program) = row.filter(|program| program.stage == stage) else { return false };
    if program.project {
        common_flags::other_projects(look, base, operands);
    }
    let command = Command {
        base,
        operands: operands.iter().map(Word::shown).collect(),
        words: look.rest().iter().map(Word::shown).collect(),
    };
    for rule in program.rules.iter() {
        if !command.applies(look, rule) {
            continue;
        }
        let reason = || {
            let first = command.operands.first().map_or("", String::as_str);
            rule.reason.replace("{program}", base).replace("{first}", first)
        };
        match rule.outcome {
            Outcome::Allow => {}
            Outcome::Ask => look.ask(rule.rule, reason()),
            Outcome::Deny => look.deny(rule.rule, reason()),
            Outcome::Catastrophe => look.catastrophe(rule.rule, reason()),
            Outcome::Scan | Outcome::ScanSecrets => {
                generic(look, rule.outcome == Outcome::Scan);
                continue;
            }
            Outcome::Nested => {
                command.words.iter().filter(|word| word.contains(' ')).for_each(|word| look.nested(word));
                continue;
            }
        }
        return true;
    }
    !program.partial
}

/// Code that is installed from a bare address, or over a connection that others can change.
pub(super) fn is_unvouched(words: &[String]) -> bool {
    words.iter().any(|word| {
        let plain = word.contains("http://") && !word.contains("localhost") && !word.contains("127.0.0.1");
        let host = word.split_once("://").map(|(_, rest)| rest.split(['/', ':']).next().unwrap_or_default());
        plain
            || host.is_some_and(|host| {
                host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| !address.is_loopback())
            })
            || word == "--trusted-host"
    })
}

#[cfg(test)]
mod tests {
    use crate::effects::{Grounds, judge};
    use crate::verdict::Decision;

    include!(concat!(env!("OUT_DIR"), "/verb_examples.rs"));

    #[test]
    fn the_examples_of_every_rule_hold() {
        let grounds = Grounds { workspace: "/home/person/project", home: "/home/person" };
        let mut wrong = Vec::new();
        for (decision, rule, line, expected) in EXAMPLES {
            let verdict = judge(line, grounds.workspace, grounds).verdict;
            let (wanted, name) = match *decision {
                "allow" => (Decision::Allow, "effect".to_string()),
                "ask" => (Decision::Ask, (*rule).to_string()),
                "deny" => (Decision::Deny, (*rule).to_string()),
                _ => (Decision::Deny, format!("catastrophe.{rule}")),
            };
            if (verdict.decision == wanted && verdict.rule == name) != *expected {
                wrong.push(format!("{line}: {:?} {} {}", verdict.decision, verdict.rule, verdict.reason));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
