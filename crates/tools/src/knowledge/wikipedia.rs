//! Wikipedia: search, summaries, and whole pages, which are kept on disk and searched there.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Failure, Findings, Listing, Request, ServiceTool, needs, plain, words};
use async_trait::async_trait;
use marvin_base::files::{self, Links};
use marvin_base::{atomic, signature, truncate};
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MAX_PAGE_BYTES: u64 = 8 * 1024 * 1024;
/// Characters of a page that `wiki_full` shows.
const EXTRACT_CHARS: usize = 1_500;
/// Lines that `wiki_grep` shows.
const MAX_MATCHES: usize = 40;
/// Age after which a page on disk is fetched again.
const MAX_PAGE_AGE: Duration = Duration::from_secs(7 * 86_400);
/// Bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    query: String,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TitleInput {
    /// The title of the page.
    title: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GrepInput {
    /// The title of the page.
    title: String,
    /// A regular expression, case-insensitive.
    pattern: String,
}

/// A page that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Page {
    title: String,
    url: String,
    text: String,
    /// The file that holds the whole page.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    characters: Option<usize>,
}

fn show_page(page: &Page, listing: &mut Listing) {
    listing.entry(&page.title);
    listing.fact("url", &page.url);
    listing.fact("file", page.file.as_deref().unwrap_or_default());
    listing.number("characters", page.characters, "");
    listing.lines(&page.text);
}

/// Answer of a search.
#[derive(Debug, Deserialize)]
struct SearchAnswer {
    query: SearchQuery,
}

#[derive(Debug, Deserialize)]
struct SearchQuery {
    search: Vec<SearchHit>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchHit {
    title: String,
    snippet: String,
}

/// The address of a page for people.
fn page_url(title: &str, request: &Request) -> String {
    let mut url = request.url().clone();
    url.set_query(None);
    url.set_path("/wiki/");
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push(&title.replace(' ', "_"));
    }
    url.into()
}

pub(super) struct WikiSearch;

#[async_trait]
impl ServiceTool for WikiSearch {
    type Input = SearchInput;
    type Item = Page;
    const NAME: &'static str = "wiki_search";
    const DESCRIPTION: &'static str = "Search Wikipedia for pages.";
    const EXAMPLE: &'static str = r#"{"query": "history of the bicycle", "max_results": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("limit", "max_results")];
    const NOUN: &'static str = "page";

    fn requests(input: &SearchInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let limit = input.max_results.clamp(1, 50).to_string();
        let query = [
            ("action", "query"),
            ("list", "search"),
            ("srsearch", words(&input.query, Self::NAME, "query")?),
            ("srlimit", &limit),
            ("format", "json"),
        ];
        Ok(vec![Request::new(Service::Wikipedia, &["w", "api.php"], &query, context)?])
    }

    async fn find(input: SearchInput, context: &ToolContext) -> Result<Findings<Page>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<SearchAnswer>(context).await?;
        let page = |hit: SearchHit| Page {
            url: page_url(&hit.title, &request),
            title: hit.title,
            text: plain(&hit.snippet),
            file: None,
            characters: None,
        };
        let pages = reply.data.query.search.into_iter().map(page).collect();
        Ok(Findings::new(&request, reply.age, pages))
    }

    fn show(item: &Page, listing: &mut Listing) {
        show_page(item, listing);
    }
}

/// Answer of a summary.
#[derive(Debug, Deserialize)]
struct SummaryAnswer {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    extract: String,
}

pub(super) struct WikiSummary;

#[async_trait]
impl ServiceTool for WikiSummary {
    type Input = TitleInput;
    type Item = Page;
    const NAME: &'static str = "wiki_summary";
    const DESCRIPTION: &'static str = "The first paragraph of a Wikipedia page.";
    const EXAMPLE: &'static str = r#"{"title": "Bicycle"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("page", "title"), ("query", "title")];
    const NOUN: &'static str = "page";

    fn requests(input: &TitleInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let title = words(&input.title, Self::NAME, "title")?.replace(' ', "_");
        let segments = ["api", "rest_v1", "page", "summary", &title];
        Ok(vec![Request::new(Service::Wikipedia, &segments, &[], context)?])
    }

    async fn find(input: TitleInput, context: &ToolContext) -> Result<Findings<Page>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<SummaryAnswer>(context).await.map_err(|error| match error.kind {
            Failure::NotFound => no_page(&input.title),
            _ => error.into(),
        })?;
        let SummaryAnswer { title, description, extract } = reply.data;
        let text = if description.is_empty() { extract } else { format!("{description}\n{extract}") };
        let page = Page { url: page_url(&title, &request), title, text, file: None, characters: None };
        Ok(Findings::one(&request, reply.age, page))
    }

    fn show(item: &Page, listing: &mut Listing) {
        show_page(item, listing);
    }
}

fn no_page(title: &str) -> ToolError {
    ToolError::Failed(format!(
        "Wikipedia has no page `{}`\n  hint: wiki_search finds titles",
        truncate::line(title, 100)
    ))
}

/// Answer with the text of a page.
#[derive(Debug, Deserialize)]
struct PageAnswer {
    query: PageQuery,
}

#[derive(Debug, Deserialize)]
struct PageQuery {
    pages: BTreeMap<String, PageText>,
}

#[derive(Debug, Deserialize)]
struct PageText {
    #[serde(default)]
    title: String,
    /// Absent where the page does not exist.
    extract: Option<String>,
}

/// A whole page, with the file that holds it.
struct WholePage {
    title: String,
    text: String,
    file: PathBuf,
    age: Option<Duration>,
}

fn page_request(title: &str, tool: &str, context: &ToolContext) -> Result<Request, ToolError> {
    let query = [
        ("action", "query"),
        ("prop", "extracts"),
        ("explaintext", "1"),
        ("redirects", "1"),
        ("titles", words(title, tool, "title")?),
        ("format", "json"),
    ];
    Ok(Request::new(Service::Wikipedia, &["w", "api.php"], &query, context)?)
}

/// The file of a page; the hash tells apart titles, and instances, whose names are the same in letters.
fn page_file(request: &Request, title: &str, context: &ToolContext) -> PathBuf {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let name: String = title.trim().chars().take(60).map(plain).collect();
    let hash = signature::hash_bytes(request.url().as_str().as_bytes());
    let name = format!("{name}-{}.txt", hash.get(..12).unwrap_or_default());
    context.layout.services_cache().join(request.row.directory).join("pages").join(name)
}

/// The page from the disk, if it is there and not old.
fn page_on_disk(file: &Path) -> Option<(String, String, Duration)> {
    let age = file.metadata().ok()?.modified().ok()?.elapsed().ok().filter(|age| *age < MAX_PAGE_AGE)?;
    let text = files::read_text(file, MAX_PAGE_BYTES, Links::Refuse).ok()?;
    let (title, text) = text.split_once('\n')?;
    Some((title.to_string(), text.to_string(), age))
}

async fn whole_page(request: &Request, title: &str, context: &ToolContext) -> Result<WholePage, ToolError> {
    let file = page_file(request, title, context);
    if let Some((title, text, age)) = page_on_disk(&file) {
        return Ok(WholePage { title, text, file, age: Some(age) });
    }
    let reply = request.ask::<PageAnswer>(context).await?;
    let page = reply.data.query.pages.into_values().next();
    let page = page.ok_or_else(|| no_page(title))?;
    let text = page.extract.filter(|text| !text.trim().is_empty()).ok_or_else(|| no_page(title))?;
    let title = page.title.replace('\n', " ");
    atomic::replace_private(&file, format!("{title}\n{text}").as_bytes())
        .map_err(|error| ToolError::Failed(error.to_string()))?;
    Ok(WholePage { title, text, file, age: reply.age })
}

pub(super) struct WikiFull;

#[async_trait]
impl ServiceTool for WikiFull {
    type Input = TitleInput;
    type Item = Page;
    const NAME: &'static str = "wiki_full";
    const DESCRIPTION: &'static str =
        "Fetch a whole Wikipedia page to the disk; shows its beginning. wiki_grep searches the rest.";
    const EXAMPLE: &'static str = r#"{"title": "Bicycle"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("page", "title")];
    const NOUN: &'static str = "page";

    fn requests(input: &TitleInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        Ok(vec![page_request(&input.title, Self::NAME, context)?])
    }

    async fn find(input: TitleInput, context: &ToolContext) -> Result<Findings<Page>, ToolError> {
        let request = page_request(&input.title, Self::NAME, context)?;
        let whole = whole_page(&request, &input.title, context).await?;
        let page = Page {
            url: page_url(&whole.title, &request),
            title: whole.title,
            characters: Some(whole.text.chars().count()),
            text: truncate::head(&whole.text, EXTRACT_CHARS),
            file: Some(whole.file.display().to_string()),
        };
        Ok(Findings::one(&request, whole.age, page))
    }

    fn show(item: &Page, listing: &mut Listing) {
        show_page(item, listing);
    }
}

/// A line of a page that a pattern matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PageLine {
    line: usize,
    text: String,
}

pub(super) struct WikiGrep;

#[async_trait]
impl ServiceTool for WikiGrep {
    type Input = GrepInput;
    type Item = PageLine;
    const NAME: &'static str = "wiki_grep";
    const DESCRIPTION: &'static str = "Search the text of a Wikipedia page with a regular expression.";
    const EXAMPLE: &'static str = r#"{"title": "Bicycle", "pattern": "chain|gear"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("page", "title"), ("query", "pattern")];
    const NOUN: &'static str = "line";

    fn requests(input: &GrepInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        Ok(vec![page_request(&input.title, Self::NAME, context)?])
    }

    async fn find(input: GrepInput, context: &ToolContext) -> Result<Findings<PageLine>, ToolError> {
        if input.pattern.is_empty() {
            return Err(needs(Self::NAME, "pattern", "a regular expression"));
        }
        let pattern = regex::RegexBuilder::new(&input.pattern)
            .case_insensitive(true)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(|error| ToolError::Usage(format!("`pattern` is not a regular expression: {error}.")))?;
        let request = page_request(&input.title, Self::NAME, context)?;
        let whole = whole_page(&request, &input.title, context).await?;
        let matching = whole.text.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
        let lines = matching
            .take(MAX_MATCHES)
            .map(|(at, line)| PageLine { line: at + 1, text: around(line, &pattern) })
            .collect();
        let count = whole.text.lines().filter(|line| pattern.is_match(line)).count();
        let mut findings = Findings::new(&request, whole.age, lines);
        findings.note = (count > MAX_MATCHES).then(|| format!("{} further lines match", count - MAX_MATCHES));
        Ok(findings)
    }

    fn show(item: &PageLine, listing: &mut Listing) {
        listing.lines(&format!("{}: {}", item.line, item.text));
    }
}

/// A long line around its first match.
fn around(line: &str, pattern: &regex::Regex) -> String {
    const SIDE_BYTES: usize = 200;
    if line.len() <= 2 * SIDE_BYTES {
        return line.to_string();
    }
    let (start, end) = pattern.find(line).map_or((0, 0), |found| (found.start(), found.end()));
    let start = truncate::floor(line, start.saturating_sub(SIDE_BYTES));
    let end = truncate::floor(line, (end + SIDE_BYTES).min(line.len()));
    format!("…{}…", line.get(start..end).unwrap_or_default())
}
