//! Preprints, from arXiv.

use super::papers::{Paper, show_paper};
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, clean, words};
use crate::web::feed;
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) struct SearchArxiv;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ArxivInput {
    /// Words, or arXiv's own language ("au:Bengio AND cat:cs.LG").
    query: String,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// Order of the results.
    #[serde(default)]
    sort_by: ArxivOrder,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum ArxivOrder {
    #[default]
    Relevance,
    LastUpdatedDate,
    SubmittedDate,
}

impl ArxivOrder {
    fn word(self) -> &'static str {
        match self {
            ArxivOrder::Relevance => "relevance",
            ArxivOrder::LastUpdatedDate => "lastUpdatedDate",
            ArxivOrder::SubmittedDate => "submittedDate",
        }
    }
}

/// The query in arXiv's language: every word must occur, unless the query is in that language already.
fn search_query(words: &str) -> String {
    if words.contains(':') {
        return words.to_string();
    }
    words.split_whitespace().map(|word| format!("all:{word}")).collect::<Vec<_>>().join(" AND ")
}

#[async_trait]
impl ServiceTool for SearchArxiv {
    type Input = ArxivInput;
    type Item = Paper;
    const NAME: &'static str = "search_arxiv";
    const DESCRIPTION: &'static str =
        "Search preprints on arXiv (physics, mathematics, computer science, …).";
    const EXAMPLE: &'static str =
        r#"{"query": "landlock sandboxing", "max_results": 5, "sort_by": "submittedDate"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("limit", "max_results"), ("sort", "sort_by")];
    const NOUN: &'static str = "preprint";

    fn requests(input: &ArxivInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = search_query(words(&input.query, Self::NAME, "query")?);
        let limit = input.max_results.clamp(1, 50).to_string();
        let query = [
            ("search_query", query.as_str()),
            ("max_results", &limit),
            ("sortBy", input.sort_by.word()),
            ("sortOrder", "descending"),
        ];
        let request = Request::new(Service::Arxiv, &["api", "query"], &query, context)?;
        Ok(vec![request.accept("application/atom+xml")])
    }

    async fn find(input: ArxivInput, context: &ToolContext) -> Result<Findings<Paper>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let most = input.max_results.clamp(1, 50);
        let address = request.url().to_string();
        let reply = request
            .ask_with(context, |bytes| {
                feed::items(address.clone(), bytes, most).map_err(|_| "it is not a feed")
            })
            .await?;
        let paper = |item: feed::Item| Paper {
            title: clean(&item.title),
            authors: item.authors.iter().take(10).map(|name| clean(name)).collect(),
            year: item.published.as_deref().and_then(|date| date.get(..4)?.parse().ok()),
            pdf: clean(&item.link).replace("/abs/", "/pdf/"),
            url: clean(&item.link),
            summary: clean(&item.summary),
            ..Paper::default()
        };
        Ok(Findings::new(&request, reply.age, reply.data.into_iter().map(paper).collect()))
    }

    fn show(item: &Paper, listing: &mut Listing) {
        show_paper(item, listing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_must_all_occur() {
        assert_eq!(search_query("graph  nets"), "all:graph AND all:nets");
        assert_eq!(search_query("au:Knuth AND ti:tex"), "au:Knuth AND ti:tex");
    }
}
