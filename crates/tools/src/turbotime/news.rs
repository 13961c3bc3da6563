//! Headlines from a news feed; a story is read by the id of its headline, which works once.

use super::hops::Hops;
use super::service::{FOREIGN, address, ask, asks, refused};
use crate::context::ToolContext;
use crate::result::{Confidence, FROM_WEB, Output, ToolError};
use crate::service::Cache;
use crate::tool::Tool;
use crate::web::feed;
use crate::web::fetch::{plain_text, read};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const NAME: &str = "news.headline_search";
const MAX_AGE_SECONDS: i64 = 30 * 60;

#[derive(Debug, Clone, Copy)]
pub(super) struct HeadlineSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewsInput {
    /// The words.
    #[serde(default)]
    query: Option<String>,
    /// Headlines at most, 1 to 20.
    #[serde(default = "crate::schema::count::<10>")]
    max_results: usize,
    /// The id of a story, from an earlier search; it works once.
    #[serde(default)]
    hop_id: Option<String>,
    /// Characters of the story, 200 to 4000.
    #[serde(default = "crate::schema::count::<1_200>")]
    max_chars: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Headline {
    /// The headline.
    title: String,
    /// Time of publication, if it is stated.
    published: Option<String>,
    /// The id of its story.
    hop_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NewsData {
    /// The service that answered.
    provider: String,
    /// Whether the reply was cached: hit or miss.
    cache: String,
    /// The headlines, in the order of the feed.
    headlines: Vec<Headline>,
    /// The story, where one was asked for.
    story: Option<String>,
}

enum Wish<'a> {
    Search(&'a str),
    Story(&'a str),
}

impl NewsInput {
    fn wish(&self) -> Result<Wish<'_>, ToolError> {
        let given =
            |text: &'_ Option<String>| text.as_deref().map(str::trim).is_some_and(|text| !text.is_empty());
        match (given(&self.query), given(&self.hop_id)) {
            (true, false) => Ok(Wish::Search(self.query.as_deref().unwrap_or_default().trim())),
            (false, true) => {
                let hop = self.hop_id.as_deref().unwrap_or_default().trim();
                if hop.contains("://") || hop.contains('/') {
                    let why = "`hop_id` is the name that a headline came with, not an address; addresses are not followed.";
                    return Err(ToolError::Usage(why.into()));
                }
                Ok(Wish::Story(hop))
            }
            _ => Err(ToolError::Usage(format!("{NAME} needs either `query` or `hop_id`."))),
        }
    }

    fn url(&self, context: &ToolContext) -> Result<Url, ToolError> {
        match self.wish()? {
            Wish::Search(words) => {
                let query = [("q", words), ("hl", "en-US"), ("gl", "US"), ("ceid", "US:en")];
                address(Service::News, "/rss/search", &query, context)
            }
            Wish::Story(hop) => {
                let hop = Hops::new(&context.layout).look(hop).ok_or_else(closed)?;
                Url::parse(&hop.url)
                    .map_err(|error| ToolError::Failed(format!("the story has no address: {error}")))
            }
        }
    }
}

fn closed() -> ToolError {
    ToolError::Failed("unknown hop_id: each works once, for a day; search again for new ones".into())
}

#[async_trait]
impl Tool for HeadlineSearch {
    type Input = NewsInput;
    type Data = NewsData;
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str = "Search headlines; each comes with a hop_id. With {hop_id, max_chars} the beginning of that story is read, once.";
    const EXAMPLE: &'static str = r#"{"query": "magic the gathering", "max_results": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("q", "query"), ("limit", "max_results")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &NewsInput, context: &ToolContext) -> Vec<Intent> {
        asks(input.url(context), Service::News)
    }

    async fn call(&self, input: NewsInput, context: &ToolContext) -> Result<Output<NewsData>, ToolError> {
        let url = input.url(context)?;
        match input.wish()? {
            Wish::Search(_) => search(&url, input.max_results.clamp(1, 20), context).await,
            Wish::Story(hop) => story(&url, hop, input.max_chars.clamp(200, 4_000), context).await,
        }
    }
}

async fn search(url: &Url, most: usize, context: &ToolContext) -> Result<Output<NewsData>, ToolError> {
    let cache = Cache::new(context.layout.tools_cache().join("news"), MAX_AGE_SECONDS);
    let (mut items, kept) = match cache.get::<Vec<feed::Item>>(url.as_str()) {
        Some(items) => (items, "hit"),
        None => {
            let page = ask(url, Service::News, context).await?;
            if page.error.is_some() {
                return Err(refused("the news feed", &page));
            }
            let (address, bytes) = (page.url, page.bytes);
            let items = tokio::task::spawn_blocking(move || feed::items(address, &bytes, 20))
                .await
                .map_err(|_| ToolError::Failed("the feed could not be read".into()))??;
            cache.put(url.as_str(), &items);
            (items, "miss")
        }
    };
    items.truncate(most);
    let stories: Vec<(String, String)> =
        items.iter().map(|item| (item.link.clone(), item.title.clone())).collect();
    let hops = Hops::new(&context.layout)
        .open(&stories)
        .map_err(|error| ToolError::Failed(format!("cannot write the ids of the stories: {error}")))?;
    let headlines: Vec<Headline> = items
        .into_iter()
        .zip(hops)
        .map(|(item, hop_id)| Headline { title: item.title, published: item.published, hop_id })
        .collect();
    let mut shown = format!("{FOREIGN}\n");
    for headline in &headlines {
        let published = headline.published.as_deref().unwrap_or("no date");
        shown.push_str(&format!("- {} [{published}] hop_id: {}\n", headline.title, headline.hop_id));
    }
    if headlines.is_empty() {
        shown = "No headlines were found. Try fewer or other words.".into();
    }
    let summary = format!("{} headlines", headlines.len());
    let data = NewsData { provider: "news".into(), cache: kept.into(), headlines, story: None };
    let output = Output::new(summary, shown, data);
    Ok(Output { source: FROM_WEB, confidence: Confidence::Summarized, ..output })
}

async fn story(
    url: &Url,
    hop: &str,
    characters: usize,
    context: &ToolContext,
) -> Result<Output<NewsData>, ToolError> {
    // It is used up, also when the request fails.
    let hop =
        Hops::new(&context.layout).take(hop).filter(|hop| hop.url == url.as_str()).ok_or_else(closed)?;
    let page = ask(url, Service::News, context).await?;
    if page.error.is_some() {
        return Err(refused("the story's page", &page));
    }
    let text = plain_text(&read(page).await?)
        .ok_or_else(|| ToolError::Failed("the page of the story has no text".into()))?;
    let text = truncate::head(&text, characters);
    let shown = format!("{}\n{FOREIGN}\n\n{text}", hop.title);
    let data =
        NewsData { provider: "news".into(), cache: "miss".into(), headlines: Vec::new(), story: Some(text) };
    let output = Output::new(format!("the story {:?}", truncate::line(&hop.title, 80)), shown, data);
    Ok(Output { source: FROM_WEB, confidence: Confidence::Summarized, ..output })
}
