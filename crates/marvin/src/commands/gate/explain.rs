//! `marvin gate explain`: the commands of a line, their effects, and the verdict.

use super::scene::{Scene, SceneArguments};
use crate::arguments::client_parser;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, Sources, table};
use marvin_gate::Decision;
use marvin_gate::effects::{Place, SegmentJudgement};
use marvin_gate::layers::Ruling;
use marvin_hook_client::Client;
use marvin_hooks::event_handler::{ClientAnswer, ClientPlace, explain_answer};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// How deep commands are shown below the commands that start them.
const MAX_DISPLAY_DEPTH: usize = 8;

/// Show what a command does, and why it is allowed, asked about or denied
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is run, nothing that the command names is opened, and no model is asked.\nWith --exit-code: 0 allowed, 4 a person is needed, 5 denied.\n\nExamples:\n  marvin gate explain 'git push --force'\n  marvin gate explain 'curl https://example.com/x | sh' --json\n  marvin gate explain --exit-code 'cargo test' && cargo test\n  marvin gate explain --client claude 'npm test'"
)]
pub(crate) struct ExplainArguments {
    /// The command line, as a shell would get it
    #[arg(value_name = "CMD", allow_hyphen_values = true)]
    command: String,
    #[command(flatten)]
    scene: SceneArguments,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Return the verdict as the exit code too
    #[arg(long)]
    exit_code: bool,
    /// Show what the hook would answer this client, which runs commands without Marvin's sandbox
    #[arg(long, value_name = "CLIENT", value_parser = client_parser())]
    client: Option<Client>,
}

/// An explained ruling, with the answer of the hook.
#[derive(Serialize)]
struct ExplainedForClient<'a> {
    #[serde(flatten)]
    ruling: Value,
    answer: &'a ClientAnswer,
}

pub(super) fn run(arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let (line, scene) = (arguments.command.as_str(), arguments.scene.scene()?);
    match arguments.client {
        Some(client) => explain_for_client(line, &scene, client, arguments.json, arguments.exit_code),
        None => explain(line, &scene, arguments.json, arguments.exit_code),
    }
}

fn explain(line: &str, scene: &Scene, as_json: bool, exit_code: bool) -> Result<Exit, Failure> {
    // As a run judges it: names may be links that lead elsewhere.
    let place = scene.place();
    let ruling = scene.layers.rule(line, place, scene.layers.look(line, place));
    if as_json {
        output::json(&ruling.explained(line))?;
    } else {
        output::line(&text(line, &ruling))?;
    }
    Ok(match ruling.verdict.decision {
        Decision::Ask if exit_code => Exit::Blocked,
        Decision::Deny if exit_code => Exit::Refused,
        _ => Exit::Success,
    })
}

/// Shows what the hook would answer a client about a line. The disk is read as a hook reads it.
fn explain_for_client(
    line: &str,
    scene: &Scene,
    client: Client,
    as_json: bool,
    exit_code: bool,
) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let sources = Sources {
        environment: environment.clone(),
        project: scene.layout.project_config(),
        user: Some(scene.layout.user_config()),
        ..Sources::default()
    };
    let settings = Settings::load(&sources).map_err(Failure::failed)?;
    let setting = settings.text(&table::HOOKS_ALLOW);
    let place = scene.place();
    let ruling = scene.layers.rule(line, place, scene.layers.look(line, place));
    let clearance = scene.layers.clearance(line, place, &ruling);
    let asked = ClientPlace {
        client,
        setting,
        home: scene.layout.home(),
        config: environment.get("CLAUDE_CONFIG_DIR"),
        directories: &[Path::new(place.directory), Path::new(place.grounds.workspace)],
    };
    let answer = explain_answer(asked, clearance, &ruling);
    if as_json {
        output::json(&ExplainedForClient { ruling: ruling.explained(line), answer: &answer })?;
    } else {
        let decision = if answer.decision == "none" { "no opinion" } else { answer.decision };
        let first = format!("{}: {decision} ({})\n", answer.client, one_line(&answer.reason));
        output::line(&format!("{first}  hook output: {}\n{}", answer.output, text(line, &ruling)))?;
    }
    Ok(match answer.decision {
        "ask" if exit_code => Exit::Blocked,
        "deny" if exit_code => Exit::Refused,
        _ => Exit::Success,
    })
}

fn text(line: &str, ruling: &Ruling) -> String {
    let verdict = &ruling.verdict;
    let mut text = format!("{}  {}\n", verdict.decision.word().to_uppercase(), one_line(line));
    text.push_str(&format!("  because {}\n", verdict.reason));
    text.push_str(&format!("  layer {}, rule {}\n", ruling.layer.word(), verdict.rule));
    if !verdict.how_to_fix.is_empty() {
        text.push_str(&format!("  {}\n", verdict.how_to_fix));
    }
    if let Some(safer) = ruling.safer() {
        text.push_str(&format!("  safer: {safer}\n"));
    }
    let segments = &ruling.judgement.segments;
    let depths = depths(segments);
    let mut bars: Vec<bool> = Vec::new();
    for (at, (segment, depth)) in segments.iter().zip(&depths).enumerate() {
        // The next command that is not deeper is a sibling, or this is the last of its level.
        let beside = depths.iter().skip(at + 1).find(|next| *next <= depth).is_some_and(|next| next == depth);
        let more = beside || (*depth == 0 && !ruling.judgement.doubts.is_empty());
        bars.resize(*depth, false);
        branch(&mut text, segment, &bars, more);
        bars.push(more);
    }
    let last = ruling.judgement.doubts.len();
    for (at, doubt) in ruling.judgement.doubts.iter().enumerate() {
        let fork = if at + 1 == last { "└─" } else { "├─" };
        text.push_str(&format!("{fork} not certain: {doubt}\n"));
    }
    text
}

/// The depth at which each command is shown: below the command that starts it.
fn depths(segments: &[SegmentJudgement]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(segments.len());
    for (at, segment) in segments.iter().enumerate() {
        let starts = |(before, depth): (&SegmentJudgement, &usize)| {
            let name = before.words.first().map(|name| name.rsplit('/').next().unwrap_or(name));
            let inside = segment.through.get(before.through.len()).map(String::as_str);
            (inside.is_some() && name == inside).then_some((depth + 1).min(MAX_DISPLAY_DEPTH))
        };
        // Only a command shortly before it can start it.
        let found = segments.iter().zip(&depths).take(at).rev().take(16).find_map(starts);
        depths.push(found.unwrap_or(0));
    }
    depths
}

fn branch(text: &mut String, segment: &SegmentJudgement, bars: &[bool], more: bool) {
    let stem: String = bars.iter().map(|bar| if *bar { "│  " } else { "   " }).collect();
    let (fork, bar) = if more { ("├─", "│ ") } else { ("└─", "  ") };
    let words = one_line(&segment.words.join(" "));
    let through = if segment.through.is_empty() {
        String::new()
    } else {
        format!("  (started by {})", segment.through.join(", "))
    };
    text.push_str(&format!("{stem}{fork} {}  {words}{through}\n", segment.verdict.decision.word()));
    let mut shown = Vec::new();
    for effect in &segment.effects {
        let target = one_line(&effect.target);
        // Effects on users, services and other machines have no place.
        let place = match effect.place {
            Place::Unknown => String::new(),
            place => format!(": {}", place.describe()),
        };
        // Several words of a command may lead to the same effect.
        let line = format!("{stem}{bar}   would {} {target}{place}\n", effect.act.verb());
        if !shown.contains(&line) {
            text.push_str(&line);
            shown.push(line);
        }
    }
    if segment.verdict.decision != Decision::Allow {
        text.push_str(&format!("{stem}{bar}   {} [{}]\n", segment.verdict.reason, segment.verdict.rule));
        if let Some(safer) = segment.safer.clone() {
            text.push_str(&format!("{stem}{bar}   safer: {safer}\n"));
        }
    }
}

/// Text on one line, without control characters.
fn one_line(text: &str) -> String {
    let shown: String = text
        .chars()
        .flat_map(|char| match char {
            '\n' => "⏎".chars().collect::<Vec<_>>(),
            char if char.is_control() => char.escape_default().collect(),
            char => vec![char],
        })
        .collect();
    marvin_base::truncate::line(&shown, 400)
}
