//! Agents that work on a ticket: first a ticket of their own below it, then the work.
//!
//! A sub-agent that was started for a ticket (`MARVIN_TICKET`) changes nothing until it has written down, as a child of
//! that ticket, what it is going to do: no file, and no ticket that exists, its parent least of all. Its first attempt at
//! that is refused once, with a list of what a good ticket says; an attempt without the right parent is refused too and
//! does not count. Agents that may not write everywhere are exempt: they are bound already.
//!
//! Judging changes nothing: [`Duty::heard`] is told of the verdict on a call that was really made, and [`Duty::made`] of
//! a ticket that really exists.

use crate::access::Access;
use crate::intent::Touches;
use crate::verdict::Verdict;
use marvin_base::settings::{Settings, table};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The rule that keeps an agent without a ticket of its own from changing things.
pub const NEEDED: &str = "ticket.needed";
/// The rule that refuses the first attempt at a ticket.
pub const FIRST: &str = "ticket.first";
/// The refusal of the first attempt.
pub const SENT_BACK: &str = "the first ticket of an agent is always sent back once, to be made better";
/// The rule that refuses a ticket below another ticket.
pub const PARENT: &str = "ticket.parent";

/// The ticket that this process works on, if any, and what it has done about it. One for the life of a process.
#[derive(Debug, Default)]
pub struct Duty {
    parent: Option<String>,
    state: Mutex<DutyProgress>,
}

#[derive(Debug, Default)]
struct DutyProgress {
    /// The first attempt was refused.
    tried: bool,
    /// The ticket that was made.
    own: Option<String>,
}

impl Duty {
    /// The duty of a process that works on this ticket, or on none.
    #[must_use]
    pub fn new(parent: Option<&str>) -> Self {
        let parent = parent.map(str::trim).filter(|parent| !parent.is_empty());
        Duty { parent: parent.map(str::to_string), state: Mutex::default() }
    }

    /// The duty that the settings of this process name.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Duty::new(settings.given(&table::TICKET))
    }

    /// The ticket that this process works on.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// The ticket of its own that it has made below that one.
    #[must_use]
    pub fn current(&self) -> Option<String> {
        self.state().own.clone()
    }

    /// A ticket was made below the one that this process works on. The first stays its own.
    pub fn made(&self, id: &str) {
        if self.parent.is_some() {
            self.state().own.get_or_insert_with(|| id.to_string());
        }
    }

    /// A call was answered with this verdict.
    pub fn heard(&self, verdict: &Verdict) {
        if verdict.rule == FIRST {
            self.state().tried = true;
        }
    }

    /// The state that an earlier process left: whether the first attempt was refused, and the ticket that was made.
    pub fn recall(&self, tried: bool, own: Option<&str>) {
        let mut state = self.state();
        state.tried |= tried;
        if let (Some(own), None) = (own, &state.own) {
            state.own = Some(own.to_string());
        }
    }

    /// The ticket below which one must be made before anything else may be changed.
    #[must_use]
    pub fn due(&self, access: &Access) -> Option<&str> {
        let exempt = !access.executes() || self.state().own.is_some();
        self.parent().filter(|_| !exempt)
    }

    fn state(&self) -> MutexGuard<'_, DutyProgress> {
        // Nothing is left half-done under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does a tool have to wait for a ticket?
pub(crate) fn judge_tool(name: &str, touches: Touches, duty: &Duty, access: &Access) -> Option<Verdict> {
    if touches.changes_nothing() || (touches.tickets && !touches.writes && !touches.executes) {
        return None;
    }
    let parent = duty.due(access)?;
    Some(needed(&format!("`{name}` changes something"), parent))
}

/// May a ticket that exists be changed?
pub(crate) fn judge_change(id: &str, duty: &Duty, access: &Access) -> Verdict {
    match duty.due(access) {
        Some(parent) => needed(&format!("this would change the ticket `{}`", id.escape_debug()), parent),
        None => Verdict::allow("ticket.change", "tickets may be changed"),
    }
}

fn needed(what: &str, parent: &str) -> Verdict {
    Verdict::deny(
        NEEDED,
        format!("{what}, and this agent has no ticket of its own yet"),
        format!("First make a ticket for your part of {parent}, with the tk tool: {}", example(parent)),
    )
}

/// May a ticket with this parent be made?
pub(crate) fn judge_ticket(parent: Option<&str>, duty: &Duty, access: &Access) -> Verdict {
    let Some(due) = duty.due(access) else {
        return Verdict::allow("ticket.create", "tickets may be made");
    };
    if parent != Some(due) {
        return Verdict::deny(
            PARENT,
            match parent {
                None => "the ticket names no parent".to_string(),
                Some(parent) => format!("the parent `{parent}` is not the ticket that this agent works on"),
            },
            format!("Make it a child of {due}: {}", example(due)),
        );
    }
    if !duty.state().tried {
        return Verdict::deny(
            FIRST,
            SENT_BACK,
            format!(
                "Check these five points, then make the call again:\n\
                 1. Title: does it say what will be different afterwards?\n\
                 2. Description (-d): what is to be done, acceptance criteria, the files concerned, dependencies?\n\
                 3. Parent: --parent {due}\n\
                 4. Type (-t): bug, feature, task, epic or chore?\n\
                 5. Tags (--tags): the parts of the project that it touches?\n\
                 For example: {}",
                example(due)
            ),
        );
    }
    Verdict::allow("ticket.create", "it is a child of the ticket that this agent works on")
}

/// A call that makes the ticket.
fn example(parent: &str) -> String {
    format!(
        r#"tk {{"args": "create 'TITLE' -d 'WHAT, ACCEPTANCE CRITERIA, FILES, DEPENDENCIES' -t task --tags AREA --parent {parent}"}} (or create_ticket with "parent": "{parent}")"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Decision, Intent, judge};
    use marvin_base::redact::Redactor;
    use marvin_base::settings::Settings;
    use std::path::Path;

    fn ask(intent: &Intent, access: &Access, duty: &Duty) -> Verdict {
        let home = Path::new("/nowhere");
        let (settings, redactor) = (Settings::defaults().unwrap(), Redactor::patterns_only());
        let context = Context {
            workspace: None,
            home,
            access,
            attended: true,
            may_execute: true,
            duty,
            settings: &settings,
            redactor: &redactor,
            layers: &crate::Layers::none(),
        };
        judge(intent, &context)
    }

    fn tool(touches: Touches) -> Intent {
        Intent::Tool { name: "some_tool".into(), touches }
    }

    fn ticket(parent: &str) -> Intent {
        Intent::Ticket { parent: (!parent.is_empty()).then(|| parent.to_string()) }
    }

    fn change(id: &str) -> Intent {
        Intent::TicketChange { id: id.into() }
    }

    const CHANGING: [Touches; 3] = [Touches::WRITES, Touches::STORES, Touches::EXECUTES];

    #[test]
    fn without_a_ticket_of_its_own_an_agent_only_reads() {
        let duty = Duty::new(Some("t-1"));
        for touches in CHANGING {
            let verdict = ask(&tool(touches), &Access::Full, &duty);
            assert_eq!((verdict.decision, verdict.rule.as_str()), (Decision::Deny, NEEDED), "{touches:?}");
            assert!(verdict.how_to_fix.contains("--parent t-1"), "{verdict:?}");
        }
        for touches in [Touches::NOTHING, Touches::READS, Touches::NETWORK, Touches::TICKETS] {
            assert!(ask(&tool(touches), &Access::Full, &duty).is_allowed(), "{touches:?}");
        }
        for id in ["t-1", "t-9", "\u{1b}[31m"] {
            let verdict = ask(&change(id), &Access::Full, &duty);
            assert_eq!((verdict.decision, verdict.rule.as_str()), (Decision::Deny, NEEDED), "{id}");
            assert!(
                verdict.how_to_fix.contains("--parent t-1") && !verdict.reason.contains('\u{1b}'),
                "{verdict:?}"
            );
        }
        let both = Touches { executes: true, ..Touches::TICKETS };
        assert!(!ask(&tool(both), &Access::Full, &duty).is_allowed(), "a ticket tool that runs programs");
        duty.made("t-2");
        for touches in CHANGING {
            assert!(ask(&tool(touches), &Access::Full, &duty).is_allowed(), "{touches:?}");
        }
        assert!(ask(&change("t-2"), &Access::Full, &duty).is_allowed(), "its own can be closed");
        assert_eq!(duty.current().as_deref(), Some("t-2"));
        duty.made("t-3");
        assert_eq!(duty.current().as_deref(), Some("t-2"), "the first stays");
    }

    #[test]
    fn the_first_right_attempt_is_sent_back_once() {
        let duty = Duty::new(Some("t-1"));
        let attempt = |parent: &str| {
            let verdict = ask(&ticket(parent), &Access::Full, &duty);
            duty.heard(&verdict);
            verdict
        };
        assert_eq!(attempt("").rule, PARENT);
        assert_eq!(attempt("t-9").rule, PARENT);
        assert_eq!(ask(&ticket("t-1"), &Access::Full, &duty).rule, FIRST);
        let first = attempt("t-1");
        assert_eq!(first.rule, FIRST, "only judging does not count, nor does a wrong parent");
        for point in ["1.", "2.", "3. Parent: --parent t-1", "4.", "5."] {
            assert!(first.how_to_fix.contains(point), "{first:?}");
        }
        assert_eq!(attempt("").rule, PARENT);
        assert!(attempt("t-1").is_allowed());
        assert!(!ask(&tool(Touches::WRITES), &Access::Full, &duty).is_allowed(), "nothing was made yet");
        duty.made("t-2");
        assert!(attempt("").is_allowed(), "afterwards tickets are free");
    }

    #[test]
    fn others_are_exempt() {
        let duty = Duty::new(Some("t-1"));
        let some = Access::writable(["a".to_string()]);
        assert!(ask(&tool(Touches::WRITES), &some, &duty).is_allowed());
        assert_eq!(ask(&tool(Touches::WRITES), &Access::Readonly, &duty).rule, "tool.access");
        for none in [Duty::new(None), Duty::new(Some(" ")), Duty::default()] {
            assert!(CHANGING.iter().all(|touches| ask(&tool(*touches), &Access::Full, &none).is_allowed()));
            assert!(ask(&ticket(""), &Access::Full, &none).is_allowed());
            assert!(ask(&change("t-1"), &Access::Full, &none).is_allowed());
            none.made("t-2");
            assert_eq!((none.parent(), none.current()), (None, None));
        }
    }
}
