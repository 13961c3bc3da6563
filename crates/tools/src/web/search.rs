//! Searching the web.

use super::fetch::{FOREIGN, read};
use super::get::{self, FetchRequest};
use super::html::{Document, Selector, Style, text};
use crate::context::ToolContext;
use crate::result::{Confidence, FROM_WEB, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_base::settings::{Settings, table};
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(crate) const WEB_SEARCH: &str = "web_search";
const MAX_PAGE_BYTES: u64 = 2_000_000;
const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy)]
pub(super) struct WebSearch;

/// Maximal age of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub(crate) enum TimeFilter {
    #[default]
    #[serde(rename = "")]
    Any,
    #[serde(rename = "d")]
    Day,
    #[serde(rename = "w")]
    Week,
    #[serde(rename = "m")]
    Month,
    #[serde(rename = "y")]
    Year,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// The words.
    query: String,
    /// Results at most, 1 to 20.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// How old results may be: d, w, m, y; empty: any age.
    #[serde(default)]
    time_filter: TimeFilter,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SearchResult {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchData {
    query: String,
    /// The results, best first.
    results: Vec<SearchResult>,
}

#[async_trait]
impl Tool for WebSearch {
    type Input = SearchInput;
    type Data = SearchData;
    const NAME: &'static str = WEB_SEARCH;
    const DESCRIPTION: &'static str =
        "Search the web; gives titles, addresses and a few words of each result.";
    const EXAMPLE: &'static str = r#"{"query": "rust openat2 crate", "max_results": 5, "time_filter": "y"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("q", "query"), ("limit", "max_results")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &SearchInput, context: &ToolContext) -> Vec<Intent> {
        // Without a URL the call returns the error.
        let request = |url| Intent::Request { url, service: Some(Service::Search) };
        address(input, &context.settings).ok().map(request).into_iter().collect()
    }

    async fn call(&self, input: SearchInput, context: &ToolContext) -> Result<Output<SearchData>, ToolError> {
        if input.query.trim().is_empty() {
            return Err(ToolError::Usage("web_search needs `query`: the words to search for.".into()));
        }
        let url = address(&input, &context.settings)?;
        let results = find(&url, Service::Search, input.max_results.clamp(1, 20), context).await?;
        Ok(describe(input.query, results))
    }
}

/// Asks a search engine; the results, best first.
pub(crate) async fn find(
    url: &str,
    service: Service,
    most: usize,
    context: &ToolContext,
) -> Result<Vec<SearchResult>, ToolError> {
    let wanted = FetchRequest {
        service: Some(service),
        accept: "text/html",
        ..FetchRequest::page(url, MAX_PAGE_BYTES, DEADLINE)
    };
    let page = get::page(wanted, context).await?;
    if let Some(error) = &page.error {
        return Err(ToolError::Failed(format!("the search engine refused: {error}")));
    }
    let read = read(page).await?;
    let base = read.base()?;
    let document = read.document.as_ref().ok_or_else(|| {
        ToolError::Failed(format!(
            "the search engine did not answer with a page; {} may be wrong",
            service.setting().key
        ))
    })?;
    results(document, &base, most)
}

fn select(selector: &str, document: &Document) -> Result<Vec<usize>, ToolError> {
    let selected = Selector::parse(selector).and_then(|selector| selector.select(document));
    selected.map_err(|error| ToolError::Failed(error.to_string()))
}

/// The address of a page of results.
fn address(input: &SearchInput, settings: &Settings) -> Result<String, ToolError> {
    let base = settings.text(&table::WEB_SEARCH_URL);
    let mut url = Url::parse(base).map_err(|error| {
        ToolError::Failed(format!("{} cannot be used: {error}", table::WEB_SEARCH_URL.key))
    })?;
    url.query_pairs_mut().append_pair("q", input.query.trim());
    let age = match input.time_filter {
        TimeFilter::Any => None,
        TimeFilter::Day => Some("d"),
        TimeFilter::Week => Some("w"),
        TimeFilter::Month => Some("m"),
        TimeFilter::Year => Some("y"),
    };
    if let Some(age) = age {
        url.query_pairs_mut().append_pair("df", age);
    }
    Ok(url.into())
}

fn results(document: &Document, base: &Url, most: usize) -> Result<Vec<SearchResult>, ToolError> {
    let links = select(".result__a", document)?;
    let snippets = select(".result__snippet", document)?;
    let words = |id: usize| {
        let text = text(document, &[id], Style::Plain, base);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let is_advertisement = |id: usize| {
        let above = std::iter::successors(document.parent(id), |id| document.parent(*id)).take(8);
        above.into_iter().any(|id| {
            document
                .attribute(id, "class")
                .is_some_and(|class| class.split(' ').any(|word| word == "result--ad"))
        })
    };
    let mut found: Vec<SearchResult> = Vec::new();
    for (place, link) in links.iter().enumerate().filter(|(_, link)| !is_advertisement(**link)) {
        let Some(url) = document.attribute(*link, "href").and_then(|target| target_of(target, base)) else {
            continue;
        };
        // The snippet of a result follows its title, before the next one.
        let next = links.get(place + 1).copied().unwrap_or(usize::MAX);
        let snippet = snippets.iter().find(|id| **id > *link && **id < next).map(|id| words(*id));
        if found.iter().all(|known| known.url != url) {
            found.push(SearchResult { title: words(*link), url, snippet: snippet.unwrap_or_default() });
        }
        if found.len() >= most {
            break;
        }
    }
    if found.is_empty() && !select(".anomaly-modal__title, #challenge-form", document)?.is_empty() {
        return Err(ToolError::Failed(
            "the search engine wants to see a person first; try again later, or read a known page".into(),
        ));
    }
    Ok(found)
}

/// The target of a result: the search engine wraps it into a URL of its own.
fn target_of(target: &str, base: &Url) -> Option<String> {
    let url = base.join(target).ok()?;
    let wrapped = url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, value)| value.into_owned());
    let url = wrapped.map_or(Some(url), |inner| Url::parse(&inner).ok())?;
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

fn describe(query: String, results: Vec<SearchResult>) -> Output<SearchData> {
    let summary = count(results.len(), "result");
    let mut shown = format!("{FOREIGN}\n");
    for (place, result) in results.iter().enumerate() {
        shown.push_str(&format!(
            "{}. {}\n   {}\n   {}\n",
            place + 1,
            result.title,
            result.url,
            result.snippet
        ));
    }
    if results.is_empty() {
        shown = "Nothing was found. Try fewer or other words.".into();
    }
    let output = Output::new(summary, shown, SearchData { query, results });
    Output { source: FROM_WEB, confidence: Confidence::Summarized, ..output }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_and_advertisements_are_not() {
        let html = r#"<div class="result result--ad"><h2><a class="result__a" href="https://ad.example/">Buy</a></h2></div>
            <div class="result"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.example%2Fa%3Fb%3D1&amp;rut=x">One
            <b>first</b></a></h2><a class="result__snippet" href="x">Words of <b>one</b></a></div>
            <div class="result"><a class="result__a" href="https://two.example/">Two</a></div>
            <div class="result"><a class="result__a" href="https://two.example/">Two again</a></div>
            <div class="result"><a class="result__a" href="javascript:1">No</a></div>"#;
        let base = Url::parse("https://html.duckduckgo.com/html/").unwrap();
        let found = results(&Document::parse(html), &base, 5).unwrap();
        let short: Vec<(&str, &str, &str)> =
            found.iter().map(|one| (one.title.as_str(), one.url.as_str(), one.snippet.as_str())).collect();
        assert_eq!(
            short,
            [("One first", "https://one.example/a?b=1", "Words of one"), ("Two", "https://two.example/", "")]
        );
    }
}
