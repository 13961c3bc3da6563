use super::*;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Scene { directory: tempfile::tempdir().unwrap() }
    }

    fn lessons(&self) -> Lessons {
        let redactor = Arc::new(Redactor::patterns_only());
        Lessons::open(&self.directory.path().join("lessons"), &self.index(), redactor)
    }

    fn index(&self) -> PathBuf {
        self.directory.path().join("index.sqlite")
    }
}

fn lesson(id: &str, component: &str, failure: &str, tags: &[&str], body: &str) -> Lesson {
    Lesson {
        header: Header {
            id: id.into(),
            component: component.into(),
            failure_signature: failure.into(),
            tags: tags.iter().map(ToString::to_string).collect(),
            ..Header::default()
        },
        body: body.into(),
    }
}

fn ids(found: &[LessonMatch]) -> Vec<(&str, u8)> {
    found.iter().map(|found| (found.lesson.header.id.as_str(), found.stage)).collect()
}

fn query(text: &str, stage: u8) -> Query {
    Query { text: text.into(), stage, limit: 5, ..Query::default() }
}

#[test]
fn three_stages_each_wider_than_the_one_before() {
    let scene = Scene::new();
    let mut lessons = scene.lessons();
    for lesson in [
        lesson("near", "parser", "E-other", &[], "Quote the header before parsing it."),
        lesson("wide", "network", "", &[], "A header may be folded over lines."),
        lesson("tagged", "disk", "", &["io"], "Look whether the disk is full."),
        lesson("failed", "disk", "E-42.timeout", &[], "Wait longer."),
        lesson("aside", "disk", "", &[], "Elephants."),
    ] {
        lessons.write(&lesson).unwrap();
    }
    let mut query = Query {
        component: Some("parser".into()),
        tags: vec!["io".into()],
        failure_signature: Some("E-42.timeout".into()),
        ..query("header", 1)
    };
    assert_eq!(ids(&lessons.retrieve(&query).unwrap()), [("near", 1)]);
    query.stage = 2;
    assert_eq!(ids(&lessons.retrieve(&query).unwrap()), [("near", 1), ("wide", 2), ("tagged", 2)]);
    query.stage = 3;
    assert_eq!(
        ids(&lessons.retrieve(&query).unwrap()),
        [("near", 1), ("wide", 2), ("tagged", 2), ("failed", 3)]
    );
    query.limit = 2;
    assert_eq!(lessons.retrieve(&query).unwrap().len(), 2);
    // A component alone gives what is known of it, nothing at all gives nothing.
    assert_eq!(
        ids(&lessons.retrieve(&Query { text: String::new(), stage: 1, ..query.clone() }).unwrap()),
        [("near", 1)]
    );
    assert!(lessons.retrieve(&Query { limit: 5, stage: 3, ..Query::default() }).unwrap().is_empty());
}

#[test]
fn the_files_are_the_record() {
    let scene = Scene::new();
    let mut lessons = scene.lessons();
    let path = lessons.write(&lesson("", "", "", &[], "Mind the elephants.")).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap().to_string();
    assert!(id.starts_with("lesson-") && id.len() == 43, "{id}");
    assert!(!lessons.read(&id).unwrap().header.timestamp.is_empty());
    assert_eq!(lessons.retrieve(&query("elephants", 1)).unwrap().len(), 1);
    // Added by hand, changed by hand, taken away by hand.
    let by_hand = path.with_file_name("by-hand.md");
    std::fs::write(&by_hand, "{\"component\": \"zoo\"}\n---\nGiraffes bite.").unwrap();
    assert_eq!(ids(&lessons.retrieve(&query("giraffe", 1)).unwrap()), [("by-hand", 1)]);
    std::fs::write(&by_hand, "{\"component\": \"zoo\"}\n---\nZebras kick hard.").unwrap();
    assert!(lessons.retrieve(&query("giraffe", 1)).unwrap().is_empty());
    assert_eq!(lessons.retrieve(&query("zebra", 1)).unwrap().len(), 1);
    std::fs::write(&by_hand, "no lesson").unwrap();
    assert!(lessons.retrieve(&query("zebra", 1)).unwrap().is_empty());
    std::fs::remove_file(&path).unwrap();
    assert!(lessons.retrieve(&query("elephants", 1)).unwrap().is_empty());
}

#[test]
fn the_index_can_be_thrown_away_at_any_time() {
    let scene = Scene::new();
    let mut lessons = scene.lessons();
    lessons.write(&lesson("a", "", "", &[], "Mind the elephants.")).unwrap();
    assert_eq!(lessons.retrieve(&query("elephants", 1)).unwrap().len(), 1);
    std::fs::remove_file(scene.index()).unwrap();
    assert_eq!(lessons.retrieve(&query("elephants", 1)).unwrap().len(), 1, "while it is open");
    drop(lessons);
    std::fs::write(scene.index(), "nonsense").unwrap();
    assert_eq!(scene.lessons().retrieve(&query("elephants", 1)).unwrap().len(), 1);
    // A table is missing, though the version is right.
    rusqlite::Connection::open(scene.index()).unwrap().execute_batch("DROP TABLE terms").unwrap();
    assert_eq!(scene.lessons().retrieve(&query("elephants", 1)).unwrap().len(), 1);
}

#[test]
fn hostile_files_and_ids_are_contained() {
    let scene = Scene::new();
    let mut lessons = scene.lessons();
    for id in ["../x", "a/b", "", ".hidden", "a b", &"x".repeat(300)] {
        let bad = lesson(id, "", "", &[], "x");
        assert!(id.is_empty() || lessons.write(&bad).is_err(), "{id}");
        assert!(lessons.read(id).is_err());
    }
    lessons.write(&lesson("good", "", "", &[], "Mind the elephants.")).unwrap();
    let directory = scene.directory.path().join("lessons");
    std::fs::write(scene.directory.path().join("outside"), "{}\n---\nelephants outside").unwrap();
    std::os::unix::fs::symlink(scene.directory.path().join("outside"), directory.join("link.md")).unwrap();
    std::fs::create_dir(directory.join("directory.md")).unwrap();
    std::fs::write(directory.join("huge.md"), "{\"x\": \"".to_string() + &"elephants ".repeat(200_000))
        .unwrap();
    std::fs::write(directory.join("bytes.md"), b"{}\n---\n\xff\xfe elephants").unwrap();
    let found = lessons.retrieve(&query("elephants", 3)).unwrap();
    let mut names: Vec<&str> = ids(&found).into_iter().map(|(id, _)| id).collect();
    names.sort_unstable();
    assert_eq!(names, ["bytes", "good"]);
}

#[test]
fn secrets_are_not_written() {
    let scene = Scene::new();
    let mut lessons = scene.lessons();
    let mut secret = lesson("a", "", "", &[], "the key AKIAIOSFODNN7EXAMPLE was refused");
    secret.header.root_cause_hypothesis = "AKIAIOSFODNN7EXAMPLE".into();
    let path = lessons.write(&secret).unwrap();
    assert!(!std::fs::read_to_string(path).unwrap().contains("AKIAIOSF"));
}
