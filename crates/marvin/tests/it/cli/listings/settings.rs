//! Settings and what the doctor finds.

use crate::cli::{mask, screen, show};
use crate::support::{Marvin, World, put};
use insta::assert_snapshot;

#[test]
fn config() {
    let world = World::new();
    put(&world.user().join("config.toml"), "[limits]\nrounds = 7\nretries = 2\n");
    world.write(".marvin/config.toml", "limits.rounds = 8\nlimits.no_progress = 5\n");
    let config = |more: &str| {
        let marvin = world.marvin(["config"]).args(more.split_whitespace());
        show(&world, marvin.env("OPENAI_API_KEY", "sk-planted").env("TOKIMON_GREP_MAX_BYTES", "999"))
    };
    assert_snapshot!(config(""), @"
    model.provider                                (unset)  [default]
    model.name                                    (unset)  [default]
    model.fallback                                (unset)  [default]
    model.protocol                                auto  [default]
    model.script                                  (unset)  [default]
    provider.openai.url                           https://api.openai.com/v1  [default]
    provider.openai.key                           (set, hidden)  [$OPENAI_API_KEY]
    provider.openai.model                         gpt-5.2  [default]
    provider.anthropic.url                        https://api.anthropic.com  [default]
    provider.anthropic.key                        (unset)  [default]
    provider.anthropic.model                      claude-opus-4.6  [default]
    provider.gemini.url                           https://generativelanguage.googleapis.com  [default]
    provider.gemini.key                           (unset)  [default]
    provider.gemini.model                         gemini-3-pro-preview  [default]
    provider.groq.url                             https://api.groq.com/openai/v1  [default]
    provider.groq.key                             (unset)  [default]
    provider.groq.model                           llama-3.3-70b-versatile  [default]
    provider.groq.whisper_model                   whisper-large-v3  [default]
    voice.recorder                                (unset)  [default]
    voice.program                                 (unset)  [default]
    voice.url                                     (unset)  [default]
    voice.key                                     (unset)  [default]
    voice.model                                   whisper-1  [default]
    provider.kimi.url                             https://openrouter.ai/api/v1  [default]
    provider.kimi.key                             (unset)  [default]
    provider.kimi.model                           moonshotai/kimi-k2.5  [default]
    provider.copilot.url                          https://api.githubcopilot.com  [default]
    provider.copilot.token_url                    https://api.github.com/copilot_internal/v2/token  [default]
    provider.copilot.key                          (unset)  [default]
    provider.copilot.model                        gpt-5.2  [default]
    provider.ollama.url                           http://localhost:11434  [default]
    provider.ollama.model                         qwen3-coder:30b  [default]
    provider.ollama.context                       32768  [default]
    provider.local.url                            http://localhost:1234/v1  [default]
    provider.local.key                            (unset)  [default]
    provider.local.model                          local-model  [default]
    provider.codex.program                        codex  [default]
    provider.codex.model                          (unset)  [default]
    provider.codex.profile                        (unset)  [default]
    provider.codex.sandbox                        read-only  [default]
    provider.codex.approval                       never  [default]
    provider.codex.search                         false  [default]
    provider.codex.timeout_s                      900  [default]
    provider.codex.config                         (unset)  [default]
    provider.codex.ripgrep_guard                  true  [default]
    provider.codex.ripgrep_max_columns            4096  [default]
    provider.claude.program                       claude  [default]
    provider.claude.model                         (unset)  [default]
    provider.claude.timeout_s                     900  [default]
    provider.claude.settings_path                 (unset)  [default]
    provider.claude.settings                      (unset)  [default]
    provider.claude.dangerously_skip_permissions  false  [default]
    provider.claude.args                          (unset)  [default]
    tier.codex                                    gpt-5.3-codex  [default]
    tier.opus                                     claude-opus-4.6  [default]
    tier.plan                                     gpt-5.2  [default]
    tier.plan_gen                                 gemini-3-pro-preview  [default]
    tier.test_writer                              gemini-3-pro-preview  [default]
    tier.aux_reviewer                             gpt-5.2  [default]
    tier.fallback                                 claude-sonnet-4.5  [default]
    limits.rounds                                 8  [[PROJECT]/.marvin/config.toml]
    limits.rounds_chat                            10  [default]
    limits.rounds_worker                          20  [default]
    limits.notice_usd                             50  [default]
    limits.summary_calls                          10  [default]
    limits.cost_usd                               (unset)  [default]
    limits.deadline_s                             0  [default]
    limits.depth                                  3  [default]
    agents.timeout_s                              3600  [default]
    agents.research_timeout_s                     600  [default]
    limits.no_progress                            5  [[PROJECT]/.marvin/config.toml]
    agent.verify_rounds                           3  [default]
    agent.perseverance                            3  [default]
    agent.coordinator                             Jake  [default]
    agent.servitors                               1000  [default]
    agent.concurrency                             8  [default]
    limits.retries                                2  [[HOME]/.config/marvin/config.toml]
    limits.connect_s                              10  [default]
    limits.first_token_s                          600  [default]
    limits.idle_s                                 300  [default]
    limits.request_s                              3600  [default]
    context.warn_tokens                           180000  [default]
    context.compact_tokens                        200000  [default]
    context.hard_tokens                           226000  [default]
    history.compact_tokens                        80000  [default]
    history.target_tokens                         50000  [default]
    record.durability                             turn  [default]
    tools.grep_max_bytes                          999  [$TOKIMON_GREP_MAX_BYTES]
    tools.offer                                   auto  [default]
    tools.always                                  (unset)  [default]
    tools.command_timeout_s                       60  [default]
    sandbox.commands                              auto  [default]
    sandbox.readable                              (unset)  [default]
    sandbox.processes                             512  [default]
    sandbox.file_mb                               10240  [default]
    sandbox.environment                           (unset)  [default]
    secrets.granted                               (unset)  [default]
    sandbox.install                               ask  [default]
    gate.evaluator                                false  [default]
    gate.evaluator_provider                       (unset)  [default]
    gate.evaluator_model                          (unset)  [default]
    gate.evaluator_timeout_ms                     30000  [default]
    gate.evaluator_cost_usd                       0.5  [default]
    gate.evaluator_confidence                     0.85  [default]
    gate.evaluator_cache_minutes                  60  [default]
    web.org_allowlist                             (unset)  [default]
    web.request_allowlist                         (unset)  [default]
    web.domain_secrets                            (unset)  [default]
    web.search_url                                https://html.duckduckgo.com/html/  [default]
    web.download_max_bytes                        104857600  [default]
    web.download_timeout_s                        600  [default]
    turbotime.scryfall_url                        https://api.scryfall.com  [default]
    turbotime.steam_url                           https://store.steampowered.com  [default]
    turbotime.knowledge_url                       https://html.duckduckgo.com/html/  [default]
    turbotime.news_url                            https://news.google.com  [default]
    turbotime.timeout_s                           20  [default]
    github.api_url                                https://api.github.com  [default]
    github.clone_url                              https://github.com  [default]
    github.token                                  (unset)  [default]
    github.clone_timeout_s                        300  [default]
    github.clone_max_bytes                        1073741824  [default]
    tools.private                                 ask  [default]
    services.geoclue                              /usr/libexec/geoclue-2.0/demos/where-am-i  [default]
    services.timeout_s                            20  [default]
    services.retries                              2  [default]
    services.max_wait_s                           10  [default]
    services.cache                                true  [default]
    services.ip_location.url                      http://ip-api.com  [default]
    services.places.url                           https://places.googleapis.com  [default]
    services.places.key                           (unset)  [default]
    services.nominatim.url                        https://nominatim.openstreetmap.org  [default]
    services.overpass.url                         https://overpass-api.de  [default]
    services.osrm.url                             https://router.project-osrm.org  [default]
    services.open_meteo.url                       https://api.open-meteo.com  [default]
    services.semantic_scholar.url                 https://api.semanticscholar.org  [default]
    services.semantic_scholar.key                 (unset)  [default]
    services.arxiv.url                            https://export.arxiv.org  [default]
    services.wikipedia.url                        https://en.wikipedia.org  [default]
    services.stack_exchange.url                   https://api.stackexchange.com  [default]
    services.stack_exchange.key                   (unset)  [default]
    services.newsapi.url                          https://newsapi.org  [default]
    services.newsapi.key                          (unset)  [default]
    services.omdb.url                             https://www.omdbapi.com  [default]
    services.omdb.key                             (unset)  [default]
    services.rawg.url                             https://api.rawg.io  [default]
    services.rawg.key                             (unset)  [default]
    services.steam_api.url                        https://api.steampowered.com  [default]
    services.steam_api.key                        (unset)  [default]
    services.mealdb.url                           https://www.themealdb.com/api/json/v1/1  [default]
    services.musicbrainz.url                      https://musicbrainz.org  [default]
    services.spotify.url                          https://api.spotify.com  [default]
    services.spotify_accounts.url                 https://accounts.spotify.com  [default]
    services.frankfurter.url                      https://api.frankfurter.dev  [default]
    services.dictionary.url                       https://api.dictionaryapi.dev  [default]
    services.translation.url                      https://api.mymemory.translated.net  [default]
    services.spotify.client_id                    (unset)  [default]
    services.spotify.redirect_uri                 http://127.0.0.1:[PORT]/callback  [default]
    packs.tokens                                  1500  [default]
    flow.sync                                     auto  [default]
    flow.engine                                   local  [default]
    fleet.address                                 127.0.0.1:[PORT]  [default]
    fleet.namespace                               default  [default]
    fleet.queue                                   marvin  [default]
    fleet.store                                   (unset)  [default]
    fleet.workspace                               shared  [default]
    fleet.slots                                   0  [default]
    fleet.pollers                                 2  [default]
    fleet.heartbeat_s                             30  [default]
    fleet.drain_s                                 600  [default]
    fleet.roles                                   (unset)  [default]
    fleet.search_attributes                       false  [default]
    fleet.metrics                                 (unset)  [default]
    fleet.tls                                     auto  [default]
    fleet.tls_ca                                  (unset)  [default]
    fleet.tls_cert                                (unset)  [default]
    fleet.tls_key                                 (unset)  [default]
    person.unattended                             (unset)  [default]
    person.terminals                              (unset)  [default]
    notify.url                                    https://ntfy.sh  [default]
    notify.token                                  (unset)  [default]
    alarms.topic                                  (unset)  [default]
    alarms.scheduler                              auto  [default]
    calendar.reminders                            60,30  [default]
    web.browser                                   auto  [default]
    media.yt_dlp                                  yt-dlp  [default]
    blender.address                               127.0.0.1:[PORT]  [default]
    blender.code                                  ask  [default]
    blender.timeout_s                             120  [default]
    pipeline.debug_rounds                         50  [default]
    pipeline.e2e_rounds                           10  [default]
    pipeline.frontend_rounds                      10  [default]
    pipeline.qa_rounds                            3  [default]
    pipeline.test_command                         (unset)  [default]
    tickets.folder                                (unset)  [default]
    memory.folder                                 (unset)  [default]
    memory.turns                                  (unset)  [default]
    memory.state                                  (unset)  [default]
    memory.approvals                              (unset)  [default]
    memory.ltm                                    (unset)  [default]
    memory.practice                               (unset)  [default]
    memory.embedder                               (unset)  [default]
    memory.stm.enabled                            true  [default]
    memory.stm.folder                             (unset)  [default]
    memory.stm.collection                         stm  [default]
    memory.stm.ttl_hours                          72  [default]
    memory.stm.refresh_hours                      24  [default]
    memory.stm.top                                6  [default]
    memory.stm.entries                            200  [default]
    memory.stm.characters                         3072  [default]
    memory.stm.promotion_accesses                 3  [default]
    memory.stm.promotion_sessions                 2  [default]
    memory.stm.promotions_per_turn                2  [default]
    mtg.remote                                    true  [default]
    mtg.url                                       (unset)  [default]
    mtg.key                                       (unset)  [default]
    mtg.model                                     (unset)  [default]
    mtg.max_tokens                                400000  [default]
    mtg.max_cost_usd                              1  [default]
    interface.entry                               cli  [default]
    interface.web                                 false  [default]
    interface.approval_s                          600  [default]
    profile                                       (unset)  [default]
    hooks.stop_rounds                             3  [default]
    hooks.allow                                   rules  [default]
    mcp.servers                                   (unset)  [default]
    mcp.token                                     (unset)  [default]
    lab.python                                    python3  [default]
    self_improve.include                          .  [default]
    process.state_dir                             (unset)  [default]
    process.depth                                 0  [default]
    process.role                                  (unset)  [default]
    process.step                                  (unset)  [default]
    process.ticket                                (unset)  [default]
    process.readonly                              false  [default]
    process.writable_files                        (unset)  [default]
    process.granted_instructions                  (unset)  [default]
    process.log                                   (unset)  [default]
    process.log_filter                            (unset)  [default]
    process.cost_ledger                           (unset)  [default]
    process.lineage                               (unset)  [default]
    process.script_state                          (unset)  [default]
    process.delegated                             false  [default]
    process.delegation_depth                      0  [default]
    process.security_evaluation                   false  [default]
    process.lab                                   false  [default]
    process.hook_project                          (unset)  [default]
    [exit code 0]
    ");
    assert_snapshot!(config("limits.rounds"), @"
    8
    [exit code 0]
    ");
    assert_snapshot!(config("limits.rounds --json"), @r#"
    {"key":"limits.rounds","value":"8","origin":"[PROJECT]/.marvin/config.toml","default":"50","variables":["MARVIN_MAX_ROUNDS"],"meaning":"Tool rounds of one turn while coding"}
    [exit code 0]
    "#);
    assert_snapshot!(config("provider.openai.key"), @"
    (set, hidden)
    [exit code 0]
    ");
}

/// Parts of the report that do not depend on the machine.
fn stable_parts(world: &World, text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_stable = true;
    for line in text.lines() {
        // Further lines of a check are indented.
        let starts = !line.starts_with("                    ");
        let checks = |name: &&str| line.get(9..).is_some_and(|rest| rest.starts_with(*name));
        is_stable = if starts { !["sandbox", "browser", "disk"].iter().any(checks) } else { is_stable };
        if is_stable {
            lines.push(line);
        }
    }
    mask(world, &lines.join("\n"))
}

#[test]
fn doctor() {
    let world = World::new();
    put(&world.home().join(".ssh/GROQ_API_KEY"), "gsk-planted-in-a-file-77");
    let doctor = || {
        // Without programs and servers, so that what is installed does not matter.
        let doctor = without_servers(world.marvin(["doctor"])).env("PATH", world.root().join("tmp"));
        stable_parts(&world, doctor.env("ANTHROPIC_API_KEY", "sk-planted").run().text())
    };
    assert_snapshot!(doctor(), @"
    ok       marvin       [VERSION]
    ok       settings     defaults only
    PROBLEM  git          not found
                          fix: install git
    PROBLEM  shell        not found
                          fix: install bash
    missing  python       not found
                          fix: install python3, if your projects use it
    missing  pytest       not found
                          fix: pip install pytest, if your projects use it
    ok       gate rules   none; the judge decides alone
    missing  hooks        no client is set up in this project
                          fix: run `marvin init`, if you use Claude Code or Codex here
    ok       packs        none
    ok       user directory [HOME]/.config/marvin is writable
    ok       project      [PROJECT] is writable

    Providers (keys by name only):
    ready    anthropic    key from $ANTHROPIC_API_KEY (claude-opus-4.6)
             openai       no key: set OPENAI_API_KEY (or provider.openai.key in the user's config.toml) (gpt-5.2)
             gemini       no key: set GEMINI_API_KEY (or provider.gemini.key in the user's config.toml) (gemini-3-pro-preview)
    ready    groq         key from ~/.ssh/GROQ_API_KEY (llama-3.3-70b-versatile)
             kimi         no key: set KIMI_API_KEY (or provider.kimi.key in the user's config.toml) (moonshotai/kimi-k2.5)
             copilot      no key: set GITHUB_COPILOT_TOKEN (or provider.copilot.key in the user's config.toml) (gpt-5.2)
             ollama       nothing listens at http://127.0.0.1:9: start the server (qwen3-coder:30b)
             local        nothing listens at http://127.0.0.1:9/v1: start the server (local-model)
             codex        `codex` is not on PATH: install it or set provider.codex.program
             claude       `claude` is not on PATH: install it or set provider.claude.program
    ready    mock         built in (mock)

    Prompts go to: anthropic (choose with --provider)
    2 problems.
    ");
    put(&world.user().join("security/denylist.json"), "{");
    assert_snapshot!(doctor(), @r#"
    ok       marvin       [VERSION]
    ok       settings     defaults only
    PROBLEM  git          not found
                          fix: install git
    PROBLEM  shell        not found
                          fix: install bash
    missing  python       not found
                          fix: install python3, if your projects use it
    missing  pytest       not found
                          fix: pip install pytest, if your projects use it
    PROBLEM  gate rules   [HOME]/.config/marvin/security/denylist.json: it is not JSON of the right shape: EOF while parsing an object at line 1 column 1; the file is {"rules": [{"id": …, "type": …, "pattern": …, "reason": …}]}
                          fix: fix the file; `marvin gate rules test` checks it
    missing  hooks        no client is set up in this project
                          fix: run `marvin init`, if you use Claude Code or Codex here
    ok       packs        none
    ok       user directory [HOME]/.config/marvin is writable
    ok       project      [PROJECT] is writable

    Providers (keys by name only):
    ready    anthropic    key from $ANTHROPIC_API_KEY (claude-opus-4.6)
             openai       no key: set OPENAI_API_KEY (or provider.openai.key in the user's config.toml) (gpt-5.2)
             gemini       no key: set GEMINI_API_KEY (or provider.gemini.key in the user's config.toml) (gemini-3-pro-preview)
    ready    groq         key from ~/.ssh/GROQ_API_KEY (llama-3.3-70b-versatile)
             kimi         no key: set KIMI_API_KEY (or provider.kimi.key in the user's config.toml) (moonshotai/kimi-k2.5)
             copilot      no key: set GITHUB_COPILOT_TOKEN (or provider.copilot.key in the user's config.toml) (gpt-5.2)
             ollama       nothing listens at http://127.0.0.1:9: start the server (qwen3-coder:30b)
             local        nothing listens at http://127.0.0.1:9/v1: start the server (local-model)
             codex        `codex` is not on PATH: install it or set provider.codex.program
             claude       `claude` is not on PATH: install it or set provider.claude.program
    ready    mock         built in (mock)

    Prompts go to: anthropic (choose with --provider)
    3 problems.
    "#);
    put(&world.user().join("config.toml"), "[limits]\nround = 1");
    assert_snapshot!(doctor(), @"
    ok       marvin       [VERSION]
    PROBLEM  settings     unknown setting `limits.round` ([HOME]/.config/marvin/config.toml); did you mean `limits.rounds`?
      hint: `marvin config --markdown` lists every key
                          fix: fix the setting
    PROBLEM  git          not found
                          fix: install git
    PROBLEM  shell        not found
                          fix: install bash
    missing  python       not found
                          fix: install python3, if your projects use it
    missing  pytest       not found
                          fix: pip install pytest, if your projects use it

    Providers (keys by name only):
    3 problems.
    ");
}

/// Names servers of models that do not exist: a model may be served on this machine.
fn without_servers(marvin: Marvin) -> Marvin {
    marvin.env("MARVIN_OLLAMA_URL", "http://127.0.0.1:9").env("MARVIN_LOCAL_URL", "http://127.0.0.1:9/v1")
}

#[test]
fn the_program_alone() {
    let world = World::new();
    assert_snapshot!(show(&world, without_servers(world.marvin::<&str>([]))), @"
    Marvin [VERSION]: a deterministic shell for LLM agents. Models propose, the shell decides.

    One turn of the built-in model, which needs no key:

    > what is 26.2 miles in km
      🔧 convert_units
    26.2 miles = 42.1648128 km

    No other model is ready: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GROQ_API_KEY,
    or start Ollama. Until then the built-in model answers.

    Next:
      marvin what is 3 km in miles                        ask once
      marvin --non-interactive --prompt 'list files'      run unattended in this directory
      marvin tools list                                   what a model can call
      marvin doctor                                       what is ready on this machine
      marvin --help                                       everything else
    [exit code 0]
    ");
    let ready = without_servers(world.marvin::<&str>([])).env("GROQ_API_KEY", "gsk-planted");
    assert_snapshot!(show(&world, ready), @"
    Marvin [VERSION]: a deterministic shell for LLM agents. Models propose, the shell decides.

    One turn of the built-in model, which needs no key:

    > what is 26.2 miles in km
      🔧 convert_units
    26.2 miles = 42.1648128 km

    Ready: groq. Your prompts go to `groq`; choose with --provider.

    Next:
      marvin what is 3 km in miles                        ask once
      marvin --non-interactive --prompt 'list files'      run unattended in this directory
      marvin tools list                                   what a model can call
      marvin doctor                                       what is ready on this machine
      marvin --help                                       everything else
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "--version"), @"
    marvin [VERSION]
    [exit code 0]
    ");
}
