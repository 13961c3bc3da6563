//! Phase 5: testers look for mistakes; what the pipeline can reproduce is fixed and run again. Then everything is verified once
//! more.

use super::{MAX_ATTEMPTS, before, fill};
use crate::documents::Document;
use crate::finding::{Finding, Review, Severity};
use crate::http_checks::{self, Check, CheckError, Command, Plan, Request};
use crate::mock_detection;
use crate::phase::Phase;
use crate::pipeline::Pipeline;
use crate::stop::Halt;
use futures_util::future::join_all;
use marvin_agent::launch::ModelChoice;
use marvin_base::atomic;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use serde::Serialize;
use serde_json::{Map, Value};

const PHASE: Phase = Phase::Quality;

/// The testers and their focus.
const TESTERS: [(&str, &str); 4] = [
    (
        "data",
        "data and interfaces: wrong results, lost or mixed-up data, output that contradicts the specification",
    ),
    (
        "errors",
        "errors and edge cases: empty, huge, wrong, missing, repeated and concurrent input; messages to the user",
    ),
    ("security", "security: trusted input, path traversal, exposed secrets, code injection"),
    ("load", "performance and resources: unbounded growth, files and connections that stay open"),
];

#[derive(Serialize)]
struct QualityFacts {
    rounds: usize,
    #[serde(rename = "mended")]
    fixed: Vec<Finding>,
    minor: usize,
    not_reproduced: usize,
    proved: Vec<Check>,
}

impl Pipeline {
    pub(super) async fn quality(&self) -> Result<Map<String, Value>, Halt> {
        let plan = self.plan()?;
        let rounds = self.project.settings.count(&table::QA_ROUNDS);
        let mut open: Vec<Finding> = Vec::new();
        let mut fixed: Vec<Finding> = Vec::new();
        let mut history: Vec<(Vec<Finding>, Vec<Finding>)> = Vec::new();
        let mut asked_rounds = 0;
        for round in 1..=rounds {
            asked_rounds = round;
            let found = self.testers(round, &fixed).await?;
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
                    format!("- {finding}\n  reproduced by: {}\n", finding.repro.clone().unwrap_or_default())
                })
                .collect();
            let what = "These mistakes were found, and the pipeline has reproduced each of them. Fix them all; the tests must still pass:";
            self.debugger(PHASE, &format!("5.fix.{round}"), what, &list, "").await?;
            let (left, gone) = self.still_there(round, std::mem::take(&mut open), &plan).await?;
            open = left;
            fixed.extend(gone);
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
                    "after {rounds} rounds (MARVIN_QA_ROUNDS) these mistakes remain:\n{}\n  hint: `marvin pipeline resume` tries again",
                    bad.join("\n")
                ),
            ));
        }
        let proved = self.verify_all(&plan, &fixed).await?;
        Ok(super::facts(&QualityFacts {
            rounds: asked_rounds,
            fixed,
            minor: open.len(),
            not_reproduced: history.iter().map(|(_, dropped)| dropped.len()).sum(),
            proved,
        }))
    }

    async fn testers(&self, round: usize, fixed: &[Finding]) -> Result<Vec<Finding>, Halt> {
        let asked = if round == 1 { TESTERS.len() } else { 1 };
        let reviews =
            join_all(TESTERS.iter().take(asked).map(|(name, focus)| self.tester(round, name, focus, fixed)))
                .await;
        let mut findings: Vec<Finding> = Vec::new();
        for review in reviews {
            findings.extend(review?.findings);
        }
        findings.sort_by_key(|finding| finding.severity);
        Ok(findings)
    }

    async fn tester(&self, round: usize, name: &str, focus: &str, fixed: &[Finding]) -> Result<Review, Halt> {
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let step = if attempt == 1 {
                format!("5.qa{round}.{name}")
            } else {
                format!("5.qa{round}.{name}.{attempt}")
            };
            let mut earlier = before(&problems);
            if !fixed.is_empty() {
                earlier.push_str(&format!("\n# Found before, and fixed\n{}", super::listed(fixed)));
            }
            let text = fill(
                include_str!("../../prompts/qa.md"),
                &[("focus", focus), ("before", &earlier), ("goal", self.goal())],
            );
            match self.findings(PHASE, step, ModelChoice::Opus, text, true).await? {
                Ok(review) => return Ok(review),
                Err(why) => problems = vec![why.to_string()],
            }
        }
        Err(Halt::failed(
            "empty_review",
            format!(
                "the tester 5.qa{round}.{name} gave no report in {MAX_ATTEMPTS} attempts: {}",
                problems.join("; ")
            ),
        ))
    }

    /// Runs the repro of each finding: returns those that it reproduces, and the others.
    async fn reproduce(
        &self,
        round: usize,
        found: Vec<Finding>,
        plan: &Plan,
    ) -> Result<(Vec<Finding>, Vec<Finding>), Halt> {
        let (mut shown, mut dropped) = (Vec::new(), Vec::new());
        for (number, mut finding) in found.into_iter().enumerate() {
            let name = format!("5.repro{round}.{number}");
            let check: Check =
                self.once(PHASE, &name, async || Ok(self.reproduction(&finding, plan).await)).await?;
            self.trace.event(TraceEvent::FindingTried {
                phase: PHASE.name().into(),
                step_id: name,
                finding: serde_json::to_value(&finding).unwrap_or_default(),
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

    /// Runs the repros again after the fix: returns those that remain and those that are gone. Failing tests undo every fix.
    async fn still_there(
        &self,
        round: usize,
        open: Vec<Finding>,
        plan: &Plan,
    ) -> Result<(Vec<Finding>, Vec<Finding>), Halt> {
        let tested = self.tested(PHASE, &format!("5.tests.{round}")).await?;
        let (mut left, mut gone) = (Vec::new(), Vec::new());
        for (number, finding) in open.into_iter().enumerate() {
            let check: Check = self
                .once(PHASE, &format!("5.mended{round}.{number}"), async || {
                    Ok(self.reproduction(&finding, plan).await)
                })
                .await?;
            let is_fixed = check.ok && tested.green;
            if is_fixed { gone.push(finding) } else { left.push(finding) }
        }
        Ok((left, gone))
    }

    /// Runs the repro of a finding: a passed check means that it is not reproduced.
    async fn reproduction(&self, finding: &Finding, plan: &Plan) -> Check {
        let none = |detail: &str| Check { name: finding.place.clone(), ok: true, detail: detail.to_string() };
        let Some(repro) = &finding.repro else { return none("it has no repro") };
        let context = self.context(None);
        if let Some(request) = repro.get("request") {
            return match serde_json::from_value::<Request>(request.clone()) {
                Ok(request) => http_checks::ask_one(plan, &request, &context).await,
                Err(error) => none(&format!("its request is invalid: {error}")),
            };
        }
        match serde_json::from_value::<Command>(repro.clone()) {
            Ok(command) => match http_checks::run(&command, &context).await {
                Ok(check) => check,
                // A command that was not run shows nothing.
                Err(error @ CheckError::Refused { .. }) => none(&error.to_string()),
                Err(error) => Check { name: command.title(), ok: false, detail: error.to_string() },
            },
            Err(error) => none(&format!("its repro is invalid: {error}")),
        }
    }

    fn write_quality(&self, history: &[(Vec<Finding>, Vec<Finding>)]) -> Result<(), Halt> {
        let Some(path) = self.project.layout.review_history("5-quality") else { return Ok(()) };
        let mut text = "# Adversarial testing\n".to_string();
        for (number, (shown, dropped)) in history.iter().enumerate() {
            text.push_str(&format!(
                "\n## Round {}\n\nReproduced:\n{}\nNot reproduced:\n{}",
                number + 1,
                super::listed(shown),
                super::listed(dropped)
            ));
        }
        Ok(atomic::replace(&path, self.project.redactor.text(&text).as_bytes())?)
    }

    /// Verifies everything once more, for the report.
    async fn verify_all(&self, plan: &Plan, fixed: &[Finding]) -> Result<Vec<Check>, Halt> {
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
        for finding in fixed {
            let check = self.reproduction(finding, plan).await;
            checks.push(Check { name: format!("fixed: {}", finding.place), ..check });
        }
        let changed = self.oracle()?.changes(self.root());
        checks.push(Check {
            name: "the tests are the sealed ones".into(),
            ok: changed.is_empty(),
            detail: changed.join(", "),
        });
        let doubles: Vec<String> =
            mock_detection::find(self.root()).into_iter().map(|finding| finding.place).collect();
        checks.push(Check {
            name: "no test uses a mock".into(),
            ok: doubles.is_empty(),
            detail: doubles.join(", "),
        });
        for document in [Document::Specification, Document::Experience, Document::Design] {
            let problems = document.problems(self.root());
            checks.push(Check {
                name: format!("{} is complete", document.path()),
                ok: problems.is_empty(),
                detail: problems.join("; "),
            });
        }
        self.trace.event(TraceEvent::Proved { checks: serde_json::to_value(&checks).unwrap_or_default() })?;
        let failures = http_checks::failures(&checks);
        match failures.is_empty() {
            true => Ok(checks),
            false => Err(Halt::not_verified(
                "proof",
                format!(
                    "the final verification failed:\n- {}\n  hint: `marvin pipeline resume` tries again",
                    failures.join("\n- ")
                ),
            )),
        }
    }
}
