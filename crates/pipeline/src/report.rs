//! The report of a pipeline, as Markdown and as an HTML page.

use crate::journal::{PhaseHistory, PhaseRecord};
use crate::phase::Phase;
use crate::pipeline::Pipeline;
use crate::stop::{Halt, Stop};
use marvin_base::atomic::{self, WriteError};
use marvin_base::truncate;
use serde_json::Value;
use std::path::PathBuf;

/// Writes both files and returns the path of the Markdown one.
pub(crate) fn write(pipeline: &Pipeline, known: &PhaseHistory, stop: &Stop) -> Result<PathBuf, Halt> {
    let directory = pipeline.run.reports();
    let wrap = |source| WriteError { path: directory.display().to_string(), source };
    std::fs::create_dir_all(&directory).map_err(wrap)?;
    let epic = pipeline.tickets().map(|tickets| tickets.epic().to_string()).unwrap_or_default();
    let text = pipeline
        .project
        .redactor
        .text(&markdown(pipeline.goal(), pipeline.run.id(), &epic, known, stop))
        .into_owned();
    let path = directory.join("pipeline.md");
    atomic::replace(&path, text.as_bytes())?;
    atomic::replace(&directory.join("pipeline.html"), page(&text).as_bytes())?;
    Ok(path)
}

fn markdown(goal: &str, run: &str, epic: &str, known: &PhaseHistory, stop: &Stop) -> String {
    let mut text = format!(
        "# Pipeline: {}\n\n**{}** ({}): {}\n\nRun `{run}`, ticket `{epic}`.\n\n## The task\n\n{goal}\n\n## Phases\n\n| phase | what | state | cost | time | |\n|---|---|---|---|---|---|\n",
        truncate::line(goal, 80),
        stop.status.name().replace('_', " "),
        stop.reason.replace('_', " "),
        stop.message.replace('\n', " "),
    );
    for phase in Phase::ALL {
        let record = known.phases.get(&phase);
        let ended = record
            .and_then(|record| record.ended.as_ref())
            .filter(|_| known.closed.is_some_and(|last| last >= phase));
        let number = |key: &str| ended.and_then(|facts| facts.get(key)).and_then(Value::as_f64);
        let skipped = ended.and_then(|facts| facts.get("skipped")).is_some();
        let state = match (record, ended) {
            _ if skipped => "skipped",
            (_, Some(_)) => "over",
            (Some(_), None) => "begun",
            (None, None) if known.closed.is_some_and(|last| last >= phase) => "over (no record)",
            (None, None) => "",
        };
        let cost = number("cost_usd").map_or_else(String::new, |cost| format!("${cost:.4}"));
        let time = known.worked_ms(phase, None).filter(|time| *time > 0);
        let time = time.map_or_else(String::new, |time| format!("{}.{} s", time / 1000, time % 1000 / 100));
        text.push_str(&format!(
            "| {phase} | {} | {state} | {cost} | {time} | {} |\n",
            phase.title(),
            cell(record)
        ));
    }
    let quality = known.phases.get(&Phase::Quality).and_then(|record| record.ended.as_ref());
    if let Some(proved) = quality.and_then(|facts| facts.get("proved")).and_then(Value::as_array) {
        text.push_str("\n## What was verified\n\nBy the pipeline itself, at the end, outside of every agent:\n\n| check | holds | seen |\n|---|---|---|\n");
        for check in proved {
            let word = |key: &str| plain(check.get(key).and_then(Value::as_str).unwrap_or_default());
            let holds = if check.get("ok") == Some(&Value::Bool(true)) { "yes" } else { "NO" };
            text.push_str(&format!("| {} | {holds} | {} |\n", word("name"), word("detail")));
        }
    }
    if let Some(fixed) = quality
        .and_then(|facts| facts.get("mended"))
        .and_then(Value::as_array)
        .filter(|fixed| !fixed.is_empty())
    {
        text.push_str("\n## Found, reproduced and fixed in phase 5\n\n");
        for finding in fixed {
            let word = |key: &str| plain(finding.get(key).and_then(Value::as_str).unwrap_or_default());
            text.push_str(&format!("- {}: {} ({})\n", word("severity"), word("text"), word("place")));
        }
    }
    text
}

/// A summary of the facts of a phase.
fn cell(record: Option<&PhaseRecord>) -> String {
    let Some(facts) = record.and_then(|record| record.ended.as_ref()) else { return String::new() };
    let keys =
        ["skipped", "counted", "red", "tests", "attempts", "rounds", "checks", "minor", "not_reproduced"];
    let mut words: Vec<String> = keys
        .iter()
        .filter_map(|key| {
            let value = facts.get(*key)?;
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            Some(format!("{}: {}", key.replace('_', " "), plain(&text)))
        })
        .collect();
    if let Some(processes) = facts.get("processes").and_then(Value::as_u64).filter(|many| *many > 1) {
        words.push(format!("worked on by {processes} processes"));
    }
    for name in ["spec", "ux", "design"] {
        let Some(document) = facts.get(name).and_then(Value::as_object) else { continue };
        let figures: Vec<String> = document.iter().map(|(key, value)| format!("{key} {value}")).collect();
        words.push(format!("{name}: {}", figures.join(", ")));
    }
    words.join(", ")
}

/// Escapes text for a table cell.
fn plain(text: &str) -> String {
    truncate::line(text, 160).replace('|', "\\|").replace('`', "'")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page: renders the subset of Markdown that the report uses.
fn page(markdown: &str) -> String {
    let mut body = String::new();
    let (mut in_table, mut in_list) = (false, false);
    for line in markdown.lines() {
        let row = line.starts_with('|');
        let item = line.strip_prefix("- ");
        if in_table && !row {
            body.push_str("</table>\n");
        }
        if in_list && item.is_none() {
            body.push_str("</ul>\n");
        }
        if row && !in_table {
            body.push_str("<table>\n");
        }
        if item.is_some() && !in_list {
            body.push_str("<ul>\n");
        }
        let was_table = in_table;
        (in_table, in_list) = (row, item.is_some());
        if row {
            let tag = if was_table { "td" } else { "th" };
            if !line.starts_with("|---") {
                let line = line.trim_matches('|').replace("\\|", "\u{1}");
                let cells: String = line
                    .split('|')
                    .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell.trim()).replace('\u{1}', "|")))
                    .collect();
                body.push_str(&format!("<tr>{cells}</tr>\n"));
            }
        } else if let Some(item) = item {
            body.push_str(&format!("<li>{}</li>\n", escaped(item)));
        } else if let Some(title) = line.strip_prefix("## ") {
            body.push_str(&format!("<h2>{}</h2>\n", escaped(title)));
        } else if let Some(title) = line.strip_prefix("# ") {
            body.push_str(&format!("<h1>{}</h1>\n", escaped(title)));
        } else if !line.trim().is_empty() {
            body.push_str(&format!("<p>{}</p>\n", escaped(&line.replace("**", "").replace('`', ""))));
        }
    }
    if in_table {
        body.push_str("</table>\n");
    }
    if in_list {
        body.push_str("</ul>\n");
    }
    let title = markdown.lines().next().unwrap_or_default().trim_start_matches("# ");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>body{{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}}\
         table{{border-collapse:collapse;width:100%;display:block;overflow-x:auto}}td,th{{border:1px solid #ccc;padding:.35rem .6rem;vertical-align:top;text-align:left}}\
         th{{background:#f2f2f2}}@media(prefers-color-scheme:dark){{body{{color:#e8e8e8;background:#16181c}}td,th{{border-color:#444}}th{{background:#24272d}}}}</style></head>\n<body>\n{body}</body></html>\n",
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_agent::outcome::Status;
    use serde_json::json;

    #[test]
    fn a_report_lists_the_checks_and_the_page_escapes_them() {
        let mut known = PhaseHistory { closed: Some(Phase::Quality), ..PhaseHistory::default() };
        let facts = json!({"cost_usd": 0.5, "elapsed_ms": 1200, "rounds": 1, "proved": [{"name": "tests: a|b <x>", "ok": true, "detail": "3 passed"}],
            "mended": [{"severity": "major", "text": "it <script>", "place": "a.py:1"}]});
        let record =
            PhaseRecord { ended: facts.as_object().cloned(), worked_ms: 1_200, ..PhaseRecord::default() };
        known.phases.insert(Phase::Quality, record);
        let facts = json!({"cost_usd": 0.0, "elapsed_ms": 65_049, "processes": 3});
        let record =
            PhaseRecord { ended: facts.as_object().cloned(), worked_ms: 65_049, ..PhaseRecord::default() };
        known.phases.insert(Phase::Debug, record);
        let stop = Stop { status: Status::Success, reason: "complete", message: "all\nof it".into() };
        let text = markdown("Build <it>", "run_1", "t-1", &known, &stop);
        assert!(text.contains("| 5 | Adversarial testing | over | $0.5000 | 1.2 s |"), "{text}");
        assert!(text.contains("| over | $0.0000 | 65.0 s | worked on by 3 processes |"), "{text}");
        assert!(text.contains("| tests: a\\|b <x> | yes | 3 passed |"), "{text}");
        let page = page(&text);
        assert!(page.contains("<td>tests: a|b &lt;x&gt;</td>") && !page.contains("<script>"), "{page}");
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
    }
}
