//! Bar charts as inline SVG: one group per task, one labelled bar per runner.

use std::fmt::Write as _;

/// The width of a chart, in its own units; it is scaled to the page.
const WIDTH: f64 = 360.0;
/// Where bars begin, and the space for the label of the longest.
const LEFT: f64 = 132.0;
const RIGHT: f64 = 54.0;
const BAR: f64 = 11.0;
const GAP: f64 = 2.0;
const GROUP: f64 = 10.0;

/// One bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// The index of the runner in the legend.
    pub(crate) series: usize,
    /// None: no data.
    pub(crate) value: Option<f64>,
    pub(crate) label: String,
    /// The tooltip, also for screen readers.
    pub(crate) title: String,
}

/// Bars that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// Escapes text for HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            char if char.is_control() && char != '\n' => safe.push('\u{fffd}'),
            char => safe.push(char),
        }
    }
    safe
}

/// A chart. `full` is the value of a full-width bar; none: the largest value.
pub(crate) fn bars(title: &str, groups: &[Group], full: Option<f64>) -> String {
    let values = groups.iter().flat_map(|group| &group.bars).filter_map(|bar| bar.value);
    let largest = full.unwrap_or_else(|| values.fold(0.0, f64::max));
    let space = WIDTH - LEFT - RIGHT;
    let mut body = String::new();
    let mut y = 2.0;
    for group in groups {
        #[expect(clippy::cast_precision_loss, reason = "a few bars")]
        let height = group.bars.len() as f64 * (BAR + GAP) - GAP;
        let middle = y + height / 2.0 + 4.0;
        let name = escape(&group.name);
        let _ = write!(body, r#"<text class="name" x="{:.1}" y="{middle:.1}">{name}</text>"#, LEFT - 6.0);
        for bar in &group.bars {
            let value = bar.value.filter(|value| value.is_finite()).unwrap_or(0.0);
            let share = if largest > 0.0 { value / largest } else { 0.0 };
            let width = share.clamp(0.0, 1.0) * space;
            let (series, title, label) = (bar.series, escape(&bar.title), escape(&bar.label));
            let _ = write!(
                body,
                r#"<g><title>{title}</title><rect class="s{series}" x="{LEFT}" y="{y:.1}" width="{width:.1}" height="{BAR}" rx="2"/><text class="value" x="{:.1}" y="{:.1}">{label}</text></g>"#,
                LEFT + width + 4.0,
                y + BAR - 1.6,
            );
            y += BAR + GAP;
        }
        y += GROUP - GAP;
    }
    let height = y - GROUP + GAP + 2.0;
    let title = escape(title);
    format!(
        r#"<svg viewBox="0 0 {WIDTH} {height:.1}" role="img" aria-label="{title}"><line class="axis" x1="{LEFT}" x2="{LEFT}" y1="0" y2="{height:.1}"/>{body}</svg>"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stay_inside_and_text_is_text() {
        let bar = |value| Bar { series: 0, value, label: "<b>".into(), title: "a & \"b\"".into() };
        let group = Group {
            name: "x<y".into(),
            bars: vec![bar(Some(4.0)), bar(Some(400.0)), bar(None), bar(Some(f64::NAN))],
        };
        let svg = bars("all <of> it", &[group], Some(100.0));
        assert!(!svg.contains("<b>") && svg.contains("x&lt;y") && svg.contains("a &amp; &quot;b&quot;"));
        let widths: Vec<f64> = svg
            .split("<rect")
            .skip(1)
            .map(|rect| rect.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(widths.len(), 4);
        assert!(widths.iter().all(|width| (0.0..=WIDTH - LEFT - RIGHT).contains(width)), "{widths:?}");
        assert!(bars("", &[], None).starts_with("<svg"));
    }
}
