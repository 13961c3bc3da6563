//! Judgement of a call before it happens: commands by all layers of the gate, files by their paths.
//!
//! A client runs commands without Marvin's sandbox, and "allow" skips its own question. So a verdict that allows is sent to
//! the client only with a clearance ([`marvin_gate::layers::Clearance`]) that `hooks.allow` accepts, and only where none of
//! the client's own rules could ask; otherwise the answer has no decision and the client decides as it would without
//! Marvin. For files nothing is ever allowed: only a question or a denial is sent.

use super::{EventHandler, lock};
use crate::answer::Answer;
use crate::client_rules;
use crate::event::{Call, Client, Deed, Event, Input};
use crate::session::{LayerDecision, Session, SessionError};
use marvin_base::ledger::LedgerError;
use marvin_base::settings::table;
use marvin_base::trace_event::{HookCall, HookVerdict, TraceEvent};
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Clearance, Layer, Place, Ruling};
use marvin_gate::network::address::{self, Class};
use marvin_gate::network::{Destination, Host};
use marvin_gate::{Access, Context, Decision, Intent, Verdict, Workspace, judge};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// A patch with more files is asked about.
const MAX_PATCH_FILES: usize = 200;
const MAX_TRACED_COMMAND_CHARS: usize = 4_000;

/// Modes in which Claude Code asks about unknown commands; in others an "allow" would override a refusal.
const ASKING_MODES: [&str; 4] = ["default", "acceptEdits", "auto", "bypassPermissions"];

/// Places below the home directory that a client's own agents write.
const CLIENT_WRITES: [&str; 4] = [".claude/plans", ".claude/projects", ".claude/todos", ".codex/memories"];
/// Places that they read.
const CLIENT_READS: [&str; 12] = [
    ".claude/plans",
    ".claude/projects",
    ".claude/todos",
    ".claude/skills",
    ".claude/plugins",
    ".claude/commands",
    ".claude/agents",
    ".claude/CLAUDE.md",
    ".codex/memories",
    ".codex/skills",
    ".codex/prompts",
    ".codex/AGENTS.md",
];

/// A directory that cannot exist, so that without a workspace everything is outside.
const NO_WORKSPACE: &str = "/dev/null/none";

pub(super) struct LayerVerdict {
    pub(super) verdict: Verdict,
    pub(super) layer: &'static str,
    /// Whether an allow is sent to the client, which then skips its own question.
    pub(super) lifts: bool,
}

impl LayerVerdict {
    fn ask(rule: &str, reason: &str) -> LayerVerdict {
        LayerVerdict { verdict: Verdict::ask(rule, reason, ""), layer: Layer::Error.word(), lifts: false }
    }

    fn path(rule: &str, reason: &str) -> LayerVerdict {
        let how_to_fix = "Say in your answer what should stand there and why, or let the person decide.";
        LayerVerdict { verdict: Verdict::ask(rule, reason, how_to_fix), layer: "path", lifts: false }
    }

    /// Turns an allow into a question.
    fn at_least(self, rule: &str, reason: &str) -> LayerVerdict {
        if self.verdict.is_allowed() { LayerVerdict::ask(rule, reason) } else { self }
    }
}

/// The directories that a line is judged by.
pub(super) struct CommandPlace {
    directory: String,
    root: String,
    home: String,
}

impl CommandPlace {
    pub(super) fn as_place(&self) -> Place<'_> {
        Place { directory: &self.directory, grounds: Grounds { workspace: &self.root, home: &self.home } }
    }
}

impl EventHandler {
    /// Judges a call, records the verdict, and adds the knowledge of the packs.
    pub(super) async fn judged(&self, event: Event, input: &Input, session: &Mutex<Session>) -> Answer {
        let ruled = self.rule(input, session).await;
        let mut session = lock(session);
        let call = input.call.clone().unwrap_or_default();
        let command = match call.deed() {
            Deed::Command(line) => Some(line),
            _ => None,
        };
        let recorded = self.note(event, input, ruled.as_ref(), &mut session);
        let ruled = match (ruled, recorded) {
            (Some(ruled), Err(why)) if ruled.verdict.is_allowed() => {
                Some(LayerVerdict::ask("record.failed", &format!("the record cannot be written: {why}")))
            }
            (ruled, _) => ruled,
        };
        if let Some(ruled) = &ruled {
            let counted = LayerDecision { decision: ruled.verdict.decision, layer: ruled.layer };
            session.count(counted);
            if let (Decision::Ask, Some(line)) = (ruled.verdict.decision, command) {
                let id = session.id.clone();
                session.pending.ask(&id, line, Instant::now());
            }
        }
        let context = match event {
            Event::PreToolUse => self.inject_for_call(input, &mut session),
            _ => None,
        };
        match ruled {
            Some(LayerVerdict { verdict, lifts, .. }) if lifts || !verdict.is_allowed() => Answer::Verdict {
                decision: verdict.decision,
                reason: reason(&verdict, input.attended),
                context,
            },
            _ => context.map_or(Answer::Nothing, Answer::Context),
        }
    }

    /// Judges a call whose session cannot be recorded: an allow becomes a question.
    pub(super) async fn unrecorded(&self, event: Event, input: &Input, error: &SessionError) -> Answer {
        if !event.decides() {
            return Answer::Nothing;
        }
        let verdict = self.judge_call(input).await.map(|ruled| ruled.verdict);
        let lost = || Verdict::ask("record.failed", format!("the record cannot be written: {error}"), "");
        let verdict = match verdict {
            Some(verdict) if verdict.is_allowed() => lost(),
            Some(verdict) => verdict,
            None => return Answer::Nothing,
        };
        Answer::Verdict {
            decision: verdict.decision,
            reason: reason(&verdict, input.attended),
            context: None,
        }
    }

    async fn rule(&self, input: &Input, session: &Mutex<Session>) -> Option<LayerVerdict> {
        let ruled = self.judge_call(input).await?;
        if let Some(Deed::Command(line)) = input.call.as_ref().map(Call::deed)
            && ruled.verdict.decision != Decision::Deny
            && let Some(verdict) = super::tests_seen::before_merge(line, &lock(session))
        {
            return Some(LayerVerdict { verdict, layer: Layer::Denylist.word(), lifts: false });
        }
        Some(ruled)
    }

    /// The gate's verdict on a call; `None` where it has none.
    async fn judge_call(&self, input: &Input) -> Option<LayerVerdict> {
        let unreadable = || LayerVerdict::ask("hook.unreadable", "what this call would do cannot be read");
        let Some(call) = &input.call else { return Some(unreadable()) };
        let files = |write: bool| {
            let all = call.paths().filter_map(|path| self.file(path, write, input));
            all.max_by_key(|ruled| ruled.verdict.decision)
        };
        match call.deed() {
            Deed::Command(line) => {
                let ruled = self.command(line, input).await;
                Some(if call.has("dangerouslyDisableSandbox") {
                    ruled.at_least("hook.unboxed", "it would run outside of the client's own sandbox")
                } else {
                    ruled
                })
            }
            // A line that is refused for bash is refused; one that is allowed may mean something else in this shell.
            Deed::Foreign(line) => {
                let ruled = self.command(line, input).await;
                Some(ruled.at_least(
                    "hook.foreign",
                    "it is not a line for bash, and its own shell may read it differently",
                ))
            }
            Deed::Unreadable => Some(unreadable()),
            Deed::Read(_) => files(false),
            Deed::Search(place) => self.searched(call, place, input).or_else(|| files(false)),
            Deed::Write(_) => files(true),
            Deed::Patch(text) => match patched(text) {
                Some(files) if files.len() <= MAX_PATCH_FILES => {
                    let all = files.iter().filter_map(|path| self.file(path, true, input));
                    all.max_by_key(|ruled| ruled.verdict.decision)
                }
                _ => Some(unreadable()),
            },
            Deed::Other => self.unknown_tool(call, input),
        }
    }

    /// Judges an unknown tool, which may do anything with its arguments: arguments that are refused elsewhere are asked about.
    fn unknown_tool(&self, call: &Call, input: &Input) -> Option<LayerVerdict> {
        let refused = |line: &str| {
            let place = self.place_of(input);
            let verdict =
                self.layers.rule(line, place.as_place(), self.layers.look(line, place.as_place())).verdict;
            (verdict.decision == Decision::Deny).then(|| LayerVerdict::ask(&verdict.rule, &verdict.reason))
        };
        let writes = may_write(&call.tool);
        let guarded = |path: &str| {
            let of_write =
                self.file(path, true, input).filter(|ruled| writes || ruled.verdict.rule != "path.outside");
            let ruled = of_write.or_else(|| self.file(path, false, input))?;
            Some(LayerVerdict::ask(&ruled.verdict.rule, &ruled.verdict.reason))
        };
        let inner = |address: &str| {
            let is_metadata = is_metadata(address)?;
            is_metadata.then(|| {
                LayerVerdict::ask("network.address", "it asks the machine's own metadata, which holds keys")
            })
        };
        let lines = call.lines().iter().find_map(|line| refused(line));
        let paths = || call.paths().chain(call.nested_paths()).find_map(guarded);
        lines.or_else(paths).or_else(|| call.addresses().into_iter().find_map(inner))
    }

    pub(super) fn place_of(&self, input: &Input) -> CommandPlace {
        let root =
            self.root(input).map_or_else(|| NO_WORKSPACE.to_string(), |root| root.display().to_string());
        let directory = match (input.directory.starts_with('/'), self.root(input)) {
            (true, _) => input.directory.clone(),
            (false, Some(_)) => root.clone(),
            (false, None) => self.project.display().to_string(),
        };
        CommandPlace { directory, root, home: self.context.layout.home().display().to_string() }
    }

    async fn command(&self, line: &str, input: &Input) -> LayerVerdict {
        let place = self.place_of(input);
        let judgement = self.layers.look(line, place.as_place());
        let ruling = self.layers.decide(line, place.as_place(), judgement).await;
        if let Some(why) = self.layers.log().and_then(marvin_gate::layers::Log::take_failure)
            && ruling.verdict.is_allowed()
        {
            return LayerVerdict::ask(
                "record.failed",
                &format!("the log of decisions cannot be written: {why}"),
            );
        }
        let lifts = self.lifts(line, input, &place, &ruling);
        LayerVerdict { verdict: ruling.verdict, layer: ruling.layer.word(), lifts }
    }

    /// Whether an allow is sent to the client.
    fn lifts(&self, line: &str, input: &Input, place: &CommandPlace, ruling: &Ruling) -> bool {
        let is_shell = input.call.as_ref().is_some_and(|call| call.tool == "Bash");
        // In plan mode nothing may run, and in other modes the client refuses instead of asking.
        if !is_shell || !ruling.verdict.is_allowed() || !ASKING_MODES.contains(&input.mode.as_str()) {
            return false;
        }
        let clearance = self.layers.clearance(line, place.as_place(), ruling);
        let setting = self.context.settings.text(&table::HOOKS_ALLOW);
        let directories = [self.project.as_path(), Path::new(&place.directory), Path::new(&place.root)];
        lifts(setting, &clearance)
            && !client_rules::may_match(
                self.context.layout.home(),
                self.context.environment.get("CLAUDE_CONFIG_DIR"),
                &directories,
                &ruling.judgement.segments,
            )
    }

    fn file(&self, path: &str, write: bool, input: &Input) -> Option<LayerVerdict> {
        let home = self.context.layout.home();
        if is_of_process(path) {
            return Some(LayerVerdict::path("path.secret", &format!("`{path}` tells what a process holds")));
        }
        let real = self.real(path, input);
        let root = self.root(input);
        let inside = root.as_ref().and_then(|root| real.strip_prefix(root).ok());
        let Some(inside) = inside.or_else(|| real.strip_prefix(&self.project).ok()) else {
            return outside(path, &real, write, home);
        };
        let workspace = root.as_ref().and_then(|root| Workspace::open(root, home).ok());
        // The gate judges the path as it was given, with its symlinks.
        let given = self.relative(path, input);
        let (Some(workspace), Some(given)) =
            (workspace, given.or_else(|| Some(inside.to_str()?.to_string())).map(or_root))
        else {
            return Some(LayerVerdict::path("path.unusable", &format!("`{path}` cannot be judged")));
        };
        let intent = if write { Intent::Write { path: given } } else { Intent::Read { path: given } };
        let context = Context {
            workspace: Some(&workspace),
            home,
            access: &Access::Full,
            attended: true,
            may_execute: true,
            duty: &self.context.duty,
            settings: &self.context.settings,
            redactor: &self.context.redactor,
            layers: &self.layers,
        };
        let verdict = judge(&intent, &context);
        match verdict.decision {
            Decision::Allow => None,
            Decision::Ask => Some(LayerVerdict { verdict, layer: "path", lifts: false }),
            Decision::Deny if write => Some(LayerVerdict { verdict, layer: "path", lifts: false }),
            // Reading a missing file or a record does no harm.
            Decision::Deny
                if matches!(verdict.rule.as_str(), "path.missing" | "path.closed" | "path.tickets") =>
            {
                None
            }
            Decision::Deny => Some(LayerVerdict::path(&verdict.rule, &verdict.reason)),
        }
    }

    /// Judges a search: a directory that holds credentials, or a pattern that names them, is asked about.
    fn searched(&self, call: &Call, place: &str, input: &Input) -> Option<LayerVerdict> {
        // A pattern may name a directory itself.
        let patterns = call.patterns().map(|pattern| match pattern.starts_with(['/', '~']) {
            true => pattern.to_string(),
            false => format!("{place}/{pattern}"),
        });
        let home = marvin_gate::path::real(self.context.layout.home());
        for place in std::iter::once(place.to_string()).chain(patterns) {
            let start = place.find(['*', '?', '[', '{']).and_then(|at| place.get(..at)?.rsplit_once('/'));
            let real = match start {
                Some(("", _)) => PathBuf::from("/"),
                Some((directory, _)) => self.real(directory, input),
                None => self.real(&place, input),
            };
            let holds = |secret: &PathBuf| secret.starts_with(&real) && *secret != real;
            if home.starts_with(&real) || marvin_gate::secrets::places(&home).iter().any(holds) {
                let reason = format!("`{place}` holds credentials, and all of it would be searched");
                return Some(LayerVerdict::path("path.home", &reason));
            }
        }
        let names = call.patterns().find(|pattern| {
            let name = pattern.rsplit('/').next().unwrap_or(pattern);
            let mut parts = name.split(['{', '}', ',']).map(|part| part.trim_matches('*'));
            parts.any(|part| part.len() > 3 && marvin_gate::secrets::is_project_secret(part))
        });
        names.map(|pattern| {
            LayerVerdict::path("path.secret", &format!("`{pattern}` names files that may hold secrets"))
        })
    }

    /// Resolves a path: symlinks first, then `..`.
    fn real(&self, path: &str, input: &Input) -> PathBuf {
        let home = self.context.layout.home();
        let path = match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None if path == "~" => home.to_path_buf(),
            None => Path::new(&input.directory).join(path),
        };
        marvin_gate::path::real(&path)
    }

    fn note(
        &self,
        event: Event,
        input: &Input,
        ruled: Option<&LayerVerdict>,
        session: &mut Session,
    ) -> Result<(), LedgerError> {
        let call = input.call.clone().unwrap_or_default();
        let verdict = ruled.map(|ruled| {
            let Verdict { decision, reason, rule, .. } = &ruled.verdict;
            let told = if *decision == Decision::Allow && !ruled.lifts { "none" } else { decision.word() };
            HookVerdict {
                decision: decision.word().to_string(),
                reason: reason.clone(),
                rule: rule.clone(),
                layer: ruled.layer.to_string(),
                told: told.to_string(),
            }
        });
        let asked = ruled.is_some_and(|ruled| ruled.verdict.decision == Decision::Ask);
        let command = match call.deed() {
            Deed::Command(line) if asked => {
                Some(line.chars().take(MAX_TRACED_COMMAND_CHARS).collect::<String>())
            }
            _ => None,
        };
        let file = match call.deed() {
            Deed::Write(path) => self.relative(path, input),
            Deed::Patch(text) => patched(text).and_then(|files| self.relative(files.first()?, input)),
            _ => None,
        };
        let call = HookCall {
            input_summary: session.short(&call.summary()),
            tool: call.tool,
            tool_use_id: call.id,
            agent_id: input.agent.clone(),
            agent_type: input.agent_type.clone(),
            file,
            command,
            verdict,
        };
        session.record(&match event {
            Event::PermissionRequest => TraceEvent::HookPermissionRequest(call),
            _ => TraceEvent::HookPreToolUse(call),
        })
    }
}

/// Whether the setting `hooks.allow` accepts a clearance.
fn lifts(setting: &str, clearance: &Clearance) -> bool {
    match clearance {
        Clearance::None => false,
        Clearance::Harmless => setting == "harmless",
        Clearance::Rule(_) => matches!(setting, "rules" | "harmless"),
    }
}

/// The answer that a client would get about a line.
#[derive(Debug, Clone, Serialize)]
pub struct ClientAnswer {
    pub client: &'static str,
    /// `allow`, `ask`, `deny`, or `none` where the client's own rules apply.
    pub decision: &'static str,
    pub reason: String,
    pub clearance: Clearance,
    /// The output of the hook.
    pub output: Value,
}

/// The client for which an answer is explained, and where its own rules are.
#[derive(Debug, Clone, Copy)]
pub struct ClientPlace<'a> {
    pub client: Client,
    /// The value of `hooks.allow`.
    pub setting: &'a str,
    pub home: &'a Path,
    /// The value of `CLAUDE_CONFIG_DIR`.
    pub config: Option<&'a str>,
    pub directories: &'a [&'a Path],
}

/// Explains the answer about a line, in a session that asks a person where the client can.
#[must_use]
pub fn explain_answer(place: ClientPlace<'_>, clearance: Clearance, ruling: &Ruling) -> ClientAnswer {
    let ClientPlace { client, setting, .. } = place;
    let verdict = &ruling.verdict;
    let is_client_rule = || {
        let segments = &ruling.judgement.segments;
        client_rules::may_match(place.home, place.config, place.directories, segments)
    };
    let may_lift = verdict.is_allowed() && client == Client::Claude && lifts(setting, &clearance);
    let is_held_back = may_lift && is_client_rule();
    let answer = match !verdict.is_allowed() || may_lift && !is_held_back {
        true => {
            let reason = reason(verdict, client == Client::Claude);
            Answer::Verdict { decision: verdict.decision, reason, context: None }
        }
        false => Answer::Nothing,
    };
    let output: Value = serde_json::from_str(&answer.print(client, Event::PreToolUse)).unwrap_or_default();
    let word = output.pointer("/hookSpecificOutput/permissionDecision").and_then(Value::as_str);
    let decision = match word {
        Some("allow") => "allow",
        Some("ask") => "ask",
        Some("deny") => "deny",
        _ => "none",
    };
    let reason = match (decision, &clearance, verdict.decision) {
        ("none", _, _) if is_held_back => {
            "a rule of the client itself could match, so it decides".to_string()
        }
        ("none", Clearance::None, _) => {
            "the line may run code that has not been read, so the client decides".to_string()
        }
        ("none", Clearance::Harmless, _) => {
            format!("harmless, but hooks.allow is `{setting}`, so the client decides")
        }
        ("none", Clearance::Rule(rule), _) => format!("covered by the rule {rule}; the client decides"),
        ("deny", _, Decision::Ask) => format!("a question, which this client cannot ask: {}", verdict.reason),
        _ => verdict.reason.clone(),
    };
    ClientAnswer { client: client.word(), decision, reason, clearance, output }
}

/// The reason, the rule, and how to fix it. A person who is asked decides, and needs no fix.
pub(super) fn reason(verdict: &Verdict, attended: bool) -> String {
    let mut text = verdict.reason.clone();
    let asked = attended && verdict.decision == Decision::Ask;
    if !verdict.how_to_fix.is_empty() && !asked {
        if !text.ends_with(['.', '!', '?']) {
            text.push('.');
        }
        text.push(' ');
        text.push_str(&verdict.how_to_fix);
    }
    format!("{text} [marvin: {}]", verdict.rule)
}

/// Whether the name of a tool says that it may write.
fn may_write(tool: &str) -> bool {
    const WORDS: [&str; 14] = [
        "write", "edit", "create", "delete", "remove", "move", "rename", "append", "patch", "save", "put",
        "insert", "replace", "copy",
    ];
    let name = tool.rsplit("__").next().unwrap_or(tool).to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Whether an address is that of a service by which clouds hand out credentials; none where it cannot be understood.
fn is_metadata(address: &str) -> Option<bool> {
    let text = if address.contains("://") { address.to_string() } else { format!("http://{address}") };
    let destination = Destination::understand(&text).ok()?;
    Some(match destination.host() {
        Host::Name(name) => name.to_lowercase().contains("metadata.google"),
        Host::Address(address) => {
            matches!(address::class(*address), Some(Class::Metadata | Class::LinkLocal))
        }
    })
}

/// Whether a path leads into what the kernel tells of processes: environments, memory, working directories, open files.
fn is_of_process(path: &str) -> bool {
    const NAMES: [&str; 8] = ["environ", "mem", "maps", "cwd", "root", "fd", "map_files", "task"];
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("proc") => parts.skip(1).any(|part| NAMES.contains(&part)),
        Some("dev") => parts.next() == Some("fd"),
        _ => false,
    }
}

/// Judges a path outside the project.
fn outside(path: &str, real: &Path, write: bool, home: &Path) -> Option<LayerVerdict> {
    let own: &[&str] = if write { &CLIENT_WRITES } else { &CLIENT_READS };
    if marvin_gate::secrets::is_secret_file(real) {
        return Some(LayerVerdict::path("path.secret", &format!("`{path}` may hold secrets")));
    }
    if is_scratch(real, home) || own.iter().any(|place| real.starts_with(home.join(place))) {
        return None;
    }
    if marvin_gate::secrets::is_secret_place(real, home) {
        return Some(LayerVerdict::path("path.secret", &format!("`{path}` may hold secrets")));
    }
    write.then(|| LayerVerdict::path("path.outside", &format!("`{path}` lies outside the project")))
}

/// The path, or `.` for the workspace itself.
fn or_root(path: String) -> String {
    if path.is_empty() { ".".into() } else { path }
}

/// Whether it is a place for temporary files.
fn is_scratch(path: &Path, home: &Path) -> bool {
    (path.starts_with("/tmp") || path.starts_with("/var/tmp"))
        && !path.starts_with(home)
        && !marvin_gate::path::is_daemon_place(path)
}

/// The files of a Codex patch; `None` for another text.
pub(super) fn patched(text: &str) -> Option<Vec<&str>> {
    let starts = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    // Codex trims the lines.
    let files: Vec<&str> = text
        .lines()
        .filter_map(|line| starts.iter().find_map(|start| line.trim().strip_prefix(start.trim_end())))
        .map(str::trim)
        .collect();
    (!files.is_empty()).then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\n*** Add File: n.txt\n+one\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** End Patch\n";
        assert_eq!(patched(patch), Some(vec!["n.txt", "a.txt", "b.txt"]));
        assert_eq!(patched("rm -rf /"), None);
        let hidden = "*** Begin Patch\n*** Add File: a.txt\n+x\n  *** Add File: /etc/cron.d/x\n\t*** Delete File:/etc/passwd\n*** End Patch\n";
        assert_eq!(patched(hidden), Some(vec!["a.txt", "/etc/cron.d/x", "/etc/passwd"]));
    }

    #[test]
    fn scratch_is_a_directory_and_not_a_name_prefix() {
        assert!(is_scratch(Path::new("/tmp/x"), Path::new("/home/a")));
        assert!(!is_scratch(Path::new("/tmpx"), Path::new("/home/a")));
        assert!(!is_scratch(Path::new("/tmp/home/.bashrc"), Path::new("/tmp/home")));
    }
}
