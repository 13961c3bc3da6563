//! Messages of agents to each other, as a conversation holds them.

use marvin_gate::quote;

/// Messages, each with its sender, as one text. What another agent says is news, not a rule.
pub(super) fn join_messages(messages: &[(String, String)]) -> String {
    let texts: Vec<String> = messages
        .iter()
        .map(|(from, text)| format!("[word from {}]\n{}", quote::line(from, 80), text.trim()))
        .collect();
    texts.join("\n\n")
}
