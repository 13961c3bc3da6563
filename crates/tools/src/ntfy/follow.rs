//! Following of the subscribed topics while a front end is open.
//!
//! One stream per topic, resumed after the last message that was shown. A connection that breaks is made again, later each
//! time; a server that wants a pause gets it. Messages are shown to the person and never given to a model: everyone who
//! knows a topic can write to it.

use super::client::{Message, Server};
use super::error::NtfyError;
use super::subscriptions::{Position, Subscription, Subscriptions};
use marvin_base::file_stamp::FileStamp;
use marvin_base::printable;
use marvin_base::settings::Settings;
use marvin_base::truncate;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How often the list of subscriptions is looked at.
const LIST_INTERVAL: Duration = Duration::from_secs(1);
/// The first pause after a failure, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Characters of a message that are shown.
const MAX_SHOWN_CHARS: usize = 1_000;

/// A message from a topic, made safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMessage {
    /// The label of the subscription, else the topic.
    pub from: String,
    pub title: String,
    pub text: String,
}

impl TopicMessage {
    fn new(topic: &str, subscription: &Subscription, message: &Message) -> Self {
        let clean =
            |text: &str| printable::visible(&truncate::line(text.trim(), MAX_SHOWN_CHARS)).into_owned();
        let from = if subscription.label.is_empty() { topic } else { &subscription.label };
        TopicMessage { from: clean(from), title: clean(&message.title), text: clean(&message.message) }
    }
}

impl fmt::Display for TopicMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = if self.title.is_empty() { String::new() } else { format!("{}: ", self.title) };
        write!(formatter, "ntfy {}: {title}{}", self.from, self.text)
    }
}

/// Receiver of messages.
pub type MessageSink = Arc<dyn Fn(TopicMessage) + Send + Sync>;

/// The streams of a profile's subscriptions; they end when it is dropped.
#[derive(Debug)]
pub struct Follower {
    _end: DropGuard,
}

impl Follower {
    /// Follows the subscriptions, also those that are added later. Must be called within a runtime.
    #[must_use]
    pub fn start(settings: Arc<Settings>, subscriptions: Subscriptions, sink: MessageSink) -> Self {
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        tokio::spawn(async move {
            let work = follow_all(&settings, &subscriptions, &sink);
            tokio::select! {
                () = token.cancelled() => {}
                () = work => {}
            }
        });
        Follower { _end: cancel.drop_guard() }
    }
}

/// A task that ends when it is dropped.
struct Stream(JoinHandle<()>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn follow_all(settings: &Settings, subscriptions: &Subscriptions, sink: &MessageSink) {
    let mut server: Option<Server> = None;
    let mut streams: BTreeMap<String, (Subscription, Stream)> = BTreeMap::new();
    let mut stamp: Option<Option<FileStamp>> = None;
    loop {
        let now = FileStamp::from_path(subscriptions.path());
        if stamp.is_none_or(|old| !FileStamp::still(old, now)) {
            stamp = Some(now);
            // A file that cannot be read changes nothing; it is read again when it changes.
            if let (Ok(all), Ok(positions)) = (subscriptions.read(), subscriptions.positions()) {
                streams.retain(|topic, (known, _)| all.get(topic) == Some(known));
                for (topic, subscription) in all {
                    if streams.contains_key(&topic) {
                        continue;
                    }
                    // Not before it is needed: it loads certificates.
                    if server.is_none() {
                        server = Server::from_settings(settings).ok();
                    }
                    let of_topic =
                        server.as_ref().and_then(|server| server.of_topic(&subscription.url, &topic).ok());
                    let Some(server) = of_topic else { continue };
                    let position = positions.get(&topic).cloned().unwrap_or_default();
                    let work = follow_topic(
                        server,
                        topic.clone(),
                        subscription.clone(),
                        position,
                        subscriptions.clone(),
                        sink.clone(),
                    );
                    streams.insert(topic, (subscription, Stream(tokio::spawn(work))));
                }
            }
        }
        tokio::time::sleep(LIST_INTERVAL).await;
    }
}

async fn follow_topic(
    server: Server,
    topic: String,
    subscription: Subscription,
    mut position: Position,
    subscriptions: Subscriptions,
    sink: MessageSink,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let before = position.clone();
        let show = |message: Message, position: &mut Position| {
            if position.advance(&message) {
                sink(TopicMessage::new(&topic, &subscription, &message));
                // Where this fails the message is shown again by the next front end.
                subscriptions.note(&topic, &message).ok();
            }
        };
        let error = match server.open_stream(&topic, &position.since()).await {
            Err(error) => error,
            Ok(mut lines) => loop {
                match lines.next().await {
                    Ok(Some(message)) if message.event == "message" => show(message, &mut position),
                    Ok(Some(_)) => pause = FIRST_PAUSE,
                    Ok(None) => break server.unreachable("it ended the stream"),
                    Err(error) => break error,
                }
            },
        };
        tracing::debug!(%error, "a stream of ntfy ended");
        if position != before {
            pause = FIRST_PAUSE;
        }
        let wanted = match &error {
            NtfyError::Status { wait: Some(wait), .. } => *wait,
            // Without the right to read it, asking often does not help.
            error if !error.is_passing() => MAX_PAUSE,
            _ => Duration::ZERO,
        };
        tokio::time::sleep(pause.max(wanted)).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
