//! Tools that are one function: their texts in a constant, their work in an async function.
//!
//! For tools without intents of their own. A tool that the gate must judge by its input implements [`Tool`](crate::Tool).

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::schema;
use crate::tool::{DynTool, PreparedCall};
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

/// Name, texts and effects of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolFacts {
    pub(crate) name: &'static str,
    /// Description for the model.
    pub(crate) description: &'static str,
    /// Arguments of a correct call, as JSON text.
    pub(crate) example: &'static str,
    pub(crate) touches: Touches,
}

impl ToolFacts {
    /// The tool that runs this function.
    pub(crate) fn with<I, D, F, R>(self, function: F) -> Arc<dyn DynTool>
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        D: Serialize + JsonSchema + Send + 'static,
        F: Fn(I, ToolContext) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Output<D>, ToolError>> + Send + 'static,
    {
        Arc::new(FunctionTool { facts: self, function, types: PhantomData })
    }
}

/// A function as a tool.
struct FunctionTool<I, D, F> {
    facts: ToolFacts,
    function: F,
    types: PhantomData<fn(I) -> D>,
}

impl<I, D, F, R> DynTool for FunctionTool<I, D, F>
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    D: Serialize + JsonSchema + Send + 'static,
    F: Fn(I, ToolContext) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Output<D>, ToolError>> + Send + 'static,
{
    fn name(&self) -> &str {
        self.facts.name
    }

    fn description(&self) -> &str {
        self.facts.description
    }

    fn example(&self) -> &str {
        self.facts.example
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn touches(&self) -> Touches {
        self.facts.touches
    }

    fn schema(&self) -> Value {
        schema::for_input::<I>()
    }

    fn data_schema(&self) -> Value {
        schema::for_output::<D>()
    }

    fn prepare(
        &self,
        arguments: Map<String, Value>,
        _context: &ToolContext,
    ) -> Result<PreparedCall, ToolError> {
        let input: I = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| ToolError::Usage(error.to_string()))?;
        let function = self.function.clone();
        Ok(PreparedCall {
            intents: Vec::new(),
            start: Box::new(move |context| {
                let context = context.clone();
                Box::pin(async move { function(input, context).await?.erased() })
            }),
        })
    }
}
