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

impl Client {
    pub const ALL: [Client; 2] = [Client::Claude, Client::Codex];

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Client::Claude => "Claude Code",
            Client::Codex => "Codex",
        }
    }

    /// The file that it reads at the beginning of a session.
    pub(super) fn notes(self) -> &'static str {
        match self {
            Client::Claude => places::CLAUDE_NOTES,
            Client::Codex => places::CODEX_NOTES,
        }
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

/// How this program is started by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// As `marvin`, from the PATH: the same words for everybody who works on the project.
    OnPath,
    /// By its place on this machine.
    At(String),
}

impl Program {
    fn word(&self) -> &str {
        match self {
            Program::OnPath => "marvin",
            Program::At(path) => path,
        }
    }
}

/// The group of hooks for one event of one client.
pub(super) fn group(client: Client, event: &str, program: &Program) -> Value {
    let words = ["hook".to_string(), kebab(event), "--client".to_string(), client.word().to_string()];
    let mut handler = Map::from_iter([("type".to_string(), Value::from("command"))]);
    let mut add = |key: &str, value: Value| handler.insert(key.to_string(), value);
    match client {
        Client::Claude => {
            add("command", program.word().into());
            add("args", words.to_vec().into());
        }
        Client::Codex => {
            add("command", format!("{} {}", quoted(program.word()), words.join(" ")).into());
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

/// Whether an entry starts `marvin hook` for this event, in any layout and with any path of the program.
pub(super) fn is_ours(handler: &Value, client: Client, event: &str) -> bool {
    let text = |key: &str| handler.get(key).and_then(Value::as_str);
    let (Some("command"), Some(command)) = (text("type"), text("command")) else { return false };
    let words = ["hook", &kebab(event), "--client", client.word()];
    match handler.get("args") {
        Some(args) => *args == Value::from(words.to_vec()) && is_marvin(command),
        None => {
            command.strip_suffix(&words.join(" ")).and_then(|program| program.strip_suffix(' ')).is_some_and(
                |program| match program.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
                    Some(inner) => is_marvin(inner),
                    None => !program.contains(char::is_whitespace) && is_marvin(program),
                },
            )
        }
    }
}

fn is_marvin(program: &str) -> bool {
    Path::new(program)
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("marvin"))
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
            Program::OnPath,
            Program::At("/opt/my tools/it's/marvin".into()),
            Program::At("/usr/bin/marvin".into()),
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
        let hook = group(Client::Claude, "PreToolUse", &Program::OnPath);
        assert_eq!(
            hook,
            json!({"matcher": "*", "hooks": [{"type": "command", "command": "marvin",
                   "args": ["hook", "pre-tool-use", "--client", "claude"], "timeout": 60, "onFailure": "block"}]})
        );
        for event in Client::Codex.events() {
            let group = group(Client::Codex, event, &Program::At("/a b/marvin".into()));
            let keys: Vec<&String> = group["hooks"][0].as_object().unwrap().keys().collect();
            assert_eq!(keys, ["type", "command", "timeout"], "{event}");
        }
        assert_eq!(group(Client::Claude, "Stop", &Program::OnPath)["hooks"][0]["timeout"], 600);
        assert_eq!(group(Client::Claude, "Setup", &Program::OnPath)["hooks"][0].get("onFailure"), None);
        assert_eq!(group(Client::Codex, "Interrupt", &Program::OnPath)["hooks"][0]["timeout"], 3);
    }
}
