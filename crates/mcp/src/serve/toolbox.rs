//! The selection of tools to serve.

use marvin_agent::ProjectContext;
use marvin_agent::commitments::Source;
use marvin_agent::commitments::tools::Keeper;
use marvin_agent::recall;
use marvin_agent::servitors::{self, Servitors};
use marvin_base::settings::{nearest_of, table};
use marvin_flow::tools::Workflows;
use marvin_gate::Access;
use marvin_tools::explain::GateExplain;
use marvin_tools::{Mode, Toolbox};
use std::sync::Arc;

/// The word for every tool there is.
pub const ALL: &str = "all";

/// The word for the tools of games of Magic.
const GAMES: &str = "mtg";

/// Tools that are served by default: those that a program with file tools and commands of its own lacks. Those that this
/// build does not have are left out.
pub const SERVED: [&str; 14] = [
    "gate_explain",
    "add_commitment",
    "list_commitments",
    "verify",
    "summon_servitor",
    "dismiss_servitor",
    "list_servitors",
    "message_servitor",
    "wait_for_servitor",
    "memory_query",
    "memory_propose",
    "workflow_check",
    "workflow_run",
    "workflow_status",
];

/// A name that is not that of a tool to serve.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` is not a tool to serve{near}\n  hint: `marvin tools list` shows tools; `--tools all` serves every one"
)]
pub struct UnknownTool {
    name: String,
    near: String,
}

/// The tools to serve, with the servitors and workflow runs that some of them manage.
#[derive(Debug)]
pub struct Offer {
    pub toolbox: Toolbox,
    pub servitors: Arc<Servitors>,
    pub workflows: Arc<Workflows>,
}

/// The tools to serve: the default ones, these, or all of them; none that this process may not use.
///
/// # Errors
/// When a name is not that of a tool.
pub fn toolbox(context: &ProjectContext, names: &[String]) -> Result<Offer, UnknownTool> {
    let access = Access::from_settings(&context.settings);
    let mut toolbox = Toolbox::new(Mode::Coding, &access);
    toolbox.add_assistant_tools(&access);
    let shared = Arc::new(context.clone());
    let servitors = Servitors::new(shared.clone(), "marvin mcp");
    let workflows = Workflows::new(shared.clone());
    let mut tools = Keeper::new(shared.clone(), None, Source::Agent).tools();
    tools.push(Arc::new(GateExplain));
    tools.extend(recall::tools(&shared));
    tools.extend(marvin_table::tools(&shared));
    // Sub-agents do not delegate, and servitors and workflows need a project.
    if context.workspace.is_some() && context.settings.whole(&table::DEPTH) == 0 {
        tools.extend(servitors::tools::all(&Arc::downgrade(&servitors)));
        tools.extend(workflows.tools());
    }
    for tool in tools.into_iter().filter(|tool| access.offers(tool.touches())) {
        toolbox.add(tool);
    }
    match names {
        [] => toolbox.keep(&SERVED.map(str::to_string)),
        [all] if all == ALL => {}
        names => {
            let expand = |name: &String| match name.as_str() {
                GAMES => marvin_table::GAME_TOOLS.map(str::to_string).to_vec(),
                _ => vec![name.clone()],
            };
            let names: Vec<String> = names.iter().flat_map(expand).collect();
            for name in &names {
                if !toolbox.names().contains(&name.as_str()) {
                    let near = nearest_of(name, toolbox.names().into_iter());
                    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    return Err(UnknownTool { name: name.clone(), near });
                }
            }
            toolbox.keep(&names);
        }
    }
    Ok(Offer { toolbox, servitors, workflows })
}
