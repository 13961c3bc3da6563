//! Chromium's log of its network requests, which says which of them the browser made for itself.
//!
//! A browser asks servers of its maker at its start: for updates, the time, accounts. The proxy sees a host and cannot know who
//! asked for it. The log can: a request of a page has the origin that made it, or is a frame.
//!
//! Limits: connections that are opened ahead of a request are in the log without an origin. Their hosts count as the page's.

use marvin_gate::network::Destination;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

const MAX_LOG_BYTES: u64 = 64 * 1024 * 1024;
/// The initiator of a request that no page made.
const NO_INITIATOR: &str = "not an origin";
/// The type of a request that is not a frame.
const NO_FRAME: &str = "other";

/// One line of the log; other kinds of events have other parameters.
#[derive(Debug, Deserialize)]
struct Event {
    params: RequestStart,
}

#[derive(Debug, Deserialize)]
struct RequestStart {
    initiator: String,
    request_type: String,
    url: String,
}

/// The hosts that the browser asked for itself and the page did not, as `host` or `host:port`.
///
/// # Errors
/// When the log cannot be read.
pub(super) fn read_own_hosts(path: &Path) -> std::io::Result<BTreeSet<String>> {
    Ok(find_own_hosts(BufReader::new(File::open(path)?.take(MAX_LOG_BYTES))))
}

fn find_own_hosts(log: impl BufRead) -> BTreeSet<String> {
    let (mut own, mut of_page) = (BTreeSet::new(), BTreeSet::new());
    // The log is one JSON document with an event per line. It is read by lines, since a browser that was ended leaves its end out.
    for line in log.split(b'\n').map_while(Result::ok) {
        let line = line.trim_ascii_end();
        let line = line.strip_suffix(b",").unwrap_or(line);
        let Ok(Event { params }) = serde_json::from_slice::<Event>(line) else { continue };
        let Some(host) = host(&params.url) else { continue };
        if params.initiator == NO_INITIATOR && params.request_type == NO_FRAME {
            own.insert(host);
        } else {
            of_page.insert(host);
        }
    }
    own.difference(&of_page).cloned().collect()
}

/// The host of an address as the proxy names it.
fn host(url: &str) -> Option<String> {
    // A WebSocket begins as a request of the web.
    let url = if url.starts_with("ws") { url.replacen("ws", "http", 1) } else { url.to_string() };
    Destination::understand(&url).ok().map(|to| to.place())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(initiator: &str, request_type: &str, url: &str) -> String {
        format!(
            r#"{{"params":{{"initiator":"{initiator}","load_flags":80,"method":"GET","request_type":"{request_type}","url":"{url}"}},"phase":1,"source":{{"id":7,"type":1}},"time":"600821","type":136}},"#
        )
    }

    #[test]
    fn only_requests_without_an_origin_are_the_browser_s_own() {
        let log = [
            r#"{"constants":{"logEventTypes":{"URL_REQUEST_START_JOB":136}},"#.to_string(),
            r#""events": ["#.to_string(),
            event(NO_INITIATOR, NO_FRAME, "https://update.example/service?x=1"),
            event(NO_INITIATOR, NO_FRAME, "http://time.example:8080/now"),
            event(NO_INITIATOR, "main frame", "http://shop.example/"),
            event("http://shop.example", NO_FRAME, "https://cdn.example/a.js"),
            // A sandboxed frame has an opaque origin.
            event("null", NO_FRAME, "https://frame.example/"),
            r#"{"params":{"url":"https://other.example/"},"phase":1,"type":2},"#.to_string(),
            // The browser and the page both ask this one.
            event(NO_INITIATOR, NO_FRAME, "https://both.example/"),
            event("http://shop.example", NO_FRAME, "https://both.example/pixel"),
            r#"{"params":{"initiator":"not an or"#.to_string(),
        ];
        let own = find_own_hosts(log.join("\n").as_bytes());
        assert_eq!(own.into_iter().collect::<Vec<_>>(), ["time.example:8080", "update.example"]);
    }
}
