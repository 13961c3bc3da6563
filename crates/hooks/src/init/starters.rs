//! Starter packs and rules for a project, by its ecosystems.
//!
//! Only denying rules are written, because rules that allow need a person's trust. The search is bounded: a few levels, a
//! few thousand names, no hidden directories and no usual directories for build output or dependencies.

use marvin_gate::layers::{List, starter};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

/// Packs that fit only where their language is used; every other pack is for everybody.
const LANGUAGES: [(&str, &str); 4] =
    [("rust", "rust"), ("python", "python"), ("go", "go"), ("code-quality", "typescript")];

/// How a name gives away what a project is made with: the name, or its end after a `*`.
const SIGNS: [(&str, &str); 30] = [
    ("Cargo.toml", "rust"),
    ("*.rs", "rust"),
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
    ("requirements.txt", "python"),
    ("*.py", "python"),
    ("go.mod", "go"),
    ("*.go", "go"),
    ("package.json", "node"),
    ("package.json", "typescript"),
    ("tsconfig.json", "typescript"),
    ("*.ts", "typescript"),
    ("*.tsx", "typescript"),
    ("*.js", "typescript"),
    ("*.jsx", "typescript"),
    ("pom.xml", "java"),
    ("build.gradle", "java"),
    ("build.gradle.kts", "java"),
    ("Gemfile", "ruby"),
    ("composer.json", "php"),
    ("*.csproj", "dotnet"),
    ("*.sln", "dotnet"),
    ("Dockerfile", "docker"),
    ("compose.yaml", "docker"),
    ("docker-compose.yml", "docker"),
    ("docker-compose.yaml", "docker"),
    ("*.tf", "terraform"),
    ("Chart.yaml", "kubernetes"),
    ("kustomization.yaml", "kubernetes"),
    ("Makefile", "make"),
];

/// Directories that hold what others wrote or what is built.
const PASSED_OVER: [&str; 8] =
    ["node_modules", "target", "vendor", "dist", "build", "venv", "__pycache__", "site-packages"];

const MAX_SCAN_DEPTH: usize = 4;
const MAX_SCAN_ENTRIES: usize = 5_000;

/// What a project is made with.
pub(super) fn ecosystems(top: &Path, git: bool) -> BTreeSet<&'static str> {
    let mut found: BTreeSet<&'static str> = git.then_some("git").into_iter().collect();
    let mut directories = VecDeque::from([(top.to_path_buf(), 0)]);
    let mut names = 0;
    while let Some((directory, depth)) = directories.pop_front() {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.take(MAX_SCAN_ENTRIES).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            names += 1;
            if names > MAX_SCAN_ENTRIES {
                return found;
            }
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            if kind.is_dir() {
                if depth < MAX_SCAN_DEPTH && !name.starts_with('.') && !PASSED_OVER.contains(&name.as_str()) {
                    directories.push_back((entry.path(), depth + 1));
                }
            } else if kind.is_file() {
                let fits =
                    |sign: &str| sign.strip_prefix('*').map_or(name == sign, |end| name.ends_with(end));
                found.extend(SIGNS.iter().filter(|(sign, _)| fits(sign)).map(|(_, what)| *what));
            }
        }
    }
    found
}

/// Does the pack that a starter file belongs to fit the project?
pub(super) fn fits(file: &str, ecosystems: &BTreeSet<&'static str>) -> bool {
    let pack = file.split('/').next().unwrap_or_default();
    let language = LANGUAGES.iter().find(|(own, _)| *own == pack);
    language.is_none_or(|(_, language)| ecosystems.contains(language))
}

/// The rules that refuse, for what the project is made with; `None` when there are none.
pub(super) fn denylist(ecosystems: &BTreeSet<&'static str>) -> Option<String> {
    let rules = ecosystems.iter().filter_map(|name| starter::rules(name)).flatten();
    let rules: Vec<_> = rules.filter(|(list, _)| *list == List::Denylist).map(|(_, rule)| rule).collect();
    let text = serde_json::to_string_pretty(&BTreeMap::from([("rules", &rules)])).ok()?;
    (!rules.is_empty()).then(|| format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_known_by_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert!(ecosystems(directory.path(), false).is_empty());
        put("node_modules/x/setup.py");
        put(".hidden/go.mod");
        put("a/b/c/d/e/Cargo.toml");
        assert!(ecosystems(directory.path(), false).is_empty());
        put("a/b/main.go");
        put("package.json");
        assert_eq!(ecosystems(directory.path(), true), BTreeSet::from(["git", "go", "node", "typescript"]));
    }

    #[test]
    fn packs_of_languages_fit_only_where_they_are_used() {
        let go = BTreeSet::from(["go"]);
        assert!(
            fits("go/pack.json", &go) && fits("testing/pack.json", &go) && fits("_pack.schema.json", &go)
        );
        assert!(!fits("rust/pack.json", &go) && !fits("python/guardrails.md", &go));
    }

    #[test]
    fn d3_the_typescript_pack_is_for_projects_with_typescript_or_javascript() {
        let pack = "code-quality/pack.json";
        assert!(!fits(pack, &BTreeSet::from(["python"])) && fits(pack, &BTreeSet::from(["typescript"])));
    }

    #[test]
    fn only_rules_that_refuse_are_written_and_they_load() {
        let every: BTreeSet<&'static str> = SIGNS.iter().map(|(_, what)| *what).chain(["git"]).collect();
        for name in every.iter().filter(|name| **name != "typescript") {
            assert!(starter::rules(name).is_some(), "{name}");
        }
        let text = denylist(&every).unwrap();
        assert!(!text.contains("git-fetch") && text.contains("git-force"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("denylist.json");
        std::fs::write(&path, text).unwrap();
        let (count, problems) = marvin_gate::layers::test_file(&path, List::Denylist);
        assert!(count >= every.len() && problems.is_empty(), "{count} {problems:?}");
        assert_eq!(denylist(&BTreeSet::new()), None);
    }
}
