//! Reading settings from flags, environment and files, and checking them against the table.

use super::table::RETIRED_KEYS;
use super::{Kind, Scope, Setting, Settings, TABLE, find, nearest, nearest_of};
use crate::environment::Environment;
use crate::files::{self, Links};
use crate::hint::HintLine;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A settings file larger than this is not one.
const MAX_SETTINGS_FILE_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Default)]
pub struct Sources<'a> {
    /// Flags, as (key, value).
    pub flags: Vec<(&'a str, String)>,
    pub environment: Environment,
    /// The project's `config.toml`; need not exist.
    pub project: Option<PathBuf>,
    /// The person's `config.toml`; need not exist.
    pub user: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Variable(&'static str),
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Variable(name) => write!(f, "${name}"),
            Origin::Flag => f.write_str("flag"),
        }
    }
}

/// A checked value.
#[derive(Debug, Clone)]
pub struct Value {
    /// The value in its canonical spelling.
    pub text: String,
    pub origin: Origin,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read {path}: {source}{}", self.hint_line())]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{path} is not valid TOML: {reason}")]
    Syntax {
        path: String,
        /// The place and the reason.
        reason: String,
    },
    #[error("unknown setting `{key}` ({origin}){}{}", .nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default(), self.hint_line())]
    UnknownKey {
        /// The key as given.
        key: String,
        origin: Origin,
        /// The nearest key there is.
        nearest: Option<&'static str>,
    },
    #[error("setting `{key}` ({origin}) cannot be `{value}`: it takes {accepted}")]
    BadValue {
        key: &'static str,
        origin: Origin,
        /// The value as given.
        value: String,
        /// The accepted values.
        accepted: String,
    },
    #[error(
        "setting `{key}` in {path} is not a project's to set: it decides where keys, traffic or programs go{}",
        self.hint_line()
    )]
    NotForProjects {
        key: &'static str,
        path: String,
        /// The place where it is allowed.
        place: String,
    },
}

impl SettingsError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            SettingsError::Unreadable { .. } => {
                Some("check that it is a readable file, or move it away".into())
            }
            SettingsError::UnknownKey { .. } => Some("`marvin config --markdown` lists every key".into()),
            SettingsError::NotForProjects { place, .. } => Some(format!("put it into {place}").into()),
            SettingsError::Syntax { .. } | SettingsError::BadValue { .. } => None,
        }
    }

    fn hint_line(&self) -> HintLine<Cow<'static, str>> {
        HintLine(self.hint())
    }
}

pub(super) fn load(sources: &Sources<'_>) -> Result<Settings, SettingsError> {
    let mut values: BTreeMap<&'static str, Value> = BTreeMap::new();
    for setting in TABLE {
        let text = check(setting, setting.default, &Origin::Default)?;
        values.insert(setting.key, Value { text, origin: Origin::Default });
    }
    let mut objects = Vec::new();
    let mut put = |setting: &'static Setting, raw: &str, origin: Origin| -> Result<(), SettingsError> {
        let text = check(setting, raw, &origin)?;
        if setting.kind == Kind::Json && !text.is_empty() {
            objects.push((setting.key, Value { text: text.clone(), origin: origin.clone() }));
        }
        values.insert(setting.key, Value { text, origin });
        Ok(())
    };
    for (path, scope) in [(&sources.user, Scope::Person), (&sources.project, Scope::Anyone)] {
        let Some(path) = path else { continue };
        let origin = Origin::File(path.clone());
        for (key, raw) in read_file(path, scope == Scope::Anyone)? {
            if RETIRED_KEYS.contains(&key.as_str()) {
                continue;
            }
            let setting = known(&key, &origin)?;
            if setting.scope == Scope::Process || (setting.scope == Scope::Person && scope == Scope::Anyone) {
                return Err(not_for_projects(setting, path, sources));
            }
            put(setting, &raw, origin.clone())?;
        }
    }
    for setting in TABLE {
        let found = setting
            .variables
            .iter()
            .copied()
            .find_map(|name| sources.environment.get(name).map(|value| (name, value)));
        if let Some((name, raw)) = found {
            put(setting, raw, Origin::Variable(name))?;
        }
    }
    for (key, raw) in &sources.flags {
        put(known(key, &Origin::Flag)?, raw, Origin::Flag)?;
    }
    Ok(Settings { values, objects })
}

fn known(key: &str, origin: &Origin) -> Result<&'static Setting, SettingsError> {
    find(key).ok_or_else(|| SettingsError::UnknownKey {
        key: key.to_string(),
        origin: origin.clone(),
        nearest: nearest(key),
    })
}

fn not_for_projects(setting: &Setting, path: &Path, sources: &Sources<'_>) -> SettingsError {
    let place = match (&sources.user, setting.scope) {
        (Some(user), Scope::Person) => user.display().to_string(),
        _ => format!("the environment variable {}", setting.variables.first().unwrap_or(&"")),
    };
    SettingsError::NotForProjects { key: setting.key, path: path.display().to_string(), place }
}

/// The settings of a file as dotted keys with their values as text. A file that does not exist has none.
fn read_file(path: &Path, is_project: bool) -> Result<Vec<(String, String)>, SettingsError> {
    let links = if is_project { Links::Refuse } else { Links::Follow };
    let text = match files::read_text(path, MAX_SETTINGS_FILE_BYTES, links) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SettingsError::Unreadable { path: path.display().to_string(), source }),
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| SettingsError::Syntax {
        path: path.display().to_string(),
        reason: place(&text, &error),
    })?;
    let mut flat = Vec::new();
    flatten("", &toml::Value::Table(table), &mut flat);
    Ok(flat)
}

/// Position and message of a TOML error, without the line itself: it may hold a key.
fn place(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    format!("line {line}, column {column}: {}", error.message())
}

fn flatten(prefix: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
    // An object-valued setting keeps its table; every other table is a step of the path.
    let is_json = find(prefix).is_some_and(|setting| setting.kind == Kind::Json);
    match value {
        toml::Value::Table(table) if !is_json => {
            for (key, value) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&path, value, out);
            }
        }
        toml::Value::Table(_) => {
            out.push((prefix.to_string(), serde_json::to_string(value).unwrap_or_default()));
        }
        toml::Value::Array(list) => {
            let entries = list.iter().map(plain).collect::<Vec<_>>().join(",");
            out.push((prefix.to_string(), entries));
        }
        _ => out.push((prefix.to_string(), plain(value))),
    }
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The canonical spelling of a value, if it fits.
pub(super) fn check(setting: &'static Setting, raw: &str, origin: &Origin) -> Result<String, SettingsError> {
    let text = raw.trim();
    if text.is_empty() {
        return Ok(String::new());
    }
    let canonical = match setting.kind {
        Kind::Text | Kind::Secret | Kind::List => Some(text.to_string()),
        Kind::Switch => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "y" | "on" => Some("true".to_string()),
            "false" | "0" | "no" | "n" | "off" => Some("false".to_string()),
            _ => None,
        },
        Kind::Whole(least, most) => text
            .replace('_', "")
            .parse::<i64>()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .map(|number| number.to_string()),
        Kind::Amount => text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .map(|number| number.to_string()),
        Kind::Choice(choices) => choices
            .iter()
            .find(|choice| choice.eq_ignore_ascii_case(text))
            .map(|choice| (*choice).to_string()),
        Kind::Json => serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
            .ok()
            .map(|_| text.to_string()),
    };
    canonical.ok_or_else(|| SettingsError::BadValue {
        key: setting.key,
        origin: origin.clone(),
        value: if setting.kind == Kind::Secret { "…".into() } else { crate::truncate::line(text, 60) },
        accepted: format!("{}{}", accepted(setting.kind), nearest_choice(setting.kind, text)),
    })
}

/// The choice that was probably meant, as a question to append.
fn nearest_choice(kind: Kind, text: &str) -> String {
    let Kind::Choice(choices) = kind else { return String::new() };
    nearest_of(text, choices.iter().copied())
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default()
}

/// Description of the values that a type accepts.
pub(super) fn accepted(kind: Kind) -> String {
    match kind {
        Kind::Text => "any text".into(),
        Kind::Secret => "a secret text".into(),
        Kind::Switch => "true or false".into(),
        Kind::Whole(least, i64::MAX) => format!("a whole number, {least} or more"),
        Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Amount => "a number, 0 or more".into(),
        Kind::List => "a list of texts (in the environment: separated by commas)".into(),
        Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
        Kind::Json => "a JSON object".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    fn load_from(user: &str, project: &str, environment: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let directory = tempfile::tempdir().unwrap();
        let (user_file, project_file) =
            (directory.path().join("user.toml"), directory.path().join("project.toml"));
        std::fs::write(&user_file, user).unwrap();
        std::fs::write(&project_file, project).unwrap();
        load(&Sources {
            flags: vec![],
            environment: environment.iter().copied().collect(),
            project: Some(project_file),
            user: Some(user_file),
        })
    }

    #[test]
    fn the_nearest_source_wins() {
        let rounds = |user, project, env: &[(&str, &str)]| {
            let settings = load_from(user, project, env).unwrap();
            (
                settings.whole(&table::DEBUG_ROUNDS),
                settings.value(&table::DEBUG_ROUNDS).unwrap().origin.clone(),
            )
        };
        assert_eq!(rounds("", "", &[]), (50, Origin::Default));
        let file = "[pipeline]\ndebug_rounds = 7";
        assert_eq!(rounds(file, "", &[]).0, 7);
        assert_eq!(rounds(file, "pipeline.debug_rounds = 8", &[]).0, 8);
        let variable = Origin::Variable("MARVIN_DEBUG_ROUNDS");
        assert_eq!(rounds(file, "", &[("MARVIN_DEBUG_ROUNDS", "9")]), (9, variable));
    }

    #[test]
    fn objects_of_several_sources_stand_beside_each_other() {
        let settings = load_from(
            "[mcp.servers.a]\ncommand = 'x'",
            "[mcp.servers.b]\nurl = 'y'",
            &[("MARVIN_MCP_SERVERS", "{}")],
        )
        .unwrap();
        let all: Vec<&str> = settings.each(&table::MCP_SERVERS).map(|value| value.text.as_str()).collect();
        assert_eq!(all, [r#"{"a":{"command":"x"}}"#, r#"{"b":{"url":"y"}}"#, "{}"]);
        assert_eq!(settings.each(&table::WEB_DOMAIN_SECRETS).count(), 0);
    }

    #[test]
    fn mistakes_are_named_with_a_hint() {
        let text =
            |user, project, env: &[(&str, &str)]| load_from(user, project, env).unwrap_err().to_string();
        assert!(
            text("[pipeline]\ndebug_round = 7", "", &[]).contains("did you mean `pipeline.debug_rounds`?")
        );
        let late = text("", "", &[("MARVIN_DEBUG_ROUNDS", "many")]);
        assert!(late.contains("$MARVIN_DEBUG_ROUNDS") && late.contains("a whole number"), "{late}");
        assert!(text("a = [", "", &[]).contains("not valid TOML"));
        assert!(text("", "provider.openai.url = 'http://evil'", &[]).contains("not a project's to set"));
        let secret = text("", "", &[("TOKIMON_WEB_DOMAIN_SECRETS_JSON", "s3cret-that-is-no-json")]);
        assert!(secret.contains("a JSON object"), "{secret}");
    }

    #[test]
    fn a_directory_in_place_of_the_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources { user: Some(directory.path().to_path_buf()), ..Sources::default() };
        assert!(matches!(load(&sources), Err(SettingsError::Unreadable { .. })));
    }
}
