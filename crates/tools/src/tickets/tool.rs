//! The tickets as tools: `tk` with a command line, and one tool per task for models that prefer fields.
//!
//! All of them build a [`Command`] and run it like the command line does, but only on the tickets of the workspace, and
//! without starting other programs. The gate judges a new ticket first; it may require another parent or a better
//! description ([`marvin_gate::ticket`]).

use super::command::{Command, parse};
use super::draft::Draft;
use super::error::TicketError;
use super::report::Filter;
use super::run::{Data, Reply, Surroundings, run};
use super::store::Store;
use super::{help, words};
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, Tool};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        Arc::new(CreateTicket),
        Arc::new(TicketAddDep),
        Arc::new(TicketStart),
        Arc::new(TicketClose),
        Arc::new(TicketShow),
        Arc::new(TicketAddNote),
        Arc::new(TicketList),
        Arc::new(TicketDepTree),
    ]
}

pub(crate) fn coding_tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(Tk)]
}

/// A tool whose input is a command.
macro_rules! ticket_tool {
    ($tool:ident, $input:ident, $touches:expr, $name:literal, $description:literal, $example:literal, $fields:expr) => {
        #[doc = $description]
        #[derive(Debug, Clone, Copy)]
        pub struct $tool;

        #[async_trait]
        impl Tool for $tool {
            type Input = $input;
            type Data = Data;
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = $description;
            const EXAMPLE: &'static str = $example;
            const FIELDS: &'static [(&'static str, &'static str)] = &$fields;
            const TOUCHES: Touches = $touches;

            fn intents(input: &$input, context: &ToolContext) -> Vec<Intent> {
                let command = command(input, $name);
                command.map(|command| intents(&command, context)).unwrap_or_default()
            }

            async fn call(&self, input: $input, context: &ToolContext) -> Result<Output<Data>, ToolError> {
                answer(command(&input, $name)?, context).await
            }
        }
    };
}

/// An input that can be turned into a command.
trait CommandSource {
    /// The command; the tool's name distinguishes tools with the same fields.
    fn to_command(&self, tool: &str) -> Result<Command, TicketError>;
}

fn command(input: &impl CommandSource, tool: &str) -> Result<Command, ToolError> {
    input.to_command(tool).map_err(ToolError::from)
}

impl From<TicketError> for ToolError {
    fn from(error: TicketError) -> Self {
        match error {
            TicketError::Usage(text) => ToolError::Usage(text),
            TicketError::Refused(refusal) => ToolError::Refused(refusal),
            TicketError::NotFound(text) | TicketError::Failed(text) => ToolError::Failed(text),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TkInput {
    /// The words after `tk`, split as a shell would: `create 'title' -d 'text' -t task -p 2 --parent ID --tags a,b`,
    /// `start|close|reopen ID`, `status ID S`, `dep ID OTHER`, `dep tree ID`, `dep cycle`, `undep ID OTHER`, `link ID ID`,
    /// `unlink ID ID`, `ls [--status S] [-a NAME] [-T TAG]`, `ready`, `blocked`, `closed`, `show ID`, `add-note ID 'text'`,
    /// `query`, `help`.
    args: String,
}

impl CommandSource for TkInput {
    fn to_command(&self, _: &str) -> Result<Command, TicketError> {
        let unclosed = || TicketError::Usage("a quote in `args` is not closed".into());
        let mut words = words::split(&self.args).ok_or_else(unclosed)?;
        if matches!(words.first().map(String::as_str), Some("tk" | "ticket")) {
            words.remove(0);
        }
        let command = parse(&words)?.command;
        match command {
            Command::AddNote { text: None, .. } => {
                Err(TicketError::Usage(format!("no note provided\nUsage: tk {}", help::usage("add-note"))))
            }
            command => Ok(command),
        }
    }
}

ticket_tool!(
    Tk,
    TkInput,
    Touches::TICKETS,
    "tk",
    "Work with the project's tickets: create, start, close, dep, link, ls, ready, blocked, show, add-note and more \
     (`help` explains them all). Ids may be given in part.",
    r#"{"args": "create 'Login fails after a wrong password' -t bug -d 'What, acceptance criteria, files' --tags auth"}"#,
    [("command", "args"), ("arguments", "args")]
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTicketInput {
    /// One line.
    title: String,
    /// What is to be done, acceptance criteria, files, dependencies.
    #[serde(default)]
    description: String,
    /// bug, feature, task, epic or chore.
    #[serde(default = "task")]
    ticket_type: String,
    /// 0 (highest) to 4.
    #[serde(default = "middle")]
    priority: i64,
    /// Tags, separated by commas.
    #[serde(default)]
    tags: String,
    /// The ticket that it is a part of.
    #[serde(default)]
    parent: String,
}

fn task() -> String {
    "task".into()
}

fn middle() -> i64 {
    2
}

impl CommandSource for CreateTicketInput {
    fn to_command(&self, _: &str) -> Result<Command, TicketError> {
        if self.title.trim().is_empty() {
            return Err(TicketError::Usage(
                "a ticket needs a `title`: one line that says what it is about".into(),
            ));
        }
        Ok(Command::Create(Box::new(Draft {
            title: self.title.clone(),
            description: self.description.clone(),
            kind: self.ticket_type.clone(),
            priority: self.priority.to_string(),
            tags: self.tags.clone(),
            parent: self.parent.clone(),
            ..Draft::default()
        })))
    }
}

ticket_tool!(
    CreateTicket,
    CreateTicketInput,
    Touches::TICKETS,
    "create_ticket",
    "Make a ticket in the project; gives its id.",
    r#"{"title": "Login fails after a wrong password", "description": "Error 500. Done when the form says so. Files: src/login.rs", "ticket_type": "bug", "priority": 1, "tags": "auth", "parent": ""}"#,
    [("type", "ticket_type")]
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddDepInput {
    /// The ticket that waits.
    ticket_id: String,
    /// The ticket that must be closed first.
    depends_on: String,
}

impl CommandSource for AddDepInput {
    fn to_command(&self, _: &str) -> Result<Command, TicketError> {
        Ok(Command::Dep { id: self.ticket_id.clone(), on: self.depends_on.clone() })
    }
}

ticket_tool!(
    TicketAddDep,
    AddDepInput,
    Touches::TICKETS,
    "ticket_add_dep",
    "Make a ticket depend on another, which must be closed first.",
    r#"{"ticket_id": "nw-5c46", "depends_on": "nw-77aa"}"#,
    [("id", "ticket_id")]
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketInput {
    /// Its id, or a part of it that no other has.
    ticket_id: String,
}

impl CommandSource for TicketInput {
    fn to_command(&self, tool: &str) -> Result<Command, TicketError> {
        let id = self.ticket_id.clone();
        Ok(match tool {
            "ticket_start" => Command::Status { id, status: "in_progress".into() },
            "ticket_close" => Command::Status { id, status: "closed".into() },
            "ticket_dep_tree" => Command::DepTree { id, full: false },
            _ => Command::Show { id },
        })
    }
}

ticket_tool!(
    TicketStart,
    TicketInput,
    Touches::TICKETS,
    "ticket_start",
    "Set a ticket to in_progress.",
    r#"{"ticket_id": "nw-5c46"}"#,
    [("id", "ticket_id")]
);

ticket_tool!(
    TicketClose,
    TicketInput,
    Touches::TICKETS,
    "ticket_close",
    "Close a ticket.",
    r#"{"ticket_id": "nw-5c46"}"#,
    [("id", "ticket_id")]
);

ticket_tool!(
    TicketShow,
    TicketInput,
    Touches::READS,
    "ticket_show",
    "Show a ticket with its notes, what blocks it, what it blocks, its children and links.",
    r#"{"ticket_id": "nw-5c46"}"#,
    [("id", "ticket_id")]
);

ticket_tool!(
    TicketDepTree,
    TicketInput,
    Touches::READS,
    "ticket_dep_tree",
    "Show the tree of what a ticket depends on.",
    r#"{"ticket_id": "nw-5c46"}"#,
    [("id", "ticket_id")]
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddNoteInput {
    /// The ticket.
    ticket_id: String,
    /// The note (Markdown).
    note: String,
}

impl CommandSource for AddNoteInput {
    fn to_command(&self, _: &str) -> Result<Command, TicketError> {
        Ok(Command::AddNote { id: self.ticket_id.clone(), text: Some(self.note.clone()) })
    }
}

ticket_tool!(
    TicketAddNote,
    AddNoteInput,
    Touches::TICKETS,
    "ticket_add_note",
    "Append a note, with the time, to a ticket.",
    r#"{"ticket_id": "nw-5c46", "note": "The cause is in src/login.rs: the session is never closed."}"#,
    [("id", "ticket_id"), ("text", "note")]
);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {
    /// Only open, in_progress or closed ones; all when empty.
    #[serde(default)]
    status: String,
    /// Only those with all of these tags, separated by commas.
    #[serde(default)]
    tags: String,
}

impl CommandSource for ListInput {
    fn to_command(&self, _: &str) -> Result<Command, TicketError> {
        let tags = self.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        Ok(Command::List(Filter {
            status: self.status.trim().to_string(),
            tags: tags.map(str::to_string).collect(),
            ..Filter::default()
        }))
    }
}

ticket_tool!(
    TicketList,
    ListInput,
    Touches::READS,
    "ticket_list",
    "List the project's tickets with their status and dependencies.",
    r#"{"status": "open", "tags": "auth"}"#,
    [("tag", "tags")]
);

/// The intents of a command: a new ticket below its parent, or changes of tickets. An invalid draft has none: the call
/// returns the error and creates nothing.
fn intents(command: &Command, context: &ToolContext) -> Vec<Intent> {
    match command {
        Command::Create(draft) if draft.as_ref().clone().checked().is_ok() => {
            vec![Intent::Ticket { parent: parent(&draft.parent, context) }]
        }
        command => {
            let changed = command.changes().into_iter();
            changed.map(|id| Intent::TicketChange { id: id.to_string() }).collect()
        }
    }
}

/// The parent of a draft; spelled like the ticket of this agent, if it is that one.
fn parent(given: &str, context: &ToolContext) -> Option<String> {
    let given = Some(given.trim()).filter(|given| !given.is_empty())?;
    let same = |duty: &&str| {
        let store = || Store::of_workspace(context.workspace.as_deref()?, false).ok();
        let resolved = || {
            let store = store()?;
            Some(store.resolve(given).ok()? == store.resolve(duty).ok()?)
        };
        given == *duty || resolved().unwrap_or(false)
    };
    Some(context.duty.parent().filter(same).unwrap_or(given).to_string())
}

async fn answer(command: Command, context: &ToolContext) -> Result<Output<Data>, ToolError> {
    context.workspace()?;
    let within = context.clone();
    // Another process may hold the lock for a while.
    let done = tokio::task::spawn_blocking(move || answer_now(command, &within)).await;
    done.map_err(|error| ToolError::Failed(format!("the ticket tool was interrupted: {error}")))?
}

fn answer_now(command: Command, context: &ToolContext) -> Result<Output<Data>, ToolError> {
    let workspace = context.workspace()?;
    let asked = match &command {
        Command::Create(draft) => Some(parent(&draft.parent, context)),
        _ => None,
    };
    let reply = run(command, &Surroundings::default(), &|make| {
        Store::of_workspace(workspace, make).map(|store| store.redacting(Arc::clone(&context.redactor)))
    });
    let reply = reply.map_err(|error| hint(error, asked.as_ref(), context))?;
    // Only a ticket that exists counts, and only one below the right parent.
    if let (Some(Some(parent)), Some(made)) = (&asked, reply.data.ticket())
        && context.duty.parent() == Some(parent)
    {
        context.duty.made(&made.id);
    }
    Ok(output(reply))
}

/// Explains a missing ticket of the agent itself: it can create no child of it, which only the person can fix.
fn hint(error: TicketError, asked: Option<&Option<String>>, context: &ToolContext) -> ToolError {
    match (error, context.duty.parent()) {
        (TicketError::NotFound(text), Some(duty)) if asked.and_then(Option::as_deref) == Some(duty) => {
            ToolError::Failed(format!(
                "{text}\nThis agent was started for {duty}, which is not among the tickets of this working \
                 directory; report that to your caller."
            ))
        }
        (error, _) => error.into(),
    }
}

fn output(reply: Reply) -> Output<Data> {
    let mut text = reply.text;
    if text.is_empty() {
        text.push_str("no tickets\n");
    }
    for notice in &reply.notices {
        text.push_str(&format!("note: {notice}\n"));
    }
    let first = text.lines().next().unwrap_or_default();
    let summary = match &reply.data {
        Data::Tickets(tickets) => format!("{} tickets", tickets.len()),
        Data::Frontmatter(objects) => format!("{} tickets", objects.len()),
        Data::Ticket(shown) if first == "---" => format!("{} [{}]", shown.facts.id, shown.facts.status),
        _ => truncate::line(first, 200),
    };
    Output::new(summary, text.trim_end_matches('\n'), reply.data)
}
