use super::*;
use proptest::prelude::*;

fn document(id: &str, text: &str) -> Document {
    Document { id: id.into(), text: text.into(), ..Document::default() }
}

fn found(index: &Index, text: &str) -> Vec<String> {
    let search = Search { text, limit: 10, ..Search::default() };
    index.search(&search).unwrap().into_iter().map(|hit| hit.id).collect()
}

#[test]
fn words_stems_and_names_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let mut index = Index::open(&directory.path().join("index.sqlite")).unwrap();
    let documents = [
        document("a", "The parser failed while reading headers"),
        document("b", "def parseHttpHeader(raw): pass"),
        document("c", "Café at the corner"),
    ];
    index.put(Kind::Ltm, &documents).unwrap();
    assert_eq!(found(&index, "fails to parse a header?"), ["a", "b"]);
    assert_eq!(found(&index, "cafe"), ["c"]);
    assert_eq!(found(&index, "HTTP"), ["b"]);
    index.put(Kind::Ltm, &[document("a", "now about elephants")]).unwrap();
    assert_eq!(found(&index, "fails to parse a header?"), ["b"]);
    index.change(Kind::Ltm, &[], &["a".into()], &[]).unwrap();
    assert!(found(&index, "elephants").is_empty());
}

#[test]
fn queries_cannot_bypass_filters() {
    let directory = tempfile::tempdir().unwrap();
    let mut index = Index::open(&directory.path().join("index.sqlite")).unwrap();
    let make = |id: &str, scope: &str, source: &str| Document {
        scope: scope.into(),
        source: source.into(),
        ..document(id, "the colour of the house")
    };
    index.put(Kind::Ltm, &[make("all", "", "user_said"), make("ann", "ann", "tool_output")]).unwrap();
    index.put(Kind::Stm, &[make("bob", "bob", "user_said")]).unwrap();
    let ids = |search: Search<'_>| {
        let mut ids: Vec<String> = index.search(&search).unwrap().into_iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    };
    let house = Search { text: "colour of house", limit: 9, ..Search::default() };
    assert_eq!(ids(house.clone()), ["all", "ann", "bob"]);
    assert_eq!(ids(Search { scope: Some("ann"), ..house.clone() }), ["all", "ann"]);
    assert_eq!(ids(Search { scope: Some("Ann"), ..house.clone() }), ["all"]);
    assert_eq!(ids(Search { kinds: &[Kind::Stm], ..house.clone() }), ["bob"]);
    assert_eq!(ids(Search { sources: &["user_said"], ..house.clone() }), ["all", "bob"]);
    assert_eq!(ids(Search { sources: &["user_said"], text: "", ..house.clone() }), ["all", "bob"]);
    // Neither the name of the column nor the terms in it can be asked for.
    let term = filter('k', "stm");
    for text in ["filters : x", &term, "user_said", "{filters} : ltm", "ltm"] {
        assert!(ids(Search { text, ..house.clone() }).is_empty(), "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index.sqlite");
    let fill = |index: &mut Index| index.put(Kind::Ltm, &[document("a", "elephants")]).unwrap();
    fill(&mut Index::open(&path).unwrap());
    let count = || Index::open(&path).unwrap().count(Kind::Ltm).unwrap();
    assert_eq!(count(), 1);
    // Another version.
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(count(), 0);
    // Torn in the middle.
    fill(&mut Index::open(&path).unwrap());
    Index::open(&path).unwrap().settle().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[100..half].fill(7);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(count(), 0);
    // Not a database, a directory, a symlink.
    std::fs::write(&path, "hello").unwrap();
    assert_eq!(count(), 0);
    Index::renew(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(count(), 0);
    std::fs::remove_file(&path).unwrap();
    let victim = directory.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    assert_eq!(count(), 0);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn removed_text_is_erased_from_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index.sqlite");
    let mut index = Index::open(&path).unwrap();
    let filler: Vec<Document> =
        (0..200).map(|n| document(&n.to_string(), &format!("filler {n} words"))).collect();
    index.put(Kind::Ltm, &filler).unwrap();
    index.put(Kind::Ltm, &[document("secret", "xylophonist Quuxington")]).unwrap();
    index.change(Kind::Ltm, &[], &["secret".into()], &[]).unwrap();
    index.settle().unwrap();
    for end in ["", "-wal"] {
        let bytes = std::fs::read(format!("{}{end}", path.display())).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        assert!(!text.contains("quuxington") && !text.contains("xylophonist"), "{end}");
    }
}

#[test]
fn neighbours_help_short_ones_only() {
    let long = "long ".repeat(200);
    let texts = ["one", "two", &long, "four", "five"];
    let near = |at| neighbours(&texts, at);
    assert_eq!(near(0), (String::new(), "two".to_string()));
    assert_eq!(near(3), ("two".to_string(), "five".to_string()));
    assert_eq!((near(2), near(9)), Default::default());
}

#[test]
fn tags_component_failure_and_age_change_the_order_a_little() {
    let directory = tempfile::tempdir().unwrap();
    let mut index = Index::open(&directory.path().join("index.sqlite")).unwrap();
    let now = 2_000_000_000;
    let same = |id: &str| document(id, "retry the upload with a smaller file");
    index
        .put(
            Kind::Lesson,
            &[
                Document { created: now - 400 * 86_400, ..same("old") },
                Document { created: now + 500, ..same("new") },
                Document { tags: vec!["Net".into()], ..same("tagged") },
                Document { component: "tools".into(), ..same("part") },
                Document { failure: "E1".into(), ..same("failure") },
            ],
        )
        .unwrap();
    let first = |search: Search<'_>| {
        index.search(&Search { text: "upload smaller file", limit: 3, ..search }).unwrap()[0].id.clone()
    };
    let tags = ["net".to_string()];
    assert_eq!(first(Search { now, ..Search::default() }), "new");
    assert_eq!(first(Search { now, tags: &tags, ..Search::default() }), "tagged");
    assert_eq!(first(Search { now, component: Some("tools"), ..Search::default() }), "part");
    assert_eq!(first(Search { now, like: Some("E1"), ..Search::default() }), "failure");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_text_is_a_mistake(text in any::<String>(), more in "[\"'()*:^{}+\\-a-z \0]{0,40}") {
        thread_local! {
            static INDEX: (tempfile::TempDir, Index) = {
                let directory = tempfile::tempdir().unwrap();
                let mut index = Index::open(&directory.path().join("i")).unwrap();
                index.put(Kind::Ltm, &[document("a", "some words")]).unwrap();
                (directory, index)
            };
        }
        INDEX.with(|(_, index)| {
            for text in [&text, &more, &format!("{text}{more}")] {
                index.search(&Search { text, limit: 3, ..Search::default() }).unwrap();
            }
        });
    }
}
