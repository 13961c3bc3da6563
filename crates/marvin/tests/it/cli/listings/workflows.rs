//! Workflows: checks, drawings, runs and decisions.

use crate::cli::{person_screen, screen};
use crate::support::World;
use insta::assert_snapshot;

fn world_with_workflow() -> World {
    let world = World::new();
    world.write(
        "w.yaml",
        "workflow_id: w\ngoal: try it\nsteps:\n  - {id: a, worker: Echo, inputs: {n: 1}}\n  - {id: b, worker: Echo, depends_on: [a], inputs: {n: 2}}\n  - {id: c, worker: answer, depends_on: [a], description: Shall it be released?}\n  - {id: d, worker: Echo, depends_on: [b, c], inputs: {n: 3}}\n",
    );
    world
}

#[test]
fn files() {
    let world = world_with_workflow();
    assert_snapshot!(screen(&world, "workflow check w.yaml"), @"
    w.yaml: w is sound, 4 steps
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "workflow graph w.yaml"), @"
    w: try it
    4 steps in 3 levels
       1 ─ a  Echo
       2 ┬ b  Echo    ← a
         └ c  answer  ← a
       3 ─ d  Echo    ← b, c
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "workflow graph w.yaml --dot"), @r#"
    digraph "w" {
      rankdir=TB;
      node [shape=box, style=rounded];
      "a" [label="a\nEcho"];
      "b" [label="b\nEcho"];
      "c" [label="c\nanswer"];
      "d" [label="d\nEcho"];
      "a" -> "b";
      "a" -> "c";
      "b" -> "d";
      "c" -> "d";
    }
    [exit code 0]
    "#);
    assert_snapshot!(screen(&world, "workflow graph w.yaml --json"), @r#"
    {"workflow_id":"w","steps":[{"id":"a","name":"a","worker":"Echo","level":0,"depends_on":[]},{"id":"b","name":"b","worker":"Echo","level":1,"depends_on":["a"]},{"id":"c","name":"c","worker":"answer","level":1,"depends_on":["a"]},{"id":"d","name":"d","worker":"Echo","level":2,"depends_on":["b","c"]}]}
    [exit code 0]
    "#);
}

#[test]
fn a_run() {
    let world = world_with_workflow();
    assert_snapshot!(screen(&world, "list-runs"), @"
    No workflow was run here.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "run-workflow w.yaml --concurrency 1"), @"
    BLOCKED: 1 blocked, 1 new, 2 succeeded of 4 steps ([DURATION])
    run: [STATE]/runs/[RUN]
    waiting: c: Shall it be released?
      hint: marvin workflow answer --run-path [STATE]/runs/[RUN] --step c --text …
    resume with: marvin resume-run --run-path [STATE]/runs/[RUN]
    --- stderr ---
    w: started, 4 steps
    c: waits for a person: Shall it be released?
    [exit code 4]
    ");
    assert_snapshot!(screen(&world, "list-runs"), @"
    BLOCKED     [RUN]  4 steps       w
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs list"), @"
    [RUN]  workflow  BLOCKED  [TIME]  try it
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs show"), @"
    run          [STATE]/runs/[RUN]
    workflow     w: try it
    status       BLOCKED
    steps        1 blocked, 1 new, 2 succeeded
    sync         auto

    status         step  worker  tries      took  detail
    SUCCEEDED      a     Echo        0
    SUCCEEDED      b     Echo        0
    BLOCKED        c     answer      0            Shall it be released?
    NEW            d     Echo        0

    waiting for a person
    answer         c: Shall it be released?
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs show --timeline"), @"
    run          [STATE]/runs/[RUN]
    workflow     w: try it
    status       BLOCKED
    steps        1 blocked, 1 new, 2 succeeded
    sync         auto

    [TIME]  SUCCEEDED      a
    [TIME]  BLOCKED        c: Shall it be released?
    [TIME]  SUCCEEDED      b
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "workflow approve --step c"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(person_screen(&world, "workflow answer --step c --text yes"), @"
    noted for step c; resume with: marvin resume-run --run-path [STATE]/runs/[RUN]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs resume --concurrency 1"), @"
    SUCCEEDED: 4 succeeded of 4 steps ([DURATION])
    run: [STATE]/runs/[RUN]
    --- stderr ---
    w: resumed, 4 steps
    c: succeeded
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs resume"), @"
    SUCCEEDED: 4 succeeded of 4 steps ([DURATION])
    run: [STATE]/runs/[RUN]
    --- stderr ---
    w: resumed, 4 steps
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs stop"), @"
    --- stderr ---
    marvin: [STATE]/runs/[RUN] is not running: it ended as succeeded
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "list-runs --json"), @r#"
    [{"run_id":"[RUN]","run_path":"[STATE]/runs/[RUN]","status":"SUCCEEDED","workflow_id":"w","goal":"try it","steps":4,"counts":{"SUCCEEDED":4},"started_at":"[TIME]","ended_at":"[TIME]","holder":null,"manner":"workflow"}]
    [exit code 0]
    "#);
}
