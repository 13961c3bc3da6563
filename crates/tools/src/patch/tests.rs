use super::hunk::apply;
use super::parse::{FilePatch, parse};
use proptest::prelude::*;

fn update(text: &str, patch: &str) -> Result<String, String> {
    let files = parse(patch, Some("f")).map_err(|error| error.to_string())?;
    match files.as_slice() {
        [FilePatch::Update { hunks, .. }] => apply(text, hunks).map_err(|error| error.to_string()),
        other => panic!("{other:?}"),
    }
}

fn codex(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

fn diff(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

#[test]
fn codex_patches() {
    let text = "one\ntwo\nthree\nfour\n";
    assert_eq!(update(text, &codex("@@\n one\n-two\n+TWO\n three\n")).unwrap(), "one\nTWO\nthree\nfour\n");
    assert_eq!(update(text, &codex("-two\n+TWO\n")).unwrap(), "one\nTWO\nthree\nfour\n");
    assert_eq!(update(text, &codex("@@\n-one\n@@\n-four\n+4\n+5\n")).unwrap(), "two\nthree\n4\n5\n");
    assert_eq!(update(text, &codex("@@\n+end\n")).unwrap(), "one\ntwo\nthree\nfour\nend\n");
    assert_eq!(update(text, &codex("@@ two\n+2.5\n")).unwrap(), "one\ntwo\n2.5\nthree\nfour\n");
    assert_eq!(update(text, &codex("@@\n-four\n+4\n*** End of File\n")).unwrap(), "one\ntwo\nthree\n4\n");
    let twice = "def a\n  x\ndef b\n  x\n";
    assert_eq!(update(twice, &codex("@@ def b\n-  x\n+  y\n")).unwrap(), "def a\n  x\ndef b\n  y\n");
    let error = update(twice, &codex("@@\n-  x\n+  y\n")).unwrap_err();
    assert!(error.contains("2 times (lines 2, 4)"), "{error}");
}

#[test]
fn unified_diffs() {
    let text = "one\ntwo\nthree\nfour\n";
    assert_eq!(
        update(text, &diff("@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n")).unwrap(),
        "one\nTWO\nthree\nfour\n"
    );
    assert_eq!(update(text, "@@ -2 +2 @@ fn x\n-two\n+TWO\n").unwrap(), "one\nTWO\nthree\nfour\n");
    assert_eq!(update(text, &diff("@@ -2,0 +3,1 @@\n+2.5\n")).unwrap(), "one\ntwo\n2.5\nthree\nfour\n");
    let two = diff("@@ -1,1 +1,2 @@\n one\n+1.5\n@@ -4,1 +5,1 @@\n-four\n+4\n");
    assert_eq!(update(text, &two).unwrap(), "one\n1.5\ntwo\nthree\n4\n");
    // The line numbers are off, the text decides; of several places the nearest.
    assert_eq!(update(text, &diff("@@ -40 +40 @@\n-two\n+2\n")).unwrap(), "one\n2\nthree\nfour\n");
    assert_eq!(update("x\na\nx\n", &diff("@@ -3 +3 @@\n-x\n+y\n")).unwrap(), "x\na\ny\n");
    // Lines that look like headers inside a hunk.
    assert_eq!(update("-- a\n", &diff("@@ -1 +1 @@\n--- a\n+++ b\n")).unwrap(), "++ b\n");
}

#[test]
fn line_endings_are_kept() {
    // Only the last line, without a line break, matches exactly; the line number names another place, or no place is unique.
    let windows = "a\r\n\r\na";
    assert_eq!(update(windows, &diff("@@ -1,1 +1,2 @@\n+aa\n a\n")).unwrap(), "aa\r\na\r\n\r\na");
    assert!(update(windows, &codex("@@\n+aa\n a\n")).unwrap_err().contains("2 times"));
    assert_eq!(update("a\r\nb\r\n", &codex("@@\n-b\n+c\n+d\n")).unwrap(), "a\r\nc\r\nd\r\n");
    assert_eq!(update("a\r\nb\r\n", "@@ -2 +2 @@\r\n-b\r\n+c\r\n").unwrap(), "a\r\nc\r\n");
    assert_eq!(update("a\nb", &codex("@@\n-b\n+c\n")).unwrap(), "a\nc");
    assert_eq!(update("a\nb", &codex("@@\n b\n+c\n")).unwrap(), "a\nb\nc");
    let marker = "\\ No newline at end of file\n";
    assert_eq!(update("a\nb", &diff(&format!("@@ -2 +2 @@\n-b\n{marker}+c\n{marker}"))).unwrap(), "a\nc");
    assert_eq!(update("a\nb", &diff(&format!("@@ -2 +2 @@\n-b\n{marker}+c\n"))).unwrap(), "a\nc\n");
    assert_eq!(update("a\nb\n", &diff(&format!("@@ -2 +2 @@\n-b\n+c\n{marker}"))).unwrap(), "a\nc");
    assert_eq!(update("naïve — ü\n", &codex("@@\n-naïve — ü\n+日本語 🎉\n")).unwrap(), "日本語 🎉\n");
}

#[test]
fn a_hunk_that_does_not_match_is_refused_with_a_reason() {
    let text = "one\ntwo\nthree\n";
    for (patch, reason) in [
        (codex("@@\n-tow\n+2\n"), "not in the file"),
        (codex("@@\n one\n-three\n+3\n"), "not in the file"),
        (codex("@@ nowhere\n-two\n+2\n"), "`nowhere`"),
        (codex("@@\n-two\n+2\n@@\n-one\n+1\n"), "from line 3"),
        (codex("@@\n-two\n+2\n@@\n-two\n+II\n"), "not in the file from line"),
        (codex("@@\n one\n two\n"), "changes nothing"),
        (codex(""), "no hunks"),
        (codex("@@\nbare\n"), "begins with a space"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-two\n+2\n".into(), "truncated"),
        ("*** Begin Patch\n*** End Patch".into(), "names no file"),
        ("*** Begin Patch\n*** Delete File: f\n-one\n*** End Patch".into(), "no lines are expected"),
        ("*** Begin Patch\n*** Move to: g\n*** End Patch".into(), "must follow `*** Update File:`"),
        (
            "*** Begin Patch\n*** Update File: f\n@@\n-one\n*** Move to: g\n*** End Patch".into(),
            "must follow `*** Update File:`",
        ),
        ("*** Begin Patch\n*** Update File: f\n*** Move to: f\n*** End Patch".into(), "twice"),
        (diff("@@ -1,3 +1,3 @@\n one\n-two\n+2\n"), "ends too early"),
        (diff("@@ -2 +2 @@\n-two\n+2\n+3\n"), "outside of any hunk"),
        (diff("@@ -1,2 @@\n"), "expected `@@"),
        (diff(""), "no hunks"),
        ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-one\n+1\n".into(), "rename"),
        ("diff --git a/f b/g\nrename from f\n".into(), "only one of"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n".into(), "copies"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n".into(), "names no file"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n".into(), "names no file"),
        ("Binary files a/f and b/f differ\n".into(), "binary"),
        ("hello".into(), "names no file"),
        (
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+2\n".into(),
            "twice",
        ),
    ] {
        let error = update(text, &patch).expect_err(&patch);
        assert!(error.contains(reason), "{patch}\n→ {error}");
    }
    let error = parse("@@ -1 +1 @@\n-a\n+b\n", None).unwrap_err().to_string();
    assert!(error.contains("which file"), "{error}");
}

#[test]
fn a_fence_and_a_new_file() {
    let patch = "```diff\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n```";
    assert_eq!(
        parse(patch, None).unwrap(),
        [FilePatch::Add { path: "new.txt".into(), content: "a\nb\n".into() }]
    );
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+a\n+b\n*** End Patch";
    assert_eq!(
        parse(patch, None).unwrap(),
        [FilePatch::Add { path: "new.txt".into(), content: "a\nb\n".into() }]
    );
}

proptest! {
    #[test]
    fn never_panics(text in "([ab \\n\\r@*+-]|@@|\\*\\*\\* ){0,40}", body in "([ab \\n\\r@*+-]|@@ -1,2 \\+1 @@\\n|é){0,40}") {
        for patch in [body.clone(), codex(&body), diff(&body)] {
            if let Ok(files) = parse(&patch, Some("f")) {
                for file in files {
                    if let FilePatch::Update { hunks, .. } = file {
                        let _ = apply(&text, &hunks);
                    }
                }
            }
        }
    }

    /// A diff made from two texts turns the first into the second.
    #[test]
    fn diffs_between_texts_apply(old in "([abc]{1,3}\n){1,12}", new in "([abc]{1,3}\n){1,12}") {
        prop_assume!(old != new);
        let made = similar::TextDiff::from_lines(&old, &new).unified_diff().header("a/f", "b/f").to_string();
        prop_assert_eq!(update(&old, &made).unwrap(), new);
    }
}
