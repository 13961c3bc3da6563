//! The application, started and asked: what `.marvin/e2e.json` says of it is done, and compared.
//!
//! A service is started by its line, contained, with one port of this machine to listen on, and gets real requests over HTTP. A
//! program is run by its lines. Every line is judged by the gate first; one that the gate does not allow is a failed check
//! that says so.

mod http;
mod page;
mod plan;

pub use http::{Answer, Request};
pub use plan::{Command, Plan};

use marvin_base::child::Ending;
use marvin_base::truncate;
use marvin_gate::{JudgedCommand, decide_command};
use marvin_tools::ToolContext;
use marvin_tools::command::{HostedApplication, host, run_line};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long an application may take until it answers.
const START: Duration = Duration::from_secs(30);
/// How long a line may take.
const LINE: Duration = Duration::from_secs(120);
/// Characters of an answer in a detail.
const MAX_DETAIL_BYTES: usize = 600;

/// One thing that was asked, and whether the answer was right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was asked.
    pub name: String,
    /// Whether the answer was right.
    pub ok: bool,
    /// What was wrong, or what was seen.
    pub detail: String,
}

impl Check {
    fn new(name: impl Into<String>, problem: Option<String>, seen: &str) -> Self {
        let ok = problem.is_none();
        let detail = problem.unwrap_or_else(|| truncate::line(seen, 120));
        Check { name: name.into(), ok, detail: truncate::head(&detail, 2_000) }
    }
}

/// What went wrong, as one text for whoever mends it.
#[must_use]
pub fn failures(checks: &[Check]) -> Vec<String> {
    checks.iter().filter(|check| !check.ok).map(|check| format!("{}: {}", check.name, check.detail)).collect()
}

/// An application that runs and answers.
struct RunningApp {
    hosted: HostedApplication,
    port: u16,
}

/// Starts a service and waits until it answers.
async fn start(plan: &Plan, context: &ToolContext) -> Result<RunningApp, String> {
    let line = plan.start.as_deref().unwrap_or_default();
    let port = http::free_port().ok_or("no port is free on this machine")?;
    let line = line.replace("{port}", &port.to_string());
    let command = judged(&line, context).await?;
    let hosted = Box::pin(host(command, port, context))
        .await
        .map_err(|error| format!("it could not be started: {error}"))?;
    let until = Instant::now() + START;
    loop {
        if http::Request::get(&plan.ready).send(port).await.is_ok() {
            return Ok(RunningApp { hosted, port });
        }
        let late = Instant::now() >= until;
        if late || hosted.is_silent() || context.cancel.is_cancelled() {
            let why = if late {
                format!("it did not answer on port {port} within {} s", START.as_secs())
            } else {
                "it ended".into()
            };
            let said = truncate::middle(hosted.output().trim(), MAX_DETAIL_BYTES);
            hosted.end().await;
            return Err(format!("{why}; it said: {said}"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn judged(line: &str, context: &ToolContext) -> Result<JudgedCommand, String> {
    decide_command(line, &context.gate()).await.map_err(|verdict| {
        format!(
            "the gate does not allow `{}`: {} {}",
            truncate::line(line, 120),
            verdict.reason,
            verdict.how_to_fix
        )
    })
}

/// Asks everything that the plan says.
pub async fn ask(plan: &Plan, context: &ToolContext) -> Vec<Check> {
    let mut checks = Vec::new();
    for command in &plan.commands {
        checks.push(run(command, context).await);
    }
    if plan.start.is_none() {
        return checks;
    }
    let running = match start(plan, context).await {
        Ok(running) => running,
        Err(why) => {
            checks.push(Check { name: "start".into(), ok: false, detail: why });
            return checks;
        }
    };
    checks.push(Check {
        name: "start".into(),
        ok: true,
        detail: format!("it answers; contained by {}", running.hosted.sandbox),
    });
    for request in &plan.requests {
        checks.push(request_check(request, &running).await);
    }
    running.hosted.end().await;
    checks
}

/// Asks for one thing more: how a finding of phase 5 is shown.
pub async fn ask_one(plan: Option<&Plan>, request: &Request, context: &ToolContext) -> Check {
    let Some(plan) = plan.filter(|plan| plan.start.is_some()) else {
        let detail = "there is no service to ask: .marvin/e2e.json has no `start`".to_string();
        return Check { name: request.title(), ok: true, detail };
    };
    match start(plan, context).await {
        Ok(running) => {
            let check = request_check(request, &running).await;
            running.hosted.end().await;
            check
        }
        Err(why) => Check { name: request.title(), ok: false, detail: why },
    }
}

/// Runs one command, and compares.
pub async fn run(command: &Command, context: &ToolContext) -> Check {
    let name = command.title();
    let judged = match judged(&command.command, context).await {
        Ok(judged) => judged,
        Err(why) => return Check { name, ok: false, detail: why },
    };
    match Box::pin(run_line(judged, LINE, context)).await {
        Err(error) => Check { name, ok: false, detail: error.to_string() },
        Ok(ran) => {
            let code = match ran.ending {
                Ending::Exited(code) => Some(code),
                _ => None,
            };
            let text = context.redactor.text(&ran.text).into_owned();
            let problem = if code != Some(command.exit) {
                let ended = code.map_or_else(
                    || ran.error.clone().unwrap_or_default(),
                    |code| format!("exit code {code}"),
                );
                Some(format!(
                    "{ended}, and {} was expected; it said: {}",
                    command.exit,
                    truncate::middle(text.trim(), MAX_DETAIL_BYTES)
                ))
            } else {
                missing(&command.contains, &text)
            };
            Check::new(name, problem, &text)
        }
    }
}

async fn request_check(request: &Request, running: &RunningApp) -> Check {
    match request.send(running.port).await {
        Ok(answer) => Check::new(request.title(), request.problem(&answer), &answer.text()),
        Err(error) => {
            let said = truncate::middle(running.hosted.output().trim(), MAX_DETAIL_BYTES);
            Check {
                name: request.title(),
                ok: false,
                detail: format!("no answer: {error}; the application said: {said}"),
            }
        }
    }
}

/// What of these texts is not there.
fn missing(wanted: &[String], text: &str) -> Option<String> {
    let absent = wanted.iter().find(|wanted| !text.contains(wanted.as_str()))?;
    Some(format!("`{absent}` is not in what came: {}", truncate::middle(text.trim(), MAX_DETAIL_BYTES)))
}

/// Fetches every page and what it names. None: nothing is served to a browser, with the reason.
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
        Err(why) => return Ok(vec![Check { name: "start".into(), ok: false, detail: why }]),
    };
    let mut checks = Vec::new();
    let mut served = !plan.pages.is_empty();
    for path in &pages {
        let answer = Request::get(path).send(running.port).await;
        served |= answer.as_ref().is_ok_and(Answer::is_html);
        checks.extend(page::check(path, answer, running.port).await);
    }
    running.hosted.end().await;
    if served { Ok(checks) } else { Err("the service serves no page") }
}
