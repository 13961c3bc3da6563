//! Help of packs and lessons.

use super::help;
use insta::assert_snapshot;

#[test]
fn packs() {
    assert_snapshot!(help("packs"), @"
    Manage packs, the guidance for agents about files

    Usage: marvin packs <COMMAND>

    Commands:
      list   List the packs in effect here
      check  Check packs; exit code 1 when something is wrong
      why    Show the score of every pack for a file, and the guidance an agent would get
      new    Create a pack: a starter (code-quality, git-workflow, go, python, rust, security, testing),
             or an empty one

    Options:
      -h, --help  Print help

    Examples:
      marvin packs list
      marvin packs new billing
      marvin packs why src/auth/login.ts
    ");
    assert_snapshot!(help("packs list"), @"
    List the packs in effect here

    Usage: marvin packs list [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Packs are in .marvin/packs of the project and in the directory packs of your own settings; the first
    pack of a name wins.

    Examples:
      marvin packs list
      marvin packs list --json | jq -r '.packs[].name'
    ");
    assert_snapshot!(help("packs check"), @"
    Check packs; exit code 1 when something is wrong

    Usage: marvin packs check [OPTIONS] [DIRECTORY]

    Arguments:
      [DIRECTORY]  A pack, or a directory of packs

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    DIRECTORY is one pack, or a directory of packs; without it, every pack in effect here is checked.
    pack.json must match the schema that `marvin packs new` writes next to it, and every glob must be
    valid.

    Examples:
      marvin packs check
      marvin packs check .marvin/packs/billing
    ");
    assert_snapshot!(help("packs why"), @"
    Show the score of every pack for a file, and the guidance an agent would get

    Usage: marvin packs why [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file

    Options:
          --corrected <CATEGORY>  Assume a recent correction of this category
          --working-dir <PATH>    The project's directory (default: the project around this directory)
          --json                  As JSON
      -h, --help                  Print help

    The file need not exist. --corrected shows what a correction of the last minutes would change.

    Examples:
      marvin packs why src/auth/login.ts
      marvin packs why src/main.rs --corrected rust
      marvin packs why src/main.rs --json | jq '.packs[] | {pack, score, reach}'
    ");
    assert_snapshot!(help("packs new"), @"
    Create a pack: a starter (code-quality, git-workflow, go, python, rust, security, testing), or an
    empty one

    Usage: marvin packs new [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name: lower-case letters, digits and hyphens

    Options:
          --user                Create it among your own packs, for every project
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    No existing file is overwritten.

    Examples:
      marvin packs new rust
      marvin packs new billing
      marvin packs new house-rules --user
    ");
}

#[test]
fn lessons() {
    assert_snapshot!(help("lessons"), @"
    Manage lessons, which agents learn from corrections

    Usage: marvin lessons <COMMAND>

    Commands:
      reflect  Show corrections and directions that could become lessons
      promote  Turn candidates of `reflect` into lessons: shows the change, then asks
      health   Show how packs and lessons did in the last 10 sessions
      evolve   Turn useful lessons into guardrails and archive stale ones: shows the change, then asks
      teach    Write a lesson into a pack: shows the change, then asks

    Options:
      -h, --help  Print help

    Examples:
      marvin lessons reflect
      marvin lessons promote 1a2b3c4d
      marvin lessons health
    ");
    assert_snapshot!(help("lessons reflect"), @"
    Show corrections and directions that could become lessons

    Usage: marvin lessons reflect [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Corrections and directions of all runs that are not lessons yet. Nothing is written.

    Examples:
      marvin lessons reflect
      marvin lessons reflect --json | jq '.candidates[] | select(.frequency > 1)'
    ");
    assert_snapshot!(help("lessons promote"), @"
    Turn candidates of `reflect` into lessons: shows the change, then asks

    Usage: marvin lessons promote [OPTIONS] [ID]...

    Arguments:
      [ID]...  Ids of candidates, as `reflect` shows them

    Options:
          --all                 All candidates of a pack
          --pack <PACK>         The pack (default: the one that covers it)
          --title <TITLE>       Another title; only with one candidate
          --actionable <TEXT>   Another instruction; only with one candidate
          --yes                 Write without asking
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Without a terminal and without --yes nothing is written, and the exit code is 4.

    Examples:
      marvin lessons promote 1a2b3c4d
      marvin lessons promote 1a2b3c4d --pack testing --title 'No mocks of the database'
      marvin lessons promote --all --yes
    ");
    assert_snapshot!(help("lessons health"), @"
    Show how packs and lessons did in the last 10 sessions

    Usage: marvin lessons health [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Nothing is written.

    Examples:
      marvin lessons health
      marvin lessons health --json | jq .alerts
    ");
    assert_snapshot!(help("lessons evolve"), @"
    Turn useful lessons into guardrails and archive stale ones: shows the change, then asks

    Usage: marvin lessons evolve [OPTIONS]

    Options:
          --pack <PACK>         Only this pack
          --yes                 Write without asking
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    A lesson that was given 5 times with a utility of 0.8 becomes a guardrail; one that was given less
    than 3 times, and not for 90 days, moves to lessons.archive.jsonl. Without a terminal and without
    --yes nothing is written, and the exit code is 4.

    Examples:
      marvin lessons evolve
      marvin lessons evolve --pack testing --yes
    ");
    assert_snapshot!(help("lessons teach"), @r#"
    Write a lesson into a pack: shows the change, then asks

    Usage: marvin lessons teach [OPTIONS] --actionable <TEXT> <PACK> <TITLE>

    Arguments:
      <PACK>   The pack
      <TITLE>  The title, in a few words

    Options:
          --actionable <TEXT>    The instruction for an agent
          --description <TEXT>   The reason [default: ""]
          --category <CATEGORY>  Its category (default: the pack's name)
          --force                Write it even if the pack has a similar lesson
          --yes                  Write without asking
          --working-dir <PATH>   The project's directory (default: the project around this directory)
          --json                 As JSON
      -h, --help                 Print help

    Without a terminal and without --yes nothing is written, and the exit code is 4.

    Examples:
      marvin lessons teach testing 'No mocks of the database' \
        --actionable 'Use the database in memory from tests/support.rs'
    "#);
}
