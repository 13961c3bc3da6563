//! Key bindings. The list that a person sees is here too, so that the two stay the same.

use crate::app::{App, Effect, Search};
use crate::panel::{Panel, panel_key};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use marvin_agent::chat::{Answer, Chat};

pub(crate) const KEYS: [(&str, &str); 24] = [
    ("Enter", "send; while a turn runs, one further prompt is queued"),
    ("Alt+Enter, Ctrl+J", "insert a line break"),
    ("Up, Down", "input history"),
    ("Ctrl+R", "search the input history"),
    ("Tab, Shift+Tab", "complete a command, a file or a tool"),
    ("PgUp, PgDn", "scroll by a page"),
    ("Shift+Up, Shift+Down", "scroll by a line; so does the mouse wheel"),
    ("Ctrl+Home, Ctrl+End", "to the beginning, to the end"),
    ("Ctrl+A, Home", "to the beginning of the line"),
    ("Ctrl+E, End", "to its end"),
    ("Alt+B, Alt+F", "one word back or forward; so do Ctrl+Left and Ctrl+Right"),
    ("Ctrl+U", "clear the input"),
    ("Ctrl+K", "remove to the end of the line"),
    ("Ctrl+W", "remove the word before the cursor"),
    ("Ctrl+O", "open or fold tool results"),
    ("Ctrl+Y", "copy the last answer, byte for byte (terminals with OSC 52)"),
    ("Ctrl+L", "redraw the screen"),
    ("Esc, Ctrl+C", "interrupt the running turn; close a panel"),
    ("F1, ?", "this help (? while nothing is typed)"),
    ("F2", "what waits for you: commands, memory, servitors; y n e s"),
    ("F3", "servitors and their commitments"),
    ("F4", "the latest runs"),
    ("y, n, e", "answer the question above the input, while nothing is typed"),
    ("Ctrl+D, Ctrl+Q", "leave"),
];

/// Lines that the wheel scrolls.
const WHEEL: usize = 3;

/// Applies an input.
pub(crate) fn input(app: &mut App, input: &Input, chat: Option<&Chat>) -> Vec<Effect> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => key_pressed(app, *key, chat),
        Input::Paste(text) => {
            app.choice = None;
            if app.panel.is_none() {
                app.editor.insert(text);
            }
            Vec::new()
        }
        Input::Mouse(mouse) => {
            match mouse.kind {
                MouseEventKind::ScrollUp => scroll(app, WHEEL, true),
                MouseEventKind::ScrollDown => scroll(app, WHEEL, false),
                _ => {}
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn scroll(app: &mut App, lines: usize, up: bool) {
    if let Some(panel) = &mut app.panel {
        panel.scroll(lines, up);
        return;
    }
    let (width, height) = app.size;
    let theme = app.theme.clone();
    if up {
        app.transcript.up(lines, width, height, &theme);
    } else {
        app.transcript.down(lines, width, &theme);
    }
}

fn key_pressed(app: &mut App, key: KeyEvent, chat: Option<&Chat>) -> Vec<Effect> {
    app.flash = None;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    // Leaving works everywhere.
    match key.code {
        KeyCode::Char('q') if control => return vec![Effect::Quit],
        KeyCode::Char('d') if control && app.editor.is_empty() => return vec![Effect::Quit],
        KeyCode::Char('c') if control => {
            if app.panel.take().is_some() || app.search.take().is_some() || app.answering.take().is_some() {
                return Vec::new();
            }
            return app.interrupt();
        }
        KeyCode::Char('l') if control => return vec![Effect::Look("screen")],
        _ => {}
    }
    if app.panel.is_some() {
        return panel_key(app, key);
    }
    if app.search.is_some() && searching(app, key, control) {
        return Vec::new();
    }
    if !matches!(key.code, KeyCode::Tab | KeyCode::BackTab)
        && app.choice.take().is_some()
        && key.code == KeyCode::Esc
    {
        return Vec::new();
    }
    if !control && !alt && app.may_answer() {
        let id = app.question().map(|approval| approval.id.clone());
        match (key.code, id) {
            (KeyCode::Char('y'), Some(id)) => return vec![Effect::Answer(id, Answer::Yes)],
            (KeyCode::Char('n'), Some(id)) => return vec![Effect::Answer(id, Answer::No)],
            (KeyCode::Char('e'), Some(id)) => {
                app.answering = Some(id);
                return Vec::new();
            }
            _ => {}
        }
    }
    prompt_key(app, key, chat)
}

/// Applies a key to the input and the conversation.
fn prompt_key(app: &mut App, key: KeyEvent, chat: Option<&Chat>) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Enter if alt || shift => app.editor.insert("\n"),
        KeyCode::Char('j') if control => app.editor.insert("\n"),
        KeyCode::Enter => return app.send(),
        KeyCode::Up if shift => scroll(app, 1, true),
        KeyCode::Down if shift => scroll(app, 1, false),
        KeyCode::Up => app.up(),
        KeyCode::Down => app.down(),
        KeyCode::PageUp => scroll(app, app.size.1.saturating_sub(2).max(1), true),
        KeyCode::PageDown => scroll(app, app.size.1.saturating_sub(2).max(1), false),
        KeyCode::Home if control => {
            let ((width, height), theme) = (app.size, app.theme.clone());
            app.transcript.go_to_start(width, height, &theme);
        }
        KeyCode::End if control => app.transcript.go_to_end(),
        KeyCode::Home => app.editor.home(),
        KeyCode::End => app.editor.end(),
        KeyCode::Char('a') if control => app.editor.home(),
        KeyCode::Char('e') if control => app.editor.end(),
        KeyCode::Char('u') if control => {
            app.editor.take();
        }
        KeyCode::Char('k') if control => app.editor.kill_to_end(),
        KeyCode::Char('w') if control => app.editor.delete_word(),
        KeyCode::Char('b') if control => app.editor.left(),
        KeyCode::Char('f') if control => app.editor.right(),
        KeyCode::Char('d') if control => app.editor.delete(),
        KeyCode::Char('o') if control => app.transcript.fold(),
        KeyCode::Char('y') if control => return app.last_answer().map(Effect::Copy).into_iter().collect(),
        KeyCode::Char('r') if control => app.search = Some(Search { at: usize::MAX, ..Search::default() }),
        KeyCode::Left if control || alt => app.editor.word_left(),
        KeyCode::Right if control || alt => app.editor.word_right(),
        KeyCode::Char('b') if alt => app.editor.word_left(),
        KeyCode::Char('f') if alt => app.editor.word_right(),
        KeyCode::Left => app.editor.left(),
        KeyCode::Right => app.editor.right(),
        KeyCode::Backspace if alt || control => app.editor.delete_word(),
        KeyCode::Backspace => app.editor.backspace(),
        KeyCode::Delete => app.editor.delete(),
        KeyCode::Tab | KeyCode::BackTab => {
            if app.choice.is_some() {
                app.choose(key.code == KeyCode::BackTab);
            } else if let Some(chat) = chat {
                let completion = chat.complete(app.editor.text(), app.editor.cursor());
                app.complete(completion);
            }
        }
        KeyCode::Esc => {
            if app.answering.take().is_some() {
                app.editor.take();
            } else if app.busy() {
                return app.interrupt();
            }
        }
        KeyCode::F(1) => app.panel = Some(Panel::help()),
        KeyCode::Char('?') if app.editor.is_empty() => app.panel = Some(Panel::help()),
        KeyCode::F(2) => return vec![Effect::Look("memory")],
        KeyCode::F(3) => return vec![Effect::Look("servitors")],
        KeyCode::F(4) => return vec![Effect::Look("runs")],
        KeyCode::Char(char) if !control && !alt => app.editor.insert(&char.to_string()),
        _ => {}
    }
    Vec::new()
}

/// A key while something is looked for; false when the search is over and the key means what it always does.
fn searching(app: &mut App, key: KeyEvent, control: bool) -> bool {
    let below = app.search.as_ref().map_or(0, |search| search.at);
    match key.code {
        KeyCode::Char('r') if control => app.look_up(below),
        KeyCode::Char(char) if !control => {
            if let Some(search) = &mut app.search {
                search.words.push(char);
            }
            app.look_up(usize::MAX);
        }
        KeyCode::Backspace => {
            if let Some(search) = &mut app.search {
                search.words.pop();
            }
            app.look_up(usize::MAX);
        }
        KeyCode::Esc => {
            app.search = None;
            app.editor.take();
        }
        _ => {
            app.search = None;
            return false;
        }
    }
    true
}
