//! The comparer: picks the winner of a batch from what was verified, whatever the order in which sessions ended.

use super::session_report::SessionReport;

/// The rubric, most important first; higher is better. Energy does not count.
pub(super) const RUBRIC: [&str; 5] =
    ["verification passed", "evaluation passed", "workflow succeeded", "changes produced", "passed tests"];

/// The score of a session, in the order of [`RUBRIC`].
#[must_use]
pub(super) fn score(session: &SessionReport) -> [u64; 5] {
    let evaluation = session.evaluation.as_ref();
    [
        u64::from(session.verification_ok),
        u64::from(evaluation.is_some_and(|evaluation| evaluation.ok)),
        u64::from(session.workflow_ok),
        u64::from(!session.changed_files.is_empty()),
        evaluation.map_or(0, |evaluation| evaluation.passed),
    ]
}

/// The winner: the verified session with the highest score; of equal ones the lowest session id.
#[must_use]
pub(super) fn winner(sessions: &[SessionReport]) -> Option<&SessionReport> {
    let verified = sessions.iter().filter(|session| session.verification_ok);
    verified.max_by(|a, b| score(a).cmp(&score(b)).then_with(|| b.session_id.cmp(&a.session_id)))
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::Evaluation;
    use super::*;
    use proptest::prelude::*;

    fn session(id: u32, bits: (bool, bool, bool, bool), passed: u64) -> SessionReport {
        SessionReport {
            session_id: super::super::plan::session_id(1, id),
            verification_ok: bits.0,
            evaluation: Some(Evaluation { ok: bits.1, passed, ..Evaluation::default() }),
            workflow_ok: bits.2,
            changed_files: if bits.3 { vec!["a".into()] } else { Vec::new() },
            ..SessionReport::default()
        }
    }

    #[test]
    fn the_rubric_is_lexicographic_and_ties_go_to_the_lowest_id() {
        let all = (true, true, true, true);
        let sessions = [
            session(3, all, 5),
            session(2, all, 5),
            session(1, (true, true, true, false), 9),
            session(4, all, 4),
        ];
        assert_eq!(winner(&sessions).unwrap().session_id, "1-2");
        // The order is that of texts, so it is the same wherever ids are compared.
        assert_eq!(winner(&[session(9, all, 1), session(10, all, 1)]).unwrap().session_id, "1-10");
        assert_eq!(winner(&[session(1, (false, true, true, true), 9)]), None);
        assert_eq!(winner(&[]), None);
    }

    proptest! {
        #[test]
        fn the_order_of_completion_does_not_count(
            rows in prop::collection::vec((any::<(bool, bool, bool, bool)>(), 0_u64..4), 0..8),
            order in prop::collection::vec(any::<u64>(), 8),
        ) {
            let sessions: Vec<SessionReport> =
                (1_u32..).zip(&rows).map(|(id, (bits, passed))| session(id, *bits, *passed)).collect();
            let mut shuffled: Vec<(u64, SessionReport)> = order.into_iter().zip(sessions.clone()).collect();
            shuffled.sort_by_key(|(key, _)| *key);
            let shuffled: Vec<SessionReport> = shuffled.into_iter().map(|(_, session)| session).collect();
            let name = |found: Option<&SessionReport>| found.map(|found| found.session_id.clone());
            prop_assert_eq!(name(winner(&sessions)), name(winner(&shuffled)));
            if let Some(best) = winner(&sessions) {
                let beaten = |other: &SessionReport| {
                    score(best) > score(other)
                        || score(best) == score(other) && best.session_id <= other.session_id
                };
                prop_assert!(sessions.iter().filter(|one| one.verification_ok).all(beaten));
            }
        }
    }
}
