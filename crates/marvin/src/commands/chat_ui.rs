//! `marvin chat-ui`: the browser front end.

use crate::arguments::ModelArguments;
use crate::failure::Failure;
use crate::runtime::{cancel_on_signal, runtime, start_mcp_servers};
use crate::{output, pack_context, project};
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_agent::chat::{Chat, ChatOptions, arm_alarms};
use marvin_base::environment::Environment;
use marvin_base::person::decisions::state_dir;
use marvin_base::person::{DecisionChannel, Person};
use marvin_base::{Exit, ids};
use marvin_flow::waiting::WaitingSteps;
use marvin_table::ChatGames;
use marvin_web::{Setup, StartError, serve};
use serde::Serialize;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

/// Programs that open a link, the best first.
const OPENERS: [&str; 4] = ["xdg-open", "open", "wslview", "sensible-browser"];
/// How long an answer may take to end once the server does.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_PORT: u16 = 8765;
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT);

const HELP: &str = "\
Serves until it is interrupted. The printed link works once, in one window; another is printed after it was used. \
With --json the token itself is printed, for programs. Only this machine is served unless --host and --expose say otherwise.

Examples:
  marvin chat-ui --open                                 in this directory, and open the browser
  marvin chat-ui --llm claude --workspace ~/src/app     with Claude, in another directory
  marvin chat-ui --port 0 --json | jq -r .url           any free port; the link for a program";

/// Serve the page for your browser: chat, approvals, runs, servitors, gate, packs, settings
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChatUiArguments {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Serve other machines too, at --host: without encryption, to everyone who gets the link
    #[arg(long)]
    expose: bool,
    #[command(flatten)]
    model: ModelArguments,
    /// The directory to work in (default: the project around this directory, else the directory itself)
    #[arg(long, visible_alias = "working-dir", value_name = "PATH")]
    workspace: Option<PathBuf>,
    /// Open the link in the browser
    #[arg(long)]
    open: bool,
    /// Print {"url","token","link"} when it is ready
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Ready<'a> {
    url: String,
    token: &'a str,
    link: String,
}

/// The address that is served, and how it is announced.
struct ServeOptions {
    address: SocketAddr,
    beyond: bool,
    open: bool,
    json: bool,
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: &ChatUiArguments) -> Result<Exit, Failure> {
    let flags = arguments.model.flags();
    let context = project::project_context(arguments.workspace.as_deref(), true, flags)?;
    let options = ServeOptions {
        address: SocketAddr::new(arguments.host, arguments.port),
        beyond: arguments.expose,
        open: arguments.open,
        json: arguments.json,
    };
    serve_until_interrupted(context, &options)
}

/// Serves at the default address and opens the browser, for a person who prefers this front end.
pub(crate) fn open_browser(context: ProjectContext) -> Result<Exit, Failure> {
    let options = ServeOptions { address: DEFAULT_ADDRESS, beyond: false, open: true, json: false };
    serve_until_interrupted(context, &options)
}

/// Serves a conversation of the terminal in the browser too, at the default port or a free one. Gives the link.
pub(crate) async fn serve_beside(chat: &Chat) -> Result<String, StartError> {
    let cancel = CancellationToken::new();
    let token = ids::short(32);
    let setup = |address| Setup {
        project: Arc::new(chat.project()),
        chat: chat.clone(),
        token: token.clone(),
        address,
        beyond: false,
    };
    let server = match serve(setup(DEFAULT_ADDRESS), &cancel).await {
        Err(StartError::InUse(_)) => serve(setup((Ipv4Addr::LOCALHOST, 0).into()), &cancel).await,
        served => served,
    };
    // It serves for as long as the conversation's runtime lives.
    Ok(server?.link())
}

fn serve_until_interrupted(mut context: ProjectContext, options: &ServeOptions) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let cancel = cancel_on_signal();
        let servers = start_mcp_servers(&mut context, &cancel).await;
        let environment = context.environment.clone();
        let chat = Chat::open(ChatOptions {
            project: context.clone(),
            person: person(&environment),
            brings: Some(Arc::new(pack_context::extra_context)),
            steps: Some(Arc::new(WaitingSteps::default())),
            games: Some(Arc::new(ChatGames::default())),
        })
        .await?;
        let token = ids::short(32);
        let setup = Setup {
            project: Arc::new(context),
            chat: chat.clone(),
            token: token.clone(),
            address: options.address,
            beyond: options.beyond,
        };
        let server = serve(setup, &cancel).await.map_err(|error| match error {
            StartError::Beyond(_) => Failure::refused(error),
            _ => Failure::failed(error),
        })?;
        let mut redirect = announce(options, &server, &token, &environment)?;
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                () = server.opened() => {
                    redirect.take();
                    if !options.json {
                        output::talk(&format!("Opened. For another window: {}", server.link()));
                    }
                }
            }
        }
        drop(redirect);
        // A running answer ends first, and its record is closed.
        if chat.cancel().cancelled {
            let until = tokio::time::Instant::now() + ANSWER_TIMEOUT;
            while chat.status().busy && tokio::time::Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        server.stop().await;
        arm_alarms(&chat.project()).await;
        servers.end().await;
        Ok(Exit::Success)
    });
    runtime.shutdown_background();
    served
}

/// The person who started the server, unless an agent did.
fn person(environment: &Environment) -> Option<Person> {
    let found = Person::identify(environment, DecisionChannel::Page, None);
    if let Err(error) = &found {
        output::talk(&format!("note: nothing can be approved here: {error}"));
    }
    found.ok()
}

/// Prints the link. Gives the file that a browser was opened with, which is removed when it is dropped.
fn announce(
    options: &ServeOptions,
    server: &marvin_web::WebServer,
    token: &str,
    environment: &Environment,
) -> Result<Option<NamedTempFile>, Failure> {
    let address = server.address();
    if options.json {
        // For a program, which may open it more than once.
        let link = format!("http://{address}/#token={token}");
        output::json_object(&Ready { url: format!("http://{address}"), token, link })?;
    } else {
        output::line(&server.link())?;
        output::talk("Open this link, which works once; end with Ctrl-C.");
    }
    if !address.ip().is_loopback() {
        output::talk(
            "note: other machines can reach this address, and what is sent to it is not encrypted: everyone in between can read the \
             token and everything else, and have commands run as you",
        );
    }
    if !options.open {
        return Ok(None);
    }
    match write_redirect(environment, &server.link()) {
        Ok(page) if open(&format!("file://{}", page.path().display()), environment) => Ok(Some(page)),
        Ok(_) => {
            output::talk("note: no program that opens links was found; open it yourself");
            Ok(None)
        }
        Err(error) => {
            output::talk(&format!("note: cannot open the browser: {error}; open the link yourself"));
            Ok(None)
        }
    }
}

/// Writes a page that redirects to the link.
///
/// A browser is started with the name of this file: every user of the machine can read the arguments of processes, but
/// only the owner can read the file.
fn write_redirect(environment: &Environment, link: &str) -> std::io::Result<NamedTempFile> {
    let state = state_dir(environment).ok_or_else(|| std::io::Error::other("HOME is not set"))?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&state)?;
    let mut page = tempfile::Builder::new().prefix("open-").suffix(".html").tempfile_in(&state)?;
    write!(
        page,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Marvin</title>"
    )?;
    page.flush()?;
    Ok(page)
}

/// Opens an address with the first program that starts.
fn open(url: &str, environment: &Environment) -> bool {
    let start = |program: &str| {
        let mut command = Command::new(program);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    };
    let own = environment.get("BROWSER").map(str::to_string);
    own.iter().map(String::as_str).chain(OPENERS).any(start)
}
