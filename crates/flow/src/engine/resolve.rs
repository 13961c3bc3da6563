//! Inputs of a step, with references replaced by outputs of earlier steps.

use crate::machine::Problem;
use crate::record::{Data, Record, RecordError};
use crate::spec::{Reference, Step};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Depth to which inputs are searched for references.
const MAX_NESTING: usize = 32;

/// Why inputs cannot be resolved.
pub(crate) enum ResolveError {
    Record(RecordError),
    /// A step has no such output.
    Missing(String),
}

/// Resolved inputs, or why they are invalid.
pub(crate) enum Inputs {
    Valid(Map<String, Value>),
    Invalid(Problem),
}

impl Inputs {
    pub(crate) fn invalid(error: String) -> Self {
        Inputs::Invalid(Problem { error, code: "inputs".into() })
    }

    /// Adds the answer of a person and checks the inputs against their schema.
    pub(crate) fn check(step: &Step, mut inputs: Map<String, Value>, answer: Option<Value>) -> Self {
        if let Some(answer) = answer {
            inputs.insert("answer".into(), answer);
        }
        let value = Value::Object(inputs);
        let complaint = step.inputs_schema.as_ref().and_then(|schema| schema.complaint(&value));
        match (complaint, value) {
            (Some(why), _) => Inputs::invalid(format!("its inputs do not match its inputs_schema: {why}")),
            (None, Value::Object(inputs)) => Inputs::Valid(inputs),
            (None, _) => Inputs::Valid(Map::new()),
        }
    }

    /// Checks the inputs of an echo step against the schema of its outputs too.
    pub(crate) fn check_echo(self, step: &Step) -> Self {
        let Inputs::Valid(inputs) = self else { return self };
        let value = Value::Object(inputs);
        let complaint = step.outputs_schema.as_ref().and_then(|schema| schema.complaint(&value));
        match (complaint, value) {
            (Some(why), _) => {
                let error = format!("its outputs do not match its outputs_schema: {why}");
                Inputs::Invalid(Problem { error, code: "outputs".into() })
            }
            (None, Value::Object(inputs)) => Inputs::Valid(inputs),
            (None, _) => Inputs::Valid(Map::new()),
        }
    }
}

/// Outputs of earlier steps by the id of the step.
pub(crate) trait OutputSource {
    fn load_step(&mut self, step: &str) -> Result<&Value, ResolveError>;
}

/// Outputs of steps in a record, read on demand.
pub(super) struct Outputs<'a> {
    pub(super) record: &'a Record,
    /// Finds the transition with the outputs of a step.
    pub(super) place: &'a dyn Fn(&str) -> Option<i64>,
    known: BTreeMap<String, Value>,
}

impl<'a> Outputs<'a> {
    pub(super) fn new(record: &'a Record, place: &'a dyn Fn(&str) -> Option<i64>) -> Self {
        Outputs { record, place, known: BTreeMap::new() }
    }
}

impl OutputSource for Outputs<'_> {
    fn load_step(&mut self, step: &str) -> Result<&Value, ResolveError> {
        if !self.known.contains_key(step) {
            let place = (self.place)(step).unwrap_or(0);
            let text = if place > 0 {
                self.record.data(place).map_err(ResolveError::Record)?
            } else {
                String::new()
            };
            let outputs = Data::parse(&text).outputs.unwrap_or_default();
            self.known.insert(step.to_string(), Value::Object(outputs));
        }
        Ok(self.known.get(step).unwrap_or(&Value::Null))
    }
}

pub(crate) fn inputs(
    step: &Step,
    outputs: &mut dyn OutputSource,
) -> Result<Map<String, Value>, ResolveError> {
    let mut inputs = step.inputs();
    if step.refers {
        for value in inputs.values_mut() {
            resolve(value, outputs, 0)?;
        }
    }
    Ok(inputs)
}

fn resolve(value: &mut Value, outputs: &mut dyn OutputSource, depth: usize) -> Result<(), ResolveError> {
    if depth > MAX_NESTING {
        return Ok(());
    }
    if let Some(reference) = Reference::parse(value) {
        let mut found = outputs.load_step(reference.step)?;
        for key in &reference.keys {
            let next = match found {
                Value::Array(list) => key.parse::<usize>().ok().and_then(|at| list.get(at)),
                other => other.get(key),
            };
            found = next.ok_or_else(|| {
                let whole = reference.keys.join(".");
                ResolveError::Missing(format!("`{}` has no output `{whole}`", reference.step))
            })?;
        }
        *value = found.clone();
        return Ok(());
    }
    match value {
        Value::Array(list) => list.iter_mut().try_for_each(|value| resolve(value, outputs, depth + 1)),
        Value::Object(map) => map.values_mut().try_for_each(|value| resolve(value, outputs, depth + 1)),
        _ => Ok(()),
    }
}
