//! Games of people: answers, refusals, kills, undo, matches, and what a person sees.

use super::support::{context, count, random_answer, setup};
use marvin_mtg::decks::DeckEntry;
use marvin_mtg::journal::GameJournal;
use marvin_mtg::rng::RandomStream;
use marvin_mtg::scenario::CachedSource;
use marvin_table::{
    CompactAnswer, GameSetup, OptionStyle, PlainSession, PlayerId, SeatKind, SessionEnd, Step, Table,
    TableContext, TableError,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SEAT: PlayerId = PlayerId(0);

/// Directory of the games of a child that is killed.
const KILL_DIRECTORY: &str = "MTG_KILL_DIRECTORY";

fn person_setup(seed: u64) -> GameSetup {
    setup([SeatKind::Person, SeatKind::Heuristic], seed)
}

/// Answers every question at random; a refused answer is tried again with the least that is legal.
async fn play_randomly(table: &mut Table, random: &mut RandomStream, most: usize) {
    for _ in 0..most {
        let Step::Person(seat) = table.play_on().await.unwrap() else { return };
        let question = table.question(seat).unwrap();
        for _ in 0..40 {
            let answer = random_answer(&question, random);
            match table.answer(seat, question.number, &answer) {
                Ok(()) => break,
                Err(TableError::Refused(_)) => {
                    assert_eq!(table.question(seat).as_ref(), Some(&question), "a refusal changed the game");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn journal_path(context: &TableContext, id: &str) -> PathBuf {
    context.games.join(id).join("journal.jsonl")
}

#[tokio::test]
async fn a_person_sees_a_board_and_questions_in_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let mut table = Table::create(&context(directory.path()), person_setup(7)).unwrap();
    table.play_on().await.unwrap();
    insta::assert_snapshot!(table.question(SEAT).unwrap().to_text(OptionStyle::Numbers), @"
    You choose who begins: play first or draw first?
      1) play first
      2) draw first
    (one of them)
    ");
    let question = table.question(SEAT).unwrap();
    table.answer(SEAT, question.number, &CompactAnswer::Options(vec!["o0".into()])).unwrap();
    table.play_on().await.unwrap();
    insta::assert_snapshot!(table.screen_text(SEAT), @"
    Before the first turn
    Opponent (heuristic, dark_sacrifice): life 20, hand 7, library 53, untapped lands 0
    You (person, boundless_elves): life 20, hand 7, library 53, untapped lands 0
    Hand: Forest; Steel Leaf Champion {G}{G}{G} 5/4; Elvish Visionary {1}{G} 1/1; Llanowar Elves {G} 1/1; Forest; Thornweald Archer {1}{G} 2/1; Forest

    Keep this opening hand, or take a mulligan?
      1) keep
      2) mulligan
    (one of them)
    ");
    let question = table.question(SEAT).unwrap();
    let old =
        table.answer(SEAT, question.number - 1, &CompactAnswer::Options(vec!["o0".into()])).unwrap_err();
    insta::assert_snapshot!(old, @"cannot accept answer: the question has changed; its number is 2 now");
    let unknown =
        table.answer(SEAT, question.number, &CompactAnswer::Options(vec!["o9".into()])).unwrap_err();
    insta::assert_snapshot!(unknown, @"cannot accept answer: option 9 does not exist");
    let other = table.answer(PlayerId(1), question.number, &CompactAnswer::Action("a0".into())).unwrap_err();
    insta::assert_snapshot!(other, @"cannot accept answer: the question is for the other player");
}

#[tokio::test]
async fn lines_answer_explain_and_teach() {
    let directory = tempfile::tempdir().unwrap();
    let setup = GameSetup { tutor: true, training: true, ..person_setup(7) };
    let mut session = PlainSession::new(Table::create(&context(directory.path()), setup).unwrap());
    let start = session.start().await.unwrap();
    assert!(start.text.contains("Type `help` for the commands."), "{}", start.text);
    insta::assert_snapshot!(session.run_line("fly").await.unwrap().text, @"cannot read `fly`: it is neither a command nor a number of an option");
    insta::assert_snapshot!(session.run_line("concede").await.unwrap().text, @"cannot read `concede`: `concede yes` gives the game up");
    insta::assert_snapshot!(session.run_line("card Forest").await.unwrap().text, @"
    Forest
    Basic Land — Forest
    ");
    let mut hints = 0;
    for _ in 0..60 {
        let question = session.table().question(SEAT);
        let Some(question) = question else { break };
        if question.sentence.contains("first main phase") && hints == 0 {
            for level in 1..=3 {
                let hint = session.run_line(&format!("hint {level}")).await.unwrap().text;
                assert!(hint.contains("Rules: 117, 601"), "{hint}");
                assert_eq!(hint.contains("Best line:"), level == 3, "{hint}");
                hints += 1;
            }
            let why = session.run_line("why Forest").await.unwrap().text;
            assert!(why.contains("play Forest"), "{why}");
            break;
        }
        let line = match &question.form {
            marvin_table::AnswerForm::Action { .. } => "pass",
            marvin_table::AnswerForm::Options { .. } => "1",
            _ => "none",
        };
        session.run_line(line).await.unwrap();
    }
    assert_eq!(hints, 3);
    let before = session.table().board(SEAT);
    session.run_line("pass").await.unwrap();
    session.run_line("undo").await.unwrap();
    assert_eq!(session.table().board(SEAT), before, "undo leads back to the same board");
    let left = session.run_line("quit").await.unwrap();
    assert_eq!(left.end, Some(SessionEnd::Left));
    assert!(left.text.contains("continues it"), "{}", left.text);
}

#[tokio::test]
async fn games_without_training_take_nothing_back_and_concede_only_explicitly() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = PlainSession::new(Table::create(&context(directory.path()), person_setup(3)).unwrap());
    session.start().await.unwrap();
    insta::assert_snapshot!(session.run_line("undo").await.unwrap().text, @"
    cannot take back an answer: the game is not a training game
      hint: start the game with --training to take answers back
    ");
    let end = session.run_line("concede yes").await.unwrap();
    assert_eq!(end.end, Some(SessionEnd::Over));
    assert!(end.text.contains("heuristic (seat 1) won: concession"), "{}", end.text);
}

#[tokio::test]
async fn a_cut_off_journal_resumes_at_the_same_decision() {
    let directory = tempfile::tempdir().unwrap();
    let context = context(directory.path());
    let mut random = RandomStream::new(1);
    let mut table = Table::create(&context, person_setup(21)).unwrap();
    let id = table.id().to_owned();
    play_randomly(&mut table, &mut random, 30).await;
    assert!(matches!(Table::resume(&context, &id), Err(TableError::Busy { .. })), "one process plays a game");
    drop(table);
    let path = journal_path(&context, &id);
    let whole = std::fs::read(&path).unwrap();
    for _ in 0..12 {
        let cut = random.below(whole.len());
        std::fs::write(&path, &whole[..cut]).unwrap();
        let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        let table = Table::resume(&context, &id).unwrap();
        let text = String::from_utf8(whole.clone()).unwrap();
        let cards = CachedSource::new(&context.pool);
        let expected = GameJournal::replay(&text, &cards, Some(lines.saturating_sub(1))).unwrap();
        let waiting = expected.engine().decision().map(|decision| decision.player);
        assert_eq!(table.board(SEAT).asked, waiting);
        assert_eq!(
            table.board(SEAT).turn,
            expected.engine().state().turn,
            "a journal of {lines} whole lines resumes after them"
        );
    }
}

/// Runs in a process of its own, which the test below kills.
#[tokio::test]
#[ignore = "a child of `killed_games_resume_at_the_same_decision`"]
async fn child_that_is_killed() {
    let Ok(directory) = std::env::var(KILL_DIRECTORY) else { return };
    let context = context(Path::new(&directory));
    let mut table = match Table::resume_latest(&context) {
        Ok(table) => table,
        Err(_) => Table::create(&context, person_setup(5)).unwrap(),
    };
    play_randomly(&mut table, &mut RandomStream::new(9), usize::MAX).await;
    table.close().unwrap();
}

#[tokio::test]
async fn killed_games_resume_at_the_same_decision() {
    let kills = count("MTG_PLAY_KILLS", 3);
    let mut random = RandomStream::new(77);
    for number in 0..kills {
        let directory = tempfile::tempdir().unwrap();
        let context = context(directory.path());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "table_games::people::child_that_is_killed", "--ignored"])
            .env(KILL_DIRECTORY, directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The child is killed when its journal has grown to a random size, wherever it then is.
        let size = 15_000 + u64::try_from(random.below(25_000)).unwrap();
        let path = loop {
            let found = std::fs::read_dir(directory.path()).unwrap().flatten().next();
            if let Some(path) = found.map(|entry| entry.path().join("journal.jsonl"))
                && std::fs::metadata(&path).is_ok_and(|facts| facts.len() >= size)
            {
                break path;
            }
            assert!(child.try_wait().unwrap().is_none(), "the game ended before it was killed");
            std::thread::yield_now();
        };
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let whole = text.rfind('\n').and_then(|end| text.get(..=end)).unwrap_or_default();
        let cards = CachedSource::new(&context.pool);
        let expected = GameJournal::replay(whole, &cards, None).unwrap();
        let mut table = Table::resume_latest(&context).unwrap();
        let open = expected.engine().decision().unwrap();
        assert_eq!(table.board(SEAT).asked, Some(open.player), "kill {number}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "kill {number}: nothing whole is lost");
        play_randomly(&mut table, &mut random, usize::MAX).await;
        assert!(table.close().unwrap().reason.is_some(), "kill {number}: the game is played to its end");
    }
    println!("{kills} games killed and resumed at the same decision");
}

#[tokio::test]
async fn the_loser_of_a_match_chooses_who_begins() {
    let directory = tempfile::tempdir().unwrap();
    let context = context(directory.path());
    let setup = GameSetup { best_of: 3, ..setup([SeatKind::Person, SeatKind::Person], 1) };
    let mut table = Table::create(&context, setup).unwrap();
    assert!(matches!(table.next_game(), Err(TableError::Match(_))), "the game is not over");
    table.concede(PlayerId(1)).unwrap();
    let mut second = table.next_game().unwrap();
    assert_eq!(second.setup().score.wins, [1, 0]);
    assert_eq!(second.board(SEAT).asked, Some(PlayerId(1)), "the loser is asked to play or draw");
    second.concede(PlayerId(1)).unwrap();
    assert!(matches!(second.next_game(), Err(TableError::Match(_))), "two wins decide the match");
}

#[tokio::test]
async fn a_person_uses_the_sideboard_between_games() {
    let directory = tempfile::tempdir().unwrap();
    let context = context(directory.path());
    let mut setup = GameSetup { best_of: 3, ..setup([SeatKind::Person, SeatKind::Heuristic], 1) };
    let out = setup.decks[0].list.main[0].name.clone();
    setup.decks[0].list.sideboard = vec![DeckEntry::new(2, "Naturalize")];
    setup.decks[1].list.sideboard = vec![DeckEntry::new(2, "Duress")];
    let size = setup.decks[0].list.main_count();
    let other = setup.decks[1].clone();
    let mut session = PlainSession::new(Table::create(&context, setup).unwrap());
    session.start().await.unwrap();
    let over = session.run_line("concede yes").await.unwrap();
    assert!(over.text.contains("Match: 0 to 1. Seat 0 may use the sideboard."), "{}", over.text);
    assert!(over.text.contains("Sideboard (2):\n  2 Naturalize"), "{}", over.text);
    let lines = [
        (format!("swap 3 {out} for Naturalize"), "cannot swap 3 of Naturalize: there are 2".to_owned()),
        (format!("swap {out} for Duress"), "cannot swap `Duress`: the sideboard has no such card".to_owned()),
        ("swap what".to_owned(), "cannot read `swap what`: say `swap 2 Forest for Naturalize`".to_owned()),
        (format!("swap 2 {out} for natural"), format!("2 {out} out, 2 natural in")),
    ];
    for (line, told) in lines {
        let text = session.run_line(&line).await.unwrap();
        assert_eq!((text.text, text.end), (told, None));
    }
    let started = session.run_line("start").await.unwrap();
    assert!(started.text.starts_with("The next game begins."), "{}", started.text);
    let decks = &session.table().setup().decks;
    assert_eq!(decks[0].list.main_count(), size);
    assert_eq!(decks[0].list.sideboard, [DeckEntry::new(2, out)]);
    assert!(decks[0].list.main.contains(&DeckEntry::new(2, "Naturalize")));
    assert_eq!(decks[1], other, "a player without a person keeps its deck");
}

#[test]
fn games_and_decks_that_do_not_exist_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let context = context(directory.path());
    let error = Table::resume(&context, "../../etc").unwrap_err();
    insta::assert_snapshot!(error, @"cannot find game `../../etc`: no game was played here");
    let error = marvin_table::find_shipped_deck("boundles_elves").unwrap_err();
    insta::assert_snapshot!(error.hint().unwrap(), @"did you mean boundless_elves?");
    assert!(matches!(Table::resume_latest(&context), Err(TableError::NoOpenGame)));
}
