//! `marvin ntfy`: topics of push notifications on the command line.

use crate::failure::Failure;
use crate::runtime::runtime;
use crate::{output, project};
use clap::Subcommand;
use marvin_base::settings::table;
use marvin_base::{Exit, clock, profile};
use marvin_tools::ntfy::{self, NtfyError, Server, Subscription, Subscriptions};
use serde::Serialize;

/// Follow topics of push notifications (ntfy), and send some
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  marvin ntfy new --label phone\n  marvin ntfy list")]
pub(crate) enum NtfyCommand {
    /// List the topics that you follow
    #[command(after_help = "Examples:\n  marvin ntfy list\n  marvin ntfy list --json | jq -r '.[].topic'")]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a new topic of five random words, and follow it
    #[command(after_help = "Example:\n  marvin ntfy new --label phone")]
    New {
        /// A name for you
        #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
        label: String,
    },
    /// Follow a topic: its messages are shown while Marvin is open
    #[command(after_help = "Example:\n  marvin ntfy subscribe my-backups --label Backups")]
    Subscribe {
        #[arg(value_name = "TOPIC")]
        topic: String,
        /// A name for you
        #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
        label: String,
    },
    /// Stop following a topic
    #[command(after_help = "Example:\n  marvin ntfy unsubscribe my-backups")]
    Unsubscribe {
        #[arg(value_name = "TOPIC")]
        topic: String,
    },
    /// Send a message to a topic
    #[command(after_help = "Example:\n  marvin ntfy publish my-backups 'The backup is done' --title Backup")]
    Publish {
        #[arg(value_name = "TOPIC")]
        topic: String,
        #[arg(value_name = "MESSAGE")]
        message: String,
        #[arg(long, value_name = "TITLE", default_value = "", hide_default_value = true)]
        title: String,
    },
}

impl From<NtfyError> for Failure {
    fn from(error: NtfyError) -> Self {
        let hint = error.hint();
        let failure = if error.is_usage() { Failure::usage(error) } else { Failure::failed(error) };
        hint.into_iter().fold(failure, Failure::hint)
    }
}

#[derive(Serialize)]
struct TopicRow {
    topic: String,
    #[serde(flatten)]
    subscription: Subscription,
}

pub(crate) fn run(command: NtfyCommand) -> Result<Exit, Failure> {
    let context = project::context(None, false, Vec::new())?;
    let active = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    let subscriptions = Subscriptions::new(context.layout.ntfy_subscriptions(&active));
    let subscribe = |topic: &str, label: &str| -> Result<String, Failure> {
        let url = Server::from_settings(&context.settings)?.address(topic.trim());
        subscriptions.subscribe(topic, label, &url, clock::now().as_second())?;
        Ok(url)
    };
    match command {
        NtfyCommand::List { json } => {
            let all = subscriptions.read()?;
            if json {
                let rows = all.into_iter().map(|(topic, subscription)| TopicRow { topic, subscription });
                return output::json(&rows.collect::<Vec<_>>());
            }
            let line =
                |(topic, one): (&String, &Subscription)| format!("{topic}  {}  {}", one.label, one.url);
            let lines: Vec<String> = all.iter().map(line).collect();
            output::line(&if lines.is_empty() {
                "No topics are followed.".to_string()
            } else {
                lines.join("\n")
            })
        }
        NtfyCommand::New { label } => {
            let topic = ntfy::new_topic();
            let url = subscribe(&topic, &label)?;
            output::line(&format!("{topic}\nSubscribe to it on your phone: {url}"))
        }
        NtfyCommand::Subscribe { topic, label } => {
            let url = subscribe(&topic, &label)?;
            output::line(&format!("Following {url}."))
        }
        NtfyCommand::Unsubscribe { topic } => {
            subscriptions.unsubscribe(&topic)?;
            output::line(&format!("No longer following {}.", topic.trim()))
        }
        NtfyCommand::Publish { topic, message, title } => {
            if message.trim().is_empty() {
                return Err(NtfyError::NoMessage.into());
            }
            runtime()?.block_on(ntfy::publish(&context.settings, &topic, &title, &message))?;
            output::line(&format!("Sent to {}.", topic.trim()))
        }
    }
}
