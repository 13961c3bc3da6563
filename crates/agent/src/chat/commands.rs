//! The commands of a conversation, the same for every front end: `!…`, `/…`, and a few bare words.

use super::games::GameReply;
use super::turn::Kind;
use super::{Answer, Approval, Chat, Interruption, Refusal, Reply, Submission, status};
use crate::history::History;
use crate::person_tools::NEW_PREFERENCES;
use crate::profile::{self, Profile};
use marvin_base::layout::Layout;
use marvin_base::printable::count;
use marvin_base::settings::{misspelling_of, nearest_of, table};
use marvin_base::{atomic, truncate};
use marvin_gate::Workspace;
use marvin_model::choose;
use marvin_model::cost::Lifetime;
use marvin_tools::turbotime::{Selection, TOOLS};
use serde::Serialize;
use std::sync::Arc;

/// A command, for help and completion.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Command {
    pub name: &'static str,
    pub words: &'static str,
    pub meaning: &'static str,
}

const fn command(name: &'static str, words: &'static str, meaning: &'static str) -> Command {
    Command { name, words, meaning }
}

/// Every command, in the order of the help.
pub const COMMANDS: [Command; 34] = [
    command("!shell", "", "shell mode on or off: every line is a command, and `exit` ends it"),
    command("!sh", "", "the same"),
    command("!code", "", "file and command tools on or off"),
    command("!blender", "", "tools of Blender in every request, or only where they are meant"),
    command("!voice", "", "record speech until the next !voice; the text goes to the input"),
    command("!v", "[SECONDS]", "the same, for five or this many seconds"),
    command("!pro", "PROMPT", "ask Copilot, once"),
    command("!", "COMMAND", "run a command: judged, sandboxed, at most two minutes"),
    command("preferences", "", "open your preferences in your editor"),
    command("profiles", "[[new] NAME]", "list the profiles, switch to one, or create one"),
    command("usage", "", "cost so far"),
    command("saved", "", "saved places"),
    command("quit", "", "leave"),
    command("exit", "", "leave"),
    command("/help", "", "this list"),
    command("/model", "[[PROVIDER:]NAME]", "show or choose the model"),
    command("/memory", "", "memory candidates that wait for you"),
    command("/tools", "", "list the tools"),
    command(
        "/turbotime",
        "[TOOLS | all | on | off]",
        "goal framing and planning, with the tools that you name",
    ),
    command("/mtg", "[play … | LINE]", "play Magic: start a game, or answer its question (`/mtg help`)"),
    command("/servitors", "", "servitors and their commitments"),
    command("/runs", "", "the latest runs"),
    command("/undo", "", "remove the last exchange from the conversation (files stay as they are)"),
    command("/compact", "[TOKENS]", "compact the conversation, after a backup"),
    command("/search", "WORDS", "search the backups of the conversation"),
    command("/approvals", "", "everything that waits for you"),
    command("/yes", "[ID]", "approve ID, or the first of what waits"),
    command("/no", "[ID]", "refuse it"),
    command(
        "/edit",
        "ID TEXT",
        "change it: another memory, an answer to a servitor or a step, a refusal with a reason",
    ),
    command("/again", "[ID]", "run a step again whose outcome is unknown"),
    command("/cancel", "", "interrupt the answer; the prompt that waits goes back to the input"),
    command("/status", "", "status of the conversation"),
    command("/cost", "", "the same as usage"),
    command("/quit", "", "leave"),
];

#[must_use]
pub fn help() -> String {
    let row = |command: &Command| {
        let name = format!(
            "{}{}{}",
            command.name,
            if command.words.is_empty() || command.name == "!" { "" } else { " " },
            command.words
        );
        format!("  {name:26}  {}", command.meaning)
    };
    let rows: Vec<String> = COMMANDS.iter().map(row).collect();
    format!(
        "Commands\n{}\n\nEverything else is a prompt; so is a line that begins with a space.",
        rows.join("\n")
    )
}

impl Chat {
    /// Plays a line of `/mtg`.
    async fn play(&self, line: &str) -> Reply {
        let Some(games) = &self.inner.games else {
            return Reply::Wrong("/mtg: this front end has no games\n  hint: use `marvin mtg play`".into());
        };
        match games.run_line(&self.project(), line).await {
            GameReply::Text(text) => Reply::Text(text),
            GameReply::Refusal(reason) => Reply::Wrong(reason),
        }
    }

    /// Runs a line that is a command; none: it is a prompt.
    pub async fn command(&self, line: &str) -> Option<Reply> {
        let text = line.trim_end();
        if text.starts_with(' ') || text.contains('\n') && !text.starts_with('!') {
            return None;
        }
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "exit" | "logout" if self.state().shell && rest.split_whitespace().count() < 2 => {
                return Some(self.set_shell(false));
            }
            "quit" | "exit" if rest.is_empty() => return Some(Reply::Quit),
            "preferences" if rest.is_empty() => return Some(self.preferences()),
            "usage" if rest.is_empty() => return Some(Reply::Text(self.usage())),
            "saved" if rest.is_empty() => return Some(Reply::Text(self.saved())),
            "profiles" if !rest.contains(' ') => return Some(self.profiles(rest, false)),
            "profiles" if rest.split(' ').next() == Some("new") => {
                return Some(self.profiles(rest.trim_start_matches("new"), true));
            }
            _ => {}
        }
        if let Some(line) = text.strip_prefix('!') {
            return Some(self.bang(word, line.trim(), rest).await);
        }
        let named = |word: &str| word.len() > 1 && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
        if word == "/mtg" {
            return Some(self.play(rest).await);
        }
        if text.starts_with('/') && named(word) {
            return Some(self.slash(word, rest));
        }
        let shell = self.state().shell;
        if shell && !text.trim().is_empty() {
            return Some(Reply::Ran(self.shell(text.trim()).await));
        }
        None
    }

    async fn bang(&self, word: &str, line: &str, rest: &str) -> Reply {
        match word {
            "!shell" | "!sh" if rest.is_empty() => {
                let on = !self.state().shell;
                self.set_shell(on)
            }
            "!code" if rest.is_empty() => self.toggle_coding(),
            "!blender" if rest.is_empty() => self.toggle_blender().await,
            "!voice" if rest.is_empty() => self.toggle_voice().await,
            "!v" if rest.is_empty() => Reply::Voice(5),
            "!v" => match rest.parse() {
                Ok(seconds @ 1..=300) => Reply::Voice(seconds),
                _ => Reply::Wrong(format!("!v {rest}: say for how many seconds, 1 to 300")),
            },
            "!pro" if rest.is_empty() => {
                Reply::Wrong("!pro: say what to ask, for example `!pro why is the sky blue`".into())
            }
            "!pro" => sent(self.start(rest, Kind::Of("copilot"))),
            _ if line.is_empty() => Reply::Wrong("!: say which command to run, for example `!ls`".into()),
            _ => Reply::Ran(self.shell(line).await),
        }
    }

    fn slash(&self, word: &str, rest: &str) -> Reply {
        match word {
            "/help" => Reply::Panel("help", help()),
            "/quit" | "/exit" => Reply::Quit,
            "/usage" | "/cost" => Reply::Text(self.usage()),
            "/status" => Reply::Text(self.standing()),
            "/model" => self.model(rest),
            "/memory" => Reply::Panel("memory", waiting(&self.approvals(), "memory:")),
            "/approvals" => Reply::Panel("memory", waiting(&self.approvals(), "")),
            "/tools" => Reply::Text(self.tools()),
            "/servitors" => Reply::Panel("servitors", self.servitors_text()),
            "/runs" => Reply::Panel("runs", self.runs_text()),
            "/turbotime" => self.turbotime(rest),
            "/undo" => self.undo(),
            "/compact" => self.compact(rest),
            "/search" => self.search(rest),
            "/cancel" => match self.cancel() {
                Interruption { queued: Some(text), .. } => Reply::Returned(text),
                Interruption { cancelled: true, .. } => Reply::Changed("interrupted".into()),
                Interruption { .. } => Reply::Text("nothing is being answered".into()),
            },
            "/yes" => self.decide(rest, &Answer::Yes),
            "/no" => self.decide(rest, &Answer::No),
            "/again" => self.decide(rest, &Answer::Again),
            "/edit" => match rest.split_once(char::is_whitespace) {
                Some((id, text)) => self.decide(id, &Answer::Edit(text.trim().to_string())),
                None => {
                    Reply::Wrong("/edit: say which, and what instead (`/approvals` shows what waits)".into())
                }
            },
            _ => {
                let near = nearest_of(word, COMMANDS.iter().map(|command| command.name));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let word = truncate::line(word, 40);
                Reply::Wrong(format!(
                    "unknown command `{word}`{near}\n  hint: `/help` lists them; begin with a space to send it as a prompt"
                ))
            }
        }
    }

    fn decide(&self, id: &str, answer: &Answer) -> Reply {
        let all = self.approvals();
        let found = if id.is_empty() {
            all.first()
        } else {
            all.iter().find(|one| one.id == id || one.id.ends_with(id))
        };
        let Some(found) = found else {
            return Reply::Wrong(if all.is_empty() {
                "nothing waits for you".into()
            } else {
                format!(
                    "nothing waits under `{}`\n  hint: `/approvals` shows what does",
                    truncate::line(id, 60)
                )
            });
        };
        match self.answer(&found.id, answer) {
            Ok(()) => Reply::Changed(format!("answered: {}", truncate::line(&found.text, 80))),
            Err(error) => Reply::Wrong(error.to_string()),
        }
    }

    fn toggle_coding(&self) -> Reply {
        let mut state = self.state();
        if !state.project.coding && state.project.workspace.is_none() {
            let directory = state.project.directory.clone();
            match Workspace::open(&directory, state.project.layout.home()) {
                Ok(workspace) => {
                    state.project.layout = Layout::new(&state.project.environment, Some(workspace.root()));
                    state.project.workspace = Some(Arc::new(workspace));
                }
                Err(refusal) => {
                    return Reply::Wrong(format!(
                        "{refusal}\n  hint: start Marvin in the directory of a project"
                    ));
                }
            }
        }
        state.project.coding = !state.project.coding;
        let text = match (&state.project.workspace, state.project.coding) {
            (Some(workspace), true) => {
                format!("coding: files and commands in {}", workspace.root().display())
            }
            _ => "no files, no commands".to_string(),
        };
        drop(state);
        self.tell_status();
        Reply::Changed(text)
    }

    /// Switches shell mode on or off; it begins in the root.
    fn set_shell(&self, on: bool) -> Reply {
        {
            let mut state = self.state();
            state.shell = on;
            state.shell_directory = None;
        }
        self.tell_status();
        Reply::Changed(if on {
            "every line is a command now; `exit` or `!shell` ends that".into()
        } else {
            "lines are prompts again".into()
        })
    }

    fn preferences(&self) -> Reply {
        let (layout, name) = {
            let state = self.state();
            (state.project.layout.clone(), state.profile.clone())
        };
        let path = layout.preferences(&name);
        if !path.exists() {
            let made = std::fs::create_dir_all(layout.profile(&name))
                .map_err(|error| error.to_string())
                .and_then(|()| {
                    atomic::replace_private(&path, NEW_PREFERENCES.as_bytes())
                        .map_err(|error| error.to_string())
                });
            if let Err(error) = made {
                return Reply::Wrong(format!("{}: {error}", path.display()));
            }
        }
        Reply::Edit { what: format!("the preferences of `{name}`"), path }
    }

    /// Lists the profiles, or switches to one. A mistyped one would hide calendar and preferences from later commands.
    fn profiles(&self, name: &str, is_new: bool) -> Reply {
        let (layout, active, busy) = {
            let state = self.state();
            (state.project.layout.clone(), state.profile.clone(), state.running.is_some())
        };
        if name.is_empty() {
            let mut names: Vec<String> = std::fs::read_dir(layout.profiles())
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .collect();
            names.push(active.clone());
            names.sort();
            names.dedup();
            let row = |name: &String| format!("{} {name}", if *name == active { "*" } else { " " });
            return Reply::Text(names.iter().map(row).collect::<Vec<_>>().join("\n"));
        }
        let name = profile::normal(name);
        if busy || name.is_empty() {
            let what = "wait until the answer is there; a profile is a name of letters and digits";
            return Reply::Wrong(what.into());
        }
        if !is_new && name != active && name != "default" && !layout.profile(&name).is_dir() {
            return Reply::Wrong(format!("no profile is called `{name}`; `profiles new {name}` creates one"));
        }
        let kept = std::fs::create_dir_all(layout.profile(&name))
            .map_err(|error| error.to_string())
            .and_then(|()| {
                atomic::replace(&layout.last_profile(), format!("{name}\n").as_bytes())
                    .map_err(|error| error.to_string())
            });
        if let Err(error) = kept {
            return Reply::Wrong(error);
        }
        self.use_profile(&name);
        Reply::Again(format!("you are `{name}` now"))
    }

    fn usage(&self) -> String {
        let status = self.status();
        let layout = self.project().layout;
        let mut text =
            format!("This conversation: {}, {:.4} USD", count(status.messages, "message"), status.cost_usd);
        if let Some(budget) = status.budget_usd {
            text.push_str(&format!(" of {budget}"));
        }
        match Lifetime::read(&layout.usage()) {
            Ok(lifetime) => {
                text.push_str(&format!(
                    "\nOver all: {} replies, {:.4} USD",
                    lifetime.total_llm_turns, lifetime.total_cost
                ));
                for (provider, tokens) in &lifetime.total_provider_tokens {
                    text.push_str(&format!(
                        "\n  {provider}: {} tokens read, {} written",
                        tokens.input, tokens.output
                    ));
                }
            }
            Err(error) => text.push_str(&format!("\n{} cannot be read: {error}", layout.usage().display())),
        }
        text
    }

    fn saved(&self) -> String {
        let (layout, name) = {
            let state = self.state();
            (state.project.layout.clone(), state.profile.clone())
        };
        let profile = Profile::read(&layout, &name);
        let mut lines = profile.places;
        lines.extend(profile.problems);
        if lines.is_empty() { "no saved places".into() } else { lines.join("\n") }
    }

    fn standing(&self) -> String {
        let status = self.status();
        let mut rows = vec![
            ("who answers", format!("{} {}", status.provider, status.model)),
            ("profile", status.profile),
            ("mode", status.mode),
            ("workspace", status.workspace.unwrap_or_else(|| "none".into())),
            ("sandbox", status.sandbox),
            ("cost", format!("{:.4} USD", status.cost_usd)),
            ("messages", status.messages.to_string()),
            ("waiting for you", status.approvals.to_string()),
            ("servitors at work", status.servitors.to_string()),
        ];
        if let Some(prompt) = status.prompt {
            rows.push(("being answered", truncate::line(&prompt, 80)));
        }
        if let Some(queued) = status.queued {
            rows.push(("next", truncate::line(&queued, 80)));
        }
        rows.into_iter().map(|(name, value)| format!("{name:18}{value}")).collect::<Vec<_>>().join("\n")
    }

    fn model(&self, words: &str) -> Reply {
        let project = self.project();
        if words.is_empty() {
            let all = choose::survey(&project.settings, &project.layout, &project.environment);
            let status = self.status();
            let mut text = format!("{} {} answers.", status.provider, status.model);
            for row in all {
                let ready = if row.ready { "ready".to_string() } else { "not ready".to_string() };
                text.push_str(&format!("\n  {:10}  {ready:10}  {}", row.provider, row.model));
            }
            return Reply::Text(text);
        }
        let (provider, model) = match words.split_once(':') {
            Some((provider, model)) if table::PROVIDERS.contains(&provider) => (Some(provider), model),
            _ if table::PROVIDERS.contains(&words) => (Some(words), ""),
            _ => (None, words),
        };
        // Names of local models have a colon too: `llama3:8b`.
        if provider.is_none()
            && let Some((word, _)) = words.split_once(':')
            && let Some(near) = misspelling_of(word, table::PROVIDERS.into_iter())
        {
            return Reply::Wrong(format!("no provider is called `{word}`; did you mean `{near}`?"));
        }
        let mut settings = project.settings.as_ref().clone();
        let changed = provider
            .map_or(Ok(settings.clone()), |provider| settings.with(&table::PROVIDER, provider))
            .and_then(|with| {
                settings = with;
                settings.with(&table::MODEL, model.trim())
            });
        let settings = match changed {
            Ok(settings) => Arc::new(settings),
            Err(error) => return Reply::Wrong(error.to_string()),
        };
        let mut next = project;
        next.settings = settings;
        // What cannot answer is not chosen.
        if let Err(error) = crate::model_client::choose_client(&next, None) {
            return Reply::Wrong(error.to_string());
        }
        let (provider, model) = status::model_of(&next);
        let text = format!("{provider} {model} answers from now on");
        {
            let mut state = self.state();
            state.project.settings = next.settings;
            (state.provider, state.model) = (provider, model);
        }
        self.tell_status();
        Reply::Changed(text)
    }

    fn turbotime(&self, words: &str) -> Reply {
        if words.is_empty() {
            let all = TOOLS.map(|(name, short)| format!("  {short:10}  {name}")).join("\n");
            let stands = match self.status().turbotime {
                None => "TURBOTIME is off.".to_string(),
                Some(names) if names.is_empty() => "TURBOTIME is on, without tools.".to_string(),
                Some(names) => format!("TURBOTIME is on: {}.", names.join(", ")),
            };
            return Reply::Text(format!(
                "{stands}\n{all}\n`/turbotime scryfall,news` selects, `/turbotime off` ends it."
            ));
        }
        if words == "off" {
            self.select(None);
            return Reply::Changed("TURBOTIME is off".into());
        }
        match Selection::read(words) {
            Ok(selection) => {
                let names = selection.names().join(", ");
                self.select(Some(selection));
                Reply::Changed(format!("TURBOTIME is on{}{names}", if names.is_empty() { "" } else { ": " }))
            }
            Err(why) => Reply::Wrong(why.to_string()),
        }
    }

    fn tools(&self) -> String {
        let project = self.project();
        let specs = self.toolbox(&project).specs();
        let rows = specs.iter().map(|spec| {
            let first = spec.description.split(". ").next().unwrap_or_default();
            format!("  {:22}  {}", spec.name, truncate::line(first, 90))
        });
        let hint = if project.coding { "" } else { "\n\n`!code` adds files and commands." };
        format!("{}\n{}{hint}", count(specs.len(), "tool"), rows.collect::<Vec<_>>().join("\n"))
    }

    fn servitors_text(&self) -> String {
        let rows = self.servitors();
        if rows.is_empty() {
            return "no servitors here".into();
        }
        let row = |row: &super::ServitorRow| {
            let what = if row.reason.is_empty() { &row.assignment } else { &row.reason };
            let mut text = format!("{:10}  {:16}  {}", row.state, row.name, truncate::line(what, 90));
            for (assertion, status) in &row.commitments {
                text.push_str(&format!("\n            {status}: {}", truncate::line(assertion, 90)));
            }
            text
        };
        rows.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    fn runs_text(&self) -> String {
        let rows = self.runs(20);
        if rows.is_empty() {
            return "no runs here".into();
        }
        rows.iter().map(super::RunRow::line).collect::<Vec<_>>().join("\n")
    }

    fn undo(&self) -> Reply {
        let (path, profile, busy) = {
            let state = self.state();
            (state.project.layout.chat_log(&state.profile), state.profile.clone(), state.running.is_some())
        };
        if busy {
            return Reply::Wrong("wait until the answer is there, or interrupt it".into());
        }
        match History::undo(&path) {
            Ok(None) => Reply::Text("there is nothing to take back".into()),
            Ok(Some((prompt, _))) => {
                self.take_profile(&profile);
                Reply::Input(prompt)
            }
            Err(error) => Reply::Wrong(format!("{}: {error}", path.display())),
        }
    }

    fn compact(&self, words: &str) -> Reply {
        let (project, profile) = {
            let state = self.state();
            (state.project.clone(), state.profile.clone())
        };
        let target =
            if words.is_empty() { Ok(project.settings.count(&table::HISTORY_TARGET)) } else { words.parse() };
        let Ok(target) = target else {
            return Reply::Wrong(format!(
                "/compact {words}: say to how many tokens, for example `/compact 50000`"
            ));
        };
        let path = project.layout.chat_log(&profile);
        match History::compact_file(&path, target) {
            Ok(None) => Reply::Text(format!("it is within {target} tokens already")),
            Ok(Some(backup)) => {
                self.take_profile(&profile);
                Reply::Again(format!("shortened; what it was is in {}", backup.display()))
            }
            Err(error) => Reply::Wrong(format!("{}: {error}", path.display())),
        }
    }

    fn search(&self, words: &str) -> Reply {
        if words.is_empty() {
            return Reply::Wrong("/search: say which words".into());
        }
        let path = {
            let state = self.state();
            state.project.layout.chat_log(&state.profile)
        };
        let found = History::search_backups(&path, words, 20);
        if found.is_empty() {
            return Reply::Text(format!("no backup holds `{}`", truncate::line(words, 60)));
        }
        let row = |(stamp, entry): &(String, crate::history::ChatLogEntry)| {
            format!("{stamp}  {}: {}", entry.role, around(&entry.text, words))
        };
        Reply::Text(found.iter().map(row).collect::<Vec<_>>().join("\n"))
    }
}

/// Part of a long text around the words that were searched for.
fn around(text: &str, words: &str) -> String {
    if text.chars().count() <= 300 {
        return text.to_string();
    }
    let at = text.to_lowercase().find(&words.to_lowercase()).unwrap_or(0);
    let start = truncate::floor(text, at.saturating_sub(100).min(text.len()));
    let end = truncate::floor(text, (at + words.len() + 100).min(text.len()));
    format!("…{}…", text.get(start..end).unwrap_or_default())
}

fn sent(sent: Result<Submission, Refusal>) -> Reply {
    sent.map_or_else(|refusal| Reply::Wrong(refusal.to_string()), Reply::Sent)
}

/// List of approvals with their ids.
fn waiting(all: &[Approval], kind: &str) -> String {
    let row = |one: &Approval| {
        format!(
            "{}\n  {}\n  {}\n  from: {}; why: {}",
            one.id,
            one.title,
            one.text.replace('\n', "\n  "),
            one.source,
            one.why
        )
    };
    let rows: Vec<String> = all.iter().filter(|one| one.id.starts_with(kind)).map(row).collect();
    if rows.is_empty() {
        return "nothing waits for you".into();
    }
    format!("{}\n\n`/yes ID`, `/no ID` or `/edit ID TEXT`", rows.join("\n"))
}
