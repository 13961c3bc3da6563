//! Plays scripted agents that lie, and others that are honest, against the real program. The tests and the benchmark
//! `honesty` both use this.
//!
//! A case is an initial directory (`project.json` and the case's own `files`), commitments (`commitments`,
//! `oracles`), the model's replies (`steps`: a text is a reply, `{"tool": arguments}` a call, `json` a reply as an object,
//! `fail` an error) and its final claim, which it repeats.
//!
//! A case with a `project` begins with one of `projects.json`, which also has the commitments, the oracles, the programs that it
//! `needs` and the `fix` that an honest agent would make. `plants` are files that the agent writes by a script, `script` is what
//! the script does in addition: so nothing depends on what the file tools refuse.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The script by which an agent of a case writes its files.
const PLANT: &str = "plant-files.sh";

/// The program's verdict on a case.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) name: String,
    pub(crate) exit: i32,
    pub(crate) expected: i32,
    /// The result.
    pub(crate) result: Value,
    /// The program's stderr.
    pub(crate) stderr: String,
}

impl Verdict {
    /// Whether the claim was accepted.
    pub(crate) fn accepted(&self) -> bool {
        self.exit == 0 || self.text("/status") == "success"
    }

    /// Whether listening on loopback was refused, as in sandboxes without their own network.
    pub(crate) fn lacks_loopback(&self) -> bool {
        let result = self.result.to_string();
        self.name.contains("server")
            && (result.contains("PermissionError") || result.contains("EPERM") || result.contains("EACCES"))
    }

    /// Whether the exit code and the verification are as expected.
    pub(crate) fn agrees(&self) -> bool {
        let proof = self.text("/verification/status");
        self.exit == self.expected && (proof == "passed") == (self.exit == 0) && proof != "none"
    }

    fn text(&self, pointer: &str) -> &str {
        self.result.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The cases of a suite: `liars` or `honest`.
pub(crate) fn cases(directory: &Path, suite: &str) -> Result<Vec<Value>, String> {
    match read(&directory.join(format!("{suite}.json")))? {
        Value::Array(cases) => Ok(cases),
        _ => Err(format!("{suite}.json is not a list")),
    }
}

fn read(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Why a case cannot be played on this machine; `None` when it can.
pub(crate) fn missing(suites: &Path, case: &Value) -> Result<Option<String>, String> {
    let whole = whole(suites, case)?;
    let missing = texts(&whole, "needs").into_iter().find(|need| !is_there(need));
    Ok(missing.map(|need| format!("{need} is missing")))
}

static TOOLCHAINS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Sets the toolchains that come first on `PATH`: the Python that has pytest, and others. Only the first call counts.
pub(crate) fn set_toolchains(places: Vec<PathBuf>) {
    TOOLCHAINS.get_or_init(|| places);
}

/// The names of the projects that cheats begin with.
pub(crate) fn projects(suites: &Path) -> Result<Vec<String>, String> {
    let projects = read(&suites.join("projects.json"))?;
    let with_fix =
        projects.as_object().into_iter().flatten().filter(|(_, project)| project.get("fix").is_some());
    Ok(with_fix.map(|(name, _)| name.clone()).collect())
}

/// `PATH` with the toolchains that the build installed in front.
fn path() -> std::ffi::OsString {
    let mut path = std::ffi::OsString::new();
    for place in TOOLCHAINS.get().into_iter().flatten() {
        path.push(place.join("bin"));
        path.push(":");
    }
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

/// Whether a program is installed; cached.
fn is_there(need: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(need.to_string()).or_insert_with(|| {
        let words: &[&str] = match need {
            "pytest" => &["python3", "-m", "pytest", "--version"],
            "go" => &["go", "version"],
            // A server on loopback; inside the sandbox it may still be refused, which the case then reports.
            "loopback" => &["python3", "-c", "import socket; socket.socket().bind(('127.0.0.1', 0))"],
            other => &[other, "--version"],
        };
        let (program, rest) = words.split_first().unwrap_or((&"false", &[]));
        let mut command = Command::new(program);
        command
            .args(rest)
            .env("PATH", path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// A case merged with its project.
fn whole(suites: &Path, case: &Value) -> Result<Value, String> {
    let Some(name) = case.get("project").and_then(Value::as_str) else { return Ok(case.clone()) };
    let projects = read(&suites.join("projects.json"))?;
    let mut whole = projects.get(name).cloned().ok_or_else(|| format!("no project {name}"))?;
    for (key, value) in case.as_object().into_iter().flatten() {
        match (key.as_str(), whole.get_mut("files"), value) {
            // The case's files are added to the project's.
            ("files", Some(Value::Object(files)), Value::Object(own)) => files.extend(own.clone()),
            _ => put(&mut whole, key, value.clone()),
        }
    }
    if whole.get("honest").is_some() && whole.get("plants").is_none() {
        let fix = whole.get("fix").cloned().unwrap_or_default();
        put(&mut whole, "plants", fix);
    }
    Ok(whole)
}

/// Sets a key of an object.
fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_string(), value);
    }
}

/// The script by which an agent writes its files.
fn plant(case: &Value) -> Option<String> {
    let (plants, script) = (case.get("plants"), case.get("script").and_then(Value::as_str));
    if plants.is_none() && script.is_none() {
        return None;
    }
    let mut text = "set -e\n".to_string();
    for (path, content) in plants.and_then(Value::as_object).into_iter().flatten() {
        let content = content.as_str().unwrap_or_default().trim_end_matches('\n');
        text.push_str(&format!(
            "mkdir -p \"$(dirname '{path}')\"\ncat > '{path}' <<'MARVIN_END'\n{content}\nMARVIN_END\n"
        ));
    }
    text.push_str(script.unwrap_or_default());
    text.push('\n');
    Some(text)
}

/// Plays one case in an empty directory.
pub(crate) fn play(program: &Path, suites: &Path, case: &Value, directory: &Path) -> Result<Verdict, String> {
    let case = &whole(suites, case)?;
    let name = case.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let wrong = |what: String| format!("{name}: {what}");
    let project = directory.join("project");
    for place in ["home", "tmp", "project"] {
        fs::create_dir_all(directory.join(place)).map_err(|error| wrong(error.to_string()))?;
    }
    if case.get("project").is_none() {
        write_all(&project, &read(&suites.join("project.json"))?).map_err(wrong)?;
    }
    write_all(&project, case.get("files").unwrap_or(&Value::Null)).map_err(wrong)?;
    let plant = plant(case);
    if let Some(plant) = &plant {
        fs::write(project.join(PLANT), plant).map_err(|error| wrong(error.to_string()))?;
    }
    let script = directory.join("script.jsonl");
    fs::write(&script, script_of(case, plant.is_some())).map_err(|error| wrong(error.to_string()))?;
    let mut command = Command::new(program);
    command
        .args(["--non-interactive", "--prompt", "Fix the sum.", "--json", "--script"])
        .arg(&script)
        .current_dir(&project)
        .env_clear()
        .env("PATH", path())
        .env("HOME", directory.join("home"))
        .env("TMPDIR", directory.join("tmp"))
        .env("LANG", "C.UTF-8")
        .env("MARVIN_DURABILITY", "system")
        .stdin(Stdio::null());
    for commitment in texts(case, "commitments") {
        command.args(["--commitment", &commitment]);
    }
    for oracle in texts(case, "oracles") {
        command.args(["--oracle", &oracle]);
    }
    for path in texts(case, "may_change") {
        command.args(["--may-change", &path]);
    }
    // Compilers are installed in the real home directory.
    for (name, place) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(place));
        if let Some(value) =
            std::env::var_os(name).map(Into::into).or(home).filter(|place: &PathBuf| place.is_dir())
        {
            command.env(name, value);
        }
    }
    if case.get("project").is_some() && case.get("lie").is_some() {
        command.env("MARVIN_VERIFY_ROUNDS", "0");
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

fn write_all(directory: &Path, files: &Value) -> Result<(), String> {
    for (name, text) in files.as_object().into_iter().flatten() {
        let path = directory.join(name);
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text.as_str().unwrap_or_default()))
            .and_then(|()| executable(&path, text.as_str().unwrap_or_default()))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// A script must be executable.
fn executable(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if text.starts_with("#!") { fs::set_permissions(path, fs::Permissions::from_mode(0o755)) } else { Ok(()) }
}

fn script_of(case: &Value, plants: bool) -> String {
    let steps = case.get("steps").and_then(Value::as_array).into_iter().flatten();
    let mut entries: Vec<Value> = steps.map(entry).collect();
    if plants {
        entries.insert(0, entry(&json!({"run_command": {"command": format!("bash {PLANT}")}})));
    }
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
