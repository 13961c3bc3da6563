//! Help of `marvin memory`.

use super::help;
use insta::assert_snapshot;

#[test]
fn memory() {
    assert_snapshot!(help("memory"), @"
    Decide what is remembered, search it, and see who approved it

    Usage: marvin memory <COMMAND>

    Commands:
      list      Show what is remembered
      pending   Show candidates that wait for you, and at a terminal decide about each
      approve   Approve candidates
      edit      Approve a changed candidate
      reject    Reject candidates
      forget    Erase memories; the ledger keeps that they existed
      query     Search memories, traces, lessons, packs' lessons and artifacts
      export    Export memories as JSONL
      import    Propose the candidates of a JSONL file; nothing is remembered before you approve it
      practice  Propose candidates from your recent messages
      audit     Replay the ledger and compare it with what is remembered
      why       Show which memories a turn was given, and where they come from
      eval      Measure the recall of the index on a labelled file

    Options:
      -h, --help  Print help

    Examples:
      marvin memory pending
      marvin memory approve 5c46a1
      marvin memory query which editor do I like
    ");
    assert_snapshot!(help("memory list"), @"
    Show what is remembered

    Usage: marvin memory list [OPTIONS]

    Options:
          --all                 Include expired and replaced memories
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory list
      marvin memory list --all --json | jq -r '.[].id'
    ");
    assert_snapshot!(help("memory pending"), @r#"
    Show candidates that wait for you, and at a terminal decide about each

    Usage: marvin memory pending [OPTIONS]

    Options:
          --reviewer <NAME>     The name of the person who decides; needed without a terminal
          --note <TEXT>         A note on the decision [default: ""]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    At a terminal: y remember, n do not, e change it first, s decide later, q stop.

    Examples:
      marvin memory pending
      marvin memory pending --json | jq -r '.[].fingerprint'
    "#);
    assert_snapshot!(help("memory approve"), @r#"
    Approve candidates

    Usage: marvin memory approve [OPTIONS] <IDS>...

    Arguments:
      <IDS>...  Ids of candidates, or the beginnings of them

    Options:
          --supersedes <ID>     The memory that it replaces
          --reviewer <NAME>     The name of the person who decides; needed without a terminal
          --note <TEXT>         A note on the decision [default: ""]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory approve 5c46a1
      marvin memory approve 5c46a1 --supersedes 9f2e11 --reviewer ann --json
    "#);
    assert_snapshot!(help("memory edit"), @r#"
    Approve a changed candidate

    Usage: marvin memory edit [OPTIONS] <ID>

    Arguments:
      <ID>  The candidate's id, or the beginning of it

    Options:
          --text <TEXT>         The new text
          --type <TYPE>         Its type: preference, fact, procedure, project_decision, mtg_profile,
                                mtg_lesson
          --tag <TAG>           A tag; may be given several times
          --ttl-days <DAYS>     Days until it expires; 0: never
          --supersedes <ID>     The memory that it replaces
          --reviewer <NAME>     The name of the person who decides; needed without a terminal
          --note <TEXT>         A note on the decision [default: ""]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory edit 5c46a1 --text 'Prefers tabs in Go files only' --tag go
    "#);
    assert_snapshot!(help("memory reject"), @r#"
    Reject candidates

    Usage: marvin memory reject [OPTIONS] <IDS>...

    Arguments:
      <IDS>...  Ids of candidates, or the beginnings of them

    Options:
          --reviewer <NAME>     The name of the person who decides; needed without a terminal
          --note <TEXT>         A note on the decision [default: ""]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory reject 5c46a1 --note 'only true that day'
    "#);
    assert_snapshot!(help("memory forget"), @r#"
    Erase memories; the ledger keeps that they existed

    Usage: marvin memory forget [OPTIONS] <IDS>...

    Arguments:
      <IDS>...  Ids of memories, or the beginnings of them

    Options:
          --reviewer <NAME>     The name of the person who decides; needed without a terminal
          --note <TEXT>         A note on the decision [default: ""]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory forget 9f2e11
    "#);
    assert_snapshot!(help("memory query"), @"
    Search memories, traces, lessons, packs' lessons and artifacts

    Usage: marvin memory query [OPTIONS] <WORDS>...

    Arguments:
      <WORDS>...  The words to look for

    Options:
      -k, --limit <N>           The number of results [default: 10]
          --kind <KIND>         Only this kind: ltm, stm, lesson, pack_lesson, artifact; may be given
                                several times
          --source <SOURCE>     Only from this source, for example user_said; may be given several times
          --tag <TAG>           A tag that ranks results higher; may be given several times
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory query which editor do I like
      marvin memory query --kind lesson --tag io 'disk full' --json
    ");
    assert_snapshot!(help("memory export"), @"
    Export memories as JSONL

    Usage: marvin memory export [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory export > memory.jsonl
    ");
    assert_snapshot!(help("memory import"), @"
    Propose the candidates of a JSONL file; nothing is remembered before you approve it

    Usage: marvin memory import [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file; `-`: standard input

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory import memory.jsonl
      marvin memory pending
    ");
    assert_snapshot!(help("memory practice"), @"
    Propose candidates from your recent messages

    Usage: marvin memory practice [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory practice
      marvin memory pending
    ");
    assert_snapshot!(help("memory audit"), @r#"
    Replay the ledger and compare it with what is remembered

    Usage: marvin memory audit [OPTIONS]

    Options:
          --adopt               Adopt the entries on which ledger and memory agree, as if you had
                                approved them here
          --reviewer <NAME>     The name of the person who decides; needed without a terminal
          --note <TEXT>         A note on the decision [default: ""]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Exit code 1 when they disagree; memories that do not match are never given to a model.

    Examples:
      marvin memory audit
      marvin memory audit --adopt      (adopts a memory from another machine)
    "#);
    assert_snapshot!(help("memory why"), @"
    Show which memories a turn was given, and where they come from

    Usage: marvin memory why [OPTIONS] <TURN>

    Arguments:
      <TURN>  The turn: SESSION:NUMBER

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin memory why run_20260203_040506_1a2b:3
    ");
    assert_snapshot!(help("memory eval"), @r#"
    Measure the recall of the index on a labelled file

    Usage: marvin memory eval [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file; the directory, for cranfield

    Options:
          --format <FORMAT>       The format of the file [default: jsonl] [possible values: jsonl,
                                  locomo, locomo-sessions, cosqa, cranfield]
      -k <N>                      The number of results that count; may be given several times [default:
                                  5 10 20]
          --embedder <DIRECTORY>  The directory of an embedding model (default: the setting
                                  memory.embedder)
          --json                  As JSON
      -h, --help                  Print help

    A line is {"doc": ID, "text": …, "thread": …} or {"query": TEXT, "relevant": [ID]}; both may name a
    "set".

    Examples:
      marvin memory eval labelled.jsonl
      marvin memory eval --format locomo locomo10.json --json | jq '.recall'
      marvin memory eval --format cosqa cosqa-dev.json --embedder ~/models/all-MiniLM-L6-v2
    "#);
}
