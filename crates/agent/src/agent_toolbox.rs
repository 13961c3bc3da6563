//! The tools of a session's own agent: those of the mode, external ones, servitors, commitments and sub-agents.
//!
//! Whatever lists tools (`/tools`, `marvin tools list`, completion, prompts) asks here, so that a listing and a turn agree.

use crate::launch::{self, Launcher};
use crate::person_tools::{self, SessionChanges};
use crate::project_context::ProjectContext;
use crate::roles::Role;
use crate::servitors::{self, Servitors};
use marvin_base::settings::table;
use marvin_gate::Access;
use marvin_tools::turbotime::Selection;
use marvin_tools::{Mode, Toolbox};
use std::sync::Arc;

/// Tools for a listing: they can be described, not all of them called.
#[must_use]
pub fn agent_toolbox(project: &ProjectContext, access: &Access) -> Toolbox {
    let project = Arc::new(project.clone());
    live_toolbox(&project, &Servitors::new(project.clone(), ""), None, None, access, &Arc::default())
}

/// Tools of a turn: they reach these servitors and start sub-agents by this launcher.
pub(crate) fn live_toolbox(
    project: &Arc<ProjectContext>,
    servitors: &Arc<Servitors>,
    turbotime: Option<&Selection>,
    launcher: Option<&Arc<Launcher>>,
    access: &Access,
    changes: &Arc<SessionChanges>,
) -> Toolbox {
    let mode = if project.coding { Mode::Coding } else { Mode::Assistant };
    let mut toolbox = project.toolbox(mode, access);
    if serves_a_person(project) {
        toolbox.add_assistant_tools(access);
        person_tools::add(&mut toolbox, access, changes);
    }
    servitors::add_tools(&mut toolbox, project, servitors, access);
    turbotime.map(Selection::tools).unwrap_or_default().into_iter().for_each(|tool| toolbox.add(tool));
    if project.coding {
        launch::add(&mut toolbox, access, launcher);
    }
    toolbox
}

/// Whether the agent talks with a person, and so has the tools of an assistant: not a sub-agent, and no role of its own.
fn serves_a_person(project: &ProjectContext) -> bool {
    let role = project.settings.given(&table::ROLE).and_then(|name| Role::find(name).ok());
    project.settings.whole(&table::DEPTH) == 0 && matches!(role, None | Some(Role::Chat | Role::Coder))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_model::ToolSpec;

    /// Every tool of a session's agent with full access, in a project.
    pub(crate) fn every_tool() -> Vec<ToolSpec> {
        let place = tempfile::tempdir().unwrap();
        let (home, root) = (place.path().join("home"), place.path().join("project"));
        for directory in [&home, &root] {
            std::fs::create_dir(directory).unwrap();
        }
        let environment = Environment::from_iter([("HOME", home.to_str().unwrap())]);
        let project = ProjectContext::find(environment, root.clone(), Some(&root), true, Vec::new()).unwrap();
        agent_toolbox(&project, &Access::Full).specs()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;
    use std::collections::BTreeMap;

    /// Parameters that may be left out although the contract requires them: (tool, parameter).
    const DIFFERENCES: [(&str, &str); 6] = [
        // A patch of several files has no path of its own.
        ("apply_patch", "path"),
        // Without a path the root of the repository is listed.
        ("github_read_file", "path"),
        // The tool answers with guidance instead of a validator's error.
        ("git_checkout", "target"),
        ("git_commit", "message"),
        ("install_packages", "packages"),
        ("write_note", "content"),
    ];

    #[derive(Debug, Deserialize)]
    struct Facts {
        tool: Vec<ToolFacts>,
    }

    #[derive(Debug, Deserialize)]
    struct ToolFacts {
        name: String,
        #[serde(rename = "family")]
        _family: String,
        parameters: Vec<ParameterFacts>,
    }

    #[derive(Debug, Deserialize)]
    struct ParameterFacts {
        name: String,
        #[serde(rename = "type")]
        kind: String,
        default: Option<Value>,
        #[serde(default)]
        optional: bool,
    }

    /// The same with every number as a float, so that 1 and 1.0 are equal.
    fn with_floats(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(with_floats).collect(),
            Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
            other => other.clone(),
        }
    }

    /// The differences of a schema from the facts.
    fn differences(facts: &ToolFacts, schema: &Value) -> Vec<String> {
        let properties = schema["properties"].as_object().unwrap();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut wrong = Vec::new();
        let mut wanted = facts.parameters.iter().map(|parameter| parameter.name.as_str()).peekable();
        for name in properties.keys() {
            wanted.next_if(|wanted| wanted == name);
        }
        if let Some(name) = wanted.peek() {
            wrong.push(format!(
                "{}: `{name}` is missing or out of order in {:?}",
                facts.name,
                properties.keys()
            ));
        }
        for parameter in &facts.parameters {
            let Some(property) = properties.get(&parameter.name) else { continue };
            if DIFFERENCES.contains(&(&facts.name, &parameter.name)) {
                continue;
            }
            let is_required = required.contains(&parameter.name.as_str());
            let default = property.get("default").map(with_floats);
            let expected = parameter.default.as_ref().map(with_floats);
            if property["type"] != parameter.kind.as_str() {
                wrong.push(format!("{}.{}: type {}", facts.name, parameter.name, property["type"]));
            }
            if is_required != (parameter.default.is_none() && !parameter.optional) {
                wrong.push(format!("{}.{}: required {is_required}", facts.name, parameter.name));
            }
            if expected.is_some() && default.is_some() && default != expected {
                wrong.push(format!("{}.{}: default {default:?}", facts.name, parameter.name));
            }
        }
        wrong
    }

    #[test]
    fn tools_have_the_parameters_of_the_contract() {
        let facts: Facts = toml::from_str(include_str!("../data/contract_tools.toml")).unwrap();
        assert_eq!(facts.tool.len(), 116);
        let all: BTreeMap<String, Value> = super::testing::every_tool()
            .into_iter()
            .map(|spec| (spec.name, Value::clone(&spec.parameters)))
            .collect();
        let absent: Vec<&str> = facts
            .tool
            .iter()
            .map(|tool| tool.name.as_str())
            .filter(|name| !all.contains_key(*name))
            .collect();
        assert_eq!(absent, Vec::<&str>::new(), "tools of the contract that do not exist");
        let wrong: Vec<String> = facts
            .tool
            .iter()
            .filter_map(|tool| Some((tool, all.get(&tool.name)?)))
            .flat_map(|(tool, schema)| differences(tool, schema))
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }
}
