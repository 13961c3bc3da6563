//! `engine`: durable steps per second of a workflow of `Echo` steps, as a chain and as a fan,
//! against as many rows committed one by one and in groups by bare SQLite with the same settings,
//! and against LangGraph with its SQLite checkpointer. Besides, memory per waiting step, and the
//! cost of a step in small and in large workflows.
//!
//! Chain and fan are measured with `flow.sync = normal`, which is what `auto` means for `Echo`, and
//! with `full`; bare SQLite with the same. The clock runs from the first transition to the last
//! commit; LangGraph's from `invoke` to its end.

use super::report::is_ok;
use super::timing::{median, round};
use crate::{python, tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const STEPS: usize = 10_000;
/// LangGraph is much slower; its rate does not depend on the number of steps.
const LANGGRAPH_STEPS: usize = 2_000;
const ROUNDS: usize = 5;
const TARGET_CHAIN_RATIO: f64 = 0.60;
const TARGET_FAN_RATIO: f64 = 5.0;
const TARGET_LANGGRAPH_RATIO: f64 = 20.0;
const MAX_PENDING_BYTES: f64 = 1024.0;
/// How much more a step may cost among 100,000 than among 1,000.
const MAX_COST_RATIO: f64 = 1.5;
const PACKAGES: [&str; 2] = ["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2"];

/// The same two shapes for LangGraph: a node that follows itself, and a node that many messages are
/// sent to at once.
const SCRIPT: &str = r#"
import json, operator, os, sys, time
from typing import Annotated, TypedDict
from langgraph.graph import StateGraph, START, END
from langgraph.types import Send
from langgraph.checkpoint.sqlite import SqliteSaver

what, steps, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]

class Chain(TypedDict):
    n: int
    text: str

class Fan(TypedDict):
    items: Annotated[list, operator.add]

def chain():
    graph = StateGraph(Chain)
    graph.add_node("echo", lambda state: {"n": state["n"] + 1, "text": state["text"]})
    graph.add_edge(START, "echo")
    graph.add_conditional_edges("echo", lambda state: "echo" if state["n"] < steps else END)
    return graph, {"n": 0, "text": "a few words for the next step"}

def fan():
    graph = StateGraph(Fan)
    graph.add_node("echo", lambda item: {"items": [item["n"]]})
    graph.add_conditional_edges(START, lambda state: [Send("echo", {"n": n, "text": "a few words for the next step"}) for n in range(steps)], ["echo"])
    graph.add_edge("echo", END)
    return graph, {"items": []}

graph, state = chain() if what == "chain" else fan()
with SqliteSaver.from_conn_string(os.path.join(directory, "langgraph.sqlite")) as saver:
    app = graph.compile(checkpointer=saver)
    begun = time.perf_counter()
    result = app.invoke(state, {"configurable": {"thread_id": "1"}, "recursion_limit": steps + 10})
    seconds = time.perf_counter() - begun
assert (result["n"] == steps) if what == "chain" else (len(result["items"]) == steps)
print(json.dumps({"seconds": seconds, "per_s": steps / seconds}))
"#;

pub(super) fn run() -> anyhow::Result<Value> {
    let bench = Bench { program: tools::build_release("marvin-bench-engine")? };
    let (normal, full) = (bench.measure_sync("normal")?, bench.measure_sync("full")?);
    let langgraph = compare_with_langgraph(&normal)?;
    let cost = bench.measure_cost()?;
    let pending = bench.measure("pending", 100_000, "normal")?;
    let is_small = pending.pending_bytes_per_step <= MAX_PENDING_BYTES;
    // The targets are those of `normal`; `full` is reported for comparison.
    let ok = normal.ok && is_ok(&langgraph) && cost.ok && is_small;
    Ok(json!({
        "bench": "engine",
        "what": format!("a workflow of {STEPS} Echo steps, medians of {ROUNDS} runs taking turns"),
        "sync": {"normal": normal, "full": full},
        "langgraph": langgraph,
        "cost": cost,
        "memory": {
            "what": "100,000 steps, 99,999 of them pending",
            "bytes_per_pending_step": round(pending.pending_bytes_per_step), "target": MAX_PENDING_BYTES,
            "peak_kb": pending.peak_kb, "ok": is_small,
        },
        "ok": ok,
    }))
}

/// The figures with one setting of `flow.sync`.
#[derive(Serialize)]
struct SyncReport {
    reference: SqliteReference,
    chain_per_s: f64,
    fan_per_s: f64,
    chain_ratio: f64,
    chain_target: f64,
    fan_ratio: f64,
    fan_target: f64,
    fan_to_groups: f64,
    ok: bool,
}

#[derive(Serialize)]
struct SqliteReference {
    what: &'static str,
    one_by_one_per_s: f64,
    in_groups_per_s: f64,
}

/// The cost of a step by the number of steps.
#[derive(Serialize)]
struct CostReport {
    what: &'static str,
    us_per_step: BTreeMap<usize, f64>,
    ratio: f64,
    target_ratio: f64,
    ok: bool,
}

struct Bench {
    program: PathBuf,
}

/// What the programs print; bare SQLite and LangGraph only their rate.
#[derive(Deserialize)]
struct Measurement {
    per_s: f64,
    #[serde(default)]
    us_per_step: f64,
    #[serde(default)]
    pending_bytes_per_step: f64,
    #[serde(default)]
    peak_kb: u64,
}

impl Bench {
    fn measure(&self, what: &str, steps: usize, sync: &str) -> anyhow::Result<Measurement> {
        // On the disk that the build is on: a file system in memory would flatter both sides.
        let directory = tempfile::tempdir_in(tools::target())?;
        let mut command = Command::new(&self.program);
        tools::json(command.args([what, &steps.to_string(), sync]).arg(directory.path()))
    }

    fn measure_sync(&self, sync: &str) -> anyhow::Result<SyncReport> {
        let mut rates = [const { Vec::new() }; 4];
        // Taking turns, so that other work of the machine disturbs all of them.
        for _ in 0..ROUNDS {
            for (name, rates) in ["one-by-one", "grouped", "chain", "fan"].iter().zip(&mut rates) {
                rates.push(self.measure(name, STEPS, sync)?.per_s);
            }
        }
        let [single, grouped, chain, fan] = rates.map(|rates| median(rates.into_iter()));
        Ok(SyncReport {
            reference: SqliteReference {
                what: "bare SQLite, WAL, the same rows",
                one_by_one_per_s: round(single),
                in_groups_per_s: round(grouped),
            },
            chain_per_s: round(chain),
            fan_per_s: round(fan),
            chain_ratio: round(chain / single),
            chain_target: TARGET_CHAIN_RATIO,
            fan_ratio: round(fan / single),
            fan_target: TARGET_FAN_RATIO,
            fan_to_groups: round(fan / grouped),
            ok: chain / single >= TARGET_CHAIN_RATIO && fan / single >= TARGET_FAN_RATIO,
        })
    }

    fn measure_cost(&self) -> anyhow::Result<CostReport> {
        let mut costs = Vec::new();
        for steps in [1_000, 10_000, 100_000] {
            let mut rounds = Vec::new();
            for _ in 0..3 {
                rounds.push(self.measure("levels", steps, "normal")?.us_per_step);
            }
            costs.push((steps, median(rounds.into_iter())));
        }
        let cost = |end: Option<&(usize, f64)>| end.map_or(f64::NAN, |(_, cost)| *cost);
        let ratio = cost(costs.last()) / cost(costs.first());
        Ok(CostReport {
            what: "microseconds a step, in workflows of so many steps in a hundred levels",
            us_per_step: costs.into_iter().map(|(steps, cost)| (steps, round(cost))).collect(),
            ratio: round(ratio),
            target_ratio: MAX_COST_RATIO,
            ok: ratio <= MAX_COST_RATIO,
        })
    }
}

fn compare_with_langgraph(own: &SyncReport) -> anyhow::Result<Value> {
    let environment = python::environment("langgraph", &PACKAGES)?;
    let directory = tempfile::tempdir_in(tools::target())?;
    let script = directory.path().join("measure.py");
    std::fs::write(&script, SCRIPT)?;
    let rate = |what: &str| -> anyhow::Result<f64> {
        let mut rates = Vec::new();
        for round in 0..3 {
            let database = directory.path().join(format!("{what}-{round}"));
            std::fs::create_dir(&database)?;
            rates.push(run_langgraph(&environment, &script, what, &database)?);
        }
        Ok(median(rates.into_iter()))
    };
    let (chain, fan) = (rate("chain")?, rate("fan")?);
    let (chain_ratio, fan_ratio) = (own.chain_per_s / chain, own.fan_per_s / fan);
    Ok(json!({
        "reference": {
            "what": PACKAGES.join(", "), "steps": LANGGRAPH_STEPS,
            "chain_per_s": round(chain), "fan_per_s": round(fan),
        },
        "chain_ratio": round(chain_ratio), "fan_ratio": round(fan_ratio), "target_ratio": TARGET_LANGGRAPH_RATIO,
        "ok": chain_ratio >= TARGET_LANGGRAPH_RATIO && fan_ratio >= TARGET_LANGGRAPH_RATIO,
    }))
}

/// Steps per second of LangGraph.
fn run_langgraph(environment: &Path, script: &Path, what: &str, database: &Path) -> anyhow::Result<f64> {
    let mut command = Command::new(environment.join("bin/python3"));
    command.arg(script).args([what, &LANGGRAPH_STEPS.to_string()]).arg(database);
    Ok(tools::json::<Measurement>(&mut command)?.per_s)
}
