//! One question to Blender's add-on: a line of JSON over TCP, and the object that answers it.

use super::error::BlenderError;
use super::scene::{Picture, Scene};
use crate::service::{clean, clean_value};
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::settings::{Settings, table};
use marvin_base::truncate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// An answer that is longer is not read; a picture is the longest.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
const MAX_TOKEN_BYTES: u64 = 256;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A command of the add-on.
#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "params", rename_all = "snake_case")]
pub(super) enum Command<'a> {
    GetScene {},
    GetObject {
        name: &'a str,
    },
    CreateObject {
        #[serde(rename = "type")]
        kind: &'a str,
        name: &'a str,
        location: &'a [f64],
        scale: &'a [f64],
        rotation: &'a [f64],
    },
    ModifyObject {
        name: &'a str,
        location: Option<&'a [f64]>,
        scale: Option<&'a [f64]>,
        rotation: Option<&'a [f64]>,
    },
    DeleteObject {
        name: &'a str,
    },
    SetMaterial {
        name: &'a str,
        material_name: &'a str,
        color: &'a [f64],
    },
    ExecuteCode {
        code: &'a str,
    },
    Screenshot {
        max_size: u32,
    },
}

/// A request as it is sent.
#[derive(Debug, Serialize)]
struct Request<'a> {
    #[serde(flatten)]
    command: &'a Command<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    token: &'a str,
}

/// An answer as it comes.
#[derive(Debug, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Answer {
    Success {
        #[serde(default)]
        result: Value,
    },
    Error {
        #[serde(default)]
        message: String,
    },
}

/// The add-on of the person's Blender.
#[derive(Debug, Clone)]
pub struct Blender {
    address: SocketAddr,
    token: String,
    timeout: Duration,
}

impl Blender {
    /// The add-on at the address of the settings.
    ///
    /// # Errors
    /// When the address is not one of this machine.
    pub fn from_settings(settings: &Settings, layout: &Layout) -> Result<Self, BlenderError> {
        let text = settings.text(&table::BLENDER_ADDRESS).trim();
        let address: SocketAddr =
            text.replace("localhost:", "127.0.0.1:").parse().map_err(|_| wrong_address(text))?;
        if !address.ip().is_loopback() {
            return Err(wrong_address(text));
        }
        let token = files::read_text(&layout.blender_token(), MAX_TOKEN_BYTES, Links::Refuse);
        Ok(Blender {
            address,
            token: token.unwrap_or_default().trim().to_string(),
            timeout: settings.seconds(&table::BLENDER_TIMEOUT),
        })
    }

    /// Where the add-on listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The version of the Blender that answers.
    ///
    /// # Errors
    /// When none does.
    pub async fn version(&self) -> Result<String, BlenderError> {
        let scene: Scene = self.ask(&Command::GetScene {}, &CancellationToken::new()).await?;
        Ok(scene.blender)
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        command: &Command<'_>,
        cancel: &CancellationToken,
    ) -> Result<T, BlenderError> {
        let mut result = self.ask_value(command, cancel).await?;
        clean_value(&mut result);
        parse_result(result)
    }

    /// Asks for a picture, whose data is not text and is not cut as such.
    pub(super) async fn ask_picture(
        &self,
        max_size: u32,
        cancel: &CancellationToken,
    ) -> Result<Picture, BlenderError> {
        parse_result(self.ask_value(&Command::Screenshot { max_size }, cancel).await?)
    }

    async fn ask_value(
        &self,
        command: &Command<'_>,
        cancel: &CancellationToken,
    ) -> Result<Value, BlenderError> {
        let asked = tokio::select! {
            asked = tokio::time::timeout(self.timeout, self.exchange(command)) => asked,
            () = cancel.cancelled() => return Err(BlenderError::Interrupted),
        };
        let bytes = asked.map_err(|_| BlenderError::Late(self.timeout.as_secs()))??;
        let not_json = |error: serde_json::Error| {
            BlenderError::Malformed(format!("not JSON at line {}, column {}", error.line(), error.column()))
        };
        let value: Value = serde_json::from_slice(&bytes).map_err(not_json)?;
        // A message of the parser would quote the answer, which has no place in an error.
        let answer = serde_json::from_value(value);
        match answer.map_err(|_| BlenderError::Malformed("it has no known status".into()))? {
            Answer::Success { result } => Ok(result),
            Answer::Error { message } => {
                Err(BlenderError::Refused(truncate::head_whole(&clean(&message), 4_000)))
            }
        }
    }

    async fn exchange(&self, command: &Command<'_>) -> Result<Vec<u8>, BlenderError> {
        let unreachable = |error: std::io::Error| BlenderError::Unreachable {
            address: self.address.to_string(),
            reason: error.to_string(),
        };
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(self.address));
        let mut stream = connecting
            .await
            .map_err(|_| unreachable(std::io::ErrorKind::TimedOut.into()))?
            .map_err(unreachable)?;
        let mut line = serde_json::to_vec(&Request { command, token: &self.token })
            .map_err(|error| BlenderError::Malformed(error.to_string()))?;
        line.push(b'\n');
        stream.write_all(&line).await.map_err(unreachable)?;
        let (mut answer, mut scanner) = (Vec::new(), ObjectScanner::default());
        let mut piece = vec![0; 64 * 1024];
        loop {
            let length = stream.read(&mut piece).await.map_err(unreachable)?;
            let new = piece.get(..length).unwrap_or_default();
            if new.is_empty() {
                return Err(BlenderError::Malformed("it ends too early".into()));
            }
            if answer.len() + new.len() > MAX_ANSWER_BYTES {
                return Err(BlenderError::TooLarge(MAX_ANSWER_BYTES));
            }
            let end = scanner.find_end(new);
            answer.extend_from_slice(new.get(..end.unwrap_or(length)).unwrap_or_default());
            if end.is_some() {
                return Ok(answer);
            }
        }
    }
}

fn wrong_address(text: &str) -> BlenderError {
    BlenderError::Address(truncate::line(text, 80))
}

fn parse_result<T: DeserializeOwned>(result: Value) -> Result<T, BlenderError> {
    serde_json::from_value(result)
        .map_err(|_| BlenderError::Malformed("its result has other fields than expected".into()))
}

/// Finds the end of the first JSON object in a stream, whether or not a line end follows it.
#[derive(Debug, Default)]
struct ObjectScanner {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl ObjectScanner {
    /// The number of bytes of this piece that belong to the object, once it is complete.
    fn find_end(&mut self, piece: &[u8]) -> Option<usize> {
        for (index, byte) in piece.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(index + 1);
                    }
                }
                // A line without an object is an answer too, though a wrong one.
                b'\n' if self.depth == 0 => return Some(index + 1),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_object_is_found_in_pieces() {
        let text = br#"{"a": "}\"{", "b": [{}]} rest"#;
        for size in 1..text.len() {
            let (mut scanner, mut read, mut end) = (ObjectScanner::default(), 0, None);
            for piece in text.chunks(size) {
                if let Some(at) = scanner.find_end(piece) {
                    end = Some(read + at);
                    break;
                }
                read += piece.len();
            }
            assert_eq!(end, Some(text.len() - 5), "pieces of {size}");
        }
    }
}
