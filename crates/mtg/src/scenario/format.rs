//! JSON types of scenario files.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// File of scenarios. Unknown fields (sources, notes) are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct ScenarioFile {
    #[serde(deserialize_with = "read_scenarios")]
    pub scenarios: Vec<Scenario>,
}

/// Reads each scenario on its own: one that is malformed fails, and the others are run.
fn read_scenarios<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Scenario>, D::Error> {
    let values = Vec::<Value>::deserialize(input)?;
    Ok(values.into_iter().map(read_scenario).collect())
}

fn read_scenario(value: Value) -> Scenario {
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    Scenario::deserialize(value).unwrap_or_else(|error| Scenario {
        id,
        malformed: Some(error.to_string()),
        ..Scenario::default()
    })
}

/// Position, actions and expectations.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Scenario {
    #[serde(default)]
    pub id: String,
    /// Why it could not be read.
    #[serde(skip)]
    pub malformed: Option<String>,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub tier: String,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub actions: Vec<ScriptAction>,
    #[serde(default)]
    pub expect: Vec<Assertion>,
}

/// Starting position.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Setup {
    #[serde(default)]
    pub active: Option<String>,
    #[serde(default)]
    pub step: Option<String>,
    #[serde(default)]
    pub turn: Option<u32>,
    #[serde(default, rename = "A")]
    pub first: Side,
    #[serde(default, rename = "B")]
    pub second: Side,
}

/// Position of one player.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Side {
    #[serde(default)]
    pub life: Option<i32>,
    #[serde(default)]
    pub poison: Option<i32>,
    /// Counters on the player.
    #[serde(default)]
    pub counters: BTreeMap<String, i32>,
    /// Mana in the pool, by letter.
    #[serde(default)]
    pub mana_pool: BTreeMap<String, u16>,
    #[serde(default)]
    pub hand: Vec<Entry>,
    #[serde(default)]
    pub battlefield: Vec<Entry>,
    #[serde(default)]
    pub graveyard: Vec<Entry>,
    #[serde(default)]
    pub exile: Vec<Entry>,
    #[serde(default)]
    pub library: Option<Vec<Entry>>,
    #[serde(default)]
    pub deck: Option<OneOrMany<Entry>>,
}

/// One value or a list of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T: Clone> OneOrMany<T> {
    pub(crate) fn to_vec(&self) -> Vec<T> {
        match self {
            Self::Many(all) => all.clone(),
            Self::One(one) => vec![one.clone()],
        }
    }
}

/// Card in a zone.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    Name(String),
    Card(CardEntry),
}

/// Card with a number of copies or a state.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CardEntry {
    pub card: String,
    #[serde(default)]
    pub n: Option<u32>,
    #[serde(default)]
    pub tapped: bool,
    #[serde(default)]
    pub counters: BTreeMap<String, i32>,
    #[serde(default)]
    pub attached_to: Option<Value>,
    #[serde(default)]
    pub damage: i32,
    #[serde(default)]
    pub summoning_sick: bool,
}

impl Entry {
    pub(crate) fn card(&self) -> CardEntry {
        match self {
            Self::Name(name) => CardEntry { card: name.clone(), ..CardEntry::default() },
            Self::Card(card) => card.clone(),
        }
    }
}

/// One line of a script; which fields are set says what it is.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ScriptAction {
    #[serde(default)]
    pub player: Option<String>,
    #[serde(default)]
    pub cast: Option<String>,
    #[serde(default)]
    pub activate: Option<String>,
    #[serde(default)]
    pub ability: Option<Value>,
    #[serde(default)]
    pub play_land: Option<String>,
    #[serde(default)]
    pub targets: Option<OneOrMany<Value>>,
    #[serde(default)]
    pub modes: Option<Value>,
    #[serde(default)]
    pub mode: Option<Value>,
    #[serde(default)]
    pub x: Option<u32>,
    #[serde(default)]
    pub division: Option<Value>,
    #[serde(default)]
    pub divide: Option<Value>,
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub alternative: Option<String>,
    #[serde(default)]
    pub kicked: Option<Value>,
    #[serde(default)]
    pub buyback: Option<bool>,
    #[serde(default)]
    pub sacrifice: Option<OneOrMany<Value>>,
    #[serde(default)]
    pub discard: Option<OneOrMany<Value>>,
    #[serde(default)]
    pub exile: Option<OneOrMany<Value>>,
    #[serde(default, rename = "return")]
    pub return_to_hand: Option<OneOrMany<Value>>,
    #[serde(default)]
    pub tap: Option<OneOrMany<Value>>,
    #[serde(default)]
    pub convoke: Option<OneOrMany<Value>>,
    #[serde(default)]
    pub attack: Option<Value>,
    #[serde(default)]
    pub block: Option<Value>,
    #[serde(default)]
    pub resolve: Option<Value>,
    #[serde(default)]
    pub to: Option<String>,
    #[serde(default)]
    pub turn: Option<Value>,
    #[serde(default)]
    pub priority: Option<String>,
    #[serde(default)]
    pub mulligan: Option<bool>,
    #[serde(default)]
    pub choose: Option<Value>,
    #[serde(default, rename = "for")]
    pub kind: Option<String>,
    #[serde(default)]
    pub illegal: Option<Box<ScriptAction>>,
    #[serde(default)]
    pub legal: Option<Box<ScriptAction>>,
    #[serde(default)]
    pub legal_choices: Option<Vec<Value>>,
    #[serde(default)]
    pub check: Option<Vec<Assertion>>,
    /// Whether targets, X, division and payment are asked for; the answers are `choose` lines.
    #[serde(default)]
    pub announce: Option<bool>,
    #[serde(default)]
    pub concede: Option<bool>,
    #[serde(default)]
    pub pass: Option<bool>,
}

/// One expectation.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Assertion {
    pub assert: String,
    #[serde(default)]
    pub player: Option<String>,
    #[serde(default)]
    pub zone: Option<String>,
    #[serde(default)]
    pub card: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub keyword: Option<String>,
    #[serde(default, rename = "type")]
    pub card_type: Option<String>,
    #[serde(default)]
    pub color: Option<String>,
    #[serde(default)]
    pub controller: Option<String>,
    #[serde(default, rename = "is")]
    pub expected: Option<Value>,
    #[serde(default)]
    pub hides: Vec<String>,
    #[serde(default)]
    pub shows: Vec<String>,
    #[serde(default)]
    pub shows_counts: BTreeMap<String, usize>,
    #[serde(default)]
    pub library_order_hidden: Option<bool>,
}
