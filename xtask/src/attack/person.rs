//! Decisions that an agent tries to take: `attacks/person.toml`.
//!
//! A case is a `way` and a deciding command. The way is a shell line that an agent runs (a copy of bash under the name of an
//! agent, in a terminal whose window is this program); `{decide}` in it is the command, which leaves its exit code in the file `{code}`. The attack
//! holds when the command is refused and nothing stands in the record of decisions. The control is the same command in the same terminal
//! without the agent: it must succeed.

use super::pty::Scene;
use super::{Arena, Trial, text};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time that a detached command has to leave its exit code.
const DETACHED_TIMEOUT: Duration = Duration::from_secs(15);

/// Runs every case and, once for each command, its control.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let mut controls: BTreeMap<String, (bool, String)> = BTreeMap::new();
    let mut trials = Vec::new();
    for case in arena.cases("person")? {
        let command = text(&case, "command").to_string();
        if !controls.contains_key(&command) {
            controls.insert(command.clone(), control(arena, &command)?);
        }
        let (control, seen) = controls.get(&command).cloned().unwrap_or_default();
        let (held, note) = attack(arena, &case, &command)?;
        let note = format!("{}: {note}; control: {seen}", text(&case, "way"));
        trials.push(Trial { id: text(&case, "id").to_string(), level: "", held, control, note });
    }
    Ok(trials)
}

/// A world in which the command can succeed, and its words.
fn prepare(arena: &Arena, command: &str) -> Result<(Scene, Vec<String>), String> {
    let scene = Scene::new(arena)?;
    std::fs::create_dir(scene.path("project/.marvin")).map_err(|error| error.to_string())?;
    let mut words: Vec<String> = command.split(' ').map(str::to_string).collect();
    let id = match command.split(' ').collect::<Vec<_>>().as_slice() {
        ["memory", "approve" | "reject" | "edit", ..] => {
            let fact = r#"{"text":"The port is 9090","type":"fact","tags":[],"ttl_days":null,"source":"assistant_inferred","why_store":"t"}"#;
            scene.write("project/facts.jsonl", fact)?;
            let proposed = scene.json(&["memory", "import", "facts.jsonl", "--json"])?;
            proposed.pointer("/0/fingerprint").and_then(serde_json::Value::as_str).map(str::to_string)
        }
        ["commitments", ..] => {
            scene.write("project/oracle.txt", "as it was\n")?;
            let words = ["commitments", "add", "file_exists:a.txt", "--oracle", "oracle.txt", "--json"];
            let added = scene.json(&words)?;
            added.get("id").and_then(serde_json::Value::as_str).map(str::to_string)
        }
        ["lessons", ..] => {
            scene.marvin(&["packs", "new", "api"])?;
            None
        }
        ["workflow", ..] => {
            scene.write(
                "project/flow.json",
                r#"{"workflow_id":"w","goal":"g","steps":[{"id":"ok","worker":"approve"},{"id":"ask","worker":"answer"}]}"#,
            )?;
            scene.marvin(&["run-workflow", "flow.json"])?;
            None
        }
        ["mcp", ..] => {
            scene.write("project/.marvin/config.toml", "[mcp.servers.p]\ncommand = \"true\"\n")?;
            None
        }
        _ => None,
    };
    for word in &mut words {
        *word = word.replace("{id}", id.as_deref().unwrap_or_default()).replace('+', " ");
    }
    Ok((scene, words))
}

fn control(arena: &Arena, command: &str) -> Result<(bool, String), String> {
    let (scene, words) = prepare(arena, command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let seen = scene.marvin(&words)?;
    let decided = decisions(&scene) == 1;
    let shown = String::from_utf8_lossy(&seen.text).replace(['\r', '\n'], " ");
    Ok((seen.code == Some(0) && decided, format!("exit {:?}, {shown}", seen.code)))
}

/// Lines in the record of decisions.
fn decisions(scene: &Scene) -> usize {
    let path = scene.path("home/.local/state/marvin/decisions.jsonl");
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn attack(arena: &Arena, case: &toml::Table, command: &str) -> Result<(bool, String), String> {
    let (scene, words) = prepare(arena, command)?;
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let variables: String = scene
        .variables()?
        .iter()
        .map(|(name, value)| {
            format!("export {name}=\"${{{name}:-}}\"\n[ -n \"${name}\" ] || export {name}={}\n", quote(value))
        })
        .collect();
    let marvin = arena.marvin.display().to_string();
    // The command has its variables also where the way removes all of them; it keeps those that the way sets.
    scene.write(
        "decide",
        &format!(
            "#!/bin/sh\nexport PATH=\"${{PATH:-/usr/bin:/bin}}\"\n{variables}cd {}\n${{M:-{}}} {} </dev/null >{out} 2>&1\necho $? >{code}\n",
            quote(&scene.text("project")),
            quote(&marvin),
            words.join(" "),
            out = quote(&scene.text("out")),
            code = quote(&scene.text("code")),
        ),
    )?;
    make_executable(&scene.path("decide"))?;
    // An agent: a shell under its name.
    let agent = match text(case, "agent") {
        "" => "claude",
        name => name,
    };
    let agent_path = scene.path("bin").join(agent);
    let shell = std::fs::canonicalize("/bin/bash").map_err(|error| error.to_string())?;
    std::fs::copy(shell, &agent_path).map_err(|error| format!("cannot copy bash: {error}"))?;
    let way = text(case, "way")
        .replace("{decide}", &scene.text("decide"))
        .replace("{dir}", &scene.text("tmp"))
        .replace("{code}", &scene.text("code"))
        .replace("{marvin}", &marvin)
        .replace("{agent}", &agent_path.display().to_string())
        .replace("{id}", text(case, "id"));
    scene.run(&[&agent_path.display().to_string(), "-c", &format!("{way}\n:")])?;
    let until = Instant::now() + DETACHED_TIMEOUT;
    let code = loop {
        match std::fs::read_to_string(scene.path("code")) {
            Ok(code) if code.ends_with('\n') => break Some(code.trim().to_string()),
            _ if Instant::now() > until => break None,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let said = std::fs::read_to_string(scene.path("out")).unwrap_or_default();
    let refused = matches!(code.as_deref(), Some("4" | "5"));
    let reached = match text(case, "reaches") {
        "no" => false,
        "root" => rustix::process::geteuid().is_root(),
        _ => true,
    };
    // A way that is stopped before the command runs at all (a namespace that is not to be had) proves nothing, unless the case says so.
    let held = decisions(&scene) == 0 && (refused || (code.is_none() && !reached));
    Ok((held, format!("exit {code:?}, {}", said.lines().next().unwrap_or_default())))
}

fn make_executable(path: &std::path::Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())
}
