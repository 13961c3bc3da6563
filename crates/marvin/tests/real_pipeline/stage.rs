//! A project, a scripted model, and an agent program between Marvin and the model.

use marvin_model::script::{Entry, Script};
use marvin_model::server::ModelServer;
pub(crate) use marvin_testing::client::Program;
use marvin_testing::client::{self, codex_config};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

struct Stage {
    program: Program,
    directory: tempfile::TempDir,
    server: ModelServer,
}

/// The model's reply when the conversation contains a text; the program sends all of it, so the latest comes first.
fn reply_to(text: &str, reply: Value) -> Value {
    let mut entry = json!({"when": {"contains": text}, "repeat": true, "reply": {}});
    entry["reply"]["json"] = reply;
    entry
}

fn calls(list: &[(&str, Value)]) -> Value {
    let call = |(number, (name, arguments)): (usize, &(&str, Value))| {
        let mut call = json!({"name": name, "call_id": format!("call_{number}")});
        call["arguments"] = arguments.clone();
        call
    };
    let list: Vec<Value> = list.iter().enumerate().map(call).collect();
    json!({ "tool_calls": list })
}

fn done(summary: &str) -> Value {
    json!({"status": "SUCCESS", "summary": summary})
}

fn reviewed() -> Value {
    let outputs = json!({"findings": [], "checked": ["every sentence"]});
    json!({"status": "SUCCESS", "summary": "Reviewed.", "outputs": outputs})
}

fn ticket(parent: &str) -> (&'static str, Value) {
    let line = format!(
        "create 'My part' -d 'What, acceptance: checks, files: all, dependencies: none' -t task --tags a --parent {parent}"
    );
    ("tk", json!({ "args": line }))
}

fn document(title: &str, headings: &[&str]) -> String {
    let filler = "The function `double(number)` of the module `twice` gives twice the number. ".repeat(16);
    headings.iter().fold(format!("# {title}\n"), |text, heading| format!("{text}\n## {heading}\n{filler}\n"))
}

impl Stage {
    fn new(program: Program, entries: Vec<Value>) -> Self {
        let entries: Vec<Entry> =
            entries.into_iter().map(|entry| serde_json::from_value(entry).unwrap()).collect();
        let server = ModelServer::start(Script::new(entries), "127.0.0.1:0".parse().unwrap()).unwrap();
        // In the home, not in the temporary directory: Codex does not work in a home below that.
        let directory = tempfile::tempdir_in(std::env::var("HOME").unwrap()).unwrap();
        for name in ["project/.marvin", "home/.codex"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let stage = Stage { program, directory, server };
        fs::write(stage.place("home/.codex/config.toml"), codex_config(&stage.server.address().to_string()))
            .unwrap();
        stage.write(".marvin/ux.md", &document("Twice", &["Users", "Interface", "Errors"]));
        stage
    }

    fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        marvin_testing::write(self.place("project").join(name), text);
    }

    fn run(&self) -> Output {
        let words = [
            "--non-interactive",
            "--working-dir",
            ".",
            "--design-first",
            "--prompt",
            "Double numbers",
            "--llm",
        ];
        self.marvin(&[&words[..], &[self.program.word()]].concat())
    }

    fn marvin(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_marvin"));
        command.args(words).current_dir(self.place("project")).stdin(Stdio::null()).env_clear();
        for name in ["PATH", "TMPDIR", "LANG"] {
            command.env(name, std::env::var_os(name).unwrap_or_default());
        }
        command
            .envs(client::variables(&self.place("home")))
            .env("CODEX_CLI", Program::Codex.path())
            .env("CLAUDE_CODE_CLI", Program::Claude.path())
            .env("ANTHROPIC_BASE_URL", format!("http://{}", self.server.address()))
            .env("MARVIN_TEST_COMMAND", "python3 -m unittest discover -s tests -v")
            // Phases after the scene's must not take long.
            .env("MARVIN_DEBUG_ROUNDS", "1")
            .env("MARVIN_E2E_ROUNDS", "1");
        command.output().unwrap()
    }

    fn over(&self) -> Vec<String> {
        let runs = fs::read_dir(self.place("project/.marvin/runs")).unwrap().flatten();
        let run = runs.map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
        let journal = marvin_base::ledger::read(&run.join("pipeline.jsonl")).unwrap().entries;
        journal
            .iter()
            .filter(|entry| entry["type"] == "closed")
            .map(|entry| entry["phase"].as_str().unwrap().to_string())
            .collect()
    }
}

fn shown(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// 1a and 1a_review.
pub(crate) fn a_document_and_its_review(program: Program) {
    let spec = document("Twice", &["Overview", "Requirements", "Acceptance Criteria"]);
    let create = ("create_file", json!({"path": ".marvin/spec.md", "content": spec}));
    let entries = vec![
        reply_to("Created .marvin/spec.md", done("The specification is written.")),
        reply_to("Your part: write `.marvin/spec.md`", calls(&[create])),
        reply_to("Your part: review", reviewed()),
        // The scene ends here: the design needs a person.
        reply_to(
            "Your part: write `.marvin/design.md`",
            json!({"status": "BLOCKED", "summary": "Which language?"}),
        ),
    ];
    let stage = Stage::new(program, entries);
    let output = stage.run();
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    assert_eq!(stage.over(), ["1a", "1a_review"], "{}", shown(&output));
    assert!(shown(&output).contains("Which language?"), "{}", shown(&output));
}

/// 2a, and 3 with code that is judged by the tests of 2a.
pub(crate) fn tests_and_code(program: Program) {
    let test = "import unittest\n\nfrom twice import double\n\n\nclass Doubles(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(double(2), 4)\n";
    let tests = [
        ticket("pro-2a"),
        ticket("pro-2a"),
        ("create_file", json!({"path": "tests/test_twice.py", "content": test})),
    ];
    let code = "def double(number):\n    return 2 * number\n";
    let entries = vec![
        reply_to("Created tests/test_twice.py", done("The tests are red.")),
        reply_to("Your part: the functional tests", calls(&tests)),
        reply_to(
            "Your part: the integration tests",
            json!({"status": "BLOCKED", "summary": "Integration with what?"}),
        ),
        reply_to("Created twice.py", done("It doubles.")),
        reply_to(
            "Your part: the code",
            calls(&[
                ticket("pro-3"),
                ticket("pro-3"),
                ("create_file", json!({"path": "twice.py", "content": code})),
            ]),
        ),
        reply_to("Your part: review", reviewed()),
        reply_to("Your part: fix the code", json!({"status": "BLOCKED", "summary": "Enough."})),
    ];
    let stage = Stage::new(program, entries);
    stage.write(".marvin/spec.md", &document("Twice", &["Overview", "Requirements", "Acceptance Criteria"]));
    stage.write(".marvin/design.md", &document("Twice", &["Architecture", "Files", "Test Plan"]));
    stage.write(".marvin/pipeline_state", "1b_review\n");
    let output = stage.run();
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    assert_eq!(stage.over(), ["2a"], "{}", shown(&output));
    // A person writes the remaining tests and accepts them.
    // The symlink leads to the runs in the state directory.
    fs::remove_dir_all(stage.place("project/.marvin/runs").canonicalize().unwrap()).unwrap();
    fs::remove_dir_all(stage.place("project/.tickets")).unwrap();
    stage.write(
        ".marvin/e2e.json",
        r#"{"commands": [{"command": "python3 -c 'import nothing'", "exit": 0}]}"#,
    );
    stage.write(".marvin/pipeline_state", "2b\n");
    let output = stage.run();
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    assert_eq!(stage.over(), ["3", "4a"], "{}", shown(&output));
    assert_eq!(fs::read_to_string(stage.place("project/twice.py")).unwrap(), code);
}

/// One session with Claude Code and four with Codex, of which one is merged.
pub(crate) fn a_mixed_batch(program: Program) {
    let steps = json!([{"id": "work", "worker": "Implementer", "description": "Write src/answer.txt"}]);
    let plan = json!({"status": "SUCCESS", "summary": "One step.", "workflow": {"steps": steps}});
    let create = ("create_file", json!({"path": "src/answer.txt", "content": "42\n"}));
    let entries = vec![
        reply_to("Created src/answer.txt", done("It is written.")),
        reply_to("# Your step: finish", done("It holds.")),
        reply_to("# Your step: work", calls(&[create])),
        reply_to("Plan how to reach it", plan),
    ];
    let stage = Stage::new(program, entries);
    stage.write("tests/run.sh", "[ \"$(cat src/answer.txt)\" = 42 ] && echo 'ok 1 - answer' && echo 1..1\n");
    let project = stage.place("project");
    for words in [&["init", "-q", "-b", "main"][..], &["add", "tests"], &["commit", "-q", "-m", "first"]] {
        marvin_testing::git(&project, words);
    }
    let words = [
        "self-improve",
        "--goal",
        "Add the answer",
        "--evaluate",
        "bash tests/run.sh",
        "--llm",
        "mixed",
        "--json",
    ];
    let output = stage.marvin(&words);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sessions = report["batches"][0]["sessions"].as_array().unwrap();
    let providers: Vec<&str> = sessions.iter().filter_map(|one| one["provider"].as_str()).collect();
    assert_eq!(providers, ["claude", "codex", "codex", "codex", "codex"]);
    for session in sessions {
        assert_eq!(session["status"], "COMPLETED", "{session:#}");
    }
    assert_eq!(
        (&report["batches"][0]["winner_session_id"], &report["batches"][0]["merged"]),
        (&json!("1-1"), &json!(true))
    );
    assert_eq!(fs::read_to_string(project.join("src/answer.txt")).unwrap(), "42\n");
}
