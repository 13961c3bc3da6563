//! Music, from MusicBrainz.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, words};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum MusicEntity {
    #[default]
    Artist,
    Release,
    Recording,
}

impl MusicEntity {
    fn word(self) -> &'static str {
        match self {
            MusicEntity::Artist => "artist",
            MusicEntity::Release => "release",
            MusicEntity::Recording => "recording",
        }
    }

    /// What a lookup brings along.
    fn included(self) -> &'static str {
        match self {
            MusicEntity::Artist => "release-groups url-rels",
            MusicEntity::Release => "artist-credits recordings labels",
            MusicEntity::Recording => "artist-credits releases",
        }
    }
}

/// An artist, release or recording in the words of the service.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MusicEntry {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    disambiguation: String,
    #[serde(default)]
    country: Option<String>,
    #[serde(default)]
    date: Option<String>,
    #[serde(default)]
    first_release_date: Option<String>,
    #[serde(default)]
    length: Option<u64>,
    #[serde(default)]
    life_span: Option<LifeSpan>,
    #[serde(default)]
    artist_credit: Vec<Credit>,
    #[serde(default)]
    release_groups: Vec<MusicTitle>,
    #[serde(default)]
    releases: Vec<MusicTitle>,
    #[serde(default)]
    media: Vec<Medium>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LifeSpan {
    begin: Option<String>,
    end: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Credit {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct MusicTitle {
    title: String,
    date: Option<String>,
    first_release_date: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Medium {
    tracks: Vec<MusicTitle>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MusicItem {
    mbid: String,
    entity: MusicEntity,
    name: String,
    artists: Vec<String>,
    disambiguation: String,
    country: String,
    date: String,
    length_s: Option<u64>,
    /// Releases of an artist or recording, tracks of a release.
    titles: Vec<String>,
}

impl MusicEntry {
    fn into_item(self, entity: MusicEntity) -> MusicItem {
        let describe = |title: MusicTitle| {
            let date = title.date.or(title.first_release_date).unwrap_or_default();
            if date.is_empty() { title.title } else { format!("{} ({date})", title.title) }
        };
        let life = self.life_span.map(|life| match (life.begin, life.end) {
            (Some(begin), Some(end)) => format!("{begin} to {end}"),
            (Some(begin), None) => format!("since {begin}"),
            _ => String::new(),
        });
        let tracks = self.media.into_iter().flat_map(|medium| medium.tracks);
        let titles = self.release_groups.into_iter().chain(self.releases).chain(tracks).map(describe);
        MusicItem {
            mbid: self.id,
            entity,
            name: self.name.or(self.title).unwrap_or_default(),
            artists: self.artist_credit.into_iter().map(|credit| credit.name).collect(),
            disambiguation: self.disambiguation,
            country: self.country.unwrap_or_default(),
            date: self.date.or(self.first_release_date).or(life).unwrap_or_default(),
            length_s: self.length.map(|milliseconds| milliseconds / 1_000),
            titles: titles.take(40).collect(),
        }
    }
}

fn show_item(item: &MusicItem, listing: &mut Listing) {
    listing.entry(&format!("{} ({}, mbid {})", item.name, item.entity.word(), item.mbid));
    listing.fact("by", &item.artists.join(", "));
    listing.fact("which", &item.disambiguation);
    listing.fact("country", &item.country);
    listing.fact("date", &item.date);
    listing.number("length", item.length_s, " s");
    listing.fact("titles", &item.titles.join("; "));
}

pub(super) struct MusicSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    query: String,
    #[serde(default)]
    entity: MusicEntity,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<10>")]
    max_results: usize,
}

/// Answer of a search: one of the lists is there.
#[derive(Debug, Deserialize)]
struct MusicList {
    #[serde(alias = "releases", alias = "recordings")]
    artists: Vec<MusicEntry>,
}

#[async_trait]
impl ServiceTool for MusicSearch {
    type Input = SearchInput;
    type Item = MusicItem;
    const NAME: &'static str = "music_search";
    const DESCRIPTION: &'static str =
        "Search artists, releases (albums) or recordings (songs) in MusicBrainz.";
    const EXAMPLE: &'static str = r#"{"query": "nina simone", "entity": "artist", "max_results": 10}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("type", "entity"), ("limit", "max_results")];
    const NOUN: &'static str = "result";

    fn requests(input: &SearchInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let limit = input.max_results.clamp(1, 50).to_string();
        let query =
            [("query", words(&input.query, Self::NAME, "query")?), ("limit", &limit), ("fmt", "json")];
        Ok(vec![Request::new(Service::MusicBrainz, &["ws", "2", input.entity.word()], &query, context)?])
    }

    async fn find(input: SearchInput, context: &ToolContext) -> Result<Findings<MusicItem>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<MusicList>(context).await?;
        let most = input.max_results.clamp(1, 50);
        let all = reply.data.artists.into_iter().take(most).map(|entry| {
            let item = entry.into_item(input.entity);
            MusicItem { titles: Vec::new(), ..item }
        });
        Ok(Findings::new(&request, reply.age, all.collect()))
    }

    fn show(item: &MusicItem, listing: &mut Listing) {
        show_item(item, listing);
    }
}

pub(super) struct MusicLookup;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupInput {
    /// The id that music_search gave.
    mbid: String,
    #[serde(default)]
    entity: MusicEntity,
}

#[async_trait]
impl ServiceTool for MusicLookup {
    type Input = LookupInput;
    type Item = MusicItem;
    const NAME: &'static str = "music_lookup";
    const DESCRIPTION: &'static str =
        "Details of an artist, release or recording by its mbid: albums, tracks, dates.";
    const EXAMPLE: &'static str = r#"{"mbid": "a74b1b7f-71a5-4011-9441-d0b5e4122711", "entity": "artist"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("id", "mbid"), ("type", "entity")];
    const NOUN: &'static str = "result";

    fn requests(input: &LookupInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let id = input.mbid.trim();
        let is_id = id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if !is_id {
            return Err(ToolError::Usage("`mbid` is an id that music_search gave, 36 characters.".into()));
        }
        let query = [("inc", input.entity.included()), ("fmt", "json")];
        Ok(vec![Request::new(Service::MusicBrainz, &["ws", "2", input.entity.word(), id], &query, context)?])
    }

    async fn find(input: LookupInput, context: &ToolContext) -> Result<Findings<MusicItem>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<MusicEntry>(context).await?;
        Ok(Findings::one(&request, reply.age, reply.data.into_item(input.entity)))
    }

    fn show(item: &MusicItem, listing: &mut Listing) {
        show_item(item, listing);
    }
}
