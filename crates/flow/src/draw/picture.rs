//! Layout of a workflow drawing: levels from top to bottom, each step below its dependencies.

use crate::spec::Workflow;
use serde::Serialize;

pub(super) const WIDTH: f64 = 168.0;
pub(super) const HEIGHT: f64 = 46.0;
const ACROSS: f64 = 28.0;
const DOWN: f64 = 52.0;
const MARGIN: f64 = 24.0;

/// Positions of the boxes and arrows, in units of the drawing.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Picture {
    pub width: f64,
    pub height: f64,
    pub box_width: f64,
    pub box_height: f64,
    /// The upper left corner of each step's box, in the order of the file.
    pub boxes: Vec<(f64, f64)>,
    /// Pairs of dependency and dependent step, as indices in the order of the file.
    pub arrows: Vec<(u32, u32)>,
}

/// Places every step of a workflow.
#[must_use]
pub fn picture(workflow: &Workflow) -> Picture {
    let depths = workflow.depths();
    let levels = depths.iter().max().map_or(0, |deepest| *deepest as usize + 1);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); levels];
    for (step, depth) in depths.iter().enumerate() {
        if let Some(row) = rows.get_mut(*depth as usize) {
            row.push(step);
        }
    }
    let mut across: Vec<f64> = vec![0.0; workflow.steps.len()];
    // Sorting by the middle of the dependencies makes fewer lines cross.
    for row in &mut rows {
        let middle = |step: usize, across: &[f64]| {
            let deps = workflow.steps.get(step).map(|step| &*step.depends_on).unwrap_or_default();
            let places: Vec<f64> = deps.iter().filter_map(|dep| across.get(*dep as usize).copied()).collect();
            if places.is_empty() { f64::MAX } else { places.iter().sum::<f64>() / places.len() as f64 }
        };
        row.sort_by(|one, other| {
            middle(*one, &across).total_cmp(&middle(*other, &across)).then(one.cmp(other))
        });
        for (place, step) in row.iter().enumerate() {
            if let Some(slot) = across.get_mut(*step) {
                *slot = place as f64;
            }
        }
    }
    let widest = rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let width = MARGIN * 2.0 + widest * WIDTH + (widest - 1.0) * ACROSS;
    let height = MARGIN * 2.0 + levels as f64 * HEIGHT + (levels as f64 - 1.0).max(0.0) * DOWN;
    let corner = |(step, across): (usize, &f64)| {
        let level = depths.get(step).copied().unwrap_or(0) as usize;
        let many = rows.get(level).map_or(1, Vec::len) as f64;
        let free = width - many * WIDTH - (many - 1.0) * ACROSS;
        (free / 2.0 + across * (WIDTH + ACROSS), MARGIN + level as f64 * (HEIGHT + DOWN))
    };
    let arrows = workflow
        .steps
        .iter()
        .zip(0..)
        .flat_map(|(step, at)| step.depends_on.iter().map(move |dep| (*dep, at)));
    Picture {
        width,
        height,
        box_width: WIDTH,
        box_height: HEIGHT,
        boxes: across.iter().enumerate().map(corner).collect(),
        arrows: arrows.collect(),
    }
}
