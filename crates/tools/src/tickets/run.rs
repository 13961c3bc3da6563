//! Execution of commands, the same for people and for models.

use super::command::Command;
use super::error::{TicketError, choice};
use super::format::STATUSES;
use super::help::HELP;
use super::report::{self, Facts, Relations};
use super::store::{Shelf, Store};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The result of a command.
#[derive(Debug)]
pub struct Reply {
    /// The output of the original `tk`, whole lines.
    pub text: String,
    /// The same as facts.
    pub data: Data,
    /// Such as damaged files.
    pub notices: Vec<String>,
}

/// The facts of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Data {
    /// A ticket that was made, changed or shown.
    Ticket(Box<TicketDetails>),
    /// Several tickets.
    Tickets(Vec<Facts>),
    /// What a ticket depends on.
    Tree {
        /// The ticket.
        id: String,
        /// The tree, as text.
        tree: String,
    },
    /// Circles of dependencies.
    Cycles {
        /// Each with its ids, in their order.
        cycles: Vec<Vec<String>>,
    },
    /// The frontmatter of tickets, unchanged.
    Frontmatter(Vec<Value>),
    /// The help.
    Help {
        /// Its text.
        help: String,
    },
}

impl Data {
    /// The one ticket that this is about.
    #[must_use]
    pub fn ticket(&self) -> Option<&Facts> {
        match self {
            Data::Ticket(shown) => Some(&shown.facts),
            _ => None,
        }
    }
}

/// A ticket, with its relations and body for `show`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct TicketDetails {
    /// Its facts.
    #[serde(flatten)]
    pub facts: Facts,
    /// The others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relations: Option<Relations>,
    /// The text below the frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Input of a command besides its words and the tickets.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The default assignee of a new ticket.
    pub assignee: Option<String>,
}

/// Opens the tickets; the argument says whether to create their directory.
pub type Open<'a> = &'a (dyn Fn(bool) -> Result<Store, TicketError> + 'a);

/// Executes a command.
///
/// # Errors
/// When the command makes no sense, names a missing ticket, or the disk refuses; when it needs a person
/// ([`Command::Edit`], a note from standard input) or another program (a filter of [`Command::Query`]).
pub fn run(command: Command, surroundings: &Surroundings, open: Open<'_>) -> Result<Reply, TicketError> {
    match command {
        Command::Help => Ok(reply(HELP.to_string(), Data::Help { help: HELP.to_string() })),
        Command::Create(mut draft) => {
            // A wrong draft must not leave a directory behind.
            draft.clone().checked()?;
            draft.assignee = draft.assignee.or_else(|| surroundings.assignee.clone());
            let (id, ticket) = open(true)?.create(*draft)?;
            Ok(reply(format!("{id}\n"), about(Facts::from_ticket(&id, &ticket))))
        }
        Command::Status { id, status } => {
            let store = open(false)?;
            let id = store.set_status(&id, &status)?;
            changed(&store, &id, format!("Updated {id} -> {status}\n"))
        }
        Command::Dep { id, on } => {
            let store = open(false)?;
            let (id, on, added) = store.add_dependency(&id, &on)?;
            let text = match added {
                true => format!("Added dependency: {id} -> {on}\n"),
                false => "Dependency already exists\n".to_string(),
            };
            changed(&store, &id, text)
        }
        Command::Undep { id, on } => {
            let store = open(false)?;
            let (id, on) = store.remove_dependency(&id, &on)?;
            changed(&store, &id, format!("Removed dependency: {id} -/-> {on}\n"))
        }
        Command::Link { ids } => {
            let store = open(false)?;
            let (ids, added) = store.link(&ids)?;
            let text = match added {
                0 => "All links already exist\n".to_string(),
                _ => format!("Added {added} link(s) between {} tickets\n", ids.len()),
            };
            let facts = |id: &String| Ok(Facts::from_ticket(id, &store.read(id)?));
            let facts: Result<Vec<Facts>, TicketError> = ids.iter().map(facts).collect();
            Ok(reply(text, Data::Tickets(facts?)))
        }
        Command::Unlink { one, other } => {
            let store = open(false)?;
            let (one, other) = store.unlink(&one, &other)?;
            changed(&store, &one, format!("Removed link: {one} <-> {other}\n"))
        }
        Command::AddNote { id, text } => {
            let text = text.ok_or_else(|| TicketError::Usage("no note provided".into()))?;
            let store = open(false)?;
            let id = store.add_note(&id, &text)?;
            changed(&store, &id, format!("Note added to {id}\n"))
        }
        Command::Edit { .. } => Err(TicketError::Usage(
            "edit opens an editor for a person; use `add-note ID TEXT`, `status ID STATUS` or `dep ID OTHER`".into(),
        )),
        Command::Query { filter: Some(_) } => Err(TicketError::Usage(
            "a filter needs the program jq, which is run only for people at the command line; use `query` without \
             one, or `ls --status S -a NAME -T TAG`"
                .into(),
        )),
        Command::Query { filter: None } => looking(open, |_, shelf| {
            let objects: Vec<Value> = shelf.tickets.values().map(report::frontmatter).collect();
            let text = objects.iter().map(|object| format!("{object}\n")).collect();
            Ok((text, Data::Frontmatter(objects)))
        }),
        Command::DepTree { id, full } => looking(open, |store, shelf| {
            let id = store.resolve(&id)?;
            // A damaged ticket has no tree; this returns the error.
            store.read(&id)?;
            let tree = shelf.tree(&id, full);
            Ok((tree.clone(), Data::Tree { id, tree }))
        }),
        Command::DepCycle => looking(open, |_, shelf| {
            let cycles = shelf.circles();
            Ok((shelf.circles_text(&cycles), Data::Cycles { cycles }))
        }),
        Command::Show { id } => looking(open, |store, shelf| {
            let id = store.resolve(&id)?;
            let ticket = store.read(&id)?;
            let shown = TicketDetails {
                facts: Facts::from_ticket(&id, &ticket),
                relations: Some(shelf.relations(&id, &ticket)),
                body: Some(ticket.body().into_owned()),
            };
            Ok((shelf.show(&id, &ticket), Data::Ticket(Box::new(shown))))
        }),
        Command::List(filter) => looking(open, |_, shelf| {
            known_status(&filter.status, shelf)?;
            Ok(list(shelf.facts(&filter), report::list_line))
        }),
        Command::Ready(filter) => {
            looking(open, |_, shelf| Ok(list(shelf.ready(&filter), report::work_line)))
        }
        Command::Blocked(filter) => {
            looking(open, |_, shelf| Ok(list(shelf.blocked(&filter), report::work_line)))
        }
        Command::Closed(filter, limit) => looking(open, |store, shelf| {
            Ok(list(shelf.closed(&filter, limit, store), report::closed_line))
        }),
    }
}

/// Reads every ticket and reports on them; damaged files become notices.
fn looking(
    open: Open<'_>,
    report: impl FnOnce(&Store, &Shelf) -> Result<(String, Data), TicketError>,
) -> Result<Reply, TicketError> {
    let store = open(false)?;
    let shelf = store.shelf()?;
    let (text, data) = report(&store, &shelf)?;
    let notices = shelf.problems.iter().map(|problem| format!("damaged ticket {problem}")).collect();
    Ok(Reply { text, data, notices })
}

fn list(facts: Vec<Facts>, line: impl Fn(&Facts) -> String) -> (String, Data) {
    let text = facts.iter().map(|facts| line(facts) + "\n").collect();
    (text, Data::Tickets(facts))
}

fn reply(text: String, data: Data) -> Reply {
    Reply { text, data, notices: Vec::new() }
}

fn about(facts: Facts) -> Data {
    Data::Ticket(Box::new(TicketDetails { facts, ..TicketDetails::default() }))
}

fn changed(store: &Store, id: &str, text: String) -> Result<Reply, TicketError> {
    Ok(reply(text, about(Facts::from_ticket(id, &store.read(id)?))))
}

/// Refuses a status that no ticket has and none can have, instead of an empty list.
fn known_status(status: &str, shelf: &Shelf) -> Result<(), TicketError> {
    if status.is_empty() || shelf.tickets.values().any(|ticket| ticket.status() == status) {
        return Ok(());
    }
    choice("status", status, &STATUSES)
}
