//! Phase 5: testers look for mistakes; what the pipeline itself can reproduce is mended and run again. Then everything is proved
//! once more.

use super::{ATTEMPTS, before, fill};
use crate::documents::Document;
use crate::finding::{Finding, Review, Severity};
use crate::http_checks::{self, Check, Command, Plan, Request};
use crate::mock_detection;
use crate::phase::Phase;
use crate::pipeline::Pipeline;
use crate::stop::Halt;
use futures_util::future::join_all;
use marvin_agent::launch::ModelChoice;
use marvin_base::atomic;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use serde_json::{Map, Value, json};

const PHASE: Phase = Phase::Quality;

/// Who looks for what.
const TESTERS: [(&str, &str); 4] = [
    (
        "data",
        "data and interfaces: wrong results, lost or mixed-up data, answers that contradict the specification",
    ),
    (
        "errors",
        "errors and edges: empty, huge, wrong, missing, twice, at the same time; what the user is told",
    ),
    (
        "security",
        "security: input that is trusted, paths that lead out, secrets that are shown, code that is injected",
    ),
    ("load", "performance and resources: what grows without bound, files and connections that stay open"),
];

impl Pipeline {
    pub(super) async fn quality(&self) -> Result<Map<String, Value>, Halt> {
        let plan = self.plan()?;
        let rounds = self.ground.settings.count(&table::QA_ROUNDS);
        let mut open: Vec<Finding> = Vec::new();
        let mut mended: Vec<Finding> = Vec::new();
        let mut history: Vec<(Vec<Finding>, Vec<Finding>)> = Vec::new();
        let mut asked_rounds = 0;
        for round in 1..=rounds {
            asked_rounds = round;
            let found = self.testers(round, &mended).await?;
            let (shown, dropped) = self.reproduce(round, found, &plan).await?;
            history.push((shown.clone(), dropped));
            self.write_quality(&history)?;
            for finding in shown {
                if !open.iter().any(|known| known.repro == finding.repro) {
                    open.push(finding);
                }
            }
            if open.is_empty() {
                break;
            }
            let list: String = open
                .iter()
                .map(|finding| {
                    format!("- {finding}\n  it is shown by: {}\n", finding.repro.clone().unwrap_or_default())
                })
                .collect();
            let what = "These mistakes were found, and the pipeline has reproduced each of them. Mend them all; the tests must stay green:";
            self.debugger(PHASE, &format!("5.fix.{round}"), what, &list, "").await?;
            let (left, gone) = self.still_there(round, std::mem::take(&mut open), &plan).await?;
            open = left;
            mended.extend(gone);
        }
        let bad: Vec<String> = open
            .iter()
            .filter(|finding| finding.severity < Severity::Minor)
            .map(|finding| format!("- {finding}"))
            .collect();
        if !bad.is_empty() {
            return Err(Halt::not_verified(
                "findings",
                format!(
                    "after {rounds} rounds (MARVIN_QA_ROUNDS) these mistakes are still there:\n{}\n  hint: `marvin pipeline resume` tries again",
                    bad.join("\n")
                ),
            ));
        }
        let proved = self.prove(&plan, &mended).await?;
        let facts = json!({
            "rounds": asked_rounds, "mended": mended, "minor": open.len(),
            "not_reproduced": history.iter().map(|(_, dropped)| dropped.len()).sum::<usize>(), "proved": proved,
        });
        Ok(facts.as_object().cloned().unwrap_or_default())
    }

    async fn testers(&self, round: usize, mended: &[Finding]) -> Result<Vec<Finding>, Halt> {
        let asked = if round == 1 { TESTERS.len() } else { 1 };
        let reviews =
            join_all(TESTERS.iter().take(asked).map(|(name, focus)| self.tester(round, name, focus, mended)))
                .await;
        let mut findings: Vec<Finding> = Vec::new();
        for review in reviews {
            findings.extend(review?.findings);
        }
        findings.sort_by_key(|finding| finding.severity);
        Ok(findings)
    }

    async fn tester(
        &self,
        round: usize,
        name: &str,
        focus: &str,
        mended: &[Finding],
    ) -> Result<Review, Halt> {
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=ATTEMPTS {
            let step = if attempt == 1 {
                format!("5.qa{round}.{name}")
            } else {
                format!("5.qa{round}.{name}.{attempt}")
            };
            let mut told = before(&problems);
            if !mended.is_empty() {
                told.push_str(&format!("\n# Found before, and mended\n{}", super::listed(mended)));
            }
            let text = fill(
                include_str!("../../prompts/qa.md"),
                &[("focus", focus), ("before", &told), ("goal", self.goal())],
            );
            match self.findings(PHASE, step, ModelChoice::Opus, text, true).await? {
                Ok(review) => return Ok(review),
                Err(why) => problems = vec![why],
            }
        }
        Err(Halt::failed(
            "empty_review",
            format!(
                "the tester 5.qa{round}.{name} gave no report in {ATTEMPTS} attempts: {}",
                problems.join("; ")
            ),
        ))
    }

    /// Runs what shows each finding: only what fails counts. Gives those, and the others.
    async fn reproduce(
        &self,
        round: usize,
        found: Vec<Finding>,
        plan: &Plan,
    ) -> Result<(Vec<Finding>, Vec<Finding>), Halt> {
        let (mut shown, mut dropped) = (Vec::new(), Vec::new());
        for (number, mut finding) in found.into_iter().enumerate() {
            let name = format!("5.repro{round}.{number}");
            let check = self.once(PHASE, &name, async || Ok(json!(self.shows(&finding, plan).await))).await?;
            let check: Check =
                serde_json::from_value(check).map_err(|error| Halt::Tool(error.to_string()))?;
            self.trace.event(TraceEvent::FindingTried {
                phase: PHASE.name().into(),
                step_id: name,
                finding: json!(finding),
                reproduced: !check.ok,
                seen: check.detail.clone(),
            })?;
            if check.ok {
                finding.text = format!("{} (not reproduced: {})", finding.text, check.detail);
                dropped.push(finding);
            } else {
                shown.push(finding);
            }
        }
        Ok((shown, dropped))
    }

    /// Runs them again after they were mended. The tests must be green as well, or nothing was mended.
    async fn still_there(
        &self,
        round: usize,
        open: Vec<Finding>,
        plan: &Plan,
    ) -> Result<(Vec<Finding>, Vec<Finding>), Halt> {
        let tested = self.tested(PHASE, &format!("5.tests.{round}")).await?;
        let (mut left, mut gone) = (Vec::new(), Vec::new());
        for (number, finding) in open.into_iter().enumerate() {
            let check = self
                .once(PHASE, &format!("5.mended{round}.{number}"), async || {
                    Ok(json!(self.shows(&finding, plan).await))
                })
                .await?;
            let right = check.get("ok") == Some(&json!(true)) && tested.green;
            if right { gone.push(finding) } else { left.push(finding) }
        }
        Ok((left, gone))
    }

    /// What a finding is shown by, run: right means that it is not there.
    async fn shows(&self, finding: &Finding, plan: &Plan) -> Check {
        let none = |detail: &str| Check { name: finding.place.clone(), ok: true, detail: detail.to_string() };
        let Some(repro) = &finding.repro else { return none("nothing shows it") };
        let context = self.context(None);
        if let Some(request) = repro.get("request") {
            return match serde_json::from_value::<Request>(request.clone()) {
                Ok(request) => http_checks::ask_one(Some(plan), &request, &context).await,
                Err(error) => none(&format!("its request cannot be understood: {error}")),
            };
        }
        match serde_json::from_value::<Command>(repro.clone()) {
            Ok(command) => {
                let check = http_checks::run(&command, &context).await;
                // What may not be run shows nothing.
                if check.detail.starts_with("the gate does not allow") { none(&check.detail) } else { check }
            }
            Err(error) => none(&format!("what shows it cannot be understood: {error}")),
        }
    }

    fn write_quality(&self, history: &[(Vec<Finding>, Vec<Finding>)]) -> Result<(), Halt> {
        let Some(path) = self.ground.layout.review_history("5-quality") else { return Ok(()) };
        let mut text = "# Adversarial testing\n".to_string();
        for (number, (shown, dropped)) in history.iter().enumerate() {
            text.push_str(&format!(
                "\n## Round {}\n\nReproduced:\n{}\nNot reproduced:\n{}",
                number + 1,
                super::listed(shown),
                super::listed(dropped)
            ));
        }
        Ok(atomic::replace(&path, self.ground.redactor.text(&text).as_bytes())?)
    }

    /// Everything once more, from scratch: what the report says was proved.
    async fn prove(&self, plan: &Plan, mended: &[Finding]) -> Result<Vec<Check>, Halt> {
        let mut checks = Vec::new();
        let tested = self.run_tests(false).await?;
        checks.push(Check {
            name: format!("tests: `{}`", tested.command),
            ok: tested.green,
            detail: tested.words(),
        });
        let context = self.context(None);
        checks.extend(http_checks::ask(plan, &context).await);
        checks.extend(http_checks::browse(plan, &context).await.unwrap_or_default());
        for finding in mended {
            let check = self.shows(finding, plan).await;
            checks.push(Check { name: format!("mended: {}", finding.place), ..check });
        }
        let changed = self.oracle()?.changes(self.root());
        checks.push(Check {
            name: "the tests are those that were agreed on".into(),
            ok: changed.is_empty(),
            detail: changed.join(", "),
        });
        let doubles: Vec<String> =
            mock_detection::find(self.root()).into_iter().map(|finding| finding.place).collect();
        checks.push(Check {
            name: "no test uses a stand-in".into(),
            ok: doubles.is_empty(),
            detail: doubles.join(", "),
        });
        for document in [Document::Specification, Document::Experience, Document::Design] {
            let problems = document.problems(self.root());
            checks.push(Check {
                name: format!("{} is whole", document.path()),
                ok: problems.is_empty(),
                detail: problems.join("; "),
            });
        }
        self.trace.event(TraceEvent::Proved { checks: json!(checks) })?;
        let wrong = http_checks::failures(&checks);
        match wrong.is_empty() {
            true => Ok(checks),
            false => Err(Halt::not_verified(
                "proof",
                format!(
                    "at the end this does not hold:\n- {}\n  hint: `marvin pipeline resume` tries again",
                    wrong.join("\n- ")
                ),
            )),
        }
    }
}
