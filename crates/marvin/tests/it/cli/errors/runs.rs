//! Errors of runs, replay and the pipeline.

use crate::cli::{FIXTURE_RUN, screen};
use crate::support::{World, say};
use insta::assert_snapshot;

#[test]
fn no_run() {
    let world = World::new();
    assert_snapshot!(screen(&world, "runs"), @"
    --- stderr ---
    marvin: List, show, stop and resume runs

    Usage: marvin runs <COMMAND>

    Commands:
      list    List the runs of this project, newest first
      show    Show what happened in a run
      stop    Stop the run of a workflow, or of self-improve, from anywhere
      resume  Resume the run of a workflow, or of self-improve, that was interrupted, was stopped, or
              waited for a person

    Options:
      -h, --help  Print help

    Examples:
      marvin runs list
      marvin runs show run_20260203_040506_1a2b
      marvin runs resume run_20260203_040506_1a2b
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs show"), @"
    --- stderr ---
    marvin: no run exists yet (looked in [STATE]/runs and [HOME]/.config/marvin/runs)
      hint: a session with the hooks of `marvin init` makes one, and so does `marvin --non-interactive`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs show nonsense"), @"
    --- stderr ---
    marvin: unknown run `nonsense` (looked here and in [STATE]/runs and [HOME]/.config/marvin/runs)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs show --run-path missing"), @"
    --- stderr ---
    marvin: unknown run `missing` (looked here and in [STATE]/runs and [HOME]/.config/marvin/runs)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs stop"), @"
    --- stderr ---
    marvin: no workflow was run here
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs stop nonsense"), @"
    --- stderr ---
    marvin: unknown run `nonsense` (looked here and in [STATE]/runs and [HOME]/.config/marvin/runs)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs resume"), @"
    --- stderr ---
    marvin: no workflow was run here
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs resume nonsense"), @"
    --- stderr ---
    marvin: unknown run `nonsense` (looked here and in [STATE]/runs and [HOME]/.config/marvin/runs)
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs resume --concurrency 0"), @"
    --- stderr ---
    marvin: invalid value '0' for '--concurrency <N>': 0 is not in 1..=1000000

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs resume --sync never"), @"
    --- stderr ---
    marvin: invalid value 'never' for '--sync <WHEN>'
      [possible values: auto, full, normal]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs list --all"), @"
    --- stderr ---
    marvin: unexpected argument '--all' found

    Usage: marvin runs list [OPTIONS]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "replay"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <RUN>

    Usage: marvin replay <RUN>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "replay nonsense"), @"
    --- stderr ---
    marvin: cannot find the run `nonsense` here or in [STATE]/runs and [HOME]/.config/marvin/runs
      hint: `marvin runs list` shows the runs; one can be replayed if it was recorded with --record
    [exit code 2]
    ");
}

#[test]
fn runs_that_cannot_be_used() {
    let world = World::new();
    let other = "run_20260203_040507_1a2b";
    let facts = "{\"version\": 1, \"runId\": \"x\", \"manner\": \"non-interactive\", \"goal\": \"g\", \"status\": \"success\"}";
    world.write_state(&format!("runs/{FIXTURE_RUN}/run.json"), facts);
    world.write_state(&format!("runs/{other}/trace.jsonl"), "\u{0}\u{0}");
    assert_snapshot!(screen(&world, "runs list"), @"
    [RUN]  unknown          ?
    run_20260203_040506_1a2b  non-interactive  SUCCEEDED    g
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs show"), @"
    run          [STATE]/runs/[RUN]
    what         a run of Marvin's own
    when         ?, not ended (it is running, or was interrupted)
    damaged      trace.jsonl line 1: 2 bytes at the end were never finished
                 run.json: it is not there
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "runs show run_2026"), @"
    --- stderr ---
    marvin: several runs begin with `run_2026`: [RUN], run_20260203_040506_1a2b
      hint: give more of the name
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, &format!("replay {FIXTURE_RUN}")), @"
    --- stderr ---
    marvin: the run [STATE]/runs/run_20260203_040506_1a2b was not recorded
      hint: record a run with --record DIR, then replay it
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, &format!("--non-interactive --resume {FIXTURE_RUN}")), @r#"
    --- stderr ---
    marvin: --resume run_20260203_040506_1a2b: it ended (success)
      hint: only an interrupted run can be resumed; `marvin inspect-run` shows how runs ended
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
}

#[test]
fn runs_that_are_not_workflows() {
    let world = World::new();
    world.play(&[say("done")], &[]).run().exits(0);
    let run = world.run().file_name().unwrap().to_string_lossy().into_owned();
    assert_snapshot!(screen(&world, &format!("runs stop {run}")), @"
    --- stderr ---
    marvin: [STATE]/runs/[RUN] is the run of a prompt, not of a workflow
      hint: `marvin --non-interactive --resume RUN` continues it; Ctrl-C or SIGTERM stops it
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, &format!("runs resume {run}")), @"
    --- stderr ---
    marvin: [STATE]/runs/[RUN] is the run of a prompt, not of a workflow
      hint: `marvin --non-interactive --resume RUN` continues it; Ctrl-C or SIGTERM stops it
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, &format!("workflow check {run}")), @"
    --- stderr ---
    marvin: [RUN]: cannot be read: No such file or directory (os error 2)
      hint: name a workflow file, JSON or YAML
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "runs show --timeline"), @"
    run          [STATE]/runs/[RUN]
    when         [TIME] to [TIME], [DURATION], ended: answered

    [TIME]  run.started               mock
    [TIME]  turn.started              go
    [TIME]  prompt.composed           turn
    [TIME]  item.started              mock
    [TIME]  item.completed            done
    [TIME]  item.completed            done
    [TIME]  turn.completed            success
    [TIME]  result                    done
    [exit code 0]
    ");
}

#[test]
fn pipeline() {
    let world = World::new();
    assert_snapshot!(screen(&world, "pipeline"), @"
    --- stderr ---
    marvin: Show the progress of a project's pipeline, resume it, and explain its phases

    Usage: marvin pipeline <COMMAND>

    Commands:
      status   Show the progress of a project's pipeline, with cost and time of each phase
      resume   Resume at the first phase that is not complete
      explain  Explain what each phase does, and when it is complete

    Options:
      -h, --help  Print help

    Examples:
      marvin pipeline status
      marvin pipeline resume --max-cost 5
      marvin pipeline explain 4b
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "pipeline explain 9z"), @"
    --- stderr ---
    marvin: invalid value '9z' for '[PHASE]': no phase is called `9z` (there are: 1a, 1a_review, 1b, 1b_review, 2a, 2b, 3, 4a, 4b, 4c, 5)

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "pipeline resume"), @"
    --- stderr ---
    marvin: no pipeline was started in this directory
      hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "pipeline resume --trust everything"), @"
    --- stderr ---
    marvin: invalid value 'everything' for '--trust <record|PHASE|none>': no phase is called `everything` (there are: 1a, 1a_review, 1b, 1b_review, 2a, 2b, 3, 4a, 4b, 4c, 5)

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "pipeline status --working-dir missing"), @"
    --- stderr ---
    marvin: --working-dir missing: no such directory
      hint: make it first, or check the spelling
    [exit code 2]
    ");
    world.write(".marvin/pipeline_state", "9z\n");
    assert_snapshot!(screen(&world, "pipeline status"), @r"
    run: none
      1a         to do    Specification and user experience
      1a_review  to do    Review of the specification
      1b         to do    Architecture and test plan
      1b_review  to do    Review of the design
      2a         to do    Functional tests, red
      2b         to do    Integration tests, red
      3          to do    Implementation
      4a         to do    Debugging until the tests are green
      4b         to do    The application, started and asked
      4c         to do    What it serves to a browser
      5          to do    Adversarial testing
    [PROJECT]/.marvin/pipeline_state says `9z\n`, which is not a phase (1a, 1a_review, 1b, 1b_review, 2a, 2b, 3, 4a, 4b, 4c, 5)
      hint: `marvin pipeline resume --trust record` restores it from the record of the run; `--trust 1b` repeats everything after 1b
    [exit code 4]
    ");
    assert_snapshot!(screen(&world, "pipeline resume"), @"
    --- stderr ---
    marvin: no pipeline was started in this directory
      hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'
    [exit code 2]
    ");
}
