//! Cards as chips: short texts in brackets that flow over the lines of an area and can be clicked.

use super::app::Hit;
use crate::text::one_line;
use crate::theme::Theme;
use marvin_table::{BoardCard, BoardPermanent, BoardSide};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

/// One card, or several that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chip {
    /// Ids of its cards; a click means the first.
    pub(super) ids: Vec<String>,
    pub(super) name: String,
    text: String,
    is_tapped: bool,
}

/// What is special about cards at the moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Emphasis<'a> {
    /// Card under the cursor of the board.
    pub(super) cursor: Option<&'a str>,
    /// Cards of the row under the cursor of the form.
    pub(super) current: &'a [&'a str],
    /// Cards that can be pointed at.
    pub(super) candidates: &'a [&'a str],
    /// Cards that were chosen, with a sign.
    pub(super) marks: &'a [(&'a str, &'static str)],
    /// Cells that a name may take.
    pub(super) name_width: usize,
}

impl Chip {
    fn has(&self, id: &str) -> bool {
        self.ids.iter().any(|own| own == id)
    }

    /// The text with its signs, and the style. Signs say everything that the style does.
    fn draw(&self, emphasis: &Emphasis<'_>, theme: &Theme) -> (String, Style) {
        let mark = emphasis.marks.iter().find(|(id, _)| self.has(id)).map(|(_, sign)| *sign);
        let is_candidate = emphasis.candidates.iter().any(|id| self.has(id));
        let sign = mark.unwrap_or(if is_candidate { "*" } else { "" });
        let count = if self.ids.len() > 1 { format!(" ×{}", self.ids.len()) } else { String::new() };
        let text = format!("[{sign}{}{count}]", self.text);
        let mut style = match (mark, is_candidate, self.is_tapped) {
            (Some(_), ..) => theme.warn,
            (None, true, _) => theme.you,
            (None, false, true) => theme.time,
            _ => Style::default(),
        };
        if emphasis.current.iter().any(|id| self.has(id)) {
            style = style.add_modifier(Modifier::UNDERLINED);
        }
        if emphasis.cursor.is_some_and(|id| self.has(id)) {
            style = style.add_modifier(Modifier::REVERSED);
        }
        (text, style)
    }
}

fn short(name: &str, width: usize) -> String {
    one_line(name, width)
}

/// Text of a permanent: name, numbers, and signs for what is true of it.
fn permanent_text(permanent: &BoardPermanent, host: Option<&str>, width: usize) -> String {
    let mut text = String::new();
    if permanent.attacks.is_some() {
        text.push('»');
    }
    if !permanent.blocks.is_empty() {
        text.push('‖');
    }
    text.push_str(&short(&permanent.name, width));
    if let Some(host) = host {
        text.push_str(&format!("→{}", short(host, width / 2 + 2)));
    }
    if let (Some(power), Some(toughness)) = (permanent.power, permanent.toughness) {
        text.push_str(&format!(" {power}/{toughness}"));
    }
    for (kind, count) in &permanent.counters {
        text.push_str(&format!(" {kind}×{count}"));
    }
    if permanent.damage > 0 {
        text.push_str(&format!(" -{}", permanent.damage));
    }
    if permanent.tapped {
        text.push_str(" T");
    }
    if permanent.summoning_sick {
        text.push_str(" ~");
    }
    text
}

/// Chips of the permanents that `wanted` selects. Lands and other cards that are alike are one chip.
pub(super) fn permanents(
    side: &BoardSide,
    other: &BoardSide,
    width: usize,
    wanted: impl Fn(&BoardPermanent) -> bool,
) -> Vec<Chip> {
    let all = || side.battlefield.iter().chain(&other.battlefield);
    let host = |permanent: &BoardPermanent| -> Option<String> {
        let id = permanent.attached_to.as_ref()?;
        all().find(|one| one.id == *id).map(|one| one.name.clone())
    };
    let mut chips: Vec<Chip> = Vec::new();
    for permanent in side.battlefield.iter().filter(|permanent| wanted(permanent)) {
        let text = permanent_text(permanent, host(permanent).as_deref(), width);
        let same = chips.iter_mut().find(|chip| chip.text == text && !permanent.is_creature);
        match same {
            Some(chip) => chip.ids.push(permanent.id.clone()),
            None => chips.push(Chip {
                ids: vec![permanent.id.clone()],
                name: permanent.name.clone(),
                text,
                is_tapped: permanent.tapped,
            }),
        }
    }
    chips
}

/// Chips of cards in a hand or another zone.
pub(super) fn cards(cards: &[BoardCard], width: usize) -> Vec<Chip> {
    let mut chips: Vec<Chip> = Vec::new();
    for card in cards {
        let cost = card.mana_cost.as_deref().map(|cost| format!(" {}", plain_cost(cost))).unwrap_or_default();
        let text = format!("{}{cost}", short(&card.name, width));
        match chips.iter_mut().find(|chip| chip.text == text) {
            Some(chip) => chip.ids.push(card.id.clone()),
            None => {
                chips.push(Chip {
                    ids: vec![card.id.clone()],
                    name: card.name.clone(),
                    text,
                    is_tapped: false,
                });
            }
        }
    }
    chips
}

/// `{1}{G}` as `1G`; symbols of more than one character keep their braces.
pub(super) fn plain_cost(cost: &str) -> String {
    let parts = cost.split('}').filter(|part| !part.is_empty()).map(|part| part.trim_start_matches('{'));
    let symbol = |part: &str| {
        if part.chars().count() == 1 || part.parse::<u32>().is_ok() {
            part.to_owned()
        } else {
            format!("{{{part}}}")
        }
    };
    parts.map(symbol).collect()
}

/// Draws chips over the lines of an area and returns the lines that they take.
pub(super) fn draw(
    chips: &[Chip],
    area: Rect,
    emphasis: &Emphasis<'_>,
    theme: &Theme,
    frame: &mut Frame<'_>,
    hits: &mut Vec<(Rect, Hit)>,
) -> u16 {
    let (mut lines, mut line): (Vec<Line<'static>>, Vec<Span<'static>>) = (Vec::new(), Vec::new());
    let (width, mut used) = (usize::from(area.width), 0);
    let mut drawn = 0;
    for chip in chips {
        let (text, style) = chip.draw(emphasis, theme);
        let text = one_line(&text, width);
        let wide = text.width();
        if used > 0 && used + 1 + wide > width {
            lines.push(Line::from(std::mem::take(&mut line)));
            used = 0;
        }
        if lines.len() >= usize::from(area.height) {
            break;
        }
        if used > 0 {
            line.push(Span::raw(" "));
            used += 1;
        }
        let row = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let column = u16::try_from(used).unwrap_or(u16::MAX);
        let place = Rect {
            x: area.x.saturating_add(column),
            y: area.y.saturating_add(row),
            width: u16::try_from(wide).unwrap_or(u16::MAX),
            height: 1,
        };
        if let Some(id) = chip.ids.first() {
            hits.push((place, Hit::Card { id: id.clone(), name: chip.name.clone() }));
        }
        line.push(Span::styled(text, style));
        used += wide;
        drawn += 1;
    }
    if !line.is_empty() {
        lines.push(Line::from(line));
    }
    let left = chips.len() - drawn;
    if left > 0
        && let Some(last) = lines.last_mut()
    {
        let more = format!("… +{left} (b)");
        cut(last, width.saturating_sub(more.width() + 1));
        last.spans.push(Span::styled(format!(" {more}"), theme.warn));
    }
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(lines), area);
    rows
}

/// Drops spans from the end of a line until it fits.
fn cut(line: &mut Line<'static>, width: usize) {
    while line.width() > width && line.spans.len() > 1 {
        line.spans.pop();
    }
}

/// Lines that chips take in this width.
pub(super) fn height(chips: &[Chip], width: usize, emphasis: &Emphasis<'_>, theme: &Theme) -> usize {
    let (mut rows, mut used) = (usize::from(!chips.is_empty()), 0);
    for chip in chips {
        let wide = chip.draw(emphasis, theme).0.width().min(width);
        if used > 0 && used + 1 + wide > width {
            rows += 1;
            used = 0;
        }
        used += wide + usize::from(used > 0);
    }
    rows
}
