//! Help of workflows and the pipeline.

use super::help;
use insta::assert_snapshot;

#[test]
fn workflows() {
    assert_snapshot!(help("run-workflow"), @r"
    Run a workflow

    Usage: marvin run-workflow [OPTIONS] [FILE]

    Arguments:
      [FILE]  The workflow

    Options:
          --goal <TEXT>                  A goal: a Planner makes the workflow
          --commitment <KIND:ASSERTION>  An assertion that must hold at the end of a goal (repeatable),
                                         as KIND:ASSERTION
          --working-dir <PATH>           The directory to work in
          --concurrency <N>              The number of steps that run at the same time (default: as many
                                         as there are cores)
          --sync <WHEN>                  When commits are forced to the disk: auto, full or normal
                                         [possible values: auto, full, normal]
          --provider <NAME>              The provider (default: the first with a key, else the built-in
                                         mock) [alias: --llm]
          --model <MODEL>                The model
          --script <FILE>                A script for the mock provider (JSONL)
          --max-cost <USD>               Stop everything when this many US dollars are spent (exit code
                                         6)
          --engine <NAME>                What carries it out: local (this machine) or temporal (workers
                                         of a server; default: flow.engine) [possible values: local,
                                         temporal]
          --detach                       Do not wait for its end; only with the engine temporal
          --json                         The result as JSON
      -h, --help                         Print help

    The file is JSON, or YAML when its name ends in .yaml or .yml. Steps run in the order that
    depends_on asks for, independent ones in parallel. Everything is recorded before it counts: kill it
    anywhere, and `marvin resume-run` resumes it.

    Exit codes: 0 all steps succeeded; 1 a step failed or was partial; 2 the file is invalid; 3 a step's
    commitments do not hold; 4 a person is needed; 6 the budget is spent (resume it with a larger one);
    130 stopped.

    Examples:
      marvin run-workflow build.yaml
      marvin run-workflow --goal 'Make the parser accept comments' \
        --commitment 'tests_pass:pytest -q' --max-cost 5
      marvin run-workflow build.yaml --json | jq .status
      marvin run-workflow big.json --concurrency 5000
    ");
    assert_snapshot!(help("workflow"), @"
    Check and draw workflows, and decide for steps that wait for a person

    Usage: marvin workflow <COMMAND>

    Commands:
      check    Check a workflow, and run nothing
      graph    Draw a workflow
      approve  Approve a step that waits for a person, or refuse it
      answer   Answer a step that waits for a person
      settle   Settle a step whose outcome is unknown, since a process died while it ran

    Options:
      -h, --help  Print help

    Examples:
      marvin workflow check build.yaml
      marvin workflow approve --step release
      marvin workflow answer --step name --text 'Marvin'
    ");
    assert_snapshot!(help("workflow check"), @"
    Check a workflow, and run nothing

    Usage: marvin workflow check [OPTIONS] <FILE>

    Arguments:
      <FILE>  The workflow

    Options:
          --json  As JSON
      -h, --help  Print help

    Every mistake is named with its line and its step; exit code 2.

    Examples:
      marvin workflow check build.yaml
      marvin workflow check build.json --json | jq .problems
    ");
    assert_snapshot!(help("workflow graph"), @"
    Draw a workflow

    Usage: marvin workflow graph [OPTIONS] <FILE>

    Arguments:
      <FILE>  The workflow

    Options:
          --dot   For Graphviz
          --svg   As SVG
          --json  As JSON: steps with their level and what they depend on
      -h, --help  Print help

    Examples:
      marvin workflow graph build.yaml
      marvin workflow graph build.yaml --svg > build.svg
      marvin workflow graph build.yaml --dot | dot -Tpdf > build.pdf
    ");
    assert_snapshot!(help("workflow approve"), @r#"
    Approve a step that waits for a person, or refuse it

    Usage: marvin workflow approve [OPTIONS] --step <ID> [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --step <ID>           The step
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
          --reject              Refuse it
          --reason <TEXT>       The reason [default: ""]
      -h, --help                Print help

    Then `marvin resume-run` resumes it; a run in progress takes it by itself.

    Examples:
      marvin workflow approve --run-path .marvin/runs/run_20260203_040506_1a2b --step release
      marvin workflow approve --step release --reject --reason 'the tests are red'
    "#);
    assert_snapshot!(help("workflow answer"), @"
    Answer a step that waits for a person

    Usage: marvin workflow answer [OPTIONS] --step <ID> [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --step <ID>           The step
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
          --text <TEXT>         The answer, as text
          --value <JSON>        The answer, as JSON
      -h, --help                Print help

    The step's outputs then have the answer as `answer`.

    Examples:
      marvin workflow answer --step name --text 'Marvin'
      marvin workflow answer --step sizes --value '[1, 2, 3]'
    ");
    assert_snapshot!(help("workflow settle"), @"
    Settle a step whose outcome is unknown, since a process died while it ran

    Usage: marvin workflow settle [OPTIONS] --step <ID> --as <WHAT> [RUN]

    Arguments:
      [RUN]  The run's id, the beginning of it, or its directory

    Options:
          --step <ID>           The step
          --run-path <PATH>     The directory of the run, or its id
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
          --as <WHAT>           Its outcome, or what to do: done, failed, again [possible values: done,
                                failed, again]
          --outputs <JSON>      Its outputs, when it is done, for the steps that depend on it [default:
                                {}]
      -h, --help                Print help

    Examples:
      marvin workflow settle --step deploy --as done
      marvin workflow settle --step deploy --as again
    ");
}

#[test]
fn pipeline() {
    assert_snapshot!(help("pipeline"), @"
    Show the progress of a project's pipeline, resume it, and explain its phases

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
    ");
    assert_snapshot!(help("pipeline status"), @"
    Show the progress of a project's pipeline, with cost and time of each phase

    Usage: marvin pipeline status [OPTIONS]

    Options:
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Examples:
      marvin pipeline status
      marvin pipeline status --working-dir app --json | jq -r .after
    ");
    assert_snapshot!(help("pipeline resume"), @"
    Resume at the first phase that is not complete

    Usage: marvin pipeline resume [OPTIONS]

    Options:
          --working-dir <PATH>         The project's directory (default: the project around this
                                       directory)
          --json                       As JSON
          --trust <record|PHASE|none>  Source of truth where `pipeline_state` and the run's record
                                       disagree: `record`, or the last phase to keep (everything after
                                       it is repeated; `none`: everything)
          --answer <TEXT>              Your answer to the question at which it stopped (exit code 4)
          --provider <NAME>            The provider (default: the first with a key) [alias: --llm]
          --model <[TIER=]MODEL>       The model, or the model of a tier: NAME, or TIER=NAME
          --script <FILE>              A script for the mock provider (JSONL)
          --max-cost <USD>             Stop everything when this many US dollars are spent (exit code 6)
          --ntfy <TOPIC>               Push every phase to this ntfy topic
      -h, --help                       Print help

    Exit codes are those of an unattended run: 0 everything was verified, 1 a phase failed, 3 a
    commitment does not hold, 4 a person is needed, 6 the budget is spent.

    Examples:
      marvin pipeline resume
      marvin pipeline resume --max-cost 5
      marvin pipeline resume --answer 'Port 8080, and no TLS.'
      marvin pipeline resume --trust record    pipeline_state was changed; the record counts
      marvin pipeline resume --trust 1b        do everything after 1b again
    ");
    assert_snapshot!(help("pipeline explain"), @"
    Explain what each phase does, and when it is complete

    Usage: marvin pipeline explain [OPTIONS] [PHASE]

    Arguments:
      [PHASE]  Only this phase

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin pipeline explain
      marvin pipeline explain 4b
    ");
}
