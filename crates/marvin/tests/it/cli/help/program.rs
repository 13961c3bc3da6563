//! Help of the program itself and of its small commands.

use super::help;
use insta::assert_snapshot;

#[test]
fn the_program() {
    assert_snapshot!(help(""), @r"
    A deterministic shell for LLM agents: models propose, the shell decides

    Usage: marvin [OPTIONS] [WORDS]...
           marvin <COMMAND>

    Commands:
      config        Show every setting with its value and where it came from
      doctor        Show what is ready on this machine, and how to fix the rest
      bug-report    Write what an issue needs to one file: version, doctor, settings, and the last run
      tools         List, explain and call tools
      gate          Judge shell commands, explain verdicts, and manage rules
      hook          Answer a hook of Claude Code or Codex: its input on standard input, the answer on
                    standard output
      daemon        Manage the daemons that answer hooks: start, stop, list, status, log, restart,
                    cleanup
      commitments   Add and verify commitments, which must hold before work is done
      verify        Verify all commitments of this project
      prompt        Show an agent's prompt and its pieces
      doc           Show the documents of agents as they are stored
      servitors     Summon agents that outlive a process, and run them to their end
      memory        Decide what is remembered, search it, and see who approved it
      packs         Manage packs, the guidance for agents about files
      lessons       Manage lessons, which agents learn from corrections
      list-skills   List the skills in effect here, and those that are refused
      skills        Show, test, trust and remove skills
      build-skill   Let an agent write a skill with tests, and register it if they prove it
      tk            Work with tickets: create, start, close, dep, ls, ready, show, add-note …
      calendar      Show and change your calendar (calendar.ics of the active profile)
      alarms        Set, list and cancel alarms and timers
      ntfy          Follow topics of push notifications (ntfy), and send some
      blender       Connect Blender: install its add-on, see whether it answers
      model-server  Serve a script as a model over HTTP (OpenAI chat and responses, Anthropic, Gemini,
                    Ollama)
      mcp           Serve Marvin's tools over the Model Context Protocol, and manage other servers
      chat-ui       Serve the page for your browser: chat, approvals, runs, servitors, gate, packs,
                    settings
      init          Set a project up for Claude Code and Codex: hooks, packs, rules, skills
      run-workflow  Run a workflow
      workflow      Check and draw workflows, and decide for steps that wait for a person
      runs          List, show, stop and resume runs
      resume-run    Resume the run of a workflow, or of self-improve, that was interrupted, was stopped,
                    or waited for a person
      list-runs     List the runs of workflows
      stop-run      Stop the run of a workflow, or of self-improve, from anywhere
      inspect-run   Show what happened in a run
      worker        Carry out steps of workflows for a Temporal server
      fleet         Try workflows on many machines
      pipeline      Show the progress of a project's pipeline, resume it, and explain its phases
      list-tasks    List the tasks of the benchmark suite
      run-task      Run one task of the benchmark suite, and grade the result
      run-suite     Run the benchmark suite and write reports: JSON, Markdown, and a page with plots
      self-improve  Improve this checkout in parallel sessions, and merge the best verified result
      replay        Run a recorded run again and show the first point at which it differs
      mtg           Cards, decks and games of the rules engine for Magic (unofficial fan content)
      schema        Print the JSON schema of a file that Marvin writes
      completions   Print a completion script for a shell
      man           Print the man page

    Arguments:
      [WORDS]...
              The question, in words (asks once and exits)

    Options:
          --plain
              Use line mode (for screen readers and pipes)

          --curses
              Use the full-screen terminal front end; `marvin` alone does this in a terminal

          --non-interactive
              Run unattended: prompt from --prompt, --prompt-file or standard input, answer on standard
              output

          --prompt <TEXT>
              The prompt

          --prompt-file <PATH>
              A file that holds the prompt (for prompts too long for a command line)

          --resume <RUN>
              Resume an interrupted run, by its id: the same record, budget and prompt

          --turbotime <TOOL,…>
              Frame the goal and plan first, with these tools: scryfall, steam, knowledge, news, or all

          --working-dir <PATH>
              The directory to work in; every file and command stays inside it

          --model <[TIER=]MODEL>
              The model, or the model of a tier: NAME, or TIER=NAME (tiers: low/codex, high/opus, plan,
              plan_gen, test_writer, aux_reviewer, fallback)

          --provider <NAME>
              The provider (default: the first with a key, else the built-in mock)

              [alias: --llm]

          --script <FILE>
              A script for the mock provider (JSONL)

          --record <DIR>
              Save every exchange with the model into this directory, as a script

          --output-format <FORMAT>
              The content of standard output

              Possible values:
              - text:        Raw text, as it arrives
              - json:        One result object
              - stream-json: One event per line, the last being the result

              [default: text]

          --json
              Same as --output-format json

          --output-schema <FILE>
              A JSON schema that the final answer must match

          --commitment <KIND:ASSERTION>
              An assertion that must hold before the answer counts, for example 'shell:pytest -q'; may
              be given several times (exit code 3 when it does not hold)

          --oracle <PATH>
              A file or directory that the commitments are judged by and that must not change; may be
              given several times

          --may-change <PATH>
              A file that steers the tests (conftest.py, package.json, node_modules …) and that the
              agent may change; may be given several times

          --max-cost <USD>
              Stop everything, sub-agents included, when this many US dollars are spent (exit code 6)

          --max-rounds <N>
              Stop after this many tool rounds

          --deadline <SECONDS>
              Stop after this many seconds, the wait for the prompt included; 0: no limit

          --design-first
              Build it in phases: documents, reviews, tests first, code, proofs; the same command
              resumes where it ended

          --ntfy <TOPIC>
              Push the start and the end of the run (and every phase) to this ntfy topic

      -B
              Keep Python children from writing bytecode files

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Diagnostics, with every command: -v shows on standard error what Marvin does, -vv shows more;
    a run keeps it in marvin.log. MARVIN_LOG=info,marvin_gate=debug writes only that file.

    Exit codes: 0 success, 1 the work failed, 2 usage, 3 not verified, 4 blocked, 5 refused by the gate,
    6 budget spent, 130 interrupted

    Examples:
      marvin                                                talk, in a terminal (--plain: line by line)
      marvin what is 3 km in miles                          ask once, as a person
      marvin --non-interactive --prompt 'fix the test'      run unattended in this directory
      echo 'list files' | marvin --non-interactive          the prompt from standard input
      marvin --non-interactive --prompt-file task.md --working-dir ~/src/app --max-cost 2 \
        --output-format stream-json
      marvin --non-interactive --prompt 'fix the tests' --commitment 'shell:pytest -q'
                                                            done when the command says so, not the model
      marvin --non-interactive --working-dir app --design-first --prompt 'a to-do list as a web service'
                                                            from a sentence to verified software
      marvin doctor                                         what is ready, and how to fix the rest
    ");
}

#[test]
fn config_and_doctor() {
    assert_snapshot!(help("config"), @r#"
    Show every setting with its value and where it came from

    Usage: marvin config [OPTIONS] [KEY]

    Arguments:
      [KEY]  Only this setting

    Options:
          --json      As JSON
          --schema    The JSON schema of config.toml
          --markdown  The reference of all settings, as Markdown
      -h, --help      Print help

    Examples:
      marvin config
      marvin config limits.rounds
      marvin config --json | jq '.[] | select(.origin != "default")'
      marvin config --schema > config.schema.json
    "#);
    assert_snapshot!(help("bug-report"), @"
    Write what an issue needs to one file: version, doctor, settings, and the last run

    Usage: marvin bug-report [OPTIONS]

    Options:
          --run <RUN>           The run: its id, the beginning of it, or its directory (default: the
                                newest of this project)
          --out <FILE>          The new file (default: marvin-bug-report-TIME.md in this directory)
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    The file is Markdown that only you can read. Secrets that Marvin knows or recognises are replaced,
    but prompts, answers and file names of the run are in it: read it before you send it. Nothing is
    sent.

    Exit code 2 when the run does not exist or the file does; nothing is written then.

    Examples:
      marvin bug-report
      marvin bug-report --run run_20260203_040506_1a2b --out report.md
    ");
    assert_snapshot!(help("doctor"), @"
    Show what is ready on this machine, and how to fix the rest

    Usage: marvin doctor [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Exit code 1 when something that Marvin needs is missing.

    Examples:
      marvin doctor
      marvin doctor --json | jq '.problems'
    ");
}

#[test]
fn tools() {
    assert_snapshot!(help("tools"), @r#"
    List, explain and call tools

    Usage: marvin tools <COMMAND>

    Commands:
      list    List the tools
      schema  Show the schema of a tool's arguments
      check   Check which services can be asked: keys, addresses and, with --live, whether they answer
      call    Call a tool, judged and recorded as an agent's call would be

    Options:
      -h, --help  Print help

    Examples:
      marvin tools list
      marvin tools schema read_file
      marvin tools call read_file --args '{"path":"Cargo.toml"}'
    "#);
    assert_snapshot!(help("tools list"), @"
    List the tools

    Usage: marvin tools list [OPTIONS]

    Options:
          --json  As JSON, with schemas
      -h, --help  Print help

    Examples:
      marvin tools list
      marvin tools list --json | jq -r '.[].name'
    ");
    assert_snapshot!(help("tools schema"), @"
    Show the schema of a tool's arguments

    Usage: marvin tools schema [OPTIONS] <NAME>

    Arguments:
      <NAME>  The tool

    Options:
          --result  Show the schema of the result's data instead of the arguments
          --json    Accepted for symmetry: a schema is always JSON
      -h, --help    Print help

    Examples:
      marvin tools schema read_file
      marvin tools schema read_file --result
    ");
    assert_snapshot!(help("tools check"), @r#"
    Check which services can be asked: keys, addresses and, with --live, whether they answer

    Usage: marvin tools check [OPTIONS]

    Options:
          --live  Send a small request to each service
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin tools check
      marvin tools check --live
      marvin tools check --json | jq '.[] | select(.key == "missing")'
    "#);
    assert_snapshot!(help("tools call"), @r#"
    Call a tool, judged and recorded as an agent's call would be

    Usage: marvin tools call [OPTIONS] <NAME>

    Arguments:
      <NAME>  The tool

    Options:
          --args <JSON>         Its arguments, as a JSON object [default: {}]
          --working-dir <PATH>  The directory to work in
          --json                The whole result as JSON
      -h, --help                Print help

    Examples:
      marvin tools call convert_units --args '{"value":3,"from_unit":"km","to_unit":"miles"}'
      marvin tools call read_file --args '{"path":"Cargo.toml"}' --working-dir ~/src/app
    "#);
}

#[test]
fn tickets() {
    assert_snapshot!(help("tk"), @"
    Tickets: one Markdown file each, in .tickets here or above (or the directory TICKETS_DIR).

    Usage: marvin tk COMMAND [WORDS …]

      create [TITLE] [OPTIONS]        create a ticket; prints its id
        -d, --description TEXT          what is to be done, and why
        --design TEXT                   how
        --acceptance TEXT               how to see that it is done
        -t, --type TYPE                 bug, feature, task (default), epic or chore
        -p, --priority N                0 (highest) to 4; default 2
        -a, --assignee NAME             who does it
        --external-ref NAME             its name elsewhere, such as gh-123
        --parent ID                     the ticket that it is a part of
        --tags A,B                      tags
      start ID                        in progress
      close ID                        done
      reopen ID                       open again
      status ID STATUS                open, in_progress or closed
      dep ID OTHER                    ID needs OTHER to be closed first
      dep tree [--full] ID            what ID needs; --full: each as often as it is needed
      dep cycle                       cycles among the tickets that are not closed
      undep ID OTHER                  ID no longer needs OTHER
      link ID ID [ID …]               link related tickets
      unlink ID OTHER                 remove the link
      ls [--status S] [-a NAME] [-T TAG]      list tickets (also: list)
      ready [-a NAME] [-T TAG]        what can be worked on
      blocked [-a NAME] [-T TAG]      what waits, and for what
      closed [--limit N] [-a NAME] [-T TAG]   closed last (20)
      show ID                         the ticket and its relations to others
      add-note ID [TEXT]              append a note; without TEXT from standard input
      edit ID                         open it in $EDITOR (people only)
      query [FILTER]                  one JSON object per line; FILTER as for `select` of jq, which must be installed
      super COMMAND …                 the same as COMMAND
      help                            this text

    A part of an id is enough, when only one ticket contains it. --json prints the result as JSON.

    Examples:
      marvin tk create 'Login fails' -t bug -p 1 -d 'Error 500 after a wrong password' --tags auth
      marvin tk dep nw-5c46 nw-77aa
      marvin tk ready --json
      echo 'seen again on Monday' | marvin tk add-note 5c46
    ");
}

#[test]
fn schema_completions_and_man() {
    assert_snapshot!(help("schema"), @"
    Print the JSON schema of a file that Marvin writes

    Usage: marvin schema [OPTIONS] <FILE>

    Arguments:
      <FILE>
              The file

              Possible values:
              - run:          run.json
              - trace:        Lines of trace.jsonl
              - config:       config.toml
              - self-improve: reports/self_improve.json of a run
              - session:      sessions/session-B-I/session.json of a self-improve run

    Options:
          --json
              Accepted for symmetry: a schema is always JSON

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      marvin schema run > run.schema.json
      marvin schema trace | jq '.oneOf[].properties.type.const'
    ");
    assert_snapshot!(help("completions"), @"
    Print a completion script for a shell

    Usage: marvin completions <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help  Print help

    Examples:
      marvin completions bash > ~/.local/share/bash-completion/completions/marvin
      marvin completions zsh > ~/.zfunc/_marvin
    ");
    assert_snapshot!(help("man"), @"
    Print the man page

    Usage: marvin man

    Options:
      -h, --help  Print help

    Example:
      marvin man > ~/.local/share/man/man1/marvin.1
    ");
}
