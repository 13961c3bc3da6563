//! Verifications of wrong work beside planted files, with real interpreters in the sandbox.

use super::*;
use crate::commitments::commitment::Oracle;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, Sources};
use marvin_gate::layers::Log;
use marvin_gate::{Access, Duty, Layers, Permit, sandbox};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A project with a commitment that is judged by the directory `tests`.
struct JudgedProject {
    _directory: tempfile::TempDir,
    root: PathBuf,
    context: ToolContext,
    commitment: Commitment,
}

impl JudgedProject {
    fn new(line: &str, files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let root = home.join("work");
        for (path, text) in files {
            marvin_testing::write(root.join(path), text);
        }
        let mut environment = Environment::from_iter([("HOME", home.display().to_string())]);
        if let Some(python) = test_python() {
            environment = environment.with("MARVIN_SANDBOX_READABLE", python.display().to_string());
        }
        let settings =
            Settings::load(&Sources { environment: environment.clone(), ..Sources::default() }).unwrap();
        let layout = Layout::new(&environment, Some(&root));
        let redactor = Arc::new(Redactor::patterns_only());
        let workspace = Workspace::open(&root, &home).unwrap();
        let tree = verified_tree(&Assertion::parse(Kind::Shell, line).unwrap(), 60);
        let oracle =
            Oracle { path: "tests".into(), sha256: oracle::hash(&workspace, "tests", tree).unwrap() };
        let commitment =
            serde_json::json!({"id": "c-1", "kind": "shell", "assertion": line, "timeout_s": 60});
        let commitment = Commitment { oracles: vec![oracle], ..serde_json::from_value(commitment).unwrap() };
        let context = ToolContext {
            layers: Arc::new(Layers::new(&layout).recording(Log::new(&layout.security(), redactor.clone()))),
            layout,
            workspace: Some(Arc::new(workspace)),
            access: Access::Full,
            duty: Arc::new(Duty::from_settings(&settings)),
            coding: true,
            attended: false,
            cancel: CancellationToken::new(),
            redactor,
            artifacts: None,
            settings: Arc::new(settings),
            usage: Arc::new(|_| Value::Null),
            agent: None,
            progress: None,
            approver: None,
            grant: None,
            permit: Permit::default(),
        };
        JudgedProject { _directory: directory, root, context, commitment }
    }

    fn write(&self, path: &str, text: &str) {
        marvin_testing::write(self.root.join(path), text);
    }

    /// Runs a program in the project as an agent does, without a sandbox; whether it succeeds.
    fn runs(&self, program: &Path, words: &[&str]) -> bool {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.root).env_remove("PYTHONDONTWRITEBYTECODE");
        let output = command.env_remove("PYTHONPYCACHEPREFIX").output().unwrap();
        output.status.success()
    }

    async fn verify(&self) -> Outcome {
        check(&self.commitment, Beginning::default(), &self.context).await.unwrap()
    }

    #[track_caller]
    fn stands(&self, outcome: &Outcome, status: Status) {
        assert_eq!(outcome.status, status, "{outcome:?}");
    }
}

/// The virtual environment with pytest that `cargo xtask test` installs.
fn test_python() -> Option<PathBuf> {
    std::env::var_os("MARVIN_TEST_PYTHON").map(PathBuf::from)
}

/// Whether commands can run here: a program is installed, and there is a sandbox for it.
fn has(program: &str) -> bool {
    let is_installed = Command::new(program).arg("--version").output().is_ok();
    if !is_installed {
        marvin_testing::skip(&format!("{program} is not installed"));
    } else if sandbox::support().level.is_none() {
        marvin_testing::skip("this system cannot sandbox commands");
    }
    is_installed && sandbox::support().level.is_some()
}

const PLANT_BYTECODE: &str = "import importlib.util as u, py_compile as p\n\
    p.compile('evil.py', cfile=u.cache_from_source('tests/judge.py'), doraise=True,\n\
    \x20         invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)\n";

#[tokio::test]
async fn planted_bytecode_of_an_oracle_is_not_loaded() {
    if !has("python3") {
        return;
    }
    let python = Path::new("python3");
    let project = JudgedProject::new(
        "python3 tests/check.py",
        &[
            ("calc.py", "def add(a, b): return a - b\n"),
            (
                "tests/check.py",
                "import sys\nsys.path.insert(0, '.')\nimport calc, judge\njudge.judge(calc.add(2, 3))\n",
            ),
            ("tests/judge.py", "def judge(sum):\n    assert sum == 5, sum\n"),
            ("evil.py", "def judge(sum):\n    pass\n"),
        ],
    );
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Failed);
    assert!(project.runs(python, &["-c", PLANT_BYTECODE]));
    assert!(project.runs(python, &["tests/check.py"]), "Python loads the planted bytecode");
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Failed);
    assert!(outcome.evidence.unwrap().contains("AssertionError"), "the oracle itself has judged");

    // Bytecode of the agent's own runs does not matter.
    project.write("calc.py", "def add(a, b): return + a + b\n");
    std::fs::remove_dir_all(project.root.join("tests/__pycache__")).unwrap();
    assert!(project.runs(python, &["tests/check.py"]) && project.root.join("tests/__pycache__").is_dir());
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Passed);
    // Neither does a check that compiles.
    let compiled = JudgedProject::new(
        "python3 -m py_compile calc.py && python3 tests/check.py",
        &[("calc.py", "x = 1\n"), ("tests/check.py", "assert 'x = 1' in open('calc.py').read()\n")],
    );
    let outcome = compiled.verify().await;
    compiled.stands(&outcome, Status::Passed);
}

#[tokio::test]
async fn planted_modules_of_an_oracle_are_named() {
    if !has("node") {
        return;
    }
    let project = JudgedProject::new(
        "node tests/check.js",
        &[
            ("calc.js", "exports.add = (a, b) => a - b;\n"),
            (
                "node_modules/judge/index.js",
                "module.exports = sum => { if (sum !== 5) throw Error(sum); };\n",
            ),
            ("tests/check.js", "require('judge')(require('../calc.js').add(2, 3));\n"),
        ],
    );
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Failed);
    project.write("tests/node_modules/judge/index.js", "module.exports = () => {};\n");
    assert!(project.runs(Path::new("node"), &["tests/check.js"]), "node loads the planted module");
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Failed);
    insta::assert_snapshot!(outcome.reason.unwrap(), @r"
    `tests`, by which it is judged, was changed: it now holds `tests/node_modules`, which can be loaded in place of its own files; it was not run
      hint: remove `tests/node_modules`, or install it outside of `tests`; a person accepts it with `marvin commitments rehash ID`
    ");
    // Work that is right passes once the module is gone.
    std::fs::remove_dir_all(project.root.join("tests/node_modules")).unwrap();
    project.write("calc.js", "exports.add = (a, b) => a + b;\n");
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Passed);
}

#[tokio::test]
async fn failures_that_pytest_remembers_do_not_select_tests() {
    if !has("python3") {
        return;
    }
    let python = test_python().map_or_else(|| PathBuf::from("python3"), |place| place.join("bin/python3"));
    let found = Command::new(&python).args(["-m", "pytest", "--version"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        marvin_testing::skip("pytest is missing (cargo xtask test installs it)");
        return;
    }
    let script = format!("{} -m pytest -q tests\n", python.display());
    let project = JudgedProject::new(
        "bash check.sh",
        &[
            ("calc.py", "def add(a, b): return a - b\n"),
            ("check.sh", &script),
            ("pytest.ini", "[pytest]\naddopts = --last-failed\npythonpath = .\n"),
            (
                "tests/test_calc.py",
                "import calc\ndef test_zero(): assert calc.add(0, 0) == 0\ndef test_add(): assert calc.add(2, 3) == 5\n",
            ),
        ],
    );
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Failed);
    project.write(".pytest_cache/v/cache/lastfailed", r#"{"tests/test_calc.py::test_zero": true}"#);
    assert!(project.runs(Path::new("bash"), &["check.sh"]), "pytest runs only what the cache names");
    project.write(".pytest_cache/v/cache/lastfailed", r#"{"tests/test_calc.py::test_zero": true}"#);
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Failed);
    // Of another size, since Python takes a source of the same second and size for the one that it compiled.
    project.write("calc.py", "def add(a, b): return + a + b\n");
    assert!(
        project.runs(Path::new("bash"), &["check.sh"]) && project.root.join("tests/__pycache__").is_dir()
    );
    let outcome = project.verify().await;
    project.stands(&outcome, Status::Passed);
}
