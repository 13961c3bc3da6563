//! Ways to write a command so that it still does the same.

use super::encode::{backquoted, base64, double, escaped, hexadecimal, single, turned, word_escapes};

/// A way to write a line differently; `None` where it does not fit the line.
pub(crate) type Change = fn(&str) -> Option<String>;

/// What may happen to the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    /// It stays as strict.
    Keeps,
    /// What is denied may be asked about instead. Why stands beside each.
    MayAsk,
}

use Law::{Keeps, MayAsk};

/// Changes of any line.
pub(crate) const OF_LINES: &[(&str, Law, Change)] = &[
    ("subshell", Keeps, |line| Some(format!("({line}\n)"))),
    ("group", Keeps, |line| Some(format!("{{ {line}\n}}"))),
    ("bash -c", Keeps, |line| Some(format!("bash -c {}", single(line)))),
    ("sh -c in double quotes", Keeps, |line| Some(format!("sh -c {}", double(line)))),
    ("path and joined flags", Keeps, |line| Some(format!("/usr/bin/env bash -xec {}", single(line)))),
    ("flags behind --", Keeps, |line| Some(format!("bash -c -- {}", single(line)))),
    ("bash -c twice", Keeps, |line| Some(format!("bash -c {}", single(&format!("sh -c {}", single(line)))))),
    ("eval", Keeps, |line| Some(format!("eval {}", single(line)))),
    ("command eval", Keeps, |line| Some(format!("command eval {}", single(line)))),
    ("builtin eval", Keeps, |line| Some(format!("builtin eval {}", single(line)))),
    ("eval twice", Keeps, |line| Some(format!("eval eval {}", single(&single(line))))),
    ("newline before", Keeps, |line| Some(format!("true\n{line}"))),
    ("comment before", Keeps, |line| Some(format!("# only a comment\n{line}"))),
    ("comment behind", Keeps, |line| (!line.contains('\n')).then(|| format!("{line} # nothing to see"))),
    ("semicolon before", Keeps, |line| Some(format!("echo hi; {line}"))),
    ("cd before", Keeps, |line| Some(format!("cd . && {line}"))),
    ("and", Keeps, |line| Some(format!("true && {line}"))),
    ("or", Keeps, |line| Some(format!("false || {line}"))),
    ("background", Keeps, |line| Some(format!("{{ {line}\n}} &"))),
    ("if", Keeps, |line| Some(format!("if true; then {line}\nfi"))),
    ("else", Keeps, |line| Some(format!("if false; then :; else {line}\nfi"))),
    ("condition", Keeps, |line| Some(format!("if {line}\nthen :; fi"))),
    ("for", Keeps, |line| Some(format!("for i in 1; do {line}\ndone"))),
    ("while", Keeps, |line| Some(format!("while :; do {line}\nbreak; done"))),
    ("until", Keeps, |line| Some(format!("until {line}\ndo :; done"))),
    ("case", Keeps, |line| Some(format!("case x in x) {line}\n;; esac"))),
    ("function", Keeps, |line| Some(format!("f() {{ {line}\n}}; f"))),
    ("function keyword", Keeps, |line| Some(format!("function g {{\n{line}\n}}\ng"))),
    ("substitution", Keeps, |line| Some(format!("echo \"$({line}\n)\""))),
    ("substitution as a command", Keeps, |line| Some(format!("true $({line}\n)"))),
    ("backquotes", Keeps, |line| Some(format!("echo `{}`", backquoted(line)))),
    ("substitution in a default", Keeps, |line| Some(format!(": \"${{undefined:-$({line}\n)}}\""))),
    ("substitution in arithmetic", Keeps, |line| Some(format!("echo $(( $({line}\n) + 1 ))"))),
    ("substitution in an index", Keeps, |line| Some(format!("a[$({line}\n)]=1"))),
    ("substitution in a here-document", Keeps, |line| Some(format!("cat <<E\n$({line}\n)\nE"))),
    ("substitution in an assignment", Keeps, |line| Some(format!("x=$({line}\n)"))),
    ("process substitution", Keeps, |line| Some(format!("cat <({line}\n)"))),
    ("process substitution for output", Keeps, |line| Some(format!("echo a > >({line}\n)"))),
    ("here-document", Keeps, |line| {
        let mark = format!("END{}", line.len());
        Some(format!("bash <<'{mark}'\n{line}\n{mark}"))
    }),
    ("here-document through cat", Keeps, |line| {
        let mark = format!("END{}", line.len());
        Some(format!("cat <<'{mark}' | sh\n{line}\n{mark}"))
    }),
    ("here-string", Keeps, |line| Some(format!("bash <<< {}", single(line)))),
    ("echo | sh", Keeps, |line| Some(format!("echo {} | sh", single(line)))),
    ("printf | bash", Keeps, |line| Some(format!("printf '%s\\n' {} | bash -s", single(line)))),
    ("base64", Keeps, |line| Some(format!("echo {} | base64 -d | sh", base64(line)))),
    ("base64 in eval", Keeps, |line| Some(format!("eval \"$(echo {} | base64 --decode)\"", base64(line)))),
    ("openssl", Keeps, |line| Some(format!("echo {} | openssl base64 -d -A | sh", base64(line)))),
    ("hexadecimal", Keeps, |line| Some(format!("echo {} | xxd -r -p | sh", hexadecimal(line)))),
    ("reversed", Keeps, |line| {
        let turned: String = line.chars().rev().collect();
        (!line.contains('\n')).then(|| format!("echo {} | rev | sh", single(&turned)))
    }),
    ("letters turned", Keeps, |line| {
        Some(format!("echo {} | tr A-Za-z N-ZA-Mn-za-m | sh", single(&turned(line))))
    }),
    // What a compressed text holds is not known before it runs.
    ("compressed", MayAsk, |line| Some(format!("echo {} | base64 -d | gunzip | sh", base64(line)))),
    ("variable and eval", Keeps, |line| Some(format!("x={}; eval \"$x\"", single(line)))),
    ("variable and -c", Keeps, |line| Some(format!("export x={}; bash -c \"$x\"", single(line)))),
    ("escapes", Keeps, |line| Some(format!("eval $'{}'", escaped(line)))),
    ("printf escapes", Keeps, |line| Some(format!("printf '{}' | sh", escaped(line)))),
    ("echo -e", Keeps, |line| Some(format!("echo -e '{}' | bash", escaped(line)))),
    ("trap", Keeps, |line| Some(format!("trap {} EXIT", single(line)))),
    ("coproc", Keeps, |line| Some(format!("coproc {{ {line}\n}}"))),
    ("time", Keeps, |line| Some(format!("time ({line}\n)"))),
    ("negation", Keeps, |line| Some(format!("! {{ {line}\n}}"))),
    ("redirection noise", Keeps, |line| Some(format!("{{ {line}\n}} > /dev/null 2>&1"))),
    ("long prefix", Keeps, |line| Some(format!("{}{line}", "true; ".repeat(60)))),
    ("long list", Keeps, |line| Some(format!("{}{line}", "echo a && ".repeat(60)))),
    ("script file", Keeps, |line| Some(format!("echo {} > s.sh; sh s.sh", single(line)))),
    ("script file by its path", Keeps, |line| {
        let mark = format!("END{}", line.len());
        Some(format!("cat > s.sh <<'{mark}'\n#!/bin/sh\n{line}\n{mark}\nchmod +x s.sh && ./s.sh"))
    }),
    ("source", Keeps, |line| Some(format!("source <(echo {})", single(line)))),
    ("dot and input", Keeps, |line| Some(format!(". /dev/stdin <<< {}", single(line)))),
    ("read", Keeps, |line| {
        (!line.contains(['\n', '\\'])).then(|| format!("read -r x <<< {}; eval \"$x\"", single(line)))
    }),
    ("printf -v", Keeps, |line| Some(format!("printf -v x '%s' {}; eval \"$x\"", single(line)))),
    ("xargs and a shell", Keeps, |line| Some(format!("printf '%s' {} | xargs -0 bash -c", single(line)))),
    ("xargs in place", Keeps, |line| Some(format!("echo x | xargs -I%% sh -c {}", single(line)))),
    ("find -exec", Keeps, |line| Some(format!("find . -maxdepth 0 -exec sh -c {} \\;", single(line)))),
    ("parallel", Keeps, |line| Some(format!("parallel ::: {}", single(line)))),
    // On another machine a directory is not this workspace.
    ("ssh", MayAsk, |line| Some(format!("ssh -p 22 me@example.com {}", single(line)))),
    ("docker exec", MayAsk, |line| Some(format!("docker exec -it box sh -c {}", single(line)))),
    ("kubectl exec", MayAsk, |line| Some(format!("kubectl exec pod -- sh -c {}", single(line)))),
    ("alias", Keeps, |line| {
        (!line.contains('\n')).then(|| format!("shopt -s expand_aliases\nalias x={}\nx", single(line)))
    }),
    ("python", Keeps, |line| {
        Some(format!("python3 -c {}", single(&format!("import os; os.system({})", word_escapes(line)))))
    }),
    ("perl", Keeps, |line| {
        (!line.contains(['\'', '\n', '\\']))
            .then(|| format!("perl -e {}", single(&format!("system('{line}')"))))
    }),
    ("su -c", Keeps, |line| Some(format!("su - me -c {}", single(line)))),
    ("script -c", Keeps, |line| Some(format!("script -qc {} /dev/null", single(line)))),
    ("flock -c", Keeps, |line| Some(format!("flock /tmp/lock -c {}", single(line)))),
    ("watch", Keeps, |line| Some(format!("watch -n 1 {}", single(line)))),
    ("git alias", Keeps, |line| Some(format!("git -c alias.x={} x", single(&format!("!{line}"))))),
    ("at", Keeps, |line| Some(format!("echo {} | at now", single(line)))),
    ("nohup", Keeps, |line| Some(format!("nohup bash -c {} >/dev/null 2>&1 &", single(line)))),
    ("timeout and a shell", Keeps, |line| Some(format!("timeout -k 1 5 sh -c {}", single(line)))),
    ("busybox", Keeps, |line| Some(format!("busybox sh -c {}", single(line)))),
    ("tar", Keeps, |line| {
        Some(format!("tar cf /dev/null a --checkpoint=1 --checkpoint-action=exec={}", single(line)))
    }),
    ("vim", Keeps, |line| {
        (!line.contains('\n')).then(|| format!("vim -es -c {} -c q", single(&format!("!{line}"))))
    }),
    // Neither parser takes `X=<(…) command`, so it is not certain what the file holds.
    ("start-up file of a shell", MayAsk, |line| Some(format!("BASH_ENV=<(echo {}) bash -c :", single(line)))),
    ("shell from the environment", Keeps, |line| Some(format!("$SHELL -c {}", single(line)))),
    ("shell by its variable", Keeps, |line| Some(format!("\"$BASH\" -c {}", single(line)))),
    ("name of the shell", Keeps, |line| {
        Some(format!("bash -c {}", single(&format!("$0 -c {}", single(line)))))
    }),
    ("argument of a shell", Keeps, |line| Some(format!("bash -c 'eval \"$1\"' x {}", single(line)))),
    ("arguments of a shell", Keeps, |line| Some(format!("bash -c '\"$@\"' x bash -c {}", single(line)))),
    ("prompt", Keeps, |line| Some(format!("x='$({})'; echo \"${{x@P}}\"", line.replace('\'', "'\\''")))),
    ("tee", Keeps, |line| Some(format!("echo {} | tee s.sh | bash", single(line)))),
    ("systemd-run", Keeps, |line| Some(format!("systemd-run --user bash -c {}", single(line)))),
];

/// The words of a line that is one plain command: nothing in them means anything to the shell.
fn words(line: &str) -> Option<(&str, &str)> {
    let plain = |char: char| char.is_ascii_alphanumeric() || " _-./:=,+%@".contains(char);
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    (line.chars().all(plain) && !name.contains(['=', '/', ':']) && !name.is_empty()).then_some((name, rest))
}

/// Commands of the shell itself, which other programs cannot start.
fn is_builtin(name: &str) -> bool {
    matches!(
        name,
        "history" | "cd" | "eval" | "exec" | "source" | "set" | "export" | "read" | "trap" | "hash"
    ) || matches!(name, "true" | "time" | "unset" | "alias" | "umask" | "command" | "builtin" | "coproc")
}

/// The words of a command that another program can start.
fn program(line: &str) -> Option<(&str, &str)> {
    words(line).filter(|(name, _)| !is_builtin(name))
}

/// Changes of one plain command.
pub(crate) const OF_WORDS: &[(&str, Law, Change)] = &[
    ("backslash", Keeps, |line| words(line).map(|(name, rest)| format!("\\{name} {rest}"))),
    ("backslashes", Keeps, |line| {
        words(line).map(|(name, rest)| {
            format!("{} {rest}", name.chars().map(|c| format!("\\{c}")).collect::<String>())
        })
    }),
    ("empty quotes", Keeps, |line| words(line).map(|(name, rest)| format!("{} {rest}", split(name, "\"\"")))),
    ("empty single quotes", Keeps, |line| {
        words(line).map(|(name, rest)| format!("{} {rest}", split(name, "''")))
    }),
    ("quotes around every word", Keeps, |line| {
        words(line)?;
        Some(line.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "))
    }),
    ("double quotes around the name", Keeps, |line| {
        words(line).map(|(name, rest)| format!("\"{name}\" {rest}"))
    }),
    ("escaped name", Keeps, |line| words(line).map(|(name, rest)| format!("$'{}' {rest}", escaped(name)))),
    ("escaped arguments", Keeps, |line| {
        words(line)?;
        Some(line.split(' ').map(|word| format!("$'{}'", escaped(word))).collect::<Vec<_>>().join(" "))
    }),
    ("name in a variable", Keeps, |line| words(line).map(|(name, rest)| format!("x={name}; $x {rest}"))),
    ("name in two variables", Keeps, |line| {
        words(line).map(|(name, rest)| {
            let (one, two) = name.split_at(1);
            format!("a={one}; b={two}; $a$b {rest}")
        })
    }),
    ("whole line in a variable", Keeps, |line| words(line).map(|_| format!("x='{line}'; $x"))),
    ("arguments in a variable", Keeps, |line| {
        words(line).map(|(name, rest)| format!("x='{rest}'; {name} $x"))
    }),
    ("appended variable", Keeps, |line| {
        words(line).map(|(name, rest)| {
            let (one, two) = name.split_at(1);
            format!("x={one}; x+={two}; $x {rest}")
        })
    }),
    ("absolute path", Keeps, |line| program(line).map(|_| format!("/usr/bin/{line}"))),
    ("odd path", Keeps, |line| program(line).map(|_| format!("/usr/../bin//./{line}"))),
    ("command", Keeps, |line| program(line).map(|_| format!("command {line}"))),
    ("exec", Keeps, |line| program(line).map(|_| format!("exec -a x {line}"))),
    ("env", Keeps, |line| program(line).map(|_| format!("env -i A=1 {line}"))),
    ("env -S", Keeps, |line| program(line).map(|_| format!("env -S '{line}'"))),
    ("assignment before", Keeps, |line| words(line).map(|_| format!("A=1 B='x y' {line}"))),
    ("sudo", Keeps, |line| program(line).map(|_| format!("sudo -n -u root {line}"))),
    ("doas", Keeps, |line| program(line).map(|_| format!("doas {line}"))),
    ("nice", Keeps, |line| program(line).map(|_| format!("nice -n 5 ionice -c 3 {line}"))),
    ("timeout", Keeps, |line| program(line).map(|_| format!("timeout --signal=KILL 5s {line}"))),
    ("setsid", Keeps, |line| program(line).map(|_| format!("setsid -f {line}"))),
    ("stdbuf", Keeps, |line| program(line).map(|_| format!("stdbuf -oL {line}"))),
    ("strace", Keeps, |line| program(line).map(|_| format!("strace -f -o /dev/null {line}"))),
    ("unshare", Keeps, |line| program(line).map(|_| format!("unshare -r {line}"))),
    ("taskset", Keeps, |line| program(line).map(|_| format!("taskset -c 0 {line}"))),
    ("time -p", Keeps, |line| words(line).map(|_| format!("time -p {line}"))),
    ("busybox", Keeps, |line| program(line).map(|_| format!("busybox {line}"))),
    ("xargs", Keeps, |line| {
        program(line).map(|(name, rest)| format!("printf '%s\\n' {rest} | xargs {name}"))
    }),
    ("xargs reads the name", Keeps, |line| program(line).map(|_| format!("echo {line} | xargs env"))),
    ("xargs from a here-string", Keeps, |line| {
        program(line).map(|(name, rest)| format!("xargs -n 9 {name} <<< '{rest}'"))
    }),
    ("find -exec", Keeps, |line| program(line).map(|_| format!("find . -maxdepth 0 -exec {line} \\;"))),
    ("find -execdir", Keeps, |line| program(line).map(|_| format!("find . -prune -execdir {line} +"))),
    ("array", Keeps, |line| words(line).map(|_| format!("a=({line}); \"${{a[@]}}\""))),
    ("array by index", Keeps, |line| {
        words(line).map(|(name, rest)| format!("a=(x {name}); ${{a[1]}} {rest}"))
    }),
    ("arguments of the line", Keeps, |line| words(line).map(|_| format!("set -- {line}; \"$@\""))),
    ("one argument of the line", Keeps, |line| {
        words(line).map(|(name, rest)| format!("set -- {name}; $1 {rest}"))
    }),
    ("arguments of a function", Keeps, |line| {
        words(line).map(|_| format!("run() {{ \"$@\"; }}; run {line}"))
    }),
    ("empty arguments inside", Keeps, |line| {
        words(line).map(|(name, rest)| format!("{} {rest}", split(name, "$@")))
    }),
    ("empty variable inside", Keeps, |line| {
        words(line).map(|(name, rest)| format!("z=; {} {rest}", split(name, "$z\"\"")))
    }),
    ("braces", Keeps, |line| {
        words(line)?;
        (!line.contains(',') && line.contains(' ')).then(|| format!("{{{}}}", line.replace(' ', ",")))
    }),
    ("$IFS", Keeps, |line| words(line).map(|_| line.replace(' ', "${IFS}"))),
    ("separators of its own", Keeps, |line| {
        words(line)?;
        (!line.contains(':')).then(|| format!("IFS=:; x={}; $x", line.replace(' ', ":")))
    }),
    ("lines continued", Keeps, |line| words(line).map(|_| line.replace(' ', " \\\n  "))),
    ("name continued", Keeps, |line| {
        words(line).map(|(name, rest)| format!("{} {rest}", split(name, "\\\n")))
    }),
    ("default value", Keeps, |line| words(line).map(|(name, rest)| format!("${{undefined:-{name}}} {rest}"))),
    ("assigned default", Keeps, |line| {
        words(line).map(|(name, rest)| format!(": ${{q:={name}}}; $q {rest}"))
    }),
    ("alternative", Keeps, |line| words(line).map(|(name, rest)| format!("v=1; ${{v:+{name}}} {rest}"))),
    ("part of a variable", Keeps, |line| {
        words(line).map(|(name, rest)| format!("x=Z{name}Z; ${{x:1:{}}} {rest}", name.len()))
    }),
    ("replaced letters", Keeps, |line| {
        words(line).map(|(name, rest)| format!("x={}; ${{x//_Z/}} {rest}", split(name, "_Z")))
    }),
    ("prefix taken off", Keeps, |line| {
        words(line).map(|(name, rest)| format!("x=zz_{name}; ${{x#*_}} {rest}"))
    }),
    ("suffix taken off", Keeps, |line| {
        words(line).map(|(name, rest)| format!("x={name}_zz; ${{x%%_*}} {rest}"))
    }),
    ("lower case", Keeps, |line| {
        words(line)
            .filter(|(name, _)| !name.contains(|char: char| char.is_ascii_uppercase()))
            .map(|(name, rest)| format!("x={}; ${{x,,}} {rest}", name.to_uppercase()))
    }),
    ("indirect", Keeps, |line| words(line).map(|(name, rest)| format!("x={name}; y=x; ${{!y}} {rest}"))),
    ("reference", Keeps, |line| {
        words(line).map(|(name, rest)| format!("declare -n r=c; c={name}; $r {rest}"))
    }),
    ("output as the name", Keeps, |line| words(line).map(|(name, rest)| format!("$(echo {name}) {rest}"))),
    ("output inside the name", Keeps, |line| {
        words(line).map(|(name, rest)| {
            let (one, two) = name.split_at(1);
            format!("{one}$(printf %s {two}) {rest}")
        })
    }),
    ("which", Keeps, |line| program(line).map(|(name, rest)| format!("$(command -v {name}) {rest}"))),
    // Which files a pattern finds is not known before it runs.
    ("pattern", MayAsk, |line| {
        program(line).map(|(name, rest)| {
            let (one, two) = name.split_at(name.len() - 1);
            format!("/usr/bin/{one}[{two}] {rest}")
        })
    }),
    ("pattern with ?", MayAsk, |line| program(line).map(|_| format!("/?sr/b?n/{line}"))),
    ("redirection before", Keeps, |line| words(line).map(|_| format!("</dev/null 2>/dev/null {line}"))),
    ("redirection inside", Keeps, |line| {
        words(line).map(|(name, rest)| format!("{name} 2>&1 >/dev/null {rest}"))
    }),
    ("blanks", Keeps, |line| words(line).map(|_| format!("   {}  ", line.replace(' ', " \t  ")))),
    ("alias of the name", Keeps, |line| words(line).map(|(name, rest)| format!("alias q={name}\nq {rest}"))),
    ("hash", Keeps, |line| program(line).map(|(name, rest)| format!("hash -p /usr/bin/{name} q; q {rest}"))),
    ("mapfile", Keeps, |line| {
        words(line).map(|(name, rest)| format!("mapfile -t a <<< {name}; \"${{a[0]}}\" {rest}"))
    }),
    ("loop over names", Keeps, |line| {
        words(line).map(|(name, rest)| format!("for p in echo {name}; do $p {rest}; done"))
    }),
    ("chosen by a branch", Keeps, |line| {
        words(line).map(|(name, rest)| format!("p=echo; if test -f a; then p={name}; fi; $p {rest}"))
    }),
];

/// The text with another behind its first letter.
fn split(name: &str, with: &str) -> String {
    let (one, two) = name.split_at(1);
    format!("{one}{with}{two}")
}

/// Things before and around a harmless line that leave it harmless.
pub(crate) const HARMLESS: &[(&str, Change)] = &[
    ("cd . &&", |line| Some(format!("cd . && {line}"))),
    ("cd src &&", |line| Some(format!("cd src && {line}"))),
    ("true;", |line| Some(format!("true; {line}"))),
    ("echo hi &&", |line| Some(format!("echo hi && {line}"))),
    ("pwd;", |line| Some(format!("pwd; {line}"))),
    ("parentheses", |line| Some(format!("({line})"))),
    ("braces", |line| Some(format!("{{ {line}; }}"))),
    ("comment", |line| Some(format!("# look\n{line}"))),
    ("2>&1", |line| Some(format!("{line} 2>&1"))),
    ("|| true", |line| Some(format!("{line} || true"))),
    ("&& echo ok", |line| Some(format!("{line} && echo ok"))),
    ("| head", |line| Some(format!("{line} | head -50"))),
    ("2>/dev/null", |line| Some(format!("{line} 2>/dev/null"))),
    ("time", |line| Some(format!("time {line}"))),
    ("!", |line| Some(format!("! {line}"))),
    ("assignment", |line| Some(format!("A=1 {line}"))),
    ("env", |line| Some(format!("env {line}"))),
    ("env and a variable", |line| Some(format!("env RUST_LOG=debug {line}"))),
    ("nice", |line| Some(format!("nice -n 10 {line}"))),
    ("timeout", |line| Some(format!("timeout 60 {line}"))),
    ("command", |line| Some(format!("command {line}"))),
    ("set -e", |line| Some(format!("set -euo pipefail; {line}"))),
    ("bash -c", |line| Some(format!("bash -c {}", single(line)))),
    ("if", |line| Some(format!("if true; then {line}; fi"))),
    ("for", |line| Some(format!("for i in 1 2; do {line}; done"))),
    ("substitution", |line| Some(format!("out=$({line}); echo \"$out\""))),
    ("export", |line| Some(format!("export CI=1; {line}"))),
];
