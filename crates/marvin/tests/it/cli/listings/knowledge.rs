//! Memory, packs and lessons with content.

use crate::cli::{person_screen, screen};
use crate::support::World;
use insta::assert_snapshot;
use serde_json::{Value, json};

fn candidate(text: &str, kind: &str) -> String {
    let candidate = json!({"text": text, "type": kind, "tags": ["t"], "ttl_days": null, "source": "user_said", "why_store": "test"});
    format!("{candidate}\n")
}

#[test]
fn memory() {
    let world = World::new();
    assert_snapshot!(screen(&world, "memory list"), @"
    Nothing is remembered here.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory pending"), @"
    Nothing waits for you.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory query anything"), @"
    Nothing of that is remembered.
    [exit code 0]
    ");
    let lines = [
        candidate("The elephant is grey", "fact"),
        candidate("Prefers tabs", "preference"),
        candidate("Snails are slow", "fact"),
    ];
    world.write("import.jsonl", &lines.concat());
    assert_snapshot!(screen(&world, "memory import import.jsonl"), @"
    [HASH]  fact  The elephant is grey  [t]  (waits)
    [HASH]  preference  Prefers tabs  [t]  (waits)
    [HASH]  fact  Snails are slow  [t]  (waits)
    3 of 3 wait for you; `marvin memory pending` shows them.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory pending"), @"
    [HASH]
      The elephant is grey
      type fact, does not expire; tags: t
      source: assistant_inferred (it claimed user_said); proposed by import
      why: test

    [HASH]
      Prefers tabs
      type preference, does not expire; tags: t
      source: assistant_inferred (it claimed user_said); proposed by import
      why: test

    [HASH]
      Snails are slow
      type fact, does not expire; tags: t
      source: assistant_inferred (it claimed user_said); proposed by import
      why: test
    [exit code 0]
    ");
    let waiting = world.marvin(["memory", "pending", "--json"]).run().exits(0).json();
    let id = |index: usize| waiting[index]["fingerprint"].as_str().unwrap().to_string();
    assert_snapshot!(person_screen(&world, &format!("memory approve {} --reviewer ann", id(0))), @"
    remembered: [HASH]  fact  The elephant is grey  [t]
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, &format!("memory reject {} --reviewer ann --note 'so what'", id(2))), @"
    rejected: [HASH]  fact  Snails are slow  [t]
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, &format!("memory edit {} --text 'Prefers tabs in Go' --tag go --reviewer ann", id(1))), @"
    remembered: [HASH]  preference  Prefers tabs in Go  [go]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory list"), @"
    [HASH]  fact  The elephant is grey  [t]
    [HASH]  preference  Prefers tabs in Go  [go]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory query elephant"), @"
    0.00  ltm  The elephant is grey
          [HASH]: assistant_inferred, [N] days old, unverified
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, &format!("memory forget {} --reviewer ann", id(0))), @"
    forgotten: [HASH]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory list --all"), @"
    [HASH]  preference  Prefers tabs in Go  [go]  (active)
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory audit"), @"
    4 lines of the ledger; 1 memory told, 0 over, 0 replaced, 1 forgotten
    The ledger and the memory agree.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "memory export"), @r#"
    {"id":"[HASH]","stored_at_utc":"[TIME]","candidate":{"text":"Prefers tabs in Go","type":"preference","tags":["go"],"ttl_days":null,"source":"assistant_inferred","why_store":"test"},"extra":{"origin":"import","proposed_at_utc":"[TIME]","session_id":null,"turn_number":null,"claimed_source":"user_said","original_fingerprint":"[HASH]"}}
    [exit code 0]
    "#);
    assert_snapshot!(screen(&world, "memory practice"), @"
    Nothing was proposed.
    [exit code 0]
    ");
}

#[test]
fn measured_memory() {
    let world = World::new();
    world.write(
        "labelled.jsonl",
        "{\"doc\": \"a\", \"text\": \"the elephant is grey\"}\n{\"doc\": \"b\", \"text\": \"snails are slow\"}\n{\"query\": \"grey elephant\", \"relevant\": [\"a\"]}\n",
    );
    assert_snapshot!(screen(&world, "memory eval labelled.jsonl"), @"
    2 documents, 1 question (0 without an answer)
    recall@5    1.000
    recall@10   1.000
    recall@20   1.000
    mean reciprocal rank 1.000
    [DURATION] per question (median)
    [exit code 0]
    ");
}

#[test]
fn packs() {
    let world = World::new();
    assert_snapshot!(screen(&world, "packs list"), @"
    This project has no packs. `marvin packs new rust` makes one to begin with.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs new rust"), @"
    [PROJECT]/.marvin/packs/_pack.schema.json
    [PROJECT]/.marvin/packs/rust/pack.json
    [PROJECT]/.marvin/packs/rust/guardrails.md
    [PROJECT]/.marvin/packs/rust/lessons.jsonl
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs new billing"), @"
    [PROJECT]/.marvin/packs/billing/pack.json
    [PROJECT]/.marvin/packs/billing/guardrails.md
    [PROJECT]/.marvin/packs/billing/lessons.jsonl
    --- stderr ---
    Now set in [PROJECT]/.marvin/packs/billing/pack.json when it applies: extensions, paths, categories.
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "packs new house-rules --user"), @"
    [HOME]/.config/marvin/packs/_pack.schema.json
    [HOME]/.config/marvin/packs/house-rules/pack.json
    [HOME]/.config/marvin/packs/house-rules/guardrails.md
    [HOME]/.config/marvin/packs/house-rules/lessons.jsonl
    --- stderr ---
    Now set in [HOME]/.config/marvin/packs/house-rules/pack.json when it applies: extensions, paths, categories.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs list"), @"
    billing              0.1.0    project  guardrails, 0 lessons
    house-rules          0.1.0    yours    guardrails, 0 lessons
    rust                 1.0.0    project  guardrails, 0 lessons  Rust that does not panic, says why it failed, and reads like the standard library
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs check"), @"
    ok      billing
    ok      house-rules
    ok      rust
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs why notes.txt"), @"
    notes.txt

    billing                0  silent: nothing speaks for it

    house-rules            0  silent: nothing speaks for it

    rust                   0  silent: nothing speaks for it

    An agent would be told nothing.
    [exit code 0]
    ");
}

#[test]
fn reasons_of_packs() {
    let world = world_with_lessons();
    let pack = json!({"name": "login", "version": "1.0.0", "owner": "team", "applies_to": {"extensions": [".ts"]},
        "excludes_paths": ["node_modules/"], "categories": ["auth"]});
    world.write(".marvin/packs/login/pack.json", &pack.to_string());
    world.write(".marvin/packs/login/guardrails.md", "- hash passwords with argon2id\n");
    assert_snapshot!(screen(&world, "packs why src/auth/login.ts"), @r#"
    src/auth/login.ts

    api                   15  relevant (10 needed, a strong signal): guardrails and the best lessons
      +15  FILE_PATTERN_MATCH   src/

    login                 13  applies (below 20, no strong signal): guardrails once in a session, and lessons that fit
      +5   EXTENSION_MATCH      .ts
      +8   PATH_KEYWORD         auth

    A new agent would be told:

    <marvin-context file="src/auth/login.ts">
    [api]
    - Stale: Do it: Stale
    - Good: Do it: Good
    # API
    - be strict
    [login]
    - hash passwords with argon2id
    </marvin-context>
    [exit code 0]
    "#);
    assert_snapshot!(screen(&world, "packs why src/api.ts --corrected rest"), @r#"
    src/api.ts

    api                   35  relevant (10 needed, a strong signal): guardrails and the best lessons
      +15  FILE_PATTERN_MATCH   src/
      +20  RECENT_CORRECTION    rest

    login                  5  applies (below 20, no strong signal): guardrails once in a session, and lessons that fit
      +5   EXTENSION_MATCH      .ts

    A new agent would be told:

    <marvin-context file="src/api.ts">
    [api]
    - Stale: Do it: Stale
    - Good: Do it: Good
    # API
    - be strict
    [login]
    - hash passwords with argon2id
    </marvin-context>
    [exit code 0]
    "#);
    assert_snapshot!(screen(&world, "packs why node_modules/x/a.ts"), @"
    node_modules/x/a.ts

    api                    0  silent: nothing speaks for it

    login                  0  silent: excludes_paths has node_modules/

    An agent would be told nothing.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "packs why notes.txt --corrected nonsense"), @"
    notes.txt

    api                    0  silent: nothing speaks for it

    login                  0  silent: nothing speaks for it

    An agent would be told nothing.
    --- stderr ---
    note: no pack speaks of `nonsense`
    [exit code 0]
    ");
}

/// A pack with lessons, and a session in which a person corrected an agent.
fn world_with_lessons() -> World {
    let world = World::new();
    let pack = json!({"name": "api", "version": "1.0.0", "owner": "team", "categories": ["rest"], "references": {"code_paths": ["src/"]}});
    world.write(".marvin/packs/api/pack.json", &pack.to_string());
    world.write(".marvin/packs/api/guardrails.md", "# API\n- be strict\n");
    let lesson = |title: &str, told: u64, time: &str| -> Value {
        json!({"timestamp": time, "category": "rest", "title": title, "description": "", "actionable": format!("Do it: {title}"),
            "injection_count": told, "utility_score": 0.95, "last_injected": time})
    };
    let lessons = [lesson("Good", 8, "2026-02-03T04:05:06Z"), lesson("Stale", 1, "2020-01-01T00:00:00Z")];
    let lines: String = lessons.iter().map(|lesson| format!("{lesson}\n")).collect();
    world.write(".marvin/packs/api/lessons.jsonl", &lines);
    let run = "run_20260203_040506_1a2b";
    let facts = json!({"version": 1, "runId": run, "manner": "hooks", "client": "claude"});
    world.write_state(&format!("runs/{run}/run.json"), &facts.to_string());
    let said: String = [
        ("correction", "No, use PUT for whole resources", Some("rest")),
        ("direction", "always version the routes", None),
    ]
    .iter()
    .map(|(kind, content, category)| {
        let line = json!({"id": "g_1", "timestamp": "2026-02-03T10:05:00Z", "run_id": run, "type": kind,
            "content": content, "category": category, "confidence": 0.8, "preceding_file": "src/api.ts"});
        format!("{line}\n")
    })
    .collect();
    world.write_state(&format!("runs/{run}/guidance.jsonl"), &said);
    let injection = json!({"timestamp": "2026-02-03T10:00:00Z", "file": "src/api.ts", "packs_injected": ["api"],
        "lessons_injected": ["Good"], "lessons": [{"pack": "api", "title": "Good"}]});
    world.write_state(&format!("runs/{run}/injections.jsonl"), &format!("{injection}\n"));
    world
}

#[test]
fn lessons() {
    let world = world_with_lessons();
    assert_snapshot!(screen(&world, "lessons reflect"), @"
    07f685bf  Use PUT for whole resources  api
      said:  No, use PUT for whole resources
      do:    Use PUT for whole resources
      correction: Said once, last in run_20260203_040506_1a2b about src/api.ts

    41cfd0da  Always version the routes  (no pack covers it: --pack)
      said:  always version the routes
      do:    Always version the routes
      direction: Said once, last in run_20260203_040506_1a2b about src/api.ts

    `marvin lessons promote ID` makes a lesson of one, after showing the change.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "lessons health"), @"
    1 session, 1 pack, 2 lessons, about 12 tokens, 1 correction

    pack                 guardrails  lessons   told    corrected       newest
    api                         yes        2      1        100 % [N] days ago

    most corrected files
         1  src/api.ts

    alerts
      api: a correction followed 100 % of its tellings
      api: 1 lesson ready for guardrails, 1 stale
      2 things that people said could become lessons

    what to do
      write the lessons of api more plainly; `marvin lessons evolve` names them
      `marvin lessons evolve --pack api` shows the changes and asks
      `marvin lessons reflect` shows them
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "lessons promote --all"), @r#"
    --- [PROJECT]/.marvin/packs/api/lessons.jsonl
    +++ [PROJECT]/.marvin/packs/api/lessons.jsonl
    @@ -2 +2,2 @@
     {"timestamp":"[TIME]","category":"rest","title":"Stale","description":"","actionable":"Do it: Stale","injection_count":1,"utility_score":0.95,"last_injected":"[TIME]"}
    +{"timestamp":"[TIME]","run_id":"run_20260203_040506_1a2b","category":"rest","title":"Use PUT for whole resources","description":"Said once, last in run_20260203_040506_1a2b about src/api.ts","actionable":"Use PUT for whole resources","context":"No, use PUT for whole resources"}
    --- stderr ---
    nothing was written
    note: a person must agree; --yes agrees beforehand
    [exit code 4]
    "#);
    assert_snapshot!(person_screen(&world, "lessons promote --all --yes"), @r#"
    --- [PROJECT]/.marvin/packs/api/lessons.jsonl
    +++ [PROJECT]/.marvin/packs/api/lessons.jsonl
    @@ -2 +2,2 @@
     {"timestamp":"[TIME]","category":"rest","title":"Stale","description":"","actionable":"Do it: Stale","injection_count":1,"utility_score":0.95,"last_injected":"[TIME]"}
    +{"timestamp":"[TIME]","run_id":"run_20260203_040506_1a2b","category":"rest","title":"Use PUT for whole resources","description":"Said once, last in run_20260203_040506_1a2b about src/api.ts","actionable":"Use PUT for whole resources","context":"No, use PUT for whole resources"}
    --- stderr ---
    written
    [exit code 0]
    "#);
    assert_snapshot!(person_screen(&world, "lessons promote --all --yes"), @"
    There is nothing to promote.
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "lessons evolve --yes"), @r#"
    --- [PROJECT]/.marvin/packs/api/lessons.archive.jsonl
    +++ [PROJECT]/.marvin/packs/api/lessons.archive.jsonl
    @@ -0,0 +1,2 @@
    +{"timestamp":"[TIME]","category":"rest","title":"Good","description":"","actionable":"Do it: Good","injection_count":8,"utility_score":0.95,"last_injected":"[TIME]","archived_at":"[TIME]","archived_because":"promoted to guardrails.md: told 8 times, utility 0.95"}
    +{"timestamp":"[TIME]","category":"rest","title":"Stale","description":"","actionable":"Do it: Stale","injection_count":1,"utility_score":0.95,"last_injected":"[TIME]","archived_at":"[TIME]","archived_because":"stale: told 1 times, not for [N] days"}
    --- [PROJECT]/.marvin/packs/api/guardrails.md
    +++ [PROJECT]/.marvin/packs/api/guardrails.md
    @@ -2 +2,4 @@
     - be strict
    +
    +## Learned
    +- Do it: Good
    --- [PROJECT]/.marvin/packs/api/lessons.jsonl
    +++ [PROJECT]/.marvin/packs/api/lessons.jsonl
    @@ -1,3 +1 @@
    -{"timestamp":"[TIME]","category":"rest","title":"Good","description":"","actionable":"Do it: Good","injection_count":8,"utility_score":0.95,"last_injected":"[TIME]"}
    -{"timestamp":"[TIME]","category":"rest","title":"Stale","description":"","actionable":"Do it: Stale","injection_count":1,"utility_score":0.95,"last_injected":"[TIME]"}
     {"timestamp":"[TIME]","run_id":"run_20260203_040506_1a2b","category":"rest","title":"Use PUT for whole resources","description":"Said once, last in run_20260203_040506_1a2b about src/api.ts","actionable":"Use PUT for whole resources","context":"No, use PUT for whole resources"}
    --- stderr ---
    api: "Good" becomes a guardrail (told 8 times, utility 0.95)
    api: "Stale" moves to the archive (told 1 times, not for [N] days)
    written
    [exit code 0]
    "#);
    assert_snapshot!(person_screen(&world, "lessons evolve"), @"
    No lesson is ready to become a guardrail, and none is stale.
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "lessons teach api Errors --actionable 'return problem details' --yes"), @r#"
    --- [PROJECT]/.marvin/packs/api/lessons.jsonl
    +++ [PROJECT]/.marvin/packs/api/lessons.jsonl
    @@ -1 +1,2 @@
     {"timestamp":"[TIME]","run_id":"run_20260203_040506_1a2b","category":"rest","title":"Use PUT for whole resources","description":"Said once, last in run_20260203_040506_1a2b about src/api.ts","actionable":"Use PUT for whole resources","context":"No, use PUT for whole resources"}
    +{"timestamp":"[TIME]","category":"api","title":"Errors","description":"","actionable":"return problem details"}
    --- stderr ---
    written
    [exit code 0]
    "#);
    assert_snapshot!(person_screen(&world, "lessons teach api Errors --actionable 'return something' --yes"), @"
    --- stderr ---
    marvin: the pack `api` has a lesson with this title: return problem details
      hint: choose another title, or change the line in [PROJECT]/.marvin/packs/api/lessons.jsonl
    [exit code 2]
    ");
    assert_snapshot!(person_screen(&world, "lessons teach api Failures --actionable 'Return problem details!' --yes"), @"
    --- stderr ---
    marvin: the pack `api` has a lesson that says much the same, `Errors`: return problem details
      hint: --force writes it all the same
    [exit code 2]
    ");
}

#[test]
fn nothing_was_said() {
    let world = World::new();
    assert_snapshot!(screen(&world, "lessons reflect"), @"
    Nothing was said that is not a lesson already.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "lessons health"), @"
    0 sessions, 0 packs, 0 lessons, about 0 tokens, 0 corrections

    pack                 guardrails  lessons   told    corrected       newest
    [exit code 0]
    ");
    assert_snapshot!(person_screen(&world, "lessons evolve"), @"
    No lesson is ready to become a guardrail, and none is stale.
    [exit code 0]
    ");
}
