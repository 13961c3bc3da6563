//! The shell's account of a piece of work: what is done, what failed, what remains and what comes next.
//!
//! It is made of the run's own events and of the status of the commitments, never of what a model says it did. The same events
//! give the same account, whether they are noted one by one while a turn runs or read back after a crash, so that a conversation
//! that is compacted and a run that is resumed begin with the same words.
//!
//! Limits: it knows calls and their outcome, not their meaning. It is bounded: of a long run the newest part is kept.

use crate::commitments::Status;
use crate::compose::Standing;
use marvin_base::truncate;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// Line that separates the goal from the shell's account in a message.
pub const MARK: &str =
    "[The shell's account of this work, from its record. It stands in place of the earlier conversation.]";

const MAX_CHANGES: usize = 40;
/// Read-only calls that are kept.
const MAX_READS: usize = 30;
const MAX_FAILURES: usize = 5;
/// Messages of the model that are kept.
const MAX_MESSAGES: usize = 5;
/// Calls without a result that are kept.
const MAX_PENDING_CALLS: usize = 100;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    changed: VecDeque<String>,
    changes: usize,
    looked: VecDeque<String>,
    looks: usize,
    failed: VecDeque<(String, String)>,
    messages: VecDeque<String>,
    begun: BTreeMap<String, PendingCall>,
    rounds: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PendingCall {
    line: String,
    signature: String,
    changes: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RemainingBudget {
    /// Dollars; none: no limit.
    pub dollars: Option<f64>,
    pub rounds: usize,
}

impl Account {
    /// The account of a list of events. `changes` says whether a tool changes something.
    pub fn from_events<'a>(
        events: impl IntoIterator<Item = &'a Value>,
        changes: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut account = Account::default();
        for event in events {
            account.note(event, changes);
        }
        account
    }

    /// Adds an event.
    pub fn note(&mut self, event: &Value, changes: &dyn Fn(&str) -> bool) {
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "tools.started" {
            self.rounds += 1;
        }
        let Some(item) = event.get("item") else { return };
        match (kind, text(item, "type").as_str()) {
            ("item.started", "tool_call") if self.begun.len() < MAX_PENDING_CALLS => {
                let name = text(item, "name");
                let begun = PendingCall {
                    line: line(&name, item.get("arguments").unwrap_or(&Value::Null)),
                    signature: text(item, "call_signature"),
                    changes: changes(&name),
                };
                self.begun.insert(text(item, "id"), begun);
            }
            ("item.completed", "tool_call") => {
                let Some(begun) = self.begun.remove(&text(item, "id")) else { return };
                let ok = item.get("ok").and_then(Value::as_bool).unwrap_or(false);
                self.ended(begun, ok, &text(item, "why"));
            }
            ("item.completed", "message") => {
                push(&mut self.messages, truncate::line(&text(item, "text"), 200), MAX_MESSAGES);
            }
            _ => {}
        }
    }

    fn ended(&mut self, begun: PendingCall, ok: bool, why: &str) {
        // A call that failed before and succeeds now is not listed as a failure; one that fails again is listed once.
        self.failed.retain(|(signature, _)| *signature != begun.signature);
        if !ok {
            let line = format!("{}: {}", begun.line, truncate::line(why, 300));
            push(&mut self.failed, (begun.signature, line), MAX_FAILURES);
            return;
        }
        let (list, count, most) = if begun.changes {
            (&mut self.changed, &mut self.changes, MAX_CHANGES)
        } else {
            (&mut self.looked, &mut self.looks, MAX_READS)
        };
        if list.back() != Some(&begun.line) {
            *count += 1;
            list.retain(|line| *line != begun.line);
            push(list, begun.line, most);
        }
    }

    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Goal with the account below it, as the model reads it; the goal alone where nothing was done.
    #[must_use]
    pub fn task(&self, goal: &str, standing: &[Standing], left: RemainingBudget) -> String {
        let goal = goal.split(MARK).next().unwrap_or_default().trim_end();
        let body = self.body(standing, left);
        if body.is_empty() { goal.to_string() } else { format!("{goal}\n\n{MARK}\n{body}") }
    }

    fn body(&self, standing: &[Standing], left: RemainingBudget) -> String {
        if *self == Account::default() {
            return String::new();
        }
        let mut text = String::new();
        let hidden = |count: usize, shown: usize| match count.saturating_sub(shown) {
            0 => String::new(),
            more => format!(" (the newest; {more} earlier not shown)"),
        };
        list(&mut text, &format!("Done{}", hidden(self.changes, self.changed.len())), self.changed.iter());
        list(&mut text, &format!("Looked at{}", hidden(self.looks, self.looked.len())), self.looked.iter());
        let begun = self.begun.values().map(|begun| &begun.line);
        list(&mut text, "Begun, and not known how it ended (look before you do it again)", begun);
        list(&mut text, "Failed last", self.failed.iter().map(|(_, line)| line));
        list(&mut text, "What you said on the way (not verified)", self.messages.iter());
        let passed: Vec<&str> = standing
            .iter()
            .filter(|standing| standing.status == Status::Passed)
            .map(|standing| standing.id.as_str())
            .collect();
        if !passed.is_empty() {
            text.push_str(&format!("Held when last verified: {}\n", passed.join(", ")));
        }
        let open: Vec<&Standing> =
            standing.iter().filter(|standing| standing.status != Status::Passed).collect();
        let remaining: Vec<String> = open.iter().map(|standing| remaining(standing)).collect();
        list(&mut text, "Remaining", remaining.iter());
        text.push_str(&format!("Next: {}\n", self.next(&open)));
        let dollars = left.dollars.map(|dollars| format!("{dollars:.4} USD and ")).unwrap_or_default();
        text.push_str(&format!("Left: {dollars}{} tool round(s)", left.rounds));
        text
    }

    /// Next thing to do, by rule.
    fn next(&self, open: &[&Standing]) -> String {
        let bad = |standing: &&&Standing| matches!(standing.status, Status::Failed | Status::CouldNotRun);
        if let Some(begun) = self.begun.values().find(|begun| begun.changes) {
            return format!("find out whether this was done: {}", begun.line);
        }
        if let Some(standing) = open.iter().find(bad).or(open.first()) {
            return format!("make this hold: {}", standing.line);
        }
        match self.failed.back() {
            Some((_, line)) => format!("deal with the last failure, or go another way: {line}"),
            None => "go on with the task; when all of it is done, say so".to_string(),
        }
    }
}

fn remaining(standing: &Standing) -> String {
    let mut line = format!("{} [{}]", standing.line, standing.status.words());
    if !standing.reason.is_empty() {
        line.push_str(&format!(" {}", standing.reason));
    }
    line
}

fn push<T>(list: &mut VecDeque<T>, entry: T, most: usize) {
    list.push_back(entry);
    while list.len() > most {
        list.pop_front();
    }
}

fn list<'a>(text: &mut String, title: &str, lines: impl Iterator<Item = &'a String>) {
    let lines: Vec<&String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("{title}:\n"));
    for line in lines {
        text.push_str(&format!("- {line}\n"));
    }
}

/// A call on one line: its name and its shortened arguments.
fn line(name: &str, arguments: &Value) -> String {
    let shown = match arguments {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                format!("{key}={}", truncate::line(&value, 60))
            })
            .collect::<Vec<_>>()
            .join(", "),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    truncate::line(&format!("{name} {shown}"), 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn started(id: usize, name: &str, path: &str) -> Value {
        json!({"type": "item.started", "item": {"id": format!("item_{id}"), "type": "tool_call", "name": name,
            "arguments": {"path": path}, "call_signature": format!("{name} {path}")}})
    }

    fn completed(id: usize, ok: bool, why: &str) -> Value {
        json!({"type": "item.completed", "item": {"id": format!("item_{id}"), "type": "tool_call", "ok": ok, "why": why}})
    }

    fn changes(name: &str) -> bool {
        name == "create_file"
    }

    const LEFT: RemainingBudget = RemainingBudget { dollars: Some(0.5), rounds: 7 };

    fn standing(id: &str, status: Status) -> Standing {
        Standing { id: id.into(), line: format!("{id}: shell: pytest"), status, reason: "2 failed".into() }
    }

    #[test]
    fn done_remaining_and_next() {
        let events = [
            json!({"type": "tools.started", "round": 1, "tools": ["read_file"]}),
            started(1, "read_file", "a.txt"),
            completed(1, true, ""),
            started(2, "create_file", "b.txt"),
            completed(2, false, "it exists already"),
            started(3, "create_file", "c.txt"),
            completed(3, true, ""),
            json!({"type": "item.completed", "item": {"type": "message", "text": "I will do b next."}}),
        ];
        let account = Account::from_events(&events, &changes);
        assert_eq!(account.rounds(), 1);
        let open = [standing("c-1", Status::Passed), standing("c-2", Status::Failed)];
        insta::assert_snapshot!(account.task("Build it.", &open, LEFT));
        // It continues from its own text.
        let task = account.task("Build it.", &open, LEFT);
        assert_eq!(account.task(&task, &open, LEFT), task);
        assert_eq!(Account::default().task("Build it.", &open, LEFT), "Build it.");
    }

    #[test]
    fn a_later_success_clears_a_failure_and_pending_calls_are_named() {
        let mut events =
            vec![started(1, "create_file", "a"), completed(1, false, "no"), started(2, "create_file", "a")];
        let text = Account::from_events(&events, &changes).task("x", &[], LEFT);
        assert!(
            text.contains("not known how it ended") && text.contains("find out whether this was done"),
            "{text}"
        );
        assert!(text.contains("Failed last"), "{text}");
        events.push(completed(2, true, ""));
        let text = Account::from_events(&events, &changes).task("x", &[], LEFT);
        assert!(
            !text.contains("Failed") && !text.contains("not known") && text.contains("Next: go on"),
            "{text}"
        );
    }

    proptest::proptest! {
        #[test]
        fn heard_or_read_it_is_the_same_and_bounded(calls in proptest::collection::vec((0usize..60, proptest::bool::ANY, "(?s).{0,40}"), 0..200)) {
            let mut events = Vec::new();
            for (index, (path, ok, why)) in calls.iter().enumerate() {
                events.push(started(index, if path % 2 == 0 { "create_file" } else { "read_file" }, &path.to_string()));
                if path % 7 > 0 {
                    events.push(completed(index, *ok, why));
                }
            }
            let mut live = Account::default();
            for event in &events {
                live.note(event, &changes);
            }
            let read = Account::from_events(&events, &changes);
            proptest::prop_assert_eq!(&live, &read);
            let text = read.task("goal", &[], LEFT);
            proptest::prop_assert!(text.len() < 60_000 && text.starts_with("goal"));
        }
    }
}
