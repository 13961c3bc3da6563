//! The web: pages, searches, feeds and downloads.
//!
//! The gate judges every URL before a tool is called; [`get`] asks it again with the addresses that the host name resolves
//! to, and for every redirect. Results are marked as coming from the web, since their text is untrusted.

mod browse;
mod browser;
mod charset;
mod download;
pub(crate) mod feed;
pub(crate) mod fetch;
pub(crate) mod get;
mod html;
mod proxy;
pub(crate) mod search;
pub(crate) mod secrets;
mod yt_dlp;

pub use browser::find_browser;
pub use secrets::domain_secrets;

use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) use fetch::WEB_FETCH;
pub(crate) use search::WEB_SEARCH;

/// The text of a piece of HTML.
pub(crate) fn plain_html(markup: &str) -> String {
    let document = html::Document::parse(markup);
    let base = reqwest::Url::parse("about:blank").ok();
    base.map(|base| html::text(&document, &document.whole(), html::Style::Plain, &base)).unwrap_or_default()
}

/// A text whose entities (`&lt;`) stand for characters, while tags stay what they are: text.
pub(crate) fn strip_entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_string();
    }
    plain_html(&text.replace('<', "&lt;"))
}

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        Arc::new(fetch::WebFetch),
        Arc::new(search::WebSearch),
        Arc::new(browse::ScrapePage),
        Arc::new(browse::BrowseWeb),
        Arc::new(download::DownloadFile),
        Arc::new(feed::ReadRss),
        Arc::new(yt_dlp::YtDlpDownload),
    ]
}
