//! Tools through the toolbox, on real files and with real processes.

use crate::support::Fixture;
use async_trait::async_trait;
use marvin_gate::{Access, Decision, Touches};
use marvin_model::Arguments;
use marvin_tools::{CallOutcome, Mode, Output, Tool, ToolContext, ToolError, Toolbox};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn the_offer_depends_on_mode_and_access() {
    let full = Toolbox::new(Mode::Coding, &Access::Full);
    let offered = |access: &Access| Toolbox::new(Mode::Coding, access);
    let (readonly, list) = (offered(&Access::Readonly), offered(&Access::writable(["a.md".to_string()])));
    let (readonly, list) = (readonly.names(), list.names());
    for name in full.names() {
        let touches = full.find(name).unwrap().touches();
        assert_eq!(readonly.contains(&name), touches.changes_nothing(), "{name}");
        assert_eq!(list.contains(&name), !touches.stores && !touches.executes, "{name}");
    }
    for name in ["append_file", "apply_patch", "create_file", "run_command", "write_note"] {
        assert!(full.names().contains(&name) && !readonly.contains(&name), "{name}");
    }
    for name in ["code_grep", "read_file", "read_note", "tree"] {
        assert!(readonly.contains(&name) && list.contains(&name), "{name}");
    }
    for name in ["append_file", "apply_patch", "create_file"] {
        assert!(list.contains(&name), "{name}");
    }
    let assistant = Toolbox::new(Mode::Assistant, &Access::Full);
    let assistant = assistant.names();
    for name in ["code_grep", "create_file", "read_file", "run_command", "tree"] {
        assert!(!assistant.contains(&name), "{name}");
    }
    assert!(assistant.contains(&"write_note"));
    let mut whole = Toolbox::new(Mode::Coding, &Access::Full);
    whole.add_assistant_tools(&Access::Full);
    assert!(assistant.contains(&"weather_forecast") && !full.names().contains(&"weather_forecast"));
    assert!(assistant.iter().all(|name| whole.names().contains(name)));
}

/// Every word of a schema that is neither a property name nor prose.
fn keywords<'a>(schema: &'a Value, words: &mut Vec<&'a str>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                words.push(key);
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.values().for_each(|schema| keywords(schema, words));
                    }
                    ("description" | "default" | "required", _) => {}
                    _ => keywords(value, words),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keywords(item, words)),
        Value::String(text) => words.push(text),
        _ => {}
    }
}

#[test]
fn every_example_fits_its_schema() {
    let mut toolbox = Toolbox::new(Mode::Coding, &Access::Full);
    toolbox.add_assistant_tools(&Access::Full);
    for spec in toolbox.specs() {
        let tool = toolbox.find(&spec.name).unwrap();
        let example: Value = serde_json::from_str(tool.example()).unwrap();
        let validator = jsonschema::validator_for(&spec.parameters).unwrap();
        assert!(validator.is_valid(&example), "{}: {example}", spec.name);
        tool.prepare(example.as_object().unwrap().clone(), &Fixture::new().context).unwrap();
        assert_eq!(spec.parameters["type"], "object");
        assert_eq!(spec.parameters["additionalProperties"], false);
        assert!(!spec.description.is_empty());
        let mut words = Vec::new();
        keywords(&spec.parameters, &mut words);
        for noise in ["$ref", "$schema", "$defs", "title", "null", "format"] {
            assert!(!words.contains(&noise), "{}: {noise} in {}", spec.name, *spec.parameters);
        }
    }
    let schema = toolbox.schema("read_file").unwrap();
    assert_eq!(schema["required"], json!(["path"]));
    assert_eq!(toolbox.schema("run_command").unwrap()["properties"]["timeout"]["type"], "integer");
}

#[tokio::test]
async fn files_are_read_created_and_appended() {
    let fixture = Fixture::new();
    let made = fixture.good("create_file", json!({"path": "deep/er/a.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(made, "Created deep/er/a.txt (8 bytes)");
    fixture.good("append_file", json!({"path": "deep/er/a.txt", "content": "three\n"})).await;
    let text = fixture.good("read_file", json!({"path": "deep/er/a.txt"})).await;
    assert_eq!(text, "deep/er/a.txt (3 lines)\n1 | one\n2 | two\n3 | three");
    let text =
        fixture.good("read_file", json!({"path": "deep/er/a.txt", "start_line": 2, "end_line": 9})).await;
    assert_eq!(text, "deep/er/a.txt (3 lines) [showing 2-3]\n2 | two\n3 | three");
    assert!(
        fixture
            .bad("create_file", json!({"path": "deep/er/a.txt", "content": "x"}))
            .await
            .contains("use apply_patch")
    );
    let usage = fixture.bad("create_file", json!({"path": "b.txt"})).await;
    assert!(
        usage.contains("needs `content`") && usage.contains("A correct call of create_file: {"),
        "{usage}"
    );
    assert!(
        fixture.bad("append_file", json!({"path": "no.txt", "content": "x"})).await.contains("create_file")
    );
    assert!(fixture.bad("read_file", json!({"path": "no.txt"})).await.contains("no such file"));
    assert!(
        fixture.bad("read_file", json!({"path": "deep/er/a.txt", "start_line": 7})).await.contains("3 lines")
    );
    let made = fixture.good("create_file", json!({"path": "empty.txt", "content": ""})).await;
    assert_eq!(made, "Created empty.txt (0 bytes)");
    assert_eq!(fixture.good("read_file", json!({"path": "empty.txt"})).await, "empty.txt (0 lines)");
}

#[tokio::test]
async fn large_files_need_a_range() {
    let fixture = Fixture::new();
    fixture.write("large.txt", &"0123456789abcdef\n".repeat(1000));
    let refusal = fixture.bad("read_file", json!({"path": "large.txt"})).await;
    assert!(refusal.contains("1000 lines") && refusal.contains("17 KB"), "{refusal}");
    assert!(
        refusal.contains("\"start_line\": 1, \"end_line\": 100") && refusal.contains("\"start_line\": 500")
    );
    fixture.good("read_file", json!({"path": "large.txt", "start_line": 5})).await;
    let shown = fixture.call("read_file", json!({"path": "large.txt", "end_line": 1000})).await.result;
    assert!(shown.for_model().ends_with("0123456789abcdef"));
    fixture.write("huge.txt", &"x".repeat(100_000));
    let shown = fixture.call("read_file", json!({"path": "huge.txt", "start_line": 1})).await.result;
    assert!(shown.for_model().chars().count() < 60_100 && shown.for_model().contains("more characters cut"));
    assert_eq!(serde_json::to_value(&shown).unwrap()["confidence"], "summarized");
    fixture.write("exact.txt", &"x".repeat(10_000));
    fixture.good("read_file", json!({"path": "exact.txt"})).await;
}

#[tokio::test]
async fn paths_are_judged_and_the_verdict_is_returned() {
    let fixture = Fixture::new();
    std::fs::write(fixture.home.join("secret"), "s").unwrap();
    symlink(fixture.home.join("secret"), fixture.root.join("link")).unwrap();
    for (tool, path, rule) in [
        ("read_file", "/etc/passwd", "path.absolute"),
        ("read_file", "../secret", "path.climbing"),
        ("read_file", ".tickets/a", "path.tickets"),
        ("create_file", ".git/hooks/x", "path.closed"),
        ("create_file", ".marvin/runs/x", "path.closed"),
        ("append_file", "link", "path.leads-out"),
        ("apply_patch", ".marvin/config.toml", "path.closed"),
        ("tree", "/", "path.absolute"),
    ] {
        let mut arguments = json!({"path": path});
        if tool != "tree" && tool != "read_file" {
            arguments[if tool == "apply_patch" { "old_str" } else { "content" }] = "x".into();
        }
        let called = fixture.call(tool, arguments).await;
        assert_eq!(called.verdict.decision, Decision::Deny, "{tool} {path}");
        assert_eq!(called.verdict.rule, rule, "{tool} {path}");
        assert!(!called.result.ok && called.result.for_model().contains("refused"), "{:?}", called.result);
    }
    assert!(fixture.bad("read_file", json!({"path": "link"})).await.contains("leads out"));
    let called = fixture.call("create_file", json!({"path": "a.txt", "content": "x"})).await;
    assert_eq!((called.verdict.decision, called.verdict.rule.as_str()), (Decision::Allow, "path.inside"));
}

#[tokio::test]
async fn access_rights_hold_for_tools_that_are_not_offered() {
    let mut fixture = Fixture::new();
    fixture.context.access = Access::Readonly;
    for tool in ["create_file", "append_file", "write_note"] {
        let called = fixture.call(tool, json!({"path": "a.txt", "content": "x"})).await;
        assert_eq!(called.verdict.decision, Decision::Deny, "{tool}");
    }
    assert!(!fixture.call("run_command", json!({"command": "ls"})).await.result.ok);
    let fixture = Fixture::with(Mode::Coding, &Access::writable(["docs/a.md".to_string()]), &[]);
    fixture.good("create_file", json!({"path": "./docs//a.md", "content": "x"})).await;
    assert!(
        fixture
            .bad("create_file", json!({"path": "docs/b.md", "content": "x"}))
            .await
            .contains("`docs/a.md`")
    );
    let patch = "*** Begin Patch\n*** Add File: docs/c.md\n+x\n*** End Patch";
    assert!(fixture.bad("apply_patch", json!(patch)).await.contains("may write only"));
}

#[test]
fn b11_a_tool_that_the_access_forbids_is_not_called_unknown() {
    let readonly = Toolbox::new(Mode::Coding, &Access::Readonly);
    for name in ["create_file", "run_command", "file.write"] {
        let error = readonly.find(name).err().unwrap().to_string();
        assert!(error.contains("is not available: this agent may only read"), "{error}");
        assert!(!error.contains("Did you mean"), "{error}");
    }
    let list = Toolbox::new(Mode::Coding, &Access::writable(["a.md".to_string()]));
    let error = list.find("run_command").err().unwrap().to_string();
    assert!(error.contains("only the files of its list"), "{error}");
}

#[tokio::test]
async fn wrong_arguments_are_explained_with_a_correct_call() {
    let fixture = Fixture::new();
    for (tool, arguments, wanted) in [
        ("read_file", json!({}), "`path` is missing"),
        ("read_file", json!({"path": 7}), "the field `path`"),
        ("read_file", json!({"file_path": "a"}), "the field `file_path` does not exist"),
        ("read_file", json!({"path": "a", "start_line": "x"}), "the field `start_line`"),
        ("read_file", json!({"path": "a", "start_line": -1}), "the field `start_line`"),
        ("read_file", json!("{\"path\": "), "must be one JSON object"),
        ("read_file", json!([1]), "must be one JSON object"),
        ("read_file", json!("@@ -1 +1 @@\n-a\n+b"), "patches go to apply_patch"),
        ("code_grep", json!({"pattern": "("}), "not a regular expression"),
        ("code_grep", json!({"pattern": "a", "glob_filter": "["}), "glob_filter"),
        ("convert_units", json!({"value": "x", "from_unit": "m", "to_unit": "km"}), "the field `value`"),
        ("apply_patch", json!({"path": "a"}), "needs `old_str`"),
        ("run_command", json!({"command": true}), "the field `command`"),
    ] {
        let text = fixture.bad(tool, arguments.clone()).await;
        assert!(text.contains(wanted), "{tool} {arguments}: {text}");
        assert!(text.contains(&format!("A correct call of {tool}: {{")), "{text}");
    }
    let text = fixture.bad("read_fil", json!({})).await;
    assert!(text.contains("Did you mean `read_file`?") && text.contains("apply_patch"), "{text}");
    let called = fixture.call("read_file", json!({})).await;
    assert_eq!(called.verdict.rule, "tool.arguments");
}

#[tokio::test]
async fn aliases_and_quirks_are_accepted() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "hello\n");
    fixture.good("read_file", json!({"path": "a.txt", "start_line": null, "end_line": null})).await;
    fixture.good("read_file", json!("{\"path\": \"a.txt\"}")).await;
    for line in [json!("1"), json!(1.0), json!(" 1 "), json!("1.0")] {
        fixture.good("read_file", json!({"path": "a.txt", "start_line": line})).await;
    }
    for line in [json!("1.5"), json!(1.5), json!("one"), json!(""), json!(1e300), json!("NaN"), json!(true)] {
        fixture.bad("read_file", json!({"path": "a.txt", "start_line": line})).await;
    }
    let miles =
        fixture.good("convert_units", json!({"value": "1", "from_unit": "mile", "to_unit": "km"})).await;
    assert_eq!(miles, "1 mile = 1.609344 km");
    assert!(
        fixture
            .bad("convert_units", json!({"value": "inf", "from_unit": "m", "to_unit": "km"}))
            .await
            .contains("value")
    );
    fixture.good("tree", json!({"respect_gitignore": "true", "max_depth": "2"})).await;
    fixture.bad("tree", json!({"respect_gitignore": "yes"})).await;
    let called = fixture.call("file.read", json!({"path": "a.txt"})).await;
    assert!(called.result.ok && called.tool == "read_file");
    fixture.good("file.write", json!({"path": "b.txt", "content": "x"})).await;
    fixture.good("grep.search", json!({"pattern": "hello", "path": "a.txt"})).await;
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hello\n+bye\n";
    let called = fixture.call("patch.apply", json!({"patch_text": diff})).await;
    assert!(called.result.ok && called.tool == "apply_patch", "{:?}", called.result);
    assert_eq!(fixture.read("a.txt"), "bye\n");
}

#[tokio::test]
async fn one_exact_replacement() {
    let fixture = Fixture::new();
    fixture.write("a.py", "def greet(name):\n    print('helo', name)\n\ndef other():\n    pass\n");
    fixture.good("apply_patch", json!({"path": "a.py", "old_str": "'helo'", "new_str": "'hello'"})).await;
    assert!(fixture.read("a.py").contains("print('hello', name)"));
    let text = fixture
        .bad("apply_patch", json!({"path": "a.py", "old_str": "    print('hallo', name)", "new_str": ""}))
        .await;
    assert!(text.contains("not in `a.py`") && text.contains("2 |     print('hello', name)"), "{text}");
    let text = fixture.bad("apply_patch", json!({"path": "a.py", "old_str": "def ", "new_str": "x"})).await;
    assert!(text.contains("occurs 2 times"), "{text}");
    let text =
        fixture.bad("apply_patch", json!({"path": "a.py", "old_str": "pass", "new_str": "pass"})).await;
    assert!(text.contains("changes nothing"), "{text}");
    assert!(
        fixture
            .bad("apply_patch", json!({"path": "no.py", "old_str": "a", "new_str": "b"}))
            .await
            .contains("no such file")
    );
    fixture.write("win.txt", "a\r\nb\r\nc\r\n");
    fixture.good("apply_patch", json!({"path": "win.txt", "old_str": "a\nb\n", "new_str": "x\n"})).await;
    assert_eq!(fixture.read("win.txt"), "x\r\nc\r\n");
    fixture.write("uni.txt", "naïve 日本\nend");
    fixture.good("apply_patch", json!({"path": "uni.txt", "old_str": "日本\nend", "new_str": "語"})).await;
    assert_eq!(fixture.read("uni.txt"), "naïve 語");
}

#[tokio::test]
async fn a_patch_over_several_files_is_atomic() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "a\n");
    fixture.write("b.txt", "b\n");
    let patch = |last: &str| {
        format!(
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: new/c.txt\n+c\n*** Update File: b.txt\n@@\n-{last}\n+B\n*** End Patch"
        )
    };
    let text = fixture.bad("apply_patch", json!(patch("x"))).await;
    assert!(text.contains("`b.txt`, hunk 1") && text.contains("Nothing was changed"), "{text}");
    assert_eq!(fixture.read("a.txt"), "a\n");
    assert!(!fixture.root.join("new").exists());
    let called = fixture.call("apply_patch", json!({"input": patch("b")})).await;
    assert!(called.result.ok, "{:?}", called.result);
    assert_eq!(
        (fixture.read("a.txt").as_str(), fixture.read("b.txt").as_str(), fixture.read("new/c.txt").as_str()),
        ("A\n", "B\n", "c\n")
    );
    assert_eq!(called.result.data["files"].as_array().unwrap().len(), 3);
    // One of several files is protected: nothing is written.
    let closed =
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-A\n+x\n*** Add File: .git/hooks/h\n+x\n*** End Patch";
    let called = fixture.call("apply_patch", json!(closed)).await;
    assert_eq!(called.verdict.rule, "path.closed");
    assert_eq!(fixture.read("a.txt"), "A\n");
    let escape = "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(fixture.call("apply_patch", json!(escape)).await.verdict.rule, "path.climbing");
}

#[tokio::test]
async fn search_is_bounded_and_stays_inside() {
    let fixture = Fixture::new();
    fixture.write("src/a.rs", "one\nfn Main() {}\nthree\nfour\n");
    fixture.write("src/b.py", "def main(): pass\n");
    fixture.write("runs/r.txt", "main\n");
    fixture.write("log.jsonl", "main\n");
    fixture.write("web/node_modules/x.js", "main\n");
    fixture.write(".tickets/t.md", "main\n");
    fixture.write(".hidden/x.txt", "main\n");
    fixture.write("ignored/x.txt", "main\n");
    fixture.write(".gitignore", "ignored/\n");
    std::fs::write(fixture.home.join("secret.txt"), "main secret\n").unwrap();
    symlink(fixture.home.join("secret.txt"), fixture.root.join("src/link.txt")).unwrap();
    symlink(&fixture.home, fixture.root.join("src/home")).unwrap();
    let called = fixture.call("code_grep", json!({"pattern": "main", "context_lines": 1})).await;
    let text = called.result.for_model();
    assert_eq!(called.result.data["matches"], 2, "{text}");
    assert!(text.contains("src/a.rs-1- one\nsrc/a.rs:2: fn Main() {}\nsrc/a.rs-3- three\n"), "{text}");
    assert_eq!(called.result.data["truncated"], false);
    assert!(called.result.data["output"].as_str().unwrap().contains("src/b.py:1:"));
    let only = fixture.good("code_grep", json!({"pattern": "main", "glob_filter": "*.py"})).await;
    assert!(!only.contains("a.rs"), "{only}");
    for path in ["runs", "web", "log.jsonl", "ignored", ".hidden"] {
        let called = fixture.call("code_grep", json!({"pattern": "main", "path": path})).await;
        assert_eq!(called.result.data["matches"], 1, "{path}: {}", called.result.for_model());
    }
    assert!(fixture.bad("code_grep", json!({"pattern": "x", "path": "../"})).await.contains("climbs"));
    assert!(
        fixture.bad("code_grep", json!({"pattern": "x", "path": "src/home"})).await.contains("leads out")
    );
    assert!(fixture.bad("code_grep", json!({"pattern": "x", "path": ".tickets"})).await.contains("tk tool"));
    assert_eq!(fixture.good("code_grep", json!({"pattern": "nowhere"})).await, "No matches for `nowhere`.");
    fixture.write("many.txt", &"match\n".repeat(100));
    let called =
        fixture.call("code_grep", json!({"pattern": "match", "max_results": 5, "context_lines": 0})).await;
    assert_eq!(
        (called.result.data["matches"].clone(), called.result.data["truncated"].clone()),
        (json!(5), json!(true))
    );
    let small = Fixture::with(Mode::Coding, &Access::Full, &[("TOKIMON_GREP_MAX_BYTES", "200")]);
    small.write("many.txt", &"match\n".repeat(100));
    let called =
        small.call("code_grep", json!({"pattern": "match", "max_results": 90, "context_lines": 0})).await;
    assert_eq!(called.result.data["truncated"], true);
    assert!(called.result.data["output"].as_str().unwrap().len() <= 200);
}

#[tokio::test]
async fn the_tree_honours_gitignore() {
    let fixture = Fixture::new();
    fixture.write("src/deep/er/x.rs", "");
    fixture.write("target/a", "");
    fixture.write(".gitignore", "target/\n");
    fixture.write(".tickets/t.md", "");
    let text = fixture.good("tree", json!({})).await;
    assert!(text.starts_with("./\n  .gitignore\n  src/\n    deep/\n      er/"), "{text}");
    assert!(!text.contains("x.rs") && !text.contains("target") && !text.contains("tickets"), "{text}");
    let text = fixture.good("tree", json!({"respect_gitignore": false, "max_depth": 9})).await;
    assert!(text.contains("target/") && text.contains("x.rs"), "{text}");
    assert!(fixture.bad("tree", json!({"path": ".gitignore"})).await.contains("read_file"));
}

#[tokio::test]
async fn commands_run_in_the_sandbox() {
    let fixture = Fixture::new();
    fixture.write("Makefile", "all:\n\t@echo built > made.txt; echo out; echo err >&2\nfail:\n\t@exit 3\nout:\n\t@echo x > ../escaped\n");
    let called = fixture.call("run_command", json!({"command": "make"})).await;
    if marvin_gate::sandbox::support().level.is_none() {
        assert!(!called.result.ok);
        return;
    }
    assert_eq!(called.result.for_model(), "out\nSTDERR:\nerr\n[exit code: 0]");
    assert_eq!(
        called.result.data,
        json!({
            "command": "make", "exit_code": 0, "timed_out": false, "sandbox": marvin_gate::sandbox::chosen("auto")
        })
    );
    assert_eq!(fixture.read("made.txt"), "built\n");
    let called = fixture.call("run_command", json!({"command": "make fail | cat"})).await;
    assert!(
        !called.result.ok && called.result.for_model().ends_with("[exit code: 2]"),
        "{:?}",
        called.result
    );
    assert_eq!(called.verdict.decision, Decision::Allow);
    fixture.call("run_command", json!({"command": "make out"})).await;
    assert!(!fixture.home.join("escaped").exists());
    let off = Fixture::with(Mode::Coding, &Access::Full, &[("MARVIN_SANDBOX", "off")]);
    assert_eq!(off.call("run_command", json!({"command": "pwd"})).await.result.data["sandbox"], "off");
}

#[tokio::test]
async fn no_process_outlives_its_command() {
    let fixture = Fixture::new();
    fixture.write(
        "Makefile",
        "all:\n\t@setsid sh -c 'sleep 1; echo escaped > late.txt; sleep 50' & echo made\n",
    );
    let text = fixture.call("run_command", json!({"command": "make"})).await.result.for_model();
    if marvin_gate::sandbox::support().level.is_some() {
        assert!(text.starts_with("made"), "{text}");
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(!fixture.root.join("late.txt").exists());
}

#[tokio::test]
async fn commands_are_judged_and_limited() {
    let mut fixture = Fixture::new();
    for (line, rule) in [
        ("rm -rf /", "catastrophe.delete"),
        ("tk create x", "command.tk"),
        ("rm a", "effect.delete"),
        ("echo x > $place", "effect.write"),
        ("pip install x", "package"),
    ] {
        let called = fixture.call("run_command", json!({"command": line})).await;
        assert_eq!((called.verdict.decision, called.verdict.rule.as_str()), (Decision::Deny, rule), "{line}");
    }
    fixture.context.attended = true;
    fixture.write("a", "x");
    let arguments = Arguments::from_value(json!({"command": "rm a"}));
    let called = fixture.toolbox.call("run_command", &arguments, &fixture.context).await;
    assert_eq!(called.verdict.decision, Decision::Ask);
    assert!(called.result.for_model().contains("needs approval") && fixture.root.join("a").exists());
    assert_eq!(fixture.toolbox.judge("run_command", &arguments, &fixture.context).decision, Decision::Ask);
    let called = fixture.toolbox.call_approved("run_command", &arguments, &fixture.context).await;
    if marvin_gate::sandbox::support().level.is_some() {
        assert!(called.result.ok && !fixture.root.join("a").exists(), "{:?}", called.result);
    }
    let catastrophe = Arguments::from_value(json!({"command": "rm -rf ~"}));
    let called = fixture.toolbox.call_approved("run_command", &catastrophe, &fixture.context).await;
    assert!(!called.result.ok && called.verdict.decision == Decision::Deny);
    let started = Instant::now();
    let called = fixture.call("run_command", json!({"command": "sleep 60", "timeout": 1})).await;
    assert!(started.elapsed() < Duration::from_secs(20));
    if marvin_gate::sandbox::support().level.is_some() {
        assert_eq!(called.result.data["timed_out"], true, "{:?}", called.result);
        assert!(called.result.for_model().contains("not done after 1 s"));
    }
    let cancel = fixture.context.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    let called = fixture.call("run_command", json!({"command": "sleep 60"})).await;
    assert!(!called.result.ok && started.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn notes_stay_in_the_directory_of_the_mode() {
    let fixture = Fixture::new();
    fixture.good("write_note", json!({"path": "plan/a", "content": "one\n"})).await;
    fixture.good("write_note", json!({"path": "plan/a", "content": "two\n", "append": true})).await;
    assert_eq!(fixture.read(".marvin/notes/plan/a.md"), "one\ntwo\n");
    assert_eq!(fixture.good("read_note", json!({"path": "plan/a"})).await, "one\ntwo\n");
    fixture.good("write_note", json!({"path": "plan/a.md", "content": "new\n"})).await;
    assert_eq!(fixture.read(".marvin/notes/plan/a.md"), "new\n");
    assert!(fixture.bad("read_note", json!({"path": "plan/b"})).await.contains("a.md"));
    for path in ["../x", "/etc/x", "a/../../x"] {
        fixture.bad("write_note", json!({"path": path, "content": "x"})).await;
    }
    assert!(!fixture.home.join("Notes").exists());
    let fixture = Fixture::with(Mode::Assistant, &Access::Full, &[]);
    assert!(fixture.bad("read_note", json!({"path": "a"})).await.contains("no notes yet"));
    fixture.good("write_note", json!({"path": "a.txt", "content": "x"})).await;
    assert_eq!(std::fs::read_to_string(fixture.home.join("Notes/a.txt")).unwrap(), "x");
    // A notes directory that is a symlink out of the project is not followed.
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.root.join(".marvin")).unwrap();
    symlink(&fixture.home, fixture.root.join(".marvin/notes")).unwrap();
    fixture.bad("write_note", json!({"path": "a", "content": "x"})).await;
    assert!(!fixture.home.join("a.md").exists());
}

#[tokio::test]
async fn a_symlinked_notes_directory_opens_nothing() {
    for (target, note) in [
        (".", "config.toml"),
        ("../.git/hooks", "pre-commit.sh"),
        ("runs/r1", "trace.jsonl"),
        ("../.tickets", "a.md"),
        ("../src", "main.rs"),
    ] {
        let fixture = Fixture::new();
        for directory in [".git/hooks", ".tickets", ".marvin/runs/r1", ".marvin"] {
            std::fs::create_dir_all(fixture.root.join(directory)).unwrap();
        }
        fixture.write(".marvin/runs/r1/trace.jsonl", "old");
        symlink(target, fixture.root.join(".marvin/notes")).unwrap();
        let text = fixture.bad("write_note", json!({"path": note, "content": "new"})).await;
        assert!(!text.contains("Wrote"), "{target}: {text}");
        fixture.bad("read_note", json!({"path": note})).await;
        let path = fixture.root.join(".marvin").join(target).join(note);
        assert_ne!(std::fs::read_to_string(&path).unwrap_or_default(), "new", "{target}");
    }
    // The same for a symlink further up.
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.root.join("other/notes")).unwrap();
    symlink("other", fixture.root.join(".marvin")).unwrap();
    fixture.bad("write_note", json!({"path": "a", "content": "x"})).await;
    assert!(!fixture.root.join("other/notes/a.md").exists());
    // The verdict names the file.
    let fixture = Fixture::new();
    let called = fixture.call("write_note", json!({"path": "a", "content": "x"})).await;
    assert_eq!(called.verdict.rule, "path.inside");
    let called = fixture.call("write_note", json!({"path": "../config.toml", "content": "x"})).await;
    assert_eq!((called.verdict.decision, called.verdict.rule.as_str()), (Decision::Deny, "path.climbing"));
}

#[tokio::test]
async fn small_tools() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.good("convert_units", json!({"value": 1, "from_unit": "mile", "to_unit": "km"})).await,
        "1 mile = 1.609344 km"
    );
    let called = fixture.call("get_usage", json!({"include_lifetime": true})).await;
    assert_eq!(called.result.data, json!({"turns": 3, "lifetime": true}));
    let record = serde_json::to_value(&called.result).unwrap();
    let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ok", "summary", "data", "error", "elapsed_ms", "source", "confidence"]);
    assert_eq!(
        (record["source"].clone(), record["confidence"].clone()),
        (json!("tool_output"), json!("verbatim"))
    );
}

#[tokio::test]
async fn calls_are_logged_in_the_documented_format() {
    let log = tempfile::tempdir().unwrap();
    let path = log.path().join("logs/a.tools.jsonl");
    let fixture =
        Fixture::with(Mode::Coding, &Access::Full, &[("MARVIN_SUBAGENT_LOG", path.to_str().unwrap())]);
    let content = format!("import {{ App }}\n{}", "x".repeat(500));
    let called = fixture.call("create_file", json!({"path": "src/main.ts", "content": content})).await;
    assert_eq!(called.notice, None);
    fixture.call("read_file", json!({"path": "no"})).await;
    fixture.call("nothing", json!("text")).await;
    fixture
        .call(
            "create_file",
            json!({"path": "k.txt", "content": "api_key = sk-abcdefghijklmnopqrstuvwxyz123456"}),
        )
        .await;
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    for line in &lines {
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["ts", "tool", "args", "result", "elapsed_ms"]);
        assert!(line["args"].as_str().unwrap().chars().count() <= 200);
        assert!(line["result"].as_str().unwrap().chars().count() <= 400);
        assert!(line["ts"].as_str().unwrap().ends_with('Z') && line["elapsed_ms"].is_u64());
    }
    assert_eq!(lines[0]["tool"], "create_file");
    assert!(lines[0]["args"].as_str().unwrap().starts_with("path=src/main.ts, content=import { App }"));
    assert_eq!(lines[0]["result"], format!("Created src/main.ts ({} bytes)", content.len()));
    assert!(!text.contains("sk-abcdefghijklmnop"), "{text}");
}

#[tokio::test]
async fn a_search_is_limited_in_size_and_ends_when_cancelled() {
    let fixture = Fixture::new();
    fixture.write("small.txt", "needle\n");
    fixture.write("line.txt", &format!("{}needle", "x".repeat(9 * 1024 * 1024)));
    // A sparse file takes no space.
    let huge = std::fs::File::create(fixture.root.join("huge.txt")).unwrap();
    huge.set_len(3 << 30).unwrap();
    let started = Instant::now();
    let called = fixture.call("code_grep", json!({"pattern": "needle"})).await;
    assert!(called.result.ok && started.elapsed() < Duration::from_secs(20), "{:?}", called.result.error);
    assert_eq!((&called.result.data["too_large"], &called.result.data["matches"]), (&json!(1), &json!(2)));
    assert!(called.result.for_model().contains("not searched: 1 file over 10 MB"));
    fixture.context.cancel.cancel();
    assert!(fixture.bad("code_grep", json!({"pattern": "needle"})).await.contains("cancelled"));
}

#[tokio::test]
async fn files_with_secrets_are_blocked_for_every_reader() {
    let fixture = Fixture::new();
    for file in [".env", "deep/.env.local", "tls.key", "certificate.pem", "credentials-prod.json"] {
        fixture.write(file, "needle=1\n");
    }
    fixture.write(".env.example", "needle=\n");
    symlink(".env", fixture.root.join("plain.txt")).unwrap();
    for path in [".env", "deep/.env.local", "tls.key", "plain.txt"] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("code_grep", json!({"path": path, "pattern": "needle"})),
            ("run_command", json!({"command": format!("cat {path}")})),
        ] {
            let called = fixture.call(tool, arguments).await;
            assert_eq!(called.verdict.decision, Decision::Deny, "{tool} {path}");
            assert!(called.verdict.rule.ends_with(".secret"), "{tool} {path}: {:?}", called.verdict);
            assert!(called.verdict.how_to_fix.contains(".env.example"), "{:?}", called.verdict);
        }
    }
    let text = fixture.bad("apply_patch", json!({"path": ".env", "old_str": "need", "new_str": "x"})).await;
    assert!(!text.contains("needle"), "{text}");
    assert_eq!(
        fixture.call("run_command", json!({"command": "grep -r needle ."})).await.verdict.rule,
        "tree.secret"
    );
    fixture.good("read_file", json!({"path": ".env.example"})).await;
    let called = fixture.call("code_grep", json!({"pattern": "needle"})).await;
    assert_eq!((&called.result.data["files"], &called.result.data["secret_files"]), (&json!(1), &json!(5)));
    // A person may approve it.
    let mut fixture = fixture;
    fixture.context.attended = true;
    let arguments = Arguments::from_value(json!({"path": ".env"}));
    assert_eq!(fixture.toolbox.judge("read_file", &arguments, &fixture.context).decision, Decision::Ask);
    assert!(fixture.toolbox.call_approved("read_file", &arguments, &fixture.context).await.result.ok);
}

#[tokio::test]
async fn a_secret_at_a_truncation_point_is_not_recorded_in_half() {
    const SECRET: &str = "sk-proj-Zk3vQ9xLm2Tn8RbW5yHd7JcP4sGf6AeU";
    let fixture = Fixture::new();
    let check = |what: &str, called: &CallOutcome| {
        let record =
            serde_json::to_string(&called.result).unwrap() + &serde_json::to_string(&called.verdict).unwrap();
        for piece in ["Zk3vQ9", "2Tn8Rb", "d7JcP4"] {
            assert!(!record.contains(piece), "{what}: {record}");
        }
        // The model's input is recorded too, redacted before it is truncated.
        let text = fixture.context.redactor.text(&called.result.for_model()).into_owned();
        for piece in ["Zk3vQ9", "2Tn8Rb", "d7JcP4"] {
            assert!(!text.contains(piece), "{what}: {}", called.result.for_model());
        }
    };
    // code_grep: 500 characters per line.
    let lines: String =
        (460..505).map(|at| format!("needle {} {SECRET} end\n", "x".repeat(at - 7))).collect();
    fixture.write("lines.txt", &lines);
    let called = fixture.call("code_grep", json!({"pattern": "needle", "max_results": 100})).await;
    assert!(called.result.data["output"].as_str().unwrap().contains("lines.txt:1: needle"));
    check("code_grep", &called);
    check(
        "no match",
        &fixture.call("code_grep", json!({"pattern": format!("{}{SECRET}", "y ".repeat(20))})).await,
    );
    for at in [20usize, 40, 55] {
        // run_command: 80 characters of the command line, and the beginning and end of its output.
        let command = format!("echo {} {SECRET} end", "x".repeat(at));
        check("summary", &fixture.call("run_command", json!({"command": command})).await);
    }
    for at in [5970, 5980, 5990, 5999] {
        fixture.write("out.txt", &format!("{} {SECRET} {}", "x ".repeat(at / 2), "y ".repeat(5000)));
        check("output", &fixture.call("run_command", json!({"command": "cat out.txt"})).await);
        fixture.write("out.txt", &format!("{} {SECRET} {}", "x ".repeat(5000), "y ".repeat((at - 3000) / 2)));
        check("output", &fixture.call("run_command", json!({"command": "cat out.txt"})).await);
    }
    // read_file: 60,000 characters.
    for at in [59_950, 59_960, 59_970] {
        fixture.write("large.txt", &format!("{} {SECRET} {}", "x ".repeat(at / 2), "y ".repeat(50)));
        check("read_file", &fixture.call("read_file", json!({"path": "large.txt", "start_line": 1})).await);
    }
    // Errors: 200 characters in summaries, 300 in verdicts, 200 of unreadable arguments, 60 of a field's name.
    for at in (100..300).step_by(7) {
        let pad = "x ".repeat(at / 2);
        check("path", &fixture.call("read_file", json!({"path": format!("{pad}{SECRET}")})).await);
        check("unreadable", &fixture.call("read_file", json!(format!("{pad}{SECRET}"))).await);
        check(
            "type",
            &fixture.call("read_file", json!({"path": "a", "start_line": format!("{pad}{SECRET}")})).await,
        );
        check(
            "command",
            &fixture.call("run_command", json!({"command": format!("nothing {pad}{SECRET}")})).await,
        );
    }
    for at in 30..58 {
        check(
            "field",
            &fixture.call("read_file", json!({format!("{} {SECRET}", "x".repeat(at)): "a"})).await,
        );
    }
}

#[derive(Debug, Clone, Copy)]
struct Explosive;

#[async_trait]
impl Tool for Explosive {
    type Input = Value;
    type Data = Value;
    const NAME: &'static str = "explosive";
    const DESCRIPTION: &'static str = "Fails inside.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, _input: Value, _context: &ToolContext) -> Result<Output, ToolError> {
        panic!("inside");
    }
}

#[tokio::test]
async fn a_panic_inside_a_tool_is_an_error() {
    let mut fixture = Fixture::new();
    fixture.toolbox.add(Arc::new(Explosive));
    assert!(fixture.bad("explosive", json!({})).await.contains("fault of the tool"));
}

#[tokio::test]
async fn a_large_result_is_stored_and_referenced() {
    let fixture = Fixture::new().with_run();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let lines: String = (0..3000).map(|number| format!("line {number}\n")).collect();
    fixture.write("long.txt", &format!("{secret}\n{lines}"));
    let called = fixture.call("run_command", json!({"command": "cat long.txt"})).await;
    assert!(called.result.ok, "{}", called.result.for_model());
    let artifact = called.result.artifact.clone().unwrap();
    assert!(called.result.for_model().contains(&artifact.path), "{}", called.result.for_model());
    let kept = fixture.read(&artifact.path);
    assert!(kept.contains("line 1500\n") && !kept.contains(secret), "{}", kept.len());
    assert_eq!((kept.len(), kept.lines().count()), (artifact.bytes, artifact.lines));
    assert!(!called.result.for_model().contains("line 1500\n"));
    // The agent reads the rest of it with its own tools.
    let range = json!({"path": artifact.path, "start_line": 1501, "end_line": 1503});
    assert!(fixture.good("read_file", range).await.contains("line 1500"));
    let found = fixture.good("code_grep", json!({"pattern": "line 2999", "path": artifact.path})).await;
    assert!(found.contains("line 2999"), "{found}");
    // A result that fits is not stored.
    assert_eq!(fixture.call("run_command", json!({"command": "echo short"})).await.result.artifact, None);
}

/// A single approval becomes a suggestion, not a rule.
#[tokio::test]
async fn an_approval_is_suggested_and_not_learned() {
    let mut fixture = Fixture::new();
    fixture.context.attended = true;
    let arguments = Arguments::from_value(json!({"command": "frobnicate --all"}));
    let directory = fixture.context.layout.security();
    let waiting = || marvin_gate::layers::learn::suggestions(&directory).unwrap();
    let called = fixture.toolbox.call("run_command", &arguments, &fixture.context).await;
    assert_eq!(called.verdict.decision, Decision::Ask);
    assert!(waiting().is_empty(), "a question alone says nothing");
    fixture.toolbox.call_approved("run_command", &arguments, &fixture.context).await;
    assert_eq!(waiting()[0].rules[0].pattern, "frobnicate --all");
    assert!(!directory.join("learned.jsonl").exists());
    let called = fixture.toolbox.call("run_command", &arguments, &fixture.context).await;
    assert_eq!(called.verdict.decision, Decision::Ask, "it is asked about again");
    for never in ["rm a", "python3 -c 'print(1)'", "frobnicate $X"] {
        let arguments = Arguments::from_value(json!({ "command": never }));
        fixture.toolbox.call_approved("run_command", &arguments, &fixture.context).await;
    }
    assert_eq!(waiting().len(), 1);
    let log = std::fs::read_to_string(directory.join("decisions.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 6, "{log}");
}

#[tokio::test]
async fn files_that_a_call_writes_are_known_before_and_after_it() {
    let fixture = Fixture::new();
    std::fs::write(fixture.root.join("a.txt"), "one\n").unwrap();
    let files = |name: &str, arguments: Value| {
        fixture.toolbox.files_to_write(name, &Arguments::from_value(arguments), &fixture.context)
    };
    let create = json!({"path": "new.txt", "content": "x"});
    assert_eq!(files("create_file", create.clone()).unwrap()["new.txt"], "");
    let patch = json!({"path": "a.txt", "old_str": "one", "new_str": "two"});
    let before = files("apply_patch", patch.clone()).unwrap();
    assert_eq!(before.len(), 1);
    assert_eq!(files("apply_patch", patch.clone()), Some(before.clone()));
    fixture.good("create_file", create.clone()).await;
    fixture.good("apply_patch", patch.clone()).await;
    assert_ne!(files("create_file", create).unwrap()["new.txt"], "");
    assert_ne!(files("apply_patch", patch).unwrap(), before);
    // What a command writes is not known, a call that cannot be parsed writes nothing, and other files are not hashed.
    assert_eq!(files("run_command", json!({"command": "true"})), None);
    assert_eq!(files("create_file", json!({"path": 1})), None);
    assert_eq!(files("create_file", json!({"path": "../x", "content": "x"})), None);
}
