mod idle;
mod lies;
mod random;

use super::{check_assertion, check_test_command};

fn all_refused(lines: &[&str]) {
    let accepted: Vec<&&str> = lines.iter().filter(|line| check_assertion(line).is_ok()).collect();
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
}

fn all_accepted(lines: &[&str]) {
    let said = |line: &&str| check_assertion(line).err().map(|refusal| format!("{line}\n   {refusal}"));
    let refused: Vec<String> = lines.iter().filter_map(said).collect();
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

fn refused(line: &str) -> String {
    match check_assertion(line) {
        Ok(()) => panic!("accepted: {line}"),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn what_cannot_fail_is_refused() {
    all_refused(&[
        "",
        "  ",
        "# only a comment",
        "true",
        ":",
        "exit 0",
        "exit 256",
        "exit",
        "echo ok",
        "printf 'ok\\n'",
        "/bin/true",
        "! false",
        "sleep 1",
        "true && true",
        "true; true",
        "(true)",
        "{ true; }",
        "x=1",
        "export A=b",
        "echo ok && echo fine",
        "if true; then true; fi",
        "for i in 1 2; do echo $i; done",
        "f() { true; }; f",
        "test 1 -eq 1",
        "[ a = a ]",
        "[[ a == a ]]",
        "[[ -n x ]]",
        "(( 1 ))",
        "((1 + 1 == 2))",
        "echo ok | grep ok",
        "printf 'a b' | wc -l",
        "bash -c true",
        "bash -c 'exit 0'",
        "sh -c ':'",
        "env A=1 true",
        "timeout 5 true",
        "nice -n 5 true",
        "command true",
        "exec true",
        "eval true",
        "eval 'exit 0'",
        "python3 -c 'pass'",
        "python3 -c 'print(\"ok\")'",
        "python -c 'import sys; sys.exit(0)'",
        "node -e 'console.log(1)'",
        "a=5; [ $a = 5 ]",
        "ok=true; $ok",
        "bash <<'X'\ntrue\nX",
        "\"true\"",
        "tr'u'e",
        "\\true",
        "trap 'echo bye' EXIT",
        "set -e",
        "set -e; echo ok",
        "time true",
        "! ! true",
    ]);
}

#[test]
fn what_masks_an_exit_code_is_refused() {
    all_refused(&[
        "pytest || true",
        "pytest || :",
        "pytest || exit 0",
        "pytest || echo failed",
        "pytest; true",
        "pytest; exit 0",
        "pytest; echo done",
        "pytest\ntrue",
        "pytest &",
        "pytest & wait",
        "(pytest || true)",
        "{ pytest; true; }",
        "pytest || { echo no; true; }",
        "f() { pytest || true; }; f",
        "f() { pytest; true; }; f",
        "f() { pytest; return 0; }; f",
        "pytest() { true; }; pytest",
        "function pytest { return 0; }; pytest",
        "exit 0; pytest",
        "true || pytest",
        "trap 'exit 0' EXIT; pytest",
        "trap 'exit 0' 0; pytest",
        "trap \"exit 0\" EXIT\npytest",
        "trap \"$x\" EXIT; pytest",
        "bash -c 'pytest || true'",
        "bash -c 'pytest; true'",
        "sh -c \"pytest; exit 0\"",
        "bash -c 'pytest | tee log'",
        "bash -lc 'pytest || true'",
        "eval 'pytest || true'",
        "if pytest; then echo ok; fi",
        "if pytest; then echo ok; else echo no; fi",
        "if [ -f x ]; then pytest; fi",
        "if [ -f x ]; then pytest; else echo skipped; fi",
        "for t in a b; do pytest $t; done",
        "while read t; do pytest $t; done < list",
        "echo $(pytest)",
        "echo \"$(pytest)\"",
        "local x=$(pytest)",
        "export x=$(pytest)",
        "echo `pytest`",
        "cat <(pytest)",
        "set +o pipefail; pytest | cat",
        "pytest || $noop",
        "t=true; pytest || $t",
        "x=0; pytest || exit $x",
        "pytest; rc=0; exit $rc",
        "pytest; rc=$?; echo $rc",
        "pytest; rc=$?; cargo clippy",
        "pytest; echo $?; cargo clippy",
        "pytest || cat log",
        "while pytest; do sleep 1; done",
        "until pytest; do break; done",
        "set -e; (pytest && true) && echo ok; ls x",
        "for i in 1; do exit 0; done; pytest",
        "chk & : & wait $!",
        "coproc pytest",
        "! (pytest && false)",
        "pytest || true || false",
        "set -e; pytest || true; echo ok",
        "set -e; pytest && echo ok; ls",
        "pytest || true; ls",
        "pytest; ls",
        "pytest > log; cat log",
        "cargo test; cargo clippy",
        "case x in y) pytest;; esac",
        "case $1 in y) pytest;; esac",
        "set -n; pytest",
        "set -o noexec; pytest",
        "bash <<'X'\npytest || true\nX",
        "env bash -c 'pytest || true'",
        "timeout 60 bash -c 'pytest; true'",
        "nohup pytest &",
        "pytest 2>&1 | tee log || true",
        "(pytest) || (exit 0)",
        "pytest && true || true",
        "[ -f x ] && pytest || true",
        "[ -f x ] || exit 0; pytest",
        "until pytest; do break; done; true",
        "for i in 1 2 3; do curl -f localhost && break; sleep 1; done",
        "exec bash -c 'pytest || true'",
        "pytest |& tee log || exit 0",
        "f() { trap 'exit 0' EXIT; }; f; pytest",
        "wait",
        "pytest & sleep 5",
        "if ! pytest; then true; fi",
    ]);
}

#[test]
fn the_part_and_the_hint_are_named() {
    let said = refused("make && pytest -q || true");
    assert!(said.contains("|| true") && said.contains("hint: leave `|| true` out"), "{said}");
    assert!(refused("pytest &").contains("background"));
    assert!(refused("cargo test; cargo clippy").contains("`cargo test` is followed by"));
    assert!(refused("for t in a b; do pytest $t; done").contains("is a loop"));
    assert!(refused("if [ -f x ]; then pytest; fi").contains("is a branch"));
    assert!(refused("f() { pytest; }; f").contains("defines a function"));
    assert!(refused("bash -c 'pytest | tee log'").contains("pipefail"));
    assert!(refused("if [").contains("cannot be parsed"));
    assert!(refused("cargo test zone").contains("`tests_pass`"));
    assert!(refused("python3 -c pass").contains("bash check.sh"));
}

#[derive(serde::Deserialize)]
struct Lines {
    cheats: Vec<String>,
    honest: Vec<String>,
    beyond: Vec<String>,
}

fn lines() -> Lines {
    toml::from_str(include_str!("lines.toml")).unwrap()
}

#[test]
fn cheats_are_refused() {
    let lines = lines();
    assert!(lines.cheats.len() >= 600);
    all_refused(&lines.cheats.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn honest_lines_are_accepted() {
    let lines = lines();
    assert!(lines.honest.len() >= 400);
    all_accepted(&lines.honest.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn lines_beyond_the_grammar_are_refused_with_a_hint() {
    let hint = "put it into a script file of the project and run that, for example `bash check.sh`";
    let without: Vec<String> =
        lines().beyond.into_iter().filter(|line| !refused(line).contains(hint)).collect();
    assert!(without.is_empty(), "refused without the hint: {without:#?}");
}

#[test]
fn tests_are_run_and_not_shown() {
    for line in [
        "pytest -q",
        "cargo test zone",
        "cd web && npm test",
        "cat list.txt | xargs pytest",
        "echo start && make test",
        "./unit.sh 2>&1 | tail -3",
        "go test -run TestA ./...",
    ] {
        assert_eq!(check_test_command(line), Ok(()), "{line}");
    }
    for line in [
        "test -f a",
        "cat r.txt",
        "grep passed r.txt",
        "./check.sh && cat r.txt",
        "./check.sh && echo '5 passed'",
        "cat r.txt | tail -3",
        "ls r.txt",
        "bash -c 'cat r.txt'",
        "jq -e .passed r.json",
        "sed -n 1p r.txt && ./check.sh",
        "diff a b",
        "wc -l < r.txt && ./check.sh",
        "(cat r.txt) && ./check.sh",
        "cat r.txt | tee log && make test",
    ] {
        assert!(check_test_command(line).is_err(), "{line}");
    }
}

#[test]
fn anything_is_survived() {
    for line in [
        "(((((",
        "\"",
        "'",
        "$(",
        "${",
        "`",
        "<<X",
        "if",
        "fi",
        "; ;",
        "&&",
        "||",
        "a ||",
        "f() { f; }; f",
        "f() { g; }; g() { f; }; f",
        "\0",
        "é",
        "{a,b}",
        "case",
        "function",
        "! ",
        "! !",
        "time",
        "coproc",
        "[[ ",
        "((",
        "trap",
        "exec",
        "eval",
        "bash -c",
        "set -o",
    ] {
        check_assertion(line).ok();
    }
    for long in [
        "(".repeat(200),
        "pytest; ".repeat(5_000),
        "if x; then ".repeat(300),
        "! ".repeat(3_000),
        "a && ".repeat(900) + "b",
        "[ $(".repeat(20) + "a" + &") = 0 ]".repeat(20),
        "x=$(".repeat(20) + "a" + &")".repeat(20),
        "exit 0; ".repeat(1_000) + "a",
        "{ exit 0; ".repeat(30) + "a" + &"; }".repeat(30),
        format!("a; [ $? -eq {} ]", "0".repeat(9_000)),
        format!("a; (( $? == {}0 ))", "0 + ".repeat(900)),
        format!("[[ \"$(a)\" == {} ]]", "*?".repeat(2_000)),
    ] {
        let started = std::time::Instant::now();
        check_assertion(&long).ok();
        let took = started.elapsed();
        let shown: String = long.chars().take(40).collect();
        assert!(took < std::time::Duration::from_secs(20), "{shown}: {took:?}");
    }
}

/// Every example of the table is accepted or refused as it says, and every row has examples.
#[test]
fn examples_of_the_table_hold() {
    let text = include_str!("../../../../data/assertions.toml");
    let table: super::table::Table = toml::from_str(text).unwrap();
    let mut wrong = Vec::new();
    for row in &table.program {
        if row.refuses.is_empty() || row.accepts.is_empty() && row.class != super::table::Class::Outside {
            wrong.push(format!("{} has no examples", row.names));
        }
        let accepts = row
            .accepts
            .iter()
            .filter_map(|line| check_assertion(line).err().map(|refusal| format!("{line}\n   {refusal}")));
        let refuses = row
            .refuses
            .iter()
            .filter(|line| check_assertion(line).is_ok())
            .map(|line| format!("accepted: {line}"));
        wrong.extend(accepts.chain(refuses));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn wrappers_of_assertions_are_those_of_the_table_of_wrappers() {
    use super::table::{Class, table};
    use crate::shell::wrappers;
    let rows = table().program.iter().filter(|row| row.class == Class::Wrapper && row.like.is_empty());
    for (row, name) in rows.flat_map(|row| row.names.split_whitespace().map(move |name| (row, name))) {
        if !row.first.is_empty() {
            let first = [row.first.as_str()];
            assert!(wrappers::runner_subcommands(name).any(|own| own == first), "{name}");
        } else if let Some(special) = wrappers::special(name) {
            let expected = if row.input { wrappers::Special::Xargs } else { wrappers::Special::Fetched };
            assert_eq!(special, expected, "{name}");
        } else {
            let wrapper = wrappers::find(name).unwrap_or_else(|| panic!("{name} is not a wrapper"));
            assert_eq!((wrapper.before, wrapper.assigns), (row.skip, row.assignments), "{name}");
        }
    }
}

#[test]
fn wrappers_without_a_row_are_refused() {
    all_refused(&[
        "sudo pytest",
        "strace -o out.txt pytest",
        "nohup pytest",
        "/usr/bin/setsid pytest",
        "python3 -m watch",
        "perf --version && pytest",
        "PARALLEL=4 pytest",
    ]);
}
