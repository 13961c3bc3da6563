//! Phases 4b and 4c: checking the running application and its pages.

use super::facts;
use crate::http_checks::{self, Check, Plan};
use crate::oracle::PLAN;
use crate::phase::Phase;
use crate::pipeline::Pipeline;
use crate::stop::Halt;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
struct CheckFacts {
    rounds: usize,
    checks: usize,
    asked: Vec<Check>,
}

impl Pipeline {
    /// The sealed plan.
    pub(super) fn plan(&self) -> Result<Plan, Halt> {
        self.oracle()?.restore(self.root())?;
        Plan::read(&self.root().join(PLAN)).map_err(|problems| Halt::Tool(problems.join("; ")))
    }

    pub(super) async fn end_to_end(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::EndToEnd;
        let plan = self.plan()?;
        let rounds = self.project.settings.count(&table::E2E_ROUNDS);
        let ask = async || Ok(http_checks::ask(&plan, &self.context(None)).await);
        let (round, checks) = self.until_right(phase, rounds, "MARVIN_E2E_ROUNDS", &ask).await?;
        Ok(facts(&CheckFacts { rounds: round, checks: checks.len(), asked: checks }))
    }

    pub(super) async fn frontend(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::Frontend;
        let plan = self.plan()?;
        // Whether pages are served is determined once; afterwards they must be right.
        let skipped: Option<String> = self
            .once(phase, "4c.served", async || {
                Ok(http_checks::browse(&plan, &self.context(None)).await.err().map(str::to_string))
            })
            .await?;
        if let Some(reason) = skipped {
            let event = TraceEvent::PhaseSkipped { phase: phase.name().into(), reason: reason.clone() };
            self.trace.event(event)?;
            return Ok(Map::from_iter([("skipped".to_string(), reason.into())]));
        }
        let rounds = self.project.settings.count(&table::FE_ROUNDS);
        let browse = async || {
            let gone =
                |reason: &str| vec![Check { name: "pages".into(), ok: false, detail: reason.to_string() }];
            Ok(http_checks::browse(&plan, &self.context(None)).await.unwrap_or_else(gone))
        };
        let (round, checks) = self.until_right(phase, rounds, "MARVIN_FE_ROUNDS", &browse).await?;
        Ok(facts(&CheckFacts { rounds: round, checks: checks.len(), asked: checks }))
    }

    /// Checks and lets an agent fix the failures, until all checks and the tests pass.
    async fn until_right(
        &self,
        phase: Phase,
        rounds: usize,
        limit: &str,
        ask: &impl AsyncFn() -> Result<Vec<Check>, Halt>,
    ) -> Result<(usize, Vec<Check>), Halt> {
        let mut failures = Vec::new();
        for round in 1..=rounds + 1 {
            let mut checks: Vec<Check> =
                self.once(phase, &format!("{phase}.ask.{round}"), async || ask().await).await?;
            if round > 1 {
                let tested = self.tested(phase, &format!("{phase}.tests.{round}")).await?;
                checks.push(Check {
                    name: format!("the tests, `{}`", tested.command),
                    ok: tested.green,
                    detail: format!("{} {}", tested.words(), tested.failing.join(", ")),
                });
            }
            self.trace.event(TraceEvent::ApplicationAsked {
                phase: phase.name().into(),
                round,
                checks: serde_json::to_value(&checks).unwrap_or_default(),
            })?;
            let before = std::mem::replace(&mut failures, http_checks::failures(&checks));
            if failures.is_empty() {
                return Ok((round, checks));
            }
            if round > rounds {
                break;
            }
            let list: String = failures.iter().map(|line| format!("- {line}\n")).collect();
            let again = if failures == before {
                "The previous round failed in the same way: find another cause."
            } else {
                ""
            };
            let what =
                "The application was started and checked as `.marvin/e2e.json` says, and these checks fail:";
            self.debugger(phase, &format!("{phase}.fix.{round}"), what, &list, again).await?;
        }
        let list: String = failures.iter().map(|line| format!("\n- {line}")).collect();
        Err(Halt::not_verified(
            "application",
            format!(
                "phase {phase}: after {rounds} rounds ({limit}) these checks still fail:{list}\n  hint: `marvin pipeline resume` tries again"
            ),
        ))
    }
}
