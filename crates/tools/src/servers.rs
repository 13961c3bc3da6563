//! MCP servers whose tools agents get: `[mcp.servers.NAME]` in `config.toml`.
//!
//! The person's own settings are trusted. A project's are not: its directory may be untrusted, or be written by the agent
//! that works in it. So a server that a project names counts only while a person has trusted exactly this definition, with
//! the content of every file of the project that it would run ([`Server::state`]). A project cannot replace a server of
//! the person's. The files of a person's server are pinned when it starts for the first time ([`pins`]); [`launch`] starts
//! them.
//!
//! Limits: files that a trusted program loads besides those on its command line are not checked.

mod error;
mod launch;
mod pins;

pub use error::ServerError;
pub use launch::{Launch, NeutralDirectory};

use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::settings::{Origin, Settings, nearest_of, table};
use marvin_base::{signature, truncate};
use marvin_gate::layers::Trust;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Servers of one project and person.
const MAX_SERVERS: usize = 32;
/// Keys of a definition.
const FIELDS: [&str; 10] =
    ["command", "args", "env", "cwd", "url", "headers", "allow", "timeout_s", "startup_s", "enabled"];

/// The definition of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// A program to start, which then speaks on its standard input and output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    /// Names of variables that it gets, besides a few harmless ones.
    #[serde(default)]
    pub env: Vec<String>,
    /// Its working directory: an empty one by default, the project for `project`, or a path. Only in a person's own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A URL to connect to instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers for that URL; `$NAME` stands for a variable of the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Tools that are taken; all of them by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Seconds that a call may take.
    #[serde(default = "crate::schema::number::<60>")]
    pub timeout_s: u64,
    /// Seconds that it has until its tools are known.
    #[serde(default = "crate::schema::number::<10>")]
    pub startup_s: u64,
    #[serde(default = "crate::schema::yes")]
    pub enabled: bool,
}

impl Definition {
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s)
    }

    #[must_use]
    pub fn startup(&self) -> Duration {
        Duration::from_secs(self.startup_s)
    }

    /// Its command line or URL.
    #[must_use]
    pub fn shown(&self) -> String {
        match (&self.url, &self.command) {
            (Some(url), _) => url.clone(),
            (None, Some(command)) => {
                shlex::try_join([command].into_iter().chain(&self.args).map(String::as_str))
                    .unwrap_or_else(|_| command.clone())
            }
            (None, None) => String::new(),
        }
    }
}

/// Whose settings name a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerOwner {
    Person,
    Project,
}

/// Whether a server may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    Ready,
    /// A project named it, and no person has trusted it as it is now.
    Untrusted,
    /// It is the person's own, and its program or a script of it changed since it was pinned.
    Changed,
    Off,
}

/// A server that the settings name.
#[derive(Debug, Clone)]
pub struct Server {
    pub name: String,
    pub definition: Definition,
    pub owner: ServerOwner,
    pub state: ServerState,
    /// Notes for the person: what is not pinned, and where it starts.
    pub notes: Vec<String>,
    /// The key and hash of its trust entry; none where nothing of it is pinned.
    trust: Option<(PathBuf, String)>,
}

impl Server {
    /// Trusts it as it is now, or withdraws the trust.
    ///
    /// # Errors
    /// When nothing of it is pinned, so that no trust is needed, or the list cannot be written.
    pub fn trust(&self, layout: &Layout, remove: bool) -> Result<(), ServerError> {
        let Some((name, hash)) = &self.trust else {
            return Err(ServerError::AlreadyTrusted(self.name.clone()));
        };
        let list = layout.trusted();
        let written = if remove { Trust::forget(&list, name) } else { Trust::note_hash(&list, name, hash) };
        Ok(written?)
    }

    /// Pins a person's server that starts for the first time.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn pin_first(&self, layout: &Layout) -> Result<(), ServerError> {
        match &self.trust {
            Some((name, _))
                if self.owner == ServerOwner::Person && !Trust::read(&layout.trusted()).knows(name) =>
            {
                self.trust(layout, false)
            }
            _ => Ok(()),
        }
    }

    /// Hashes the pinned files, and compares them with the list of trust.
    fn check_pins(&mut self, settings: &Path, trusted: &Trust, layout: &Layout, environment: &Environment) {
        let (pinned, notes) = pins::pin(self, layout, environment);
        self.notes = notes;
        let definition = signature::hash(&self.definition);
        let state = match self.owner {
            ServerOwner::Project => {
                let hash = signature::hash(&PinnedProject { definition: &self.definition, files: &pinned });
                let name = settings.with_file_name(format!("config.toml#mcp.servers.{}", self.name));
                let state =
                    if trusted.holds(&name, &hash) { ServerState::Ready } else { ServerState::Untrusted };
                self.trust = Some((name, hash));
                state
            }
            ServerOwner::Person if pinned.is_empty() => ServerState::Ready,
            ServerOwner::Person => {
                let hash = signature::hash(&pinned);
                // A person who changes the definition has decided; only its files are pinned.
                let kind = definition.get(..16).unwrap_or(&definition);
                let name = settings.with_file_name(format!("config.toml#mcp.servers.{}.{kind}", self.name));
                let is_pinned = !trusted.knows(&name) || trusted.holds(&name, &hash);
                self.trust = Some((name, hash));
                if is_pinned { ServerState::Ready } else { ServerState::Changed }
            }
        };
        self.state = if self.definition.enabled { state } else { ServerState::Off };
    }
}

/// A project's server as it is trusted.
#[derive(Serialize)]
struct PinnedProject<'a> {
    definition: &'a Definition,
    files: &'a BTreeMap<String, String>,
}

/// The servers that the settings name, sorted by name, and the errors of others.
#[must_use]
pub fn read(settings: &Settings, layout: &Layout, environment: &Environment) -> (Vec<Server>, Vec<String>) {
    let mut found: BTreeMap<String, Server> = BTreeMap::new();
    let mut problems = Vec::new();
    let project = layout.project_config();
    let trusted = Trust::read(&layout.trusted());
    for value in settings.each(&table::MCP_SERVERS) {
        let from_project = project.as_ref().filter(|path| value.origin == Origin::File((*path).clone()));
        let owner = if from_project.is_some() { ServerOwner::Project } else { ServerOwner::Person };
        for (name, definition) in objects(&value.text) {
            let mut problem = |what: String| {
                problems.push(format!(
                    "[mcp.servers.{}] ({}): {what}",
                    truncate::line(&name, 40),
                    value.origin
                ));
            };
            if found.get(&name).is_some_and(|known| known.owner == ServerOwner::Person)
                && owner == ServerOwner::Project
            {
                problem("you have a server of this name yourself, and yours is used".into());
                continue;
            }
            if found.len() >= MAX_SERVERS {
                problem(format!("there are more than {MAX_SERVERS} servers"));
                break;
            }
            match parse(&name, definition) {
                Err(error) => problem(error.to_string()),
                Ok(definition) => {
                    if owner == ServerOwner::Project && definition.cwd.is_some() {
                        problem("`cwd` counts only in your own settings; a project's server starts in an empty directory".into());
                        continue;
                    }
                    let file = from_project.cloned().unwrap_or_else(|| layout.user_config());
                    let (state, notes) = (ServerState::Off, Vec::new());
                    let mut server =
                        Server { name: name.clone(), definition, owner, state, notes, trust: None };
                    server.check_pins(&file, &trusted, layout, environment);
                    found.insert(name, server);
                }
            }
        }
    }
    (found.into_values().collect(), problems)
}

/// Values of variables that servers get: they are secret, whatever their name.
#[must_use]
pub fn secrets(settings: &Settings, environment: &Environment) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for value in settings.each(&table::MCP_SERVERS) {
        for (name, definition) in objects(&value.text) {
            let Ok(definition) = parse(&name, definition) else { continue };
            let of_headers = definition.headers.values().flat_map(|header| variables(header));
            for variable in definition.env.iter().cloned().chain(of_headers) {
                if let Some(secret) = environment.get(&variable).filter(|secret| secret.len() >= 8) {
                    found.push((variable, secret.to_string()));
                }
            }
        }
    }
    found
}

fn objects(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn parse(name: &str, definition: Value) -> Result<Definition, ServerError> {
    let wrong = |problem: &str| Err(ServerError::Definition(problem.to_string()));
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    if name.is_empty() || name.len() > 24 || !name.bytes().all(plain) || name.contains("__") {
        return wrong("a name is 1 to 24 small letters, digits, `-` and single `_`");
    }
    let unknown =
        definition.as_object().and_then(|map| map.keys().find(|key| !FIELDS.contains(&key.as_str())));
    if let Some(unknown) = unknown {
        let near = nearest_of(unknown, FIELDS.into_iter());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return wrong(&format!(
            "`{}` is not a key{near} (the keys are: {})",
            truncate::line(unknown, 40),
            FIELDS.join(", ")
        ));
    }
    let definition: Definition =
        serde_json::from_value(definition).map_err(|error| ServerError::Definition(error.to_string()))?;
    match (&definition.command, &definition.url) {
        (Some(_), Some(_)) => return wrong("it has a command and a url; only one is possible"),
        (None, None) => return wrong("it has neither a command nor a url"),
        (Some(command), None) if command.trim().is_empty() => return wrong("its command is empty"),
        (None, Some(url)) if !url.starts_with("https://") && !url.starts_with("http://") => {
            return wrong("its url must begin with https:// or http://");
        }
        _ => {}
    }
    if !(1..=86_400).contains(&definition.timeout_s) || !(1..=600).contains(&definition.startup_s) {
        return wrong("timeout_s is 1 to 86400, startup_s is 1 to 600");
    }
    Ok(definition)
}

/// Names of variables in a text: `$NAME` or `${NAME}`.
fn variables(text: &str) -> Vec<String> {
    let name = |rest: &str| -> String {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
    };
    text.split('$').skip(1).map(name).filter(|name| !name.is_empty()).collect()
}

/// Replaces the names of variables by their values.
///
/// # Errors
/// When a variable is not set.
pub fn filled(text: &str, environment: &Environment) -> Result<String, ServerError> {
    let mut pieces = text.split('$');
    let mut filled = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let name = variables(&format!("${piece}")).into_iter().next().unwrap_or_default();
        if name.is_empty() {
            filled.push('$');
            filled.push_str(piece);
            continue;
        }
        let value = environment.get(&name).ok_or_else(|| ServerError::UnsetVariable(name.clone()))?;
        let rest = piece.trim_start_matches('{').strip_prefix(name.as_str()).unwrap_or_default();
        filled.push_str(value);
        filled.push_str(rest.strip_prefix('}').filter(|_| piece.starts_with('{')).unwrap_or(rest));
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::settings::Sources;

    struct Place {
        _directory: tempfile::TempDir,
        layout: Layout,
        sources: Sources<'static>,
    }

    fn place(user: &str, project: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("p");
        std::fs::create_dir_all(root.join(".marvin")).unwrap();
        let environment = Environment::from_iter([
            ("HOME", directory.path().display().to_string()),
            ("MARVIN_HOME", directory.path().join("user").display().to_string()),
            ("KEY", "abcdefgh-1".to_string()),
        ]);
        let layout = Layout::new(&environment, Some(&root));
        std::fs::create_dir_all(layout.user()).unwrap();
        std::fs::write(layout.user_config(), user).unwrap();
        std::fs::write(layout.project_config().unwrap(), project).unwrap();
        let sources = Sources {
            environment,
            project: layout.project_config(),
            user: Some(layout.user_config()),
            ..Sources::default()
        };
        Place { _directory: directory, layout, sources }
    }

    fn states(place: &Place) -> Vec<(String, ServerState)> {
        let settings = Settings::load(&place.sources).unwrap();
        read(&settings, &place.layout, &place.sources.environment)
            .0
            .into_iter()
            .map(|one| (one.name, one.state))
            .collect()
    }

    #[test]
    fn a_project_s_server_waits_for_trust_and_loses_it_by_any_change() {
        let place = place(
            "[mcp.servers.mine]\ncommand = 'x'\nenv = ['KEY']",
            "[mcp.servers.theirs]\ncommand = 'python3'\nargs = ['server.py']\n[mcp.servers.mine]\ncommand = 'evil'",
        );
        let script = place.layout.project().unwrap().join("server.py");
        std::fs::write(&script, "one").unwrap();
        let expected = |state| vec![("mine".to_string(), ServerState::Ready), ("theirs".to_string(), state)];
        assert_eq!(states(&place), expected(ServerState::Untrusted));
        let settings = Settings::load(&place.sources).unwrap();
        let (servers, problems) = read(&settings, &place.layout, &place.sources.environment);
        assert!(problems.len() == 1 && problems[0].contains("yours is used"), "{problems:?}");
        assert_eq!(servers[0].definition.command.as_deref(), Some("x"));
        assert!(servers[0].trust(&place.layout, false).is_err());
        servers[1].trust(&place.layout, false).unwrap();
        assert_eq!(states(&place), expected(ServerState::Ready));
        std::fs::write(&script, "two").unwrap();
        assert_eq!(states(&place), expected(ServerState::Untrusted));
        std::fs::write(&script, "one").unwrap();
        assert_eq!(states(&place), expected(ServerState::Ready));
        servers[1].trust(&place.layout, true).unwrap();
        assert_eq!(states(&place), expected(ServerState::Untrusted));
        assert_eq!(
            secrets(&settings, &place.sources.environment),
            [("KEY".to_string(), "abcdefgh-1".to_string())]
        );
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| {
            let place = place(text, "");
            let settings = Settings::load(&place.sources).unwrap();
            let (servers, problems) = read(&settings, &place.layout, &place.sources.environment);
            assert!(servers.is_empty(), "{text}");
            problems.concat()
        };
        assert!(wrong("[mcp.servers.a]\ncomand = 'x'").contains("did you mean `command`?"));
        assert!(wrong("[mcp.servers.a]").contains("neither"));
        assert!(wrong("[mcp.servers.A__b]\ncommand = 'x'").contains("small letters"));
        assert!(wrong("[mcp.servers.a]\nurl = 'file:///x'").contains("https://"));
        assert!(wrong("[mcp.servers.a]\ncommand = 'x'\ntimeout_s = 0").contains("timeout_s"));
        assert!(wrong("[mcp.servers]\na = 3").contains("invalid type"));
    }

    #[test]
    fn variables_are_filled_in() {
        let environment = Environment::from_iter([("T", "tok"), ("U", "v")]);
        assert_eq!(filled("Bearer $T", &environment).unwrap(), "Bearer tok");
        assert_eq!(filled("a${T}b$U.c $", &environment).unwrap(), "atokbv.c $");
        assert!(filled("$NOT_THERE", &environment).unwrap_err().to_string().contains("NOT_THERE"));
        assert_eq!(variables("x $A ${B}y$"), ["A", "B"]);
    }
}
