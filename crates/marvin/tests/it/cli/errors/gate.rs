//! Errors of `marvin gate`.

use crate::cli::{person_screen, screen, show};
use crate::support::{World, put};
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn judge_explain_and_eval() {
    let world = World::new();
    world.write("rows.jsonl", "{\"command\": \"ls\", \"label\": \"maybe\"}\n");
    assert_snapshot!(screen(&world, "gate"), @"
    --- stderr ---
    marvin: Judge shell commands, explain verdicts, and manage rules

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
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "gate judg"), @"
    --- stderr ---
    marvin: unrecognized subcommand 'judg'

      tip: a similar subcommand exists: 'judge'

    Usage: marvin gate <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(show(&world, world.marvin(["gate", "judge"]).input("nonsense\n{\"id\": 3}\n")), @r#"
    {"id":null,"error":"line 1: it is not an object with id and command: expected ident at line 1 column 2"}
    {"id":null,"error":"line 2: it is not an object with id and command: missing field `command` at line 1 column 9"}
    [exit code 1]
    "#);
    assert_snapshot!(screen(&world, "gate explain"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <CMD>

    Usage: marvin gate explain <CMD>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "gate explain ls --client copilot"), @"
    --- stderr ---
    marvin: invalid value 'copilot' for '--client <CLIENT>'
      [possible values: claude, codex]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "gate explain git status"), @"
    --- stderr ---
    marvin: unexpected argument 'status' found

    Usage: marvin gate explain [OPTIONS] <CMD>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "gate eval"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <FILE>

    Usage: marvin gate eval <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "gate eval missing.jsonl"), @r#"
    --- stderr ---
    marvin: cannot read missing.jsonl: No such file or directory (os error 2)
      hint: name a file of labelled commands; a line is {"id", "command", "label": "allow|ask|deny", "category"}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "gate eval ."), @r#"
    --- stderr ---
    marvin: cannot read .: Is a directory (os error 21)
      hint: name a file of labelled commands; a line is {"id", "command", "label": "allow|ask|deny", "category"}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "gate eval rows.jsonl"), @r#"
    --- stderr ---
    marvin: rows.jsonl, line 1: unknown variant `maybe`, expected one of `allow`, `ask`, `deny` at line 1 column 34
      hint: name a file of labelled commands; a line is {"id", "command", "label": "allow|ask|deny", "category"}
    [exit code 2]
    "#);
}

#[test]
fn rules() {
    let world = World::new();
    world.write("my-denylist.json", "{\"rules\": 7}");
    world.write("list.json", "{\"rules\": []}");
    assert_snapshot!(screen(&world, "gate rules list now"), @"
    --- stderr ---
    marvin: unexpected argument 'now' found

    Usage: marvin gate rules list [OPTIONS]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "gate rules test missing-denylist.json"), @"
    PROBLEM missing-denylist.json: 0 rules
            missing-denylist.json: the file does not exist; check the name
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "gate rules test my-denylist.json"), @r#"
    PROBLEM my-denylist.json: 0 rules
            my-denylist.json: it is not JSON of the right shape: invalid type: integer `7`, expected a sequence at line 1 column 11; the file is {"rules": [{"id": …, "type": …, "pattern": …, "reason": …}]}
    [exit code 1]
    "#);
    assert_snapshot!(screen(&world, "gate rules test list.json"), @"
    ok      list.json: 0 rules
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "gate rules add rusty"), @"
    --- stderr ---
    marvin: no list is called `rusty`; did you mean `rust`?
      hint: `marvin gate rules add` shows them
    [exit code 2]
    ");
    put(&world.user().join("security/allowlist.json"), "{");
    assert_snapshot!(person_screen(&world, "gate rules add rust"), @r#"
    --- stderr ---
    marvin: [HOME]/.config/marvin/security/allowlist.json: it is not JSON of the right shape: EOF while parsing an object at line 1 column 1; the file is {"rules": [{"id": …, "type": …, "pattern": …, "reason": …}]}
    [exit code 1]
    "#);
}

#[test]
fn a_broken_rule_file() {
    let world = World::new();
    let rules = json!({"rules": [
        {"id": "a", "type": "prefix", "pattern": "ls -R", "reason": "long listings"},
        {"id": "evil", "type": "regex", "pattern": "(x{999}){999}", "reason": "too large"},
        {"id": "b", "type": "glob", "pattern": "ls *", "reason": "no such kind"},
        {"id": "c", "type": "prefix", "pattern": "make", "reason": "builds", "match": ["cargo build"]},
    ]});
    put(&world.user().join("security/denylist.json"), &rules.to_string());
    assert_snapshot!(screen(&world, "gate rules list"), @"
    [HOME]/.config/marvin/security/denylist.json  BROKEN; 1 rule in effect, and nothing is allowed without a question
      a                            prefix   ls -R
      PROBLEM [HOME]/.config/marvin/security/denylist.json: rule `b`: unknown variant `glob`, expected one of `prefix`, `contains`, `regex`, `exact`; a rule has id, type (prefix, contains, regex, exact), pattern and reason, and may have match and not_match
      PROBLEM [HOME]/.config/marvin/security/denylist.json: rule `c`: it does not find its own example `cargo build`; fix the pattern or the example (match)
      PROBLEM [HOME]/.config/marvin/security/denylist.json: rule `evil`: its regex needs more than 1048576 bytes; use smaller counts, or several rules
    [HOME]/.config/marvin/security/allowlist.json  not there
    [HOME]/.config/marvin/security/learned.jsonl  not there
    [HOME]/.config/marvin/security/programs.toml  not there
    [PROJECT]/.marvin/security/denylist.json  not there
    [PROJECT]/.marvin/security/allowlist.json  not there
    [STATE]/security/learned.jsonl  not there
    [PROJECT]/.marvin/security/programs.toml  not there
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "gate rules test"), @"
    PROBLEM [HOME]/.config/marvin/security/denylist.json: 1 rule
            [HOME]/.config/marvin/security/denylist.json: rule `b`: unknown variant `glob`, expected one of `prefix`, `contains`, `regex`, `exact`; a rule has id, type (prefix, contains, regex, exact), pattern and reason, and may have match and not_match
            [HOME]/.config/marvin/security/denylist.json: rule `c`: it does not find its own example `cargo build`; fix the pattern or the example (match)
            [HOME]/.config/marvin/security/denylist.json: rule `evil`: its regex needs more than 1048576 bytes; use smaller counts, or several rules
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "gate explain ls"), @"
    ASK  ls
      because a denylist is broken, so that it is not known what it refuses ([HOME]/.config/marvin/security/denylist.json: rule `b`: unknown variant `glob`, expected one of `prefix`, `contains`, `regex`, `exact`; a rule has id, type (prefix, contains, regex, exact), pattern and reason, and may have match and not_match)
      layer error, rule denylist.broken
      Say that the rule file must be fixed.
    └─ allow  ls
    [exit code 0]
    ");
}

#[test]
fn decisions_of_a_person() {
    let world = World::new();
    assert_snapshot!(screen(&world, "gate trust"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(person_screen(&world, "gate trust"), @"
    This project has no rules that allow something.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "gate rules add rust"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(screen(&world, "gate learned add 'frobnicate --all'"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(person_screen(&world, "gate learned add"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <CMD>

    Usage: marvin gate learned add <CMD>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "gate learned add 'rm -rf /'"), @"
    --- stderr ---
    marvin: cannot learn this command: it is denied (catastrophe.delete), and no rule lifts that
      hint: write a rule of your own into allowlist.json (docs/gate.md)
    [exit code 5]
    ");
    assert_snapshot!(person_screen(&world, "gate learned add ls"), @"
    --- stderr ---
    marvin: cannot learn this command: it is allowed already
      hint: write a rule of your own into allowlist.json (docs/gate.md)
    [exit code 5]
    ");
    assert_snapshot!(person_screen(&world, "gate learned add 'frobnicate $X'"), @"
    --- stderr ---
    marvin: cannot learn this command: a word of it is not certain
      hint: write a rule of your own into allowlist.json (docs/gate.md)
    [exit code 5]
    ");
    assert_snapshot!(person_screen(&world, "gate learned remove learned-1-a"), @"
    --- stderr ---
    marvin: no learned rule is called `[RULE]`
      hint: `marvin gate learned list` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "gate suggestions accept s-none"), @"
    --- stderr ---
    marvin: no suggestion is called `s-none`
      hint: `marvin gate suggestions` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "gate suggestions dismiss s-none"), @"
    --- stderr ---
    marvin: no suggestion is called `s-none`
      hint: `marvin gate suggestions` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "gate suggestions accept"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <ID>

    Usage: marvin gate suggestions accept <ID>

    For more information, try '--help'.
    [exit code 2]
    ");
    let agent = world.person(["gate", "learned", "add", "frobnicate --all"]).env("MARVIN_DEPTH", "1");
    assert_snapshot!(show(&world, agent), @"
    --- stderr ---
    marvin: cannot decide for a person: this process belongs to an agent (MARVIN_DEPTH is set)
      hint: say in your answer what should be decided; a person decides in a terminal of their own
    [exit code 5]
    ");
}
