//! Errors of commitments, documents, prompts, servitors and tickets.

use crate::cli::{person_screen, screen};
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn commitments() {
    let world = World::new();
    assert_snapshot!(screen(&world, "commitments"), @"
    --- stderr ---
    marvin: Add and verify commitments, which must hold before work is done

    Usage: marvin commitments <COMMAND>

    Commands:
      add     Add a commitment; an assertion that cannot fail is refused
      list    List commitments with their status at the last verification
      verify  Verify commitments again from scratch; without ids, all of them
      drop    Drop a commitment (a person's decision)
      rehash  Accept the current files that a commitment is judged by (a person's decision)

    Options:
      -h, --help  Print help

    Examples:
      marvin commitments add 'shell:pytest -q' --description 'all tests pass' --oracle tests
      marvin commitments list
      marvin commitments verify
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <KIND:ASSERTION>

    Usage: marvin commitments add <KIND:ASSERTION>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add pytest"), @"
    --- stderr ---
    marvin: `pytest` names no kind
      hint: write KIND:ASSERTION, for example 'shell:pytest -q'; kinds: shell, file_exists, file_contains, json_equals, tests_pass
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add magic:x"), @"
    --- stderr ---
    marvin: unknown kind `magic` of commitment
      hint: kinds: shell, file_exists, file_contains, json_equals, tests_pass
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add shell:true"), @"
    --- stderr ---
    marvin: this commitment is refused: `true` cannot fail, so it proves nothing
      hint: write the command that runs the check, for example `pytest -q`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add 'shell:pytest || true'"), @"
    --- stderr ---
    marvin: this commitment is refused: `|| true` masks the exit code of what stands before
      hint: leave `|| true` out, or put it into a script file of the project and run that, for example `bash check.sh`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add 'shell:pytest; echo done'"), @"
    --- stderr ---
    marvin: this commitment is refused: `pytest` is followed by `echo done`, so that its exit code is lost
      hint: join the commands with `&&`, begin with `set -e`, or put it into a script file of the project and run that, for example `bash check.sh`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add 'shell:pytest > /etc/passwd'"), @"
    --- stderr ---
    marvin: this commitment is refused: the gate would not let it run: it would write what the system depends on: `/etc/passwd` [effect.write]
      hint: Write inside the workspace, or say in your answer what should be written there.
    [exit code 5]
    ");
    assert_snapshot!(screen(&world, "commitments add file_exists:."), @"
    --- stderr ---
    marvin: this commitment is refused: the project's directory is always there
      hint: name a file of the work itself
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add 'file_contains:a.txt: '"), @r#"
    --- stderr ---
    marvin: this commitment is refused: every file holds the empty text
      hint: write `PATH: TEXT`, or {"path": "…", "text": "…"}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "commitments add 'json_equals:a.json: /x = y'"), @r#"
    --- stderr ---
    marvin: this commitment is refused: its value is not JSON: expected value at line 1 column 1
      hint: write `PATH: /POINTER = VALUE` with VALUE as JSON, for example `package.json: /version = "1.2.0"`, or {"path": "…", "pointer": "/…", "value": …}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "commitments add tests_pass:jest"), @"
    --- stderr ---
    marvin: this commitment is refused: unknown runner `jest`
      hint: runners: auto, pytest, cargo, go, node, or `command LINE`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add shell:pytest --timeout 0"), @"
    --- stderr ---
    marvin: this commitment is refused: its timeout is 0 s
      hint: between 1 and 86400
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add shell:pytest --timeout soon"), @"
    --- stderr ---
    marvin: invalid value 'soon' for '--timeout <SECONDS>': invalid digit found in string

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add shell:pytest --oracle missing"), @"
    --- stderr ---
    marvin: this commitment is refused: its oracle `missing` cannot be read: cannot look at `missing`: no such file or directory
      hint: give a path inside of [PROJECT], relative to it
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "commitments add shell:pytest --agent ../x"), @"
    --- stderr ---
    marvin: `../x` cannot be the name of a document
      hint: letters, digits, `-` and `_`, at most 64
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "commitments list --agent nobody"), @"
    This project has no commitments.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "commitments verify c-1a2b3c"), @"
    --- stderr ---
    marvin: no project was found here
      hint: cd to its directory, or name it with --working-dir
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "commitments drop"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <ID>

    Usage: marvin commitments drop <ID>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "commitments drop c-1a2b3c --yes"), @"
    --- stderr ---
    marvin: no project was found here
      hint: cd to its directory, or name it with --working-dir
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "commitments rehash c-1a2b3c --yes"), @"
    --- stderr ---
    marvin: no project was found here
      hint: cd to its directory, or name it with --working-dir
    [exit code 2]
    ");
    world.write(".marvin/config.toml", "");
    assert_snapshot!(screen(&world, "commitments verify c-1a2b3c"), @"
    --- stderr ---
    marvin: unknown commitment `c-[ID]`
      hint: `marvin commitments list` shows what there is
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "commitments drop c-1a2b3c --yes"), @"
    --- stderr ---
    marvin: unknown commitment `c-[ID]`
      hint: `marvin commitments list` shows what there is
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "commitments rehash c-1a2b3c --yes"), @"
    --- stderr ---
    marvin: unknown commitment `c-[ID]`
      hint: `marvin commitments list` shows what there is
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "verify everything"), @"
    --- stderr ---
    marvin: unexpected argument 'everything' found

    Usage: marvin verify [OPTIONS]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "verify --working-dir missing"), @"
    --- stderr ---
    marvin: --working-dir missing: no such directory
      hint: make it first, or check the spelling
    [exit code 2]
    ");
}

#[test]
fn broken_documents() {
    let world = World::new();
    world.write_state("agents/project.md", "---\ncommitments: [\n---\n");
    assert_snapshot!(screen(&world, "commitments list"), @"
    This project has no commitments.
    --- stderr ---
    marvin: [STATE]/agents/project.md:2: `commitments` is not a JSON list: EOF while parsing a list at line 1 column 1
      hint: fix that line, or move the file away
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "verify"), @"

    problem: [STATE]/agents/project.md:2: `commitments` is not a JSON list: EOF while parsing a list at line 1 column 1
      hint: fix that line, or move the file away

    not verified: 0 of 0 passed, 1 more problem
    [exit code 3]
    ");
}

#[test]
fn documents_and_prompts() {
    let world = World::new();
    assert_snapshot!(screen(&world, "doc show"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <ID>

    Usage: marvin doc show <ID>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "doc show nothing"), @"
    --- stderr ---
    marvin: unknown document `nothing`
      hint: `marvin doc list` shows what there is
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "doc show ../config"), @"
    --- stderr ---
    marvin: unknown document `../config`
      hint: `marvin doc list` shows what there is
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "prompt show --role Codr"), @"
    --- stderr ---
    marvin: invalid value 'Codr' for '--role <ROLE>': unknown role `Codr`; did you mean `Coder`? (there are: Chat, Coder, Coordinator, Servitor, Research, Planner, Implementer, Debugger, Reviewer, TestTriager, TestWriter, DocumentWriter, SkillBuilder, Evaluator)

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "prompt sho"), @"
    --- stderr ---
    marvin: unrecognized subcommand 'sho'

      tip: a similar subcommand exists: 'show'

    Usage: marvin prompt <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
}

#[test]
fn servitors() {
    let world = World::new();
    assert_snapshot!(screen(&world, "servitors"), @"
    --- stderr ---
    marvin: Summon agents that outlive a process, and run them to their end

    Usage: marvin servitors <COMMAND>

    Commands:
      list     Show the servitors of this project
      show     Show one servitor: its document, as it is stored
      summon   Summon a servitor; it works when servitors are run
      message  Send a message to a servitor; one that waits, is idle or failed works again when
               servitors are run
      dismiss  Dismiss a servitor and its own servitors; the documents stay, the names become free
      run      Run all servitors that have work, to their end [alias: resume]

    Options:
      -h, --help  Print help

    Examples:
      marvin servitors summon 'Write the parser' --commitment 'shell:pytest -q' --oracle tests
      marvin servitors run
      marvin servitors list
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors show"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <ID>

    Usage: marvin servitors show <ID>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors show vega"), @"
    --- stderr ---
    marvin: no servitor is called `vega`
      hint: `marvin servitors list --all` shows them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors message vega hello"), @"
    --- stderr ---
    marvin: unknown servitor `vega` (there are none)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors message vega"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <TEXT>

    Usage: marvin servitors message <ID> <TEXT>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors dismiss vega"), @"
    --- stderr ---
    marvin: unknown servitor `vega` (there are none)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors summon work --commitment pytest"), @"
    --- stderr ---
    marvin: --commitment: `pytest` names no kind
      hint: write KIND:ASSERTION, for example 'shell:pytest -q'; kinds: shell, file_exists, file_contains, json_equals, tests_pass
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors summon work --access some"), @"
    --- stderr ---
    marvin: invalid value 'some' for '--access <ACCESS>': write full, readonly, or 'files: a.txt, b.txt'

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors summon work --tier best"), @"
    --- stderr ---
    marvin: unknown tier of models: unknown variant `best`, expected one of `auto`, `codex`, `opus`, `plan`, `plan_gen`, `test_writer`, `aux_reviewer`, `fallback`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors summon work --budget much"), @"
    --- stderr ---
    marvin: invalid value 'much' for '--budget <USD>': invalid float literal

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors run --provider opnai"), @"
    --- stderr ---
    marvin: setting `model.provider` (flag) cannot be `opnai`: it takes one of anthropic, openai, gemini, groq, kimi, copilot, ollama, local, codex, claude, mock; did you mean `openai`?
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "servitors run --deadline soon"), @"
    --- stderr ---
    marvin: invalid value 'soon' for '--deadline <SECONDS>': not a whole number, 0 or more

    For more information, try '--help'.
    [exit code 2]
    ");
}

#[test]
fn tickets() {
    let world = World::new();
    assert_snapshot!(screen(&world, "tk"), @"
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
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk lst"), @"
    --- stderr ---
    marvin: Unknown command: lst; did you mean `list`?
    The commands are: create, start, close, reopen, status, dep, undep, link, unlink, ls, list, ready, blocked, closed, show, add-note, edit, query, help. Plugins (tk-…, ticket-…) are not run; call them by their own names.
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk show"), @"
    --- stderr ---
    marvin: one word is expected, not 0
    Usage: tk show ID
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk show nw-5c46"), @"
    --- stderr ---
    marvin: no .tickets directory found here or above; `create` makes one, or set TICKETS_DIR to the directory
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "tk create Title -t story"), @"
    --- stderr ---
    marvin: invalid type 'story'. Must be one of: bug feature task epic chore
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk create Title -p 9"), @"
    --- stderr ---
    marvin: invalid priority '9'. Must be one of: 0 1 2 3 4
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk create Title --parent nw-5c46"), @"
    --- stderr ---
    marvin: ticket 'nw-5c46' not found
      hint: `marvin tk ls` lists the tickets
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "tk create Title --colour red"), @"
    --- stderr ---
    marvin: Unknown option: --colour
    Usage: tk create [TITLE] [-d TEXT] [--design TEXT] [--acceptance TEXT] [-t TYPE] [-p 0-4] [-a NAME] [--external-ref NAME] [--parent ID] [--tags A,B]
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk status nw-5c46 done"), @"
    --- stderr ---
    marvin: invalid status 'done'. Must be one of: open in_progress closed
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk dep nw-5c46"), @"
    --- stderr ---
    marvin: 2 words are expected, not 1
    Usage: tk dep ID OTHER | dep tree [--full] ID | dep cycle
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk ls --status done"), @"
    --- stderr ---
    marvin: invalid status 'done'. Must be one of: open in_progress closed
      hint: `marvin tk help`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tk closed --limit some"), @"
    --- stderr ---
    marvin: --limit needs a whole number, not 'some'
    Usage: tk closed [--limit N] [-a NAME] [-T TAG]
      hint: `marvin tk help`
    [exit code 2]
    ");
}
