//! What one player can see of a game (400.2, 402.3).
//!
//! The view is built from public zones, the player's own hand and counts of hidden ones; it has no
//! ids of hidden cards, because an id would identify a card when it appears later.

use crate::ability::{CounterKind, PlayerRule, TurnStep, Zone};
use crate::card::{Color, ManaKind};
use crate::decision::{Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::{ObjectKind, Outcome, StackItem};
use serde::Serialize;
use std::collections::BTreeMap;

/// Game as a player sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisibleState {
    pub turn_number: u32,
    pub active_player_id: PlayerId,
    pub phase: TurnStep,
    pub priority_holder_id: Option<PlayerId>,
    pub life_totals: [i32; 2],
    pub players: Vec<VisiblePlayer>,
    pub hand: Vec<VisibleCard>,
    pub battlefield: Vec<VisiblePermanent>,
    pub stack: Vec<VisibleStackItem>,
    pub exile: Vec<VisibleCard>,
    pub combat: Vec<VisibleAttacker>,
    pub pending_decision: Option<VisibleDecision>,
    pub game_over: bool,
    pub winner_id: Option<PlayerId>,
    pub end_reason: Option<Outcome>,
}

/// Public facts about a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisiblePlayer {
    pub player_id: PlayerId,
    pub life: i32,
    pub poison: i32,
    pub hand_size: usize,
    pub library_size: usize,
    /// Name of the top card, if an effect shows it; no id, which would identify the card later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_top: Option<String>,
    pub graveyard: Vec<VisibleCard>,
    pub available_mana: BTreeMap<char, u16>,
    pub lands_played_this_turn: i32,
}

/// Card in a zone where the player can see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisibleCard {
    pub instance_id: ObjectId,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mana_cost: Option<String>,
    pub type_line: String,
    pub owner_id: PlayerId,
}

/// Permanent with its current characteristics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisiblePermanent {
    pub instance_id: ObjectId,
    pub name: String,
    pub controller_id: PlayerId,
    pub owner_id: PlayerId,
    pub types: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subtypes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub colors: Vec<char>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toughness: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    pub tapped: bool,
    pub damage: i32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<(CounterKind, i32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<Entity>,
    pub is_token: bool,
    pub summoning_sick: bool,
}

/// Spell or ability on the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisibleStackItem {
    pub instance_id: ObjectId,
    pub source: String,
    pub controller_id: PlayerId,
    pub is_ability: bool,
    pub targets: Vec<Entity>,
}

/// Attacking creature with its blockers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisibleAttacker {
    pub attacker_id: ObjectId,
    pub defender: Entity,
    pub blocked: bool,
    pub blockers: Vec<ObjectId>,
}

/// Open question; its options only for the player who is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VisibleDecision {
    pub player_id: PlayerId,
    pub kind: DecisionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

impl MTGEngine {
    /// The game as a player sees it.
    #[must_use]
    pub fn visible(&self, player: PlayerId) -> VisibleState {
        let state = &self.state;
        let cards = |ids: &[ObjectId]| ids.iter().map(|id| self.visible_card(*id)).collect();
        let [first, second] = &state.players;
        let decision = self.decision();
        VisibleState {
            turn_number: state.turn,
            active_player_id: state.active,
            phase: state.step,
            priority_holder_id: decision
                .filter(|decision| decision.kind == DecisionKind::Priority)
                .map(|decision| decision.player),
            life_totals: [first.life, second.life],
            players: PlayerId::BOTH.iter().map(|seat| self.visible_player(*seat, player)).collect(),
            hand: cards(&state.player(player).hand),
            battlefield: state.battlefield.iter().map(|id| self.visible_permanent(*id)).collect(),
            stack: self.visible_stack(),
            exile: cards(&state.exile),
            combat: state
                .combat
                .attackers
                .iter()
                .map(|attacker| VisibleAttacker {
                    attacker_id: attacker.object,
                    defender: attacker.defender,
                    blocked: attacker.blocked,
                    blockers: attacker.blockers.to_vec(),
                })
                .collect(),
            pending_decision: decision.map(|decision| VisibleDecision {
                player_id: decision.player,
                kind: decision.kind,
                decision: (decision.player == player).then(|| decision.clone()),
            }),
            game_over: state.outcome.is_some(),
            winner_id: state.outcome.and_then(|outcome| outcome.winner),
            end_reason: state.outcome,
        }
    }

    /// The top card of a library that a player sees: revealed to all, or to its owner to look at (401.5).
    #[must_use]
    pub fn shown_top_card(&self, seat: PlayerId, viewer: PlayerId) -> Option<ObjectId> {
        let is_shown = self.has_rule(seat, |rule| match rule {
            PlayerRule::SeeTopCard { revealed } => *revealed || seat == viewer,
            PlayerRule::PlayFrom { zone: Zone::Library, .. } => seat == viewer,
            _ => false,
        });
        self.state.player(seat).library.last().copied().filter(|_| is_shown)
    }

    fn visible_player(&self, seat: PlayerId, viewer: PlayerId) -> VisiblePlayer {
        let own = self.state.player(seat);
        let mana = ManaKind::ALL.into_iter().zip(own.mana).filter(|(_, amount)| *amount > 0);
        VisiblePlayer {
            player_id: seat,
            life: own.life,
            poison: own.counter(CounterKind::Poison),
            hand_size: own.hand.len(),
            library_size: own.library.len(),
            library_top: self.shown_top_card(seat, viewer).map(|id| self.view().name(id).to_string()),
            graveyard: own.graveyard.iter().map(|id| self.visible_card(*id)).collect(),
            available_mana: mana.map(|(kind, amount)| (kind.letter(), amount)).collect(),
            lands_played_this_turn: crate::eval::statistic(
                &self.state,
                seat,
                crate::ability::TurnStatistic::LandsPlayed,
            ),
        }
    }

    pub(crate) fn visible_card(&self, id: ObjectId) -> VisibleCard {
        let face = self.view().face(id).map(|face| &face.face);
        VisibleCard {
            instance_id: id,
            name: self.view().name(id).to_string(),
            mana_cost: face.and_then(|face| face.mana_cost.as_ref()).map(ToString::to_string),
            type_line: face.map(crate::card::CardFace::type_line).unwrap_or_default(),
            owner_id: self.state.object(id).owner,
        }
    }

    fn visible_permanent(&self, id: ObjectId) -> VisiblePermanent {
        let own = self.view().characteristics(id);
        let object = self.state.object(id);
        let sized = own.is_creature();
        VisiblePermanent {
            instance_id: id,
            name: self.permanent_name(id),
            controller_id: own.controller,
            owner_id: object.owner,
            types: own.types.iter().map(crate::card::CardType::name).collect(),
            subtypes: own.subtypes.iter().map(|subtype| subtype.name()).collect(),
            colors: own.colors.iter().map(Color::letter).collect(),
            power: sized.then_some(own.power),
            toughness: sized.then_some(own.toughness),
            keywords: own.keywords.iter().map(crate::ability::Keyword::text).collect(),
            tapped: object.tapped,
            damage: object.damage,
            counters: object.counters.to_vec(),
            attached_to: object.attached_to,
            is_token: object.kind == ObjectKind::Token,
            summoning_sick: sized && self.is_summoning_sick(id),
        }
    }

    fn permanent_name(&self, id: ObjectId) -> String {
        let view = self.view();
        if view.is_face_down(id) { "face-down creature".to_owned() } else { view.name(id).to_owned() }
    }

    /// Name of the card that asks.
    #[must_use]
    pub fn source_name(&self, id: ObjectId) -> &str {
        let item = self.state.stack.iter().rev().find(|item| item.context.source == id);
        item.map_or_else(|| self.view().name(id), |item| self.item_name(item))
    }

    /// Name of a spell or of the source of an ability. An ability keeps the name that its source had
    /// (113.7a): the source may have become a hidden card.
    fn item_name(&self, item: &StackItem) -> &str {
        let source = item.context.source;
        let is_there = self.state.is_on_battlefield(source);
        self.view().name(if is_there { source } else { item.object })
    }

    fn visible_stack(&self) -> Vec<VisibleStackItem> {
        let item = |item: &StackItem| VisibleStackItem {
            instance_id: item.object,
            source: self.item_name(item).to_string(),
            controller_id: item.context.controller,
            is_ability: item.ability.is_some(),
            targets: item.context.targets.iter().flat_map(|choice| choice.entities.iter().copied()).collect(),
        };
        self.state.stack.iter().map(item).collect()
    }

    /// Whether a player can see the face of an object.
    #[must_use]
    pub fn can_see(&self, player: PlayerId, id: ObjectId) -> bool {
        let object = self.state.object(id);
        match object.zone {
            Zone::Library => false,
            Zone::Hand => object.owner == player,
            _ => true,
        }
    }
}
