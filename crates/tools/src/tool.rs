//! What a tool is.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::schema;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A tool with a typed input. It declares; the gate decides.
#[async_trait]
pub trait Tool: Clone + Send + Sync + 'static {
    /// What it takes.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// The facts that it hands back for the record.
    type Data: Serialize + JsonSchema + Send + 'static;

    /// Its name.
    const NAME: &'static str;
    /// What it does, for the model.
    const DESCRIPTION: &'static str;
    /// The arguments of a correct call, as JSON text.
    const EXAMPLE: &'static str;
    /// Other names under which models send a field, as (other, right).
    const FIELDS: &'static [(&'static str, &'static str)] = &[];

    /// What it touches.
    fn touches() -> Touches;

    /// What it would do with this input; each is put to the gate before [`Tool::call`].
    fn intents(_input: &Self::Input, _context: &ToolContext) -> Vec<Intent> {
        Vec::new()
    }

    /// Does it.
    async fn call(&self, input: Self::Input, context: &ToolContext) -> Result<Output<Self::Data>, ToolError>;
}

/// The future of a running tool.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send + 'a>>;

/// A call whose arguments are understood, and that was not made yet.
pub struct PreparedCall {
    /// What it would do.
    pub intents: Vec<Intent>,
    /// Does it.
    pub start: Box<dyn for<'a> FnOnce(&'a ToolContext) -> ToolFuture<'a> + Send>,
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Prepared").field("intents", &self.intents).finish_non_exhaustive()
    }
}

/// A tool of any input.
pub trait DynTool: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// What it does, for the model.
    fn description(&self) -> &str;
    /// The arguments of a correct call, as JSON text.
    fn example(&self) -> &str;
    /// Other names under which models send a field, as (other, right).
    fn fields(&self) -> &'static [(&'static str, &'static str)];
    /// What it touches.
    fn touches(&self) -> Touches;
    /// JSON schema of its input.
    fn schema(&self) -> Value;
    /// JSON schema of the facts that it hands back.
    fn data_schema(&self) -> Value;
    /// Understands the arguments, and says what a call with them would do in these surroundings.
    ///
    /// # Errors
    /// What is wrong with them.
    fn prepare(&self, arguments: Map<String, Value>, context: &ToolContext) -> Result<PreparedCall, String>;
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
        T::touches()
    }

    fn schema(&self) -> Value {
        schema::for_input::<T::Input>()
    }

    fn data_schema(&self) -> Value {
        schema::for_output::<T::Data>()
    }

    fn prepare(&self, arguments: Map<String, Value>, context: &ToolContext) -> Result<PreparedCall, String> {
        let input: T::Input =
            serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
        let tool = self.clone();
        Ok(PreparedCall {
            intents: T::intents(&input, context),
            start: Box::new(move |context| {
                Box::pin(async move { tool.call(input, context).await?.erased() })
            }),
        })
    }
}
