//! `marvin tk`: the ticket command line for people, and for programs with `--json`.
//!
//! Tickets themselves are in `marvin_tools::tickets`. This command adds what the tools must not do: read standard input,
//! start an editor, and ask other programs (`git` for the person's name, `jq` to filter).

use crate::failure::Failure;
use crate::project::current_directory;
use crate::runtime::{cancel_on_signal, runtime};
use crate::{output, project};
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_base::child::{self, Child, Ending};
use marvin_base::settings::table;
use marvin_gate::RefusalKind;
use marvin_tools::tickets::{self, Command, ParsedCommand, Store, Surroundings, TicketError};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

const GIT_TIMEOUT: Duration = Duration::from_secs(5);
const JQ_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_NOTE_BYTES: u64 = 4 * 1024 * 1024;
const MAX_JQ_OUTPUT_BYTES: usize = 256 * 1024 * 1024;

/// Work with tickets: create, start, close, dep, ls, ready, show, add-note …
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "`marvin tk help` explains every command; `--json` gives results as JSON.\n\nExamples:\n  marvin tk create 'Login fails' -t bug -p 1 -d 'Error 500 after a wrong password'\n  marvin tk ready\n  marvin tk show 5c46"
)]
pub(crate) struct TkArguments {
    /// The command and its words
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// The file of a ticket that is to be edited.
#[derive(Serialize)]
struct TicketFile<'a> {
    id: &'a str,
    path: &'a Path,
}

pub(crate) fn run(arguments: TkArguments) -> Result<Exit, Failure> {
    let words: Result<Vec<String>, OsString> =
        arguments.words.into_iter().map(OsString::into_string).collect();
    let words = words.map_err(|word| {
        Failure::usage(format!("`{}` is not UTF-8 text", word.to_string_lossy())).hint("`marvin tk help`")
    })?;
    let ParsedCommand { command, json } = tickets::parse(&words)?;
    if command == Command::Help {
        return output::line(tickets::HELP);
    }
    let context = project::context(None, false, Vec::new())?;
    let from = current_directory()?;
    let open = |make: bool| {
        Store::find(&from, context.settings.given(&table::TICKETS_DIR), context.layout.home(), make)
    };
    let mut surroundings = Surroundings::default();
    let command = match command {
        Command::Edit { id } => return edit(&open(false)?, &id, &context, json),
        Command::Query { filter: Some(filter) } => return query(&filter, &open),
        Command::AddNote { id, text: None } => Command::AddNote { id, text: Some(note()?) },
        Command::Create(draft) => {
            if draft.assignee.is_none() {
                surroundings.assignee = person(&from)?;
            }
            Command::Create(draft)
        }
        command => command,
    };
    let reply = tickets::run(command, &surroundings, &open)?;
    for notice in &reply.notices {
        output::talk(&format!("note: {notice}"));
    }
    if json { output::json(&reply.data) } else { output::raw(&reply.text).map(|()| Exit::Success) }
}

impl From<TicketError> for Failure {
    fn from(error: TicketError) -> Self {
        let message = error.to_string();
        match error {
            TicketError::Usage(_) => Failure::usage(message).hint("`marvin tk help`"),
            TicketError::NotFound(_) => Failure::failed(message).hint("`marvin tk ls` lists the tickets"),
            TicketError::Failed(_) => Failure::failed(message),
            // The hint of a refusal is written for models.
            TicketError::Refused(refusal) => match refusal.kind {
                RefusalKind::Link | RefusalKind::LeadsOut | RefusalKind::Workspace => {
                    Failure::refused(refusal.reason)
                }
                _ => Failure::failed(refusal.reason),
            },
        }
    }
}

/// Reads a note from standard input.
fn note() -> Result<String, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(
            Failure::usage("no note provided").hint("marvin tk add-note ID 'text', or pipe the text in")
        );
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(MAX_NOTE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_NOTE_BYTES {
        return Err(Failure::usage(format!("the note is longer than {MAX_NOTE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage("the note is not UTF-8 text"))
}

/// The person's name as git knows it, if it does.
fn person(directory: &Path) -> Result<Option<String>, Failure> {
    let mut git = Child::new("git").args(["config", "user.name"]);
    git.directory = Some(directory.to_path_buf());
    git.deadline = GIT_TIMEOUT;
    let outcome = runtime()?.block_on(async { child::run(git, &cancel_on_signal()).await });
    Ok(outcome
        .ok()
        .filter(|outcome| outcome.ending == Ending::Exited(0))
        .map(|outcome| outcome.stdout.text().trim().to_string())
        .filter(|name| !name.is_empty() && !name.contains(char::is_control)))
}

/// Prints the frontmatter of the tickets that a jq filter selects.
fn query(filter: &str, open: &dyn Fn(bool) -> Result<Store, TicketError>) -> Result<Exit, Failure> {
    let all = tickets::run(Command::Query { filter: None }, &Surroundings::default(), &open)?;
    for notice in &all.notices {
        output::talk(&format!("note: {notice}"));
    }
    let mut jq = Child::new("jq").args(["-c", &format!("select({filter})")]);
    jq.input = all.text.into_bytes();
    jq.deadline = JQ_TIMEOUT;
    jq.keep = MAX_JQ_OUTPUT_BYTES;
    let outcome = runtime()?.block_on(async { child::run(jq, &cancel_on_signal()).await });
    let outcome = outcome.map_err(|error| {
        Failure::failed(format!("{error}; filters of `query` are written for jq")).hint(
            "install jq, or use `marvin tk query` and \
             `marvin tk ls --json` without it",
        )
    })?;
    match outcome.ending {
        Ending::Exited(0) => output::raw(&outcome.stdout.text()).map(|()| Exit::Success),
        Ending::Exited(_) => {
            let error = outcome.stderr.text();
            Err(Failure::usage(format!("jq does not understand the filter `{filter}`: {}", error.trim())))
        }
        Ending::Late => Err(Failure::failed(format!("jq was not done after {} s", JQ_TIMEOUT.as_secs()))),
        Ending::Signalled(_) | Ending::Cancelled | Ending::Crowded => {
            Err(Failure::failed("jq was interrupted"))
        }
    }
}

/// Opens a copy in the person's editor and saves it, unless the ticket was changed meanwhile.
///
/// Without a terminal it prints which file to edit.
fn edit(store: &Store, id: &str, context: &ProjectContext, json: bool) -> Result<Exit, Failure> {
    let id = store.resolve(id)?;
    let place = store.place().join(format!("{id}.md"));
    if json {
        return output::json(&TicketFile { id: &id, path: &place });
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return output::line(&format!("Edit ticket file: {}", place.display()));
    }
    let before = store.read(&id)?;
    let kept = context.layout.drafts();
    let copy = kept.join(format!("{id}.{}.md", marvin_base::ids::short(6)));
    marvin_base::atomic::replace_private(&copy, before.bytes()).map_err(Failure::failed)?;
    let editor = context.environment.get("EDITOR").filter(|editor| !editor.trim().is_empty()).unwrap_or("vi");
    let words = marvin_tools::tickets::words(editor).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::usage(format!("$EDITOR cannot be understood: {editor}")));
    };
    let status = std::process::Command::new(program).args(arguments).arg(&copy).status();
    let status = status.map_err(|error| Failure::failed(format!("cannot start `{program}`: {error}")))?;
    if !status.success() {
        std::fs::remove_file(&copy).ok();
        return Err(Failure::failed(format!("`{program}` ended with {status}; {id} is as it was")));
    }
    let lost = |message: String| {
        Failure::failed(format!("{message}; your text was not taken over, it lies in {}", copy.display()))
    };
    let after = std::fs::read(&copy).map_err(|error| lost(format!("cannot read the copy: {error}")))?;
    if after != before.bytes() {
        store.replace(&id, &before, &after).map_err(|error| lost(error.to_string()))?;
    }
    std::fs::remove_file(&copy).ok();
    Ok(Exit::Success)
}
