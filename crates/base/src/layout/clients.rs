//! Where Claude Code, Codex and git look in a project, and what `marvin init` puts beside them; all relative to a directory.

/// Claude Code's settings that a team shares.
pub const CLAUDE_SETTINGS: &str = ".claude/settings.json";
/// Claude Code's settings of one person in this project.
pub const CLAUDE_LOCAL_SETTINGS: &str = ".claude/settings.local.json";
/// The directory of Claude Code's skills.
pub const CLAUDE_SKILLS: &str = ".claude/skills";
/// The hooks of Codex.
pub const CODEX_HOOKS: &str = ".codex/hooks.json";
/// What Claude Code reads at the beginning of a session.
pub const CLAUDE_NOTES: &str = "CLAUDE.md";
/// What Codex reads at the beginning of a session.
pub const CODEX_NOTES: &str = "AGENTS.md";
/// What git leaves out.
pub const IGNORED: &str = ".gitignore";
/// The directory of the record.
pub const RECORD: &str = ".marvin";
/// The directory of packs.
pub const PACKS: &str = ".marvin/packs";
/// The rules of the project that refuse.
pub const DENYLIST: &str = ".marvin/security/denylist.json";
/// What `marvin init` wrote on this machine, so that it can be taken back byte for byte.
pub const RECEIPT: &str = ".marvin/init.json";
