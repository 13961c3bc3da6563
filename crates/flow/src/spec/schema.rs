//! JSON Schemas of inputs and outputs, compiled once and shared by steps.

use jsonschema::{ValidationError, Validator};
use serde_json::Value;
use std::fmt;

/// Errors that are reported for one value.
const MAX_SCHEMA_ERRORS: usize = 3;

/// A compiled schema.
pub struct Schema {
    /// The source of the schema.
    pub value: Value,
    validator: Validator,
}

/// Why a value is not a schema.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("a schema is an object, such as {{\"type\": \"object\"}}")]
    NotAnObject,
    #[error(transparent)]
    Invalid(#[from] Box<ValidationError<'static>>),
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Schema").field(&self.value).finish()
    }
}

impl Schema {
    /// Compiles a schema; none for an empty one, which accepts everything.
    pub(crate) fn new(value: Value) -> Result<Option<Self>, SchemaError> {
        match &value {
            Value::Object(map) if map.is_empty() => return Ok(None),
            Value::Null => return Ok(None),
            Value::Object(_) | Value::Bool(_) => {}
            _ => return Err(SchemaError::NotAnObject),
        }
        let validator = jsonschema::validator_for(&value).map_err(Box::new)?;
        Ok(Some(Schema { value, validator }))
    }

    /// What is wrong with a value; none if it matches.
    #[must_use]
    pub fn complaint(&self, value: &Value) -> Option<String> {
        let complaints: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MAX_SCHEMA_ERRORS)
            .map(|error| {
                let place = error.instance_path().to_string();
                let text = marvin_base::truncate::line(&error.to_string(), 200);
                if place.is_empty() { text } else { format!("{place}: {text}") }
            })
            .collect();
        (!complaints.is_empty()).then(|| complaints.join("; "))
    }
}
