//! Errors of workflows.

use crate::cli::{person_screen, screen};
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn files_that_are_wrong() {
    let world = World::new();
    world.write("dependency.yaml", "steps:\n  - id: a\n    worker: Echo\n    depends_on: [b]\n");
    world.write(
        "cycle.yaml",
        "steps:\n  - {id: a, worker: Echo, depends_on: [b]}\n  - {id: b, worker: Echo, depends_on: [a]}\n",
    );
    world.write("worker.json", "{\"steps\": [{\"id\": \"a\", \"worker\": \"Ehco\"}]}");
    world.write("field.yaml", "steps:\n  - {id: a, worker: Echo, depend_on: []}\n");
    world.write("twice.yaml", "steps:\n  - {id: a, worker: Echo}\n  - {id: a, worker: Echo}\n");
    world.write("empty.yaml", "steps: []\n");
    world.write("torn.json", "{\"steps\": [");
    assert_snapshot!(screen(&world, "workflow check"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <FILE>

    Usage: marvin workflow check <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check missing.yaml"), @"
    --- stderr ---
    marvin: missing.yaml: cannot be read: No such file or directory (os error 2)
      hint: name a workflow file, JSON or YAML
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check dependency.yaml"), @"
    --- stderr ---
    marvin: dependency.yaml:2:5: step `a`: it depends on `b`, which does not exist
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check cycle.yaml"), @"
    --- stderr ---
    marvin: cycle.yaml:2:5: step `a`: steps depend on each other: a → b → a
      hint: an arrow means `depends_on`; remove one of them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check worker.json"), @"
    --- stderr ---
    marvin: step `a` names the worker `Ehco`, which does not exist
      hint: did you mean `Echo`?
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check field.yaml"), @"
    --- stderr ---
    marvin: field.yaml:2:27: step `a`: unknown key `depend_on`
      hint: did you mean `depends_on`?
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check twice.yaml"), @"
    --- stderr ---
    marvin: twice.yaml:3:5: step `a`: there are two steps with this id (the first is at line 2)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check empty.yaml"), @"
    --- stderr ---
    marvin: empty.yaml: it has no steps
      hint: a workflow needs at least one step
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow check torn.json"), @"
    --- stderr ---
    marvin: torn.json:1:11: EOF while parsing a list
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow graph cycle.yaml"), @"
    --- stderr ---
    marvin: cycle.yaml:2:5: step `a`: steps depend on each other: a → b → a
      hint: an arrow means `depends_on`; remove one of them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-workflow worker.json"), @"
    --- stderr ---
    marvin: step `a` names the worker `Ehco`, which does not exist
      hint: did you mean `Echo`?
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-workflow"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <FILE>

    Usage: marvin run-workflow <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-workflow worker.json --goal 'do it'"), @"
    --- stderr ---
    marvin: the argument '[FILE]' cannot be used with '--goal <TEXT>'

    Usage: marvin run-workflow <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-workflow worker.json --concurrency none"), @"
    --- stderr ---
    marvin: invalid value 'none' for '--concurrency <N>': invalid digit found in string

    For more information, try '--help'.
    [exit code 2]
    ");
}

#[test]
fn decisions() {
    let world = World::new();
    world.write("w.json", "{\"workflow_id\": \"w\", \"steps\": [{\"id\": \"a\", \"worker\": \"Echo\"}]}");
    world.marvin(["run-workflow", "w.json"]).run().exits(0);
    assert_snapshot!(person_screen(&world, "workflow approve"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --step <ID>

    Usage: marvin workflow approve --step <ID> [RUN]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow approve --step b"), @"
    --- stderr ---
    marvin: this run has no step `b`
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow approve --step a"), @"
    --- stderr ---
    marvin: step `a` does not wait for a person: it is SUCCEEDED
      hint: `marvin inspect-run` shows which steps do
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow answer --step a"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --text <TEXT>

    Usage: marvin workflow answer --step <ID> --text <TEXT> [RUN]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow answer --step a --value {"), @"
    --- stderr ---
    marvin: --value is not JSON: EOF while parsing an object at line 1 column 1
      hint: use --text for a text
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow answer --step a --text x"), @"
    --- stderr ---
    marvin: step `a` does not wait for a person: it is SUCCEEDED
      hint: `marvin inspect-run` shows which steps do
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow settle --step a"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --as <WHAT>

    Usage: marvin workflow settle --step <ID> --as <WHAT> [RUN]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow settle --step a --as maybe"), @"
    --- stderr ---
    marvin: invalid value 'maybe' for '--as <WHAT>'
      [possible values: done, failed, again]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow settle --step a --as done"), @"
    --- stderr ---
    marvin: step `a` does not wait for a person: it is SUCCEEDED
      hint: `marvin inspect-run` shows which steps do
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "workflow settle nonsense --step a --as done"), @"
    --- stderr ---
    marvin: unknown run `nonsense` (looked here and in [STATE]/runs and [HOME]/.config/marvin/runs)
      hint: the newest is [RUN]
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "workflow approve --step a"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
}

/// A program with the feature would look for its server.
#[cfg(not(feature = "fleet"))]
#[test]
fn without_the_feature_fleet_its_commands_say_how_to_get_it() {
    let world = World::new();
    world.write("w.json", r#"{"workflow_id": "w", "goal": "g", "steps": [{"id": "a", "worker": "Echo"}]}"#);
    let advice = screen(&world, "worker");
    assert_snapshot!(advice, @"
    --- stderr ---
    marvin: this program was built without feature `fleet`, which workflows on many machines need
      hint: cargo install --locked --path crates/marvin --features fleet, or the release marvin-fleet
    [exit code 2]
    ");
    for command in ["fleet up", "run-workflow w.json --engine temporal"] {
        assert_eq!(screen(&world, command), advice, "{command}");
    }
    assert_snapshot!(screen(&world, "run-workflow w.json --detach"), @"
    --- stderr ---
    marvin: --detach needs workers that continue the run
      hint: give --engine temporal and a workflow file
    [exit code 2]
    ");
}
