//! The texts that are written into a project.

use marvin_base::layout::clients as places;

/// Skills, by name.
pub(super) const SKILLS: [(&str, &str); 4] = [
    ("marvin-reflect", include_str!("../../skills/marvin-reflect/SKILL.md")),
    ("marvin-health", include_str!("../../skills/marvin-health/SKILL.md")),
    ("marvin-evolve", include_str!("../../skills/marvin-evolve/SKILL.md")),
    ("marvin-teach", include_str!("../../skills/marvin-teach/SKILL.md")),
];

/// What is of this machine, or of this person, and not of the project. Packs, rules and settings are committed.
const IGNORED: [&str; 14] = [
    ".marvin/init.json",
    ".marvin/runs",
    ".marvin/memory/",
    ".marvin/agents/records/",
    ".marvin/agents/turn-*.md",
    ".marvin/agents/.lock",
    ".marvin/agents/.verifying",
    ".marvin/tools_cache/",
    ".marvin/security/evaluator-*",
    ".marvin/security/learned.jsonl",
    ".marvin/security/suggestions.jsonl",
    ".marvin/security/decisions*.jsonl",
    ".marvin/security/agent-evaluations.jsonl",
    ".marvin/**/*.torn",
];

/// The lines for `.gitignore`.
pub(super) fn ignored(local_settings: bool) -> String {
    let mut lines = vec!["# marvin: begin (written by `marvin init`, taken out by `marvin init --remove`)"];
    lines.extend(IGNORED);
    lines.extend(local_settings.then_some(places::CLAUDE_LOCAL_SETTINGS));
    lines.push("# marvin: end");
    format!("{}\n", lines.join("\n"))
}

/// The section for `CLAUDE.md` and `AGENTS.md`.
pub(super) const SECTION: &str = "\
<!-- marvin: begin (written by `marvin init`; what stands between these marks is replaced by it) -->
## Marvin

Marvin's hooks judge commands before they run, and tell what this project has learned.

- A refused command says why and what to do instead. Do that, or ask; do not try to get around it.
- Guardrails and lessons are in `.marvin/packs/`. Corrections are kept until a person reflects on them (`marvin lessons reflect`).
- Do not edit `.marvin/` by hand: use `marvin packs`, `marvin lessons` and `marvin gate`.
- Where the project has commitments, work is done when `marvin verify` says so.
<!-- marvin: end -->
";
