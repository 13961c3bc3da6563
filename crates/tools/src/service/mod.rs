//! Services: the one way in which tools ask HTTP interfaces of others.
//!
//! A tool of a service is a [`ServiceTool`]: it names its requests and turns typed answers into items. This module does the rest:
//! base URL and key from the settings ([`table`]), the gate's judgement, the person's consent to what is told about them
//! ([`consent`]), rate limits across processes ([`pace`]), repetitions, a cache with the age shown, bounds, and the mark that
//! the text is foreign. [`check`] tells a person which services can be asked.
//!
//! Limits: a service's text is information from others. It is marked and cleaned, not understood.

mod cache;
pub mod check;
pub(crate) mod consent;
mod error;
mod pace;
mod request;
pub(crate) mod store;
mod table;
mod text;

pub(crate) use cache::Cache;
pub(crate) use error::{Failure, Hint, ServiceError};
pub(crate) use request::{Reply, Request};
pub use table::key_files;
pub(crate) use table::spotify_client_advice;
pub(crate) use text::{Listing, clean, clean_value, mark, plain, title};

use crate::context::ToolContext;
use crate::result::{Confidence, FROM_WEB, Output, ToolError};
use crate::tool::{DynTool, Tool};
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_gate::network::Service;
use marvin_gate::{Decision, Intent, Touches};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Where the person is, as questions of the gate say it.
pub(crate) const WHERE_YOU_ARE: &str = "where you are or want to go";

/// A tool that asks services.
#[async_trait]
pub(crate) trait ServiceTool: Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// One finding, for the record.
    type Item: Serialize + JsonSchema + Send + 'static;

    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const EXAMPLE: &'static str;
    const FIELDS: &'static [(&'static str, &'static str)] = &[];
    const TOUCHES: Touches = Touches::NETWORK;
    /// The name of one finding, for the summary.
    const NOUN: &'static str;

    /// The requests that a call begins with, one of each service.
    fn requests(input: &Self::Input, context: &ToolContext) -> Result<Vec<Request>, ToolError>;

    /// What the services learn about the person, such as "where you are".
    fn tells(_input: &Self::Input) -> Option<&'static str> {
        None
    }

    /// The intent of telling the services of the requests something about the person.
    fn share(input: &Self::Input, services: &[&'static str], context: &ToolContext) -> Option<Intent> {
        Self::tells(input).map(|what| consent::share(services, what, context))
    }

    /// Asks, and turns the answers into items.
    async fn find(input: Self::Input, context: &ToolContext) -> Result<Findings<Self::Item>, ToolError>;

    /// Writes an item for the model.
    fn show(item: &Self::Item, listing: &mut Listing);
}

/// The findings of a call.
#[derive(Debug)]
pub(crate) struct Findings<I> {
    pub(crate) items: Vec<I>,
    /// The service that answered, by the name that people know.
    pub(crate) service: &'static str,
    /// Age of the answer, if it comes from the cache.
    pub(crate) age: Option<Duration>,
    /// A remark of Marvin's own.
    pub(crate) note: Option<String>,
}

impl<I> Findings<I> {
    pub(crate) fn new(request: &Request, age: Option<Duration>, items: Vec<I>) -> Self {
        Findings { items, service: request.row.name, age, note: None }
    }

    /// The same frame with other items.
    pub(crate) fn with<J>(self, items: Vec<J>) -> Findings<J> {
        Findings { items, service: self.service, age: self.age, note: self.note }
    }

    pub(crate) fn one(request: &Request, age: Option<Duration>, item: I) -> Self {
        Findings::new(request, age, vec![item])
    }
}

/// Facts of a call, for the record.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServiceData<I> {
    /// The service that answered.
    service: String,
    /// Age of the answer in seconds; absent when it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    age_s: Option<u64>,
    items: Vec<I>,
}

/// A [`ServiceTool`] as a tool.
pub(crate) struct ServiceCall<T>(PhantomData<fn() -> T>);

impl<T> Clone for ServiceCall<T> {
    fn clone(&self) -> Self {
        ServiceCall(PhantomData)
    }
}

impl<T> fmt::Debug for ServiceCall<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServiceCall")
    }
}

/// A tool of a service, for a list of tools.
pub(crate) fn tool<T: ServiceTool>() -> Arc<dyn DynTool> {
    Arc::new(ServiceCall::<T>(PhantomData))
}

#[async_trait]
impl<T: ServiceTool> Tool for ServiceCall<T> {
    type Input = T::Input;
    type Data = ServiceData<T::Item>;
    const NAME: &'static str = T::NAME;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const EXAMPLE: &'static str = T::EXAMPLE;
    const FIELDS: &'static [(&'static str, &'static str)] = T::FIELDS;
    const TOUCHES: Touches = T::TOUCHES;

    fn intents(input: &T::Input, context: &ToolContext) -> Vec<Intent> {
        // Without requests the call returns the error; the person is not asked about a call that cannot be made.
        let Ok(requests) = T::requests(input, context) else { return Vec::new() };
        let services: Vec<&'static str> = requests.iter().map(|request| request.row.name).collect();
        let share = T::share(input, &services, context);
        share.into_iter().chain(requests.iter().map(Request::intent)).collect()
    }

    async fn call(&self, input: T::Input, context: &ToolContext) -> Result<Output<Self::Data>, ToolError> {
        T::requests(&input, context)?;
        let found = T::find(input, context).await?;
        let mut listing = Listing::default();
        found.items.iter().for_each(|item| T::show(item, &mut listing));
        let mut shown = mark(found.service, found.age) + &listing.into_text();
        if found.items.is_empty() {
            shown = format!("{} found nothing. Try fewer or other words.\n", found.service);
        }
        if let Some(note) = found.note {
            shown.push_str(&format!("({note})\n"));
        }
        let summary = format!("{} from {}", count(found.items.len(), T::NOUN), found.service);
        let age_s = found.age.map(|age| age.as_secs());
        let data = ServiceData { service: found.service.to_string(), age_s, items: found.items };
        let output = Output::new(summary, shown, data);
        Ok(Output { source: FROM_WEB, confidence: Confidence::Summarized, ..output })
    }
}

/// Whether a second service may be told what the first was told about the person.
pub(crate) fn may_tell(service: Service, context: &ToolContext) -> bool {
    table::find(service)
        .is_some_and(|row| consent::decision(row.name, &context.settings, &context.layout) == Decision::Allow)
}

/// The error of a call without the words that it needs.
pub(crate) fn needs(tool: &str, field: &str, what: &str) -> ToolError {
    ToolError::Usage(format!("{tool} needs `{field}`: {what}."))
}

/// The trimmed words of a field.
pub(crate) fn words<'a>(text: &'a str, tool: &str, field: &str) -> Result<&'a str, ToolError> {
    let text = text.trim();
    if text.is_empty() { Err(needs(tool, field, "the words to look for")) } else { Ok(text) }
}
