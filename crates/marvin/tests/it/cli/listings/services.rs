//! Hooks, daemons, servers of others and `marvin init`.

use crate::cli::{mask, person_screen, screen, show};
use crate::hooks::Scene;
use crate::support::{World, put};
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn answers_to_hooks() {
    let scene = Scene::new();
    let answer = |line: &str| mask(&scene.world, &format!("{:#}", scene.bash(line)));
    assert_snapshot!(answer("ls"), @r#"
    {
      "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "it only reads, builds, tests, or changes what can be brought back [marvin: effect]"
      }
    }
    "#);
    assert_snapshot!(answer("frobnicate --all"), @r#"
    {
      "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "nothing is known of the program `frobnicate` [marvin: program.unknown]"
      }
    }
    "#);
    assert_snapshot!(answer("rm -rf /"), @r#"
    {
      "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "it would delete everything in the whole file system: `/`. Name what is to be deleted, inside the workspace, or leave it. [marvin: catastrophe.delete]"
      }
    }
    "#);
    let stop = scene.hook("Stop", &json!({}));
    assert_snapshot!(mask(&scene.world, &format!("{stop:#}")), @"{}");
}

#[test]
fn daemon() {
    let scene = Scene::new();
    let world = &scene.world;
    assert_snapshot!(screen(world, "daemon list"), @"
    No daemons.
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon status"), @"
    No daemon runs for [PROJECT]; a hook starts it.
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon start"), @"
    Started. ALIVE project-[HASH] pid [PID] socket yes log [N] bytes, 0 sessions, [N] requests  [PROJECT]
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon start"), @"
    It runs already. ALIVE project-[HASH] pid [PID] socket yes log [N] bytes, 0 sessions, [N] requests  [PROJECT]
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon status"), @"
    ALIVE project-[HASH] pid [PID] socket yes log [N] bytes, 0 sessions, [N] requests  [PROJECT]
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon list"), @"
    ALIVE project-[HASH] pid [PID] socket yes log [N] bytes, 0 sessions, [N] requests  [PROJECT]
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon stop"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(person_screen(world, "daemon stop"), @"
    Ended.
    [exit code 0]
    ");
    assert_snapshot!(screen(world, "daemon cleanup"), @"
    No daemon left anything.
    [exit code 0]
    ");
}

#[test]
fn servers_of_others() {
    let world = World::new();
    assert_snapshot!(screen(&world, "mcp servers list"), @"
    The settings name no servers; see docs/mcp.md for [mcp.servers.NAME] in config.toml.
    [exit code 0]
    ");
    put(
        &world.user().join("config.toml"),
        "[mcp.servers.files]\ncommand = \"files-server\"\nargs = [\"--root\", \".\"]\n",
    );
    world.write(
        ".marvin/config.toml",
        "[mcp.servers.docs]\ncommand = \"docs-server\"\nallow = [\"search\"]\n",
    );
    assert_snapshot!(screen(&world, "mcp servers list"), @"
    docs                      not trusted  project  docs-server
    files                     ready        person   files-server --root .
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "mcp servers trust docs"), @"
    --- stderr ---
    marvin: a person decides on this: `docs` would run docs-server
      hint: run it at a terminal, or with --yes
    [exit code 4]
    ");
    assert_snapshot!(person_screen(&world, "mcp servers trust docs --yes"), @"
    docs: trusted
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "mcp servers list"), @"
    docs                      ready        project  docs-server
    files                     ready        person   files-server --root .
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "mcp servers trust docs --remove"), @"
    docs: no longer trusted
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "mcp servers trust files --yes"), @"
    --- stderr ---
    marvin: `files` is in your own settings, so it is trusted already
    [exit code 1]
    ");
}

#[test]
fn init() {
    let world = World::new();
    // No other `marvin` is found there.
    let init = |words: &[&str]| {
        show(&world, world.person(["init"]).args(words).env("PATH", world.root().join("tmp")))
    };
    let planned = init(&["--client", "both", "--dry-run"]);
    // The changes themselves name the program, which lies elsewhere on other machines.
    let is_summary = |line: &&str| !line.starts_with(['+', '-', '@', ' ']);
    assert_snapshot!(planned.lines().filter(is_summary).collect::<Vec<_>>().join("\n"), @"
    made       .marvin/init.json                         receipt for `marvin init --remove`
    made       .claude/settings.local.json               30 hooks for Claude Code
    made       .codex/hooks.json                         12 hooks for Codex
    made       .marvin/packs/_pack.schema.json
    made       .marvin/packs/git-workflow/pack.json
    made       .marvin/packs/git-workflow/guardrails.md
    made       .marvin/packs/git-workflow/lessons.jsonl
    made       .marvin/packs/security/pack.json
    made       .marvin/packs/security/guardrails.md
    made       .marvin/packs/security/lessons.jsonl
    made       .marvin/packs/testing/pack.json
    made       .marvin/packs/testing/guardrails.md
    made       .marvin/packs/testing/lessons.jsonl
    made       .claude/skills/marvin-reflect/SKILL.md
    made       .claude/skills/marvin-health/SKILL.md
    made       .claude/skills/marvin-evolve/SKILL.md
    made       .claude/skills/marvin-teach/SKILL.md
    Dry run: nothing was written.
    note: `marvin` on your PATH is not this program, so the hooks name its place and went into .claude/settings.local.json, which is yours alone
    note: .codex/hooks.json names the place of this program on this machine: do not commit it as it is
    note: Codex runs hooks of a project only when you have trusted them, and `codex exec` does not say when it passes over them:
    note: this is not a git repository, so nothing is ignored; run `marvin init` again when it is one
    [exit code 0]
    ");
    assert_snapshot!(init(&["--client", "both"]), @"
    made       .marvin/init.json                         receipt for `marvin init --remove`
    made       .claude/settings.local.json               30 hooks for Claude Code
    made       .codex/hooks.json                         12 hooks for Codex
    made       .marvin/packs/_pack.schema.json
    made       .marvin/packs/git-workflow/pack.json
    made       .marvin/packs/git-workflow/guardrails.md
    made       .marvin/packs/git-workflow/lessons.jsonl
    made       .marvin/packs/security/pack.json
    made       .marvin/packs/security/guardrails.md
    made       .marvin/packs/security/lessons.jsonl
    made       .marvin/packs/testing/pack.json
    made       .marvin/packs/testing/guardrails.md
    made       .marvin/packs/testing/lessons.jsonl
    made       .claude/skills/marvin-reflect/SKILL.md
    made       .claude/skills/marvin-health/SKILL.md
    made       .claude/skills/marvin-evolve/SKILL.md
    made       .claude/skills/marvin-teach/SKILL.md
    Ready. `marvin init --remove` undoes this.
    --- stderr ---
    note: `marvin` on your PATH is not this program, so the hooks name its place and went into .claude/settings.local.json, which is yours alone
      hint: to share them, put this program on the PATH as `marvin` and run `marvin init` again
    note: .codex/hooks.json names the place of this program on this machine: do not commit it as it is
    note: Codex runs hooks of a project only when you have trusted them, and `codex exec` does not say when it passes over them:
      hint: start `codex` in [PROJECT], trust the directory, and approve Marvin's hooks where it asks (or with /hooks); again whenever .codex/hooks.json changes
    note: this is not a git repository, so nothing is ignored; run `marvin init` again when it is one
    [exit code 0]
    ");
    assert_snapshot!(init(&["--client", "both"]), @"
    unchanged  .claude/settings.local.json               30 hooks for Claude Code
    unchanged  .codex/hooks.json                         12 hooks for Codex
    unchanged  .marvin/packs/_pack.schema.json
    unchanged  .marvin/packs/git-workflow/pack.json
    unchanged  .marvin/packs/git-workflow/guardrails.md
    unchanged  .marvin/packs/git-workflow/lessons.jsonl
    unchanged  .marvin/packs/security/pack.json
    unchanged  .marvin/packs/security/guardrails.md
    unchanged  .marvin/packs/security/lessons.jsonl
    unchanged  .marvin/packs/testing/pack.json
    unchanged  .marvin/packs/testing/guardrails.md
    unchanged  .marvin/packs/testing/lessons.jsonl
    unchanged  .claude/skills/marvin-reflect/SKILL.md
    unchanged  .claude/skills/marvin-health/SKILL.md
    unchanged  .claude/skills/marvin-evolve/SKILL.md
    unchanged  .claude/skills/marvin-teach/SKILL.md
    Already set up; nothing was changed.
    --- stderr ---
    note: `marvin` on your PATH is not this program, so the hooks name its place and went into .claude/settings.local.json, which is yours alone
      hint: to share them, put this program on the PATH as `marvin` and run `marvin init` again
    note: .codex/hooks.json names the place of this program on this machine: do not commit it as it is
    note: Codex runs hooks of a project only when you have trusted them, and `codex exec` does not say when it passes over them (nothing to do if you trusted them already):
      hint: start `codex` in [PROJECT], trust the directory, and approve Marvin's hooks where it asks (or with /hooks); again whenever .codex/hooks.json changes
    note: this is not a git repository, so nothing is ignored; run `marvin init` again when it is one
    [exit code 0]
    ");
    assert_snapshot!(init(&["--remove"]), @"
    deleted    .claude/settings.local.json               the hooks for Claude Code
    deleted    .codex/hooks.json                         the hooks for Codex
    deleted    .claude/skills/marvin-evolve/SKILL.md
    deleted    .claude/skills/marvin-health/SKILL.md
    deleted    .claude/skills/marvin-reflect/SKILL.md
    deleted    .claude/skills/marvin-teach/SKILL.md
    deleted    .marvin/packs/_pack.schema.json
    deleted    .marvin/packs/git-workflow/guardrails.md
    deleted    .marvin/packs/git-workflow/lessons.jsonl
    deleted    .marvin/packs/git-workflow/pack.json
    deleted    .marvin/packs/security/guardrails.md
    deleted    .marvin/packs/security/lessons.jsonl
    deleted    .marvin/packs/security/pack.json
    deleted    .marvin/packs/testing/guardrails.md
    deleted    .marvin/packs/testing/lessons.jsonl
    deleted    .marvin/packs/testing/pack.json
    deleted    .marvin/init.json                         receipt for `marvin init --remove`
    Removed.
    [exit code 0]
    ");
}
