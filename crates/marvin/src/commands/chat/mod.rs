//! `marvin` alone: a conversation, in the terminal front end, or line by line elsewhere and with `--plain`.

mod plain;

use crate::commands::turn::{self, TurnArguments};
use crate::commands::{chat_ui, welcome};
use crate::failure::Failure;
use crate::pack_context;
use crate::runtime::{runtime, start_mcp_servers};
use marvin_agent::ProjectContext;
use marvin_agent::chat::{Chat, ChatOptions, ExtraContextProvider, GameHost, StepSource, arm_alarms};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::person::{DecisionChannel, Person};
use marvin_base::settings::table;
use marvin_flow::waiting::WaitingSteps;
use marvin_mcp::client::Servers;
use marvin_table::ChatGames;
use marvin_tui::{OpenedChat, Options};
use std::io::IsTerminal;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Opens a conversation in the front end that fits.
pub(crate) fn run(arguments: TurnArguments) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let dumb = environment.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if arguments.curses && !at_terminal {
        return Err(Failure::usage("--curses needs a terminal").hint("omit it, or use --plain"));
    }
    if arguments.plain || !at_terminal || (dumb && !arguments.curses) {
        return plain::run(&arguments, at_terminal);
    }
    let context = turn::context(&arguments, false)?;
    if !arguments.curses && context.settings.text(&table::ENTRY) == "ui" {
        return chat_ui::open_browser(turn::context(&arguments, true)?);
    }
    let with_browser = context.settings.on(&table::WEB_UI);
    let options = Options {
        no_color: environment.get("NO_COLOR").is_some_and(|value| !value.is_empty()),
        editor: editor(&environment),
    };
    let project = context.clone();
    let open = move || async move {
        let OpenConversation { chat, servers, problem } =
            open(&arguments, context, true).await.map_err(|failure| failure.to_string())?;
        let welcome = welcome::text(&chat.project());
        let served = if with_browser { Some(chat_ui::serve_beside(&chat).await) } else { None };
        let served = served.map(|served| match served {
            Ok(link) => format!("In the browser: {link}"),
            Err(error) => format!("not in the browser: {error}"),
        });
        let note = problem.into_iter().chain(served).collect::<Vec<_>>().join("\n");
        Ok::<_, String>(OpenedChat { chat, welcome, note, held: Box::new(servers) })
    };
    // The screen is the front end's; the log file of each run is still written.
    marvin_base::diagnostic_log::hide();
    let ended = marvin_tui::run(&options, open).map_err(Failure::failed);
    runtime()?.block_on(arm_alarms(&project));
    ended.map(|()| Exit::Success)
}

/// The person's editor.
fn editor(environment: &Environment) -> String {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| environment.get(name).filter(|value| !value.trim().is_empty()));
    named.unwrap_or("nano").to_string()
}

/// A conversation that was opened.
struct OpenConversation {
    chat: Chat,
    servers: Servers,
    /// Why nothing can be approved at this terminal.
    problem: Option<String>,
}

/// Opens the conversation, with the MCP servers that the settings name.
async fn open(
    arguments: &TurnArguments,
    mut context: ProjectContext,
    at_terminal: bool,
) -> Result<OpenConversation, Failure> {
    let servers = start_mcp_servers(&mut context, &CancellationToken::new()).await;
    // Without a terminal no person can be asked, so a question of the gate becomes a refusal.
    let found = at_terminal.then(|| Person::identify(&context.environment, DecisionChannel::Screen, None));
    let (person, problem) = match found {
        Some(Ok(person)) => (Some(person), None),
        Some(Err(error)) => (None, Some(format!("note: nothing can be approved here: {error}"))),
        None => (None, None),
    };
    let brings: ExtraContextProvider = Arc::new(pack_context::extra_context);
    let steps = Some(Arc::new(WaitingSteps::default()) as Arc<dyn StepSource>);
    let games = Some(Arc::new(ChatGames::default()) as Arc<dyn GameHost>);
    let options = ChatOptions { project: context, person, brings: Some(brings), steps, games };
    let chat = Chat::open(options).await?;
    if let Some(selection) = &arguments.turbotime {
        chat.select(Some(selection.clone()));
    }
    Ok(OpenConversation { chat, servers, problem })
}
