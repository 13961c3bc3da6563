//! Reports on tickets: lines as the original prints them, and facts for programs.

use super::format::Ticket;
use super::store::{Shelf, Store};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The facts of one ticket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facts {
    /// Its id: the name of its file.
    pub id: String,
    pub title: String,
    /// `open`, `in_progress` or `closed`.
    pub status: String,
    /// `bug`, `feature`, `task`, `epic` or `chore`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `0` (highest) to `4`.
    pub priority: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub assignee: String,
    /// Such as `gh-123`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub external_ref: String,
    /// The ticket that it is a part of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Tickets that must be closed first.
    pub deps: Vec<String>,
    /// Linked tickets.
    pub links: Vec<String>,
    pub created: String,
    /// Those of `deps` that are not closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
}

impl Facts {
    /// The facts of a ticket by itself.
    #[must_use]
    pub fn from_ticket(id: &str, ticket: &Ticket) -> Facts {
        let priority = ticket.value("priority");
        Facts {
            id: id.to_string(),
            title: ticket.title(),
            status: ticket.status(),
            kind: ticket.value("type"),
            priority: if priority.is_empty() { "2".into() } else { priority },
            assignee: ticket.value("assignee"),
            external_ref: ticket.value("external-ref"),
            parent: ticket.value("parent"),
            tags: ticket.list("tags"),
            deps: ticket.list("deps"),
            links: ticket.list("links"),
            created: ticket.value("created"),
            blocked_by: Vec::new(),
        }
    }

    fn is_active(&self) -> bool {
        matches!(self.status.as_str(), "open" | "in_progress")
    }
}

/// Which tickets of a list to keep. Empty texts keep all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this status.
    pub status: String,
    /// Only this assignee.
    pub assignee: String,
    /// Only with all of these tags.
    pub tags: Vec<String>,
}

impl Filter {
    fn keeps(&self, facts: &Facts) -> bool {
        (self.status.is_empty() || facts.status == self.status)
            && (self.assignee.is_empty() || facts.assignee == self.assignee)
            && self.tags.iter().all(|tag| facts.tags.contains(tag))
    }
}

impl Shelf {
    /// The facts of every ticket that the filter keeps, in order of ids, with what blocks them.
    #[must_use]
    pub fn facts(&self, filter: &Filter) -> Vec<Facts> {
        let all = self.tickets.iter().map(|(id, ticket)| Facts::from_ticket(id, ticket));
        let mut kept: Vec<Facts> = all.filter(|facts| filter.keeps(facts)).collect();
        for facts in &mut kept {
            facts.blocked_by = self.open_among(&facts.deps);
        }
        kept
    }

    /// Those that are not closed; a missing ticket is not closed.
    fn open_among(&self, ids: &[String]) -> Vec<String> {
        let open = |id: &&String| self.tickets.get(*id).is_none_or(|ticket| ticket.status() != "closed");
        ids.iter().filter(open).cloned().collect()
    }

    /// Tickets that can be worked on, most urgent first.
    #[must_use]
    pub fn ready(&self, filter: &Filter) -> Vec<Facts> {
        self.active(filter, |facts| facts.blocked_by.is_empty())
    }

    /// Tickets that wait for others, most urgent first.
    #[must_use]
    pub fn blocked(&self, filter: &Filter) -> Vec<Facts> {
        self.active(filter, |facts| !facts.blocked_by.is_empty())
    }

    fn active(&self, filter: &Filter, keep: impl Fn(&Facts) -> bool) -> Vec<Facts> {
        let mut found = self.facts(filter);
        found.retain(|facts| facts.is_active() && keep(facts));
        // A priority that is not a number comes last.
        found.sort_by_key(|facts| (facts.priority.parse::<u64>().unwrap_or(u64::MAX), facts.id.clone()));
        found
    }

    /// Closed tickets, the last changed first.
    #[must_use]
    pub fn closed(&self, filter: &Filter, limit: usize, store: &Store) -> Vec<Facts> {
        let mut found: Vec<_> = self
            .facts(filter)
            .into_iter()
            .filter(|facts| matches!(facts.status.as_str(), "closed" | "done"))
            .map(|facts| (store.changed_at(&facts.id), facts))
            .collect();
        found.sort_by(|(one, _), (other, _)| other.cmp(one));
        found.into_iter().map(|(_, facts)| facts).take(limit).collect()
    }

    /// The ticket's file with its relations: the title of its parent, its blockers, the tickets that it blocks, its
    /// children, and its links.
    #[must_use]
    pub fn show(&self, id: &str, ticket: &Ticket) -> String {
        let mut text = String::new();
        let file = String::from_utf8_lossy(ticket.bytes());
        let fence = |line: &str| line.trim_end() == "---";
        let mut fences = 0;
        for line in file.lines() {
            fences += usize::from(fence(line));
            text.push_str(line);
            let parent = ticket.value("parent");
            if fences == 1
                && line.starts_with("parent:")
                && let Some(parent) = self.tickets.get(&parent)
            {
                text.push_str(&format!("  # {}", parent.title()));
            }
            text.push('\n');
        }
        let relations = self.relations(id, ticket);
        let sections = [
            ("Blockers", &relations.blockers),
            ("Blocking", &relations.blocking),
            ("Children", &relations.children),
            ("Linked", &relations.linked),
        ];
        for (heading, ids) in sections.into_iter().filter(|(_, ids)| !ids.is_empty()) {
            text.push_str(&format!("\n## {heading}\n\n"));
            for id in ids {
                text.push_str(&format!("- {}\n", self.line(id)));
            }
        }
        text
    }

    /// `ID [status] title`, the latter two empty for a missing ticket.
    pub(super) fn line(&self, id: &str) -> String {
        let (status, title) =
            self.tickets.get(id).map(|ticket| (ticket.status(), ticket.title())).unwrap_or_default();
        format!("{id} [{status}] {title}")
    }

    #[must_use]
    pub fn relations(&self, id: &str, ticket: &Ticket) -> Relations {
        let others = |keep: &dyn Fn(&Ticket) -> bool| -> Vec<String> {
            self.tickets.iter().filter(|(_, other)| keep(other)).map(|(id, _)| id.clone()).collect()
        };
        Relations {
            blockers: self.open_among(&ticket.list("deps")),
            blocking: others(&|other| {
                other.status() != "closed" && other.list("deps").iter().any(|dep| dep == id)
            }),
            children: others(&|other| other.value("parent") == id),
            linked: ticket.list("links"),
        }
    }
}

/// Relations of a ticket to others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relations {
    /// Tickets that must be closed first and are not.
    pub blockers: Vec<String>,
    /// Tickets that wait for this one.
    pub blocking: Vec<String>,
    /// Tickets that are a part of this one.
    pub children: Vec<String>,
    /// Linked tickets.
    pub linked: Vec<String>,
}

/// A line of `ls`.
#[must_use]
pub fn list_line(facts: &Facts) -> String {
    let deps = if facts.deps.is_empty() { String::new() } else { format!(" <- [{}]", facts.deps.join(", ")) };
    format!("{:<8} [{}] - {}{deps}", facts.id, facts.status, facts.title)
}

/// A line of `ready` and, with what blocks it, of `blocked`.
#[must_use]
pub fn work_line(facts: &Facts) -> String {
    let blockers = match facts.blocked_by.as_slice() {
        [] => String::new(),
        ids => format!(" <- [{}]", ids.join(", ")),
    };
    format!("{:<8} [P{}][{}] - {}{blockers}", facts.id, facts.priority, facts.status, facts.title)
}

/// A line of `closed`.
#[must_use]
pub fn closed_line(facts: &Facts) -> String {
    format!("{:<8} [{}] - {}", facts.id, facts.status, facts.title)
}

/// The frontmatter of a ticket as one JSON object: texts, and lists for values in brackets.
#[must_use]
pub fn frontmatter(ticket: &Ticket) -> Value {
    let mut map = Map::new();
    for (key, text) in ticket.fields() {
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let value = match inner {
            Some(inner) => {
                let words = inner.split(',').map(str::trim).filter(|word| !word.is_empty());
                words.map(|word| Value::String(word.to_string())).collect()
            }
            None => Value::String(text.into_owned()),
        };
        map.insert(key.to_string(), value);
    }
    Value::Object(map)
}
