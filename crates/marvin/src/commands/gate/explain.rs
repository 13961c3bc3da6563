//! `marvin gate explain`: the commands of a line, what each does, and what that means.

use super::Scene;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, Sources, table};
use marvin_gate::Decision;
use marvin_gate::effects::{Place, SegmentJudgement};
use marvin_gate::layers::Ruling;
use marvin_hooks::event::Client;
use marvin_hooks::event_handler::explain_answer;

/// How deep commands are shown below what starts them.
const MAX_DISPLAY_DEPTH: usize = 8;

/// Explains a line.
pub(super) fn run(line: &str, scene: &Scene, as_json: bool, exit_code: bool) -> Result<Exit, Failure> {
    let ruling = scene.layers.judge(line, scene.place());
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

/// Shows what the hook would answer a client about a line. The disk is looked at as a hook looks at it.
pub(super) fn for_client(
    line: &str,
    scene: &Scene,
    client: Client,
    as_json: bool,
    exit_code: bool,
) -> Result<Exit, Failure> {
    let sources = Sources {
        environment: Environment::of_process(),
        project: scene.layout.project_config(),
        user: Some(scene.layout.user_config()),
        ..Sources::default()
    };
    let settings = Settings::load(&sources).map_err(|error| Failure::failed(error.to_string()))?;
    let setting = settings.text(&table::HOOKS_ALLOW);
    let place = scene.place();
    let ruling = scene.layers.rule(line, place, scene.layers.look(line, place));
    let clearance = scene.layers.clearance(line, place, &ruling);
    let answer = explain_answer(client, setting, clearance, &ruling.verdict);
    if as_json {
        let mut value = ruling.explained(line);
        if let Some(map) = value.as_object_mut() {
            map.insert("answer".into(), serde_json::json!(answer));
        }
        output::json(&value)?;
    } else {
        let said = match answer.decision {
            "none" => "no opinion".to_string(),
            decision => decision.to_string(),
        };
        let answered = format!("{}: {said} ({})\n", answer.client, one_line(&answer.reason));
        output::line(&format!("{answered}  hook output: {}\n{}", answer.output, text(line, &ruling)))?;
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
        // The next that is not below this one is beside it, or this is the last here.
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

/// How deep each command is shown: below the one that starts it, where that is shown itself.
fn depths(segments: &[SegmentJudgement]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(segments.len());
    for (at, segment) in segments.iter().enumerate() {
        let starts = |(before, depth): (&SegmentJudgement, &usize)| {
            let name = before.words.first().map(|name| name.rsplit('/').next().unwrap_or(name));
            let inside = segment.through.get(before.through.len()).map(String::as_str);
            (inside.is_some() && name == inside).then_some((depth + 1).min(MAX_DISPLAY_DEPTH))
        };
        // Only what comes right before it can start it; what it starts besides comes between.
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
    for effect in &segment.effects {
        let target = one_line(&effect.target);
        // Not every effect has a place: users, services, other machines.
        let place = match effect.place {
            Place::Unknown => String::new(),
            place => format!(": {}", place.describe()),
        };
        text.push_str(&format!("{stem}{bar}   would {} {target}{place}\n", effect.act.verb()));
    }
    if segment.verdict.decision != Decision::Allow {
        text.push_str(&format!("{stem}{bar}   {} [{}]\n", segment.verdict.reason, segment.verdict.rule));
        if let Some(safer) = segment.safer.clone() {
            text.push_str(&format!("{stem}{bar}   safer: {safer}\n"));
        }
    }
}

/// Text without what would move the cursor or hide something.
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
