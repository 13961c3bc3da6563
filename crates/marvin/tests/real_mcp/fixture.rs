//! Three tools that the suite calls by name, served by the same code as Marvin's own.

use async_trait::async_trait;
use marvin_gate::Touches;
use marvin_tools::{DynTool, Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(SimpleText), Arc::new(ErrorHandling), Arc::new(WithProgress)]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EmptyInput {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoFacts {}

macro_rules! fixture {
    ($type:ident, $name:literal, |$context:ident| $call:expr) => {
        #[derive(Debug, Clone, Copy)]
        struct $type;

        #[async_trait]
        impl Tool for $type {
            type Input = EmptyInput;
            type Data = NoFacts;
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = "A tool of the suite.";
            const EXAMPLE: &'static str = "{}";
            const TOUCHES: Touches = Touches::NOTHING;

            async fn call(
                &self,
                _: EmptyInput,
                $context: &ToolContext,
            ) -> Result<Output<NoFacts>, ToolError> {
                $call
            }
        }
    };
}

fixture!(SimpleText, "test_simple_text", |_context| {
    Ok(Output::line("This is a simple text response for testing.", NoFacts {}))
});

fixture!(ErrorHandling, "test_error_handling", |_context| {
    Err(ToolError::Failed("This tool intentionally returns an error for testing".into()))
});

fixture!(WithProgress, "test_tool_with_progress", |context| {
    for done in [0, 50, 100] {
        context.step(done, Some(100), "on its way");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(Output::line("done", NoFacts {}))
});
