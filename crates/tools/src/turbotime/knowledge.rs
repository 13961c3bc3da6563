//! Community knowledge about games, from a search engine.

use super::service::{FOREIGN, asks};
use crate::context::ToolContext;
use crate::result::{Confidence, FROM_WEB, Output, ToolError};
use crate::tool::Tool;
use crate::web::search::{SearchResult, find};
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const NAME: &str = "game.knowledge_search";
/// Sites that one search can be limited to.
const MAX_SOURCES: usize = 5;

#[derive(Debug, Clone, Copy)]
pub(super) struct KnowledgeSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KnowledgeInput {
    /// The words.
    query: String,
    /// Results at most, 1 to 20.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// Only these sites, as host names.
    #[serde(default)]
    sources: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KnowledgeData {
    /// The service that answered.
    provider: String,
    /// Results are never cached: always miss.
    cache: String,
    query: String,
    /// The results, best first.
    results: Vec<SearchResult>,
}

impl KnowledgeInput {
    fn url(&self, context: &ToolContext) -> Result<Url, ToolError> {
        let words = self.query.trim();
        if words.is_empty() {
            return Err(ToolError::Usage(format!("{NAME} needs `query`: the words to search for.")));
        }
        let host = |text: &&String| {
            !text.is_empty() && text.chars().all(|char| char.is_ascii_alphanumeric() || ".-".contains(char))
        };
        if !self.sources.iter().all(|text| host(&text)) {
            return Err(ToolError::Usage("`sources` are host names, such as \"reddit.com\".".into()));
        }
        let sites: Vec<String> =
            self.sources.iter().take(MAX_SOURCES).map(|host| format!("site:{host}")).collect();
        let words =
            if sites.is_empty() { words.to_string() } else { format!("{words} {}", sites.join(" OR ")) };
        let setting = Service::Knowledge.setting();
        let mut url = Url::parse(context.settings.text(setting))
            .map_err(|error| ToolError::Failed(format!("{} cannot be used: {error}", setting.key)))?;
        url.query_pairs_mut().append_pair("q", &words);
        Ok(url)
    }
}

#[async_trait]
impl Tool for KnowledgeSearch {
    type Input = KnowledgeInput;
    type Data = KnowledgeData;
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str =
        "Search for what players and communities say about a game: decks, builds, strategies, patches.";
    const EXAMPLE: &'static str =
        r#"{"query": "best starter deck standard", "max_results": 5, "sources": ["reddit.com"]}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("q", "query"), ("limit", "max_results")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &KnowledgeInput, context: &ToolContext) -> Vec<Intent> {
        asks(input.url(context), Service::Knowledge)
    }

    async fn call(
        &self,
        input: KnowledgeInput,
        context: &ToolContext,
    ) -> Result<Output<KnowledgeData>, ToolError> {
        let url = input.url(context)?;
        let results = find(url.as_str(), Service::Knowledge, input.max_results.clamp(1, 20), context).await?;
        let mut shown = format!("{FOREIGN}\n");
        for result in &results {
            shown.push_str(&format!("- {}\n  {}\n  {}\n", result.title, result.url, result.snippet));
        }
        if results.is_empty() {
            shown = "Nothing was found. Try fewer or other words.".into();
        }
        let summary = count(results.len(), "result");
        let data =
            KnowledgeData { provider: "search".into(), cache: "miss".into(), query: input.query, results };
        let output = Output::new(summary, shown, data);
        Ok(Output { source: FROM_WEB, confidence: Confidence::Summarized, ..output })
    }
}
