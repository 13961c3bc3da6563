//! Terminal escapes in text from outside: `attacks/escapes.toml`.
//!
//! Every payload is put into everything that commands print: a model's answer, tickets, memory,
//! packs, rules, commitments, servitors, workflows, documents, file names, arguments. The attack
//! holds when none of it reaches a terminal; the control is that the words around the payload do.

use super::case::{AttackOptions, Trial};
use super::pty::TerminalFixture;
use serde::Deserialize;

/// Words around every payload.
const BEFORE: &str = "qbefore";
const AFTER: &str = "qafter";
/// Outputs that must show the words.
const MIN_VISIBLE_OUTPUTS: usize = 9;

#[derive(Deserialize)]
struct Case {
    id: String,
    payload: String,
}

/// Shows every payload by every command.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for Case { id, payload } in options.load_cases("escapes")? {
        let fixture = TerminalFixture::new(&options.marvin)?;
        let hostile = format!("{BEFORE}{payload}{AFTER}");
        prepare(&fixture, &hostile)?;
        let mut leaks = Vec::new();
        let mut shown = 0;
        for words in &commands(&hostile) {
            let output = fixture.marvin(words)?;
            if let Some(leak) = find_leak(&output.text) {
                leaks.push(format!("{}: {leak}", words.get(..3).unwrap_or(words).join(" ")));
            }
            shown += usize::from(String::from_utf8_lossy(&output.text).contains(BEFORE));
        }
        trials.push(Trial {
            id,
            held: leaks.is_empty(),
            control: shown >= MIN_VISIBLE_OUTPUTS,
            note: format!("{} leaks: {}; {shown} outputs show the words", leaks.len(), leaks.join("; ")),
            ..Trial::default()
        });
    }
    Ok(trials)
}

fn prepare(fixture: &TerminalFixture, hostile: &str) -> anyhow::Result<()> {
    let json = serde_json::Value::from(hostile).to_string();
    fixture.write("project/.marvin/packs/p/pack.json", &format!(
        r#"{{"name":"p","version":"1.0.0","owner":"t","description":{json},"categories":[],"applies_to":{{"extensions":[]}},"sensitive_paths":[],"excludes_paths":[],"references":{{"code_paths":[]}}}}"#
    ))?;
    fixture.write("project/.marvin/packs/p/guardrails.md", &format!("# p\n\n- {hostile}\n"))?;
    fixture.write("project/.marvin/packs/p/lessons.jsonl", "")?;
    fixture.write("project/.marvin/agents/hostile.md", &format!("# {hostile}\n"))?;
    fixture.write(
        "project/.marvin/security/denylist.json",
        &format!(r#"{{"rules":[{{"id":"r","pattern":{json},"kind":"exact","reason":{json}}}]}}"#),
    )?;
    fixture.write("project/flow.json", &format!(
        r#"{{"workflow_id":"w","goal":{json},"steps":[{{"id":"s","name":{json},"description":{json},"worker":"Echo","inputs":{{"text":{json}}}}},{{"id":"ok","worker":"approve","description":{json}}}]}}"#
    ))?;
    fixture.write("project/script.jsonl", &format!("{{\"reply\":{{\"text\":{json}}},\"repeat\":true}}\n"))?;
    fixture.write("project/facts.jsonl", &format!(
        "{{\"text\":{json},\"type\":\"fact\",\"tags\":[],\"ttl_days\":null,\"source\":\"assistant_inferred\",\"why_store\":{json}}}\n"
    ))?;
    fixture.write("project/hostile.txt", &format!("{hostile}\n"))?;
    fixture.marvin(&["memory", "import", "facts.jsonl"])?;
    fixture.marvin(&["tk", "create", hostile, "-d", hostile])?;
    Ok(())
}

/// Commands that print text from outside.
fn commands(hostile: &str) -> [Vec<&str>; 20] {
    [
        vec!["--script", "script.jsonl", "say", "it"],
        vec!["--non-interactive", "--script", "script.jsonl", "--prompt", "go"],
        vec![
            "--non-interactive",
            "--script",
            "script.jsonl",
            "--output-format",
            "stream-json",
            "--prompt",
            "go",
        ],
        vec!["gate", "explain", hostile],
        vec!["gate", "explain", "--json", hostile],
        vec!["gate", "rules", "list"],
        vec!["memory", "import", "facts.jsonl"],
        vec!["memory", "pending", "--json"],
        vec!["memory", "query", hostile],
        vec!["tk", "ls"],
        vec!["tk", "query"],
        vec!["packs", "list"],
        vec!["packs", "why", hostile],
        vec!["doc", "show", "hostile"],
        vec!["tools", "call", "read_file", r#"{"path":"hostile.txt"}"#],
        vec!["run-workflow", "flow.json"],
        vec!["inspect-run"],
        vec!["workflow", "graph", "flow.json"],
        vec!["commitments", "add", hostile],
        vec!["servitors", "show", hostile],
    ]
}

/// The first character that a terminal would obey, with the text around it. Marvin's own progress
/// lines move up and erase; they are removed first.
fn find_leak(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = remove_progress(&text).replace("\r\n", "\n");
    let hidden = |char: &char| {
        (char.is_control() && !matches!(char, '\n' | '\t'))
            || matches!(char, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    let at = text.chars().position(|char| hidden(&char))?;
    let around: String = text.chars().skip(at.saturating_sub(20)).take(40).collect();
    Some(around.escape_unicode().to_string())
}

/// Removes `ESC [ N A ESC [ J`, which the progress of a workflow writes.
fn remove_progress(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        kept.push_str(before);
        let digits = after.trim_start_matches(|char: char| char.is_ascii_digit());
        match digits.strip_prefix("A\u{1b}[J") {
            Some(next) => rest = next,
            None => {
                kept.push_str("\u{1b}[");
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}
