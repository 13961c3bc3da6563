use super::*;

/// Data of our own making: neighbours, stems, names of programs, and words that mislead.
fn own() -> EvalDataset {
    let text = include_str!("own.jsonl");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.jsonl");
    std::fs::write(&path, text).unwrap();
    read(&path, "jsonl").unwrap()
}

#[test]
fn recall_on_data_of_our_own() {
    let directory = tempfile::tempdir().unwrap();
    let labelled = own();
    let figures = score(&labelled, &[1, 3, 10], directory.path(), None).unwrap();
    assert!(figures.questions >= 20 && figures.documents >= 40, "{figures:?}");
    assert!(figures.recall[&1] >= 0.60, "{figures:?}");
    assert!(figures.recall[&3] >= 0.80 && figures.recall[&10] >= 0.95, "{figures:?}");
    // Without neighbours some of it cannot be found: the figure can fall.
    let mut alone = labelled.clone();
    alone.documents.iter_mut().for_each(|document| document.thread.clear());
    let directory = tempfile::tempdir().unwrap();
    let alone = score(&alone, &[1, 3, 10], directory.path(), None).unwrap();
    assert!(alone.recall[&3] < figures.recall[&3], "{alone:?} {figures:?}");
}

#[test]
fn errors_name_the_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    std::fs::write(&path, "{\"doc\": \"a\", \"text\": \"x\"}\n\n{\"query\": 1}\n").unwrap();
    assert!(read(&path, "jsonl").unwrap_err().to_string().contains("line 3"));
    assert!(read(&path, "nonsense").unwrap_err().to_string().contains("locomo"));
    for format in ["locomo", "cosqa", "cranfield", "locomo-sessions"] {
        assert!(read(&path, format).is_err(), "{format}");
    }
}

#[test]
fn other_formats_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.json");
    let locomo = r#"[{"conversation": {"speaker_a": "A", "session_2": [{"speaker": "A", "dia_id": "D2:1", "text": "tea"}],
        "session_10": [], "session_1_date_time": "x", "session_1": [{"speaker": "B", "dia_id": "D1:1", "text": "cake"}]},
        "qa": [{"question": "cake?", "evidence": ["D1:1; D2:1", "D9:9"]}]}]"#;
    std::fs::write(&path, locomo).unwrap();
    let turns = read(&path, "locomo").unwrap();
    assert_eq!(
        turns.documents.iter().map(|document| document.doc.as_str()).collect::<Vec<_>>(),
        ["D1:1", "D2:1"]
    );
    assert_eq!(turns.questions[0].relevant, ["D1:1", "D2:1"]);
    let sessions = read(&path, "locomo-sessions").unwrap();
    assert_eq!(sessions.questions[0].relevant, ["D1", "D2"]);
    assert_eq!(sessions.documents[0].text, "x\nB: cake");
    std::fs::write(&path, r#"[{"idx": "a", "doc": "q", "code": "c", "label": 1}, {"idx": "b", "doc": "p", "code": "c", "label": 1}, {"idx": "d", "doc": "r", "code": "e", "label": 0}]"#).unwrap();
    let cosqa = read(&path, "cosqa").unwrap();
    assert_eq!((cosqa.documents.len(), cosqa.questions.len()), (2, 2));
    std::fs::write(
        directory.path().join("cran.all.1400"),
        ".I 1\n.T\ntitle\n.W\nwings\nfly\n.I 2\n.W\nheat\n",
    )
    .unwrap();
    std::fs::write(directory.path().join("cran.qry"), ".I 007\n.W\nfly ?\n").unwrap();
    std::fs::write(directory.path().join("cranqrel"), "1 1 2\n").unwrap();
    let cranfield = read(directory.path(), "cranfield").unwrap();
    assert_eq!(cranfield.documents[0].text, "wings\nfly\n");
    assert_eq!(cranfield.questions[0].relevant, ["1"]);
}
