//! The lines of `attacks/` at the repository's root, judged without a binary.

use crate::command::{CommandContext, judge_command};
use crate::verdict::Decision;

fn cases(group: &str) -> Vec<toml::Table> {
    let path = format!("{}/../../attacks/{group}.toml", env!("CARGO_MANIFEST_DIR"));
    let table: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
    let cases = table["case"].as_array().unwrap().clone();
    cases.into_iter().map(|case| case.try_into().unwrap()).collect()
}

fn decide(line: &str) -> Decision {
    let context = CommandContext { workspace: "/home/person/work".into(), home: "/home/person".into() };
    judge_command(line, &context).verdict.decision
}

#[test]
fn s4_lines_that_hide_commands_are_not_allowed() {
    let cases = cases("gate_lines");
    let own: Vec<_> = cases.iter().filter(|case| case["id"].as_str().unwrap().starts_with("sh-")).collect();
    assert!(own.len() >= 150, "{}", own.len());
    let mut wrong = Vec::new();
    for case in own {
        let (line, control) = (case["line"].as_str().unwrap(), case["control"].as_str().unwrap());
        if decide(line) == Decision::Allow {
            wrong.push(format!("{} allowed: {line}", case["id"]));
        }
        if decide(control) != Decision::Allow {
            wrong.push(format!("{} control stopped: {control}", case["id"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ordinary_lines_of_the_shell_are_allowed() {
    let cases = cases("ordinary_shell");
    assert!(cases.len() >= 150, "{}", cases.len());
    let lines = cases.iter().map(|case| case["line"].as_str().unwrap());
    let stopped: Vec<&str> = lines.filter(|line| decide(line) != Decision::Allow).collect();
    assert!(stopped.len() * 100 <= cases.len() * 3, "{}", stopped.join("\n"));
}
