//! Findings about agents and prompts (C).

use crate::support::{World, call, say};
use marvin_model::script::{Entry, Script};
use marvin_model::server::ModelServer;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::runtime::Runtime;

/// A scripted model in this process, whose requests can be looked at.
struct Model {
    server: Option<ModelServer>,
    runtime: Runtime,
}

impl Model {
    fn new(script: Vec<Value>) -> Self {
        let runtime = Runtime::new().unwrap();
        let entries: Vec<Entry> =
            script.into_iter().map(|entry| serde_json::from_value(entry).unwrap()).collect();
        let server = runtime.block_on(async {
            ModelServer::start(Script::new(entries), "127.0.0.1:0".parse().unwrap()).unwrap()
        });
        Model { server: Some(server), runtime }
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.server.as_ref().unwrap().address())
    }

    fn requests(&self) -> Vec<Value> {
        let asked = self.server.as_ref().unwrap().requests();
        asked.into_iter().filter(|(path, _)| path.contains("completions")).map(|(_, body)| body).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

fn again(mut entry: Value) -> Value {
    entry["repeat"] = json!(true);
    entry
}

fn ends(status: &str, summary: &str) -> Value {
    json!({"reply": {"json": {"status": status, "summary": summary}}})
}

fn pipeline(world: &World, model: &Model) -> crate::support::Marvin {
    let project = world.project().display().to_string();
    world
        .marvin(["--non-interactive", "--working-dir", &project, "--design-first", "--prompt", "Build it"])
        .args(["--provider", "openai"])
        .env("MARVIN_OPENAI_URL", model.url())
        .env("OPENAI_API_KEY", "k")
}

fn text_of(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|message| format!("{}\n", message["content"].as_str().unwrap_or_default())).collect()
}

fn offered(request: &Value) -> BTreeSet<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
}

/// Tools that a request speaks of, in backquotes, and does not offer.
fn missing(request: &Value, all: &BTreeSet<String>) -> Vec<String> {
    let (text, offered) = (text_of(request), offered(request));
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| all.contains(*word) && !offered.contains(*word)).map(str::to_string).collect()
}

fn all_tools(world: &World) -> BTreeSet<String> {
    let list = world.marvin(["tools", "list", "--json"]).run().exits(0).json();
    list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn c1_requests_of_the_pipeline_speak_of_the_tools_that_they_offer() {
    for (after, role) in
        [("", "DocumentWriter"), ("1a", "Reviewer"), ("1b_review", "TestWriter"), ("2b", "Implementer")]
    {
        let world = World::new();
        if !after.is_empty() {
            crate::pipeline::written(&world, after);
        }
        let model = Model::new(vec![again(ends("BLOCKED", "Which colour?"))]);
        pipeline(&world, &model).run().exits(4);
        let all = all_tools(&world);
        let requests = model.requests();
        assert!(!requests.is_empty());
        for request in &requests {
            assert_eq!(missing(request, &all), Vec::<String>::new(), "{after}: {}", text_of(request));
            let text = text_of(request);
            assert!(text.contains(&format!("# Your role: {role}")), "{after}: {text}");
            assert!(!text.contains("Active profile:") && !text.contains("QUESTIONS_FOR_PARENT"), "{text}");
            assert!(!text.contains("none of them yourself"), "{text}");
        }
        // The check finds a tool that is not there.
        let mut without = requests[0].clone();
        without["tools"] = json!([]);
        assert!(!missing(&without, &all).is_empty());
    }
}

#[test]
fn c2_a_question_of_the_pipeline_reaches_the_person_and_the_answer_the_agent() {
    let world = World::new();
    let asks = say("QUESTIONS_FOR_PARENT:\n1. Which colour should it have?");
    let answered = json!({"when": {"contains": "Blue, please."}, "reply": {"json": {"status": "BLOCKED", "summary": "And which size?"}}});
    let model = Model::new(vec![answered, asks]);
    let stopped = pipeline(&world, &model).run().exits(4);
    assert!(stopped.stderr.contains("Which colour should it have?"), "{}", stopped.whole());
    assert!(stopped.stderr.contains("marvin pipeline resume --answer"), "{}", stopped.whole());
    let resume = |answer: &str| {
        world
            .person(["pipeline", "resume", "--provider", "openai", "--answer", answer])
            .env("MARVIN_OPENAI_URL", model.url())
            .env("OPENAI_API_KEY", "k")
            .run()
    };
    let next = resume("Blue, please.").exits(4);
    assert!(next.whole().contains("And which size?"), "{}", next.whole());
    let last = text_of(model.requests().last().unwrap());
    assert!(last.contains("# You had asked") && last.contains("Which colour should it have?"), "{last}");
    // An agent does not answer for the person.
    let agent =
        world.marvin(["pipeline", "resume", "--answer", "Red."]).env("CLAUDECODE", "1").run().exits(5);
    assert!(agent.message().contains("agent"), "{}", agent.whole());
}

#[test]
fn c3_a_person_in_coding_can_be_asked_and_sees_every_tool() {
    let world = World::new();
    let model = Model::new(vec![again(say("Done."))]);
    let ask = |words: &[&str]| {
        let words = ["--provider", "openai"].iter().chain(words).copied().collect::<Vec<_>>();
        world.marvin(words).env("MARVIN_OPENAI_URL", model.url()).env("OPENAI_API_KEY", "k").run().exits(0)
    };
    ask(&["--working-dir", ".", "what is here?"]);
    ask(&["--non-interactive", "--working-dir", ".", "--prompt", "go"]);
    let texts: Vec<String> = model.requests().iter().map(text_of).collect();
    assert!(texts[0].contains("together with a person") && !texts[0].contains("No person can be asked"));
    assert!(texts[1].contains("No person can be asked") && !texts[1].contains("ask in your answer"));
    let listed = world.marvin(["--plain", "--working-dir", "."]).input("/tools\nquit\n").run();
    let every = all_tools(&world);
    assert!(every.contains("summon_servitor") && every.contains("launch_agent"));
    let absent: Vec<&String> = every.iter().filter(|name| !listed.whole().contains(name.as_str())).collect();
    assert!(absent.is_empty(), "{absent:?}\n{}", listed.whole());
}

#[test]
fn c6_without_a_model_nothing_is_begun() {
    let world = World::new();
    let project = world.project().display().to_string();
    let words = ["--non-interactive", "--working-dir", &project, "--design-first", "--prompt", "Build it"];
    let refused = world.marvin(words).run().exits(2);
    assert!(refused.stderr.contains("a pipeline needs a model"), "{}", refused.whole());
    assert!(refused.stderr.contains("marvin doctor"), "{}", refused.whole());
    assert!(!world.project().join(".git").exists() && !world.project().join(".tickets").exists());
    assert!(world.runs().is_empty());
    world.marvin(["servitors", "summon", "Say hello"]).run().exits(0);
    let servitors = world.marvin(["servitors", "run"]).run().exits(2);
    assert!(servitors.message().contains("cannot run servitors"), "{}", servitors.whole());
}

#[test]
fn c7_the_pipeline_shows_its_work_and_failures_go_to_standard_error() {
    let world = World::new();
    let model = Model::new(vec![call("tree", json!({})), again(ends("BLOCKED", "Which colour?"))]);
    let stopped = pipeline(&world, &model).run().exits(4);
    assert_eq!(String::from_utf8_lossy(&stopped.stdout), "");
    for shown in ["1a.spec.1 (DocumentWriter) is at work", "1a.spec.1: tree", "Which colour?", "report: "] {
        assert!(stopped.stderr.contains(shown), "{shown}: {}", stopped.stderr);
    }
}

#[test]
fn c8_a_named_model_reaches_servitors_and_tickets_of_children_are_closed() {
    let world = World::new();
    world.marvin(["servitors", "summon", "Say hello", "--name", "Ann"]).run().exits(0);
    let model = Model::new(vec![again(say("Hello.\nSTATUS: DONE"))]);
    world
        .marvin(["servitors", "run", "--provider", "openai", "--model", "gpt-mine"])
        .env("MARVIN_OPENAI_URL", model.url())
        .env("OPENAI_API_KEY", "k")
        .run()
        .exits(0);
    let models: BTreeSet<String> =
        model.requests().iter().map(|request| request["model"].as_str().unwrap().to_string()).collect();
    assert_eq!(models, BTreeSet::from(["gpt-mine".to_string()]));

    let ticket =
        world.marvin(["tk", "create", "The work", "-d", "what"]).run().exits(0).text().trim().to_string();
    let make = format!(
        "create 'My part' -d 'What, acceptance, files, dependencies' -t task --tags a --parent {ticket}"
    );
    let for_child = |entry: Value| {
        let mut entry = entry;
        entry["when"] = json!({"role": "Implementer"});
        entry
    };
    let script = [
        call("launch_agent", json!({"ticket_id": ticket, "prompt": "Do it"})),
        for_child(call("tk", json!({"args": make}))),
        for_child(call("tk", json!({"args": make}))),
        for_child(say("Done.")),
        say("All done."),
    ];
    world.play(&script, &["--working-dir", "."]).run().exits(0);
    let open = world.marvin(["tk", "ls"]).run().exits(0);
    assert!(!open.text().contains("[open]") && !open.text().contains("in_progress"), "{}", open.text());
    let schema = world.marvin(["tools", "schema", "launch_agent"]).run().exits(0);
    assert!(schema.text().contains("design_first") && schema.text().contains("tdd"));
    let both = [
        call("launch_agent", json!({"ticket_id": "x", "prompt": "p", "tdd": true, "readonly": true})),
        say("Stopped."),
    ];
    let refused = world.play(&both, &["--working-dir", ".", "--output-format", "stream-json"]).run();
    assert!(refused.whole().contains("start agents of their own"), "{}", refused.whole());
}

#[test]
fn c9_a_plain_question_is_one_call_with_few_tokens() {
    let world = World::new();
    let model = Model::new(vec![again(say("About 384,400 km."))]);
    let ask = |words: &[&str]| {
        let words = ["--provider", "openai"].iter().chain(words).copied().collect::<Vec<_>>();
        world.marvin(words).env("MARVIN_OPENAI_URL", model.url()).env("OPENAI_API_KEY", "k").run().exits(0)
    };
    let question = "how far away is the moon?";
    ask(&[question]);
    ask(&["--working-dir", ".", question]);
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "one call per question");
    let tokens = |request: &Value| {
        let text = text_of(request).replace(question, "");
        (text.len() + request["tools"].to_string().len()) / 4
    };
    let (chat, coding) = (tokens(&requests[0]), tokens(&requests[1]));
    println!("chat {chat}, coding {coding}");
    assert!(chat <= 1_500, "{chat} tokens before the person's words");
    assert!(coding <= 3_600, "{coding} tokens before the person's words");
    assert!(offered(&requests[0]).len() <= 8 && offered(&requests[1]).len() <= 22);
    let runs = world.runs();
    let trace = crate::support::ledger(&runs[0].join("trace.jsonl"));
    let asked = trace.iter().find(|event| event["item"]["type"] == "model_call").unwrap();
    let recorded: BTreeSet<String> = serde_json::from_value(asked["item"]["new_tools"].clone()).unwrap();
    assert_eq!(recorded, offered(&requests[1]), "the trace names what was offered");
    // The words of the person bring in what they mean, and everything can be asked for.
    ask(&["search GitHub for a TOML parser"]);
    assert!(offered(model.requests().last().unwrap()).contains("github_search"));
    let world = World::new();
    let model = Model::new(vec![again(say("Done."))]);
    world
        .marvin(["--provider", "openai", question])
        .env("MARVIN_OPENAI_URL", model.url())
        .env("OPENAI_API_KEY", "k")
        .env("MARVIN_TOOLS_OFFER", "all")
        .run()
        .exits(0);
    assert!(offered(&model.requests()[0]).len() > 20);
}

#[test]
fn c4_another_provider_answers_when_the_first_fails_and_the_record_says_so() {
    let world = World::new();
    let broken = Model::new(vec![again(json!({"fail": {"kind": "http", "status": 401}}))]);
    let model = Model::new(vec![again(say("From the second."))]);
    let ask = |fallback: &str| {
        world
            .marvin(["--non-interactive", "--provider", "openai", "--prompt", "hello"])
            .env("MARVIN_OPENAI_URL", broken.url())
            .env("OPENAI_API_KEY", "k")
            .env("MARVIN_LOCAL_URL", model.url())
            .env("MARVIN_FALLBACK", fallback)
            .run()
    };
    let answered = ask("local:second").exits(0);
    assert!(answered.text().contains("From the second."), "{}", answered.whole());
    assert!(
        answered.stderr.contains("local/second answers for the rest of this turn"),
        "{}",
        answered.stderr
    );
    let trace = world.trace();
    let notices: Vec<&Value> = trace.iter().filter(|event| event["type"] == "notice").collect();
    assert!(
        notices.iter().any(|event| event["text"].as_str().unwrap().contains("local/second")),
        "{notices:?}"
    );
    assert_eq!(model.requests()[0]["model"], "second");
    let failed = ask("").exits(1);
    assert!(failed.stderr.contains("401"), "{}", failed.whole());
    let unknown = ask("lokal").exits(2);
    assert!(unknown.message().contains("did you mean `local`?"), "{}", unknown.whole());
}

#[test]
fn c5_agents_of_the_pipeline_have_coding_tools_and_the_log_of_sub_agents() {
    let world = World::new();
    crate::pipeline::written(&world, "2b");
    let model = Model::new(vec![call("tree", json!({})), again(ends("BLOCKED", "Which colour?"))]);
    pipeline(&world, &model).run().exits(4);
    let tools = offered(&model.requests()[0]);
    assert!(tools.contains("run_command") && tools.contains("install_packages"), "{tools:?}");
    let outside: Vec<&String> = tools
        .iter()
        .filter(|name| name.starts_with("web_") || name.starts_with("github_") || name.contains("browse"))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
    let logs = crate::support::files_below(&world.run().join("logs"));
    let log = logs.iter().find(|path| path.to_string_lossy().ends_with("tools.jsonl")).unwrap();
    let line: Value =
        serde_json::from_str(std::fs::read_to_string(log).unwrap().lines().next().unwrap()).unwrap();
    let keys: BTreeSet<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(["args", "elapsed_ms", "result", "tool", "ts"]), "{line}");
    assert_eq!(line["tool"], "tree");
}

#[test]
fn c9_an_answer_with_memory_and_state_below_is_one_call() {
    let world = World::new();
    let reply = "Tea, then.\n\nMEMORY CANDIDATES\n- {\"text\": \"Prefers tea\", \"type\": \"preference\", \"tags\": [], \"ttl_days\": null, \"source\": \"user_said\", \"why_store\": \"said so\"}\nGOING ON\n{\"active_context\": [\"breakfast\"], \"open_threads\": [\"buy tea\"], \"resolved_threads\": []}";
    let model = Model::new(vec![again(say(reply))]);
    let answered = world
        .marvin(["--provider", "openai", "I prefer tea. What shall I buy?"])
        .env("MARVIN_OPENAI_URL", model.url())
        .env("OPENAI_API_KEY", "k")
        .run()
        .exits(0);
    assert_eq!(answered.text().trim(), "Tea, then.");
    assert_eq!(model.requests().len(), 1);
    let state = crate::support::json_file(&world.user().join("memory/state.json"));
    assert_eq!(state["open_threads"], json!(["buy tea"]), "{state}");
}
