//! Roles of agents. A role has a template of instructions and a tier of models; its caller decides whether it may write.

use marvin_base::settings::{Setting, nearest_of, table};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Chat,
    Coder,
    Coordinator,
    Servitor,
    Research,
    Planner,
    Implementer,
    Debugger,
    Reviewer,
    TestTriager,
    TestWriter,
    DocumentWriter,
    SkillBuilder,
    Evaluator,
}

/// A name that is not a role's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{name}`{near} (there are: {all})")]
pub struct UnknownRole {
    name: String,
    near: String,
    all: String,
}

/// Every role, with its name in records, scripts and settings, and its instructions.
const ROLES: [(Role, &str, &str); 14] = [
    (Role::Chat, "Chat", include_str!("../prompts/roles/chat.md")),
    (Role::Coder, "Coder", include_str!("../prompts/roles/coder.md")),
    (Role::Coordinator, "Coordinator", include_str!("../prompts/roles/coordinator.md")),
    (Role::Servitor, "Servitor", include_str!("../prompts/roles/servitor.md")),
    (Role::Research, "Research", include_str!("../prompts/roles/research.md")),
    (Role::Planner, "Planner", include_str!("../prompts/roles/planner.md")),
    (Role::Implementer, "Implementer", include_str!("../prompts/roles/implementer.md")),
    (Role::Debugger, "Debugger", include_str!("../prompts/roles/debugger.md")),
    (Role::Reviewer, "Reviewer", include_str!("../prompts/roles/reviewer.md")),
    (Role::TestTriager, "TestTriager", include_str!("../prompts/roles/test_triager.md")),
    (Role::TestWriter, "TestWriter", include_str!("../prompts/roles/test_writer.md")),
    (Role::DocumentWriter, "DocumentWriter", include_str!("../prompts/roles/document_writer.md")),
    (Role::SkillBuilder, "SkillBuilder", include_str!("../prompts/roles/skill_builder.md")),
    (Role::Evaluator, "Evaluator", include_str!("../prompts/evaluator.md")),
];

impl Role {
    pub fn all() -> impl Iterator<Item = Role> {
        ROLES.into_iter().map(|(role, ..)| role)
    }

    fn row(self) -> (Role, &'static str, &'static str) {
        ROLES.into_iter().find(|(role, ..)| *role == self).unwrap_or((self, "", ""))
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Template of its instructions; what it says depends on the tools of the agent and on whether a person is there.
    #[must_use]
    pub fn template(self) -> &'static str {
        self.row().2
    }

    /// The role of this name; capitals do not matter.
    pub fn find(name: &str) -> Result<Role, UnknownRole> {
        let same = |role: &Role| role.name().eq_ignore_ascii_case(name.trim());
        Role::all().find(same).ok_or_else(|| {
            let near = nearest_of(name, Role::all().map(Role::name))
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            let all = ROLES.map(|(_, name, _)| name).join(", ");
            UnknownRole { name: marvin_base::truncate::line(name, 40), near, all }
        })
    }

    /// Tier of models that suits it; none: any.
    #[must_use]
    pub fn tier(self) -> Option<&'static Setting> {
        match self {
            Role::Chat | Role::Evaluator => None,
            Role::Coder | Role::Implementer | Role::Servitor | Role::SkillBuilder => Some(&table::TIER_CODEX),
            Role::Reviewer | Role::Coordinator => Some(&table::TIER_OPUS),
            Role::Debugger | Role::TestTriager | Role::Research => Some(&table::TIER_PLAN),
            Role::Planner | Role::DocumentWriter => Some(&table::TIER_PLAN_GEN),
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
        assert_eq!(ROLES.map(|(_, name, _)| name), table::ROLES);
        assert_eq!(Role::find(" planner").unwrap(), Role::Planner);
        assert!(Role::find("Plannr").unwrap_err().to_string().contains("did you mean `Planner`?"));
    }

    #[test]
    fn every_template_is_short_and_its_own() {
        for role in Role::all() {
            let text = role.template();
            assert!(text.len() <= CAP && text.len() > 200, "{}: {} bytes", role.name(), text.len());
            assert!(text.ends_with('\n') && !text.contains("{{") && text.is_ascii(), "{}", role.name());
            let same = Role::all().filter(|other| other.template() == text).count();
            assert_eq!(same, 1, "{}", role.name());
        }
    }
}
