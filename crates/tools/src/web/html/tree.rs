//! The tree of a page, built in one pass with bounds.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use std::borrow::Cow;
use std::cell::RefCell;

/// Deeper elements become children of the deepest one.
pub(super) const MAX_ELEMENT_DEPTH: usize = 256;
/// Elements and texts; later ones are left out.
const MAX_NODES: usize = 300_000;

const MAX_ATTRIBUTES: usize = 200;
/// Words of one tag, including those inside quotes; a longer tag is left out.
const MAX_TAG_WORDS: usize = 2_000;

/// Elements without an end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Block elements: they are on lines of their own, and end an open paragraph.
pub(super) const BLOCKS: [&str; 28] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "main",
    "menu",
    "nav",
    "ol",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "ul",
    "xmp",
];
/// Further elements that end an open paragraph.
const PARAGRAPH_ENDS: [&str; 8] = ["h1", "h2", "h3", "h4", "h5", "h6", "hr", "p"];

/// A node, by its index in the document.
pub(crate) type NodeId = usize;

#[derive(Debug)]
pub(crate) enum Kind {
    /// An element: its name in lower case, and its attributes, also with names in lower case.
    Element {
        name: String,
        attributes: Vec<(String, String)>,
    },
    Text(String),
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    parent: Option<NodeId>,
    children: Vec<NodeId>,
}

#[derive(Debug)]
pub(crate) struct Document {
    nodes: Vec<Node>,
    /// Whether something was left out.
    pub(crate) cut: bool,
}

/// The root of every document.
pub(crate) const ROOT: NodeId = 0;

impl Document {
    pub(crate) fn parse(html: &str) -> Self {
        let root = Node {
            kind: Kind::Element { name: String::new(), attributes: Vec::new() },
            parent: None,
            children: Vec::new(),
        };
        let builder = Builder { document: Document { nodes: vec![root], cut: false }, open: vec![ROOT] };
        let tokenizer = Tokenizer::new(Sink(RefCell::new(builder)), Default::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(&tame(html)));
        // It pauses only where the sink asks for it, which this one does not.
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        tokenizer.sink.0.into_inner().document
    }

    /// The element's name; `None` for text.
    pub(crate) fn name(&self, id: NodeId) -> Option<&str> {
        match &self.nodes.get(id)?.kind {
            Kind::Element { name, .. } => Some(name),
            Kind::Text(_) => None,
        }
    }

    /// The text of a text node.
    pub(crate) fn text_of(&self, id: NodeId) -> Option<&str> {
        match &self.nodes.get(id)?.kind {
            Kind::Text(text) => Some(text),
            Kind::Element { .. } => None,
        }
    }

    /// An attribute of an element.
    pub(crate) fn attribute(&self, id: NodeId, wanted: &str) -> Option<&str> {
        match &self.nodes.get(id)?.kind {
            Kind::Element { attributes, .. } => {
                attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
            }
            Kind::Text(_) => None,
        }
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes.get(id)?.parent
    }

    pub(crate) fn children(&self, id: NodeId) -> &[NodeId] {
        self.nodes.get(id).map_or(&[], |node| node.children.as_slice())
    }

    /// Every element in the order of the page.
    pub(crate) fn elements(&self) -> impl Iterator<Item = NodeId> {
        // Nodes are numbered in document order.
        (1..self.nodes.len()).filter(|id| self.name(*id).is_some())
    }

    /// Whether scripts belong to the page.
    pub(crate) fn has_scripts(&self) -> bool {
        self.elements().any(|id| self.name(id) == Some("script"))
    }

    /// Every element below one, in the order of the page.
    pub(crate) fn below(&self, top: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut waiting: Vec<NodeId> = self.children(top).iter().rev().copied().collect();
        while let Some(id) = waiting.pop() {
            if self.name(id).is_some() {
                found.push(id);
                waiting.extend(self.children(id).iter().rev());
            }
        }
        found
    }
}

/// The page without the attributes beyond the bound: the tokenizer compares every attribute with all before it.
fn tame(html: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut done = 0;
    let mut bytes = html.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        if byte != b'<' || !bytes.peek().is_some_and(|(_, next)| next.is_ascii_alphabetic()) {
            continue;
        }
        let (mut words, mut outside, mut before, mut quote, mut cut) = (0, 0, b'<', None, None);
        let mut end = at + 1;
        for (place, byte) in bytes.by_ref() {
            end = place;
            let begins = !is_gap(byte) && is_gap(before);
            words += usize::from(begins);
            match (quote, byte) {
                (None, b'>') => break,
                (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
                (Some(open), _) if open == byte => quote = None,
                (None, _) if begins => {
                    outside += 1;
                    if outside > MAX_ATTRIBUTES && cut.is_none() {
                        cut = Some(place);
                    }
                }
                _ => {}
            }
            before = byte;
        }
        // The tokenizer may see quotes differently: then the whole tag is dropped.
        if words > MAX_TAG_WORDS {
            cut = Some(at);
            end += 1;
        }
        if let Some(cut) = cut {
            // Both places are those of ASCII characters, or begin one.
            kept.push_str(html.get(done..cut).unwrap_or_default());
            done = end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(html);
    }
    kept.push_str(html.get(done..).unwrap_or_default());
    Cow::Owned(kept)
}

fn is_gap(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'')
}

struct Builder {
    document: Document,
    /// The elements that are open, outermost first; the root is always there.
    open: Vec<NodeId>,
}

impl Builder {
    fn name_at(&self, place: usize) -> &str {
        self.open.get(place).and_then(|id| self.document.name(*id)).unwrap_or_default()
    }

    fn add(&mut self, kind: Kind) -> Option<NodeId> {
        if self.document.nodes.len() >= MAX_NODES {
            self.document.cut = true;
            return None;
        }
        let parent = self.open.last().copied().unwrap_or(ROOT);
        let id = self.document.nodes.len();
        self.document.nodes.push(Node { kind, parent: Some(parent), children: Vec::new() });
        if let Some(parent) = self.document.nodes.get_mut(parent) {
            parent.children.push(id);
        }
        Some(id)
    }

    fn text(&mut self, text: &str) {
        let parent = self.open.last().copied().unwrap_or(ROOT);
        let last = self.document.children(parent).last().copied();
        if let Some(Kind::Text(before)) =
            last.and_then(|id| self.document.nodes.get_mut(id)).map(|node| &mut node.kind)
        {
            before.push_str(text);
        } else {
            self.add(Kind::Text(text.to_string()));
        }
    }

    /// Closes the innermost open element of these names, unless a boundary is found first.
    fn close(&mut self, names: &[&str], boundaries: &[&str]) {
        for place in (1..self.open.len()).rev() {
            let name = self.name_at(place);
            if names.contains(&name) {
                self.open.truncate(place);
                return;
            }
            if boundaries.contains(&name) {
                return;
            }
        }
    }

    /// Closes the elements that this start tag closes implicitly.
    fn close_implicitly(&mut self, name: &str) {
        match name {
            "li" => self.close(&["li"], &["ul", "ol", "menu", "table"]),
            "dt" | "dd" => self.close(&["dt", "dd"], &["dl", "table"]),
            "td" | "th" => self.close(&["td", "th"], &["tr", "table"]),
            "tr" => self.close(&["tr"], &["table"]),
            "tbody" | "thead" | "tfoot" => self.close(&["tbody", "thead", "tfoot"], &["table"]),
            "option" | "optgroup" => self.close(&["option"], &["select", "datalist"]),
            "a" => self.close(&["a"], &["td", "th", "table"]),
            "body" => self.close(&["head"], &[]),
            _ if BLOCKS.contains(&name) || PARAGRAPH_ENDS.contains(&name) => {
                self.close(&["p"], &["button", "td", "th", "table", "li", "div", "section", "article"]);
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag) -> TokenSinkResult<()> {
        let name = tag.name.to_string();
        self.close_implicitly(&name);
        let attributes = tag
            .attrs
            .into_iter()
            .map(|entry| (entry.name.local.to_string(), entry.value.to_string()))
            .collect();
        let raw = match name.as_str() {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(RawKind::Rawtext),
            "textarea" | "title" => TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        };
        // In SVG and MathML, as in XML, a tag can be self-closing.
        let ends = VOID.contains(&name.as_str())
            || (tag.self_closing
                && (1..self.open.len()).any(|at| matches!(self.name_at(at), "svg" | "math")));
        let deep = self.open.len() > MAX_ELEMENT_DEPTH;
        self.document.cut |= deep;
        if let Some(id) = (!deep).then(|| self.add(Kind::Element { name, attributes })).flatten()
            && !ends
        {
            self.open.push(id);
        }
        raw
    }
}

struct Sink(RefCell<Builder>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut builder = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return builder.start(tag),
            Token::TagToken(tag) => builder.close(&[&tag.name], &[]),
            Token::CharacterTokens(text) => builder.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}
