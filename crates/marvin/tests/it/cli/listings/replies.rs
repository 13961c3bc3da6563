//! What an unattended run prints, in each format and at each kind of end.

use crate::cli::show;
use crate::support::{World, call, say};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn play(script: &[Value], more: &[&str]) -> String {
    let world = World::new();
    show(&world, world.play(script, more))
}

#[test]
fn text() {
    let script = [call("create_file", json!({"path": "a.txt", "content": "one"})), say("It is there.")];
    assert_snapshot!(play(&script, &[]), @r#"
      🔧 create_file
    It is there.
    --- stderr ---
    MARVIN_COST:{"session_cost":0.0,"llm_turns":2,"model_turns":{"mock":2},"model_cost":{"mock":0.0}}
    [exit code 0]
    "#);
    assert_snapshot!(play(&script, &["--json"]), @r#"
    {"type":"result","seq":13,"timestamp":"[TIME]","status":"success","reason":"answered","exit_code":0,"text":"It is there.","error":null,"failure_signature":null,"data":{},"verification":{"status":"none","rounds":0,"commitments":[],"problems":[]},"cost":{"session_cost":0.0,"llm_turns":2,"model_turns":{"mock":2},"model_cost":{"mock":0.0},"tokens":{"mock":{"input":[N],"output":[N]}},"unpriced_models":[]},"rounds":2,"tool_calls":1,"duration_ms":[N],"run_id":"[RUN]","run_path":"[STATE]/runs/[RUN]"}
    --- stderr ---
    MARVIN_COST:{"session_cost":0.0,"llm_turns":2,"model_turns":{"mock":2},"model_cost":{"mock":0.0}}
    [exit code 0]
    "#);
    assert_snapshot!(play(&script, &["--output-format", "stream-json"]), @r#"
    {"type":"run.started","seq":1,"timestamp":"[TIME]","run_id":"[RUN]","run_path":"[STATE]/runs/[RUN]","provider":"mock","model":"mock","working_dir":"[PROJECT]","tools":128}
    {"type":"turn.started","seq":2,"timestamp":"[TIME]","turn":1,"prompt":"go"}
    {"type":"prompt.composed","seq":3,"timestamp":"[TIME]","reason":"turn","signature":"[HASH]","sha256":"[HASH]","system_bytes":[N],"task_bytes":2,"pieces":[{"name":"rules","state":"included","bytes":[N],"tokens":[N]},{"name":"role","state":"included","bytes":[N],"tokens":[N]},{"name":"date","state":"included","bytes":[N],"tokens":[N]},{"name":"profile","state":"included","bytes":[N],"tokens":[N]},{"name":"coding","state":"included","bytes":[N],"tokens":[N]}]}
    {"type":"item.started","seq":4,"timestamp":"[TIME]","item":{"type":"model_call","id":"item_1","round":1,"provider":"mock","model":"mock","protocol":"native","role":"Coder","messages":2,"tools":20,"new_tools":["add_commitment","append_file","apply_patch","code_grep","create_file","find_tools","get_usage","git_commit","git_diff","git_log","git_status","list_commitments","read_file","run_command","run_tests","tk","tree","web_fetch","web_search","write_note"],"request_signature":"[HASH]"}}
    {"type":"item.completed","seq":5,"timestamp":"[TIME]","item":{"type":"model_call","id":"item_1","model":"mock","usage":{"input":[N],"output":[N]},"cost_usd":0.0,"text":"","calls":["create_file"]}}
    {"type":"tools.started","seq":6,"timestamp":"[TIME]","round":1,"tools":["create_file"]}
    {"type":"item.started","seq":7,"timestamp":"[TIME]","item":{"type":"tool_call","id":"item_2","name":"create_file","tool_call_id":"call_1","arguments":{"path":"a.txt","content":"one"},"call_signature":"[HASH]"}}
    {"type":"item.completed","seq":8,"timestamp":"[TIME]","item":{"type":"tool_call","id":"item_2","name":"create_file","tool":"create_file","ok":true,"verdict":{"decision":"allow","reason":"the path lies inside the working directory","rule":"path.inside","how_to_fix":""},"result":{"ok":true,"summary":"Created a.txt (3 bytes)","data":{"path":"a.txt","bytes":[N]},"error":null,"elapsed_ms":[N],"source":"tool_output","confidence":"verbatim"},"repeated":0}}
    {"type":"item.started","seq":9,"timestamp":"[TIME]","item":{"type":"model_call","id":"item_3","round":2,"provider":"mock","model":"mock","protocol":"native","role":"Coder","messages":4,"tools":20,"request_signature":"[HASH]"}}
    {"type":"item.updated","item":{"id":"item_3_message","type":"message","delta":"It is there."}}
    {"type":"item.completed","seq":10,"timestamp":"[TIME]","item":{"type":"model_call","id":"item_3","model":"mock","usage":{"input":[N],"output":[N]},"cost_usd":0.0,"text":"It is there.","calls":[]}}
    {"type":"item.completed","seq":11,"timestamp":"[TIME]","item":{"type":"message","id":"item_3_message","text":"It is there."}}
    {"type":"turn.completed","seq":12,"timestamp":"[TIME]","turn":1,"status":"success","rounds":2,"tool_calls":1}
    {"type":"result","seq":13,"timestamp":"[TIME]","status":"success","reason":"answered","exit_code":0,"text":"It is there.","error":null,"failure_signature":null,"data":{},"verification":{"status":"none","rounds":0,"commitments":[],"problems":[]},"cost":{"session_cost":0.0,"llm_turns":2,"model_turns":{"mock":2},"model_cost":{"mock":0.0},"tokens":{"mock":{"input":[N],"output":[N]}},"unpriced_models":[]},"rounds":2,"tool_calls":1,"duration_ms":[N],"run_id":"[RUN]","run_path":"[STATE]/runs/[RUN]"}
    --- stderr ---
    MARVIN_COST:{"session_cost":0.0,"llm_turns":2,"model_turns":{"mock":2},"model_cost":{"mock":0.0}}
    [exit code 0]
    "#);
}

#[test]
fn ends() {
    let tree = || call("tree", json!({}));
    assert_snapshot!(play(&[tree(), tree(), tree(), say("never said")], &[]), @r#"
      🔧 tree
      🔧 tree
      🔧 tree
    --- stderr ---
    marvin: no progress: `tree` was called 3 times with the same arguments and the same result while nothing changed
      the record: [STATE]/runs/[RUN]
    MARVIN_COST:{"session_cost":0.0,"llm_turns":3,"model_turns":{"mock":3},"model_cost":{"mock":0.0}}
    [exit code 1]
    "#);
    assert_snapshot!(play(&[tree(), call("get_usage", json!({})), say("more")], &["--max-rounds", "1"]), @r#"
      🔧 tree
    more
    --- stderr ---
    marvin: the work did not end within 1 tool round(s)
      the record: [STATE]/runs/[RUN]
    MARVIN_COST:{"session_cost":0.0,"llm_turns":3,"model_turns":{"mock":3},"model_cost":{"mock":0.0}}
    [exit code 1]
    "#);
    assert_snapshot!(play(&[say("Done.")], &["--commitment", "file_exists:a.txt"]), @r#"
    Done.
    --- stderr ---
    failed: c-[ID]  file_exists: a.txt
      cannot look at `a.txt`: no such file or directory

    not verified: 0 of 1 passed, 1 failed
    marvin: mock: the script has no entry left for this request (PARTIAL)
      the record: [STATE]/runs/[RUN]
    MARVIN_COST:{"session_cost":0.0,"llm_turns":1,"model_turns":{"mock":1},"model_cost":{"mock":0.0}}
    [exit code 1]
    "#);
    assert_snapshot!(play(&[], &[]), @r#"
    --- stderr ---
    marvin: mock: the script has no entry left for this request (PARTIAL)
      the record: [STATE]/runs/[RUN]
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 1]
    "#);
    assert_snapshot!(play(&[json!({"fail": {"kind": "http", "status": 401}})], &[]), @r#"
    --- stderr ---
    marvin: mock: HTTP 401 (scripted)
      the record: [STATE]/runs/[RUN]
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 1]
    "#);
}

#[test]
fn questions() {
    let world = World::new();
    let script = world.script(&[say("You are Ann.")]);
    assert_snapshot!(show(&world, world.marvin(["--script", &script, "who", "am", "I?"])), @"
    You are Ann.
    [exit code 0]
    ");
    assert_snapshot!(show(&world, world.marvin(["what", "can", "you", "do"])), @r#"
    I am Marvin's built-in model and did not understand "what can you do". I understand:
      what is 3 km in miles
      read note shopping
      note shopping: milk and bread
      usage
    For anything else, give Marvin a real model: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GROQ_API_KEY, or choose one with --provider (`marvin doctor` shows what is ready).
    [exit code 0]
    "#);
}
