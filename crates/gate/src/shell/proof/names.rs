//! What is known of programs and builtins by their names.

/// Never fail.
const SURE: [&str; 36] = [
    ":", "true", "echo", "printf", "pwd", "date", "sleep", "whoami", "id", "hostname", "uname", "clear",
    "export", "declare", "typeset", "local", "readonly", "unset", "set", "shopt", "alias", "unalias",
    "umask", "times", "jobs", "dirs", "trap", "disown", "history", "yes", "seq", "tput", "hash", "ulimit",
    "break", "continue",
];

/// Show something, prepare or tidy up: that they fail says little about the work.
const WEAK: [&str; 48] = [
    "cd",
    "pushd",
    "popd",
    "ls",
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "mkdir",
    "rmdir",
    "rm",
    "cp",
    "mv",
    "ln",
    "touch",
    "chmod",
    "chown",
    "kill",
    "pkill",
    "killall",
    "tee",
    "source",
    ".",
    "du",
    "df",
    "ps",
    "wc",
    "sort",
    "uniq",
    "tr",
    "cut",
    "nl",
    "column",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "which",
    "type",
    "find",
    "tree",
    "stat",
    "file",
    "read",
    "mapfile",
    "readarray",
    "sync",
];

/// Start what their words say, and end with its code.
const WRAPPERS: [&str; 17] = [
    "command",
    "builtin",
    "env",
    "nice",
    "nohup",
    "stdbuf",
    "timeout",
    "gtimeout",
    "time",
    "setsid",
    "sudo",
    "ionice",
    "unbuffer",
    "chrt",
    "npx",
    "busybox",
    "catchsegv",
];

/// The same with a word of their own before.
const RUNNERS: [(&str, &str); 8] = [
    ("poetry", "run"),
    ("pipenv", "run"),
    ("uv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
];

/// Are asked for facts, so that it says little that they fail.
const ASKED: [&str; 12] = [
    "git",
    "docker",
    "podman",
    "nproc",
    "mktemp",
    "command",
    "pgrep",
    "pidof",
    "getconf",
    "lsb_release",
    "tty",
    "printenv",
];

/// Print what they find, and nothing where there is nothing to find.
const LISTERS: [&str; 28] = [
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "fd",
    "gofmt",
    "goimports",
    "diff",
    "comm",
    "jq",
    "yq",
    "sed",
    "awk",
    "gawk",
    "rev",
    "tac",
    "paste",
    "join",
    "xargs",
    "test",
    "[",
    "cloc",
    "ss",
    "netstat",
    "sha256sum",
];

/// Make room for what follows.
const PREPARES: [&str; 16] = [
    "docker",
    "docker-compose",
    "podman",
    "git",
    "tmux",
    "screen",
    "systemctl",
    "service",
    "fuser",
    "dropdb",
    "createdb",
    "psql",
    "redis-cli",
    "umount",
    "xhost",
    "wait",
];

/// Say whether what is printed into them is right.
const INPUT: [&str; 12] =
    ["grep", "egrep", "fgrep", "zgrep", "rg", "diff", "cmp", "jq", "read", "sha256sum", "md5sum", "xargs"];

/// Show what is written somewhere.
const SHOWS: [&str; 24] = [
    "echo", "printf", "yes", "seq", "cat", "tac", "head", "tail", "nl", "less", "more", "bat", "rev", "grep",
    "egrep", "fgrep", "sed", "awk", "cut", "sort", "uniq", "column", "tee", "zcat",
];

/// Assign what their words say.
const DECLARATIONS: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];

/// Read only what is given to them, and one pattern or script.
const FILTERS: [(&str, usize); 15] = [
    ("tee", 9),
    ("grep", 1),
    ("egrep", 1),
    ("fgrep", 1),
    ("sed", 1),
    ("awk", 1),
    ("jq", 1),
    ("tr", 2),
    ("cat", 0),
    ("wc", 0),
    ("sort", 0),
    ("head", 0),
    ("tail", 0),
    ("uniq", 0),
    ("rev", 0),
];

pub(super) fn is_sure(name: &str) -> bool {
    SURE.contains(&name)
}

pub(super) fn is_weak(name: &str) -> bool {
    WEAK.contains(&name)
}

pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

pub(super) fn declares(name: &str) -> bool {
    DECLARATIONS.contains(&name)
}

/// Is this a program that starts another by its second word: `poetry run`?
pub(super) fn runner(name: &str) -> Option<&'static str> {
    RUNNERS.iter().find(|(known, _)| *known == name).map(|(_, word)| *word)
}

pub(super) fn is_asked(name: &str) -> bool {
    ASKED.contains(&name)
}

/// Does it say nothing only where there is nothing to be said?
pub(super) fn is_lister(name: &str) -> bool {
    LISTERS.contains(&name) || is_asked(name) || is_sure(name) || is_weak(name) || filter(name).is_some()
}

pub(super) fn prepares(name: &str) -> bool {
    PREPARES.contains(&name) || is_sure(name) || is_weak(name)
}

pub(super) fn installs(name: &str) -> bool {
    matches!(
        name,
        "npm"
            | "yarn"
            | "pnpm"
            | "pip"
            | "pip3"
            | "poetry"
            | "uv"
            | "bundle"
            | "cargo"
            | "python"
            | "python3"
            | "apt-get"
            | "brew"
            | "go"
            | "composer"
    )
}

/// Tells whether something else is ready.
pub(super) fn waits(name: &str) -> bool {
    const WAITS: [&str; 9] =
        ["curl", "wget", "nc", "ncat", "pg_isready", "mysqladmin", "redis-cli", "ping", "docker"];
    WAITS.contains(&name) || filter(name).is_some() || is_weak(name)
}

/// Variables that the shell or the machine sets.
pub(super) fn is_of_shell(name: &str) -> bool {
    const OWN: [&str; 22] = [
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "EPOCHSECONDS",
        "BASH",
        "BASHPID",
        "BASH_VERSION",
        "PATH",
        "HOME",
        "PWD",
        "USER",
        "LOGNAME",
        "SHELL",
        "SHLVL",
        "UID",
        "EUID",
        "PPID",
        "LINENO",
        "HOSTNAME",
        "OSTYPE",
        "HOSTTYPE",
        "MACHTYPE",
    ];
    OWN.contains(&name)
}

/// Prints a text that stands somewhere already.
pub(super) fn speaks(name: &str) -> bool {
    matches!(name, "echo" | "printf" | "yes" | "seq" | "cat" | "head" | "tail" | "tac")
}

pub(super) fn looks_at_input(name: &str) -> bool {
    INPUT.contains(&name)
}

pub(super) fn shows(name: &str) -> bool {
    SHOWS.contains(&name)
}

/// Might it run tests?
pub(super) fn runs(name: &str) -> bool {
    const LOOKS: [&str; 12] =
        ["test", "[", "diff", "cmp", "expr", "let", "jq", "yq", "exit", "return", "eval", "exec"];
    !(is_sure(name) || is_weak(name) || shows(name) || filter(name).is_some() || LOOKS.contains(&name))
}

/// Is it there on every machine, without the `/` before it?
pub(super) fn is_of_every_machine(path: &str) -> bool {
    const PATHS: [&str; 10] = [
        "bin/sh",
        "bin/bash",
        "bin/ls",
        "bin/cat",
        "usr/bin",
        "usr/bin/env",
        "usr/lib",
        "etc/passwd",
        "etc/hosts",
        "usr/bin/bash",
    ];
    PATHS.contains(&path)
}

/// Words that a filter takes besides flags, before it reads files.
pub(super) fn filter(name: &str) -> Option<usize> {
    FILTERS.iter().find(|(known, _)| *known == name).map(|(_, words)| *words)
}

/// The flag behind which a program takes the text of a script.
pub(super) fn script_flag(name: &str) -> Option<&'static str> {
    match name {
        name if name.starts_with("python") => Some("-c"),
        "node" | "nodejs" | "perl" | "ruby" | "lua" => Some("-e"),
        "php" => Some("-r"),
        _ => None,
    }
}

/// Does a program of this text start another and pass over its exit code?
pub(super) fn starts_unheard(text: &str) -> bool {
    const STARTS: [&str; 9] = [
        "system(",
        "system ",
        "subprocess.run(",
        "subprocess.call(",
        "Popen(",
        "spawnSync(",
        "spawn(",
        "popen(",
        "subprocess.getoutput(",
    ];
    const HEARS: [&str; 13] = [
        "assert",
        "raise",
        "throw",
        "check=True",
        "check = True",
        "exit(",
        "exit ",
        "die",
        "abort",
        "check_call",
        "check_output",
        "execSync",
        "returncode",
    ];
    STARTS.iter().any(|start| text.contains(start))
        && !HEARS.iter().any(|door| without_zero(text).contains(door))
}

fn without_zero(text: &str) -> String {
    ["sys.exit(0)", "process.exit(0)", "exit(0)", "exit()", "import sys", "exit 0"]
        .iter()
        .fold(text.to_string(), |text, harmless| text.replace(harmless, ""))
}

/// Can a program of this text fail at all? Only what plainly cannot is said to.
pub(super) fn can_fail(text: &str) -> bool {
    const DOORS: [&str; 17] = [
        "assert", "raise", "throw", "exit", "die", "open", "read", "import", "require", "/", "fail", "abort",
        "kill", "[", "exec", "eval", "\\",
    ];
    let text = without_zero(text);
    DOORS.iter().any(|door| text.contains(door))
}
