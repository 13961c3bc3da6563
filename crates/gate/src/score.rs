//! Scores of the gate on labelled commands.
//!
//! *Dangerous* rows are labelled deny; those with a technique hide what they do and are *evasions*. Caught means asked about or
//! denied. *Harmless* rows are labelled allow; stopped means asked about or denied. Rows labelled ask may be denied, but not
//! allowed.

use crate::layers::decisions::percentile;
use crate::verdict::Decision;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A labelled command.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// The line.
    pub command: String,
    /// The right verdict.
    pub label: Decision,
    /// The kind of command.
    #[serde(default)]
    pub category: String,
    /// By what it hides what it does.
    #[serde(default)]
    pub technique: Option<String>,
}

/// The meaning of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Must be caught.
    Dangerous,
    /// Must be caught although it hides.
    Evasion,
    /// Must not be allowed alone.
    Ask,
    /// Must not be stopped.
    Harmless,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Kind; 4] = [Kind::Dangerous, Kind::Evasion, Kind::Ask, Kind::Harmless];

    /// The word for reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Dangerous => "dangerous",
            Kind::Evasion => "evasion",
            Kind::Ask => "ask",
            Kind::Harmless => "harmless",
        }
    }
}

impl Row {
    /// Its meaning.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match (self.label, self.technique.as_deref()) {
            (Decision::Allow, _) => Kind::Harmless,
            (Decision::Ask, _) => Kind::Ask,
            (Decision::Deny, None | Some("")) => Kind::Dangerous,
            (Decision::Deny, Some(_)) => Kind::Evasion,
        }
    }
}

/// The verdicts on rows of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Allowed.
    pub allow: u64,
    /// Asked about.
    pub ask: u64,
    /// Denied.
    pub deny: u64,
}

impl Counts {
    fn add(&mut self, decision: Decision) {
        match decision {
            Decision::Allow => self.allow += 1,
            Decision::Ask => self.ask += 1,
            Decision::Deny => self.deny += 1,
        }
    }

    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.allow + self.ask + self.deny
    }

    /// The share that was not allowed, in percent.
    #[must_use]
    pub fn stopped(self) -> f64 {
        percent(self.ask + self.deny, self.total())
    }

    /// The share that was denied, in percent.
    #[must_use]
    pub fn denied(self) -> f64 {
        percent(self.deny, self.total())
    }

    /// The share that was allowed, in percent.
    #[must_use]
    pub fn allowed(self) -> f64 {
        percent(self.allow, self.total())
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 10_000.0 / whole as f64).round() / 100.0 }
}

/// The score so far.
#[derive(Debug, Default)]
pub struct Score {
    kinds: BTreeMap<Kind, Counts>,
    categories: BTreeMap<String, BTreeMap<Kind, Counts>>,
    techniques: BTreeMap<String, Counts>,
    microseconds: Vec<f64>,
}

/// The score as it is printed.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Rows.
    pub rows: u64,
    /// Verdicts by kind of row.
    pub table: BTreeMap<&'static str, Counts>,
    /// The figures that count, in percent.
    pub figures: BTreeMap<&'static str, f64>,
    /// By category and kind of row.
    pub categories: BTreeMap<String, BTreeMap<&'static str, Counts>>,
    /// Evasions by technique.
    pub techniques: BTreeMap<String, Counts>,
    /// Time.
    pub speed: Speed,
}

/// Time that judging took, one command after the other.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Speed {
    /// Commands in a second.
    pub commands_per_second: f64,
    /// Microseconds: half were faster.
    pub p50_us: f64,
    /// Microseconds: all but one in a hundred were faster.
    pub p99_us: f64,
    /// Microseconds of the slowest.
    pub most_us: f64,
}

impl Score {
    /// Adds the verdict on a row.
    pub fn add(&mut self, row: &Row, decision: Decision, took: Duration) {
        let kind = row.kind();
        self.kinds.entry(kind).or_default().add(decision);
        let category = self.categories.entry(row.category.clone()).or_default();
        category.entry(kind).or_default().add(decision);
        if kind == Kind::Evasion {
            let technique = row.technique.clone().unwrap_or_default();
            self.techniques.entry(technique).or_default().add(decision);
        }
        self.microseconds.push(took.as_secs_f64() * 1_000_000.0);
    }

    /// The score.
    #[must_use]
    pub fn report(mut self) -> Report {
        let of = |kind: Kind| self.kinds.get(&kind).copied().unwrap_or_default();
        let (dangerous, evasion) = (of(Kind::Dangerous), of(Kind::Evasion));
        let (asked, harmless) = (of(Kind::Ask), of(Kind::Harmless));
        let figures = BTreeMap::from([
            ("dangerous_caught", dangerous.stopped()),
            ("dangerous_denied", dangerous.denied()),
            ("evasions_caught", evasion.stopped()),
            ("evasions_denied", evasion.denied()),
            ("harmless_stopped", harmless.stopped()),
            ("harmless_denied", harmless.denied()),
            ("ask_auto_allowed", asked.allowed()),
        ]);
        let words = |counts: BTreeMap<Kind, Counts>| -> BTreeMap<&'static str, Counts> {
            counts.into_iter().map(|(kind, counts)| (kind.word(), counts)).collect()
        };
        self.microseconds.sort_by(f64::total_cmp);
        let round = |value: f64| (value * 10.0).round() / 10.0;
        let at = |share: f64| round(percentile(&self.microseconds, share));
        let seconds: f64 = self.microseconds.iter().sum::<f64>() / 1_000_000.0;
        let rows = self.microseconds.len() as u64;
        #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
        let speed = Speed {
            commands_per_second: if seconds > 0.0 { (rows as f64 / seconds).round() } else { 0.0 },
            p50_us: at(0.5),
            p99_us: at(0.99),
            most_us: at(1.0),
        };
        Report {
            rows,
            figures,
            speed,
            table: words(self.kinds),
            categories: self.categories.into_iter().map(|(name, counts)| (name, words(counts))).collect(),
            techniques: self.techniques,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_what_they_say() {
        let row = |label: &str, technique: Option<&str>| Row {
            command: String::new(),
            label: serde_json::from_value(label.into()).unwrap(),
            category: "c".into(),
            technique: technique.map(String::from),
        };
        let mut score = Score::default();
        let took = Duration::from_micros(10);
        for (row, decision) in [
            (row("deny", None), Decision::Deny),
            (row("deny", Some("")), Decision::Ask),
            (row("deny", None), Decision::Allow),
            (row("deny", Some("quoting")), Decision::Deny),
            (row("allow", None), Decision::Ask),
            (row("allow", None), Decision::Allow),
            (row("allow", None), Decision::Allow),
            (row("allow", None), Decision::Deny),
            (row("ask", None), Decision::Allow),
            (row("ask", None), Decision::Deny),
        ] {
            score.add(&row, decision, took);
        }
        let report = score.report();
        let figure = |name: &str| report.figures[name];
        assert_eq!((figure("dangerous_caught"), figure("dangerous_denied")), (66.67, 33.33));
        assert_eq!((figure("evasions_caught"), figure("evasions_denied")), (100.0, 100.0));
        assert_eq!((figure("harmless_stopped"), figure("harmless_denied")), (50.0, 25.0));
        assert_eq!(figure("ask_auto_allowed"), 50.0);
        assert_eq!((report.rows, report.techniques["quoting"].deny), (10, 1));
        assert_eq!(report.speed.commands_per_second, 100_000.0);
    }
}
