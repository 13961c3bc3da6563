//! Starter packs, which are copied into a project, and the schema of `pack.json`.

pub const SCHEMA: &str = include_str!("../../packs/_pack.schema.json");

macro_rules! starters {
    ($($name:literal),*) => {
        &[
            ("_pack.schema.json", SCHEMA),
            $(
                (concat!($name, "/pack.json"), include_str!(concat!("../../packs/", $name, "/pack.json"))),
                (concat!($name, "/guardrails.md"), include_str!(concat!("../../packs/", $name, "/guardrails.md"))),
                (concat!($name, "/lessons.jsonl"), ""),
            )*
        ]
    };
}

const FILES: &[(&str, &str)] =
    starters!("code-quality", "git-workflow", "go", "python", "rust", "security", "testing");

/// Every file, as (path below the directory of packs, text).
#[must_use]
pub fn all() -> &'static [(&'static str, &'static str)] {
    FILES
}

#[must_use]
pub fn names() -> Vec<&'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_suffix("/pack.json")).collect()
}

/// The files of one pack, as (file name, text).
#[must_use]
pub fn files(name: &str) -> Vec<(&'static str, &'static str)> {
    let own = |path: &'static str| path.strip_prefix(name)?.strip_prefix('/');
    FILES.iter().filter_map(|(path, text)| Some((own(path)?, *text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packs::Packs;
    use serde_json::Value;

    #[test]
    fn starters_load_without_a_problem_and_fit_the_schema() {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in all() {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let packs = Packs::load(&[directory.path().to_path_buf()]);
        assert_eq!(packs.problems(), []);
        assert_eq!(packs.all().len(), 7);
        assert_eq!(packs.all().iter().map(|pack| pack.name()).collect::<Vec<_>>(), names());
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        assert!(jsonschema::meta::is_valid(&schema));
        let schema = jsonschema::validator_for(&schema).unwrap();
        for pack in packs.all() {
            let facts = files(pack.name())[0];
            assert_eq!(facts.0, "pack.json");
            let value: Value = serde_json::from_str(facts.1).unwrap();
            assert!(schema.is_valid(&value), "{}", pack.name());
            let lines = pack.guardrails.lines().count();
            assert!((20..=35).contains(&lines), "{}: {lines} lines", pack.name());
            assert!(pack.guardrails.len() < 3_600, "{}: {} bytes", pack.name(), pack.guardrails.len());
            assert!(!pack.description().is_empty() && pack.categories().count() > 1, "{}", pack.name());
        }
    }
}
