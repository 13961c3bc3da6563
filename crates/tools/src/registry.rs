//! The tools on offer, and the one way to call them.
//!
//! [`Toolbox::call`] does, in this order: find the tool (or the nearest name), understand the arguments (or show a correct
//! call), put every intent to the gate, run the tool in a task of its own, and log the call where the settings ask for
//! it. Whatever happens, the model gets a sentence it can act on, and the record gets the verdict.

use crate::context::ToolContext;
use crate::result::{ToolError, ToolResult};
use crate::tool::{DynTool, Prepared};
use crate::{convert, files, log, notes, patch, run_command, search, tree, usage};
use jsonschema::error::ValidationErrorKind;
use marvin_base::settings::nearest_of;
use marvin_base::truncate;
use marvin_gate::{Access, Decision, Intent, Verdict, judge};
use marvin_model::{Arguments, ToolSpec};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Names that other houses use for the same tools.
const ALIASES: [(&str, &str); 4] = [
    ("file.read", files::READ_FILE),
    ("file.write", files::CREATE_FILE),
    ("patch.apply", patch::APPLY_PATCH),
    ("grep.search", search::CODE_GREP),
];

/// The rule that refuses a call nobody could understand: no such tool, or arguments that do not fit it.
pub const MISUNDERSTOOD: &str = "tool.arguments";

/// Which tools there are to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Conversation: notes, units, usage.
    Assistant,
    /// Work in a workspace: files, search and commands on top.
    Coding,
}

/// A call that was made, or refused.
#[derive(Debug, Clone)]
pub struct Called {
    /// The tool, by its own name; as the model wrote it when there is none.
    pub tool: String,
    /// What the gate said.
    pub verdict: Verdict,
    /// What came of it.
    pub result: ToolResult,
    /// Why the call could not be logged, if it could not.
    pub log_error: Option<String>,
}

struct Slot {
    tool: Arc<dyn DynTool>,
    schema: Value,
    /// Made at the first call: most tools of a turn are never called.
    validator: OnceLock<Option<jsonschema::Validator>>,
}

impl Slot {
    /// A schema of ours always compiles (a test sees to it); without a validator serde's checks remain.
    fn validator(&self) -> Option<&jsonschema::Validator> {
        self.validator.get_or_init(|| jsonschema::validator_for(&self.schema).ok()).as_ref()
    }
}

/// The tools on offer to one agent.
pub struct Toolbox {
    slots: BTreeMap<&'static str, Slot>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Toolbox").field(&self.names()).finish()
    }
}

impl Toolbox {
    /// The tools of a mode, less those that the access forbids.
    #[must_use]
    pub fn new(mode: Mode, access: &Access) -> Self {
        let mut tools: Vec<Arc<dyn DynTool>> = vec![
            Arc::new(convert::ConvertUnits),
            Arc::new(notes::ReadNote),
            Arc::new(notes::WriteNote),
            Arc::new(usage::GetUsage),
        ];
        if mode == Mode::Coding {
            tools.extend([
                Arc::new(files::ReadFile) as Arc<dyn DynTool>,
                Arc::new(files::CreateFile),
                Arc::new(files::AppendFile),
                Arc::new(patch::ApplyPatch),
                Arc::new(search::CodeGrep),
                Arc::new(tree::Tree),
                Arc::new(run_command::RunCommand),
            ]);
        }
        let mut toolbox = Toolbox { slots: BTreeMap::new() };
        for tool in tools.into_iter().filter(|tool| offered(tool.as_ref(), access)) {
            toolbox.add(tool);
        }
        toolbox
    }

    /// Adds a tool; one of the same name is replaced.
    pub fn add(&mut self, tool: Arc<dyn DynTool>) {
        let schema = tool.schema();
        self.slots.insert(tool.name(), Slot { tool, schema, validator: OnceLock::new() });
    }

    /// Names, in a stable order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.slots.keys().copied().collect()
    }

    /// The tools as a model is told of them, in a stable order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        let spec = |slot: &Slot| ToolSpec {
            name: slot.tool.name().to_string(),
            description: slot.tool.description().to_string(),
            parameters: slot.schema.clone(),
        };
        self.slots.values().map(spec).collect()
    }

    /// The schema of a tool's arguments.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.slot(name).ok().map(|slot| &slot.schema)
    }

    /// The tool of this name or alias.
    ///
    /// # Errors
    /// A sentence with the nearest name and all names.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn DynTool>, String> {
        self.slot(name).map(|slot| &slot.tool)
    }

    fn slot(&self, name: &str) -> Result<&Slot, String> {
        let name = name.trim();
        let canonical = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, tool)| tool);
        self.slots.get(canonical).ok_or_else(|| {
            let near = nearest_of(canonical, self.slots.keys().copied())
                .map(|near| format!(" Did you mean `{near}`?"))
                .unwrap_or_default();
            format!(
                "there is no tool `{}`.{near} The tools are: {}.",
                // A model may put anything into a name; half of a secret would not be recognised later.
                truncate::line(&truncate::head_whole(name, 80), 120),
                self.names().join(", ")
            )
        })
    }

    /// What the gate says about a call, without making it. Calls that cannot be understood are denied.
    #[must_use]
    pub fn judge(&self, name: &str, arguments: &Arguments, context: &ToolContext) -> Verdict {
        let prepared = self.slot(name).and_then(|slot| Ok((slot, prepare(slot, arguments, context)?)));
        match prepared {
            Ok((slot, prepared)) => verdict(slot, &prepared, context),
            Err(error) => misunderstood(&error, context),
        }
    }

    /// Makes a call. A verdict of ask means that it was not made; when a person agrees, use [`Toolbox::call_approved`].
    pub async fn call(&self, name: &str, arguments: &Arguments, context: &ToolContext) -> Called {
        self.call_with(name, arguments, context, false).await
    }

    /// Makes a call that a person approved: a verdict of ask no longer stops it, a denial does.
    pub async fn call_approved(&self, name: &str, arguments: &Arguments, context: &ToolContext) -> Called {
        self.call_with(name, arguments, context, true).await
    }

    async fn call_with(
        &self,
        name: &str,
        arguments: &Arguments,
        context: &ToolContext,
        approved: bool,
    ) -> Called {
        let started = Instant::now();
        let mut called = match self.slot(name) {
            Err(error) => refused(name, &error, context),
            Ok(slot) => match prepare(slot, arguments, context) {
                Err(error) => refused(slot.tool.name(), &error, context),
                Ok(prepared) => {
                    let verdict = verdict(slot, &prepared, context);
                    let result = if verdict.is_allowed() || (approved && verdict.decision == Decision::Ask) {
                        start(slot.tool.as_ref(), prepared, context).await
                    } else {
                        ToolResult::failed(verdict.for_model(), 0)
                    };
                    Called { tool: slot.tool.name().to_string(), verdict, result, log_error: None }
                }
            },
        };
        called.result.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        // The log redacts for itself, before it cuts.
        called.log_error = log::append(&called.tool, arguments, &called.result, context);
        called.result.redact(&context.redactor);
        called
    }
}

/// Is the tool on offer under this access?
fn offered(tool: &dyn DynTool, access: &Access) -> bool {
    let touches = tool.touches();
    match access {
        Access::Full => true,
        Access::Readonly => !touches.writes && !touches.executes,
        // Notes are not on the list of files, whatever the list says.
        Access::WritableFiles(_) => !touches.executes && tool.name() != notes::WRITE_NOTE,
    }
}

fn verdict(slot: &Slot, prepared: &Prepared, context: &ToolContext) -> Verdict {
    let circumstances = context.gate();
    let tool = Intent::Tool { name: slot.tool.name().to_string(), touches: slot.tool.touches() };
    let verdicts = prepared.intents.iter().map(|intent| judge(intent, &circumstances));
    // The first of the intents says more than that the tool is offered.
    match verdicts.reduce(Verdict::strictest) {
        None => judge(&tool, &circumstances),
        Some(strictest) => match judge(&tool, &circumstances) {
            offered if offered.is_allowed() => strictest,
            not_offered => not_offered,
        },
    }
}

fn misunderstood(error: &str, context: &ToolContext) -> Verdict {
    // Redacted before it is cut: half of a secret is not recognised.
    let reason = truncate::line(&context.redactor.text(error), 300);
    Verdict::deny(MISUNDERSTOOD, reason, "Send the call again in the correct form.")
}

fn refused(tool: &str, error: &str, context: &ToolContext) -> Called {
    Called {
        tool: tool.to_string(),
        verdict: misunderstood(error, context),
        result: ToolResult::failed(error, 0),
        log_error: None,
    }
}

/// Runs the tool in a task of its own, so that a panic is an error and not the end.
async fn start(tool: &dyn DynTool, prepared: Prepared, context: &ToolContext) -> ToolResult {
    let task = AbortOnDropHandle::new(tokio::spawn((prepared.start)(context.clone())));
    match task.await {
        Ok(Ok(output)) => ToolResult::from_output(output, 0),
        Ok(Err(ToolError::Usage(error))) => ToolResult::failed(with_example(tool, &error), 0),
        Ok(Err(error)) => ToolResult::failed(error.to_string(), 0),
        Err(_) => ToolResult::failed(
            format!(
                "{} failed inside; this is a fault of the tool, not of the call. Try another way.",
                tool.name()
            ),
            0,
        ),
    }
}

fn with_example(tool: &dyn DynTool, error: &str) -> String {
    format!("{error}\nA correct call of {}: {}", tool.name(), tool.example())
}

/// Understands the arguments, or says what is wrong and shows a correct call.
fn prepare(slot: &Slot, arguments: &Arguments, context: &ToolContext) -> Result<Prepared, String> {
    let tool = slot.tool.as_ref();
    let map = match arguments {
        Arguments::Object(map) => map.clone(),
        Arguments::Patch(text) if tool.name() == patch::APPLY_PATCH => {
            Map::from_iter([("patch".to_string(), Value::String(text.clone()))])
        }
        Arguments::Patch(_) => {
            return Err(with_example(
                tool,
                &format!("{} takes a JSON object, but a patch came; patches go to apply_patch.", tool.name()),
            ));
        }
        Arguments::Unreadable(text) => {
            return Err(with_example(
                tool,
                &format!(
                    "the arguments of {} must be one JSON object, but this came: {}",
                    tool.name(),
                    truncate::line(&context.redactor.text(text), 200)
                ),
            ));
        }
    };
    let value = Value::Object(tidy(slot, map));
    let errors: Vec<String> = slot
        .validator()
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

/// Renames known other names of fields, drops nulls in fields that need not be there, and reads values of another type
/// where nothing is lost by it (`"3"` for 3).
fn tidy(slot: &Slot, map: Map<String, Value>) -> Map<String, Value> {
    let required = slot.schema.get("required").and_then(Value::as_array);
    let needed = |key: &str| required.is_some_and(|list| list.iter().any(|entry| entry == key));
    let mut tidy = Map::new();
    for (key, value) in map {
        let right =
            slot.tool.fields().iter().find(|(other, _)| *other == key).map(|(_, right)| (*right).to_string());
        let key = right.unwrap_or(key);
        if !value.is_null() || needed(&key) {
            let kind = slot.schema.get("properties").and_then(|all| all.get(&key)?.get("type")?.as_str());
            let value = kind.and_then(|kind| coerced(&value, kind)).unwrap_or(value);
            tidy.insert(key, value);
        }
    }
    tidy
}

/// The value as the schema's type, when it says the same thing; `None` when it is of that type already, or says more.
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
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let describe = |name: &String| {
                let near = nearest_of(name, known()).map(|near| format!(" (did you mean `{near}`?)"));
                format!("there is no field `{}`{}", short(name, 60), near.unwrap_or_default())
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
