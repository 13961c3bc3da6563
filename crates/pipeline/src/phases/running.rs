//! Phases 4b and 4c: the application is started and asked, and what it serves to a browser is fetched.

use crate::http_checks::{self, Check, Plan};
use crate::oracle::PLAN;
use crate::phase::Phase;
use crate::pipeline::Pipeline;
use crate::stop::Halt;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use serde_json::{Map, Value, json};

impl Pipeline {
    /// The plan, as it was agreed on.
    pub(super) fn plan(&self) -> Result<Plan, Halt> {
        self.oracle()?.put_back(self.root())?;
        Plan::read(&self.root().join(PLAN)).map_err(|problems| Halt::Tool(problems.join("; ")))
    }

    pub(super) async fn end_to_end(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::EndToEnd;
        let plan = self.plan()?;
        let rounds = self.ground.settings.count(&table::E2E_ROUNDS);
        let ask = async || Ok(http_checks::ask(&plan, &self.context(None)).await);
        let (round, checks) = self.until_right(phase, rounds, "MARVIN_E2E_ROUNDS", &ask).await?;
        let facts = json!({"rounds": round, "checks": checks.len(), "asked": checks});
        Ok(facts.as_object().cloned().unwrap_or_default())
    }

    pub(super) async fn frontend(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::Frontend;
        let plan = self.plan()?;
        // Whether anything is served is found out once; afterwards it must be right.
        let first = self
            .once(phase, "4c.served", async || {
                Ok(match http_checks::browse(&plan, &self.context(None)).await {
                    Ok(_) => Value::Null,
                    Err(reason) => json!(reason),
                })
            })
            .await?;
        if let Some(reason) = first.as_str() {
            let skipped = TraceEvent::PhaseSkipped { phase: phase.name().into(), reason: reason.into() };
            self.trace.event(skipped)?;
            return Ok(Map::from_iter([("skipped".to_string(), json!(reason))]));
        }
        let rounds = self.ground.settings.count(&table::FE_ROUNDS);
        let browse = async || {
            let gone =
                |reason: &str| vec![Check { name: "pages".into(), ok: false, detail: reason.to_string() }];
            Ok(http_checks::browse(&plan, &self.context(None)).await.unwrap_or_else(gone))
        };
        let (round, checks) = self.until_right(phase, rounds, "MARVIN_FE_ROUNDS", &browse).await?;
        let facts = json!({"rounds": round, "checks": checks.len(), "asked": checks});
        Ok(facts.as_object().cloned().unwrap_or_default())
    }

    /// Asks, and lets what is wrong be mended, until everything is right and the tests are still green.
    async fn until_right(
        &self,
        phase: Phase,
        rounds: usize,
        limit: &str,
        ask: &impl AsyncFn() -> Result<Vec<Check>, Halt>,
    ) -> Result<(usize, Vec<Check>), Halt> {
        let mut wrong = Vec::new();
        for round in 1..=rounds + 1 {
            let checks =
                self.once(phase, &format!("{phase}.ask.{round}"), async || Ok(json!(ask().await?))).await?;
            let mut checks: Vec<Check> =
                serde_json::from_value(checks).map_err(|error| Halt::Tool(error.to_string()))?;
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
                checks: json!(checks),
            })?;
            let before = std::mem::replace(&mut wrong, http_checks::failures(&checks));
            if wrong.is_empty() {
                return Ok((round, checks));
            }
            if round > rounds {
                break;
            }
            let list: String = wrong.iter().map(|line| format!("- {line}\n")).collect();
            let again = if wrong == before {
                "The round before this one failed in the same way: find another cause."
            } else {
                ""
            };
            let what = "The application was started and asked as `.marvin/e2e.json` says, and these answers are wrong:";
            self.debugger(phase, &format!("{phase}.fix.{round}"), what, &list, again).await?;
        }
        let list: String = wrong.iter().map(|line| format!("\n- {line}")).collect();
        Err(Halt::not_verified(
            "application",
            format!(
                "phase {phase}: after {rounds} rounds ({limit}) these answers are still wrong:{list}\n  hint: `marvin pipeline resume` tries again"
            ),
        ))
    }
}
