//! Errors of the commands that serve other programs: hooks, daemon, MCP, the page, `init`.

use crate::cli::{person_screen, screen, show};
use crate::hooks::Scene;
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn hook() {
    // The scene ends the daemon that a hook starts.
    let scene = Scene::new();
    let hook = |event: &str, input: &str| {
        let arguments = ["hook", event, "--client", "claude"];
        show(&scene.world, scene.world.marvin(arguments).input(input))
    };
    assert_snapshot!(screen(&scene.world, "hook"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <EVENT>

    Usage: marvin hook <EVENT>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&scene.world, "hook pre-tool-use --client copilot"), @"
    --- stderr ---
    marvin: invalid value 'copilot' for '--client <NAME>'
      [possible values: claude, codex]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(hook("no-such-event", "{}"), @"
    {}
    [exit code 0]
    ");
    assert_snapshot!(hook("pre-tool-use", "nonsense"), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Marvin could not judge this: the input is not JSON"}}
    [exit code 0]
    "#);
    assert_snapshot!(hook("pre-tool-use", ""), @r#"
    {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Marvin could not judge this: the input is empty"}}
    [exit code 0]
    "#);
}

#[test]
fn daemon() {
    let world = World::new();
    assert_snapshot!(screen(&world, "daemon"), @"
    --- stderr ---
    marvin: Manage the daemons that answer hooks: start, stop, list, status, log, restart, cleanup

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
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "daemon start /dev/null"), @"
    --- stderr ---
    marvin: /dev/null is not a directory
      hint: name a project's directory
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "daemon start no-such-place"), @"
    --- stderr ---
    marvin: no-such-place does not exist
      hint: name a project's directory
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "daemon begin"), @"
    --- stderr ---
    marvin: unrecognized subcommand 'begin'

    Usage: marvin daemon <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "daemon status missing"), @"
    No daemon runs for [PROJECT]/missing; a hook starts it.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "daemon log"), @"
    The log is empty.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "daemon stop"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
}

#[test]
fn mcp() {
    let world = World::new();
    assert_snapshot!(screen(&world, "mcp serve"), @"
    --- stderr ---
    marvin: unrecognized subcommand 'serve'

      tip: a similar subcommand exists: 'servers'

    Usage: marvin mcp [OPTIONS]
           marvin mcp <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "mcp --http 0.0.0.0:0"), @"
    --- stderr ---
    marvin: --http 0.0.0.0:0: tools that run commands are served on this machine only
      hint: use 127.0.0.1:0
    [exit code 5]
    ");
    assert_snapshot!(screen(&world, "mcp --http nowhere"), @"
    --- stderr ---
    marvin: invalid value 'nowhere' for '--http [<ADDRESS>]': not an address; write 127.0.0.1:0 or [::1]:8080

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "mcp --tools gate_explain,nothing"), @"
    --- stderr ---
    marvin: `nothing` is not a tool to serve
      hint: `marvin tools list` shows tools; `--tools all` serves every one
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "mcp servers"), @"
    --- stderr ---
    marvin: Manage MCP servers whose tools Marvin's agents get: [mcp.servers.NAME] in config.toml

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
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "mcp servers check nothing"), @"
    --- stderr ---
    marvin: the settings name no server `nothing` (there are: none)
      hint: add [mcp.servers.nothing] to config.toml
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "mcp servers trust"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <NAME>

    Usage: marvin mcp servers trust <NAME>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "mcp servers trust nothing --yes"), @"
    --- stderr ---
    marvin: the settings name no server `nothing` (there are: none)
      hint: add [mcp.servers.nothing] to config.toml
    [exit code 2]
    ");
    world.write(".marvin/config.toml", "[mcp.servers.docs]\ncommand = 7\n");
    assert_snapshot!(screen(&world, "mcp servers list"), @"
    The settings name no servers; see docs/mcp.md for [mcp.servers.NAME] in config.toml.
    --- stderr ---
    marvin: [mcp.servers.docs] ([PROJECT]/.marvin/config.toml): invalid type: integer `7`, expected a string
    [exit code 1]
    ");
    world.write(".marvin/config.toml", "[mcp.servers.docs]\ncommand = \"./no-such-server\"\n");
    assert_snapshot!(screen(&world, "mcp servers check"), @"
    The settings name no server to check.
    --- stderr ---
    note: the MCP server `docs` is named by this project and not trusted, so it is not used: ./no-such-server
      hint: `marvin mcp servers trust docs`
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "mcp servers trust docs --yes"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
}

#[test]
fn chat_ui() {
    let world = World::new();
    assert_snapshot!(screen(&world, "chat-ui --port high"), @"
    --- stderr ---
    marvin: invalid value 'high' for '--port <PORT>': invalid digit found in string

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "chat-ui --host 0.0.0.0 --port 0"), @"
    --- stderr ---
    note: nothing can be approved here: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    marvin: 0.0.0.0:0 can be reached from other machines: anyone with the link can read everything here and run commands
      hint: leave out --host to serve this machine only, or say --expose when that is what you want
    [exit code 5]
    ");
    assert_snapshot!(screen(&world, "chat-ui --host nowhere.invalid --port 0"), @"
    --- stderr ---
    marvin: invalid value 'nowhere.invalid' for '--host <ADDRESS>': invalid IP address syntax

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "chat-ui --workspace missing --port 0"), @"
    --- stderr ---
    marvin: --working-dir missing: no such directory
      hint: make it first, or check the spelling
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "chat-ui --provider opnai --port 0"), @"
    --- stderr ---
    marvin: setting `model.provider` (flag) cannot be `opnai`: it takes one of anthropic, openai, gemini, groq, kimi, copilot, ollama, local, codex, claude, mock; did you mean `openai`?
    [exit code 2]
    ");
}

#[test]
fn init() {
    let world = World::new();
    // No other `marvin` is found there.
    let init = |words: &[&str]| {
        show(&world, world.person(["init"]).args(words).env("PATH", world.root().join("tmp")))
    };
    assert_snapshot!(init(&["--client", "copilot"]), @"
    --- stderr ---
    marvin: invalid value 'copilot' for '--client <CLIENT>'
      [possible values: claude, codex, both]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(init(&["--working-dir", "missing"]), @"
    --- stderr ---
    marvin: cannot use [PROJECT]/missing: No such file or directory (os error 2)
      hint: name a directory that exists
    [exit code 2]
    ");
    assert_snapshot!(init(&["--remove"]), @"
    Marvin is not set up here; nothing was removed.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "init --remove"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    world.write(".claude/settings.local.json", "{\"hooks\": [");
    assert_snapshot!(init(&["--client", "claude"]), @"
    --- stderr ---
    marvin: [PROJECT]/.claude/settings.local.json is not JSON: line 1: it ends too early; nothing was changed
      hint: fix that line, then run `marvin init` again
    [exit code 1]
    ");
}
