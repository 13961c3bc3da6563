//! Keys and clicks on the board, as intents for the table.

use super::app::{BoardApp, Hit, Intent, Prompt};
use super::form::{Form, FormStep};
use super::overlay::{self, Overlay};
use crossterm::event::{
    Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use marvin_table::YieldUntil;
use ratatui::layout::Position;

/// Lines that the wheel scrolls.
const WHEEL_LINES: usize = 3;

/// Applies an input.
pub(super) fn input(app: &mut BoardApp, input: &Input) -> Vec<Intent> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => press(app, *key),
        Input::Mouse(mouse) => click(app, mouse),
        Input::Paste(text) if app.prompt.is_some() => {
            app.editor.insert(text);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn press(app: &mut BoardApp, key: KeyEvent) -> Vec<Intent> {
    app.flash = None;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q' | 'd' | 'c') if control => return vec![Intent::Leave],
        KeyCode::Char('l') if control => return vec![Intent::Redraw],
        _ => {}
    }
    if let Some(prompt) = app.prompt {
        return type_key(app, prompt, key);
    }
    if app.overlay.is_some() {
        return overlay::press(app, key.code);
    }
    board_key(app, key.code)
}

/// Applies a key to the text that is typed.
fn type_key(app: &mut BoardApp, prompt: Prompt, key: KeyEvent) -> Vec<Intent> {
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Enter => {
            app.prompt = None;
            let text = app.editor.take();
            let text = text.trim();
            return match prompt {
                _ if text.is_empty() => Vec::new(),
                Prompt::Discuss => {
                    app.flash =
                        Some("the opponent reads your question; you can play on meanwhile".to_owned());
                    vec![Intent::Discuss(text.to_owned())]
                }
                Prompt::WhyNot => vec![Intent::WhyNot(text.to_owned())],
            };
        }
        KeyCode::Esc => {
            app.prompt = None;
            app.editor.take();
        }
        KeyCode::Char('u') if !plain => {
            app.editor.take();
        }
        KeyCode::Char(char) if plain => app.editor.insert(&char.to_string()),
        KeyCode::Backspace => app.editor.backspace(),
        KeyCode::Delete => app.editor.delete(),
        KeyCode::Left => app.editor.left(),
        KeyCode::Right => app.editor.right(),
        KeyCode::Home => app.editor.home(),
        KeyCode::End => app.editor.end(),
        _ => {}
    }
    Vec::new()
}

/// Applies a key to the board and the form.
fn board_key(app: &mut BoardApp, code: KeyCode) -> Vec<Intent> {
    let intents = match code {
        KeyCode::Up | KeyCode::Down => {
            app.cursor = None;
            app.with_form(|form| {
                form.move_cursor(code == KeyCode::Down);
                FormStep::Changed
            })
        }
        KeyCode::Home | KeyCode::End => {
            app.cursor = None;
            app.with_form(|form| {
                form.go_to_end(code == KeyCode::End);
                FormStep::Changed
            })
        }
        KeyCode::Left | KeyCode::Right => change(app, code == KeyCode::Right),
        KeyCode::Tab => {
            app.move_cursor(true);
            Vec::new()
        }
        KeyCode::BackTab => {
            app.move_cursor(false);
            Vec::new()
        }
        KeyCode::Enter | KeyCode::Char(' ') => match app.cursor.clone() {
            Some(id) => app.point(&id),
            None => app.with_form(Form::activate),
        },
        KeyCode::Esc => {
            let widened = app.form.as_mut().is_some_and(Form::widen);
            if !widened {
                app.cursor = None;
            }
            Vec::new()
        }
        KeyCode::Char(digit @ '1'..='9') => {
            let number = usize::try_from(u32::from(digit) - u32::from('0')).unwrap_or(0);
            app.with_form(|form| form.choose_number(number))
        }
        KeyCode::F(1) => command(app, '?'),
        KeyCode::Char(char) => command(app, char),
        _ => Vec::new(),
    };
    let text = app.ask_text();
    intents.into_iter().chain(text).collect()
}

/// Left and right: the row under the cursor where it has something to change, else the cards of the board.
fn change(app: &mut BoardApp, forward: bool) -> Vec<Intent> {
    match &mut app.form {
        Some(form) if app.cursor.is_none() && !form.is_single() => {
            form.change(if forward { 1 } else { -1 });
        }
        _ => app.move_cursor(forward),
    }
    Vec::new()
}

/// A letter, by key or by a click on the footer.
pub(super) fn command(app: &mut BoardApp, letter: char) -> Vec<Intent> {
    match letter {
        'p' => return app.pass(),
        'e' => return app.yield_until(YieldUntil::EndOfTurn),
        'n' => return app.yield_until(YieldUntil::OwnTurn),
        'r' => return app.yield_until(YieldUntil::EmptyStack),
        'h' => return app.hint(),
        '-' | '+' => {
            return app.with_form(|form| {
                form.change(if letter == '+' { 1 } else { -1 });
                FormStep::Changed
            });
        }
        't' => return show_text(app),
        'w' => match app.card_in_focus() {
            Some(name) => return vec![Intent::WhyNot(name)],
            None => app.prompt = Some(Prompt::WhyNot),
        },
        'd' => app.prompt = Some(Prompt::Discuss),
        'u' if app.snapshot.as_ref().is_some_and(|snapshot| snapshot.is_training) => {
            return vec![Intent::Undo];
        }
        'u' => app.flash = Some("answers are taken back in training games only: --training".to_owned()),
        'c' if app.is_over() => app.overlay = Some(Overlay::Result),
        'c' => app.overlay = Some(Overlay::Concede),
        'l' => app.overlay = Some(Overlay::Log { up: 0 }),
        'b' => app.overlay = Some(Overlay::Zones { scroll: 0 }),
        's' => {
            if let Some(snapshot) = &app.snapshot {
                app.overlay =
                    Some(Overlay::Stops { stops: snapshot.stops.clone(), at: 0, is_opponent: false });
            }
        }
        '?' => app.overlay = Some(Overlay::Help { scroll: 0 }),
        'q' => return vec![Intent::Leave],
        _ => {}
    }
    Vec::new()
}

/// Shows the text of the card in focus; it follows when the table has sent it.
fn show_text(app: &mut BoardApp) -> Vec<Intent> {
    let Some(name) = app.card_in_focus() else {
        app.flash = Some("put the cursor on a card first: Tab, or a click".to_owned());
        return Vec::new();
    };
    match app.texts.get(&name) {
        Some(text) => {
            app.overlay = Some(Overlay::Text(Box::new(text.clone())));
            Vec::new()
        }
        None => {
            app.wanted_text = Some(name.clone());
            vec![Intent::CardText(name)]
        }
    }
}

fn click(app: &mut BoardApp, mouse: &MouseEvent) -> Vec<Intent> {
    match mouse.kind {
        MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
            wheel(app, mouse.kind == MouseEventKind::ScrollUp);
            Vec::new()
        }
        MouseEventKind::Down(button) => {
            app.flash = None;
            let place = Position { x: mouse.column, y: mouse.row };
            let hit =
                app.hits.iter().rev().find(|(area, _)| area.contains(place)).map(|(_, hit)| hit.clone());
            click_hit(app, hit, button)
        }
        _ => Vec::new(),
    }
}

fn wheel(app: &mut BoardApp, up: bool) {
    match (&mut app.overlay, &mut app.form) {
        (Some(overlay), _) => overlay.scroll(WHEEL_LINES, up),
        (None, Some(form)) => form.move_cursor(!up),
        _ => {}
    }
}

fn click_hit(app: &mut BoardApp, hit: Option<Hit>, button: MouseButton) -> Vec<Intent> {
    if app.overlay.is_some() {
        return click_overlay(app, hit);
    }
    let intents = match (hit, button) {
        (Some(Hit::Card { id, .. }), MouseButton::Right) => {
            app.cursor = Some(id);
            return show_text(app);
        }
        (Some(Hit::Card { id, .. }), _) => app.point(&id),
        (Some(Hit::Row(position)), MouseButton::Left) => {
            app.cursor = None;
            app.with_form(|form| form.choose(position))
        }
        (Some(Hit::Key(letter)), MouseButton::Left) => command(app, letter),
        _ => Vec::new(),
    };
    let text = app.ask_text();
    intents.into_iter().chain(text).collect()
}

/// A click on an overlay; one beside its lines closes it.
fn click_overlay(app: &mut BoardApp, hit: Option<Hit>) -> Vec<Intent> {
    match (hit, &mut app.overlay) {
        (Some(Hit::Key(letter)), _) => overlay::press(app, KeyCode::Char(letter)),
        (Some(Hit::Row(row)), Some(Overlay::Stops { stops, at, is_opponent })) => {
            *at = row;
            overlay::turn_stop(stops, row, *is_opponent);
            Vec::new()
        }
        (None, Some(Overlay::Stops { .. })) => overlay::press(app, KeyCode::Enter),
        _ => overlay::press(app, KeyCode::Esc),
    }
}
