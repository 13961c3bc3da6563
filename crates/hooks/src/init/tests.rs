//! Plans over real directories.

mod files;
mod links;
mod making;
mod programs;
mod properties;
mod settings_file;

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const PACKS: [(&str, &str); 4] = [
    ("testing/pack.json", "{\"name\": \"testing\"}\n"),
    ("testing/lessons.jsonl", ""),
    ("rust/pack.json", "{\"name\": \"rust\"}\n"),
    ("_pack.schema.json", "{}\n"),
];

/// A project that vanishes with the test.
struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Project { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.path("home")).unwrap();
        fs::create_dir_all(project.path("p/.git")).unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        marvin_testing::write(self.path("p").join(name), content);
    }

    fn get(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path("p").join(name)).ok()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.get(name).unwrap_or_else(|| panic!("there is no {name}"))).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn place(&self, directory: &str) -> Place {
        Place::find(&self.path("p").join(directory), &self.path("home")).unwrap()
    }

    fn plan_with(
        &self,
        directory: &str,
        clients: &[Client],
        program: Program,
        remove: bool,
    ) -> Result<Plan, Refusal> {
        plan(
            &self.place(directory),
            &Request { clients: clients.to_vec(), program, packs: &PACKS, skills: Vec::new(), remove },
        )
    }

    fn plan(&self, remove: bool) -> Result<Plan, Refusal> {
        self.plan_with("", &Client::ALL, Program::on_path(false), remove)
    }

    fn init(&self) -> Plan {
        let plan = self.plan(false).unwrap();
        plan.apply().unwrap();
        plan
    }

    fn remove(&self) -> Plan {
        let plan = self.plan(true).unwrap();
        plan.apply().unwrap();
        plan
    }

    /// Every file and directory, with what it holds.
    fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.path("p")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    found.insert(path.clone(), None);
                    directories.push(path);
                } else {
                    found.insert(path.clone(), fs::read(&path).ok());
                }
            }
        }
        found
    }
}

fn state(plan: &Plan, name: &str) -> Option<FileOutcome> {
    plan.changes.iter().find(|change| change.name == name).map(|change| change.state)
}
