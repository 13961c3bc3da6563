//! `cargo xtask web-fuzz`: Schemathesis asks the browser face everything that its description allows, and much that it does not.
//! No answer may be an error of the server, and every answer must be as described.

use crate::{python, tools};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What asks.
const PACKAGES: [&str; 1] = ["schemathesis==4.32.5"];
/// Answers that have no end, and those that end the server's own work, are asked by other tests.
const LEFT_OUT: &str = "/api/events";
/// What a request that is wrong may be answered with; the usual codes, and those of sizes and times.
const CONFIG: &str = "[checks]\nnegative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 429]\n";

/// Runs for so many minutes: over and over, with another seed each time.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let minutes: u64 = match words {
        [] => 10,
        ["--minutes", number] => {
            number.parse().map_err(|_| format!("--minutes {number}: a whole number is wanted"))?
        }
        _ => return Err("usage: cargo xtask web-fuzz [--minutes N]".into()),
    };
    let environment = python::environment(&tools::directory(), "schemathesis", &PACKAGES)?;
    tools::run(tools::cargo().args(["build", "--quiet", "--locked", "--package", "marvin"]))?;
    let world = tools::target().join("web-fuzz");
    std::fs::remove_dir_all(&world).ok();
    for directory in ["home", "project/.marvin"] {
        std::fs::create_dir_all(world.join(directory)).map_err(|error| error.to_string())?;
    }
    let config = world.join("schemathesis.toml");
    std::fs::write(&config, CONFIG).map_err(|error| error.to_string())?;
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    let mut round = 0_u64;
    while Instant::now() < until {
        round += 1;
        let (mut server, url, token) = serve(&world)?;
        let asked = ask(&environment, &config, (&url, &token), round, until);
        let alive = server.try_wait().map(|ended| ended.is_none()).unwrap_or(false);
        server.kill().ok();
        server.wait().ok();
        asked?;
        if !alive {
            return Err("the server ended by itself".into());
        }
    }
    crate::say(&format!("{round} rounds in {minutes} minutes: no error of the server"));
    Ok(())
}

/// Starts the server in an empty project.
fn serve(world: &Path) -> Result<(Child, String, String), String> {
    let mut server = Command::new(tools::target().join("debug/marvin"))
        .args(["chat-ui", "--port", "0", "--json"])
        .current_dir(world.join("project"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.join("home"))
        .env("MARVIN_PROVIDER", "mock")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start marvin: {error}"))?;
    let mut line = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    }
    let ready: serde_json::Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
    let text = |key: &str| ready.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_string();
    Ok((server, text("url"), text("token")))
}

fn ask(
    environment: &Path,
    config: &Path,
    (url, token): (&str, &str),
    seed: u64,
    until: Instant,
) -> Result<(), String> {
    let left = until.saturating_duration_since(Instant::now()).as_secs().max(20);
    let mut asking = Command::new("timeout");
    // What it keeps between its runs does not belong into the project.
    if let Some(directory) = config.parent() {
        asking.current_dir(directory);
    }
    asking
        .args(["--preserve-status", "--signal=INT", &left.to_string()])
        .arg(environment.join("bin/schemathesis"))
        .arg("--config-file")
        .arg(config)
        .args([
            "run",
            &format!("{url}/openapi.json"),
            "--no-color",
            "--max-examples",
            "60",
            "--phases",
            "examples,coverage,fuzzing",
        ])
        .args([
            "--seed",
            &seed.to_string(),
            "--exclude-path",
            LEFT_OUT,
            "--rate-limit",
            "150/s",
            "--request-timeout",
            "60",
        ])
        .args(["--header", &format!("Authorization: Bearer {token}")]);
    let output = asking
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start schemathesis: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    crate::say(
        said.lines()
            .rev()
            .take(12)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
            .join("\n")
            .as_str(),
    );
    // Broken off by the clock is no failure.
    let late = Instant::now() >= until;
    if output.status.success() || (late && !said.contains("FAILURES")) {
        return Ok(());
    }
    Err(format!("the answers are not as described:\n{said}\n{}", String::from_utf8_lossy(&output.stderr)))
}
