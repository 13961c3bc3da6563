//! A workflow for Graphviz.

use crate::spec::Workflow;

/// The workflow in the DOT language, for `dot -Tsvg`.
#[must_use]
pub fn dot(workflow: &Workflow) -> String {
    let quoted =
        |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"));
    let mut text = format!(
        "digraph {} {{\n  rankdir=TB;\n  node [shape=box, style=rounded];\n",
        quoted(&workflow.workflow_id)
    );
    for step in &workflow.steps {
        let label = format!("{}\n{}", step.name(), step.worker);
        text.push_str(&format!("  {} [label={}];\n", quoted(&step.id), quoted(&label)));
    }
    for step in &workflow.steps {
        for dep in step.depends_on.iter().filter_map(|dep| workflow.steps.get(*dep as usize)) {
            text.push_str(&format!("  {} -> {};\n", quoted(&dep.id), quoted(&step.id)));
        }
    }
    text.push_str("}\n");
    text
}
