//! Help of the commands that serve other programs.

use super::help;
use insta::assert_snapshot;

#[test]
fn hook() {
    assert_snapshot!(help("hook"), @r#"
    Answer a hook of Claude Code or Codex: its input on standard input, the answer on standard output

    Usage: marvin hook [OPTIONS] <EVENT>

    Arguments:
      <EVENT>  The event

    Options:
          --client <NAME>  The client: claude or codex (default: by the environment) [possible values:
                           claude, codex]
          --json           Accepted for symmetry: answers are always what the client expects
      -h, --help           Print help

    Events have the client's own name or one in kebab case. A call that cannot be judged is never let
    through: the answer is a question, a refusal, or exit code 2.

    Examples:
      marvin hook pre-tool-use --client claude < event.json
      echo '{"session_id":"s","cwd":"/tmp","tool_name":"Bash","tool_input":{"command":"ls"}}' | marvin
      hook PreToolUse
    "#);
}

#[test]
fn daemon() {
    assert_snapshot!(help("daemon"), @"
    Manage the daemons that answer hooks: start, stop, list, status, log, restart, cleanup

    Usage: marvin daemon <COMMAND>

    Commands:
      start    Start this project's daemon, unless it runs
      stop     Stop this project's daemon; the next hook starts it again
      restart  Restart this project's daemon
      status   Show the status of this project's daemon
      log      Show the log of this project's daemon
      list     List the daemons of all projects
      cleanup  Remove files of dead daemons

    Options:
      -h, --help  Print help

    A hook starts the daemon of its project by itself, and it ends with the last session.

    Examples:
      marvin daemon status
      marvin daemon list --json | jq -r '.[].project'
      marvin daemon log --follow
    ");
    assert_snapshot!(help("daemon start"), @"
    Start this project's daemon, unless it runs

    Usage: marvin daemon start [OPTIONS] [PATH]

    Arguments:
      [PATH]  A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin daemon start
    ");
    assert_snapshot!(help("daemon stop"), @"
    Stop this project's daemon; the next hook starts it again

    Usage: marvin daemon stop [OPTIONS] [PATH]

    Arguments:
      [PATH]  A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin daemon stop ~/src/app
    ");
    assert_snapshot!(help("daemon restart"), @"
    Restart this project's daemon

    Usage: marvin daemon restart [OPTIONS] [PATH]

    Arguments:
      [PATH]  A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin daemon restart
    ");
    assert_snapshot!(help("daemon status"), @"
    Show the status of this project's daemon

    Usage: marvin daemon status [OPTIONS] [PATH]

    Arguments:
      [PATH]  A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin daemon status
      marvin daemon status --json | jq .pid
    ");
    assert_snapshot!(help("daemon log"), @"
    Show the log of this project's daemon

    Usage: marvin daemon log [OPTIONS] [PATH]

    Arguments:
      [PATH]  A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)

    Options:
          --json    As JSON
      -f, --follow  Follow the log until interrupted
      -h, --help    Print help

    Examples:
      marvin daemon log
      marvin daemon log --follow
    ");
    assert_snapshot!(help("daemon list"), @"
    List the daemons of all projects

    Usage: marvin daemon list [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin daemon list
      marvin daemon list --json | jq -r '.[].project'
    ");
    assert_snapshot!(help("daemon cleanup"), @"
    Remove files of dead daemons

    Usage: marvin daemon cleanup [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin daemon cleanup
    ");
}

#[test]
fn model_server() {
    assert_snapshot!(help("model-server"), @r#"
    Serve a script as a model over HTTP (OpenAI chat and responses, Anthropic, Gemini, Ollama)

    Usage: marvin model-server [OPTIONS] --script <FILE>

    Options:
          --script <FILE>     The script (JSONL)
          --listen <ADDRESS>  The address to listen on; only this machine. Port 0: any free port
                              [default: 127.0.0.1:0]
          --json              Accepted for symmetry: the address is always printed as JSON
      -h, --help              Print help

    Prints {"address":"http://127.0.0.1:PORT"} and serves until it is interrupted.

    Examples:
      marvin model-server --script hello.jsonl
      OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=x marvin --provider openai hello
    "#);
}

#[test]
fn mcp() {
    assert_snapshot!(help("mcp"), @"
    Serve Marvin's tools over the Model Context Protocol, and manage other servers

    Usage: marvin mcp [OPTIONS]
           marvin mcp <COMMAND>

    Commands:
      servers  Manage MCP servers whose tools Marvin's agents get: [mcp.servers.NAME] in config.toml

    Options:
          --http [<ADDRESS>]    Serve over HTTP at this address of this machine. Port 0: any free port
          --tools <NAMES>       The tools, separated by commas; `all` for every one, `mtg` for games of
                                Magic (default: gate, commitments, servitors, memory, workflows)
          --working-dir <PATH>  The project's directory (default: the project around this directory,
                                else the directory itself)
          --json                Accepted for symmetry: what is served is always JSON, and with --http
                                the address is printed as JSON
      -h, --help                Print help

    Without --http it speaks on standard input and output, and ends when standard input closes. With
    --http it listens on this machine only, and every request must carry a token: $MARVIN_MCP_TOKEN, or
    one that is made and printed on standard error.
    Every call is judged by the gate and recorded as a run.

    Examples:
      claude mcp add marvin -- marvin mcp                   for Claude Code, in this project
      codex mcp add marvin -- marvin mcp                    for Codex
      marvin mcp --http 127.0.0.1:8931                      for clients that want an address
      marvin mcp --tools gate_explain,verify                only these tools
      marvin mcp --tools mtg                                games of Magic
      marvin mcp servers list                               servers whose tools Marvin's own agents get
    ");
    assert_snapshot!(help("mcp servers"), @"
    Manage MCP servers whose tools Marvin's agents get: [mcp.servers.NAME] in config.toml

    Usage: marvin mcp servers <COMMAND>

    Commands:
      list   List the servers that the settings name, and whether they may start
      check  Start servers, list their tools, and end them again
      trust  Trust a server of this project's config.toml in its current version (a person's decision)

    Options:
      -h, --help  Print help

    Examples:
      marvin mcp servers list
      marvin mcp servers check github
      marvin mcp servers trust docs
    ");
    assert_snapshot!(help("mcp servers list"), @"
    List the servers that the settings name, and whether they may start

    Usage: marvin mcp servers list [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Nothing is started.

    Examples:
      marvin mcp servers list
      marvin mcp servers list --json | jq -r '.[].name'
    ");
    assert_snapshot!(help("mcp servers check"), @"
    Start servers, list their tools, and end them again

    Usage: marvin mcp servers check [OPTIONS] [NAME]

    Arguments:
      [NAME]  Only this one

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Exit code 0 when all of them answer, 1 otherwise.

    Examples:
      marvin mcp servers check
      marvin mcp servers check github --json | jq '.[].tools'
    ");
    assert_snapshot!(help("mcp servers trust"), @"
    Trust a server of this project's config.toml in its current version (a person's decision)

    Usage: marvin mcp servers trust [OPTIONS] <NAME>

    Arguments:
      <NAME>  The server

    Options:
          --remove              Remove the trust
          --yes                 Do not ask
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Its command is shown first. After a change of its definition, or of a project file that it runs, it
    must be trusted again.

    Examples:
      marvin mcp servers trust docs
      marvin mcp servers trust docs --yes
      marvin mcp servers trust docs --remove
    ");
}

#[test]
fn chat_ui() {
    assert_snapshot!(help("chat-ui"), @r#"
    Serve the page for your browser: chat, approvals, runs, servitors, gate, packs, settings

    Usage: marvin chat-ui [OPTIONS]

    Options:
          --host <ADDRESS>    The address to listen on [default: 127.0.0.1]
          --port <PORT>       The port; 0 picks a free one [default: 8765]
          --expose            Serve other machines too, at --host: without encryption, to everyone who
                              gets the link
          --provider <NAME>   The provider (default: the first with a key, else the built-in mock)
                              [alias: --llm]
          --model <MODEL>     The model
          --script <FILE>     A script for the mock provider (JSONL)
          --max-cost <USD>    Stop everything when this many US dollars are spent (exit code 6)
          --workspace <PATH>  The directory to work in (default: the project around this directory, else
                              the directory itself) [alias: --working-dir]
          --open              Open the link in the browser
          --json              Print {"url","token","link"} when it is ready
      -h, --help              Print help

    Serves until it is interrupted. The printed link works once, in one window; another is printed after
    it was used. With --json the token itself is printed, for programs. Only this machine is served
    unless --host and --expose say otherwise.

    Examples:
      marvin chat-ui --open                                 in this directory, and open the browser
      marvin chat-ui --llm claude --workspace ~/src/app     with Claude, in another directory
      marvin chat-ui --port 0 --json | jq -r .url           any free port; the link for a program
    "#);
}

#[test]
fn init() {
    assert_snapshot!(help("init"), @"
    Set a project up for Claude Code and Codex: hooks, packs, rules, skills

    Usage: marvin init [OPTIONS]

    Options:
          --client <CLIENT>
              The client

              Possible values:
              - claude: Claude Code
              - codex:  Codex
              - both:   Both

          --remove
              Undo the setup

          --skills
              Install the skills that Marvin's agents have, as far as you trust them or they are proved

          --dry-run
              Show what would change, and write nothing

          --working-dir <PATH>
              The directory of the project

          --json
              As JSON

      -h, --help
              Print help (see a summary with '-h')

    Settings are merged: other keys, other hooks, order and layout stay. A second run changes nothing.
    What is written is listed file by file; `--remove` takes back exactly that, and keeps what you
    changed.

    Without --client: every client whose directory (.claude, .codex) or program is found; if none is,
    both.
    Exit codes: 1 nothing was changed, because a file cannot be read; 4 you have to fix something.

    Examples:
      marvin init
      marvin init --dry-run
      marvin init --client claude --working-dir ~/src/app
      marvin init --skills                                  also into .claude/skills and .agents/skills
      marvin init --remove
    ");
}
