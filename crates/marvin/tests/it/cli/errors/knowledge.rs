//! Errors of memory, packs and lessons.

use crate::cli::{person_screen, screen, show};
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn memory() {
    let world = World::new();
    world.write("bad.jsonl", "{\"text\": \"x\"}\n");
    assert_snapshot!(screen(&world, "memory"), @"
    --- stderr ---
    marvin: Decide what is remembered, search it, and see who approved it

    Usage: marvin memory <COMMAND>

    Commands:
      list      Show what is remembered
      pending   Show candidates that wait for you, and at a terminal decide about each
      approve   Approve candidates
      edit      Approve a changed candidate
      reject    Reject candidates
      forget    Erase memories; the ledger keeps that they existed
      query     Search memories, traces, lessons, packs' lessons and artifacts
      export    Export memories as JSONL
      import    Propose the candidates of a JSONL file; nothing is remembered before you approve it
      practice  Propose candidates from your recent messages
      audit     Replay the ledger and compare it with what is remembered
      why       Show which memories a turn was given, and where they come from
      eval      Measure the recall of the index on a labelled file

    Options:
      -h, --help  Print help

    Examples:
      marvin memory pending
      marvin memory approve 5c46a1
      marvin memory query which editor do I like
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory lst"), @"
    --- stderr ---
    marvin: unrecognized subcommand 'lst'

      tip: a similar subcommand exists: 'list'

    Usage: marvin memory <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "memory approve"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <IDS>...

    Usage: marvin memory approve <IDS>...

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "memory approve abcdef --reviewer ann"), @"
    --- stderr ---
    marvin: no waiting candidate has the id `abcdef`
      hint: `marvin memory pending` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "memory approve ab --reviewer ann"), @"
    --- stderr ---
    marvin: `ab` is too short for an id; write at least 4 characters of it
      hint: `marvin memory pending` shows them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory approve abcdef --reviewer ann"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    assert_snapshot!(person_screen(&world, "memory edit abcdef --type dream --reviewer ann"), @"
    --- stderr ---
    marvin: no waiting candidate has the id `abcdef`
      hint: `marvin memory pending` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "memory edit abcdef --text x --ttl-days=-1 --reviewer ann"), @"
    --- stderr ---
    marvin: invalid value '-1' for '--ttl-days <DAYS>': -1 is not in 0..=4294967295

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "memory reject abcdef --reviewer ann"), @"
    --- stderr ---
    marvin: no waiting candidate has the id `abcdef`
      hint: `marvin memory pending` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "memory forget abcdef --reviewer ann"), @"
    --- stderr ---
    marvin: no memory has the id `abcdef`
      hint: `marvin memory list` shows them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory query"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <WORDS>...

    Usage: marvin memory query <WORDS>...

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(show(&world, world.marvin(["memory", "query", " "])), @"
    --- stderr ---
    marvin: the query is empty
      hint: `marvin memory list` shows all memories
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory query x --kind dream"), @"
    --- stderr ---
    marvin: invalid value 'dream' for '--kind <KIND>': not one of ltm, stm, turn, lesson, pack_lesson, artifact

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory import missing.jsonl"), @"
    --- stderr ---
    marvin: cannot read missing.jsonl: No such file or directory (os error 2)
      hint: a line is what `marvin memory export` writes, or a candidate as `marvin memory pending --json` shows it; nothing was proposed
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory import bad.jsonl"), @r#"
    --- stderr ---
    marvin: bad.jsonl, line 1: missing field `type`
      hint: {"text": "…", "type": "preference|fact|procedure|project_decision|mtg_profile|mtg_lesson", "tags": [], "ttl_days": null, "source": "user_said|assistant_inferred|tool_output", "why_store": "…"}
      hint: a line is what `marvin memory export` writes, or a candidate as `marvin memory pending --json` shows it; nothing was proposed
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "memory why nothing"), @"
    --- stderr ---
    marvin: `nothing` is not a turn
      hint: SESSION:NUMBER, as in turns.jsonl
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory why session:1"), @"
    --- stderr ---
    marvin: cannot find turn 1 of session
      hint: turns.jsonl has them all
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory eval missing.jsonl"), @"
    --- stderr ---
    marvin: cannot read missing.jsonl: No such file or directory (os error 2)
      hint: name a labelled file, and its format with --format
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory eval bad.jsonl"), @r#"
    --- stderr ---
    marvin: bad.jsonl, line 1: missing field `doc`
      hint: a line is {"doc": ID, "text": …} or {"query": TEXT, "relevant": [ID]}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "memory eval bad.jsonl --format csv"), @"
    --- stderr ---
    marvin: invalid value 'csv' for '--format <FORMAT>'
      [possible values: jsonl, locomo, locomo-sessions, cosqa, cranfield]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "memory audit --adopt"), @"
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    ");
    let agent = world.person(["memory", "approve", "abcdef", "--reviewer", "ann"]).env("MARVIN_DEPTH", "1");
    assert_snapshot!(show(&world, agent), @"
    --- stderr ---
    marvin: cannot decide for a person: this process belongs to an agent (MARVIN_DEPTH is set)
      hint: say in your answer what should be decided; a person decides in a terminal of their own
    [exit code 5]
    ");
}

#[test]
fn damaged_memory() {
    let world = World::new();
    world.write_state("memory/memory_approvals.jsonl", "nonsense\n");
    world.write_state("memory/ltm.jsonl", "{\"id\":\n");
    assert_snapshot!(screen(&world, "memory list"), @"
    Nothing is remembered here.
    --- stderr ---
    [STATE]/memory/memory_approvals.jsonl was not made here, or its seal is lost; what it says does not count
      hint: `marvin memory audit` shows it all; `marvin memory audit --adopt` takes it over
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory audit"), @"
    0 lines of the ledger; 0 memories told, 0 over, 0 replaced, 0 forgotten
    unsealed: [STATE]/memory/memory_approvals.jsonl was not made here, or its seal is lost; what it says does not count
    damaged: line 1 of [STATE]/memory/ltm.jsonl does not count: EOF while parsing a value at line 1 column 6
    The ledger and the memory do not agree.
    If they are yours, `marvin memory audit --adopt` takes them over.
    [exit code 1]
    ");
}

#[test]
fn packs() {
    let world = World::new();
    world.marvin(["packs", "new", "billing"]).run().exits(0);
    assert_snapshot!(screen(&world, "packs"), @"
    --- stderr ---
    marvin: Manage packs, the guidance for agents about files

    Usage: marvin packs <COMMAND>

    Commands:
      list   List the packs in effect here
      check  Check packs; exit code 1 when something is wrong
      why    Show the score of every pack for a file, and the guidance an agent would get
      new    Create a pack: a starter (code-quality, git-workflow, go, python, rust, security, testing),
             or an empty one

    Options:
      -h, --help  Print help

    Examples:
      marvin packs list
      marvin packs new billing
      marvin packs why src/auth/login.ts
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs new"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <NAME>

    Usage: marvin packs new <NAME>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs new billing"), @"
    --- stderr ---
    marvin: [PROJECT]/.marvin/packs/billing exists already
      hint: `marvin packs check [PROJECT]/.marvin/packs/billing` says whether it works
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs new Rust"), @"
    --- stderr ---
    marvin: `Rust` cannot be the name of a pack
      hint: begin with a small letter, then small letters, digits and hyphens
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs new ../x"), @"
    --- stderr ---
    marvin: `../x` cannot be the name of a pack
      hint: begin with a small letter, then small letters, digits and hyphens
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs check missing"), @"
    --- stderr ---
    marvin: [PROJECT]/missing is not a directory
      hint: name a pack, or a directory of packs
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs why"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <FILE>

    Usage: marvin packs why <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "packs why /etc/passwd"), @"
    /etc/passwd

    billing                0  silent: nothing speaks for it

    An agent would be told nothing.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs list --working-dir missing"), @"
    --- stderr ---
    marvin: cannot use [PROJECT]/missing: No such file or directory (os error 2)
      hint: name a directory that exists with --working-dir
    [exit code 2]
    ");
}

#[test]
fn broken_packs() {
    let world = World::new();
    let facts = |name: &str, more: &str| {
        let text = format!("{{\"name\": \"{name}\", \"version\": \"1.0.0\", \"owner\": \"team\"{more}}}");
        world.write(&format!(".marvin/packs/{name}/pack.json"), &text);
    };
    facts("good", "");
    facts("bad", ", \"applies_to\": {\"extension\": [\".ts\"], \"globs\": [\"[\"]}, \"version\": \"2\"");
    world.write(".marvin/packs/torn/pack.json", "{\"name\":");
    world.write(".marvin/packs/good/lessons.jsonl", "{\"title\": \"x\"}\nnonsense\n");
    world.write(".marvin/packs/keywords.json", "[]");
    assert_snapshot!(screen(&world, "packs check"), @r#"
    PROBLEM bad
            [PROJECT]/.marvin/packs/bad/pack.json: version: `2` is not valid
              hint: write three numbers: "1.0.0"
            [PROJECT]/.marvin/packs/bad/pack.json: applies_to.extension: unknown field
              hint: did you mean `applies_to.extensions`?
            [PROJECT]/.marvin/packs/bad/pack.json: applies_to.globs: unknown field
              hint: remove it; known are extensions
    PROBLEM good
            [PROJECT]/.marvin/packs/good/lessons.jsonl: line 1: it is not a lesson: missing field `actionable` at line 1 column 14
              hint: a lesson is one line: {"title": "…", "actionable": "…", "category": "…"}
            [PROJECT]/.marvin/packs/good/lessons.jsonl: line 2: it is not a lesson: expected ident at line 1 column 2
              hint: a lesson is one line: {"title": "…", "actionable": "…", "category": "…"}
    PROBLEM torn
            [PROJECT]/.marvin/packs/torn/pack.json: it is not JSON: EOF while parsing a value at line 1 column 8
              hint: fix it there; `marvin packs new` shows how one looks
    PROBLEM [PROJECT]/.marvin/packs/keywords.json: it is not of the right shape: invalid type: sequence, expected a map at line 1 column 0
      hint: the file is {"keyword": ["category", …]}
    [exit code 1]
    "#);
    assert_snapshot!(screen(&world, "packs list"), @r#"
    good                 1.0.0    project  no guardrails, 0 lessons
    PROBLEM [PROJECT]/.marvin/packs/keywords.json: it is not of the right shape: invalid type: sequence, expected a map at line 1 column 0
      hint: the file is {"keyword": ["category", …]}
    PROBLEM [PROJECT]/.marvin/packs/bad/pack.json: version: `2` is not valid
      hint: write three numbers: "1.0.0"
    PROBLEM [PROJECT]/.marvin/packs/bad/pack.json: applies_to.extension: unknown field
      hint: did you mean `applies_to.extensions`?
    PROBLEM [PROJECT]/.marvin/packs/bad/pack.json: applies_to.globs: unknown field
      hint: remove it; known are extensions
    PROBLEM [PROJECT]/.marvin/packs/good/lessons.jsonl: line 1: it is not a lesson: missing field `actionable` at line 1 column 14
      hint: a lesson is one line: {"title": "…", "actionable": "…", "category": "…"}
    PROBLEM [PROJECT]/.marvin/packs/good/lessons.jsonl: line 2: it is not a lesson: expected ident at line 1 column 2
      hint: a lesson is one line: {"title": "…", "actionable": "…", "category": "…"}
    PROBLEM [PROJECT]/.marvin/packs/torn/pack.json: it is not JSON: EOF while parsing a value at line 1 column 8
      hint: fix it there; `marvin packs new` shows how one looks
    [exit code 0]
    "#);
    assert_snapshot!(screen(&world, "packs check .marvin/packs/good"), @r#"
    PROBLEM good
            [PROJECT]/.marvin/packs/good/lessons.jsonl: line 1: it is not a lesson: missing field `actionable` at line 1 column 14
              hint: a lesson is one line: {"title": "…", "actionable": "…", "category": "…"}
            [PROJECT]/.marvin/packs/good/lessons.jsonl: line 2: it is not a lesson: expected ident at line 1 column 2
              hint: a lesson is one line: {"title": "…", "actionable": "…", "category": "…"}
    [exit code 1]
    "#);
    assert_snapshot!(screen(&world, "lessons teach bad Title --actionable text --yes"), @"
    --- stderr ---
    marvin: unknown pack `bad`
      hint: `marvin packs list` shows them, `marvin packs new bad` makes one
    [exit code 2]
    ");
}

#[test]
fn lessons() {
    let world = World::new();
    world.marvin(["packs", "new", "rust"]).run().exits(0);
    assert_snapshot!(screen(&world, "lessons"), @"
    --- stderr ---
    marvin: Manage lessons, which agents learn from corrections

    Usage: marvin lessons <COMMAND>

    Commands:
      reflect  Show corrections and directions that could become lessons
      promote  Turn candidates of `reflect` into lessons: shows the change, then asks
      health   Show how packs and lessons did in the last 10 sessions
      evolve   Turn useful lessons into guardrails and archive stale ones: shows the change, then asks
      teach    Write a lesson into a pack: shows the change, then asks

    Options:
      -h, --help  Print help

    Examples:
      marvin lessons reflect
      marvin lessons promote 1a2b3c4d
      marvin lessons health
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons promote"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <ID>...

    Usage: marvin lessons promote <ID>...

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons promote 1a2b3c4d"), @"
    --- stderr ---
    marvin: no candidate is called `1a2b3c4d`
      hint: `marvin lessons reflect` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons promote 1a2b3c4d --pack missing"), @"
    --- stderr ---
    marvin: no candidate is called `1a2b3c4d`
      hint: `marvin lessons reflect` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons evolve --pack missing"), @"
    --- stderr ---
    marvin: no pack is called `missing`
      hint: `marvin packs list` shows them
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons teach rust Title"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --actionable <TEXT>

    Usage: marvin lessons teach --actionable <TEXT> <PACK> <TITLE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons teach missing Title --actionable text"), @"
    --- stderr ---
    marvin: unknown pack `missing`
      hint: `marvin packs list` shows them, `marvin packs new missing` makes one
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "lessons teach rust Title --actionable text --yes"), @r#"
    --- [PROJECT]/.marvin/packs/rust/lessons.jsonl
    +++ [PROJECT]/.marvin/packs/rust/lessons.jsonl
    @@ -0,0 +1 @@
    +{"timestamp":"[TIME]","category":"rust","title":"Title","description":"","actionable":"text"}
    --- stderr ---
    marvin: cannot tell whether a person decides: it has no controlling terminal
      hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)
    [exit code 4]
    "#);
}
