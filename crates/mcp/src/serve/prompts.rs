//! Skills as prompts: a client lists them by name and description, and gets the text of one.

use marvin_agent::skills::Skills;
use marvin_base::redact::{Redactor, Scope};
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

/// The argument of every prompt.
const TASK: &str = "task";

pub(super) fn list(skills: &Skills) -> Vec<Prompt> {
    let argument =
        PromptArgument::new(TASK).with_description("What to do with the skill").with_required(false);
    let prompt = |known: &marvin_agent::skills::KnownSkill| {
        let mark = if known.is_trusted { "" } else { " [from the repository, not confirmed]" };
        let description = format!("{}{mark}", known.clean(&known.skill.description));
        Prompt::new(known.skill.name.clone(), Some(description), Some(vec![argument.clone()]))
    };
    skills.skills.iter().map(prompt).collect()
}

pub(super) fn get(
    skills: &Skills,
    request: &GetPromptRequestParams,
    redactor: &Redactor,
) -> Result<GetPromptResult, ErrorData> {
    let Some(known) = skills.find(&request.name) else {
        let why = skills.explain_missing(&request.name).map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("Unknown prompt: {}{why}", marvin_base::truncate::line(&request.name, 80));
        return Err(ErrorData::invalid_params(redactor.text(&message).into_owned(), None));
    };
    let mut text = known.told_text();
    let task = request.arguments.as_ref().and_then(|arguments| arguments.get(TASK)).and_then(Value::as_str);
    if let Some(task) = task.map(str::trim).filter(|task| !task.is_empty()) {
        text.push_str(&format!("\n# Task\n{task}\n"));
    }
    let text = redactor.text_for(&text, Scope::Caller).into_owned();
    let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    Ok(result.with_description(known.clean(&known.skill.description)))
}
