//! Servitors and their commitments, decisions of the gate, packs, lessons, settings.

use crate::answer::{Answer, Refusal, json, redacted, within};
use marvin_agent::commitments::{Commitment, Store};
use marvin_agent::{ProjectContext, servitors};
use marvin_base::settings;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Place, Stats, decisions as log};
use marvin_hooks::packs::{Packs, Problem};
use marvin_memory::Places;
use marvin_memory::lessons::{Header, Lessons};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

#[derive(Default, Serialize)]
struct ServitorList<'a> {
    servitors: Vec<ServitorRow<'a>>,
    documents: Vec<DocumentRow<'a>>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct ServitorRow<'a> {
    #[serde(flatten)]
    facts: Value,
    commitments: &'a [Commitment],
}

/// A document with commitments that belongs to no servitor.
#[derive(Serialize)]
struct DocumentRow<'a> {
    id: &'a str,
    title: Option<String>,
    commitments: &'a [Commitment],
}

#[derive(Serialize)]
struct DecisionList {
    decisions: Vec<Value>,
    stats: Stats,
}

#[derive(Serialize)]
struct PackList<'a> {
    packs: Vec<PackRow<'a>>,
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct PackRow<'a> {
    #[serde(flatten)]
    facts: Value,
    origin: &'static str,
    taught: Vec<TaughtLesson<'a>>,
    rules: &'a str,
}

#[derive(Serialize)]
struct TaughtLesson<'a> {
    title: &'a str,
    actionable: &'a str,
    category: &'a str,
    utility: f32,
}

#[derive(Serialize)]
struct LessonList<'a> {
    lessons: Vec<LessonRow<'a>>,
    total: usize,
}

#[derive(Serialize)]
struct LessonRow<'a> {
    header: &'a Header,
    body: &'a str,
}

#[derive(Serialize)]
struct SettingList {
    settings: Vec<Value>,
}

/// Servitors with their commitments, and the other documents that have commitments.
pub(super) fn servitors(context: &ProjectContext) -> Answer {
    let Some(store) = Store::from_layout(&context.layout) else {
        return json(&ServitorList::default());
    };
    let (bodies, errors) = servitors::list(context).map_err(|error| Refusal::broken(error.to_string()))?;
    let mut problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let (documents, errors) = store.read_all();
    problems.extend(errors.iter().map(ToString::to_string));
    problems.dedup();
    let promised = |id: &str| {
        let document = documents.iter().find(|document| document.id == id);
        document.map(|document| document.commitments.as_slice()).unwrap_or_default()
    };
    let servitors = bodies
        .iter()
        .map(|body| ServitorRow { facts: body.facts(), commitments: promised(&body.id) })
        .collect();
    let others = documents
        .iter()
        .filter(|document| {
            !document.commitments.is_empty() && !bodies.iter().any(|body| body.id == document.id)
        })
        .map(|document| DocumentRow {
            id: &document.id,
            title: document.value("title"),
            commitments: &document.commitments,
        })
        .collect();
    redacted(context, &ServitorList { servitors, documents: others, problems })
}

/// The last decisions, and figures of all.
pub(super) fn decisions(context: &ProjectContext, most: u64) -> Answer {
    let directory = context.layout.security();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let last = log::last(&directory, most)
        .map_err(|error| Refusal::broken(format!("cannot read the log: {error}")))?;
    let stats = Stats::read(&directory).map_err(|error| Refusal::broken(error.to_string()))?;
    json(&DecisionList { decisions: last, stats })
}

/// The verdict of the gate on a command line; nothing is run, and nothing recorded.
pub(super) fn explain(context: &ProjectContext, asked: &ExplainRequest) -> Answer {
    within(&asked.command, MAX_COMMAND_LINE_CHARS)?;
    let root = context
        .workspace
        .as_ref()
        .map_or(context.directory.clone(), |workspace| workspace.root().to_path_buf());
    let (directory, home) = (root.display().to_string(), context.layout.home().display().to_string());
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
    let layers = marvin_gate::Layers::new(&context.layout);
    let found = layers.look(&asked.command, place);
    Ok(layers.rule(&asked.command, place, found).explained(&asked.command))
}

/// Packs with their lessons and guardrails.
pub(super) fn packs(context: &ProjectContext) -> Answer {
    let packs = Packs::load(&context.layout.packs());
    let all = packs
        .all()
        .iter()
        .map(|pack| {
            let taught = pack.lessons.iter().take(MAX_LISTED_LESSONS).map(|lesson| TaughtLesson {
                title: &lesson.title,
                actionable: &lesson.actionable,
                category: &lesson.category,
                utility: lesson.utility,
            });
            let yours = pack.directory.starts_with(context.layout.user());
            PackRow {
                facts: pack.facts(),
                origin: if yours { "yours" } else { "project" },
                taught: taught.collect(),
                rules: &pack.guardrails,
            }
        })
        .collect();
    redacted(context, &PackList { packs: all, problems: packs.problems() })
}

/// Lessons of failed runs, newest first.
pub(super) fn lessons(context: &ProjectContext) -> Answer {
    let places = Places::from_settings(&context.layout, &context.settings);
    let mut all =
        Lessons::open(&places.lessons, &places.index, context.redactor.clone()).all().unwrap_or_default();
    all.sort_by(|one, two| two.header.timestamp.cmp(&one.header.timestamp));
    let shown = all.iter().take(MAX_LISTED_LESSONS);
    let lessons = shown.map(|lesson| LessonRow { header: &lesson.header, body: &lesson.body }).collect();
    redacted(context, &LessonList { lessons, total: all.len() })
}

/// Every setting with its value and its origin.
pub(super) fn settings(context: &ProjectContext) -> Answer {
    let rows = context.settings.iter().map(|(setting, value)| settings::row(setting, value));
    redacted(context, &SettingList { settings: rows.collect() })
}
