//! The game as one seat sees it, in the shape that front ends show.

use crate::labels::{Viewpoint, counter_name, entity_id, object_id, step_name};
use marvin_mtg::ability::TurnStep;
use marvin_mtg::ids::{Entity, PlayerId};
use marvin_mtg::state::Outcome;
use marvin_mtg::view::{VisibleCard, VisiblePermanent, VisibleState};
use serde::Serialize;
use std::collections::BTreeMap;

/// Board of one seat: nothing on it is hidden from that seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Board {
    pub game_id: String,
    pub seat: PlayerId,
    pub turn: u32,
    pub active: PlayerId,
    pub step: TurnStep,
    pub step_name: &'static str,
    /// Player who has priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<PlayerId>,
    /// Player whose answer the game waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<PlayerId>,
    pub you: BoardSide,
    pub opponent: BoardSide,
    pub hand: Vec<BoardCard>,
    /// The first item is the top, which resolves first.
    pub stack: Vec<BoardStackItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What one player has in public.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardSide {
    pub seat: PlayerId,
    /// Id for answers that name a player.
    pub id: String,
    pub deck: String,
    /// What plays here: person, random, heuristic, mcts or model.
    pub player: &'static str,
    pub life: i32,
    pub poison: i32,
    pub hand_size: usize,
    pub library_size: usize,
    /// Mana in the pool by colour letter.
    pub mana: BTreeMap<char, u16>,
    pub untapped_lands: usize,
    pub lands_played: i32,
    pub battlefield: Vec<BoardPermanent>,
    pub graveyard: Vec<BoardCard>,
    pub exile: Vec<BoardCard>,
}

/// Card in a hand, a graveyard or exile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardCard {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mana_cost: Option<String>,
    pub type_line: String,
    /// Power and toughness, or loyalty, as printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<String>,
}

/// Permanent with what is true of it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardPermanent {
    pub id: String,
    pub name: String,
    pub type_line: String,
    pub is_land: bool,
    pub is_creature: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toughness: Option<i32>,
    pub damage: i32,
    pub tapped: bool,
    pub summoning_sick: bool,
    pub is_token: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Kind and number of counters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<(String, i32)>,
    /// Id of what it is attached to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<String>,
    /// Id of what it attacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attacks: Option<String>,
    /// Ids of the attackers that it blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
}

/// Spell or ability on the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardStackItem {
    pub id: String,
    /// The spell, or the card whose ability it is.
    pub source: String,
    pub controller: PlayerId,
    pub is_ability: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Names of its targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub target_ids: Vec<String>,
}

/// Facts about both seats that the engine does not know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoardFacts<'t> {
    pub game_id: &'t str,
    pub decks: [&'t str; 2],
    pub players: [&'static str; 2],
}

impl Viewpoint<'_> {
    pub(crate) fn board(&self, facts: BoardFacts<'_>) -> Board {
        let visible = self.engine.visible(self.seat);
        let you = self.side(&visible, self.seat, facts);
        let opponent = self.side(&visible, self.seat.opponent(), facts);
        let stack = visible.stack.iter().rev().map(|item| {
            let reference = self.engine.state().stack.iter().find(|known| known.object == item.instance_id);
            let text = reference.and_then(|known| known.ability).map(|one| self.ability(one).to_owned());
            BoardStackItem {
                id: object_id(item.instance_id),
                source: item.source.clone(),
                controller: item.controller_id,
                is_ability: item.is_ability,
                text: text.unwrap_or_default(),
                targets: item.targets.iter().map(|target| self.entity(*target)).collect(),
                target_ids: item.targets.iter().map(|target| entity_id(*target)).collect(),
            }
        });
        Board {
            game_id: facts.game_id.to_owned(),
            seat: self.seat,
            turn: visible.turn_number,
            active: visible.active_player_id,
            step: visible.phase,
            step_name: step_name(visible.phase),
            priority: visible.priority_holder_id,
            asked: visible.pending_decision.as_ref().map(|decision| decision.player_id),
            you,
            opponent,
            hand: visible.hand.iter().map(|card| self.card(card)).collect(),
            stack: stack.collect(),
            outcome: visible.end_reason,
        }
    }

    fn side(&self, visible: &VisibleState, seat: PlayerId, facts: BoardFacts<'_>) -> BoardSide {
        let index = usize::from(seat.0.min(1));
        let own = visible.players.get(index);
        let permanents = visible.battlefield.iter().filter(|one| one.controller_id == seat);
        let battlefield: Vec<BoardPermanent> =
            permanents.map(|permanent| self.permanent(visible, permanent)).collect();
        let cards = |cards: &[VisibleCard]| cards.iter().map(|card| self.card(card)).collect::<Vec<_>>();
        let exile: Vec<VisibleCard> =
            visible.exile.iter().filter(|card| card.owner_id == seat).cloned().collect();
        BoardSide {
            seat,
            id: entity_id(Entity::Player(seat)),
            deck: facts.decks.get(index).map(ToString::to_string).unwrap_or_default(),
            player: facts.players.get(index).copied().unwrap_or_default(),
            life: own.map_or(0, |player| player.life),
            poison: own.map_or(0, |player| player.poison),
            hand_size: own.map_or(0, |player| player.hand_size),
            library_size: own.map_or(0, |player| player.library_size),
            mana: own.map(|player| player.available_mana.clone()).unwrap_or_default(),
            untapped_lands: battlefield.iter().filter(|one| one.is_land && !one.tapped).count(),
            lands_played: own.map_or(0, |player| player.lands_played_this_turn),
            battlefield,
            graveyard: own.map(|player| cards(&player.graveyard)).unwrap_or_default(),
            exile: cards(&exile),
        }
    }

    fn card(&self, card: &VisibleCard) -> BoardCard {
        let facts = self.pool.find(&card.name);
        let numbers = facts.and_then(|facts| match (&facts.power, &facts.toughness) {
            (Some(power), Some(toughness)) => Some(format!("{power}/{toughness}")),
            _ => facts.loyalty.clone(),
        });
        BoardCard {
            id: object_id(card.instance_id),
            name: card.name.clone(),
            mana_cost: card.mana_cost.clone(),
            type_line: card.type_line.clone(),
            numbers,
        }
    }

    fn permanent(&self, visible: &VisibleState, permanent: &VisiblePermanent) -> BoardPermanent {
        let types = permanent.types.join(" ");
        let type_line = if permanent.subtypes.is_empty() {
            types
        } else {
            format!("{types} — {}", permanent.subtypes.join(" "))
        };
        let own = self.engine.view().characteristics(permanent.instance_id);
        let id = permanent.instance_id;
        let attack = visible.combat.iter().find(|attacker| attacker.attacker_id == id);
        let blocked = visible.combat.iter().filter(|attacker| attacker.blockers.contains(&id));
        let counters = permanent.counters.iter().filter(|(_, count)| *count != 0);
        BoardPermanent {
            id: object_id(id),
            name: permanent.name.clone(),
            type_line,
            is_land: own.is(marvin_mtg::card::CardType::Land),
            is_creature: own.is_creature(),
            power: permanent.power,
            toughness: permanent.toughness,
            damage: permanent.damage,
            tapped: permanent.tapped,
            summoning_sick: permanent.summoning_sick,
            is_token: permanent.is_token,
            keywords: permanent.keywords.clone(),
            counters: counters.map(|(kind, count)| (counter_name(*kind), *count)).collect(),
            attached_to: permanent.attached_to.map(entity_id),
            attacks: attack.map(|attacker| entity_id(attacker.defender)),
            blocks: blocked.map(|attacker| object_id(attacker.attacker_id)).collect(),
        }
    }
}
