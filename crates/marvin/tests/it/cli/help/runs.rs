//! Help of runs, the benchmark suite and replay.

use super::help;
use insta::assert_snapshot;

#[test]
fn runs() {
    assert_snapshot!(help("runs"), @"
    List, show, stop and resume runs

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
    ");
    assert_snapshot!(help("runs list"), @r#"
    List the runs of this project, newest first

    Usage: marvin runs list [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Runs of every kind: turns, workflows, pipelines, servitors, hooks, MCP servers, benchmarks.

    Examples:
      marvin runs list
      marvin runs list --json | jq -r '.[] | select(.kind == "workflow") | .id'
    "#);
    assert_snapshot!(help("runs show"), @"
    Show what happened in a run

    Usage: marvin runs show [OPTIONS] [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --run-path <PATH>     The directory of the run, or its id
          --timeline            Every event in order; of a workflow, every transition
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON, with everything
      -h, --help                Print help

    Without a run: the newest of this project. A run is named by its id, the beginning of its id, or its
    directory.

    Examples:
      marvin runs show
      marvin runs show run_20260203_040506_1a2b
      marvin runs show --run-path .marvin/runs/run_20260203_040506_1a2b --timeline
      marvin runs show --json | jq .tools
    ");
    assert_snapshot!(help("runs stop"), @"
    Stop the run of a workflow, or of self-improve, from anywhere

    Usage: marvin runs stop [OPTIONS] [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Its steps are ended, its state is kept, and `marvin runs resume` resumes it later.

    Examples:
      marvin runs stop run_20260203_040506_1a2b
      marvin runs stop --run-path .marvin/runs/run_20260203_040506_1a2b
    ");
    assert_snapshot!(help("runs resume"), @"
    Resume the run of a workflow, or of self-improve, that was interrupted, was stopped, or waited for a
    person

    Usage: marvin runs resume [OPTIONS] [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
          --concurrency <N>     The number of steps that run at the same time (default: as many as there
                                are cores)
          --sync <WHEN>         When commits are forced to the disk: auto, full or normal [possible
                                values: auto, full, normal]
          --provider <NAME>     The provider (default: the first with a key, else the built-in mock)
                                [alias: --llm]
          --model <MODEL>       The model
          --script <FILE>       A script for the mock provider (JSONL)
          --max-cost <USD>      Stop everything when this many US dollars are spent (exit code 6)
      -h, --help                Print help

    Finished steps do not run again. A step that was running when the process died is taken from what it
    left behind, or run again where that does no harm, or asked about.

    Examples:
      marvin runs resume --run-path .marvin/runs/run_20260203_040506_1a2b
      marvin runs resume run_20260203_040506_1a2b --json
    ");
}

#[test]
fn older_names_of_the_runs_commands() {
    assert_snapshot!(help("resume-run"), @"
    Resume the run of a workflow, or of self-improve, that was interrupted, was stopped, or waited for a
    person

    Usage: marvin resume-run [OPTIONS] [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
          --concurrency <N>     The number of steps that run at the same time (default: as many as there
                                are cores)
          --sync <WHEN>         When commits are forced to the disk: auto, full or normal [possible
                                values: auto, full, normal]
          --provider <NAME>     The provider (default: the first with a key, else the built-in mock)
                                [alias: --llm]
          --model <MODEL>       The model
          --script <FILE>       A script for the mock provider (JSONL)
          --max-cost <USD>      Stop everything when this many US dollars are spent (exit code 6)
      -h, --help                Print help

    Finished steps do not run again. A step that was running when the process died is taken from what it
    left behind, or run again where that does no harm, or asked about.

    Examples:
      marvin runs resume --run-path .marvin/runs/run_20260203_040506_1a2b
      marvin runs resume run_20260203_040506_1a2b --json
    ");
    assert_snapshot!(help("list-runs"), @r#"
    List the runs of workflows

    Usage: marvin list-runs [OPTIONS]

    Options:
          --all                 Also runs that are not workflows; of a server, also those of other
                                projects
          --engine <NAME>       Where they are: local (this machine) or temporal (the server) [default:
                                local]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin list-runs
      marvin list-runs --all
      marvin list-runs --engine temporal
      marvin list-runs --json | jq -r '.[] | select(.status == "BLOCKED") | .run_path'
    "#);
    assert_snapshot!(help("stop-run"), @"
    Stop the run of a workflow, or of self-improve, from anywhere

    Usage: marvin stop-run [OPTIONS] [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Its steps are ended, its state is kept, and `marvin runs resume` resumes it later.

    Examples:
      marvin runs stop run_20260203_040506_1a2b
      marvin runs stop --run-path .marvin/runs/run_20260203_040506_1a2b
    ");
    assert_snapshot!(help("inspect-run"), @"
    Show what happened in a run

    Usage: marvin inspect-run [OPTIONS] [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --run-path <PATH>     The directory of the run, or its id
          --timeline            Every event in order; of a workflow, every transition
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON, with everything
      -h, --help                Print help

    Without a run: the newest of this project. A run is named by its id, the beginning of its id, or its
    directory.

    Examples:
      marvin runs show
      marvin runs show run_20260203_040506_1a2b
      marvin runs show --run-path .marvin/runs/run_20260203_040506_1a2b --timeline
      marvin runs show --json | jq .tools
    ");
}

#[test]
fn benchmark() {
    assert_snapshot!(help("list-tasks"), @"
    List the tasks of the benchmark suite

    Usage: marvin list-tasks [OPTIONS]

    Options:
          --show <ID>  Print the instructions that a solver gets
          --json       As JSON
      -h, --help       Print help

    Examples:
      marvin list-tasks
      marvin list-tasks --json | jq -r '.[] | select(.difficulty > 3) | .id'
      marvin list-tasks --show lru-cache
    ");
    assert_snapshot!(help("run-task"), @"
    Run one task of the benchmark suite, and grade the result

    Usage: marvin run-task [OPTIONS] --task-id <ID>

    Options:
          --task-id <ID>        The task
          --runner <NAME>       The runner that solves it [default: baseline]
          --keep                Keep the workspace, and print its path
          --provider <NAME>     The provider (default: the built-in mock) [alias: --llm]
          --model <MODEL>       The model
          --script <FILE>       A script for the mock in place of the recordings (JSONL)
          --python <PATH>       A Python that has pytest: a program, or the directory of a virtual
                                environment (default: the setting lab.python)
          --max-cost <USD>      Stop an attempt at a task when it has cost this many US dollars
          --deadline <SECONDS>  Stop an attempt at a task after this many seconds; 0: no limit
          --out <DIR>           The directory for reports and artifacts (default: a new run of the
                                project, else of the user)
          --json                As JSON
      -h, --help                Print help

    Runners:
      baseline      one agent, one session, taken at its word
      hierarchical  plans, works in steps, proves each and retries with a lesson
      oracle, nop   controls: the reference solution, and nothing at all

    Without --provider and --script the built-in mock plays the task's recordings.
    Exit code 0 when every hidden test passes, 3 when it was claimed and they do not, 1 otherwise, 4
    without Python and pytest.

    Examples:
      marvin run-task --task-id lru-cache --runner oracle
      marvin run-task --task-id single-flight --runner hierarchical --provider anthropic --max-cost 1
      marvin run-task --task-id stats-summary --runner baseline --script mine.jsonl --keep
    ");
    assert_snapshot!(help("self-improve"), @r"
    Improve this checkout in parallel sessions, and merge the best verified result

    Usage: marvin self-improve [OPTIONS] --goal <TEXT>

    Options:
          --goal <TEXT>            What is to be improved
          --input <URL|FILE|TEXT>  More to work with: a URL, a file or a text (default: the first URL in
                                   the goal)
          --sessions <N>           Sessions of a batch [default: 5]
          --batches <N>            Batches, one after the other [default: 1]
          --workers <N>            Sessions that run at the same time [default: 4]
          --no-merge               Only report, and merge nothing
          --llm <NAME>             The provider; mixed: one session of five with claude, the others with
                                   codex (default: the first with a key) [alias: --provider]
          --model <MODEL>          The model
          --script <FILE>          A script for the mock provider (JSONL); every attempt plays it from
                                   its beginning
          --evaluate <COMMAND>     The command that evaluates a checkout; suite or suite:TASK,TASK: the
                                   benchmark suite (default: the tests of the project)
          --include <PATHS>        Files and directories that sessions may change (default: the setting
                                   self_improve.include)
          --may-change <PATHS>     Tests and files that steer them that sessions may change
          --max-cost <USD>         Stop everything when this many US dollars are spent (exit code 6)
          --deadline <SECONDS>     End a session after this many seconds; 0: no limit
          --working-dir <PATH>     The checkout (default: the project around this directory)
          --json                   The report as JSON
      -h, --help                   Print help

    Every batch evaluates the checkout, lets the sessions work in worktrees of their own, compares what
    they left by a fixed rubric, and merges the best verified result, evaluated again. Existing tests
    are protected: a session that changes one loses. The checkout must be a clean git checkout. Reports:
    self_improve.json, self_improve.md and self_improve.html in the run.

    It stops at Ctrl-C, by `marvin stop-run`, and when the file .marvin/stop-self-improve exists;
    `marvin resume-run` resumes it.

    Exit codes: 0 a winner was merged (--no-merge: found); 3 no session was verified, or nothing could
    be merged; 4 the goal is ambiguous, or the checkout is not clean; 6 the budget is spent; 130
    stopped.

    Examples:
      marvin self-improve --goal 'Fix the rounding of prices' --max-cost 5
      marvin self-improve --goal 'Add a parser for dates' --evaluate 'pytest -q' --include src,tests
      marvin self-improve --goal 'Harden the parser as https://example.com/notes says' \
        --llm mixed --sessions 10
      marvin self-improve --goal 'Improve AGENTS.md' --include AGENTS.md --evaluate suite --max-cost 20
      marvin self-improve --goal 'Improve the messages' --no-merge --batches 2 --json | jq .batches
    ");
    assert_snapshot!(help("run-suite"), @r"
    Run the benchmark suite and write reports: JSON, Markdown, and a page with plots

    Usage: marvin run-suite [OPTIONS]

    Options:
          --tasks <IDS>         Only these tasks, separated by commas
          --runners <NAMES>     These runners, separated by commas [default: baseline,hierarchical]
          --repeat <N>          Repetitions of each task by each runner [default: 1]
          --concurrency <N>     Number of parallel attempts; more than one makes wall times longer
                                [default: 1]
          --provider <NAME>     The provider (default: the built-in mock) [alias: --llm]
          --model <MODEL>       The model
          --script <FILE>       A script for the mock in place of the recordings (JSONL)
          --python <PATH>       A Python that has pytest: a program, or the directory of a virtual
                                environment (default: the setting lab.python)
          --max-cost <USD>      Stop an attempt at a task when it has cost this many US dollars
          --deadline <SECONDS>  Stop an attempt at a task after this many seconds; 0: no limit
          --out <DIR>           The directory for reports and artifacts (default: a new run of the
                                project, else of the user)
          --json                As JSON
      -h, --help                Print help

    Writes suite-report.json, suite-report.md and suite-report.html. Without --provider and --script the
    built-in mock plays the tasks' recordings, and the report says so. Exit code 0 when everything was
    run, whatever the results.

    Examples:
      marvin run-suite --out report
      marvin run-suite --runners oracle,nop
      marvin run-suite --tasks lru-cache,single-flight --runners baseline,hierarchical \
        --provider openai --repeat 3 --max-cost 1
    ");
}

#[test]
fn replay() {
    assert_snapshot!(help("replay"), @"
    Run a recorded run again and show the first point at which it differs

    Usage: marvin replay [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run's directory or id

    Options:
          --json  As JSON
      -h, --help  Print help

    The run must have been made with --record. Models and tools answer from the recording; nothing is
    changed.

    Examples:
      marvin --non-interactive --prompt 'list files' --record tape
      marvin replay run_20260203_040506_1a2b
    ");
}
