//! Panels over the conversation: help, what waits for the person, servitors, runs.

use crate::app::{App, Effect};
use crate::keys::KEYS;
use crate::text::{Kind, Layout, one_line};
use crate::theme::Theme;
use crossterm::event::{KeyCode, KeyEvent};
use marvin_agent::chat::{Answer, AnswerWord, Approval, Kind as ApprovalKind, RunRow, ServitorRow, help};
use marvin_base::run_record::RunStatus;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

#[derive(Debug)]
pub(crate) enum Panel {
    /// Keys and commands.
    Help {
        scroll: usize,
    },
    /// Open questions; the selected one is shown in full.
    Approvals {
        at: usize,
        scroll: usize,
    },
    Servitors {
        rows: Vec<ServitorRow>,
        scroll: usize,
    },
    Runs {
        rows: Vec<RunRow>,
        scroll: usize,
    },
}

impl Panel {
    pub(crate) fn help() -> Self {
        Panel::Help { scroll: 0 }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self {
            Panel::Help { .. } => " Keys and commands ",
            Panel::Approvals { .. } => " Waiting for you ",
            Panel::Servitors { .. } => " Servitors ",
            Panel::Runs { .. } => " Runs ",
        }
    }

    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Panel::Approvals { .. } => " s next  Esc close ",
            _ => " PgUp PgDn  Esc close ",
        }
    }

    pub(crate) fn scroll(&mut self, lines: usize, up: bool) {
        let scroll = match self {
            Panel::Help { scroll }
            | Panel::Approvals { scroll, .. }
            | Panel::Servitors { scroll, .. }
            | Panel::Runs { scroll, .. } => scroll,
        };
        *scroll = if up { scroll.saturating_sub(lines) } else { scroll.saturating_add(lines) };
    }

    /// Its lines for this width, and how far it is scrolled.
    pub(crate) fn lines(
        &self,
        approvals: &[Approval],
        width: usize,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, usize) {
        match self {
            Panel::Help { scroll } => (help_lines(width, theme), *scroll),
            Panel::Approvals { at, scroll } => (approval_lines(approvals, *at, width, theme), *scroll),
            Panel::Servitors { rows, scroll } => (servitor_lines(rows, width, theme), *scroll),
            Panel::Runs { rows, scroll } => (run_lines(rows, width, theme), *scroll),
        }
    }
}

fn text(
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

fn help_lines(width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (keys, meaning) in KEYS {
        if width >= 60 {
            lines.push(Line::from(vec![
                Span::styled(format!("{keys:22}"), theme.tool),
                Span::raw(one_line(meaning, width.saturating_sub(22))),
            ]));
        } else {
            lines.push(Line::styled(keys, theme.tool));
            text(&mut lines, meaning, 2, width, Style::default(), theme);
        }
    }
    lines.push(Line::default());
    text(&mut lines, &help(), 0, width, Style::default(), theme);
    lines
}

fn approval_lines(approvals: &[Approval], at: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if approvals.is_empty() {
        return vec![Line::from("Nothing waits for you.")];
    }
    for (number, approval) in approvals.iter().enumerate() {
        let chosen = number == at;
        let style = if chosen { theme.chosen } else { Style::default() };
        let mark = if chosen { "▸ " } else { "  " };
        let title = one_line(&approval.title, width.saturating_sub(2));
        lines.push(Line::styled(format!("{mark}{title}"), style));
        if chosen {
            text(&mut lines, &approval.text, 4, width, theme.code, theme);
            text(&mut lines, &format!("from: {}", approval.source), 4, width, theme.time, theme);
            text(&mut lines, &format!("why: {}", approval.why), 4, width, theme.time, theme);
            text(&mut lines, &keys_of(approval), 4, width, theme.tool, theme);
        } else {
            lines.push(Line::styled(
                format!("    {}", one_line(&approval.text, width.saturating_sub(4))),
                theme.time,
            ));
        }
    }
    lines
}

/// The keys that answer it.
fn keys_of(approval: &Approval) -> String {
    let keys = approval.choices.iter().map(|choice| format!("{}: {}", key_of(choice.answer), choice.label));
    keys.collect::<Vec<_>>().join("   ")
}

fn key_of(answer: AnswerWord) -> char {
    match answer {
        AnswerWord::Yes => 'y',
        AnswerWord::No => 'n',
        AnswerWord::Edit => 'e',
        AnswerWord::Again => 'a',
    }
}

fn servitor_lines(rows: &[ServitorRow], width: usize, theme: &Theme) -> Vec<Line<'static>> {
    if rows.is_empty() {
        return vec![
            Line::from("There are no servitors here."),
            Line::styled(
                "A model summons them while coding (`!code`); so does `marvin servitors summon`.",
                theme.time,
            ),
        ];
    }
    let mut lines = Vec::new();
    for row in rows {
        let style = match row.state.as_str() {
            "done" => theme.good,
            "failed" => theme.bad,
            "waiting" => theme.warn,
            _ => theme.tool,
        };
        lines.push(Line::from(vec![
            Span::styled(format!("{:10} ", row.state), style),
            Span::raw(one_line(&row.name, width.saturating_sub(12))),
        ]));
        text(&mut lines, &row.assignment, 4, width, Style::default(), theme);
        if !row.reason.is_empty() {
            text(&mut lines, &row.reason, 4, width, theme.time, theme);
        }
        for (assertion, status) in &row.commitments {
            let (mark, style) = match status.as_str() {
                "passed" => ("✔", theme.good),
                "failed" | "could_not_run" => ("✘", theme.bad),
                _ => ("·", theme.time),
            };
            text(&mut lines, &format!("{mark} {status}: {assertion}"), 4, width, style, theme);
        }
        lines.push(Line::default());
    }
    lines
}

fn run_lines(rows: &[RunRow], width: usize, theme: &Theme) -> Vec<Line<'static>> {
    if rows.is_empty() {
        return vec![Line::from("There are no runs here.")];
    }
    let mut lines = Vec::new();
    for row in rows {
        let style = match row.status.as_str() {
            "success" | "succeeded" => theme.good,
            "running" | "blocked" => theme.warn,
            _ => theme.bad,
        };
        let status = RunStatus::shown_word(&row.status);
        lines.push(Line::from(vec![
            Span::styled(format!("{status:12} "), style),
            Span::styled(row.details(), theme.time),
        ]));
        lines.push(Line::from(format!("    {}", one_line(&row.goal, width.saturating_sub(4)))));
    }
    lines
}

/// A key while a panel is open.
pub(crate) fn panel_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let page = app.size.1.saturating_sub(4).max(1);
    let Some(panel) = &mut app.panel else { return Vec::new() };
    match key.code {
        KeyCode::Esc | KeyCode::F(_) | KeyCode::Enter | KeyCode::Char('q' | '?') => app.panel = None,
        KeyCode::PageUp => panel.scroll(page, true),
        KeyCode::PageDown => panel.scroll(page, false),
        _ => {}
    }
    let Some(panel) = &mut app.panel else { return Vec::new() };
    let Panel::Approvals { at, .. } = panel else {
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => panel.scroll(1, true),
            KeyCode::Down | KeyCode::Char('j' | ' ') => panel.scroll(1, false),
            _ => {}
        }
        return Vec::new();
    };
    let last = app.approvals.len().saturating_sub(1);
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => *at = at.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *at = (*at + 1).min(last),
        KeyCode::Char('s') => *at = if *at >= last { 0 } else { *at + 1 },
        _ => {}
    }
    let Some(approval) = app.approvals.get(*at) else { return Vec::new() };
    let offered = |key: char| approval.choices.iter().any(|choice| key_of(choice.answer) == key);
    if let KeyCode::Char(key @ ('y' | 'n' | 'e' | 'a')) = key.code
        && !offered(key)
    {
        app.flash = Some(format!("{key} is not an answer to this; {}", keys_of(approval)));
        return Vec::new();
    }
    match key.code {
        KeyCode::Char('a') => vec![Effect::Answer(approval.id.clone(), Answer::Again)],
        KeyCode::Char('y') => vec![Effect::Answer(approval.id.clone(), Answer::Yes)],
        KeyCode::Char('n') => vec![Effect::Answer(approval.id.clone(), Answer::No)],
        KeyCode::Char('e') => {
            app.answering = Some(approval.id.clone());
            // What is typed replaces these; to the others it is an answer.
            if approval.kind == ApprovalKind::Memory || approval.id.starts_with("turn:") {
                let text = approval.text.clone();
                app.editor.set(&text);
            }
            app.panel = None;
            Vec::new()
        }
        _ => Vec::new(),
    }
}
