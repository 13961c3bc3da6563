//! The files of the page, packed into the binary. They are written by hand and served as they are.

use crate::answer::typed;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;

#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        Asset { name: $name, kind: $kind, bytes: include_bytes!(concat!("../assets/", $name)) }
    };
}

/// The page itself.
pub(crate) static PAGE: Asset = asset!("index.html", "text/html; charset=utf-8");

/// Files that the page loads.
static FILES: [Asset; 16] = [
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
    asset!("main.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("text.js", SCRIPT),
    asset!("markdown.js", SCRIPT),
    asset!("chat.js", SCRIPT),
    asset!("cards.js", SCRIPT),
    asset!("approvals.js", SCRIPT),
    asset!("runs.js", SCRIPT),
    asset!("run.js", SCRIPT),
    asset!("plot.js", SCRIPT),
    asset!("servitors.js", SCRIPT),
    asset!("gate.js", SCRIPT),
    asset!("shelf.js", SCRIPT),
];

/// The description of everything that can be asked for.
pub(crate) const DESCRIPTION: &str = include_str!("openapi.json");

pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    FILES.iter().find(|asset| asset.name == name)
}

impl Asset {
    pub(crate) fn response(&self) -> Response {
        let mut response = typed(StatusCode::OK, self.kind, Bytes::from_static(self.bytes));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_load_is_small_and_stays_here() {
        let bytes: usize = FILES.iter().chain([&PAGE]).map(|asset| asset.bytes.len()).sum();
        assert!(bytes <= 150 * 1024, "{bytes}");
        for asset in FILES.iter().chain([&PAGE]) {
            let text = String::from_utf8_lossy(asset.bytes);
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "src=\"http",
                "url(http",
            ] {
                assert!(!text.contains(word), "{} says {word}", asset.name);
            }
        }
    }
}
