//! Report of a sub-agent: typed and of bounded size.

use crate::roles::Role;
use marvin_base::child::{Ending, Outcome};
use marvin_base::truncate;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// Begins the questions of a sub-agent; read only at the beginning of a line.
const QUESTIONS: &str = "QUESTIONS_FOR_PARENT:";
/// Questions that are read, and characters of one.
const MAX_QUESTIONS: usize = 20;
const MAX_QUESTION_CHARS: usize = 500;
/// Characters of its last message.
const MAX_MESSAGE_BYTES: usize = 16_000;
/// Characters of what it said went wrong.
const MAX_ERROR_BYTES: usize = 2_000;

/// Report of a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SubAgentReport {
    /// Its role.
    pub role: String,
    /// How it ended: success, failed, partial, blocked, budget_spent, not_verified, interrupted, or questions.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Its exit code; none when it was ended.
    pub exit_code: Option<i32>,
    /// What was verified of its commitments, as its result says.
    pub verification: Value,
    /// What it and all below it cost, in US dollars.
    pub cost_usd: f64,
    /// Replies of models that it took.
    pub model_turns: u64,
    /// Calls of tools that it made.
    pub tool_calls: u64,
    /// The last thing that it said.
    pub last_message: String,
    /// What it asks of this agent.
    pub questions: Vec<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// The model that it was told to use.
    pub model: Option<String>,
    /// How deep it was nested.
    pub depth: i64,
    /// How long it took.
    pub duration_ms: u64,
    /// Its own record.
    pub run_path: Option<String>,
    /// Its log, for people.
    pub log: String,
    /// Its calls, one a line.
    pub tool_log: String,
}

impl SubAgentReport {
    /// Whether it did the work, as far as that was verified.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.status == "success"
    }

    /// One line.
    pub(super) fn summary(&self) -> String {
        let code = self.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        format!(
            "{} ended: {}{code}; {:.4} USD, {} replies, {} calls, {:.1} s",
            self.role,
            self.status,
            self.cost_usd,
            self.model_turns,
            self.tool_calls,
            Duration::from_millis(self.duration_ms).as_secs_f64()
        )
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}.\n", self.summary());
        if let Some(error) = &self.error {
            text.push_str(&format!("What went wrong: {error}\n"));
        }
        let verified = self.verification.get("status").and_then(Value::as_str).unwrap_or("none");
        if verified == "none" {
            text.push_str("Nothing was verified by the shell: what it says is its own claim.\n");
        } else {
            text.push_str(&format!("Verification by the shell: {verified}\n"));
        }
        if !self.questions.is_empty() {
            text.push_str(
                "It cannot go on without answers. Launch it again with its task and these answers:\n",
            );
            for (index, question) in self.questions.iter().enumerate() {
                text.push_str(&format!("{}. {question}\n", index + 1));
            }
        } else if !self.last_message.is_empty() {
            text.push_str(&format!("Its last message:\n{}\n", self.last_message));
        }
        text.push_str(&format!("Log: {}", self.log));
        text
    }
}

/// Report of a sub-agent that ended.
pub(super) fn read(role: Role, deadline: Duration, outcome: &Outcome) -> SubAgentReport {
    let mut launched = SubAgentReport {
        role: role.name().to_string(),
        exit_code: match outcome.ending {
            Ending::Exited(code) => Some(code),
            _ => None,
        },
        duration_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        ..SubAgentReport::default()
    };
    match result(&outcome.stdout.text()).filter(|_| launched.exit_code.is_some()) {
        Some(result) => launched.take(&result),
        None => {
            let (status, error) = ended(outcome.ending, deadline);
            launched.status = status.into();
            launched.reason = "no_result".into();
            let stderr = outcome.stderr.text();
            let stderr: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("MARVIN_COST:")).collect();
            let stderr = truncate::middle(stderr.join("\n").trim(), MAX_ERROR_BYTES);
            launched.error = Some(if stderr.is_empty() { error } else { format!("{error}\n{stderr}") });
        }
    }
    launched
}

/// Status of a process that ended without a result.
fn ended(ending: Ending, deadline: Duration) -> (&'static str, String) {
    match ending {
        Ending::Exited(code) => ("failed", format!("it ended with exit code {code} and without a result")),
        Ending::Signalled(signal) => ("failed", format!("it was ended by signal {signal}")),
        Ending::Late => {
            ("failed", format!("it was not done after {} s, so it was ended", deadline.as_secs()))
        }
        Ending::Cancelled => ("interrupted", "it was cancelled with this run".to_string()),
        Ending::Crowded => ("failed", "it had too many processes".to_string()),
    }
}

/// The one result object on standard output.
fn result(stdout: &str) -> Option<Value> {
    let last = stdout.lines().rev().find(|line| !line.trim().is_empty())?;
    let value: Value = serde_json::from_str(last).ok()?;
    (value.get("type")?.as_str()? == "result").then_some(value)
}

impl SubAgentReport {
    fn take(&mut self, result: &Value) {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
        let cost = result.get("cost");
        self.status = truncate::line(text("status"), 40);
        self.reason = truncate::line(text("reason"), 40);
        self.verification = truncate::value(result.get("verification").unwrap_or(&Value::Null), 1_000, 50, 5);
        self.cost_usd = cost.and_then(|cost| cost.get("session_cost")?.as_f64()).unwrap_or(0.0);
        self.model_turns = number(cost.and_then(|cost| cost.get("llm_turns")));
        self.tool_calls = number(result.get("tool_calls"));
        self.run_path = Some(text("run_path").to_string()).filter(|path| !path.is_empty());
        self.questions = questions(text("text"));
        self.last_message = truncate::middle(text("text"), MAX_MESSAGE_BYTES);
        let error = truncate::middle(text("error"), MAX_ERROR_BYTES);
        self.error = Some(error).filter(|error| !error.is_empty());
        // The word of the process counts only as far as its exit code does.
        if self.status == "success" && self.exit_code != Some(0) {
            self.status = "failed".into();
        }
        if self.status == "success" && !self.questions.is_empty() {
            self.status = "questions".into();
        }
        if !self.succeeded() && self.error.is_none() {
            self.error = Some(match self.status.as_str() {
                "questions" => "it has questions and did not do the work".to_string(),
                _ => format!("{} ({})", self.status, self.reason),
            });
        }
    }
}

/// The questions that a message ends with: every line after one that begins with `QUESTIONS_FOR_PARENT:`, without numbers.
#[must_use]
pub fn questions(message: &str) -> Vec<String> {
    let mut lines = message.lines().skip_while(|line| !line.trim_start().starts_with(QUESTIONS));
    let Some(first) = lines.next() else { return Vec::new() };
    let first = first.trim_start().strip_prefix(QUESTIONS).unwrap_or_default();
    let plain = |line: &str| {
        let line = line.trim();
        let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = match unnumbered.strip_prefix(['.', ')']) {
            Some(rest) if unnumbered.len() < line.len() => rest,
            _ => line.strip_prefix(['-', '*']).unwrap_or(line),
        };
        truncate::line(rest.trim(), MAX_QUESTION_CHARS)
    };
    std::iter::once(first)
        .chain(lines)
        .map(plain)
        .filter(|line| !line.is_empty())
        .take(MAX_QUESTIONS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::child::Output;
    use serde_json::json;

    fn read(outcome: &Outcome) -> SubAgentReport {
        super::read(Role::Implementer, Duration::from_secs(7), outcome)
    }

    fn outcome(ending: Ending, stdout: &str, stderr: &str) -> Outcome {
        let output = |text: &str| Output { head: text.as_bytes().to_vec(), ..Output::default() };
        Outcome {
            ending,
            stdout: output(stdout),
            stderr: output(stderr),
            elapsed: Duration::from_millis(1500),
        }
    }

    #[test]
    fn questions_stand_at_the_beginning_of_a_line() {
        assert_eq!(
            questions("Some words.\nQUESTIONS_FOR_PARENT:\n1. Which port?\n2) Which name?\n\n- And 3.5?\n"),
            ["Which port?", "Which name?", "And 3.5?"]
        );
        assert_eq!(questions("QUESTIONS_FOR_PARENT: why?"), ["why?"]);
        assert!(questions("I have no QUESTIONS_FOR_PARENT: today").is_empty());
        assert_eq!(questions(&format!("QUESTIONS_FOR_PARENT:\n{}", "q\n".repeat(99))).len(), MAX_QUESTIONS);
    }

    #[test]
    fn a_result_is_read_and_its_exit_code_counts() {
        let result = json!({"type": "result", "status": "success", "reason": "answered", "text": "did it",
            "cost": {"session_cost": 0.25, "llm_turns": 3}, "tool_calls": 2, "run_path": "/r",
            "verification": {"status": "passed"}})
        .to_string();
        let launched = read(&outcome(Ending::Exited(0), &result, ""));
        assert_eq!((launched.status.as_str(), launched.cost_usd, launched.model_turns), ("success", 0.25, 3));
        assert!(launched.text().contains("Verification by the shell: passed"), "{}", launched.text());
        let liar = read(&outcome(Ending::Exited(3), &result, ""));
        assert_eq!((liar.succeeded(), liar.status.as_str()), (false, "failed"));
        let asks = result.replace("did it", "QUESTIONS_FOR_PARENT:\\n1. a?");
        let asks = read(&outcome(Ending::Exited(0), &asks, ""));
        assert_eq!((asks.status.as_str(), asks.questions.len()), ("questions", 1));
        assert!(asks.text().contains("1. a?"));
    }

    #[test]
    fn a_child_without_a_result_has_failed() {
        for (ending, stdout) in [
            (Ending::Exited(0), ""),
            (Ending::Exited(0), "{\"type\":\"other\"}"),
            (Ending::Exited(101), "garbage\n{"),
            (Ending::Signalled(9), "{\"type\":\"result\",\"status\":\"success\"}"),
            (Ending::Late, ""),
        ] {
            let launched = read(&outcome(ending, stdout, "marvin: it broke\nMARVIN_COST:{}"));
            assert_eq!(launched.status, "failed", "{ending:?} {stdout}");
            let error = launched.error.unwrap();
            assert!(error.contains("it broke") && !error.contains("COST"), "{error}");
        }
        assert_eq!(read(&outcome(Ending::Cancelled, "", "")).status, "interrupted");
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_survived(bytes in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let launched = read(&outcome(Ending::Exited(0), &text, &text));
            proptest::prop_assert!(!launched.succeeded());
            proptest::prop_assert!(questions(&text).len() <= MAX_QUESTIONS);
        }
    }
}
