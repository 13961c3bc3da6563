//! Twenty questions of a person, end to end: the scripted model calls the tool, and answers only when the tool's result is what
//! the person needs.

use crate::support::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// A question, the call that answers it, and a part of the call's result.
pub(crate) struct Question {
    pub(crate) text: &'static str,
    tool: &'static str,
    arguments: &'static str,
    result: &'static str,
}

const fn question(
    text: &'static str,
    tool: &'static str,
    arguments: &'static str,
    result: &'static str,
) -> Question {
    Question { text, tool, arguments, result }
}

/// In this order: some ask about what an earlier one kept. Those of services come last.
#[rustfmt::skip]
pub(crate) const QUESTIONS: [Question; 20] = [
    question("how long is a marathon in km?", "convert_units", r#"{"value": 26.2, "from_unit": "mi", "to_unit": "km"}"#, "42.16"),
    question("put the dentist into my calendar", "calendar_add_event", r#"{"title": "Dentist", "start": "2099-11-20T15:00"}"#, "Added"),
    question("show November 2099", "calendar_view", r#"{"month": 11, "year": 2099}"#, "Dentist"),
    question("wake me at half past seven", "set_alarm", r#"{"time": "07:30", "message": "Good morning", "label": "wake-up"}"#, "wake-up"),
    question("which alarms are set?", "list_alarms", "{}", "Good morning"),
    question("I am timing my run", "timer_start", r#"{"name": "run"}"#, "Stopwatch `run` started"),
    question("how far is the run?", "timer_check", r#"{"name": "run"}"#, "run: "),
    question("note that the plumber comes on Tuesday", "write_note", r#"{"path": "home.md", "content": "The plumber comes on Tuesday.\n"}"#, "home.md"),
    question("what is in my note about home?", "read_note", r#"{"path": "home.md"}"#, "plumber"),
    question("which notes are there?", "notes_ls", "{}", "home.md"),
    question("keep this link for later", "bookmark_save", r#"{"url": "https://example.org/bread", "title": "Bread", "tags": "baking"}"#, "Saved the bookmark"),
    question("which bookmarks are about baking?", "bookmark_list", r#"{"tag": "baking"}"#, "https://example.org/bread"),
    question("remember where I live", "save_place", r#"{"label": "home", "address": "1 Long Road"}"#, "home"),
    question("which places did I save?", "list_places", "{}", "1 Long Road"),
    question("follow the topic of my backups", "ntfy_subscribe", r#"{"topic": "my-backups-of-home"}"#, "Following my-backups-of-home"),
    question("how much memory does this machine have?", "system_info", "{}", "memory"),
    question("what did this cost so far?", "get_usage", "{}", ""),
    question("what is in my Blender scene?", "blender_get_scene", "{}", "Teapot"),
    question("what is a bicycle?", "wiki_summary", r#"{"title": "Bicycle"}"#, "two wheels"),
    question("what does serendipity mean?", "dictionary_lookup", r#"{"word": "serendipity"}"#, "happy chance"),
];

/// Questions that ask no service.
pub(crate) const OWN: usize = 17;

/// The model's lines for these questions; the answer to the first is `Answer 1.`.
pub(crate) fn script(questions: &[Question]) -> Vec<Value> {
    let lines = questions.iter().enumerate().flat_map(|(at, question)| {
        let arguments: Value = serde_json::from_str(question.arguments).unwrap();
        let call = json!({"name": question.tool, "arguments": arguments});
        [
            json!({"when": {"contains": question.text}, "reply": {"tool_calls": [call]}}),
            json!({"when": {"contains": question.result}, "reply": {"text": format!("Answer {}.", at + 1)}}),
        ]
    });
    lines.collect()
}

/// A server that answers with what a path or a line begins with.
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).ok();
            stream.write_all(answer(&line).as_bytes()).ok();
        }
    });
    address
}

fn http(body: &Value) -> String {
    let body = body.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn twenty_questions_are_answered_line_by_line() {
    let world = World::new();
    let script = world.script(&script(&QUESTIONS));
    let services = serve(|line| {
        http(&if line.contains("serendipity") {
            json!([{"word": "serendipity", "meanings": [{"partOfSpeech": "noun", "definitions": [{"definition": "A happy chance."}]}]}])
        } else {
            json!({"type": "standard", "title": "Bicycle", "extract": "A vehicle with two wheels."})
        })
    });
    let blender = serve(|_| {
        let teapot = json!({"name": "Teapot", "type": "MESH", "location": [0.0, 0.0, 0.0]});
        let scene = json!({"name": "Scene", "object_count": 1, "objects": [teapot]});
        json!({"status": "success", "result": scene}).to_string()
    });
    let input: String = QUESTIONS.iter().map(|question| format!("{}\n", question.text)).collect();
    let ended = world
        .marvin(["--plain", "--script", &script])
        .env("MARVIN_ALARMS_SCHEDULER", "off")
        .env("MARVIN_TOOLS_PRIVATE", "allow")
        .env("MARVIN_WIKIPEDIA_URL", format!("http://{services}"))
        .env("MARVIN_DICTIONARY_URL", format!("http://{services}"))
        .env("MARVIN_NTFY_URL", format!("http://{services}"))
        .env("MARVIN_BLENDER_ADDRESS", &blender)
        .input(input)
        .run()
        .exits(0);
    let answers: Vec<String> = (1..=QUESTIONS.len()).map(|number| format!("Answer {number}.")).collect();
    let missing: Vec<&String> =
        answers.iter().filter(|answer| !ended.text().contains(answer.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}\n{}", ended.whole());
}
