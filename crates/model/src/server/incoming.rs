//! A request in the neutral shape, whatever format it came in.

use crate::client::Request;
use crate::message::Message;

#[derive(Debug, Default)]
pub(super) struct IncomingRequest {
    pub(super) request: Request,
    pub(super) model: String,
    pub(super) stream: bool,
    /// Tools that take free text instead of an object (responses only).
    pub(super) freeform: Vec<String>,
    /// Namespaces of tools (responses only).
    pub(super) namespaces: Vec<String>,
    /// Whether the program looks for tools when asked to (responses only).
    pub(super) searches: bool,
    /// Server-sent events, or one JSON list (Gemini only).
    pub(super) events: bool,
}

impl IncomingRequest {
    /// The namespace of a tool, by its whole name: one that the request has, or, where tools can be looked for, one that
    /// it does not have yet.
    pub(super) fn namespace_of(&self, name: &str) -> Option<String> {
        let (space, _) = name.rsplit_once("__").filter(|_| name.starts_with("mcp__"))?;
        let exists = self.searches || self.namespaces.iter().any(|one| one == space);
        exists.then(|| space.to_string())
    }

    /// Adds a message to the conversation. System messages go first, wherever they stood: some programs send them after
    /// the person's words, and a script looks at the last message for what was said.
    pub(super) fn push(&mut self, message: Message) {
        let messages = &mut self.request.messages;
        if matches!(message, Message::System { .. }) {
            let rules =
                messages.iter().take_while(|message| matches!(message, Message::System { .. })).count();
            messages.insert(rules, message);
        } else {
            messages.push(message);
        }
    }
}
