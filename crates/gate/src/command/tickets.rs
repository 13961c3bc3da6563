//! Tickets are worked on with their tool, which knows what an agent may do with them: not through commands.

use super::CommandContext;
use super::catastrophe::{DEPTH, base_name, beginnings, inner_text};
use super::target::{is_ticket, path_candidates};
use super::words::{self, Simple, Word};
use crate::verdict::Verdict;
use std::path::PathBuf;

/// Does the command run a ticket program, or name the files of the tickets?
pub(crate) fn judge(
    command: &Simple,
    folders: &[PathBuf],
    context: &CommandContext,
    depth: usize,
) -> Option<Verdict> {
    for words in beginnings(&command.words) {
        let [first, rest @ ..] = words else { continue };
        let program = base_name(&first.text);
        if is_program(program, rest) {
            return Some(Verdict::deny(
                "command.tk",
                "tickets are not changed through run_command",
                "Use the tk tool, with the same arguments.",
            ));
        }
        if depth < DEPTH
            && let Some(text) = inner_text(program, rest)
        {
            let line = words::split(&text);
            let found = line.commands.iter().find_map(|inner| judge(inner, folders, context, depth + 1));
            if found.is_some() {
                return found;
            }
        }
    }
    let targets = command.redirects.iter().map(|redirect| &redirect.target);
    let named =
        |word: &&Word| path_candidates(word).iter().any(|candidate| is_ticket(candidate, folders, context));
    let word = command.words.iter().chain(targets).find(named)?;
    Some(Verdict::deny(
        "command.tickets",
        format!("`{}` belongs to the tickets, which commands do not touch", word.text),
        "Use the tk tool: tk ls · tk show ID · tk add-note ID \"text\"; to search the project's files, use code_grep.",
    ))
}

fn is_program(program: &str, rest: &[Word]) -> bool {
    match program {
        "tk" | "ticket" => true,
        // `marvin tk`, and the ticket tools by `marvin tools call`.
        "marvin" => rest.iter().any(|word| {
            matches!(word.text.as_str(), "tk" | "create_ticket") || word.text.starts_with("ticket_")
        }),
        // The original's plugins.
        _ => program.starts_with("tk-") || program.starts_with("ticket-"),
    }
}
