//! A game of Magic over MCP: the client submits the answers that the same game had here before.

use crate::stage::{Program, Stage, call, say};
use marvin_table::{
    AnswerForm, CompactAnswer, GameSetup, PlayerId, Question, SeatKind, Step, Table, TableContext,
};
use serde_json::{Value, json};

const SEAT: PlayerId = PlayerId(0);
const SEED: u64 = 7;
const TURNS: u32 = 10;

/// An answer that is always legal: a land, else a pass; as little as the question allows.
fn simple_answer(question: &Question) -> CompactAnswer {
    match &question.form {
        AnswerForm::Action { options } => {
            let land = options.iter().find(|option| option.label.starts_with("play "));
            CompactAnswer::Action(land.map_or("a0".into(), |option| option.id.clone()))
        }
        AnswerForm::Options { options, min, .. } => {
            let count = usize::try_from(*min).unwrap();
            CompactAnswer::Options(options.iter().take(count).map(|option| option.id.clone()).collect())
        }
        AnswerForm::Attackers { required, .. } => CompactAnswer::Attackers(required.clone()),
        AnswerForm::Blockers { required, .. } => CompactAnswer::Blockers(required.clone()),
        AnswerForm::Amounts { total, options, .. } => {
            let mut amounts = vec![0; options.len()];
            amounts[0] = *total;
            CompactAnswer::Amounts(amounts)
        }
    }
}

/// Plays the game here and returns the calls that repeat it, with whether the game is over then.
async fn rehearse() -> (Vec<Value>, bool) {
    let directory = tempfile::tempdir().unwrap();
    let setup = GameSetup {
        seed: SEED,
        ..GameSetup::against("boundless_elves", "dark_sacrifice", SeatKind::Heuristic).unwrap()
    };
    let mut table = Table::create(&TableContext::new(directory.path()).unwrap(), setup).unwrap();
    let mut calls = Vec::new();
    loop {
        let step = table.play_on().await.unwrap();
        let is_over = matches!(step, Step::Over(_));
        if is_over || table.board(SEAT).turn >= TURNS {
            return (calls, is_over);
        }
        let question = table.question(SEAT).unwrap();
        let answer = simple_answer(&question);
        let mut arguments = serde_json::to_value(&answer).unwrap();
        arguments["question"] = question.number.into();
        calls.push(call("mcp__marvin__mtg_submit", arguments));
        table.answer(SEAT, question.number, &answer).unwrap();
    }
}

pub(crate) fn ten_turns_of_magic_are_played(program: Program) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let rehearsal = std::thread::spawn(move || runtime.block_on(rehearse()));
    let (calls, is_over) = rehearsal.join().unwrap();
    let mut stage = Stage::bare(program);
    stage.serves = true;
    stage.served_tools = "mtg";
    let count = calls.len();
    let mut entries = vec![
        call("ToolSearch", json!({"query": "select:mcp__marvin__mtg_new_game,mcp__marvin__mtg_submit"})),
        call(
            "mcp__marvin__mtg_new_game",
            json!({"deck": "boundless_elves", "against": "dark_sacrifice", "opponent": "heuristic", "seed": SEED}),
        ),
    ];
    entries.extend(calls);
    entries.push(say("TEN TURNS DONE"));
    let played = stage.play("Play Magic.", entries, None);
    let last = played.requests.last().unwrap();
    // Every answer was accepted in its turn: an answer to another question would have been refused.
    assert!(count > 10, "only {count} answers");
    let state = format!(r#"\"over\":{is_over}"#);
    assert!(last.contains(&state), "{state}\n{}", played.whole());
    assert!(played.text.contains("TEN TURNS DONE"), "{}", played.whole());
}
