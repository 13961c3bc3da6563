//! Help of commitments, prompts, documents and servitors.

use super::help;
use insta::assert_snapshot;

#[test]
fn commitments() {
    assert_snapshot!(help("commitments"), @"
    Add and verify commitments, which must hold before work is done

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
    ");
    assert_snapshot!(help("commitments add"), @r#"
    Add a commitment; an assertion that cannot fail is refused

    Usage: marvin commitments add [OPTIONS] <KIND:ASSERTION>

    Arguments:
      <KIND:ASSERTION>  The assertion

    Options:
          --description <TEXT>  Its meaning, for people [default: ""]
          --timeout <SECONDS>   Timeout in seconds (default: 120)
          --oracle <PATH>       A file or directory that must not change; may be given several times
          --may-change <PATH>   A file that steers the tests and that agents may change; may be given
                                several times
          --agent <ID>          The document of an agent (default: the project's own)
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Kinds:
      shell:LINE                          ends with exit code 0 (bash, pipefail, sandboxed, no network)
      file_exists:PATH                    is there; PATH/ must be a directory
      file_contains:PATH: TEXT            holds the text
      json_equals:PATH: /POINTER = VALUE  has this value there
      tests_pass:RUNNER WORDS             at least one test runs and none fails; auto, pytest, cargo,
      go, node, command LINE

    Examples:
      marvin commitments add 'shell:pytest -q' --description 'all tests pass' --oracle tests
      marvin commitments add 'tests_pass:cargo --workspace' --timeout 600
      marvin commitments add 'json_equals:package.json: /version = "1.2.0"'
    "#);
    assert_snapshot!(help("commitments list"), @"
    List commitments with their status at the last verification

    Usage: marvin commitments list [OPTIONS]

    Options:
          --agent <ID>          Only those of this document
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Nothing is run.

    Examples:
      marvin commitments list
      marvin commitments list --json | jq -r '.commitments[].id'
    ");
    assert_snapshot!(help("commitments verify"), @"
    Verify commitments again from scratch; without ids, all of them

    Usage: marvin commitments verify [OPTIONS] [ID]...

    Arguments:
      [ID]...  Their ids

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Exit code 0 when all of them pass, 3 otherwise.

    Examples:
      marvin commitments verify
      marvin commitments verify c-1a2b3c
    ");
    assert_snapshot!(help("commitments drop"), @"
    Drop a commitment (a person's decision)

    Usage: marvin commitments drop [OPTIONS] <ID>

    Arguments:
      <ID>  Its id

    Options:
          --agent <ID>          The document that it is in, where several have that id
          --yes                 Do not ask
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin commitments drop c-1a2b3c
      marvin commitments drop c-1a2b3c --yes
    ");
    assert_snapshot!(help("commitments rehash"), @"
    Accept the current files that a commitment is judged by (a person's decision)

    Usage: marvin commitments rehash [OPTIONS] <ID>

    Arguments:
      <ID>  Its id

    Options:
          --agent <ID>          The document that it is in, where several have that id
          --yes                 Do not ask
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin commitments rehash c-1a2b3c
      marvin commitments rehash c-1a2b3c --yes
    ");
    assert_snapshot!(help("verify"), @"
    Verify all commitments of this project

    Usage: marvin verify [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Every commitment is verified again from scratch, outside any agent, sandboxed and without network.
    Exit code 0 when all of them pass, or there is none; 3 when one failed or could not run; 130 when
    interrupted.

    Examples:
      marvin verify
      marvin verify --working-dir ~/src/app --json | jq .verified
    ");
}

#[test]
fn prompt() {
    assert_snapshot!(help("prompt"), @"
    Show an agent's prompt and its pieces

    Usage: marvin prompt <COMMAND>

    Commands:
      show  Print the system message of a role, exactly as a model would get it here

    Options:
      -h, --help  Print help

    Example:
      marvin prompt show --role Reviewer
    ");
    assert_snapshot!(help("prompt show"), @r#"
    Print the system message of a role, exactly as a model would get it here

    Usage: marvin prompt show [OPTIONS]

    Options:
          --role <ROLE>         The role: Chat, Coder, Coordinator, Servitor, Research, Planner,
                                Implementer, Debugger, Reviewer, TestTriager, TestWriter,
                                DocumentWriter, SkillBuilder, Evaluator [default: Coder]
          --step <STEP>         The step of a workflow that it works on
          --working-dir <PATH>  The directory that it works in
          --json                As JSON, with the pieces
      -h, --help                Print help

    With --json: the message, its hash, and every piece with its size, whether it is included, and why
    not.

    Examples:
      marvin prompt show --role Reviewer
      marvin prompt show --role Implementer --step build --working-dir ~/src/app
      marvin prompt show --json | jq '.pieces[] | select(.state != "included")'
    "#);
}

#[test]
fn documents() {
    assert_snapshot!(help("doc"), @"
    Show the documents of agents as they are stored

    Usage: marvin doc <COMMAND>

    Commands:
      show  Print a document, byte for byte as it is stored
      list  List the documents

    Options:
      -h, --help  Print help

    Examples:
      marvin doc list
      marvin doc show project
    ");
    assert_snapshot!(help("doc show"), @"
    Print a document, byte for byte as it is stored

    Usage: marvin doc show [OPTIONS] <ID>

    Arguments:
      <ID>  The document: the name of its file in .marvin/agents, without .md

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON: id, path, size, hash and text; text that is not UTF-8 is shown
                                as hexadecimal bytes
      -h, --help                Print help

    Examples:
      marvin doc show project
      marvin doc show project > project.md
    ");
    assert_snapshot!(help("doc list"), @"
    List the documents

    Usage: marvin doc list [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin doc list
      marvin doc list --json | jq -r '.[].id'
    ");
}

#[test]
fn servitors() {
    assert_snapshot!(help("servitors"), @"
    Summon agents that outlive a process, and run them to their end

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
    ");
    assert_snapshot!(help("servitors list"), @"
    Show the servitors of this project

    Usage: marvin servitors list [OPTIONS]

    Options:
          --all                 Include dismissed ones
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin servitors list
      marvin servitors list --all --json | jq -r '.[].id'
    ");
    assert_snapshot!(help("servitors show"), @"
    Show one servitor: its document, as it is stored

    Usage: marvin servitors show [OPTIONS] <ID>

    Arguments:
      <ID>  Its id or name

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin servitors show vega
    ");
    assert_snapshot!(help("servitors summon"), @r#"
    Summon a servitor; it works when servitors are run

    Usage: marvin servitors summon [OPTIONS] [ASSIGNMENT]

    Arguments:
      [ASSIGNMENT]  Its task; without one it waits for a message [default: ""]

    Options:
          --name <NAME>                  Its name (default: a free one)
          --commitment <KIND:ASSERTION>  An assertion that must hold before it is done, for example
                                         'shell:pytest -q'; may be given several times
          --oracle <PATH>                A file or directory that the commitments are judged by and that
                                         must not change; may be given several times
          --may-change <PATH>            A file that steers the tests and that it may change; may be
                                         given several times
          --tier <TIER>                  The tier of its model
          --budget <USD>                 US dollars that it may spend, its own servitors included
          --rounds <N>                   Tool rounds that it may have, its own servitors included
          --access <ACCESS>              Its write access: full, readonly, or 'files: a.txt, b.txt'
          --working-dir <PATH>           The project's directory (default: the project around this
                                         directory)
          --json                         As JSON
      -h, --help                         Print help

    Examples:
      marvin servitors summon 'Write the parser' --commitment 'shell:pytest -q' --oracle tests
      marvin servitors summon 'Look for dead code' --name Vega --access readonly --rounds 20
    "#);
    assert_snapshot!(help("servitors message"), @"
    Send a message to a servitor; one that waits, is idle or failed works again when servitors are run

    Usage: marvin servitors message [OPTIONS] <ID> <TEXT>

    Arguments:
      <ID>    Its id or name
      <TEXT>  The message

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin servitors message vega 'Yes, use the second format.'
    ");
    assert_snapshot!(help("servitors dismiss"), @"
    Dismiss a servitor and its own servitors; the documents stay, the names become free

    Usage: marvin servitors dismiss [OPTIONS] <ID>

    Arguments:
      <ID>  Its id or name

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin servitors dismiss vega
    ");
    assert_snapshot!(help("servitors run"), @"
    Run all servitors that have work, to their end

    Usage: marvin servitors run [OPTIONS]

    Options:
          --provider <NAME>     The provider (default: the first with a key, else the built-in mock)
                                [alias: --llm]
          --model <MODEL>       The model
          --script <FILE>       A script for the mock provider (JSONL)
          --max-cost <USD>      Stop everything when this many US dollars are spent (exit code 6)
          --deadline <SECONDS>  Stop after this many seconds; 0: no limit
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Work that was interrupted by a crash resumes where its record ends; no call is made twice.
    Exit code 0 when all are done, 3 when a claim does not hold, 1 when one failed, 4 when one waits for
    an answer.

    Examples:
      marvin servitors run
      marvin servitors run --max-cost 5 --json
    ");
}
