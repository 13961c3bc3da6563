//! State of the board on the screen, and what a person wants from the table.

use super::form::{Form, FormStep};
use super::overlay::Overlay;
use crate::editor::Editor;
use crate::theme::Theme;
use marvin_table::{CardText, CompactAnswer, LogLine, Snapshot, Stops, YieldUntil};
use ratatui::layout::Rect;
use std::collections::BTreeMap;

/// Request to the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Answer { number: u32, answer: CompactAnswer },
    Yield(YieldUntil),
    CardText(String),
    Hint(u8),
    WhyNot(String),
    Discuss(String),
    Concede,
    Undo,
    Stops(Stops),
    Redraw,
    Leave,
}

/// Place on the screen that can be clicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hit {
    Card {
        id: String,
        name: String,
    },
    Row(usize),
    /// A key that the footer or an overlay names.
    Key(char),
}

/// What is typed at the bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prompt {
    Discuss,
    WhyNot,
}

/// Highest level of hints.
pub(super) const MAX_HINT_LEVEL: u8 = 3;

pub(super) struct BoardApp {
    pub(super) theme: Theme,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) form: Option<Form>,
    pub(super) log: Vec<LogLine>,
    /// Card under the cursor of the board.
    pub(super) cursor: Option<String>,
    pub(super) overlay: Option<Overlay>,
    pub(super) prompt: Option<Prompt>,
    pub(super) editor: Editor,
    /// Shown once, until the next key.
    pub(super) flash: Option<String>,
    pub(super) texts: BTreeMap<String, CardText>,
    /// Card whose text is shown as soon as it is known.
    pub(super) wanted_text: Option<String>,
    pub(super) hits: Vec<(Rect, Hit)>,
    /// Level of the last hint to the open question.
    hint: (u32, u8),
    /// Whether an answer is on its way.
    pub(super) is_sent: bool,
    pub(super) is_leaving: bool,
}

impl BoardApp {
    pub(super) fn new(theme: Theme) -> Self {
        BoardApp {
            theme,
            snapshot: None,
            form: None,
            log: Vec::new(),
            cursor: None,
            overlay: None,
            prompt: None,
            editor: Editor::default(),
            flash: None,
            texts: BTreeMap::new(),
            wanted_text: None,
            hits: Vec::new(),
            hint: (0, 0),
            is_sent: false,
            is_leaving: false,
        }
    }

    /// Takes a new state of the game. What is being put together stays while the question is the same.
    pub(super) fn show(&mut self, mut snapshot: Snapshot) {
        self.is_sent = false;
        let lines = std::mem::take(&mut snapshot.log);
        let first = lines.first().map_or(snapshot.log_length, |line| line.number);
        self.log.truncate(first);
        self.log.extend(lines);
        let number = snapshot.question.as_ref().map(|question| question.number);
        if self.form.as_ref().map(|form| form.number) != number {
            self.form = snapshot.question.as_ref().map(Form::new);
            self.cursor = None;
        }
        let was_over = self.is_over();
        self.snapshot = Some(snapshot);
        if self.is_over() && !was_over {
            self.overlay = Some(Overlay::Result);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.board.outcome.is_some())
    }

    /// A refused answer: the same question again, with the reason.
    pub(super) fn refuse(&mut self, reason: String) {
        self.is_sent = false;
        self.flash = Some(reason);
    }

    /// Sends an answer to the open question, once.
    pub(super) fn send(&mut self, answer: CompactAnswer) -> Vec<Intent> {
        let Some(form) = &self.form else { return Vec::new() };
        if self.is_sent {
            return Vec::new();
        }
        self.is_sent = true;
        vec![Intent::Answer { number: form.number, answer }]
    }

    /// Follows a step of the form.
    pub(super) fn follow(&mut self, step: FormStep) -> Vec<Intent> {
        match step {
            FormStep::Changed => Vec::new(),
            FormStep::Answer(answer) => self.send(answer),
            FormStep::Unrelated => {
                self.flash = Some("this card answers nothing now: w asks why, t shows its text".to_owned());
                Vec::new()
            }
        }
    }

    pub(super) fn with_form(&mut self, change: impl FnOnce(&mut Form) -> FormStep) -> Vec<Intent> {
        let Some(form) = &mut self.form else {
            self.flash = Some("nothing is asked now".to_owned());
            return Vec::new();
        };
        let step = change(form);
        self.follow(step)
    }

    /// Points at a card of the board.
    pub(super) fn point(&mut self, id: &str) -> Vec<Intent> {
        self.cursor = Some(id.to_owned());
        self.with_form(|form| form.point(id))
    }

    /// Passes, if that is a possible answer.
    pub(super) fn pass(&mut self) -> Vec<Intent> {
        match self.form.as_ref().and_then(Form::pass) {
            Some(answer) => self.send(answer),
            None => {
                self.flash = Some("this question cannot be passed: choose an answer".to_owned());
                Vec::new()
            }
        }
    }

    /// Passes now, and by itself until something happens.
    pub(super) fn yield_until(&mut self, until: YieldUntil) -> Vec<Intent> {
        if self.form.as_ref().and_then(Form::pass).is_none() {
            return self.pass();
        }
        if self.is_sent {
            return Vec::new();
        }
        self.is_sent = true;
        vec![Intent::Yield(until)]
    }

    /// The next level of hints to the open question.
    pub(super) fn hint(&mut self) -> Vec<Intent> {
        let Some(number) = self.form.as_ref().map(|form| form.number) else {
            self.flash = Some("nothing is asked now".to_owned());
            return Vec::new();
        };
        let level = match self.hint {
            (known, level) if known == number => (level + 1).min(MAX_HINT_LEVEL),
            _ => 1,
        };
        self.hint = (number, level);
        self.flash = Some(format!("looking for a hint, level {level} of {MAX_HINT_LEVEL} …"));
        vec![Intent::Hint(level)]
    }

    /// Cards of the board in the order of the screen.
    fn card_ids(&self) -> Vec<String> {
        let card = |(_, hit): &(Rect, Hit)| match hit {
            Hit::Card { id, .. } => Some(id.clone()),
            _ => None,
        };
        let mut places: Vec<&(Rect, Hit)> = self.hits.iter().collect();
        places.sort_by_key(|(place, _)| (place.y, place.x));
        places.into_iter().filter_map(card).collect()
    }

    /// Moves the cursor of the board to the next card, or the one before.
    pub(super) fn move_cursor(&mut self, forward: bool) {
        let ids = self.card_ids();
        let now = self.cursor.as_ref().and_then(|cursor| ids.iter().position(|id| id == cursor));
        let count = ids.len();
        let next = match (now, forward) {
            (None, true) => ids.iter().position(|id| self.is_candidate(id)).unwrap_or(0),
            (None, false) => count.saturating_sub(1),
            (Some(at), true) => (at + 1) % count.max(1),
            (Some(at), false) => (at + count.saturating_sub(1)) % count.max(1),
        };
        self.cursor = ids.get(next).cloned();
    }

    fn is_candidate(&self, id: &str) -> bool {
        self.form.as_ref().is_some_and(|form| form.candidates().contains(&id))
    }

    /// Name of the card that keys are about: under the cursor of the board, else of the form.
    pub(super) fn card_in_focus(&self) -> Option<String> {
        let id = match &self.cursor {
            Some(id) => id.clone(),
            None => self.form.as_ref()?.current_cards().first()?.to_string(),
        };
        self.name_of(&id)
    }

    /// Name of a card that is on the board, in the hand, on the stack or in a public zone.
    pub(super) fn name_of(&self, id: &str) -> Option<String> {
        let board = &self.snapshot.as_ref()?.board;
        let sides = [&board.you, &board.opponent];
        let permanents = sides.iter().flat_map(|side| &side.battlefield).map(|one| (&one.id, &one.name));
        let zones = sides.iter().flat_map(|side| side.graveyard.iter().chain(&side.exile));
        let cards = zones.chain(&board.hand).map(|card| (&card.id, &card.name));
        let stack = board.stack.iter().map(|item| (&item.id, &item.source));
        permanents.chain(cards).chain(stack).find(|(known, _)| *known == id).map(|(_, name)| name.clone())
    }

    /// Asks for the text of the card in focus, unless it is known.
    pub(super) fn ask_text(&mut self) -> Vec<Intent> {
        match self.card_in_focus() {
            Some(name) if !self.texts.contains_key(&name) => vec![Intent::CardText(name)],
            _ => Vec::new(),
        }
    }

    /// Takes the text of a card.
    pub(super) fn take_text(&mut self, text: CardText) {
        if self.wanted_text.take_if(|name| *name == text.name).is_some() {
            self.overlay = Some(Overlay::Text(Box::new(text.clone())));
        }
        self.texts.insert(text.name.clone(), text);
    }
}
