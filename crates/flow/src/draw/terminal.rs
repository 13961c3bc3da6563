//! A workflow in a terminal: one line per step, with one number for steps that can run together.

use crate::spec::Workflow;
use marvin_base::truncate;

/// Dependencies of a step that are listed by name.
const MAX_NAMED_DEPENDENCIES: usize = 6;

/// Draws a workflow for a terminal of this width.
#[must_use]
pub fn terminal(workflow: &Workflow, width: usize) -> String {
    let depths = workflow.depths();
    let mut order: Vec<(u32, usize)> = depths.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0).min(36);
    let ids = longest(&mut workflow.steps.iter().map(|step| step.id.chars().count()));
    let workers = longest(&mut workflow.steps.iter().map(|step| step.worker.chars().count()));
    let levels = depths.iter().max().map_or(0, |deepest| deepest + 1);
    let goal = if workflow.goal.is_empty() {
        String::new()
    } else {
        format!(": {}", truncate::line(&workflow.goal, 80))
    };
    let mut text =
        format!("{}{goal}\n{} steps in {levels} levels\n", workflow.workflow_id, workflow.steps.len());
    let mut last = None;
    for (at, (depth, step)) in order.iter().enumerate() {
        let Some(one) = workflow.steps.get(*step) else { continue };
        let level = if last == Some(*depth) { String::new() } else { (depth + 1).to_string() };
        let ends = order.get(at + 1).is_none_or(|(next, _)| next != depth);
        let rail = match (last == Some(*depth), ends) {
            (false, true) => "─",
            (false, false) => "┬",
            (true, false) => "├",
            (true, true) => "└",
        };
        last = Some(*depth);
        let named = one
            .depends_on
            .iter()
            .take(MAX_NAMED_DEPENDENCIES)
            .filter_map(|dep| workflow.steps.get(*dep as usize));
        let mut deps: Vec<String> = named.map(|step| step.id.to_string()).collect();
        if let Some(more) = one.depends_on.len().checked_sub(MAX_NAMED_DEPENDENCIES).filter(|more| *more > 0)
        {
            deps.push(format!("{more} more"));
        }
        let arrow = if deps.is_empty() { String::new() } else { format!("  ← {}", deps.join(", ")) };
        let id = truncate::line(&one.id, 36);
        let worker = truncate::line(&one.worker, 36);
        let line = format!("{level:>4} {rail} {id:ids$}  {worker:workers$}{arrow}");
        text.extend(line.trim_end().chars().take(width.max(60)));
        text.push('\n');
    }
    text
}
