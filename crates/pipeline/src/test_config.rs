//! Configuration of test runners outside of the tests: sections of manifests, and files that shadow a runner.
//!
//! It is part of the oracle. Of a manifest only these sections count, since agents that write code add packages to it.
//!
//! Limits: installed packages (`.venv`, `node_modules`) are not inspected, nor is configuration as code, such as
//! `vite.config.ts`.

use crate::files;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Files that configure a runner as a whole.
const WHOLE: [&str; 12] = [
    ".cargo/config.toml",
    ".cargo/config",
    ".config/nextest.toml",
    ".npmrc",
    ".pytest.ini",
    "pytest.py",
    "pytest/__init__.py",
    "_pytest/__init__.py",
    "pluggy.py",
    "sitecustomize.py",
    "usercustomize.py",
    "go.work",
];
/// Prefixes of names of such files.
const STARTS: [&str; 3] = ["jest.config.", "vitest.config.", ".mocharc."];
/// Manifests with sections for test runners.
const PARTS: [&str; 4] = ["Cargo.toml", "package.json", "pyproject.toml", "setup.cfg"];
/// Settings of pytest that cannot deselect tests.
const HARMLESS: [&str; 6] =
    ["pythonpath", "markers", "filterwarnings", "minversion", "asyncio_mode", "xfail_strict"];

/// The existing files that can configure a runner, each with the relevant part, or empty.
pub(crate) fn find_test_config(root: &Path) -> BTreeMap<String, String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    let all = files::all(root).into_iter();
    let could = |path: &String| {
        let name = name(path);
        PARTS.contains(&name.as_str()) || STARTS.iter().any(|start| name.starts_with(start))
    };
    // Links are not among all files.
    let rooted = WHOLE.iter().chain(&PARTS).map(ToString::to_string);
    let mut found = BTreeMap::new();
    for path in all.filter(could).chain(rooted) {
        let Ok(facts) = root.join(&path).symlink_metadata() else { continue };
        let name = name(&path);
        let text = files::text(root, &path);
        let config = match PARTS.contains(&name.as_str()) {
            _ if !facts.is_file() => "no plain file".to_string(),
            true => part(&name, &text),
            false => format!("whole: {text}"),
        };
        found.insert(path, config);
    }
    found
}

/// The sections of a manifest for test runners.
fn part(path: &str, text: &str) -> String {
    let parts: Vec<Option<Value>> = match path {
        "setup.cfg" => return section(text, "tool:pytest"),
        "package.json" => {
            let Ok(manifest) = serde_json::from_str::<Value>(text) else { return String::new() };
            let scripts = ["pretest", "test", "posttest"].map(|name| pick(&manifest, &["scripts", name]));
            let tools = ["jest", "mocha", "vitest", "ava"].map(|name| pick(&manifest, &[name]));
            scripts.into_iter().chain(tools).collect()
        }
        _ => {
            let Ok(manifest) = toml::from_str::<Value>(text) else { return String::new() };
            match path {
                "Cargo.toml" => {
                    let keys: [&[&str]; 4] =
                        [&["package", "autotests"], &["lib", "test"], &["lib", "harness"], &["test"]];
                    keys.iter().map(|keys| pick(&manifest, keys)).collect()
                }
                _ => {
                    let mut options = pick(&manifest, &["tool", "pytest", "ini_options"]);
                    let map = options.as_mut().and_then(Value::as_object_mut);
                    map.into_iter().for_each(|map| map.retain(|key, _| !HARMLESS.contains(&key.as_str())));
                    vec![options.filter(|options| options != &Value::Object(Map::new()))]
                }
            }
        }
    };
    if parts.iter().all(Option::is_none) {
        String::new()
    } else {
        serde_json::to_string(&parts).unwrap_or_default()
    }
}

fn pick(manifest: &Value, keys: &[&str]) -> Option<Value> {
    keys.iter().try_fold(manifest, |value, key| value.get(key)).cloned()
}

/// The lines of a section without harmless settings.
fn section(text: &str, name: &str) -> String {
    let heading = format!("[{name}]");
    let lines = text.lines().map(str::trim).skip_while(|line| *line != heading).skip(1);
    let harmless = |line: &str| {
        HARMLESS.iter().any(|key| line.split('=').next().is_some_and(|word| word.trim() == *key))
    };
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines
        .filter(|line| !line.is_empty() && !line.starts_with(['#', ';']) && !harmless(line))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_settings_count_and_packages_do_not() {
        for (path, before, after) in [
            (
                "package.json",
                r#"{"dependencies": {}}"#,
                r#"{"dependencies": {"a": "1"}, "scripts": {"start": "node ."}}"#,
            ),
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\n",
                "[package]\nname = \"a\"\n\n[dependencies]\nb = \"1\"\n",
            ),
            (
                "pyproject.toml",
                "",
                "[project]\nname = \"a\"\n\n[tool.pytest.ini_options]\npythonpath = [\"src\"]\n",
            ),
            ("setup.cfg", "", "[metadata]\nname = a\n\n[tool:pytest]\npythonpath = src\n"),
        ] {
            assert_eq!((part(path, before), part(path, after)), (String::new(), String::new()), "{path}");
        }
        for (path, text) in [
            ("package.json", r#"{"scripts": {"test": "echo ok"}}"#),
            ("package.json", r#"{"jest": {"testPathIgnorePatterns": ["hard"]}}"#),
            ("Cargo.toml", "[package]\nname = \"a\"\nautotests = false\n"),
            ("Cargo.toml", "[[test]]\nname = \"hard\"\ntest = false\n"),
            ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k easy\"\n"),
            ("setup.cfg", "[tool:pytest]\naddopts = -k easy\n[other]\n"),
        ] {
            assert_ne!(part(path, text), "", "{path}: {text}");
        }
    }
}
