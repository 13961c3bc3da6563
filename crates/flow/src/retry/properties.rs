//! Properties of the retry rule for any attempts.

use super::ladder::Strategy;
use super::tests::{Case, attempt, left, rungs};
use super::*;
use proptest::prelude::*;
use serde_json::Map;

proptest! {
    #[test]
    fn the_order_of_the_record_does_not_matter(
        marks in proptest::collection::vec((0u8..4, 1u32..5, 0u8..3, 0u8..3), 0..20),
        turn in 0usize..20,
    ) {
        let inputs = Map::new();
        let ladder = rungs("a b a b a");
        let task = Task { run_id: "r", goal: "g", step_id: "s0", worker: "Implementer", inputs: &inputs, ladder: &ladder };
        // An attempt is what it is: number and step decide everything about it.
        let all: Vec<(String, Attempt)> = marks
            .iter()
            .map(|(step, number, _, _)| {
                let rung = &ladder[*number as usize - 1];
                let hash = format!("{}", (number + u32::from(*step)) % 3);
                (format!("s{step}"), attempt(&task, *number, rung, Some("f"), left(&hash)))
            })
            .collect();
        let build = |order: &mut dyn Iterator<Item = &(String, Attempt)>| {
            let mut seen = AttemptLog::default();
            order.for_each(|(step, attempt)| seen.note(step, attempt));
            seen
        };
        let forward = build(&mut all.iter());
        let backward = build(&mut all.iter().rev());
        let turned = build(&mut all.iter().cycle().skip(turn).take(all.len()));
        prop_assert_eq!(&forward, &backward);
        prop_assert_eq!(&forward, &turned);
        let own = [attempt(&task, 1, &ladder[0], Some("f"), left("0"))];
        prop_assert_eq!(decide(&task, &own, &forward), decide(&task, &own, &backward));
    }

    #[test]
    fn every_retry_is_another_call_or_on_changed_ground(
        names in proptest::collection::vec(0u8..3, 1..8),
        measured in proptest::collection::vec((0u8..3, 0u8..3, 0u8..3), 1..8),
    ) {
        let ladder: Vec<Strategy> =
            names.iter().map(|name| Strategy::new("Implementer", &format!("s{name}"), 1)).collect();
        let failures = ["f", "g", "h"];
        let attempts: Vec<(Option<&'static str>, Progress)> = measured
            .iter()
            .take(ladder.len())
            .map(|(failing, hash, failure)| {
                let hash = if *hash == 0 { String::new() } else { format!("h{hash}") };
                let progress = Progress { failing_tests: Some(u64::from(*failing)), ..left(&hash) };
                (Some(failures[*failure as usize]), progress)
            })
            .collect();
        let case = Case::new("any", ladder, attempts);
        let made = case.made();
        match case.decide() {
            Decision::Retry { strategy, .. } => {
                let inputs = case.inputs();
                let call = case.task(&inputs).signature(&strategy);
                let before = made.iter().rposition(|one| one.call_signature == call);
                let is_new = before.is_none_or(|before| {
                    let known: Vec<&Progress> = made[..before].iter().map(|one| &one.progress).collect();
                    let fewest = known.iter().filter_map(|one| one.failing_tests).min();
                    made[before..].iter().any(|one| {
                        let hash = &one.progress.artifact_delta_hash;
                        let is_new_hash = !hash.is_empty() && !known.iter().any(|old| old.artifact_delta_hash == *hash);
                        is_new_hash || fewest.is_some_and(|fewest| one.progress.failing_tests < Some(fewest))
                            || one.progress.failing_tests < made[before].progress.failing_tests
                    })
                });
                prop_assert!(is_new);
            }
            Decision::Refuse { code, .. } => {
                if code == "no_strategies" {
                    prop_assert_eq!(made.len(), case.ladder.len());
                }
            }
        }
    }

    #[test]
    fn a_ladder_ends(hashes in proptest::collection::vec(0u8..5, 0..40)) {
        // Whatever is measured, the default ladder has three rungs.
        for worker in ["Implementer", "Command", "Reviewer"] {
            let inputs = Map::new();
            let task = Task { run_id: "r", goal: "g", step_id: "s", worker, inputs: &inputs, ladder: &[] };
            let mut attempts: Vec<Attempt> = Vec::new();
            let mut next = task.strategy(1);
            while let Some(strategy) = next {
                let number = attempts.len() as u32 + 1;
                let hash = hashes.get(number as usize).map(ToString::to_string).unwrap_or_default();
                attempts.push(attempt(&task, number, &strategy, Some("f"), left(&hash)));
                next = match decide(&task, &attempts, &AttemptLog::default()) {
                    Decision::Retry { strategy, .. } => Some(strategy),
                    Decision::Refuse { .. } => None,
                };
            }
            prop_assert!(attempts.len() <= 3);
        }
    }
}
