//! A small HTTP server on a real socket that counts its connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// The server's reaction to a request.
pub(crate) enum Reply {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these one after the other, with pauses, and closes.
    Pieces(Vec<Vec<u8>>),
    /// Sends the first bytes, then repeats the others with a pause between.
    Endless(Vec<u8>, Vec<u8>, Duration),
    /// Sends nothing.
    Silence,
}

/// An answer with a status, a content type and a body.
pub(crate) fn page(status: &str, kind: &str, body: impl AsRef<[u8]>) -> Reply {
    answer(status, &[("Content-Type", kind)], body)
}

/// An answer with headers.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    Reply::Bytes(bytes)
}

/// A redirect.
pub(crate) fn redirect(status: &str, to: &str) -> Reply {
    answer(status, &[("Location", to)], "")
}

/// The handler: path with query, complete request head, and body.
type Handler = Arc<dyn Fn(&str, &str, &[u8]) -> Reply + Send + Sync>;

pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    hits: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    /// A server on the loopback.
    pub(crate) async fn start(handler: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> Self {
        Server::on("127.0.0.1:0", handler).await
    }

    /// A server on an address.
    pub(crate) async fn on(
        address: &str,
        handler: impl Fn(&str, &str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Server::with_bodies(address, move |path, head, _| handler(path, head)).await
    }

    /// A server whose handler sees the bodies of requests too.
    pub(crate) async fn with_bodies(
        address: &str,
        handler: impl Fn(&str, &str, &[u8]) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap_or_else(|error| panic!("{address}: {error}"));
        let address = listener.local_addr().unwrap();
        let hits = Arc::new(AtomicUsize::new(0));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (count, seen) = (hits.clone(), heads.clone());
        let handler: Handler = Arc::new(handler);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, handler.clone(), seen.clone()));
            }
        });
        Server { address, hits, heads, _task: AbortOnDropHandle::new(task) }
    }

    /// A server that no request may reach.
    pub(crate) async fn secret(address: &str) -> Self {
        Server::on(address, |_, _| page("200 OK", "text/plain", "THE SECRET OF THE HOUSE")).await
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connections so far.
    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// The heads of the requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, handler: Handler, seen: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let (head, length) = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end + 4]).into_owned();
            bytes.drain(..end + 4);
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            break (head, length.unwrap_or(0usize));
        }
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    };
    while bytes.len() < length {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let path = head.split(' ').nth(1).unwrap_or("/").to_string();
    seen.lock().unwrap().push(head.clone());
    match handler(&path, &head, &bytes) {
        Reply::Bytes(bytes) => {
            stream.write_all(&bytes).await.ok();
            stream.shutdown().await.ok();
        }
        Reply::Pieces(pieces) => {
            for piece in pieces {
                stream.write_all(&piece).await.ok();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            stream.shutdown().await.ok();
        }
        Reply::Endless(first, more, pause) => {
            let mut going = stream.write_all(&first).await.is_ok();
            while going {
                going = stream.write_all(&more).await.is_ok();
                if pause > Duration::ZERO {
                    tokio::time::sleep(pause).await;
                }
            }
        }
        Reply::Silence => tokio::time::sleep(Duration::from_secs(600)).await,
    }
}
