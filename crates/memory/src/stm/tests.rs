use super::*;

fn stm(directory: &Path, bounds: Bounds) -> Stm {
    Stm::at(&directory.join("stm.jsonl"), bounds, Arc::new(Redactor::patterns_only()))
}

fn trace(intent: &str) -> Trace {
    Trace { intent: intent.into(), resolution: "done".into(), ..Trace::default() }
}

fn after(hours: i64) -> Timestamp {
    Timestamp::from_second(clock::now().as_second() + hours * 3600 + 1).unwrap()
}

fn kept(stm: &Stm, intent: &str, session: &str) -> String {
    match stm.write(&trace(intent), session, 1, false).unwrap() {
        TraceOutcome::Kept(id) => id,
        TraceOutcome::Skipped(why) => panic!("{why}"),
    }
}

#[test]
fn bounds_hold_and_the_oldest_go_first() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds { entries: 3, characters: 200, ..Bounds::default() });
    let ids: Vec<String> = (0..5).map(|n| kept(&stm, &format!("wish {n}"), "s")).collect();
    let entries = stm.entries(clock::now()).unwrap();
    assert_eq!(
        entries.iter().map(|entry| &entry.id).collect::<Vec<_>>(),
        ids[2..].iter().collect::<Vec<_>>()
    );
    let long = Trace { entities: vec!["name ".repeat(50); 20], resolution: "r".repeat(900), ..trace("long") };
    stm.write(&long, "s", 1, false).unwrap();
    let last = stm.entries(clock::now()).unwrap().pop().unwrap();
    assert!(last.text.chars().count() <= 200 && last.trace().intent == "long", "{}", last.text);
}

#[test]
fn failed_turns_leave_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds::default());
    assert!(matches!(stm.write(&trace("x"), "s", 1, true).unwrap(), TraceOutcome::Skipped(_)));
    let silent = Trace { resolution: " ".into(), ..trace("x") };
    assert!(matches!(stm.write(&silent, "s", 1, false).unwrap(), TraceOutcome::Skipped(_)));
    assert!(!directory.path().join("stm.jsonl").exists());
}

#[test]
fn an_entry_expires_at_its_72nd_hour() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds::default());
    kept(&stm, "x", "s");
    let created = stm.entries(clock::now()).unwrap()[0].created().unwrap().as_second();
    let at = |seconds: i64| Timestamp::from_second(created + seconds).unwrap();
    assert_eq!(stm.entries(at(72 * 3600 - 1)).unwrap().len(), 1);
    assert_eq!(stm.entries(at(72 * 3600)).unwrap().len(), 0);
    // The clock was set back: it is young, not over.
    assert_eq!(stm.entries(at(-1_000_000)).unwrap().len(), 1);
}

#[test]
fn injected_again_only_after_a_day_and_proposed_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds::default());
    let id = kept(&stm, "I prefer tea", "s0");
    let wanted = [id.clone()];
    assert_eq!(stm.inject(&wanted, "s1", after(0)).unwrap().len(), 1);
    assert_eq!(stm.inject(&wanted, "s1", after(23)).unwrap().len(), 0);
    assert_eq!(stm.inject(&wanted, "s1", after(24)).unwrap().len(), 1);
    assert_eq!(stm.inject(&wanted, "s1", after(48)).unwrap().len(), 1);
    assert!(stm.promote(after(49)).unwrap().is_empty(), "one session is not enough");
    // A second session, within the life of the entry.
    let path = directory.path().join("stm.jsonl");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"access_count\":3", "\"access_count\":2");
    let text = text.replace("last_injected_at_utc", "older");
    std::fs::write(&path, text).unwrap();
    assert_eq!(stm.inject(&wanted, "s2", after(50)).unwrap().len(), 1);
    let proposed = stm.promote(after(51)).unwrap();
    assert_eq!(proposed.len(), 1);
    let (from, candidate) = &proposed[0];
    assert_eq!((from, candidate.kind, candidate.ttl_days), (&id, Type::Preference, Some(180)));
    assert_eq!(candidate.source, Source::AssistantInferred);
    assert!(stm.promote(after(51)).unwrap().is_empty(), "once only");
}

#[test]
fn two_sessions_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds::default());
    std::thread::scope(|scope| {
        for session in 0..4 {
            let stm = &stm;
            scope.spawn(move || {
                for n in 0..10 {
                    kept(stm, &format!("{session}-{n}"), &format!("s{session}"));
                }
            });
        }
    });
    assert_eq!(stm.entries(clock::now()).unwrap().len(), 40);
}

#[test]
fn a_damaged_file_is_read_as_far_as_it_goes() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds::default());
    kept(&stm, "good", "s");
    let path = directory.path().join("stm.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"nonsense\n\xff\n{\"id\":\"stm_x\",\"text\":\"no time\"}\n{\"torn");
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(stm.entries(clock::now()).unwrap().len(), 1);
}

#[test]
fn b5_a_query_of_a_model_is_an_access_and_no_injection() {
    let directory = tempfile::tempdir().unwrap();
    let stm = stm(directory.path(), Bounds::default());
    let id = kept(&stm, "elephants", "s");
    let asked = [id.clone(), "stm_unknown".to_string()];
    stm.count_accesses(&asked, "t", clock::now()).unwrap();
    let entry = stm.entries(clock::now()).unwrap().remove(0);
    assert_eq!((entry.metadata.access_count, entry.metadata.sessions_seen), (1, 1));
    assert!(entry.metadata.last_accessed_utc.is_some() && entry.metadata.last_injected_at_utc.is_none());
    assert_eq!(stm.inject(&[id], "t", clock::now()).unwrap().len(), 1, "it may still be injected");
}
