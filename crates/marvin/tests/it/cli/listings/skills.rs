//! Skills: lists, one skill, and what a person decides.

use crate::cli::{person_screen, screen};
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn skills() {
    let world = World::new();
    world.write(
        ".marvin/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Deploys the service.\nmetadata:\n  version: \"2\"\n  marvin-tools: run_command\n  marvin-entry: sh scripts/push.sh\n---\nPush it.\n",
    );
    world.write(".marvin/skills/deploy/scripts/push.sh", "echo pushed\n");
    world.write(".claude/skills/Broken/SKILL.md", "---\nname: Broken\ndescription: x\n---\ny\n");
    assert_snapshot!(screen(&world, "list-skills"), @"
    chat                     built-in  trusted       Answer a person's question from facts, with sources, and ask for decisions. Use it for conversation…
    debugger                 built-in  trusted       Find the cause of a failure by reproducing it and testing one hypothesis at a time. Use it when a t…
    deploy                   project   not trusted   Deploys the service.
    implementer              built-in  trusted       Build what a task describes, completely and with real tests. Use it to write or change code once it…
    planner                  built-in  trusted       Turn a goal into independent, verifiable steps with dependencies and contracts. Use it before work …
    reviewer                 built-in  trusted       Judge a change against its requirement, with evidence for every finding, worst first. Use it before…
    skill-builder            built-in  trusted       Write a new skill in the Agent Skills format with tests that prove it. Use it when the same work wa…
    test-triager             built-in  trusted       Group failing tests by cause and tell defects from wrong tests, missing programs and chance. Use it…
    REFUSED Broken (.claude): `Broken` is not a name for a skill
      hint: use 1 to 64 small letters, digits and single hyphens, with a letter or digit at both ends
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "skills show deploy"), @"
    deploy: Deploys the service.
      origin         project [PROJECT]/.marvin/skills/deploy
      status         not trusted
      version        2
      tools          run_command
      entry          sh scripts/push.sh
      file           SKILL.md
      file           scripts/push.sh

    Push it.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "skills show deplyo"), @"
    --- stderr ---
    marvin: no skill is called `deplyo`; did you mean `deploy`?
      hint: `marvin list-skills` shows all of them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "skills test deploy"), @"
    deploy: not proved: it has no tests: the directory `tests` has no file
    [exit code 3]
    ");
    assert_snapshot!(screen(&world, "skills trust deploy"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(screen(&world, "skills trust planner"), @"
    --- stderr ---
    marvin: the skill `planner` is built in
      hint: a skill of your own with this name, once it is trusted, takes its place
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "skills trust deploy"), @"
    deploy ([PROJECT]/.marvin/skills/deploy): trusted
    [exit code 0]
    ");
    world.write(".marvin/skills/deploy/scripts/push.sh", "echo changed\n");
    assert_snapshot!(screen(&world, "skills show deploy"), @"
    --- stderr ---
    marvin: the skill `deploy` is refused: it changed since it was registered
      hint: read it, then trust it as it is now with `marvin skills trust NAME`
    [exit code 1]
    ");
    assert_snapshot!(person_screen(&world, "skills remove deploy"), @"
    deploy ([PROJECT]/.marvin/skills/deploy): removed
    [exit code 0]
    ");
}
