//! Permission rules of Claude Code that an "allow" of a hook would override.
//!
//! Claude Code lets the "allow" of a hook win over `permissions.ask`. A person who wrote such a rule wants to be asked, so a
//! hook stays silent wherever an ask or deny rule could match. This is deliberately broad: a rule without a specifier, with
//! a pattern for the program, or for any program of the line matches; so does a file that cannot be read.
//!
//! Limits: settings on the command line of the client (`--settings`) are not visible here.

use marvin_base::files::{self, Links};
use marvin_gate::SegmentJudgement;
use serde_json::Value;
use std::path::{Path, PathBuf};

const MAX_SETTINGS_BYTES: u64 = 4 * 1024 * 1024;
const MAX_MANAGED_FILES: usize = 64;
/// Directories of settings by an administrator.
const MANAGED_DIRECTORIES: [&str; 2] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];

/// Whether an ask or deny rule of Claude Code could match a command of this line.
pub(crate) fn may_match(
    home: &Path,
    config: Option<&str>,
    directories: &[&Path],
    commands: &[SegmentJudgement],
) -> bool {
    let mut paths = Vec::new();
    for managed in MANAGED_DIRECTORIES.map(Path::new) {
        paths.push(managed.join("managed-settings.json"));
        let entries = std::fs::read_dir(managed.join("managed-settings.d")).into_iter().flatten().flatten();
        paths.extend(entries.take(MAX_MANAGED_FILES).map(|entry| entry.path()));
    }
    let own = config.map(PathBuf::from).unwrap_or_else(|| home.join(".claude"));
    let of_projects = directories.iter().map(|directory| directory.join(".claude"));
    for directory in [own].into_iter().chain(of_projects) {
        paths.extend(["settings.json", "settings.local.json"].map(|name| directory.join(name)));
    }
    paths.iter().any(|path| file_may_match(path, commands))
}

fn file_may_match(path: &Path, commands: &[SegmentJudgement]) -> bool {
    if path.symlink_metadata().is_err() {
        return false;
    }
    let settings = files::read(path, MAX_SETTINGS_BYTES, Links::Follow).ok();
    let settings = settings.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(settings) = settings else { return true };
    let lists = ["ask", "deny"].iter().filter_map(|list| settings.get("permissions")?.get(list));
    lists.into_iter().any(|list| match list.as_array() {
        Some(rules) => {
            rules.iter().any(|rule| rule.as_str().is_none_or(|rule| rule_may_match(rule, commands)))
        }
        None => true,
    })
}

fn rule_may_match(rule: &str, commands: &[SegmentJudgement]) -> bool {
    let rule = rule.trim();
    let (tool, specifier) = rule.split_once('(').map_or((rule, ""), |(tool, rest)| (tool.trim(), rest));
    if !tool.contains('*') && !tool.eq_ignore_ascii_case("bash") {
        return false;
    }
    let specifier = specifier.trim_end_matches(')').trim();
    let program = specifier.split([' ', ':', '\t']).next().unwrap_or_default();
    let program = base_name(program);
    let is_open = program.is_empty() || program.contains(['*', '?', '[', '$']);
    let names = |command: &SegmentJudgement| {
        let first = command.words.first().into_iter();
        first.chain(&command.through).any(|name| base_name(name) == program)
    };
    is_open || commands.iter().any(names)
}

fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_gate::Layers;
    use marvin_gate::effects::Grounds;
    use marvin_gate::layers::Place;

    fn commands(line: &str) -> Vec<SegmentJudgement> {
        let place = Place { directory: "/p", grounds: Grounds { workspace: "/p", home: "/home/a" } };
        Layers::none().judge(line, place).judgement.segments
    }

    #[test]
    fn a2_rules_that_ask_or_deny_are_seen() {
        for (rule, line) in [
            ("Bash(make:*)", "make all"),
            ("Bash(make *)", "cd x && make"),
            ("Bash(make)", "/usr/bin/make"),
            ("Bash", "ls"),
            ("Bash(*)", "ls"),
            ("Bash(* --force)", "ls"),
            ("*", "ls"),
            ("Bash(git diff:*)", "git status"),
            ("Bash(timeout:*)", "timeout 5 ls"),
        ] {
            assert!(rule_may_match(rule, &commands(line)), "{rule} {line}");
        }
        for (rule, line) in
            [("Bash(make:*)", "ls"), ("Read(./secrets/**)", "ls"), ("WebFetch", "ls"), ("Edit", "ls")]
        {
            assert!(!rule_may_match(rule, &commands(line)), "{rule} {line}");
        }
    }

    #[test]
    fn a2_every_settings_file_is_read_and_a_broken_one_is_a_doubt() {
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let asks = |line: &str| may_match(home.path(), None, &[project.path()], &commands(line));
        assert!(!asks("make"));
        for directory in [home.path(), project.path()] {
            std::fs::create_dir(directory.join(".claude")).unwrap();
            for name in ["settings.json", "settings.local.json"] {
                let file = directory.join(".claude").join(name);
                for (text, expected) in [
                    (r#"{"permissions": {"ask": ["Bash(make:*)"]}}"#, true),
                    (r#"{"permissions": {"deny": ["Bash(make:*)"]}}"#, true),
                    (r#"{"permissions": {"allow": ["Bash(make:*)"]}}"#, false),
                    (r#"{"permissions": {"ask": "Bash(make:*)"}}"#, true),
                    ("{broken", true),
                    ("{}", false),
                ] {
                    std::fs::write(&file, text).unwrap();
                    assert_eq!(asks("make"), expected, "{name} {text}");
                }
                std::fs::remove_file(&file).unwrap();
            }
        }
    }
}
