//! Facts about the machine.
//!
//! Limits: memory, load and uptime come from `/proc`, so that other systems than Linux show fewer facts. No name of a user, an
//! address or a serial number is among them, since the model's provider reads the answer.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::{NoInput, Tool};
use async_trait::async_trait;
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
pub(super) struct SystemInfo;

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct SystemFacts {
    os: String,
    distribution: Option<String>,
    kernel: Option<String>,
    architecture: String,
    processors: usize,
    processor: Option<String>,
    memory_mb: Option<u64>,
    memory_free_mb: Option<u64>,
    disk_mb: Option<u64>,
    disk_free_mb: Option<u64>,
    load: Option<String>,
    uptime_hours: Option<u64>,
    time: String,
    time_zone: Option<String>,
}

#[async_trait]
impl Tool for SystemInfo {
    type Input = NoInput;
    type Data = SystemFacts;
    const NAME: &'static str = "system_info";
    const DESCRIPTION: &'static str =
        "Facts about this machine: system, processors, memory, disk, load, uptime, local time.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, _input: NoInput, context: &ToolContext) -> Result<Output<SystemFacts>, ToolError> {
        let facts = facts(context.layout.home());
        let mut text = String::new();
        let mut line = |label: &str, value: Option<String>| {
            if let Some(value) = value {
                text.push_str(&format!("{label}: {value}\n"));
            }
        };
        line("system", Some(format!("{} ({})", facts.os, facts.architecture)));
        line("distribution", facts.distribution.clone());
        line("kernel", facts.kernel.clone());
        line("processors", Some(facts.processors.to_string()));
        line("processor", facts.processor.clone());
        let pair = |all: Option<u64>, free: Option<u64>| Some(format!("{} MB, {} MB free", all?, free?));
        line("memory", pair(facts.memory_mb, facts.memory_free_mb));
        line("disk of the home directory", pair(facts.disk_mb, facts.disk_free_mb));
        line("load", facts.load.clone());
        line("uptime", facts.uptime_hours.map(|hours| format!("{hours} h")));
        line("local time", Some(facts.time.clone()));
        line("time zone", facts.time_zone.clone());
        Ok(Output::new("Facts about this machine", text, facts))
    }
}

fn facts(home: &Path) -> SystemFacts {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let memory = read("/proc/meminfo").unwrap_or_default();
    let kilobytes = |name: &str| -> Option<u64> {
        let line = memory.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let release = read("/etc/os-release").unwrap_or_default();
    let distribution = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let cpu = read("/proc/cpuinfo").unwrap_or_default();
    let processor =
        cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    let load =
        read("/proc/loadavg").map(|text| text.split_whitespace().take(3).collect::<Vec<_>>().join(" "));
    let seconds = read("/proc/uptime").and_then(|text| text.split('.').next()?.trim().parse::<u64>().ok());
    let disk = disk(home);
    let now = marvin_base::clock::now().to_zoned(jiff::tz::TimeZone::system());
    SystemFacts {
        os: std::env::consts::OS.to_string(),
        distribution: distribution.map(|name| name.trim_matches('"').to_string()),
        kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_string()),
        architecture: std::env::consts::ARCH.to_string(),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        processor: processor.map(|(_, name)| name.trim().to_string()),
        memory_mb: kilobytes("MemTotal:").map(|all| all / 1_024),
        memory_free_mb: kilobytes("MemAvailable:").map(|free| free / 1_024),
        disk_mb: disk.map(|(all, _)| all),
        disk_free_mb: disk.map(|(_, free)| free),
        load,
        uptime_hours: seconds.map(|seconds| seconds / 3_600),
        time: now.strftime("%Y-%m-%d %H:%M %:z").to_string(),
        time_zone: now.time_zone().iana_name().map(str::to_string),
    }
}

/// Megabytes of the file system that a path is on, and how many of them are free.
fn disk(path: &Path) -> Option<(u64, u64)> {
    let facts = rustix::fs::statvfs(path).ok()?;
    let block = facts.f_frsize;
    let megabytes = |blocks: u64| blocks.saturating_mul(block) / 1_048_576;
    Some((megabytes(facts.f_blocks), megabytes(facts.f_bavail)))
}
