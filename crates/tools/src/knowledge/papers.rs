//! Papers, from Semantic Scholar.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, words};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const FIELDS: &str = "title,abstract,year,venue,authors,citationCount,url,openAccessPdf,externalIds";
/// Results that the service gives at most.
const MAX_PAGE: usize = 100;

pub(super) struct SearchPapers;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PapersInput {
    query: String,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// First year; 0: any.
    #[serde(default)]
    year_min: u32,
    /// Last year; 0: any.
    #[serde(default)]
    year_max: u32,
    /// Only papers with a free PDF.
    #[serde(default)]
    open_access_only: bool,
}

/// Answer of Semantic Scholar.
#[derive(Debug, Deserialize)]
struct ScholarAnswer {
    /// Absent where nothing was found.
    #[serde(default)]
    data: Vec<ScholarPaper>,
    #[serde(rename = "total")]
    _total: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScholarPaper {
    title: Option<String>,
    #[serde(rename = "abstract")]
    summary: Option<String>,
    year: Option<u32>,
    venue: Option<String>,
    authors: Vec<ScholarAuthor>,
    citation_count: Option<u64>,
    url: Option<String>,
    open_access_pdf: Option<ScholarPdf>,
    external_ids: Option<ScholarIds>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScholarAuthor {
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScholarPdf {
    url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScholarIds {
    #[serde(rename = "DOI")]
    doi: Option<String>,
}

/// A paper.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Paper {
    pub(super) title: String,
    pub(super) authors: Vec<String>,
    pub(super) year: Option<u32>,
    pub(super) venue: String,
    pub(super) citations: Option<u64>,
    pub(super) url: String,
    pub(super) pdf: String,
    pub(super) doi: String,
    pub(super) summary: String,
}

pub(super) fn show_paper(paper: &Paper, listing: &mut Listing) {
    listing.entry(&paper.title);
    listing.fact("authors", &paper.authors.join(", "));
    listing.number("year", paper.year, "");
    listing.fact("venue", &paper.venue);
    listing.number("citations", paper.citations, "");
    listing.fact("url", &paper.url);
    listing.fact("pdf", &paper.pdf);
    listing.fact("doi", &paper.doi);
    listing.fact("abstract", &paper.summary);
}

impl PapersInput {
    /// The years as the service takes them: `2019-2023`, `2019-`, `-2023`.
    ///
    /// # Errors
    /// When the first year is after the last.
    fn years(&self) -> Result<String, ToolError> {
        let year = |year: u32| if year == 0 { String::new() } else { year.to_string() };
        match (self.year_min, self.year_max) {
            (0, 0) => Ok(String::new()),
            (first, last) if last != 0 && first > last => Err(ToolError::Usage(format!(
                "`year_min` ({first}) is after `year_max` ({last}); no paper fits."
            ))),
            (first, last) => Ok(format!("{}-{}", year(first), year(last))),
        }
    }

    fn max_results(&self) -> usize {
        self.max_results.clamp(1, 50)
    }
}

#[async_trait]
impl ServiceTool for SearchPapers {
    type Input = PapersInput;
    type Item = Paper;
    const NAME: &'static str = "search_papers";
    const DESCRIPTION: &'static str =
        "Search scientific papers of all fields, with abstracts, citations and free PDFs.";
    const EXAMPLE: &'static str = r#"{"query": "sparse attention transformers", "max_results": 5, "year_min": 2022, "open_access_only": true}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("limit", "max_results")];
    const NOUN: &'static str = "paper";

    fn requests(input: &PapersInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = words(&input.query, Self::NAME, "query")?;
        // Those without a PDF are left out afterwards, so more are asked for.
        let limit = if input.open_access_only { MAX_PAGE } else { input.max_results() }.to_string();
        let years = input.years()?;
        let query = [("query", query), ("limit", &limit), ("fields", FIELDS), ("year", &years)];
        Ok(vec![Request::new(
            Service::SemanticScholar,
            &["graph", "v1", "paper", "search"],
            &query,
            context,
        )?])
    }

    async fn find(input: PapersInput, context: &ToolContext) -> Result<Findings<Paper>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<ScholarAnswer>(context).await?;
        let paper = |paper: ScholarPaper| Paper {
            title: paper.title.unwrap_or_default(),
            authors: paper.authors.into_iter().filter_map(|author| author.name).take(10).collect(),
            year: paper.year,
            venue: paper.venue.unwrap_or_default(),
            citations: paper.citation_count,
            url: paper.url.unwrap_or_default(),
            pdf: paper.open_access_pdf.and_then(|pdf| pdf.url).unwrap_or_default(),
            doi: paper.external_ids.and_then(|ids| ids.doi).unwrap_or_default(),
            summary: paper.summary.unwrap_or_default(),
        };
        let all = reply.data.data.into_iter().map(paper);
        let wanted = all.filter(|paper| !input.open_access_only || !paper.pdf.is_empty());
        Ok(Findings::new(&request, reply.age, wanted.take(input.max_results()).collect()))
    }

    fn show(item: &Paper, listing: &mut Listing) {
        show_paper(item, listing);
    }
}
