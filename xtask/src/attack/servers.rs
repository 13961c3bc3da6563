//! Code of a project that an MCP server of the person would run. The control is the same command in the project without Marvin.

use super::world::World;
use super::{Arena, Trial, pty, text};
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts every server.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    arena.cases("servers")?.iter().map(|case| one(arena, case)).collect()
}

/// A server as a case defines it.
struct Case<'a> {
    world: World,
    case: &'a toml::Table,
}

impl Case<'_> {
    fn fill(&self, text: &str, mark: &Path) -> String {
        let path = |name: &str| self.world.path(name).display().to_string();
        let text = text.replace("{m}", &mark.display().to_string());
        text.replace("{project}", &path("project")).replace("{home}", &path("home"))
    }

    fn words(&self, mark: &Path) -> Vec<String> {
        let args = self.case.get("args").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let command = [text(self.case, "command")].into_iter();
        command.chain(args.iter().filter_map(toml::Value::as_str)).map(|word| self.fill(word, mark)).collect()
    }

    fn plant(&self, directory: &str, mark: &Path) -> Result<(), String> {
        let files = self.case.get("plant").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        for (name, content) in &files {
            let content = self.fill(content.as_str().unwrap_or_default(), mark);
            self.world.write(&format!("{directory}/{name}"), &content)?;
        }
        Ok(())
    }

    fn environment(&self, command: &mut Command, mark: &Path) {
        let variables = self.case.get("env").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        for (name, value) in &variables {
            command.env(name, self.fill(value.as_str().unwrap_or_default(), mark));
        }
    }

    fn start(&self, mark: &Path) -> Result<String, String> {
        let mut command = self.world.marvin(&["mcp", "servers", "check", "docs"]);
        self.environment(&mut command, mark);
        let output = command.output().map_err(|error| error.to_string())?;
        Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    }
}

fn one(arena: &Arena, case: &toml::Table) -> Result<Trial, String> {
    let case = Case { world: World::new(&arena.marvin)?, case };
    let (attack, control) = (case.world.path("attack-mark"), case.world.path("control-mark"));
    if !text(case.case, "link").is_empty() {
        let target = case.world.path("project").join(text(case.case, "link"));
        std::os::unix::fs::symlink(target, case.world.path("home/link"))
            .map_err(|error| error.to_string())?;
    }
    let [command, args @ ..] = &*case.words(&attack) else { return Err("a case has no command".to_string()) };
    let definition = format!("[mcp.servers.docs]\ncommand = {command:?}\nargs = {args:?}\nstartup_s = 5\n");
    let kind = text(case.case, "kind");
    let file =
        if kind == "project" { "project/.marvin/config.toml" } else { "home/.config/marvin/config.toml" };
    case.world.write(file, &definition)?;
    let note;
    let works;
    if kind == "pin" {
        // The first start pins the script; after that it changes.
        case.world.write("home/server.sh", "#!/bin/sh\ntrue\n")?;
        case.start(&attack)?;
        case.plant("home", &attack)?;
        note = case.start(&attack)?;
        // Once a person trusts it again, it starts.
        let held = !attack.exists();
        let marvin = arena.marvin.display().to_string();
        let words = [marvin.as_str(), "mcp", "servers", "trust", "docs", "--yes"];
        let [project, home, temporary] = ["project", "home", "tmp"].map(|name| case.world.path(name));
        pty::run_as_person(&words, &project, &home, &temporary)?;
        case.start(&attack)?;
        works = attack.exists();
        return Ok(Trial { id: text(case.case, "id").to_string(), level: "", held, control: works, note });
    }
    case.plant("project", &attack)?;
    note = case.start(&attack)?;
    case.plant("project", &control)?;
    let words = case.words(&control);
    // `env` looks a program up by the given PATH, from the project's directory.
    let mut direct = Command::new("timeout");
    direct.args(["10", "env"]).args(&words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    case.world.prepare(&mut direct);
    case.environment(&mut direct, &control);
    direct.status().map_err(|error| error.to_string())?;
    works = control.exists();
    Ok(Trial {
        id: text(case.case, "id").to_string(),
        level: "",
        held: !attack.exists(),
        control: works,
        note,
    })
}
