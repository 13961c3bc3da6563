//! Sentences that the built-in model understands without a script, each of which becomes one call of a real tool.
//!
//! It never guesses: it answers a sentence that it does not understand with a list of those that it would.

use crate::client::Request;
use crate::message::Message;
use crate::script::{ScriptCall, ScriptReply};
use regex::{Captures, Regex};
use serde_json::Value;
use std::sync::LazyLock;

/// A sentence it understands: the tool, how to say it, and the arguments that the words become.
struct Intent {
    tool: &'static str,
    expression: &'static str,
    example: &'static str,
    arguments: fn(&Captures<'_>) -> Vec<(&'static str, Value)>,
}

const INTENTS: [Intent; 9] = [
    Intent {
        tool: "convert_units",
        expression: r"^(?:what(?:'s| is| are)|convert|how (?:much|many) (?:is|are))?\s*(?<value>-?[\d.,]*\d)\s*(?<from>[^\d\s].*?)\s+(?:in|to|into|as)\s+(?<to>.+?)\??$",
        example: "what is 3 km in miles",
        arguments: |c| {
            let value = c["value"].replace(',', "");
            vec![
                ("value", value.parse::<f64>().unwrap_or(0.0).into()),
                ("from_unit", c["from"].trim().into()),
                ("to_unit", c["to"].trim().into()),
            ]
        },
    },
    Intent {
        tool: "read_note",
        expression: r"^(?:read|show|open) (?:the |my )?note (?:named |called )?(?<path>\S+)$",
        example: "read note shopping",
        arguments: |c| vec![("path", c["path"].into())],
    },
    Intent {
        tool: "write_note",
        expression: r"(?s)^(?:please )?(?:take |write |make |add )?(?:a |the )?note(?: (?<path>[\w.-]+):|:| that| to)?\s+(?<content>.+)$",
        example: "note shopping: milk and bread",
        arguments: |c| {
            let path = c.name("path").map_or("notes", |m| m.as_str());
            vec![
                ("path", path.into()),
                ("content", format!("{}\n", &c["content"]).into()),
                ("append", true.into()),
            ]
        },
    },
    Intent {
        tool: "code_grep",
        expression: r"^(?:grep|search(?: for)?|find)\s+(?<pattern>.+?)(?:\s+in\s+(?<glob>\*\.\w+))?$",
        example: "grep fn main in *.rs",
        arguments: |c| {
            let glob = c.name("glob").map(|glob| ("glob_filter", glob.as_str().into()));
            std::iter::once(("pattern", c["pattern"].into())).chain(glob).collect()
        },
    },
    Intent {
        tool: "tree",
        expression: r"^(?:tree|list(?: the)? files|show(?: me)?(?: the)? files|what(?:'s| is) here)(?: (?:in|of|under) (?<path>\S+))?\??$",
        example: "list files",
        arguments: |c| vec![("path", c.name("path").map_or(".", |m| m.as_str()).into())],
    },
    Intent {
        tool: "read_file",
        expression: r"^(?:read|show|cat|open)\s+(?:the )?(?:file )?(?<path>\S+)(?:\s+lines?\s+(?<a>\d+)(?:\s*(?:-|to)\s*(?<b>\d+))?)?$",
        example: "read Cargo.toml lines 1-20",
        arguments: |c| {
            let number = |name| c.name(name).and_then(|m| m.as_str().parse::<u64>().ok());
            let mut arguments = vec![("path", c["path"].into())];
            if let Some(start) = number("a") {
                let end = number("b").unwrap_or(start);
                arguments.extend([("start_line", start.into()), ("end_line", end.into())]);
            }
            arguments
        },
    },
    Intent {
        tool: "create_file",
        expression: r"(?s)^create\s+(?:the )?(?:a )?(?:file )?(?<path>\S+)\s+(?:with|containing|:)\s*(?<content>.+)$",
        example: "create hello.txt with Hello!",
        arguments: |c| vec![("path", c["path"].into()), ("content", format!("{}\n", &c["content"]).into())],
    },
    Intent {
        tool: "run_command",
        expression: r"^(?:run|execute|[$!])\s*(?<command>\S.*)$",
        example: "run git status",
        arguments: |c| vec![("command", c["command"].trim().into())],
    },
    Intent {
        tool: "get_usage",
        expression: r"^(?:(?:show |what is )?(?:my |the )?(?:usage|cost|costs)|how much did (?:this|it|that) cost)\??$",
        example: "usage",
        arguments: |_| vec![("include_lifetime", true.into())],
    },
];

#[expect(clippy::expect_used, reason = "the expressions are constants; a test compiles every one")]
static COMPILED: LazyLock<Vec<(Regex, &Intent)>> = LazyLock::new(|| {
    let compile = |intent: &'static Intent| {
        (Regex::new(&format!("(?i){}", intent.expression)).expect("a constant expression"), intent)
    };
    INTENTS.iter().map(compile).collect()
});

/// Tools that need a working directory.
const FILE_TOOLS: [&str; 5] = ["code_grep", "tree", "read_file", "create_file", "run_command"];

/// The role in which a person asks and reads the answer.
const PERSON: &str = "Chat";

/// The built-in model did not understand a request of an agent, which cannot ask again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotUnderstood(String);

/// Answers a request with a call, with the results of the tools, or with a list of what it would understand.
///
/// # Errors
/// When it does not understand a request that no person reads the answer to.
pub(super) fn answer(request: &Request) -> Result<ScriptReply, NotUnderstood> {
    let say = |text: String| ScriptReply { text, ..ScriptReply::default() };
    let results = results_since_user(request);
    if !results.is_empty() {
        return Ok(say(results.join("\n\n")));
    }
    let asked = request.messages.iter().rev().find_map(|message| match message {
        Message::User { content } => Some(content.trim()),
        _ => None,
    });
    let asked = asked.unwrap_or_default();
    let offered = |tool: &str| !request.answer_only && request.tools.iter().any(|spec| spec.name == tool);
    let meant = |wanted: &dyn Fn(&str) -> bool| {
        let mut intents = COMPILED.iter().filter(|(_, intent)| wanted(intent.tool));
        intents.find_map(|(regex, intent)| regex.captures(asked).map(|captures| (*intent, captures)))
    };
    if let Some((intent, captures)) = meant(&offered) {
        let arguments = (intent.arguments)(&captures).into_iter();
        let arguments = arguments.map(|(key, value)| (key.to_string(), value)).collect();
        let call = ScriptCall { name: intent.tool.to_string(), arguments, id: None, opaque: None };
        return Ok(ScriptReply { tool_calls: vec![call], ..ScriptReply::default() });
    }
    if asked.is_empty() || asked.to_lowercase().trim_end_matches(['?', '!', '.']) == "help" {
        let start = "I am Marvin's built-in model. It needs no key and understands plain sentences:";
        return Ok(say(help(start, &offered)));
    }
    let quoted = marvin_base::truncate::line(asked, 80);
    let start = match meant(&|_| !request.answer_only) {
        Some((intent, _)) if FILE_TOOLS.contains(&intent.tool) => format!(
            "I am Marvin's built-in model and would do \"{quoted}\", but file tools are off here: add \
             --working-dir . (or run --non-interactive). I understand:"
        ),
        Some((intent, _)) => format!(
            "I am Marvin's built-in model and would do \"{quoted}\", but the tool `{}` is off here. I understand:",
            intent.tool
        ),
        None => {
            format!("I am Marvin's built-in model and did not understand \"{quoted}\". I understand:")
        }
    };
    let text = help(&start, &offered);
    if request.role == PERSON { Ok(say(text)) } else { Err(NotUnderstood(text)) }
}

/// Results of tools since the last message of the person.
fn results_since_user(request: &Request) -> Vec<String> {
    let mut results: Vec<String> = request
        .messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, Message::User { .. }))
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.clone()),
            _ => None,
        })
        .collect();
    results.reverse();
    results
}

/// A beginning, what can be said here, and what else there is.
fn help(start: &str, offered: &dyn Fn(&str) -> bool) -> String {
    let mut text = format!("{start}\n");
    for intent in INTENTS.iter().filter(|intent| offered(intent.tool)) {
        text.push_str(&format!("  {}\n", intent.example));
    }
    text.push_str(
        "For anything else, give Marvin a real model: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or \
         GROQ_API_KEY, or choose one with --provider (`marvin doctor` shows what is ready).",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ToolSpec;
    use serde_json::json;

    fn request(text: &str) -> Request {
        let spec = |intent: &Intent| ToolSpec {
            name: intent.tool.into(),
            description: String::new(),
            parameters: json!({}).into(),
        };
        Request {
            messages: vec![Message::user(text)],
            tools: INTENTS.iter().map(spec).collect(),
            ..Request::default()
        }
    }

    fn call(text: &str) -> Option<(String, Value)> {
        answer(&request(text)).unwrap().tool_calls.pop().map(|call| (call.name, call.arguments))
    }

    #[test]
    fn every_example_is_understood_as_its_own_tool() {
        for intent in &INTENTS {
            assert_eq!(call(intent.example).unwrap().0, intent.tool, "{}", intent.example);
        }
    }

    #[test]
    fn sentences_become_arguments() {
        assert_eq!(
            call("What is 3.5 km in miles?").unwrap().1,
            json!({"value": 3.5, "from_unit": "km", "to_unit": "miles"})
        );
        assert_eq!(call("grep TODO in *.rs").unwrap().1, json!({"pattern": "TODO", "glob_filter": "*.rs"}));
        assert_eq!(
            call("note buy milk").unwrap().1,
            json!({"path": "notes", "content": "buy milk\n", "append": true})
        );
        assert_eq!(
            call("read a.txt lines 3-5").unwrap().1,
            json!({"path": "a.txt", "start_line": 3, "end_line": 5})
        );
        assert_eq!(call("$ git status").unwrap().1, json!({"command": "git status"}));
    }

    #[test]
    fn results_are_passed_through_and_the_rest_is_explained() {
        let mut with_result = request("tree");
        with_result.messages.push(Message::Tool {
            tool_call_id: "1".into(),
            name: "tree".into(),
            content: "a.txt".into(),
            ok: true,
        });
        assert_eq!(answer(&with_result).unwrap().text, "a.txt");
        for role in ["Chat", "Coder", ""] {
            let help = answer(&Request { role: role.into(), ..request("help") }).unwrap().text;
            assert!(help.contains("what is 3 km in miles"), "{help}");
            assert!(answer(&Request { role: role.into(), ..request("") }).is_ok());
        }
    }

    #[test]
    fn not_to_understand_is_an_answer_to_a_person_only() {
        let text = answer(&Request { role: "Chat".into(), ..request("sing a song") }).unwrap().text;
        assert!(text.contains("did not understand \"sing a song\""), "{text}");
        for role in ["Coder", "Implementer", ""] {
            let error = answer(&Request { role: role.into(), ..request("sing a song") }).unwrap_err();
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn a_tool_that_is_off_is_named_with_a_hint() {
        let mut without = request("read Cargo.toml lines 1-20");
        without.role = "Chat".into();
        without.tools.retain(|tool| !FILE_TOOLS.contains(&tool.name.as_str()));
        let text = answer(&without).unwrap().text;
        let hint = "file tools are off here: add --working-dir . (or run --non-interactive)";
        assert!(text.contains(hint) && text.contains("what is 3 km in miles"), "{text}");
        assert!(!text.contains("did not understand") && !text.contains("list files"), "{text}");
        without.role = "Coder".into();
        assert_eq!(answer(&without).unwrap_err().to_string(), text);
        without.messages = vec![Message::user("usage")];
        without.tools.clear();
        assert!(answer(&without).unwrap_err().to_string().contains("the tool `get_usage` is off here"));
    }
}
