//! Activated abilities: announcement and cost (602).

use super::{CastPlan, check_modes};
use crate::ability::{Ability, ActivatedAbility, CostChangeAmount, CostPart, PlayerRule, Zone};
use crate::action::ActivateAction;
use crate::characteristics::{AbilityClass, RuleFlag};
use crate::context::{Context, EventKind, EventRecord};
use crate::costs::CostPlan;
use crate::decision::{Refusal, RefusalReason};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::mana::{Helpers, ManaNeed, ManaPurpose, ManaSource, spare_helpers};
use crate::state::{ObjectKind, StackItem};
use crate::targets::target_specs;

/// After lands and creatures; see [`ManaSource::rank`].
const OWN_SOURCE_RANK: u8 = 4;

/// Activations of one ability in a turn for which nothing is paid. A loop that a player may end is not a
/// draw (104.4b), so it must have another end.
const MAX_FREE_ACTIVATIONS: u8 = 40;

/// Activations of any ability in a turn: a loop may also give back what it costs.
const MAX_ACTIVATIONS: u8 = 250;

impl MTGEngine {
    /// The activated ability of an object, if the player may activate it from where it is.
    pub(crate) fn find_activated(
        &self,
        player: PlayerId,
        source: ObjectId,
        reference: AbilityRef,
    ) -> Result<&ActivatedAbility, Refusal> {
        let object = self.state.object(source);
        if object.is_gone() {
            return Err(Refusal::new("400.7", RefusalReason::NoSuchObject));
        }
        let own = self.view().characteristics(source);
        let Some(Ability::Activated(ability)) =
            self.ability(reference).filter(|_| own.abilities.contains(&reference))
        else {
            return Err(Refusal::new("602.1", RefusalReason::NoSuchAbility));
        };
        let controls = self.view().controller(source) == player || ability.any_player;
        if ability.zone != object.zone || !controls {
            return Err(Refusal::new("602.2", RefusalReason::NoSuchAbility));
        }
        Ok(ability)
    }

    /// Checks an activation and finds its payment.
    pub(crate) fn plan_activation(
        &self,
        player: PlayerId,
        action: &ActivateAction,
        sources: &[ManaSource],
    ) -> Result<CastPlan, Refusal> {
        let ability = self.find_activated(player, action.source, action.ability)?;
        let mut context = Context::new(action.source, player);
        context.x = i32::try_from(action.x).unwrap_or(i32::MAX);
        self.check_activation(player, action, ability, &context)?;
        check_modes(&ability.body, &action.modes)?;
        let specs = target_specs(&ability.body, &action.modes);
        self.check_targets(&specs, &action.targets, &context)?;
        context.targets = action.targets.iter().cloned().collect();
        while context.targets.len() < specs.len() {
            context.targets.push(crate::context::TargetChoice::default());
        }
        let mut need = ManaNeed::of_cost(&ability.cost, action.x);
        need.generic += self.generic_parts(&ability.cost, &context);
        self.change_ability_cost(player, action.source, &mut need);
        let is_free = need.is_free() && ability.cost.parts.is_empty();
        self.check_loop(action, if is_free { MAX_FREE_ACTIVATIONS } else { MAX_ACTIVATIONS })?;
        let mut cost = CostPlan::default();
        self.plan_parts(&ability.cost, &context, &action.payment.objects, &mut cost.parts)?;
        // A permanent that taps itself for the cost cannot also be tapped for mana.
        let busy = |source: &&ManaSource| source.id == action.source;
        let taps =
            ability.cost.parts.iter().any(|part| matches!(part, CostPart::Tap | CostPart::SacrificeThis));
        let tapped = super::cost::tapped_objects(&cost);
        let mut free: Vec<ManaSource> = sources
            .iter()
            .filter(|source| !(tapped.contains(&source.id) || taps && busy(source)))
            .cloned()
            .collect();
        spare_helpers(&mut free, &tapped);
        if ability.is_mana_ability() {
            // Its own mana does not pay for it.
            free.retain(|source| source.id != action.source || !source.converts());
        }
        // A land that becomes a creature is to attack: its own mana is the last to be used.
        for source in free.iter_mut().filter(|source| source.id == action.source) {
            source.rank = OWN_SOURCE_RANK;
        }
        let planned = self.planned_sources(&free, &action.payment)?;
        cost.mana = self
            .plan_mana(player, &need, &planned, &Helpers::default(), ManaPurpose::Ability(action.source))
            .ok_or_else(|| Refusal::new("602.2b", RefusalReason::CannotPayMana))?;
        self.keep_surplus(&mut cost.mana, &planned, &action.payment);
        Ok(CastPlan { cost, context })
    }

    fn check_loop(&self, action: &ActivateAction, most: u8) -> Result<(), Refusal> {
        if self.uses_this_turn(action) < most {
            return Ok(());
        }
        Err(Refusal::new("104.4b", RefusalReason::Loop))
    }

    fn uses_this_turn(&self, action: &ActivateAction) -> u8 {
        let uses = &self.state.object(action.source).uses;
        uses.iter().find(|used| used.0 == action.ability).map_or(0, |used| used.1)
    }

    pub(super) fn check_activation(
        &self,
        player: PlayerId,
        action: &ActivateAction,
        ability: &ActivatedAbility,
        context: &Context,
    ) -> Result<(), Refusal> {
        if (ability.sorcery_speed || ability.cost.is_loyalty()) && !self.is_sorcery_time(player) {
            return Err(Refusal::new("602.5d", RefusalReason::SorceryTiming));
        }
        if let Some(condition) = &ability.condition
            && !self.view().condition(condition, context)
        {
            return Err(Refusal::new("602.5b", RefusalReason::ConditionFails));
        }
        if ability.per_turn.is_some_and(|limit| self.uses_this_turn(action) >= limit) {
            return Err(Refusal::new("602.5b", RefusalReason::UsedUp));
        }
        let forbidden = self.bars_activation(player, action.source);
        let is_split = !ability.is_mana_ability() && self.has_split_second();
        if forbidden
            || is_split
            || self.view().characteristics(action.source).has_rule(RuleFlag::CantActivate)
        {
            return Err(Refusal::new("602.5", RefusalReason::Forbidden));
        }
        Ok(())
    }

    /// Whether a rule keeps a player from activating abilities of an object.
    pub(crate) fn bars_activation(&self, player: PlayerId, source: ObjectId) -> bool {
        self.projection().rules.iter().any(|(who, rule, by)| match rule {
            PlayerRule::CantActivate(filter) => {
                *who == player && self.view().object_matches(filter, source, &Context::new(*by, player))
            }
            _ => false,
        })
    }

    pub(super) fn change_ability_cost(&self, player: PlayerId, source: ObjectId, need: &mut ManaNeed) {
        if !self.projection().has_class(AbilityClass::CostChange) {
            return;
        }
        let view = self.view();
        for id in &self.state.battlefield {
            for reference in &view.characteristics(*id).abilities {
                let Some(Ability::CostChange(change)) = self.ability(*reference) else { continue };
                let context = Context::new(*id, view.controller(*id));
                if !change.abilities
                    || !view.matches(&change.who, Entity::Player(player), &context)
                    || !view.object_matches(&change.spells, source, &context)
                {
                    continue;
                }
                match &change.change {
                    CostChangeAmount::More(amount) => {
                        need.generic += u32::try_from(view.amount(amount, &context)).unwrap_or(0);
                    }
                    CostChangeAmount::Less(amount) => {
                        let less = u32::try_from(view.amount(amount, &context)).unwrap_or(0);
                        need.generic = need.generic.saturating_sub(less);
                    }
                    _ => {}
                }
            }
        }
    }

    pub(super) fn carry_out_activation(&mut self, player: PlayerId, action: &ActivateAction, plan: CastPlan) {
        let Some(Ability::Activated(ability)) = self.ability(action.ability) else { return };
        let is_mana = ability.is_mana_ability();
        let taps = ability.cost.parts.contains(&CostPart::Tap);
        let effects = ability.body.effects.clone();
        let face = self.view().object(action.source).shown_face();
        let paid = self.pay(player, &plan.cost);
        self.note_use(action.source, action.ability, 1);
        let mut context = plan.context;
        context.paid = paid.into_iter().collect();
        if is_mana {
            // Mana abilities do not use the stack (605.3b).
            context.accepted = false;
            if taps {
                let record = EventRecord::new(EventKind::TappedForMana).subject(action.source).player(player);
                let before = self.shared_projection();
                self.collect_triggers(&before, std::slice::from_ref(&record));
                self.run_added_mana(&record);
            }
            self.add_mana_now(&effects, &context, action.mana);
            // The next operation of a queue is its last.
            let queue = effects
                .into_iter()
                .filter(|instruction| !matches!(instruction.effect, crate::ability::Effect::AddMana { .. }))
                .rev()
                .map(|instruction| crate::task::Operation::Run(Box::new(instruction)))
                .collect::<Vec<_>>();
            if !queue.is_empty() {
                self.defer(crate::task::Frame { context, queue });
            }
            return;
        }
        let object = self.state.add_object(ObjectKind::Ability, face, player, Zone::Stack);
        if let Some(own) = self.state.object_mut(object) {
            own.controller = player;
        }
        let modes = action.modes.iter().copied().collect();
        self.state.stack.push(StackItem { object, ability: Some(action.ability), modes, context });
        self.touch_circumstances();
        let record = EventRecord::new(EventKind::Activation).subject(action.source).player(player);
        let before = self.shared_projection();
        self.collect_triggers(&before, &[record]);
        self.record_targeting(object, &[]);
    }
}
