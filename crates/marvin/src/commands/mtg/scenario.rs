//! `marvin mtg scenario`: runs engine-neutral rules scenarios.

use crate::argument_file::read_text;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_mtg::scenario::{PoolSource, ScenarioFile, run_scenario};
use std::path::PathBuf;

const MAX_SCENARIO_BYTES: u64 = 64 * 1024 * 1024;

const HINT: &str = "name a file of scenarios in the format mtg-scenarios/1";

/// Run the rules scenarios of a file, one line for each
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if a scenario fails.\n\nExamples:\n  marvin mtg scenario scenarios.json\n  marvin mtg scenario scenarios.json --json | jq -r 'select(.ok | not).id'"
)]
pub(crate) struct ScenarioArguments {
    /// The file of scenarios (mtg-scenarios/1)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As JSON, one object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ScenarioArguments) -> Result<Exit, Failure> {
    let path = &arguments.file;
    let text = read_text(path, MAX_SCENARIO_BYTES, HINT)?;
    let file: ScenarioFile = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())).hint(HINT))?;
    let mut failed = 0usize;
    for scenario in &file.scenarios {
        let result = run_scenario(scenario, &PoolSource);
        failed += usize::from(!result.ok);
        if arguments.json {
            output::json_object(&result)?;
        } else {
            let verdict = if result.ok { "ok" } else { "failed" };
            let why = if result.ok { String::new() } else { format!(": {}", result.why) };
            output::line(&format!("{verdict} {}{why}", result.id))?;
        }
    }
    Ok(if failed == 0 { Exit::Success } else { Exit::Failed })
}
