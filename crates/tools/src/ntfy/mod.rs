//! Push notifications through an ntfy server: topics that the person follows, and messages that Marvin sends.

mod client;
mod error;
mod follow;
mod subscriptions;
mod tool;
mod words;

pub use client::{Message, Publication, Server, check_topic, publish};
pub use error::NtfyError;
pub use follow::{Follower, MessageSink, TopicMessage};
pub use subscriptions::{Position, Subscription, Subscriptions};
pub use tool::{GenerateNtfyTopic, NtfyList, NtfyPublish, NtfySubscribe, NtfyUnsubscribe};
pub use words::new_topic;

use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        Arc::new(GenerateNtfyTopic),
        Arc::new(NtfySubscribe),
        Arc::new(NtfyUnsubscribe),
        Arc::new(NtfyPublish),
        Arc::new(NtfyList),
    ]
}
