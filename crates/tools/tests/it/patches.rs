//! Patches through the tool: deletions, moves, several files, odd files.

use crate::support::Fixture;
use marvin_gate::{Access, Decision};
use marvin_tools::Mode;
use proptest::prelude::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

async fn patch(fixture: &Fixture, text: &str) -> String {
    fixture.good("apply_patch", json!({"patch": text})).await
}

async fn refused(fixture: &Fixture, text: &str) -> String {
    fixture.bad("apply_patch", json!({"patch": text})).await
}

fn ready() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\ntwo\n");
    fixture.write("b.sh", "#!/bin/sh\necho b\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.root.join("b.sh"), mode).unwrap();
    fixture
}

#[tokio::test]
async fn files_are_deleted_and_moved() {
    let fixture = ready();
    let summary = patch(
        &fixture,
        "*** Begin Patch\n*** Delete File: a.txt\n*** Update File: b.sh\n*** Move to: bin/c.sh\n@@\n-echo b\n+echo c\n*** End Patch",
    )
    .await;
    assert_eq!(summary, "Patched a.txt (deleted), b.sh (now bin/c.sh)");
    assert!(!fixture.root.join("a.txt").exists() && !fixture.root.join("b.sh").exists());
    assert_eq!(fixture.read("bin/c.sh"), "#!/bin/sh\necho c\n");
    let mode = std::fs::metadata(fixture.root.join("bin/c.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);

    let fixture = ready();
    patch(
        &fixture,
        "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\nindex 1..0\n--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n\
         diff --git a/b.sh b/d/b2.sh\nsimilarity index 60%\nrename from b.sh\nrename to d/b2.sh\n--- a/b.sh\n+++ b/d/b2.sh\n\
         @@ -1,2 +1,2 @@\n #!/bin/sh\n-echo b\n+echo 2\n\
         diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e69de29\n\
         diff --git \"a/caf\\303\\251\" \"b/caf\\303\\251\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/caf\\303\\251\"\n@@ -0,0 +1 @@\n+x\n",
    )
    .await;
    assert!(!fixture.root.join("a.txt").exists() && !fixture.root.join("b.sh").exists());
    assert_eq!(fixture.read("d/b2.sh"), "#!/bin/sh\necho 2\n");
    assert_eq!((fixture.read("empty"), fixture.read("café")), (String::new(), "x\n".into()));

    // Only moved, and an empty file deleted.
    patch(
        &fixture,
        "diff --git a/d/b2.sh b/e.sh\nsimilarity index 100%\nrename from d/b2.sh\nrename to e.sh\n",
    )
    .await;
    patch(&fixture, "diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n").await;
    assert!(fixture.root.join("e.sh").exists() && !fixture.root.join("empty").exists());
}

/// A diff by real git; applied and reversed here, it gives the same bytes as git's own trees.
#[tokio::test]
async fn git_diffs_are_understood() {
    let fixture = ready();
    let git = |arguments: &[&str]| marvin_testing::git(&fixture.root, arguments);
    git(&["init", "-q"]);
    fixture.write("win.txt", "a\r\nb\r\nc\r\n");
    fixture.write("dir/moved é.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    fixture.write("bare", "no end");
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    std::fs::remove_file(fixture.root.join("a.txt")).unwrap();
    std::fs::remove_file(fixture.root.join("dir/moved é.txt")).unwrap();
    fixture.write("new/moved é.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n");
    fixture.write("win.txt", "a\r\nB\r\nc\nd");
    fixture.write("bare", "no end\nbut more\n");
    fixture.write("nothing", "");
    git(&["add", "."]);
    git(&["commit", "-qm", "two"]);
    let there = git(&["diff", "-M", "HEAD~1", "HEAD"]);
    let back = git(&["diff", "-M", "HEAD", "HEAD~1"]);
    patch(&fixture, &back).await;
    git(&["add", "."]);
    assert_eq!(git(&["diff", "HEAD~1"]), "");
    assert!(fixture.root.join("dir/moved é.txt").exists() && fixture.root.join("a.txt").exists());
    patch(&fixture, &there).await;
    git(&["add", "."]);
    assert_eq!(git(&["diff", "HEAD"]), "");
}

#[tokio::test]
async fn an_impossible_patch_is_refused_and_nothing_is_changed() {
    let fixture = ready();
    std::fs::write(fixture.root.join("latin"), b"caf\xe9\n").unwrap();
    std::fs::create_dir(fixture.root.join("directory")).unwrap();
    let add = "*** Begin Patch\n*** Add File: n/e/w.txt\n+x\n";
    for (rest, message) in [
        ("*** Delete File: missing\n", "no such file"),
        ("*** Delete File: directory\n", "not a regular file"),
        ("*** Delete File: .git/config\n", "git's own files"),
        ("*** Update File: latin\n@@\n-x\n+y\n", "not UTF-8"),
        ("*** Update File: a.txt\n*** Move to: b.sh\n", "exists already"),
        ("*** Update File: a.txt\n*** Move to: ../x\n", "climbs"),
        ("*** Update File: a.txt\n*** Move to: .marvin/runs/x\n", "the record"),
        ("*** Update File: a.txt\n*** Move to: n/e/w.txt\n", "twice"),
        ("*** Update File: a.txt\n*** Move to: n/e/w.txt/x\n", "it exists already"),
        ("*** Update File: a.txt\n@@\n-three\n+3\n", "not in the file"),
        ("*** Update File: a.txt\n@@\n-two\n+2\n@@\n-one\n+1\n", "order of the file"),
        ("*** Update File: a.txt\n@@\n-one\n-two\n+2\n@@\n two\n+3\n", "must not overlap"),
        ("*** Add File: ./a.txt\n+x\n", "exists already"),
        ("*** Add File: ./n//e/w.txt\n+x\n", "it exists already"),
    ] {
        let text = refused(&fixture, &format!("{add}{rest}*** End Patch")).await;
        assert!(text.contains(message), "{rest}: {text}");
        assert!(!fixture.root.join("n").exists(), "{rest}");
        assert_eq!(fixture.read("a.txt"), "one\ntwo\n", "{rest}");
    }
    // A diff that deletes a file shows all of it.
    let part = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    assert!(refused(&fixture, part).await.contains("does not show"));
    assert_eq!(fixture.read("a.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn an_ambiguous_diff_is_refused() {
    let fixture = ready();
    fixture.write("x b/y", "");
    fixture.write("y", "");
    // The file name contains the separator of two names.
    let spaced = "diff --git a/x b/y b/x b/y\ndeleted file mode 100644\nindex e69de29..0000000\n";
    assert_eq!(patch(&fixture, spaced).await, "Patched x b/y (deleted)");
    assert!(fixture.root.join("y").exists() && !fixture.root.join("x b/y").exists());
    let change = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    let rename = "rename from b.sh\nrename to c.sh\n";
    let link =
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n";
    for (text, message) in [
        (format!("diff --git a/b.sh b/c.sh\n{rename}{change}"), "must name the same files"),
        (format!("{change}diff --git a/y b/z\ndeleted file mode 100644\n"), "is ambiguous"),
        (format!("{change}deleted file mode 100644\n"), "is ambiguous"),
        (format!("{change}rename from b.sh\n"), "only one of"),
        (format!("{change}{link}"), "symbolic links"),
        (format!("{change}{}", link.replace("120000", "160000")), "submodules"),
        // Line numbers beyond the file are refused.
        (
            "--- a/a.txt\n+++ b/a.txt\n@@ -18446744073709551615,2 +1,2 @@\n zero\n-two\n+2\n".to_string(),
            "not in the file",
        ),
    ] {
        let error = refused(&fixture, &text).await;
        assert!(error.contains(message), "{text}: {error}");
        assert_eq!(fixture.read("a.txt"), "one\ntwo\n", "{text}");
        assert!(fixture.root.join("b.sh").exists() && fixture.root.join("y").exists(), "{text}");
    }
    patch(&fixture, "--- a/a.txt\n+++ b/a.txt\n@@ -18446744073709551615,2 +1,2 @@\n one\n-two\n+2\n").await;
    assert_eq!(fixture.read("a.txt"), "one\n2\n");
    // A rename needs no `diff --git` before it.
    patch(&fixture, &format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n{rename}")).await;
    assert_eq!(fixture.read("a.txt"), "1\n2\n");
    assert!(fixture.root.join("c.sh").exists() && !fixture.root.join("b.sh").exists());
}

#[tokio::test]
async fn deleting_and_moving_are_judged_as_writing() {
    let fixture = Fixture::with(Mode::Coding, &Access::writable(["a.txt".to_string()]), &[]);
    fixture.write("a.txt", "one\n");
    fixture.write("b.txt", "one\n");
    for patch in [
        "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch",
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.txt\n*** End Patch",
        "*** Begin Patch\n*** Update File: b.txt\n*** Move to: a2.txt\n*** End Patch",
    ] {
        let called = fixture.call("apply_patch", json!({"patch": patch})).await;
        assert_eq!(called.verdict.decision, Decision::Deny, "{patch}");
        assert!(called.result.for_model().contains("may write only"), "{:?}", called.result);
    }
    let fixture = Fixture::new();
    fixture.write("AGENTS.md", "rules\n");
    for patch in [
        "*** Begin Patch\n*** Delete File: AGENTS.md\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n+x\n*** Update File: AGENTS.md\n*** Move to: old.md\n*** End Patch",
    ] {
        let called = fixture.call("apply_patch", json!({"patch": patch})).await;
        assert_eq!(called.verdict.rule, "path.instructions", "{patch}");
        assert!(fixture.root.join("AGENTS.md").exists() && !fixture.root.join("x").exists());
    }
    fixture
        .good("apply_patch", json!({"patch": "*** Begin Patch\n*** Add File: x\n+x\n*** End Patch"}))
        .await;
}

#[tokio::test]
async fn instructions_are_written_only_where_the_person_named_them() {
    let variables = [("MARVIN_GRANTED_INSTRUCTIONS", "AGENTS.md,.claude/settings.json")];
    let fixture = Fixture::with(Mode::Coding, &Access::Full, &variables);
    fixture.write("AGENTS.md", "rules\n");
    std::os::unix::fs::symlink("AGENTS.md", fixture.root.join("alias.md")).unwrap();
    let write = |path: &str| json!({"path": path, "old_str": "rules", "new_str": "better rules"});
    let linked = fixture.call("apply_patch", write("alias.md")).await;
    assert_eq!(linked.verdict.rule, "path.link");
    fixture.good("apply_patch", write("AGENTS.md")).await;
    assert_eq!(fixture.read("AGENTS.md"), "better rules\n");
    // What runs by itself is not a text, and other instructions were not named.
    for (path, rule) in [(".claude/settings.json", "path.steers"), ("src/AGENTS.md", "path.instructions")] {
        let called = fixture.call("create_file", json!({"path": path, "content": "{}"})).await;
        assert_eq!((called.verdict.decision, called.verdict.rule.as_str()), (Decision::Deny, rule), "{path}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// A unique match is replaced, and nothing else changes; the reversed patch restores the old bytes.
    #[test]
    fn an_exact_replacement_is_exact(
        text in "([ab]{0,3}(\n|\r\n)|ü日|🎉|\t){1,12}",
        from in any::<prop::sample::Index>(),
        length in 1..12usize,
        fresh in "[xyz\n]{1,6}|ß",
    ) {
        let fixture = Fixture::new();
        let letters: Vec<(usize, char)> = text.char_indices().collect();
        let start = letters[from.index(letters.len())].0;
        let old: String = text.get(start..).unwrap().chars().take(length).collect();
        let times = |text: &str, part: &str| text.char_indices().filter(|(at, _)| text.get(*at..).unwrap().starts_with(part)).count();
        prop_assume!(times(&text, &old) == 1);
        fixture.write("f", &text);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        prop_assume!(old != fresh);
        let wanted = text.replacen(&old, &fresh, 1);
        runtime.block_on(fixture.good("apply_patch", json!({"path": "f", "old_str": old, "new_str": fresh})));
        prop_assert_eq!(fixture.read("f"), wanted.clone());
        prop_assume!(times(&wanted, &fresh) == 1);
        runtime.block_on(fixture.good("apply_patch", json!({"path": "f", "old_str": fresh, "new_str": old})));
        prop_assert_eq!(fixture.read("f"), text);
    }
}
