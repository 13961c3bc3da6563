//! The wire shape of the contract.

use crate::action::Action;
use crate::context::TargetChoice;
use crate::decision::{Choosable, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::mana::ManaSource;
use crate::state::CastWay;
use serde::Serialize;

impl MTGEngine {
    /// What a player may do now, in the shape of the contract. Empty if it is the other player's turn
    /// to answer.
    #[must_use]
    pub fn get_action_schema(&self, player: PlayerId) -> ActionSchema {
        let Some(decision) = self.decision().filter(|decision| decision.player == player) else {
            return ActionSchema::default();
        };
        match decision.kind {
            DecisionKind::Priority => self.priority_schema(player),
            DecisionKind::DeclareAttackers => ActionSchema {
                allowed_actions: vec![ActionType::DeclareAttackers, ActionType::Scoop],
                declare_attackers: Some(AttackSchema {
                    attackers: self.possible_attackers(player),
                    defenders: self.defenders(),
                    required: self.required_attack(player),
                }),
                ..ActionSchema::default()
            },
            DecisionKind::DeclareBlockers => ActionSchema {
                allowed_actions: vec![ActionType::DeclareBlockers, ActionType::Scoop],
                declare_blockers: Some(self.block_schema(player)),
                ..ActionSchema::default()
            },
            kind => {
                let allowed = match kind {
                    DecisionKind::Mulligan => vec![ActionType::KeepHand, ActionType::Mulligan],
                    DecisionKind::Bottom => vec![ActionType::BottomCard],
                    _ => vec![ActionType::ResolveDecision],
                };
                let divides = matches!(kind, DecisionKind::Division | DecisionKind::DamageAssignment);
                ActionSchema {
                    allowed_actions: allowed,
                    resolve_decision: Some(DecisionSchema {
                        kind,
                        options: decision.options.clone(),
                        labels: decision.options.iter().map(|option| self.option_label(option)).collect(),
                        min: decision.min,
                        max: decision.max,
                        total: divides.then_some(decision.total),
                        source: decision.source.map(|id| self.source_name(id).to_string()),
                    }),
                    ..ActionSchema::default()
                }
            }
        }
    }

    pub(super) fn block_schema(&self, player: PlayerId) -> BlockSchema {
        let attackers: Vec<ObjectId> =
            self.state.combat.attackers.iter().map(|attacker| attacker.object).collect();
        let blockers = self.possible_blockers(player).into_iter().map(|blocker_id| BlockerChoice {
            blocker_id,
            can_block: attackers
                .iter()
                .copied()
                .filter(|attacker| self.can_block(blocker_id, *attacker))
                .collect(),
        });
        BlockSchema { blockers: blockers.collect(), attackers }
    }

    pub(super) fn card_choice(&self, id: ObjectId) -> CardChoice {
        let card = self.visible_card(id);
        CardChoice { instance_id: id, name: card.name, mana_cost: card.mana_cost }
    }

    pub(super) fn priority_schema(&self, player: PlayerId) -> ActionSchema {
        let mut lands = Vec::new();
        let mut casts: Vec<CastChoice> = Vec::new();
        let mut activations: Vec<ActivateChoice> = Vec::new();
        let flat = |targets: &[TargetChoice]| {
            targets.iter().map(|choice| choice.entities.to_vec()).collect::<Vec<_>>()
        };
        for action in self.list_actions(player) {
            match action {
                Action::PlayLand { card } => lands.push(self.card_choice(card)),
                Action::Cast(cast) => {
                    let known = casts.iter_mut().find(|known| {
                        known.card.instance_id == cast.card
                            && known.way == cast.way
                            && known.mode_payload == cast.modes
                            && known.additional == cast.additional
                            && known.buyback == cast.buyback
                    });
                    match known {
                        Some(known) => {
                            if cast.kicked > 0 {
                                known.can_kick = true;
                            }
                            if cast.x > 0 && !known.x_values.contains(&cast.x) {
                                known.x_values.push(cast.x);
                            }
                            let targets = flat(&cast.targets);
                            if !known.targets.contains(&targets) {
                                known.targets.push(targets);
                            }
                        }
                        None => casts.push(CastChoice {
                            card: self.card_choice(cast.card),
                            way: cast.way,
                            mode_payload: cast.modes.clone(),
                            x_values: if cast.x > 0 { vec![cast.x] } else { Vec::new() },
                            targets: vec![flat(&cast.targets)],
                            can_kick: cast.kicked > 0,
                            additional: cast.additional,
                            buyback: cast.buyback,
                        }),
                    }
                }
                Action::Activate(activate) => {
                    let known = activations.iter_mut().find(|known| {
                        known.instance_id == activate.source && known.ability == activate.ability
                    });
                    match known {
                        Some(known) => known.targets.push(flat(&activate.targets)),
                        None => activations.push(ActivateChoice {
                            instance_id: activate.source,
                            name: self.view().name(activate.source).to_string(),
                            ability: activate.ability,
                            text: self.ability_text(activate.source, activate.ability),
                            targets: vec![flat(&activate.targets)],
                        }),
                    }
                }
                Action::Pass | Action::Concede => {}
            }
        }
        let taps = self.mana_choices(player);
        let mut allowed = vec![ActionType::PassPriority];
        let mut allow = |present: bool, action: ActionType| {
            if present {
                allowed.push(action);
            }
        };
        allow(!lands.is_empty(), ActionType::PlayLand);
        allow(!taps.is_empty(), ActionType::TapForMana);
        allow(!casts.is_empty(), ActionType::CastSpell);
        allow(!activations.is_empty(), ActionType::ActivateAbility);
        allow(true, ActionType::Scoop);
        ActionSchema {
            allowed_actions: allowed,
            play_land: choices(lands),
            tap_for_mana: choices(taps),
            cast_spell: choices(casts),
            activate_ability: choices(activations),
            ..ActionSchema::default()
        }
    }

    pub(super) fn mana_choices(&self, player: PlayerId) -> Vec<ManaChoice> {
        let choice = |source: &ManaSource| {
            let id = source.id;
            source
                .options
                .iter()
                .map(move |option| ManaChoice {
                    instance_id: id,
                    name: self.view().name(id).to_string(),
                    ability: option.ability,
                    produces: crate::card::ManaKind::ALL
                        .into_iter()
                        .filter(|kind| option.mask & (1 << kind.index()) != 0)
                        .map(crate::card::ManaKind::letter)
                        .collect(),
                })
                .collect::<Vec<_>>()
        };
        self.mana_sources(player).iter().flat_map(choice).collect()
    }
}

/// Kind of action in the wire shape of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionType {
    PlayLand,
    TapForMana,
    CastSpell,
    ActivateAbility,
    DeclareAttackers,
    DeclareBlockers,
    PassPriority,
    ResolveDecision,
    Scoop,
    Mulligan,
    KeepHand,
    BottomCard,
}

/// What a player may do, in the shape of the contract.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ActionSchema {
    pub allowed_actions: Vec<ActionType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub play_land: Option<Choices<CardChoice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tap_for_mana: Option<Choices<ManaChoice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cast_spell: Option<Choices<CastChoice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activate_ability: Option<Choices<ActivateChoice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declare_attackers: Option<AttackSchema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declare_blockers: Option<BlockSchema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_decision: Option<DecisionSchema>,
}

/// List of choices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choices<T> {
    pub choices: Vec<T>,
}

/// Card that can be played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardChoice {
    pub instance_id: ObjectId,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mana_cost: Option<String>,
}

/// Permanent that can be tapped for mana.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManaChoice {
    pub instance_id: ObjectId,
    pub name: String,
    pub ability: AbilityRef,
    pub produces: Vec<char>,
}

/// Spell that can be cast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CastChoice {
    #[serde(flatten)]
    pub card: CardChoice,
    pub way: CastWay,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mode_payload: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_values: Vec<u32>,
    /// Combinations; in each, the targets of every slot.
    pub targets: Vec<Vec<Vec<Entity>>>,
    pub can_kick: bool,
    /// The alternative of an additional cost, counted from 0.
    #[serde(skip_serializing_if = "is_first")]
    pub additional: u8,
    /// Whether buyback is paid.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub buyback: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(number: &u8) -> bool {
    *number == 0
}

/// Ability that can be activated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActivateChoice {
    pub instance_id: ObjectId,
    pub name: String,
    pub ability: AbilityRef,
    pub text: String,
    pub targets: Vec<Vec<Vec<Entity>>>,
}

/// Declaration of attackers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttackSchema {
    pub attackers: Vec<ObjectId>,
    pub defenders: Vec<Entity>,
    /// Creatures that must attack.
    pub required: Vec<(ObjectId, Entity)>,
}

/// Declaration of blockers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockSchema {
    pub attackers: Vec<ObjectId>,
    pub blockers: Vec<BlockerChoice>,
}

/// Creature with the attackers it can block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockerChoice {
    pub blocker_id: ObjectId,
    pub can_block: Vec<ObjectId>,
}

/// Question other than priority and combat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionSchema {
    pub kind: DecisionKind,
    pub options: Vec<Choosable>,
    /// What each option is.
    pub labels: Vec<String>,
    pub min: u32,
    pub max: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

pub(super) fn choices<T>(choices: Vec<T>) -> Option<Choices<T>> {
    if choices.is_empty() { None } else { Some(Choices { choices }) }
}
