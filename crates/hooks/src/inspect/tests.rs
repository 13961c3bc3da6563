use super::*;
use serde_json::json;
use std::fs;

fn run_with(files: &[(&str, Vec<u8>)]) -> (tempfile::TempDir, Inspection) {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run_20260203_040506_1a2b");
    fs::create_dir(&run).unwrap();
    for (name, content) in files {
        fs::write(run.join(name), content).unwrap();
    }
    let inspection = read(&run);
    (directory, inspection)
}

fn ledger(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

#[test]
fn a_session_of_the_hooks_is_counted() {
    let deny = json!({"decision": "deny", "reason": "it deletes", "rule": "catastrophe.delete", "layer": "catastrophe"});
    let trace = ledger(&[
        json!({"type": "hook.session-start", "seq": 1, "timestamp": "2026-02-03T04:05:06.000Z"}),
        json!({"type": "hook.pre-tool-use", "seq": 2, "tool": "Bash", "tool_use_id": "a", "input_summary": "ls", "verdict": {"decision": "allow"}}),
        json!({"type": "hook.post-tool-use", "seq": 3, "tool": "Bash", "tool_use_id": "a", "success": true}),
        json!({"type": "hook.pre-tool-use", "seq": 4, "tool": "Bash", "tool_use_id": "b", "input_summary": "rm -rf /", "verdict": deny, "timestamp": "t"}),
        json!({"type": "hook.pre-tool-use", "seq": 5, "tool": "Edit", "tool_use_id": "c"}),
        json!({"type": "hook.post-tool-use-failure", "seq": 6, "tool": "Edit", "tool_use_id": "c", "success": false}),
        json!({"type": "hook.post-tool-use", "seq": 7, "tool": "Read", "tool_use_id": "d", "success": false}),
        json!({"type": "hook.stop", "seq": 8, "timestamp": "2026-02-03T04:06:06.500Z", "verification": {"status": "passed"}}),
    ]);
    let facts = json!({"version": 1, "runId": "x", "manner": "hooks", "client": "claude", "sessionId": "s", "startedAt": "2026-02-03T04:05:06.000Z",
        "activePacks": ["testing", "go"], "packVersions": {"testing": "1.0.0"}});
    let guidance = ledger(&[
        json!({"type": "correction", "content": "no"}),
        json!({"type": "direction"}),
        json!({"type": "correction"}),
    ]);
    let injections = ledger(&[
        json!({"file": "a.ts", "packs_injected": ["testing"], "lessons": [{"pack": "testing", "title": "One"}]}),
        json!({"file": "b.ts", "packs_injected": ["testing", "go"], "lessons_injected": ["One"]}),
    ]);
    let (_directory, inspection) = run_with(&[
        ("trace.jsonl", trace),
        ("run.json", facts.to_string().into_bytes()),
        ("guidance.jsonl", guidance),
        ("injections.jsonl", injections),
        ("snapshot-2.json", b"{}".to_vec()),
    ]);
    assert_eq!(inspection.problems, []);
    assert!(inspection.is_of_hooks() && !inspection.ended);
    assert_eq!(inspection.seconds, Some(60.5));
    assert_eq!(inspection.tools["Bash"], Tool { calls: 2, failures: 0, refused: 1 });
    assert_eq!(inspection.tools["Edit"], Tool { calls: 1, failures: 1, refused: 0 });
    assert_eq!(inspection.tools["Read"], Tool { calls: 1, failures: 1, refused: 0 });
    assert_eq!(inspection.verdicts, BTreeMap::from([("allow".into(), 1), ("deny".into(), 1)]));
    assert_eq!(
        (inspection.refused[0].what.as_str(), inspection.refused[0].rule.as_str()),
        ("rm -rf /", "catastrophe.delete")
    );
    assert_eq!(
        inspection.guidance_kinds,
        BTreeMap::from([("correction".into(), 2), ("direction".into(), 1)])
    );
    assert_eq!(inspection.packs_told, BTreeMap::from([("go".into(), 1), ("testing".into(), 2)]));
    assert_eq!(inspection.lessons_told, BTreeMap::from([("testing: One".into(), 1)]));
    assert_eq!(inspection.verification, Some(json!({"status": "passed"})));
    assert_eq!(inspection.packs(), [("testing".into(), Some("1.0.0".into())), ("go".into(), None)]);
    assert_eq!(inspection.snapshots, ["snapshot-2.json"]);
}

#[test]
fn a_run_of_our_own_is_counted() {
    let call = |name: &str, ok: bool, decision: &str| json!({"type": "item.completed", "item": {"type": "tool_call", "name": name, "ok": ok, "verdict": {"decision": decision, "reason": "r"}}});
    let (_directory, inspection) = run_with(&[
        (
            "trace.jsonl",
            ledger(&[
                call("read_file", false, "allow"),
                call("run_command", false, "deny"),
                json!({"type": "item.completed", "item": {"type": "model_call"}}),
                json!({"type": "result", "verification": {"status": "none", "commitments": []}}),
            ]),
        ),
        ("run.json", json!({"manner": "non-interactive", "endedAt": "x"}).to_string().into_bytes()),
        (
            "cost.jsonl",
            ledger(&[
                json!({"model": "m", "input": 3, "output": 4, "cost_nanos": 1_500_000_000_u64}),
                json!({"model": "m", "input": 1}),
            ]),
        ),
    ]);
    assert_eq!(inspection.tools["read_file"], Tool { calls: 1, failures: 1, refused: 0 });
    assert_eq!(inspection.tools["run_command"], Tool { calls: 1, failures: 0, refused: 1 });
    assert_eq!(inspection.cost["m"], Cost { replies: 2, input: 4, output: 4, usd: 1.5 });
    assert!(inspection.ended && inspection.seconds.is_none());
}

#[test]
fn damage_is_counted_and_named_and_the_rest_is_read() {
    let mut trace =
        b"{\"type\": \"a\"}\nnonsense\n\n\xff\xfe\n[1]\n{\"type\": \"b\"}\n{\"type\": \"c\"".to_vec();
    let (_directory, inspection) = run_with(&[
        ("trace.jsonl", trace.clone()),
        ("run.json", b"{".to_vec()),
        ("guidance.jsonl", b"x\n".repeat(50)),
    ]);
    let lines: Vec<(&str, Option<usize>)> =
        inspection.problems.iter().map(|problem| (problem.file.as_str(), problem.line)).collect();
    let of_trace: Vec<Option<usize>> =
        lines.iter().filter(|(file, _)| *file == "trace.jsonl").map(|(_, line)| *line).collect();
    assert_eq!(of_trace, [Some(2), Some(4), Some(5), Some(7)]);
    assert!(lines.contains(&("run.json", None)));
    assert!(inspection.problems.iter().any(|problem| problem.reason == "30 more lines are damaged"));
    assert_eq!(inspection.trace.len(), 2);
    // A line without bounds does not take the memory, nor the lines after it.
    trace =
        [b"{\"a\": \"".to_vec(), vec![b'x'; 9 * 1024 * 1024], b"\"}\n{\"type\": \"z\"}\n".to_vec()].concat();
    let (_directory, inspection) = run_with(&[("trace.jsonl", trace)]);
    assert_eq!((inspection.trace.len(), inspection.problems.len()), (1, 2), "{:?}", inspection.problems);
}

#[test]
fn odd_values_and_links_are_survived() {
    let odd = ledger(&[
        json!({"type": 1, "tool": {}, "verdict": "x"}),
        json!({"type": "hook.pre-tool-use", "tool": 3, "verdict": {"decision": 4}}),
        json!({"type": "item.completed", "item": []}),
    ]);
    let (directory, inspection) = run_with(&[
        ("trace.jsonl", odd),
        ("run.json", b"{\"startedAt\": 3, \"activePacks\": {}}".to_vec()),
        ("injections.jsonl", ledger(&[json!({"packs_injected": 1, "lessons": [1]})])),
    ]);
    assert_eq!(inspection.events.values().sum::<u64>(), 3);
    let run = directory.path().join("run_20260203_040506_1a2b");
    fs::remove_file(run.join("trace.jsonl")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", run.join("trace.jsonl")).unwrap();
    let inspection = read(&run);
    assert!(
        inspection.trace.is_empty()
            && inspection.problems.iter().any(|problem| problem.file == "trace.jsonl")
    );
    assert!(read(Path::new("/nonexistent")).problems[0].reason.contains("not there"));
}

#[test]
fn runs_are_found_by_name_beginning_and_age() {
    let directory = tempfile::tempdir().unwrap();
    let places = [directory.path().join("runs")];
    assert!(matches!(find(None, &places), Err(NotFound::None(_))));
    for name in ["run_20260101_000000_aaaa", "run_20260102_000000_bbbb", "run_20260102_000000_cccc"] {
        fs::create_dir_all(places[0].join(name)).unwrap();
        fs::write(places[0].join(name).join("run.json"), "{}").unwrap();
    }
    std::os::unix::fs::symlink("/tmp", places[0].join("run_99999999_000000_link")).unwrap();
    let name =
        |found: Result<PathBuf, NotFound>| found.unwrap().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(name(find(None, &places)), "run_20260102_000000_cccc");
    assert_eq!(name(find(Some("run_20260101"), &places)), "run_20260101_000000_aaaa");
    assert_eq!(name(find(Some("run_20260102_000000_bbbb"), &places)), "run_20260102_000000_bbbb");
    let path = places[0].join("run_20260101_000000_aaaa");
    assert_eq!(name(find(Some(path.to_str().unwrap()), &[])), "run_20260101_000000_aaaa");
    assert!(matches!(find(Some("run_20260102"), &places), Err(NotFound::Several { .. })));
    assert!(
        find(Some("x"), &places).unwrap_err().to_string().contains("the newest is run_20260102_000000_cccc")
    );
}
