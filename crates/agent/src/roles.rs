//! Roles: what an agent is there for. A role has a template of instructions and a tier of models; whether it may write is the
//! business of whoever starts it.

use marvin_base::settings::{Setting, nearest_of, table};

/// What an agent is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Talks with a person.
    #[default]
    Chat,
    /// Works in a project.
    Coder,
    /// Hands out work and judges it.
    Coordinator,
    /// Has one assignment.
    Servitor,
    /// Looks and reports.
    Research,
    /// Turns a goal into steps.
    Planner,
    /// Builds.
    Implementer,
    /// Finds causes and mends them.
    Debugger,
    /// Judges work against what was asked.
    Reviewer,
    /// Sorts failures of tests.
    TestTriager,
    /// Writes tests before there is code.
    TestWriter,
    /// Makes ways of working that can be used again.
    SkillBuilder,
    /// Judges commands for the gate.
    Evaluator,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 13] = [
        Role::Chat,
        Role::Coder,
        Role::Coordinator,
        Role::Servitor,
        Role::Research,
        Role::Planner,
        Role::Implementer,
        Role::Debugger,
        Role::Reviewer,
        Role::TestTriager,
        Role::TestWriter,
        Role::SkillBuilder,
        Role::Evaluator,
    ];

    /// Its name in records, scripts and settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Chat => "Chat",
            Role::Coder => "Coder",
            Role::Coordinator => "Coordinator",
            Role::Servitor => "Servitor",
            Role::Research => "Research",
            Role::Planner => "Planner",
            Role::Implementer => "Implementer",
            Role::Debugger => "Debugger",
            Role::Reviewer => "Reviewer",
            Role::TestTriager => "TestTriager",
            Role::TestWriter => "TestWriter",
            Role::SkillBuilder => "SkillBuilder",
            Role::Evaluator => "Evaluator",
        }
    }

    /// The role of this name; capitals do not matter.
    ///
    /// # Errors
    /// A sentence with the nearest name and all names.
    pub fn find(name: &str) -> Result<Role, String> {
        let same = |role: &Role| role.name().eq_ignore_ascii_case(name.trim());
        Role::ALL.into_iter().find(same).ok_or_else(|| {
            let near = nearest_of(name, Role::ALL.iter().map(|role| role.name()))
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            let all = Role::ALL.map(Role::name).join(", ");
            format!("there is no role `{}`{near} (there are: {all})", marvin_base::truncate::line(name, 40))
        })
    }

    /// Its instructions.
    #[must_use]
    pub fn template(self) -> &'static str {
        match self {
            Role::Chat => include_str!("../prompts/roles/chat.md"),
            Role::Coder => include_str!("../prompts/roles/coder.md"),
            Role::Coordinator => include_str!("../prompts/roles/coordinator.md"),
            Role::Servitor => include_str!("../prompts/roles/servitor.md"),
            Role::Research => include_str!("../prompts/roles/research.md"),
            Role::Planner => include_str!("../prompts/roles/planner.md"),
            Role::Implementer => include_str!("../prompts/roles/implementer.md"),
            Role::Debugger => include_str!("../prompts/roles/debugger.md"),
            Role::Reviewer => include_str!("../prompts/roles/reviewer.md"),
            Role::TestTriager => include_str!("../prompts/roles/test_triager.md"),
            Role::TestWriter => include_str!("../prompts/roles/test_writer.md"),
            Role::SkillBuilder => include_str!("../prompts/roles/skill_builder.md"),
            Role::Evaluator => include_str!("../prompts/evaluator.md"),
        }
    }

    /// The tier of models that suits it; none: whatever answers.
    #[must_use]
    pub fn tier(self) -> Option<&'static Setting> {
        match self {
            Role::Chat | Role::Evaluator => None,
            Role::Coder | Role::Implementer | Role::Servitor | Role::SkillBuilder => Some(&table::TIER_CODEX),
            Role::Reviewer | Role::Coordinator => Some(&table::TIER_OPUS),
            Role::Debugger | Role::TestTriager | Role::Research => Some(&table::TIER_PLAN),
            Role::Planner => Some(&table::TIER_PLAN_GEN),
            Role::TestWriter => Some(&table::TIER_TEST_WRITER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of one template.
    const CAP: usize = 2_000;

    #[test]
    fn names_are_those_of_the_settings() {
        assert_eq!(Role::ALL.map(Role::name), table::ROLES);
        assert_eq!(Role::find(" planner").unwrap(), Role::Planner);
        assert!(Role::find("Plannr").unwrap_err().contains("did you mean `Planner`?"));
    }

    #[test]
    fn every_template_is_short_and_its_own() {
        for role in Role::ALL {
            let text = role.template();
            assert!(text.len() <= CAP && text.len() > 200, "{}: {} bytes", role.name(), text.len());
            assert!(text.ends_with('\n') && !text.contains("{{") && text.is_ascii(), "{}", role.name());
            let same = Role::ALL.into_iter().filter(|other| other.template() == text).count();
            assert_eq!(same, 1, "{}", role.name());
        }
    }
}
