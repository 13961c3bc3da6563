//! The events of Claude Code and Codex by their names.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    Claude,
    Codex,
}

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

    #[must_use]
    pub fn read(name: &str) -> Option<Client> {
        match name {
            "claude" => Some(Client::Claude),
            "codex" => Some(Client::Codex),
            _ => None,
        }
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
        }
    }

    /// The events that get a hook, by the client's own names.
    #[must_use]
    pub fn events(self) -> Vec<&'static str> {
        let hooked = Event::ALL.iter().filter(|event| event.clients().contains(&self));
        hooked.map(|event| event.name()).collect()
    }
}

/// Events with their names and with the clients that get a hook for them.
///
/// Claude Code gets every event but three of its own: `MessageDisplay` and `FileChanged` are too frequent for a process
/// each, and `WorktreeCreate` replaces the client's action by the hook's output. Codex gets every event but
/// `PreModelRequest`, whose answer it ignores.
macro_rules! events {
    ($($event:ident $kebab:literal [$($client:ident)*] $meaning:literal),+ $(,)?) => {
        /// An event of a client.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Event { $(#[doc = $meaning] $event),+ }

        impl Event {
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

            /// The clients that get a hook for it.
            fn clients(self) -> &'static [Client] {
                match self { $(Event::$event => &[$(Client::$client),*]),+ }
            }

            /// The event of a name, in either spelling or any other with the same letters.
            #[must_use]
            pub fn read(name: &str) -> Option<Event> {
                match name { $($kebab | stringify!($event) => Some(Event::$event),)+ _ => Event::read_loosely(name) }
            }
        }
    };
}

events! {
    SessionStart "session-start" [Claude Codex] "A session begins, resumes, or was compacted.",
    SessionEnd "session-end" [Claude Codex] "A session ends.",
    Setup "setup" [Claude] "A project is set up or maintained.",
    InstructionsLoaded "instructions-loaded" [Claude] "Instruction files were read.",
    UserPromptSubmit "user-prompt-submit" [Claude Codex] "A person or a background task submits a prompt.",
    UserPromptExpansion "user-prompt-expansion" [Claude] "A prompt file is expanded.",
    PreToolUse "pre-tool-use" [Claude Codex] "A tool is about to be called.",
    PermissionRequest "permission-request" [Claude Codex] "The client is about to ask a person about a call.",
    PermissionDenied "permission-denied" [Claude] "A call was refused.",
    PostToolUse "post-tool-use" [Claude Codex] "A tool returned.",
    PostToolUseFailure "post-tool-use-failure" [Claude] "A tool failed.",
    PostToolBatch "post-tool-batch" [Claude] "Several tool calls ended; some may have been refused.",
    SubagentStart "subagent-start" [Claude Codex] "A sub-agent begins.",
    SubagentStop "subagent-stop" [Claude Codex] "A sub-agent ends.",
    Stop "stop" [Claude Codex] "The agent claims to be done.",
    StopFailure "stop-failure" [Claude] "The agent stopped because of an error.",
    PreCompact "pre-compact" [Claude Codex] "The conversation is about to be compacted.",
    PostCompact "post-compact" [Claude Codex] "The conversation was compacted.",
    PreModelSwitch "pre-model-switch" [Claude] "Another model is about to be used.",
    PostModelSwitch "post-model-switch" [Claude] "Another model is used.",
    PreModelRequest "pre-model-request" [] "A request to the model is about to be sent.",
    Notification "notification" [Claude] "The client notifies a person.",
    TeammateIdle "teammate-idle" [Claude] "A teammate has nothing to do.",
    TaskCreated "task-created" [Claude] "A task was created.",
    TaskCompleted "task-completed" [Claude] "A task was marked complete.",
    Elicitation "elicitation" [Claude] "A server asks for input.",
    ElicitationResult "elicitation-result" [Claude] "A server's question was answered.",
    ConfigChange "config-change" [Claude] "Settings changed.",
    WorktreeCreate "worktree-create" [] "A worktree is about to be created.",
    WorktreeRemove "worktree-remove" [Claude] "A worktree is about to be removed.",
    CwdChanged "cwd-changed" [Claude] "The working directory changed.",
    FileChanged "file-changed" [] "A watched file changed.",
    DirectoryAdded "directory-added" [Claude] "A directory was added to the session.",
    MessageDisplay "message-display" [] "A message is shown.",
    Interrupt "interrupt" [Codex] "A person interrupted the agent.",
}

impl Event {
    fn read_loosely(name: &str) -> Option<Event> {
        let plain = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
        };
        let name = plain(name);
        Event::ALL.iter().copied().find(|event| plain(event.name()) == name)
    }

    /// Whether it is about a tool, and its hook takes a pattern of the tool's name.
    #[must_use]
    pub fn is_about_tool(self) -> bool {
        let after = matches!(self, Event::PermissionDenied | Event::PostToolUse | Event::PostToolUseFailure);
        after || self.decides()
    }

    /// Whether the answer allows or stops a call; then doubt is never an allow.
    #[must_use]
    pub fn decides(self) -> bool {
        matches!(self, Event::PreToolUse | Event::PermissionRequest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
