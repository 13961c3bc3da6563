//! Parsing of a model's arguments: other names, other types, and errors for the rest.

use crate::context::ToolContext;
use crate::patch;
use crate::result::ToolError;
use crate::tool::{DynTool, PreparedCall};
use jsonschema::error::ValidationErrorKind;
use marvin_base::settings::nearest_of;
use marvin_base::truncate;
use marvin_model::{Arguments, Parameters};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// A tool with the schema of its arguments.
pub(super) struct Slot {
    pub(super) tool: Arc<dyn DynTool>,
    pub(super) schema: Parameters,
    /// Compiled at the first call: most tools of a turn are never called.
    validator: OnceLock<Option<jsonschema::Validator>>,
}

impl Slot {
    pub(super) fn new(tool: Arc<dyn DynTool>) -> Self {
        let described = tool.clone();
        Slot { schema: Parameters::lazy(move || described.schema()), tool, validator: OnceLock::new() }
    }

    /// The compiled schema. Marvin's own always compile, by test; without one, serde's checks remain.
    fn validator(&self) -> Option<&jsonschema::Validator> {
        self.validator.get_or_init(|| jsonschema::validator_for(&self.schema).ok()).as_ref()
    }
}

/// A usage error with a correct call.
pub(super) fn with_example(tool: &dyn DynTool, error: &str) -> ToolError {
    ToolError::Usage(format!("{error}\nA correct call of {}: {}", tool.name(), tool.example()))
}

/// Parses the arguments; the error says what is wrong and shows a correct call.
pub(super) fn prepare(
    slot: &Slot,
    arguments: &Arguments,
    context: &ToolContext,
) -> Result<PreparedCall, ToolError> {
    let tool = slot.tool.as_ref();
    let map = match arguments {
        Arguments::Object(map) => map.clone(),
        Arguments::Patch(text) if tool.name() == patch::APPLY_PATCH => {
            Map::from_iter([("patch".to_string(), Value::String(text.clone()))])
        }
        Arguments::Patch(_) => {
            return Err(with_example(
                tool,
                &format!("{} takes a JSON object, not a patch; patches go to apply_patch.", tool.name()),
            ));
        }
        Arguments::Unreadable(text) => {
            return Err(with_example(
                tool,
                &format!(
                    "the arguments of {} must be one JSON object, not: {}",
                    tool.name(),
                    truncate::line(&context.redactor.text(text), 200)
                ),
            ));
        }
    };
    let value = Value::Object(tidy(slot, map));
    // Most arguments are valid, and checking that is much cheaper than listing errors.
    let errors: Vec<String> = slot
        .validator()
        .filter(|validator| !validator.is_valid(&value))
        .into_iter()
        .flat_map(|validator| validator.iter_errors(&value))
        .take(5)
        .map(|error| explain(slot, &error, context))
        .collect();
    if !errors.is_empty() {
        return Err(with_example(
            tool,
            &format!("the arguments of {} are wrong: {}.", tool.name(), errors.join("; ")),
        ));
    }
    let Value::Object(map) = value else { return Err(with_example(tool, "not an object")) };
    tool.prepare(map, context)
        .map_err(|error| with_example(tool, &format!("the arguments of {} are wrong: {error}.", tool.name())))
}

/// Renames known aliases of fields, drops nulls of optional fields, and converts values of another type where nothing is
/// lost (`"3"` for 3).
fn tidy(slot: &Slot, map: Map<String, Value>) -> Map<String, Value> {
    let properties = slot.schema.get("properties");
    let kind = |key: &str| properties.and_then(|all| all.get(key)?.get("type")?.as_str());
    let right = |key: &str| slot.tool.fields().iter().find(|(other, _)| *other == key);
    // Most arguments are tidy already.
    let is_tidy = |(key, value): (&String, &Value)| {
        let settled = match value {
            Value::Null => false,
            Value::String(_) => kind(key) == Some("string"),
            Value::Number(number) => !number.is_f64(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
        };
        settled && right(key).is_none()
    };
    if map.iter().all(is_tidy) {
        return map;
    }
    let required = slot.schema.get("required").and_then(Value::as_array);
    let needed = |key: &str| required.is_some_and(|list| list.iter().any(|entry| entry == key));
    let mut tidy = Map::new();
    for (key, value) in map {
        let key = right(&key).map(|(_, right)| (*right).to_string()).unwrap_or(key);
        if !value.is_null() || needed(&key) {
            let value = kind(&key).and_then(|kind| coerced(&value, kind)).unwrap_or(value);
            tidy.insert(key, value);
        }
    }
    tidy
}

/// Converts a value to the schema's type; `None` when it has that type already or would lose something.
fn coerced(value: &Value, kind: &str) -> Option<Value> {
    /// Beyond this a float no longer tells whole numbers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: f64| {
        let exact = number.fract() == 0.0 && number.abs() < EXACT;
        exact.then(|| format!("{number:.0}").parse::<i64>().ok()).flatten().map(Value::from)
    };
    match (kind, value) {
        ("integer", Value::String(text)) => {
            let text = text.trim();
            let number = text.parse::<i64>().ok().map(Value::from);
            number.or_else(|| text.parse::<f64>().ok().and_then(whole))
        }
        ("integer", Value::Number(number)) if number.is_f64() => number.as_f64().and_then(whole),
        ("number", Value::String(text)) => {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
            whole(number).or_else(|| serde_json::Number::from_f64(number).map(Value::Number))
        }
        ("boolean", Value::String(text)) => {
            text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::from)
        }
        _ => None,
    }
}

/// One finding of the validator in plain words.
fn explain(slot: &Slot, error: &jsonschema::ValidationError<'_>, context: &ToolContext) -> String {
    let short = |text: &str, limit| truncate::line(&context.redactor.text(text), limit);
    let place = error.instance_path().to_string();
    let field = place.trim_start_matches('/').replace('/', ".");
    let properties = slot.schema.get("properties").and_then(Value::as_object);
    let known = || properties.into_iter().flat_map(Map::keys).map(String::as_str);
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("the field `{}` is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Enum { options } => {
            let words: Vec<&str> =
                options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let given = error.instance().as_str().unwrap_or_default();
            let near =
                nearest_of(given, words.iter().copied()).map(|near| format!(" (did you mean `{near}`?)"));
            format!(
                "the field `{field}` cannot be `{}`{}; it is one of {}",
                short(given, 60),
                near.unwrap_or_default(),
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            )
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let describe = |name: &String| {
                let near = nearest_of(name, known()).map(|near| format!(" (did you mean `{near}`?)"));
                format!("the field `{}` does not exist{}", short(name, 60), near.unwrap_or_default())
            };
            format!(
                "{}; the fields are {}",
                unexpected.iter().map(describe).collect::<Vec<_>>().join(", "),
                known().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            )
        }
        _ if field.is_empty() => short(&error.to_string(), 200),
        _ => format!("the field `{field}`: {}", short(&error.to_string(), 200)),
    }
}
