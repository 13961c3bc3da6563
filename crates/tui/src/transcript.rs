//! Messages and calls as blocks of lines. Only blocks that are looked at are laid out, and each is laid out once for a width.

use crate::text::{Kind, Layout, one_line};
use crate::theme::Theme;
use marvin_agent::chat::Message;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use serde_json::Value;
use std::sync::Arc;

/// Lines of a change that a folded card shows.
const FEW: usize = 12;

/// Something that was said or done.
#[derive(Debug)]
pub(crate) enum Content {
    /// As it is stored.
    Said(Arc<Message>),
    /// A text that is still arriving, or that is not part of the chat log; with its item.
    Arriving(String, String),
    Call(Call),
    /// Something that the shell says.
    Note(String, Tone),
}

/// How a note is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// By the way.
    Quiet,
    Plain,
    Bad,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) item: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) ended: Option<Value>,
    pub(crate) open: bool,
}

struct Block {
    content: Content,
    laid_out: Option<BlockLayout>,
}

struct BlockLayout {
    width: usize,
    head: Vec<Line<'static>>,
    body: Layout,
}

/// All of it, and what part of it is looked at.
pub(crate) struct Transcript {
    blocks: Vec<Block>,
    /// The lowest block that is shown, and how many of its lines are below the screen.
    lowest: usize,
    below: usize,
    /// Whether the end is shown, also when it moves.
    follows: bool,
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Transcript").field("blocks", &self.blocks.len()).finish_non_exhaustive()
    }
}

impl Transcript {
    pub(crate) fn new() -> Self {
        Transcript { blocks: Vec::new(), lowest: 0, below: 0, follows: true }
    }

    pub(crate) fn clear(&mut self) {
        *self = Transcript::new();
    }

    pub(crate) fn push(&mut self, content: Content) -> usize {
        self.blocks.push(Block { content, laid_out: None });
        if self.follows {
            self.go_to_end();
        }
        self.blocks.len() - 1
    }

    /// Puts something in place of a block.
    pub(crate) fn put(&mut self, at: usize, content: Content) {
        if let Some(block) = self.blocks.get_mut(at) {
            *block = Block { content, laid_out: None };
        }
        if self.follows {
            self.go_to_end();
        }
    }

    /// The newest block that is so, from `from` on.
    pub(crate) fn find(&self, from: usize, so: impl Fn(&Content) -> bool) -> Option<usize> {
        let tail = self.blocks.iter().enumerate().skip(from);
        tail.rev().find(|(_, block)| so(&block.content)).map(|(at, _)| at)
    }

    pub(crate) fn content(&self, at: usize) -> Option<&Content> {
        self.blocks.get(at).map(|block| &block.content)
    }

    /// Appends to a text that is arriving; what is laid out of it stays.
    pub(crate) fn append(&mut self, at: usize, piece: &str) {
        if let Some(Block { content: Content::Arriving(_, text), .. }) = self.blocks.get_mut(at) {
            text.push_str(piece);
        }
        if self.follows {
            self.go_to_end();
        }
    }

    pub(crate) fn call(&mut self, at: usize, change: impl FnOnce(&mut Call)) {
        if let Some(block) = self.blocks.get_mut(at)
            && let Content::Call(call) = &mut block.content
        {
            change(call);
            block.laid_out = None;
        }
    }

    /// Opens all calls, or folds them if one is open.
    pub(crate) fn fold(&mut self) {
        let is_open = |block: &Block| matches!(&block.content, Content::Call(call) if call.open);
        let open = !self.blocks.iter().any(is_open);
        for block in &mut self.blocks {
            if let Content::Call(call) = &mut block.content {
                call.open = open;
                block.laid_out = None;
            }
        }
        self.below = 0;
    }

    pub(crate) fn go_to_end(&mut self) {
        self.lowest = self.blocks.len().saturating_sub(1);
        self.below = 0;
        self.follows = true;
    }

    /// To the very beginning; nothing between is laid out.
    pub(crate) fn go_to_start(&mut self, width: usize, height: usize, theme: &Theme) {
        (self.lowest, self.below, self.follows) = (0, 0, false);
        self.below = self.height(0, width, theme).saturating_sub(1);
        self.fill(width, height, theme);
    }

    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    fn height(&mut self, at: usize, width: usize, theme: &Theme) -> usize {
        let is_call = |block: &Block| matches!(block.content, Content::Call(_));
        let next_is_call = self.blocks.get(at + 1).is_some_and(is_call);
        let Some(block) = self.blocks.get_mut(at) else { return 0 };
        // Cards stand close together; everything else has an empty line behind it.
        let gap = usize::from(!(next_is_call && is_call(block)));
        block.lay_out(width, theme) + gap
    }

    /// Up by so many lines, as far as there is something above.
    pub(crate) fn up(&mut self, lines: usize, width: usize, height: usize, theme: &Theme) {
        let mut left = lines;
        while left > 0 {
            let here = self.height(self.lowest, width, theme).saturating_sub(self.below);
            if left < here || self.lowest == 0 {
                self.below += left.min(here.saturating_sub(1));
                break;
            }
            left -= here;
            self.lowest -= 1;
            self.below = 0;
        }
        self.follows = false;
        self.fill(width, height, theme);
    }

    /// Down by so many lines; at the end it follows again.
    pub(crate) fn down(&mut self, lines: usize, width: usize, theme: &Theme) {
        let mut left = lines;
        while left > 0 {
            if left <= self.below {
                self.below -= left;
                break;
            }
            left -= self.below;
            self.below = 0;
            if self.lowest + 1 >= self.blocks.len() {
                break;
            }
            self.lowest += 1;
            self.below = self.height(self.lowest, width, theme);
        }
        if self.lowest + 1 >= self.blocks.len() && self.below == 0 {
            self.follows = true;
        }
    }

    /// Moves down until the screen is filled, if there is enough to fill it.
    fn fill(&mut self, width: usize, height: usize, theme: &Theme) {
        let mut above = self.height(self.lowest, width, theme).saturating_sub(self.below);
        let mut at = self.lowest;
        while above < height && at > 0 {
            at -= 1;
            above += self.height(at, width, theme);
        }
        if above < height {
            self.down(height - above, width, theme);
        }
    }

    /// The lines that a screen of this size shows, at most `height` of them.
    pub(crate) fn screen(&mut self, width: usize, height: usize, theme: &Theme) -> Vec<Line<'static>> {
        if self.blocks.is_empty() || height == 0 {
            return Vec::new();
        }
        self.lowest = self.lowest.min(self.blocks.len() - 1);
        let whole = self.height(self.lowest, width, theme);
        self.below = self.below.min(whole.saturating_sub(1));
        let mut lines: Vec<Line<'static>> = Vec::with_capacity(height);
        let (mut at, mut end) = (self.lowest, whole - self.below);
        loop {
            let wanted = height - lines.len();
            let from = end.saturating_sub(wanted);
            if let Some(block) = self.blocks.get(at) {
                // From the bottom up.
                lines.extend((from..end).rev().filter_map(|line| block.line(line)));
            }
            if lines.len() >= height || at == 0 {
                break;
            }
            at -= 1;
            end = self.height(at, width, theme);
        }
        lines.reverse();
        lines
    }
}

impl Block {
    /// Lays it out if need be; gives its height.
    fn lay_out(&mut self, width: usize, theme: &Theme) -> usize {
        if self.laid_out.as_ref().is_none_or(|laid_out| laid_out.width != width) {
            let (head, indent, kind) = match &self.content {
                Content::Said(message) => {
                    (vec![head(&message.role, &message.time, theme)], 2, kind_of(&message.role, theme))
                }
                Content::Arriving(..) => (vec![head("assistant", "", theme)], 2, Kind::Markdown),
                Content::Call(call) => (card(call, width, theme), 4, kind_of_call(call, theme)),
                Content::Note(_, tone) => (Vec::new(), 2, Kind::Plain(tone.style(theme))),
            };
            self.laid_out = Some(BlockLayout { width, head, body: Layout::new(width, indent, kind) });
        }
        let call_text;
        let text = match &self.content {
            Content::Said(message) => message.text.as_str(),
            Content::Arriving(_, text) | Content::Note(text, _) => text,
            Content::Call(call) => {
                call_text = details(call);
                &call_text
            }
        };
        if let Some(laid_out) = &mut self.laid_out {
            laid_out.body.extend(text, theme);
        }
        self.height()
    }

    fn height(&self) -> usize {
        let Some(laid_out) = &self.laid_out else { return 0 };
        laid_out.head.len() + laid_out.body.lines().len()
    }

    fn line(&self, at: usize) -> Option<Line<'static>> {
        let laid_out = self.laid_out.as_ref()?;
        let head = laid_out.head.len();
        if at < head {
            return laid_out.head.get(at).cloned();
        }
        Some(laid_out.body.lines().get(at - head).cloned().unwrap_or_default())
    }
}

impl Tone {
    fn style(self, theme: &Theme) -> Style {
        match self {
            Tone::Quiet => theme.time,
            Tone::Plain => Style::default(),
            Tone::Bad => theme.bad,
        }
    }
}

fn head(role: &str, time: &str, theme: &Theme) -> Line<'static> {
    let (name, style) = match role {
        "you" => ("you", theme.you),
        "assistant" => ("marvin", theme.marvin),
        _ => ("system", theme.system),
    };
    let mut spans = vec![Span::styled(name, style)];
    if !time.is_empty() {
        spans.push(Span::styled(format!("  {}", one_line(time, 8)), theme.time));
    }
    Line::from(spans)
}

fn kind_of(role: &str, theme: &Theme) -> Kind {
    match role {
        "assistant" => Kind::Markdown,
        "you" => Kind::Plain(Style::default()),
        _ => Kind::Plain(theme.system),
    }
}

fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// A call in one line: the tool, its arguments, the verdict of the gate, and the result.
fn card(call: &Call, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let sign = if call.open { "▾" } else { "▸" };
    let (mark, style, verdict) = match &call.ended {
        None => ("…", theme.warn, String::new()),
        Some(ended) => {
            let decision = text_at(ended, "/verdict/decision");
            let (mark, style) = match (ended.get("ok").and_then(Value::as_bool), decision) {
                (Some(true), _) => ("✔", theme.good),
                (_, "deny" | "ask") => ("⊘", theme.bad),
                _ => ("✘", theme.bad),
            };
            let took = ended.pointer("/result/elapsed_ms").and_then(Value::as_u64).unwrap_or(0);
            let reason = text_at(ended, "/verdict/reason");
            (mark, style, format!("{decision}: {reason} ({:.1} s)", took as f64 / 1000.0))
        }
    };
    let name = one_line(&call.name, 40);
    let what = one_line(&brief(&call.arguments), width.saturating_sub(name.chars().count() + 10).max(8));
    let mut lines = vec![Line::from(vec![
        Span::raw(format!("  {sign} ")),
        Span::styled(format!("{mark} "), style),
        Span::styled(name, theme.tool.add_modifier(Modifier::BOLD)),
        Span::raw(format!("  {what}")),
    ])];
    if !verdict.is_empty() {
        let refused = call.ended.as_ref().is_some_and(|ended| text_at(ended, "/verdict/decision") != "allow");
        let style = if refused { theme.bad } else { theme.time };
        lines.push(Line::from(Span::styled(
            format!("      {}", one_line(&verdict, width.saturating_sub(7))),
            style,
        )));
    }
    lines
}

/// The most telling of a call's arguments.
fn brief(arguments: &Value) -> String {
    let Some(map) = arguments.as_object() else { return String::new() };
    for key in ["command", "path", "file", "query", "pattern", "url", "title", "text", "assignment"] {
        if let Some(text) = map.get(key).and_then(Value::as_str) {
            return text.to_string();
        }
    }
    if map.is_empty() { String::new() } else { arguments.to_string() }
}

/// The change that a call makes, as lines with a sign; none when it makes none.
fn change(arguments: &Value) -> Option<String> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    if let Some(patch) = text("patch").or(text("diff")) {
        return Some(patch.to_string());
    }
    let signed =
        |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    if let (Some(old), Some(new)) = (text("old_str"), text("new_str")) {
        return Some(signed('-', old) + &signed('+', new));
    }
    let made = text("path").and(text("content")).or(text("file").and(text("content")));
    made.map(|content| signed('+', content))
}

fn kind_of_call(call: &Call, theme: &Theme) -> Kind {
    if change(&call.arguments).is_some() { Kind::Diff } else { Kind::Plain(theme.time) }
}

/// The part of a card below its first lines.
fn details(call: &Call) -> String {
    let change = change(&call.arguments);
    if !call.open {
        let Some(change) = change else { return String::new() };
        let count = change.lines().count();
        let mut few: String = change.lines().take(FEW).map(|line| format!("{line}\n")).collect();
        if count > FEW {
            few.push_str(&format!("… {} more lines (Ctrl+O)\n", count - FEW));
        }
        return few;
    }
    let mut text = change.unwrap_or_else(|| format!("{:#}", call.arguments));
    if let Some(ended) = &call.ended {
        let result = ended.get("result").unwrap_or(&Value::Null);
        let output = ["/data/output", "/data/text", "/summary", "/error"]
            .iter()
            .map(|path| text_at(result, path))
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        text.push_str(&format!("\n→ {output}\n"));
        match result.get("data") {
            Some(Value::Null) | None => {}
            Some(data) => text.push_str(&format!("{data:#}\n")),
        }
        if let Some(why) = ended.get("why").and_then(Value::as_str) {
            text.push_str(&format!("{why}\n"));
        }
        let rule = text_at(ended, "/verdict/rule");
        if !rule.is_empty() {
            text.push_str(&format!("rule of the gate: {rule}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: usize) -> Transcript {
        let mut transcript = Transcript::new();
        for n in 0..count {
            transcript.push(Content::Note(format!("note {n}\nsecond line"), Tone::Plain));
        }
        transcript
    }

    fn shown(transcript: &mut Transcript, height: usize) -> Vec<String> {
        transcript
            .screen(40, height, &Theme::plain())
            .iter()
            .map(|line| line.to_string().trim().to_string())
            .collect()
    }

    #[test]
    fn only_what_is_seen_is_laid_out() {
        let mut transcript = filled(5_000);
        assert_eq!(shown(&mut transcript, 5), ["second line", "", "note 4999", "second line", ""]);
        let laid_out = transcript.blocks.iter().filter(|block| block.laid_out.is_some()).count();
        assert!(laid_out < 4, "{laid_out}");
    }

    #[test]
    fn scrolling_ends_at_both_ends_and_follows_at_the_lower() {
        let theme = Theme::plain();
        let mut transcript = filled(10);
        transcript.up(4, 40, 5, &theme);
        assert_eq!(shown(&mut transcript, 5)[4], "second line");
        assert!(!transcript.follows());
        transcript.push(Content::Note("new".into(), Tone::Plain));
        assert_eq!(shown(&mut transcript, 5)[4], "second line", "it stays where the person reads");
        transcript.up(1_000, 40, 5, &theme);
        assert_eq!(shown(&mut transcript, 5)[0], "note 0");
        transcript.go_to_end();
        transcript.go_to_start(40, 5, &theme);
        assert_eq!(shown(&mut transcript, 5)[0], "note 0");
        assert_eq!(shown(&mut transcript, 5).len(), 5);
        transcript.down(1_000, 40, &theme);
        assert!(transcript.follows());
        assert_eq!(shown(&mut transcript, 2), ["new", ""]);
        let mut short = filled(1);
        short.up(9, 40, 20, &theme);
        assert_eq!(shown(&mut short, 20).len(), 3);
        assert_eq!(shown(&mut Transcript::new(), 9).len(), 0);
    }
}
