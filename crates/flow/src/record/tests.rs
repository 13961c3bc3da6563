//! Records that differ from what was written are refused.

use super::*;
use crate::spec::StepBuilder;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

fn workflow(steps: usize) -> Workflow {
    Workflow::builder("w")
        .steps((0..steps).map(|n| StepBuilder::new(format!("s{n}"), "Echo")))
        .build()
        .unwrap()
}

fn written(directory: &Path, steps: u32) {
    let mut record = Record::create(directory, &workflow(steps as usize), "run", Sync::Full).unwrap();
    for step in 0..steps {
        record.write(step, StepStatus::Succeeded, "{\"outputs\":{\"n\":1}}").unwrap();
        record.commit().unwrap();
    }
    record.close().unwrap();
}

fn why(directory: &Path) -> String {
    Record::open(directory, None).unwrap_err().to_string()
}

#[test]
fn committed_transitions_survive_and_others_do_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut record = Record::create(directory.path(), &workflow(3), "run", Sync::Auto).unwrap();
    record.expect(false).unwrap();
    record.write(0, StepStatus::Succeeded, "{\"outputs\":{}}").unwrap();
    record.commit().unwrap();
    record.write(1, StepStatus::Succeeded, "{\"outputs\":{}}").unwrap();
    drop(record);
    let (record, workflow, folded) = Record::open(directory.path(), None).unwrap();
    assert_eq!(folded.status, [StepStatus::Succeeded, StepStatus::New, StepStatus::New]);
    assert_eq!((record.last(), workflow.steps.len(), record.sync()), (1, 3, Sync::Auto));
    let mode = std::fs::metadata(directory.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(record.check_against(1).is_ok());
    assert!(record.check_against(2).unwrap_err().to_string().contains("the last commits are lost"));
}

#[test]
fn an_altered_row_is_found() {
    for alter in [
        "UPDATE log SET status = 'FAILED' WHERE seq = 2",
        "UPDATE log SET data = '{}' WHERE seq = 3",
        "DELETE FROM log WHERE seq = 2",
        "UPDATE log SET step = 0 WHERE seq = 3",
        "INSERT INTO log VALUES (6, 0, 'SUCCEEDED', 1, NULL, 7)",
        "UPDATE steps SET spec = '{\"id\":\"s1\",\"worker\":\"Command\"}' WHERE step = 1",
        "DELETE FROM steps WHERE step = 4",
        "UPDATE meta SET value = '2' WHERE key = 'version'",
    ] {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path(), 5);
        let connection = Connection::open(directory.path().join(FILE)).unwrap();
        connection.execute_batch(alter).unwrap();
        drop(connection);
        assert!(why(directory.path()).contains("the record is damaged"), "{alter}");
        assert!(Record::look(directory.path()).is_err(), "{alter}");
    }
}

#[test]
fn damaged_pages_are_found_or_harmless() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path(), 400);
    let path = directory.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    let (_, _, sound) = Record::open(directory.path(), None).unwrap();
    let mut found = 0;
    for (number, page) in (0..whole.len()).step_by(4096).enumerate() {
        let mut broken = whole.clone();
        for (at, byte) in broken.iter_mut().enumerate().skip(page + 7 * number % 500).take(300) {
            *byte ^= u8::try_from(at % 251).unwrap() | 1;
        }
        std::fs::write(&path, &broken).unwrap();
        for beside in ["-wal", "-shm"] {
            std::fs::remove_file(directory.path().join(format!("{FILE}{beside}"))).ok();
        }
        match Record::open(directory.path(), None) {
            Err(_) => found += 1,
            // The damaged bytes were unused.
            Ok((_, _, folded)) => assert_eq!(folded.status, sound.status),
        }
    }
    assert!(found > 3, "only {found} were found");
    for cut in [0, 100, 4096, whole.len() - 4096, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        for beside in ["-wal", "-shm"] {
            std::fs::remove_file(directory.path().join(format!("{FILE}{beside}"))).ok();
        }
        match Record::open(directory.path(), None) {
            Err(_) => {}
            // The last page may hold nothing that the state needs.
            Ok((_, _, folded)) => assert!(cut > 4096 && folded.status == sound.status, "cut at {cut}"),
        }
    }
}

#[test]
fn a_missing_record_and_an_invalid_database_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(why(directory.path()).contains("not a workflow run"));
    std::fs::write(
        directory.path().join(FILE),
        "not a database, but long enough to be read as one".repeat(100),
    )
    .unwrap();
    assert!(why(directory.path()).contains("damaged"));
    std::fs::remove_file(directory.path().join(FILE)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", directory.path().join(FILE)).unwrap();
    assert!(why(directory.path()).contains("not a workflow run"));
}

#[test]
fn answers_are_read_in_order() {
    let directory = tempfile::tempdir().unwrap();
    written(directory.path(), 2);
    let (mut record, _, _) = Record::open(directory.path(), None).unwrap();
    assert!(!record.answer(1, &json!({"answer": 0})).unwrap(), "the step does not wait");
    for step in [0, 1] {
        record.write(step, StepStatus::Blocked, "{}").unwrap();
    }
    record.commit().unwrap();
    assert!(record.answer(1, &json!({"answer": 1})).unwrap());
    assert!(record.answer(0, &json!({"answer": 2})).unwrap());
    let all = record.answers_after(0).unwrap();
    assert_eq!(all.iter().map(|one| one.step).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(record.answers_after(all[0].id).unwrap(), all[1..]);
}
