//! A new ticket: its fields, their checks, and its text.

use super::error::{TicketError, choice};
use super::format::{PRIORITIES, TYPES};
use super::id::{self, Prefix};

/// Fields of a new ticket. Empty texts are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// One line; `Untitled` when empty.
    pub title: String,
    pub description: String,
    pub design: String,
    pub acceptance: String,
    /// `bug`, `feature`, `task`, `epic` or `chore`; `task` when empty.
    pub kind: String,
    /// `0` (highest) to `4`; `2` when empty.
    pub priority: String,
    pub assignee: Option<String>,
    /// Such as `gh-123`.
    pub external_ref: String,
    /// An id, or a part of one.
    pub parent: String,
    /// Separated by commas.
    pub tags: String,
    /// The end of its id, where that is free (`app-2a`); else, and when empty, four random letters.
    pub name: String,
}

impl Draft {
    /// Checks and normalises everything that does not depend on other tickets.
    ///
    /// # Errors
    /// For an unknown type or priority, and for line breaks or brackets where they would break the file.
    pub fn checked(mut self) -> Result<Draft, TicketError> {
        self.title = folded(&self.title);
        if self.title.is_empty() {
            self.title = "Untitled".into();
        }
        for (value, usual) in [(&mut self.kind, "task"), (&mut self.priority, "2")] {
            if value.is_empty() {
                *value = usual.into();
            }
        }
        choice("type", &self.kind, &TYPES)?;
        choice("priority", &self.priority, &PRIORITIES)?;
        if let Some(assignee) = &mut self.assignee {
            *assignee = one_line("assignee", assignee)?;
        }
        self.external_ref = one_line("external reference", &self.external_ref)?;
        let tags = self.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let tags: Vec<&str> = tags.collect();
        if let Some(tag) = tags.iter().find(|tag| !id::fits_list(tag)) {
            return Err(TicketError::Usage(format!(
                "`{}` is not a tag; tags are single words, separated by commas: --tags ui,backend",
                tag.escape_debug()
            )));
        }
        self.tags = tags.join(", ");
        for text in [&mut self.description, &mut self.design, &mut self.acceptance] {
            if text.trim().is_empty() {
                text.clear();
            }
        }
        Ok(self)
    }

    /// The file of the ticket, as the original writes it.
    pub(super) fn render(&self, id: &str, created: &str) -> Vec<u8> {
        let mut text = format!("---\nid: {id}\nstatus: open\ndeps: []\nlinks: []\ncreated: {created}\n");
        text.push_str(&format!("type: {}\npriority: {}\n", self.kind, self.priority));
        let mut line = |key: &str, value: &str| {
            if !value.is_empty() {
                text.push_str(&format!("{key}: {value}\n"));
            }
        };
        line("assignee", self.assignee.as_deref().unwrap_or_default());
        line("external-ref", &self.external_ref);
        line("parent", &self.parent);
        if !self.tags.is_empty() {
            line("tags", &format!("[{}]", self.tags));
        }
        text.push_str(&format!("---\n# {}\n\n", self.title));
        let sections = [
            ("", &self.description),
            ("## Design\n\n", &self.design),
            ("## Acceptance Criteria\n\n", &self.acceptance),
        ];
        for (heading, section) in sections.into_iter().filter(|(_, section)| !section.is_empty()) {
            text.push_str(&format!("{heading}{section}\n\n"));
        }
        text.into_bytes()
    }

    /// An id that begins like the others of this project.
    pub(super) fn new_id(prefix: &Prefix) -> String {
        format!("{}-{}", prefix.text(), marvin_base::ids::base36(4))
    }
}

/// A title on one line: line breaks and other control characters become single spaces.
fn folded(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if plain == text {
        text.trim().to_string()
    } else {
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn one_line(what: &str, text: &str) -> Result<String, TicketError> {
    if text.chars().any(char::is_control) {
        return Err(TicketError::Usage(format!("the {what} must be one line of plain text")));
    }
    Ok(text.trim().to_string())
}
