//! Preferences of the person, in `preferences.yaml` of the profile.
//!
//! A change replaces the lines of one key and leaves every other line as it is, comments included. A file whose lines for the key
//! are in a form that is not known here is left alone.

use async_trait::async_trait;
use marvin_base::files::{self, Links};
use marvin_base::settings::{nearest_of, table};
use marvin_base::{atomic, profile};
use marvin_gate::Touches;
use marvin_tools::{Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::File;

const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_VALUE_CHARS: usize = 1_000;

/// Kind of a preference.
#[derive(Debug, Clone, Copy)]
enum Kind {
    List,
    Choice(&'static [&'static str]),
    Switch,
    Number,
    Text,
}

/// Every preference.
const KEYS: [(&str, Kind); 9] = [
    ("dietary", Kind::List),
    ("spice_tolerance", Kind::Choice(&["none", "mild", "medium", "hot", "extra-hot"])),
    ("favorite_cuisines", Kind::List),
    ("avoid_cuisines", Kind::List),
    ("has_car", Kind::Switch),
    ("max_distance_km", Kind::Number),
    ("budget", Kind::Choice(&["free", "inexpensive", "moderate", "expensive", "any"])),
    ("accessibility", Kind::List),
    ("notes", Kind::Text),
];

/// Contents of a new preferences file.
pub(crate) const NEW_FILE: &str = "\
# What Marvin knows of your tastes. It is told to the model as it stands here.
dietary: []            # for example [vegetarian]
spice_tolerance: medium  # none, mild, medium, hot, extra-hot
favorite_cuisines: []
avoid_cuisines: []
has_car: true
max_distance_km: 10
budget: any            # free, inexpensive, moderate, expensive, any
accessibility: []
notes: \"\"
";

#[derive(Debug, Clone, Copy)]
pub(super) struct UpdatePreferences;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PreferenceInput {
    /// dietary, spice_tolerance, favorite_cuisines, avoid_cuisines, has_car, max_distance_km, budget, accessibility or notes.
    key: String,
    /// add and remove are for lists.
    #[serde(default)]
    action: PreferenceAction,
    /// The value; several of a list are separated by commas.
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PreferenceAction {
    #[default]
    Set,
    Add,
    Remove,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PreferenceData {
    key: String,
    /// The value as the file has it.
    value: String,
}

#[async_trait]
impl Tool for UpdatePreferences {
    type Input = PreferenceInput;
    type Data = PreferenceData;
    const NAME: &'static str = "update_preferences";
    const DESCRIPTION: &'static str = "Change a preference of the person: diet, cuisines, spice, car, distance, budget, accessibility, notes.";
    const EXAMPLE: &'static str =
        r#"{"key": "favorite_cuisines", "action": "add", "value": "thai, georgian"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: PreferenceInput,
        context: &ToolContext,
    ) -> Result<Output<PreferenceData>, ToolError> {
        let name = profile::active(&context.layout, context.settings.given(&table::PROFILE));
        let path = context.layout.preferences(&name);
        let failed =
            |error: std::io::Error| ToolError::Failed(format!("cannot change {}: {error}", path.display()));
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let lock = File::options()
            .create(true)
            .append(true)
            .open(path.with_extension("yaml.lock"))
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let text = match files::read_text(&path, MAX_FILE_BYTES, Links::Follow) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => NEW_FILE.to_string(),
            Err(error) => return Err(failed(error)),
        };
        let (changed, value) = change(&text, &input.key, input.action, &input.value)?;
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        atomic::replace_private(&target, changed.as_bytes()).map_err(|error| failed(error.source))?;
        let summary = format!("{} is {value} now", input.key.trim());
        Ok(Output::line(summary, PreferenceData { key: input.key.trim().to_string(), value }))
    }
}

/// The text of the file with one preference changed, and its value as the file has it.
fn change(
    text: &str,
    key: &str,
    action: PreferenceAction,
    value: &str,
) -> Result<(String, String), ToolError> {
    let key = key.trim();
    let kind = KEYS.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind).ok_or_else(|| {
        let names = || KEYS.iter().map(|(name, _)| *name);
        let near =
            nearest_of(key, names()).map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        let names: Vec<&str> = names().collect();
        ToolError::Usage(format!("`{key}` is not a preference.{near} Preferences are: {}.", names.join(", ")))
    })?;
    if value.chars().count() > MAX_VALUE_CHARS {
        return Err(ToolError::Usage(format!("`value` has at most {MAX_VALUE_CHARS} characters.")));
    }
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    let end = at.map_or(lines.len(), |at| end_of_entry(&lines, at));
    let entry = at.and_then(|at| lines.get(at..end)).unwrap_or_default();
    let written = match kind {
        Kind::List => {
            let old = if action == PreferenceAction::Set { Vec::new() } else { read_list(entry, key)? };
            let wanted: Vec<String> =
                value.split(',').map(|one| one.trim().to_string()).filter(|one| !one.is_empty()).collect();
            let same = |one: &String, other: &String| one.eq_ignore_ascii_case(other);
            let mut all = old;
            match action {
                PreferenceAction::Remove => all.retain(|one| !wanted.iter().any(|other| same(one, other))),
                PreferenceAction::Set | PreferenceAction::Add => {
                    for one in wanted {
                        if !all.iter().any(|other| same(&one, other)) {
                            all.push(one);
                        }
                    }
                }
            }
            format!("[{}]", all.iter().map(|one| scalar(one)).collect::<Vec<_>>().join(", "))
        }
        _ if action != PreferenceAction::Set => {
            return Err(ToolError::Usage(format!("`{key}` is not a list, so its action is \"set\".")));
        }
        kind => write_value(kind, key, value.trim())?,
    };
    let comment = entry.first().and_then(|line| comment_of(line)).map(|text| format!("  {text}"));
    let line = format!("{key}: {written}{}", comment.unwrap_or_default());
    let mut all: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let at = at.unwrap_or(all.len());
    all.splice(at..end, [line]);
    Ok((all.join("\n") + "\n", written))
}

/// The value of a preference that is not a list.
fn write_value(kind: Kind, key: &str, value: &str) -> Result<String, ToolError> {
    match kind {
        Kind::Choice(words) => {
            let word = value.to_lowercase();
            words
                .iter()
                .find(|known| **known == word)
                .map(ToString::to_string)
                .ok_or_else(|| ToolError::Usage(format!("`{key}` is one of {}.", words.join(", "))))
        }
        Kind::Switch => Ok(matches!(value.to_lowercase().as_str(), "true" | "yes" | "1" | "y").to_string()),
        Kind::Number => value
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .map(|number| number.to_string())
            .ok_or_else(|| ToolError::Usage(format!("`{key}` is a number, zero or more."))),
        Kind::Text | Kind::List => Ok(scalar_always(value)),
    }
}

/// The line after the last one of an entry: those that are indented or begin with a dash belong to it.
fn end_of_entry(lines: &[&str], at: usize) -> usize {
    let belongs = |line: &&&str| line.starts_with([' ', '\t']) || line.starts_with("- ");
    at + 1 + lines.iter().skip(at + 1).take_while(belongs).count()
}

/// The comment at the end of a line: from a `#` after a space and outside of quotes.
fn comment_of(line: &str) -> Option<&str> {
    let (mut quote, mut before) = (None, ' ');
    for (at, char) in line.char_indices() {
        match (quote, char) {
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), char) if char == open => quote = None,
            (None, '#') if before.is_whitespace() => return line.get(at..),
            _ => {}
        }
        before = char;
    }
    None
}

/// The entries of a list, in brackets or one per line.
fn read_list(entry: &[&str], key: &str) -> Result<Vec<String>, ToolError> {
    let unknown = || {
        ToolError::Failed(format!(
            "cannot read the list `{key}` in preferences.yaml\n  hint: write it as [a, b], or set it as a whole"
        ))
    };
    let Some((first, rest)) = entry.split_first() else { return Ok(Vec::new()) };
    let without_comment = |line: &str| -> String {
        let end = comment_of(line).map_or(line.len(), |comment| line.len() - comment.len());
        line.get(..end).unwrap_or(line).trim().to_string()
    };
    let head = without_comment(first);
    let head = head.split_once(':').map_or("", |(_, value)| value.trim());
    let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_string();
    if let Some(inner) = head.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Ok(inner.split(',').map(plain).filter(|one| !one.is_empty()).collect());
    }
    if !head.is_empty() {
        return Err(unknown());
    }
    let mut all = Vec::new();
    for line in rest.iter().map(|line| without_comment(line)).filter(|line| !line.is_empty()) {
        all.push(plain(line.strip_prefix("- ").ok_or_else(unknown)?));
    }
    Ok(all)
}

/// A text as YAML, in quotes only where it needs them.
fn scalar(text: &str) -> String {
    let is_plain = text.chars().all(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'))
        && text.starts_with(char::is_alphabetic)
        && !matches!(
            text.to_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if is_plain { text.to_string() } else { scalar_always(text) }
}

/// A text as YAML in quotes; the quotes of JSON are those of YAML.
fn scalar_always(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use PreferenceAction::{Add, Remove, Set};

    #[test]
    fn one_entry_changes_and_every_other_line_stays() {
        let (text, value) = change(NEW_FILE, "dietary", Add, "Vegan, no nuts: never, vegan").unwrap();
        assert_eq!(value, r#"[Vegan, "no nuts: never"]"#);
        assert!(
            text.contains(
                "dietary: [Vegan, \"no nuts: never\"]  # for example [vegetarian]\nspice_tolerance"
            ),
            "{text}"
        );
        let (text, value) = change(&text, "dietary", Remove, "VEGAN").unwrap();
        assert_eq!(value, r#"["no nuts: never"]"#);
        let (text, _) = change(&text, "spice_tolerance", Set, "Hot").unwrap();
        assert!(text.contains("spice_tolerance: hot  # none, mild"), "{text}");
        let (text, _) = change(&text, "notes", Set, "say \"hi\" # now").unwrap();
        assert!(text.ends_with("notes: \"say \\\"hi\\\" # now\"\n"), "{text}");
        let (again, _) = change(&text, "notes", Set, "x").unwrap();
        assert!(again.ends_with("notes: \"x\"\n"), "{again}");
        assert_eq!(text.lines().count(), NEW_FILE.lines().count());
        let block = "# mine\ndietary:\n  - vegan  # since May\n  - halal\nbudget: any\n";
        let (text, _) = change(block, "dietary", Add, "organic").unwrap();
        assert_eq!(text, "# mine\ndietary: [vegan, halal, organic]\nbudget: any\n");
        let (text, _) = change("budget: any\n", "has_car", Set, "no").unwrap();
        assert_eq!(text, "budget: any\nhas_car: false\n");
    }

    #[test]
    fn wrong_preferences_are_explained() {
        let message = |key, action, value| change(NEW_FILE, key, action, value).unwrap_err().to_string();
        assert!(message("diatery", Set, "x").contains("Did you mean `dietary`?"));
        assert!(message("budget", Set, "huge").contains("one of free"));
        assert!(message("budget", Add, "any").contains("not a list"));
        assert!(message("max_distance_km", Set, "far").contains("a number"));
        assert!(change("dietary: {a: b}\n", "dietary", Add, "x").is_err());
    }
}
