//! A workflow as SVG: levels from top to bottom, readable on a light and on a dark page.

use super::picture::{HEIGHT, WIDTH, picture};
use crate::spec::Workflow;
use marvin_base::truncate;

/// The most steps for which a drawing is still readable.
pub const MAX_SVG_STEPS: usize = 2_000;

/// Characters of a label that fit into a box.
const MAX_LABEL_CHARS: usize = 22;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1f2933;--soft:#5b6673;--line:#8492a2;--box:#f4f6f8;--edge:#c3ccd6}\
@media (prefers-color-scheme:dark){:root{--ink:#e6eaef;--soft:#a7b2bf;--line:#76849a;--box:#262d36;--edge:#465261}}\
text{font:13px ui-sans-serif,system-ui,sans-serif;fill:var(--ink);text-anchor:middle}\
.worker{font-size:11px;fill:var(--soft)}rect{fill:var(--box);stroke:var(--edge)}path{fill:none;stroke:var(--line);stroke-width:1.3}\
.tip{fill:var(--line);stroke:none}";

/// Draws a workflow as SVG.
#[must_use]
pub fn svg(workflow: &Workflow) -> String {
    let picture = picture(workflow);
    let (width, height) = (picture.width, picture.height);
    let corner = |step: usize| picture.boxes.get(step).copied().unwrap_or_default();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
        escaped(&workflow.workflow_id)
    );
    for (at, step) in workflow.steps.iter().enumerate() {
        let (x, y) = corner(at);
        for dep in &step.depends_on {
            let (from_x, from_y) = corner(*dep as usize);
            let (x1, y1, x2, y2) = (from_x + WIDTH / 2.0, from_y + HEIGHT, x + WIDTH / 2.0, y - 6.0);
            let bend = (y2 - y1) / 2.0;
            text.push_str(&format!(
                "<path d=\"M{x1:.1} {y1:.1}C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\"/><path class=\"tip\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{x2:.1} {y:.1}Z\"/>\n",
                y1 + bend, y2 - bend, x2 - 4.0, y - 7.0, x2 + 4.0, y - 7.0,
            ));
        }
    }
    for (at, step) in workflow.steps.iter().enumerate() {
        let (x, y) = corner(at);
        let middle = x + WIDTH / 2.0;
        text.push_str(&format!(
            "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/><text x=\"{middle:.1}\" y=\"{:.1}\">{}</text><text class=\"worker\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text></g>\n",
            escaped(&step.id), y + 20.0, escaped(&truncate::line(step.name(), MAX_LABEL_CHARS)), y + 36.0, escaped(&truncate::line(&step.worker, MAX_LABEL_CHARS)),
        ));
    }
    text.push_str("</svg>\n");
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
