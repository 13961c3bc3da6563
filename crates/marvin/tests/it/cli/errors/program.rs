//! Errors of the program's own arguments and of its small commands.

use crate::cli::{screen, show, words};
use crate::support::{World, say};
use insta::assert_snapshot;

#[test]
fn arguments_of_the_program() {
    let world = World::new();
    assert_snapshot!(screen(&world, "--no-such-flag"), @"
    --- stderr ---
    marvin: unexpected argument '--no-such-flag' found

      tip: to pass '--no-such-flag' as a value, use '-- --no-such-flag'

    Usage: marvin [OPTIONS] [WORDS]...
           marvin <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "--non-interactiv --prompt a"), @"
    --- stderr ---
    marvin: unexpected argument '--non-interactiv' found

      tip: a similar argument exists: '--non-interactive'

    Usage: marvin --non-interactive [WORDS]...

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "--prompt a"), @"
    --- stderr ---
    marvin: --prompt needs --non-interactive
      hint: add --non-interactive
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "--non-interactive --prompt a --prompt-file b"), @r#"
    --- stderr ---
    marvin: the argument '--prompt <TEXT>' cannot be used with '--prompt-file <PATH>'

    Usage: marvin --non-interactive --prompt <TEXT> [WORDS]...

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--non-interactive --output-format xml"), @r#"
    --- stderr ---
    marvin: invalid value 'xml' for '--output-format <FORMAT>'
      [possible values: text, json, stream-json]

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--non-interactive --json --output-format json"), @r#"
    {"type":"result","status":"failed","reason":"not_started","exit_code":2,"text":"","error":"the argument '--json' cannot be used with '--output-format <FORMAT>'\n\nUsage: marvin --non-interactive --json [WORDS]...\n\nFor more information, try '--help'.","failure_signature":"not-started","data":{},"verification":{"status":"none","commitments":[]},"cost":{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{},"tokens":{},"unpriced_models":[]},"rounds":0,"tool_calls":0,"duration_ms":[N],"run_id":null,"run_path":null}
    --- stderr ---
    marvin: the argument '--json' cannot be used with '--output-format <FORMAT>'

    Usage: marvin --non-interactive --json [WORDS]...

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--model --non-interactive"), @r#"
    --- stderr ---
    marvin: a value is required for '--model <[TIER=]MODEL>' but none was supplied

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--plain --curses"), @"
    --- stderr ---
    marvin: the argument '--plain' cannot be used with '--curses'

    Usage: marvin --plain [WORDS]...

    For more information, try '--help'.
    [exit code 2]
    ");
    assert!(world.runs().is_empty());
}

#[test]
fn values_of_the_program() {
    let world = World::new();
    let ask = "--non-interactive --prompt hi";
    assert_snapshot!(screen(&world, &format!("{ask} --max-cost much")), @r#"
    --- stderr ---
    marvin: invalid value 'much' for '--max-cost <USD>': not a number, 0 or more

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --max-cost=-1")), @r#"
    --- stderr ---
    marvin: invalid value '-1' for '--max-cost <USD>': not a number, 0 or more

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --max-rounds 0")), @r#"
    --- stderr ---
    marvin: invalid value '0' for '--max-rounds <N>': not a whole number, 1 to 10000

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --deadline soon")), @r#"
    --- stderr ---
    marvin: invalid value 'soon' for '--deadline <SECONDS>': not a whole number, 0 or more

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --provider opnai")), @r#"
    --- stderr ---
    marvin: setting `model.provider` (flag) cannot be `opnai`: it takes one of anthropic, openai, gemini, groq, kimi, copilot, ollama, local, codex, claude, mock; did you mean `openai`?
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --provider groq")), @r#"
    --- stderr ---
    marvin: groq: no key: set GROQ_API_KEY (or provider.groq.key in the user's config.toml)
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --model wrong_tier=x")), @r#"
    --- stderr ---
    marvin: invalid value 'wrong_tier=x' for '--model <[TIER=]MODEL>': no tier is called `wrong_tier` (there are: low, high, codex, opus, plan, plan_gen, test_writer, aux_reviewer, fallback)

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --turbotime dice")), @r#"
    --- stderr ---
    marvin: invalid value 'dice' for '--turbotime <TOOL,…>': `dice` is not a TURBOTIME tool
      hint: scryfall.lookup (scryfall), steam.game_lookup (steam), game.knowledge_search (knowledge), news.headline_search (news), or all

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --commitment pytest")), @r#"
    --- stderr ---
    marvin: --commitment: `pytest` names no kind
      hint: write KIND:ASSERTION, for example 'shell:pytest -q'; kinds: shell, file_exists, file_contains, json_equals, tests_pass
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --oracle missing")), @r#"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --commitment <KIND:ASSERTION>

    Usage: marvin --commitment <KIND:ASSERTION> --non-interactive --prompt <TEXT> --oracle <PATH> [WORDS]...

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --resume run_20260203_040506_1a2b")), @r#"
    --- stderr ---
    marvin: the argument '--prompt <TEXT>' cannot be used with '--resume <RUN>'

    Usage: marvin --non-interactive --prompt <TEXT> [WORDS]...

    For more information, try '--help'.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
}

#[test]
fn files_and_directories_of_the_program() {
    let world = World::new();
    world.write("bad.jsonl", "# fine\n{\"reply\":{\"text\":\"ok\"}}\n{\"replay\":{}}\n");
    world.write("bad.json", "{");
    world.write("file.txt", "");
    let ask = "--non-interactive --prompt hi";
    assert_snapshot!(screen(&world, &format!("{ask} --script missing.jsonl")), @r#"
    --- stderr ---
    marvin: mock: cannot read the script missing.jsonl: No such file or directory (os error 2)
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --script bad.jsonl")), @r#"
    --- stderr ---
    marvin: mock: bad.jsonl, line 3: unknown field `replay`, expected one of `when`, `reply`, `fail`, `repeat`, `delay_ms`, `chunks`, `request` at line 1 column 9
      hint: an entry is {"when":{…},"reply":{"text":"…"}} or {"fail":{"kind":"http","status":429}}
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --output-schema missing.json")), @r#"
    --- stderr ---
    marvin: cannot read missing.json: No such file or directory (os error 2)
      hint: --output-schema names a file with a JSON schema
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --output-schema bad.json")), @r#"
    --- stderr ---
    marvin: bad.json is not JSON: EOF while parsing an object at line 1 column 1
      hint: --output-schema names a file with a JSON schema
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --working-dir missing")), @r#"
    --- stderr ---
    marvin: --working-dir missing: no such directory
      hint: make it first, or check the spelling
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --working-dir file.txt")), @r#"
    --- stderr ---
    marvin: --working-dir file.txt: no such directory
      hint: make it first, or check the spelling
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --working-dir /")), @r#"
    --- stderr ---
    marvin: the root of the file system cannot be the working directory
    Name the directory of the project.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 5]
    "#);
    assert_snapshot!(screen(&world, &format!("{ask} --working-dir ../home")), @r#"
    --- stderr ---
    marvin: the home directory [HOME] itself cannot be the working directory
    Name the directory of a project inside it.
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 5]
    "#);
    assert!(world.runs().is_empty());
}

#[test]
fn tools() {
    let world = World::new();
    assert_snapshot!(screen(&world, "tools"), @r#"
    --- stderr ---
    marvin: List, explain and call tools

    Usage: marvin tools <COMMAND>

    Commands:
      list    List the tools
      schema  Show the schema of a tool's arguments
      check   Check which services can be asked: keys, addresses and, with --live, whether they answer
      call    Call a tool, judged and recorded as an agent's call would be

    Options:
      -h, --help  Print help

    Examples:
      marvin tools list
      marvin tools schema read_file
      marvin tools call read_file --args '{"path":"Cargo.toml"}'
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "tools lst"), @"
    --- stderr ---
    marvin: unrecognized subcommand 'lst'

      tip: a similar subcommand exists: 'list'

    Usage: marvin tools <COMMAND>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools list --all"), @"
    --- stderr ---
    marvin: unexpected argument '--all' found

    Usage: marvin tools list [OPTIONS]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools schema"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <NAME>

    Usage: marvin tools schema <NAME>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools schema read_fil"), @"
    --- stderr ---
    marvin: no such tool: `read_fil`. Did you mean `read_file`? The tools are: add_commitment, append_file, apply_patch, blender_create_object, blender_delete_object, blender_execute_code, blender_get_object, blender_get_scene, blender_modify_object, blender_screenshot, blender_set_material, bookmark_list, bookmark_save, bookmark_search, browse_web, calendar_add_event, calendar_delete_event, calendar_list_upcoming, calendar_view, cancel_alarm, code_grep, compact_history, convert_units, create_file, create_ticket, dictionary_lookup, dismiss_servitor, download_file, estimate_traffic_adjusted_time, estimate_travel_time, exit_app, file_apply_patch, file_read_lines, generate_ntfy_topic, get_directions, get_game_details, get_movie_details, get_my_location, get_usage, get_working_dir, git_checkout, git_commit, git_diff, git_log, git_status, github_clone, github_grep, github_read_file, github_search, install_packages, launch_agent, launch_research_agent, list_alarms, list_commitments, list_places, list_servitors, load_skill, message_servitor, music_lookup, music_search, notes_ls, notes_mkdir, ntfy_list, ntfy_publish, ntfy_subscribe, ntfy_unsubscribe, places_nearby_search, places_text_search, read_file, read_note, read_rss, recipe_lookup, recipe_search, remove_place, run_command, run_tests, save_place, scrape_page, search_arxiv, search_games, search_history_backups, search_movies, search_news, search_papers, set_alarm, set_working_dir, setup_google_auth, spotify_add_tracks, spotify_auth, spotify_create_playlist, spotify_search, stack_answers, stack_search, steam_app_details, steam_featured, steam_player_stats, steam_search, steam_user_games, steam_user_summary, summon_servitor, switch_profile, system_info, ticket_add_dep, ticket_add_note, ticket_close, ticket_dep_tree, ticket_list, ticket_show, ticket_start, timer_check, timer_start, timer_stop, tk, translate_text, tree, update_preferences, verify, wait_for_servitor, weather_forecast, web_fetch, web_search, wiki_full, wiki_grep, wiki_search, wiki_summary, write_note, yt_dlp_download.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools call"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <NAME>

    Usage: marvin tools call <NAME>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools call read_fil"), @"
    --- stderr ---
    marvin: no such tool: `read_fil`. Did you mean `read_file`? The tools are: add_commitment, append_file, apply_patch, blender_create_object, blender_delete_object, blender_execute_code, blender_get_object, blender_get_scene, blender_modify_object, blender_screenshot, blender_set_material, bookmark_list, bookmark_save, bookmark_search, browse_web, calendar_add_event, calendar_delete_event, calendar_list_upcoming, calendar_view, cancel_alarm, code_grep, compact_history, convert_units, create_file, create_ticket, dictionary_lookup, dismiss_servitor, download_file, estimate_traffic_adjusted_time, estimate_travel_time, exit_app, file_apply_patch, file_read_lines, generate_ntfy_topic, get_directions, get_game_details, get_movie_details, get_my_location, get_usage, get_working_dir, git_checkout, git_commit, git_diff, git_log, git_status, github_clone, github_grep, github_read_file, github_search, install_packages, launch_agent, launch_research_agent, list_alarms, list_commitments, list_places, list_servitors, load_skill, message_servitor, music_lookup, music_search, notes_ls, notes_mkdir, ntfy_list, ntfy_publish, ntfy_subscribe, ntfy_unsubscribe, places_nearby_search, places_text_search, read_file, read_note, read_rss, recipe_lookup, recipe_search, remove_place, run_command, run_tests, save_place, scrape_page, search_arxiv, search_games, search_history_backups, search_movies, search_news, search_papers, set_alarm, set_working_dir, setup_google_auth, spotify_add_tracks, spotify_auth, spotify_create_playlist, spotify_search, stack_answers, stack_search, steam_app_details, steam_featured, steam_player_stats, steam_search, steam_user_games, steam_user_summary, summon_servitor, switch_profile, system_info, ticket_add_dep, ticket_add_note, ticket_close, ticket_dep_tree, ticket_list, ticket_show, ticket_start, timer_check, timer_start, timer_stop, tk, translate_text, tree, update_preferences, verify, wait_for_servitor, weather_forecast, web_fetch, web_search, wiki_full, wiki_grep, wiki_search, wiki_summary, write_note, yt_dlp_download.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools call find_tools"), @"
    --- stderr ---
    marvin: find_tools belongs to conversations: it chooses the tools that the next requests to the model offer
      hint: list all tools with `marvin tools list`
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "tools call read_file --args path=a"), @r#"
    --- stderr ---
    marvin: --args is not a JSON object: path=a
      hint: --args '{"path":"a.txt"}'
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "tools call read_file --args [1]"), @r#"
    --- stderr ---
    marvin: --args is not a JSON object: [1]
      hint: --args '{"path":"a.txt"}'
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "tools call read_file"), @r#"
    --- stderr ---
    marvin: the arguments of read_file are wrong: the field `path` is missing.
    A correct call of read_file: {"path": "src/main.rs", "start_line": 1, "end_line": 80}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "tools call read_file --args '{\"path\": 7}'"), @r#"
    --- stderr ---
    marvin: the arguments of read_file are wrong: the field `path`: 7 is not of type "string".
    A correct call of read_file: {"path": "src/main.rs", "start_line": 1, "end_line": 80}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "tools call read_file --args '{\"path\": \"missing.txt\"}'"), @"
    --- stderr ---
    marvin: cannot read `missing.txt`: no such file or directory
    Look with the tree tool which files there are, then use a path from there.
    Working directory: [PROJECT]
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "tools call read_file --args '{\"path\": \"../out.txt\"}'"), @"
    --- stderr ---
    marvin: refused: `../out.txt` climbs with `..`; paths may not leave the working directory [path.climbing]
    Name the file by its path below the working directory, without `..`.
    Working directory: [PROJECT]
    [exit code 5]
    ");
    assert_snapshot!(screen(&world, "tools call create_file --args '{\"path\": \".marvin/x\", \"content\": \"\"}'"), @"
    --- stderr ---
    marvin: refused: `.marvin/x` steers Marvin: settings, packs, rules and skills, and a person decides that; this needs a person's approval, and there is none to ask [path.steers]
    Say in your answer what should stand there and why.
      hint: run it in a terminal, where you are asked
    [exit code 5]
    ");
    assert_snapshot!(screen(&world, "tools call run_command --args '{\"command\": \"rm -rf ~\"}'"), @"
    --- stderr ---
    marvin: refused: it would delete everything in the whole home directory: `[HOME]` [catastrophe.delete]
    Name what is to be deleted, inside the workspace, or leave it.
    [exit code 5]
    ");
    assert_snapshot!(screen(&world, "tools call tree --working-dir /"), @"
    --- stderr ---
    marvin: the root of the file system cannot be the working directory
    Name the directory of the project.
    [exit code 5]
    ");
}

#[test]
fn schema_completions_and_man() {
    let world = World::new();
    assert_snapshot!(screen(&world, "schema"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <FILE>

    Usage: marvin schema <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "schema tace"), @"
    --- stderr ---
    marvin: invalid value 'tace' for '<FILE>'
      [possible values: run, trace, config, self-improve, session]

      tip: a similar value exists: 'trace'

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "completions"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      <SHELL>

    Usage: marvin completions <SHELL>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "completions tcsh"), @"
    --- stderr ---
    marvin: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "man bash"), @"
    --- stderr ---
    marvin: unexpected argument 'bash' found

    Usage: marvin man

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "doctor --fix"), @"
    --- stderr ---
    marvin: unexpected argument '--fix' found

    Usage: marvin doctor [OPTIONS]

    For more information, try '--help'.
    [exit code 2]
    ");
}

#[test]
fn model_server() {
    let world = World::new();
    let script = world.script(&[say("x")]);
    let serve = |address: &str| {
        show(&world, world.marvin(["model-server", "--script", &script, "--listen", address]))
    };
    assert_snapshot!(screen(&world, "model-server"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --script <FILE>

    Usage: marvin model-server --script <FILE>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "model-server --script missing.jsonl"), @"
    --- stderr ---
    marvin: cannot read the script missing.jsonl: No such file or directory (os error 2)
      hint: name a script (docs/models.md)
    [exit code 2]
    ");
    assert_snapshot!(serve("0.0.0.0:0"), @"
    --- stderr ---
    marvin: --listen 0.0.0.0:0: a scripted model answers every client, so it listens only on this machine
      hint: use 127.0.0.1:0
    [exit code 5]
    ");
    assert_snapshot!(serve("nowhere"), @"
    --- stderr ---
    marvin: invalid value 'nowhere' for '--listen <ADDRESS>': not an address; write 127.0.0.1:0 or [::1]:8080

    For more information, try '--help'.
    [exit code 2]
    ");
}

#[test]
fn benchmark() {
    let world = World::new();
    assert_snapshot!(screen(&world, "list-tasks --show lru"), @"
    --- stderr ---
    marvin: unknown task `lru`; did you mean `lru-cache`?
      hint: `marvin list-tasks` shows all of them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-task"), @"
    --- stderr ---
    marvin: the following required arguments were not provided:
      --task-id <ID>

    Usage: marvin run-task --task-id <ID>

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-task --task-id lru-cach"), @"
    --- stderr ---
    marvin: unknown task `lru-cach`; did you mean `lru-cache`?
      hint: `marvin list-tasks` shows all of them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-task --task-id lru-cache --runner best"), @"
    --- stderr ---
    marvin: invalid value 'best' for '--runner <NAME>': unknown runner `best` (the runners are: baseline, hierarchical, oracle, nop)

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-suite --tasks lru-cache,nothing"), @"
    --- stderr ---
    marvin: unknown task `nothing`
      hint: `marvin list-tasks` shows all of them
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "run-suite --repeat 0"), @"
    --- stderr ---
    marvin: invalid value '0' for '--repeat <N>': 0 is not in 1..=1000

    For more information, try '--help'.
    [exit code 2]
    ");
    let without_python = world.marvin(words("run-task --task-id lru-cache --python no-such-python"));
    assert_snapshot!(show(&world, without_python), @"
    --- stderr ---
    marvin: `no-such-python` does not exist
      hint: tasks are graded with pytest; install it (`python3 -m venv ~/lab && ~/lab/bin/pip install pytest`) and name it with --python ~/lab, or the setting lab.python
    [exit code 4]
    ");
}
