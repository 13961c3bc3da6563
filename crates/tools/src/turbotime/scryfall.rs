//! Magic cards, from the local card pool, else from Scryfall.

use super::service::{FOREIGN, address, ask, asks, refused, text, understood};
use crate::context::ToolContext;
use crate::result::{FROM_WEB, Output, ToolError};
use crate::service::Cache;
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use marvin_mtg::cards::{CardFacts, Pool};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) const NAME: &str = "scryfall.lookup";
const MAX_AGE_SECONDS: i64 = 24 * 3_600;

#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupInput {
    /// The name, roughly.
    #[serde(default)]
    name: Option<String>,
    /// The id that Scryfall gives it.
    #[serde(default)]
    id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CardData {
    /// The service that answered.
    provider: String,
    /// Whether the reply was cached: hit or miss; pool for a card of the local pool.
    cache: String,
    card: Value,
}

/// Fields of a card that the local pool has, named as Scryfall names them.
#[derive(Debug, Serialize)]
struct LocalCard<'a> {
    name: &'a str,
    mana_cost: &'a str,
    type_line: &'a str,
    oracle_text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toughness: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loyalty: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<&'a str>,
}

/// The card with exactly this name, from the imported pack or the shipped pool.
fn find_local(name: Option<&str>, context: &ToolContext) -> Option<CardFacts> {
    let name = name.map(str::trim).filter(|name| !name.is_empty())?;
    let imported = std::fs::read(context.layout.card_pack()).ok().and_then(|bytes| Pool::read(&bytes).ok());
    let shipped = || Pool::shipped().ok().and_then(|pool| pool.find(name).cloned());
    imported.and_then(|pool| pool.find(name).cloned()).or_else(shipped)
}

fn describe_local(facts: &CardFacts) -> Result<Output<CardData>, ToolError> {
    let card = serde_json::to_value(LocalCard {
        name: &facts.name,
        mana_cost: &facts.mana_cost,
        type_line: &facts.type_line,
        oracle_text: &facts.oracle_text,
        power: facts.power.as_deref(),
        toughness: facts.toughness.as_deref(),
        loyalty: facts.loyalty.as_deref(),
        sets: facts.set_codes().collect(),
    })
    .map_err(|error| ToolError::Failed(format!("cannot show the card: {error}")))?;
    let numbers = match (&facts.power, &facts.toughness) {
        (Some(power), Some(toughness)) => format!(" {power}/{toughness}"),
        _ => String::new(),
    };
    let (name, cost, types) = (&facts.name, &facts.mana_cost, &facts.type_line);
    let shown = format!("{name} {cost}\n{types}{numbers}\n{}\n", facts.oracle_text);
    let data = CardData { provider: "local".into(), cache: "pool".into(), card };
    Ok(Output::new(format!("the card {name}"), shown, data))
}

impl LookupInput {
    fn url(&self, context: &ToolContext) -> Result<Url, ToolError> {
        let given = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_string)
        };
        match (given(&self.name), given(&self.id)) {
            (Some(name), None) => address(Service::Scryfall, "/cards/named", &[("fuzzy", &name)], context),
            (None, Some(id)) if id.chars().all(|char| char.is_ascii_alphanumeric() || char == '-') => {
                address(Service::Scryfall, &format!("/cards/{id}"), &[], context)
            }
            (None, Some(_)) => {
                Err(ToolError::Usage("`id` is the id of a card: letters, digits and dashes.".into()))
            }
            _ => Err(ToolError::Usage(format!("{NAME} needs either `name` or `id`."))),
        }
    }
}

#[async_trait]
impl Tool for Lookup {
    type Input = LookupInput;
    type Data = CardData;
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str =
        "Look a Magic: The Gathering card up by its name (roughly) or id: cost, type, rules text, legality.";
    const EXAMPLE: &'static str = r#"{"name": "lightning bolt"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("card", "name"), ("query", "name")];
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &LookupInput, context: &ToolContext) -> Vec<Intent> {
        // What the local pool knows needs no request.
        if input.id.is_none() && find_local(input.name.as_deref(), context).is_some() {
            return Vec::new();
        }
        asks(input.url(context), Service::Scryfall)
    }

    async fn call(&self, input: LookupInput, context: &ToolContext) -> Result<Output<CardData>, ToolError> {
        if input.id.is_none()
            && let Some(facts) = find_local(input.name.as_deref(), context)
        {
            return describe_local(&facts);
        }
        let url = input.url(context)?;
        let cache = Cache::new(context.layout.tools_cache().join("scryfall"), MAX_AGE_SECONDS);
        if let Some(card) = cache.get::<Value>(url.as_str()) {
            return Ok(describe(card, "hit"));
        }
        let page = ask(&url, Service::Scryfall, context).await?;
        if page.status == 404 {
            let why = understood("Scryfall", &page.bytes).ok().and_then(|body| text(&body, "details", 300));
            let why = why.unwrap_or_else(|| "the name or id is unknown".into());
            return Err(ToolError::Failed(format!("no card: {why}")));
        }
        if page.error.is_some() {
            return Err(refused("Scryfall", &page));
        }
        let card = card(&understood("Scryfall", &page.bytes)?)?;
        cache.put(url.as_str(), &card);
        Ok(describe(card, "miss"))
    }
}

/// The fields of a card that are shown.
fn card(body: &Value) -> Result<Value, ToolError> {
    if body.get("object").and_then(Value::as_str) != Some("card") || text(body, "name", 200).is_none() {
        return Err(ToolError::Failed("Scryfall did not answer with a card; try later".into()));
    }
    let mut card = Map::new();
    for key in [
        "id",
        "name",
        "mana_cost",
        "type_line",
        "oracle_text",
        "power",
        "toughness",
        "loyalty",
        "set_name",
        "rarity",
        "released_at",
        "scryfall_uri",
    ] {
        if let Some(text) = text(body, key, 2_000) {
            card.insert(key.into(), text.into());
        }
    }
    for key in ["colors", "color_identity", "keywords", "legalities", "prices"] {
        if let Some(value) = body.get(key) {
            card.insert(key.into(), truncate::value(value, 200, 30, 2));
        }
    }
    // Cards with two faces have these fields for each face.
    let faces: Vec<Value> = body
        .get("card_faces")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(4)
        .map(|face| {
            let keys = ["name", "mana_cost", "type_line", "oracle_text", "power", "toughness"];
            keys.iter()
                .filter_map(|key| Some(((*key).to_string(), Value::from(text(face, key, 2_000)?))))
                .collect()
        })
        .collect();
    if !faces.is_empty() {
        card.insert("card_faces".into(), faces.into());
    }
    Ok(Value::Object(card))
}

fn describe(card: Value, cache: &str) -> Output<CardData> {
    let line = |value: &Value, key: &str| text(value, key, 2_000).unwrap_or_default();
    let face = |value: &Value| {
        let strength = match (text(value, "power", 20), text(value, "toughness", 20)) {
            (Some(power), Some(toughness)) => format!(" {power}/{toughness}"),
            _ => String::new(),
        };
        format!(
            "{} {}\n{}{strength}\n{}\n",
            line(value, "name"),
            line(value, "mana_cost"),
            line(value, "type_line"),
            line(value, "oracle_text")
        )
    };
    let mut shown = format!("{FOREIGN}\n");
    match card.get("card_faces").and_then(Value::as_array) {
        Some(faces) => faces.iter().for_each(|one| shown.push_str(&face(one))),
        None => shown.push_str(&face(&card)),
    }
    let legal = card.get("legalities").and_then(Value::as_object);
    let legal: Vec<&str> = legal
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.as_str() == Some("legal"))
        .map(|(name, _)| name.as_str())
        .collect();
    if !legal.is_empty() {
        shown.push_str(&format!("Legal in: {}\n", legal.join(", ")));
    }
    shown.push_str(&format!(
        "{} ({})\n{}\n",
        line(&card, "set_name"),
        line(&card, "rarity"),
        line(&card, "scryfall_uri")
    ));
    let summary = format!("the card {}", line(&card, "name"));
    let data = CardData { provider: "scryfall".into(), cache: cache.into(), card };
    Output { source: FROM_WEB, ..Output::new(summary, shown, data) }
}
