//! `marvin tools`: list them, explain one, call one as an agent would: judged and recorded.

use crate::cli::ToolsCommand;
use crate::commands::{cancel_on_signal, directory, ground, runtime};
use crate::failure::Failure;
use crate::output;
use marvin_agent::servitors::{self, Servitors};
use marvin_agent::tool_caller::record_call;
use marvin_agent::{ProjectContext, launch};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_gate::Access;
use marvin_model::{Arguments, ToolCall};
use marvin_tools::{Mode, Toolbox};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Runs one of the tool commands.
pub(super) fn run(command: ToolsCommand) -> Result<Exit, Failure> {
    match command {
        ToolsCommand::List { json } => list(json),
        ToolsCommand::Schema { name, result, .. } => schema(&name, result),
        ToolsCommand::Call { name, args, working_dir, json } => {
            call(&name, &args, working_dir.as_deref(), json)
        }
    }
}

/// Every tool that an agent with this access has, to be looked at.
fn offered(ground: ProjectContext, access: &Access) -> Toolbox {
    let mut toolbox = Toolbox::new(Mode::Coding, access);
    launch::add(&mut toolbox, access, None);
    let ground = Arc::new(ground);
    servitors::add_tools(&mut toolbox, &ground, &Servitors::new(ground.clone(), ""), access);
    toolbox
}

/// What an agent would be offered here: the access of this process counts.
fn list(as_json: bool) -> Result<Exit, Failure> {
    let ground = ground(true)?;
    let access = Access::from_settings(&ground.settings);
    let toolbox = offered(ground, &access);
    if as_json {
        return output::json(&json!(toolbox.specs()));
    }
    let width = toolbox.names().iter().map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for spec in toolbox.specs() {
        let first = spec.description.split(['.', '\n']).next().unwrap_or_default().to_string();
        text.push_str(&format!("{:width$}  {first}\n", spec.name));
    }
    output::line(&text)
}

fn schema(name: &str, result: bool) -> Result<Exit, Failure> {
    let toolbox = offered(ground(true)?, &Access::Full);
    let tool = toolbox.find(name).map_err(Failure::usage)?;
    output::line(&format!("{:#}", if result { tool.data_schema() } else { tool.schema() }))
}

fn call(name: &str, args: &str, working_dir: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let arguments = Arguments::from_text(args);
    if let Arguments::Unreadable(_) = arguments {
        return Err(Failure::usage(format!(
            "--args is not a JSON object: {}\n  hint: --args '{{\"path\":\"a.txt\"}}'",
            marvin_base::truncate::line(args, 80)
        )));
    }
    let ground =
        ProjectContext::find(Environment::of_process(), directory()?, working_dir, true, Vec::new())?;
    offered(ground.clone(), &Access::Full).find(name).map_err(Failure::usage)?;
    runtime()?.block_on(async {
        let call = ToolCall { id: "call_1".into(), name: name.to_string(), arguments, opaque: None };
        let cancel = cancel_on_signal();
        let called = record_call(&ground, &call, cancel.clone()).await?;
        let mut shown = json!({"tool": called.tool, "verdict": called.verdict});
        if let (Some(map), Value::Object(record)) = (shown.as_object_mut(), called.record.clone()) {
            map.extend(record);
        }
        ground.redactor.value(&mut shown);
        let exit = match (called.ok, called.verdict.is_allowed()) {
            (true, _) => Exit::Success,
            (false, _) if cancel.is_cancelled() => Exit::Interrupted,
            (false, true) => Exit::Failed,
            (false, false) if called.verdict.rule == marvin_tools::MISUNDERSTOOD => Exit::Usage,
            (false, false) => Exit::Refused,
        };
        if as_json {
            output::json(&shown)?;
        } else if called.ok {
            output::line(&ground.redactor.text(&called.text))?;
        } else {
            output::error(&ground.redactor.text(&called.text));
        }
        Ok(exit)
    })
}
