//! Games in a conversation, over loopback, and as tools of other programs.

use super::support::{context, setup};
use marvin_agent::ProjectContext;
use marvin_agent::chat::{GameHost, GameReply};
use marvin_base::environment::Environment;
use marvin_model::Arguments;
use marvin_table::{ChatGames, GAME_TOOLS, SeatKind, Table, TableServer};
use marvin_tools::{Mode, Toolbox};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

fn project(home: &Path) -> ProjectContext {
    let home_text = home.display().to_string();
    let environment = Environment::from_iter([("HOME", home_text.as_str())]);
    ProjectContext::find(environment, home.to_path_buf(), None, false, Vec::new()).unwrap()
}

#[tokio::test]
async fn a_conversation_plays_a_game_in_lines() {
    let home = tempfile::tempdir().unwrap();
    let project = project(home.path());
    let games = ChatGames::default();
    let early = games.run_line(&project, "pass").await;
    assert_eq!(
        early,
        GameReply::Refusal(
            "/mtg: cannot resume a game: no game is open\n  hint: start one: `marvin mtg play`, or `/mtg play` in a conversation".into()
        )
    );
    let wrong = games.run_line(&project, "play opponent=god").await;
    assert!(matches!(&wrong, GameReply::Refusal(text) if text.contains("cannot read option `opponent=god`")));
    let GameReply::Text(start) = games.run_line(&project, "play seed=7 tutor").await else { panic!() };
    assert!(start.contains("boundless_elves (person) against dark_sacrifice (heuristic), seed 7"), "{start}");
    let GameReply::Text(next) = games.run_line(&project, "1").await else { panic!() };
    assert!(!next.is_empty());
    let GameReply::Text(list) = games.run_line(&project, "list").await else { panic!() };
    assert!(list.contains("open, "), "{list}");
    let GameReply::Text(left) = games.run_line(&project, "quit").await else { panic!() };
    assert!(left.contains("continues it"), "{left}");
    let GameReply::Text(resumed) = games.run_line(&project, "resume").await else { panic!() };
    assert!(resumed.contains("seed 7"), "{resumed}");
}

/// Reads until a line contains a text.
fn read_until(reader: &mut impl BufRead, wanted: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the connection ended after:\n{seen}");
        seen.push_str(&line);
        if line.contains(wanted) {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_play_over_loopback_and_see_only_their_own_hand() {
    let directory = tempfile::tempdir().unwrap();
    let table =
        Table::create(&context(directory.path()), setup([SeatKind::Person, SeatKind::Person], 7)).unwrap();
    let server = TableServer::bind(table, 0).await.unwrap();
    let address = server.address().unwrap();
    assert!(address.ip().is_loopback());
    let tokens = server.tokens().clone();
    let serving = tokio::spawn(server.run());
    let played = tokio::task::spawn_blocking(move || {
        let mut stranger = TcpStream::connect(address).unwrap();
        writeln!(stranger, "wrong").unwrap();
        let mut answer = String::new();
        BufReader::new(stranger).read_line(&mut answer).unwrap();
        assert_eq!(answer, "cannot join: the token is not known\n");
        let join = |token: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            writeln!(stream, "{token}").unwrap();
            (BufReader::new(stream.try_clone().unwrap()), stream)
        };
        let [first, second] = &tokens;
        let ((mut one, mut one_out), (mut two, _two_out)) = (join(first), join(second));
        let seen = [read_until(&mut one, "Hand:"), read_until(&mut two, "Hand:")];
        writeln!(one_out, "fly").unwrap();
        read_until(&mut one, "cannot read `fly`");
        writeln!(one_out, "concede yes").unwrap();
        read_until(&mut one, "Game over: opponent won (concession)");
        read_until(&mut two, "Game over: you won (concession)");
        seen
    });
    let seen = played.await.unwrap();
    assert_ne!(seen[0], seen[1]);
    let summary = serving.await.unwrap().unwrap();
    assert!(summary.contains("person (seat 1) won: concession"), "{summary}");
}

#[tokio::test]
async fn tools_play_a_game_and_refuse_what_is_not_legal() {
    let home = tempfile::tempdir().unwrap();
    let project = Arc::new(project(home.path()));
    let tools = marvin_table::tools(&project);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, GAME_TOOLS);
    let access = marvin_gate::Access::from_settings(&project.settings);
    let mut toolbox = Toolbox::new(Mode::Coding, &access);
    for tool in tools {
        toolbox.add(tool);
    }
    let context = project.tool_context(tokio_util::sync::CancellationToken::new(), None);
    let call = async |name: &str, arguments: &str| {
        let arguments = Arguments::from_text(arguments);
        toolbox.call(name, &arguments, &context).await.result
    };
    let start = call("mtg_new_game", r#"{"seed": 7, "opponent": "heuristic"}"#).await;
    assert!(start.ok, "{start:?}");
    let number = start.data["question"].as_u64().unwrap();
    let unknown = call("mtg_submit", &format!(r#"{{"question": {number}, "options": ["o99"]}}"#)).await;
    assert!(!unknown.ok && unknown.text.contains("does not exist"), "{unknown:?}");
    let several =
        call("mtg_submit", &format!(r#"{{"question": {number}, "options": [], "action": "a0"}}"#)).await;
    assert!(!several.ok && several.text.contains("exactly one of"), "{several:?}");
    let person = call("mtg_new_game", r#"{"opponent": "person"}"#).await;
    assert!(!person.ok, "{person:?}");
    let next = call("mtg_submit", &format!(r#"{{"question": {number}, "options": ["o0"]}}"#)).await;
    assert!(next.ok && next.data["question"].as_u64().unwrap() > number, "{next:?}");
    let view = call("mtg_view", "{}").await;
    assert!(view.text.contains("Hand: "), "{view:?}");
    let actions = call("mtg_actions", "{}").await;
    assert!(actions.text.contains("Answer: {"), "{actions:?}");
    let hint = call("mtg_hint", r#"{"level": 1}"#).await;
    assert!(hint.ok && hint.text.contains("Rules: "), "{hint:?}");
    let journal = call("mtg_journal", r#"{"since": 0}"#).await;
    assert!(journal.ok && !journal.text.is_empty(), "{journal:?}");
}
