//! Checks of the running application, as `.marvin/e2e.json` describes them.
//!
//! A service is started in the sandbox with one port of this machine to listen on, and gets real HTTP requests. A program is
//! run with its arguments. The gate judges every command line first; one that it does not allow is a failed check.

mod check;
mod http;
mod page;
mod plan;

pub use check::{Check, CheckError, failures};
pub use http::{HttpError, Request, Response};
pub use plan::{Command, Plan};

use check::{MAX_OUTPUT_CHARS, missing};
use marvin_base::child::Ending;
use marvin_base::truncate;
use marvin_gate::{JudgedCommand, decide_command};
use marvin_tools::ToolContext;
use marvin_tools::command::{HostedApplication, host, run_verification_line};
use std::time::{Duration, Instant};

/// How long an application may take until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// A service that runs and answers.
struct RunningApp {
    hosted: HostedApplication,
    port: u16,
}

impl RunningApp {
    async fn check(&self, request: &Request) -> Check {
        match request.send(self.port).await {
            Ok(response) => Check::new(request.title(), request.problem(&response), &response.text()),
            Err(error) => {
                let output = output(&self.hosted);
                Check::failed(request.title(), &CheckError::Request { error, output })
            }
        }
    }
}

fn output(hosted: &HostedApplication) -> String {
    truncate::middle(hosted.output().trim(), MAX_OUTPUT_CHARS)
}

/// Starts a service and waits until it answers.
async fn start(plan: &Plan, context: &ToolContext) -> Result<RunningApp, CheckError> {
    let line = plan.start.as_deref().unwrap_or_default();
    let port = http::free_port().ok_or(CheckError::NoPort)?;
    let line = line.replace("{port}", &port.to_string());
    let command = judge(&line, context).await?;
    let hosted = Box::pin(host(command, port, context)).await.map_err(CheckError::NotStarted)?;
    let until = Instant::now() + START_TIMEOUT;
    loop {
        if Request::get(&plan.ready).send(port).await.is_ok() {
            return Ok(RunningApp { hosted, port });
        }
        let late = Instant::now() >= until;
        if late || hosted.is_silent() || context.cancel.is_cancelled() {
            let output = output(&hosted);
            hosted.end().await;
            return Err(match late {
                true => CheckError::Timeout { port, seconds: START_TIMEOUT.as_secs(), output },
                false => CheckError::Ended { output },
            });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn judge(line: &str, context: &ToolContext) -> Result<JudgedCommand, CheckError> {
    decide_command(line, &context.gate()).await.map_err(|verdict| CheckError::Refused {
        line: truncate::line(line, 120),
        reason: verdict.reason,
        hint: verdict.how_to_fix,
    })
}

/// Runs all commands and requests of a plan.
pub async fn ask(plan: &Plan, context: &ToolContext) -> Vec<Check> {
    let mut checks = Vec::new();
    for command in &plan.commands {
        let check = run(command, context).await;
        checks.push(check.unwrap_or_else(|error| Check::failed(command.title(), &error)));
    }
    if plan.start.is_none() {
        return checks;
    }
    let running = match start(plan, context).await {
        Ok(running) => running,
        Err(error) => {
            checks.push(Check::failed("start", &error));
            return checks;
        }
    };
    let detail = format!("it answers; contained by {}", running.hosted.sandbox);
    checks.push(Check { name: "start".into(), ok: true, detail });
    for request in &plan.requests {
        checks.push(running.check(request).await);
    }
    running.hosted.end().await;
    checks
}

/// Starts the service and sends one request, to reproduce a finding of phase 5.
pub async fn ask_one(plan: &Plan, request: &Request, context: &ToolContext) -> Check {
    if plan.start.is_none() {
        let detail = "the project has no service to ask: .marvin/e2e.json has no `start`".to_string();
        return Check { name: request.title(), ok: true, detail };
    }
    match start(plan, context).await {
        Ok(running) => {
            let check = running.check(request).await;
            running.hosted.end().await;
            check
        }
        Err(error) => Check::failed(request.title(), &error),
    }
}

/// Runs one command and compares its exit code and output.
///
/// # Errors
/// When the gate does not allow it, or it cannot be run.
pub async fn run(command: &Command, context: &ToolContext) -> Result<Check, CheckError> {
    let judged = judge(&command.command, context).await?;
    let ran = Box::pin(run_verification_line(judged, COMMAND_TIMEOUT, context)).await?;
    let text = context.redactor.text(&ran.text).into_owned();
    let ended = match ran.ending {
        Ending::Exited(code) if code == command.exit => {
            return Ok(Check::new(command.title(), missing(&command.contains, &text), &text));
        }
        Ending::Exited(code) => format!("exit code {code}"),
        _ => ran.error.clone().unwrap_or_default(),
    };
    let output = truncate::middle(text.trim(), MAX_OUTPUT_CHARS);
    let problem = format!("{ended}, and {} was expected; its output: {output}", command.exit);
    Ok(Check::new(command.title(), Some(problem), &text))
}

/// Fetches every page and its assets.
///
/// # Errors
/// The reason why there is nothing to fetch for a browser.
pub async fn browse(plan: &Plan, context: &ToolContext) -> Result<Vec<Check>, &'static str> {
    if plan.start.is_none() {
        return Err("the project starts no service");
    }
    let pages: Vec<String> = match plan.pages.as_slice() {
        [] => vec!["/".to_string()],
        pages => pages.to_vec(),
    };
    let running = match start(plan, context).await {
        Ok(running) => running,
        Err(error) => return Ok(vec![Check::failed("start", &error)]),
    };
    let mut checks = Vec::new();
    let mut served = !plan.pages.is_empty();
    for path in &pages {
        let response = Request::get(path).send(running.port).await;
        served |= response.as_ref().is_ok_and(Response::is_html);
        checks.extend(page::check(path, response, running.port).await);
    }
    running.hosted.end().await;
    if served { Ok(checks) } else { Err("the service serves no page") }
}
