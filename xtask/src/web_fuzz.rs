//! `cargo xtask web-fuzz`: Schemathesis sends the browser UI every request that its OpenAPI
//! description allows, and many that it does not. No response may be a server error, and every
//! response must match the description.

use crate::chat_ui::{ChatUi, ServerAddress};
use crate::output::say;
use crate::{python, tools};
use anyhow::{Context, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PACKAGES: [&str; 1] = ["schemathesis==4.32.5"];
/// A response without an end; other tests cover it.
const EXCLUDED_PATH: &str = "/api/events";
/// Status codes that a wrong request may be answered with: the usual ones, and those of sizes and
/// timeouts.
const CONFIG: &str = "[checks]\nnegative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 429]\n";
/// Lines of the end of the output that are printed.
const PRINTED_LINES: usize = 12;

/// Runs again and again for so many minutes, with another seed each time.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let minutes: u64 = match words {
        [] => 10,
        ["--minutes", number] => {
            number.parse().with_context(|| format!("--minutes {number} is not a whole number"))?
        }
        _ => bail!("usage: cargo xtask web-fuzz [--minutes N]"),
    };
    let environment = python::environment("schemathesis", &PACKAGES)?;
    let marvin = tools::debug()?;
    let directory = tools::target().join("web-fuzz");
    std::fs::remove_dir_all(&directory).ok();
    for name in ["home", "project/.marvin"] {
        std::fs::create_dir_all(directory.join(name))?;
    }
    std::fs::write(directory.join("schemathesis.toml"), CONFIG)?;
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    let mut round = 0_u64;
    while Instant::now() < until {
        round += 1;
        let mut server = ChatUi::start(&marvin, &directory.join("project"), &directory.join("home"), None)?;
        run_schemathesis(&environment, &directory, &server.address, round, until)?;
        if !server.is_running() {
            bail!("the server ended by itself");
        }
    }
    say(format_args!("{round} rounds in {minutes} minutes: no server error"))
}

fn run_schemathesis(
    environment: &Path,
    directory: &Path,
    server: &ServerAddress,
    seed: u64,
    until: Instant,
) -> anyhow::Result<()> {
    let left = until.saturating_duration_since(Instant::now()).as_secs().max(20);
    let output = Command::new("timeout")
        // Files that it keeps between its runs do not belong into the project.
        .current_dir(directory)
        .args(["--preserve-status", "--signal=INT", &left.to_string()])
        .arg(environment.join("bin/schemathesis"))
        .args(["--config-file", "schemathesis.toml", "run", &format!("{}/openapi.json", server.url)])
        .args(["--no-color", "--max-examples", "60", "--phases", "examples,coverage,fuzzing"])
        .args(["--seed", &seed.to_string(), "--exclude-path", EXCLUDED_PATH])
        .args(["--rate-limit", "150/s", "--request-timeout", "60"])
        .args(["--header", &format!("Authorization: Bearer {}", server.token)])
        .stdin(Stdio::null())
        .output()
        .context("cannot start schemathesis")?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    say(lines.get(lines.len().saturating_sub(PRINTED_LINES)..).unwrap_or_default().join("\n"))?;
    // A run that the timeout interrupted did not fail.
    let is_late = Instant::now() >= until;
    if !output.status.success() && (!is_late || stdout.contains("FAILURES")) {
        bail!(
            "the responses do not match the description:\n{stdout}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
