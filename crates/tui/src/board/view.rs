//! Draws the board: both sides, the stack between them, the hand, the question with its answers, and the log.
//!
//! A wide terminal has a column at the right with the stack, the card in focus and the log; a narrow one
//! shows the stack in the line between the sides and the end of the log beside the answers.

use super::app::{BoardApp, Hit, Prompt};
use super::chips::{self, Chip, Emphasis};
use super::form::ShownRow;
use super::overlay;
use crate::text::{Kind, Layout, one_line};
use crate::theme::Theme;
use marvin_table::{Board, BoardSide, BoardStackItem, LogKind, Snapshot};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

/// Smallest terminal that the board can be drawn in.
const MIN_SIZE: (u16, u16) = (40, 16);
/// Width from which there is a column at the right.
const WIDE_COLUMNS: u16 = 104;
/// Rows of the question with its answers.
const MIN_PANEL_ROWS: u16 = 7;
const MAX_PANEL_ROWS: u16 = 16;
/// Rows of the hand at most.
const MAX_HAND_ROWS: usize = 3;
/// Rows of the card in focus, in the column at the right.
const CARD_ROWS: u16 = 11;

/// Keys that the last line names, the most important first.
const FOOTER: [(char, &str); 12] = [
    ('p', "pass"),
    ('e', "end turn"),
    ('n', "my turn"),
    ('t', "text"),
    ('h', "hint"),
    ('?', "help"),
    ('l', "log"),
    ('w', "why not"),
    ('s', "stops"),
    ('d', "discuss"),
    ('u', "undo"),
    ('q', "leave"),
];

pub(super) fn draw(app: &mut BoardApp, frame: &mut Frame<'_>) {
    let area = frame.area();
    app.hits.clear();
    if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
        let text = format!("too small: {} by {} is the least", MIN_SIZE.0, MIN_SIZE.1);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let Some(snapshot) = app.snapshot.clone() else {
        frame.render_widget(Paragraph::new(" shuffling …"), area);
        return;
    };
    let mut left = area;
    let status = take_top(&mut left, 1);
    frame.render_widget(Paragraph::new(status_line(&snapshot, app, usize::from(area.width))), status);
    let footer = take_bottom(&mut left, 1);
    draw_footer(app, footer, frame);
    if area.width >= WIDE_COLUMNS {
        let side = (area.width / 3).clamp(34, 48);
        let column = Rect { x: left.x + left.width - side, width: side, ..left };
        left.width -= side + 1;
        draw_column(app, &snapshot.board, column, frame);
    }
    draw_main(app, &snapshot, left, area.width >= WIDE_COLUMNS, frame);
    overlay::draw(app, area, frame);
}

fn take_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let part = Rect { height: rows, ..*area };
    area.y += rows;
    area.height -= rows;
    part
}

fn take_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect { y: area.y + area.height, height: rows, ..*area }
}

/// A text of exactly this width.
fn fitted(text: &str, width: usize) -> String {
    let mut line = one_line(text, width);
    line.push_str(&" ".repeat(width.saturating_sub(line.width())));
    line
}

fn rows(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn status_line(snapshot: &Snapshot, app: &BoardApp, width: usize) -> Line<'static> {
    let board = &snapshot.board;
    let whose = if board.active == board.seat { "your turn" } else { "opponent's turn" };
    let mut text = format!(" Turn {} · {whose} · {}", board.turn, board.step_name);
    if let Some(failure) = &snapshot.failure {
        text = format!(" the game cannot continue: {failure}");
    } else if board.outcome.is_some() {
        text = format!(" Turn {} · the game is over", board.turn);
    } else if snapshot.is_thinking {
        text.push_str(&format!(" · {} is thinking …", board.opponent.player));
    } else if app.is_sent {
        text.push_str(" · …");
    }
    let kind = if snapshot.is_training { "training · ? help " } else { "? help " };
    let room = width.saturating_sub(kind.width());
    Line::styled(format!("{}{kind}", fitted(&text, room)), app.theme.status)
}

/// The last line: a flash, what is typed, or the keys.
fn draw_footer(app: &mut BoardApp, area: Rect, frame: &mut Frame<'_>) {
    let width = usize::from(area.width);
    if let Some(prompt) = app.prompt {
        let lead = match prompt {
            Prompt::Discuss => " ask the opponent> ",
            Prompt::WhyNot => " why can't I use (name of a card)> ",
        };
        let (typed, (column, row)) = app.editor.rows(width.saturating_sub(lead.width() + 1));
        let line = typed.get(row).cloned().unwrap_or_default();
        frame.render_widget(
            Paragraph::new(Line::from(vec![Span::styled(lead, app.theme.you), Span::raw(line)])),
            area,
        );
        frame.set_cursor_position((area.x + rows(lead.width() + column), area.y));
        return;
    }
    if let Some(flash) = &app.flash {
        frame.render_widget(
            Paragraph::new(Line::styled(fitted(&format!(" {flash}"), width), app.theme.status)),
            area,
        );
        return;
    }
    let mut line = Vec::new();
    let mut used = 1;
    line.push(Span::raw(" "));
    for (key, meaning) in FOOTER {
        let text = format!("{key} {meaning}");
        let wide = text.width();
        if used + wide + 2 > width {
            break;
        }
        let place = Rect { x: area.x + rows(used), width: rows(wide), ..area };
        app.hits.push((place, Hit::Key(key)));
        line.push(Span::styled(key.to_string(), app.theme.tool));
        line.push(Span::styled(format!(" {meaning}  "), app.theme.time));
        used += wide + 2;
    }
    frame.render_widget(Paragraph::new(Line::from(line)), area);
}

/// Everything but the first and last line and the column at the right.
fn draw_main(app: &mut BoardApp, snapshot: &Snapshot, area: Rect, is_wide: bool, frame: &mut Frame<'_>) {
    let form = app.form.take();
    let theme = app.theme.clone();
    let (candidates, marks, current) = match &form {
        Some(form) => (form.candidates(), form.marks(), form.current_cards()),
        None => (Vec::new(), Vec::new(), Vec::new()),
    };
    let cursor = app.cursor.clone();
    let name_width = if is_wide || area.width >= WIDE_COLUMNS { 26 } else { 20 };
    let emphasis = Emphasis {
        cursor: cursor.as_deref(),
        current: &current,
        candidates: &candidates,
        marks: &marks,
        name_width,
    };
    let mut left = area;
    let shown = form.as_ref().map(super::form::Form::shown).unwrap_or_default();
    let (panel, hand) = bottom_areas(&mut left, &snapshot.board, &shown, &emphasis, &theme);
    let head = take_top(&mut left, 1);
    let mut draw = Drawing { frame, hits: &mut app.hits, theme: &theme, emphasis };
    draw.side_line(&snapshot.board.opponent, head, "opponent");
    let own = take_bottom(&mut left, 1);
    draw.side_line(&snapshot.board.you, own, "you");
    draw.fields(&snapshot.board, left, is_wide);
    draw.hand(&snapshot.board, hand);
    app.form = form;
    draw_panel(app, snapshot, &shown, panel, is_wide, frame);
}

/// Areas of the question and of the hand, taken from the bottom.
fn bottom_areas(
    left: &mut Rect,
    board: &Board,
    shown: &[ShownRow],
    emphasis: &Emphasis<'_>,
    theme: &Theme,
) -> (Rect, Rect) {
    let hand = chips::cards(&board.hand, emphasis.name_width);
    let hand_rows = chips::height(&hand, usize::from(left.width.saturating_sub(7)), emphasis, theme);
    let wanted = rows(shown.len()) + 2;
    // Both sides need three rows each, with their lines and the stack between them.
    let room = left.height.saturating_sub(9 + rows(hand_rows.clamp(1, MAX_HAND_ROWS)));
    let panel = wanted.clamp(MIN_PANEL_ROWS, MAX_PANEL_ROWS).min(room.max(4));
    let panel = take_bottom(left, panel);
    let hand = take_bottom(left, rows(hand_rows.clamp(1, MAX_HAND_ROWS)));
    (panel, hand)
}

/// Parts of a frame that are drawn one after the other.
struct Drawing<'d, 'f> {
    frame: &'d mut Frame<'f>,
    hits: &'d mut Vec<(Rect, Hit)>,
    theme: &'d Theme,
    emphasis: Emphasis<'d>,
}

impl Drawing<'_, '_> {
    /// Facts of a player in one line; a click on it points at the player.
    fn side_line(&mut self, side: &BoardSide, area: Rect, name: &str) {
        let who = if name == "you" { "you".to_owned() } else { format!("{name} ({})", side.player) };
        let is_candidate = self.emphasis.candidates.contains(&side.id.as_str());
        let sign = if is_candidate { "*" } else { " " };
        let mut facts = vec![format!("life {}", side.life)];
        if side.poison > 0 {
            facts.push(format!("poison {}", side.poison));
        }
        facts.push(format!("hand {}", side.hand_size));
        facts.push(format!("library {}", side.library_size));
        facts.push(format!("graveyard {}", side.graveyard.len()));
        if !side.exile.is_empty() {
            facts.push(format!("exile {}", side.exile.len()));
        }
        let mana: String =
            side.mana.iter().map(|(kind, count)| kind.to_string().repeat(usize::from(*count))).collect();
        facts.push(if mana.is_empty() { "mana -".to_owned() } else { format!("mana {mana}") });
        facts.push(format!("lands {} untapped", side.untapped_lands));
        let width = usize::from(area.width);
        let text = fitted(&format!("{sign}{who}: {}", facts.join(" · ")), width);
        let mut style = if is_candidate { self.theme.you } else { self.theme.heading };
        if self.emphasis.cursor == Some(side.id.as_str()) {
            style = self.theme.chosen;
        }
        self.frame.render_widget(Paragraph::new(Line::styled(text, style)), area);
        self.hits.push((area, Hit::Card { id: side.id.clone(), name: who }));
    }

    /// Both battlefields with the stack between them. Lands are far from the middle, creatures near it.
    fn fields(&mut self, board: &Board, area: Rect, is_wide: bool) {
        let width = self.emphasis.name_width;
        let (you, opponent) = (&board.you, &board.opponent);
        let lands =
            |side, other| chips::permanents(side, other, width, |one| one.is_land && !one.is_creature);
        let others =
            |side, other| chips::permanents(side, other, width, |one| !one.is_land || one.is_creature);
        let above = [lands(opponent, you), others(opponent, you)];
        let below = [others(you, opponent), lands(you, opponent)];
        let columns = usize::from(area.width.saturating_sub(2));
        let need = |parts: &[Vec<Chip>; 2]| -> u16 {
            rows(parts.iter().map(|part| chips::height(part, columns, &self.emphasis, self.theme)).sum())
        };
        let room = area.height.saturating_sub(1);
        let half = room / 2;
        let (top, bottom) = (need(&above), need(&below));
        // A side that needs less leaves the rest to the other one.
        let top = if top <= half {
            half.min(room.saturating_sub(bottom).max(half))
        } else {
            top.min(room.saturating_sub(bottom).max(half))
        };
        let mut left = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let upper = take_top(&mut left, top);
        self.field(&above, upper);
        let divider = take_top(&mut left, 1);
        self.divider(board, Rect { x: area.x, width: area.width, ..divider }, is_wide);
        self.field(&below, left);
    }

    /// Two groups of chips, each on lines of its own.
    fn field(&mut self, groups: &[Vec<Chip>; 2], area: Rect) {
        let mut left = area;
        let [first, second] = groups;
        let columns = usize::from(area.width);
        let need = rows(chips::height(second, columns, &self.emphasis, self.theme));
        let most = area.height.saturating_sub(need.min(area.height / 2)).max(1);
        for (group, limit) in [(first, most), (second, area.height)] {
            let place = Rect { height: limit.min(left.height), ..left };
            let used = chips::draw(group, place, &self.emphasis, self.theme, self.frame, self.hits);
            take_top(&mut left, used);
        }
    }

    fn divider(&mut self, board: &Board, area: Rect, is_wide: bool) {
        let width = usize::from(area.width);
        let text = if is_wide || board.stack.is_empty() {
            String::new()
        } else {
            let items: Vec<String> = board.stack.iter().map(|item| stack_text(item, board)).collect();
            format!(" stack: {} ", items.join(" ◂ "))
        };
        let text = one_line(&text, width.saturating_sub(4));
        let rest = width.saturating_sub(text.width() + 2);
        let line = vec![
            Span::styled("──", self.theme.border),
            Span::styled(text, self.theme.warn),
            Span::styled("─".repeat(rest), self.theme.border),
        ];
        self.frame.render_widget(Paragraph::new(Line::from(line)), area);
        if let (Some(top), false) = (board.stack.first(), is_wide) {
            self.hits.push((area, Hit::Card { id: top.id.clone(), name: top.source.clone() }));
        }
    }

    fn hand(&mut self, board: &Board, area: Rect) {
        let label = Rect { width: 6.min(area.width), ..area };
        self.frame.render_widget(Paragraph::new(Line::styled(" hand", self.theme.time)), label);
        let place =
            Rect { x: area.x + label.width, width: area.width.saturating_sub(label.width + 1), ..area };
        if board.hand.is_empty() {
            self.frame.render_widget(Paragraph::new(Line::styled("empty", self.theme.time)), place);
            return;
        }
        let hand = chips::cards(&board.hand, self.emphasis.name_width);
        chips::draw(&hand, place, &self.emphasis, self.theme, self.frame, self.hits);
    }
}

/// A stack item in a few words: what it is, whose, and on what.
fn stack_text(item: &BoardStackItem, board: &Board) -> String {
    let who = if item.controller == board.seat { "you" } else { "opponent" };
    let kind = if item.is_ability { "ability of " } else { "" };
    let on = if item.targets.is_empty() { String::new() } else { format!(" on {}", item.targets.join(", ")) };
    format!("{kind}{} ({who}){on}", item.source)
}

/// The question with its answers; in a narrow terminal the end of the log beside them.
fn draw_panel(
    app: &mut BoardApp,
    snapshot: &Snapshot,
    shown: &[ShownRow],
    area: Rect,
    is_wide: bool,
    frame: &mut Frame<'_>,
) {
    let theme = app.theme.clone();
    let mut left = area;
    // The question has the whole width, so that it is seldom cut.
    let line = take_top(&mut left, 1);
    frame.render_widget(Paragraph::new(question_line(app, snapshot, usize::from(line.width))), line);
    if !is_wide && area.width >= 72 {
        let side = area.width * 2 / 5;
        let column = Rect { x: left.x + left.width - side, width: side, ..left };
        left.width -= side + 1;
        draw_log(app, column, true, frame);
    }
    let width = usize::from(left.width);
    if let Some(warning) = snapshot.warnings.first().filter(|_| left.height > 4) {
        let place = take_bottom(&mut left, 1);
        let text = one_line(&format!(" ! {warning}"), width);
        frame.render_widget(Paragraph::new(Line::styled(text, theme.warn)), place);
    }
    let at = shown.iter().position(|row| row.is_current).unwrap_or(0);
    let height = usize::from(left.height);
    let first = (at + 1).saturating_sub(height).min(shown.len().saturating_sub(height));
    let mut lines = Vec::new();
    for (number, row) in shown.iter().enumerate().skip(first).take(height) {
        let place = Rect { y: left.y + rows(lines.len()), height: 1, ..left };
        app.hits.push((place, Hit::Row(row.position)));
        lines.push(row_line(row, number, width, app.cursor.is_none(), &theme));
    }
    let below = shown.len().saturating_sub(first + height);
    if below > 0
        && let Some(last) = lines.last_mut()
    {
        let more = format!(" ↓ {below} more");
        let text = one_line(&last.to_string(), width.saturating_sub(more.width()));
        *last = Line::from(vec![Span::raw(text), Span::styled(more, theme.time)]);
    }
    frame.render_widget(Paragraph::new(lines), left);
}

fn question_line(app: &BoardApp, snapshot: &Snapshot, width: usize) -> Line<'static> {
    let (text, style) = match &app.form {
        Some(form) => {
            let only = if form.card.is_some() { " (Esc: all answers)" } else { "" };
            (format!(" {}{only}", form.sentence), app.theme.warn)
        }
        None if snapshot.board.outcome.is_some() => {
            (" The game is over: q leaves.".to_owned(), app.theme.warn)
        }
        None if snapshot.is_thinking => {
            (format!(" {} is thinking; keys work meanwhile.", snapshot.board.opponent.player), app.theme.time)
        }
        None => (" …".to_owned(), app.theme.time),
    };
    Line::styled(one_line_kept(&text, width), style)
}

/// One line with its blanks in front.
fn one_line_kept(text: &str, width: usize) -> String {
    let lead = text.len() - text.trim_start().len();
    format!("{}{}", " ".repeat(lead), one_line(text, width.saturating_sub(lead)))
}

fn row_line(row: &ShownRow, number: usize, width: usize, has_cursor: bool, theme: &Theme) -> Line<'static> {
    let key = if number < 9 { (number + 1).to_string() } else { " ".to_owned() };
    let mark = if row.is_current { "▸" } else { " " };
    let text = one_line(&row.text, width.saturating_sub(4));
    let style = match (row.is_current && has_cursor, row.is_chosen) {
        (true, _) => theme.chosen,
        (false, true) => theme.warn,
        _ => Style::default(),
    };
    Line::from(vec![Span::styled(format!("{mark}{key} "), theme.tool), Span::styled(text, style)])
}

/// The end of the log.
fn draw_log(app: &BoardApp, area: Rect, has_bar: bool, frame: &mut Frame<'_>) {
    let theme = &app.theme;
    let lead = usize::from(has_bar) * 2;
    let width = usize::from(area.width).saturating_sub(lead);
    let height = usize::from(area.height);
    let mut lines: Vec<Line<'static>> = Vec::new();
    // From the end, until there is enough.
    for line in app.log.iter().rev() {
        let style = match line.kind {
            LogKind::Turn => theme.heading,
            LogKind::Note | LogKind::End => theme.warn,
            _ => Style::default(),
        };
        let mut layout = Layout::new(width, 0, Kind::Plain(style));
        layout.extend(&line.text, theme);
        lines.extend(layout.lines().iter().rev().cloned());
        if lines.len() >= height {
            break;
        }
    }
    lines.truncate(height);
    lines.reverse();
    if has_bar {
        while lines.len() < height {
            lines.insert(0, Line::default());
        }
        for line in &mut lines {
            line.spans.insert(0, Span::styled("│ ", theme.border));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The column at the right: stack, card in focus, log.
fn draw_column(app: &mut BoardApp, board: &Board, area: Rect, frame: &mut Frame<'_>) {
    let theme = app.theme.clone();
    let bar = vec![Line::styled("│", theme.border); usize::from(area.height)];
    frame.render_widget(Paragraph::new(bar), Rect { x: area.x.saturating_sub(1), width: 1, ..area });
    let mut left = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    let width = usize::from(left.width);
    let title = |text: &str| Line::styled(one_line(text, width), theme.heading);
    let head = take_top(&mut left, 1);
    let count = board.stack.len();
    let stack_title =
        if count == 0 { "Stack: empty".to_owned() } else { format!("Stack: {count}, the top first") };
    frame.render_widget(Paragraph::new(title(&stack_title)), head);
    for item in board.stack.iter().take(6) {
        let mut layout = Layout::new(width, 2, Kind::Plain(theme.warn));
        layout.extend(&stack_text(item, board), &theme);
        let place = take_top(&mut left, rows(layout.lines().len()));
        app.hits.push((place, Hit::Card { id: item.id.clone(), name: item.source.clone() }));
        frame.render_widget(Paragraph::new(layout.lines().to_vec()), place);
    }
    if let Some(text) = app.card_in_focus().and_then(|name| app.texts.get(&name).cloned()) {
        let mut lines = vec![Line::default()];
        overlay::card_lines(&text, width, &theme, &mut lines);
        lines.truncate(usize::from(CARD_ROWS));
        let place = take_bottom(&mut left, rows(lines.len()));
        frame.render_widget(Paragraph::new(lines), place);
    }
    take_top(&mut left, 1);
    let head = take_top(&mut left, 1);
    frame.render_widget(Paragraph::new(title("Log (l shows all)")), head);
    draw_log(app, left, false, frame);
}
