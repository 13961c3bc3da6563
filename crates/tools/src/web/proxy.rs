//! A proxy on this machine through which a program of others (a browser, yt-dlp) reaches the network.
//!
//! Every connection is judged as a request of a tool is: the host by the lists, each address that its name resolves to. The
//! program is in a sandbox that lets it connect to the port of this proxy and to no other (the sandbox's `Policy::connect` says what that leaves open).
//! Encrypted connections are passed on unread; of them the gate sees the host.
//!
//! Limits: a host that is on no list may be reached where the person agreed to the page that needs it: the page's own host, what
//! is below it, and the hosts that the caller names.

use super::get;
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_gate::network::{Destination, Guard, Host};
use marvin_gate::{Decision, Refusal};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_CONNECTIONS: usize = 64;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PIECE_BYTES: usize = 32 * 1024;

/// Headers that are for the proxy itself.
const OWN_HEADERS: [&str; 3] = ["proxy-connection", "proxy-authorization", "connection"];

/// A running proxy; it ends with this value.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    rules: Arc<Rules>,
    accepting: JoinHandle<()>,
}

/// What a proxy lets through.
#[derive(Debug)]
struct Rules {
    context: ToolContext,
    /// Hosts that need no list, with those below them.
    agreed: Vec<String>,
    refused: Mutex<BTreeSet<String>>,
    /// Bytes from the network that may still pass.
    left: AtomicU64,
}

impl Proxy {
    /// Starts a proxy for a page that the gate let this call ask for. `further` are hosts that belong to it; `limit` is the
    /// number of bytes that pass in all.
    ///
    /// # Errors
    /// When the address is not one of the web, or no port can be opened.
    pub(crate) async fn start(
        url: &str,
        further: &[&str],
        limit: u64,
        context: &ToolContext,
    ) -> Result<Proxy, ToolError> {
        let first = Destination::understand(url)?;
        let host = first.host().to_string();
        let domain = host.strip_prefix("www.").unwrap_or(&host).to_string();
        let agreed = std::iter::once(domain).chain(further.iter().map(ToString::to_string)).collect();
        let failed = |error: std::io::Error| ToolError::Failed(format!("cannot start a proxy: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let rules = Arc::new(Rules {
            context: context.clone(),
            agreed,
            refused: Mutex::default(),
            left: AtomicU64::new(limit),
        });
        let accepting = tokio::spawn(accept(listener, rules.clone()));
        Ok(Proxy { address, rules, accepting })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its address, as programs take it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The hosts that were refused, in order.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.rules.refused.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The connections are in a set that this task owns.
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, rules: Arc<Rules>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    while let Ok(place) = places.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else { return };
        let rules = rules.clone();
        connections.spawn(async move {
            if let Err(error) = serve(stream, &rules).await {
                tracing::debug!(%error, "connection of the proxy");
            }
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// The head of a request: its first line, its other lines, and what follows it.
struct Head {
    method: String,
    target: String,
    lines: Vec<String>,
    rest: Vec<u8>,
}

async fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 4_096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut lines = text.lines().filter(|line| !line.is_empty()).map(str::to_string);
            let first = lines.next().unwrap_or_default();
            let mut words = first.split(' ');
            let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
            return Ok(Some(Head {
                method: method.to_string(),
                target: target.to_string(),
                lines: lines.collect(),
                rest,
            }));
        }
        let length = stream.read(&mut piece).await?;
        if length == 0 || bytes.len() + length > MAX_HEAD_BYTES {
            return Ok(None);
        }
        bytes.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
}

async fn serve(mut client: TcpStream, rules: &Rules) -> std::io::Result<()> {
    let head = tokio::time::timeout(HEAD_TIMEOUT, read_head(&mut client)).await;
    let Ok(Ok(Some(head))) = head else { return Ok(()) };
    let is_tunnel = head.method == "CONNECT";
    let url = if is_tunnel { format!("https://{}/", head.target) } else { head.target.clone() };
    let (to, mut server) = match open(&url, rules).await {
        Ok(opened) => opened,
        Err(error) => return client.write_all(answer(&error.to_string()).as_bytes()).await,
    };
    if is_tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    } else {
        let mut path = to.url().path().to_string();
        if let Some(query) = to.url().query() {
            path = format!("{path}?{query}");
        }
        let own = |line: &&String| {
            let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            !OWN_HEADERS.contains(&name.as_str())
        };
        let lines: Vec<&str> = head.lines.iter().filter(own).map(String::as_str).collect();
        let text =
            format!("{} {path} HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", head.method, lines.join("\r\n"));
        server.write_all(text.as_bytes()).await?;
    }
    server.write_all(&head.rest).await?;
    pass(client, server, rules).await
}

fn answer(reason: &str) -> String {
    let body = format!("{reason}\n");
    format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Why a connection was not made.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    /// By the gate.
    #[error("{0}")]
    Refused(String),
    #[error("cannot reach {place}: {source}")]
    Unreachable {
        place: String,
        #[source]
        source: std::io::Error,
    },
}

impl From<Refusal> for ConnectError {
    fn from(refusal: Refusal) -> Self {
        ConnectError::Refused(refusal.reason)
    }
}

/// Judges, resolves, connects.
async fn open(url: &str, rules: &Rules) -> Result<(Destination, TcpStream), ConnectError> {
    let context = &rules.context;
    let guard = Guard::new(&context.settings, &context.redactor)?;
    let to = Destination::understand(url)?;
    let refuse = |reason: String| {
        rules.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(to.place());
        ConnectError::Refused(reason)
    };
    let verdict = guard.judge(url, None);
    let is_open = match verdict.decision {
        Decision::Allow => true,
        Decision::Ask => rules.is_agreed(to.host()),
        Decision::Deny => false,
    };
    if !is_open {
        return Err(refuse(verdict.reason));
    }
    let addresses = get::resolve(&guard, &to, None).await.map_err(|error| refuse(error.to_string()))?;
    let unreachable = |source| ConnectError::Unreachable { place: to.place(), source };
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(addresses.as_slice())).await;
    let connected = connecting.map_err(|_| unreachable(std::io::ErrorKind::TimedOut.into()))?;
    let stream = connected.map_err(unreachable)?;
    Ok((to, stream))
}

impl Rules {
    fn is_agreed(&self, host: &Host) -> bool {
        let name = host.to_string();
        self.agreed.iter().any(|agreed| {
            name.strip_suffix(agreed.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }

    /// Takes this many bytes from what may still pass.
    fn take(&self, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// Passes bytes on in both directions until the server has sent all, or the bound is reached.
async fn pass(mut client: TcpStream, mut server: TcpStream, rules: &Rules) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let down = async {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = from_server.read(&mut piece).await?;
            let bytes = piece.get(..length).unwrap_or_default();
            if bytes.is_empty() || !rules.take(length) {
                return to_client.shutdown().await;
            }
            to_client.write_all(bytes).await?;
        }
    };
    let up = async {
        tokio::io::copy(&mut from_client, &mut to_server).await.ok();
        to_server.shutdown().await.ok();
        // A client that has asked may still wait for the answer.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        done = down => done,
        () = up => Ok(()),
    }
}
