//! Calls that a hook must not allow in a client, with the setting that lifts most. The control is a line that it allows.

use super::world::World;
use super::{Arena, Trial, text};
use serde_json::{Value, json};

/// Puts every call to the hook.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    arena.cases("clients")?.iter().map(|case| one(arena, case)).collect()
}

fn one(arena: &Arena, case: &toml::Table) -> Result<Trial, String> {
    let world = World::new(&arena.marvin)?;
    world.write("home/.config/marvin/config.toml", "[hooks]\nallow = \"harmless\"\n")?;
    for (name, content) in
        [("README.md", "a\n"), ("src/main.rs", "fn main() {}\n"), (".env", "KEY=1\n"), ("list", "x\n")]
    {
        world.write(&format!("project/{name}"), content)?;
    }
    for name in [".git/HEAD", ".git/config"] {
        let content =
            if name.ends_with("HEAD") { "ref: refs/heads/main\n" } else { "[core]\n\tbare = false\n" };
        world.write(&format!("project/{name}"), content)?;
    }
    std::os::unix::fs::symlink("/etc", world.path("project/link")).map_err(|error| error.to_string())?;
    // The control comes first: what the case plants may be against it, too.
    let control = match text(case, "control") {
        "" => "allow".to_string(),
        line => world.hook("PreToolUse", &world.payload("Bash", &json!({"command": line}), "default"))?,
    };
    let files = case.get("files").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    for (name, content) in &files {
        world.write(&format!("project/{name}"), content.as_str().unwrap_or_default())?;
    }
    let tool = Some(text(case, "tool")).filter(|tool| !tool.is_empty()).unwrap_or("Bash");
    let mode = Some(text(case, "mode")).filter(|mode| !mode.is_empty()).unwrap_or("default");
    let event = Some(text(case, "event")).filter(|event| !event.is_empty()).unwrap_or("PreToolUse");
    let input: Value = match text(case, "input") {
        "" => json!({"command": text(case, "line")}),
        input => {
            serde_json::from_str(&input.replace("{project}", &world.path("project").display().to_string()))
                .map_err(|error| format!("cannot parse the input of {}: {error}", text(case, "id")))?
        }
    };
    let answer = world.hook(event, &world.payload(tool, &input, mode))?;
    Ok(Trial {
        id: text(case, "id").to_string(),
        level: "",
        held: answer != "allow",
        control: control == "allow",
        note: format!(
            "{} {} → {answer}; {} → {control}",
            text(case, "line"),
            text(case, "input"),
            text(case, "control")
        ),
    })
}
