//! `marvin gate stats`: decisions of a project by verdict, layer and rule.

use super::scene::Scene;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_gate::layers::Stats;

pub(super) fn run(project: &ProjectArguments) -> Result<Exit, Failure> {
    let scene = Scene::of_project(project.working_dir.as_deref(), true)?;
    let directory = scene.layout.security();
    let stats = Stats::read(&directory).map_err(Failure::failed)?;
    if project.json {
        return output::json(&stats);
    }
    if stats.total == 0 {
        return output::line(&format!("No decisions in {}.", directory.display()));
    }
    let mut text = format!(
        "{} decisions, {} to {}\n",
        stats.total,
        stats.first.as_deref().unwrap_or("?"),
        stats.last.as_deref().unwrap_or("?")
    );
    for (title, counts) in [("verdict", &stats.decisions), ("layer", &stats.layers), ("rule", &stats.rules)] {
        text.push_str(&format!("\nby {title}\n"));
        let mut rows: Vec<(&String, &u64)> = counts.iter().collect();
        rows.sort_by(|(a, one), (b, two)| two.cmp(one).then(a.cmp(b)));
        for (name, count) in rows.into_iter().take(20) {
            text.push_str(&format!("  {count:8}  {name}\n"));
        }
    }
    text.push_str(&format!(
        "\ntime in milliseconds: p50 {:.3}, p90 {:.3}, p99 {:.3}, maximum {:.3}\n",
        stats.p50_ms, stats.p90_ms, stats.p99_ms, stats.most_ms
    ));
    if stats.warnings + stats.damaged > 0 {
        text.push_str(&format!("{} warnings, {} lines that cannot be read\n", stats.warnings, stats.damaged));
    }
    output::line(&text)
}
