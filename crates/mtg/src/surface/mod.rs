//! The action surface: what a player can do now, and the questions in the shape of the contract.
//!
//! Every listed action is complete and is accepted; the list is made by the planner that also carries
//! it out. Targets are listed as combinations, at most [`MAX_COMBINATIONS`] for each card and mode.

mod compact;
mod schema;
mod stops;

pub use compact::{
    AmountSchema, AnswerProperties, AnswerSchema, ChoiceSchema, CompactAnswer, CompactOption,
    CompactQuestion, ConstSchema, ListSchema, PairSchema, SchemaType,
};
pub use schema::{
    ActionSchema, ActionType, ActivateChoice, AttackSchema, BlockSchema, BlockerChoice, CardChoice,
    CastChoice, Choices, DecisionSchema, ManaChoice,
};
pub use stops::Stops;

use crate::ability::{Ability, Body, CostPart, KeywordAbility, PlayerRule, TargetSpec, Zone};
use crate::action::{Action, ActivateAction, CastAction, Payment};
use crate::card::{CardFace, CardType};
use crate::casting::spell_body;
use crate::characteristics::AbilityClass;
use crate::context::{Context, TargetChoice};
use crate::decision::DecisionKind;
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::mana::ManaSource;
use crate::state::CastWay;
use crate::targets::target_specs;
use serde::Serialize;
use smallvec::smallvec;
use std::cell::OnceCell;

/// Combinations of targets that are listed for one way to play a card.
pub const MAX_COMBINATIONS: usize = 24;

/// Greatest X that is listed.
const MAX_LISTED_X: u32 = 20;

/// What the label of an action that asks for its choices ends with.
pub const ASKS: &str = " (choose each part)";

/// Most objects that an optional sacrifice is listed with.
const MAX_LISTED_SACRIFICES: usize = 8;

/// Ways to cast a card other than the normal one.
const OTHER_WAYS: [CastWay; 10] = [
    CastWay::Free,
    CastWay::Flashback,
    CastWay::Alternative,
    CastWay::Evoke,
    CastWay::Dash,
    CastWay::Escape,
    CastWay::Surge,
    CastWay::Spectacle,
    CastWay::Retrace,
    CastWay::JumpStart,
];

/// Sources of mana that are found when they are needed.
type KnownSources = OnceCell<Vec<ManaSource>>;

/// Action with a short id and a label that says what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactAction {
    pub id: String,
    pub label: String,
    #[serde(skip)]
    pub action: Action,
}

impl MTGEngine {
    fn has_priority(&self, player: PlayerId) -> bool {
        self.decision()
            .is_some_and(|decision| decision.kind == DecisionKind::Priority && decision.player == player)
    }

    /// Every action that the player can take with priority; passing comes first.
    #[must_use]
    pub fn list_actions(&self, player: PlayerId) -> Vec<Action> {
        if !self.has_priority(player) {
            return Vec::new();
        }
        let mut actions = vec![Action::Pass];
        let sources = OnceCell::new();
        let plays_lands = self.is_sorcery_time(player) && self.land_plays(player) > 0;
        for card in self.playable_cards(player) {
            if plays_lands && self.check_land(player, card).is_ok() {
                actions.push(Action::PlayLand { card });
            }
            if self.may_be_castable(player, card) {
                self.list_casts(player, card, &sources, &mut actions);
            }
        }
        self.list_activations(player, &sources, &mut actions);
        actions
    }

    /// Whether the place of a card and the time leave a way to cast it; most cards are done with here.
    fn may_be_castable(&self, player: PlayerId, card: ObjectId) -> bool {
        let object = self.state.object(card);
        let Some(face) = self.state.faces.get(object.face) else { return false };
        let place = match object.zone {
            Zone::Hand => true,
            Zone::Graveyard if face.casts_from_graveyard => true,
            _ => self.play_permission(player, card).is_some(),
        };
        place
            && (face.is_instant
                || self.is_sorcery_time(player)
                || self.has_rule(player, |rule| matches!(rule, PlayerRule::Flash(_))))
    }

    /// The sources of mana of a player, found when the first cost is looked at.
    fn known_sources<'s>(&self, player: PlayerId, sources: &'s KnownSources) -> &'s [ManaSource] {
        sources.get_or_init(|| self.mana_sources(player))
    }

    fn playable_cards(&self, player: PlayerId) -> Vec<ObjectId> {
        let own = self.state.player(player);
        let mut cards = own.hand.clone();
        cards.extend(&own.graveyard);
        cards.extend(own.library.last());
        cards.extend(self.state.grants.iter().filter(|grant| grant.player == player).map(|grant| grant.card));
        cards
    }

    fn list_casts(
        &self,
        player: PlayerId,
        card: ObjectId,
        sources: &KnownSources,
        actions: &mut Vec<Action>,
    ) {
        let object = self.state.object(card);
        let Some(face) = self.state.faces.get(object.face) else { return };
        if face.face.has_type(CardType::Land) {
            return;
        }
        let ways: &[CastWay] =
            if object.zone == Zone::Hand && !has_other_ways(&face.face) { &[] } else { &OTHER_WAYS };
        for way in [CastWay::Normal].iter().chain(ways) {
            let plain = CastAction {
                card,
                way: *way,
                modes: Vec::new(),
                targets: Vec::new(),
                x: 0,
                kicked: 0,
                buyback: false,
                additional: 0,
                payment: Payment::default(),
                ask: false,
            };
            if self.check_castable(player, &plain).is_err() {
                continue;
            }
            let body = spell_body(&face.face);
            let is_kicker = |ability: &&Ability| matches!(ability, Ability::KeywordAbility(keyword) if matches!(**keyword, KeywordAbility::Kicker { .. }));
            // Each of two kickers may be paid or not.
            let ways_to_kick = 1u8 << face.face.abilities.iter().filter(is_kicker).count().min(2);
            let extra_costs = extra_costs(&face.face);
            let has_x = face.face.mana_cost.as_ref().is_some_and(|cost| cost.x_count() > 0);
            for modes in mode_choices(&body) {
                for kicked in 0..ways_to_kick {
                    for payment in self.list_payments(player, card, &face.face) {
                        for (additional, buyback) in extra_costs.iter().copied() {
                            let (modes, payment) = (modes.clone(), payment.clone());
                            let base =
                                CastAction { modes, kicked, payment, additional, buyback, ..plain.clone() };
                            self.list_cast_targets(player, &base, &body, has_x, sources, actions);
                        }
                    }
                }
            }
        }
    }

    /// Payments of "you may sacrifice any number of": none, then the first one, the first two, …
    fn list_payments(&self, player: PlayerId, card: ObjectId, face: &CardFace) -> Vec<Payment> {
        let part = face.abilities.iter().find_map(|ability| match ability {
            Ability::AdditionalCost(costs) => costs.iter().find_map(|cost| {
                cost.parts.iter().find_map(|part| match part {
                    CostPart::SacrificeAny(filter) => Some(filter),
                    _ => None,
                })
            }),
            _ => None,
        });
        let Some(filter) = part else { return vec![Payment::default()] };
        let able = self.payable_objects(Zone::Battlefield, filter, &Context::new(card, player));
        let most = able.len().min(MAX_LISTED_SACRIFICES);
        let named = |count: usize| able.iter().take(count).copied().collect();
        (0..=most).map(|count| Payment { objects: named(count), ..Payment::default() }).collect()
    }

    /// Whether a card changes its own cost, perhaps for its targets.
    fn own_cost_changes(&self, card: ObjectId) -> bool {
        let face = self.state.faces.get(self.state.object(card).face);
        face.is_some_and(|face| {
            face.face.abilities.iter().any(|ability| matches!(ability, Ability::CostChange(_)))
        })
    }

    fn list_cast_targets(
        &self,
        player: PlayerId,
        base: &CastAction,
        body: &Body,
        has_x: bool,
        sources: &KnownSources,
        actions: &mut Vec<Action>,
    ) {
        let specs = target_specs(body, &base.modes);
        let depends_on_targets =
            self.own_cost_changes(base.card) || self.projection().has_class(AbilityClass::CostChange);
        for x in 0..=(if has_x { MAX_LISTED_X } else { 0 }) {
            let mut context = Context::new(base.card, player);
            context.x = i32::try_from(x).unwrap_or(0);
            context.kicked = base.kicked;
            let mut any = false;
            for targets in self.target_combinations(&specs, &context) {
                let cast = CastAction { targets, x, ..base.clone() };
                // Whether the cost can be paid mostly does not depend on the targets.
                if (any && !depends_on_targets)
                    || self.plan_cast(player, &cast, self.known_sources(player, sources)).is_ok()
                {
                    any = true;
                    actions.push(Action::Cast(cast));
                } else if !depends_on_targets {
                    break;
                }
            }
            if !any {
                break;
            }
        }
    }

    /// Combinations of targets: all single choices, for several targets the first ones.
    fn target_combinations(&self, specs: &[&TargetSpec], context: &Context) -> Vec<Vec<TargetChoice>> {
        let mut all: Vec<Vec<TargetChoice>> = vec![Vec::new()];
        for spec in specs {
            let legal = self.legal_targets(spec, context);
            let (min, max) = self.target_range(spec, context);
            if legal.len() < min {
                return Vec::new();
            }
            let mut choices: Vec<TargetChoice> = Vec::new();
            if min == 0 {
                choices.push(TargetChoice::default());
            }
            if min <= 1 && max >= 1 {
                choices.extend(
                    legal
                        .iter()
                        .map(|target| TargetChoice { entities: smallvec![*target], division: smallvec![] }),
                );
            }
            if max > 1 && legal.len() > 1 {
                let count = max.min(legal.len());
                choices.push(TargetChoice {
                    entities: legal.iter().take(count).copied().collect(),
                    division: smallvec![],
                });
            }
            if let Some(total) = &spec.divided {
                let total = self.view().amount(total, context);
                choices.iter_mut().for_each(|choice| divide(choice, total));
                choices.retain(|choice| choice.division.iter().all(|part| *part >= 1));
            }
            let mut next = Vec::new();
            for earlier in &all {
                for choice in &choices {
                    let taken = spec.distinct_from.iter().any(|slot| {
                        earlier.get(usize::from(*slot)).is_some_and(|other| {
                            other.entities.iter().any(|entity| choice.entities.contains(entity))
                        })
                    });
                    if !taken && next.len() < MAX_COMBINATIONS {
                        let mut combination = earlier.clone();
                        combination.push(choice.clone());
                        next.push(combination);
                    }
                }
            }
            all = next;
        }
        all
    }

    fn list_activations(&self, player: PlayerId, sources: &KnownSources, actions: &mut Vec<Action>) {
        let view = self.view();
        let own = self.state.player(player);
        let permanents = self
            .state
            .battlefield
            .iter()
            .copied()
            .filter(|id| view.characteristics(*id).has_class(AbilityClass::Activated));
        let cards = own
            .hand
            .iter()
            .chain(&own.graveyard)
            .copied()
            .filter(|id| view.characteristics(*id).has_class(AbilityClass::Activated));
        for source in permanents.chain(cards) {
            for reference in &view.characteristics(source).abilities {
                let Ok(ability) = self.find_activated(player, source, *reference) else { continue };
                if ability.is_mana_ability() {
                    continue;
                }
                for modes in mode_choices(&ability.body) {
                    self.list_activation(player, source, *reference, &modes, sources, actions);
                }
            }
        }
    }

    fn list_activation(
        &self,
        player: PlayerId,
        source: ObjectId,
        reference: AbilityRef,
        modes: &[u8],
        sources: &KnownSources,
        actions: &mut Vec<Action>,
    ) {
        let Some(Ability::Activated(ability)) = self.ability(reference) else { return };
        let specs = target_specs(&ability.body, modes);
        let has_x = ability.cost.mana.x_count() > 0 || ability.cost.parts.contains(&CostPart::LoyaltyX);
        for x in 0..=(if has_x { MAX_LISTED_X } else { 0 }) {
            let mut context = Context::new(source, player);
            context.x = i32::try_from(x).unwrap_or(0);
            let mut any = false;
            for targets in self.target_combinations(&specs, &context) {
                let action = ActivateAction {
                    source,
                    ability: reference,
                    modes: modes.to_vec(),
                    targets,
                    x,
                    mana: 0,
                    payment: Payment::default(),
                    ask: false,
                };
                if self.plan_activation(player, &action, self.known_sources(player, sources)).is_err() {
                    break;
                }
                any = true;
                actions.push(Action::Activate(action));
            }
            if !any {
                break;
            }
        }
    }

    /// Actions with short ids and labels. Where the list shows only some of the choices of a card, an
    /// action follows that asks for them one after the other.
    #[must_use]
    pub fn compact_actions(&self, player: PlayerId) -> Vec<CompactAction> {
        let mut actions = self.list_actions(player);
        let open = self.open_announcements(player, &actions);
        actions.extend(open);
        let label = |(number, action): (usize, Action)| CompactAction {
            id: format!("a{number}"),
            label: self.label(&action),
            action,
        };
        actions.into_iter().enumerate().map(label).collect()
    }

    /// Whether a player has nothing to do but pass.
    #[must_use]
    pub fn can_only_pass(&self, player: PlayerId) -> bool {
        self.list_actions(player).len() <= 1
    }

    fn entity_label(&self, entity: Entity) -> String {
        match entity {
            Entity::Player(player) => format!("player {}", player.0),
            Entity::Object(id) => self.view().name(id).to_string(),
        }
    }

    /// The text of an activated ability with the name of its source.
    #[must_use]
    pub fn ability_text(&self, source: ObjectId, reference: AbilityRef) -> String {
        let name = self.view().name(source);
        let ability = self.ability(reference);
        let known = match ability {
            Some(Ability::Activated(activated)) => activated.text.trim_end_matches('.'),
            _ => "",
        };
        if !known.is_empty() {
            return known.replace('~', name);
        }
        let printed = ability.and_then(crate::cards::print_ability).unwrap_or_default();
        if printed.is_empty() {
            // A meaning that the grammar cannot print is named by its place on the card.
            let abilities = &self.view().characteristics(source).abilities;
            let place = abilities.iter().position(|known| *known == reference).map_or(1, |place| place + 1);
            return format!("ability {place}");
        }
        printed.trim_end_matches('.').replace('~', name)
    }

    /// What is paid for a spell in addition to its mana cost, where the player chose it.
    #[must_use]
    pub fn extra_cost_text(&self, cast: &CastAction) -> String {
        let face = self.state.faces.get(self.state.object(cast.card).face);
        let chosen = face.and_then(|face| {
            face.face.abilities.iter().find_map(|ability| match ability {
                Ability::AdditionalCost(costs) if costs.len() > 1 => {
                    let chosen = costs.get(usize::from(cast.additional))?;
                    let printed =
                        crate::cards::print_ability(&Ability::AdditionalCost(vec![chosen.clone()]))?;
                    Some(printed.rsplit("to cast ~, ").next()?.trim_end_matches('.').to_string())
                }
                _ => None,
            })
        });
        let chosen = chosen.map(|chosen| format!(" ({chosen})")).unwrap_or_default();
        let buyback = if cast.buyback { " with buyback" } else { "" };
        format!("{buyback}{chosen}")
    }

    /// What an action does, in a few words.
    #[must_use]
    pub fn label(&self, action: &Action) -> String {
        let targets = |choices: &[TargetChoice]| {
            let names: Vec<String> = choices
                .iter()
                .flat_map(|choice| choice.entities.iter())
                .map(|entity| self.entity_label(*entity))
                .collect();
            if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) }
        };
        match action {
            Action::Pass => "pass".to_string(),
            Action::Concede => "concede".to_string(),
            Action::PlayLand { card } => format!("play {}", self.view().name(*card)),
            Action::Cast(cast) => {
                let kicked = if cast.kicked > 0 { " kicked" } else { "" };
                let x = if cast.x > 0 { format!(" X={}", cast.x) } else { String::new() };
                let paid = match cast.payment.objects.len() {
                    0 => String::new(),
                    count => format!(" paying with {count}"),
                };
                let name = self.view().name(cast.card);
                let asks = if cast.ask { ASKS } else { "" };
                let extra = self.extra_cost_text(cast);
                format!("cast {name}{kicked}{extra}{x}{}{paid}{asks}", targets(&cast.targets))
            }
            Action::Activate(activate) => {
                let name = self.view().name(activate.source);
                let text = self.ability_text(activate.source, activate.ability);
                let x = if activate.x > 0 { format!(" X={}", activate.x) } else { String::new() };
                let asks = if activate.ask { ASKS } else { "" };
                format!("activate {name}: {text}{x}{}{asks}", targets(&activate.targets))
            }
        }
    }
}

/// The alternatives of an additional cost, and whether buyback is paid.
fn extra_costs(face: &CardFace) -> Vec<(u8, bool)> {
    let alternatives = face.abilities.iter().find_map(|ability| match ability {
        Ability::AdditionalCost(costs) => u8::try_from(costs.len()).ok(),
        _ => None,
    });
    let is_buyback = |ability: &Ability| matches!(ability, Ability::KeywordAbility(keyword) if matches!(**keyword, KeywordAbility::Buyback(_)));
    let buyback: &[bool] = if face.abilities.iter().any(is_buyback) { &[false, true] } else { &[false] };
    let alternatives = 0..alternatives.unwrap_or(1).max(1);
    alternatives.flat_map(|chosen| buyback.iter().map(move |paid| (chosen, *paid))).collect()
}

fn has_other_ways(face: &crate::card::CardFace) -> bool {
    face.abilities.iter().any(|ability| match ability {
        Ability::AlternativeCost { .. } => true,
        Ability::KeywordAbility(keyword) => matches!(
            **keyword,
            KeywordAbility::Evoke(_)
                | KeywordAbility::Dash(_)
                | KeywordAbility::Surge(_)
                | KeywordAbility::Spectacle(_)
        ),
        _ => false,
    })
}

/// Legal sets of modes: each single mode, or the first ones if more are needed.
fn mode_choices(body: &Body) -> Vec<Vec<u8>> {
    let Some(modes) = &body.modes else { return vec![Vec::new()] };
    let count = u8::try_from(modes.choices.len()).unwrap_or(u8::MAX);
    match modes.min {
        0 | 1 => (0..count).map(|mode| vec![mode]).collect(),
        several => (0..count)
            .filter(|first| first + several <= count)
            .map(|first| (first..first + several).collect())
            .collect(),
    }
}

/// Divides a total evenly; the first target gets the rest.
fn divide(choice: &mut TargetChoice, total: i32) {
    let count = i32::try_from(choice.entities.len()).unwrap_or(1);
    if count == 0 {
        return;
    }
    let part = total / count;
    choice.division = choice.entities.iter().map(|_| part).collect();
    if let Some(first) = choice.division.first_mut() {
        *first += total - part * count;
    }
}
