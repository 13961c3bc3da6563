//! Games of Magic over HTTP: started, answered, refused, followed, and kept apart by seat.

use super::client::WebFrontEnd;
use crate::support::{World, until};
use serde_json::{Value, json};

/// Answers after which a game counts as endless.
const MAX_ANSWERS: usize = 2_000;

fn start(server: &WebFrontEnd, more: &Value) -> String {
    let mut order =
        json!({"deck": "boundless_elves", "against": "dark_sacrifice", "opponent": "heuristic", "seed": 3});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let started = server.post("/api/table", &order).ok();
    format!("/api/table/{}", started["game"].as_str().unwrap())
}

/// The game when the person is asked or it is over.
fn wait(server: &WebFrontEnd, path: &str) -> Value {
    let mut snapshot = Value::Null;
    until("a question", || {
        snapshot = server.get(path).ok();
        snapshot["question"].is_object() || snapshot["board"]["outcome"].is_object()
    });
    snapshot
}

/// An answer to any question: the last action, the first options, no attack and no block.
fn any_answer(question: &Value) -> Value {
    let form = &question["form"];
    let ids = |key: &str| -> Vec<Value> {
        form[key].as_array().into_iter().flatten().map(|one| one["id"].clone()).collect()
    };
    match form["form"].as_str().unwrap() {
        "action" => json!({"action": ids("options").last()}),
        "options" => {
            let least = usize::try_from(form["min"].as_u64().unwrap()).unwrap();
            json!({"options": ids("options").into_iter().take(least.max(1)).collect::<Vec<_>>()})
        }
        "attackers" => json!({"attackers": form["required"]}),
        "blockers" => json!({"blockers": form["required"]}),
        _ => {
            let mut amounts: Vec<i64> =
                form["minimums"].as_array().unwrap().iter().filter_map(Value::as_i64).collect();
            amounts.resize(ids("options").len(), 0);
            amounts[0] += form["total"].as_i64().unwrap() - amounts.iter().sum::<i64>();
            json!({"amounts": amounts})
        }
    }
}

#[test]
fn a_whole_game_is_played_over_http() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    let path = start(&server, &json!({}));
    for _ in 0..MAX_ANSWERS {
        let snapshot = wait(&server, &path);
        if snapshot["board"]["outcome"].is_object() {
            let listed = server.get("/api/table").ok();
            assert_eq!(listed["games"].as_array().unwrap().len(), 1, "{listed}");
            return;
        }
        let question = &snapshot["question"];
        let order = json!({"order": "answer", "number": question["number"], "answer": any_answer(question)});
        server.post(&path, &order).ok();
    }
    panic!("the game does not end");
}

#[test]
fn wrong_orders_change_nothing_and_say_why() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    let path = start(&server, &json!({}));
    let before = wait(&server, &path);
    let number = before["question"]["number"].as_u64().unwrap();
    let refused = |status: u16, path: &str, body: &Value| {
        let answer = server.post(path, body);
        assert_eq!(answer.status, status, "{body}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()["error"].as_str().unwrap().to_string()
    };
    let answer = |number: u64, answer: Value| json!({"order": "answer", "number": number, "answer": answer});
    insta::assert_snapshot!(refused(409, &path, &answer(number, json!({"options": ["o77"]}))), @"cannot accept answer: option 77 does not exist");
    insta::assert_snapshot!(refused(409, &path, &answer(number + 9, json!({"options": ["o0"]}))).replace(&number.to_string(), "N"), @"cannot accept answer: the question has changed; its number is N now");
    insta::assert_snapshot!(refused(409, &path, &json!({"order": "undo"})), @r"
    cannot take back an answer: the game is not a training game
      hint: start the game with --training to take answers back
    ");
    refused(400, &path, &json!({"order": "cheat"}));
    refused(400, &path, &json!({"order": "concede", "seat": 1}));
    let deck = json!({"deck": "boundless_elfs", "against": "dark_sacrifice", "opponent": "heuristic"});
    insta::assert_snapshot!(refused(400, "/api/table", &deck), @r"
    cannot find deck `boundless_elfs`: no shipped deck has this id or name
      hint: did you mean boundless_elves?
    ");
    let person = json!({"deck": "boundless_elves", "against": "dark_sacrifice", "opponent": "person"});
    assert!(refused(400, "/api/table", &person).contains("marvin mtg serve"));
    refused(404, "/api/table/game_20000101_000000_000000", &json!({"order": "concede"}));
    assert_eq!(server.open("GET", &path).status, 401);
    assert_eq!(server.get(&path).ok()["question"], before["question"], "nothing has changed");
}

#[test]
fn changes_are_streamed_and_a_game_is_opened_again() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    let path = start(&server, &json!({"training": true}));
    let before = wait(&server, &path);
    let stream = server.stream(&format!("{path}/events?after=0"));
    let order = json!({"order": "answer", "number": before["question"]["number"], "answer": any_answer(&before["question"])});
    server.post(&path, &order).ok();
    let seen = before["version"].as_u64().unwrap();
    stream.until(|event| event["seq"].as_u64().unwrap() > seen);
    server.running.signal(rustix::process::Signal::KILL);
    let again = WebFrontEnd::start(&world, &[]);
    let after = wait(&again, &path);
    assert_ne!(after["question"]["number"], before["question"]["number"], "the answer was recorded");
    again.post(&path, &json!({"order": "undo"})).ok();
    let undone = wait(&again, &path);
    assert_eq!(undone["question"]["number"], before["question"]["number"]);
    assert_eq!(undone["board"], before["board"]);
}
