//! Games, from RAWG.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, words};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MAX_DESCRIPTION_CHARS: usize = 1_200;

#[derive(Debug, Deserialize)]
struct GameList {
    results: Vec<RawgGame>,
}

/// A game in the words of the service.
#[derive(Debug, Deserialize)]
struct RawgGame {
    id: u64,
    name: String,
    #[serde(default)]
    released: Option<String>,
    #[serde(default)]
    rating: Option<f64>,
    #[serde(default)]
    metacritic: Option<u32>,
    #[serde(default)]
    playtime: Option<u32>,
    #[serde(default)]
    genres: Vec<RawgName>,
    /// Null where none is known.
    #[serde(default)]
    platforms: Option<Vec<RawgPlatform>>,
    #[serde(default)]
    developers: Vec<RawgName>,
    #[serde(default)]
    publishers: Vec<RawgName>,
    #[serde(default)]
    website: Option<String>,
    #[serde(default)]
    description_raw: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawgName {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawgPlatform {
    platform: RawgName,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Game {
    game_id: u64,
    name: String,
    released: Option<String>,
    rating: Option<f64>,
    metacritic: Option<u32>,
    playtime_hours: Option<u32>,
    genres: Vec<String>,
    platforms: Vec<String>,
    developers: Vec<String>,
    publishers: Vec<String>,
    website: String,
    description: String,
}

fn names(list: Vec<RawgName>) -> Vec<String> {
    list.into_iter().map(|one| one.name).take(15).collect()
}

impl From<RawgGame> for Game {
    fn from(game: RawgGame) -> Self {
        let platforms = game.platforms.unwrap_or_default().into_iter().map(|one| one.platform).collect();
        Game {
            game_id: game.id,
            name: game.name,
            released: game.released,
            rating: game.rating.filter(|rating| *rating > 0.0),
            metacritic: game.metacritic,
            playtime_hours: game.playtime.filter(|hours| *hours > 0),
            genres: names(game.genres),
            platforms: names(platforms),
            developers: names(game.developers),
            publishers: names(game.publishers),
            website: game.website.unwrap_or_default(),
            description: truncate::head(&game.description_raw.unwrap_or_default(), MAX_DESCRIPTION_CHARS),
        }
    }
}

fn show_game(game: &Game, listing: &mut Listing) {
    listing.entry(&format!("{} (game_id {})", game.name, game.game_id));
    listing.fact("released", game.released.as_deref().unwrap_or_default());
    listing.number("rating", game.rating, " of 5");
    listing.number("metacritic", game.metacritic, "");
    listing.number("playtime", game.playtime_hours, " h");
    listing.fact("genres", &game.genres.join(", "));
    listing.fact("platforms", &game.platforms.join(", "));
    listing.fact("developers", &game.developers.join(", "));
    listing.fact("publishers", &game.publishers.join(", "));
    listing.fact("website", &game.website);
    listing.fact("description", &game.description);
}

pub(super) struct SearchGames;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GamesInput {
    query: String,
    /// Results at most, 1 to 40.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
}

#[async_trait]
impl ServiceTool for SearchGames {
    type Input = GamesInput;
    type Item = Game;
    const NAME: &'static str = "search_games";
    const DESCRIPTION: &'static str = "Search video games of all platforms by name.";
    const EXAMPLE: &'static str = r#"{"query": "hollow knight", "max_results": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("name", "query"), ("limit", "max_results")];
    const NOUN: &'static str = "game";

    fn requests(input: &GamesInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let limit = input.max_results.clamp(1, 40).to_string();
        let query = [("search", words(&input.query, Self::NAME, "query")?), ("page_size", &limit)];
        Ok(vec![Request::new(Service::Rawg, &["api", "games"], &query, context)?])
    }

    async fn find(input: GamesInput, context: &ToolContext) -> Result<Findings<Game>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<GameList>(context).await?;
        let most = input.max_results.clamp(1, 40);
        let games = reply.data.results.into_iter().take(most).map(Game::from).collect();
        Ok(Findings::new(&request, reply.age, games))
    }

    fn show(item: &Game, listing: &mut Listing) {
        show_game(item, listing);
    }
}

pub(super) struct GetGameDetails;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GameInput {
    /// The number that search_games gave.
    game_id: u64,
}

#[async_trait]
impl ServiceTool for GetGameDetails {
    type Input = GameInput;
    type Item = Game;
    const NAME: &'static str = "get_game_details";
    const DESCRIPTION: &'static str =
        "Details of a video game by its game_id: description, makers, platforms.";
    const EXAMPLE: &'static str = r#"{"game_id": 9767}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("id", "game_id")];
    const NOUN: &'static str = "game";

    fn requests(input: &GameInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let id = input.game_id.to_string();
        Ok(vec![Request::new(Service::Rawg, &["api", "games", &id], &[], context)?])
    }

    async fn find(input: GameInput, context: &ToolContext) -> Result<Findings<Game>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<RawgGame>(context).await?;
        Ok(Findings::one(&request, reply.age, reply.data.into()))
    }

    fn show(item: &Game, listing: &mut Listing) {
        show_game(item, listing);
    }
}
