//! Secrets from any source reach no record, log or stream.

use crate::support::{ProgramOutput, World, commands_run, files_below, put, say};
use serde_json::{Value, json};
use std::fs;

const KEY: &str = "zq9-Plum-Harbor-77x";
const PASSWORD: &str = "correct horse 9 battery";
const AWS: &str = "AKIAIOSFODNN7EXAMPLE";
const GITHUB: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const BEARER: &str = "hx7Qp29vLmN4kRt8sWz3";
const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
const PEM_LINES: [&str; 2] = [
    "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJjRazXBZ1BjP5CE",
    "Wm0Rr82ruTLNnP6TPnExf9nsXpRDHdbVV8sAAbbQ5f9n",
];

fn pem() -> String {
    let [one, two] = PEM_LINES;
    format!("-----BEGIN RSA PRIVATE KEY-----\n{one}\n{two}\n-----END RSA PRIVATE KEY-----")
}

fn all() -> Vec<&'static str> {
    vec![KEY, PASSWORD, AWS, GITHUB, BEARER, JWT, PEM_LINES[0], PEM_LINES[1]]
}

/// All secrets in one text.
fn everything() -> String {
    format!(
        "The key is {KEY}, the password is {PASSWORD}; {AWS} and {GITHUB}.\nAuthorization: Bearer {BEARER}\n{JWT}\n{}\nThe end.",
        pem()
    )
}

/// Fails if a text contains a secret.
fn clean(what: &str, text: &str) {
    for secret in all() {
        let at = text.find(secret);
        let around = at.map(|at| text.get(at.saturating_sub(80)..(at + secret.len()).min(text.len())));
        assert!(at.is_none(), "{what} holds {secret}: {around:?}");
    }
}

/// Fails if a stream, a record, a recording or a file of the user directory contains a secret.
fn nothing_leaked(world: &World, ended: &ProgramOutput) {
    clean("standard output", ended.text());
    clean("standard error", &ended.stderr);
    if ended.text().starts_with("{\"type\":\"run.started\"") {
        let pieces: String =
            ended.events().iter().filter_map(|event| event["item"]["delta"].as_str()).collect();
        clean("the joined pieces", &pieces);
    }
    let places =
        [world.project().join(".marvin"), world.home(), world.root().join("tape"), world.root().join("tmp")];
    let mut seen = 0;
    for path in places.iter().flat_map(|place| files_below(place)) {
        if path.ends_with(".ssh/GROQ_API_KEY") {
            continue;
        }
        seen += 1;
        clean(&path.display().to_string(), &String::from_utf8_lossy(&fs::read(&path).unwrap()));
    }
    assert!(seen > 3, "nothing was looked at");
}

fn script() -> Vec<Value> {
    vec![
        json!({"reply": {"text": "I look.", "tool_calls": [
            {"name": "read_file", "arguments": {"path": "config.txt"}},
            {"name": "read_file", "arguments": {"path": format!("no-such-{AWS}.txt")}},
        ]}}),
        // In arguments of a call that works, one that is refused, and one that is invalid.
        json!({"reply": {"tool_calls": [
            {"name": "create_file", "arguments": {"path": "copy.txt", "content": everything()}},
            {"name": "create_file", "arguments": {"path": "../out.txt", "content": everything()}},
            {"name": "read_file", "arguments": format!("path={KEY} {GITHUB}")},
            {"name": format!("tool_{GITHUB}"), "arguments": {"Bearer": format!("Bearer {BEARER}")}},
        ]}}),
        json!({"reply": {"tool_calls": [{"name": "run_command", "arguments": {"command": "cat config.txt"}}]}}),
        json!({"reply": {"tool_calls": [
            {"name": "run_command", "arguments": {"command": format!("curl -H 'Authorization: Bearer {BEARER}' http://127.0.0.1:9/{KEY}")}},
        ]}}),
        json!({"reply": {"text": everything()}, "chunks": 150}),
    ]
}

fn world() -> World {
    let world = World::new();
    world.write("config.txt", &everything());
    world
}

#[test]
fn no_output_format_leaks_a_secret() {
    for format in ["text", "json", "stream-json"] {
        let world = world();
        let tape = world.root().join("tape").display().to_string();
        let script = put(
            &world.root().join("played/script.jsonl"),
            &script().iter().map(|entry| format!("{entry}\n")).collect::<String>(),
        );
        let ended = world
            .marvin(["--non-interactive", "--record", &tape, "--output-format", format])
            .args(["--script", &script.display().to_string()])
            .env("MY_API_KEY", KEY)
            .env("DB_PASSWORD", PASSWORD)
            .env("MARVIN_SUBAGENT_LOG", world.root().join("tmp/agent.jsonl"))
            .input(format!("Please use {}", everything()))
            .run()
            .exits(0);
        assert!(ended.text().contains("[REDACTED:"), "{}", ended.whole());
        assert!(ended.text().contains("The end."), "{}", ended.whole());
        assert_eq!(world.read("copy.txt"), everything(), "work is not touched, only its record");
        nothing_leaked(&world, &ended);
        if commands_run(&world) {
            let trace = fs::read_to_string(world.run().join("trace.jsonl")).unwrap();
            assert!(trace.contains("cat config.txt"), "the command ran and is in the record");
        }
    }
}

#[test]
fn no_secret_enters_the_chat_log() {
    let world = world();
    let entry = |text: &str| json!({"reply": {"text": text}, "chunks": 90});
    let script =
        put(&world.root().join("played/s.jsonl"), &format!("{}\n{}\n", entry(&everything()), say("ok")));
    let ask = |words: &str| {
        world
            .marvin(["--script", &script.display().to_string(), words])
            .env("MARVIN_SCRIPT_STATE", world.root().join("tmp/state"))
            .env("MY_API_KEY", KEY)
            .env("DB_PASSWORD", PASSWORD)
            .run()
            .exits(0)
    };
    let first = ask(&everything());
    let log = world.user().join("profiles/default/chat_log.json");
    assert!(fs::read_to_string(&log).unwrap().contains("[REDACTED:"));
    nothing_leaked(&world, &first);
    nothing_leaked(&world, &ask("and now?"));
}

#[test]
fn an_api_key_stays_hidden_even_when_the_server_repeats_it() {
    let world = World::new();
    // A key from the environment, and one from its file.
    put(&world.home().join(".ssh/GROQ_API_KEY"), PASSWORD);
    let server = world.server(&[
        json!({"reply": {"text": format!("your key is {KEY} or {PASSWORD}")}, "chunks": 30}),
        json!({"fail": {"kind": "http", "status": 401}}),
    ]);
    for code in [0, 1] {
        let ended = world
            .marvin(["--non-interactive", "--prompt", "hi", "--provider", "openai"])
            .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
            .env("OPENAI_API_KEY", KEY)
            .run()
            .exits(code);
        nothing_leaked(&world, &ended);
    }
}

#[test]
fn a_secret_at_a_truncation_point_is_redacted_whole() {
    // Every place where the record truncates a text, hit exactly.
    // (Some texts have a prefix: hence several offsets.)
    let edges = [200, 300, 400, 2_000, 4_000].into_iter();
    for (limit, before) in edges.flat_map(|limit| [20, 45, 70, 95].map(|before| (limit, before))) {
        let world = World::new();
        let padding: usize = limit - before;
        let text = format!(
            "{} {GITHUB} {}",
            "word ".repeat(limit / 5).get(..padding - 1).unwrap(),
            "x ".repeat(3_000)
        );
        world.write("config.txt", &text);
        let script = [
            json!({"reply": {"text": text.clone(), "tool_calls": [
                {"name": "read_file", "arguments": {"path": "config.txt"}},
                {"name": "create_file", "arguments": {"path": "a.txt", "content": text.clone()}},
                {"name": "read_file", "arguments": {"path": text.clone()}},
                {"name": text.clone(), "arguments": {}},
            ]}}),
            say("ok"),
        ];
        let lines: String = script.iter().map(|entry| format!("{entry}\n")).collect();
        let script = put(&world.root().join("played/s.jsonl"), &lines).display().to_string();
        let log = world.root().join("tmp/agent.jsonl");
        world
            .marvin(["--non-interactive", "--script", &script])
            .env("MARVIN_SUBAGENT_LOG", &log)
            .input(text)
            .run()
            .exits(0);
        let half = GITHUB.get(..14).unwrap();
        for path in files_below(&world.state()).into_iter().chain([log]) {
            let text = fs::read_to_string(&path).unwrap();
            let at = text.find(half).map(|at| text.get(at.saturating_sub(60)..(at + 60).min(text.len())));
            assert!(at.is_none(), "{} at {limit}: {at:?}", path.display());
        }
    }
}

#[test]
fn a_tool_called_from_the_command_line_leaks_no_secret() {
    let world = world();
    for flags in [&["--json"][..], &[][..]] {
        let ended = world
            .marvin(["tools", "call", "read_file", "--args", "{\"path\":\"config.txt\"}"])
            .args(flags)
            .env("MY_API_KEY", KEY)
            .env("DB_PASSWORD", PASSWORD)
            .run()
            .exits(0);
        clean("standard output", ended.text());
        for path in files_below(&world.state()) {
            clean(&path.display().to_string(), &fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn secrets_with_unusual_characters_are_redacted() {
    // One looks like a path, one is escaped inside JSON, one has non-ASCII letters and a line break.
    let secrets = [
        ("SESSION_TOKEN", "/Zk3Plum/Har.bor"),
        ("DB_SECRET", "hb7\"Gx\\kq 22z"),
        ("LOGIN_PASSWORD", "größe\n9 Äpfel"),
    ];
    for protocol in ["native", "json"] {
        let world = World::new();
        let text = format!("It is {} or {} or {}, I think.", secrets[0].1, secrets[1].1, secrets[2].1);
        let script = [
            json!({"reply": {"tool_calls": [
                {"name": "create_file", "arguments": json!({"path": "a.txt", "content": text}).to_string()},
                {"name": "create_file", "arguments": format!("{{\"path\": {}", json!(text))},
            ]}}),
            json!({"reply": {"json": {"status": "SUCCESS", "summary": text, "metrics": {"said": text}}}, "chunks": 60}),
        ];
        let lines: String = script.iter().map(|entry| format!("{entry}\n")).collect();
        let script = put(&world.root().join("played/s.jsonl"), &lines).display().to_string();
        for format in ["text", "stream-json"] {
            let tape = world.root().join("tape").display().to_string();
            let mut marvin = world
                .marvin([
                    "--non-interactive",
                    "--script",
                    &script,
                    "--record",
                    &tape,
                    "--output-format",
                    format,
                ])
                .env("MARVIN_PROTOCOL", protocol)
                .input(text.clone());
            for (name, value) in secrets {
                marvin = marvin.env(name, value);
            }
            let ended = marvin.run();
            let joined = files_below(&world.state())
                .into_iter()
                .chain(files_below(&world.root().join("tape")))
                .map(|path| fs::read_to_string(path).unwrap())
                .collect::<String>();
            for part in ["Zk3Plum", "hb7", "kq 22z", "Äpfel", "größe"] {
                for (place, text) in
                    [("stdout", ended.text()), ("stderr", &ended.stderr), ("a record", &joined)]
                {
                    let at = text.find(part).map(|at| text.get(at.saturating_sub(90)..at + part.len()));
                    assert!(at.is_none(), "{protocol}, {format}: `{part}` in {place}: {at:?}");
                }
            }
        }
    }
}
