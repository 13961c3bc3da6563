//! Rendering a page as plain text.

use super::tree::{BLOCKS, Document, NodeId, ROOT};
use reqwest::Url;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Text only.
    Plain,
    /// Text with the addresses of links.
    Links,
}

/// Elements whose content is not shown.
const SILENT: [&str; 17] = [
    "script", "style", "template", "svg", "math", "head", "iframe", "canvas", "audio", "video", "object",
    "noembed", "noframes", "datalist", "select", "textarea", "map",
];
/// Elements on lines of their own, besides the block elements.
const LINES: [&str; 12] =
    ["body", "dd", "dt", "html", "legend", "li", "option", "tbody", "tfoot", "thead", "tr", "caption"];
/// Elements with an empty line around them.
const PARAGRAPHS: [&str; 8] = ["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"];

/// The title of a page.
pub(crate) fn title(document: &Document) -> String {
    let title = document.elements().find(|id| document.name(*id) == Some("title"));
    let text = title.and_then(|id| document.text_of(*document.children(id).first()?));
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_hidden(document: &Document, id: NodeId) -> bool {
    let style = document.attribute(id, "style").unwrap_or_default();
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    document.attribute(id, "hidden").is_some()
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

/// The text of some parts of a page. Addresses of links are made absolute with `base`.
pub(crate) fn text(document: &Document, tops: &[NodeId], style: Style, base: &Url) -> String {
    let base = own_base(document, base);
    let mut page = Page { lines: String::new(), pending: Gap::None, keep: 0 };
    for top in tops {
        page.gap(Gap::Paragraph);
        write(document, *top, style, &base, &mut page);
    }
    page.lines.trim().to_string()
}

/// The address that links are relative to.
fn own_base(document: &Document, base: &Url) -> Url {
    let element = document.elements().find(|id| document.name(*id) == Some("base"));
    let address = element.and_then(|id| document.attribute(id, "href"));
    address.and_then(|address| base.join(address).ok()).unwrap_or_else(|| base.clone())
}

/// Walks the tree without recursion: the depth is bounded, but the stack of a thread is small too.
fn write(document: &Document, top: NodeId, style: Style, base: &Url, page: &mut Page) {
    enum Step {
        Open(NodeId),
        Close(NodeId),
    }
    let mut waiting = vec![Step::Open(top)];
    while let Some(step) = waiting.pop() {
        match step {
            Step::Open(id) => {
                if let Some(text) = document.text_of(id) {
                    page.text(text);
                    continue;
                }
                let name = document.name(id).unwrap_or_default();
                // The selected element itself is always shown.
                if id != top && (SILENT.contains(&name) || is_hidden(document, id)) {
                    continue;
                }
                open(document, id, name, page);
                waiting.push(Step::Close(id));
                waiting.extend(document.children(id).iter().rev().map(|child| Step::Open(*child)));
            }
            Step::Close(id) => {
                let name = document.name(id).unwrap_or_default();
                if name == "a"
                    && style == Style::Links
                    && let Some(address) = address(document, id, base)
                {
                    page.raw(&format!(" <{address}>"));
                }
                close(name, page);
            }
        }
    }
}

/// White space before and after an element.
fn gap_around(name: &str) -> Gap {
    if PARAGRAPHS.contains(&name) {
        Gap::Paragraph
    } else if BLOCKS.contains(&name) || LINES.contains(&name) {
        Gap::Line
    } else {
        Gap::None
    }
}

fn open(document: &Document, id: NodeId, name: &str, page: &mut Page) {
    page.gap(gap_around(name));
    match name {
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            let level = name.trim_start_matches('h').parse().unwrap_or(1);
            page.raw(&"#".repeat(level));
            page.raw(" ");
        }
        "li" => page.raw("- "),
        "br" => page.gap(Gap::Line),
        "hr" => {
            page.gap(Gap::Paragraph);
            page.raw("---");
            page.gap(Gap::Paragraph);
        }
        "img" => {
            let alternative = document.attribute(id, "alt").unwrap_or_default();
            if !alternative.trim().is_empty() {
                page.raw("[image: ");
                page.text(alternative);
                page.raw("]");
            }
        }
        "pre" | "xmp" => page.keep += 1,
        "td" | "th" => page.cell(),
        _ => {}
    }
}

fn close(name: &str, page: &mut Page) {
    if matches!(name, "pre" | "xmp") {
        page.keep = page.keep.saturating_sub(1);
    }
    page.gap(gap_around(name));
}

/// White space that is owed before the next text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
    Paragraph,
}

struct Page {
    lines: String,
    pending: Gap,
    /// Number of open elements that keep their white space.
    keep: usize,
}

impl Page {
    fn gap(&mut self, gap: Gap) {
        self.pending = self.pending.max(gap);
    }

    fn settle(&mut self) {
        if !self.lines.is_empty() {
            self.lines.push_str(match self.pending {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.pending = Gap::None;
    }

    fn raw(&mut self, text: &str) {
        self.settle();
        self.lines.push_str(text);
    }

    fn cell(&mut self) {
        if self.pending < Gap::Line && !self.lines.is_empty() && !self.lines.ends_with('\n') {
            self.pending = Gap::None;
            self.lines.push_str(" | ");
        }
    }

    fn text(&mut self, text: &str) {
        if self.keep > 0 {
            if !text.is_empty() {
                self.raw(text);
            }
            return;
        }
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            if at > 0 && !self.lines.ends_with([' ', '\n']) {
                self.gap(Gap::Space);
            }
            if !word.is_empty() {
                self.raw(word);
            }
        }
    }
}

/// The target of a link, if it is a page.
fn address(document: &Document, id: NodeId, base: &Url) -> Option<Url> {
    let target = document.attribute(id, "href")?.trim();
    if target.is_empty() || target.starts_with('#') {
        return None;
    }
    let mut url = base.join(target).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.set_fragment(None);
    Some(url)
}

/// The links of some parts of a page as (text, address), each address once.
pub(crate) fn links(document: &Document, tops: &[NodeId], base: &Url, most: usize) -> Vec<(String, String)> {
    let base = own_base(document, base);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for id in tops.iter().flat_map(|top| [*top].into_iter().chain(document.below(*top))) {
        if found.len() >= most {
            break;
        }
        if document.name(id) != Some("a") {
            continue;
        }
        if let Some(address) = address(document, id, &base)
            && seen.insert(address.to_string())
        {
            let words = text(document, &[id], Style::Plain, &base);
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((words, address.into()));
        }
    }
    found
}

impl Document {
    /// The main part of a page where it names one, else the whole.
    pub(crate) fn main_part(&self) -> Vec<NodeId> {
        let named = |wanted: &str| {
            self.elements().find(|id| {
                self.name(*id) == Some(wanted)
                    || (wanted == "main" && self.attribute(*id, "role") == Some("main"))
            })
        };
        let has_words = |id: &NodeId| self.below(*id).len() > 2 || self.children(*id).len() > 1;
        named("main")
            .filter(has_words)
            .or_else(|| named("article").filter(has_words))
            .map_or_else(|| vec![ROOT], |id| vec![id])
    }

    pub(crate) fn whole(&self) -> Vec<NodeId> {
        vec![ROOT]
    }
}
