//! The compact form of questions: flat ids with labels, a JSON Schema of the answer, and the answer
//! in that form.
//!
//! Ids hold for one question. Actions are `a0`, `a1`, …, options `o0`, `o1`, …, creatures `c` and
//! players `p` with their number.

use crate::action::Action;
use crate::decision::{Answer, Choosable, Decision, DecisionKind, OptionLabel, Refusal, RefusalReason};
use crate::engine::MTGEngine;
use crate::ids::{Entity, ObjectId, PlayerId};
use serde::{Deserialize, Serialize};

/// Letters of a label in the schema; the text of an ability can be long.
const MAX_LABEL_CHARS: usize = 70;

/// Thing that can be answered, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactOption {
    pub id: String,
    pub label: String,
}

/// Question with its options by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactQuestion {
    pub number: u32,
    pub player: PlayerId,
    pub kind: DecisionKind,
    /// Card that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub schema: AnswerSchema,
}

/// JSON Schema of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerSchema {
    #[serde(rename = "type")]
    pub kind: SchemaType,
    pub properties: AnswerProperties,
    pub required: [&'static str; 1],
    #[serde(rename = "additionalProperties")]
    pub additional_properties: bool,
}

/// The one property that an answer has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerProperties {
    Action(ChoiceSchema),
    Options(ListSchema<ChoiceSchema>),
    Attackers(ListSchema<PairSchema>),
    Blockers(ListSchema<PairSchema>),
    Amounts(ListSchema<AmountSchema>),
}

/// Name of a JSON type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaType {
    Object,
    Array,
    Integer,
}

/// One of several ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChoiceSchema {
    #[serde(rename = "oneOf")]
    pub one_of: Vec<ConstSchema>,
}

/// One id; the title says what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConstSchema {
    #[serde(rename = "const")]
    pub id: String,
    pub title: String,
}

/// List of answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListSchema<T> {
    #[serde(rename = "type")]
    pub kind: SchemaType,
    pub items: T,
    #[serde(rename = "minItems")]
    pub min_items: u32,
    #[serde(rename = "maxItems")]
    pub max_items: u32,
    #[serde(rename = "uniqueItems", skip_serializing_if = "std::ops::Not::not")]
    pub unique_items: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Creature with what it attacks or blocks: a list of two ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairSchema {
    #[serde(rename = "type")]
    pub kind: SchemaType,
    #[serde(rename = "prefixItems")]
    pub prefix_items: [ChoiceSchema; 2],
    pub items: bool,
}

/// Part of a division.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AmountSchema {
    #[serde(rename = "type")]
    pub kind: SchemaType,
    pub minimum: i32,
}

/// Answer in the compact form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactAnswer {
    Action(String),
    Options(Vec<String>),
    Attackers(Vec<(String, String)>),
    Blockers(Vec<(String, String)>),
    Amounts(Vec<i32>),
}

impl MTGEngine {
    /// The question that is open for a player, in the compact form.
    #[must_use]
    pub fn compact_question(&self, player: PlayerId) -> Option<CompactQuestion> {
        let decision = self.decision().filter(|decision| decision.player == player)?;
        let (name, properties) = self.answer_properties(decision);
        let schema = AnswerSchema {
            kind: SchemaType::Object,
            properties,
            required: [name],
            additional_properties: false,
        };
        let source = decision.source.map(|id| self.source_name(id).to_string());
        let (number, kind) = (decision.number, decision.kind);
        Some(CompactQuestion { number, player, kind, source, schema })
    }

    fn answer_properties(&self, decision: &Decision) -> (&'static str, AnswerProperties) {
        let player = decision.player;
        match decision.kind {
            DecisionKind::Priority => {
                let actions = self.compact_actions(player);
                let options =
                    actions.into_iter().map(|action| CompactOption { id: action.id, label: action.label });
                ("action", AnswerProperties::Action(choice(options)))
            }
            DecisionKind::DeclareAttackers => {
                let able = self.possible_attackers(player);
                let defenders = self.defenders();
                let required = self.required_attack(player);
                let must: Vec<String> =
                    required.iter().map(|entry| entity_id(Entity::Object(entry.0))).collect();
                let about =
                    if must.is_empty() { String::new() } else { format!("must attack: {}", must.join(", ")) };
                let pairs = self.pairs(&entities(&able), &defenders);
                (
                    "attackers",
                    AnswerProperties::Attackers(list(pairs, required.len(), able.len(), true, about)),
                )
            }
            DecisionKind::DeclareBlockers => {
                let able = self.possible_blockers(player);
                let pairs = self.pairs(&entities(&able), &entities(&decision.subjects));
                let least = self.required_block(player).len();
                let most = able.len().saturating_mul(decision.subjects.len());
                ("blockers", AnswerProperties::Blockers(list(pairs, least, most, true, String::new())))
            }
            DecisionKind::Division | DecisionKind::DamageAssignment => {
                let names: Vec<String> =
                    decision.options.iter().map(|option| self.option_label(option)).collect();
                let about = format!("{} in all, in this order: {}", decision.total, names.join(", "));
                let least = decision.minimums.iter().copied().min().unwrap_or(0).min(0);
                let items = AmountSchema { kind: SchemaType::Integer, minimum: least.max(0) };
                let count = decision.options.len();
                ("amounts", AnswerProperties::Amounts(list(items, count, count, false, about)))
            }
            _ => {
                let options = decision.options.iter().enumerate().map(|(index, option)| CompactOption {
                    id: format!("o{index}"),
                    label: self.option_label(option),
                });
                let most = decision.options.len().min(usize::try_from(decision.max).unwrap_or(usize::MAX));
                let least = usize::try_from(decision.min).unwrap_or(0);
                let items = choice(options);
                ("options", AnswerProperties::Options(list(items, least, most, true, String::new())))
            }
        }
    }

    fn pairs(&self, first: &[Entity], second: &[Entity]) -> PairSchema {
        let options =
            |entities: &[Entity]| {
                choice(entities.iter().map(|entity| CompactOption {
                    id: entity_id(*entity),
                    label: self.creature_label(*entity),
                }))
            };
        PairSchema { kind: SchemaType::Array, prefix_items: [options(first), options(second)], items: false }
    }

    fn creature_label(&self, entity: Entity) -> String {
        let name = self.entity_label(entity);
        match entity {
            Entity::Object(id) if self.view().characteristics(id).is_creature() => {
                format!("{name} {}/{}", self.view().power(id), self.view().toughness(id))
            }
            _ => name,
        }
    }

    /// What an option of a question is.
    #[must_use]
    pub fn option_label(&self, option: &Choosable) -> String {
        match option {
            Choosable::Entity(entity) => self.creature_label(*entity),
            Choosable::Label(label) => label_text(*label).to_string(),
            Choosable::Color(color) => color.name().to_string(),
            Choosable::Subtype(subtype) => subtype.name().to_string(),
            Choosable::Number(number) => number.to_string(),
            Choosable::Index(index) => format!("choice {}", u16::from(*index) + 1),
        }
    }

    /// The engine's answer for one in the compact form.
    ///
    /// # Errors
    /// An id that the question does not have.
    pub fn read_compact(&self, player: PlayerId, answer: &CompactAnswer) -> Result<Answer, Refusal> {
        let decision = self.decision().filter(|decision| decision.player == player);
        let Some(decision) = decision else { return Err(RefusalReason::OtherPlayer.into()) };
        match answer {
            CompactAnswer::Action(id) => {
                let actions = self.compact_actions(player);
                let action = actions.into_iter().find(|action| action.id == *id).map(|action| action.action);
                let action = action.ok_or_else(|| unknown(id))?;
                Ok(Answer::Action(Box::new(action)))
            }
            CompactAnswer::Options(ids) => {
                let position = |id: &String| {
                    let number = id.strip_prefix('o').and_then(|number| number.parse().ok());
                    number.ok_or_else(|| unknown(id))
                };
                ids.iter().map(position).collect::<Result<_, _>>().map(Answer::Options)
            }
            CompactAnswer::Attackers(pairs) => {
                let pair = |(creature, defender): &(String, String)| {
                    Ok((find_object(creature)?, find_entity(defender)?))
                };
                pairs.iter().map(pair).collect::<Result<_, _>>().map(Answer::Attack)
            }
            CompactAnswer::Blockers(pairs) => {
                let pair = |(creature, attacker): &(String, String)| {
                    Ok((find_object(creature)?, find_object(attacker)?))
                };
                pairs.iter().map(pair).collect::<Result<_, _>>().map(Answer::Block)
            }
            CompactAnswer::Amounts(amounts) => {
                let divides =
                    matches!(decision.kind, DecisionKind::Division | DecisionKind::DamageAssignment);
                if divides {
                    Ok(Answer::Division(amounts.clone()))
                } else {
                    Err(RefusalReason::WrongKind.into())
                }
            }
        }
    }

    /// Whether an action is worth a question: passing and conceding are always possible.
    #[must_use]
    pub fn has_real_action(&self, player: PlayerId) -> bool {
        self.list_actions(player).iter().any(|action| !matches!(action, Action::Pass | Action::Concede))
    }
}

fn unknown(id: &str) -> Refusal {
    RefusalReason::UnknownId(id.to_string()).into()
}

fn entity_id(entity: Entity) -> String {
    match entity {
        Entity::Player(player) => format!("p{}", player.0),
        Entity::Object(id) => format!("c{}", id.0),
    }
}

fn find_entity(id: &str) -> Result<Entity, Refusal> {
    let player = id.strip_prefix('p').and_then(|number| number.parse().ok()).map(PlayerId);
    player.map_or_else(|| find_object(id).map(Entity::Object), |player| Ok(Entity::Player(player)))
}

fn find_object(id: &str) -> Result<ObjectId, Refusal> {
    let number = id.strip_prefix('c').and_then(|number| number.parse().ok());
    number.map(ObjectId).ok_or_else(|| unknown(id))
}

fn entities(ids: &[ObjectId]) -> Vec<Entity> {
    ids.iter().copied().map(Entity::Object).collect()
}

fn choice(options: impl Iterator<Item = CompactOption>) -> ChoiceSchema {
    let shorten = |label: String| {
        if label.chars().count() <= MAX_LABEL_CHARS {
            return label;
        }
        let mut short: String = label.chars().take(MAX_LABEL_CHARS).collect();
        short.push('…');
        short
    };
    ChoiceSchema {
        one_of: options.map(|option| ConstSchema { id: option.id, title: shorten(option.label) }).collect(),
    }
}

fn list<T>(items: T, least: usize, most: usize, unique: bool, description: String) -> ListSchema<T> {
    ListSchema {
        kind: SchemaType::Array,
        items,
        min_items: u32::try_from(least).unwrap_or(u32::MAX),
        max_items: u32::try_from(most).unwrap_or(u32::MAX),
        unique_items: unique,
        description,
    }
}

fn label_text(label: OptionLabel) -> &'static str {
    match label {
        OptionLabel::Keep => "keep",
        OptionLabel::Mulligan => "mulligan",
        OptionLabel::PlayFirst => "play first",
        OptionLabel::DrawFirst => "draw first",
        OptionLabel::Accept => "accept",
        OptionLabel::Decline => "decline",
        OptionLabel::Pay => "pay",
        OptionLabel::DoNotPay => "do not pay",
    }
}
