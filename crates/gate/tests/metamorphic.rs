//! A command that is written differently does the same, so the verdict may not weaken. Nothing is run.

#[path = "metamorphic/encode.rs"]
mod encode;
#[path = "metamorphic/seeds.rs"]
mod seeds;
#[path = "metamorphic/transformations.rs"]
mod transformations;

use marvin_gate::Decision;
use marvin_gate::effects::{Grounds, judge};
use seeds::{DANGEROUS, SAFE};
use std::collections::BTreeMap;
use transformations::{Change, HARMLESS, Law, OF_LINES, OF_WORDS};

const GROUNDS: Grounds<'static> = Grounds { workspace: "/home/me/project", home: "/home/me" };

fn decide(line: &str) -> Decision {
    judge(line, GROUNDS.workspace, GROUNDS).verdict.decision
}

fn dangerous() -> Vec<(&'static str, Decision)> {
    DANGEROUS.iter().flat_map(|(_, lines)| lines.iter()).map(|line| (*line, decide(line))).collect()
}

fn changes() -> impl Iterator<Item = &'static (&'static str, Law, Change)> {
    OF_LINES.iter().chain(OF_WORDS)
}

#[track_caller]
fn report(weakened: &[String], tried: usize) {
    // One of each kind is enough to see.
    let mut kinds: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for line in weakened {
        kinds.entry(line.split(": ").next().unwrap_or_default()).or_insert((0, line)).0 += 1;
    }
    assert!(weakened.is_empty(), "{} of {tried} weakened:\n{kinds:#?}", weakened.len());
}

#[test]
fn there_are_enough_of_each() {
    let seeds = dangerous();
    assert!(seeds.len() >= 100, "{}", seeds.len());
    assert!(changes().count() >= 100, "{}", changes().count());
    assert!(SAFE.len() >= 60 && HARMLESS.len() >= 20);
    let fits = |change: &Change| seeds.iter().filter(|(line, _)| change(line).is_some()).count();
    for (name, _, change) in changes() {
        assert!(fits(change) >= 40, "{name} fits {} seeds", fits(change));
    }
}

#[test]
fn no_seed_is_allowed_and_most_are_denied() {
    let seeds = dangerous();
    let allowed: Vec<&str> =
        seeds.iter().filter(|(_, decision)| *decision == Decision::Allow).map(|(line, _)| *line).collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
    let denied = seeds.iter().filter(|(_, decision)| *decision == Decision::Deny).count();
    assert!(denied * 10 >= seeds.len() * 8, "{denied} of {} denied", seeds.len());
}

#[test]
fn no_change_weakens_the_verdict() {
    let mut weakened = Vec::new();
    let mut tried = 0;
    for (line, before) in dangerous() {
        for (name, law, change) in changes() {
            let Some(changed) = change(line) else { continue };
            let least = if *law == Law::MayAsk { Decision::Ask } else { before };
            let after = decide(&changed);
            tried += 1;
            if after < least {
                weakened.push(format!("{name}: {before:?} -> {after:?}: {changed}"));
            }
        }
    }
    assert!(tried > 10_000, "{tried}");
    report(&weakened, tried);
}

/// Every pair of changes, each on a few seeds; which ones is the same every time.
#[test]
fn no_pair_of_changes_makes_a_dangerous_line_allowed() {
    let each = marvin_testing::sized(1, 2);
    let seeds = dangerous();
    let all: Vec<_> = changes().collect();
    let mut weakened = Vec::new();
    let mut softer: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut tried, mut next) = (0, 0);
    for (first_name, first_law, first) in &all {
        for (second_name, second_law, second) in &all {
            let mut done = 0;
            for _ in 0..seeds.len() {
                next = (next + 7) % seeds.len();
                let (line, before) = seeds[next];
                let Some(changed) = first(line).and_then(|line| second(&line)) else { continue };
                let after = decide(&changed);
                tried += 1;
                done += 1;
                if after == Decision::Allow {
                    weakened.push(format!("{first_name} + {second_name}: {before:?} -> allow: {changed}"));
                }
                if after < before && *first_law == Law::Keeps && *second_law == Law::Keeps {
                    *softer.entry(second_name).or_default() += 1;
                }
                if done == each {
                    break;
                }
            }
        }
    }
    assert!(tried > 10_000 * each, "{tried}");
    report(&weakened, tried);
    // A denied line that becomes a question is not a hole, but it must stay the exception.
    let sum: usize = softer.values().sum();
    assert!(sum * 20 < tried, "{sum} of {tried} are asked about and were denied: {softer:#?}");
}

#[test]
fn harmless_surroundings_never_make_a_harmless_line_denied() {
    let (mut denied, mut stopped, mut tried) = (Vec::new(), BTreeMap::<&str, Vec<&str>>::new(), 0);
    for line in SAFE {
        assert_eq!(decide(line), Decision::Allow, "{line}");
        for (name, change) in HARMLESS {
            let Some(changed) = change(line) else { continue };
            tried += 1;
            match decide(&changed) {
                Decision::Allow => {}
                Decision::Ask => stopped.entry(name).or_default().push(line),
                Decision::Deny => denied.push(format!("{name}: {changed}")),
            }
        }
    }
    assert!(tried > 1_500, "{tried}");
    report(&denied, tried);
    let sum: usize = stopped.values().map(Vec::len).sum();
    assert!(sum * 50 < tried, "{sum} of {tried} are asked about: {stopped:#?}");
}
