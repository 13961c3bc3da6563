//! Cost of the session so far.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, Tool};
use async_trait::async_trait;
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(GetUsage)]
}

#[derive(Debug, Clone, Copy)]
pub struct GetUsage;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageInput {
    /// Include the figures over all sessions.
    #[serde(default)]
    include_lifetime: bool,
}

#[async_trait]
impl Tool for GetUsage {
    type Input = UsageInput;
    type Data = Value;
    const NAME: &'static str = "get_usage";
    const DESCRIPTION: &'static str = "Show turns, tokens and estimated cost of this session.";
    const EXAMPLE: &'static str = r#"{"include_lifetime": true}"#;
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, input: UsageInput, context: &ToolContext) -> Result<Output, ToolError> {
        let data = (context.usage)(input.include_lifetime);
        Ok(Output::new("Usage of this session", format!("{data:#}"), data))
    }
}
