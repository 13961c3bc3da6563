//! Bookmarks, in one file for all profiles.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::service::{needs, store};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::clock;
use marvin_base::printable::{count, visible};
use marvin_gate::Touches;
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Characters of one field.
const MAX_FIELD_CHARS: usize = 4_000;

/// A bookmark. Fields that Marvin does not know stay.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Bookmark {
    url: String,
    title: String,
    tags: Vec<String>,
    notes: String,
    saved_at: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Bookmark {
    fn describe(&self) -> String {
        let title = if self.title.is_empty() { &self.url } else { &self.title };
        let mut text = format!("- {title}\n  {}\n", self.url);
        if !self.tags.is_empty() {
            text.push_str(&format!("  tags: {}\n", self.tags.join(", ")));
        }
        if !self.notes.is_empty() {
            text.push_str(&format!("  notes: {}\n", self.notes));
        }
        visible(&text).into_owned()
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own.eq_ignore_ascii_case(tag))
    }

    fn contains(&self, words: &str) -> bool {
        let text =
            format!("{} {} {} {}", self.url, self.title, self.tags.join(" "), self.notes).to_lowercase();
        words.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BookmarkSave;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveInput {
    /// The address; one that is saved already is changed.
    url: String,
    #[serde(default)]
    title: String,
    /// Tags, separated by commas.
    #[serde(default)]
    tags: String,
    #[serde(default)]
    notes: String,
}

#[async_trait]
impl Tool for BookmarkSave {
    type Input = SaveInput;
    type Data = Bookmark;
    const NAME: &'static str = "bookmark_save";
    const DESCRIPTION: &'static str = "Save a web address as a bookmark, with title, tags and notes.";
    const EXAMPLE: &'static str =
        r#"{"url": "https://doc.rust-lang.org/book/", "title": "The Rust book", "tags": "rust,learning"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("link", "url"), ("name", "title")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: SaveInput, context: &ToolContext) -> Result<Output<Bookmark>, ToolError> {
        let url = input.url.trim();
        let is_web = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_web {
            return Err(needs(Self::NAME, "url", "an address that begins with http:// or https://"));
        }
        if [url, &input.title, &input.tags, &input.notes]
            .iter()
            .any(|it| it.chars().count() > MAX_FIELD_CHARS)
        {
            return Err(ToolError::Usage(format!("a field has at most {MAX_FIELD_CHARS} characters.")));
        }
        let tags = input.tags.split(',').map(|tag| tag.trim().to_lowercase()).filter(|tag| !tag.is_empty());
        let tags: Vec<String> = tags.collect();
        let bookmark = store::change(&context.layout.bookmarks(), |all: &mut Vec<Bookmark>| {
            let at = all.iter().position(|bookmark| bookmark.url == url);
            let mut bookmark = at.map(|at| all.remove(at)).unwrap_or_default();
            bookmark.url = url.to_string();
            for (old, new) in [(&mut bookmark.title, &input.title), (&mut bookmark.notes, &input.notes)] {
                if !new.trim().is_empty() {
                    *old = new.trim().to_string();
                }
            }
            for tag in tags {
                if !bookmark.has_tag(&tag) {
                    bookmark.tags.push(tag);
                }
            }
            bookmark.saved_at = clock::now_stamp();
            all.push(bookmark.clone());
            Ok(bookmark)
        })?;
        Ok(Output::line(format!("Saved the bookmark {}", bookmark.url), bookmark))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Bookmarks {
    bookmarks: Vec<Bookmark>,
    /// Number of all that fit.
    total: usize,
}

/// The newest bookmarks that fit.
fn find(
    fits: impl Fn(&Bookmark) -> bool,
    limit: usize,
    context: &ToolContext,
) -> Result<Output<Bookmarks>, ToolError> {
    let all: Vec<Bookmark> = store::read(&context.layout.bookmarks())?;
    let fitting: Vec<Bookmark> = all.into_iter().rev().filter(|bookmark| fits(bookmark)).collect();
    let total = fitting.len();
    let bookmarks: Vec<Bookmark> = fitting.into_iter().take(limit.clamp(1, 200)).collect();
    let mut text: String = bookmarks.iter().map(Bookmark::describe).collect();
    if bookmarks.is_empty() {
        text = "No bookmark fits.".into();
    } else if total > bookmarks.len() {
        text.push_str(&format!("({} further ones are left out)\n", total - bookmarks.len()));
    }
    Ok(Output::new(count(total, "bookmark"), text, Bookmarks { bookmarks, total }))
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BookmarkList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListInput {
    /// Only those with this tag.
    #[serde(default)]
    tag: String,
    /// Bookmarks at most.
    #[serde(default = "crate::schema::count::<20>")]
    limit: usize,
}

#[async_trait]
impl Tool for BookmarkList {
    type Input = ListInput;
    type Data = Bookmarks;
    const NAME: &'static str = "bookmark_list";
    const DESCRIPTION: &'static str = "List bookmarks, newest first, all or those with a tag.";
    const EXAMPLE: &'static str = r#"{"tag": "rust", "limit": 20}"#;
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: ListInput, context: &ToolContext) -> Result<Output<Bookmarks>, ToolError> {
        let tag = input.tag.trim();
        find(|bookmark| tag.is_empty() || bookmark.has_tag(tag), input.limit, context)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BookmarkSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// Words that must all occur in address, title, tags or notes.
    query: String,
    /// Bookmarks at most.
    #[serde(default = "crate::schema::count::<10>")]
    limit: usize,
}

#[async_trait]
impl Tool for BookmarkSearch {
    type Input = SearchInput;
    type Data = Bookmarks;
    const NAME: &'static str = "bookmark_search";
    const DESCRIPTION: &'static str = "Search the bookmarks by words.";
    const EXAMPLE: &'static str = r#"{"query": "rust book", "limit": 10}"#;
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: SearchInput, context: &ToolContext) -> Result<Output<Bookmarks>, ToolError> {
        if input.query.trim().is_empty() {
            return Err(needs(Self::NAME, "query", "the words to look for"));
        }
        find(|bookmark| bookmark.contains(&input.query), input.limit, context)
    }
}
