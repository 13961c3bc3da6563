//! Code of a project that an MCP server of the user would run. The control is the same command in
//! the project without Marvin.

use super::case::{AttackOptions, Trial};
use super::fixture::ProjectFixture;
use super::pty;
use anyhow::bail;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A server, and the files that the attack plants. `{m}` in a text is the file that shows that the
/// attack ran.
#[derive(Deserialize)]
struct Case {
    id: String,
    command: String,
    args: Vec<String>,
    plant: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// A path in the project that a link in the home directory leads to.
    link: Option<String>,
    #[serde(default)]
    kind: Kind,
}

#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// The user's settings define the server.
    #[default]
    User,
    /// The project's settings define the server.
    Project,
    /// The server's script changes after its first start.
    Pin,
}

/// Starts every server.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let cases: Vec<Case> = options.load_cases("servers")?;
    cases.iter().map(|case| run_case(options, case)).collect()
}

/// A case in its project.
struct Scenario<'a> {
    fixture: ProjectFixture,
    case: &'a Case,
}

impl Scenario<'_> {
    fn fill(&self, text: &str, mark: &Path) -> String {
        let path = |name: &str| self.fixture.path(name).display().to_string();
        let text = text.replace("{m}", &mark.display().to_string());
        text.replace("{project}", &path("project")).replace("{home}", &path("home"))
    }

    fn words(&self, mark: &Path) -> Vec<String> {
        std::iter::once(&self.case.command).chain(&self.case.args).map(|word| self.fill(word, mark)).collect()
    }

    fn plant(&self, directory: &str, mark: &Path) -> anyhow::Result<()> {
        for (name, content) in &self.case.plant {
            self.fixture.write(&format!("{directory}/{name}"), &self.fill(content, mark))?;
        }
        Ok(())
    }

    fn set_environment(&self, command: &mut Command, mark: &Path) {
        command.envs(self.case.env.iter().map(|(name, value)| (name, self.fill(value, mark))));
    }

    /// Starts the server by Marvin, and returns what was printed.
    fn start(&self, mark: &Path) -> anyhow::Result<String> {
        let mut command = self.fixture.marvin(&["mcp", "servers", "check", "docs"]);
        self.set_environment(&mut command, mark);
        let output = command.output()?;
        Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    }
}

fn run_case(options: &AttackOptions, case: &Case) -> anyhow::Result<Trial> {
    let scenario = Scenario { fixture: ProjectFixture::new(&options.marvin)?, case };
    let fixture = &scenario.fixture;
    let (attack, control) = (fixture.path("attack-mark"), fixture.path("control-mark"));
    if let Some(link) = &case.link {
        std::os::unix::fs::symlink(fixture.path("project").join(link), fixture.path("home/link"))?;
    }
    let [command, args @ ..] = &*scenario.words(&attack) else { bail!("a case has no command") };
    let definition = format!("[mcp.servers.docs]\ncommand = {command:?}\nargs = {args:?}\nstartup_s = 5\n");
    let file = match case.kind {
        Kind::Project => "project/.marvin/config.toml",
        Kind::User | Kind::Pin => "home/.config/marvin/config.toml",
    };
    fixture.write(file, &definition)?;
    let (held, works, note);
    if case.kind == Kind::Pin {
        // The first start pins the script; after that it changes.
        fixture.write("home/server.sh", "#!/bin/sh\ntrue\n")?;
        scenario.start(&attack)?;
        scenario.plant("home", &attack)?;
        note = scenario.start(&attack)?;
        held = !attack.exists();
        // Once the user trusts it again, it starts.
        let marvin = options.marvin.display().to_string();
        let words = [marvin.as_str(), "mcp", "servers", "trust", "docs", "--yes"];
        let [project, home, temporary] = ["project", "home", "tmp"].map(|name| fixture.path(name));
        pty::run_as_person(&words, &project, &home, &temporary)?;
        scenario.start(&attack)?;
        works = attack.exists();
    } else {
        scenario.plant("project", &attack)?;
        note = scenario.start(&attack)?;
        scenario.plant("project", &control)?;
        // `env` looks a program up by the given PATH, from the project's directory.
        let mut direct = Command::new("timeout");
        direct.args(["10", "env"]).args(scenario.words(&control));
        direct.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        fixture.prepare(&mut direct);
        scenario.set_environment(&mut direct, &control);
        direct.status()?;
        (held, works) = (!attack.exists(), control.exists());
    }
    Ok(Trial { id: case.id.clone(), held, control: works, note, ..Trial::default() })
}
