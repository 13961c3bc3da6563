//! Files of Claude Code, Codex and git in a project, and of `marvin init`; relative to a directory.

/// Claude Code's settings that a team shares.
pub const CLAUDE_SETTINGS: &str = ".claude/settings.json";
/// Claude Code's settings of one person in this project.
pub const CLAUDE_LOCAL_SETTINGS: &str = ".claude/settings.local.json";
/// The directory of Claude Code's skills.
pub const CLAUDE_SKILLS: &str = ".claude/skills";
/// The directory of skills that Codex and others read.
pub const AGENTS_SKILLS: &str = ".agents/skills";
pub const CODEX_HOOKS: &str = ".codex/hooks.json";
/// Instructions that Claude Code reads at the beginning of a session.
pub const CLAUDE_NOTES: &str = "CLAUDE.md";
/// Instructions that Codex reads at the beginning of a session.
pub const CODEX_NOTES: &str = "AGENTS.md";
/// Paths that git ignores.
pub const IGNORED: &str = ".gitignore";
/// The directory of the record.
pub const RECORD: &str = ".marvin";
/// The directory of packs.
pub const PACKS: &str = ".marvin/packs";
/// The rules of the project that refuse.
pub const DENYLIST: &str = ".marvin/security/denylist.json";
/// Record of what `marvin init` wrote on this machine, so that it can be undone byte for byte.
pub const RECEIPT: &str = ".marvin/init.json";
