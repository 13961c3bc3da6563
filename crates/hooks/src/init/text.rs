//! Edits of JSON text that keep its layout.
//!
//! A settings file belongs to a person. Parsing and writing it again would lose the layout, so values are inserted and
//! removed in the text itself, at the places that jsonc-parser finds. Every change is an [`Edit`] that can be undone.
//!
//! Limits: the text must be strict JSON (no comments, no trailing commas), which the caller has checked with serde_json.

use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of a text: the `len` bytes at `at` replace `was`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) was: String,
}

/// Replaces a range; `None` when it is not in the text.
fn replace(text: &mut String, from: usize, to: usize, new: &str) -> Option<Edit> {
    let was = text.get(from..to)?.to_string();
    text.replace_range(from..to, new);
    Some(Edit { at: from, len: new.len(), was })
}

/// The bytes before the edits; `None` when the edits do not match them.
pub(super) fn undo(bytes: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    for edit in edits.iter().rev() {
        let end = edit.at.checked_add(edit.len)?;
        bytes = [bytes.get(..edit.at)?, edit.was.as_bytes(), bytes.get(end..)?].concat();
    }
    Some(bytes)
}

/// A value and its range.
#[derive(Debug)]
pub(super) struct Node {
    start: usize,
    end: usize,
    inside: NodeContent,
}

#[derive(Debug)]
enum NodeContent {
    Object(Vec<Member>),
    List(Vec<Node>),
    Plain,
}

#[derive(Debug)]
struct Member {
    key: String,
    start: usize,
    value: Node,
}

impl Node {
    /// Parses valid JSON; skips a BOM.
    pub(super) fn read(text: &str) -> Option<Node> {
        let json = text.strip_prefix('\u{feff}').unwrap_or(text);
        let tree = parse_to_ast(json, &CollectOptions::default(), &ParseOptions::default()).ok()?;
        Some(Node::from_tree(&tree.value?, text.len() - json.len()))
    }

    /// The ranges of a tree that begins at `offset`. The parser bounds its depth.
    fn from_tree(tree: &ast::Value<'_>, offset: usize) -> Node {
        let member = |member: &ast::ObjectProp<'_>| Member {
            key: member.name.as_str().to_string(),
            start: offset + member.start(),
            value: Node::from_tree(&member.value, offset),
        };
        let inside = match tree {
            ast::Value::Object(object) => NodeContent::Object(object.properties.iter().map(member).collect()),
            ast::Value::Array(list) => {
                NodeContent::List(list.elements.iter().map(|entry| Node::from_tree(entry, offset)).collect())
            }
            _ => NodeContent::Plain,
        };
        Node { start: offset + tree.start(), end: offset + tree.end(), inside }
    }

    pub(super) fn member(&self, key: &str) -> Option<&Node> {
        let NodeContent::Object(members) = &self.inside else { return None };
        members.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    pub(super) fn entry(&self, index: usize) -> Option<&Node> {
        let NodeContent::List(entries) = &self.inside else { return None };
        entries.get(index)
    }

    /// The number of members or entries.
    pub(super) fn len(&self) -> usize {
        self.parts().len()
    }

    /// The first duplicate name of an object in the text.
    pub(super) fn twice(&self) -> Option<&str> {
        match &self.inside {
            NodeContent::Plain => None,
            NodeContent::List(entries) => entries.iter().find_map(Node::twice),
            NodeContent::Object(members) => {
                let mut names: Vec<&str> = members.iter().map(|member| member.key.as_str()).collect();
                names.sort_unstable();
                let pairs = names.iter().zip(names.iter().skip(1));
                let twice = pairs.filter(|(one, two)| one == two).map(|(one, _)| *one).next();
                twice.or_else(|| members.iter().find_map(|member| member.value.twice()))
            }
        }
    }

    /// The range of each member or entry.
    fn parts(&self) -> Vec<(usize, usize)> {
        match &self.inside {
            NodeContent::Object(members) => members.iter().map(|part| (part.start, part.value.end)).collect(),
            NodeContent::List(entries) => entries.iter().map(|part| (part.start, part.end)).collect(),
            NodeContent::Plain => Vec::new(),
        }
    }

    /// Removes a member with its comma.
    pub(super) fn remove_member(&self, text: &mut String, key: &str) -> Option<Edit> {
        let NodeContent::Object(members) = &self.inside else { return None };
        self.remove(text, members.iter().position(|member| member.key == key)?)
    }

    /// Removes a list entry with its comma.
    pub(super) fn remove(&self, text: &mut String, index: usize) -> Option<Edit> {
        let parts = self.parts();
        let (start, end) = *parts.get(index)?;
        let before = index.checked_sub(1).and_then(|index| parts.get(index));
        let (from, to) = match (before, parts.get(index + 1)) {
            (Some((_, end_before)), _) => (*end_before, end),
            (None, Some((next, _))) => (start, *next),
            (None, None) => (self.start + 1, self.end.checked_sub(1)?),
        };
        replace(text, from, to, "")
    }

    /// Appends a member (with a key) or an entry (without), in the layout of its neighbours.
    pub(super) fn append(
        &self,
        text: &mut String,
        key: Option<&str>,
        value: &Value,
        levels: usize,
    ) -> Option<Edit> {
        let style = Style::detect(text);
        let name = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
        let Some((start, end)) = self.parts().last().copied() else {
            let (from, to) = (self.start + 1, self.end.checked_sub(1)?);
            if !style.lines {
                return replace(text, from, to, &format!("{name}{}", inline(value)));
            }
            let outer = style.indent_at(text, self.start);
            let inner = format!("{outer}{}", style.unit);
            let new =
                format!("{0}{inner}{name}{1}{0}{outer}", style.newline, style.render(value, &inner, levels));
            return replace(text, from, to, &new);
        };
        let gap = gap_before(text, start)?.to_string();
        let new = match gap.rfind('\n') {
            Some(at) => {
                let indent = gap.get(at + 1..).unwrap_or_default();
                format!(",{gap}{name}{}", style.render(value, indent, levels))
            }
            None => format!(",{gap}{name}{}", inline(value)),
        };
        replace(text, end, end, &new)
    }
}

/// The white space that ends at `at`.
fn gap_before(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    before.get(before.trim_end_matches([' ', '\t', '\r', '\n']).len()..)
}

/// The layout of a text.
#[derive(Debug)]
pub(super) struct Style {
    newline: &'static str,
    unit: String,
    lines: bool,
}

impl Style {
    /// Detects the layout; by default two spaces per level.
    fn detect(text: &str) -> Style {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = Node::read(text).and_then(|root| root.parts().first().copied());
        let gap = first.and_then(|(start, _)| gap_before(text, start));
        let indent = gap.map(|gap| gap.rfind('\n').and_then(|at| gap.get(at + 1..)).map(str::to_string));
        match indent {
            None => Style { newline, unit: "  ".to_string(), lines: true },
            Some(None) => Style { newline, unit: String::new(), lines: false },
            Some(Some(unit)) => Style { newline, unit, lines: true },
        }
    }

    /// The indentation of the line.
    fn indent_at(&self, text: &str, at: usize) -> String {
        let line = text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
        let blank = |char: &char| *char == ' ' || *char == '\t';
        line.chars().take_while(blank).collect()
    }

    /// A value over several lines down to `levels`, then on one line.
    fn render(&self, value: &Value, indent: &str, levels: usize) -> String {
        let inner = format!("{indent}{}", self.unit);
        let (open, close, parts): (char, char, Vec<String>) = match value {
            Value::Object(map) if levels > 0 && !map.is_empty() => {
                let part = |(key, value): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.render(value, &inner, levels - 1))
                };
                ('{', '}', map.iter().map(part).collect())
            }
            Value::Array(list) if levels > 0 && !list.is_empty() => {
                ('[', ']', list.iter().map(|value| self.render(value, &inner, levels - 1)).collect())
            }
            _ => return inline(value),
        };
        let newline = self.newline;
        let body = parts.join(&format!(",{newline}{inner}"));
        format!("{open}{newline}{inner}{body}{newline}{indent}{close}")
    }
}

/// A value on one line, with a space after every colon and comma.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), inline(value)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// The text of a new file with one value.
pub(super) fn whole(value: &Value, levels: usize) -> String {
    let style = Style { newline: "\n", unit: "  ".to_string(), lines: true };
    format!("{}\n", style.render(value, "", levels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn appended(before: &str, key: &str, value: &Value) -> String {
        let mut text = before.to_string();
        let edit = Node::read(before).unwrap().append(&mut text, Some(key), value, 2).unwrap();
        assert_eq!(undo(text.as_bytes(), std::slice::from_ref(&edit)).unwrap(), before.as_bytes(), "undone");
        let mut again = text.clone();
        Node::read(&text).unwrap().remove_member(&mut again, key).unwrap();
        if Node::read(before).unwrap().len() > 0 {
            assert_eq!(again, before, "taken out");
        }
        text
    }

    #[test]
    fn inserted_text_has_the_layout_of_its_neighbours() {
        let value = json!({"b": [1]});
        assert_eq!(
            appended("{\n    \"a\": 1\n}\n", "k", &value),
            "{\n    \"a\": 1,\n    \"k\": {\n        \"b\": [\n            1\n        ]\n    }\n}\n"
        );
        assert_eq!(appended("{\"a\":1}", "k", &value), "{\"a\":1,\"k\": {\"b\": [1]}}");
        assert_eq!(appended("{ \"a\": 1 }", "k", &json!(2)), "{ \"a\": 1, \"k\": 2 }");
        assert_eq!(appended("{\r\n\t\"a\": 1\r\n}", "k", &json!(2)), "{\r\n\t\"a\": 1,\r\n\t\"k\": 2\r\n}");
        assert_eq!(appended("{ }", "k", &json!(2)), "{\n  \"k\": 2\n}");
        assert_eq!(
            appended("\u{feff}{\"ä\":\"\\\"}\"}", "k", &json!(2)),
            "\u{feff}{\"ä\":\"\\\"}\",\"k\": 2}"
        );
    }

    #[test]
    fn the_first_the_last_and_the_only_one_can_be_taken_out() {
        for (index, left) in [(0, "[2, 3]"), (1, "[1, 3]"), (2, "[1, 2]")] {
            let mut text = "[1, 2, 3]".to_string();
            Node::read(&text).unwrap().remove(&mut text, index).unwrap();
            assert_eq!(text, left);
        }
        let mut text = "[ 1 ]".to_string();
        Node::read(&text).unwrap().remove(&mut text, 0).unwrap();
        assert_eq!(text, "[]");
    }

    #[test]
    fn names_that_stand_twice_are_found() {
        assert_eq!(Node::read(r#"{"a":[{"b":1,"c":2,"b":3}]}"#).unwrap().twice(), Some("b"));
        assert_eq!(Node::read(r#"{"a":[{"b":1}],"b":3}"#).unwrap().twice(), None);
    }

    #[test]
    fn no_text_is_too_much_for_it() {
        for text in [
            "",
            "{",
            "[",
            "\"",
            "\"\\",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "[1,",
            "}",
            "{]",
            "nul",
            "\u{feff}",
        ] {
            Node::read(text);
        }
        assert!(Node::read(&"[".repeat(100_000)).is_none());
        assert!(undo(b"abc", &[Edit { at: 2, len: usize::MAX, was: String::new() }]).is_none());
        assert!(undo(b"abc", &[Edit { at: 4, len: 0, was: "x".into() }]).is_none());
    }
}
