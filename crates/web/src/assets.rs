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

/// The page itself.
pub(crate) static PAGE: Asset = Asset {
    name: "index.html",
    kind: "text/html; charset=utf-8",
    bytes: include_bytes!("../assets/index.html"),
};

/// The page of one seat of a game.
pub(crate) static SEAT_PAGE: Asset = Asset {
    name: "seat.html",
    kind: "text/html; charset=utf-8",
    bytes: include_bytes!("../assets/seat.html"),
};

/// Files that the page loads: everything else in `assets`, listed by the build script.
static FILES: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

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
        let bytes: usize = FILES.iter().chain([&PAGE, &SEAT_PAGE]).map(|asset| asset.bytes.len()).sum();
        assert!(bytes <= 150 * 1024, "{bytes}");
        for asset in FILES.iter().chain([&PAGE, &SEAT_PAGE]) {
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
