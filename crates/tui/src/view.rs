//! Draws the screen: the conversation, a question, the input, the status line, a panel over it.

use crate::app::App;
use crate::text::{Kind, Layout, one_line};
use marvin_agent::chat::Status;
use marvin_base::printable::count;
use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

/// Rows of the input, of a question, and of candidates at most.
const INPUT_ROWS: usize = 8;
const QUESTION_ROWS: usize = 10;
const CHOICE_ROWS: usize = 8;

pub(crate) fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < 8 || area.height < 4 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let width = usize::from(area.width);
    let mut parts = Parts { left: area };
    if let Some(banner) = banner(app.status.as_ref()) {
        let top = parts.top(1);
        frame.render_widget(Paragraph::new(Line::styled(fitted(&banner, width), app.theme.banner)), top);
    }
    let status = parts.bottom(1);
    frame.render_widget(Paragraph::new(status_line(app, width)), status);
    input(app, &mut parts, frame);
    if let Some(lines) = choice_lines(app, width) {
        let place = parts.bottom(lines.len());
        frame.render_widget(Paragraph::new(lines), place);
    }
    if let Some(lines) = question_lines(app, width, usize::from(parts.left.height)) {
        let place = parts.bottom(lines.len());
        frame.render_widget(Paragraph::new(lines), place);
    }
    if let Some(line) = working_line(app, width) {
        let place = parts.bottom(1);
        frame.render_widget(Paragraph::new(line), place);
    }
    let place = parts.left;
    app.size = (width, usize::from(place.height));
    let theme = app.theme.clone();
    let lines = app.transcript.screen(width, usize::from(place.height), &theme);
    frame.render_widget(Paragraph::new(lines), place);
    panel(app, area, frame);
}

/// The rest of the screen.
struct Parts {
    left: Rect,
}

impl Parts {
    fn top(&mut self, rows: u16) -> Rect {
        let rows = rows.min(self.left.height);
        let part = Rect { height: rows, ..self.left };
        self.left.y += rows;
        self.left.height -= rows;
        part
    }

    fn bottom(&mut self, rows: usize) -> Rect {
        // One row of the conversation is always left.
        let rows = u16::try_from(rows).unwrap_or(u16::MAX).min(self.left.height.saturating_sub(1));
        self.left.height -= rows;
        Rect { y: self.left.y + self.left.height, height: rows, ..self.left }
    }
}

/// A text of exactly this width.
fn fitted(text: &str, width: usize) -> String {
    let mut line = one_line(text, width);
    line.push_str(&" ".repeat(width.saturating_sub(line.width())));
    line
}

fn banner(status: Option<&Status>) -> Option<String> {
    let tools = status?.turbotime.as_ref()?;
    let tools = if tools.is_empty() { "no tools".to_string() } else { tools.join(", ") };
    Some(format!(" TURBOTIME: {tools}"))
}

fn status_line(app: &App, width: usize) -> Line<'static> {
    if let Some(flash) = &app.flash {
        return Line::styled(fitted(&format!(" {flash}"), width), app.theme.status);
    }
    let Some(status) = &app.status else {
        return Line::styled(fitted(" starting …", width), app.theme.status);
    };
    let model = if status.provider == status.model {
        status.model.clone()
    } else {
        format!("{} {}", status.provider, status.model)
    };
    let budget = status.budget_usd.map(|budget| format!(" of {budget}")).unwrap_or_default();
    // The most important first: what does not fit is left out from the end.
    let mut parts = vec![format!("{} {model}", emoji(&status.provider)), status.mode.clone()];
    if status.approvals > 0 {
        parts.push(format!("{} waiting (F2)", status.approvals));
    }
    if status.unread > 0 {
        parts.push(format!("✉ {}", count(status.unread, "message")));
    }
    parts.push(format!("${:.4}{budget}", status.cost_usd));
    parts.push(status.profile.clone());
    if status.servitors > 0 {
        parts.push(count(status.servitors, "servitor"));
    }
    parts.push(count(status.messages, "message"));
    if status.subscriptions > 0 {
        parts.push(count(status.subscriptions, "subscription"));
    }
    parts.push(format!("sandbox {}", status.sandbox));
    if !app.transcript.follows() {
        parts.insert(0, "↑ scrolled".into());
    }
    parts.push("? help".into());
    let mut line = String::new();
    for part in parts {
        let part = format!(" {part} ");
        let bar = if line.is_empty() { "" } else { "|" };
        if line.width() + bar.len() + part.width() > width {
            break;
        }
        line.push_str(bar);
        line.push_str(&part);
    }
    Line::styled(fitted_raw(&line, width), app.theme.status)
}

/// As it is, filled up to the width.
fn fitted_raw(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

fn emoji(provider: &str) -> &'static str {
    match provider {
        "mock" => "🎭",
        "copilot" | "codex" => "🤖",
        "gemini" => "💎",
        "groq" => "⚡",
        "ollama" | "local" => "🏠",
        "anthropic" | "claude" => "🧠",
        _ => "🌐",
    }
}

fn working_line(app: &App, width: usize) -> Option<Line<'static>> {
    let status = app.status.as_ref()?;
    let mut text = String::new();
    if status.busy {
        text = match app.reading {
            Some((done, total)) => {
                format!("  … the model has read {done} of {total} tokens (Esc interrupts)")
            }
            None => "  … working (Esc interrupts)".to_string(),
        };
        if let Some(queued) = &status.queued {
            text.push_str(&format!("; next: {}", one_line(queued, 60)));
        }
    } else if app.commands > 0 {
        text = "  … running".to_string();
    }
    (!text.is_empty()).then(|| Line::styled(one_line_kept(&text, width), app.theme.warn))
}

/// One line with its blanks in front.
fn one_line_kept(text: &str, width: usize) -> String {
    let lead = text.len() - text.trim_start().len();
    format!("{}{}", " ".repeat(lead), one_line(text, width.saturating_sub(lead)))
}

fn question_lines(app: &App, width: usize, room: usize) -> Option<Vec<Line<'static>>> {
    if app.panel.is_some() {
        return None;
    }
    let approval = app.question()?;
    let theme = &app.theme;
    let room = room.saturating_sub(2).clamp(4, QUESTION_ROWS + 4);
    let mut lines =
        vec![Line::styled(format!("─ {} ", one_line(&approval.title, width.saturating_sub(4))), theme.warn)];
    let mut layout = Layout::new(width, 4, Kind::Plain(theme.code));
    layout.extend(&approval.text, theme);
    let most = room.saturating_sub(4).clamp(1, QUESTION_ROWS);
    lines.extend(layout.lines().iter().take(most).cloned());
    if layout.lines().len() > most {
        lines.push(Line::styled(
            format!("    … {} more lines (F2 shows all)", layout.lines().len() - most),
            theme.warn,
        ));
    }
    lines.push(Line::styled(one_line_kept(&format!("  {}", approval.why), width), theme.time));
    if approval.source != "the conversation" {
        lines.push(Line::styled(one_line_kept(&format!("  from {}", approval.source), width), theme.time));
    }
    let keys = match (app.may_answer() || app.calm_left().is_some(), approval.id.starts_with("turn:")) {
        (false, _) => "  Ctrl+U clears the input; then y, n, e",
        (true, true) => "  y take it up, n close it, e ask something else",
        (true, false) => "  y yes; n no; e no, and say why",
    };
    lines.push(Line::styled(keys, theme.warn));
    Some(lines)
}

fn choice_lines(app: &App, width: usize) -> Option<Vec<Line<'static>>> {
    let choice = app.choice.as_ref()?;
    let all = &choice.completion.candidates;
    let first = choice.at.unwrap_or(0).saturating_sub(CHOICE_ROWS - 1);
    let mut lines: Vec<Line<'static>> = all
        .iter()
        .enumerate()
        .skip(first)
        .take(CHOICE_ROWS)
        .map(|(at, candidate)| {
            let style = if choice.at == Some(at) { app.theme.chosen } else { Style::default() };
            Line::styled(format!("  {}", one_line(candidate, width.saturating_sub(2))), style)
        })
        .collect();
    if all.len() > CHOICE_ROWS {
        lines.push(Line::styled(format!("  {} in all", all.len()), app.theme.time));
    }
    Some(lines)
}

fn input(app: &App, parts: &mut Parts, frame: &mut Frame<'_>) {
    let width = usize::from(parts.left.width);
    let prompt = match (&app.search, &app.answering, app.status.as_ref().map(|status| status.mode.as_str())) {
        (Some(search), ..) => {
            let failed = if search.failed { "nothing with" } else { "looking for" };
            format!("({failed} `{}`) ", one_line(&search.words, width / 3))
        }
        (_, Some(id), _) => match id.split(':').next() {
            Some("memory") => "remember instead> ".into(),
            Some("command") => "no, because> ".into(),
            _ => "answer> ".into(),
        },
        (_, _, Some("shell")) => "$ ".into(),
        _ => "> ".into(),
    };
    let indent = prompt.width().min(width.saturating_sub(4));
    let (rows, (column, row)) = app.editor.rows(width.saturating_sub(indent + 1));
    let shown = rows.len().min(INPUT_ROWS).min(usize::from(parts.left.height).saturating_sub(2).max(1));
    let first = (row + 1).saturating_sub(shown);
    let place = parts.bottom(shown);
    let lines: Vec<Line<'static>> = rows
        .iter()
        .enumerate()
        .skip(first)
        .take(shown)
        .map(|(number, text)| {
            let lead = if number == 0 { fitted_raw(&prompt, indent) } else { " ".repeat(indent) };
            Line::from(vec![Span::styled(lead, app.theme.you), Span::raw(text.clone())])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), place);
    if app.panel.is_none() {
        let at = |offset: usize, base: u16| base.saturating_add(u16::try_from(offset).unwrap_or(u16::MAX));
        frame.set_cursor_position((at(indent + column, place.x), at(row - first.min(row), place.y)));
    }
}

fn panel(app: &mut App, area: Rect, frame: &mut Frame<'_>) {
    let Some(panel) = &app.panel else { return };
    let place = Rect {
        x: area.x,
        y: area.y + u16::from(area.height > 12),
        width: area.width,
        height: area.height.saturating_sub(if area.height > 12 { 3 } else { 1 }),
    };
    let inner_width = usize::from(place.width.saturating_sub(4));
    let inner_height = usize::from(place.height.saturating_sub(2));
    let (lines, scroll) = panel.lines(&app.approvals, inner_width, &app.theme);
    let last = lines.len().saturating_sub(inner_height);
    let first = scroll.min(last);
    let more = if last > 0 {
        format!(" {}/{} ", first + inner_height.min(lines.len()), lines.len())
    } else {
        String::new()
    };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(app.theme.border)
        .title(panel.title())
        .title_bottom(Line::from(panel.hint()))
        .title_bottom(Line::from(more).alignment(Alignment::Right))
        .padding(ratatui::widgets::Padding::horizontal(1));
    let over = scroll.saturating_sub(first);
    let shown: Vec<Line<'static>> = lines.into_iter().skip(first).take(inner_height).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(shown).block(block), place);
    if let (Some(panel), true) = (&mut app.panel, over > 0) {
        // Not further than there is something.
        panel.scroll(over, true);
    }
}
