//! News of the last days: a feed of headlines, NewsAPI where it has a key, and the search engine where both fail.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceError, ServiceTool, clean, words};
use crate::web::{feed, search};
use async_trait::async_trait;
use marvin_base::clock;
use marvin_base::settings::table;
use marvin_gate::network::Service;
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// Headlines of one source.
const MAX_HEADLINES: usize = 50;

pub(super) struct SearchNews;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewsInput {
    query: String,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<20>")]
    max_results: usize,
    /// How old news may be: d, w, m, y; empty: two days.
    #[serde(default)]
    time_filter: search::TimeFilter,
}

/// A headline.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Headline {
    title: String,
    url: String,
    /// When it was published, if that is stated.
    published: Option<String>,
    /// Who published it.
    publisher: String,
    text: String,
}

/// Answer of NewsAPI.
#[derive(Debug, Deserialize)]
struct NewsApiAnswer {
    articles: Vec<Article>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Article {
    source: ArticleSource,
    title: Option<String>,
    description: Option<String>,
    url: Option<String>,
    published_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ArticleSource {
    name: Option<String>,
}

impl NewsInput {
    fn days(&self) -> i64 {
        match self.time_filter {
            search::TimeFilter::Any => 2,
            search::TimeFilter::Day => 1,
            search::TimeFilter::Week => 7,
            search::TimeFilter::Month => 30,
            search::TimeFilter::Year => 365,
        }
    }

    fn feed(&self, context: &ToolContext) -> Result<Request, ToolError> {
        let words = format!("{} when:{}d", words(&self.query, SearchNews::NAME, "query")?, self.days());
        let query = [("q", words.as_str()), ("hl", "en-US"), ("gl", "US"), ("ceid", "US:en")];
        let request = Request::new(Service::News, &["rss", "search"], &query, context)?;
        Ok(request.accept("application/rss+xml"))
    }

    fn newsapi(&self, context: &ToolContext) -> Result<Request, ServiceError> {
        let from = clock::now().as_second() - self.days() * 86_400;
        let from = jiff::Timestamp::from_second(from).map(|moment| moment.to_string()).unwrap_or_default();
        // The day is enough, and lets a repeated question find the cached answer.
        let from = from.split('T').next().unwrap_or_default().to_string();
        let limit = MAX_HEADLINES.to_string();
        let query =
            [("q", self.query.trim()), ("from", &from), ("sortBy", "publishedAt"), ("pageSize", &limit)];
        Request::new(Service::NewsApi, &["v2", "everything"], &query, context)
    }
}

async fn ask_feed(
    request: &Request,
    context: &ToolContext,
) -> Result<(Vec<Headline>, Option<Duration>), ServiceError> {
    let address = request.url().to_string();
    let reply = request
        .ask_with(context, |bytes| {
            feed::items(address.clone(), bytes, MAX_HEADLINES).map_err(|_| "it is not a feed")
        })
        .await?;
    let headline = |item: feed::Item| {
        // The feed writes "Title - Publisher".
        let title = clean(&item.title);
        let (title, publisher) = match title.rsplit_once(" - ") {
            Some((title, publisher)) => (title.to_string(), publisher.to_string()),
            None => (title, String::new()),
        };
        Headline { title, url: clean(&item.link), published: item.published, publisher, text: String::new() }
    };
    Ok((reply.data.into_iter().map(headline).collect(), reply.age))
}

async fn ask_newsapi(request: &Request, context: &ToolContext) -> Result<Vec<Headline>, ServiceError> {
    let reply = request.ask::<NewsApiAnswer>(context).await?;
    let headline = |article: Article| Headline {
        title: article.title.unwrap_or_default(),
        url: article.url.unwrap_or_default(),
        published: article.published_at,
        publisher: article.source.name.unwrap_or_default(),
        text: article.description.unwrap_or_default(),
    };
    Ok(reply.data.articles.into_iter().map(headline).collect())
}

/// Headlines by the search engine, which knows no dates.
async fn ask_search_engine(input: &NewsInput, context: &ToolContext) -> Result<Vec<Headline>, ToolError> {
    let mut url = Url::parse(context.settings.text(&table::WEB_SEARCH_URL)).map_err(|error| {
        ToolError::Failed(format!("{} cannot be used: {error}", table::WEB_SEARCH_URL.key))
    })?;
    let age = if input.days() <= 2 { "d" } else { "w" };
    url.query_pairs_mut().append_pair("q", &format!("{} news", input.query.trim())).append_pair("df", age);
    let found = search::find(url.as_str(), Service::Search, MAX_HEADLINES, context).await?;
    let headline = |result: search::SearchResult| Headline {
        title: clean(&result.title),
        url: clean(&result.url),
        published: None,
        publisher: String::new(),
        text: clean(&result.snippet),
    };
    Ok(found.into_iter().map(headline).collect())
}

/// What makes two headlines the same: the letters of their titles.
fn identity(headline: &Headline) -> String {
    headline.title.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(80).collect()
}

/// Newest first, without repetitions and without those that are too old.
fn merge(all: Vec<Headline>, days: i64, most: usize) -> Vec<Headline> {
    let moment = |headline: &Headline| {
        headline.published.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok())
    };
    let oldest = clock::now().as_second() - days * 86_400;
    let mut seen = BTreeSet::new();
    let mut kept: Vec<Headline> = all
        .into_iter()
        .filter(|headline| moment(headline).is_none_or(|moment| moment.as_second() >= oldest))
        .filter(|headline| !headline.title.is_empty() && seen.insert(identity(headline)))
        .collect();
    kept.sort_by_key(|headline| std::cmp::Reverse(moment(headline)));
    kept.truncate(most);
    kept
}

#[async_trait]
impl ServiceTool for SearchNews {
    type Input = NewsInput;
    type Item = Headline;
    const NAME: &'static str = "search_news";
    const DESCRIPTION: &'static str =
        "Search the news of the last two days, or of the last day, week, month or year.";
    const EXAMPLE: &'static str = r#"{"query": "elections", "max_results": 20, "time_filter": "w"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("q", "query"), ("limit", "max_results")];
    const NOUN: &'static str = "headline";

    fn requests(input: &NewsInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let mut all = vec![input.feed(context)?];
        all.extend(input.newsapi(context).ok());
        Ok(all)
    }

    async fn find(input: NewsInput, context: &ToolContext) -> Result<Findings<Headline>, ToolError> {
        let request = input.feed(context)?;
        let mut all = Vec::new();
        let mut notes = Vec::new();
        let (mut age, mut failure) = (None, None);
        let mut service = request.row.name;
        match ask_feed(&request, context).await {
            Ok((headlines, feed_age)) => {
                all.extend(headlines);
                age = feed_age;
            }
            Err(error) => failure = Some(error),
        }
        if let Ok(request) = input.newsapi(context) {
            match ask_newsapi(&request, context).await {
                Ok(headlines) => {
                    service = match (&failure, headlines.is_empty()) {
                        (Some(_), _) => request.row.name,
                        (None, true) => service,
                        (None, false) => "Google News and NewsAPI",
                    };
                    all.extend(headlines);
                }
                Err(error) => notes.push(error.to_string()),
            }
        }
        if let Some(error) = failure {
            if all.is_empty() {
                // The words of the question are all that the search engine is told.
                match ask_search_engine(&input, context).await {
                    Ok(headlines) if !headlines.is_empty() => {
                        all = headlines;
                        service = "the search engine";
                    }
                    _ => return Err(error.into()),
                }
            }
            notes.push(error.to_string());
        }
        let items = merge(all, input.days(), input.max_results.clamp(1, 50));
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(Findings { note, service, ..Findings::new(&request, age, items) })
    }

    fn show(item: &Headline, listing: &mut Listing) {
        listing.entry(&item.title);
        listing.fact("published", item.published.as_deref().unwrap_or_default());
        listing.fact("by", &item.publisher);
        listing.fact("url", &item.url);
        listing.fact("text", &item.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headlines_are_merged_newest_first() {
        let headline = |title: &str, hours: Option<i64>| Headline {
            title: title.into(),
            url: String::new(),
            published: hours.map(|hours| {
                let moment = jiff::Timestamp::from_second(clock::now().as_second() - hours * 3_600);
                moment.unwrap().to_string()
            }),
            publisher: String::new(),
            text: String::new(),
        };
        let all = vec![
            headline("Old", Some(72)),
            headline("No date", None),
            headline("The Vote", Some(5)),
            headline("the vote!", Some(3)),
            headline("Newest", Some(1)),
            headline("", Some(1)),
        ];
        let titles: Vec<String> = merge(all, 2, 10).into_iter().map(|one| one.title).collect();
        assert_eq!(titles, ["Newest", "The Vote", "No date"]);
    }
}
