//! Marionette: the protocol by which Firefox is driven.
//!
//! Messages are `LENGTH:JSON` over TCP. A command is `[0, id, name, parameters]`, its answer `[1, id, error, result]`, one after
//! the other.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// How often a browser that starts is asked for a connection.
const CONNECT_INTERVAL: Duration = Duration::from_millis(50);
/// Digits of the length of a message.
const MAX_LENGTH_DIGITS: usize = 9;
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Failure to drive a browser.
#[derive(Debug, thiserror::Error)]
pub(super) enum MarionetteError {
    #[error("the connection failed: {0}")]
    Connection(#[from] std::io::Error),
    #[error("a message is not understood: {0}")]
    Message(#[from] serde_json::Error),
    #[error("a message has no length, or more than {MAX_MESSAGE_BYTES} bytes")]
    Length,
    #[error("{name} failed: {message}")]
    Command { name: &'static str, message: String },
}

/// The first message of the browser.
#[derive(Debug, Deserialize)]
struct Hello {
    #[serde(rename = "marionetteProtocol")]
    _protocol: u32,
}

#[derive(Debug, Deserialize)]
struct CommandFailure {
    error: String,
    message: String,
}

/// A result that is wrapped, as those of scripts are.
#[derive(Debug, Deserialize)]
pub(super) struct Value<T> {
    pub(super) value: T,
}

/// A connection to a browser.
#[derive(Debug)]
pub(super) struct Marionette {
    stream: BufReader<TcpStream>,
    last_id: u32,
}

impl Marionette {
    /// Connects to a browser as soon as it listens. The caller bounds the time.
    ///
    /// # Errors
    /// When it is not Marionette that answers.
    pub(super) async fn connect(port: u16) -> Result<Self, MarionetteError> {
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => break stream,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    tokio::time::sleep(CONNECT_INTERVAL).await;
                }
                Err(error) => return Err(error.into()),
            }
        };
        let mut marionette = Marionette { stream: BufReader::new(stream), last_id: 0 };
        serde_json::from_slice::<Hello>(&marionette.read_message().await?)?;
        Ok(marionette)
    }

    /// Sends a command and waits for its result.
    ///
    /// # Errors
    /// When the connection ends, or the command fails.
    pub(super) async fn command<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        parameters: &impl Serialize,
    ) -> Result<T, MarionetteError> {
        self.last_id += 1;
        let text = serde_json::to_string(&(0, self.last_id, name, parameters))?;
        self.stream.write_all(format!("{}:{text}", text.len()).as_bytes()).await?;
        let answer = self.read_message().await?;
        let (_, _, failure, result): (u32, u32, Option<CommandFailure>, Option<serde_json::Value>) =
            serde_json::from_slice(&answer)?;
        match failure {
            Some(CommandFailure { error, message }) => {
                Err(MarionetteError::Command { name, message: format!("{error}: {message}") })
            }
            None => Ok(serde_json::from_value(result.unwrap_or_default())?),
        }
    }

    async fn read_message(&mut self) -> Result<Vec<u8>, MarionetteError> {
        let mut digits = String::new();
        loop {
            match char::from(self.stream.read_u8().await?) {
                ':' => break,
                digit if digit.is_ascii_digit() && digits.len() < MAX_LENGTH_DIGITS => digits.push(digit),
                _ => return Err(MarionetteError::Length),
            }
        }
        let length: usize = digits.parse().map_err(|_| MarionetteError::Length)?;
        if length > MAX_MESSAGE_BYTES {
            return Err(MarionetteError::Length);
        }
        let mut message = vec![0; length];
        self.stream.read_exact(&mut message).await?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Answers a connection with these messages, and returns the first bytes that came.
    async fn play(answer: String) -> (u16, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let playing = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            let mut bytes = vec![0; 4_096];
            let length = stream.read(&mut bytes).await.unwrap();
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        });
        (port, playing)
    }

    fn messages(texts: &[&str]) -> String {
        texts.iter().map(|text| format!("{}:{text}", text.len())).collect()
    }

    const HELLO: &str = r#"{"applicationType":"gecko","marionetteProtocol":3}"#;

    #[tokio::test]
    async fn commands_and_results_have_lengths() {
        let (port, playing) = play(messages(&[HELLO, r#"[1,1,null,{"value":"hi"}]"#])).await;
        let mut marionette = Marionette::connect(port).await.unwrap();
        let result: Value<String> = marionette.command("WebDriver:GetTitle", &[0_u8; 0]).await.unwrap();
        assert_eq!(result.value, "hi");
        assert_eq!(playing.await.unwrap(), r#"29:[0,1,"WebDriver:GetTitle",[]]"#);
    }

    #[tokio::test]
    async fn failures_and_other_protocols_are_errors() {
        let failure = r#"[1,1,{"error":"timeout","message":"too slow"},null]"#;
        let (port, _playing) = play(messages(&[HELLO, failure])).await;
        let mut marionette = Marionette::connect(port).await.unwrap();
        let error = marionette.command::<Value<String>>("WebDriver:Navigate", &[0_u8; 0]).await.unwrap_err();
        assert_eq!(error.to_string(), "WebDriver:Navigate failed: timeout: too slow");
        for wrong in ["HTTP/1.1 400 Bad Request\r\n", "99999999:x", "9999999999:", "2:{}"] {
            let (port, _playing) = play(wrong.to_string()).await;
            Marionette::connect(port).await.unwrap_err();
        }
    }
}
