//! Parser of the tickets' command line. It does not read any ticket.

use super::draft::Draft;
use super::error::TicketError;
use super::help::{names, usage};
use super::report::Filter;
use marvin_base::settings::nearest_of;
use std::collections::VecDeque;

/// Tickets that `closed` lists by default.
const CLOSED: usize = 20;

/// A command of `tk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Create(Box<Draft>),
    Status {
        id: String,
        status: String,
    },
    /// Makes `id` depend on `on`.
    Dep {
        id: String,
        on: String,
    },
    DepTree {
        id: String,
        /// Shows each ticket as often as it is needed.
        full: bool,
    },
    /// Finds dependency cycles.
    DepCycle,
    Undep {
        id: String,
        on: String,
    },
    Link {
        ids: Vec<String>,
    },
    Unlink {
        one: String,
        other: String,
    },
    List(Filter),
    Ready(Filter),
    Blocked(Filter),
    /// Lists the tickets that were closed last.
    Closed(Filter, usize),
    Show {
        id: String,
    },
    AddNote {
        id: String,
        /// From standard input when `None`.
        text: Option<String>,
    },
    /// Opens a ticket in an editor.
    Edit {
        id: String,
    },
    /// Prints the frontmatter of all tickets as JSON.
    Query {
        /// A filter for `jq`.
        filter: Option<String>,
    },
    Help,
}

impl Command {
    /// The ids that it changes, as they were given; a new ticket has none yet.
    #[must_use]
    pub fn changes(&self) -> Vec<&str> {
        match self {
            Command::Status { id, .. }
            | Command::Dep { id, .. }
            | Command::Undep { id, .. }
            | Command::AddNote { id, .. }
            | Command::Edit { id } => vec![id],
            Command::Link { ids } => ids.iter().map(String::as_str).collect(),
            Command::Unlink { one, other } => vec![one, other],
            Command::Create(_)
            | Command::DepTree { .. }
            | Command::DepCycle
            | Command::List(_)
            | Command::Ready(_)
            | Command::Blocked(_)
            | Command::Closed(..)
            | Command::Show { .. }
            | Command::Query { .. }
            | Command::Help => Vec::new(),
        }
    }

    #[must_use]
    pub fn only_reads(&self) -> bool {
        !matches!(self, Command::Create(_)) && self.changes().is_empty()
    }
}

/// A command, and whether its result is printed as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedCommand {
    pub command: Command,
    pub json: bool,
}

/// Parses the words after `tk`. Long options take their value as `--key value` or `--key=value`; after `--` no word is an
/// option.
///
/// # Errors
/// Contains the usage of the command.
pub fn parse(words: &[String]) -> Result<ParsedCommand, TicketError> {
    let words = match words {
        [first, rest @ ..] if first == "super" => rest,
        all => all,
    };
    let Some((name, rest)) = words.split_first() else {
        return Ok(ParsedCommand { command: Command::Help, json: false });
    };
    let help = |word: &String| matches!(word.as_str(), "--help" | "-h");
    if name == "help" || help(name) || (!usage(name).is_empty() && rest.first().is_some_and(help)) {
        return Ok(ParsedCommand { command: Command::Help, json: false });
    }
    let (name, rest) = match (name.as_str(), rest) {
        ("dep", [second, rest @ ..]) if second == "tree" => ("dep tree", rest),
        ("dep", [second, rest @ ..]) if second == "cycle" => ("dep cycle", rest),
        (name, rest) => (name, rest),
    };
    let mut line = Line { name, rest: rest.iter().cloned().collect(), plain: Vec::new(), json: false };
    let command = line.command()?;
    Ok(ParsedCommand { command, json: line.json })
}

/// Reads the value of an option.
type ReadValue<'a> = &'a mut dyn FnMut() -> Result<String, TicketError>;

/// The words of one command while they are parsed.
struct Line<'a> {
    name: &'a str,
    rest: VecDeque<String>,
    plain: Vec<String>,
    json: bool,
}

impl Line<'_> {
    fn command(&mut self) -> Result<Command, TicketError> {
        Ok(match self.name {
            "create" => return self.create(),
            "start" => self.status("in_progress")?,
            "close" => self.status("closed")?,
            "reopen" => self.status("open")?,
            "status" => {
                let [id, status] = self.exactly()?;
                Command::Status { id, status }
            }
            "dep" => {
                let [id, on] = self.exactly()?;
                Command::Dep { id, on }
            }
            "dep tree" => {
                let mut full = false;
                self.options(|key, _| {
                    full |= key == "--full";
                    Ok(key == "--full")
                })?;
                let [id] = self.plain()?;
                Command::DepTree { id, full }
            }
            "dep cycle" => {
                let [] = self.exactly()?;
                Command::DepCycle
            }
            "undep" => {
                let [id, on] = self.exactly()?;
                Command::Undep { id, on }
            }
            "link" => {
                self.options(|_, _| Ok(false))?;
                if self.plain.len() < 2 {
                    return Err(self.wrong("at least two tickets are needed"));
                }
                Command::Link { ids: std::mem::take(&mut self.plain) }
            }
            "unlink" => {
                let [one, other] = self.exactly()?;
                Command::Unlink { one, other }
            }
            "ls" | "list" => Command::List(self.filter(true)?.0),
            "ready" => Command::Ready(self.filter(false)?.0),
            "blocked" => Command::Blocked(self.filter(false)?.0),
            "closed" => {
                let (filter, limit) = self.filter(false)?;
                Command::Closed(filter, limit)
            }
            "show" => {
                let [id] = self.exactly()?;
                Command::Show { id }
            }
            "add-note" => return self.add_note(),
            "edit" => {
                let [id] = self.exactly()?;
                Command::Edit { id }
            }
            "query" => {
                self.options(|_, _| Ok(false))?;
                if self.plain.len() > 1 {
                    return Err(self.wrong("one filter is enough; quote it"));
                }
                Command::Query { filter: self.plain.pop() }
            }
            unknown => {
                let near = nearest_of(unknown, names());
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let shown: String = unknown.chars().take(40).collect();
                return Err(TicketError::Usage(format!(
                    "Unknown command: {}{near}\nThe commands are: {}. Plugins (tk-…, ticket-…) are not run; call them \
                     by their own names.",
                    shown.escape_debug(),
                    names().collect::<Vec<_>>().join(", ")
                )));
            }
        })
    }

    fn status(&mut self, status: &str) -> Result<Command, TicketError> {
        let [id] = self.exactly()?;
        Ok(Command::Status { id, status: status.into() })
    }

    fn create(&mut self) -> Result<Command, TicketError> {
        let mut draft = Draft::default();
        self.options(|key, value| {
            let place = match key {
                "-d" | "--description" => &mut draft.description,
                "--design" => &mut draft.design,
                "--acceptance" => &mut draft.acceptance,
                "-t" | "--type" => &mut draft.kind,
                "-p" | "--priority" => &mut draft.priority,
                "-a" | "--assignee" => draft.assignee.get_or_insert_default(),
                "--external-ref" => &mut draft.external_ref,
                "--parent" => &mut draft.parent,
                "--tags" => &mut draft.tags,
                _ => return Ok(false),
            };
            *place = value()?;
            // These options need a value when they are given.
            if place.is_empty() && matches!(key, "-t" | "--type" | "-p" | "--priority") {
                return Err(TicketError::Usage(format!("{key} needs a value")));
            }
            Ok(true)
        })?;
        draft.title = self.plain.join(" ");
        Ok(Command::Create(Box::new(draft)))
    }

    fn add_note(&mut self) -> Result<Command, TicketError> {
        if self.rest.front().is_some_and(|word| word == "--json") {
            self.json = true;
            self.rest.pop_front();
        }
        let id = self.rest.pop_front().ok_or_else(|| self.wrong("the ticket is missing"))?;
        // All further words are the note, also with dashes.
        let words: Vec<String> = std::mem::take(&mut self.rest).into();
        let text = (!words.is_empty()).then(|| words.join(" "));
        Ok(Command::AddNote { id, text })
    }

    /// The filters of a list, and a limit where the command has one.
    fn filter(&mut self, by_status: bool) -> Result<(Filter, usize), TicketError> {
        let mut filter = Filter::default();
        let mut limit = CLOSED;
        let limited = self.name == "closed";
        self.options(|key, value| {
            match key {
                "--status" if by_status => filter.status = value()?,
                "-a" | "--assignee" => filter.assignee = value()?,
                "-T" | "--tag" => filter.tags.push(value()?),
                "--limit" if limited => {
                    let text = value()?;
                    limit = text.parse().map_err(|_| {
                        TicketError::Usage(format!(
                            "--limit needs a whole number, not '{}'",
                            text.escape_debug()
                        ))
                    })?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let [] = self.plain()?;
        Ok((filter, limit))
    }

    /// A command that takes no options besides `--json`, and exactly so many words.
    fn exactly<const N: usize>(&mut self) -> Result<[String; N], TicketError> {
        self.options(|_, _| Ok(false))?;
        self.plain()
    }

    /// The plain words, of which there must be exactly so many.
    fn plain<const N: usize>(&mut self) -> Result<[String; N], TicketError> {
        let words = std::mem::take(&mut self.plain);
        let count = words.len();
        words.try_into().map_err(|_| {
            let expected = match N {
                0 => "no words are expected".to_string(),
                1 => "one word is expected".to_string(),
                _ => format!("{N} words are expected"),
            };
            self.wrong(&format!("{expected}, not {count}"))
        })
    }

    /// Takes the options out of the words. `take` gets an option and a way to read its value; it returns whether it knows
    /// the option.
    fn options(
        &mut self,
        mut take: impl FnMut(&str, ReadValue<'_>) -> Result<bool, TicketError>,
    ) -> Result<(), TicketError> {
        while let Some(word) = self.rest.pop_front() {
            if word == "--" {
                self.plain.extend(std::mem::take(&mut self.rest));
            } else if word == "--json" {
                self.json = true;
            } else if word.starts_with('-') && word.len() > 1 {
                let (key, mut given) = match word.split_once('=') {
                    Some((key, value)) if word.starts_with("--") => (key, Some(value.to_string())),
                    _ => (word.as_str(), None),
                };
                let rest = &mut self.rest;
                let had_value = given.is_some();
                let mut asked = false;
                let mut value = || {
                    asked = true;
                    let value = given.take().or_else(|| rest.pop_front());
                    value.ok_or_else(|| TicketError::Usage(format!("{key} needs a value")))
                };
                let known = take(key, &mut value).map_err(|error| self.wrong(&error.to_string()))?;
                // The end of an id may begin with its dash: `-5c46`.
                if !known && self.takes_ids() && !word.starts_with("--") {
                    self.plain.push(word);
                    continue;
                }
                if !known {
                    let shown: String = word.chars().take(60).collect();
                    return Err(self.wrong(&format!("Unknown option: {}", shown.escape_debug())));
                }
                if had_value && !asked {
                    return Err(self.wrong(&format!("{key} takes no value")));
                }
            } else {
                self.plain.push(word);
            }
        }
        Ok(())
    }

    /// Whether every word of this command is an id, or a status.
    fn takes_ids(&self) -> bool {
        !matches!(self.name, "create" | "ls" | "list" | "ready" | "blocked" | "closed" | "query")
    }

    fn wrong(&self, what: &str) -> TicketError {
        TicketError::Usage(format!("{what}\nUsage: tk {}", usage(self.name)))
    }
}
