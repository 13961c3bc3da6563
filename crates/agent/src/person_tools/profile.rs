//! Switching to another profile.

use super::changes::{SessionChange, SessionChanges};
use async_trait::async_trait;
use marvin_base::{atomic, profile};
use marvin_gate::Touches;
use marvin_tools::{Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(super) struct SwitchProfile(pub(super) Arc<SessionChanges>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchInput {
    /// Its name; a profile that does not exist is created.
    profile_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SwitchData {
    profile: String,
    created: bool,
}

#[async_trait]
impl Tool for SwitchProfile {
    type Input = SwitchInput;
    type Data = SwitchData;
    const NAME: &'static str = "switch_profile";
    const DESCRIPTION: &'static str = "Switch to another person's profile (preferences, saved places, chat log); creates it if it does not exist.";
    const EXAMPLE: &'static str = r#"{"profile_name": "anna"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("name", "profile_name"), ("profile", "profile_name")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: SwitchInput, context: &ToolContext) -> Result<Output<SwitchData>, ToolError> {
        let name = profile::normal(&input.profile_name);
        // A path is not a name with letters too many: what is left of it would be another profile.
        if name.is_empty() || input.profile_name.contains(['/', '\\']) {
            return Err(ToolError::Usage("`profile_name` is a name of letters and digits.".into()));
        }
        let directory = context.layout.profile(&name);
        let created = !directory.is_dir();
        std::fs::create_dir_all(&directory)
            .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", directory.display())))?;
        atomic::replace(&context.layout.last_profile(), format!("{name}\n").as_bytes())
            .map_err(|error| ToolError::Failed(error.to_string()))?;
        self.0.push(SessionChange::Profile(name.clone()));
        let word = if created { "created and " } else { "" };
        let text = format!("The profile `{name}` is {word}active from the next message on.");
        Ok(Output::line(text, SwitchData { profile: name, created }))
    }
}
