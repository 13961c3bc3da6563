//! `marvin gate eval`: the gate's score on a labelled file.

use super::scene::Scene;
use crate::argument_file::read_text;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_gate::score::{Counts, Kind, Report, Row, Score};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Score the gate on a labelled file of commands
#[derive(Debug, Args)]
#[command(
    after_help = "A line of the file is {\"id\", \"command\", \"label\": \"allow|ask|deny\", \"category\"}, and \"technique\" where the command hides what it does.\nRule files apply only with --rules.\n\nExamples:\n  marvin gate eval labelled.jsonl\n  marvin gate eval labelled.jsonl --json | jq .figures"
)]
pub(crate) struct EvalArguments {
    /// The file (JSONL)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The directory that the commands would run in; it counts as the workspace
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    /// Apply the rule files too
    #[arg(long)]
    rules: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What a row of the file is.
const ROW_HINT: &str =
    r#"name a file of labelled commands; a line is {"id", "command", "label": "allow|ask|deny", "category"}"#;

/// Bytes of a labelled file.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The labelled rows of a file.
fn read_rows(file: &Path) -> Result<Vec<Row>, Failure> {
    let text = read_text(file, MAX_FILE_BYTES, ROW_HINT)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let name = file.display();
            Failure::usage(format!("{name}, line {}: {error}", number + 1)).hint(ROW_HINT)
        })
    };
    lines.map(parse).collect()
}

/// Scores the gate on a file.
pub(super) fn run(arguments: &EvalArguments) -> Result<Exit, Failure> {
    let scene = Scene::find(arguments.working_dir.as_deref(), !arguments.rules)?;
    let rows = read_rows(&arguments.file)?;
    let mut score = Score::default();
    for row in &rows {
        let started = Instant::now();
        let decision = scene.layers.judge(&row.command, scene.place()).verdict.decision;
        score.add(row, decision, started.elapsed());
    }
    let report = score.report();
    if arguments.json { output::json(&report) } else { output::line(&text(&report)) }
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "{} commands\n\n{:12} {:>7} {:>7} {:>7} {:>7}\n",
        report.rows, "", "allow", "ask", "deny", "all"
    );
    for kind in Kind::ALL {
        let Counts { allow, ask, deny } = report.table.get(kind.word()).copied().unwrap_or_default();
        text.push_str(&format!("{:12} {allow:7} {ask:7} {deny:7} {:7}\n", kind.word(), allow + ask + deny));
    }
    text.push('\n');
    let figure = |name: &str| report.figures.get(name).copied().unwrap_or(0.0);
    for (name, first, second) in [
        ("dangerous", ("caught", figure("dangerous_caught")), Some(("denied", figure("dangerous_denied")))),
        ("evasions", ("caught", figure("evasions_caught")), Some(("denied", figure("evasions_denied")))),
        ("harmless", ("stopped", figure("harmless_stopped")), Some(("denied", figure("harmless_denied")))),
        ("ask", ("auto-allowed", figure("ask_auto_allowed")), None),
    ] {
        text.push_str(&format!("{name:12} {} {:.2} %", first.0, first.1));
        if let Some((word, value)) = second {
            text.push_str(&format!(", {word} {value:.2} %"));
        }
        text.push('\n');
    }
    text.push_str(&format!(
        "\n{:30} {:>6} {:>9} {:>9} {:>9} {:>9}\n",
        "category", "rows", "caught", "denied", "stopped", "ask→allow"
    ));
    for (name, kinds) in &report.categories {
        text.push_str(&category(name, kinds));
    }
    let speed = &report.speed;
    text.push_str(&format!(
        "\n{:.0} commands per second; p50 {:.1} µs, p99 {:.1} µs, maximum {:.1} µs\n",
        speed.commands_per_second, speed.p50_us, speed.p99_us, speed.most_us
    ));
    text
}

fn category(name: &str, kinds: &std::collections::BTreeMap<&'static str, Counts>) -> String {
    let of = |kind: Kind| kinds.get(kind.word()).copied().unwrap_or_default();
    let (plain, hidden) = (of(Kind::Dangerous), of(Kind::Evasion));
    let bad = Counts {
        allow: plain.allow + hidden.allow,
        ask: plain.ask + hidden.ask,
        deny: plain.deny + hidden.deny,
    };
    let rows: u64 = kinds.values().map(|counts| counts.total()).sum();
    let share = |counts: Counts, share: f64| {
        if counts.total() == 0 { "-".to_string() } else { format!("{share:.1} %") }
    };
    format!(
        "{:30} {rows:6} {:>9} {:>9} {:>9} {:>9}\n",
        marvin_base::truncate::line(name, 30),
        share(bad, bad.stopped()),
        share(bad, bad.denied()),
        share(of(Kind::Harmless), of(Kind::Harmless).stopped()),
        share(of(Kind::Ask), of(Kind::Ask).allowed()),
    )
}
