//! What a game leaves behind: summary, review, candidates.

use super::support::{context, random_answer, setup};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_memory::candidate::Type;
use marvin_memory::{Memory, Places};
use marvin_mtg::rng::RandomStream;
use marvin_table::{
    ApprovedLesson, GameMemory, GameSetup, PlayerId, Review, SeatKind, Step, Table, TableContext,
};
use std::path::Path;
use std::sync::Arc;

const SEAT: PlayerId = PlayerId(0);

fn context_with_memory(directory: &Path) -> TableContext {
    let home = directory.display().to_string();
    let environment = Environment::from_iter([("HOME", home.as_str())]);
    let layout = Layout::new(&environment, None);
    let places = Places::below(&directory.join("memory"), &layout);
    let memory = GameMemory { places, redactor: Arc::new(Redactor::patterns_only()) };
    TableContext { memory: Some(memory.clone()), ..context(&memory.places.games) }
}

async fn play_to_the_end(table: &mut Table, random: &mut RandomStream) {
    while let Step::Person(seat) = table.play_on().await.unwrap() {
        let question = table.question(seat).unwrap();
        while table.answer(seat, question.number, &random_answer(&question, random)).is_err() {}
    }
}

#[tokio::test]
async fn a_game_proposes_lessons_that_a_person_approves() {
    let directory = tempfile::tempdir().unwrap();
    let context = context_with_memory(directory.path());
    let setup = GameSetup { tutor: true, ..setup([SeatKind::Person, SeatKind::Heuristic], 13) };
    let mut table = Table::create(&context, setup).unwrap();
    play_to_the_end(&mut table, &mut RandomStream::new(2)).await;
    let summary = table.close().unwrap();
    let memory = context.memory.clone().unwrap();
    let pending = Memory::open(memory.places.clone(), memory.redactor.clone()).pending().unwrap();
    let count = |kind: Type| pending.iter().filter(|proposal| proposal.candidate.kind == kind).count();
    assert!((1..=3).contains(&count(Type::MtgLesson)), "{pending:?}");
    assert!((1..=2).contains(&(count(Type::MtgProfile) + count(Type::Preference))), "{pending:?}");
    assert_eq!(pending.len(), summary.candidates.len());
    for proposal in &pending {
        let candidate = &proposal.candidate;
        assert!(candidate.tags.iter().any(|tag| tag == "mtg"), "{candidate:?}");
        assert!(!candidate.text.contains(table.id()), "nothing of a game's state: {candidate:?}");
    }
    assert!(!memory.places.ltm.exists(), "nothing is remembered without a person");
    assert!(context.memory.unwrap().approved().unwrap().is_empty());
    assert!(summary.key_turn.is_some());
    for point in &summary.turning_points {
        assert!(point.better_percent >= point.chosen_percent + 5, "{point:?}");
    }
}

#[tokio::test]
async fn approved_lessons_are_told_where_they_fit() {
    let directory = tempfile::tempdir().unwrap();
    let lesson = |text: &str, tags: &[&str]| ApprovedLesson {
        text: text.to_owned(),
        tags: tags.iter().map(ToString::to_string).collect(),
    };
    let lessons = vec![
        lesson("for elves", &["mtg", "boundless_elves", "attacking"]),
        lesson("for white", &["mtg", "glorious_combat"]),
        lesson("for every deck", &["mtg", "mulligan"]),
    ];
    let context = TableContext { lessons, ..context(directory.path()) };
    let table = Table::create(&context, setup([SeatKind::Person, SeatKind::Heuristic], 1)).unwrap();
    assert_eq!(table.fitting_lessons(SEAT), ["for elves", "for every deck"]);
    assert_eq!(table.fitting_lessons(PlayerId(1)), ["for every deck"]);
}

#[tokio::test]
async fn a_review_finds_what_a_random_player_did_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let context = context(directory.path());
    let mut table = Table::create(&context, setup([SeatKind::Person, SeatKind::Heuristic], 17)).unwrap();
    play_to_the_end(&mut table, &mut RandomStream::new(6)).await;
    let review = Review::of_game(&context, table.id(), SEAT, Some(40)).unwrap();
    assert!(review.answers > 5, "{review}");
    assert!(!review.turning_points.is_empty(), "{review}");
    let losses: Vec<u32> =
        review.turning_points.iter().map(|point| point.better_percent - point.chosen_percent).collect();
    assert!(losses.is_sorted_by(|one, two| one >= two), "the worst comes first: {losses:?}");
    let again = Review::of_game(&context, table.id(), SEAT, Some(40)).unwrap();
    assert_eq!(review, again, "a review with iterations is the same each time");
}
