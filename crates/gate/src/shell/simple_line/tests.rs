//! A plain line is read as bash reads it, and a line that is not plain is left alone.

use super::names;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

#[test]
fn plain_lines_are_read() {
    for (line, found) in [
        ("ls", &["ls"] as &[&str]),
        ("  git status -s ; ", &["git"]),
        ("cat a.txt | grep -v \"x | y\" | sort -u|head -n 5", &["cat", "grep", "sort", "head"]),
        (
            "cd src && cargo test --all 2>&1 | tail -20 || echo 'it failed; really'",
            &["cd", "cargo", "tail", "echo"],
        ),
        ("find . -name '*.rs' -exec wc -l {} + > out.txt", &["find"]),
        ("git commit -m \"one\n\ntwo\" && git push", &["git", "git"]),
        ("./run.sh <in >>out 2>/dev/null", &["./run.sh"]),
        ("echo \"$HOME/x\" $USER ${USER}", &["echo"]),
        ("\n set -e\necho \"a \\\" ; b: ${x}\"\n\ncat x |\n  sort ;\n", &["set", "echo", "cat", "sort"]),
        ("find . -name a\\ b -exec wc {} \\; && [ -f x ] || test -d y", &["find", "[", "test"]),
    ] {
        assert_eq!(names(line).as_deref(), Some(found), "{line}");
    }
}

#[test]
fn what_could_be_read_otherwise_is_not_plain() {
    for line in [
        "",
        " ",
        ";",
        "ls ||",
        "ls | ",
        "| ls",
        "ls &",
        "ls & rm x",
        "ls |& rm",
        "ls ;; rm",
        "a=b rm",
        "'rm' x",
        "$x y",
        "r\\m x",
        "if true; then x",
        "! ls",
        "time ls",
        "{ ls; }",
        "(ls)",
        "ls $(rm)",
        "ls `rm`",
        "ls $'x'",
        "ls \"$(rm)\"",
        "ls 'x",
        "ls \"x",
        "ls # x",
        "ls <<x",
        "ls <(rm)",
        "ls >(rm)",
        "ls &> x",
        "ls >| x",
        "> x rm",
        "ls <& x rm",
        "f() rm",
        "ls é",
        "ls \r",
        "ls \"\u{1b}\"",
        "\\ls",
        "~/x",
        "ls >",
        "echo \"$\"",
        "ls <> x",
        "ls >&",
        "[[ x ]]",
        "export A=(x)",
        "ls ${x:-y}",
        "ls ${!x}",
        "ls \\\nrm",
        "ls \"\\\n\"",
        "ls\n# x",
        "ls &&\n",
        "ls\n;rm",
        "[[ x",
        "[x",
        "ls\r\nrm",
        "\n",
    ] {
        assert_eq!(names(line), None, "{line:?}");
    }
}

/// Pieces that lines are put together from: what is plain, what is nearly so, and what is not.
const PIECES: [&str; 52] = [
    "qa",
    "qb",
    "qc",
    "qd",
    "./qe",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "|",
    "||",
    "&&",
    ";",
    "&",
    "'",
    "\"",
    "'a b'",
    "\"a | b\"",
    "'; qf; '",
    "\"$q\"",
    "$q",
    ">",
    ">>",
    "<",
    "2>",
    "2>&1",
    "/dev/null",
    "{}",
    "{a,b}",
    "*",
    "a=b",
    "~",
    "[x]",
    "if",
    "do",
    "!",
    "#",
    "\\",
    "\n",
    "(",
    ")",
    "-x",
    "=",
    "${q}",
    "\\;",
    "\\\"",
    "\\ ",
    "\\\\",
    "[",
    "\n",
    "qg",
];

/// The commands that bash starts for a line: none of them exists, so that bash says the name of each.
fn started(line: &str, succeed: bool) -> Option<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let told = directory.path().join("told");
    let end = i32::from(!succeed);
    let script = format!(
        "PATH=/nowhere\ncommand_not_found_handle() {{ echo \"$1\" >>{}; return {end}; }}\n{line}",
        told.display()
    );
    let status = Command::new("bash")
        .args(["--norc", "-c", &script])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok().then(|| {
        let text = std::fs::read_to_string(told).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A word that runs is a word that was seen, whatever the commands before it came to.
    #[test]
    fn bash_starts_nothing_else(pieces in prop::collection::vec(prop::sample::select(&PIECES), 1..14)) {
        let line = ["qa ", &pieces.concat()].concat();
        if let Some(names) = names(&line) {
            let seen: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
            for succeed in [true, false] {
                let started = started(&line, succeed).expect("bash is there");
                for name in &started {
                    prop_assert!(seen.contains(name), "{line:?}: bash starts {name}, seen were {names:?}");
                }
                prop_assert!(started.len() <= names.len(), "{line:?}: bash starts {started:?}, seen were {names:?}");
            }
        }
    }
}
