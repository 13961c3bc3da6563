//! Reading pages: their text, their links, or lines with prices.

use super::browser;
use super::fetch::{DecodedPage, read};
use super::get::{self, FetchRequest, Page};
use super::html::{Document, Selector, Style, links, text, title};
use crate::context::ToolContext;
use crate::result::{Confidence, FROM_WEB, Output, ToolError};
use crate::tool::{Tool, run_blocking};
use async_trait::async_trait;
use marvin_base::environment::Environment;
use marvin_base::truncate;
use marvin_gate::{Intent, Touches};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const MAX_PAGE_BYTES: u64 = 2_000_000;
const DEADLINE: Duration = Duration::from_secs(30);
const MAX_TEXT_CHARS: usize = 8_000;
const MAX_LINKS: usize = 200;

/// The part of a page to extract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Extract {
    #[default]
    Text,
    Menu,
    Links,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ScrapePage;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScrapeInput {
    /// The address, http or https.
    url: String,
    /// text, menu (lines with a price) or links.
    #[serde(default)]
    extract: Extract,
    /// Only the elements that this CSS selector selects, such as "article p".
    #[serde(default)]
    css_selector: String,
    /// Characters at most, up to 8000.
    #[serde(default = "crate::schema::count::<4_000>")]
    max_length: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Link {
    text: String,
    /// Its target.
    url: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PageData {
    /// The URL after redirects.
    url: String,
    status: u16,
    title: String,
    content: String,
    /// The links, when they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
    /// Number of elements that the selector selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    selected: Option<usize>,
    scripts: Scripts,
    /// Whether something was left out.
    truncated: bool,
}

#[async_trait]
impl Tool for ScrapePage {
    type Input = ScrapeInput;
    type Data = PageData;
    const NAME: &'static str = "scrape_page";
    const DESCRIPTION: &'static str = "Take text, links or lines with prices from a page, from all of it or from the elements \
        of a CSS selector. Its scripts run where a browser is installed.";
    const EXAMPLE: &'static str = r#"{"url": "https://example.com/list", "extract": "text", "css_selector": "article p", "max_length": 4000}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("selector", "css_selector")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &ScrapeInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Request { url: input.url.clone(), service: None }]
    }

    async fn call(&self, input: ScrapeInput, context: &ToolContext) -> Result<Output<PageData>, ToolError> {
        let selector =
            match input.css_selector.trim() {
                "" => None,
                text => Some(Selector::parse(text).map_err(|error| {
                    ToolError::Usage(format!("the css_selector cannot be parsed: {error}."))
                })?),
            };
        let (page, scripts) = fetch_page(&input.url, context).await?;
        let work = move || scrape(&page, &scripts, input.extract, selector.as_ref(), input.max_length);
        run_blocking(work).await
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BrowseWeb;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BrowseInput {
    /// The address, http or https.
    url: String,
    /// Characters at most, up to 8000.
    #[serde(default = "crate::schema::count::<4_000>")]
    max_length: usize,
}

#[async_trait]
impl Tool for BrowseWeb {
    type Input = BrowseInput;
    type Data = PageData;
    const NAME: &'static str = "browse_web";
    const DESCRIPTION: &'static str = "Read the main part of a page as text, with the addresses of its links. Its scripts run where a browser is installed.";
    const EXAMPLE: &'static str = r#"{"url": "https://example.com/page", "max_length": 4000}"#;
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &BrowseInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Request { url: input.url.clone(), service: None }]
    }

    async fn call(&self, input: BrowseInput, context: &ToolContext) -> Result<Output<PageData>, ToolError> {
        let (page, scripts) = fetch_page(&input.url, context).await?;
        run_blocking(move || {
            let base = page.base()?;
            let words = match &page.document {
                Some(document) => text(document, &document.main_part(), Style::Links, &base),
                None => page.content.clone().unwrap_or_else(|| page.no_text()),
            };
            Ok(describe(&page, &scripts, words, Vec::new(), None, input.max_length))
        })
        .await
    }
}

/// Whether the scripts of a page ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(super) enum Scripts {
    /// It has none.
    None,
    /// A browser ran them; `refused` are hosts that it was not let through to.
    Ran { refused: Vec<String> },
    /// No browser is installed, or none is wanted.
    NoBrowser,
    /// The browser failed, so the page is shown without them.
    Failed,
}

/// Fetches a page and, where it has scripts and a browser is installed, the document that they make of it.
async fn fetch_page(url: &str, context: &ToolContext) -> Result<(DecodedPage, Scripts), ToolError> {
    let page = read(get::page(FetchRequest::page(url, MAX_PAGE_BYTES, DEADLINE), context).await?).await?;
    let has_scripts = page.document.as_ref().is_some_and(Document::has_scripts) && page.page.error.is_none();
    if !has_scripts {
        return Ok((page, Scripts::None));
    }
    let Some(program) = browser::find_browser(&context.settings, &Environment::of_process()) else {
        return Ok((page, Scripts::NoBrowser));
    };
    match browser::render(program, &page.page.url, context).await {
        Ok(rendered) => {
            let fields = Page {
                bytes: rendered.html.into_bytes(),
                content_type: "text/html; charset=utf-8".into(),
                ..page.page
            };
            Ok((read(fields).await?, Scripts::Ran { refused: rendered.refused }))
        }
        Err(error) if context.cancel.is_cancelled() => Err(error),
        Err(error) => {
            tracing::info!(%error, "page without its scripts");
            Ok((page, Scripts::Failed))
        }
    }
}

fn scrape(
    read: &DecodedPage,
    scripts: &Scripts,
    extract: Extract,
    selector: Option<&Selector>,
    longest: usize,
) -> Result<Output<PageData>, ToolError> {
    let base = read.base()?;
    let Some(document) = &read.document else {
        if selector.is_some() || extract == Extract::Links {
            return Err(ToolError::Failed(format!(
                "{} is not an HTML page ({}); read it with web_fetch",
                read.page.url, read.page.content_type
            )));
        }
        let words = read.content.clone().unwrap_or_else(|| read.no_text());
        let words = if extract == Extract::Menu { priced(&words) } else { words };
        return Ok(describe(read, scripts, words, Vec::new(), None, longest));
    };
    let selected = selector.map(|selector| selector.select(document)).transpose();
    let selected = selected.map_err(|error| ToolError::Failed(error.to_string()))?;
    let tops = match &selected {
        // A selected element inside another comes with it.
        Some(ids) => ids.iter().copied().filter(|id| !has_one_above(document, *id, ids)).collect(),
        None if extract == Extract::Links => document.whole(),
        None => document.main_part(),
    };
    let count = selected.as_ref().map(Vec::len);
    if extract == Extract::Links {
        let found: Vec<Link> = links(document, &tops, &base, MAX_LINKS)
            .into_iter()
            .map(|(text, url)| Link { text: truncate::line(&text, 200), url })
            .collect();
        let words: Vec<String> = found.iter().map(|link| format!("{} <{}>", link.text, link.url)).collect();
        return Ok(describe(read, scripts, words.join("\n"), found, count, longest));
    }
    let words = text(document, &tops, Style::Plain, &base);
    let words = if extract == Extract::Menu { menu(document, &words, &base) } else { words };
    Ok(describe(read, scripts, words, Vec::new(), count, longest))
}

fn has_one_above(document: &Document, id: usize, ids: &[usize]) -> bool {
    std::iter::successors(document.parent(id), |above| document.parent(*above))
        .any(|above| ids.binary_search(&above).is_ok())
}

/// The lines with a price; where there are none, the parts of the page that call themselves a menu.
fn menu(document: &Document, words: &str, base: &Url) -> String {
    let lines = priced(words);
    if !lines.is_empty() {
        return lines;
    }
    let named = Selector::parse("[class*=menu], [id*=menu], menu").and_then(|menu| menu.select(document));
    let named = named.unwrap_or_default();
    let tops: Vec<usize> = named.iter().copied().filter(|id| !has_one_above(document, *id, &named)).collect();
    text(document, &tops, Style::Plain, base)
}

/// The lines with a price, each group under its heading.
fn priced(words: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut heading = None;
    let mut before = "";
    for line in words.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            heading = Some(line);
        } else if has_price(line) {
            kept.extend(heading.take());
            // A price alone belongs to the line before it.
            if !line.chars().any(char::is_alphabetic) && !before.is_empty() && !has_price(before) {
                kept.push(before);
            }
            kept.push(line);
        }
        before = line;
    }
    kept.join("\n")
}

fn has_price(line: &str) -> bool {
    let amount = |text: &str| {
        let text = text.trim_start();
        text.starts_with(|c: char| c.is_ascii_digit())
    };
    let ends_in_amount = |text: &str| text.trim_end().ends_with(|c: char| c.is_ascii_digit());
    ["$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "kr"].iter().any(|sign| {
        line.split_once(sign).is_some_and(|(before, after)| amount(after) || ends_in_amount(before))
    })
}

fn describe(
    read: &DecodedPage,
    scripts: &Scripts,
    words: String,
    links: Vec<Link>,
    selected: Option<usize>,
    longest: usize,
) -> Output<PageData> {
    let longest = longest.clamp(1, MAX_TEXT_CHARS);
    let shown = truncate::head_whole(&words, longest);
    let cut = shown != words || read.page.truncated || read.document.as_ref().is_some_and(|page| page.cut);
    let empty = match selected {
        Some(0) => "[the selector selects nothing on this page]",
        _ if matches!(scripts, Scripts::NoBrowser | Scripts::Failed) => {
            "[nothing of this kind is on the page; its scripts may write it, and they did not run: no browser for that works here]"
        }
        _ => "[nothing of this kind is on the page]",
    };
    let body = if words.trim().is_empty() { empty.to_string() } else { shown.clone() };
    let data = PageData {
        url: read.page.url.clone(),
        status: read.page.status,
        title: read.document.as_ref().map(title).unwrap_or_default(),
        content: shown,
        links,
        selected,
        scripts: scripts.clone(),
        truncated: cut,
    };
    let summary = format!("{}: {} characters", read.page.url, data.content.chars().count());
    let whole = (words.len() > longest).then_some(words);
    let output = Output::new(summary, read.heading() + &body, data);
    Output {
        error: read.page.error.clone(),
        confidence: Confidence::Summarized,
        source: FROM_WEB,
        whole,
        ..output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_found_with_their_headings() {
        let words = "# Starters\n\nSoup of the day $6.50\nBread\n\n# Drinks\n\nWater\n3 €\nOpen 9 to 5\n# Events\nQuiz";
        assert_eq!(priced(words), "# Starters\nSoup of the day $6.50\n# Drinks\nWater\n3 €");
        assert_eq!(priced("no prices here 5"), "");
    }
}
