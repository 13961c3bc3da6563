//! `marvin` alone: a conversation. In a terminal the terminal's own face; else, and with `--plain`, line by line.

mod plain;

use super::{chat_ui, lend, packs, turn, welcome};
use crate::cli::{OutputFormat, TurnArguments};
use crate::failure::Failure;
use marvin_agent::ProjectContext;
use marvin_agent::chat::{Chat, ChatOptions};
use marvin_base::environment::Environment;
use marvin_base::person::{DecisionChannel, Person};
use marvin_base::settings::table;
use marvin_base::{Exit, resolver};
use marvin_mcp::client::Servers;
use marvin_tools::turbotime::Selection;
use marvin_tui::{OpenedChat, Options};
use std::io::IsTerminal;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Opens a conversation in the face that fits.
pub(super) fn run(arguments: TurnArguments) -> Result<Exit, Failure> {
    if arguments.json || arguments.output_format != OutputFormat::Text {
        return Err(Failure::usage(
            "there is nothing to answer\n  hint: give words, or --non-interactive with a prompt (`marvin --help`)",
        ));
    }
    for (given, flag) in
        [(arguments.record.is_some(), "--record"), (arguments.output_schema.is_some(), "--output-schema")]
    {
        if given {
            return Err(Failure::usage(format!(
                "{flag} is for one answer\n  hint: give words, or --non-interactive with a prompt (`marvin --help`)"
            )));
        }
    }
    let environment = Environment::of_process();
    let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let dumb = environment.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if arguments.curses && !at_terminal {
        return Err(Failure::usage("--curses needs a terminal\n  hint: leave it away, or use --plain"));
    }
    if arguments.plain || !at_terminal || (dumb && !arguments.curses) {
        return plain::run(&arguments, at_terminal);
    }
    let ground = turn::ground(&arguments, false)?;
    if !arguments.curses && ground.settings.text(&table::ENTRY) == "ui" {
        return chat_ui::first(turn::ground(&arguments, true)?);
    }
    let beside = ground.settings.on(&table::WEB_UI);
    let options = Options {
        no_color: environment.get("NO_COLOR").is_some_and(|value| !value.is_empty()),
        editor: editor(&environment),
    };
    let open = move || async move {
        let (chat, servers) = open(&arguments, ground, true).await.map_err(|failure| failure.message)?;
        let welcome = welcome::text(&chat.project());
        let served = if beside { Some(chat_ui::beside(&chat).await) } else { None };
        let note = served.map_or_else(String::new, |served| match served {
            Ok(link) => format!("In the browser: {link}"),
            Err(error) => format!("not in the browser: {error}"),
        });
        Ok(OpenedChat { chat, welcome, note, held: Box::new(servers) })
    };
    marvin_tui::run(&options, open).map_err(Failure::failed)?;
    Ok(Exit::Success)
}

/// The person's editor.
fn editor(environment: &Environment) -> String {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| environment.get(name).filter(|value| !value.trim().is_empty()));
    named.unwrap_or("nano").to_string()
}

/// Opens the conversation, with the servers of others that the settings name.
async fn open(
    arguments: &TurnArguments,
    mut ground: ProjectContext,
    at_terminal: bool,
) -> Result<(Chat, Servers), Failure> {
    resolver::prepare();
    let servers = lend(&mut ground, &CancellationToken::new()).await;
    // Who is not at a terminal cannot be asked: then a question of the gate is a refusal.
    let found = at_terminal.then(|| Person::identify(&ground.environment, DecisionChannel::Screen, None));
    let person = found.and_then(Result::ok);
    let chat =
        Chat::open(ChatOptions { project: ground, person, brings: Some(Arc::new(packs::brought)) }).await?;
    if let Some(words) = &arguments.turbotime {
        let selection =
            Selection::read(words).map_err(|why| Failure::usage(format!("--turbotime: {why}")))?;
        chat.select(Some(selection));
    }
    Ok((chat, servers))
}
