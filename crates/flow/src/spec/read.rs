//! Parser of workflows in JSON or YAML that keeps the places of keys for problems.
//!
//! JSON is parsed step by step, so that a hundred thousand steps need little more memory than their text. YAML is parsed as a
//! whole.
//!
//! Limits: a problem inside the inputs or schemas of a step has the place of their key.

use super::assemble::{self, Sketch, WorkflowSketch};
use super::{MAX_ID_BYTES, MAX_STEPS, Place, Poll, Problem, SpecError, Workflow};
use crate::retry::Strategy;
use marvin_base::files::{self, Links};
use marvin_base::settings::nearest_of;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;
use std::fmt;
use std::path::Path;

/// Bytes of a workflow file.
pub const MAX_SPEC_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a description, or of the inputs or a schema of one step.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
const MAX_STEP_TIMEOUT_SECS: u64 = 30 * 86_400;

const TOP: [&str; 4] = ["workflow_id", "goal", "metadata", "steps"];
const STEP: [&str; 17] = [
    "id",
    "name",
    "description",
    "worker",
    "depends_on",
    "inputs_schema",
    "outputs_schema",
    "inputs",
    "timeout_s",
    "commitments",
    "writes",
    "repeatable",
    "worktree",
    "removes",
    "ladder",
    "max_attempts",
    "poll",
];

/// Reads and checks a workflow file: YAML if it is named `.yaml` or `.yml`, else JSON.
///
/// # Errors
/// All problems with their places.
pub fn from_file(path: &Path) -> Result<Workflow, SpecError> {
    let name = path.display().to_string();
    let text = files::read_text(path, MAX_SPEC_BYTES, Links::Follow).map_err(|error| {
        SpecError::new(
            &name,
            vec![
                Problem::new(None, None, format!("cannot be read: {error}"))
                    .hint("name a workflow file, JSON or YAML"),
            ],
        )
    })?;
    from_text(&text, &name)
}

/// Parses and checks a workflow; the file name tells YAML from JSON.
///
/// # Errors
/// All problems with their places.
pub fn from_text(text: &str, name: &str) -> Result<Workflow, SpecError> {
    let yaml = [".yaml", ".yml"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
    let mut problems = Vec::new();
    let read = if yaml { from_yaml(text, &mut problems) } else { from_json(text, &mut problems) };
    let Some(read) = read else { return Err(SpecError::new(name, problems)) };
    let workflow = assemble::assemble(read, &mut problems);
    match workflow {
        Some(workflow) if problems.is_empty() => Ok(workflow),
        _ => Err(SpecError::new(name, problems)),
    }
}

/// A key with its value and place.
struct Field {
    name: String,
    value: Value,
    place: Place,
}

/// A JSON object with raw values, in the order of the text.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<String, &'de RawValue>()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Finds line and column of slices of a text; in the order of the text it reads every byte once.
struct Places<'a> {
    text: &'a str,
    at: usize,
    place: Place,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        Places { text, at: 0, place: Place { line: 1, column: 1 } }
    }

    fn locate(&mut self, piece: &str) -> Place {
        let at = (piece.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize).min(self.text.len());
        if at < self.at {
            return Place::from_offset(self.text, at);
        }
        let between = self.text.get(self.at..at).unwrap_or_default();
        match between.rsplit_once('\n') {
            Some((lines, last)) => {
                self.place.line += 1 + lines.bytes().filter(|byte| *byte == b'\n').count() as u64;
                self.place.column = 1 + last.chars().count() as u64;
            }
            None => self.place.column += between.chars().count() as u64,
        }
        self.at = at;
        self.place
    }
}

/// A syntax error, with its place in the whole text.
fn syntax(error: &serde_json::Error, from: Option<Place>) -> Problem {
    let place = match from {
        _ if error.line() == 0 => from,
        Some(from) if error.line() == 1 => {
            Some(Place { line: from.line, column: from.column + (error.column() as u64).saturating_sub(1) })
        }
        Some(from) => {
            Some(Place { line: from.line + error.line() as u64 - 1, column: error.column() as u64 })
        }
        None => Some(Place { line: error.line() as u64, column: error.column() as u64 }),
    };
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    Problem::new(place, None, text)
}

fn from_json(text: &str, problems: &mut Vec<Problem>) -> Option<WorkflowSketch> {
    let entries = match serde_json::from_str::<Entries<'_>>(text) {
        Ok(Entries(entries)) => entries,
        Err(error) => {
            let mut problem = syntax(&error, None);
            if !text.trim_start().starts_with('{') {
                problem = problem.hint("a workflow is an object with `steps`; name a YAML file .yaml");
            }
            problems.push(problem);
            return None;
        }
    };
    let mut places = Places::new(text);
    let mut top = Vec::new();
    let mut steps = None;
    for (name, raw) in entries {
        let place = places.locate(raw.get());
        if name != "steps" {
            // Cannot fail: the raw value was parsed before.
            let value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
            top.push(Field { name, value, place });
            continue;
        }
        if steps.is_some() {
            problems.push(Problem::new(Some(place), None, "the key `steps` is given twice"));
        }
        match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(all) if all.len() > MAX_STEPS => problems.push(too_many(place)),
            Ok(all) => {
                let read = all.into_iter().filter_map(|raw| step_of_json(raw.get(), &mut places, problems));
                steps = Some(read.collect());
            }
            Err(error) => problems.push(syntax(&error, Some(place)).hint("`steps` is a list of objects")),
        }
    }
    Some(build_sketch(top, steps, problems))
}

fn step_of_json(text: &str, places: &mut Places<'_>, problems: &mut Vec<Problem>) -> Option<Sketch> {
    let place = places.locate(text);
    let entries = match serde_json::from_str::<Entries<'_>>(text) {
        Ok(Entries(entries)) => entries,
        Err(error) => {
            problems.push(syntax(&error, Some(place)).hint("a step is an object with an `id`"));
            return None;
        }
    };
    let fields = entries.into_iter().map(|(name, raw)| {
        let value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
        Field { name, value, place: places.locate(raw.get()) }
    });
    sketch(place, fields.collect(), problems)
}

/// Parses a step from the record.
pub(crate) fn sketch_of(text: &str, problems: &mut Vec<Problem>) -> Option<Sketch> {
    step_of_json(text, &mut Places::new(text), problems)
}

fn from_yaml(text: &str, problems: &mut Vec<Problem>) -> Option<WorkflowSketch> {
    type Fields = Spanned<Object>;
    let place = |location: serde_saphyr::Location| Place { line: location.line(), column: location.column() };
    let whole: Vec<(Spanned<String>, Spanned<Value>)> = match parse_yaml::<Object>(text) {
        Ok(whole) => whole.0,
        Err(error) => {
            let at = error.location().map(place);
            let text = error.without_snippet().to_string();
            problems.push(Problem::new(at, None, marvin_base::truncate::line(&text, 300)));
            return None;
        }
    };
    let mut top = Vec::new();
    let mut steps = None;
    for (name, value) in whole {
        let here = place(name.referenced);
        if name.value == "steps" {
            steps = Some((here, value.value));
        } else {
            top.push(Field { name: name.value, value: value.value, place: here });
        }
    }
    let Some((here, list)) = steps else { return Some(build_sketch(top, None, problems)) };
    let Value::Array(values) = list else {
        problems.push(
            Problem::new(Some(here), None, "`steps` is not a list").hint("`steps` is a list of objects"),
        );
        return Some(build_sketch(top, None, problems));
    };
    if values.len() > MAX_STEPS {
        problems.push(too_many(here));
        return Some(build_sketch(top, None, problems));
    }
    // A second pass, for the places inside the steps.
    #[derive(Deserialize)]
    struct SpannedSteps {
        #[serde(default)]
        steps: Vec<Fields>,
    }
    let placed: Vec<Fields> = parse_yaml::<SpannedSteps>(text).map(|placed| placed.steps).unwrap_or_default();
    if placed.len() != values.len() {
        problems.push(
            Problem::new(Some(here), None, "a step is not an object")
                .hint("a step is an object with an `id`"),
        );
        return None;
    }
    let steps = placed.into_iter().filter_map(|step| {
        let of = |(name, value): (Spanned<String>, Spanned<Value>)| Field {
            name: name.value,
            value: value.value,
            place: place(name.referenced),
        };
        let fields = step.value.0.into_iter().map(of).collect();
        sketch(place(step.referenced), fields, problems)
    });
    let steps: Vec<Sketch> = steps.collect();
    Some(build_sketch(top, Some(steps), problems))
}

/// Parses YAML by the core schema of YAML 1.2, where `no`, `off` and `y` are texts.
fn parse_yaml<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

/// Makes whole numbers of floats without a fraction: the parser gives `0755` as 755.0, and the core schema knows no octal
/// numbers that begin with a zero.
fn whole_numbers(value: &mut Value) {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| whole.abs() <= MAX_EXACT) {
                #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small enough")]
                let whole = whole as i64;
                *number = whole.into();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A YAML object with the place of each key and value.
struct Object(Vec<(Spanned<String>, Spanned<Value>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Object;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, mut value)) = map.next_entry::<Spanned<String>, Spanned<Value>>()? {
                    whole_numbers(&mut value.value);
                    entries.push((key, value));
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn too_many(place: Place) -> Problem {
    Problem::new(Some(place), None, format!("there are more than {MAX_STEPS} steps"))
}

fn unknown(field: &Field, step: Option<&str>, known: &[&str]) -> Problem {
    let name = marvin_base::truncate::line(&field.name, 60);
    let problem = Problem::new(Some(field.place), step, format!("unknown key `{name}`"));
    match nearest_of(&field.name, known.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("the keys are: {}", known.join(", "))),
    }
}

fn wrong(field: &Field, step: Option<&str>, expected: &str) -> Problem {
    Problem::new(Some(field.place), step, format!("`{}` must be {expected}", field.name))
}

fn build_sketch(top: Vec<Field>, steps: Option<Vec<Sketch>>, problems: &mut Vec<Problem>) -> WorkflowSketch {
    let mut workflow = WorkflowSketch { workflow_id: "workflow".into(), ..WorkflowSketch::default() };
    let mut seen: Vec<String> = Vec::new();
    for mut field in top {
        if seen.contains(&field.name) {
            problems.push(Problem::new(
                Some(field.place),
                None,
                format!("the key `{}` is given twice", field.name),
            ));
        }
        seen.push(field.name.clone());
        match (field.name.as_str(), field.value.take()) {
            ("workflow_id", Value::String(text)) if !text.is_empty() && text.len() <= MAX_ID_BYTES => {
                workflow.workflow_id = text;
            }
            ("workflow_id", _) => problems.push(wrong(&field, None, "a text of 1 to 128 bytes")),
            ("goal", Value::String(text)) if text.len() <= MAX_TEXT_BYTES => workflow.goal = text,
            ("goal", _) => problems.push(wrong(&field, None, "a text")),
            ("metadata", Value::Object(map)) => workflow.metadata = map,
            ("metadata", _) => problems.push(wrong(&field, None, "an object")),
            _ => problems.push(unknown(&field, None, &TOP)),
        }
    }
    match steps {
        Some(steps) if steps.is_empty() && problems.is_empty() => {
            problems
                .push(Problem::new(None, None, "it has no steps").hint("a workflow needs at least one step"));
        }
        None if problems.is_empty() => {
            problems
                .push(Problem::new(None, None, "it has no key `steps`").hint("`steps` is a list of objects"));
        }
        steps => workflow.steps = steps.unwrap_or_default(),
    }
    workflow
}

fn sketch(place: Place, fields: Vec<Field>, problems: &mut Vec<Problem>) -> Option<Sketch> {
    let id = fields.iter().find(|field| field.name == "id").and_then(|field| field.value.as_str());
    let Some(id) = id.map(str::to_string) else {
        problems.push(
            Problem::new(Some(place), None, "a step has no `id`").hint("every step has an `id`, a text"),
        );
        return None;
    };
    let mut sketch = Sketch { place: Some(place), ..Sketch::new(id.clone()) };
    let shown = marvin_base::truncate::line(&id, 80);
    let step = Some(shown.as_str());
    let mut seen: Vec<String> = Vec::new();
    for mut field in fields {
        if seen.contains(&field.name) {
            problems.push(Problem::new(
                Some(field.place),
                step,
                format!("the key `{}` is given twice", field.name),
            ));
        }
        seen.push(field.name.clone());
        let value = field.value.take();
        if let Some(expected) = set_key(&mut sketch, &field.name, value) {
            problems.push(match expected {
                "" => unknown(&field, step, &STEP),
                expected => wrong(&field, step, expected),
            });
        }
    }
    Some(sketch)
}

/// Sets one key of a step; returns what was expected if the value does not fit, and an empty text for an unknown key.
fn set_key(sketch: &mut Sketch, name: &str, value: Value) -> Option<&'static str> {
    let extras = &mut sketch.extras;
    match (name, value) {
        ("id", _) => {}
        ("name", Value::String(text)) if text.len() <= MAX_TEXT_BYTES => sketch.name = Some(text),
        ("name", _) => return Some("a text"),
        ("description", Value::String(text)) if text.len() <= MAX_TEXT_BYTES => sketch.description = text,
        ("description", _) => return Some("a text of at most a megabyte"),
        ("worker", Value::String(text)) if !text.is_empty() && text.len() <= MAX_ID_BYTES => {
            sketch.worker = text;
        }
        ("worker", _) => return Some("the name of a worker"),
        ("depends_on", Value::String(one)) => sketch.depends_on = vec![one],
        ("depends_on", value) => match serde_json::from_value(value) {
            Ok(names) => sketch.depends_on = names,
            Err(_) => return Some("a list of ids of steps"),
        },
        ("inputs", Value::Object(map)) => sketch.inputs = map,
        ("inputs", _) => return Some("an object"),
        ("inputs_schema", value) => sketch.inputs_schema = value,
        ("outputs_schema", value) => sketch.outputs_schema = value,
        ("timeout_s", value) => {
            match value.as_u64().filter(|seconds| (1..=MAX_STEP_TIMEOUT_SECS).contains(seconds)) {
                Some(seconds) => extras.timeout_s = Some(seconds),
                None => return Some("a whole number of seconds, 1 to 2592000"),
            }
        }
        ("commitments", value) => match serde_json::from_value(value) {
            Ok(all) => extras.commitments = all,
            Err(_) => return Some("a list of texts such as \"shell:pytest -q\""),
        },
        ("writes", Value::Bool(value)) => extras.writes = Some(value),
        ("repeatable", Value::Bool(value)) => extras.repeatable = Some(value),
        ("worktree", Value::Bool(value)) => extras.worktree = value,
        ("writes" | "repeatable" | "worktree", _) => return Some("true or false"),
        ("removes", value) => match serde_json::from_value(value) {
            Ok(paths) => extras.removes = paths,
            Err(_) => return Some("a list of paths"),
        },
        ("ladder", value) => match serde_json::from_value::<Vec<Strategy>>(value) {
            Ok(ladder) if ladder.len() <= 50 => extras.ladder = ladder,
            _ => return Some("a list of {\"strategy_id\", \"worker\", \"retrieval_stage\"}"),
        },
        ("max_attempts", value) => match value.as_u64().filter(|attempts| (1..=50).contains(attempts)) {
            Some(attempts) => extras.max_attempts = u32::try_from(attempts).ok(),
            None => return Some("a whole number, 1 to 50"),
        },
        ("poll", value) => match serde_json::from_value::<Poll>(value) {
            Ok(poll) if poll.is_bounded() => extras.poll = Some(poll),
            _ => return Some("{every: 5s, until: KIND:ASSERTION, max_attempts: 60}, 1 s to 1 h, 1 to 10000"),
        },
        _ => return Some(""),
    }
    None
}

/// Inputs as JSON text; empty if there are none.
pub(super) fn inputs_text(inputs: &Map<String, Value>) -> Box<str> {
    if inputs.is_empty() { "".into() } else { serde_json::to_string(inputs).unwrap_or_default().into() }
}
