//! Parts of reports that several benchmarks share.

use crate::tools;
use serde::Serialize;
use serde_json::Value;
use std::process::Command;

/// The report of a program of `bench/`, with parts that were measured outside its process.
#[derive(Serialize)]
pub(super) struct ExtendedReport<T> {
    #[serde(flatten)]
    inside: serde_json::Map<String, Value>,
    #[serde(flatten)]
    outside: T,
    ok: bool,
}

impl<T: Serialize> ExtendedReport<T> {
    /// Adds parts to a report; its targets are met when those of all parts are.
    pub(super) fn new(inside: Value, outside: T, is_outside_ok: bool) -> Self {
        let ok = is_ok(&inside) && is_outside_ok;
        let mut inside = match inside {
            Value::Object(inside) => inside,
            _ => serde_json::Map::new(),
        };
        inside.shift_remove("ok");
        ExtendedReport { inside, outside, ok }
    }
}

/// Whether the targets of a report are met.
pub(super) fn is_ok(report: &Value) -> bool {
    report.get("ok").and_then(Value::as_bool) == Some(true)
}

/// Builds and runs a program of `bench/` and returns its report.
pub(super) fn run_program(package: &str) -> anyhow::Result<Value> {
    tools::json(&mut Command::new(tools::build_release(package)?))
}
