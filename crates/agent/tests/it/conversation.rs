//! One conversation suite for every reply protocol: the outcome does not depend on the wire format.

use async_trait::async_trait;
use marvin_agent::compaction::Window;
use marvin_agent::protocol::{JsonAction, JsonText, Native, ReplyProtocol};
use marvin_agent::tool_host::LiveTools;
use marvin_agent::turn::Bounds;
use marvin_agent::{ProjectContext, Status, Trace, Turn};
use marvin_base::environment::Environment;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_gate::{Access, Touches};
use marvin_model::client::Sink;
use marvin_model::cost::CostLedger;
use marvin_model::mock::Mock;
use marvin_model::price::Prices;
use marvin_model::script::{Entry, Script};
use marvin_model::{Message, ModelClient, ModelError, Reply, Request};
use marvin_tools::{Mode, Output, Tool, ToolContext, ToolError, Toolbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// A model's reply, independent of the protocol.
#[derive(Debug, Clone, Copy)]
enum ScriptedReply {
    /// Text without calls.
    Words(&'static str),
    /// Text, and a servitor to summon.
    Summon(&'static str, &'static str, Option<&'static str>),
    /// A raw text that is not an object of any protocol.
    Raw(&'static str),
}

/// A reply protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Native,
    Json,
    Action,
}

const WAYS: [Way; 3] = [Way::Native, Way::Json, Way::Action];

impl Way {
    fn protocol(self) -> Arc<dyn ReplyProtocol> {
        match self {
            Way::Native => Arc::new(Native),
            Way::Json => Arc::new(JsonText { render_tools: true }),
            Way::Action => Arc::new(JsonAction),
        }
    }

    fn entry(self, say: ScriptedReply) -> Entry {
        let reply = match (self, say) {
            (_, ScriptedReply::Raw(text)) | (Way::Native, ScriptedReply::Words(text)) => {
                json!({ "text": text })
            }
            (Way::Json, ScriptedReply::Words(text)) => {
                json!({"json": {"status": "SUCCESS", "summary": text}})
            }
            (Way::Action, ScriptedReply::Words(text)) => json!({"json": {"message": text}}),
            (_, ScriptedReply::Summon(text, assignment, name)) => {
                let mut arguments = json!({ "assignment": assignment });
                if let Some(name) = name {
                    arguments["name"] = name.into();
                }
                match self {
                    Way::Native => {
                        json!({"text": text, "tool_calls": [{"name": "summon_servitor", "arguments": arguments}]})
                    }
                    Way::Json => {
                        json!({"json": {"message": text, "tool_calls": [{"name": "summon_servitor", "arguments": arguments}]}})
                    }
                    Way::Action => json!({"json": {"message": text, "spawn": arguments}}),
                }
            }
        };
        serde_json::from_value(json!({ "reply": reply })).unwrap()
    }
}

/// Records who was summoned.
#[derive(Debug, Clone, Default)]
struct Summon {
    summoned: Arc<Mutex<Vec<(String, String)>>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SummonInput {
    assignment: String,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SummonOutput {
    name: String,
}

#[async_trait]
impl Tool for Summon {
    type Input = SummonInput;
    type Data = SummonOutput;
    const NAME: &'static str = "summon_servitor";
    const DESCRIPTION: &'static str = "Summon a servitor.";
    const EXAMPLE: &'static str = r#"{"assignment": "x"}"#;
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, input: SummonInput, _: &ToolContext) -> Result<Output<SummonOutput>, ToolError> {
        let mut summoned = self.summoned.lock().unwrap();
        let name = input.name.unwrap_or_else(|| format!("Agent-{}", summoned.len() + 1));
        if summoned.iter().any(|(_, taken)| *taken == name) {
            return Err(ToolError::Failed(format!("the name {name} is taken")));
        }
        summoned.push((input.assignment, name.clone()));
        Ok(Output::line(format!("Summoned {name}"), SummonOutput { name }))
    }
}

/// A scripted model that records its requests.
#[derive(Debug)]
struct Spy {
    model: Mock,
    asked: Mutex<Vec<Request>>,
}

#[async_trait]
impl ModelClient for Spy {
    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn model(&self) -> &str {
        self.model.model()
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        self.model.send(request, sink, cancel).await
    }
}

/// The outcome of a conversation.
#[derive(Debug, PartialEq)]
struct ConversationResult {
    status: Status,
    reason: &'static str,
    text: String,
    rounds: usize,
    calls: usize,
    summoned: Vec<(String, String)>,
    /// All text that was shown to the user.
    shown: Vec<String>,
    /// Feedback for each request after the first: whether the call worked, and its result.
    fed_back: Vec<(bool, String)>,
}

async fn converse(way: Way, says: &[ScriptedReply], rounds: usize) -> ConversationResult {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let environment = Environment::from_iter([("HOME", directory.path().display().to_string())]);
    let project = ProjectContext::find(environment, work.clone(), Some(&work), true, Vec::new()).unwrap();
    let run = RunDirectory::create(&project.layout.runs()).unwrap();
    let redactor = Arc::new(Redactor::patterns_only());
    let ledger = Ledger::open(&run.trace(), Durability::System, redactor.clone()).unwrap();
    let summon = Summon::default();
    let mut toolbox = Toolbox::new(Mode::Assistant, &Access::Full);
    toolbox.add(Arc::new(summon.clone()));
    let script = Script::new(says.iter().map(|say| way.entry(*say)).collect());
    let spy = Arc::new(Spy { model: Mock::new(Some(script)), asked: Mutex::default() });
    let turn = Turn {
        journal: None,
        client: spy.clone(),
        protocol: way.protocol(),
        tools: Arc::new(LiveTools::new(toolbox, project.tool_context(CancellationToken::new(), None))),
        trace: Arc::new(Trace::new(ledger, Box::new(|_| {}))),
        cost: Arc::new(
            CostLedger::open(&run.cost(), &[], None, Durability::System, redactor.clone()).unwrap(),
        ),
        prices: Arc::new(Prices::load(None).unwrap()),
        redactor,
        bounds: Bounds {
            rounds,
            no_progress: 3,
            window: Window { warn: 100_000, compact: 200_000, hard: 300_000 },
        },
        cancel: CancellationToken::new(),
        late: CancellationToken::new(),
        workspace: None,
        logs: run.logs().clone(),
        role: "Coordinator".into(),
        step: None,
        response_schema: None,
        proof: None,
        composer: None,
        stages: None,
    };
    let opening = vec![Message::system("the rules"), Message::user("begin")];
    let outcome = turn.run(opening).await.unwrap();
    let events = marvin_base::ledger::read(&run.trace()).unwrap().entries;
    let is_message = |event: &&Value| event["item"]["type"] == "message";
    let asked = spy.asked.lock().unwrap();
    for request in asked.iter() {
        assert!(
            request.messages[0].content().starts_with("the rules"),
            "{way:?}: the rules go with every request"
        );
        assert_eq!(request.tools.is_empty(), way != Way::Native, "{way:?}");
    }
    let summoned = summon.summoned.lock().unwrap().clone();
    ConversationResult {
        status: outcome.status,
        reason: outcome.reason,
        text: outcome.text,
        rounds: outcome.rounds,
        calls: outcome.calls,
        summoned,
        shown: events
            .iter()
            .filter(is_message)
            .map(|event| event["item"]["text"].as_str().unwrap().to_string())
            .collect(),
        fed_back: asked.iter().skip(1).map(|request| feedback(request.messages.last().unwrap())).collect(),
    }
}

/// Whether a call worked and its result, from the message that carries it back.
fn feedback(message: &Message) -> (bool, String) {
    match message {
        Message::Tool { content, ok, .. } => (*ok, content.clone()),
        other => {
            let value: Value = serde_json::from_str(other.content()).unwrap();
            let result = &value["tool_results"][0];
            (result["ok"].as_bool().unwrap(), result["result"].as_str().unwrap().to_string())
        }
    }
}

/// Runs a conversation in every protocol; all outcomes must be equal.
async fn in_every_way(says: &[ScriptedReply], rounds: usize) -> ConversationResult {
    let first = converse(WAYS[0], says, rounds).await;
    for way in &WAYS[1..] {
        assert_eq!(converse(*way, says, rounds).await, first, "{way:?}");
    }
    first
}

#[tokio::test]
async fn a_reply_without_calls_ends_the_turn() {
    let seen =
        in_every_way(&[ScriptedReply::Words("Hello."), ScriptedReply::Words("never asked for")], 9).await;
    assert_eq!((seen.status, seen.rounds, seen.text.as_str()), (Status::Success, 1, "Hello."));
    assert!(seen.fed_back.is_empty());
}

#[tokio::test]
async fn results_are_fed_back_until_there_are_none() {
    let says = [
        ScriptedReply::Summon("One.", "write the tests", None),
        ScriptedReply::Summon("Another.", "write the code", Some("Ann")),
        ScriptedReply::Words("Both are at it."),
    ];
    let seen = in_every_way(&says, 9).await;
    let pair = |one: &str, two: &str| (one.to_string(), two.to_string());
    assert_eq!(seen.summoned, [pair("write the tests", "Agent-1"), pair("write the code", "Ann")]);
    assert_eq!(seen.fed_back, [(true, "Summoned Agent-1".to_string()), (true, "Summoned Ann".to_string())]);
    assert_eq!(seen.shown, ["One.", "Another.", "Both are at it."]);
    assert_eq!((seen.status, seen.rounds, seen.calls), (Status::Success, 3, 2));
}

#[tokio::test]
async fn a_failure_is_fed_back_too() {
    let says = [
        ScriptedReply::Summon("One.", "a", Some("Ann")),
        ScriptedReply::Summon("Again.", "b", Some("Ann")),
        ScriptedReply::Summon("Otherwise.", "b", Some("Bob")),
        ScriptedReply::Words("Done."),
    ];
    let seen = in_every_way(&says, 9).await;
    assert_eq!(seen.fed_back[1], (false, "the name Ann is taken".to_string()));
    assert_eq!((seen.summoned.len(), seen.status), (2, Status::Success));
}

#[tokio::test]
async fn the_loop_is_bounded() {
    let endless = [ScriptedReply::Summon("More.", "x", None); 20];
    let seen = in_every_way(&endless, 3).await;
    assert_eq!((seen.status, seen.reason, seen.summoned.len()), (Status::Failed, "max_rounds", 3));
    let stuck = [ScriptedReply::Summon("More.", "x", Some("Ann")); 20];
    let seen = in_every_way(&stuck, 15).await;
    assert_eq!((seen.status, seen.reason, seen.summoned.len()), (Status::Failed, "no_progress", 1));
}

#[tokio::test]
async fn text_that_is_not_an_object_is_shown_without_feedback() {
    for text in [
        "I am DONE, status: SUCCESS",
        "{\"message\": \"half",
        "[\"a\", \"list\"]",
        "{\"spawn\": \"Ann\"}",
        "{\"message\": \"x\", \"spawn\": {\"name\": \"Ann\"}}",
    ] {
        let seen =
            in_every_way(&[ScriptedReply::Raw(text), ScriptedReply::Words("never asked for")], 9).await;
        assert_eq!((seen.text.as_str(), seen.rounds, seen.summoned.len()), (text, 1, 0));
        assert_eq!(seen.shown, [text]);
    }
}
