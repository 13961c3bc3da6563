//! The hooks of each client, and the recognition of Marvin's own hooks.
//!
//! In Claude Code a command with `args` is started without a shell, and `onFailure: "block"` (since 2.1.295; older versions
//! ignore it) refuses the call when a hook cannot start, times out or dies. Codex supports neither; it gets a command line
//! and no unknown keys.

pub use crate::event::Client;
use crate::event::Event;
use marvin_base::layout::clients as places;
use serde_json::{Map, Value};
use std::path::Path;

/// The small program for hooks, beside `marvin`.
pub const HOOK_PROGRAM: &str = "marvin-hook";

/// The file that a client reads at the beginning of a session.
pub(super) fn notes(client: Client) -> &'static str {
    match client {
        Client::Claude => places::CLAUDE_NOTES,
        Client::Codex => places::CODEX_NOTES,
    }
}

/// The directory in which a client looks for skills of a project.
pub(super) fn skills(client: Client) -> &'static str {
    match client {
        Client::Claude => places::CLAUDE_SKILLS,
        Client::Codex => places::AGENTS_SKILLS,
    }
}

/// The seconds that a hook may take: a question to a model fits into a minute, a project's tests into ten. At its end
/// Codex waits for three at most, and warns in every session when more are asked for.
fn seconds(client: Client, event: &str) -> u64 {
    match (client, event) {
        (_, "Stop") => 600,
        (_, event) if decides(event) => 60,
        (Client::Codex, "SessionEnd" | "Interrupt") => 3,
        _ => 10,
    }
}

fn decides(event: &str) -> bool {
    Event::read(event).is_some_and(Event::decides)
}

/// The name of an event on our command line: `PreToolUse` is `pre-tool-use`.
#[must_use]
pub fn kebab(event: &str) -> String {
    let mut name = String::new();
    for char in event.chars() {
        if char.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(char.to_ascii_lowercase());
    }
    name
}

/// How hooks start this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The path of `marvin` on this machine; `None` where its name finds it, which is the same for everybody who works on the
    /// project.
    path: Option<String>,
    /// Whether `marvin-hook` is beside it.
    has_hook: bool,
}

impl Program {
    #[must_use]
    pub fn on_path(has_hook: bool) -> Program {
        Program { path: None, has_hook }
    }

    #[must_use]
    pub fn at(path: impl Into<String>, has_hook: bool) -> Program {
        Program { path: Some(path.into()), has_hook }
    }

    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The same, by the name alone.
    pub(super) fn by_name(&self) -> Program {
        Program { path: None, ..self.clone() }
    }

    /// The other program that answers hooks, which another installation may have.
    pub(super) fn other(&self) -> Program {
        Program { has_hook: !self.has_hook, ..self.clone() }
    }

    fn command(&self) -> String {
        let name = if self.has_hook { HOOK_PROGRAM } else { "marvin" };
        match &self.path {
            None => name.to_string(),
            Some(path) if self.has_hook => {
                Path::new(path).with_file_name(name).to_string_lossy().into_owned()
            }
            Some(path) => path.clone(),
        }
    }
}

/// The words behind the program.
fn words(client: Client, event: &str, has_hook: bool) -> Vec<String> {
    let command = (!has_hook).then(|| "hook".to_string());
    let words = [kebab(event), "--client".to_string(), client.word().to_string()];
    command.into_iter().chain(words).collect()
}

/// The group of hooks for one event of one client.
pub(super) fn group(client: Client, event: &str, program: &Program) -> Value {
    let words = words(client, event, program.has_hook);
    let mut handler = Map::from_iter([("type".to_string(), Value::from("command"))]);
    let mut add = |key: &str, value: Value| handler.insert(key.to_string(), value);
    match client {
        Client::Claude => {
            add("command", program.command().into());
            add("args", words.into());
        }
        Client::Codex => {
            add("command", format!("{} {}", quoted(&program.command()), words.join(" ")).into());
        }
    }
    add("timeout", seconds(client, event).into());
    if client == Client::Claude && decides(event) {
        add("onFailure", "block".into());
    }
    let mut group = Map::new();
    if Event::read(event).is_some_and(Event::is_about_tool) {
        group.insert("matcher".into(), "*".into());
    }
    group.insert("hooks".into(), Value::Array(vec![handler.into()]));
    group.into()
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
    if word.chars().all(plain) { word.to_string() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Whether an entry starts Marvin for this event, in any layout and with any path of the program.
pub(super) fn is_ours(handler: &Value, client: Client, event: &str) -> bool {
    let text = |key: &str| handler.get(key).and_then(Value::as_str);
    let (Some("command"), Some(command)) = (text("type"), text("command")) else { return false };
    [true, false].into_iter().any(|has_hook| {
        let words = words(client, event, has_hook);
        let is_program = |program: &str| is_marvin(program, has_hook);
        match handler.get("args") {
            Some(args) => *args == Value::from(words) && is_program(command),
            None => {
                let before = command.strip_suffix(&words.join(" "));
                before.and_then(|program| program.strip_suffix(' ')).is_some_and(|program| {
                    match program.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
                        Some(inner) => is_program(inner),
                        None => !program.contains(char::is_whitespace) && is_program(program),
                    }
                })
            }
        }
    })
}

fn is_marvin(program: &str, is_hook: bool) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("marvin") && name.starts_with(HOOK_PROGRAM) == is_hook
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_events_are_hyphenated() {
        assert_eq!(kebab("PreToolUse"), "pre-tool-use");
        assert_eq!(kebab("CwdChanged"), "cwd-changed");
        assert_eq!(kebab("Stop"), "stop");
    }

    #[test]
    fn every_hook_recognises_only_its_own_entries() {
        let programs = [
            Program::on_path(true),
            Program::on_path(false),
            Program::at("/opt/my tools/it's/marvin", true),
            Program::at("/opt/my tools/it's/marvin", false),
            Program::at("/usr/bin/marvin", true),
        ];
        for client in Client::ALL {
            for event in client.events() {
                for program in &programs {
                    let handler = &group(client, event, program)["hooks"][0];
                    assert!(is_ours(handler, client, event), "{handler}");
                    for other in client.events().into_iter().filter(|other| *other != event) {
                        assert!(!is_ours(handler, client, other), "{handler} {other}");
                    }
                }
            }
        }
        for command in [
            "echo; /usr/bin/marvin hook stop --client claude",
            "marvin hook stop --client codex",
            "marvin hook stop --client claude; true",
            "notmarvin hook stop --client claude",
            "marvin stop --client claude",
            "marvin-hook hook stop --client claude",
            "marvin",
            "",
        ] {
            assert!(
                !is_ours(&json!({"type": "command", "command": command}), Client::Claude, "Stop"),
                "{command}"
            );
        }
        let by_hand = json!({"type": "command", "command": "marvin hook stop --client claude", "timeout": 5});
        assert!(is_ours(&by_hand, Client::Claude, "Stop"));
    }

    #[test]
    fn only_claude_code_gets_keys_that_only_it_knows() {
        let hook = group(Client::Claude, "PreToolUse", &Program::on_path(false));
        assert_eq!(
            hook,
            json!({"matcher": "*", "hooks": [{"type": "command", "command": "marvin",
                   "args": ["hook", "pre-tool-use", "--client", "claude"], "timeout": 60, "onFailure": "block"}]})
        );
        for event in Client::Codex.events() {
            let group = group(Client::Codex, event, &Program::at("/a b/marvin", false));
            let keys: Vec<&String> = group["hooks"][0].as_object().unwrap().keys().collect();
            assert_eq!(keys, ["type", "command", "timeout"], "{event}");
        }
        assert_eq!(group(Client::Claude, "Stop", &Program::on_path(false))["hooks"][0]["timeout"], 600);
        assert_eq!(
            group(Client::Claude, "Setup", &Program::on_path(false))["hooks"][0].get("onFailure"),
            None
        );
        assert_eq!(group(Client::Codex, "Interrupt", &Program::on_path(false))["hooks"][0]["timeout"], 3);
    }
}
