//! Serving over standard input and output: one client, the parent process.
//!
//! Lines that are not a message are answered here, because the library drops a line that is not JSON and answers an invalid
//! request without its id.

use super::{Handler, MAX_MESSAGE_BYTES};
use marvin_agent::SessionError;
use rmcp::service::serve_server_with_ct;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Error codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Bytes between the lines that were checked and the library.
const BUFFER_BYTES: usize = 64 * 1024;

/// Serves until standard input closes or `cancel`, then ends every running call.
///
/// # Errors
/// When the record cannot be closed. A client that disconnects before the handshake is not an error.
pub async fn serve_stdio(handler: Handler, cancel: CancellationToken) -> Result<(), SessionError> {
    let output = Arc::new(Mutex::new(tokio::io::stdout()));
    let (checked, requests) = tokio::io::duplex(BUFFER_BYTES);
    let (answers, written) = tokio::io::duplex(BUFFER_BYTES);
    let stop = cancel.child_token();
    let reader = tokio::spawn(read_lines(tokio::io::stdin(), checked, output.clone()));
    let writer = tokio::spawn(write_lines(written, output));
    let transport = AsyncRwTransport::new_server(requests, answers).with_max_line_length(MAX_MESSAGE_BYTES);
    if let Ok(running) = serve_server_with_ct(handler.clone(), transport, stop).await {
        running.waiting().await.ok();
    }
    reader.abort();
    // It ends when the library has closed its side, with everything written.
    writer.await.ok();
    handler.end().await
}

/// Passes messages on, and answers every other line.
async fn read_lines(
    input: impl AsyncRead + Unpin,
    mut checked: DuplexStream,
    output: Arc<Mutex<impl AsyncWrite + Unpin>>,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut input).take(MAX_MESSAGE_BYTES as u64 + 1);
        match bounded.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_long = line.len() > MAX_MESSAGE_BYTES;
        if is_long && !skip_line(&mut input, &line).await {
            return;
        }
        let problem = if is_long {
            refusal(
                &Value::Null,
                INVALID_REQUEST,
                &format!("the message is longer than {MAX_MESSAGE_BYTES} bytes"),
            )
        } else {
            find_problem(&line)
        };
        let result = match problem {
            None => checked.write_all(&line).await,
            Some(answer) => write_line(&output, format!("{answer}\n").as_bytes()).await,
        };
        if result.is_err() {
            return;
        }
    }
}

/// Reads the rest of a line that begins with `line`; false at the end of the input.
async fn skip_line(input: &mut (impl AsyncBufReadExt + Unpin), line: &[u8]) -> bool {
    if line.ends_with(b"\n") {
        return true;
    }
    loop {
        let Ok(buffer) = input.fill_buf().await else { return false };
        let (end, length) = (buffer.iter().position(|byte| *byte == b'\n'), buffer.len());
        input.consume(end.map_or(length, |at| at + 1));
        if end.is_some() || length == 0 {
            return end.is_some();
        }
    }
}

/// Copies the answers of the library, whole lines at a time.
async fn write_lines(written: DuplexStream, output: Arc<Mutex<impl AsyncWrite + Unpin>>) {
    let mut written = BufReader::new(written);
    let mut line = Vec::new();
    while matches!(written.read_until(b'\n', &mut line).await, Ok(read) if read > 0) {
        if write_line(&output, &line).await.is_err() {
            return;
        }
        line.clear();
    }
}

async fn write_line(output: &Mutex<impl AsyncWrite + Unpin>, line: &[u8]) -> std::io::Result<()> {
    let mut output = output.lock().await;
    output.write_all(line).await?;
    output.flush().await
}

#[derive(Serialize)]
struct ErrorAnswer<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    error: RpcError<'a>,
}

#[derive(Serialize)]
struct RpcError<'a> {
    code: i32,
    message: &'a str,
}

/// An error as an answer.
fn refusal(id: &Value, code: i32, message: &str) -> Option<String> {
    let error = RpcError { code, message };
    serde_json::to_string(&ErrorAnswer { jsonrpc: "2.0", id, error }).ok()
}

/// The answer to a line that is not a message; none for a message. Empty lines are passed on.
fn find_problem(line: &[u8]) -> Option<String> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            return refusal(&Value::Null, PARSE_ERROR, &format!("cannot parse the line as JSON: {error}"));
        }
    };
    let id = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    let invalid = |reason: &str| refusal(&id, INVALID_REQUEST, &format!("invalid request: {reason}"));
    if message.is_array() {
        return invalid("batches are not part of this protocol; send one message per line");
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    if !is_answer && !message.get("method").is_some_and(Value::is_string) {
        return invalid("`method` must be a string");
    }
    if message.get("id").is_some() && (id.is_null() || id.is_number() && !id.is_i64()) {
        return invalid("`id` must be a string or a whole number");
    }
    if message.get("params").is_some_and(|params| !params.is_object()) {
        return invalid("`params` must be an object");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_what_is_not_a_request_is_answered_with_its_id() {
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[1]}"#, "\"a\""),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "1.5"),
            (r#"{"jsonrpc":"2.0","id":99999999999999999999999,"method":"ping"}"#, "1e+23"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "null"),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, "7"),
            (r#"[]"#, "null"),
            ("nothing", "null"),
        ] {
            let answer = find_problem(line.as_bytes()).unwrap();
            assert!(
                answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error""#)),
                "{line}: {answer}"
            );
        }
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
            "  ",
        ] {
            assert_eq!(find_problem(line.as_bytes()), None, "{line}");
        }
    }
}
