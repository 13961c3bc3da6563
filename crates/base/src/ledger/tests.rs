//! Ledgers: torn tails, several writers, hash chains.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn open(path: &Path) -> Ledger {
    Ledger::open(path, Durability::Turn, Arc::new(Redactor::patterns_only())).unwrap()
}

#[test]
fn a_torn_tail_is_moved_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/trace.jsonl");
    let mut ledger = open(&path);
    ledger.append(&json!({"n": 1})).unwrap();
    drop(ledger);
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"n\": 2, \"half").unwrap();
    assert_eq!(read(&path).unwrap().torn_bytes, 14);
    let mut ledger = open(&path);
    let torn = ledger.torn().cloned().unwrap();
    assert_eq!(torn.bytes, 14);
    assert_eq!(std::fs::read(&torn.saved_to).unwrap(), b"{\"n\": 2, \"half\n");
    ledger.append(&json!({"n": 3})).unwrap();
    let contents = read(&path).unwrap();
    assert_eq!(contents.entries, [json!({"n": 1}), json!({"n": 3})]);
    assert!(contents.damaged.is_empty() && contents.torn_bytes == 0);
}

#[test]
fn only_a_regular_file_is_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let (victim, link) = (directory.path().join("victim"), directory.path().join("link"));
    std::fs::write(&victim, "no newline").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let pipe = directory.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    for path in [&link, &pipe] {
        assert!(Ledger::open_shared(path, Durability::Turn, Arc::new(Redactor::patterns_only())).is_err());
    }
    assert_eq!(std::fs::read(&victim).unwrap(), b"no newline");
    let endless = directory.path().join("endless");
    File::create(&endless).unwrap().set_len(1 << 32).unwrap();
    assert!(Ledger::open_shared(&endless, Durability::Turn, Arc::new(Redactor::patterns_only())).is_err());
}

#[test]
fn zeros_after_a_power_cut_are_not_data() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    std::fs::write(&path, b"{}\n\0\0\0\0\n\0\0").unwrap();
    assert_eq!(open(&path).torn().unwrap().bytes, 7);
    assert_eq!(std::fs::read(&path).unwrap(), b"{}\n");
}

#[test]
fn one_writer_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    let first = open(&path);
    let second = Ledger::open(&path, Durability::Turn, Arc::new(Redactor::patterns_only()));
    assert!(matches!(second, Err(LedgerError::Busy { .. })));
    drop(first);
    open(&path);
}

#[test]
fn a_torn_line_of_another_writer_is_moved_before_the_next_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("costs.jsonl");
    let mut ledger =
        Ledger::open_shared(&path, Durability::System, Arc::new(Redactor::patterns_only())).unwrap();
    for number in 0..3 {
        ledger.append(&json!({"n": number})).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"half").unwrap();
    }
    ledger.append(&json!({"n": 3})).unwrap();
    ledger.append(&json!({"n": 4})).unwrap();
    assert_eq!(ledger.torn().map(|torn| torn.bytes), Some(6));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, (0..5).map(|number| format!("{{\"n\":{number}}}\n")).collect::<String>());
}

#[test]
fn shared_writers_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut ledger =
                    Ledger::open_shared(path, Durability::System, Arc::new(Redactor::patterns_only()))
                        .unwrap();
                for n in 0..200 {
                    ledger.append(&json!({"writer": writer, "n": n})).unwrap();
                }
            });
        }
    });
    let contents = read(&path).unwrap();
    assert_eq!(contents.entries.len(), 800);
    assert!(contents.damaged.is_empty());
}

#[test]
fn secrets_do_not_reach_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    open(&path).append(&json!({"text": "key AKIAIOSFODNN7EXAMPLE!"})).unwrap();
    assert!(!std::fs::read_to_string(&path).unwrap().contains("AKIAIOSFODNN7EXAMPLE"));
}

proptest! {
    #[test]
    fn any_tail_is_survived(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("l");
        let mut bytes = b"{\"n\":1}\n".to_vec();
        bytes.extend(&tail);
        std::fs::write(&path, &bytes).unwrap();
        let mut ledger = open(&path);
        ledger.append(&json!({"n": 2})).unwrap();
        let contents = read(&path).unwrap();
        prop_assert_eq!(contents.torn_bytes, 0);
        prop_assert_eq!(contents.entries.last(), Some(&json!({"n": 2})));
    }
}

fn chained(path: &Path) -> Ledger {
    Ledger::open_chained(path, Durability::Turn, Arc::new(Redactor::patterns_only())).unwrap()
}

/// Five lines with a chain.
fn five(path: &Path) -> Vec<String> {
    let mut ledger = chained(path);
    (1..=5).for_each(|n| drop(ledger.append(&json!({"n": n})).unwrap()));
    std::fs::read_to_string(path).unwrap().lines().map(str::to_string).collect()
}

fn found(path: &Path) -> Break {
    match read_chained(path) {
        Err(LedgerError::Broken { found, .. }) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chain_is_written_checked_and_kept_out_of_the_entries() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    let mut ledger = chained(&path);
    assert_eq!(ledger.append(&json!({})).unwrap(), json!({}));
    ledger.append(&json!({"n": "v1:\"}", "prev": "mine"})).unwrap();
    drop(ledger);
    chained(&path).append(&json!({"n": 3})).unwrap();
    let entries = read_chained(&path).unwrap().entries;
    assert_eq!(entries, read(&path).unwrap().entries);
    assert_eq!((&entries[0], &entries[2]), (&json!({}), &json!({"n": 3})));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(chain::prev(lines[0].as_bytes()), Some(chain::genesis().as_str()));
    assert_eq!(chain::prev(lines[2].as_bytes()), Some(chain::hash(lines[1].as_bytes()).as_str()));
    assert!(matches!(read_chained(&directory.path().join("none")), Err(LedgerError::Io { .. })));
}

#[test]
fn s5_every_way_to_change_a_ledger_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    let lines = five(&path);
    let whole = std::fs::read(&path).unwrap();
    let write =
        |lines: &[String]| std::fs::write(&path, lines.iter().map(|l| format!("{l}\n")).collect::<String>());
    read_chained(&path).unwrap();
    for (at, expected) in [(0, Break::Line(2)), (2, Break::Line(4)), (4, Break::Head(5))] {
        let mut changed = lines.clone();
        changed[at] = changed[at].replace("\"n\":", "\"m\":");
        write(&changed).unwrap();
        assert_eq!(found(&path), expected, "line {} changed", at + 1);
    }
    for at in 0..4 {
        let mut removed = lines.clone();
        removed.remove(at);
        write(&removed).unwrap();
        assert_eq!(found(&path), Break::Line(at + 1), "line {} removed", at + 1);
    }
    for left in 0..5 {
        write(&lines[..left]).unwrap();
        assert!(matches!(found(&path), Break::Shorter { .. }), "{left} lines left");
        let opened = Ledger::open_chained(&path, Durability::Turn, Arc::new(Redactor::patterns_only()));
        assert!(matches!(opened, Err(LedgerError::Broken { .. })), "{left} lines left");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(found(&path), Break::Shorter { .. }), "the whole file removed");
    for at in 0..=5 {
        let mut inserted = lines.clone();
        inserted.insert(at, "{\"n\":42}".into());
        write(&inserted).unwrap();
        assert_eq!(found(&path), Break::Unchained(at + 1), "unlinked line inserted at {at}");
        let last = if at == 0 { chain::genesis() } else { chain::hash(lines[at - 1].as_bytes()) };
        inserted[at] = chain::link("{\"n\":42}", &last).trim_end().to_string();
        write(&inserted).unwrap();
        // A linked line at the end is what another writer would append; everywhere else it is found.
        assert_eq!(read_chained(&path).is_ok(), at == 5, "linked line inserted at {at}");
    }
    let other = directory.path().join("other");
    drop(chained(&other).append(&json!({"n": "another ledger, with much longer lines than the first one"})));
    for _ in 0..9 {
        chained(&other).append(&json!({"forged": true})).unwrap();
    }
    std::fs::copy(&other, &path).unwrap();
    assert!(matches!(found(&path), Break::Head(_)), "another ledger in its place");
    std::fs::write(&path, &whole).unwrap();
    read_chained(&path).unwrap();
    std::fs::remove_file(chain::head_path(&path)).unwrap();
    assert_eq!(found(&path), Break::NoHead);
    let opened = Ledger::open_chained(&path, Durability::Turn, Arc::new(Redactor::patterns_only()));
    assert!(matches!(opened, Err(LedgerError::Broken { found: Break::NoHead, .. })));
}

#[test]
fn s5_what_is_cut_off_while_its_writer_lives_is_found_at_the_next_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    for shared in [false, true] {
        std::fs::remove_file(&path).ok();
        std::fs::remove_file(chain::head_path(&path)).ok();
        let redactor = Arc::new(Redactor::patterns_only());
        let open = if shared { Ledger::open_shared_chained } else { Ledger::open_chained };
        let mut ledger = open(&path, Durability::Turn, redactor).unwrap();
        ledger.append(&json!({"n": 1})).unwrap();
        ledger.append(&json!({"n": 2})).unwrap();
        let first = std::fs::read_to_string(&path).unwrap().find('\n').unwrap() as u64 + 1;
        OpenOptions::new().write(true).open(&path).unwrap().set_len(first).unwrap();
        assert!(
            matches!(ledger.append(&json!({"n": 3})), Err(LedgerError::Broken { .. })),
            "shared {shared}"
        );
    }
}

#[test]
fn a_process_that_dies_between_line_and_head_leaves_a_whole_chain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    five(&path);
    let head = std::fs::read(chain::head_path(&path)).unwrap();
    let mut ledger = chained(&path);
    ledger.append(&json!({"n": 6})).unwrap();
    ledger.append(&json!({"n": 7})).unwrap();
    drop(ledger);
    std::fs::write(chain::head_path(&path), head).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"half").unwrap();
    assert_eq!(read_chained(&path).unwrap().entries.len(), 7);
    let mut ledger = chained(&path);
    assert_eq!(ledger.torn().unwrap().bytes, 6);
    ledger.append(&json!({"n": 8})).unwrap();
    assert_eq!(read_chained(&path).unwrap().entries.len(), 8);
}

#[test]
fn lines_that_a_power_cut_took_are_not_a_forgery() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    let lines = five(&path);
    let head = std::fs::read_to_string(chain::head_path(&path)).unwrap();
    let (before, _) = head.trim_end().rsplit_once(' ').unwrap();
    std::fs::write(chain::head_path(&path), format!("{before} 0123456789abcdef\n")).unwrap();
    std::fs::write(&path, format!("{}\n{}\n", lines[0], lines[1])).unwrap();
    assert_eq!(read_chained(&path).unwrap().entries.len(), 2);
    chained(&path).append(&json!({"n": 3})).unwrap();
    assert_eq!(read_chained(&path).unwrap().entries.len(), 3);
}

/// The name of the variable that makes this test program a writer of a shared ledger.
const WRITER: &str = "MARVIN_TEST_LEDGER_WRITER";

#[test]
fn processes_share_one_chain() {
    if let Ok(path) = std::env::var(WRITER) {
        let redactor = Arc::new(Redactor::patterns_only());
        let mut ledger = Ledger::open_shared_chained(Path::new(&path), Durability::System, redactor).unwrap();
        for n in 0..100 {
            ledger.append(&json!({"writer": std::process::id(), "n": n})).unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    let program = std::env::current_exe().unwrap();
    let start = || {
        std::process::Command::new(&program)
            .args(["--exact", "ledger::tests::processes_share_one_chain", "--test-threads", "1"])
            .env(WRITER, &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut writers: Vec<_> = (0..4).map(|_| start()).collect();
    assert!(writers.iter_mut().all(|writer| writer.wait().unwrap().success()));
    assert_eq!(read_chained(&path).unwrap().entries.len(), 400);
}

#[test]
fn a_ledger_of_an_older_version_gets_its_chain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l");
    std::fs::write(&path, "{\"n\":1}\nnot json\n{\"n\":2,\"prev\":\"x\"}\n{\"half").unwrap();
    assert_eq!(chain::adopt(&path).unwrap(), 1);
    assert_eq!(read_chained(&path).unwrap().entries, [json!({"n": 1}), json!({"n": 2})]);
    chained(&path).append(&json!({"n": 3})).unwrap();
    assert_eq!(read_chained(&path).unwrap().entries.len(), 3);
}
