//! Tool calls while they arrive in pieces.
//!
//! A piece says which call it belongs to by `index`, or by `id`, or by nothing but its place in the list; servers that
//! imitate OpenAI's wire differ in all of these. Whatever arrives is put together as text and understood once, at the
//! end, by [`Arguments`].

use super::text::Text;
use crate::arguments::Arguments;
use crate::message::{Message, ToolCall};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// One call that is being put together.
#[derive(Debug, Default)]
pub(super) struct Building {
    index: Option<u64>,
    /// The vendor's id; empty where it gives none.
    pub(super) id: String,
    /// The tool's name.
    pub(super) name: String,
    /// The arguments so far, as text.
    pub(super) text: String,
    /// Data that the vendor wants back with the call.
    pub(super) opaque: Option<Value>,
}

impl Building {
    /// Adds a piece of arguments: a JSON string is a piece of text, anything else is a value in full.
    pub(super) fn arguments(&mut self, raw: &RawValue) {
        let raw = raw.get();
        match serde_json::from_str::<Text<'_>>(raw) {
            Ok(piece) => self.text.push_str(&piece),
            Err(_) if raw == "null" => {}
            Err(_) => self.text.push_str(raw),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Building>,
    /// Start of the newest group of calls without index and id.
    base: usize,
}

impl Calls {
    /// The call that a piece belongs to; a new one where it belongs to none. There always is one.
    pub(super) fn slot(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        position: usize,
    ) -> Option<&mut Building> {
        let id = id.unwrap_or_default();
        let name = name.unwrap_or_default();
        let found = if let Some(index) = index {
            // Some servers number every parallel call 0; another id with a name of its own is another call.
            self.list.iter().rposition(|call| {
                call.index == Some(index)
                    && (id.is_empty() || name.is_empty() || call.id.is_empty() || call.id == id)
            })
        } else if !id.is_empty() {
            self.list.iter().position(|call| call.id == id)
        } else {
            let at = self.base.saturating_add(position);
            self.list.get(at).filter(|call| name.is_empty() || call.name.is_empty()).map(|_| at)
        };
        let at = found.unwrap_or_else(|| {
            self.base = self.list.len().saturating_sub(position);
            self.list.push(Building { index, ..Building::default() });
            self.list.len() - 1
        });
        let call = self.list.get_mut(at)?;
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        Some(call)
    }

    /// Adds a call that is the block `index` of an Anthropic message, or a call that came whole.
    pub(super) fn open(&mut self, index: Option<u64>, id: &str, name: &str, text: String) {
        self.list.push(Building { index, id: id.into(), name: name.into(), text, opaque: None });
    }

    pub(super) fn last(&mut self) -> Option<&mut Building> {
        self.list.last_mut()
    }

    /// The call that an Anthropic block index belongs to.
    pub(super) fn at(&mut self, index: u64) -> Option<&mut Building> {
        self.list.iter_mut().find(|call| call.index == Some(index))
    }

    /// How many characters of calls have come.
    pub(super) fn characters(&self) -> usize {
        self.list.iter().map(|call| call.name.chars().count() + call.text.chars().count()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The calls, their arguments understood.
    pub(super) fn finish(self) -> Vec<ToolCall> {
        self.list
            .into_iter()
            .filter(|call| !(call.name.is_empty() && call.id.is_empty() && call.text.is_empty()))
            .map(|call| ToolCall {
                id: call.id,
                name: call.name,
                arguments: Arguments::from_text(&call.text),
                opaque: call.opaque,
            })
            .collect()
    }
}

/// Gives every call an id that no other call of the conversation has.
pub(super) fn number(calls: &mut [ToolCall], history: &[Message]) {
    let mut taken: BTreeSet<String> = history
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => None,
        })
        .flatten()
        .map(|call| call.id.clone())
        .collect();
    let mut next = 1;
    for call in calls {
        if call.id.is_empty() || taken.contains(&call.id) {
            while taken.contains(&format!("call_{next}")) {
                next += 1;
            }
            call.id = format!("call_{next}");
        }
        taken.insert(call.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "t".into(), arguments: Arguments::from_text(""), opaque: None }
    }

    #[test]
    fn ids_are_unique_within_the_conversation() {
        let history = [Message::Assistant {
            content: String::new(),
            tool_calls: vec![call("call_1"), call("x")],
            opaque: None,
        }];
        let mut calls = [call(""), call("x"), call("y"), call("y"), call("call_2")];
        number(&mut calls, &history);
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_2", "call_3", "y", "call_4", "call_5"]);
    }

    #[test]
    fn pieces_without_index_and_id_belong_to_their_place() {
        let mut calls = Calls::default();
        for (name, position, piece) in [
            (Some("a"), 0, "{\"n\":"),
            (Some("b"), 1, "{}"),
            (None, 0, "1}"),
            (Some("c"), 0, "{\"n\":"),
            (None, 0, "3}"),
        ] {
            calls.slot(None, None, name, position).unwrap().text.push_str(piece);
        }
        let calls = calls.finish();
        let seen: Vec<String> =
            calls.iter().map(|call| format!("{} {}", call.name, call.arguments.to_text())).collect();
        assert_eq!(seen, ["a {\"n\":1}", "b {}", "c {\"n\":3}"]);
    }
}
