//! Steam: the store, and players by the Web API.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, plain, words};
use crate::tool::NoInput;
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Games of a player that are shown.
const MAX_OWNED: usize = 50;
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// What the services learn from a number of a player.
const WHAT_YOU_OWN: &str = "which account at Steam it is about, to learn what its owner has and plays";

/// A game of the store.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct StoreGame {
    app_id: u64,
    name: String,
    price: String,
    discount_percent: Option<u32>,
    released: String,
    metascore: Option<u32>,
    genres: Vec<String>,
    developers: Vec<String>,
    platforms: Vec<String>,
    description: String,
}

fn show_game(game: &StoreGame, listing: &mut Listing) {
    listing.entry(&format!("{} (app_id {})", game.name, game.app_id));
    listing.fact("price", &game.price);
    listing.number("discount", game.discount_percent.filter(|it| *it > 0), " %");
    listing.fact("released", &game.released);
    listing.number("metascore", game.metascore, "");
    listing.fact("genres", &game.genres.join(", "));
    listing.fact("developers", &game.developers.join(", "));
    listing.fact("platforms", &game.platforms.join(", "));
    listing.fact("description", &game.description);
}

/// An amount in hundredths.
fn price(cents: u64, currency: &str) -> String {
    format!("{}.{:02} {currency}", cents / 100, cents % 100)
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Platforms {
    windows: bool,
    mac: bool,
    linux: bool,
}

impl Platforms {
    fn names(self) -> Vec<String> {
        let all = [(self.windows, "Windows"), (self.mac, "macOS"), (self.linux, "Linux")];
        all.iter().filter(|(has, _)| *has).map(|(_, name)| (*name).to_string()).collect()
    }
}

pub(super) struct SteamSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    query: String,
    /// Results at most, 1 to 25.
    #[serde(default = "crate::schema::count::<10>")]
    max_results: usize,
}

#[derive(Debug, Deserialize)]
struct StoreList {
    items: Vec<StoreItem>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoreItem {
    id: u64,
    name: String,
    price: Option<StorePrice>,
    metascore: String,
    platforms: Platforms,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StorePrice {
    currency: String,
    #[serde(rename = "final")]
    final_cents: u64,
}

#[async_trait]
impl ServiceTool for SteamSearch {
    type Input = SearchInput;
    type Item = StoreGame;
    const NAME: &'static str = "steam_search";
    const DESCRIPTION: &'static str = "Search the Steam store for games, with prices.";
    const EXAMPLE: &'static str = r#"{"query": "portal", "max_results": 10}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("name", "query"), ("limit", "max_results")];
    const NOUN: &'static str = "game";

    fn requests(input: &SearchInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = [("term", words(&input.query, Self::NAME, "query")?), ("l", "english"), ("cc", "US")];
        Ok(vec![Request::new(Service::Steam, &["api", "storesearch", ""], &query, context)?])
    }

    async fn find(input: SearchInput, context: &ToolContext) -> Result<Findings<StoreGame>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<StoreList>(context).await?;
        let game = |item: StoreItem| StoreGame {
            app_id: item.id,
            name: item.name,
            price: item.price.map(|it| price(it.final_cents, &it.currency)).unwrap_or_default(),
            metascore: item.metascore.parse().ok(),
            platforms: item.platforms.names(),
            ..StoreGame::default()
        };
        let most = input.max_results.clamp(1, 25);
        Ok(Findings::new(&request, reply.age, reply.data.items.into_iter().take(most).map(game).collect()))
    }

    fn show(item: &StoreGame, listing: &mut Listing) {
        show_game(item, listing);
    }
}

pub(super) struct SteamAppDetails;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AppInput {
    /// The number of the game in the store.
    app_id: u64,
}

#[derive(Debug, Deserialize)]
struct AppAnswer {
    success: bool,
    data: Option<AppData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AppData {
    name: String,
    short_description: String,
    is_free: bool,
    price_overview: Option<PriceOverview>,
    release_date: ReleaseDate,
    metacritic: Option<Metacritic>,
    genres: Vec<Genre>,
    developers: Vec<String>,
    platforms: Platforms,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PriceOverview {
    final_formatted: String,
    discount_percent: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReleaseDate {
    date: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metacritic {
    score: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Genre {
    description: String,
}

#[async_trait]
impl ServiceTool for SteamAppDetails {
    type Input = AppInput;
    type Item = StoreGame;
    const NAME: &'static str = "steam_app_details";
    const DESCRIPTION: &'static str = "Details of a game in the Steam store by its app_id.";
    const EXAMPLE: &'static str = r#"{"app_id": 620}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("appid", "app_id"), ("id", "app_id")];
    const NOUN: &'static str = "game";

    fn requests(input: &AppInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let id = input.app_id.to_string();
        let query = [("appids", id.as_str()), ("l", "english"), ("cc", "US")];
        Ok(vec![Request::new(Service::Steam, &["api", "appdetails"], &query, context)?])
    }

    async fn find(input: AppInput, context: &ToolContext) -> Result<Findings<StoreGame>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let mut reply = request.ask::<BTreeMap<String, AppAnswer>>(context).await?;
        let answer = reply.data.remove(&input.app_id.to_string());
        let data = answer.filter(|answer| answer.success).and_then(|answer| answer.data);
        let data = data.ok_or_else(|| {
            ToolError::Failed(format!(
                "the store has no game {}\n  hint: steam_search finds app_ids",
                input.app_id
            ))
        })?;
        let discount_percent = data.price_overview.as_ref().map(|price| price.discount_percent);
        let price = data.price_overview.map(|price| price.final_formatted);
        let game = StoreGame {
            app_id: input.app_id,
            name: data.name,
            price: price.unwrap_or_else(|| if data.is_free { "free".into() } else { String::new() }),
            discount_percent,
            released: data.release_date.date,
            metascore: data.metacritic.map(|it| it.score),
            genres: data.genres.into_iter().map(|genre| genre.description).take(10).collect(),
            developers: data.developers.into_iter().take(10).collect(),
            platforms: data.platforms.names(),
            description: truncate::head(&plain(&data.short_description), MAX_DESCRIPTION_CHARS),
        };
        Ok(Findings::one(&request, reply.age, game))
    }

    fn show(item: &StoreGame, listing: &mut Listing) {
        show_game(item, listing);
    }
}

pub(super) struct SteamFeatured;

#[derive(Debug, Deserialize)]
struct FeaturedAnswer {
    #[serde(default)]
    large_capsules: Vec<FeaturedGame>,
    featured_win: Vec<FeaturedGame>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FeaturedGame {
    id: u64,
    name: String,
    final_price: u64,
    currency: String,
    discount_percent: u32,
}

#[async_trait]
impl ServiceTool for SteamFeatured {
    type Input = NoInput;
    type Item = StoreGame;
    const NAME: &'static str = "steam_featured";
    const DESCRIPTION: &'static str = "Games that the Steam store features now, with discounts.";
    const EXAMPLE: &'static str = "{}";
    const NOUN: &'static str = "game";

    fn requests(_input: &NoInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = [("l", "english"), ("cc", "US")];
        Ok(vec![Request::new(Service::Steam, &["api", "featured"], &query, context)?])
    }

    async fn find(input: NoInput, context: &ToolContext) -> Result<Findings<StoreGame>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<FeaturedAnswer>(context).await?;
        let mut games: Vec<StoreGame> = Vec::new();
        for item in reply.data.large_capsules.into_iter().chain(reply.data.featured_win) {
            if games.iter().all(|game| game.app_id != item.id) && games.len() < 20 {
                games.push(StoreGame {
                    app_id: item.id,
                    name: item.name,
                    price: price(item.final_price, &item.currency),
                    discount_percent: Some(item.discount_percent),
                    ..StoreGame::default()
                });
            }
        }
        Ok(Findings::new(&request, reply.age, games))
    }

    fn show(item: &StoreGame, listing: &mut Listing) {
        show_game(item, listing);
    }
}

/// Answer of the Web API.
#[derive(Debug, Deserialize)]
struct ApiAnswer<T> {
    response: T,
}

fn api(segments: &[&str], query: &[(&str, &str)], context: &ToolContext) -> Result<Vec<Request>, ToolError> {
    Ok(vec![Request::new(Service::SteamApi, segments, query, context)?])
}

pub(super) struct SteamPlayerStats;

#[derive(Debug, Deserialize)]
struct PlayerCount {
    #[serde(default)]
    player_count: Option<u64>,
    result: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Players {
    app_id: u64,
    /// Players at this moment.
    players: u64,
}

#[async_trait]
impl ServiceTool for SteamPlayerStats {
    type Input = AppInput;
    type Item = Players;
    const NAME: &'static str = "steam_player_stats";
    const DESCRIPTION: &'static str = "How many people play a game on Steam now.";
    const EXAMPLE: &'static str = r#"{"app_id": 620}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("appid", "app_id"), ("id", "app_id")];
    const NOUN: &'static str = "figure";

    fn requests(input: &AppInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let id = input.app_id.to_string();
        api(&["ISteamUserStats", "GetNumberOfCurrentPlayers", "v1", ""], &[("appid", &id)], context)
    }

    async fn find(input: AppInput, context: &ToolContext) -> Result<Findings<Players>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<ApiAnswer<PlayerCount>>(context).await?;
        let count = reply.data.response;
        let players = count.player_count.filter(|_| count.result == 1);
        let players =
            players.ok_or_else(|| ToolError::Failed(format!("Steam has no game {}", input.app_id)))?;
        Ok(Findings::one(&request, reply.age, Players { app_id: input.app_id, players }))
    }

    fn show(item: &Players, listing: &mut Listing) {
        listing.entry(&format!("{} people play {} now", item.players, item.app_id));
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlayerInput {
    /// The number of the account, 17 digits.
    steam_id: String,
}

impl PlayerInput {
    fn id(&self) -> Result<&str, ToolError> {
        let id = self.steam_id.trim();
        if id.len() == 17 && id.chars().all(|c| c.is_ascii_digit()) {
            return Ok(id);
        }
        Err(ToolError::Usage(
            "`steam_id` is the number of an account, 17 digits such as 76561197960435530.".into(),
        ))
    }
}

pub(super) struct SteamUserGames;

#[derive(Debug, Deserialize)]
struct OwnedGames {
    /// Absent where the profile is private.
    games: Option<Vec<OwnedGame>>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct OwnedGame {
    appid: u64,
    name: String,
    /// Minutes in all.
    playtime_forever: u64,
    /// Minutes in the last two weeks.
    playtime_2weeks: u64,
}

/// Minutes as hours, rounded to a tenth.
fn hours(minutes: u64) -> String {
    let tenths = minutes.saturating_add(3) / 6;
    format!("{}.{} h", tenths / 10, tenths % 10)
}

#[async_trait]
impl ServiceTool for SteamUserGames {
    type Input = PlayerInput;
    type Item = OwnedGame;
    const NAME: &'static str = "steam_user_games";
    const DESCRIPTION: &'static str = "Games that a Steam account owns, most played first.";
    const EXAMPLE: &'static str = r#"{"steam_id": "76561197960435530"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("steamid", "steam_id"), ("id", "steam_id")];
    const NOUN: &'static str = "game";

    fn requests(input: &PlayerInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = [
            ("steamid", input.id()?),
            ("include_appinfo", "1"),
            ("include_played_free_games", "1"),
            ("format", "json"),
        ];
        api(&["IPlayerService", "GetOwnedGames", "v1", ""], &query, context)
    }

    fn tells(_input: &PlayerInput) -> Option<&'static str> {
        Some(WHAT_YOU_OWN)
    }

    async fn find(input: PlayerInput, context: &ToolContext) -> Result<Findings<OwnedGame>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<ApiAnswer<OwnedGames>>(context).await?;
        let mut games = reply.data.response.games.ok_or_else(|| {
            ToolError::Failed("the games of this account are private, or the account does not exist".into())
        })?;
        games.sort_by_key(|game| std::cmp::Reverse(game.playtime_forever));
        let count = games.len();
        games.truncate(MAX_OWNED);
        let note = (count > MAX_OWNED).then(|| format!("{} further games are left out", count - MAX_OWNED));
        Ok(Findings { note, ..Findings::new(&request, reply.age, games) })
    }

    fn show(item: &OwnedGame, listing: &mut Listing) {
        listing.entry(&format!("{} (app_id {}): {}", item.name, item.appid, hours(item.playtime_forever)));
        if item.playtime_2weeks > 0 {
            listing.fact("last two weeks", &hours(item.playtime_2weeks));
        }
    }
}

pub(super) struct SteamUserSummary;

#[derive(Debug, Deserialize)]
struct PlayerList {
    players: Vec<ApiPlayer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiPlayer {
    steamid: String,
    personaname: String,
    profileurl: String,
    personastate: u8,
    gameextrainfo: String,
    timecreated: Option<i64>,
    loccountrycode: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Player {
    steam_id: String,
    name: String,
    url: String,
    state: String,
    /// The game that is played now.
    playing: String,
    /// The day on which the account was made.
    created: String,
    country: String,
}

#[async_trait]
impl ServiceTool for SteamUserSummary {
    type Input = PlayerInput;
    type Item = Player;
    const NAME: &'static str = "steam_user_summary";
    const DESCRIPTION: &'static str = "Name, state and current game of a Steam account.";
    const EXAMPLE: &'static str = r#"{"steam_id": "76561197960435530"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("steamid", "steam_id"), ("id", "steam_id")];
    const NOUN: &'static str = "account";

    fn requests(input: &PlayerInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        api(&["ISteamUser", "GetPlayerSummaries", "v2", ""], &[("steamids", input.id()?)], context)
    }

    fn tells(_input: &PlayerInput) -> Option<&'static str> {
        Some(WHAT_YOU_OWN)
    }

    async fn find(input: PlayerInput, context: &ToolContext) -> Result<Findings<Player>, ToolError> {
        const STATES: [&str; 7] =
            ["offline", "online", "busy", "away", "snooze", "looking to trade", "looking to play"];
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<ApiAnswer<PlayerList>>(context).await?;
        let player = |player: ApiPlayer| Player {
            steam_id: player.steamid,
            name: player.personaname,
            url: player.profileurl,
            state: STATES.get(usize::from(player.personastate)).copied().unwrap_or("unknown").to_string(),
            playing: player.gameextrainfo,
            created: player
                .timecreated
                .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
                .map(|moment| moment.strftime("%Y-%m-%d").to_string())
                .unwrap_or_default(),
            country: player.loccountrycode,
        };
        let players = reply.data.response.players.into_iter().map(player).collect();
        Ok(Findings::new(&request, reply.age, players))
    }

    fn show(item: &Player, listing: &mut Listing) {
        listing.entry(&format!("{} ({}): {}", item.name, item.steam_id, item.state));
        listing.fact("playing", &item.playing);
        listing.fact("since", &item.created);
        listing.fact("country", &item.country);
        listing.fact("url", &item.url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_rounded() {
        for (minutes, expected) in
            [(0, "0.0 h"), (2, "0.0 h"), (125, "2.1 h"), (177, "3.0 h"), (630, "10.5 h")]
        {
            assert_eq!(hours(minutes), expected, "{minutes}");
        }
    }
}
