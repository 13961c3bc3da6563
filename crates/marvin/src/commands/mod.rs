//! One file a command.

mod chat;
mod chat_ui;
mod commitments;
mod completions;
mod config;
mod daemon;
mod deciding;
mod doc;
mod doctor;
pub(crate) mod gate;
pub(crate) mod hook;
mod init;
mod inspect_run;
mod lab;
mod mcp;
mod memory;
mod migration;
mod model_server;
mod packs;
mod pipeline;
mod prompt;
mod prompt_show;
mod replay;
pub(crate) mod schema;
mod servitors;
mod tk;
mod tools;
mod turn;
mod welcome;
mod workflows;

pub(crate) use chat_ui::PORT as WEB_PORT;
pub(crate) use turn::not_understood;

use crate::cli::{self, Arguments, Command};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::resolver;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Runs the command that was asked for.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    migration::run_before(&arguments);
    match arguments.command {
        None if arguments.turn.design_first => pipeline::design_first(&arguments.turn),
        None if arguments.turn.non_interactive => turn::non_interactive(&arguments.turn),
        None if arguments.turn.words == ["help"] => {
            output::line(&cli::definition().render_long_help().to_string())
        }
        None if !arguments.turn.words.is_empty() => turn::inline(&arguments.turn),
        None => chat::run(arguments.turn),
        Some(Command::Config { key, json, schema, markdown }) => {
            config::run(key.as_deref(), json, schema, markdown)
        }
        Some(Command::Doctor { json }) => doctor::run(json),
        Some(Command::Gate(command)) => gate::run(command),
        Some(Command::Hook { event, client, .. }) => {
            hook::run(&event, client.as_deref().and_then(marvin_hooks::event::Client::read))
        }
        Some(Command::Daemon(command)) => daemon::run(command),
        Some(Command::Commitments(command)) => commitments::run(command),
        Some(Command::Verify(place)) => commitments::verify_project(&place),
        Some(Command::ChatUi(arguments)) => chat_ui::run(&arguments),
        Some(Command::Init(arguments)) => init::run(&arguments),
        Some(Command::InspectRun(arguments)) => inspect_run::run(&arguments),
        Some(Command::Prompt(command)) => prompt_show::run(command),
        Some(Command::Doc(command)) => doc::run(command),
        Some(Command::Memory(command)) => memory::run(command),
        Some(Command::Packs(command)) => packs::run(command),
        Some(Command::Lessons(command)) => packs::run_lessons(command),
        Some(Command::Mcp(arguments)) => mcp::run(&arguments),
        Some(Command::Servitors(command)) => servitors::run(command),
        Some(Command::Tk { words }) => tk::run(words),
        Some(Command::Tools(command)) => tools::run(command),
        Some(Command::ModelServer { script, listen, .. }) => model_server::run(&script, &listen),
        Some(Command::Pipeline(command)) => pipeline::run(command),
        Some(Command::ListTasks { show, json }) => lab::list(show.as_deref(), json),
        Some(Command::RunTask(arguments)) => lab::run_task(&arguments),
        Some(Command::RunSuite(arguments)) => lab::run_suite(&arguments),
        Some(Command::RunWorkflow(arguments)) => workflows::run(&arguments),
        Some(Command::Workflow(command)) => workflows::about(command),
        Some(Command::ResumeRun(arguments)) => workflows::resume(&arguments),
        Some(Command::ListRuns(arguments)) => workflows::list(&arguments),
        Some(Command::StopRun(which)) => workflows::stop(&which),
        Some(Command::Replay { run, json }) => replay::run(&run, json),
        Some(Command::Schema(arguments)) => schema::run(&arguments),
        Some(Command::Completions { shell }) => completions::completions(shell),
        Some(Command::Man) => completions::man(),
    }
}

/// The directory that the program was started in.
fn directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::usage(format!(
            "the current directory cannot be used: {error}\n  hint: cd to a directory that exists"
        ))
    })
}

/// The project that a command is about: the one that is named, else the one around this directory.
fn project(named: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let bare = Layout::new(&Environment::of_process(), None);
    Ok(named.map(Path::to_path_buf).or(bare.find_project(&directory()?)))
}

/// Settings and directories for a command without a session.
fn ground(coding: bool) -> Result<ProjectContext, Failure> {
    Ok(ProjectContext::find(Environment::of_process(), directory()?, None, coding, Vec::new())?)
}

/// A runtime on this thread. Children are tied to the thread that started them, so it must outlive them.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    resolver::prepare();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))
}

/// Starts the servers of others that the settings name, and lends their tools; none is waited for longer than it may take.
async fn lend(ground: &mut ProjectContext, cancel: &CancellationToken) -> marvin_mcp::client::Servers {
    let mut servers = marvin_mcp::client::start(ground, None, cancel).await;
    ground.external_tools = std::mem::take(&mut servers.lent);
    servers
}

/// A token that is cancelled by an interrupt or a polite request to end.
fn cancel_on_signal() -> CancellationToken {
    use tokio::signal::unix::{SignalKind, signal};
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    // Heard from now on, not from when the task first runs.
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hang_up)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return cancel;
    };
    tokio::spawn(async move {
        let mut signalled = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        };
        signalled().await;
        token.cancel();
        // Whoever asks twice does not want to wait for the record to be closed; whole lines are safe anyway.
        signalled().await;
        #[expect(clippy::disallowed_methods, reason = "the second interrupt means: now")]
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    cancel
}
