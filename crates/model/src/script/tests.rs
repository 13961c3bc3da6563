use super::*;
use crate::message::Message;

fn request(role: &str, text: &str) -> Request {
    Request { role: role.into(), messages: vec![Message::user(text)], ..Request::default() }
}

const SCRIPT: &str = r#"
# a comment
{"when":{"role":"Planner"},"reply":{"text":"plan"}}
{"when":{"contains":"again"},"reply":{"text":"same"},"repeat":true}
{"reply":{"json":{"status":"SUCCESS"}}}
"#;

#[test]
fn an_endless_script_is_refused() {
    let error = Script::load(Path::new("/dev/zero"), None).unwrap_err().to_string();
    assert!(error.contains("it is larger than 268435456 bytes"), "{error}");
}

#[test]
fn the_first_match_is_consumed() {
    let script = Script::new(parse("s", SCRIPT).unwrap());
    let say = |role, text| {
        let entry = script.take(&request(role, text)).unwrap();
        entry.map(|entry| entry.reply.clone().unwrap().spoken())
    };
    assert_eq!(say("Chat", "again").as_deref(), Some("same"));
    assert_eq!(say("Chat", "again and again").as_deref(), Some("same"));
    assert_eq!(say("Chat", "x").as_deref(), Some(r#"{"status":"SUCCESS"}"#));
    assert_eq!(say("Chat", "x"), None);
    assert_eq!(say("Planner", "x").as_deref(), Some("plan"));
}

#[test]
fn b13_an_entry_that_a_killed_process_was_playing_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let (file, state) = (directory.path().join("s.jsonl"), directory.path().join("state"));
    std::fs::write(&file, "{\"reply\":{\"text\":\"a\"}}\n{\"reply\":{\"text\":\"b\"}}\n").unwrap();
    let next = || {
        let script = Script::load(&file, Some(state.clone())).unwrap();
        script.take(&Request::default()).unwrap()
    };
    let text = |taken: &Option<TakenEntry>| taken.as_ref().and_then(|entry| Some(entry.reply.clone()?.text));
    let dead = dead_take(0, String::new());
    append(&mut open_state(&state).unwrap(), &dead).unwrap();
    let first = next();
    assert_eq!(text(&first).as_deref(), Some("a"));
    assert_eq!(text(&next()).as_deref(), Some("b"), "the first is being played");
    drop(first);
    assert!(next().is_none());
    // One process plays all of them.
    std::fs::remove_file(&state).unwrap();
    let script = Script::load(&file, Some(state.clone())).unwrap();
    let played: Vec<_> = (0..3).map(|_| text(&script.take(&Request::default()).unwrap())).collect();
    assert_eq!(played, [Some("a".to_string()), Some("b".to_string()), None]);
    // As an earlier version left it.
    std::fs::write(&state, "[0]").unwrap();
    assert_eq!(text(&next()).as_deref(), Some("b"));
    assert!(next().is_none());
}

/// The line of a process that is gone; another one of its number has started since.
fn dead_take(entry: usize, request: String) -> StateLine {
    StateLine::Take { entry, pid: std::process::id(), started: 1, request }
}

#[test]
fn a_reply_that_a_killed_process_did_not_record_is_played_again() {
    let directory = tempfile::tempdir().unwrap();
    let (file, state) = (directory.path().join("s.jsonl"), directory.path().join("state"));
    let text = r#"{"fail":{"kind":"garbage"}}
{"reply":{"text":"a"}}
{"reply":{"text":"b"}}
"#;
    std::fs::write(&file, text).unwrap();
    let asked = request("Chat", "x");
    for entry in [0, 1] {
        let mut state = open_state(&state).unwrap();
        append(&mut state, &dead_take(entry, hash(&asked))).unwrap();
        append(&mut state, &StateLine::Done { entry }).unwrap();
    }
    let say = |text: &str| {
        let script = Script::load(&file, Some(state.clone())).unwrap();
        let entry = script.take(&request("Chat", text)).unwrap();
        entry.map(|entry| entry.reply.clone().unwrap().text)
    };
    // A failure was not a reply that could be lost: a resumed run does not fail in the same way for ever.
    assert_eq!(say("x").as_deref(), Some("a"));
    assert_eq!(say("x").as_deref(), Some("b"), "once, as this process lives");
    std::fs::remove_file(&state).unwrap();
    append(&mut open_state(&state).unwrap(), &dead_take(1, hash(&asked))).unwrap();
    append(&mut open_state(&state).unwrap(), &StateLine::Done { entry: 0 }).unwrap();
    append(&mut open_state(&state).unwrap(), &StateLine::Done { entry: 1 }).unwrap();
    assert_eq!(say("x, and then y").as_deref(), Some("b"), "another request");
    append(&mut open_state(&state).unwrap(), &dead_take(1, hash(&asked))).unwrap();
    append(&mut open_state(&state).unwrap(), &StateLine::Kept { entries: vec![1] }).unwrap();
    assert_eq!(say("x").as_deref(), None, "a process that ended well asked the same");
}

#[test]
fn processes_share_consumption_through_the_state_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    std::fs::write(
        &file,
        (0..40).map(|n| format!("{{\"reply\":{{\"text\":\"{n}\"}}}}\n")).collect::<String>(),
    )
    .unwrap();
    let state = directory.path().join("state.json");
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let script = Script::load(&file, Some(state.clone())).unwrap();
                for _ in 0..10 {
                    let entry = script.take(&request("", "")).unwrap().unwrap();
                    seen.lock().unwrap().push(entry.reply.clone().unwrap().text);
                }
            });
        }
    });
    let seen: BTreeSet<String> = seen.into_inner().unwrap().into_iter().collect();
    assert_eq!(seen.len(), 40);
}

#[test]
fn a_bad_line_is_named() {
    let error = parse("s.jsonl", "{\"reply\":{\"text\":\"a\"}}\n{\"replay\":{}}").unwrap_err().to_string();
    assert!(error.contains("s.jsonl, line 2") && error.contains("replay"), "{error}");
    assert!(parse("s", "{}").unwrap_err().to_string().contains("neither"));
}

#[test]
fn pieces_join_to_the_text() {
    for text in ["", "héllo wörld", "日本語テキスト"] {
        for count in 1..20 {
            assert_eq!(pieces(text, count).concat(), text);
        }
    }
}
