//! Servers that do not end their answer: each is a few lines over a real socket, and none may block a request forever.

use crate::support::{ANTHROPIC, OLLAMA, OPENAI, Outcome, Provider, ask, request};
use marvin_model::client::Failure;
use marvin_model::retry::RetryClient;
use marvin_model::wire::{HttpModel, HttpOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const HEADERS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n";

/// A server that sends `first`, and then `again` after every pause until the client disconnects.
fn endless(first: &str, again: String, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let start = format!("{HEADERS}{first}");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 65536]).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        while stream.write_all(again.as_bytes()).is_ok() {
            std::thread::sleep(pause);
        }
    });
    address
}

/// The outcome of a request with these limits, and its duration.
async fn bounded(
    provider: Provider,
    server: SocketAddr,
    idle: Duration,
    total: Duration,
) -> (Outcome, Duration) {
    let options = HttpOptions { idle, total, ..provider.options(server, "m", idle) };
    let started = Instant::now();
    let outcome = ask(&HttpModel::new(options).unwrap(), &request("hi")).await;
    (outcome, started.elapsed())
}

const SHORT: Duration = Duration::from_millis(600);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn keep_alive_events_do_not_extend_the_timeout() {
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    for (provider, sign) in [(OPENAI, ": ping\n\n"), (ANTHROPIC, ping), (OLLAMA, "\n")] {
        let server = endless("", sign.into(), Duration::from_millis(100));
        let (outcome, took) = bounded(provider, server, SHORT, LONG).await;
        let error = outcome.result.unwrap_err();
        assert_eq!(error.failure, Failure::Slow, "{}", provider.name);
        assert!(error.message.contains("limits.first_token_s"), "{error}");
        assert!(took < Duration::from_secs(30), "{took:?}");
    }
}

#[tokio::test]
async fn a_flood_of_keep_alive_events_does_not_extend_the_timeout() {
    let server = endless(TEXT, ": ping\n".repeat(100), Duration::ZERO);
    let (outcome, took) = bounded(OPENAI, server, SHORT, LONG).await;
    assert_eq!(outcome.texts, ["word "]);
    assert!(matches!(outcome.result.unwrap_err().failure, Failure::Timeout | Failure::Garbage));
    assert!(took < Duration::from_secs(50), "{took:?}");
}

#[tokio::test]
async fn a_slow_answer_hits_the_total_timeout() {
    let server = endless(TEXT, TEXT.into(), Duration::from_millis(100));
    let (outcome, took) = bounded(OPENAI, server, LONG, SHORT).await;
    assert!(outcome.texts.len() > 1, "{:?}", outcome.texts);
    let error = outcome.result.unwrap_err();
    assert_eq!(error.failure, Failure::Slow);
    assert!(error.message.contains("limits.request_s"), "{error}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let piece =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(60_000));
    let server = endless("", piece, Duration::ZERO);
    let (outcome, _) = bounded(OPENAI, server, LONG, LONG).await;
    let received: usize = outcome.texts.iter().map(String::len).sum();
    assert!(received <= 64 << 20, "{received}");
    let error = outcome.result.unwrap_err();
    assert_eq!(error.failure, Failure::Garbage);
    assert_eq!(error.spent().unwrap().output, (received as u64).div_ceil(4), "every character is paid for");
    assert!(error.message.contains("larger than 64 MB"), "{error}");
}

#[tokio::test]
async fn g_the_progress_of_a_local_server_is_told() {
    let progress = |done| {
        format!(
            "data: {{\"choices\":[],\"prompt_progress\":{{\"total\":800,\"cache\":0,\"processed\":{done},\"time_ms\":9}}}}\n\n"
        )
    };
    let first = [progress(400), progress(800), TEXT.to_string(), "data: [DONE]\n\n".to_string()].concat();
    let (outcome, _) = bounded(OPENAI, endless(&first, String::new(), LONG), LONG, LONG).await;
    assert_eq!((outcome.texts, outcome.reading), (vec!["word ".to_string()], vec![(400, 800), (800, 800)]));
}

/// A server that reads the prompt for a while, then answers; it counts the requests.
fn slow_reader(pause: Duration) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 65536]).unwrap();
                std::thread::sleep(pause);
                stream.write_all(format!("{HEADERS}{TEXT}data: [DONE]\n\n").as_bytes()).ok();
            });
        }
    });
    (address, asked)
}

#[tokio::test]
async fn g_a_model_that_reads_long_has_a_limit_of_its_own_and_is_asked_once() {
    let (server, asked) = slow_reader(Duration::from_millis(1_500));
    let options = |first| HttpOptions { first, ..OPENAI.options(server, "m", Duration::from_millis(300)) };
    let client = |first| RetryClient { inner: Arc::new(HttpModel::new(options(first)).unwrap()), retries: 3 };
    let answered = ask(&client(LONG), &request("hi")).await;
    assert_eq!(answered.texts, ["word "], "{:?}", answered.result);
    let dropped = ask(&client(SHORT), &request("hi")).await.result.unwrap_err();
    assert_eq!(dropped.failure, Failure::Slow);
    assert!(dropped.message.contains("limits.first_token_s"), "{dropped}");
    assert_eq!(asked.load(Ordering::SeqCst), 2, "the dropped request was repeated");
}
