//! Servitors and their commitments, decisions of the gate, packs, lessons, settings.

use crate::answer::{Answer, Refusal};
use marvin_agent::commitments::Store;
use marvin_agent::{ProjectContext, servitors};
use marvin_base::settings;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Place, Stats, decisions as log};
use marvin_hooks::packs::Packs;
use marvin_memory::{Places, lessons::Lessons};
use serde::Deserialize;
use serde_json::{Value, json};

/// Lessons of one pack, and of the memory, that are shown.
const MAX_LISTED_LESSONS: usize = 500;
/// Characters of a command line.
const MAX_COMMAND_LINE_CHARS: usize = 16_000;

/// A command line to explain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainRequest {
    command: String,
}

/// Who there is, what they promised, and what the project promised.
pub(super) fn servitors(ground: &ProjectContext) -> Answer {
    let Some(store) = Store::from_layout(&ground.layout) else {
        return Ok(json!({ "servitors": [], "documents": [], "problems": [] }));
    };
    let (bodies, errors) = servitors::list(ground).map_err(|error| Refusal::broken(error.to_string()))?;
    let mut problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let (documents, errors) = store.read_all();
    problems.extend(errors.iter().map(ToString::to_string));
    problems.dedup();
    let promised = |id: &str| {
        let document = documents.iter().find(|document| document.id == id);
        document.map(|document| json!(document.commitments)).unwrap_or_else(|| json!([]))
    };
    let all: Vec<Value> = bodies
        .iter()
        .map(|body| {
            let mut facts = body.facts();
            if let Value::Object(map) = &mut facts {
                map.insert("commitments".into(), promised(&body.id));
            }
            facts
        })
        .collect();
    let others: Vec<Value> = documents
        .iter()
        .filter(|document| !document.commitments.is_empty() && !bodies.iter().any(|body| body.id == document.id))
        .map(|document| json!({ "id": document.id, "title": document.value("title"), "commitments": document.commitments }))
        .collect();
    let mut value = json!({ "servitors": all, "documents": others, "problems": problems });
    ground.redactor.value(&mut value);
    Ok(value)
}

/// The last decisions, and figures of all.
pub(super) fn decisions(ground: &ProjectContext, most: u64) -> Answer {
    let directory = ground.layout.security();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let last = log::last(&directory, most)
        .map_err(|error| Refusal::broken(format!("the log cannot be read: {error}")))?;
    let stats = Stats::read(&directory).map_err(|error| Refusal::broken(error.to_string()))?;
    Ok(json!({ "decisions": last, "stats": stats }))
}

/// What the gate would say; nothing is run, and nothing recorded.
pub(super) fn explain(ground: &ProjectContext, asked: &ExplainRequest) -> Answer {
    super::within(&asked.command, MAX_COMMAND_LINE_CHARS)?;
    let root = ground
        .workspace
        .as_ref()
        .map_or(ground.directory.clone(), |workspace| workspace.root().to_path_buf());
    let (directory, home) = (root.display().to_string(), ground.layout.home().display().to_string());
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
    let layers = marvin_gate::Layers::new(&ground.layout);
    Ok(layers.judge(&asked.command, place).explained(&asked.command))
}

/// Packs with their lessons and guardrails.
pub(super) fn packs(ground: &ProjectContext) -> Value {
    let packs = Packs::load(&ground.layout.packs());
    let all: Vec<Value> = packs
        .all()
        .iter()
        .map(|pack| {
            let mut facts = pack.facts();
            let lessons: Vec<Value> = pack
                .lessons
                .iter()
                .take(MAX_LISTED_LESSONS)
                .map(|lesson| json!({ "title": lesson.title, "actionable": lesson.actionable, "category": lesson.category, "utility": lesson.utility }))
                .collect();
            if let Value::Object(map) = &mut facts {
                let yours = pack.directory.starts_with(ground.layout.user());
                map.insert("origin".into(), if yours { "yours" } else { "project" }.into());
                map.insert("taught".into(), lessons.into());
                map.insert("rules".into(), json!(pack.guardrails));
            }
            facts
        })
        .collect();
    let mut value = json!({ "packs": all, "problems": packs.problems() });
    ground.redactor.value(&mut value);
    value
}

/// What failures of runs taught, newest first.
pub(super) fn lessons(ground: &ProjectContext) -> Value {
    let places = Places::from_settings(&ground.layout, &ground.settings);
    let mut all =
        Lessons::open(&places.lessons, &places.index, ground.redactor.clone()).all().unwrap_or_default();
    all.sort_by(|one, two| two.header.timestamp.cmp(&one.header.timestamp));
    let shown: Vec<Value> = all
        .iter()
        .take(MAX_LISTED_LESSONS)
        .map(|lesson| json!({ "header": lesson.header, "body": lesson.body }))
        .collect();
    let mut value = json!({ "lessons": shown, "total": all.len() });
    ground.redactor.value(&mut value);
    value
}

/// Every setting with its value and where it came from.
pub(super) fn settings(ground: &ProjectContext) -> Value {
    let rows: Vec<Value> =
        ground.settings.iter().map(|(setting, value)| settings::row(setting, value)).collect();
    let mut value = json!({ "settings": rows });
    ground.redactor.value(&mut value);
    value
}
