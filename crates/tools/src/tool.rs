//! The trait that every tool implements, and its form without types.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::schema;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A tool with a typed input. It declares; the gate decides.
#[async_trait]
pub trait Tool: Clone + Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// Facts for the record.
    type Data: Serialize + JsonSchema + Send + 'static;

    const NAME: &'static str;
    /// Description for the model.
    const DESCRIPTION: &'static str;
    /// Arguments of a correct call, as JSON text.
    const EXAMPLE: &'static str;
    /// Other names under which models send a field, as (other, right).
    const FIELDS: &'static [(&'static str, &'static str)] = &[];
    const TOUCHES: Touches;

    /// Effects of a call with this input; the gate judges each before [`Tool::call`].
    fn intents(_input: &Self::Input, _context: &ToolContext) -> Vec<Intent> {
        Vec::new()
    }

    async fn call(&self, input: Self::Input, context: &ToolContext) -> Result<Output<Self::Data>, ToolError>;
}

/// Runs work that takes the CPU or waits for the disk on a thread beside the async runtime.
///
/// # Errors
/// Those of the work, and when it panicked.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ToolError::Failed(error.to_string()))?
}

/// Input of a tool without arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoInput {}

/// The future of a running tool.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send + 'a>>;

/// A call with parsed arguments that was not made yet.
pub struct PreparedCall {
    pub intents: Vec<Intent>,
    pub start: Box<dyn for<'a> FnOnce(&'a ToolContext) -> ToolFuture<'a> + Send>,
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Prepared").field("intents", &self.intents).finish_non_exhaustive()
    }
}

/// A [`Tool`] of any input.
pub trait DynTool: Send + Sync {
    fn name(&self) -> &str;
    fn description(&self) -> &str;
    fn example(&self) -> &str;
    fn fields(&self) -> &'static [(&'static str, &'static str)];
    fn touches(&self) -> Touches;
    /// JSON schema of its input.
    fn schema(&self) -> Value;
    /// JSON schema of its facts.
    fn data_schema(&self) -> Value;
    /// Parses the arguments and derives the intents of a call with them.
    ///
    /// # Errors
    /// When they do not fit the input.
    fn prepare(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError>;
}

impl<T: Tool> DynTool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn example(&self) -> &str {
        T::EXAMPLE
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        T::FIELDS
    }

    fn touches(&self) -> Touches {
        T::TOUCHES
    }

    fn schema(&self) -> Value {
        schema::for_input::<T::Input>()
    }

    fn data_schema(&self) -> Value {
        schema::for_output::<T::Data>()
    }

    fn prepare(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError> {
        let input: T::Input = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| ToolError::Usage(error.to_string()))?;
        let tool = self.clone();
        Ok(PreparedCall {
            intents: T::intents(&input, context),
            start: Box::new(move |context| {
                Box::pin(async move { tool.call(input, context).await?.erased() })
            }),
        })
    }
}
