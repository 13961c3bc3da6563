//! Help of `marvin gate`.

use super::help;
use insta::assert_snapshot;

#[test]
fn gate() {
    assert_snapshot!(help("gate"), @"
    Judge shell commands, explain verdicts, and manage rules

    Usage: marvin gate <COMMAND>

    Commands:
      judge        Judge commands from standard input, one JSON object per line
      explain      Show what a command does, and why it is allowed, asked about or denied
      eval         Score the gate on a labelled file of commands
      rules        List, test and add rules
      trust        Trust this project's allow rules in their current version
      suggestions  Show approved commands that could become rules
      learned      List, add and remove learned rules
      stats        Count the decisions of this project by verdict, layer and rule

    Options:
      -h, --help  Print help

    Examples:
      marvin gate explain 'git push --force'
      marvin gate judge < commands.jsonl > verdicts.jsonl
      marvin gate rules list
    ");
    assert_snapshot!(help("gate judge"), @r#"
    Judge commands from standard input, one JSON object per line

    Usage: marvin gate judge [OPTIONS]

    Options:
          --working-dir <PATH>  The directory that the commands would run in; it counts as the workspace
          --no-rules            Ignore all rule files: judge only by effects
          --json                Accepted for symmetry: input and output are always JSON
      -h, --help                Print help

    Reads {"id", "command"} per line and writes {"id", "verdict", "rule", "reason"} per line, in the
    same order, as soon as it can.
    A line that is not such an object is answered by {"id": null, "error"}; the exit code is then 1 at
    the end.
    Nothing is run, nothing that a command names is opened, and no model is asked.

    Examples:
      echo '{"id": 1, "command": "git push --force"}' | marvin gate judge
      marvin gate judge --working-dir ~/src/app < commands.jsonl > verdicts.jsonl
    "#);
    assert_snapshot!(help("gate explain"), @"
    Show what a command does, and why it is allowed, asked about or denied

    Usage: marvin gate explain [OPTIONS] <CMD>

    Arguments:
      <CMD>  The command line, as a shell would get it

    Options:
          --working-dir <PATH>  The directory that the commands would run in; it counts as the workspace
          --no-rules            Ignore all rule files: judge only by effects
          --json                As JSON
          --exit-code           Return the verdict as the exit code too
          --client <CLIENT>     Show what the hook would answer this client, which runs commands without
                                Marvin's sandbox [possible values: claude, codex]
      -h, --help                Print help

    Nothing is run, nothing that the command names is opened, and no model is asked.
    With --exit-code: 0 allowed, 4 a person is needed, 5 denied.

    Examples:
      marvin gate explain 'git push --force'
      marvin gate explain 'curl https://example.com/x | sh' --json
      marvin gate explain --exit-code 'cargo test' && cargo test
      marvin gate explain --client claude 'npm test'
    ");
    assert_snapshot!(help("gate eval"), @r#"
    Score the gate on a labelled file of commands

    Usage: marvin gate eval [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file (JSONL)

    Options:
          --working-dir <PATH>  The directory that the commands would run in; it counts as the workspace
          --rules               Apply the rule files too
          --json                As JSON
      -h, --help                Print help

    A line of the file is {"id", "command", "label": "allow|ask|deny", "category"}, and "technique"
    where the command hides what it does.
    Rule files apply only with --rules.

    Examples:
      marvin gate eval labelled.jsonl
      marvin gate eval labelled.jsonl --json | jq .figures
    "#);
    assert_snapshot!(help("gate rules"), @"
    List, test and add rules

    Usage: marvin gate rules <COMMAND>

    Commands:
      list  List the rule files and the rules that are in effect
      test  Check rule files against their own examples; exit code 1 when something is wrong
      add   Add a starter list; without a name, list them

    Options:
      -h, --help  Print help

    Examples:
      marvin gate rules list
      marvin gate rules add rust node
    ");
    assert_snapshot!(help("gate rules list"), @"
    List the rule files and the rules that are in effect

    Usage: marvin gate rules list [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin gate rules list
      marvin gate rules list --json | jq '.[].problems'
    ");
    assert_snapshot!(help("gate rules test"), @"
    Check rule files against their own examples; exit code 1 when something is wrong

    Usage: marvin gate rules test [OPTIONS] [FILE]

    Arguments:
      [FILE]  The file

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Without a file: every rule file in effect here. The purpose of a file is in its name (allow, deny,
    learned).

    Examples:
      marvin gate rules test
      marvin gate rules test my-denylist.json
    ");
    assert_snapshot!(help("gate rules add"), @"
    Add a starter list; without a name, list them

    Usage: marvin gate rules add [OPTIONS] [NAME]...

    Arguments:
      [NAME]...  rust, node, python, go, java, ruby, php, dotnet, docker, kubernetes, terraform, make,
                 git

    Options:
          --project             Add to the project's files and trust them, instead of your own
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin gate rules add
      marvin gate rules add rust node
      marvin gate rules add terraform --project
    ");
    assert_snapshot!(help("gate trust"), @"
    Trust this project's allow rules in their current version

    Usage: marvin gate trust [OPTIONS]

    Options:
          --remove              Remove the trust
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    A project's denylist always applies. Its allowlist and its learned rules apply only while you trust
    exactly this content; after a change they do not apply until you trust them again.

    Examples:
      marvin gate trust
      marvin gate trust --remove
    ");
    assert_snapshot!(help("gate suggestions"), @"
    Show approved commands that could become rules

    Usage: marvin gate suggestions [OPTIONS] [COMMAND]

    Commands:
      accept   Turn it into a rule
      dismiss  Do not show it again

    Options:
          --json  As JSON
      -h, --help  Print help

    Nothing is learned until you accept it.

    Examples:
      marvin gate suggestions
      marvin gate suggestions accept s-1x2y3z
      marvin gate suggestions dismiss s-1x2y3z
    ");
    assert_snapshot!(help("gate suggestions accept"), @"
    Turn it into a rule

    Usage: marvin gate suggestions accept [OPTIONS] <ID>

    Arguments:
      <ID>  Its id

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin gate suggestions accept s-1x2y3z
    ");
    assert_snapshot!(help("gate suggestions dismiss"), @"
    Do not show it again

    Usage: marvin gate suggestions dismiss [OPTIONS] <ID>

    Arguments:
      <ID>  Its id

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin gate suggestions dismiss s-1x2y3z
    ");
    assert_snapshot!(help("gate learned"), @"
    List, add and remove learned rules

    Usage: marvin gate learned <COMMAND>

    Commands:
      list    List the learned rules of this project
      add     Learn that exactly this command may run here without a question
      remove  Forget a learned rule

    Options:
      -h, --help  Print help

    Examples:
      marvin gate learned list
      marvin gate learned add 'npm install --save-dev typescript'
    ");
    assert_snapshot!(help("gate learned list"), @"
    List the learned rules of this project

    Usage: marvin gate learned list [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin gate learned list
      marvin gate learned list --json | jq -r '.[].pattern'
    ");
    assert_snapshot!(help("gate learned add"), @"
    Learn that exactly this command may run here without a question

    Usage: marvin gate learned add [OPTIONS] <CMD>

    Arguments:
      <CMD>  The command line

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin gate learned add 'npm install --save-dev typescript'
    ");
    assert_snapshot!(help("gate learned remove"), @"
    Forget a learned rule

    Usage: marvin gate learned remove [OPTIONS] <ID>

    Arguments:
      <ID>  Its id

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin gate learned remove learned-1760000000000-a1b2c3
    ");
    assert_snapshot!(help("gate stats"), @"
    Count the decisions of this project by verdict, layer and rule

    Usage: marvin gate stats [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin gate stats
      marvin gate stats --json | jq .layers
    ");
}
