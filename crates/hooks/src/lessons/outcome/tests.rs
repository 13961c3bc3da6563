//! Outcomes are counted once, whatever happens in between.

use super::*;
use crate::lessons::{Change, evolve, health, reflect, teach};
use serde_json::json;
use std::path::PathBuf;

struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Scene { root: tempfile::tempdir().unwrap() };
        scene.put(
            "packs/api/pack.json",
            &json!({"name": "api", "version": "1.0.0", "owner": "me", "categories": ["rest"]}).to_string(),
        );
        scene
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(path);
        marvin_testing::write(&path, text);
        path
    }

    fn add(&self, path: &str, values: &[Value]) {
        use std::io::Write;
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        for value in values {
            writeln!(file, "{value}").unwrap();
        }
    }

    fn packs(&self) -> Packs {
        Packs::load(&[self.root.path().join("packs")])
    }

    fn runs(&self) -> PathBuf {
        self.root.path().join("runs")
    }

    fn run(&self) -> PathBuf {
        self.runs().join("run_20260203_100000_0001")
    }

    fn settle(&self) -> Settlement {
        let redactor = Arc::new(Redactor::patterns_only());
        settle(&self.run(), &self.packs(), &redactor).unwrap()
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.path().join(path)).unwrap()
    }

    fn lesson(&self, title: &str) -> Figures {
        let lines = Lines::read(&self.root.path().join("packs/api/lessons.jsonl")).unwrap();
        figures(lines.find(title).unwrap())
    }
}

fn lesson(title: &str) -> Value {
    json!({"title": title, "actionable": format!("do {title}"), "category": "rest"})
}

fn injected(minute: u32, file: &str, titles: &[&str]) -> Value {
    let lessons: Vec<Value> = titles.iter().map(|title| json!({"pack": "api", "title": title})).collect();
    json!({"timestamp": format!("2026-02-03T10:{minute:02}:00Z"), "file": file, "packs_injected": ["api"],
        "lessons_injected": titles, "lessons": lessons})
}

fn guidance(minute: u32, kind: &str, content: &str, category: Option<&str>, file: Option<&str>) -> Value {
    json!({"id": "g_1", "timestamp": format!("2026-02-03T10:{minute:02}:00Z"), "run_id": "run_20260203_100000_0001", "type": kind,
        "content": content, "category": category, "confidence": 0.8, "preceding_file": file})
}

#[test]
fn a_run_is_counted_once_even_if_it_continues() {
    let scene = Scene::new();
    scene.add("packs/api/lessons.jsonl", &[lesson("a"), lesson("b")]);
    scene.add(
        "runs/run_20260203_100000_0001/injections.jsonl",
        &[injected(1, "src/x.rs", &["a", "b"]), injected(2, "src/y.rs", &["a"])],
    );
    let first = scene.settle();
    assert_eq!((first.outcomes.len(), first.written), (2, 2));
    let a = scene.lesson("a");
    // A weight of 0.5 before, a good session now, in which it was told twice (D2).
    assert_eq!((a.utility_score, a.injection_count, a.correction_count), (Some(0.75), 1, 0));
    assert_eq!(a.last_injected.as_deref(), Some("2026-02-03T10:02:00.000Z"));
    let text = scene.text("packs/api/lessons.jsonl");
    assert_eq!(scene.settle(), Settlement::default());
    assert_eq!(scene.text("packs/api/lessons.jsonl"), text);
    // Later a correction about y.rs comes: it counts against the telling that was counted already.
    scene.add(
        "runs/run_20260203_100000_0001/guidance.jsonl",
        &[guidance(9, "correction", "no", None, Some("/home/me/p/src/y.rs"))],
    );
    let later = scene.settle();
    assert_eq!(later.outcomes.len(), 1);
    assert_eq!((later.outcomes[0].injected, later.outcomes[0].followed_by_correction), (0, 1));
    let a = scene.lesson("a");
    assert_eq!((a.utility_score, a.injection_count, a.correction_count), (Some(0.0), 1, 1));
    assert_eq!(scene.settle(), Settlement::default());
    scene.add("runs/run_20260203_100000_0001/injections.jsonl", &[injected(40, "src/x.rs", &["a"])]);
    assert_eq!(scene.settle(), Settlement::default());
    assert_eq!(scene.lesson("a").injection_count, 1);
}

#[test]
fn only_later_corrections_about_the_pack_or_the_file_count() {
    let scene = Scene::new();
    scene.add("packs/api/lessons.jsonl", &[lesson("a")]);
    scene.add("runs/run_20260203_100000_0001/injections.jsonl", &[injected(5, "src/x.rs", &["a"])]);
    scene.add(
        "runs/run_20260203_100000_0001/guidance.jsonl",
        &[
            guidance(1, "correction", "before", Some("rest"), None),
            guidance(6, "direction", "no correction", Some("rest"), None),
            guidance(6, "correction", "elsewhere", Some("git"), Some("src/x.rs")),
            guidance(6, "correction", "other file", None, Some("src/ax.rs")),
            guidance(36, "correction", "long after", Some("rest"), None),
        ],
    );
    let of = |scene: &Scene| correlate(&scene.run(), &scene.packs()).values().next().copied().unwrap();
    assert_eq!((of(&scene).injected, of(&scene).corrected, of(&scene).complaints), (1, 0, 0.0));
    scene.add("runs/run_20260203_100000_0001/trace.jsonl", &[json!({"type": "hook.post-tool-use-failure", "timestamp": "2026-02-03T10:06:00Z", "success": false, "file": "src/x.rs"})]);
    assert_eq!((of(&scene).corrected, of(&scene).complaints), (0, 0.5));
    scene.add(
        "runs/run_20260203_100000_0001/guidance.jsonl",
        &[guidance(7, "correction", "by its name", Some("api"), None)],
    );
    assert_eq!((of(&scene).corrected, of(&scene).complaints), (1, 1.0));
}

#[test]
fn an_interrupted_settlement_is_completed_and_not_repeated() {
    let scene = Scene::new();
    scene.add("packs/api/lessons.jsonl", &[lesson("a")]);
    let untouched = scene.text("packs/api/lessons.jsonl");
    scene.add("runs/run_20260203_100000_0001/injections.jsonl", &[injected(1, "src/x.rs", &["a"])]);
    scene.settle();
    let settled = scene.text("packs/api/lessons.jsonl");
    // The record was written, the lesson was not.
    scene.put("packs/api/lessons.jsonl", &untouched);
    let again = scene.settle();
    assert_eq!((again.outcomes.len(), again.written), (0, 1));
    assert_eq!(scene.text("packs/api/lessons.jsonl"), settled);
    assert_eq!(scene.settle().written, 0);
}

#[test]
fn lines_that_are_strange_and_lessons_that_are_gone_are_survived() {
    let scene = Scene::new();
    let strange = "# a note\n{\"title\": \"half\n";
    scene.put("packs/api/lessons.jsonl", &format!("{strange}{}\n", lesson("a")));
    scene.add(
        "runs/run_20260203_100000_0001/injections.jsonl",
        &[json!("nonsense"), injected(1, "x", &["a", "gone"]), json!({"timestamp": "never"})],
    );
    let settled = scene.settle();
    assert_eq!((settled.outcomes.len(), settled.written), (2, 1));
    assert!(scene.text("packs/api/lessons.jsonl").starts_with(strange));
    assert_eq!(scene.settle(), Settlement::default());
    // A run without anything leaves nothing.
    std::fs::create_dir_all(scene.runs().join("run_2")).unwrap();
    let redactor = Arc::new(Redactor::patterns_only());
    assert_eq!(
        settle(&scene.runs().join("run_2"), &scene.packs(), &redactor).unwrap(),
        Settlement::default()
    );
    assert!(!scene.runs().join("run_2").join(OUTCOMES).exists());
}

#[test]
fn guidance_becomes_a_candidate_once() {
    let scene = Scene::new();
    scene.add(
        "packs/api/lessons.jsonl",
        &[lesson("a"), json!({"title": "Known", "actionable": "Use POST for writes"})],
    );
    scene.add(
        "runs/run_20260203_100000_0001/guidance.jsonl",
        &[
            guidance(1, "correction", "No, use PUT for whole resources", Some("rest"), Some("src/x.rs")),
            guidance(2, "direction", "always version the API", None, None),
            guidance(3, "task_start", "add an endpoint", None, None),
            guidance(4, "correction", "use POST for writes", Some("rest"), None),
        ],
    );
    scene.add(
        "runs/run_20260203_110000_0002/guidance.jsonl",
        &[guidance(1, "correction", "no, use put for whole resources!", None, None)],
    );
    let found = reflect::candidates(&scene.runs(), &scene.packs());
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!((found[0].frequency, found[0].pack.as_deref(), found[0].runs.len()), (2, Some("api"), 2));
    assert_eq!((found[1].pack.as_deref(), found[1].title.as_str()), (None, "Always version the API"));
    let redactor = Redactor::patterns_only();
    let plain = reflect::Edit::default();
    assert!(
        reflect::promote(&found, &plain, &scene.packs(), &redactor)
            .unwrap_err()
            .to_string()
            .contains("--pack")
    );
    let edit = reflect::Edit { pack: Some("api".into()), title: Some("Put".into()), ..plain };
    let changes = reflect::promote(&found[..1], &edit, &scene.packs(), &redactor).unwrap();
    assert!(changes[0].diff().contains("+{\"timestamp\""), "{}", changes[0].diff());
    changes[0].write().unwrap();
    // Though its title was changed, it is known now.
    assert_eq!(reflect::candidates(&scene.runs(), &scene.packs()).len(), 1);
}

#[test]
fn teaching_checks_for_what_is_there() {
    let scene = Scene::new();
    scene.add(
        "packs/api/lessons.jsonl",
        &[json!({"title": "Writes", "actionable": "Use POST for every write to a resource"})],
    );
    let redactor = Redactor::patterns_only();
    let taught = |title: &str, actionable: &str, force: bool| {
        let taught = teach::NewLesson {
            pack: "api".into(),
            title: title.into(),
            actionable: actionable.into(),
            force,
            ..teach::NewLesson::default()
        };
        teach::teach(&taught, &scene.packs(), &redactor)
    };
    assert!(taught("writes", "x", true).unwrap_err().to_string().contains("with this title"));
    assert!(
        taught("More", "use POST for every write to a resource.", false)
            .unwrap_err()
            .to_string()
            .contains("--force")
    );
    assert!(taught("More", "use POST for every write to a resource.", true).is_ok());
    assert!(taught(" ", "x", false).is_err() && taught("x", "", false).is_err());
    let wrong = teach::NewLesson { pack: "apj".into(), ..teach::NewLesson::default() };
    assert!(
        teach::teach(&wrong, &scene.packs(), &redactor)
            .unwrap_err()
            .to_string()
            .contains("did you mean `api`")
    );
    let change = taught("Key", "never print AKIAIOSFODNN7EXAMPLE", false).unwrap();
    assert!(!String::from_utf8_lossy(&change.after).contains("AKIAIOSFODNN7EXAMPLE"));
}

#[test]
fn grown_lessons_become_rules_and_stale_ones_are_archived() {
    let scene = Scene::new();
    scene.put("packs/api/guardrails.md", "# Rules\n- be kind");
    let with = |title: &str, told: u64, utility: f64, last: &str| {
        let mut lesson = lesson(title);
        lesson["injection_count"] = told.into();
        lesson["utility_score"] = utility.into();
        lesson["last_injected"] = last.into();
        lesson
    };
    let (old, new) = ("2025-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    scene.add(
        "packs/api/lessons.jsonl",
        &[
            with("good", 6, 0.9, new),
            with("stale", 1, 0.5, old),
            with("bad", 9, 0.1, new),
            with("young", 1, 0.9, new),
        ],
    );
    let now: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
    let packs = scene.packs();
    let plan = evolve::plan(packs.get("api").unwrap(), now).unwrap();
    let fates: Vec<_> = plan.verdicts.iter().map(|verdict| (verdict.title.as_str(), verdict.fate)).collect();
    assert_eq!(
        fates,
        [("good", evolve::Fate::Promote), ("stale", evolve::Fate::Prune), ("bad", evolve::Fate::Rewrite)]
    );
    assert_eq!(scene.text("packs/api/guardrails.md"), "# Rules\n- be kind", "nothing happens by itself");
    let seen = health::look(&scene.runs(), &packs, now);
    assert_eq!((seen.packs[0].to_promote, seen.packs[0].to_prune, seen.packs[0].to_rewrite), (1, 1, 1));
    // Interrupted after the archive: the next plan does the rest, and archives nothing twice.
    plan.changes[0].write().unwrap();
    let plan = evolve::plan(scene.packs().get("api").unwrap(), now).unwrap();
    assert_eq!(plan.changes.len(), 2);
    plan.changes.iter().try_for_each(Change::write).unwrap();
    assert_eq!(scene.text("packs/api/guardrails.md"), "# Rules\n- be kind\n\n## Learned\n- do good\n");
    assert_eq!(scene.text("packs/api/lessons.archive.jsonl").lines().count(), 2);
    let lessons = scene.text("packs/api/lessons.jsonl");
    assert!(lessons.contains("\"bad\"") && lessons.contains("\"young\"") && lessons.lines().count() == 2);
    assert!(evolve::plan(scene.packs().get("api").unwrap(), now).unwrap().changes.is_empty());
}
