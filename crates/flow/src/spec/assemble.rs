//! Checks and assembles a parsed workflow: ids, dependencies, cycles, references, schemas.

use super::read::inputs_text;
use super::schema::SchemaError;
use super::{Extras, Followers, MAX_EDGES, MAX_ID_BYTES, Place, Problem, Schema, Step, Workflow};
use marvin_base::settings::nearest_of;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Depth to which inputs are searched for references.
const MAX_NESTING: usize = 32;

/// A workflow as it was parsed, unchecked.
#[derive(Debug, Default)]
pub(crate) struct WorkflowSketch {
    pub(crate) workflow_id: String,
    pub(crate) goal: String,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) steps: Vec<Sketch>,
}

/// A step as it was parsed, unchecked.
#[derive(Debug, Clone)]
pub(crate) struct Sketch {
    pub(crate) place: Option<Place>,
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) description: String,
    pub(crate) worker: String,
    pub(crate) depends_on: Vec<String>,
    pub(crate) inputs: Map<String, Value>,
    pub(crate) inputs_schema: Value,
    pub(crate) outputs_schema: Value,
    pub(crate) extras: Extras,
}

impl Sketch {
    pub(crate) fn new(id: String) -> Self {
        Sketch {
            place: None,
            id,
            name: None,
            description: String::new(),
            worker: "Implementer".into(),
            depends_on: Vec::new(),
            inputs: Map::new(),
            inputs_schema: Value::Null,
            outputs_schema: Value::Null,
            extras: Extras::default(),
        }
    }

    fn problem(&self, text: impl Into<String>) -> Problem {
        Problem::new(self.place, Some(&marvin_base::truncate::line(&self.id, 80)), text)
    }
}

/// Values that many steps share.
#[derive(Default)]
struct SharedValues {
    workers: BTreeMap<String, Arc<str>>,
    schemas: BTreeMap<String, Option<Arc<Schema>>>,
}

impl SharedValues {
    fn worker(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.workers.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = name.into();
        self.workers.insert(name.to_string(), shared.clone());
        shared
    }

    fn schema(&mut self, value: Value) -> Result<Option<Arc<Schema>>, SchemaError> {
        if matches!(&value, Value::Null) {
            return Ok(None);
        }
        let text = value.to_string();
        if let Some(known) = self.schemas.get(&text) {
            return Ok(known.clone());
        }
        let schema = Schema::new(value)?.map(Arc::new);
        self.schemas.insert(text, schema.clone());
        Ok(schema)
    }
}

/// Assembles a workflow; none if there are problems, which are appended.
pub(crate) fn assemble(written: WorkflowSketch, problems: &mut Vec<Problem>) -> Option<Workflow> {
    let before = problems.len();
    let mut index: BTreeMap<String, u32> = BTreeMap::new();
    for (at, step) in (0_u32..).zip(&written.steps) {
        if let Some(why) = bad_id(&step.id) {
            problems.push(
                step.problem(why)
                    .hint("an id has letters, digits, `_`, `-` and `.`, and begins with a letter or digit"),
            );
        }
        if let Some(first) = index.get(&step.id) {
            let first = written.steps.get(*first as usize).and_then(|step| step.place);
            let first =
                first.map(|place| format!(" (the first is at line {})", place.line)).unwrap_or_default();
            problems.push(step.problem(format!("there are two steps with this id{first}")));
        } else {
            index.insert(step.id.clone(), at);
        }
    }
    let mut shared = SharedValues::default();
    let mut steps = Vec::with_capacity(written.steps.len());
    let mut places = Vec::with_capacity(written.steps.len());
    let mut edges = 0;
    for sketch in written.steps {
        let deps = dependencies(&sketch, &index, problems);
        edges += deps.len();
        places.push(sketch.place);
        steps.push(step(sketch, deps, &mut shared, problems));
    }
    if edges > MAX_EDGES {
        problems.push(Problem::new(None, None, format!("there are more than {MAX_EDGES} dependencies")));
    }
    let workflow =
        Workflow { workflow_id: written.workflow_id, goal: written.goal, metadata: written.metadata, steps };
    if problems.len() == before {
        cycles(&workflow, &places, problems);
    }
    if problems.len() == before {
        references(&workflow, &index, &places, problems);
    }
    (problems.len() == before).then_some(workflow)
}

fn bad_id(id: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    match id.bytes().next() {
        None => Some("the id is empty".into()),
        Some(_) if id.len() > MAX_ID_BYTES => Some(format!("the id is longer than {MAX_ID_BYTES} bytes")),
        Some(first) if !first.is_ascii_alphanumeric() => {
            Some("the id begins with a character that ids cannot begin with".into())
        }
        Some(_) if !id.bytes().all(plain) => Some("the id has a character that ids cannot have".into()),
        Some(_) if id.contains(".outputs") => {
            Some("the id contains `.outputs`, which is reserved for references".into())
        }
        Some(_) => None,
    }
}

fn dependencies(sketch: &Sketch, index: &BTreeMap<String, u32>, problems: &mut Vec<Problem>) -> Vec<u32> {
    let mut deps = Vec::with_capacity(sketch.depends_on.len());
    for name in &sketch.depends_on {
        match index.get(name) {
            Some(_) if *name == sketch.id => problems.push(sketch.problem("it depends on itself")),
            Some(at) => deps.push(*at),
            None => {
                let shown = marvin_base::truncate::line(name, 80);
                let problem = sketch.problem(format!("it depends on `{shown}`, which does not exist"));
                // Comparing with very many names takes too long.
                let near = (index.len() <= 10_000)
                    .then(|| nearest_of(name, index.keys().map(String::as_str)))
                    .flatten();
                problems.push(match near {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem,
                });
            }
        }
    }
    deps.sort_unstable();
    deps.dedup();
    deps
}

fn step(sketch: Sketch, deps: Vec<u32>, shared: &mut SharedValues, problems: &mut Vec<Problem>) -> Step {
    let mut schema = |which: &str, value: Value, problems: &mut Vec<Problem>| {
        shared.schema(value).unwrap_or_else(|why| {
            let why = marvin_base::truncate::line(&why.to_string(), 300);
            problems.push(sketch.problem(format!("`{which}` is not a JSON Schema: {why}")));
            None
        })
    };
    let inputs_schema = schema("inputs_schema", sketch.inputs_schema.clone(), problems);
    let outputs_schema = schema("outputs_schema", sketch.outputs_schema.clone(), problems);
    let inputs = inputs_text(&sketch.inputs);
    if let Some(schema) = &inputs_schema
        && !inputs.contains("\"from\"")
        && let Some(complaint) = schema.complaint(&Value::Object(sketch.inputs.clone()))
    {
        problems.push(sketch.problem(format!("its inputs do not match its inputs_schema: {complaint}")));
    }
    Step {
        id: sketch.id.into(),
        name: sketch.name.map(Into::into),
        description: sketch.description.into(),
        worker: shared.worker(&sketch.worker),
        depends_on: deps.into(),
        refers: inputs.contains("\"from\""),
        inputs,
        inputs_schema,
        outputs_schema,
        extras: (sketch.extras != Extras::default()).then(|| Box::new(sketch.extras)),
    }
}

/// Reports a cycle of dependencies.
fn cycles(workflow: &Workflow, places: &[Option<Place>], problems: &mut Vec<Problem>) {
    let ordered = workflow.order();
    if ordered.len() == workflow.steps.len() {
        return;
    }
    let mut done = vec![false; workflow.steps.len()];
    for step in ordered {
        if let Some(slot) = done.get_mut(step as usize) {
            *slot = true;
        }
    }
    // Every remaining step depends on a remaining step, so following dependencies ends in a cycle.
    let is_left = |step: &u32| done.get(*step as usize) == Some(&false);
    let Some(mut at) = (0_u32..).zip(&done).find(|(_, done)| !**done).map(|(step, _)| step) else { return };
    let mut path: Vec<u32> = Vec::new();
    let mut visited: BTreeMap<u32, usize> = BTreeMap::new();
    while !visited.contains_key(&at) {
        visited.insert(at, path.len());
        path.push(at);
        let deps = workflow.steps.get(at as usize).map(|step| &*step.depends_on).unwrap_or_default();
        let Some(next) = deps.iter().find(|dep| is_left(dep)) else { return };
        at = *next;
    }
    let from = visited.get(&at).copied().unwrap_or(0);
    let mut cycle: Vec<u32> = path.get(from..).unwrap_or_default().to_vec();
    cycle.push(at);
    let name = |step: &u32| workflow.steps.get(*step as usize).map_or("?", |step| &*step.id);
    let shown: Vec<&str> = cycle.iter().take(12).map(name).collect();
    let more = if cycle.len() > 12 { " → …" } else { "" };
    let place = places.get(at as usize).copied().flatten();
    problems.push(
        Problem::new(
            place,
            Some(name(&at)),
            format!("steps depend on each other: {}{more}", shown.join(" → ")),
        )
        .hint("an arrow means `depends_on`; remove one of them"),
    );
}

/// A reference in inputs: the step, and the keys below its outputs.
pub(crate) struct Reference<'a> {
    pub(crate) step: &'a str,
    pub(crate) keys: Vec<&'a str>,
}

impl<'a> Reference<'a> {
    /// Parses `{"from": "step.outputs.key"}`; none for any other value.
    pub(crate) fn parse(value: &'a Value) -> Option<Reference<'a>> {
        let map = value.as_object().filter(|map| map.len() == 1)?;
        let text = map.get("from")?.as_str()?;
        let (step, rest) = text.split_once(".outputs")?;
        let keys = match rest.strip_prefix('.') {
            Some(keys) => keys.split('.').collect(),
            None if rest.is_empty() => Vec::new(),
            None => return None,
        };
        Some(Reference { step, keys })
    }
}

/// Visits every reference in a value.
pub(crate) fn each<'a>(value: &'a Value, depth: usize, found: &mut dyn FnMut(Reference<'a>)) {
    if depth > MAX_NESTING {
        return;
    }
    if let Some(reference) = Reference::parse(value) {
        return found(reference);
    }
    match value {
        Value::Array(list) => list.iter().for_each(|value| each(value, depth + 1, found)),
        Value::Object(map) => map.values().for_each(|value| each(value, depth + 1, found)),
        _ => {}
    }
}

/// Checks that every reference names a step that is over before this one begins.
fn references(
    workflow: &Workflow,
    index: &BTreeMap<String, u32>,
    places: &[Option<Place>],
    problems: &mut Vec<Problem>,
) {
    let followers = Followers::from_steps(&workflow.steps);
    for (at, step) in (0_u32..).zip(&workflow.steps).filter(|(_, step)| step.refers) {
        let place = places.get(at as usize).copied().flatten();
        let problem = |text: String| Problem::new(place, Some(&step.id), text);
        let inputs = Value::Object(step.inputs());
        let mut check = |reference: Reference<'_>| {
            let shown = marvin_base::truncate::line(reference.step, 80);
            match index.get(reference.step) {
                None => {
                    problems.push(problem(format!("its inputs refer to `{shown}`, which does not exist")));
                }
                Some(from) if !is_before(workflow, &followers, *from, at) => problems.push(
                    problem(format!(
                        "its inputs refer to the outputs of `{shown}`, which it does not depend on"
                    ))
                    .hint(format!("add `{shown}` to its depends_on")),
                ),
                Some(_) => {}
            }
        };
        each(&inputs, 0, &mut check);
        let mut mistaken = |text: &str| {
            problems.push(
                problem(format!(
                    "its inputs contain `{}`, which is not a valid reference",
                    marvin_base::truncate::line(text, 80)
                ))
                .hint("write {\"from\": \"step.outputs.key\"}"),
            );
        };
        misspelt(&inputs, 0, index, &mut mistaken);
    }
}

/// Visits misspelt references, such as `{"from": "a.output.x"}` where `a` is a step.
fn misspelt(value: &Value, depth: usize, index: &BTreeMap<String, u32>, found: &mut dyn FnMut(&str)) {
    if depth > MAX_NESTING || Reference::parse(value).is_some() {
        return;
    }
    match value {
        Value::Array(list) => list.iter().for_each(|value| misspelt(value, depth + 1, index, found)),
        Value::Object(map) => {
            if let (1, Some(Value::String(text))) = (map.len(), map.get("from"))
                && let Some((step, _)) = text.split_once('.')
                && index.contains_key(step)
            {
                found(text);
            }
            map.values().for_each(|value| misspelt(value, depth + 1, index, found));
        }
        _ => {}
    }
}

/// Does `step` depend on `from`, directly or not? Searches upwards, no further than necessary.
fn is_before(workflow: &Workflow, followers: &Followers, from: u32, step: u32) -> bool {
    let deps =
        |step: u32| workflow.steps.get(step as usize).map(|step| &*step.depends_on).unwrap_or_default();
    if deps(step).contains(&from) {
        return true;
    }
    if followers.after(from).is_empty() {
        return false;
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut open = deps(step).to_vec();
    while let Some(next) = open.pop() {
        if next == from {
            return true;
        }
        if seen.insert(next) {
            open.extend(deps(next));
        }
    }
    false
}

/// Assembles a workflow from the record, with all checks.
pub(crate) fn restore(
    workflow_id: String,
    goal: String,
    metadata: Map<String, Value>,
    steps: Vec<Sketch>,
    mut problems: Vec<Problem>,
) -> Result<Workflow, super::SpecError> {
    let written = WorkflowSketch { workflow_id, goal, metadata, steps };
    match assemble(written, &mut problems) {
        Some(workflow) if problems.is_empty() => Ok(workflow),
        _ => Err(super::SpecError::new("its specification", problems)),
    }
}
