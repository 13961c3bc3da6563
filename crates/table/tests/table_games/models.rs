//! Games of scripted models against the heuristic player.

use super::leaks::find_leaks;
use super::support::{Policy, PolicyClient, context_with_model, count, setup};
use marvin_mtg::journal::{AnswerOrigin, GameJournal, JournalLine};
use marvin_mtg::scenario::CachedSource;
use marvin_table::{EndReason, ModelLimits, PlayerId, SeatKind, Step, Table, TableContext};
use std::sync::Arc;

fn journal_text(context: &TableContext, id: &str) -> String {
    std::fs::read_to_string(context.games.join(id).join("journal.jsonl")).unwrap()
}

async fn play(context: &TableContext, client: &Arc<PolicyClient>, seats: [SeatKind; 2], seed: u64) -> Table {
    let mut table = Table::create(context, setup(seats, seed)).unwrap();
    let step = table.play_on().await.unwrap();
    let Step::Over(outcome) = step else { panic!("game {seed} did not end: {step:?}") };
    assert!(
        !matches!(outcome.reason, EndReason::Concession | EndReason::Limit),
        "game {seed} ended by {:?}",
        outcome.reason
    );
    assert!(!client.prompts.lock().unwrap().is_empty());
    table
}

#[tokio::test]
async fn models_finish_every_game_and_learn_nothing_hidden() {
    let games = count("MTG_PLAY_GAMES", 8);
    let (mut questions, mut calls, mut illegal, mut retries, mut fallbacks) = (0, 0, 0, 0, 0);
    for number in 0..games {
        let policy = match number % 4 {
            0 => Policy::Legal,
            1 => Policy::Chatty,
            2 => Policy::Mixed,
            _ => Policy::Hostile,
        };
        let directory = tempfile::tempdir().unwrap();
        let client = PolicyClient::new(policy, number);
        let context = context_with_model(directory.path(), client.clone());
        let model = PlayerId(u8::from(number % 8 >= 4));
        let seats = if model == PlayerId(0) {
            [SeatKind::Model, SeatKind::Heuristic]
        } else {
            [SeatKind::Heuristic, SeatKind::Model]
        };
        let mut table = play(&context, &client, seats, number).await;
        let figures = table.model_figures();
        assert!(figures.completed && figures.calls >= figures.questions, "{figures:?}");
        match policy {
            Policy::Legal | Policy::Chatty => assert_eq!(figures.fallbacks, 0, "game {number}: {figures:?}"),
            Policy::Hostile => assert_eq!(figures.fallbacks, figures.questions, "game {number}"),
            Policy::Mixed => assert!(figures.illegal + figures.schema_retries > 0, "game {number}"),
        }
        let text = journal_text(&context, table.id());
        let cards = CachedSource::new(&context.pool);
        let replayed = GameJournal::replay(&text, &cards, None).unwrap();
        assert_eq!(replayed.engine().outcome(), table.outcome(), "game {number}");
        let leaks = find_leaks(&text, &context, model, &table, &client.prompts.lock().unwrap());
        assert!(leaks.is_empty(), "game {number}: {leaks:?}");
        let summary = table.close().unwrap();
        assert_eq!(summary.model, Some(figures));
        questions += figures.questions;
        calls += figures.calls;
        illegal += figures.illegal;
        retries += figures.schema_retries;
        fallbacks += figures.fallbacks;
    }
    println!(
        "{games} games finished: {questions} questions, {calls} calls, {illegal} illegal, {retries} schema retries, {fallbacks} fallbacks"
    );
}

#[tokio::test]
async fn a_hostile_model_plays_like_the_heuristic_player() {
    let directory = tempfile::tempdir().unwrap();
    let client = PolicyClient::new(Policy::Hostile, 5);
    let context = context_with_model(directory.path(), client.clone());
    let table = play(&context, &client, [SeatKind::Model, SeatKind::Heuristic], 11).await;
    let text = journal_text(&context, table.id());
    let lines: Vec<JournalLine> =
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let own = lines.iter().filter(|line| line.player == PlayerId(0));
    let origins: Vec<AnswerOrigin> = own.filter_map(|line| line.origin).collect();
    assert!(origins.contains(&AnswerOrigin::HeuristicForModel));
    assert!(!origins.contains(&AnswerOrigin::Model), "a hostile reply was taken as an answer");
    let notes = table.log(PlayerId(1), 0);
    assert!(notes.iter().any(|line| line.text.contains("the model gave no legal answer")));
}

#[tokio::test]
async fn a_spent_budget_leaves_the_rest_to_the_heuristic_player() {
    let directory = tempfile::tempdir().unwrap();
    let client = PolicyClient::new(Policy::Legal, 3);
    let mut context = context_with_model(directory.path(), client.clone());
    if let Some(model) = &mut context.model {
        model.limits = ModelLimits { max_tokens: 5_000, max_cost: None };
    }
    let table = play(&context, &client, [SeatKind::Model, SeatKind::Heuristic], 4).await;
    let figures = table.model_figures();
    assert!(figures.tokens >= 5_000 && figures.tokens < 12_000, "{figures:?}");
    assert!(figures.fallbacks > 0, "{figures:?}");
}

#[tokio::test]
async fn talk_is_recorded_and_does_not_act() {
    let directory = tempfile::tempdir().unwrap();
    let client = PolicyClient::new(Policy::Hostile, 0);
    let context = context_with_model(directory.path(), client.clone());
    let mut table = Table::create(&context, setup([SeatKind::Person, SeatKind::Model], 2)).unwrap();
    table.play_on().await.unwrap();
    let before = (table.board(PlayerId(0)), journal_text(&context, table.id()));
    for _ in 0..6 {
        let talk = table.talk(PlayerId(0), "What is your plan?").unwrap();
        let result = talk.run().await;
        let said = table.finish_talk(PlayerId(0), result).unwrap();
        assert!(said.chars().count() <= 2_000);
    }
    assert_eq!(before, (table.board(PlayerId(0)), journal_text(&context, table.id())));
    // The model talks from its own seat: the person's hand is not in its prompt.
    let prompts = client.prompts.lock().unwrap();
    let talked = prompts.last().unwrap();
    for card in &table.board(PlayerId(0)).hand {
        assert!(!talked.contains(&card.name), "{} is in the prompt", card.name);
    }
    drop(prompts);
    assert_eq!(table.close().unwrap().questions, 6);
}

#[test]
fn a_model_seat_without_a_model_is_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let games = directory.path().join("games");
    let context = super::support::context(&games);
    let error = Table::create(&context, setup([SeatKind::Person, SeatKind::Model], 1)).unwrap_err();
    insta::assert_snapshot!(error, @"no model can be asked: no model is set up");
    assert!(error.hint().is_some() && error.is_usage());
    assert!(!games.exists());
}
