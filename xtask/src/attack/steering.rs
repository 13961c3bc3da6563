//! Writes of files that instruct agents or run by themselves, by a file tool, through a hook and by a command. The control is
//! an ordinary file, which each of them writes.

use super::world::World;
use super::{Arena, Trial, text};
use serde_json::{Value, json};

/// Tries every file in every way.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let mut trials = Vec::new();
    for case in arena.cases("steering")? {
        let world = World::new(&arena.marvin)?;
        let (path, control) = (text(&case, "path"), text(&case, "control"));
        for (way, write) in [
            ("tool", by_tool as fn(&World, &str) -> Result<bool, String>),
            ("hook", by_hook),
            ("command", by_command),
        ] {
            let (through, works) = (write(&world, path)?, write(&world, control)?);
            trials.push(Trial {
                id: format!("{}-{way}", text(&case, "id")),
                level: "",
                held: !through,
                control: works,
                note: format!("{path} by a {way}; control {control}"),
            });
        }
    }
    Ok(trials)
}

/// Whether `create_file` makes the file.
fn by_tool(world: &World, path: &str) -> Result<bool, String> {
    let arguments = json!({"path": path, "content": "x"}).to_string();
    let project = world.path("project").display().to_string();
    let words = ["tools", "call", "create_file", "--args", &arguments, "--working-dir", &project];
    world.marvin(&words).output().map_err(|error| error.to_string())?;
    Ok(std::fs::read(world.path("project").join(path)).is_ok_and(|bytes| bytes == b"x"))
}

/// Whether a hook has no objection to the client's own tool.
fn by_hook(world: &World, path: &str) -> Result<bool, String> {
    let path = world.path("project").join(path);
    let answer = world.hook(
        "PreToolUse",
        &world.payload("Write", &json!({"file_path": path, "content": "x"}), "default"),
    )?;
    Ok(!matches!(answer.as_str(), "ask" | "deny"))
}

/// Whether the gate allows a command that writes it.
fn by_command(world: &World, path: &str) -> Result<bool, String> {
    let line = json!({"command": format!("echo x > {path}")});
    let output = world.feed(world.marvin(&["gate", "judge"]), &format!("{line}\n"))?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(answer.get("verdict").and_then(Value::as_str) == Some("allow"))
}
