//! Games, from the Steam store.

use super::service::{FOREIGN, address, ask, asks, refused, text, understood};
use crate::context::ToolContext;
use crate::result::{FROM_WEB, Output, ToolError};
use crate::service::Cache;
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) const NAME: &str = "steam.game_lookup";
const MAX_AGE_SECONDS: i64 = 24 * 3_600;
/// Games whose details are requested after a search.
const MAX_DETAIL_REQUESTS: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct GameLookup;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GameInput {
    /// Its number in the store.
    #[serde(default)]
    app_id: Option<u64>,
    /// Its name, roughly.
    #[serde(default)]
    name: Option<String>,
    /// Words to look for; the same as `name`.
    #[serde(default)]
    query: Option<String>,
    /// Games at most, 1 to 10.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// The country whose prices count.
    #[serde(default = "us")]
    cc: String,
    /// The language.
    #[serde(default = "english")]
    lang: String,
    /// Whether the details of the first finds are wanted too.
    #[serde(default)]
    include_details: bool,
}

fn us() -> String {
    "US".into()
}

fn english() -> String {
    "english".into()
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GameData {
    /// The service that answered.
    provider: String,
    /// Whether the reply was cached: hit or miss.
    cache: String,
    /// The games, best first.
    games: Vec<Value>,
}

impl GameInput {
    fn words(&self) -> Option<&str> {
        let given =
            |text: &'_ Option<String>| text.as_deref().map(str::trim).is_some_and(|text| !text.is_empty());
        let words = if given(&self.name) { &self.name } else { &self.query };
        words.as_deref().map(str::trim).filter(|words| !words.is_empty())
    }

    fn url(&self, context: &ToolContext) -> Result<Url, ToolError> {
        match (self.app_id, self.words()) {
            (Some(id), None) => self.details(id, context),
            (None, Some(words)) => {
                let query = [("term", words), ("cc", self.cc.as_str()), ("l", self.lang.as_str())];
                address(Service::Steam, "/api/storesearch/", &query, context)
            }
            _ => Err(ToolError::Usage(format!("{NAME} needs either `app_id` or `name`."))),
        }
    }

    fn details(&self, id: u64, context: &ToolContext) -> Result<Url, ToolError> {
        let id = id.to_string();
        let query = [("appids", id.as_str()), ("cc", self.cc.as_str()), ("l", self.lang.as_str())];
        address(Service::Steam, "/api/appdetails", &query, context)
    }
}

#[async_trait]
impl Tool for GameLookup {
    type Input = GameInput;
    type Data = GameData;
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str =
        "Look a game up in the Steam store by its name or app id: price, release, makers, genres.";
    const EXAMPLE: &'static str = r#"{"name": "portal 2", "max_results": 3, "include_details": true}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("appid", "app_id"), ("limit", "max_results")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &GameInput, context: &ToolContext) -> Vec<Intent> {
        asks(input.url(context), Service::Steam)
    }

    async fn call(&self, input: GameInput, context: &ToolContext) -> Result<Output<GameData>, ToolError> {
        let cache = Cache::new(context.layout.tools_cache().join("steam"), MAX_AGE_SECONDS);
        let mut kept = true;
        let mut games = match (input.app_id, input.words()) {
            (Some(id), None) => match details(&input, id, &cache, &mut kept, context).await? {
                Some(game) => vec![game],
                None => return Err(ToolError::Failed(format!("the store has no game {id}"))),
            },
            _ => {
                let body = body(&input.url(context)?, &cache, &mut kept, context).await?;
                found(&body, input.max_results.clamp(1, 10))?
            }
        };
        if input.include_details && input.app_id.is_none() {
            for game in games.iter_mut().take(MAX_DETAIL_REQUESTS) {
                let Some(id) = game.get("app_id").and_then(Value::as_u64) else { continue };
                if let Some(whole) = details(&input, id, &cache, &mut kept, context).await? {
                    *game = whole;
                }
            }
        }
        Ok(describe(games, if kept { "hit" } else { "miss" }))
    }
}

/// A reply of the store, from the cache or requested.
async fn body(url: &Url, cache: &Cache, kept: &mut bool, context: &ToolContext) -> Result<Value, ToolError> {
    if let Some(body) = cache.get(url.as_str()) {
        return Ok(body);
    }
    *kept = false;
    let page = ask(url, Service::Steam, context).await?;
    if page.error.is_some() {
        return Err(refused("Steam", &page));
    }
    let body = understood("Steam", &page.bytes)?;
    cache.put(url.as_str(), &truncate::value(&body, 4_000, 60, 8));
    Ok(body)
}

fn found(body: &Value, most: usize) -> Result<Vec<Value>, ToolError> {
    let items = body
        .get("items")
        .and_then(Value::as_array)
        .ok_or_else(|| ToolError::Failed("Steam did not answer with a list of games; try later".into()))?;
    let game = |item: &Value| {
        let price = item.get("price").and_then(|price| {
            let cents = price.get("final")?.as_f64()?;
            Some(format!("{:.2} {}", cents / 100.0, text(price, "currency", 10)?))
        });
        let fields: [(&str, Value); 5] = [
            ("app_id", item.get("id")?.as_u64()?.into()),
            ("name", text(item, "name", 200)?.into()),
            ("price", price.into()),
            ("metascore", text(item, "metascore", 10).into()),
            ("platforms", truncate::value(item.get("platforms")?, 20, 6, 1)),
        ];
        Some(fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
    };
    Ok(items.iter().filter_map(game).take(most).collect())
}

/// The details of one game; none when the store has no such game.
async fn details(
    input: &GameInput,
    id: u64,
    cache: &Cache,
    kept: &mut bool,
    context: &ToolContext,
) -> Result<Option<Value>, ToolError> {
    let body = body(&input.details(id, context)?, cache, kept, context).await?;
    let entry = body
        .get(id.to_string())
        .ok_or_else(|| ToolError::Failed("Steam did not answer with a game; try later".into()))?;
    let Some(data) =
        entry.get("data").filter(|_| entry.get("success").and_then(Value::as_bool) == Some(true))
    else {
        return Ok(None);
    };
    let mut game = Map::from_iter([("app_id".to_string(), Value::from(id))]);
    for (key, longest) in [("name", 200), ("type", 40), ("short_description", 600), ("website", 200)] {
        if let Some(text) = text(data, key, longest) {
            game.insert(key.into(), text.into());
        }
    }
    for key in ["developers", "publishers", "platforms"] {
        if let Some(value) = data.get(key) {
            game.insert(key.into(), truncate::value(value, 100, 10, 1));
        }
    }
    let names = |key: &str| -> Vec<String> {
        let list = data.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|one| text(one, "description", 60)).take(10).collect()
    };
    let inner = |key: &str, field: &str| data.get(key).and_then(|value| value.get(field)).cloned();
    let free = data.get("is_free").and_then(Value::as_bool) == Some(true);
    let price = inner("price_overview", "final_formatted").or(free.then(|| "free".into()));
    for (key, value) in [
        ("genres", Some(names("genres").into())),
        ("price", price),
        ("released", inner("release_date", "date")),
        ("metascore", inner("metacritic", "score")),
    ] {
        if let Some(value) = value {
            game.insert(key.into(), truncate::value(&value, 100, 10, 2));
        }
    }
    Ok(Some(Value::Object(game)))
}

fn describe(games: Vec<Value>, cache: &str) -> Output<GameData> {
    let mut shown = format!("{FOREIGN}\n");
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    for game in &games {
        let name = text(game, "name", 200).unwrap_or_default();
        let id = game.get("app_id").map(plain).unwrap_or_default();
        shown.push_str(&format!("{name} (app {id})\n"));
        for key in ["price", "released", "metascore", "genres", "developers", "short_description"] {
            if let Some(value) = game.get(key).filter(|value| !value.is_null()) {
                shown.push_str(&format!("  {}: {}\n", key.replace('_', " "), plain(value)));
            }
        }
    }
    if games.is_empty() {
        shown = "The store has nothing of that name. Try fewer or other words.".into();
    }
    let summary = format!("{} game(s)", games.len());
    let data = GameData { provider: "steam".into(), cache: cache.into(), games };
    Output { source: FROM_WEB, ..Output::new(summary, shown, data) }
}
