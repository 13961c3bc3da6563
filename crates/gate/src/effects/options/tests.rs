use crate::effects::judge;
use crate::effects::place::Grounds;
use crate::verdict::Decision;

include!(concat!(env!("OUT_DIR"), "/option_examples.rs"));

const GROUNDS: Grounds<'static> = Grounds { workspace: "/home/person/project", home: "/home/person" };

fn decide(line: &str) -> (Decision, String) {
    let verdict = judge(line, GROUNDS.workspace, GROUNDS).verdict;
    (verdict.decision, verdict.reason)
}

#[test]
fn s4_the_examples_of_every_row_hold() {
    let wrong: Vec<String> = EXAMPLES
        .iter()
        .filter_map(|(line, allowed)| {
            let (decision, reason) = decide(line);
            ((decision == Decision::Allow) != *allowed).then(|| format!("{line} → {decision:?}: {reason}"))
        })
        .collect();
    assert!(EXAMPLES.len() > 300, "{}", EXAMPLES.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), EXAMPLES.len(), wrong.join("\n"));
}

/// Builtins that the parser of the shell evaluates itself, so that no command is left to judge.
const BUILTINS: [&str; 17] = [
    "alias",
    "bind",
    "compgen",
    "complete",
    "declare",
    "export",
    "hash",
    "local",
    "mapfile",
    "popd",
    "read",
    "readarray",
    "readonly",
    "set",
    "typeset",
    "unset",
    "unalias",
];

/// Lines that are made from the rows: unknown options, abbreviations of options that act, and detours to credentials.
fn generated() -> Vec<String> {
    let mut lines = Vec::new();
    for (name, number) in super::table::NAMES.iter() {
        let signature = super::table::numbered(number).unwrap();
        if signature.grammar == super::table::Grammar::Text
            || crate::shell::is_launcher(name)
            || BUILTINS.contains(&name)
        {
            continue;
        }
        lines.push(format!("{name} --zq-unknown src/a.txt"));
        lines.push(format!("{name} --zq-unknown=/etc/motd"));
        let acting = signature.options.iter().filter(|(option, effect)| {
            option.starts_with("--") && matches!(*effect, "run" | "ask" | "ask-value" | "write" | "delete")
        });
        for (option, effect) in acting.take(3) {
            // The shortest beginning that no other option has; the value is the same file for every effect.
            let others: Vec<&str> =
                signature.options.iter().map(|(own, _)| own).filter(|own| *own != option).collect();
            let unique = (4..option.len())
                .filter_map(|end| option.get(..end))
                .find(|start| !start.ends_with('-') && !others.iter().any(|own| own.starts_with(start)));
            if let Some(start) = unique {
                let value = if effect == "ask" { String::new() } else { "=/etc/motd".to_string() };
                lines.push(format!("{name} {start}{value} src/a.txt"));
            }
        }
    }
    let readers = [
        "cat",
        "head -c 9",
        "tail -n 3",
        "base64",
        "xxd",
        "strings",
        "grep -r .",
        "cp -r",
        "tar cf x.tar",
        "sort",
        "rev",
        "od -c",
    ];
    let paths = [
        "~/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        "\"${HOME}\"/.ssh/id_ed25519",
        "~/.s*/id_*",
        "~/.??h/*",
        "../.ssh/id_rsa",
        "../../person/.aws/credentials",
        "/proc/self/root/etc/shadow",
        "/home/other/.ssh/id_rsa",
        "~/.config/gh/hosts.yml",
        "~/.git-credentials",
        "/root/.ssh/id_rsa",
        "~/./.gnupg/../.ssh/id_rsa",
        "~/.cargo/credentials.toml",
        "/run/secrets/db",
        "~/.local/share/keyrings/login.keyring",
        "~/.mozilla/firefox/x/key4.db",
        "~/.config/marvin/config.toml",
    ];
    for reader in readers {
        for path in paths {
            lines.push(format!("{reader} {path} out"));
        }
    }
    lines
}

#[test]
fn s4_no_generated_line_is_allowed() {
    let lines = generated();
    assert!(lines.len() >= 1_000, "{}", lines.len());
    let allowed: Vec<&String> = lines.iter().filter(|line| decide(line).0 == Decision::Allow).collect();
    assert!(allowed.is_empty(), "{} of {}:\n{allowed:#?}", allowed.len(), lines.len());
}

/// The cases of a file of `attacks/`.
fn cases(text: &str) -> Vec<toml::Table> {
    let table: toml::Table = text.parse().unwrap();
    let cases = table["case"].as_array().unwrap();
    cases.iter().map(|case| case.as_table().unwrap().clone()).collect()
}

#[test]
fn s4_attacks_on_programs_are_stopped_and_their_controls_are_not() {
    let cases = cases(include_str!("../../../../../attacks/gate_lines.toml"));
    let own: Vec<_> = cases.iter().filter(|case| case["id"].as_str().unwrap().starts_with("row-")).collect();
    assert!(own.len() >= 150, "{}", own.len());
    for case in own {
        let (line, control) = (case["line"].as_str().unwrap(), case["control"].as_str().unwrap());
        assert_ne!(decide(line).0, Decision::Allow, "{}: {line}", case["id"]);
        assert_eq!(decide(control).0, Decision::Allow, "{}: {control}: {}", case["id"], decide(control).1);
    }
}

#[test]
fn s4_ordinary_lines_are_seldom_stopped() {
    let cases = cases(include_str!("../../../../../attacks/ordinary_programs.toml"));
    assert!(cases.len() >= 150, "{}", cases.len());
    let lines = cases.iter().map(|case| case["line"].as_str().unwrap());
    let stopped: Vec<&str> = lines.filter(|line| decide(line).0 != Decision::Allow).collect();
    assert!(stopped.len() * 100 <= cases.len() * 3, "{stopped:#?}");
}

#[test]
fn s4_option_grammars_are_read_as_the_programs_read_them() {
    for (line, allowed) in [
        ("sort -uk2 a", true),
        ("sort -uo /etc/motd a", false),
        ("sort a -o /etc/motd", false),
        ("sort -- -o", true),
        ("head -5 a", true),
        ("grep -5 foo a", true),
        ("tar xzf a.tgz", true),
        ("tar xIf ./x a.tgz", false),
        ("go test -run=X ./...", true),
        ("go test --run X ./...", true),
        ("git log --no-decorate", true),
        ("git log --outp=/etc/motd", false),
        ("ls --al", false),
        ("ls --almost", true),
        ("cargo +nightly build --release", true),
        ("sort $UNKNOWN_A --parallel=2", true),
        ("sort --outp$X a", false),
        ("gcc -Iinclude -DX=1 -c a.c", true),
        ("pytest -p no:cacheprovider", true),
        ("pytest -p os", false),
    ] {
        assert_eq!(decide(line).0 == Decision::Allow, allowed, "{line}: {}", decide(line).1);
    }
}

#[test]
fn s4_variables_are_known_or_doubted() {
    for (line, allowed) in [
        ("LC_ALL=C sort a", true),
        ("FOO=1 sort a", false),
        ("FOO=1 npm test", true),
        ("FOO=1 ./scripts/run.sh", true),
        ("GIT_EXTERNAL_DIFF=./x git diff", false),
        ("export GIT_EXTERNAL_DIFF=./x; git diff", false),
        ("GIT_PAGER=cat git log", true),
        ("GIT_TRACE=1 git status", true),
        ("GIT_TRACE=/etc/motd git status", false),
        ("RUSTFLAGS='-D warnings' cargo build", true),
        ("RUSTFLAGS=-Clinker=./x cargo build", false),
        ("PYTEST_ADDOPTS='-q -x' pytest", true),
        ("PYTEST_ADDOPTS='--basetemp=/home/person' pytest", false),
        ("CARGO_TARGET_DIR=/tmp/t cargo build", true),
        ("CARGO_TARGET_DIR=/etc cargo build", false),
        ("https_proxy=http://203.0.113.9 npm test", false),
        ("NODE_OPTIONS=--max-old-space-size=4096 npm test", true),
        ("NODE_OPTIONS='-r ./x' npm test", false),
        ("CC=clang make", true),
        ("CC=/tmp/x make", false),
    ] {
        assert_eq!(decide(line).0 == Decision::Allow, allowed, "{line}: {}", decide(line).1);
    }
}
