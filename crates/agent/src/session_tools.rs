//! Names of the tools that a session adds to the toolbox. A module of its own, so that whatever checks names depends on no tool.

/// Commitments, sub-agents, servitors, skills, and the conversation itself.
pub(crate) const SESSION_TOOLS: [&str; 17] = [
    "add_commitment",
    "list_commitments",
    "verify",
    "launch_agent",
    "launch_research_agent",
    "summon_servitor",
    "dismiss_servitor",
    "list_servitors",
    "message_servitor",
    "wait_for_servitor",
    "load_skill",
    "set_working_dir",
    "switch_profile",
    "update_preferences",
    "compact_history",
    "search_history_backups",
    "exit_app",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commitments::tools::{AddCommitment, ListCommitments, Verify};
    use crate::launch::{LaunchAgent, LaunchResearchAgent};
    use crate::servitors::{Servitors, tools};
    use crate::skills::LoadSkill;
    use marvin_tools::Tool;
    use std::sync::{Arc, Weak};

    #[test]
    fn the_names_are_those_of_the_tools() {
        let servitors = tools::all(&Weak::<Servitors>::new());
        let person = crate::person_tools::all(&Arc::default());
        let names = [AddCommitment::NAME, ListCommitments::NAME, Verify::NAME, LaunchAgent::NAME]
            .into_iter()
            .chain([LaunchResearchAgent::NAME])
            .chain(servitors.iter().map(|tool| tool.name()))
            .chain([LoadSkill::NAME])
            .chain(person.iter().map(|tool| tool.name()));
        assert_eq!(names.collect::<Vec<_>>(), SESSION_TOOLS);
    }
}
