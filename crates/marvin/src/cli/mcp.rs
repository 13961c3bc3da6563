//! The command line of `marvin mcp`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `marvin mcp --help` ends with.
pub(super) const MCP_HELP: &str = "\
Without --http it speaks on standard input and output, and ends when standard input closes. With --http it listens on this
machine only, and every request must carry a token: $MARVIN_MCP_TOKEN, or one that is made and printed on standard error.
Every call is judged by the gate and recorded as a run.

Examples:
  claude mcp add marvin -- marvin mcp                   for Claude Code, in this project
  codex mcp add marvin -- marvin mcp                    for Codex
  marvin mcp --http 127.0.0.1:8931                      for clients that want an address
  marvin mcp --tools gate_explain,verify                only these tools
  marvin mcp servers list                               servers whose tools Marvin's own agents get";

/// The server, or what Marvin knows of others.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Serve over HTTP at this address of this machine. Port 0: any free port
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) http: Option<String>,
    /// Which tools, separated by commas; `all` for every one (default: gate, commitments, servitors, memory, workflows)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// The project's directory (default: the project around this directory, else the directory itself)
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// Accepted for symmetry: what is served is always JSON, and with --http the address is printed as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Servers of others.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Keep the servers whose tools Marvin's agents get: [mcp.servers.NAME] in config.toml
    #[command(subcommand)]
    Servers(ServersCommand),
}

/// What can be done with them.
#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// List the servers that the settings name, and whether they may start
    #[command(
        after_help = "Nothing is started.\n\nExamples:\n  marvin mcp servers list\n  marvin mcp servers list --json | jq -r '.[].name'"
    )]
    List {
        #[command(flatten)]
        place: ServersPlace,
    },
    /// Start servers, list their tools, and end them again
    #[command(
        after_help = "Exit code 0 when all of them answer, 1 otherwise.\n\nExamples:\n  marvin mcp servers check\n  marvin mcp servers check github --json | jq '.[].tools'"
    )]
    Check {
        /// Only this one
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: ServersPlace,
    },
    /// Let a server start that this project's config.toml names, as it is now (a person's decision)
    #[command(
        after_help = "What it would run is shown first. A change of its definition, or of a file of the project that it runs, needs trust again.\n\nExamples:\n  marvin mcp servers trust docs\n  marvin mcp servers trust docs --yes\n  marvin mcp servers trust docs --remove"
    )]
    Trust {
        /// Which
        #[arg(value_name = "NAME")]
        name: String,
        /// Trust it no longer
        #[arg(long)]
        remove: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        place: ServersPlace,
    },
}

/// Which project, and how it is answered.
#[derive(Debug, Args)]
pub(crate) struct ServersPlace {
    /// The project's directory (default: the project around this directory)
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
