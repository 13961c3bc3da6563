//! The state of everything that steers the tests, taken before an agent begins to work.
//!
//! A seal fixes the runner (`auto` is decided once), digests of the files that steer it (see [`super::table`]), fingerprints
//! of installed dependencies, and the tests in the sources. A later seal of the same tree is compared with it.
//!
//! Limits: code under test runs in the process of its tests and can manipulate the runner from there. Fingerprints of
//! dependencies are inode, size and change time, which a program without privileges cannot set.

use super::super::counts::Counts;
use super::super::detect::{Plan, TestsInput, plan};
use super::super::libtest::SHOULD_PANIC;
use super::super::runner::{Ecosystem, Runner};
use super::source::{self, TestFile};
use super::table::{self, Shadow, Table};
use super::tree::{self, ProjectEntry, Zone};
use crate::context::ToolContext;
use crate::pattern::{Pattern, pattern};
use crate::result::ToolError;
use globset::GlobSet;
use marvin_base::files::{self, Links};
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

const MAX_SOURCE_BYTES: u64 = 8 * 1024 * 1024;
/// Packages of one directory of dependencies that are listed one by one.
const MAX_LISTED_PACKAGES: usize = 300;
/// What seals of this version hold; earlier ones are compared without what they lack.
const VERSION: u32 = 1;
/// Depth to which references of scripts are followed.
const MAX_REFERENCE_DEPTH: usize = 3;

/// Steering files and tests at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestSeal {
    /// 0 where the seal has neither modules of Python's standard library nor the sources of Rust's dependencies.
    #[serde(default)]
    pub(super) version: u32,
    /// The command; none where no tests were recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<Plan>,
    /// Digests by `PATH` or `PATH#SECTION`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) steering: BTreeMap<String, String>,
    /// Fingerprints of installed packages; none where the seal outlives this machine's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dependencies: Option<BTreeMap<String, String>>,
    /// Files with tests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tests: BTreeMap<String, TestFile>,
    /// Digests of compiled files among the sources, which are copied only unchanged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) artifacts: BTreeMap<String, String>,
}

/// Differences from a seal, as sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Changes of steering files that the task does not allow.
    pub(super) refused: Vec<String>,
    /// Changes of steering files that the task allows.
    pub(super) allowed: Vec<String>,
    /// Tests that were removed or skipped in the sources.
    pub(super) taken_away: Vec<String>,
}

impl TestSeal {
    /// Seals the tests of the workspace, with fingerprints of installed packages if `dependencies` is set.
    ///
    /// # Errors
    /// When the workspace cannot be read.
    pub fn take(
        input: &TestsInput,
        dependencies: bool,
        context: &ToolContext,
    ) -> Result<TestSeal, ToolError> {
        let plan = plan(input, context).ok();
        Taker::new(context.workspace()?.root(), plan.as_ref(), dependencies)?.take(plan)
    }

    /// Seals the same tests again, for a comparison.
    pub(super) fn retake(&self, root: &Path, plan: &Plan) -> Result<TestSeal, ToolError> {
        Taker::new(root, Some(plan), self.dependencies.is_some())?.take(Some(plan.clone()))
    }

    /// The seal without what is valid only on this machine and at this time.
    #[must_use]
    pub fn lasting(self) -> TestSeal {
        TestSeal { dependencies: None, ..self }
    }

    /// Whether the project had no tests, so that the agent writes them itself.
    pub(super) fn is_greenfield(&self) -> bool {
        self.tests.is_empty()
    }

    /// Whether a test in the sources was neither executed nor skipped by name. Helpers may have such names too, so this is a
    /// reason to compare with the baseline, not a finding.
    pub(super) fn has_unseen(&self, run: &Counts) -> bool {
        if run.executed.is_empty() {
            return false;
        }
        let names = run.executed.keys().chain(run.left_out.keys());
        // The last part of `tests.test_a.test_b`, `module::test`, `package.Test/case`, `suite > test`.
        let last = |name: &str| {
            let name = name.trim_end_matches(SHOULD_PANIC).rsplit(" > ").next().unwrap_or_default();
            let name = name.split('/').next().unwrap_or_default();
            [name.rsplit("::").next(), name.rsplit('.').next(), Some(name)]
                .map(|part| part.unwrap_or_default().to_string())
        };
        let seen: BTreeSet<String> = names.flat_map(|name| last(name)).collect();
        self.tests.values().flat_map(|file| file.names.keys()).any(|name| !seen.contains(name))
    }

    /// The differences of a later seal. Paths of `may_change` are allowed to differ.
    pub(super) fn changes(&self, now: &TestSeal, may_change: &[String]) -> Changes {
        let mut changes = Changes::default();
        let mut found = table::compare(&self.steering, &now.steering);
        if self.version == 0 {
            found.retain(|(path, _)| !is_later_addition(path, &self.steering, &now.steering));
        }
        if let (Some(before), Some(after)) = (&self.dependencies, &now.dependencies) {
            found.extend(table::compare(before, after));
        }
        for (path, sentence) in found {
            let list =
                if is_allowed(&path, may_change) { &mut changes.allowed } else { &mut changes.refused };
            if !list.contains(&sentence) {
                list.push(sentence);
            }
        }
        changes.taken_away = source::taken_away(&self.tests, &now.tests);
        changes
    }
}

/// Whether nothing of this path counts in both seals but what those of version 0 lack.
fn is_later_addition(path: &str, before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> bool {
    let is_later = |key: &str, digest: &str| digest == table::PRESENT || table::is_dependency(key);
    now.iter()
        .filter(|(key, _)| table::path_of(key) == path)
        .all(|(key, digest)| is_later(key, digest) || before.get(key) == Some(digest))
        && before.keys().filter(|key| table::path_of(key) == path).all(|key| now.contains_key(key))
}

/// Whether a path is one of these or below one.
pub(super) fn is_allowed(path: impl AsRef<Path>, may_change: &[String]) -> bool {
    let clean = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_string();
    may_change.iter().map(|allowed| clean(allowed)).any(|allowed| path.as_ref().starts_with(allowed))
}

struct Taker<'a> {
    root: &'a Path,
    table: &'static Table,
    runner: Runner,
    line: String,
    seal: TestSeal,
    /// Targets of makefiles.
    targets: GlobSet,
    /// Contents of steering files, to follow their references.
    texts: Vec<(PathBuf, String)>,
    packages: BTreeMap<PathBuf, BTreeMap<String, String>>,
    /// Python modules that would shadow one of the runner, and the directories that may be on the module search path.
    shadows: BTreeMap<PathBuf, Shadow>,
    search_path: BTreeSet<PathBuf>,
}

impl<'a> Taker<'a> {
    fn new(root: &'a Path, plan: Option<&Plan>, dependencies: bool) -> Result<Self, ToolError> {
        let table = table::load()?;
        let seal = TestSeal { dependencies: dependencies.then(BTreeMap::new), ..TestSeal::default() };
        Ok(Taker {
            root,
            table,
            runner: plan.map_or(Runner::Auto, |plan| plan.runner),
            line: plan.map(|plan| plan.line.clone()).unwrap_or_default(),
            seal,
            targets: tree::make_targets(root),
            texts: Vec::new(),
            packages: BTreeMap::new(),
            shadows: BTreeMap::new(),
            search_path: ["", "src", "lib", "python"].map(PathBuf::from).into(),
        })
    }

    fn take(mut self, plan: Option<Plan>) -> Result<TestSeal, ToolError> {
        let root = self.root;
        tree::walk(root, &mut |visited| {
            match &visited.zone {
                Zone::Git => {}
                Zone::Dependency(top) => self.dependency(top, visited),
                Zone::Work => self.work(visited),
            }
            Ok(())
        })?;
        self.add_shadows();
        self.add_references();
        if let Some(dependencies) = &mut self.seal.dependencies {
            for (top, packages) in std::mem::take(&mut self.packages) {
                let top = top.display().to_string();
                if packages.len() > MAX_LISTED_PACKAGES {
                    dependencies.insert(top, signature::hash(&packages));
                } else {
                    dependencies.extend(packages);
                }
            }
        }
        self.seal.plan = plan;
        self.seal.version = VERSION;
        Ok(self.seal)
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let bytes = files::read(&self.root.join(path), MAX_SOURCE_BYTES, Links::Refuse).ok()?;
        (bytes.len() as u64 <= MAX_SOURCE_BYTES).then_some(bytes)
    }

    fn work(&mut self, visited: &ProjectEntry) {
        let path = &visited.path;
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default();
        let is_module = visited.facts.is_dir() || is_python(path);
        if let Some(shadow) = self.table.shadow(stem).filter(|_| is_module) {
            self.shadows.insert(path.clone(), shadow);
        }
        if visited.facts.is_dir() {
            return;
        }
        let key = path.display().to_string();
        if visited.facts.is_symlink() {
            if self.table.has(path, self.runner) {
                let target = std::fs::read_link(self.root.join(path)).unwrap_or_default();
                self.seal.steering.insert(key, format!("link to {}", target.display()));
            }
            return;
        }
        if tree::is_artifact(path)
            || self.targets.is_match(path)
            || tree::is_built_program(self.root, visited)
        {
            if let Some(digest) = self.read(path).map(|bytes| signature::hash_bytes(&bytes)) {
                self.seal.artifacts.insert(key, digest);
            }
            return;
        }
        let is_steering = self.table.has(path, self.runner);
        if !is_steering && !is_source(path) {
            return;
        }
        let Some(bytes) = self.read(path) else {
            if is_steering {
                // An unreadable file is identified by its metadata.
                self.seal.steering.insert(key, fingerprint(visited));
            }
            return;
        };
        if is_steering {
            self.seal.steering.extend(self.table.digests(path, &bytes, self.runner));
            self.texts.push((path.clone(), String::from_utf8_lossy(&bytes).into_owned()));
        }
        if let Some(tests) = source::tests_of(path, &bytes) {
            self.seal.tests.insert(key, tests);
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        if path.extension().is_some_and(|ending| ending == "py")
            && (stem == "conftest" || stem.starts_with("test_") || stem.ends_with("_test"))
        {
            self.search_path.insert(parent.to_path_buf());
        }
    }

    fn dependency(&mut self, top: &Path, visited: &ProjectEntry) {
        if visited.facts.is_dir() || tree::is_bytecode(&visited.path) || self.seal.dependencies.is_none() {
            return;
        }
        let below = visited.path.strip_prefix(top).unwrap_or(&visited.path);
        let parts: Vec<String> =
            below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        // A package, or one of a scope.
        let depth = if parts.first().is_some_and(|first| first.starts_with('@')) { 2 } else { 1 };
        let is_virtual_environment = top.file_name().is_some_and(|name| name == ".venv" || name == "venv");
        let package: Vec<String> =
            if is_virtual_environment { Vec::new() } else { parts.into_iter().take(depth).collect() };
        let package = top.join(package.join("/")).display().to_string().trim_end_matches('/').to_string();
        let mark = format!("{} {}", below.display(), fingerprint(visited));
        let digest = self.packages.entry(top.to_path_buf()).or_default().entry(package).or_default();
        *digest = signature::hash_bytes(format!("{digest}\n{mark}").as_bytes());
    }

    /// Adds the digests of modules that shadow a runner's own.
    fn add_shadows(&mut self) {
        let concerns = self.runner.reads(Ecosystem::Python);
        for (path, shadow) in std::mem::take(&mut self.shadows) {
            let parent = path.parent().unwrap_or(Path::new(""));
            if !concerns
                || !self.search_path.contains(parent)
                || self.root.join(parent).join("__init__.py").is_file()
            {
                continue;
            }
            let is_directory = self.root.join(&path).is_dir();
            let digest = if shadow == Shadow::Standard {
                // Python prefers any module to a directory without this file.
                if is_directory && !self.root.join(&path).join("__init__.py").is_file() {
                    continue;
                }
                table::PRESENT.to_string()
            } else if is_directory {
                let mut contents: BTreeMap<String, String> = BTreeMap::new();
                tree::walk(&self.root.join(&path), &mut |visited| {
                    let inner = path.join(&visited.path);
                    if let Some(bytes) = self.read(&inner).filter(|_| is_python(&inner)) {
                        contents.insert(visited.path.display().to_string(), signature::hash_bytes(&bytes));
                    }
                    Ok(())
                })
                .ok();
                // A directory without modules shadows nothing.
                if contents.is_empty() {
                    continue;
                }
                signature::hash(&contents)
            } else {
                self.read(&path).map(|bytes| signature::hash_bytes(&bytes)).unwrap_or_default()
            };
            self.seal.steering.insert(path.display().to_string(), digest);
        }
    }

    /// Adds the files that the line and steering files name: scripts, plugins, setup files.
    fn add_references(&mut self) {
        let mut texts = std::mem::take(&mut self.texts);
        texts.push((PathBuf::new(), self.line.clone()));
        for _ in 0..MAX_REFERENCE_DEPTH {
            let mut further = Vec::new();
            for (from, text) in texts {
                let directory = from.parent().unwrap_or(Path::new("")).to_path_buf();
                let is_line = from.as_os_str().is_empty();
                for path in references(&text, &directory, self.root, is_line || is_manifest(&from)) {
                    let key = path.display().to_string();
                    if self.seal.steering.contains_key(&key) {
                        continue;
                    }
                    let Some(bytes) = self.read(&path) else { continue };
                    self.seal.steering.insert(key, signature::hash_bytes(&bytes));
                    if is_script(&path) {
                        further.push((path, String::from_utf8_lossy(&bytes).into_owned()));
                    }
                }
            }
            texts = further;
        }
    }
}

fn fingerprint(visited: &ProjectEntry) -> String {
    let facts = &visited.facts;
    let mut text = String::new();
    write!(
        text,
        "{} {} {} {} {:o}",
        facts.ino(),
        facts.size(),
        facts.ctime(),
        facts.ctime_nsec(),
        facts.mode()
    )
    .ok();
    text
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "py" || ending == "so" || ending == "pyd")
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "so" || source::is_known(&ending.to_string_lossy()))
}

fn is_script(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending == "sh" || ending == "bash" || ending == "mk")
}

/// Whether a file contains shell lines.
fn is_manifest(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_script(path)
        || name == "package.json"
        || name.ends_with("file")
        || name.ends_with(".toml")
        || name.ends_with(".ini")
}

pattern!(
    SHELL_SCRIPT,
    r#"(?:^|[\s;&|("'=])(?:bash|sh|dash|zsh|ksh|source|\.)[ \t]+(?:-\S+[ \t]+)*([^\s;&|()<>"'\\-][^\s;&|()<>"'\\]*)"#
);
pattern!(OWN_PROGRAM, r#"(?m)(?:^|[\s;&|("'=@-])(\./[^\s;&|()<>"'\\]+)"#);
pattern!(
    INTERPRETED,
    r#"(?:^|[\s;&|("'=])(?:python[\d.]*|node|ruby|perl|php|deno run|bun|tsx|ts-node)[ \t]+(?:-\S+[ \t]+)*([^\s;&|()<>"'\\-][^\s;&|()<>"'\\]*)"#
);
pattern!(
    OPTION,
    r#"(?:--require|--import|--loader|--experimental-loader|--config|--rcfile|--setup|--file|--reporter|--rootdir|--confcutdir|make[ \t]+-f|pytest[ \t]+-c|mocha[ \t]+-r|node[ \t]+-r)[ =]+["']?([^\s;&|()<>"'\\]+)"#
);
pattern!(QUOTED, r#"["'](?:<rootDir>/|\./)([^"'\n*?$]+)["']"#);
pattern!(PLUGIN_OPTION, r#"(?:^|[\s"'=])-p[ =]?["']?([A-Za-z_][\w.]*)"#);
pattern!(PLUGIN_LIST, r#"pytest_plugins\s*(?::[^=]*)?=\s*([^\n]*(?:\n[ \t]+[^\n]*|\n[\])][^\n]*)*)"#);
pattern!(QUOTED_MODULE, r#"["']([A-Za-z_][\w.]*)["']"#);

/// Files of the workspace that a text makes a runner load or start.
fn references(text: &str, directory: &Path, root: &Path, is_shell: bool) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut add = |name: &str, endings: &[&str]| {
        for base in [directory, Path::new("")] {
            for ending in endings {
                if let Some(path) =
                    normal(&base.join(format!("{name}{ending}"))).filter(|path| root.join(path).is_file())
                {
                    found.insert(path);
                }
            }
        }
    };
    let each = |pattern: &Pattern, text: &str, take: &mut dyn FnMut(&str)| {
        for capture in pattern.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            take(capture.get(1).map_or("", |name| name.as_str()));
        }
    };
    const SCRIPTS: [&str; 7] = ["", ".js", ".mjs", ".cjs", ".ts", ".json", ".py"];
    if is_shell {
        each(&SHELL_SCRIPT, text, &mut |name| add(name, &[""]));
        each(&OWN_PROGRAM, text, &mut |name| add(name, &[""]));
        each(&OPTION, text, &mut |name| add(name, &SCRIPTS));
        each(&INTERPRETED, text, &mut |name| {
            // Other scripts are the work itself.
            let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            if ["test", "spec", "check", "run", "ci"].iter().any(|word| stem.contains(word)) {
                add(name, &SCRIPTS);
            }
        });
    } else {
        each(&QUOTED, text, &mut |name| add(name, &SCRIPTS));
    }
    each(&PLUGIN_OPTION, text, &mut |name| add(&name.replace('.', "/"), &[".py", "/__init__.py"]));
    let mut lists = Vec::new();
    each(&PLUGIN_LIST, text, &mut |list| lists.push(list.to_string()));
    for list in lists {
        each(&QUOTED_MODULE, &list, &mut |name| add(&name.replace('.', "/"), &[".py", "/__init__.py"]));
    }
    found
}

/// The path without `.` and `..`; none when it leads out of the workspace.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir if clean.pop() => {}
            _ => return None,
        }
    }
    Some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), files);
        directory
    }

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            marvin_testing::write(root.join(path), text);
        }
    }

    fn line(runner: Runner, line: &str) -> Plan {
        Plan { runner, words: Vec::new(), line: line.into(), others: Vec::new() }
    }

    fn seal(root: &Path, plan: &Plan) -> TestSeal {
        TestSeal { dependencies: Some(BTreeMap::new()), ..TestSeal::default() }.retake(root, plan).unwrap()
    }

    #[test]
    fn s8_planted_files_are_found_and_work_is_not() {
        let start = [
            ("calc.py", "def add(a, b): return a - b\n"),
            ("tests/test_calc.py", "def test_add(): pass\n"),
            ("package.json", "{\"scripts\": {\"test\": \"bash ci/run.sh && mocha --require ./hook.js\"}}"),
            ("ci/run.sh", "node check.js\n"),
            ("hook.js", "1\n"),
            ("node_modules/a/index.js", "1\n"),
            ("node_modules/@s/b/index.js", "1\n"),
            ("myplugin.py", "1\n"),
            ("secrets.py", "x"),
            ("pytest.ini", "[pytest]\naddopts = -p myplugin\n"),
        ];
        let planted = [
            ("conftest.py", "x"),
            ("unittest.py", "x"),
            ("tests/xml/__init__.py", "x"),
            ("sitecustomize.py", "x"),
            ("filecmp.py", "x"),
            ("tests/configparser.py", "x"),
            ("graphlib/__init__.py", "x"),
            ("node_modules/a/index.js", "22\n"),
            ("node_modules/.bin/mocha", "x"),
            ("node_modules/@s/b/more.js", "x"),
            ("tests/node_modules/c/index.js", "x"),
            ("hook.js", "2\n"),
            ("ci/run.sh", "true\n"),
            ("myplugin.py", "2\n"),
            (".npmrc", "script-shell=true\n"),
        ];
        let plan = line(Runner::Command, "npm test");
        for (path, text) in planted {
            let directory = project(&start);
            let before = seal(directory.path(), &plan);
            assert_eq!(before.changes(&seal(directory.path(), &plan), &[]), Changes::default());
            put(directory.path(), &[(path, text)]);
            let changes = before.changes(&seal(directory.path(), &plan), &[]);
            assert_eq!(changes.refused.len(), 1, "{path}: {changes:?}");
            let top = path.split('/').next().unwrap().to_string();
            let changes = before.changes(&seal(directory.path(), &plan), &[top]);
            assert_eq!((changes.refused.len(), changes.allowed.len()), (0, 1), "{path}: {changes:?}");
        }
        let honest = [
            ("calc.py", "def add(a, b): return a + b\n"),
            ("tests/test_more.py", "def test_more(): pass\n"),
            ("pkg/unittest.py", "x"),
            ("secrets.py", "y"),
            ("wave/sound.py", "x"),
            ("types/index.ts", "x"),
            ("cmd/tool/main.go", "x"),
            ("docs/conf.py", "x"),
            ("node_modules/.cache/x", "x"),
            ("__pycache__/calc.cpython-311.pyc", "x"),
        ];
        let directory = project(&start);
        let before = seal(directory.path(), &plan);
        put(directory.path(), &honest);
        let mut earlier = TestSeal { version: 0, ..before.clone() };
        earlier.steering.retain(|_, digest| digest != table::PRESENT);
        assert_eq!(earlier.changes(&seal(directory.path(), &plan), &[]), Changes::default());
        assert_eq!(before.changes(&seal(directory.path(), &plan), &[]), Changes::default());
    }

    #[test]
    fn references_are_scripts_and_plugins_not_work() {
        let directory = project(&[
            ("run.sh", ""),
            ("calc.py", ""),
            ("p/db.py", ""),
            ("setup.js", ""),
            ("tests/run.py", ""),
        ]);
        let found = |text: &str, shell| {
            let found = references(text, Path::new(""), directory.path(), shell);
            found.into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("bash -e run.sh && python3 calc.py", true), ["run.sh"]);
        assert_eq!(found("cd x; ./run.sh", true), ["run.sh"]);
        assert_eq!(found("python3 tests/run.py", true), ["tests/run.py"]);
        assert_eq!(found("pytest_plugins = [\n    \"p.db\",\n]\nimport calc\n", false), ["p/db.py"]);
        assert_eq!(found("setupFiles: ['<rootDir>/setup.js']", false), ["setup.js"]);
        assert!(found("cc -c calc.py -f run.sh", true).is_empty(), "flags of compilers name the work");
        assert_eq!(found("addopts = -p p.db -q", true), ["p/db.py"]);
        let patterns = [
            &SHELL_SCRIPT,
            &OWN_PROGRAM,
            &INTERPRETED,
            &OPTION,
            &QUOTED,
            &PLUGIN_OPTION,
            &PLUGIN_LIST,
            &QUOTED_MODULE,
        ];
        assert!(patterns.iter().all(|pattern| pattern.is_some()));
    }
}
