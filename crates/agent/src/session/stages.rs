//! Stages of a session's turns: only those that a person asks for have them.

use super::options::{Manner, Replay};
use crate::compose::render;
use crate::stages::Stages;
use crate::turn::Turn;
use marvin_tools::turbotime::Selection;
use serde::Serialize;
use std::sync::Arc;

/// Values of the template `turbotime.md`.
#[derive(Serialize)]
struct Tools<'a> {
    tools: &'a [&'static str],
}

/// Prompt text about goals where the person switched TURBOTIME on; else empty.
pub(super) fn framing(selection: Option<&Selection>) -> String {
    let Some(selection) = selection else { return String::new() };
    let facts = Tools { tools: &selection.names() };
    render("turbotime.md", include_str!("../../prompts/turbotime.md"), &facts).trim().to_string()
}

/// Stages of a session's turns; none where no person asks, a sub-agent works, or an answer must have a schema.
pub(super) fn of_turn(
    turn: &Turn,
    manner: Manner,
    replay: Option<&Replay>,
    depth: i64,
    framing: String,
) -> Option<Arc<Stages>> {
    let attended = manner == Manner::Attended || replay.is_some_and(|replay| replay.attended);
    let protocol = turn.protocol.name();
    let staged = attended && depth == 0 && turn.response_schema.is_none() && protocol != "action";
    staged.then(|| Arc::new(Stages::new(protocol == "json", framing)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framing_names_the_tools() {
        assert_eq!(framing(None), "");
        let none = framing(Some(&Selection::default()));
        assert!(none.contains("No tool") && !none.contains("failed:"), "{none}");
        let some = framing(Some(&Selection::read("scryfall,news").unwrap()));
        assert!(some.contains("- news.headline_search") && some.contains("- scryfall.lookup"), "{some}");
    }
}
