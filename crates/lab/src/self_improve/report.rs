//! The reports of a run, made from its journal: `self_improve.json`, `.md`, and a page with plots.

use super::ImproveError;
use super::compare::RUBRIC;
use super::evaluation::Evaluation;
use super::journal::{BatchHistory, History, MergeReport, StopReason};
use super::plan::Plan;
use super::run_context::session_state;
use super::session_report::{AttemptReport, PATCH_FILE, SessionReport, SessionStatus};
use super::workflow::count_session_calls;
use crate::report::chart::{self, Bar, Group, escape};
use crate::report::{html::page, markdown::table};
use marvin_base::atomic;
use marvin_base::redact::Redactor;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const NAME: &str = "self_improve";
const ACKNOWLEDGEMENT: &str = "This run is bound by the constitution (docs/constitution.md): growth is measured by an explicit \
    evaluation, decisions are recorded and deterministic, nothing was merged without verification, stop signals end the work, and \
    energy is reported as planned and as used.";
const AUDIT_HEADS: [&str; 8] =
    ["batch", "session", "verified", "workflow", "model calls", "tool calls", "energy", "changed files"];

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ImproveStatus {
    /// It has no end yet.
    Running,
    Completed,
    Stopped,
}

impl ImproveStatus {
    fn word(self) -> &'static str {
        match self {
            ImproveStatus::Running => "RUNNING",
            ImproveStatus::Completed => "COMPLETED",
            ImproveStatus::Stopped => "STOPPED",
        }
    }
}

/// `self_improve.json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    pub version: u32,
    pub status: ImproveStatus,
    pub stop_reason: Option<StopReason>,
    pub goal: String,
    pub input: InputReference,
    pub run_root: String,
    pub settings: Plan,
    pub energy: Energy,
    pub batches: Vec<BatchReport>,
}

/// The input without its content.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InputReference {
    pub kind: super::input::InputKind,
    #[serde(rename = "ref")]
    pub reference: String,
}

/// Model calls and tool calls.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Energy {
    pub planned: u64,
    pub actual: u64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BatchReport {
    pub batch_index: u32,
    pub base: String,
    pub winner_session_id: Option<String>,
    /// Whether the checkout has the result of the winner; one that needed no change is there without a merge.
    pub merged: bool,
    pub merge: Option<MergeReport>,
    /// The evaluation of the merged tree.
    pub master_evaluation: Option<Evaluation>,
    pub master_baseline_evaluation: Evaluation,
    pub sessions: Vec<SessionReport>,
}

impl BatchReport {
    fn new(index: u32, batch: &BatchHistory, plan: &Plan, run: &Path) -> BatchReport {
        let unfinished = batch.open.iter().map(|(id, open)| {
            // The attempt that was stopped has no report, and its calls were made all the same.
            let calls = count_session_calls(&session_state(run, id));
            let number = id.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
            SessionReport {
                session_id: id.clone(),
                provider: number.map(|number| plan.provider(number).to_string()).unwrap_or_default(),
                model_calls: calls.model_calls,
                tool_calls: calls.tool_calls,
                verification_reason: "it has not ended".into(),
                attempts: open.attempts.clone(),
                ..SessionReport::default()
            }
        });
        let mut sessions: Vec<SessionReport> = batch.ended.values().cloned().chain(unfinished).collect();
        sessions.sort_by(|a, b| a.session_id.cmp(&b.session_id));
        // Prompts are long; session.json has them.
        for attempt in sessions.iter_mut().flat_map(|session| &mut session.attempts) {
            *attempt = AttemptReport { prompt: String::new(), ..attempt.clone() };
        }
        let merge = batch.merge.clone();
        BatchReport {
            batch_index: index,
            base: batch.base.clone(),
            winner_session_id: batch.winner.clone().flatten(),
            merged: merge.as_ref().is_some_and(|merge| merge.merged),
            master_evaluation: merge.as_ref().and_then(|merge| merge.evaluation.clone()),
            merge,
            master_baseline_evaluation: batch.evaluation.clone(),
            sessions,
        }
    }

    /// The changes of a winner that was not merged, as a file for `git apply`.
    #[must_use]
    pub fn stranded_patch(&self) -> Option<PathBuf> {
        let winner = self.winner_session_id.as_ref()?;
        let session = self.sessions.iter().find(|session| session.session_id == *winner)?;
        let is_stranded = self.merge.as_ref().is_some_and(|merge| !merge.merged);
        let path = Path::new(&session.run_root).join(PATCH_FILE);
        (is_stranded && path.is_file()).then_some(path)
    }

    /// Whether a resumed run tries to merge the winner again.
    #[must_use]
    pub fn can_retry(&self) -> bool {
        self.merge.as_ref().is_some_and(|merge| merge.can_retry)
    }

    /// The winner, and whether it was merged, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        let winner = self.winner_session_id.as_deref().unwrap_or("none");
        let mut merge = match &self.merge {
            Some(MergeReport { merged: false, reason: Some(reason), .. }) => format!("not merged: {reason}"),
            Some(MergeReport { merged: true, reason: Some(reason), .. }) => reason.clone(),
            Some(MergeReport { commit: Some(commit), .. }) => {
                format!("merged as {}", commit.get(..12).unwrap_or(commit))
            }
            _ => "not over".to_string(),
        };
        let conflicts = self.merge.as_ref().filter(|merge| merge.merged).map(|merge| &merge.conflicts);
        if let Some(conflicts) = conflicts.filter(|conflicts| !conflicts.is_empty()) {
            merge.push_str(&format!("; conflicts went to the winner: {}", conflicts.join(", ")));
        }
        format!("winner {winner}, {merge}")
    }
}

impl Report {
    pub(super) fn new(history: &History, run: &Path) -> Report {
        let mut settings = history.plan.clone().unwrap_or_default();
        let batches = history.batches.iter();
        let batches: Vec<BatchReport> =
            batches.map(|(index, batch)| BatchReport::new(*index, batch, &settings, run)).collect();
        let input = InputReference { kind: settings.input.kind, reference: settings.input.reference.clone() };
        settings.input.content.clear();
        Report {
            version: 1,
            status: match (history.completed, history.stopped) {
                (true, _) => ImproveStatus::Completed,
                (false, Some(_)) => ImproveStatus::Stopped,
                (false, None) => ImproveStatus::Running,
            },
            stop_reason: history.stopped.filter(|_| !history.completed),
            goal: settings.goal.clone(),
            run_root: run.display().to_string(),
            energy: Energy {
                planned: settings.planned_energy(),
                actual: batches.iter().flat_map(|batch| &batch.sessions).map(SessionReport::energy).sum(),
            },
            input,
            settings,
            batches,
        }
    }

    fn sessions(&self) -> impl Iterator<Item = &SessionReport> {
        self.batches.iter().flat_map(|batch| &batch.sessions)
    }

    #[must_use]
    pub fn tool_calls(&self) -> u64 {
        self.sessions().map(|session| session.tool_calls).sum()
    }

    /// Whether a person must say more before anything can be done.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.sessions().any(|session| session.status == SessionStatus::Blocked)
    }

    /// Whether a winner was merged, or found where nothing is to be merged.
    #[must_use]
    pub fn has_success(&self) -> bool {
        self.batches
            .iter()
            .any(|batch| batch.merged || batch.winner_session_id.is_some() && !self.settings.merge)
    }

    /// Writes all forms of the report; returns their paths.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn write(&self, directory: &Path, redactor: &Redactor) -> Result<Vec<PathBuf>, ImproveError> {
        std::fs::create_dir_all(directory).map_err(|error| ImproveError::file(directory, error))?;
        let mut value = serde_json::to_value(self).unwrap_or_default();
        redactor.value(&mut value);
        let forms = [("json", format!("{value:#}\n")), ("md", self.markdown()), ("html", self.html())];
        forms
            .into_iter()
            .map(|(ending, text)| {
                let path = directory.join(format!("{NAME}.{ending}"));
                atomic::replace(&path, redactor.text(&text).as_bytes())?;
                Ok(path)
            })
            .collect()
    }

    fn audit_rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.batches.iter().flat_map(|batch| {
            batch.sessions.iter().map(|session| {
                let files = session.changed_files.join(", ");
                vec![
                    batch.batch_index.to_string(),
                    session.session_id.clone(),
                    if session.verification_ok {
                        "yes".into()
                    } else {
                        format!("no: {}", session.verification_reason)
                    },
                    session.workflow_status.clone(),
                    session.model_calls.to_string(),
                    session.tool_calls.to_string(),
                    session.energy().to_string(),
                    if files.is_empty() { "none".into() } else { files },
                ]
            })
        })
    }

    /// The result in a word or two, which agrees with the exit code; why the run stopped.
    #[must_use]
    pub fn describe_result(&self) -> String {
        let has_winner = || self.batches.iter().any(|batch| batch.winner_session_id.is_some());
        let word = match self.stop_reason {
            Some(reason) => return format!("{} ({})", self.status.word(), reason.describe()),
            None if self.status == ImproveStatus::Running => self.status.word(),
            None if self.is_blocked() => "BLOCKED",
            None if self.has_success() && self.settings.merge => "MERGED",
            None if self.has_success() => "VERIFIED",
            None if has_winner() => "NOT MERGED",
            None => "NOT VERIFIED",
        };
        word.to_string()
    }

    fn markdown(&self) -> String {
        let mut text = format!(
            "# Self-improve: {}\n\nStatus: {}\n\n## Constitution Acknowledgement\n\n{ACKNOWLEDGEMENT}\n\n## Scoring Rubric\n\n",
            self.goal.trim().lines().next().unwrap_or_default(),
            self.describe_result()
        );
        for (number, criterion) in (1..).zip(RUBRIC) {
            let _ = writeln!(text, "{number}. {criterion}");
        }
        let Energy { planned, actual } = self.energy;
        let _ = write!(
            text,
            "\nLexicographic, higher is better. Of equal scores the lowest session id wins; the order in which sessions end and their energy do not count.\n\n\
             ## Energy Budget\n\nPlanned energy: {planned}\n\nActual energy: {actual} (model calls + tool calls of all sessions)\n\n## Audit Log\n\n{}\n## Batches\n",
            table(&AUDIT_HEADS, self.audit_rows())
        );
        for batch in &self.batches {
            let _ = write!(
                text,
                "\n### Batch {}\n\nBaseline: {}\n\n{}\n",
                batch.batch_index,
                batch.master_baseline_evaluation.summary(),
                batch.summary()
            );
            if let Some(after) = &batch.master_evaluation {
                let _ = write!(text, "\nAfter the merge: {}\n", after.summary());
            }
            if let Some(patch) = batch.stranded_patch() {
                let _ = write!(text, "\nThe changes of the winner: `git apply {}`\n", patch.display());
            }
            for session in &batch.sessions {
                let questions: String =
                    session.clarifying_questions.iter().map(|one| format!(" {one}")).collect();
                let _ = write!(
                    text,
                    "\n- Session {}: attempts {}, score {:?}, {}{questions}",
                    session.title(&[&session.provider, &session.strategy]),
                    session.entrypoint_attempts,
                    session.score,
                    session.evaluation.as_ref().map_or_else(|| "not evaluated".into(), Evaluation::summary),
                );
            }
            text.push('\n');
        }
        text
    }

    fn html(&self) -> String {
        let mut body = format!(
            "<h1>Self-improve</h1><p>{}</p><p class=\"soft\">{} · energy {} planned, {} used</p><div class=\"note\">{ACKNOWLEDGEMENT}</div><h2>Figures</h2><div class=\"charts\">",
            escape(&self.goal),
            escape(&self.describe_result()),
            self.energy.planned,
            self.energy.actual
        );
        type Pick = fn(&SessionReport) -> u64;
        let figures: [(&str, &str, Pick); 4] = [
            ("Criteria met", "of the first four of the rubric", SessionReport::criteria_met),
            ("Passed tests", "in the last evaluation of a session", SessionReport::passed_tests),
            ("Energy", "model calls + tool calls", SessionReport::energy),
            ("Changes", "files that were changed", |session| session.changed_files.len() as u64),
        ];
        for (title, meaning, pick) in figures {
            let groups: Vec<Group> =
                self.sessions().map(|session| bar(session, title, pick(session))).collect();
            let _ = write!(
                body,
                "<section class=\"card\"><h3>{title}</h3><p class=\"soft\">{meaning}</p>{}</section>",
                chart::bars(title, &groups, None)
            );
        }
        body.push_str("</div><h2>Batches</h2>");
        for batch in &self.batches {
            let _ = write!(
                body,
                "<p><strong>Batch {}</strong>: {}. Baseline: {}.</p>",
                batch.batch_index,
                escape(&batch.summary()),
                escape(&batch.master_baseline_evaluation.summary())
            );
        }
        body.push_str("<h2>Audit log</h2><div class=\"wide\"><table><thead><tr>");
        body.extend(AUDIT_HEADS.iter().map(|head| format!("<th>{head}</th>")));
        body.push_str("</tr></thead><tbody>");
        for row in self.audit_rows() {
            let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
            let _ = write!(body, "<tr>{cells}</tr>");
        }
        body.push_str("</tbody></table></div>");
        page("Self-improve", &body)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls and files")]
fn bar(session: &SessionReport, title: &str, value: u64) -> Group {
    let bar = Bar {
        series: 0,
        value: Some(value as f64),
        label: value.to_string(),
        title: format!("session {}, {title}: {value}", session.session_id),
    };
    Group { name: session.session_id.clone(), bars: vec![bar] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_that_went_to_the_winner_are_told() {
        let merge = MergeReport {
            merged: true,
            commit: Some("0123456789abcdef".into()),
            conflicts: vec!["src/prices.py".into(), "src/b.py".into()],
            ..MergeReport::default()
        };
        let batch =
            BatchHistory { winner: Some(Some("1-2".into())), merge: Some(merge), ..BatchHistory::default() };
        let plan = super::super::plan::tests::plan("Fix it now");
        let mut history = History { plan: Some(plan), ..History::default() };
        history.batches.insert(1, batch);
        let report = Report::new(&history, Path::new("/r"));
        let told =
            "winner 1-2, merged as 0123456789ab; conflicts went to the winner: src/prices.py, src/b.py";
        assert_eq!(report.batches[0].summary(), told);
        assert!(report.markdown().contains(told));
    }

    #[test]
    fn a_stopped_run_says_why_and_open_sessions_have_no_empty_parts() {
        let plan = Plan { llm: String::new(), ..super::super::plan::tests::plan("Fix it now") };
        let mut history =
            History { plan: Some(plan), stopped: Some(StopReason::Budget), ..History::default() };
        let batch = BatchHistory {
            open: [("1-1".to_string(), Default::default())].into(),
            ..BatchHistory::default()
        };
        history.batches.insert(1, batch);
        let report = Report::new(&history, Path::new("/r"));
        let text = report.markdown();
        assert!(text.contains("\nStatus: STOPPED (the budget is spent)\n"), "{text}");
        assert!(text.contains("\n- Session 1-1: attempts 0"), "{text}");
    }

    #[test]
    fn the_result_of_a_completed_run_agrees_with_its_exit_code() {
        let result = |winner: Option<&str>, merged: bool, merge: bool| {
            let plan = Plan { merge, ..super::super::plan::tests::plan("Fix it now") };
            let mut history = History { plan: Some(plan), completed: true, ..History::default() };
            let batch = BatchHistory {
                winner: Some(winner.map(str::to_string)),
                merge: Some(MergeReport { merged, ..MergeReport::default() }),
                ..BatchHistory::default()
            };
            history.batches.insert(1, batch);
            Report::new(&history, Path::new("/r")).describe_result()
        };
        assert_eq!(result(None, false, true), "NOT VERIFIED");
        assert_eq!(result(Some("1-1"), false, true), "NOT MERGED");
        assert_eq!(result(Some("1-1"), true, true), "MERGED");
        assert_eq!(result(Some("1-1"), false, false), "VERIFIED");
    }

    #[test]
    fn reports_have_the_required_parts() {
        let session = SessionReport {
            session_id: "1-1".into(),
            verification_reason: "a | b <c>".into(),
            model_calls: 4,
            tool_calls: 3,
            ..SessionReport::default()
        };
        let mut history =
            History { plan: Some(super::super::plan::tests::plan("Fix <it> now")), ..History::default() };
        let batch = BatchHistory { ended: [("1-1".to_string(), session)].into(), ..BatchHistory::default() };
        history.batches.insert(1, batch);
        let report = Report::new(&history, Path::new("/r"));
        assert_eq!(
            (report.energy.planned, report.energy.actual, report.status),
            (60, 7, ImproveStatus::Running)
        );
        let text = report.markdown();
        for part in [
            "\n## Constitution Acknowledgement\n",
            "\n## Scoring Rubric\n",
            "\n## Energy Budget\n",
            "\nPlanned energy: 60\n",
            "\nActual energy: 7 (",
            "\n## Audit Log\n",
            "| 1 | 1-1 | no: a \\| b &lt;c> |",
            "\n## Batches\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let page = report.html();
        assert_eq!(page.matches("<svg").count(), 4);
        assert!(page.contains("Fix &lt;it&gt; now") && !page.contains("<c>") && !page.contains("<script"));
    }
}
