//! `fleet`: steps per second and events per step of runs on many machines, against a program on the bare SDK of Temporal with the
//! same shape, the same steps and as many slots, over the same server, taking turns.
//!
//! Both start `marvin attempt` for a step `true`. Seconds are those of the server, from the beginning of the workflow to its end.

use super::timing::{median, round};
use crate::fleet::large::pending_bytes;
use crate::fleet::site::{ServerRun, Site, commands};
use crate::tools;
use anyhow::ensure;
use serde_json::{Value, json};
use std::process::Command;

const ROUNDS: usize = 3;
const CHAIN_STEPS: usize = 60;
const FAN_STEPS: usize = 200;
const SLOTS: usize = 4;
/// Requests for tasks that are open, as a worker has them by default.
const POLLERS: usize = 2;
const ECHO_STEPS: usize = 5_000;
const PENDING_STEPS: usize = 50_000;
const MIN_RATIO: f64 = 0.8;
const MAX_CHAIN_EVENTS: f64 = 6.2;
const MAX_FAN_EVENTS: f64 = 3.2;
const MAX_PENDING_BYTES: f64 = 2_048.0;

pub(super) fn run() -> anyhow::Result<Value> {
    let mut site = Site::start()?;
    let pending = pending_bytes(&mut site, PENDING_STEPS)?;
    site.start_worker(SLOTS)?;
    let chain = compare(&site, "chain", CHAIN_STEPS, MAX_CHAIN_EVENTS)?;
    let fan = compare(&site, "fan", FAN_STEPS, MAX_FAN_EVENTS)?;
    let activities = activities_of_echoes(&site)?;
    let are_met = |report: &Value| super::report::is_ok(report);
    let ok = are_met(&chain) && are_met(&fan) && activities == 0 && pending <= MAX_PENDING_BYTES;
    Ok(json!({
        "bench": "fleet",
        "what": format!("steps `true` on one worker with {SLOTS} slots, medians of {ROUNDS} runs taking turns"),
        "chain": chain,
        "fan": fan,
        "echo": {"what": format!("{ECHO_STEPS} steps Echo"), "activities": activities, "target": 0},
        "memory": {
            "what": format!("{PENDING_STEPS} steps that wait for a person"),
            "bytes_per_pending_step": round(pending), "target": MAX_PENDING_BYTES,
        },
        "ok": ok,
    }))
}

/// Marvin and the bare program with one shape.
fn compare(site: &Site, shape: &str, steps: usize, max_events: f64) -> anyhow::Result<Value> {
    let (mut own, mut bare): (Vec<ServerRun>, Vec<ServerRun>) = Default::default();
    // The first round warms both up.
    for round in 0..=ROUNDS {
        let (one, other) = (run_own(site, shape, steps)?, run_bare(site, shape, steps, round)?);
        if round > 0 {
            own.push(one);
            bare.push(other);
        }
    }
    let rate = |runs: &[ServerRun]| median(runs.iter().map(|run| steps as f64 / run.seconds));
    let events = |runs: &[ServerRun]| median(runs.iter().map(|run| run.events as f64 / steps as f64));
    let ratio = rate(&own) / rate(&bare);
    Ok(json!({
        "steps": steps,
        "reference": {"what": "temporalio-sdk", "per_s": round(rate(&bare)), "events_per_step": round(events(&bare))},
        "per_s": round(rate(&own)), "ratio": round(ratio), "target_ratio": MIN_RATIO,
        "events_per_step": round(events(&own)), "target_events": max_events,
        "ok": ratio >= MIN_RATIO && events(&own) <= max_events,
    }))
}

fn run_own(site: &Site, shape: &str, steps: usize) -> anyhow::Result<ServerRun> {
    let (id, result) = site.run(shape, &commands(shape, steps), &[])?;
    ensure!(result.pointer("/status") == Some(&json!("SUCCEEDED")), "a run failed: {result}");
    site.server_run(&id)
}

fn run_bare(site: &Site, shape: &str, steps: usize, round: usize) -> anyhow::Result<ServerRun> {
    let id = format!("bare-{shape}-{round}");
    let mut command = Command::new(Site::program("examples/bare_sdk"));
    command
        .args(["--address", site.address(), "--id", &id, "--shape", shape, "--steps", &steps.to_string()])
        .args(["--slots", &SLOTS.to_string(), "--pollers", &POLLERS.to_string()])
        .arg("--program")
        .arg(Site::program("marvin"))
        .arg("--directory")
        .arg(site.project())
        .env("HOME", site.home());
    tools::output(&mut command)?;
    site.server_run(&id)
}

/// Activities of a run of steps that need none.
fn activities_of_echoes(site: &Site) -> anyhow::Result<usize> {
    let echo = |number: usize| json!({"id": format!("e{number}"), "worker": "Echo", "inputs": {"x": number}});
    let steps: Vec<Value> = (0..ECHO_STEPS).map(echo).collect();
    let workflow = json!({"workflow_id": "echo", "goal": "measure the engine", "steps": steps});
    let (id, result) = site.run("echo", &workflow, &[])?;
    ensure!(result.pointer("/status") == Some(&json!("SUCCEEDED")), "the run failed: {result}");
    let kinds = site.event_kinds(&id)?;
    Ok(kinds.iter().filter(|kind| kind.contains("ACTIVITY_TASK_SCHEDULED")).count())
}
