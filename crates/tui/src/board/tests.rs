//! Real games at the board: what the screen looks like, and what keys and clicks lead to.

use super::app::{BoardApp, Hit, Intent};
use super::form::{Form, FormStep};
use super::overlay::Overlay;
use super::{keys, view};
use crate::theme::Theme;
use crossterm::event::{
    Event as Input, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use marvin_table::{
    AnswerForm, BlockerOption, ChoiceOption, CompactAnswer, DecisionKind, GameSetup, OpponentKind, PlayerId,
    Question, Snapshot, Step, Table, TableContext, YieldUntil,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tempfile::TempDir;

const SEAT: PlayerId = PlayerId(0);
/// Answers after which a game counts as endless.
const MAX_ANSWERS: usize = 3_000;

/// A game in a directory of its own.
struct Game {
    table: Table,
    app: BoardApp,
    _directory: TempDir,
}

impl Game {
    fn new(seed: u64) -> Self {
        Self::with(seed, |setup| setup)
    }

    fn with(seed: u64, change: impl FnOnce(GameSetup) -> GameSetup) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let context = TableContext::new(directory.path()).unwrap();
        let setup = GameSetup::against("boundless_elves", "dark_sacrifice", OpponentKind::Heuristic).unwrap();
        let table = Table::create(&context, change(GameSetup { seed, ..setup })).unwrap();
        let mut game = Game { table, app: BoardApp::new(Theme::plain()), _directory: directory };
        game.advance();
        game
    }

    /// Lets the other player answer until the person is asked, and shows the board.
    fn advance(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        while let Step::Think(thought) = self.table.next_step().unwrap() {
            self.table.finish_step(runtime.block_on(thought.run())).unwrap();
        }
        let since = self.app.log.len();
        self.app.show(Snapshot::new(&self.table, SEAT, since));
    }

    /// Carries out what a key led to, as the thread of the game does.
    fn carry_out(&mut self, intents: Vec<Intent>) {
        for intent in intents {
            match intent {
                Intent::Answer { number, answer } => match self.table.answer(SEAT, number, &answer) {
                    Ok(()) => self.advance(),
                    Err(error) => self.app.refuse(error.to_string()),
                },
                Intent::Yield(until) => {
                    self.table.yield_until(SEAT, until);
                    self.advance();
                }
                Intent::CardText(name) => {
                    if let Some(text) = self.table.card_text(&name) {
                        self.app.take_text(text);
                    }
                }
                Intent::Concede => {
                    self.table.concede(SEAT).unwrap();
                    self.advance();
                }
                Intent::Undo => {
                    self.table.undo(SEAT).unwrap();
                    self.advance();
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn screen(&mut self, width: u16, height: u16) -> String {
        screen(&mut self.app, width, height)
    }

    fn press(&mut self, code: KeyCode) {
        let intents = press(&mut self.app, code);
        self.carry_out(intents);
    }

    /// Answers one question by keys: the second answer where there is one, else the last.
    fn answer_by_keys(&mut self) {
        self.screen(80, 24);
        let form = self.app.form.clone().expect("a question is open");
        if form.is_single() {
            let second = form.shown().len() > 1 && form.pass().is_some();
            self.press(KeyCode::Char(if second { '2' } else { '1' }));
        } else {
            self.press(KeyCode::End);
            self.press(KeyCode::Enter);
        }
        if self.app.flash.is_some() {
            // So many have to be chosen: one more, until it is enough.
            for number in 1..=9 {
                let open = self.app.form.as_ref().map(|form| form.number);
                if open != Some(form.number) {
                    break;
                }
                self.press(KeyCode::Char(char::from_digit(number, 10).unwrap()));
                self.press(KeyCode::End);
                self.press(KeyCode::Enter);
            }
        }
    }
}

fn press(app: &mut BoardApp, code: KeyCode) -> Vec<Intent> {
    keys::input(app, &Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn click(app: &mut BoardApp, button: MouseButton, wanted: impl Fn(&Hit) -> bool) -> Vec<Intent> {
    let (place, _) = app.hits.iter().find(|(_, hit)| wanted(hit)).expect("it is on the screen").clone();
    let mouse = MouseEvent {
        kind: MouseEventKind::Down(button),
        column: place.x,
        row: place.y,
        modifiers: KeyModifiers::NONE,
    };
    keys::input(app, &Input::Mouse(mouse))
}

fn screen(app: &mut BoardApp, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(app, frame)).unwrap();
    let rows: Vec<String> = terminal
        .backend()
        .to_string()
        .lines()
        .map(|row| row.trim_matches('"').trim_end().to_string())
        .collect();
    rows.join("\n")
}

fn option(id: &str, label: &str) -> ChoiceOption {
    ChoiceOption { id: id.into(), label: label.into(), cards: vec![id.into()], targets: Vec::new() }
}

fn ask(form: AnswerForm) -> Form {
    Form::new(&Question {
        number: 7,
        seat: SEAT,
        kind: DecisionKind::Choose,
        sentence: "What?".into(),
        source: None,
        form,
    })
}

/// The middle of a game: both sides have creatures.
fn middle() -> Game {
    let mut game = Game::new(3);
    for _ in 0..MAX_ANSWERS {
        let snapshot = game.app.snapshot.as_ref().unwrap();
        let board = &snapshot.board;
        let creatures =
            |side: &marvin_table::BoardSide| side.battlefield.iter().filter(|one| one.is_creature).count();
        if creatures(&board.you) >= 3 && creatures(&board.opponent) >= 2 {
            return game;
        }
        assert!(board.outcome.is_none(), "the game ended before both had creatures");
        game.answer_by_keys();
    }
    panic!("the game did not get there");
}

#[test]
fn the_board_fits_80_by_24() {
    let mut game = middle();
    let text = game.screen(80, 24);
    assert!(text.lines().count() == 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["Turn ", "opponent (heuristic): life", "you: life", " hand ", "[", "▸", "│ ", "p pass"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let board = &game.app.snapshot.as_ref().unwrap().board;
    for card in &board.hand {
        let name: String = card.name.chars().take(16).collect();
        assert!(text.contains(&name), "{name}:\n{text}");
    }
}

#[test]
fn a_wide_board_has_stack_card_and_log_at_the_right() {
    let mut game = middle();
    game.screen(120, 40);
    for _ in 0..20 {
        game.press(KeyCode::Tab);
        if game.app.cursor.is_some() && game.app.card_in_focus().is_some() {
            break;
        }
    }
    let text = game.screen(120, 40);
    for part in ["Stack: empty", "Log (l shows all)"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let name = game.app.card_in_focus().expect("the cursor is on a card");
    let printed = &game.app.texts.get(&name).expect("its text was asked for").type_line;
    assert!(text.contains(printed.as_str()), "{printed}:\n{text}");
}

#[test]
fn any_size_is_drawn() {
    let mut game = middle();
    for (width, height) in [(1, 1), (39, 16), (40, 16), (60, 18), (104, 20), (200, 60), (80, 16)] {
        let text = game.screen(width, height);
        assert_eq!(text.contains("too small"), width < 40 && width > 20, "{width}x{height}:\n{text}");
    }
}

#[test]
fn a_whole_game_is_played_by_keys_alone() {
    let mut game = Game::new(11);
    let mut answers = 0;
    while !game.app.is_over() {
        game.answer_by_keys();
        answers += 1;
        assert!(answers < MAX_ANSWERS, "the game does not end");
    }
    assert!(answers > 10, "{answers}");
    let text = game.screen(80, 24);
    assert!(text.contains("The game is over") && text.contains("q  leave"), "{text}");
    assert_eq!(press(&mut game.app, KeyCode::Char('q')), [Intent::Leave]);
}

#[test]
fn a_whole_game_is_played_by_clicks_alone() {
    let mut game = Game::new(5);
    let mut answers = 0;
    while !game.app.is_over() {
        game.screen(100, 30);
        let form = game.app.form.clone().expect("a question is open");
        let candidates: Vec<String> = form.candidates().iter().map(ToString::to_string).collect();
        let usable = |hit: &Hit| matches!(hit, Hit::Card { id, .. } if candidates.contains(id));
        let card = game.app.hits.iter().any(|(_, hit)| usable(hit));
        let rows: Vec<usize> = form.shown().iter().map(|row| row.position).collect();
        let intents = if card && form.card.is_none() && form.is_single() {
            click(&mut game.app, MouseButton::Left, usable)
        } else {
            let last = if form.is_single() { rows.first() } else { rows.last() }.copied().unwrap();
            // A long list is scrolled to the row that is clicked.
            game.app.form.as_mut().unwrap().go_to_end(!form.is_single());
            game.screen(100, 30);
            click(&mut game.app, MouseButton::Left, |hit| *hit == Hit::Row(last))
        };
        game.carry_out(intents);
        if game.app.flash.is_some() && !form.is_single() {
            let row = rows
                .iter()
                .find(|row| !form.shown().iter().any(|one| one.position == **row && one.is_chosen));
            game.app.form.as_mut().unwrap().choose(*row.unwrap());
        }
        answers += 1;
        assert!(answers < MAX_ANSWERS, "the game does not end:\n{}", game.screen(100, 30));
    }
    assert!(answers > 10, "{answers}");
}

#[test]
fn keys_become_intents() {
    let mut game = middle();
    let app = &mut game.app;
    screen(app, 80, 24);
    let number = app.form.as_ref().unwrap().number;
    let pass = Intent::Answer { number, answer: CompactAnswer::Action("a0".into()) };
    assert_eq!(press(app, KeyCode::Char('p')), [pass]);
    assert!(press(app, KeyCode::Char('p')).is_empty(), "an answer is sent once");
    app.refuse("not now".into());
    assert!(screen(app, 80, 24).contains("not now"), "the reason of a refusal is shown");
    for (key, until) in
        [('e', YieldUntil::EndOfTurn), ('n', YieldUntil::OwnTurn), ('r', YieldUntil::EmptyStack)]
    {
        app.is_sent = false;
        assert_eq!(press(app, KeyCode::Char(key)), [Intent::Yield(until)]);
    }
    app.is_sent = false;
    assert_eq!(press(app, KeyCode::Char('h')), [Intent::Hint(1)]);
    assert_eq!(press(app, KeyCode::Char('h')), [Intent::Hint(2)]);
    press(app, KeyCode::Char('c'));
    assert_eq!(app.overlay, Some(Overlay::Concede));
    assert!(press(app, KeyCode::Char('n')).is_empty(), "a concession is confirmed");
    press(app, KeyCode::Char('c'));
    assert_eq!(press(app, KeyCode::Char('y')), [Intent::Concede]);
    assert!(press(app, KeyCode::Char('u')).is_empty() && app.flash.as_ref().unwrap().contains("training"));
    press(app, KeyCode::Char('d'));
    for letter in "why?".chars() {
        press(app, KeyCode::Char(letter));
    }
    assert_eq!(press(app, KeyCode::Enter), [Intent::Discuss("why?".into())]);
    press(app, KeyCode::Char('s'));
    press(app, KeyCode::Char(' '));
    let stops = press(app, KeyCode::Enter);
    assert!(
        matches!(stops.as_slice(), [Intent::Stops(stops)] if stops.own_turn.contains(&marvin_table::TurnStep::Upkeep))
    );
    assert_eq!(press(app, KeyCode::Char('q')), [Intent::Leave]);
}

#[test]
fn overlays_open_and_close() {
    let mut game = middle();
    for (key, text) in [('?', "Signs of cards"), ('l', "Log"), ('b', "You: battlefield"), ('s', "opponent's")]
    {
        game.press(KeyCode::Char(key));
        assert!(game.screen(80, 40).contains(text), "{key}:\n{}", game.screen(80, 40));
        game.press(KeyCode::Esc);
        assert_eq!(game.app.overlay, None);
    }
}

#[test]
fn the_text_of_a_card_is_shown_by_key_and_by_right_click() {
    let mut game = middle();
    game.screen(80, 24);
    let wanted = |hit: &Hit| matches!(hit, Hit::Card { name, .. } if name == "Forest");
    let intents = click(&mut game.app, MouseButton::Right, wanted);
    game.carry_out(intents);
    assert!(game.screen(80, 24).contains("Basic Land"), "{}", game.screen(80, 24));
    game.press(KeyCode::Esc);
    game.press(KeyCode::Char('t'));
    assert!(game.screen(80, 24).contains("Basic Land"));
}

#[test]
fn answers_are_taken_back_in_training() {
    let mut game = Game::with(3, |setup| GameSetup { training: true, ..setup });
    let before = game.screen(80, 24);
    game.answer_by_keys();
    game.answer_by_keys();
    game.press(KeyCode::Char('u'));
    game.press(KeyCode::Char('u'));
    assert_eq!(game.screen(80, 24), before);
}

#[test]
fn creatures_attack_and_block_by_rows_and_by_pointing() {
    let attack = AnswerForm::Attackers {
        attackers: vec![option("c1", "Elf 1/1"), option("c2", "Bear 2/2")],
        defenders: vec![option("p1", "opponent"), option("c9", "Walker")],
        required: vec![("c2".into(), "p1".into())],
    };
    let mut form = ask(attack);
    let pairs = |list: &[(&str, &str)]| list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    assert_eq!(form.choose(2), FormStep::Answer(CompactAnswer::Attackers(pairs(&[("c2", "p1")]))));
    // With two things to attack, the creature is pointed at and then what it attacks.
    assert_eq!(form.point("c1"), FormStep::Changed);
    assert_eq!(form.point("c9"), FormStep::Changed);
    assert_eq!(form.point("c7"), FormStep::Unrelated);
    assert_eq!(form.marks(), [("c1", "»"), ("c2", "»")]);
    assert_eq!(
        form.choose(2),
        FormStep::Answer(CompactAnswer::Attackers(pairs(&[("c1", "c9"), ("c2", "p1")])))
    );
    let blocker = |id: &str, able: &[&str]| BlockerOption {
        id: id.into(),
        label: id.into(),
        can_block: able.iter().map(ToString::to_string).collect(),
    };
    let mut form = ask(AnswerForm::Blockers {
        blockers: vec![blocker("c1", &["c8"]), blocker("c2", &["c8", "c9"])],
        attackers: vec![option("c8", "Ogre 3/3"), option("c9", "Rat 1/1")],
        required: Vec::new(),
    });
    form.point("c1");
    form.point("c2");
    assert_eq!(form.candidates(), ["c1", "c2", "c8", "c9"]);
    form.point("c9");
    assert_eq!(
        form.choose(2),
        FormStep::Answer(CompactAnswer::Blockers(pairs(&[("c1", "c8"), ("c2", "c9")])))
    );
    form.point("c1");
    assert_eq!(form.choose(2), FormStep::Answer(CompactAnswer::Blockers(pairs(&[("c2", "c9")]))));
}

#[test]
fn a_creature_that_blocks_two_attackers_has_two_rows() {
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
    };
    let blocker = |label: &str| BlockerOption {
        id: "c1".to_owned(),
        label: label.to_owned(),
        can_block: vec!["c8".to_owned(), "c9".to_owned()],
    };
    let mut form = ask(AnswerForm::Blockers {
        blockers: vec![blocker("Guard"), blocker("Guard, block 2")],
        attackers: vec![option("c8", "Bear"), option("c9", "Giant")],
        required: pairs(&[("c1", "c8")]),
    });
    assert_eq!(form.choose(2), FormStep::Answer(CompactAnswer::Blockers(pairs(&[("c1", "c8")]))));
    form.point("c1");
    form.point("c9");
    assert_eq!(
        form.choose(2),
        FormStep::Answer(CompactAnswer::Blockers(pairs(&[("c1", "c8"), ("c1", "c9")])))
    );
    form.point("c1");
    assert_eq!(
        form.choose(2),
        FormStep::Answer(CompactAnswer::Blockers(pairs(&[("c1", "c8")]))),
        "a third time takes the last block back"
    );
}

#[test]
fn damage_is_divided_with_the_keys_of_a_row() {
    let mut form = ask(AnswerForm::Amounts {
        options: vec![option("o0", "Elf"), option("o1", "you")],
        total: 5,
        minimums: vec![2, 0],
        proposal: vec![5, 0],
    });
    assert_eq!(form.activate(), FormStep::Answer(CompactAnswer::Amounts(vec![5, 0])), "a proposal");
    form.go_to_end(false);
    for _ in 0..9 {
        form.change(-1);
    }
    form.move_cursor(true);
    for _ in 0..9 {
        form.change(1);
    }
    form.go_to_end(true);
    assert_eq!(form.activate(), FormStep::Answer(CompactAnswer::Amounts(vec![2, 3])));
}

#[test]
fn an_order_is_the_order_of_choosing() {
    let options = vec![option("o0", "first"), option("o1", "second"), option("o2", "third")];
    let mut form = ask(AnswerForm::Options { options, min: 3, max: 3, ordered: true });
    for number in [3, 1, 2] {
        form.choose_number(number);
    }
    form.go_to_end(true);
    let wanted = ["o2", "o0", "o1"].map(String::from).to_vec();
    assert_eq!(form.activate(), FormStep::Answer(CompactAnswer::Options(wanted)));
}

#[test]
fn a_card_with_several_uses_asks_for_its_target() {
    let cast = |id: &str, target: &str| ChoiceOption {
        id: id.into(),
        label: format!("cast Growth on {target}"),
        cards: vec!["c1".into()],
        targets: vec![target.into()],
    };
    let pass = ChoiceOption { id: "a0".into(), label: "pass".into(), cards: vec![], targets: vec![] };
    let mut form = ask(AnswerForm::Action { options: vec![pass, cast("a1", "c8"), cast("a2", "c9")] });
    assert_eq!(form.candidates(), ["c1", "c1"]);
    assert_eq!(form.point("c8"), FormStep::Unrelated, "a target answers nothing before its spell");
    assert_eq!(form.point("c1"), FormStep::Changed);
    assert_eq!(form.candidates(), ["c8", "c9"]);
    assert_eq!(form.clone().point("c9"), FormStep::Answer(CompactAnswer::Action("a2".into())));
    assert!(form.widen() && form.shown().len() == 3);
}
