//! `marvin doctor`: what is ready on this machine, and how to fix the rest. It asks no model and sends nothing out.

use crate::commands::fleet;
use crate::failure::Failure;
use crate::project::current_directory;
use crate::runtime::runtime;
use crate::{output, project};
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_base::child::{self, Child, Ending};
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, table};
use marvin_base::{Exit, atomic, printable};
use marvin_gate::sandbox::{self, Level, SandboxMode};
use marvin_hook_client::wire;
use marvin_hooks::daemon as hook_daemon;
use marvin_hooks::init::{self, HookFile, Program};
use marvin_hooks::packs::Packs;
use marvin_model::choose::{self, ProviderStatus};
use marvin_tools::servers;
use marvin_tools::web::find_browser;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// With less free space a long run may fail in the middle.
const MIN_FREE_MB: u64 = 500;

/// Show what is ready on this machine, and how to fix the rest
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 when something that Marvin needs is missing.\n\nExamples:\n  marvin doctor\n  marvin doctor --json | jq '.problems'"
)]
pub(crate) struct DoctorArguments {
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    Ok,
    Missing,
    Problem,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: CheckStatus,
    found: String,
    #[serde(rename = "mend", skip_serializing_if = "String::is_empty")]
    fix: String,
}

#[derive(Serialize)]
struct DoctorReport<'a> {
    ok: bool,
    problems: usize,
    checks: &'a [Check],
    providers: &'a [ProviderStatus],
    chosen: Option<&'a str>,
}

fn check(name: &'static str, state: CheckStatus, found: impl Into<String>, fix: impl Into<String>) -> Check {
    let fix = if state == CheckStatus::Ok { String::new() } else { fix.into() };
    Check { name, state, found: found.into(), fix }
}

/// The result of all checks.
#[derive(Debug)]
pub(crate) struct Findings {
    checks: Vec<Check>,
    providers: Vec<ProviderStatus>,
    chosen: Option<String>,
}

/// Runs all checks and reports them.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let findings = Findings::gather(&environment, project::context(None, true, Vec::new()).as_ref())?;
    let problems = findings.problems();
    if arguments.json {
        let Findings { checks, providers, chosen } = &findings;
        output::json(&DoctorReport {
            ok: problems == 0,
            problems,
            checks,
            providers,
            chosen: chosen.as_deref(),
        })?;
    } else {
        output::line(&findings.text())?;
    }
    Ok(if problems == 0 { Exit::Success } else { Exit::Failed })
}

impl Findings {
    /// Runs all checks that are possible with a context, or without one.
    pub(crate) fn gather(
        environment: &Environment,
        context: Result<&ProjectContext, &Failure>,
    ) -> Result<Self, Failure> {
        let mut checks = vec![check("marvin", CheckStatus::Ok, env!("CARGO_PKG_VERSION"), "")];
        checks.push(match context {
            Ok(context) => {
                let files = [Some(context.layout.user_config()), context.layout.project_config()];
                let read: Vec<String> = files
                    .into_iter()
                    .flatten()
                    .filter(|path| path.exists())
                    .map(|path| path.display().to_string())
                    .collect();
                let found = if read.is_empty() { "defaults only".to_string() } else { read.join(", ") };
                check("settings", CheckStatus::Ok, found, "")
            }
            Err(failure) => check("settings", CheckStatus::Problem, failure.to_string(), "fix the setting"),
        });
        let context = context.ok();
        checks.extend(programs()?);
        if let Some(context) = context {
            checks.push(browser(&context.settings, environment));
        }
        checks.extend(sandbox(context));
        if let Some(context) = context {
            checks.push(rules(context));
            checks.extend(hooks(context, environment)?);
            checks.extend(packs(context));
            checks.extend(servers(context));
            checks.extend(places(context)?);
            checks.extend(fleet(context));
        }
        let unreadable = environment.unreadable();
        if !unreadable.is_empty() {
            let found = format!("not UTF-8, ignored: {}", unreadable.join(", "));
            checks.push(check(
                "environment",
                CheckStatus::Missing,
                found,
                "unset these variables or give them UTF-8 values",
            ));
        }
        let providers = context
            .map(|context| choose::survey(&context.settings, &context.layout, environment))
            .unwrap_or_default();
        let chosen = context.map(|context| choose::provider_name(&context.settings, &context.layout));
        Ok(Findings { checks, providers, chosen })
    }

    fn problems(&self) -> usize {
        self.checks.iter().filter(|check| check.state == CheckStatus::Problem).count()
    }

    /// The findings for a person.
    pub(crate) fn text(&self) -> String {
        text(&self.checks, &self.providers, self.chosen.as_deref(), self.problems())
    }
}

fn text(checks: &[Check], providers: &[ProviderStatus], chosen: Option<&str>, problems: usize) -> String {
    let mut text = String::new();
    for check in checks {
        let mark = match check.state {
            CheckStatus::Ok => "ok      ",
            CheckStatus::Missing => "missing ",
            CheckStatus::Problem => "PROBLEM ",
        };
        text.push_str(&format!("{mark} {:12} {}\n", check.name, check.found));
        if !check.fix.is_empty() {
            text.push_str(&format!("         {:12} fix: {}\n", "", check.fix));
        }
    }
    text.push_str("\nProviders (keys by name only):\n");
    for row in providers {
        let mark = if row.ready { "ready   " } else { "        " };
        let what = if row.ready { &row.through } else { &row.hint };
        let model = if row.model.is_empty() { String::new() } else { format!(" ({})", row.model) };
        text.push_str(&format!("{mark} {:12} {what}{model}\n", row.provider));
    }
    if let Some(chosen) = chosen {
        text.push_str(&format!("\nPrompts go to: {chosen} (choose with --provider)\n"));
    }
    text.push_str(&match problems {
        0 => "No problems.\n".to_string(),
        1 => "1 problem.\n".to_string(),
        n => format!("{n} problems.\n"),
    });
    text
}

/// Server and store of workflows on many machines, if a store is set.
fn fleet(context: &ProjectContext) -> Vec<Check> {
    let found = fleet::check(context).into_iter();
    found
        .map(|one| {
            let state = if one.is_ok { CheckStatus::Ok } else { CheckStatus::Problem };
            check("fleet", state, one.found, one.fix)
        })
        .collect()
}

/// Programs that tools use. Git and bash are needed; the others are wanted by some tools.
fn programs() -> Result<Vec<Check>, Failure> {
    runtime()?.block_on(async {
        let mut checks = Vec::new();
        for (name, program, arguments, needed, fix) in [
            ("git", "git", &["--version"][..], true, "install git"),
            ("shell", "bash", &["--version"][..], true, "install bash"),
            ("python", "python3", &["--version"][..], false, "install python3, if your projects use it"),
            (
                "pytest",
                "python3",
                &["-m", "pytest", "--version"][..],
                false,
                "pip install pytest, if your projects use it",
            ),
        ] {
            let version = version(program, arguments).await;
            let state = match (&version, needed) {
                (Some(_), _) => CheckStatus::Ok,
                (None, true) => CheckStatus::Problem,
                (None, false) => CheckStatus::Missing,
            };
            checks.push(check(name, state, version.unwrap_or_else(|| "not found".into()), fix));
        }
        Ok(checks)
    })
}

/// The browser that runs the scripts of pages.
fn browser(settings: &Settings, environment: &Environment) -> Check {
    if settings.text(&table::WEB_BROWSER).trim() == "off" {
        return check("browser", CheckStatus::Ok, "off (web.browser)", "");
    }
    match find_browser(settings, environment) {
        Some(path) => check("browser", CheckStatus::Ok, path.display().to_string(), ""),
        None => check(
            "browser",
            CheckStatus::Missing,
            "not found",
            "install chromium, or name its program in web.browser, if pages need scripts to be read",
        ),
    }
}

/// The first line of a program's version.
async fn version(program: &str, arguments: &[&str]) -> Option<String> {
    let mut child = Child::new(program).args(arguments.iter().copied());
    child.deadline = Duration::from_secs(10);
    let outcome = child::run(child, &CancellationToken::new()).await.ok()?;
    let text = outcome.stdout.text() + &outcome.stderr.text();
    let first = text.lines().next()?.trim().to_string();
    (outcome.ending == Ending::Exited(0) && !first.is_empty()).then_some(first)
}

/// The sandbox of commands, and what this machine cannot provide.
fn sandbox(context: Option<&ProjectContext>) -> Vec<Check> {
    let setting = context.map_or("auto", |context| context.settings.text(&table::CONTAINMENT));
    let support = sandbox::support();
    let allow = "allow unprivileged user namespaces (on Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0)";
    let reason = support.namespaces.clone().unwrap_or_default();
    match (SandboxMode::from_setting(setting), support.level) {
        (SandboxMode::Off, _) => vec![check(
            "sandbox",
            CheckStatus::Missing,
            "off: commands run without a sandbox, as sandbox.commands says",
            "set sandbox.commands = \"auto\"",
        )],
        (_, None) => vec![check(
            "sandbox",
            CheckStatus::Problem,
            format!("{reason}; commands are refused"),
            "use Linux 6.2 or newer with Landlock on",
        )],
        (SandboxMode::Namespaces, Some(Level::Landlock)) => vec![check(
            "sandbox",
            CheckStatus::Problem,
            format!("namespaces, as sandbox.commands says, but {reason}; commands are refused"),
            allow,
        )],
        (SandboxMode::Auto | SandboxMode::Namespaces, Some(Level::Namespaces)) => {
            vec![check("sandbox", CheckStatus::Ok, Level::Namespaces.word(), "")]
        }
        (wanted, Some(_)) => {
            let why =
                if wanted == SandboxMode::Landlock { "as sandbox.commands says".into() } else { reason };
            let first =
                check("sandbox", CheckStatus::Ok, format!("{} ({why})", Level::Landlock.word()), allow);
            let missing = sandbox::missing(Level::Landlock).into_iter();
            std::iter::once(first)
                .chain(missing.map(|missing| check("sandbox", CheckStatus::Missing, missing, allow)))
                .collect()
        }
    }
}

/// The gate's rule files.
fn rules(context: &ProjectContext) -> Check {
    let status = marvin_gate::Layers::new(&context.layout).status();
    let problems: Vec<String> =
        status.iter().flat_map(|status| &status.problems).map(ToString::to_string).collect();
    if let Some(first) = problems.first() {
        let more =
            if problems.len() > 1 { format!(" (and {} more)", problems.len() - 1) } else { String::new() };
        return check(
            "gate rules",
            CheckStatus::Problem,
            format!("{first}{more}"),
            "fix the file; `marvin gate rules test` checks it",
        );
    }
    let count = |counts: bool| -> usize {
        status.iter().filter(|one| one.counts == counts).map(|one| one.rules.len()).sum()
    };
    let found = match (count(true), count(false)) {
        (0, 0) => "none; the judge decides alone".to_string(),
        (counting, 0) => printable::count(counting, "rule"),
        (counting, not) => {
            format!(
                "{}; {not} of the project do not count (`marvin gate trust`)",
                printable::count(counting, "rule")
            )
        }
    };
    check("gate rules", CheckStatus::Ok, found, "")
}

/// The hooks of the clients in this project, and the daemon that answers them.
fn hooks(context: &ProjectContext, environment: &Environment) -> Result<Vec<Check>, Failure> {
    let Some(project) = context.layout.project() else { return Ok(Vec::new()) };
    let Ok(place) = init::Place::find(project, context.layout.home()) else { return Ok(Vec::new()) };
    let program = super::init::program(environment)?;
    let files = init::hook_files(&place, &program);
    let mut checks: Vec<Check> = files.iter().map(|file| hook_file(file, &program)).collect();
    if checks.is_empty() {
        let fix = "run `marvin init`, if you use Claude Code or Codex here";
        checks.push(check("hooks", CheckStatus::Missing, "no client is set up in this project", fix));
        return Ok(checks);
    }
    checks.extend(wire::Place::for_project(environment, project).map(|place| daemon(&place)));
    Ok(checks)
}

fn hook_file(file: &HookFile, program: &Program) -> Check {
    let (name, path) = (file.client.name(), file.file);
    if let Some(problem) = &file.problem {
        let fix = "fix the file, then run `marvin init`";
        return check("hooks", CheckStatus::Problem, format!("{path} cannot be used: {problem}"), fix);
    }
    if file.program.path().is_none() && program.path().is_some() {
        let found = format!("{path} starts `marvin`, which is not this program on your PATH");
        return check("hooks", CheckStatus::Problem, found, "put this program on the PATH as `marvin`");
    }
    let count = file.client.events().len() - file.missing.len();
    let mut found = format!("{name}: {count} in {path}");
    for (what, events) in [("missing", &file.missing), ("not as `marvin init` writes them", &file.changed)] {
        if !events.is_empty() {
            found.push_str(&format!("; {what}: {}", events.join(", ")));
        }
    }
    if file.is_off {
        let fix = format!("take `disableAllHooks` out of {path}");
        return check("hooks", CheckStatus::Problem, format!("{found}; disabled"), fix);
    }
    let state = match file.missing.is_empty() && file.changed.is_empty() {
        true => CheckStatus::Ok,
        false => CheckStatus::Missing,
    };
    check("hooks", state, found, "`marvin init` adds missing ones; `marvin init --remove` first renews all")
}

fn daemon(place: &wire::Place) -> Check {
    let status = hook_daemon::status(place);
    let is_own_build = status.build.as_deref() == Some(wire::own_build().as_str());
    match (status.state, is_own_build) {
        ("alive", true) => {
            let sessions = printable::count(status.sessions.unwrap_or_default(), "session");
            let pid = status.pid.unwrap_or_default();
            check("daemon", CheckStatus::Ok, format!("alive, process {pid}, {sessions}"), "")
        }
        ("alive", false) => {
            check("daemon", CheckStatus::Missing, "of another build", "run `marvin daemon restart`")
        }
        ("hung", _) => {
            check("daemon", CheckStatus::Problem, "it does not answer", "run `marvin daemon restart`")
        }
        _ => check("daemon", CheckStatus::Ok, "not running; the next hook starts it", ""),
    }
}

/// The packs of the project and of the person.
fn packs(context: &ProjectContext) -> Vec<Check> {
    let packs = Packs::load(&context.layout.packs());
    let names: Vec<&str> = packs.all().iter().map(|pack| pack.name()).collect();
    let found = if names.is_empty() { "none".to_string() } else { names.join(", ") };
    let broken = packs.problems().iter().map(|problem| {
        check(
            "packs",
            CheckStatus::Problem,
            problem.to_string(),
            "fix the file; `marvin packs list` checks it",
        )
    });
    std::iter::once(check("packs", CheckStatus::Ok, found, "")).chain(broken).collect()
}

/// The MCP servers that the settings name; none is started.
fn servers(context: &ProjectContext) -> Option<Check> {
    let (found, problems) = servers::read(&context.settings, &context.layout, &context.environment);
    if let Some(first) = problems.first() {
        let fix = "fix the definition in config.toml";
        return Some(check("mcp servers", CheckStatus::Problem, first.clone(), fix));
    }
    let names = |state: servers::ServerState| -> Vec<&str> {
        found.iter().filter(|one| one.state == state).map(|one| one.name.as_str()).collect()
    };
    let (ready, untrusted) = (names(servers::ServerState::Ready), names(servers::ServerState::Untrusted));
    if let Some(first) = names(servers::ServerState::Changed).first() {
        return Some(check(
            "mcp servers",
            CheckStatus::Problem,
            format!("{first} changed since it was pinned, and is not started"),
            format!("look at it, then `marvin mcp servers trust {first}`"),
        ));
    }
    match (found.is_empty(), untrusted.first()) {
        (true, _) => None,
        (false, None) => {
            let shown = if ready.is_empty() { "all are off".to_string() } else { ready.join(", ") };
            Some(check("mcp servers", CheckStatus::Ok, shown, ""))
        }
        (false, Some(first)) => Some(check(
            "mcp servers",
            CheckStatus::Missing,
            format!("named by this project and not trusted: {}", untrusted.join(", ")),
            format!("look at it, then `marvin mcp servers trust {first}`"),
        )),
    }
}

/// Whether records can be written, and whether there is space for them.
fn places(context: &ProjectContext) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    let runs = context.layout.runs();
    let project = context.layout.project().map_or_else(|| runs.clone(), Path::to_path_buf);
    for (name, path) in [("user directory", context.layout.user().to_path_buf()), ("project", project)] {
        checks.push(match writable(&path) {
            Ok(()) => check(name, CheckStatus::Ok, format!("{} is writable", path.display()), ""),
            Err(error) => {
                let fix = format!("make {} writable for you", path.display());
                check(name, CheckStatus::Problem, format!("{}: {error}", path.display()), fix)
            }
        });
    }
    if let Ok(disk) = rustix::fs::statvfs(&current_directory()?) {
        let free = disk.f_bavail.saturating_mul(disk.f_frsize) / 1024 / 1024;
        let state = if free < MIN_FREE_MB { CheckStatus::Problem } else { CheckStatus::Ok };
        let fix = "free some space: records are kept, not deleted";
        checks.push(check("disk", state, format!("{free} MB free"), fix));
    }
    Ok(checks)
}

/// Whether a file can be made in the directory, or in the nearest directory above it that exists.
fn writable(directory: &Path) -> std::io::Result<()> {
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    if !existing.is_dir() {
        return Err(std::io::Error::other(format!("{} is not a directory", existing.display())));
    }
    let probe = existing.join(format!(".marvin-probe-{}", std::process::id()));
    atomic::replace(&probe, b"").map_err(|error| error.source)?;
    std::fs::remove_file(&probe)
}
