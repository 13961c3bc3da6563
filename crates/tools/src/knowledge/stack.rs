//! Questions and answers, from Stack Exchange.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, plain, title, words};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Answers of a question that are shown.
const MAX_ANSWERS: usize = 5;
/// Characters of an answer.
const MAX_ANSWER_CHARS: usize = 4_000;

fn stack_overflow() -> String {
    "stackoverflow".into()
}

/// The name of a site as the interface takes it.
fn site_name(site: &str) -> Result<&str, ToolError> {
    let site = site.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    if site.is_empty() || !site.chars().all(is_name) {
        return Err(ToolError::Usage("`site` is a name such as \"stackoverflow\" or \"superuser\".".into()));
    }
    Ok(site)
}

/// An answer of Stack Exchange.
#[derive(Debug, Deserialize)]
struct StackAnswer<T> {
    items: Vec<T>,
    /// Seconds for which the same method may not be called.
    backoff: Option<u64>,
}

async fn ask<T: serde::de::DeserializeOwned>(
    request: &Request,
    context: &ToolContext,
) -> Result<(Vec<T>, Option<Duration>), ToolError> {
    let reply = request.ask::<StackAnswer<T>>(context).await?;
    if let (Some(seconds), None) = (reply.data.backoff, reply.age) {
        request.hold(Duration::from_secs(seconds), context);
    }
    Ok((reply.data.items, reply.age))
}

pub(super) struct StackSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StackInput {
    query: String,
    /// The site, such as stackoverflow, superuser, serverfault, askubuntu, math.
    #[serde(default = "stack_overflow")]
    site: String,
    /// Tags that questions must have, separated by semicolons.
    tagged: Option<String>,
    /// Order of the results.
    #[serde(default)]
    sort: StackOrder,
    /// Results at most, 1 to 30.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum StackOrder {
    #[default]
    Relevance,
    Votes,
    Creation,
    Activity,
}

impl StackOrder {
    fn word(self) -> &'static str {
        match self {
            StackOrder::Relevance => "relevance",
            StackOrder::Votes => "votes",
            StackOrder::Creation => "creation",
            StackOrder::Activity => "activity",
        }
    }
}

/// A question, as the service and the record have it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Question {
    question_id: u64,
    title: String,
    link: String,
    score: i64,
    answer_count: u64,
    is_answered: bool,
    tags: Vec<String>,
}

#[async_trait]
impl ServiceTool for StackSearch {
    type Input = StackInput;
    type Item = Question;
    const NAME: &'static str = "stack_search";
    const DESCRIPTION: &'static str =
        "Search questions on Stack Overflow or another Stack Exchange site; stack_answers reads the answers.";
    const EXAMPLE: &'static str = r#"{"query": "rust borrow checker self referential", "tagged": "rust", "sort": "votes", "max_results": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("limit", "max_results"), ("tags", "tagged")];
    const NOUN: &'static str = "question";

    fn requests(input: &StackInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let limit = input.max_results.clamp(1, 30).to_string();
        let tagged = input.tagged.as_deref().unwrap_or_default().replace(',', ";");
        let query = [
            ("order", "desc"),
            ("sort", input.sort.word()),
            ("q", words(&input.query, Self::NAME, "query")?),
            ("site", site_name(&input.site)?),
            ("tagged", tagged.trim()),
            ("pagesize", &limit),
        ];
        Ok(vec![Request::new(Service::StackExchange, &["2.3", "search", "advanced"], &query, context)?])
    }

    async fn find(input: StackInput, context: &ToolContext) -> Result<Findings<Question>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let (mut items, age) = ask::<Question>(&request, context).await?;
        items.iter_mut().for_each(|item| item.title = title(&item.title));
        items.truncate(input.max_results.clamp(1, 30));
        Ok(Findings::new(&request, age, items))
    }

    fn show(item: &Question, listing: &mut Listing) {
        listing.entry(&item.title);
        let state = if item.is_answered { "answered" } else { "no accepted answer" };
        listing.fact(
            "question",
            &format!("{} [{} votes, {} answers, {state}]", item.question_id, item.score, item.answer_count),
        );
        listing.fact("tags", &item.tags.join(", "));
        listing.fact("url", &item.link);
    }
}

pub(super) struct StackAnswers;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswersInput {
    /// The number of the question.
    question_id: u64,
    /// Its site.
    #[serde(default = "stack_overflow")]
    site: String,
}

/// An answer of the service.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PostedAnswer {
    answer_id: u64,
    score: i64,
    is_accepted: bool,
    body: String,
    owner: Owner,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Owner {
    display_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AnswerText {
    answer_id: u64,
    score: i64,
    is_accepted: bool,
    author: String,
    text: String,
}

#[async_trait]
impl ServiceTool for StackAnswers {
    type Input = AnswersInput;
    type Item = AnswerText;
    const NAME: &'static str = "stack_answers";
    const DESCRIPTION: &'static str = "Read the answers to a question of a Stack Exchange site, best first.";
    const EXAMPLE: &'static str = r#"{"question_id": 11227809, "site": "stackoverflow"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("id", "question_id")];
    const NOUN: &'static str = "answer";

    fn requests(input: &AnswersInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let id = input.question_id.to_string();
        let limit = MAX_ANSWERS.to_string();
        let query = [
            ("order", "desc"),
            ("sort", "votes"),
            ("site", site_name(&input.site)?),
            ("filter", "withbody"),
            ("pagesize", &limit),
        ];
        let segments = ["2.3", "questions", &id, "answers"];
        Ok(vec![Request::new(Service::StackExchange, &segments, &query, context)?])
    }

    async fn find(input: AnswersInput, context: &ToolContext) -> Result<Findings<AnswerText>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let (items, age) = ask::<PostedAnswer>(&request, context).await?;
        let answer = |posted: PostedAnswer| AnswerText {
            answer_id: posted.answer_id,
            score: posted.score,
            is_accepted: posted.is_accepted,
            author: title(&posted.owner.display_name),
            text: truncate::head(&plain(&posted.body), MAX_ANSWER_CHARS),
        };
        let mut answers: Vec<AnswerText> = items.into_iter().take(MAX_ANSWERS).map(answer).collect();
        answers.sort_by_key(|answer| !answer.is_accepted);
        Ok(Findings::new(&request, age, answers))
    }

    fn show(item: &AnswerText, listing: &mut Listing) {
        let accepted = if item.is_accepted { ", accepted" } else { "" };
        listing
            .entry(&format!("answer {} by {} [{} votes{accepted}]", item.answer_id, item.author, item.score));
        listing.lines(&item.text);
    }
}
