use crate::meaning::{Grounds, judge};
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
