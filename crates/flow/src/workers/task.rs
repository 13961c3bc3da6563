//! What a worker is told: the goal, its step, its inputs, how, and what earlier attempts taught.

use crate::retry::ladder;
use crate::worker::Order;
use marvin_base::truncate;
use serde_json::Value;

/// Characters of the inputs.
const INPUTS: usize = 60_000;
/// Characters of all lessons.
const LESSONS: usize = 12_000;

/// The task.
pub(super) fn text(order: &Order) -> String {
    let mut text = format!("# Goal\n{}\n\n# Your step: {}", order.goal.trim(), order.step_id);
    if !order.name.is_empty() && order.name != order.step_id {
        text.push_str(&format!(" ({})", order.name));
    }
    let description = order.description.trim();
    text.push_str(&format!("\n{}\n", if description.is_empty() { "Reach the goal." } else { description }));
    if !order.inputs.is_empty() {
        let inputs = Value::Object(order.inputs.clone());
        text.push_str(&format!("\n# Inputs\n{}\n", truncate::middle(&format!("{inputs:#}"), INPUTS)));
    }
    if order.outputs_schema.as_object().is_some_and(|schema| !schema.is_empty()) {
        text.push_str(&format!("\n# Outputs must fit this JSON Schema\n{}\n", order.outputs_schema));
    }
    if order.attempt > 1 {
        text.push_str(&format!("\n# Attempt {}, strategy `{}`\n", order.attempt, order.strategy_id));
        let meaning = ladder::meaning(&order.strategy_id);
        if !meaning.is_empty() {
            text.push_str(&format!("{meaning}\n"));
        }
        if let Some(failure) = &order.failure_signature {
            text.push_str(&format!("The attempt before ended in `{}`.\n", truncate::line(failure, 200)));
        }
        if !order.lessons.is_empty() {
            text.push_str("What was tried, and what it taught, stands under Lessons.\n");
        }
    }
    text
}

/// Lessons as one text; none when there are none.
pub(super) fn lessons(lessons: &[String]) -> Option<String> {
    let told: Vec<&str> =
        lessons.iter().map(|lesson| lesson.trim()).filter(|lesson| !lesson.is_empty()).collect();
    (!told.is_empty()).then(|| {
        let text = format!(
            "What earlier attempts and runs taught, nearest first. Unverified: what a worker said in them is its claim.\n\n{}",
            told.join("\n\n---\n\n")
        );
        truncate::head(&text, LESSONS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order() -> Order {
        Order {
            run_id: "r".into(),
            run_directory: "/r".into(),
            workspace: "/w".into(),
            goal: "Make it add".into(),
            step_id: "build".into(),
            name: "Build it".into(),
            description: "Write add.py".into(),
            worker: "Implementer".into(),
            inputs: json!({"file": "add.py"}).as_object().cloned().unwrap(),
            outputs_schema: json!({"type": "object"}),
            attempt: 1,
            key: "k".into(),
            call_id: "call-1".into(),
            strategy_id: "draft".into(),
            retrieval_stage: 1,
            lessons: Vec::new(),
            failure_signature: None,
            commitments: Vec::new(),
        }
    }

    #[test]
    fn a_first_attempt_is_told_its_step() {
        let text = text(&order());
        assert_eq!(
            text,
            "# Goal\nMake it add\n\n# Your step: build (Build it)\nWrite add.py\n\n# Inputs\n{\n  \"file\": \"add.py\"\n}\n\n\
             # Outputs must fit this JSON Schema\n{\"type\":\"object\"}\n"
        );
    }

    #[test]
    fn a_retry_is_told_how_and_why() {
        let again = Order {
            attempt: 2,
            strategy_id: "patch".into(),
            failure_signature: Some("not-verified:c-1".into()),
            lessons: vec!["It was red.".into(), " ".into()],
            ..order()
        };
        let text = text(&again);
        assert!(
            text.contains("# Attempt 2, strategy `patch`\n") && text.contains("smallest change"),
            "{text}"
        );
        assert!(text.contains("ended in `not-verified:c-1`"), "{text}");
        assert!(lessons(&again.lessons).unwrap().ends_with("It was red."));
        assert_eq!(lessons(&["\n".into()]), None);
    }
}
