//! Push notifications through an ntfy server: a line of text to a topic that the person named.

use crate::result::ToolError;
use marvin_base::settings::{Settings, table};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(10);

/// Publishes a message to a topic.
///
/// # Errors
/// When the topic is invalid, or the server cannot be reached or refuses.
pub async fn publish(settings: &Settings, topic: &str, title: &str, message: &str) -> Result<(), ToolError> {
    let usable = !topic.is_empty()
        && topic.len() <= 64
        && topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if !usable {
        return Err(ToolError::Usage("a topic is 1 to 64 letters, digits, `_` or `-`".into()));
    }
    let url = format!("{}/{topic}", settings.text(&table::NTFY_URL).trim_end_matches('/'));
    let client = marvin_model::wire::web_client(&url, DEADLINE)
        .map_err(|error| ToolError::Failed(error.to_string()))?;
    let response = client
        .post(url)
        .header("Title", title)
        .timeout(DEADLINE)
        .body(message.to_string())
        .send()
        .await
        .map_err(|error| ToolError::Failed(error.without_url().to_string()))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(ToolError::Failed(format!("the server answered {status}"))),
    }
}
