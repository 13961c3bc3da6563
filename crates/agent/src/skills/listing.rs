//! Skills in prompts: names and descriptions, bounded and in a fixed order.

use super::registry::{KnownSkill, SkillRegistry, Skills};
use super::skill::Origin;
use crate::roles::Role;
use crate::trace::Trace;
use marvin_base::ledger::LedgerError;
use marvin_base::truncate;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Characters of all lines, of one description, and of the names of skills that have no line.
const MAX_LISTING_CHARS: usize = 8_000;
const MAX_DESCRIPTION_CHARS: usize = 400;
const MAX_NAMES_CHARS: usize = 2_000;

/// The skills that a prompt lists.
#[derive(Debug, Clone, Default)]
pub enum SkillSource {
    /// A conversation without skills.
    #[default]
    None,
    /// Those of the registry when the prompt is composed.
    Registry(Arc<SkillRegistry>),
    /// Lines of a recorded run.
    Recorded(Vec<String>),
}

impl SkillSource {
    /// The registry, where skills are live.
    #[must_use]
    pub fn registry(&self) -> Option<&Arc<SkillRegistry>> {
        match self {
            SkillSource::Registry(registry) => Some(registry),
            SkillSource::None | SkillSource::Recorded(_) => None,
        }
    }

    /// One line for each skill that an agent of this role with these tools can use.
    pub(crate) fn lines(&self, role: Role, tools: &BTreeSet<String>) -> Vec<String> {
        match self {
            SkillSource::None => Vec::new(),
            SkillSource::Registry(registry) => lines(&registry.refresh(), role, tools),
            SkillSource::Recorded(lines) => lines.clone(),
        }
    }

    /// Tells the person about skills that cannot be used, each problem once.
    pub(crate) fn tell(&self, trace: &Trace) -> Result<(), LedgerError> {
        let Some(registry) = self.registry() else { return Ok(()) };
        let skills = registry.refresh();
        registry.news(&skills).into_iter().try_for_each(|text| trace.notice(text))
    }
}

/// The person's and the project's skills first. Every line costs tokens in every request, so that the agent of a session is told of
/// built-in ones by name alone, and only beside others; a conversation is not. An agent knows its own role already.
fn lines(skills: &Skills, role: Role, tools: &BTreeSet<String>) -> Vec<String> {
    let is_own_role = |name: &str| name.replace('-', "").eq_ignore_ascii_case(role.name());
    let has_tools = |known: &&KnownSkill| known.skill.facts.tools.iter().all(|tool| tools.contains(tool));
    let usable = skills.skills.iter().filter(has_tools);
    let (built_in, mut usable): (Vec<_>, Vec<_>) =
        usable.partition(|known| known.skill.origin == Origin::BuiltIn);
    let names: Vec<&str> = built_in.iter().map(|known| known.skill.name.as_str()).collect();
    let brief = match role {
        Role::Chat => None,
        Role::Coder => {
            (!usable.is_empty() && !names.is_empty()).then(|| format!("- built in: {}", names.join(", ")))
        }
        _ => {
            usable.extend(built_in.into_iter().filter(|known| !is_own_role(&known.skill.name)));
            None
        }
    };
    let mut left = MAX_LISTING_CHARS;
    let mut lines = Vec::new();
    let mut rest = Vec::new();
    for known in usable {
        let skill = &known.skill;
        let mark = if known.is_trusted { "" } else { " [not confirmed]" };
        let description = truncate::line(&known.clean(&skill.description), MAX_DESCRIPTION_CHARS);
        let line = format!("- {}{mark}: {description}", skill.name);
        match left.checked_sub(line.chars().count()) {
            Some(after) if rest.is_empty() => {
                left = after;
                lines.push(line);
            }
            _ => rest.push(skill.name.as_str()),
        }
    }
    if !rest.is_empty() {
        lines.push(format!("- {} more without a description: {}", rest.len(), listed_names(&rest)));
    }
    lines.extend(brief);
    lines
}

/// As many whole names as fit, and how many are left.
fn listed_names(names: &[&str]) -> String {
    let mut chars = 0;
    let fits = |name: &&&str| {
        chars += name.chars().count() + 2;
        chars <= MAX_NAMES_CHARS
    };
    let shown: Vec<&str> = names.iter().take_while(fits).copied().collect();
    let left = names.len() - shown.len();
    let text = shown.join(", ");
    if left > 0 { format!("{text} and {left} others") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::SkillStatus;
    use crate::skills::skill;

    fn skills(count: usize) -> Skills {
        let known = |number: usize| {
            let (name, long) = (format!("s-{number:04}"), "word ".repeat(60));
            let text = format!("---\nname: {name}\ndescription: {long}\n---\nbody");
            let skill = skill::parse(&text, &name, Origin::Project, None).unwrap();
            KnownSkill { skill: Arc::new(skill), is_trusted: false, status: SkillStatus::default() }
        };
        Skills { skills: (0..count).map(known).collect(), ..Skills::default() }
    }

    #[test]
    fn a_listing_is_bounded_and_names_the_rest() {
        let lines = lines(&skills(1_000), Role::Coder, &BTreeSet::new());
        assert!(lines[0].starts_with("- s-0000 [not confirmed]: word word"), "{}", lines[0]);
        let characters: usize = lines.iter().map(|line| line.chars().count()).sum();
        assert!(characters < MAX_LISTING_CHARS + MAX_NAMES_CHARS + 100, "{characters}");
        let last = lines.last().unwrap();
        assert!(
            last.starts_with(&format!("- {} more without a description: s-", 1_001 - lines.len())),
            "{last}"
        );
        assert!(last.ends_with(" others"), "whole names only: {last}");
    }

    #[test]
    fn an_agent_is_told_of_what_it_can_use() {
        let place = tempfile::tempdir().unwrap();
        let environment =
            marvin_base::environment::Environment::from_iter([("HOME", place.path().to_str().unwrap())]);
        let layout = marvin_base::layout::Layout::new(&environment, None);
        let source = SkillSource::Registry(SkillRegistry::new(&layout));
        let tools: BTreeSet<String> = ["read_file", "code_grep", "tree"].map(str::to_string).into();
        let names = |lines: Vec<String>| -> Vec<String> {
            let name = |line: &String| line.trim_start_matches("- ").split(':').next().unwrap().to_string();
            lines.iter().map(name).collect()
        };
        assert_eq!(names(source.lines(Role::Planner, &tools)), ["debugger", "reviewer", "test-triager"]);
        assert!(source.lines(Role::Chat, &tools).is_empty() && source.lines(Role::Coder, &tools).is_empty());
        let listed = skills(1);
        assert_eq!(lines(&listed, Role::Chat, &tools).len(), 1);
    }
}
