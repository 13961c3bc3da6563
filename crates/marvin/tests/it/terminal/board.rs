//! The board of a game of Magic in a real terminal.

use super::stage::{Screen, is_there};
use crate::support::World;
use std::time::Instant;

/// Answers after which a game counts as endless.
const MAX_ANSWERS: usize = 2_000;

/// What is asked, and whether answers can be given: the line above the answers, and the answers.
fn panel(text: &str) -> String {
    text.lines().rev().take(12).collect::<Vec<_>>().join("\n")
}

/// Presses a key and waits until the screen is another one.
fn press_and_wait(screen: &Screen, key: &str, before: &str) -> String {
    screen.press(&[key]);
    screen.wait_until("another screen", |text| text != before)
}

/// The first question, whichever it is.
fn wait_for_question(screen: &Screen) -> String {
    screen.wait("▸1 ")
}

/// Takes the first answer until a text is on the screen.
fn answer_until(screen: &Screen, wanted: &str) -> String {
    let mut text = wait_for_question(screen);
    for _ in 0..MAX_ANSWERS {
        if text.contains(wanted) {
            return text;
        }
        text = press_and_wait(screen, "1", &text);
        text = screen.wait_until("a question", |now| now.contains("▸1 ") || now == text);
    }
    panic!("`{wanted}` never came:\n{text}");
}

#[test]
fn a_whole_game_is_played_by_keys_and_is_recorded() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let screen = Screen::start(&world, (80, 24), &["mtg", "play", "--seed", "3"]);
    let mut text = wait_for_question(&screen);
    screen.keep("board-start");
    let began = Instant::now();
    let mut answers = 0;
    while !text.contains("The game is over") {
        // The second answer does something where there is one; the first is to pass.
        let key = if panel(&text).contains("▸1 pass") && panel(&text).contains(" 2 ") { "2" } else { "1" };
        let key = if panel(&text).contains("▶") { "End" } else { key };
        text = press_and_wait(&screen, key, &text);
        if key == "End" {
            text = press_and_wait(&screen, "Enter", &text);
        }
        if answers == 20 {
            screen.keep("board-middle");
        }
        answers += 1;
        assert!(answers < MAX_ANSWERS, "{answers} answers in {:?}:\n{text}", began.elapsed());
    }
    screen.keep("board-end");
    screen.press(&["q"]);
    assert_eq!(screen.ended(), "0");
    let list = world.person(["mtg", "play", "--list"]).run().exits(0);
    assert!(list.text().contains("game_"), "{}", list.text());
}

#[test]
fn a_game_that_is_left_resumes_at_the_same_question_and_any_size_fits() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let screen = Screen::start(&world, (120, 40), &["mtg", "play", "--seed", "3", "--training"]);
    let text = answer_until(&screen, "What do you do?");
    screen.resize(80, 24);
    screen.wait_until("a smaller board", |now| *now != text && now.contains("hand"));
    screen.resize(30, 10);
    screen.wait("too small");
    screen.resize(100, 30);
    let question = screen.wait("What do you do?");
    screen.press(&["?"]);
    screen.wait("Signs of cards");
    screen.press(&["Escape"]);
    screen.wait_until("the help is closed", |text| !text.contains("Signs of cards"));
    screen.press(&["q"]);
    assert_eq!(screen.ended(), "0");
    let again = Screen::start(&world, (100, 30), &["mtg", "play", "--resume"]);
    let resumed = again.wait("What do you do?");
    let asked = |text: &str| text.lines().find(|line| line.contains("What do you do?")).map(str::to_string);
    assert_eq!(asked(&resumed), asked(&question));
    again.press(&["c"]);
    again.wait("You lose the game if you concede.");
    again.press(&["y"]);
    again.wait("You lose.");
    again.press(&["q"]);
    assert_eq!(again.ended(), "0");
}

#[test]
fn a_click_plays_a_card() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let screen = Screen::start(&world, (80, 24), &["mtg", "play", "--seed", "3"]);
    let text = answer_until(&screen, "[*Forest");
    let (row, line) = text.lines().enumerate().find(|(_, line)| line.contains("[*Forest")).unwrap();
    let column = line.split("[*Forest").next().unwrap().chars().count();
    // The terminal counts from one.
    screen.write(&format!("\u{1b}[<0;{};{}M\u{1b}[<0;{};{}m", column + 3, row + 1, column + 3, row + 1));
    screen.wait_until("the land is on the battlefield", |text| {
        text.lines().take(row).any(|line| line.contains("[Forest"))
    });
    screen.keep("board-clicked");
}

#[test]
fn without_colours_everything_is_there() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let screen = Screen::start_with(&world, (80, 24), &["mtg", "play", "--seed", "3"], &[("NO_COLOR", "1")]);
    wait_for_question(&screen);
    screen.press(&["q"]);
    assert_eq!(screen.ended(), "0");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    for colour in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[38;5;"] {
        assert!(!raw.contains(colour), "{colour:?}");
    }
}
