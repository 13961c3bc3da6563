//! The tools of push notifications.

use super::client::{Publication, Server, check_topic};
use super::error::NtfyError;
use super::subscriptions::Subscriptions;
use super::words::new_topic;
use crate::context::ToolContext;
use crate::function_tool::ToolFacts;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, NoInput, Tool};
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_base::settings::table;
use marvin_base::{clock, profile};
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        GENERATE_NTFY_TOPIC.with(generate_ntfy_topic),
        NTFY_SUBSCRIBE.with(ntfy_subscribe),
        NTFY_UNSUBSCRIBE.with(ntfy_unsubscribe),
        Arc::new(NtfyPublish),
        NTFY_LIST.with(ntfy_list),
    ]
}

impl From<NtfyError> for ToolError {
    fn from(error: NtfyError) -> Self {
        ToolError::from_reason(&error, error.hint(), error.is_usage())
    }
}

fn subscriptions(context: &ToolContext) -> Subscriptions {
    let profile = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    Subscriptions::new(context.layout.ntfy_subscriptions(&profile))
}

/// A topic and its address.
#[derive(Debug, Serialize, JsonSchema)]
struct TopicData {
    topic: String,
    label: String,
    url: String,
}

fn subscribe(topic: &str, label: &str, context: &ToolContext) -> Result<TopicData, ToolError> {
    let topic = check_topic(topic)?;
    let url = Server::from_settings(&context.settings)?.address(topic);
    subscriptions(context).subscribe(topic, label, &url, clock::now().as_second())?;
    Ok(TopicData { topic: topic.to_string(), label: label.trim().to_string(), url })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GenerateTopicInput {
    /// A name for the person.
    #[serde(default)]
    label: String,
}

const GENERATE_NTFY_TOPIC: ToolFacts = ToolFacts {
    name: "generate_ntfy_topic",
    description: "Make a new topic for push notifications, of five random words, and follow it.",
    example: r#"{"label": "phone"}"#,
    touches: Touches::STORES,
};

async fn generate_ntfy_topic(
    input: GenerateTopicInput,
    context: ToolContext,
) -> Result<Output<TopicData>, ToolError> {
    let data = subscribe(&new_topic(), &input.label, &context)?;
    let text = format!(
        "New topic {}. Subscribe to it on your phone at {}. Everyone who knows the name can read and write it.",
        data.topic, data.url
    );
    Ok(Output::line(text, data))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubscribeInput {
    topic: String,
    /// A name for the person.
    #[serde(default)]
    label: String,
}

const NTFY_SUBSCRIBE: ToolFacts = ToolFacts {
    name: "ntfy_subscribe",
    description: "Follow a topic of push notifications (ntfy): its messages are shown to the person while Marvin is open.",
    example: r#"{"topic": "my-backups", "label": "Backups"}"#,
    touches: Touches::STORES,
};

async fn ntfy_subscribe(input: SubscribeInput, context: ToolContext) -> Result<Output<TopicData>, ToolError> {
    let data = subscribe(&input.topic, &input.label, &context)?;
    Ok(Output::line(format!("Following {} ({})", data.topic, data.url), data))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UnsubscribeInput {
    topic: String,
}

const NTFY_UNSUBSCRIBE: ToolFacts = ToolFacts {
    name: "ntfy_unsubscribe",
    description: "Stop following a topic of push notifications (ntfy).",
    example: r#"{"topic": "my-backups"}"#,
    touches: Touches::STORES,
};

async fn ntfy_unsubscribe(
    input: UnsubscribeInput,
    context: ToolContext,
) -> Result<Output<TopicData>, ToolError> {
    let gone = subscriptions(&context).unsubscribe(&input.topic)?;
    let topic = input.topic.trim().to_string();
    let text = format!("No longer following {topic}");
    Ok(Output::line(text, TopicData { topic, label: gone.label, url: gone.url }))
}

#[derive(Debug, Clone, Copy)]
struct NtfyPublish;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PublishInput {
    topic: String,
    message: String,
    #[serde(default)]
    title: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PublishData {
    topic: String,
    url: String,
}

#[async_trait]
impl Tool for NtfyPublish {
    type Input = PublishInput;
    type Data = PublishData;
    const NAME: &'static str = "ntfy_publish";
    const DESCRIPTION: &'static str =
        "Send a push notification to a topic of ntfy. Everyone who knows the topic can read it.";
    const EXAMPLE: &'static str =
        r#"{"topic": "my-backups", "message": "The backup is done", "title": "Backup"}"#;
    const TOUCHES: Touches = Touches { network: true, ..Touches::STORES };

    fn intents(input: &PublishInput, context: &ToolContext) -> Vec<Intent> {
        let server = Server::from_settings(&context.settings).ok();
        let url = server.and_then(|server| Some(server.address(check_topic(&input.topic).ok()?)));
        url.map(|url| Intent::Request { url, service: Some(Service::Ntfy) }).into_iter().collect()
    }

    async fn call(
        &self,
        input: PublishInput,
        context: &ToolContext,
    ) -> Result<Output<PublishData>, ToolError> {
        let topic = check_topic(&input.topic)?;
        if input.message.trim().is_empty() {
            return Err(NtfyError::NoMessage.into());
        }
        let server = Server::from_settings(&context.settings)?;
        let (title, message) = (context.redactor.text(&input.title), context.redactor.text(&input.message));
        let publication = Publication { topic, title: &title, message: &message, id: "" };
        tokio::select! {
            sent = server.publish(&publication) => sent?,
            () = context.cancel.cancelled() => return Err(ToolError::Failed("interrupted".into())),
        }
        let url = server.address(topic);
        let text = format!("Sent to {topic} ({url})");
        Ok(Output::line(text, PublishData { topic: topic.to_string(), url }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListData {
    topics: Vec<TopicData>,
}

const NTFY_LIST: ToolFacts = ToolFacts {
    name: "ntfy_list",
    description: "List the topics of push notifications (ntfy) that are followed.",
    example: "{}",
    touches: Touches::READS,
};

async fn ntfy_list(_input: NoInput, context: ToolContext) -> Result<Output<ListData>, ToolError> {
    let all = subscriptions(&context).read()?;
    let topics: Vec<TopicData> = all
        .into_iter()
        .map(|(topic, subscription)| TopicData { topic, label: subscription.label, url: subscription.url })
        .collect();
    let lines: Vec<String> = topics
        .iter()
        .map(|row| {
            format!(
                "{}{}  {}",
                row.topic,
                if row.label.is_empty() { String::new() } else { format!(" ({})", row.label) },
                row.url
            )
        })
        .collect();
    let text = if lines.is_empty() { "No topics are followed.".to_string() } else { lines.join("\n") };
    Ok(Output::new(count(topics.len(), "topic"), text, ListData { topics }))
}
