//! What the clients tell: every event of Claude Code and Codex, read into one shape.
//!
//! Fields that are not known are ignored, and a field of the wrong type counts as absent: a newer client must not make
//! every call a failure. What a decision rests on (the command of a shell call) is a text or the call is in doubt.

use serde_json::Value;

/// Who tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Client {
    /// The client of that name.
    #[must_use]
    pub fn read(name: &str) -> Option<Client> {
        match name {
            "claude" => Some(Client::Claude),
            "codex" => Some(Client::Codex),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
        }
    }
}

macro_rules! events {
    ($($event:ident $kebab:literal $meaning:literal),+ $(,)?) => {
        /// Something that happens in a client.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Event { $(#[doc = $meaning] $event),+ }

        impl Event {
            /// Every event.
            pub const ALL: &'static [Event] = &[$(Event::$event),+];

            /// The client's own name for it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Event::$event => stringify!($event)),+ }
            }

            /// Its name on the command line.
            #[must_use]
            pub fn kebab(self) -> &'static str {
                match self { $(Event::$event => $kebab),+ }
            }

            /// The event of that name, in either spelling or any other of the same letters.
            #[must_use]
            pub fn read(name: &str) -> Option<Event> {
                match name { $($kebab | stringify!($event) => Some(Event::$event),)+ _ => Event::read_loosely(name) }
            }
        }
    };
}

events! {
    SessionStart "session-start" "A session begins, goes on, or has been compacted.",
    SessionEnd "session-end" "A session ends.",
    Setup "setup" "A project is set up or maintained.",
    UserPromptSubmit "user-prompt-submit" "A person, or a background task, says something.",
    UserPromptExpansion "user-prompt-expansion" "A prompt of a file is expanded.",
    PreToolUse "pre-tool-use" "A tool is about to be used.",
    PostToolUse "post-tool-use" "A tool was used.",
    PostToolUseFailure "post-tool-use-failure" "A tool failed.",
    PostToolBatch "post-tool-batch" "Several tools were used, some perhaps refused.",
    PermissionRequest "permission-request" "A person would be asked about a call.",
    PermissionDenied "permission-denied" "A call was refused.",
    Notification "notification" "A person is told something.",
    Stop "stop" "The agent believes to be done for now.",
    StopFailure "stop-failure" "The agent stopped because of an error.",
    SubagentStart "subagent-start" "A sub-agent begins.",
    SubagentStop "subagent-stop" "A sub-agent ends.",
    PreCompact "pre-compact" "The conversation is about to be shortened.",
    PostCompact "post-compact" "The conversation was shortened.",
    PreModelSwitch "pre-model-switch" "Another model is about to be used.",
    PostModelSwitch "post-model-switch" "Another model is used.",
    PreModelRequest "pre-model-request" "The model is about to be asked.",
    TeammateIdle "teammate-idle" "A teammate has nothing to do.",
    TaskCreated "task-created" "A task was made.",
    TaskCompleted "task-completed" "A task was marked complete.",
    Elicitation "elicitation" "A server asks for input.",
    ElicitationResult "elicitation-result" "A server's question was answered.",
    ConfigChange "config-change" "Settings changed.",
    WorktreeCreate "worktree-create" "A worktree is to be made.",
    WorktreeRemove "worktree-remove" "A worktree is to be removed.",
    InstructionsLoaded "instructions-loaded" "Files of instructions were read.",
    CwdChanged "cwd-changed" "The working directory changed.",
    FileChanged "file-changed" "A watched file changed.",
    DirectoryAdded "directory-added" "A directory was added to the session.",
    MessageDisplay "message-display" "A message is shown.",
    Interrupt "interrupt" "A person interrupted the agent.",
}

impl Event {
    fn read_loosely(name: &str) -> Option<Event> {
        let plain = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
        };
        let name = plain(name);
        Event::ALL.iter().copied().find(|event| plain(event.name()) == name)
    }

    /// Does something happen or not happen by the answer? Then doubt is never an allow.
    #[must_use]
    pub fn decides(self) -> bool {
        matches!(self, Event::PreToolUse | Event::PermissionRequest)
    }
}

/// One thing that happened, with everything that any part of the desk looks at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// Somebody can be asked; the hook knows, the client does not say.
    pub attended: bool,
    /// The session; sub-agents have that of their parent.
    pub session: String,
    /// The working directory.
    pub directory: String,
    /// The sub-agent, if it is one.
    pub agent: Option<String>,
    /// What kind of sub-agent.
    pub agent_type: Option<String>,
    /// How the client asks for permission.
    pub mode: String,
    /// The call that it is about.
    pub call: Option<Call>,
    /// What the call returned: the text of it.
    pub response: Option<String>,
    /// Why the call failed, or the session did.
    pub error: Option<String>,
    /// Milliseconds that the call took.
    pub duration_ms: Option<f64>,
    /// Calls that were made together.
    pub calls: Vec<Call>,
    /// What was said.
    pub prompt: String,
    /// Why a session starts: `startup`, `resume`, `fork`, `clear`, `compact`.
    pub source: String,
    /// Why it ends, why a call was denied, what started a compaction.
    pub reason: String,
    /// What was said in the end.
    pub last_message: Option<String>,
    /// The agent goes on because a hook said so.
    pub stop_hook_active: bool,
    /// Tasks that still run.
    pub background_tasks: usize,
    /// Texts of an event that is only recorded.
    pub message: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The tool, by the client's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Its name, where it has one.
    pub id: Option<String>,
}

/// What a call does, as far as Marvin looks into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Runs a line in a shell.
    Command(&'a str),
    /// Runs a line in a shell that is read otherwise than bash reads it.
    Foreign(&'a str),
    /// Would run something in a shell, but what cannot be read.
    Unreadable,
    /// Reads a file.
    Read(&'a str),
    /// Searches everything below a directory; the session's own where none is named.
    Search(&'a str),
    /// Writes a file.
    Write(&'a str),
    /// Applies a patch to files.
    Patch(&'a str),
    /// Anything else.
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

    /// What it does.
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

    /// Every argument that names a file, also where only one of them counts for the tool: none hides behind another.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        const NAMES: [&str; 8] =
            ["file_path", "notebook_path", "path", "filename", "file", "source", "destination", "target"];
        let named = NAMES.iter().filter_map(|name| self.argument(name));
        // A pattern that begins at a root is a place too.
        let pattern = self.argument("pattern").filter(|text| text.starts_with(['/', '~']));
        named.chain(pattern)
    }

    /// Patterns of file names in the arguments of a search.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let named = self.argument("glob").into_iter();
        named.chain(self.argument("pattern").filter(|_| self.tool == "Glob"))
    }

    /// Lines and addresses in the arguments of a tool that is not known.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        ["command", "cmd", "script", "shell"].iter().filter_map(|name| self.argument(name))
    }

    /// Addresses in the arguments.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        ["url", "uri"].iter().filter_map(|name| self.argument(name))
    }

    /// Does it ask to run outside of the client's own box, or without being waited for?
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.arguments.get(flag).and_then(Value::as_bool).unwrap_or(false)
    }

    /// What it does, in a few words for the record.
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
    /// Reads what a client sent. Everything but the object itself may be missing.
    #[must_use]
    pub fn read(value: &Value) -> Input {
        let tell = |key: &str| text(value, key).unwrap_or_default();
        let calls = value.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Input {
            attended: false,
            session: tell("session_id"),
            directory: tell("cwd"),
            agent: text(value, "agent_id").filter(|agent| !agent.is_empty()),
            agent_type: text(value, "agent_type").filter(|kind| !kind.is_empty()),
            mode: tell("permission_mode"),
            call: Call::from_json(value),
            response: value.get("tool_response").map(response),
            error: text(value, "error"),
            duration_ms: value.get("duration_ms").and_then(Value::as_f64),
            calls: calls.iter().filter_map(Call::from_json).collect(),
            prompt: tell("prompt"),
            source: tell("source"),
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

/// Reads JSON as a client wrote it. Half of a pair of surrogates, which JSON allows and text does not, becomes a mark.
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
            // Whatever is escaped, an escaped backslash among it, is passed over together.
            1 + rest.chars().nth(1).map_or(0, char::len_utf8)
        } else {
            rest.find('\\').unwrap_or(rest.len())
        };
        clean.push_str(rest.get(..step)?);
        at += step;
    }
    Some(clean)
}

/// What a tool returned, as text: a text itself, or the streams of a shell, or the whole object.
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
    fn every_event_is_read_in_both_spellings() {
        assert_eq!(Event::ALL.len(), 35);
        for event in Event::ALL {
            assert_eq!(Event::read(event.name()), Some(*event));
            assert_eq!(Event::read(event.kebab()), Some(*event));
        }
        assert_eq!(Event::read("no-such-event"), None);
        assert_eq!(Event::read("pre_tool_use"), Some(Event::PreToolUse));
        assert_eq!(Event::read("PRETOOLUSE"), Some(Event::PreToolUse));
    }

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
    fn half_a_pair_of_surrogates_is_no_reason_to_hear_nothing() {
        let read = |text: &str| parse(text.as_bytes());
        assert_eq!(read(r#"{"a":"done \ud83d"}"#), Some(json!({"a": "done \u{fffd}"})));
        assert_eq!(read(r#"{"a":"\ud83d\ude00 \udead é"}"#), Some(json!({"a": "\u{1f600} \u{fffd} é"})));
        assert_eq!(read(r#"{"a":"\\ud83d"}"#), Some(json!({"a": "\\ud83d"})));
        assert_eq!(read(r#"{"a":"\ud83d"#), None);
        assert_eq!(parse(b"{\"a\":\"\xff\"}"), None);
    }

    #[test]
    fn deeds_are_told_apart() {
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
