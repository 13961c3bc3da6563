//! Spotify: sign-in with PKCE, search, and playlists.
//!
//! The tokens lie in `tokens.json` of the profile, which only the person can read; the model never sees them. A sign-in has two
//! calls: the first gives the address that the person opens, the second takes the code that they come back with. The code
//! is worth nothing without the verifier, which stays in the file.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::service::{
    Failure, Findings, Listing, Request, ServiceTool, needs, spotify_client_advice, store, words,
};
use crate::tool::Tool;
use crate::web::secrets::base64;
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_base::{clock, ids, profile, truncate};
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

const SCOPES: &str = "playlist-modify-private playlist-modify-public";
/// Seconds before its end at which a token is renewed.
const MARGIN_S: i64 = 60;
/// Tracks of one call.
const MAX_TRACKS: usize = 50;
const WHAT_YOU_HEAR: &str = "which playlists you make and what is in them";

/// `tokens.json`. Tokens of other services stay as they are.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TokenFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spotify: Option<Tokens>,
    /// A sign-in that was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spotify_sign_in: Option<SignIn>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Tokens {
    access_token: String,
    refresh_token: String,
    /// Seconds since 1970.
    expires_at: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SignIn {
    verifier: String,
    state: String,
}

/// Answer with tokens.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    /// Absent where the old one stays.
    refresh_token: Option<String>,
    expires_in: i64,
}

fn file(context: &ToolContext) -> PathBuf {
    context.layout.tokens(&profile::active(&context.layout, context.settings.given(&table::PROFILE)))
}

fn client(context: &ToolContext) -> Result<&str, ToolError> {
    context.settings.given(&table::SPOTIFY_CLIENT).ok_or_else(|| {
        ToolError::Failed(format!(
            "cannot ask Spotify: no client id is set\n  hint: tell the person: {}",
            spotify_client_advice(&context.settings)
        ))
    })
}

fn not_signed_in() -> ToolError {
    ToolError::Failed(
        "cannot ask Spotify: the person is not signed in\n  hint: call spotify_auth and give them the address".into(),
    )
}

/// The tokens of a person who signed in.
fn tokens(context: &ToolContext) -> Result<Tokens, ToolError> {
    client(context)?;
    let file: TokenFile = store::read(&file(context))?;
    file.spotify.ok_or_else(not_signed_in)
}

/// Asks for tokens and keeps them.
async fn fetch_tokens(
    fields: &[(&str, &str)],
    old: &str,
    context: &ToolContext,
) -> Result<Tokens, ToolError> {
    let request = Request::new(Service::SpotifyAccounts, &["api", "token"], &[], context)?.post_form(fields);
    let answer = request.ask::<TokenAnswer>(context).await?.data;
    let tokens = Tokens {
        access_token: answer.access_token,
        refresh_token: answer.refresh_token.unwrap_or_else(|| old.to_string()),
        expires_at: clock::now().as_second().saturating_add(answer.expires_in),
    };
    store::change(&file(context), |file: &mut TokenFile| {
        file.spotify = Some(tokens.clone());
        file.spotify_sign_in = None;
        Ok(())
    })?;
    Ok(tokens)
}

/// An access token that is still good.
async fn access_token(context: &ToolContext) -> Result<String, ToolError> {
    let tokens = tokens(context)?;
    if tokens.expires_at > clock::now().as_second() + MARGIN_S {
        return Ok(tokens.access_token);
    }
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens.refresh_token.as_str()),
        ("client_id", client(context)?),
    ];
    match fetch_tokens(&fields, &tokens.refresh_token, context).await {
        Ok(tokens) => Ok(tokens.access_token),
        Err(error) => {
            // Another process may have renewed it at the same time.
            let file: TokenFile = store::read(&file(context))?;
            let other = file.spotify.filter(|other| other.access_token != tokens.access_token);
            other.map(|other| other.access_token).ok_or(error)
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SpotifyAuth;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthInput {
    /// The code, or the whole address that the browser ended at; empty: begin.
    #[serde(default)]
    auth_code: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuthData {
    signed_in: bool,
    /// The address that the person opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// The code of an address, or the code itself; an address must carry the state of the sign-in.
fn code_of(text: &str, state: &str) -> Result<String, ToolError> {
    let Ok(url) = Url::parse(text) else { return Ok(text.to_string()) };
    let value =
        |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if value("state").as_deref() != Some(state) {
        return Err(ToolError::Failed(
            "this address does not belong to the sign-in that was begun last\n  hint: call spotify_auth without a code".into(),
        ));
    }
    value("code").ok_or_else(|| {
        let reason = value("error").unwrap_or_else(|| "it has no code".into());
        ToolError::Failed(format!("Spotify did not sign the person in: {}", truncate::line(&reason, 80)))
    })
}

fn sign_in_url(sign_in: &SignIn, context: &ToolContext) -> Result<String, ToolError> {
    let challenge = base64(&Sha256::digest(sign_in.verifier.as_bytes()));
    let challenge = challenge.trim_end_matches('=').replace('+', "-").replace('/', "_");
    let query = [
        ("client_id", client(context)?),
        ("response_type", "code"),
        ("redirect_uri", context.settings.text(&table::SPOTIFY_REDIRECT)),
        ("scope", SCOPES),
        ("state", &sign_in.state),
        ("code_challenge_method", "S256"),
        ("code_challenge", &challenge),
    ];
    Ok(Request::new(Service::SpotifyAccounts, &["authorize"], &query, context)?.url().to_string())
}

#[async_trait]
impl Tool for SpotifyAuth {
    type Input = AuthInput;
    type Data = AuthData;
    const NAME: &'static str = "spotify_auth";
    const DESCRIPTION: &'static str = "Sign the person in at Spotify: without a code it gives the address to open, with the code (or the address that the browser ended at) it finishes.";
    const EXAMPLE: &'static str = r#"{"auth_code": ""}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("code", "auth_code")];
    const TOUCHES: Touches = Touches { stores: true, ..Touches::NETWORK };

    fn intents(input: &AuthInput, context: &ToolContext) -> Vec<Intent> {
        let request = Request::new(Service::SpotifyAccounts, &["api", "token"], &[], context).ok();
        let is_sent = !input.auth_code.trim().is_empty() && client(context).is_ok();
        request.filter(|_| is_sent).map(|request| request.intent()).into_iter().collect()
    }

    async fn call(&self, input: AuthInput, context: &ToolContext) -> Result<Output<AuthData>, ToolError> {
        let client = client(context)?;
        let given = input.auth_code.trim();
        if given.is_empty() {
            let sign_in = SignIn { verifier: ids::short(32) + &ids::short(32), state: ids::short(16) };
            let url = sign_in_url(&sign_in, context)?;
            store::change(&file(context), |file: &mut TokenFile| {
                file.spotify_sign_in = Some(sign_in);
                Ok(())
            })?;
            let text = format!(
                "Give this address to the person; after they agree, their browser ends at an address with a code, which they \
                 paste here:\n{url}"
            );
            return Ok(Output::new(
                "an address to sign in",
                text,
                AuthData { signed_in: false, url: Some(url) },
            ));
        }
        let file: TokenFile = store::read(&file(context))?;
        let sign_in = file.spotify_sign_in.ok_or_else(not_signed_in)?;
        let code = code_of(given, &sign_in.state)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", context.settings.text(&table::SPOTIFY_REDIRECT)),
            ("client_id", client),
            ("code_verifier", &sign_in.verifier),
        ];
        fetch_tokens(&fields, "", context).await?;
        Ok(Output::line("The person is signed in at Spotify.", AuthData { signed_in: true, url: None }))
    }
}

/// A thing at Spotify.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SpotifyItem {
    id: String,
    name: String,
    artists: Vec<String>,
    album: String,
    url: String,
    uri: String,
}

fn show_item(item: &SpotifyItem, listing: &mut Listing) {
    let by = if item.artists.is_empty() { String::new() } else { format!(" by {}", item.artists.join(", ")) };
    listing.entry(&format!("{}{by} (id {})", item.name, item.id));
    listing.fact("album", &item.album);
    listing.fact("url", &item.url);
}

/// The same in the words of the service.
#[derive(Debug, Deserialize)]
struct ApiItem {
    id: String,
    name: String,
    #[serde(default)]
    uri: String,
    #[serde(default)]
    artists: Vec<ApiName>,
    #[serde(default)]
    album: Option<ApiName>,
    #[serde(default)]
    external_urls: ApiUrls,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiName {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiUrls {
    spotify: String,
}

impl From<ApiItem> for SpotifyItem {
    fn from(item: ApiItem) -> Self {
        SpotifyItem {
            id: item.id,
            name: item.name,
            artists: item.artists.into_iter().map(|artist| artist.name).collect(),
            album: item.album.map(|album| album.name).unwrap_or_default(),
            url: item.external_urls.spotify,
            uri: item.uri,
        }
    }
}

/// Answer of a search: the list of the kind that was asked for.
#[derive(Debug, Deserialize)]
struct SearchAnswer {
    #[serde(alias = "artists", alias = "albums", alias = "playlists")]
    tracks: ItemPage,
}

#[derive(Debug, Deserialize)]
struct ItemPage {
    /// Playlists that the service hides are null.
    items: Vec<Option<ApiItem>>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SpotifyKind {
    #[default]
    Track,
    Artist,
    Album,
    Playlist,
}

impl SpotifyKind {
    fn word(self) -> &'static str {
        match self {
            SpotifyKind::Track => "track",
            SpotifyKind::Artist => "artist",
            SpotifyKind::Album => "album",
            SpotifyKind::Playlist => "playlist",
        }
    }
}

fn search(query: &str, kind: SpotifyKind, most: usize, context: &ToolContext) -> Result<Request, ToolError> {
    let limit = most.to_string();
    let query = [("q", query), ("type", kind.word()), ("limit", &limit)];
    Ok(Request::new(Service::Spotify, &["v1", "search"], &query, context)?)
}

pub(super) struct SpotifySearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    query: String,
    #[serde(default)]
    search_type: SpotifyKind,
    /// Results at most, 1 to 50.
    #[serde(default = "crate::schema::count::<10>")]
    max_results: usize,
}

#[async_trait]
impl ServiceTool for SpotifySearch {
    type Input = SearchInput;
    type Item = SpotifyItem;
    const NAME: &'static str = "spotify_search";
    const DESCRIPTION: &'static str = "Search tracks, artists, albums or playlists on Spotify.";
    const EXAMPLE: &'static str =
        r#"{"query": "feeling good nina simone", "search_type": "track", "max_results": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("type", "search_type"), ("limit", "max_results")];
    const NOUN: &'static str = "result";

    fn requests(input: &SearchInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        tokens(context)?;
        let query = words(&input.query, Self::NAME, "query")?;
        Ok(vec![search(query, input.search_type, input.max_results.clamp(1, 50), context)?])
    }

    async fn find(input: SearchInput, context: &ToolContext) -> Result<Findings<SpotifyItem>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0).with_token(access_token(context).await?);
        let reply = request.ask::<SearchAnswer>(context).await?;
        let items = reply.data.tracks.items.into_iter().flatten().map(SpotifyItem::from).collect();
        Ok(Findings::new(&request, reply.age, items))
    }

    fn show(item: &SpotifyItem, listing: &mut Listing) {
        show_item(item, listing);
    }
}

pub(super) struct SpotifyCreatePlaylist;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaylistInput {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    public: bool,
}

#[derive(Debug, Serialize)]
struct PlaylistBody<'a> {
    name: &'a str,
    description: &'a str,
    public: bool,
}

#[derive(Debug, Deserialize)]
struct Account {
    id: String,
}

#[async_trait]
impl ServiceTool for SpotifyCreatePlaylist {
    type Input = PlaylistInput;
    type Item = SpotifyItem;
    const NAME: &'static str = "spotify_create_playlist";
    const DESCRIPTION: &'static str =
        "Create a playlist in the person's Spotify account; private unless public is true.";
    const EXAMPLE: &'static str = r#"{"name": "Sunday morning", "description": "Calm", "public": false}"#;
    const TOUCHES: Touches = Touches { stores: true, ..Touches::NETWORK };
    const NOUN: &'static str = "playlist";

    fn requests(input: &PlaylistInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        tokens(context)?;
        words(&input.name, Self::NAME, "name")?;
        Ok(vec![Request::new(Service::Spotify, &["v1", "me"], &[], context)?])
    }

    fn tells(_input: &PlaylistInput) -> Option<&'static str> {
        Some(WHAT_YOU_HEAR)
    }

    async fn find(input: PlaylistInput, context: &ToolContext) -> Result<Findings<SpotifyItem>, ToolError> {
        let token = access_token(context).await?;
        let account = Self::requests(&input, context)?.remove(0).with_token(token.clone());
        let account = account.ask::<Account>(context).await?.data;
        let body = PlaylistBody {
            name: input.name.trim(),
            description: input.description.trim(),
            public: input.public,
        };
        let segments = ["v1", "users", &account.id, "playlists"];
        let request =
            Request::new(Service::Spotify, &segments, &[], context)?.with_token(token).post_json(&body)?;
        let reply = request.ask::<ApiItem>(context).await?;
        Ok(Findings::one(&request, reply.age, reply.data.into()))
    }

    fn show(item: &SpotifyItem, listing: &mut Listing) {
        show_item(item, listing);
    }
}

pub(super) struct SpotifyAddTracks;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TracksInput {
    /// The id that spotify_create_playlist gave.
    playlist_id: String,
    /// What to look for, one entry per track, such as "feeling good nina simone".
    track_queries: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TracksBody<'a> {
    uris: Vec<&'a str>,
}

#[derive(Debug, Deserialize)]
struct SnapshotAnswer {
    #[serde(rename = "snapshot_id")]
    _snapshot_id: String,
}

impl TracksInput {
    fn playlist(&self) -> Result<&str, ToolError> {
        let id = self.playlist_id.trim();
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(needs(
                SpotifyAddTracks::NAME,
                "playlist_id",
                "the id of a playlist, letters and digits",
            ));
        }
        Ok(id)
    }
}

#[async_trait]
impl ServiceTool for SpotifyAddTracks {
    type Input = TracksInput;
    type Item = SpotifyItem;
    const NAME: &'static str = "spotify_add_tracks";
    const DESCRIPTION: &'static str = "Find tracks on Spotify and add them to one of the person's playlists.";
    const EXAMPLE: &'static str =
        r#"{"playlist_id": "3cEYpjA9oz9GiPac4AsH4n", "track_queries": ["feeling good nina simone"]}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("tracks", "track_queries"), ("id", "playlist_id")];
    const TOUCHES: Touches = Touches { stores: true, ..Touches::NETWORK };
    const NOUN: &'static str = "track";

    fn requests(input: &TracksInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        tokens(context)?;
        let count = input.track_queries.iter().filter(|query| !query.trim().is_empty()).count();
        if count == 0 || count > MAX_TRACKS {
            return Err(needs(Self::NAME, "track_queries", &format!("1 to {MAX_TRACKS} tracks")));
        }
        let segments = ["v1", "playlists", input.playlist()?, "tracks"];
        Ok(vec![Request::new(Service::Spotify, &segments, &[], context)?])
    }

    fn tells(_input: &TracksInput) -> Option<&'static str> {
        Some(WHAT_YOU_HEAR)
    }

    async fn find(input: TracksInput, context: &ToolContext) -> Result<Findings<SpotifyItem>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let token = access_token(context).await?;
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for query in input.track_queries.iter().map(|query| query.trim()).filter(|query| !query.is_empty()) {
            let search = search(query, SpotifyKind::Track, 1, context)?.with_token(token.clone());
            let page = search.ask::<SearchAnswer>(context).await?.data.tracks;
            match page.items.into_iter().flatten().next() {
                Some(item) => found.push(SpotifyItem::from(item)),
                None => missing.push(truncate::line(query, 60)),
            }
        }
        if found.is_empty() {
            let failure = Failure::NotFound;
            return Err(request.failed(failure, "none of the tracks was found; try other words").into());
        }
        let body = TracksBody { uris: found.iter().map(|item| item.uri.as_str()).collect() };
        let request = request.with_token(token).post_json(&body)?;
        request.ask::<SnapshotAnswer>(context).await?;
        let note = (!missing.is_empty()).then(|| format!("not found: {}", missing.join("; ")));
        Ok(Findings { note, ..Findings::new(&request, None, found) })
    }

    fn show(item: &SpotifyItem, listing: &mut Listing) {
        show_item(item, listing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_taken_from_the_address_of_its_own_sign_in() {
        assert_eq!(code_of("AQD-plain", "s1").unwrap(), "AQD-plain");
        assert_eq!(code_of("http://127.0.0.1:8888/callback?code=AQ%2B1&state=s1", "s1").unwrap(), "AQ+1");
        for wrong in ["http://127.0.0.1/callback?code=A&state=s2", "http://127.0.0.1/callback?code=A"] {
            code_of(wrong, "s1").expect_err(wrong);
        }
        let refused = code_of("http://127.0.0.1/callback?error=access_denied&state=s1", "s1").unwrap_err();
        assert!(refused.to_string().contains("access_denied"));
    }
}
