//! The report as one HTML page without external resources or scripts, for light and dark themes and small screens.

use super::chart::{self, Bar, Group, escape};
use super::{Report, Summary, dollars, percent, verdict};
use crate::suite::Row;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// A figure that is plotted for every task and runner.
struct Figure {
    title: &'static str,
    meaning: &'static str,
    /// The value of a full-width bar; none: the largest value.
    full: Option<f64>,
    /// The value of one task and runner, over its repetitions.
    of: fn(&[&Row]) -> Option<f64>,
    /// The value of a runner over all tasks.
    all: fn(&Summary) -> Option<f64>,
    /// Formats a value.
    format: fn(f64) -> String,
}

#[expect(clippy::cast_precision_loss, reason = "counts of attempts and calls")]
fn mean(rows: &[&Row], pick: fn(&Row) -> f64) -> Option<f64> {
    (!rows.is_empty()).then(|| rows.iter().map(|row| pick(row)).sum::<f64>() / rows.len() as f64)
}

#[expect(clippy::cast_precision_loss, reason = "counts of attempts and calls")]
fn number(count: u64) -> f64 {
    count as f64
}

fn plain(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

fn yes(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

fn per_run(summary: &Summary, sum: f64) -> Option<f64> {
    (summary.runs > 0).then(|| sum / number(summary.runs))
}

static FIGURES: [Figure; 9] = [
    Figure {
        title: "Pass rate",
        meaning: "share of attempts in which every hidden test passed",
        full: Some(1.0),
        of: |rows| mean(rows, |row| yes(row.success)),
        all: |summary| Some(summary.pass_rate),
        format: percent,
    },
    Figure {
        title: "False-completion rate",
        meaning: "share of claims to be done that hidden tests contradict; no bar value: nothing was claimed",
        full: Some(1.0),
        of: |rows| {
            let claims: Vec<&Row> = rows.iter().copied().filter(|row| row.claimed).collect();
            mean(&claims, |row| yes(row.false_completion))
        },
        all: |summary| (summary.claims > 0).then_some(summary.false_completion_rate),
        format: percent,
    },
    Figure {
        title: "Score",
        meaning: "weighted share of hidden tests at the end, from 0 to 1",
        full: Some(1.0),
        of: |rows| mean(rows, |row| row.score),
        all: |summary| Some(summary.mean_score),
        format: |value| format!("{value:.2}"),
    },
    Figure {
        title: "Wall time",
        meaning: "seconds of solving, without grading; mean of a task",
        full: None,
        of: |rows| mean(rows, |row| row.wall_time_s),
        all: |summary| per_run(summary, summary.wall_time_s),
        format: |value| format!("{value:.1} s"),
    },
    Figure {
        title: "Model calls",
        meaning: "requests to the model; mean of a task",
        full: None,
        of: |rows| mean(rows, |row| number(row.model_calls)),
        all: |summary| per_run(summary, number(summary.model_calls)),
        format: plain,
    },
    Figure {
        title: "Tool calls",
        meaning: "calls of tools; mean of a task",
        full: None,
        of: |rows| mean(rows, |row| number(row.tool_calls)),
        all: |summary| per_run(summary, number(summary.tool_calls)),
        format: plain,
    },
    Figure {
        title: "Lessons",
        meaning: "lessons written before a retry; mean of a task",
        full: None,
        of: |rows| mean(rows, |row| number(row.lessons)),
        all: |summary| per_run(summary, number(summary.lessons)),
        format: plain,
    },
    Figure {
        title: "Cost",
        meaning: "US dollars; mean of a task; no bar value: the price is not known",
        full: None,
        of: |rows| {
            rows.iter()
                .all(|row| row.cost_usd.is_some() || row.model_calls == 0)
                .then(|| mean(rows, |row| row.cost_usd.unwrap_or(0.0)))
                .flatten()
        },
        all: |summary| summary.cost_usd.and_then(|cost| per_run(summary, cost)),
        format: |value| format!("{value:.4}"),
    },
    Figure {
        title: "Tokens",
        meaning: "tokens in and out; mean of a task",
        full: None,
        of: |rows| mean(rows, |row| number(row.input_tokens + row.output_tokens)),
        all: |summary| per_run(summary, number(summary.tokens)),
        format: |value| {
            if value >= 10_000.0 { format!("{:.0}k", value / 1000.0) } else { format!("{value:.0}") }
        },
    },
];

/// The chart of a figure: all tasks together, then each task.
fn plot(figure: &Figure, report: &Report) -> String {
    let bar = |series: usize, runner: &str, name: &str, value: Option<f64>| {
        let label = value.map_or_else(|| "–".to_string(), figure.format);
        Bar { series, value, title: format!("{name}, {runner}: {label}"), label }
    };
    let all = report.runners.iter().enumerate();
    let all = all.map(|(at, one)| bar(at, &one.runner, "all tasks", (figure.all)(one))).collect();
    let mut groups = vec![Group { name: "all tasks".into(), bars: all }];
    let tasks: BTreeSet<&str> = report.tasks.iter().map(|row| row.task_id.as_str()).collect();
    for task in tasks {
        let bars = report.runners.iter().enumerate().map(|(at, one)| {
            let own = report.tasks.iter().filter(|row| row.task_id == task && row.runner == one.runner);
            bar(at, &one.runner, task, (figure.of)(&own.collect::<Vec<_>>()))
        });
        groups.push(Group { name: task.to_string(), bars: bars.collect() });
    }
    format!(
        "<section class=\"card\"><h3>{}</h3><p class=\"soft\">{}</p>{}</section>",
        figure.title,
        figure.meaning,
        chart::bars(figure.title, &groups, figure.full)
    )
}

fn card(at: usize, summary: &Summary) -> String {
    let rows = [
        ("mean score", format!("{:.2}", summary.mean_score)),
        ("claimed to be done", format!("{} of {}", summary.claims, summary.runs)),
        (
            "false completions",
            format!("{} ({})", summary.false_completions, percent(summary.false_completion_rate)),
        ),
        ("seconds", format!("{:.1}", summary.wall_time_s)),
        ("model calls", summary.model_calls.to_string()),
        ("tool calls", summary.tool_calls.to_string()),
        ("attempts at steps", summary.attempts.to_string()),
        ("lessons", summary.lessons.to_string()),
        ("tokens", summary.tokens.to_string()),
        ("USD", dollars(summary.cost_usd)),
    ];
    let list: String =
        rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value))).collect();
    format!(
        "<section class=\"card\"><h3><span class=\"key k{at}\"></span>{}</h3><p class=\"soft\">{}</p><p class=\"big\">{}</p>\
         <p class=\"soft\">{} of {} attempts solved</p><dl>{list}</dl></section>",
        escape(&summary.runner),
        escape(&summary.meaning),
        percent(summary.pass_rate),
        summary.successes,
        summary.runs,
    )
}

/// The scores of all states.
fn score_history(scores: &[f64]) -> String {
    let words: Vec<String> = scores.iter().map(|score| format!("{score:.2}")).collect();
    words.join(" → ")
}

fn row(row: &Row) -> String {
    let (class, sign) = if row.success { ("good", "✓") } else { ("bad", "✗") };
    let mut notes = Vec::new();
    if !row.changed_tests.is_empty() {
        notes.push(format!("changed tests, restored: {}", row.changed_tests.join(", ")));
    }
    notes.extend(row.error.iter().map(|error| marvin_base::truncate::line(error, 140)));
    format!(
        "<tr><td>{}</td><td>{}</td><td class=\"{class}\">{sign} {}</td><td class=\"n\">{}/{}</td><td class=\"n\">{}/{}</td><td>{}</td>\
         <td class=\"n\">{:.1}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td><a href=\"{}/grade.json\">files</a></td><td>{}</td></tr>",
        escape(&row.task_id),
        escape(&row.runner),
        verdict(row),
        row.passed,
        row.passed + row.failed,
        row.best_passed,
        row.best_passed + row.best_failed,
        score_history(&row.scores),
        row.wall_time_s,
        row.model_calls,
        row.tool_calls,
        row.attempts,
        row.lessons,
        dollars(row.cost_usd),
        escape(&row.artifacts_path),
        escape(&notes.join("; ")),
    )
}

const HEADS: [&str; 14] = [
    "task",
    "runner",
    "outcome",
    "hidden tests",
    "best",
    "scores over time",
    "seconds",
    "model calls",
    "tool calls",
    "attempts",
    "lessons",
    "USD",
    "artifacts",
    "notes",
];

pub(super) fn render(report: &Report) -> String {
    let mut body = String::new();
    let model = report.model.as_deref().map(|model| format!(" ({model})")).unwrap_or_default();
    let facts = format!(
        "{} · provider {}{model} · Python {} · each task {} × · marvin {}",
        report.generated_at, report.provider, report.python, report.repeat, report.version
    );
    let _ = write!(body, "<h1>Benchmark suite</h1><p class=\"soft\">{}</p>", escape(&facts));
    if let Some(note) = &report.note {
        let _ =
            write!(body, "<div class=\"note\"><strong>These are recordings.</strong> {}</div>", escape(note));
    }
    if report.interrupted {
        body.push_str("<div class=\"note\"><strong>Interrupted.</strong> Not everything that was planned was run.</div>");
    }
    body.push_str("<h2>Runners</h2><div class=\"cards\">");
    body.extend(report.runners.iter().enumerate().map(|(at, one)| card(at, one)));
    body.push_str("</div><h2>Figures</h2><div class=\"legend\">");
    for (at, one) in report.runners.iter().enumerate() {
        let _ = write!(body, "<span><span class=\"key k{at}\"></span>{}</span>", escape(&one.runner));
    }
    body.push_str("</div><div class=\"charts\">");
    body.extend(FIGURES.iter().map(|figure| plot(figure, report)));
    body.push_str("</div><h2>Tasks</h2><div class=\"wide\"><table><thead><tr>");
    body.extend(HEADS.iter().map(|head| format!("<th>{head}</th>")));
    body.push_str("</tr></thead><tbody>");
    body.extend(report.tasks.iter().map(row));
    body.push_str(
        "</tbody></table></div><p class=\"soft\">A task is solved when all of its hidden tests pass. A false completion is a claim to have solved \
         a task of which hidden tests fail. “Best” is the best intermediate state. Bars stand in the order of the legend.</p>",
    );
    page("Benchmark suite", &body)
}

/// A page that needs nothing else.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_and_is_well_formed() {
        let page = super::super::tests::example().html();
        for outside in ["http:", "https:", "<script", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("a | b &lt;c&gt;") && !page.contains("<c>"));
        assert_eq!(page.matches("<svg").count(), FIGURES.len());
        // Every element that is opened is closed, in order.
        let mut open: Vec<&str> = Vec::new();
        let body = page.split_once("</style>").unwrap().1;
        for tag in body.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap();
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            match tag {
                _ if tag.ends_with('/') => {}
                _ if tag.starts_with('/') => {
                    let last = open.pop();
                    assert!(
                        last == Some(name) || ["head", "html"].contains(&name) && last.is_none(),
                        "{name} closes {last:?}"
                    );
                }
                _ => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}
