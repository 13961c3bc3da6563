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
pub(crate) use tool::tools;
pub use words::new_topic;
