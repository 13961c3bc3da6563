//! `cargo xtask census`: counts terms, names, module circles and other traits of the sources, and
//! compares them with the limits in `census.toml`. Limits only tighten.

mod counts;
mod error;
mod figures;
mod graph;
mod modules;
mod report;
mod source;
mod table;

use crate::output::say;
use counts::{Count, Place};
use error::CensusError;
use figures::Finding;
use modules::ModuleFacts;
use source::Source;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::ScopedJoinHandle;
use table::{Figure, Measure};

/// Places that are named for a figure above its limit.
const MAX_LISTED_PLACES: usize = 20;

/// Prints all figures, one figure with all its places, or JSON; or tightens the limits.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let root = crate::tools::root();
    let counts = take(&root)?;
    match arguments {
        [] => say(report::print_table(&counts))?,
        ["--json"] => say(report::print_json(&counts)?)?,
        ["--tighten"] => {
            let totals = counts.iter().map(|count| (count.figure.row.name.as_str(), count.total)).collect();
            table::tighten(&root, &totals)?;
        }
        [name] => {
            let count = counts.iter().find(|count| count.figure.row.name == *name);
            let count = count.ok_or_else(|| CensusError::Argument((*name).to_owned()))?;
            return say(report::print_all_places(count));
        }
        _ => return Err(CensusError::Argument(arguments.join(" ")).into()),
    }
    Ok(check(&counts)?)
}

/// Findings and modules of one file. Unlike its tokens, this can be sent to another thread.
struct FileCensus {
    path: String,
    findings: Vec<Finding>,
    module: ModuleFacts,
}

/// Counts all figures of the workspace.
fn take(root: &Path) -> Result<Vec<Count>, CensusError> {
    let figures = table::load(root)?;
    let files = read_files(root, &figures)?;
    let tests: Vec<String> = files.iter().flat_map(|file| modules::test_files(&file.module)).collect();
    let is_test = |path: &str| {
        tests
            .iter()
            .any(|test| path.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with(['.', '/'])))
    };
    let mut places: BTreeMap<usize, Vec<Place>> = BTreeMap::new();
    let mut module_facts = Vec::new();
    for file in files {
        let in_test_file = is_test(&file.path);
        for finding in file.findings {
            let Some(figure) = figures.get(finding.figure) else { continue };
            if figure.row.skips(&file.path) {
                continue;
            }
            let is_outside = !in_test_file && (!finding.in_test || figure.is(Measure::SourceLines));
            if is_outside || figure.counts_tests() {
                let Finding { line, weight, note, .. } = finding;
                let place = Place { path: file.path.clone(), line, weight, note };
                places.entry(finding.figure).or_default().push(place);
            }
        }
        if !in_test_file {
            module_facts.push(file.module);
        }
    }
    if let Some(figure) = figures.iter().position(|figure| figure.is(Measure::ModuleCircles)) {
        let row = figures.get(figure).map(|figure| &figure.row);
        module_facts.retain(|facts| !row.is_some_and(|row| row.skips(&facts.path)));
        places.insert(figure, find_circle_places(&module_facts));
    }
    let with_places = |(index, figure)| Count::new(figure, places.remove(&index).unwrap_or_default());
    Ok(figures.into_iter().enumerate().map(with_places).collect())
}

/// One place per crate with a circle; its edges follow with no weight.
fn find_circle_places(modules: &[ModuleFacts]) -> Vec<Place> {
    let mut places = Vec::new();
    for circle in graph::find_circles(modules) {
        let note = format!("circle of {}: {}", circle.members.len(), circle.members.join(" "));
        places.push(Place { path: circle.root, line: 1, weight: circle.members.len() as u64, note });
        for (path, line, target) in circle.edges {
            places.push(Place { path, line, weight: 0, note: format!("uses {target}") });
        }
    }
    places
}

/// Reads and parses each file once, on all processors.
fn read_files(root: &Path, figures: &[Figure]) -> Result<Vec<FileCensus>, CensusError> {
    let paths = source::list(root)?;
    let threads = crate::tools::cores();
    let read_share = &|first: usize| -> Result<Vec<FileCensus>, CensusError> {
        paths.iter().skip(first).step_by(threads).map(|path| read_file(root, path, figures)).collect()
    };
    let shares: Result<Vec<Vec<FileCensus>>, CensusError> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || read_share(first))).collect();
        let join = |worker: ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(share) => share,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(join).collect()
    });
    let mut files: Vec<FileCensus> = shares?.into_iter().flatten().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn read_file(root: &Path, path: &str, figures: &[Figure]) -> Result<FileCensus, CensusError> {
    let text = std::fs::read_to_string(root.join(path)).map_err(|error| CensusError::read(path, &error))?;
    let source = Source::parse(path, text)?;
    let syntax: syn::File =
        syn::parse2(source.tokens.clone()).map_err(|error| CensusError::parse(path, &error))?;
    Ok(FileCensus {
        path: path.to_owned(),
        findings: figures::count(&source, &syntax, figures),
        module: modules::read(&source, &syntax),
    })
}

fn check(counts: &[Count]) -> Result<(), CensusError> {
    let exceeded: Vec<String> = counts
        .iter()
        .filter(|count| count.is_exceeded())
        .map(|count| report::print_worst_places(count, MAX_LISTED_PLACES))
        .collect();
    if exceeded.is_empty() { Ok(()) } else { Err(CensusError::Exceeded(exceeded.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    /// The census of the workspace, which both tests check.
    static COUNTS: LazyLock<Vec<Count>> = LazyLock::new(|| take(&crate::tools::root()).unwrap());

    #[test]
    fn census_is_within_its_limits() {
        if let Err(error) = check(&COUNTS) {
            panic!("{error}");
        }
    }

    #[test]
    fn limits_are_tight() {
        let slack: Vec<String> = COUNTS
            .iter()
            .filter(|count| count.is_slack())
            .map(|count| {
                format!("{}: {} counted, limit {}", count.figure.row.name, count.total, count.limit())
            })
            .collect();
        assert!(
            slack.is_empty(),
            "limits in census.toml are more than {} % from the counts:\n  {}\n  \
             hint: run `cargo xtask census --tighten`",
            counts::MAX_SLACK_PERCENT,
            slack.join("\n  ")
        );
    }
}
