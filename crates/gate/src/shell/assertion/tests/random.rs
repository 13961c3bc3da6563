//! Random lines, with bash itself as the judge of what is accepted.

use super::check_assertion;

/// Lines that must be accepted before the test ends.
const MIN_ACCEPTED: usize = 300;
/// Lines that are tried.
const MAX_LINES: usize = 20_000;

/// A maker of random lines: most are in the grammar, the others are mutations that lose exit codes.
struct LineMaker {
    seed: u64,
}

impl LineMaker {
    fn pick(&mut self, count: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.seed >> 33).unwrap() % count
    }

    fn simple(&mut self) -> String {
        const SIMPLE: [&str; 30] = [
            "chk",
            "chk a",
            "chk b 2>&1",
            "chk > log",
            "timeout 5 chk",
            "env A=1 chk",
            "A=1 chk",
            "time chk",
            "bash -c chk",
            "bash -c 'chk && echo x'",
            "bash -o pipefail -c 'chk | cat'",
            "./chk",
            "bash chk",
            "[ \"$(chk)\" = x ]",
            "[[ $(chk) == x* ]]",
            "[ \"$(chk | wc -l)\" -gt 0 ]",
            "diff <(chk) want",
            "chk | diff - want",
            "chk | grep -q x",
            "! grep -q zz want",
            "grep -q x want",
            "test -f want",
            "echo x",
            "true",
            ":",
            "cd .",
            "bash -c 'chk; true'",
            "bash -c 'chk | cat'",
            "[ -z \"$(chk)\" ]",
            "exit 0",
        ];
        let index = self.pick(SIMPLE.len());
        SIMPLE[index].to_string()
    }

    fn line(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple();
        }
        let (a, b) = (self.line(depth - 1), self.line(depth - 1));
        let is_plain = !a.contains('\'') && !b.contains('\'');
        match self.pick(34) {
            0..=4 => format!("{a} && {b}"),
            5 => format!("{a} || exit 1"),
            6 => format!("{a} || {{ echo no; exit 2; }}"),
            7 => format!("{a} || (echo no; exit 2)"),
            8 => format!("{a} && {b} || false"),
            9 => format!("({a})"),
            10 => format!("{{ {a}; }}"),
            11 => format!("({a} && {b})"),
            12 => format!("set -e; {a}; {b}"),
            13 => format!("set -euo pipefail; {a}; {b}"),
            14 => format!("(set -e; {a}; {b})"),
            15 => format!("{{ set -e; {a}; {b}; }}"),
            16 => format!("({a}) | cat"),
            17 => format!("{a} | tee log"),
            18 => format!("{a} | cat; exit ${{PIPESTATUS[0]}}"),
            19 if is_plain => format!("bash -c '{a} && {b}'"),
            20 if is_plain => format!("bash -ec '{a}; {b}'"),
            21 if is_plain => format!("bash -c 'set -euo pipefail; {a}; {b}'"),
            22 => format!("{a} || true"),
            23 => format!("{a} || {b}"),
            24 => format!("{a}; {b}"),
            25 => format!("! {{ {a}; }}"),
            26 => format!("! {a}"),
            27 => format!("{a} &"),
            28 => format!("if {a}; then {b}; fi"),
            29 => format!("for i in 1 2; do {a}; done"),
            30 => format!("f() {{ {a}; }}; f"),
            31 => format!("{a} && exit 1 || exit 0"),
            32 => format!("set -e; {a} && {b}; {a}"),
            _ => format!("set -e; ({a}; {b}) || exit 1"),
        }
    }
}

/// A line that is accepted must not end with 0 when every check in it fails.
#[test]
fn accepted_lines_fail_in_bash_when_their_checks_fail() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("chk");
    std::fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let mut maker = LineMaker { seed: 5 };
    let mut seen = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for _ in 0..MAX_LINES {
        let depth = 1 + maker.pick(3);
        let line = maker.line(depth);
        if seen.len() >= MIN_ACCEPTED {
            break;
        }
        // A line without a check may well hold.
        if !line.contains("chk") || check_assertion(&line).is_err() || !seen.insert(line.clone()) {
            continue;
        }
        std::fs::write(directory.path().join("want"), "x\n").unwrap();
        let mut bash = std::process::Command::new("/bin/bash");
        bash.args(["-o", "pipefail", "-c", &line])
            .env_clear()
            .env("PATH", &path)
            .current_dir(directory.path());
        bash.stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        if bash.status().unwrap().success() {
            wrong.push(line);
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), seen.len(), wrong.join("\n"));
    assert!(seen.len() >= MIN_ACCEPTED, "only {} lines are accepted", seen.len());
}
