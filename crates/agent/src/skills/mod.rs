//! Skills: ways of working that agents load when they need them.
//!
//! A [`Skill`] is a directory in the open Agent Skills format. [`SkillRegistry`] finds them in the project, in the person's own
//! directory and among the built-in ones, and reads those again that changed. Agents are told names and descriptions; the tool
//! [`LoadSkill`] brings the text. Skills of a repository are data until a person trusts exactly this content ([`record`]).
//!
//! Limits: the registry looks when a turn begins and when a skill is loaded, not in between. Of two skills with one name the
//! trusted one counts, then the order of [`Origin`].

mod copies;
mod files;
mod listing;
mod record;
mod registry;
mod skill;
mod tool;

pub use files::{SkillFile, hash, list as list_files};
pub use listing::SkillSource;
pub use record::{Registration, SkillEvent, SkillStatus, Trust, append};
pub use registry::{KnownSkill, RefusedSkill, SkillRegistry, Skills, check_tools, read_directory};
pub use skill::{Origin, SKILL_FILE, Skill, SkillError, SkillFacts, is_name};
pub use tool::LoadSkill;

/// Built-in skills: the roles of workflows, as ways of working for any agent.
const BUILT_IN: [(&str, &str); 7] = [
    ("chat", include_str!("../../skills/chat/SKILL.md")),
    ("debugger", include_str!("../../skills/debugger/SKILL.md")),
    ("implementer", include_str!("../../skills/implementer/SKILL.md")),
    ("planner", include_str!("../../skills/planner/SKILL.md")),
    ("reviewer", include_str!("../../skills/reviewer/SKILL.md")),
    ("skill-builder", include_str!("../../skills/skill-builder/SKILL.md")),
    ("test-triager", include_str!("../../skills/test-triager/SKILL.md")),
];
