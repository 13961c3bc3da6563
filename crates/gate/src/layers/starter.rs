//! Lists to begin with, by ecosystem: data in the rule format, each rule with its own examples.

use super::rule::{List, Rule};
use super::{RuleFileError, Trust, file};
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use serde_json::Value;
use std::path::Path;

/// Every list, as (name, what it is for, text).
const STARTERS: [(&str, &str, &str); 13] = [
    ("docker", "containers of this machine", include_str!("../../data/starters/docker.json")),
    ("dotnet", ".NET", include_str!("../../data/starters/dotnet.json")),
    ("git", "work with branches and remotes", include_str!("../../data/starters/git.json")),
    ("go", "Go", include_str!("../../data/starters/go.json")),
    ("java", "Maven and Gradle", include_str!("../../data/starters/java.json")),
    ("kubernetes", "kubectl and helm", include_str!("../../data/starters/kubernetes.json")),
    ("make", "make, just and cmake", include_str!("../../data/starters/make.json")),
    ("node", "npm, pnpm, yarn and bun", include_str!("../../data/starters/node.json")),
    ("php", "Composer and artisan", include_str!("../../data/starters/php.json")),
    ("python", "pip, uv, poetry", include_str!("../../data/starters/python.json")),
    ("ruby", "Bundler and Rails", include_str!("../../data/starters/ruby.json")),
    ("rust", "cargo and rustup", include_str!("../../data/starters/rust.json")),
    ("terraform", "Terraform and OpenTofu", include_str!("../../data/starters/terraform.json")),
];

/// Names and what they are for.
#[must_use]
pub fn names() -> Vec<(&'static str, &'static str)> {
    STARTERS.iter().map(|(name, what, _)| (*name, *what)).collect()
}

/// The rules of a list to begin with.
#[must_use]
pub fn rules(name: &str) -> Option<Vec<(List, Rule)>> {
    let (_, _, text) = STARTERS.iter().find(|(known, _, _)| *known == name)?;
    let value: Value = serde_json::from_str(text).ok()?;
    let of = |list: List| -> Vec<(List, Rule)> {
        let rules = value.get(list.word()).and_then(Value::as_array).cloned().unwrap_or_default();
        rules.iter().filter_map(|rule| Some((list, Rule::read(rule, list).ok()?))).collect()
    };
    Some([List::Allowlist, List::Denylist].into_iter().flat_map(of).collect())
}

/// Adds rules to a rule file; those that are there stay as they are. Returns how many are new.
///
/// # Errors
/// When the file is broken, or cannot be written.
pub fn add(path: &Path, list: List, rules: &[Rule], trust: Option<&Path>) -> Result<usize, RuleFileError> {
    let text = match files::read_text(path, 16 * 1024 * 1024, Links::Refuse) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => r#"{"rules": []}"#.to_string(),
        Err(source) => return Err(RuleFileError::Read { path: path.to_path_buf(), source }),
    };
    let loaded = file::parse(&text, path, list);
    if let Some(problem) = loaded.problems.first() {
        return Err(problem.clone().into());
    }
    // What a stranger wrote does not become trusted by adding to it.
    if let Some(trust) = trust
        && path.exists()
        && list != List::Denylist
        && !Trust::read(trust).holds(path, &loaded.hash)
    {
        return Err(RuleFileError::Foreign(path.to_path_buf()));
    }
    let mut value: Value = serde_json::from_str(&text)?;
    let known = loaded.set.rules();
    let new: Vec<&Rule> =
        rules.iter().filter(|rule| !known.iter().any(|known| known.id == rule.id)).collect();
    if let Some(entries) = value.get_mut("rules").and_then(Value::as_array_mut) {
        for rule in &new {
            entries.push(serde_json::to_value(rule)?);
        }
    }
    if !new.is_empty() {
        let text = serde_json::to_string_pretty(&value)?;
        atomic::replace(path, format!("{text}\n").as_bytes())?;
        if let Some(trust) = trust.filter(|_| list != List::Denylist) {
            Trust::note(trust, path)?;
        }
    }
    Ok(new.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_rule_of_every_list_loads_with_examples() {
        for (name, _, text) in STARTERS {
            let value: Value = serde_json::from_str(text).unwrap();
            let mut seen = 0;
            for list in [List::Allowlist, List::Denylist] {
                let rules = json!({"rules": value.get(list.word()).unwrap_or(&json!([]))});
                let loaded = file::parse(&rules.to_string(), Path::new(name), list);
                assert!(loaded.problems.is_empty(), "{name}: {:#?}", loaded.problems);
                for rule in loaded.set.rules() {
                    assert!(!rule.matches.is_empty() && !rule.not_match.is_empty(), "{name}: {}", rule.id);
                    assert!(rule.id.starts_with(&format!("{name}-")), "{}", rule.id);
                    seen += 1;
                }
            }
            assert_eq!(rules(name).unwrap().len(), seen);
            assert!(seen >= 2, "{name}");
        }
    }
}
