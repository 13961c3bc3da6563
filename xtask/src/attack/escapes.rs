//! Terminal escapes in text that others wrote: `attacks/escapes.toml`.
//!
//! Every payload is put into everything that commands print: a model's answer, tickets, memory, packs, rules, commitments, servitors,
//! workflows, documents, file names, arguments. The attack holds when none of it reaches a terminal; the control is that the words around the
//! payload do.

use super::pty::Scene;
use super::{Arena, Trial, text};

/// Words around every payload.
const BEFORE: &str = "qbefore";
const AFTER: &str = "qafter";
/// Outputs that must show the words.
const MIN_VISIBLE_OUTPUTS: usize = 9;

/// Shows every payload by every command.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let mut trials = Vec::new();
    for case in arena.cases("escapes")? {
        let payload = text(&case, "payload");
        let scene = Scene::new(arena)?;
        let hostile = format!("{BEFORE}{payload}{AFTER}");
        prepare(&scene, &hostile)?;
        let mut leaks = Vec::new();
        let mut shown = 0;
        for words in commands(&hostile) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let seen = scene.marvin(&words)?;
            if let Some(leak) = find_leak(&seen.text) {
                leaks
                    .push(format!("{}: {leak}", words.iter().take(3).copied().collect::<Vec<_>>().join(" ")));
            }
            shown += usize::from(String::from_utf8_lossy(&seen.text).contains(BEFORE));
        }
        trials.push(Trial {
            id: text(&case, "id").to_string(),
            level: "",
            held: leaks.is_empty(),
            control: shown >= MIN_VISIBLE_OUTPUTS,
            note: format!("{} leaks: {}; {shown} outputs show the words", leaks.len(), leaks.join("; ")),
        });
    }
    Ok(trials)
}

fn prepare(scene: &Scene, hostile: &str) -> Result<(), String> {
    let json = serde_json::Value::from(hostile).to_string();
    scene.write("project/.marvin/packs/p/pack.json", &format!(
        r#"{{"name":"p","version":"1.0.0","owner":"t","description":{json},"categories":[],"applies_to":{{"extensions":[]}},"sensitive_paths":[],"excludes_paths":[],"references":{{"code_paths":[]}}}}"#
    ))?;
    scene.write("project/.marvin/packs/p/guardrails.md", &format!("# p\n\n- {hostile}\n"))?;
    scene.write("project/.marvin/packs/p/lessons.jsonl", "")?;
    scene.write("project/.marvin/agents/hostile.md", &format!("# {hostile}\n"))?;
    scene.write(
        "project/.marvin/security/denylist.json",
        &format!(r#"{{"rules":[{{"id":"r","pattern":{json},"kind":"exact","reason":{json}}}]}}"#),
    )?;
    scene.write("project/flow.json", &format!(
        r#"{{"workflow_id":"w","goal":{json},"steps":[{{"id":"s","name":{json},"description":{json},"worker":"Echo","inputs":{{"text":{json}}}}},{{"id":"ok","worker":"approve","description":{json}}}]}}"#
    ))?;
    scene.write("project/script.jsonl", &format!("{{\"reply\":{{\"text\":{json}}},\"repeat\":true}}\n"))?;
    scene.write("project/facts.jsonl", &format!(
        "{{\"text\":{json},\"type\":\"fact\",\"tags\":[],\"ttl_days\":null,\"source\":\"assistant_inferred\",\"why_store\":{json}}}\n"
    ))?;
    scene.write("project/hostile.txt", &format!("{hostile}\n"))?;
    scene.marvin(&["memory", "import", "facts.jsonl"])?;
    scene.marvin(&["tk", "create", hostile, "-d", hostile])?;
    Ok(())
}

/// Commands that print what others wrote.
fn commands(hostile: &str) -> Vec<Vec<String>> {
    let lines: [&[&str]; 20] = [
        &["--script", "script.jsonl", "say", "it"],
        &["--non-interactive", "--script", "script.jsonl", "--prompt", "go"],
        &[
            "--non-interactive",
            "--script",
            "script.jsonl",
            "--output-format",
            "stream-json",
            "--prompt",
            "go",
        ],
        &["gate", "explain", hostile],
        &["gate", "explain", "--json", hostile],
        &["gate", "rules", "list"],
        &["memory", "import", "facts.jsonl"],
        &["memory", "pending", "--json"],
        &["memory", "query", hostile],
        &["tk", "ls"],
        &["tk", "query"],
        &["packs", "list"],
        &["packs", "why", hostile],
        &["doc", "show", "hostile"],
        &["tools", "call", "read_file", r#"{"path":"hostile.txt"}"#],
        &["run-workflow", "flow.json"],
        &["inspect-run"],
        &["workflow", "graph", "flow.json"],
        &["commitments", "add", hostile],
        &["servitors", "show", hostile],
    ];
    lines.iter().map(|words| words.iter().map(ToString::to_string).collect()).collect()
}

/// The first character that a terminal would obey. Marvin's own progress lines move up and erase, which is taken out first.
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
