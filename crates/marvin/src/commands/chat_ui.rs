//! `marvin chat-ui`: the browser face.

use super::{cancel_on_signal, directory, lend, packs, project, runtime};
use crate::cli::ChatUiArguments;
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::chat::{Chat, ChatOptions};
use marvin_base::environment::Environment;
use marvin_base::person::decisions::state_dir;
use marvin_base::person::{DecisionChannel, Person};
use marvin_base::{Exit, ids};
use marvin_web::{Setup, serve};
use serde_json::json;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

/// Programs that open a link, the best first.
const OPENERS: [&str; 4] = ["xdg-open", "open", "wslview", "sensible-browser"];
/// How long an answer may take to end once the server does.
const LAST: Duration = Duration::from_secs(10);
/// Where it is found unless somebody says otherwise.
const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
pub(crate) const PORT: u16 = 8765;

/// Where it is served, and who is told.
struct ServeOptions {
    address: SocketAddr,
    beyond: bool,
    open: bool,
    json: bool,
}

/// Serves until it is interrupted.
pub(super) fn run(arguments: &ChatUiArguments) -> Result<Exit, Failure> {
    let workspace = project(arguments.workspace.as_deref())?;
    let flags = arguments.model.flags();
    let ground =
        ProjectContext::find(Environment::of_process(), directory()?, workspace.as_deref(), true, flags)?;
    let served = ServeOptions {
        address: SocketAddr::new(arguments.host, arguments.port),
        beyond: arguments.expose,
        open: arguments.open,
        json: arguments.json,
    };
    until_interrupted(ground, &served)
}

/// As `run`, for a person whose first face it is: opened in their browser.
pub(super) fn first(ground: ProjectContext) -> Result<Exit, Failure> {
    until_interrupted(ground, &ServeOptions { address: usual(), beyond: false, open: true, json: false })
}

/// The browser's face of a conversation that is shown in a terminal, at the usual port or at any that is free. Gives the link.
pub(super) async fn beside(chat: &Chat) -> Result<String, String> {
    let cancel = CancellationToken::new();
    let token = ids::short(32);
    let setup = |address| Setup {
        ground: Arc::new(chat.project()),
        chat: chat.clone(),
        token: token.clone(),
        address,
        beyond: false,
    };
    let server = match serve(setup(usual()), &cancel).await {
        Err(marvin_web::StartError::InUse(_)) => serve(setup((LOOPBACK, 0).into()), &cancel).await,
        served => served,
    };
    // It serves for as long as the conversation's runtime lives.
    server.map(|server| server.link()).map_err(|error| error.to_string())
}

fn usual() -> SocketAddr {
    (LOOPBACK, PORT).into()
}

fn until_interrupted(ground: ProjectContext, wanted: &ServeOptions) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let cancel = cancel_on_signal();
        let mut ground = ground;
        let servers = lend(&mut ground, &cancel).await;
        let environment = ground.environment.clone();
        let ground = Arc::new(ground);
        let chat = Chat::open(ChatOptions {
            project: (*ground).clone(),
            person: person(&ground.environment),
            brings: Some(Arc::new(packs::brought)),
        })
        .await?;
        let token = ids::short(32);
        let setup = Setup {
            ground,
            chat: chat.clone(),
            token: token.clone(),
            address: wanted.address,
            beyond: wanted.beyond,
        };
        let server = serve(setup, &cancel).await.map_err(|error| match error {
            marvin_web::StartError::Beyond(_) => Failure::refused(error.to_string()),
            _ => Failure::failed(error.to_string()),
        })?;
        let mut door = tell(wanted, &server, &token, &environment)?;
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                () = server.opened() => {
                    door.take();
                    if !wanted.json {
                        output::talk(&format!("Opened. For another window: {}", server.link()));
                    }
                }
            }
        }
        drop(door);
        // The answer that is being given ends first, and its record is closed.
        if chat.cancel() {
            let until = tokio::time::Instant::now() + LAST;
            while chat.status().busy && tokio::time::Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        server.stop().await;
        servers.end().await;
        Ok(Exit::Success)
    });
    runtime.shutdown_background();
    served
}

/// The one who has the link is the one who started this, unless an agent did.
fn person(environment: &Environment) -> Option<Person> {
    let found = Person::identify(environment, DecisionChannel::Page, None);
    if let Err(error) = &found {
        output::talk(&format!("note: nothing can be approved here: {error}"));
    }
    found.ok()
}

/// Says where it is. Gives the file that a browser was opened with, which is removed when it is dropped.
fn tell(
    wanted: &ServeOptions,
    server: &marvin_web::WebServer,
    token: &str,
    environment: &Environment,
) -> Result<Option<NamedTempFile>, Failure> {
    let address = server.address();
    if wanted.json {
        // For a program, which may open it more than once.
        let link = format!("http://{address}/#token={token}");
        output::line(
            &json!({ "url": format!("http://{address}"), "token": token, "link": link }).to_string(),
        )?;
    } else {
        output::line(&server.link())?;
        output::talk("Open this link, which works once; end with Ctrl-C.");
    }
    if !address.ip().is_loopback() {
        output::talk(
            "note: other machines can reach this address, and what is sent to it is not encrypted: anybody in between can read the \
             token and everything else, and have commands run as you",
        );
    }
    if !wanted.open {
        return Ok(None);
    }
    let door = write_door(environment, &server.link());
    match door {
        Ok(door) if open(&format!("file://{}", door.path().display()), environment) => Ok(Some(door)),
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

/// A page that leads to the link. A browser is started with the name of this file: arguments of processes can be read by everybody on
/// the machine, and the file only by its owner.
fn write_door(environment: &Environment, link: &str) -> std::io::Result<NamedTempFile> {
    let state = state_dir(environment).ok_or_else(|| std::io::Error::other("HOME is not set"))?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&state)?;
    let mut door = tempfile::Builder::new().prefix("open-").suffix(".html").tempfile_in(&state)?;
    write!(
        door,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Marvin</title>"
    )?;
    door.flush()?;
    Ok(door)
}

/// Opens an address with what the machine has for it.
fn open(url: &str, environment: &Environment) -> bool {
    let start = |program: &str| {
        let mut command = Command::new(program);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    };
    let own = environment.get("BROWSER").map(str::to_string);
    own.iter().map(String::as_str).chain(OPENERS).any(start)
}
