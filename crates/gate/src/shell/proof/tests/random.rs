//! Lines that are made up, with bash itself as the judge of what is accepted.

use super::proves;

/// Lines made up at random from the pieces of shell that lose exit codes.
struct Maker {
    seed: u64,
}

impl Maker {
    fn pick(&mut self, most: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % most
    }

    fn one(&mut self, depth: u64) -> String {
        if depth == 0 {
            const SIMPLE: [&str; 22] = [
                "chk",
                "chk",
                "chk a",
                "chk b",
                "true",
                ":",
                "echo x",
                "false",
                "x=0",
                "x=$?",
                "test -f none",
                "ls",
                "exit $x",
                "exit",
                "x=$(chk)",
                "x=$(chk); test -z \"$x\"",
                "[ \"$x\" = 0 ]",
                "[ $? -eq 0 ]",
                "chk || x=1",
                "exit 0",
                "x=$((x + $?))",
                "case $? in 0) :;; *) exit 1;; esac",
            ];
            let index = usize::try_from(self.pick(SIMPLE.len() as u64)).unwrap();
            return SIMPLE[index].to_string();
        }
        let depth = depth - 1;
        let (a, b, c) = (self.one(depth), self.one(depth), self.one(depth));
        match self.pick(37) {
            0 => format!("{a} && {b}"),
            1 => format!("{a} || {b}"),
            2 => format!("{a}; {b}"),
            3 => format!("{{ {a}; {b}; }}"),
            4 => format!("({a}; {b})"),
            5 => format!("if {a}; then {b}; fi"),
            6 => format!("if {a}; then {b}; else {c}; fi"),
            7 => format!("if {a}; then {b}; elif {c}; then {b}; else {a}; fi"),
            8 => format!("for i in 1 2; do {a}; done"),
            9 => format!("for i in 1 2; do {a} || exit 1; done"),
            10 => format!("for i in 1 2; do {a} && break; done; {b}"),
            11 => format!("while {a}; do {b}; break; done"),
            12 => format!("f() {{ {a}; {b}; }}; f"),
            13 => format!("f() {{ {a} || return 1; {b}; }}; f && {c}"),
            14 => format!("set -e; {a}; {b}; {c}"),
            15 if !a.contains('\'') => format!("bash -c '{a}'"),
            16 if !a.contains('\'') && !b.contains('\'') => format!("bash -ec '{a}; {b}'"),
            17 => format!("! {{ {a}; }}"),
            18 => format!("{a} | cat"),
            19 => format!("{{ {a}; }} | {{ {b}; }}"),
            20 => format!("out=$({a}); {b}"),
            21 => format!("echo $({a})"),
            22 => format!("{a}; rc=$?; {b}; exit $rc"),
            23 => format!("fail=0; {a} || fail=1; {b} || fail=1; exit $fail"),
            24 => format!("case x$({a}) in x) {b};; *) {c};; esac"),
            25 if !a.contains('\'') => format!("trap '{a}' EXIT; {b}"),
            26 => format!("{a} & wait $!"),
            27 => format!("{{ {a}; }} & {b}"),
            28 => format!("set +o pipefail; {a} | cat; {b}"),
            30 => format!("if ! {{ {a}; }}; then x=1; fi; {b}"),
            31 => format!("fail=0; for i in 1 2; do {a} || fail=1; done; {b}; [ $fail = 0 ]"),
            32 => format!("[ \"$({a}; {b})\" = x ]"),
            33 => format!("read -r x < <({a}); {b}"),
            34 => format!("for i in 1 2; do {a} && exit 0; done; {b}"),
            35 => format!("grep -q x <<< \"$({a}; {b})\""),
            29 if !a.contains(['"', '$', '\'']) => format!("eval \"{a}\" && {b}"),
            _ => format!("until {a}; do {b}; break; done"),
        }
    }
}

/// What the real bash does is the judge: a line that is accepted must not end with 0 when every check in it fails.
#[test]
fn what_is_accepted_fails_in_bash_when_its_checks_fail() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("chk");
    std::fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut maker = Maker { seed: 5 };
    let (mut accepted, mut wrong) = (0, Vec::new());
    while accepted < 500 {
        let depth = 1 + maker.pick(3);
        let line = maker.one(depth);
        // Other things that can fail say nothing about the checks, and what must not hold is another matter.
        let negates = line.contains("= x ]") && line.contains("if ");
        let says_x = line.contains("echo x") && (line.contains("grep") || line.contains("= x ]"));
        if !line.contains("chk")
            || negates
            || says_x
            || ["test -f", "ls", "false", "} & "].iter().any(|other| line.contains(other))
            || proves(&line).is_err()
        {
            continue;
        }
        accepted += 1;
        let mut bash = std::process::Command::new("/bin/bash");
        bash.args(["-o", "pipefail", "-c", &line]).env_clear().env("PATH", &path).current_dir(folder.path());
        bash.stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        if bash.status().unwrap().success() {
            wrong.push(line);
        }
    }
    wrong.sort_by_key(String::len);
    wrong.dedup();
    assert!(
        wrong.is_empty(),
        "{} of {accepted}:\n{}",
        wrong.len(),
        wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}
