//! Help of skills.

use super::help;
use insta::assert_snapshot;

#[test]
fn skills() {
    assert_snapshot!(help("list-skills"), @r#"
    List the skills in effect here, and those that are refused

    Usage: marvin list-skills [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Skills are in .marvin/skills, .agents/skills and .claude/skills of the project, in the directory
    skills of your own settings, and built in. Of two with one name the trusted one counts, then this
    order.

    Examples:
      marvin list-skills
      marvin list-skills --json | jq -r '.refused[] | .name + ": " + .reason'
    "#);
    assert_snapshot!(help("skills"), @"
    Show, test, trust and remove skills

    Usage: marvin skills <COMMAND>

    Commands:
      show    Show a skill: where it comes from, its status, its files and its text
      test    Run the tests of a skill in the sandbox, with its code and without
      trust   Trust a skill in its current version
      remove  Delete a skill of the project or of your own

    Options:
      -h, --help  Print help

    Examples:
      marvin skills show planner
      marvin skills test deploy
      marvin skills trust deploy
    ");
    assert_snapshot!(help("skills show"), @"
    Show a skill: where it comes from, its status, its files and its text

    Usage: marvin skills show [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, or the path of its directory

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin skills show planner
      marvin skills show deploy --json | jq .uses
    ");
    assert_snapshot!(help("skills test"), @"
    Run the tests of a skill in the sandbox, with its code and without

    Usage: marvin skills test [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, or the path of its directory

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    They run in a copy of the skill alone. Tests that pass without its code prove nothing, and do not
    count (exit code 3).

    Example:
      marvin skills test deploy
    ");
    assert_snapshot!(help("skills trust"), @"
    Trust a skill in its current version

    Usage: marvin skills trust [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, or the path of its directory

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
          --remove              Remove the trust
      -h, --help                Print help

    Agents are told the text of a trusted skill as yours. After a change of any of its files it is
    refused until you trust it again.

    Examples:
      marvin skills trust deploy
      marvin skills trust .claude/skills/deploy
      marvin skills trust deploy --remove
    ");
    assert_snapshot!(help("skills remove"), @"
    Delete a skill of the project or of your own

    Usage: marvin skills remove [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, or the path of its directory

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Skills in .agents/skills and .claude/skills belong to other programs and are left alone.

    Example:
      marvin skills remove deploy
    ");
    assert_snapshot!(help("build-skill"), @r"
    Let an agent write a skill with tests, and register it if they prove it

    Usage: marvin build-skill [OPTIONS] --name <NAME> --purpose <TEXT> --contract <TEXT> --justification <TEXT>

    Options:
          --name <NAME>           Its name: small letters, digits and hyphens
          --purpose <TEXT>        What it is for
          --contract <TEXT>       What goes in and what comes out
          --tools <NAMES>         The tools that it needs, separated by commas
          --justification <TEXT>  The gap that it closes
          --from-run <RUN>        The run that showed the gap
          --provider <NAME>       The provider (default: the first with a key, else the built-in mock)
                                  [alias: --llm]
          --model <MODEL>         The model
          --script <FILE>         A script for the mock provider (JSONL)
          --max-cost <USD>        Stop everything when this many US dollars are spent (exit code 6)
          --working-dir <PATH>    The project's directory (default: the project around this directory)
          --json                  As JSON
      -h, --help                  Print help

    The SkillBuilder writes a draft in a worktree. The shell runs its tests outside the agent, in the
    sandbox: they must pass with the skill's code and fail without it. Only then it is put into
    .marvin/skills and registered, with a lesson that names gap and benefit; `marvin skills trust`
    confirms its text. Otherwise nothing is registered (exit code 3), and the draft is kept as a
    candidate with the reason.

    Example:
      marvin build-skill --name changelog-check \
        --purpose 'find commits that no line of CHANGELOG.md mentions' \
        --contract 'in: a git range; out: one line per commit; exit code 1 if there is any' \
        --tools read_file,run_command --justification 'three releases lacked lines'
    ");
}
