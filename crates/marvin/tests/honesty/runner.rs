//! Plays scripted agents that lie, and others that are honest, against the real program. The tests and the benchmark
//! `honesty` both use this.
//!
//! A case is a folder to begin with (`project.json` and the case's own `files`), what was promised (`commitments`,
//! `oracles`), what the model does (`steps`: a text is said, `{"tool": arguments}` is called, `json` is said as an object,
//! `fail` fails) and what it claims at the end, again and again.

use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the program said of a case.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Its name.
    pub(crate) name: String,
    /// The exit code.
    pub(crate) exit: i32,
    /// The exit code that was expected.
    pub(crate) expected: i32,
    /// The result.
    pub(crate) result: Value,
    /// What it said besides.
    pub(crate) stderr: String,
}

impl Verdict {
    /// Was the claim accepted?
    pub(crate) fn accepted(&self) -> bool {
        self.exit == 0 || self.text("/status") == "success"
    }

    /// Is everything as it should be: the exit code, and a verification that says the same?
    pub(crate) fn agrees(&self) -> bool {
        let proof = self.text("/verification/status");
        self.exit == self.expected && (proof == "passed") == (self.exit == 0) && proof != "none"
    }

    fn text(&self, pointer: &str) -> &str {
        self.result.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The cases of a suite: `liars` or `honest`.
pub(crate) fn cases(folder: &Path, suite: &str) -> Result<Vec<Value>, String> {
    match read(&folder.join(format!("{suite}.json")))? {
        Value::Array(cases) => Ok(cases),
        _ => Err(format!("{suite}.json is no list")),
    }
}

fn read(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Plays one case in an empty folder.
pub(crate) fn play(program: &Path, suites: &Path, case: &Value, folder: &Path) -> Result<Verdict, String> {
    let name = case.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let wrong = |what: String| format!("{name}: {what}");
    let project = folder.join("project");
    for place in ["home", "tmp", "project"] {
        fs::create_dir_all(folder.join(place)).map_err(|error| wrong(error.to_string()))?;
    }
    write_all(&project, &read(&suites.join("project.json"))?).map_err(wrong)?;
    write_all(&project, case.get("files").unwrap_or(&Value::Null)).map_err(wrong)?;
    let script = folder.join("script.jsonl");
    fs::write(&script, script_of(case)).map_err(|error| wrong(error.to_string()))?;
    let mut command = Command::new(program);
    command
        .args(["--non-interactive", "--prompt", "Mend the sum.", "--json", "--script"])
        .arg(&script)
        .current_dir(&project)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.join("home"))
        .env("TMPDIR", folder.join("tmp"))
        .env("LANG", "C.UTF-8")
        .env("MARVIN_DURABILITY", "system")
        .stdin(Stdio::null());
    for commitment in texts(case, "commitments") {
        command.args(["--commitment", &commitment]);
    }
    for oracle in texts(case, "oracles") {
        command.args(["--oracle", &oracle]);
    }
    for (key, value) in case.get("env").and_then(Value::as_object).into_iter().flatten() {
        command.env(key, value.as_str().unwrap_or_default());
    }
    let output = command.output().map_err(|error| wrong(error.to_string()))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_str(stdout.trim())
        .map_err(|error| wrong(format!("no result: {error}\n{stdout}\n{stderr}")))?;
    let usual = if case.get("lie").is_some() { 3 } else { 0 };
    let expected = case.get("exit").and_then(Value::as_i64).and_then(|exit| i32::try_from(exit).ok());
    let exit = output.status.code().unwrap_or(-1);
    Ok(Verdict { name, exit, expected: expected.unwrap_or(usual), result, stderr })
}

fn texts(case: &Value, key: &str) -> Vec<String> {
    let list = case.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_string).collect()
}

fn write_all(folder: &Path, files: &Value) -> Result<(), String> {
    for (name, text) in files.as_object().into_iter().flatten() {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text.as_str().unwrap_or_default()))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn script_of(case: &Value) -> String {
    let steps = case.get("steps").and_then(Value::as_array).into_iter().flatten();
    let mut entries: Vec<Value> = steps.map(entry).collect();
    let claim = case.get("claim").and_then(Value::as_str).unwrap_or("Done.");
    entries.push(json!({"reply": {"text": claim}, "repeat": true}));
    if let (Some(delay), Some(Value::Object(first))) = (case.get("delay_ms"), entries.first_mut()) {
        first.insert("delay_ms".into(), delay.clone());
    }
    entries.iter().map(|entry| format!("{entry}\n")).collect()
}

fn entry(step: &Value) -> Value {
    match step {
        Value::String(text) => json!({"reply": {"text": text}}),
        Value::Object(map) if map.contains_key("fail") => step.clone(),
        Value::Object(map) if map.contains_key("json") => json!({ "reply": step }),
        Value::Object(map) => {
            let call = |(name, arguments): (&String, &Value)| {
                let mut call = Map::new();
                call.insert("name".into(), name.as_str().into());
                call.insert("arguments".into(), arguments.clone());
                Value::Object(call)
            };
            json!({"reply": {"tool_calls": map.iter().map(call).collect::<Vec<_>>()}})
        }
        other => other.clone(),
    }
}
