//! GitHub's HTTP API.

use super::repository::{Repository, below};
use crate::context::ToolContext;
use crate::result::{Confidence, FROM_WEB, Output, ToolError};
use crate::tool::Tool;
use crate::web::get::{self, FetchRequest, Page};
use crate::web::secrets::may_carry_secrets;
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::network::{Destination, Service};
use marvin_gate::{Intent, Touches, secrets};
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

const MAX_RESPONSE_BYTES: u64 = 5_000_000;
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SearchType {
    #[default]
    Repositories,
    Code,
    Issues,
    Commits,
    Users,
}

impl SearchType {
    fn word(self) -> &'static str {
        match self {
            SearchType::Repositories => "repositories",
            SearchType::Code => "code",
            SearchType::Issues => "issues",
            SearchType::Commits => "commits",
            SearchType::Users => "users",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct GithubSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// The words, with GitHub's own qualifiers where wanted ("language:rust stars:>100").
    query: String,
    /// repositories, code, issues, commits or users.
    #[serde(default)]
    search_type: SearchType,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<10>")]
    max_results: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Hit {
    title: String,
    /// Its page on GitHub.
    url: String,
    /// A short description.
    detail: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchData {
    query: String,
    search_type: SearchType,
    /// Number of all results.
    total: u64,
    items: Vec<Hit>,
}

#[async_trait]
impl Tool for GithubSearch {
    type Input = SearchInput;
    type Data = SearchData;
    const NAME: &'static str = "github_search";
    const DESCRIPTION: &'static str = "Search GitHub for repositories, code, issues, commits or users.";
    const EXAMPLE: &'static str =
        r#"{"query": "landlock language:rust", "search_type": "repositories", "max_results": 10}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("type", "search_type"), ("limit", "max_results")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &SearchInput, context: &ToolContext) -> Vec<Intent> {
        request(search_address(input, context))
    }

    async fn call(&self, input: SearchInput, context: &ToolContext) -> Result<Output<SearchData>, ToolError> {
        if input.query.trim().is_empty() {
            return Err(ToolError::Usage("github_search needs `query`: the words to search for.".into()));
        }
        let url = search_address(&input, context)?;
        let page = ask(&url, "application/vnd.github+json", context).await?;
        let answer: Value = serde_json::from_slice(&page.bytes)
            .map_err(|_| ToolError::Failed(format!("{} did not answer with JSON", page.url)))?;
        let items: Vec<Hit> = answer
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .take(input.max_results.clamp(1, 50))
            .map(|item| hit(item, input.search_type))
            .collect();
        let total = answer.get("total_count").and_then(Value::as_u64).unwrap_or(items.len() as u64);
        let mut shown = format!("{total} {} found\n", input.search_type.word());
        for (place, item) in items.iter().enumerate() {
            shown.push_str(&format!("{}. {}\n   {}\n   {}\n", place + 1, item.title, item.url, item.detail));
        }
        let summary = format!("{} of {total} {}", items.len(), input.search_type.word());
        let data = SearchData { query: input.query, search_type: input.search_type, total, items };
        let output = Output::new(summary, shown, data);
        Ok(Output { source: FROM_WEB, confidence: Confidence::Summarized, ..output })
    }
}

fn search_address(input: &SearchInput, context: &ToolContext) -> Result<Url, ToolError> {
    let mut url = below(&context.settings, &table::GITHUB_API_URL, &["search", input.search_type.word()])?;
    url.query_pairs_mut()
        .append_pair("q", input.query.trim())
        .append_pair("per_page", &input.max_results.clamp(1, 50).to_string());
    Ok(url)
}

fn hit(item: &Value, kind: SearchType) -> Hit {
    let text = |path: &str| match item.pointer(path) {
        Some(Value::String(text)) => truncate::line(text, 300),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let (title, detail) = match kind {
        SearchType::Repositories => (
            text("/full_name"),
            format!("{} [{} stars, {}]", text("/description"), text("/stargazers_count"), text("/language")),
        ),
        SearchType::Code => (text("/path"), text("/repository/full_name")),
        SearchType::Issues => (text("/title"), format!("#{} [{}]", text("/number"), text("/state"))),
        SearchType::Commits => {
            (text("/commit/message"), format!("{} {}", text("/repository/full_name"), text("/sha")))
        }
        SearchType::Users => (text("/login"), text("/type")),
    };
    Hit { title, url: text("/html_url"), detail }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct GithubReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadInput {
    /// The repository, `owner/name`.
    repo: String,
    /// The path of the file in it; a directory is listed.
    #[serde(default)]
    path: String,
    /// First line, from 1; 0: from the beginning.
    #[serde(default)]
    start: usize,
    /// Last line; 0: to the end.
    #[serde(default)]
    end: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReadData {
    repo: String,
    path: String,
    /// Whether this is a directory, whose entries are listed.
    #[serde(rename = "folder")]
    directory: bool,
    lines: usize,
    /// The lines that were asked for.
    content: String,
    /// Whether the file was larger than can be read.
    truncated: bool,
}

#[async_trait]
impl Tool for GithubReadFile {
    type Input = ReadInput;
    type Data = ReadData;
    const NAME: &'static str = "github_read_file";
    const DESCRIPTION: &'static str =
        "Read a file of a GitHub repository, whole or a range of lines, or list a directory of it.";
    const EXAMPLE: &'static str = r#"{"repo": "rust-lang/rust", "path": "README.md", "start": 1, "end": 40}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("start_line", "start"), ("end_line", "end")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &ReadInput, context: &ToolContext) -> Vec<Intent> {
        request(read_address(input, context).map(|(url, _)| url))
    }

    async fn call(&self, input: ReadInput, context: &ToolContext) -> Result<Output<ReadData>, ToolError> {
        let (url, repository) = read_address(&input, context)?;
        let page = ask(&url, "application/vnd.github.raw+json", context).await?;
        // A file comes as it is, a directory as a list.
        let entries: Option<Vec<Value>> = page
            .content_type
            .starts_with("application/json")
            .then(|| serde_json::from_slice(&page.bytes).ok())
            .flatten();
        let (directory, text) = match entries {
            Some(entries) => (true, listing(&entries)),
            None => {
                let text = String::from_utf8(page.bytes).map_err(|_| {
                    ToolError::Failed(format!("`{}` of {repository} is not UTF-8 text", input.path))
                })?;
                (false, text)
            }
        };
        let lines = text.lines().count();
        let first = input.start.max(1);
        let last = if input.end == 0 { usize::MAX } else { input.end };
        if first > last || (first > lines && lines > 0) {
            return Err(ToolError::Usage(format!(
                "`{}` has {}; {first} to {last} are none of them.",
                input.path,
                count(lines, "line")
            )));
        }
        let content = if first == 1 && last >= lines {
            text
        } else {
            text.lines().skip(first - 1).take(last - first + 1).collect::<Vec<_>>().join("\n")
        };
        let shown = format!("{repository}: {} ({})\n{content}", input.path, count(lines, "line"));
        let data = ReadData {
            repo: repository.to_string(),
            path: input.path,
            directory,
            lines,
            content,
            truncated: page.truncated,
        };
        let confidence = if page.truncated { Confidence::Summarized } else { Confidence::Verbatim };
        let summary = format!("{repository}: {} ({})", data.path, count(lines, "line"));
        let output = Output::new(summary, shown, data);
        Ok(Output { source: FROM_WEB, confidence, ..output })
    }
}

fn listing(entries: &[Value]) -> String {
    let line = |entry: &Value| {
        let name = entry.get("name").and_then(Value::as_str)?;
        let directory = entry.get("type").and_then(Value::as_str) == Some("dir");
        Some(if directory { format!("{name}/") } else { name.to_string() })
    };
    entries.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

fn read_address(input: &ReadInput, context: &ToolContext) -> Result<(Url, Repository), ToolError> {
    let repository = Repository::parse(&input.repo, &context.settings)?;
    let parts: Vec<&str> = input.path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(ToolError::Usage("`path` is a path in the repository, without `..`.".into()));
    }
    let path = std::path::Path::new(&input.path);
    if secrets::is_env_file(path) && !secrets::GrantedFiles::from_settings(&context.settings).has(path) {
        return Err(ToolError::Failed(format!(
            "cannot read `{}`: it may hold secrets. Look at an example file instead; the person opens a file with the \
             setting secrets.granted.",
            input.path
        )));
    }
    let mut all = vec!["repos", &repository.owner, &repository.name, "contents"];
    all.extend(parts);
    let url = below(&context.settings, &table::GITHUB_API_URL, &all)?;
    Ok((url, repository))
}

/// The intent of a request. Without a URL there is none, and the call returns the error.
fn request(url: Result<Url, ToolError>) -> Vec<Intent> {
    let intent = |url: Url| Intent::Request { url: url.into(), service: Some(Service::GithubApi) };
    url.ok().map(intent).into_iter().collect()
}

async fn ask(url: &Url, accept: &'static str, context: &ToolContext) -> Result<Page, ToolError> {
    let mut secret_headers = Vec::new();
    if let Some(token) = context.settings.given(&table::GITHUB_TOKEN) {
        let to = Destination::understand(url.as_str())?;
        if !may_carry_secrets(&to) {
            return Err(ToolError::Failed(format!(
                "the token is sent only over https, and {} is http; tell the person",
                table::GITHUB_API_URL.key
            )));
        }
        secret_headers.push((AUTHORIZATION, format!("Bearer {}", token.trim())));
    }
    let wanted = FetchRequest {
        service: Some(Service::GithubApi),
        accept,
        secret_headers,
        ..FetchRequest::page(url.as_str(), MAX_RESPONSE_BYTES, DEADLINE)
    };
    let page = get::page(wanted, context).await?;
    let Some(error) = &page.error else { return Ok(page) };
    let body: Option<Value> = serde_json::from_slice(&page.bytes).ok();
    let message = body.as_ref().and_then(|body| body.get("message")?.as_str()).unwrap_or("no message");
    let hint = match page.status {
        401 => "The token is wrong; tell the person (github.token).",
        403 | 429 => "The limit may be reached; wait, or tell the person to set github.token.",
        404 => "Check the names; a private repository needs a token (github.token).",
        _ => "Check the arguments.",
    };
    Err(ToolError::Failed(format!("{error}: {}. {hint}", truncate::line(message, 300).trim_end_matches('.'))))
}
