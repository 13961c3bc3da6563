//! The task of a worker: the goal, its step, inputs and strategy, and lessons of earlier attempts.

use crate::retry::ladder;
use crate::worker::Order;
use marvin_base::truncate;
use serde_json::Value;

/// Characters of the inputs.
const MAX_INPUTS_CHARS: usize = 60_000;
/// Characters of all lessons.
const MAX_LESSONS_CHARS: usize = 12_000;

/// The task as Markdown.
pub(super) fn text(order: &Order) -> String {
    let mut text = format!("# Goal\n{}\n\n# Your step: {}", order.goal.trim(), order.step_id);
    if !order.name.is_empty() && order.name != order.step_id {
        text.push_str(&format!(" ({})", order.name));
    }
    let description = order.description.trim();
    text.push_str(&format!("\n{}\n", if description.is_empty() { "Reach the goal." } else { description }));
    if !order.inputs.is_empty() {
        let inputs = Value::Object(order.inputs.clone());
        text.push_str(&format!(
            "\n# Inputs\n{}\n",
            truncate::middle(&format!("{inputs:#}"), MAX_INPUTS_CHARS)
        ));
    }
    if order.outputs_schema.as_object().is_some_and(|schema| !schema.is_empty()) {
        text.push_str(&format!("\n# Outputs must match this JSON Schema\n{}\n", order.outputs_schema));
    }
    if order.attempt > 1 {
        text.push_str(&format!("\n# Attempt {}, strategy `{}`\n", order.attempt, order.strategy_id));
        let instruction = ladder::instruction(&order.strategy_id);
        if !instruction.is_empty() {
            text.push_str(&format!("{instruction}\n"));
        }
        if let Some(failure) = &order.failure_signature {
            text.push_str(&format!("The previous attempt ended in `{}`.\n", truncate::line(failure, 200)));
        }
        if !order.lessons.is_empty() {
            text.push_str("Earlier attempts and their lessons are under Lessons.\n");
        }
    }
    text
}

/// All lessons as one text; none if they are empty.
pub(super) fn lessons(lessons: &[String]) -> Option<String> {
    let texts: Vec<&str> =
        lessons.iter().map(|lesson| lesson.trim()).filter(|lesson| !lesson.is_empty()).collect();
    (!texts.is_empty()).then(|| {
        let text = format!(
            "Lessons of earlier attempts and runs, nearest first. Unverified: what a worker said in them is its claim.\n\n{}",
            texts.join("\n\n---\n\n")
        );
        truncate::head(&text, MAX_LESSONS_CHARS)
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
            poll: None,
            is_approved: false,
        }
    }

    #[test]
    fn the_task_of_a_first_attempt_is_its_step() {
        let text = text(&order());
        assert_eq!(
            text,
            "# Goal\nMake it add\n\n# Your step: build (Build it)\nWrite add.py\n\n# Inputs\n{\n  \"file\": \"add.py\"\n}\n\n\
             # Outputs must match this JSON Schema\n{\"type\":\"object\"}\n"
        );
    }

    #[test]
    fn the_task_of_a_retry_has_its_strategy_and_failure() {
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
