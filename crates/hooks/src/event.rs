//! Events of Claude Code and Codex, parsed into one type.
//!
//! Unknown fields are ignored, and a field of the wrong type counts as absent: a newer client must not make every call
//! fail. A field that a decision depends on (the command of a shell call) must be a text, or the call is in doubt.

pub use marvin_hook_client::{Client, Event};
use serde_json::Value;

/// An event's content, with all fields that the handler uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// Whether a person can be asked; set by the hook, since the client does not report it.
    pub attended: bool,
    /// Sub-agents have the session of their parent.
    pub session: String,
    /// The working directory.
    pub directory: String,
    /// The id of the sub-agent, if it is one.
    pub agent: Option<String>,
    pub agent_type: Option<String>,
    /// The client's permission mode.
    pub mode: String,
    pub call: Option<Call>,
    /// The text that the call returned.
    pub response: Option<String>,
    /// The error of the call or of the session.
    pub error: Option<String>,
    pub duration_ms: Option<f64>,
    /// The calls of a batch.
    pub calls: Vec<Call>,
    pub prompt: String,
    /// The start of the session: `startup`, `resume`, `fork`, `clear`, `compact`.
    pub source: String,
    /// The reason for an end or a denial, or the trigger of a compaction.
    pub reason: String,
    pub last_message: Option<String>,
    /// Whether the agent continues because a hook sent it back.
    pub stop_hook_active: bool,
    /// The number of running background tasks.
    pub background_tasks: usize,
    /// The text of an event that is only recorded.
    pub message: Option<String>,
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The client's name of the tool.
    pub tool: String,
    pub arguments: Value,
    pub id: Option<String>,
}

/// Tools of the clients that change nothing themselves; the calls of a sub-agent are events of their own.
const READING_TOOLS: [&str; 25] = [
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "LSP",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "Skill",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "spawn_agent",
    "tool_search",
    "update_plan",
    "wait",
    "web_search",
];

/// Keys of arguments of unknown tools, in small letters, by what stands behind them.
const LINE_KEYS: [&str; 6] = ["command", "commands", "cmd", "script", "shell", "code"];
const WORD_KEYS: [&str; 2] = ["args", "argv"];
const PATH_KEYS: [&str; 13] = [
    "file_path",
    "filepath",
    "notebook_path",
    "path",
    "paths",
    "filename",
    "file",
    "files",
    "uri",
    "source",
    "destination",
    "target",
    "directory",
];
const ADDRESS_KEYS: [&str; 5] = ["url", "urls", "uri", "href", "address"];
/// Values within values that are looked into.
const MAX_NESTING: usize = 32;

/// Visits every value of arguments with the key in small letters that it stands behind, entries of lists with that of the list.
fn walk<'a>(arguments: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    fn step<'a>(key: &str, value: &'a Value, depth: usize, visit: &mut impl FnMut(&str, &'a Value)) {
        visit(key, value);
        if depth == MAX_NESTING {
            return;
        }
        match value {
            Value::Array(list) => list.iter().for_each(|entry| step(key, entry, depth + 1, visit)),
            Value::Object(map) => {
                map.iter().for_each(|(key, entry)| step(&key.to_lowercase(), entry, depth + 1, visit));
            }
            _ => {}
        }
    }
    step("", arguments, 0, visit);
}

/// The effect of a call, as far as Marvin judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Runs a line in a shell.
    Command(&'a str),
    /// Runs a line in a shell with another syntax than bash.
    Foreign(&'a str),
    /// Runs or writes something that cannot be read from its arguments.
    Unreadable,
    /// Reads a file.
    Read(&'a str),
    /// Searches everything below a directory; by default the session's own.
    Search(&'a str),
    /// Writes a file.
    Write(&'a str),
    /// Applies a patch to files.
    Patch(&'a str),
    Other,
}

impl Call {
    fn from_json(value: &Value) -> Option<Call> {
        Some(Call {
            tool: value.get("tool_name")?.as_str()?.to_string(),
            arguments: value.get("tool_input").cloned().unwrap_or(Value::Null),
            id: text(value, "tool_use_id"),
        })
    }

    fn argument(&self, key: &str) -> Option<&str> {
        self.arguments.get(key).and_then(Value::as_str)
    }

    #[must_use]
    pub fn deed(&self) -> Deed<'_> {
        let line = || self.argument("command").or_else(|| self.argument("cmd"));
        match self.tool.as_str() {
            "Bash" | "Monitor" | "shell" | "shell_command" | "exec_command" | "local_shell"
            | "unified_exec" | "container.exec" => line().map_or(Deed::Unreadable, Deed::Command),
            "PowerShell" => line().map_or(Deed::Unreadable, Deed::Foreign),
            "apply_patch" => {
                let text = self.argument("command").or_else(|| self.argument("patch"));
                text.or_else(|| self.argument("input")).map_or(Deed::Unreadable, Deed::Patch)
            }
            "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => {
                self.paths().next().map_or(Deed::Unreadable, Deed::Write)
            }
            "Grep" | "Glob" => Deed::Search(self.argument("path").unwrap_or(".")),
            "Read" | "NotebookRead" | "LS" | "view_image" => {
                self.paths().next().map_or(Deed::Other, Deed::Read)
            }
            _ => Deed::Other,
        }
    }

    /// Whether the tool of [`Deed::Other`] is known to change nothing. A tool of an MCP server may change anything.
    #[must_use]
    pub fn is_reading_tool(&self) -> bool {
        READING_TOOLS.contains(&self.tool.as_str())
    }

    /// Every argument that names a file, also those that the tool ignores: none can hide behind another.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        const NAMES: [&str; 8] =
            ["file_path", "notebook_path", "path", "filename", "file", "source", "destination", "target"];
        let named = NAMES.iter().filter_map(|name| self.argument(name));
        // A pattern that begins at a root names a place too.
        let pattern = self.argument("pattern").filter(|text| text.starts_with(['/', '~']));
        named.chain(pattern)
    }

    /// The file name patterns of a search.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let named = self.argument("glob").into_iter();
        named.chain(self.argument("pattern").filter(|_| self.tool == "Glob"))
    }

    /// The shell lines in the arguments of an unknown tool, however deep; a list of words is one line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut words: Vec<&str> = Vec::new();
        walk(&self.arguments, &mut |key, value| match value {
            Value::String(text) if LINE_KEYS.contains(&key) => found.push(text.clone()),
            Value::Array(list) if LINE_KEYS.contains(&key) || WORD_KEYS.contains(&key) => {
                words.extend(list.iter().filter_map(Value::as_str));
            }
            _ => {}
        });
        // Each entry of a list may be a line of its own too.
        found.extend(words.iter().filter(|word| word.contains(' ')).map(ToString::to_string));
        found.extend(shlex::try_join(words).ok().filter(|line| !line.is_empty()));
        found
    }

    /// The files in the arguments of an unknown tool, however deep.
    #[must_use]
    pub fn nested_paths(&self) -> Vec<&str> {
        let mut found = Vec::new();
        walk(&self.arguments, &mut |key, value| {
            let is_path = |text: &str| PATH_KEYS.contains(&key) || text.starts_with("file://");
            if let Value::String(text) = value
                && is_path(text)
            {
                found.push(text.strip_prefix("file://").unwrap_or(text));
            }
        });
        found
    }

    /// The URLs in the arguments, however deep.
    #[must_use]
    pub fn addresses(&self) -> Vec<&str> {
        let mut found = Vec::new();
        walk(&self.arguments, &mut |key, value| {
            if let Value::String(text) = value
                && (ADDRESS_KEYS.contains(&key)
                    || text.starts_with("http://")
                    || text.starts_with("https://"))
            {
                found.push(text.as_str());
            }
        });
        found
    }

    /// Whether a flag is set, such as the one that disables the client's own sandbox.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.arguments.get(flag).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A short description for the record.
    #[must_use]
    pub fn summary(&self) -> String {
        let keys = ["command", "file_path", "notebook_path", "pattern", "path", "prompt", "url", "query"];
        let found = keys.iter().find_map(|key| self.arguments.get(key).and_then(Value::as_str));
        match found {
            Some(text) => text.to_string(),
            None if self.arguments.is_null() => String::new(),
            None => self.arguments.to_string(),
        }
    }
}

impl Input {
    /// Parses the object that a client sent; every field may be missing.
    #[must_use]
    pub fn read(value: &Value) -> Input {
        let field = |key: &str| text(value, key).unwrap_or_default();
        let calls = value.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Input {
            attended: false,
            session: field("session_id"),
            directory: field("cwd"),
            agent: text(value, "agent_id").filter(|agent| !agent.is_empty()),
            agent_type: text(value, "agent_type").filter(|kind| !kind.is_empty()),
            mode: field("permission_mode"),
            call: Call::from_json(value),
            response: value.get("tool_response").map(response),
            error: text(value, "error"),
            duration_ms: value.get("duration_ms").and_then(Value::as_f64),
            calls: calls.iter().filter_map(Call::from_json).collect(),
            prompt: field("prompt"),
            source: field("source"),
            reason: text(value, "reason").or_else(|| text(value, "trigger")).unwrap_or_default(),
            last_message: text(value, "last_assistant_message"),
            stop_hook_active: value.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false),
            background_tasks: value.get("background_tasks").and_then(Value::as_array).map_or(0, Vec::len),
            message: ["message", "task_subject", "compact_summary", "teammate_name", "file_path"]
                .iter()
                .find_map(|key| text(value, key)),
        }
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_string)
}

/// The event that the input itself names, if it is a known one.
#[must_use]
pub fn named(input: &[u8]) -> Option<String> {
    text(&parse(input)?, "hook_event_name").filter(|name| Event::read(name).is_some())
}

/// Parses JSON of a client. An unpaired surrogate, which JSON allows and text does not, becomes U+FFFD.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Some(value);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    serde_json::from_str(&without_halves(text)?).ok()
}

fn without_halves(text: &str) -> Option<String> {
    let code = |at: usize| -> Option<u32> {
        let escape = text.get(at..at + 6)?;
        u32::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
    };
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = if rest.starts_with("\\u") {
            match (code(at), code(at + 6)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
                (Some(0xd800..=0xdfff), _) => {
                    clean.push_str("\\ufffd");
                    at += 6;
                    continue;
                }
                _ => 2,
            }
        } else if rest.starts_with('\\') {
            // An escape sequence, such as an escaped backslash, is copied as a whole.
            1 + rest.chars().nth(1).map_or(0, char::len_utf8)
        } else {
            rest.find('\\').unwrap_or(rest.len())
        };
        clean.push_str(rest.get(..step)?);
        at += step;
    }
    Some(clean)
}

/// The result of a tool as text: the text itself, the output of a shell, or the whole object.
fn response(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_string();
    }
    let stream = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (stream("stdout"), stream("stderr")) {
        (Some(out), Some(error)) => format!("{out}\n{error}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_of_the_wrong_type_is_absent() {
        let input = Input::read(&json!({
            "session_id": 7, "cwd": "/p", "duration_ms": "long", "tool_name": "Bash", "tool_input": {"command": ["ls"]},
            "background_tasks": 3, "stop_hook_active": "yes", "new_field": {"a": 1},
        }));
        assert_eq!((input.session.as_str(), input.directory.as_str()), ("", "/p"));
        assert_eq!(input.call.unwrap().deed(), Deed::Unreadable);
        assert_eq!(Input::read(&json!(["no", "object"])), Input::default());
    }

    #[test]
    fn unpaired_surrogates_are_replaced() {
        let read = |text: &str| parse(text.as_bytes());
        assert_eq!(read(r#"{"a":"done \ud83d"}"#), Some(json!({"a": "done \u{fffd}"})));
        assert_eq!(read(r#"{"a":"\ud83d\ude00 \udead é"}"#), Some(json!({"a": "\u{1f600} \u{fffd} é"})));
        assert_eq!(read(r#"{"a":"\\ud83d"}"#), Some(json!({"a": "\\ud83d"})));
        assert_eq!(read(r#"{"a":"\ud83d"#), None);
        assert_eq!(parse(b"{\"a\":\"\xff\"}"), None);
    }

    #[test]
    fn deeds_follow_from_tool_and_arguments() {
        let deed = |tool: &str, arguments: Value| {
            let call = Call { tool: tool.into(), arguments, id: None };
            format!("{:?}", call.deed())
        };
        assert_eq!(deed("Bash", json!({"command": "ls"})), "Command(\"ls\")");
        assert_eq!(deed("apply_patch", json!({"command": "*** Begin Patch"})), "Patch(\"*** Begin Patch\")");
        assert_eq!(deed("Edit", json!({"file_path": "/a"})), "Write(\"/a\")");
        assert_eq!(deed("NotebookEdit", json!({"notebook_path": "/a"})), "Write(\"/a\")");
        assert_eq!(deed("Write", json!({})), "Unreadable");
        assert_eq!(deed("Monitor", json!({"command": "ls"})), "Command(\"ls\")");
        assert_eq!(deed("PowerShell", json!({"command": "ls"})), "Foreign(\"ls\")");
        assert_eq!(deed("mcp__kit__echo", json!({"command": "rm -rf /"})), "Other");
    }
}
