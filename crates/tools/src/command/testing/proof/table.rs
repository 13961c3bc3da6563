//! The table of files that steer a test runner, and the digests of their relevant sections.
//!
//! Rows are data (`steering.toml`). Of a manifest only the sections count that steer tests: an agent may add a dependency or
//! change a version, but not which tests are collected. A file that cannot be parsed counts whole: doubt never means equal.

use super::super::runner::{Ecosystem, Runner};
use crate::result::ToolError;
use globset::{Glob, GlobSet, GlobSetBuilder};
use marvin_base::signature;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::LazyLock;

/// Separates the path from the section in a key of a seal.
pub(super) const SECTION: char = '#';
/// Begins a key that names a list of dependencies, of which the sources count.
const SOURCES_OF: &str = "sources:";
/// Separates an open section, to which entries may be added, from an entry.
pub(super) const ENTRY: &str = "+/";

/// In place of a digest: the file may change or go, but not appear.
pub(super) const PRESENT: &str = "present";

const SOURCE: &str = include_str!("steering.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    row: Vec<SourceRow>,
    shadows: Shadows,
    variables: Variables,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceRow {
    ecosystem: Ecosystem,
    files: Vec<String>,
    #[serde(default)]
    format: Format,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, checked by a test"))]
    steers: Vec<(String, String)>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, checked by a test"))]
    harmless: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shadows {
    modules: BTreeSet<String>,
    standard: BTreeSet<String>,
}

/// Why a Python module of some name takes the place of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shadow {
    /// A runner imports a module of this name.
    Runner,
    /// Tests may import the module of this name from the standard library.
    Standard,
}

/// Variables of the environment that steer runners.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    prefixes: Vec<String>,
    names: BTreeSet<String>,
    kept: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Whole,
    Toml,
    Json,
    Ini,
    Gomod,
}

/// The loaded table.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<SourceRow>,
    /// One glob per file of a row, and the row that it belongs to.
    globs: GlobSet,
    owners: Vec<usize>,
    shadows: Shadows,
    variables: Variables,
}

static TABLE: LazyLock<Result<Table, TableError>> = LazyLock::new(Table::load);

/// The loaded table.
pub(super) fn load() -> Result<&'static Table, ToolError> {
    TABLE.as_ref().map_err(|error| ToolError::Failed(error.to_string()))
}

/// The table in the binary is malformed; a test checks that it is not.
#[derive(Debug, thiserror::Error)]
enum TableError {
    #[error("steering.toml: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("steering.toml: {0}")]
    Glob(#[from] globset::Error),
}

impl Table {
    fn load() -> Result<Table, TableError> {
        let source: Source = toml::from_str(SOURCE)?;
        let mut globs = GlobSetBuilder::new();
        let mut owners = Vec::new();
        for (at, row) in source.row.iter().enumerate() {
            for file in &row.files {
                let pattern = if file.contains('/') { file.clone() } else { format!("**/{file}") };
                globs.add(Glob::new(&pattern)?);
                owners.push(at);
            }
        }
        Ok(Table {
            rows: source.row,
            globs: globs.build()?,
            owners,
            shadows: source.shadows,
            variables: source.variables,
        })
    }

    /// Whether a variable steers a runner.
    pub(super) fn steers(&self, name: &str) -> bool {
        let Variables { prefixes, names, kept } = &self.variables;
        let has_prefix = prefixes.iter().any(|prefix| name.starts_with(prefix));
        (has_prefix || names.contains(name)) && !kept.contains(name)
    }

    /// Which module a Python module of this name takes the place of.
    pub(super) fn shadow(&self, module: &str) -> Option<Shadow> {
        let Shadows { modules, standard } = &self.shadows;
        if modules.contains(module) {
            return Some(Shadow::Runner);
        }
        standard.contains(module).then_some(Shadow::Standard)
    }

    /// Whether a file of this path has a row that concerns this runner.
    pub(super) fn has(&self, path: &Path, runner: Runner) -> bool {
        self.rows_of(path, runner).next().is_some()
    }

    fn rows_of(&self, path: &Path, runner: Runner) -> impl Iterator<Item = &SourceRow> {
        let found: BTreeSet<usize> =
            self.globs.matches(path).into_iter().filter_map(|at| self.owners.get(at).copied()).collect();
        found.into_iter().filter_map(|at| self.rows.get(at)).filter(move |row| runner.reads(row.ecosystem))
    }

    /// The digests of the relevant sections of a file, by `PATH` or `PATH#SECTION`.
    pub(super) fn digests(&self, path: &Path, bytes: &[u8], runner: Runner) -> BTreeMap<String, String> {
        let mut digests = BTreeMap::new();
        let name = path.to_string_lossy();
        for row in self.rows_of(path, runner) {
            row.digests(&name, bytes, &mut digests);
        }
        digests
    }
}

impl SourceRow {
    fn digests(&self, path: &str, bytes: &[u8], digests: &mut BTreeMap<String, String>) {
        let text = String::from_utf8_lossy(bytes);
        let parsed = match self.format {
            Format::Whole => None,
            Format::Toml => toml::from_str::<Value>(&text).ok(),
            Format::Json => serde_json::from_str(text.trim_start_matches('\u{feff}')).ok(),
            Format::Ini => Some(parse_ini(&text)),
            Format::Gomod => Some(parse_gomod(&text)),
        };
        let Some(value) = parsed else {
            digests.insert(path.to_string(), signature::hash_bytes(bytes));
            return;
        };
        // Sections of ini files have dots in their names, which are not parts of a path.
        let is_flat = matches!(self.format, Format::Ini | Format::Gomod);
        for key in &self.keys {
            if let Some(list) = key.strip_prefix(SOURCES_OF) {
                let parts: Vec<&str> = list.split('.').collect();
                select(&value, &parts, String::new(), &mut |place, found| {
                    dependency_sources(path, &place, found, digests);
                });
                continue;
            }
            let (open, key) = key.strip_prefix('+').map_or((false, key.as_str()), |key| (true, key));
            let parts: Vec<&str> = if is_flat { vec![key] } else { key.split('.').collect() };
            select(&value, &parts, String::new(), &mut |place, found| {
                let place = format!("{path}{SECTION}{place}");
                if open {
                    entries(&place, found, digests);
                } else {
                    digests.insert(place, signature::hash(found));
                }
            });
        }
    }
}

/// Calls `take` for every value at a dotted path; the last characters of a part may be a wildcard.
fn select(value: &Value, parts: &[&str], place: String, take: &mut dyn FnMut(String, &Value)) {
    let Some((part, rest)) = parts.split_first() else {
        take(place, value);
        return;
    };
    let Value::Object(map) = value else { return };
    for (key, inner) in map {
        let fits = match part.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => key == part,
        };
        if fits {
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            select(inner, rest, place, take);
        }
    }
}

/// One digest per entry of an object or a list.
fn entries(place: &str, value: &Value, digests: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                digests.insert(format!("{place}{ENTRY}{key}"), signature::hash(value));
            }
        }
        Value::Array(list) => {
            for value in list {
                let name = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                digests.insert(format!("{place}{ENTRY}{name}"), signature::hash(value));
            }
        }
        other => {
            digests.insert(place.to_string(), signature::hash(other));
        }
    }
}

/// One digest per dependency of cargo: of the place where it comes from, not of its version.
fn dependency_sources(path: &str, place: &str, value: &Value, digests: &mut BTreeMap<String, String>) {
    for (name, dependency) in value.as_object().into_iter().flatten() {
        // What the workspace says is a dependency there.
        if dependency.get("workspace").is_some() {
            continue;
        }
        let text = |field: &str| dependency.get(field).and_then(Value::as_str).map(str::to_string);
        // The same directory has other names in the manifests of other members.
        let directory = text("path").map(|inner| {
            let mut joined = Path::new(path).parent().unwrap_or(Path::new("")).to_path_buf();
            for part in Path::new(&inner).components() {
                match part {
                    Component::CurDir => {}
                    Component::ParentDir if joined.file_name().is_some() => {
                        joined.pop();
                    }
                    part => joined.push(part),
                }
            }
            joined.display().to_string()
        });
        let source = (directory, text("git"), text("registry"), text("package"));
        digests.insert(format!("{path}{SECTION}{place}{ENTRY}{name}"), signature::hash(&source));
    }
}

/// Whether a key stands for the source of a dependency of cargo.
pub(super) fn is_dependency(key: &str) -> bool {
    key.split_once(ENTRY).is_some_and(|(section, _)| section.ends_with("dependencies"))
}

/// Whether a dependency of this name came from elsewhere before, whatever list it was in.
fn is_moved_dependency(key: &str, digest: &str, before: &BTreeMap<String, String>) -> bool {
    let name = |key: &str| key.split_once(ENTRY).map(|(_, name)| name.to_string());
    let mut same =
        before.iter().filter(|(known, _)| is_dependency(known) && name(known) == name(key)).peekable();
    same.peek().is_some() && !same.any(|(_, known)| known == digest)
}

/// Sections of an ini file, each as its lines without comments.
fn parse_ini(text: &str) -> Value {
    let mut sections: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        let line = line.trim_end();
        let start = line.trim_start();
        if start.is_empty() || start.starts_with('#') || start.starts_with(';') {
            continue;
        }
        match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, _)) => current = name.trim().to_string(),
            None => sections.entry(current.clone()).or_default().push(line),
        }
    }
    serde_json::to_value(sections).unwrap_or_default()
}

/// Directives of a go.mod, each as its lines.
fn parse_gomod(text: &str) -> Value {
    let mut directives: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match &block {
            _ if line.is_empty() => {}
            Some(_) if line == ")" => block = None,
            Some(name) => directives.entry(name.clone()).or_default().push(line.to_string()),
            None if rest.trim() == "(" || line.ends_with('(') => {
                block = Some(word.trim_end_matches('(').to_string());
            }
            None => directives.entry(word.to_string()).or_default().push(rest.trim().to_string()),
        }
    }
    serde_json::to_value(directives).unwrap_or_default()
}

/// Differences between two sets of digests, as paths and sentences. Entries may be added to open sections.
pub(super) fn compare(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut changes = Vec::new();
    for (key, digest) in before {
        match now.get(key) {
            Some(same) if same == digest => {}
            None if digest == PRESENT || is_dependency(key) => {}
            Some(_) => changes.push((path_of(key).to_string(), format!("{} was changed", shown(key)))),
            None => changes.push((path_of(key).to_string(), format!("{} was removed", shown(key)))),
        }
    }
    for (key, digest) in now.iter().filter(|(key, _)| !before.contains_key(*key)) {
        if !is_free_entry(key, before) || is_dependency(key) && is_moved_dependency(key, digest, before) {
            changes.push((path_of(key).to_string(), format!("{} was added", shown(key))));
        }
    }
    changes
}

/// Whether this is an entry that may be added: not a hook of a script that was there.
fn is_free_entry(key: &str, before: &BTreeMap<String, String>) -> bool {
    let Some((section, name)) = key.split_once(ENTRY) else { return false };
    let hooked = ["pre", "post"].iter().filter_map(|hook| name.strip_prefix(hook));
    let mut hooked = hooked.map(|script| format!("{section}{ENTRY}{script}"));
    // A feature that is on by default changes what is compiled.
    let is_default = section.ends_with("#features") && name == "default";
    !hooked.any(|script| before.contains_key(&script)) && !is_default
}

/// The path of a key.
pub(super) fn path_of(key: &str) -> &str {
    key.split_once(SECTION).map_or(key, |(path, _)| path)
}

fn shown(key: &str) -> String {
    match key.split_once(SECTION) {
        Some((path, section)) => format!("`{}` in `{path}`", section.replace(ENTRY, ".")),
        None => format!("`{key}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_examples_of_the_steering_table_hold() {
        let table = TABLE.as_ref().unwrap();
        for row in &table.rows {
            let name = row.files.first().unwrap().replace("**/", "").replace('*', "x");
            assert!(!row.steers.is_empty(), "{name} has no example");
            let digests = |text: &str| table.digests(Path::new(&name), text.as_bytes(), Runner::Command);
            for (before, after) in &row.steers {
                assert!(!compare(&digests(before), &digests(after)).is_empty(), "{name}: {before} / {after}");
            }
            for (before, after) in &row.harmless {
                assert_eq!(compare(&digests(before), &digests(after)), [], "{name}: {before} / {after}");
            }
        }
        assert!(table.rows.len() > 15);
    }

    #[test]
    fn s8_a_manifest_that_cannot_be_parsed_counts_whole() {
        let table = TABLE.as_ref().unwrap();
        let digests =
            |text: &str| table.digests(Path::new("a/pyproject.toml"), text.as_bytes(), Runner::Pytest);
        assert_eq!(digests("x = ").keys().collect::<Vec<_>>(), ["a/pyproject.toml"]);
        assert_eq!(compare(&digests("x = "), &digests("y = ")).len(), 1);
        assert_eq!(table.digests(Path::new("Cargo.toml"), b"[lib]\ntest = false\n", Runner::Pytest).len(), 0);
        assert!(table.has(Path::new("a/b/conftest.py"), Runner::Command));
        assert!(!table.has(Path::new("a/b/conftest.pyi"), Runner::Command));
    }
}
