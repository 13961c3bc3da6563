//! Every HTTP provider, through the program, against `marvin model-server`.

use crate::support::{World, json_file};
use serde_json::json;

type Variables = &'static [(&'static str, &'static str)];

/// (provider, variables with `@` for the server's address, cost of the conversation)
const PROVIDERS: [(&str, Variables, f64); 8] = [
    ("openai", &[("OPENAI_BASE_URL", "@/v1"), ("OPENAI_API_KEY", "k")], 0.00525),
    ("anthropic", &[("ANTHROPIC_BASE_URL", "@"), ("ANTHROPIC_API_KEY", "k")], 0.01335),
    ("gemini", &[("MARVIN_GEMINI_URL", "@"), ("GEMINI_API_KEY", "k")], 0.00556),
    ("groq", &[("MARVIN_GROQ_URL", "@/openai/v1"), ("GROQ_API_KEY", "k")], 0.001_337_7),
    ("kimi", &[("KIMI_URL", "@/api/v1"), ("KIMI_API_KEY", "k")], 0.001_602),
    (
        "copilot",
        &[
            ("MARVIN_COPILOT_URL", "@"),
            ("MARVIN_COPILOT_TOKEN_URL", "@/copilot_internal/v2/token"),
            ("COPILOT_GITHUB_TOKEN", "ghu_0123456789abcdef"),
        ],
        0.08,
    ),
    ("ollama", &[("OLLAMA_URL", "@")], 0.0),
    ("local", &[("BOB_LOCAL_BASE_URL", "@/v1")], 0.0),
];

#[test]
fn every_provider_holds_the_same_conversation() {
    for (provider, variables, price) in PROVIDERS {
        let world = World::new();
        let server = world.server(&[
            json!({"fail": {"kind": "http", "status": 429, "retry_after_s": 0}}),
            json!({"when": {"contains": "make the file"}, "reply": {
                "text": "I make it.",
                "tool_calls": [{"name": "create_file", "arguments": {"path": "made/by.txt", "content": provider}}],
                "usage": {"input": 1000, "output": 100},
            }}),
            json!({"when": {"contains": "Created made/by.txt"}, "chunks": 5, "reply": {
                "text": "It is made, naïvely.", "usage": {"input": 1120, "output": 10},
            }}),
        ]);
        let mut marvin =
            world.marvin(["--non-interactive", "--prompt", "make the file", "--provider", provider]);
        for (name, value) in variables {
            marvin = marvin.env(name, value.replace('@', server.address()));
        }
        let ended = marvin.run().exits(0);
        assert_eq!(ended.text(), "I make it.\n  🔧 create_file\nIt is made, naïvely.\n", "{provider}");
        assert_eq!(world.read("made/by.txt"), provider);
        let (cost, facts) = (ended.cost(), world.facts());
        assert_eq!((&cost["llm_turns"], &facts["provider"]), (&json!(2), &json!(provider)));
        assert_eq!(facts["cost"]["tokens"][provider], json!({"input": 2120, "output": 110}), "{provider}");
        let spent = cost["session_cost"].as_f64().unwrap();
        assert!((spent - price).abs() < 1e-9, "{provider}: {spent}");
        assert_eq!(facts["cost"]["unpriced_models"], json!([]), "{provider}");
        let usage = json_file(&world.user().join("usage.json"));
        assert_eq!((&usage["total_llm_turns"], &usage["total_calls"]["create_file"]), (&json!(2), &json!(1)));
        assert_eq!(usage["total_ollama_turns"], if provider == "ollama" { 2 } else { 0 });
    }
}

#[test]
fn the_first_key_chooses_the_provider() {
    let world = World::new();
    let server = world.server(&[json!({"reply": {"text": "hello"}, "repeat": true})]);
    let ask = |variables: &[(&str, &str)]| {
        let mut marvin = world.marvin(["--non-interactive", "--prompt", "help", "--json"]);
        for (name, value) in variables {
            marvin = marvin.env(name, value.replace('@', server.address()));
        }
        let result = marvin.run().exits(0).json();
        json_file(&world.state().join("runs").join(result["run_id"].as_str().unwrap()).join("run.json"))
    };
    assert_eq!(ask(&[])["provider"], "mock");
    let groq = [("MARVIN_GROQ_URL", "@/v1"), ("GROQ_API_KEY", "k")];
    assert_eq!(ask(&groq)["provider"], "groq");
    let both = [groq[0], groq[1], ("MARVIN_OPENAI_URL", "@/v1"), ("OPENAI_API_KEY", "k")];
    assert_eq!(ask(&both)["provider"], "openai");
    let chosen = [both[0], both[1], both[2], both[3], ("LLM_PROVIDER", "groq")];
    assert_eq!(ask(&chosen)["provider"], "groq");
}

#[test]
fn an_interrupted_reply_starts_again() {
    let world = World::new();
    let broken =
        json!({"reply": {"text": "half of it is here"}, "chunks": 4, "fail": {"kind": "disconnect"}});
    let whole = json!({"reply": {"text": "the whole"}});
    let server = world.server(&[broken.clone(), whole.clone(), broken, whole]);
    let ask = |format: &str| {
        let ended = world
            .marvin(["--non-interactive", "--prompt", "hi", "--provider", "local", "--output-format", format])
            .env("MARVIN_LOCAL_URL", format!("{}/v1", server.address()))
            .run()
            .exits(0);
        assert!(ended.stderr.contains("asking again"), "{}", ended.whole());
        // The interrupted attempt is counted too.
        assert_eq!(ended.cost()["llm_turns"], 2);
        ended
    };
    let text = ask("text");
    assert!(text.text().starts_with("half") && text.text().ends_with("\nthe whole\n"), "{}", text.whole());
    assert_eq!(world.facts()["result"], "the whole");
    // A client that joins the deltas is told which of them are void.
    let mut joined = String::new();
    for event in ask("stream-json").events().iter().filter(|event| event["type"] == "item.updated") {
        match event["item"]["delta"].as_str() {
            Some(piece) => joined.push_str(piece),
            None => {
                assert!(event["item"]["restarted"].is_string(), "{event}");
                joined.clear();
            }
        }
    }
    assert_eq!(joined, "the whole");
}

#[test]
fn an_unreachable_server_is_one_clear_failure() {
    let world = World::new();
    let ended = world
        .marvin(["--non-interactive", "--prompt", "hi", "--provider", "ollama"])
        .env("OLLAMA_URL", "http://127.0.0.1:9")
        .env("MARVIN_RETRIES", "0")
        .run()
        .exits(1);
    assert!(ended.message().contains("127.0.0.1:9"), "{}", ended.whole());
    ended.cost();
}
