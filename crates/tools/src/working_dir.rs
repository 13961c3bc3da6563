//! The working directory of the agent.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, NoInput, Tool};
use async_trait::async_trait;
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(GetWorkingDir)]
}

#[derive(Debug, Clone, Copy)]
pub struct GetWorkingDir;

#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkingDir {
    /// Its absolute path.
    path: String,
}

#[async_trait]
impl Tool for GetWorkingDir {
    type Input = NoInput;
    type Data = WorkingDir;
    const NAME: &'static str = "get_working_dir";
    const DESCRIPTION: &'static str = "Show the working directory. Paths of other tools are relative to it.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, _input: NoInput, context: &ToolContext) -> Result<Output<WorkingDir>, ToolError> {
        let path = context.workspace()?.root().display().to_string();
        Ok(Output::line(path.clone(), WorkingDir { path }))
    }
}
