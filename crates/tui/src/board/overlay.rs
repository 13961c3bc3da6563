//! What is shown over the board: help, log, zones, card text, stops, hints, confirmations, the result.

use super::app::{BoardApp, Hit, Intent};
use super::chips::plain_cost;
use crate::text::{Kind, Layout, one_line};
use crate::theme::Theme;
use crossterm::event::KeyCode;
use marvin_table::{BoardCard, BoardSide, CardText, LogKind, Stops, TurnStep};
use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph};

/// Keys of the board, as the help shows them.
pub(super) const KEYS: [(&str, &str); 20] = [
    ("Up, Down, 1 to 9", "move through the answers, or take one by its number"),
    ("Enter, Space", "take the answer under the cursor, or turn it on or off"),
    ("Left, Right", "change what a creature attacks or blocks, or an amount"),
    ("Tab, Shift+Tab", "move over the cards of the board; Enter uses the card"),
    ("click", "use a card, choose a target or an answer; right click: its text"),
    ("p", "pass"),
    ("e", "pass until the end of the turn"),
    ("n", "pass until your next turn"),
    ("r", "pass until the stack is empty"),
    ("s", "stops: the steps in which you are asked"),
    ("t", "text of the card under the cursor"),
    ("h", "hint; again: a stronger one (3 levels)"),
    ("w", "why can't I use this card?"),
    ("d", "ask the opponent a question, without acting"),
    ("l", "log of the game"),
    ("b", "everything on the board, with graveyards and exile"),
    ("u", "take the last answer back (training games)"),
    ("c", "concede, after a confirmation"),
    ("Esc", "close what is open; show all answers again"),
    ("q, Ctrl+D", "leave; the game is kept: marvin mtg play --resume"),
];

/// Signs of cards, as the help shows them.
const SIGNS: [(&str, &str); 7] = [
    ("*", "can be used or chosen now"),
    ("T", "tapped"),
    ("~", "came under its controller's control this turn"),
    ("»", "attacks"),
    ("‖", "blocks"),
    ("-2", "has 2 damage"),
    ("→", "attached to"),
];

/// Steps in which a stop makes sense.
const STOP_STEPS: [(TurnStep, &str); 9] = [
    (TurnStep::Upkeep, "upkeep"),
    (TurnStep::Draw, "draw"),
    (TurnStep::Main1, "first main phase"),
    (TurnStep::BeginCombat, "beginning of combat"),
    (TurnStep::DeclareAttackers, "declare attackers"),
    (TurnStep::DeclareBlockers, "declare blockers"),
    (TurnStep::EndCombat, "end of combat"),
    (TurnStep::Main2, "second main phase"),
    (TurnStep::End, "end step"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overlay {
    Help {
        scroll: usize,
    },
    /// The log; the number of lines that it is scrolled up from its end.
    Log {
        up: usize,
    },
    Zones {
        scroll: usize,
    },
    Text(Box<CardText>),
    /// A hint, a reason, an answer of the opponent.
    Note {
        title: &'static str,
        text: String,
        scroll: usize,
    },
    Stops {
        stops: Stops,
        at: usize,
        is_opponent: bool,
    },
    Concede,
    Result,
}

impl Overlay {
    fn title(&self) -> &'static str {
        match self {
            Overlay::Help { .. } => " Keys ",
            Overlay::Log { .. } => " Log ",
            Overlay::Zones { .. } => " Board ",
            Overlay::Text(_) => " Card ",
            Overlay::Note { title, .. } => title,
            Overlay::Stops { .. } => " Stops ",
            Overlay::Concede => " Concede? ",
            Overlay::Result => " The game is over ",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Overlay::Help { .. } | Overlay::Zones { .. } | Overlay::Log { .. } => " PgUp PgDn  Esc close ",
            Overlay::Text(_) | Overlay::Note { .. } => " Esc close ",
            Overlay::Stops { .. } => " Up Down Left Right  Space on or off  Enter keep  Esc close ",
            Overlay::Concede => " y concede  n play on ",
            Overlay::Result => " l log  b board  q leave ",
        }
    }

    /// Scrolls; what has no more lines stays where it is.
    pub(super) fn scroll(&mut self, lines: usize, up: bool) {
        match self {
            Overlay::Help { scroll } | Overlay::Zones { scroll } | Overlay::Note { scroll, .. } => {
                *scroll = if up { scroll.saturating_sub(lines) } else { scroll.saturating_add(lines) };
            }
            Overlay::Log { up: above } => {
                *above = if up { above.saturating_add(lines) } else { above.saturating_sub(lines) };
            }
            _ => {}
        }
    }
}

/// Applies a key to the open overlay.
pub(super) fn press(app: &mut BoardApp, code: KeyCode) -> Vec<Intent> {
    let Some(overlay) = &mut app.overlay else { return Vec::new() };
    match (overlay, code) {
        (Overlay::Concede, KeyCode::Char('y')) => {
            app.overlay = None;
            return vec![Intent::Concede];
        }
        (Overlay::Concede, KeyCode::Char('n')) => app.overlay = None,
        (Overlay::Result, KeyCode::Char('l')) => app.overlay = Some(Overlay::Log { up: 0 }),
        (Overlay::Result, KeyCode::Char('b')) => app.overlay = Some(Overlay::Zones { scroll: 0 }),
        (Overlay::Result, KeyCode::Char('q')) => return vec![Intent::Leave],
        (Overlay::Stops { stops, .. }, KeyCode::Enter) => {
            let stops = stops.clone();
            app.overlay = None;
            return vec![Intent::Stops(stops)];
        }
        (Overlay::Stops { at, .. }, KeyCode::Up) => *at = at.saturating_sub(1),
        (Overlay::Stops { at, .. }, KeyCode::Down) => *at = (*at + 1).min(STOP_STEPS.len()),
        (Overlay::Stops { is_opponent, .. }, KeyCode::Left | KeyCode::Right | KeyCode::Tab) => {
            *is_opponent = !*is_opponent;
        }
        (Overlay::Stops { stops, at, is_opponent }, KeyCode::Char(' ')) => {
            turn_stop(stops, *at, *is_opponent);
        }
        (_, KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q')) => app.overlay = None,
        (overlay, KeyCode::PageUp) => overlay.scroll(10, true),
        (overlay, KeyCode::PageDown | KeyCode::Char(' ')) => overlay.scroll(10, false),
        (overlay, KeyCode::Up) => overlay.scroll(1, true),
        (overlay, KeyCode::Down) => overlay.scroll(1, false),
        // The key that opened it closes it.
        (Overlay::Help { .. }, KeyCode::Char('?'))
        | (Overlay::Log { .. }, KeyCode::Char('l'))
        | (Overlay::Zones { .. }, KeyCode::Char('b'))
        | (Overlay::Text(_), KeyCode::Char('t'))
        | (Overlay::Stops { .. }, KeyCode::Char('s')) => app.overlay = None,
        (Overlay::Note { .. }, KeyCode::Char('h')) => return app.hint(),
        _ => {}
    }
    Vec::new()
}

/// Turns the stop under the cursor on or off; the last line is the opponent's stack.
pub(super) fn turn_stop(stops: &mut Stops, at: usize, is_opponent: bool) {
    let Some((step, _)) = STOP_STEPS.get(at) else {
        stops.opponent_stack = !stops.opponent_stack;
        return;
    };
    let list = if is_opponent { &mut stops.opponent_turn } else { &mut stops.own_turn };
    match list.iter().position(|known| known == step) {
        Some(found) => {
            list.remove(found);
        }
        None => list.push(*step),
    }
}

/// Draws the open overlay.
pub(super) fn draw(app: &mut BoardApp, area: Rect, frame: &mut Frame<'_>) {
    let Some(overlay) = app.overlay.clone() else { return };
    let theme = app.theme.clone();
    let most = area.width.saturating_sub(4).min(96);
    let width = usize::from(most.saturating_sub(4));
    let lines = overlay_lines(&overlay, app, width, &theme);
    let room = area.height.saturating_sub(2);
    let wanted = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let height = wanted.clamp(3, room.max(3)).min(area.height);
    let place = Rect {
        x: area.x + (area.width.saturating_sub(most)) / 2,
        y: area.y + (area.height.saturating_sub(height)) / 2,
        width: most.min(area.width),
        height,
    };
    let inner = usize::from(height.saturating_sub(2));
    let last = lines.len().saturating_sub(inner);
    let first = match &overlay {
        Overlay::Help { scroll } | Overlay::Zones { scroll } | Overlay::Note { scroll, .. } => {
            (*scroll).min(last)
        }
        Overlay::Log { up } => last.saturating_sub(*up),
        _ => 0,
    };
    settle(app, first, last);
    let more = if last > 0 { format!(" {}/{} ", first + inner, lines.len()) } else { String::new() };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.border)
        .title(overlay.title())
        .title_bottom(Line::from(overlay.hint()))
        .title_bottom(Line::from(more).alignment(Alignment::Right))
        .padding(Padding::horizontal(1));
    app.hits.clear();
    push_hits(&overlay, place, first, &mut app.hits);
    let shown: Vec<Line<'static>> = lines.into_iter().skip(first).take(inner).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(shown).block(block), place);
}

/// Not further than there is something.
fn settle(app: &mut BoardApp, first: usize, last: usize) {
    match &mut app.overlay {
        Some(Overlay::Help { scroll } | Overlay::Zones { scroll } | Overlay::Note { scroll, .. }) => {
            *scroll = first;
        }
        Some(Overlay::Log { up }) => *up = last - first,
        _ => {}
    }
}

/// Lines of an overlay that can be clicked.
fn push_hits(overlay: &Overlay, place: Rect, first: usize, hits: &mut Vec<(Rect, Hit)>) {
    let line = |row: usize| Rect {
        x: place.x + 1,
        y: place.y + 1 + u16::try_from(row.saturating_sub(first)).unwrap_or(0),
        width: place.width.saturating_sub(2),
        height: 1,
    };
    match overlay {
        Overlay::Concede => {
            hits.push((line(2), Hit::Key('y')));
            hits.push((line(3), Hit::Key('n')));
        }
        Overlay::Stops { .. } => {
            hits.extend((0..=STOP_STEPS.len()).map(|row| (line(row + 1), Hit::Row(row))));
        }
        Overlay::Result => hits.push((line(3), Hit::Key('q'))),
        _ => {}
    }
}

fn wrapped(
    lines: &mut Vec<Line<'static>>,
    text: &str,
    indent: usize,
    width: usize,
    style: Style,
    theme: &Theme,
) {
    let mut layout = Layout::new(width, indent, Kind::Plain(style));
    layout.extend(text, theme);
    lines.extend(layout.lines().iter().cloned());
}

fn overlay_lines(overlay: &Overlay, app: &BoardApp, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    match overlay {
        Overlay::Help { .. } => return help_lines(width, theme),
        Overlay::Log { .. } => {
            for line in &app.log {
                let style = if line.kind == LogKind::Turn { theme.heading } else { Style::default() };
                wrapped(&mut lines, &line.text, 0, width, style, theme);
            }
        }
        Overlay::Zones { .. } => return zone_lines(app, width, theme),
        Overlay::Text(text) => card_lines(text, width, theme, &mut lines),
        Overlay::Note { text, .. } => wrapped(&mut lines, text, 0, width, Style::default(), theme),
        Overlay::Stops { stops, at, is_opponent } => return stop_lines(stops, *at, *is_opponent, theme),
        Overlay::Concede => {
            lines.push(Line::from("You lose the game if you concede."));
            lines.push(Line::default());
            lines.push(Line::styled("y  concede", theme.bad));
            lines.push(Line::styled("n  play on", theme.good));
        }
        Overlay::Result => return result_lines(app, theme),
    }
    lines
}

fn help_lines(width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let row = |key: &str, meaning: &str| {
        Line::from(vec![
            Span::styled(format!("{key:18}"), theme.tool),
            Span::raw(one_line(meaning, width.saturating_sub(18))),
        ])
    };
    let mut lines: Vec<Line<'static>> = KEYS.iter().map(|(key, meaning)| row(key, meaning)).collect();
    lines.push(Line::default());
    lines.push(Line::styled("Signs of cards", theme.heading));
    lines.extend(SIGNS.iter().map(|(sign, meaning)| row(sign, meaning)));
    lines
}

/// Text of a card.
pub(super) fn card_lines(text: &CardText, width: usize, theme: &Theme, lines: &mut Vec<Line<'static>>) {
    let cost = plain_cost(&text.mana_cost);
    lines.push(Line::styled(one_line(&format!("{} {cost}", text.name), width), theme.heading));
    let numbers = text.numbers.as_deref().map(|numbers| format!("  {numbers}")).unwrap_or_default();
    lines.push(Line::styled(one_line(&format!("{}{numbers}", text.type_line), width), theme.time));
    wrapped(lines, &text.text, 0, width, Style::default(), theme);
}

fn zone_lines(app: &BoardApp, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(snapshot) = &app.snapshot else { return Vec::new() };
    let board = &snapshot.board;
    let mut lines = Vec::new();
    if !board.stack.is_empty() {
        lines.push(Line::styled("Stack, the top first", theme.heading));
        for item in &board.stack {
            let who = if item.controller == board.seat { "you" } else { "opponent" };
            let on = if item.targets.is_empty() {
                String::new()
            } else {
                format!(" on {}", item.targets.join(", "))
            };
            wrapped(
                &mut lines,
                &format!("{} ({who}){on} {}", item.source, item.text),
                2,
                width,
                Style::default(),
                theme,
            );
        }
    }
    for (side, name) in [(&board.opponent, "Opponent"), (&board.you, "You")] {
        side_lines(side, name, width, theme, &mut lines);
    }
    lines
}

fn side_lines(side: &BoardSide, name: &str, width: usize, theme: &Theme, lines: &mut Vec<Line<'static>>) {
    lines.push(Line::styled(format!("{name}: battlefield"), theme.heading));
    for one in &side.battlefield {
        let mut facts = vec![one.type_line.clone()];
        if let (Some(power), Some(toughness)) = (one.power, one.toughness) {
            facts.push(format!("{power}/{toughness}"));
        }
        if one.tapped {
            facts.push("tapped".to_owned());
        }
        if one.damage > 0 {
            facts.push(format!("{} damage", one.damage));
        }
        facts.extend(one.counters.iter().map(|(kind, count)| format!("{count} {kind}")));
        facts.extend(one.keywords.iter().cloned());
        wrapped(lines, &format!("{} · {}", one.name, facts.join(" · ")), 2, width, Style::default(), theme);
    }
    for (cards, zone) in [(&side.graveyard, "graveyard"), (&side.exile, "exile")] {
        if !cards.is_empty() {
            lines.push(Line::styled(format!("{name}: {zone}"), theme.heading));
            wrapped(lines, &names(cards), 2, width, Style::default(), theme);
        }
    }
}

fn names(cards: &[BoardCard]) -> String {
    cards.iter().map(|card| card.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn stop_lines(stops: &Stops, at: usize, is_opponent: bool, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(format!("{:24}{:12}{}", "", "your turn", "opponent's"), theme.heading)];
    for (row, (step, name)) in STOP_STEPS.iter().enumerate() {
        let cell = |list: &[TurnStep], is_column: bool| {
            let text = if list.contains(step) { "[x]" } else { "[ ]" };
            let style = if row == at && is_column { theme.chosen } else { Style::default() };
            Span::styled(text, style)
        };
        lines.push(Line::from(vec![
            Span::raw(format!("{name:24}")),
            cell(&stops.own_turn, !is_opponent),
            Span::raw(" ".repeat(9)),
            cell(&stops.opponent_turn, is_opponent),
        ]));
    }
    let style = if at == STOP_STEPS.len() { theme.chosen } else { Style::default() };
    let text = if stops.opponent_stack { "[x]" } else { "[ ]" };
    lines.push(Line::from(vec![Span::raw(format!("{:24}", "opponent's spells")), Span::styled(text, style)]));
    lines.push(Line::default());
    lines.push(Line::styled("You are asked there when you can do something.", theme.time));
    lines
}

fn result_lines(app: &BoardApp, theme: &Theme) -> Vec<Line<'static>> {
    let Some(board) = app.snapshot.as_ref().map(|snapshot| &snapshot.board) else { return Vec::new() };
    let result = match board.outcome.and_then(|outcome| outcome.winner) {
        Some(winner) if winner == board.seat => "You win.",
        Some(_) => "You lose.",
        None => "The game is a draw.",
    };
    let last = app.log.iter().rev().find(|line| line.kind == LogKind::End);
    let reason = last.map(|line| line.text.clone()).unwrap_or_default();
    vec![
        Line::styled(result, theme.heading),
        Line::from(reason),
        Line::from(format!("Turn {}, life {} : {}", board.turn, board.you.life, board.opponent.life)),
        Line::styled("q  leave: review and lessons follow", theme.tool),
    ]
}
