//! Notes: directories, lines, patches, each in the directory of the mode.

use crate::support::Fixture;
use marvin_gate::{Access, Decision};
use marvin_tools::Mode;
use serde_json::json;

#[tokio::test]
async fn directories_and_lines_in_the_directory_of_the_mode() {
    for (mode, place) in [(Mode::Coding, "work/.marvin/notes"), (Mode::Assistant, "Notes")] {
        let fixture = Fixture::with(mode, &Access::Full, &[]);
        let notes = fixture.home.join(place);
        assert!(fixture.bad("notes_ls", json!({})).await.contains("no notes yet"));
        fixture.good("notes_mkdir", json!({"path": "plans/2026"})).await;
        assert!(notes.join("plans/2026").is_dir());
        fixture.good("notes_mkdir", json!({"path": "plans/2026"})).await;
        fixture.good("write_note", json!({"path": "plans/a", "content": "one\ntwo\nthree\n"})).await;
        assert_eq!(fixture.good("notes_ls", json!({})).await, "plans/");
        assert_eq!(fixture.good("notes_ls", json!({"path": "plans"})).await, "2026/\na.md");
        assert_eq!(fixture.good("notes_ls", json!({"path": "plans/2026"})).await, "(nothing)");
        assert!(fixture.bad("notes_ls", json!({"path": "none"})).await.contains("no such file"));
        let lines = fixture.good("file_read_lines", json!({"path": "plans/a", "start": 2})).await;
        assert_eq!(lines, "plans/a.md (3 lines) [showing 2-3]\n2 | two\n3 | three");
        let lines = fixture.good("file_read_lines", json!({"path": "plans/a", "start": 1, "end": 1})).await;
        assert_eq!(lines, "plans/a.md (3 lines) [showing 1-1]\n1 | one");
        assert!(
            fixture.bad("file_read_lines", json!({"path": "plans/a", "start": 9})).await.contains("3 lines")
        );
        assert!(fixture.bad("file_read_lines", json!({"path": "plans/b"})).await.contains("a.md"));

        let blocks = "REPLACE 1\nONE\n---\nINSERT 4\nfour\n---\nDELETE 2";
        let text = || std::fs::read_to_string(notes.join("plans/a.md")).unwrap();
        let call = json!({"path": "plans/a", "patch": blocks, "dry_run": true});
        assert!(fixture.good("file_apply_patch", call).await.ends_with("ONE\nthree\nfour\n"));
        assert_eq!(text(), "one\ntwo\nthree\n");
        fixture.good("file_apply_patch", json!({"path": "plans/a", "patch": blocks})).await;
        assert_eq!(text(), "ONE\nthree\nfour\n");
        let diff = "@@ -2,2 +2,2 @@\n three\n-four\n+4\n";
        fixture.good("file_apply_patch", json!({"path": "plans/a", "patch": diff})).await;
        assert_eq!(text(), "ONE\nthree\n4\n");
        for (patch, message) in [
            (diff, "not in the file"),
            ("REPLACE 9\nx", "only 3 lines"),
            ("nonsense", "names no file"),
            ("", "needs `patch`"),
            ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-ONE\n", "must change one text"),
        ] {
            let text = fixture.bad("file_apply_patch", json!({"path": "plans/a", "patch": patch})).await;
            assert!(text.contains(message), "{patch}: {text}");
        }
        assert_eq!(text(), "ONE\nthree\n4\n");
    }
}

#[tokio::test]
async fn no_note_tool_leaves_the_directory() {
    for mode in [Mode::Coding, Mode::Assistant] {
        let fixture = Fixture::with(mode, &Access::Full, &[]);
        fixture.good("write_note", json!({"path": "a", "content": "x\n"})).await;
        let directory = if mode == Mode::Coding {
            fixture.root.join(".marvin/notes")
        } else {
            fixture.home.join("Notes")
        };
        std::fs::write(fixture.home.join("secret.md"), "canary\n").unwrap();
        std::os::unix::fs::symlink(&fixture.home, directory.join("out")).unwrap();
        for path in
            ["../secret", "/etc/passwd", "out/secret", "out", "a/../../secret", "~/secret.md", ".tickets/a"]
        {
            for (tool, arguments) in [
                ("notes_ls", json!({"path": path})),
                ("notes_mkdir", json!({"path": format!("{path}/new")})),
                ("file_read_lines", json!({"path": path})),
                ("file_apply_patch", json!({"path": path, "patch": "REPLACE 1\ngone"})),
                ("read_note", json!({"path": path})),
                ("write_note", json!({"path": path, "content": "gone"})),
            ] {
                let called = fixture.call(tool, arguments.clone()).await;
                // `out` is a symlink, so a note of that name is `out.md`, which may be created.
                assert!(
                    !called.result.ok || path == "out",
                    "{tool} {arguments}: {}",
                    called.result.for_model()
                );
                assert!(!called.result.for_model().contains("canary"), "{tool} {arguments}");
            }
        }
        assert_eq!(std::fs::read_to_string(fixture.home.join("secret.md")).unwrap(), "canary\n");
        assert!(!fixture.home.join("new").exists());
    }
}

#[tokio::test]
async fn read_only_agents_cannot_write_notes() {
    let mut fixture = Fixture::new();
    fixture.good("write_note", json!({"path": "a", "content": "x\n"})).await;
    fixture.context.access = Access::Readonly;
    for (tool, arguments) in [
        ("notes_mkdir", json!({"path": "b"})),
        ("file_apply_patch", json!({"path": "a", "patch": "REPLACE 1\ny"})),
    ] {
        assert_eq!(fixture.call(tool, arguments).await.verdict.decision, Decision::Deny, "{tool}");
    }
    fixture.good("notes_ls", json!({})).await;
    fixture.good("file_read_lines", json!({"path": "a"})).await;
    assert_eq!(fixture.good("get_working_dir", json!({})).await, fixture.root.display().to_string());
}
