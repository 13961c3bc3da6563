//! `cargo xtask fleet-large`: runs of many steps on several workers over a real server.

use super::site::{Site, commands, report};
use crate::output::say;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

/// Attempts that a worker makes at a time.
const SLOTS: usize = 4;
/// What memory is compared with.
const FEW_STEPS: usize = 100;

/// Sizes of the runs.
#[derive(Debug, PartialEq, Eq)]
struct Sizes {
    fan: usize,
    chain: usize,
    pending: usize,
    workers: usize,
}

/// Runs a fan, a chain, and a workflow whose steps all wait; size 0 leaves one out.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let sizes = parse(words)?;
    let mut site = Site::start()?;
    for _ in 0..sizes.workers {
        site.start_worker(SLOTS)?;
    }
    for (shape, steps) in [("chain", sizes.chain), ("fan", sizes.fan)] {
        if steps > 0 {
            measure(&site, shape, steps)?;
        }
    }
    site.stop_workers();
    if sizes.pending > 0 {
        let bytes = pending_bytes(&mut site, sizes.pending)?;
        say(format_args!("pending: {bytes:.0} bytes of worker memory a step, of {} steps", sizes.pending))?;
    }
    Ok(())
}

fn parse(words: &[&str]) -> anyhow::Result<Sizes> {
    let mut sizes = Sizes { fan: 100_000, chain: 2_000, pending: 100_000, workers: 4 };
    for pair in words.chunks(2) {
        let [name, number] = pair else { bail!("{} needs a number", pair.join(" ")) };
        let number = number.parse().with_context(|| format!("`{number}` is not a number"))?;
        match *name {
            "--fan" => sizes.fan = number,
            "--chain" => sizes.chain = number,
            "--pending" => sizes.pending = number,
            "--workers" => sizes.workers = number,
            other => bail!("unknown option {other}; the options are --fan, --chain, --pending and --workers"),
        }
    }
    ensure!(sizes.workers > 0, "--workers must be at least 1");
    Ok(sizes)
}

fn measure(site: &Site, shape: &str, steps: usize) -> anyhow::Result<()> {
    let (id, result) = site.run(shape, &commands(shape, steps), &[])?;
    let succeeded = result.pointer("/steps/SUCCEEDED").and_then(Value::as_u64);
    ensure!(succeeded == u64::try_from(steps).ok(), "the {shape} of {steps} steps ended so: {result}");
    report(shape, steps, site.server_run(&id)?)
}

/// Memory of a worker for each step of a run whose steps all wait for a person.
pub(crate) fn pending_bytes(site: &mut Site, steps: usize) -> anyhow::Result<f64> {
    let mut used = [0; 2];
    for (used, steps) in used.iter_mut().zip([FEW_STEPS, steps]) {
        site.start_worker(SLOTS)?;
        let mut workflow = commands("fan", steps);
        let listed = workflow.pointer_mut("/steps").and_then(Value::as_array_mut).context("it has steps")?;
        for step in listed.iter_mut().filter_map(Value::as_object_mut) {
            step.insert("depends_on".into(), json!(["go"]));
        }
        listed.push(json!({"id": "go", "worker": "approve", "inputs": {"question": "Begin?"}}));
        site.run("pending", &workflow, &[])?;
        *used = site.memory()?.0;
        site.stop_workers();
    }
    let [few, many] = used;
    Ok(many.saturating_sub(few) as f64 / steps.saturating_sub(FEW_STEPS).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_options() {
        let sizes = parse(&["--fan", "500", "--pending", "0"]).unwrap();
        assert_eq!(sizes, Sizes { fan: 500, chain: 2_000, pending: 0, workers: 4 });
        for words in [&["--fan"] as &[&str], &["--fan", "x"], &["--workers", "0"], &["--other", "1"]] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
