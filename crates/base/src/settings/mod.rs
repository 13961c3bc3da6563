//! Settings: one declarative table ([`table`]), from which help, `docs/settings.md` and the JSON schema of `config.toml`
//! are made, and by which every value is checked when the program starts.
//!
//! A value comes from the first of: a flag, the environment, the project's `config.toml`, the person's `config.toml`,
//! the default. Settings that say where traffic, keys or programs come from are the person's alone
//! ([`Scope::Person`]): a project directory that another person wrote must not redirect them.

mod load;
pub mod reference;
mod shown;
pub mod table;

pub use load::{Origin, SettingsError, Sources, Value};
pub use shown::{row, shown};
pub use table::TABLE;

use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Text,
    /// Text that is never shown.
    Secret,
    /// `true` or `false`; the environment may also say 1, 0, yes, no, on, off.
    Switch,
    /// A whole number within bounds.
    Whole(i64, i64),
    /// A number, zero or more.
    Amount,
    /// Several texts; in the environment, separated by commas.
    List,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A JSON object, as text.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The project or the person.
    Anyone,
    /// The person only: not the project's `config.toml`.
    Person,
    /// Only the environment: what one process tells another.
    Process,
}

/// One row of the table.
#[derive(Debug)]
pub struct Setting {
    /// The dotted key in `config.toml`.
    pub key: &'static str,
    pub kind: Kind,
    /// The default, as text; empty means unset.
    pub default: &'static str,
    pub scope: Scope,
    /// Environment variables, the first of them canonical, the first that is set wins.
    pub variables: &'static [&'static str],
    /// One line.
    pub meaning: &'static str,
}

/// Every setting with its value and where it came from.
#[derive(Debug, Clone)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
    /// Every object that was given, weakest first: a nearer one stands beside the others and does not hide them.
    objects: Vec<(&'static str, Value)>,
}

impl Settings {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// An unreadable file, an unknown key or a bad value, with the nearest key or the accepted values.
    pub fn load(sources: &Sources<'_>) -> Result<Self, SettingsError> {
        load::load(sources)
    }

    /// Only the defaults.
    ///
    /// # Errors
    /// Never, while the tests of the table pass.
    pub fn defaults() -> Result<Self, SettingsError> {
        load::load(&Sources::default())
    }

    /// The same settings with one of them as if a flag had set it.
    ///
    /// # Errors
    /// When the value does not fit.
    pub fn with(&self, setting: &'static Setting, value: &str) -> Result<Self, SettingsError> {
        let text = load::check(setting, value, &Origin::Flag)?;
        let mut settings = self.clone();
        settings.values.insert(setting.key, Value { text, origin: Origin::Flag });
        Ok(settings)
    }

    /// The value of a row.
    #[must_use]
    pub fn value(&self, setting: &Setting) -> Option<&Value> {
        self.values.get(setting.key)
    }

    /// The text of a setting; empty when unset.
    #[must_use]
    pub fn text(&self, setting: &Setting) -> &str {
        self.value(setting).map_or("", |value| value.text.as_str())
    }

    /// The text of a setting, if it is set.
    #[must_use]
    pub fn given(&self, setting: &Setting) -> Option<&str> {
        Some(self.text(setting)).filter(|text| !text.is_empty())
    }

    /// Every value that was given for a setting that holds an object, weakest first.
    pub fn each(&self, setting: &Setting) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(|(key, _)| *key == setting.key).map(|(_, value)| value)
    }

    #[must_use]
    pub fn on(&self, setting: &Setting) -> bool {
        self.text(setting) == "true"
    }

    /// A whole number; zero when unset.
    #[must_use]
    pub fn whole(&self, setting: &Setting) -> i64 {
        self.text(setting).parse().unwrap_or(0)
    }

    /// A whole number as a count; zero when unset or negative.
    #[must_use]
    pub fn count(&self, setting: &Setting) -> usize {
        usize::try_from(self.whole(setting)).unwrap_or(0)
    }

    /// A number of seconds as a duration.
    #[must_use]
    pub fn seconds(&self, setting: &Setting) -> Duration {
        Duration::from_secs(u64::try_from(self.whole(setting)).unwrap_or(0))
    }

    #[must_use]
    pub fn amount(&self, setting: &Setting) -> Option<f64> {
        self.given(setting).and_then(|text| text.parse().ok())
    }

    #[must_use]
    pub fn list(&self, setting: &Setting) -> Vec<String> {
        self.text(setting)
            .split(',')
            .map(|entry| entry.trim().to_string())
            .filter(|entry| !entry.is_empty())
            .collect()
    }

    /// Every row with its value, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Value)> {
        TABLE.iter().filter_map(|setting| Some((*setting, self.values.get(setting.key)?)))
    }

    /// The secret values, as (key, value), for the redactor.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter()
            .filter(|(setting, value)| setting.kind == Kind::Secret && !value.text.is_empty())
            .map(|(setting, value)| (setting.key, value.text.as_str()))
    }
}

/// The row with this key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Setting> {
    TABLE.iter().copied().find(|setting| setting.key == key)
}

/// The key nearest to a mistaken one.
#[must_use]
pub fn nearest(key: &str) -> Option<&'static str> {
    nearest_of(key, TABLE.iter().map(|setting| setting.key))
}

/// Bytes of a word that is compared with names. Comparing takes the square of the length, and a model writes such words.
const MAX_COMPARED_BYTES: usize = 128;

/// The name nearest to a mistaken one, if any is near.
#[must_use]
pub fn nearest_of<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    names
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

/// The name that a word misspells by one letter, or by two in a long name. Short names are near too many words.
#[must_use]
pub fn misspelling_of<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let mistakes = |name: &str| strsim::osa_distance(word, name);
    let allowed = |name: &str| match name.len() {
        ..5 => 0,
        5..7 => 1,
        _ => 2,
    };
    names.filter(|name| mistakes(name) <= allowed(name)).min_by_key(|name| mistakes(name))
}
