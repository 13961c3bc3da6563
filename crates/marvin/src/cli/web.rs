//! The command line of `marvin chat-ui`.

use super::ModelArguments;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

/// What `marvin chat-ui --help` ends with.
pub(super) const CHAT_UI_HELP: &str = "\
Serves until it is interrupted. The link that it prints opens the page once, in one window; another is printed when it was used. With
--json the token itself is printed, for programs. Only this machine is served unless --host and --expose say otherwise.

Examples:
  marvin chat-ui --open                                 in this directory, and open the browser
  marvin chat-ui --llm claude --workspace ~/src/app     with Claude, in another directory
  marvin chat-ui --port 0 --json | jq -r .url           any free port; the link for a program";

/// What to serve, and where.
#[derive(Debug, Args)]
pub(crate) struct ChatUiArguments {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = crate::commands::WEB_PORT)]
    pub(crate) port: u16,
    /// Serve other machines too, at --host: without encryption, to everybody who gets the link
    #[arg(long)]
    pub(crate) expose: bool,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// The directory to work in (default: the project around this directory, else the directory itself)
    #[arg(long, visible_alias = "working-dir", value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// Open the link in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Print {"url","token","link"} when it is ready
    #[arg(long)]
    pub(crate) json: bool,
}
