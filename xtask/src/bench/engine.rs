//! `engine`: durable steps a second of a workflow of `Echo` steps, as a chain and as a fan, against as many rows committed one by
//! one and in groups by bare SQLite with the same settings, and against LangGraph with its SQLite checkpointer. Besides, memory
//! for a step that waits, and the cost of a step in small and in large workflows.
//!
//! Chain and fan are measured with `flow.sync = normal`, which is what `auto` means for `Echo`, and with `full`; bare SQLite with the same. The
//! clock runs from the first transition to the last commit; LangGraph's from `invoke` to its end.

use super::timing::{median, round};
use crate::{python, tools};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const STEPS: usize = 10_000;
/// LangGraph is slower by far; its rate does not depend on how long it is measured.
const LANGGRAPH_STEPS: usize = 2_000;
const ROUNDS: usize = 5;
const CHAIN: f64 = 0.60;
const FAN: f64 = 5.0;
const LANGGRAPH: f64 = 20.0;
const PENDING: f64 = 1024.0;
/// How much more a step may cost among 100,000 than among 1,000.
const FLAT: f64 = 1.5;
const PACKAGES: [&str; 2] = ["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2"];

/// The same two shapes for LangGraph: one node that follows itself, and one node that is sent to many times at once.
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

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    tools::run(tools::cargo().args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "marvin-bench-engine",
    ]))?;
    let bench = Bench { program: tools::target().join("release/marvin-bench-engine") };
    let mut sides = serde_json::Map::new();
    let mut ok = true;
    let mut normal = (0.0, 0.0);
    for sync in ["normal", "full"] {
        let names = ["one-by-one", "grouped", "chain", "fan"];
        let mut rates = vec![Vec::new(); names.len()];
        // Taking turns, so that what else the machine does falls on all of them.
        for _ in 0..ROUNDS {
            for (name, rates) in names.iter().zip(&mut rates) {
                rates.push(bench.number(name, STEPS, sync, "per_s")?);
            }
        }
        let rates: Vec<f64> = rates.into_iter().map(|rates| median(rates.into_iter())).collect();
        let [single, grouped, chain, fan] = rates.as_slice() else { return Err("four figures".into()) };
        let holds = chain / single >= CHAIN && fan / single >= FAN;
        ok &= holds || sync == "full";
        if sync == "normal" {
            normal = (*chain, *fan);
        }
        sides.insert(sync.into(), json!({
            "reference": {"what": "bare SQLite, WAL, the same rows", "one_by_one_per_s": round(*single), "in_groups_per_s": round(*grouped)},
            "chain_per_s": round(*chain), "fan_per_s": round(*fan),
            "chain_ratio": round(chain / single), "chain_target": CHAIN, "fan_ratio": round(fan / single), "fan_target": FAN,
            "fan_to_groups": round(fan / grouped), "ok": holds,
        }));
    }
    let langgraph = langgraph(normal)?;
    ok &= langgraph.get("ok").and_then(Value::as_bool) == Some(true);
    let mut costs = serde_json::Map::new();
    let mut ends = (0.0, 0.0);
    for steps in [1_000, 10_000, 100_000] {
        let cost = median((0..3).filter_map(|_| bench.number("levels", steps, "normal", "us_per_step").ok()));
        if steps == 1_000 {
            ends.0 = cost;
        }
        ends.1 = cost;
        costs.insert(steps.to_string(), json!(round(cost)));
    }
    let pending = bench.number("pending", 100_000, "normal", "pending_bytes_per_step")?;
    let large = bench.measure("pending", 100_000, "normal")?;
    let is_flat = ends.1 <= ends.0 * FLAT;
    ok &= is_flat && pending <= PENDING;
    Ok(json!({
        "bench": "engine",
        "what": format!("a workflow of {STEPS} Echo steps, medians of {ROUNDS} runs taking turns"),
        "sync": sides, "langgraph": langgraph,
        "cost": {"what": "microseconds a step, in workflows of so many steps in a hundred levels", "us_per_step": costs, "ratio": round(ends.1 / ends.0), "target_ratio": FLAT, "ok": is_flat},
        "memory": {"what": "100,000 steps, 99,999 of them pending", "bytes_per_pending_step": round(pending), "target": PENDING, "peak_kb": large.get("peak_kb"), "ok": pending <= PENDING},
        "ok": ok,
    }))
}

struct Bench {
    program: PathBuf,
}

impl Bench {
    fn measure(&self, what: &str, steps: usize, sync: &str) -> Result<Value, String> {
        // On the disk that the build is on: a file system in memory would flatter both sides.
        let directory = tempfile::tempdir_in(tools::target()).map_err(|error| error.to_string())?;
        output(Command::new(&self.program).args([what, &steps.to_string(), sync]).arg(directory.path()))
    }

    fn number(&self, what: &str, steps: usize, sync: &str, key: &str) -> Result<f64, String> {
        let value = self.measure(what, steps, sync)?;
        value.get(key).and_then(Value::as_f64).ok_or_else(|| format!("no {key}: {value}"))
    }
}

fn output(command: &mut Command) -> Result<Value, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn langgraph((chain, fan): (f64, f64)) -> Result<Value, String> {
    let environment = python::environment(&tools::directory(), "langgraph", &PACKAGES)?;
    let directory = tempfile::tempdir_in(tools::target()).map_err(|error| error.to_string())?;
    let script = directory.path().join("measure.py");
    std::fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
    let rate = |what: &str| -> Result<f64, String> {
        let mut rates = Vec::new();
        for round in 0..3 {
            let place = directory.path().join(format!("{what}-{round}"));
            std::fs::create_dir(&place).map_err(|error| error.to_string())?;
            rates.push(once(&environment, &script, what, &place)?);
        }
        Ok(median(rates.into_iter()))
    };
    let (its_chain, its_fan) = (rate("chain")?, rate("fan")?);
    let (chain_ratio, fan_ratio) = (chain / its_chain, fan / its_fan);
    Ok(json!({
        "reference": {"what": PACKAGES.join(", "), "steps": LANGGRAPH_STEPS, "chain_per_s": round(its_chain), "fan_per_s": round(its_fan)},
        "chain_ratio": round(chain_ratio), "fan_ratio": round(fan_ratio), "target_ratio": LANGGRAPH,
        "ok": chain_ratio >= LANGGRAPH && fan_ratio >= LANGGRAPH,
    }))
}

fn once(environment: &Path, script: &Path, what: &str, directory: &Path) -> Result<f64, String> {
    let mut command = Command::new(environment.join("bin/python3"));
    let value = output(command.arg(script).args([what, &LANGGRAPH_STEPS.to_string()]).arg(directory))?;
    value.get("per_s").and_then(Value::as_f64).ok_or_else(|| format!("no rate: {value}"))
}
