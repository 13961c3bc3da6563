//! The web front end over real sockets: its answers, its refusals, and that it stays up.

mod attacks;
mod audit;
mod client;
mod described;
mod table;

use crate::support::{World, call, json_file, put, say, until};
use client::WebFrontEnd;
use serde_json::{Value, json};

/// Text with markup, control characters and escape sequences that a browser or a terminal could interpret.
const NASTY: &str = "<script>alert(1)</script> <img src=x onerror=alert(1)> \u{1b}[31mred\u{1b}]8;;http://x\u{7} \u{202e}evil \u{0} \
                     [a](javascript:alert(1)) **bold** ```\n</pre></body> &amp; 日本 👩‍👩‍👧 \r\n\u{2028}\u{feff}end";

#[test]
fn it_prints_its_address_and_ends_on_sigterm() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    assert_eq!(server.url, format!("http://{}", server.address));
    assert_eq!(server.link, format!("http://{}/#token={}", server.address, server.token));
    assert!(server.token.len() >= 32);
    assert_eq!(server.open("GET", "/healthz").json(), json!({"ok": true}));
    let port = server.address.rsplit(':').next().unwrap();
    let second = world.person(["chat-ui", "--port", port]).run().exits(1);
    assert!(
        second.message().contains("is in use") && second.message().contains("hint"),
        "{}",
        second.message()
    );
    let beyond = world.person(["chat-ui", "--host", "0.0.0.0", "--port", "0"]).run().exits(5);
    assert!(beyond.message().contains("--expose"), "{}", beyond.message());
    server.running.signal(rustix::process::Signal::TERM);
    server.running.end().exits(0);
}

#[test]
fn send_answers_with_the_documented_fields() {
    let world = World::new();
    // A message with a history of its own plays the script from its beginning.
    let beside = json!({"when": {"contains": "and?"}, "reply": {"text": "And beside."}});
    let server = WebFrontEnd::start(
        &world,
        &[beside, call("create_file", json!({"path": "a.txt", "content": "hi"})), say("It is done.")],
    );
    let answer = server.post("/api/send", &json!({"message": "make a file"})).ok();
    for key in
        ["ok", "status", "reply", "summary", "artifacts", "metrics", "next_actions", "failure_signature"]
    {
        assert!(answer.get(key).is_some(), "{key}: {answer}");
    }
    assert_eq!(
        (&answer["ok"], &answer["status"], &answer["reply"]),
        (&json!(true), &json!("SUCCESS"), &json!("It is done."))
    );
    assert_eq!(world.read("a.txt"), "hi");
    let messages = server.get("/api/messages").ok();
    let texts: Vec<&str> =
        messages["messages"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["make a file", "It is done."]);
    // A message with the caller's own history leaves the stored conversation unchanged.
    let beside = server
        .post("/api/send", &json!({"message": "and?", "history": [{"role": "user", "content": "hello"}]}))
        .ok();
    assert_eq!(beside["reply"], "And beside.", "{beside}");
    assert_eq!(server.get("/api/messages").ok()["total"], 2);
    for bad in [
        "{",
        "{}",
        r#"{"message": ""}"#,
        r#"{"message": "  "}"#,
        r#"{"message": 1}"#,
        r#"{"message": "x", "history": "no"}"#,
        "[]",
        "null",
    ] {
        assert_eq!(server.send("POST", "/api/send", &[], bad.as_bytes()).status, 400, "{bad}");
    }
    let runs = server.get("/api/runs").ok();
    assert_eq!(runs["total"], 2, "{runs}");
    // Two runs of the same second may be listed in either order.
    let ids = [0, 1].map(|at| runs["runs"][at]["run_id"].as_str().unwrap().to_string());
    let of = |id: &String| server.get(&format!("/api/runs/{id}")).ok();
    let id = ids.iter().find(|id| of(id)["tools"]["create_file"].is_object()).unwrap_or(&ids[1]);
    let run = of(id);
    assert_eq!(run["tools"]["create_file"]["calls"], 1, "{run}");
    let trace = server.get(&format!("/api/runs/{id}/trace?limit=2")).ok();
    let next = trace["next"].as_u64().unwrap();
    let more = server.get(&format!("/api/runs/{id}/trace?limit=500&from={next}")).ok();
    let all: Vec<u64> = [&trace, &more]
        .iter()
        .flat_map(|page| page["events"].as_array().unwrap())
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "every line, once");
}

#[test]
fn messages_are_shown_as_they_are_stored() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[say(NASTY)]);
    let answer = server.post("/api/send", &json!({"message": NASTY})).ok();
    let stored = json_file(&world.user().join("profiles/default/chat_log.json"));
    let shown = server.get("/api/messages").ok();
    for (at, stored) in stored.as_array().unwrap().iter().enumerate() {
        assert_eq!(shown["messages"][at]["text"], stored["text"]);
        assert_eq!(stored["text"].as_str().unwrap(), NASTY);
    }
    assert_eq!(answer["reply"].as_str().unwrap(), NASTY);
}

#[test]
fn every_stream_receives_all_events_in_order() {
    let world = World::new();
    let reply = json!({"reply": {"text": "one two three four five six seven"}, "chunks": 7});
    let server = WebFrontEnd::start(&world, &[reply]);
    let streams: Vec<_> = (0..8).map(|_| server.stream("/api/events?after=0")).collect();
    server.post("/api/send", &json!({"message": "count"})).ok();
    let mut received: Vec<Vec<Value>> = Vec::new();
    for stream in streams {
        received
            .push(stream.until(|event| event["kind"] == "message" && event["data"]["role"] == "assistant"));
    }
    let first = &received[0];
    let numbers: Vec<u64> = first.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(received.iter().all(|one| one == first));
    let text: String = first.iter().filter_map(|event| event["data"]["item"]["delta"].as_str()).collect();
    assert_eq!(text, "one two three four five six seven");
    // A client that lost its connection resumes after the last event it has seen.
    let after = numbers[numbers.len() / 2];
    let rest = server
        .stream(&format!("/api/events?after={after}"))
        .until(|event| event["seq"].as_u64() == numbers.last().copied());
    assert_eq!(rest.first().unwrap()["seq"].as_u64(), Some(after + 1));
}

#[test]
fn a_command_waits_for_approval_and_no_denies_it() {
    let world = World::new();
    let ask = |command: &str| call("run_command", json!({"command": command}));
    let server = WebFrontEnd::start(&world, &[ask("git push x"), ask("git push y"), say("done")]);
    server.post("/api/prompt", &json!({"text": "go"})).ok();
    for (at, word) in ["yes", "no"].iter().enumerate() {
        let mut id = String::new();
        until("the question is shown", || {
            let waiting = server.get("/api/approvals").ok();
            let one = &waiting["approvals"][0];
            id = one["id"].as_str().unwrap_or_default().to_string();
            one["kind"] == "command"
                && one["text"].as_str().unwrap().contains(["git push x", "git push y"][at])
        });
        assert_eq!(server.post(&format!("/api/approvals/{id}"), &json!({"answer": "edit"})).status, 400);
        server.post(&format!("/api/approvals/{id}"), &json!({"answer": word})).ok();
        assert_eq!(
            server.post(&format!("/api/approvals/{id}"), &json!({"answer": "yes"})).status,
            404,
            "once"
        );
    }
    until("it is answered", || server.get("/api/status").ok()["busy"] == false);
    let run = server.get("/api/runs").ok()["runs"][0]["run_id"].as_str().unwrap().to_string();
    let trace = server.get(&format!("/api/runs/{run}/trace?limit=500")).ok();
    let verdicts: Vec<&Value> = trace["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["item"]["verdict"]["decision"])
        .filter(|one| one.is_string())
        .collect();
    assert_eq!(verdicts, [&json!("allow"), &json!("deny")], "{trace}");
}

#[test]
fn one_prompt_is_queued_a_third_is_refused_and_cancel_stops_the_turn() {
    let world = World::new();
    let slow = json!({"delay_ms": 60_000, "reply": {"text": "never"}});
    let server = WebFrontEnd::start(&world, &[slow.clone(), slow]);
    assert_eq!(server.post("/api/prompt", &json!({"text": "one"})).ok()["started"], true);
    assert_eq!(server.post("/api/prompt", &json!({"text": "two"})).ok()["started"], false);
    assert_eq!(server.post("/api/prompt", &json!({"text": "three"})).status, 409);
    assert_eq!(server.get("/api/status").ok()["queued"], "two");
    assert_eq!(server.post("/api/cancel", &json!({})).ok()["cancelled"], true);
    until("nothing is answered", || server.get("/api/status").ok()["busy"] == false);
    assert_eq!(server.post("/api/cancel", &json!({})).ok()["cancelled"], false);
}

#[test]
fn a_prompt_of_a_killed_server_is_offered_again() {
    let world = World::new();
    let script = [json!({"delay_ms": 60_000, "reply": {"text": "never"}})];
    let server = WebFrontEnd::start(&world, &script);
    server.post("/api/prompt", &json!({"text": "what was it?"})).ok();
    until("it has begun", || server.get("/api/runs").ok()["total"] == 1);
    server.running.signal(rustix::process::Signal::KILL);
    drop(server);
    let server = WebFrontEnd::start(&world, &[say("It was this.")]);
    let waiting = server.get("/api/approvals").ok();
    let one = &waiting["approvals"][0];
    assert_eq!(one["kind"], "question", "{waiting}");
    assert!(one["text"].as_str().unwrap().contains("what was it?"), "{waiting}");
    server.post(&format!("/api/approvals/{}", one["id"].as_str().unwrap()), &json!({"answer": "yes"})).ok();
    until("it is answered", || {
        let messages = server.get("/api/messages").ok();
        messages["messages"].as_array().unwrap().iter().any(|one| one["text"] == "It was this.")
    });
    assert_eq!(server.get("/api/approvals").ok()["approvals"], json!([]));
}

#[test]
fn only_a_person_decides_about_memory_candidates() {
    let world = World::new();
    let lines = [("tabs, not spaces", "preference"), ("the port is 8080", "fact"), ("the moon is cheese", "fact")].map(|(text, kind)| {
        json!({"text": text, "type": kind, "tags": ["x"], "ttl_days": null, "source": "user_said", "why_store": "asked"}).to_string()
    });
    std::fs::create_dir_all(world.project().join(".marvin")).unwrap();
    let file = put(&world.root().join("import.jsonl"), &(lines.join("\n") + "\n"));
    world.marvin(["memory", "import", file.to_str().unwrap()]).run().exits(0);
    let server = WebFrontEnd::start(&world, &[]);
    let pending = server.get("/api/memory").ok()["pending"].clone();
    let id = |at: usize| pending[at]["fingerprint"].as_str().unwrap().to_string();
    assert_eq!(pending.as_array().unwrap().len(), 3, "{pending}");
    server.post(&format!("/api/memory/{}", id(0)), &json!({"decision": "approve"})).ok();
    server
        .post(
            &format!("/api/memory/{}", id(1)),
            &json!({"decision": "edit", "text": "the port is 9090", "ttl_days": 30}),
        )
        .ok();
    server.post(&format!("/api/memory/{}", id(2)), &json!({"decision": "reject"})).ok();
    assert_eq!(server.post(&format!("/api/memory/{}", id(2)), &json!({"decision": "approve"})).status, 404);
    let now = server.get("/api/memory").ok();
    let texts: Vec<&str> = now["remembered"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["candidate"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        (texts, now["pending"].as_array().unwrap().len()),
        (vec!["tabs, not spaces", "the port is 9090"], 0)
    );
    let first = now["remembered"][0]["id"].as_str().unwrap();
    server.post(&format!("/api/memory/{first}"), &json!({"decision": "forget"})).ok();
    assert_eq!(server.get("/api/memory").ok()["remembered"].as_array().unwrap().len(), 1);
    drop(server);
    world.marvin(["memory", "audit"]).run().exits(0);
    // An agent that starts the server cannot decide anything through it.
    let server = WebFrontEnd::start_with(&world, &[], |marvin| marvin.env("CLAUDECODE", "1"));
    let left = server.get("/api/memory").ok()["remembered"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(server.post(&format!("/api/memory/{left}"), &json!({"decision": "forget"})).status, 403);
}

#[test]
fn questions_are_answered_by_tools_on_the_page() {
    use crate::questions::{OWN, QUESTIONS, script};
    let world = World::new();
    let questions = &QUESTIONS[..OWN];
    let server = WebFrontEnd::start_with(&world, &script(questions), |marvin| {
        marvin.env("MARVIN_ALARMS_SCHEDULER", "off").env("MARVIN_NTFY_URL", "http://127.0.0.1:9")
    });
    for (at, question) in questions.iter().enumerate() {
        let answer = server.post("/api/send", &json!({"message": question.text})).ok();
        assert_eq!(answer["reply"], format!("Answer {}.", at + 1), "{}: {answer}", question.text);
    }
}

#[test]
fn a_month_of_the_calendar_has_its_events() {
    let world = World::new();
    let add = |words: &[&str]| {
        world.marvin(["calendar", "add"]).args(words).env("MARVIN_ALARMS_SCHEDULER", "off").run().exits(0);
    };
    add(&["Fair <b>", "2096-02-28", "2096-03-01"]);
    add(&["Call", "2096-02-06T09:00", "--repeat", "FREQ=WEEKLY;COUNT=3"]);
    let server = WebFrontEnd::start(&world, &[]);
    let month = server.get("/api/calendar?month=2&year=2096").ok();
    let titles: Vec<&str> =
        month["events"].as_array().unwrap().iter().map(|event| event["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Call", "Call", "Call", "Fair <b>"], "{month}");
    assert_eq!((&month["year"], &month["month"], &month["left_out"]), (&json!(2096), &json!(2), &json!(0)));
    assert_eq!(server.get("/api/calendar?month=3&year=2096").ok()["events"].as_array().unwrap().len(), 1);
    put(&world.user().join("profiles/default/calendar.ics"), "BEGIN:VCALENDAR\r\nnonsense\r\n");
    let damaged = server.get("/api/calendar");
    assert!(damaged.status == 500 && String::from_utf8_lossy(&damaged.body).contains("line"), "{damaged:?}");
}
