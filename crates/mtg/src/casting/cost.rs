//! Total cost of a spell (601.2f).

use crate::ability::{Ability, Cost, CostChangeAmount, Filter, Keyword, KeywordAbility, Zone};
use crate::action::CastAction;
use crate::card::{CardFace, CardType, ManaCost};
use crate::characteristics::AbilityClass;
use crate::context::Context;
use crate::costs::{CostPlan, MoveCauseTag, PaidPart};
use crate::decision::{Refusal, RefusalReason};
use crate::engine::MTGEngine;
use crate::faces::{find_keyword_ability, has_printed_keyword};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::mana::{Helpers, ManaNeed, ManaPurpose, ManaSource, spare_helpers};
use std::borrow::Cow;

impl MTGEngine {
    /// Total cost (601.2f) and its payment.
    pub(crate) fn plan_cast_cost(
        &self,
        player: PlayerId,
        cast: &CastAction,
        face: &CardFace,
        base: &Cost,
        context: &Context,
        sources: &[ManaSource],
    ) -> Result<CostPlan, Refusal> {
        let mut base = base.clone();
        base.x_color = face.abilities.iter().find_map(|ability| match ability {
            Ability::XColor(color) => Some(*color),
            _ => None,
        });
        let mut need = ManaNeed::of_cost(&base, cast.x);
        let mut parts = Cost { parts: base.parts.clone(), ..Cost::default() };
        let mut add = |cost: &Cost| {
            need.add(&cost.mana, cast.x);
            parts.parts.extend(cost.parts.iter().cloned());
        };
        for ability in &face.abilities {
            match ability {
                Ability::AdditionalCost(choices) => {
                    let chosen = choices.get(usize::from(cast.additional));
                    add(chosen.ok_or_else(|| Refusal::new("601.2b", RefusalReason::NoSuchWay))?);
                }
                Ability::KeywordAbility(keyword) => match &**keyword {
                    KeywordAbility::Buyback(cost) if cast.buyback => add(cost),
                    _ => {}
                },
                _ => {}
            }
        }
        kicker_costs(face, cast.kicked)?.into_iter().for_each(add);
        let has = |pick: &dyn Fn(&KeywordAbility) -> Option<()>| find_keyword_ability(face, pick).is_some();
        let buyback = has(&|keyword| matches!(keyword, KeywordAbility::Buyback(_)).then_some(()));
        if cast.buyback && !buyback {
            return Err(Refusal::new("601.2b", RefusalReason::NoSuchWay));
        }
        need.generic += self.generic_parts(&parts, context);
        let mut plan = CostPlan::default();
        self.plan_parts(&parts, context, &cast.payment.objects, &mut plan.parts)?;
        // "For each creature sacrificed this way" counts what the payment names (601.2f).
        let mut context = context.clone();
        context.paid = sacrificed_objects(&plan).into_iter().collect();
        self.change_cost(player, cast.card, face, &mut need, &context);
        let mut helpers = self.helpers(player, cast, face);
        // What is tapped for another part of the cost is not tapped for mana or convoke.
        let mut busy = tapped_objects(&plan);
        helpers.convoke.retain(|id| !busy.contains(id));
        if helpers.is_named {
            busy.extend(helpers.convoke.iter().copied());
        }
        let free: Cow<'_, [ManaSource]> = if busy.is_empty() {
            Cow::Borrowed(sources)
        } else {
            let mut free: Vec<ManaSource> =
                sources.iter().filter(|source| !busy.contains(&source.id)).cloned().collect();
            spare_helpers(&mut free, &busy);
            Cow::Owned(free)
        };
        let planned = self.planned_sources(&free, &cast.payment)?;
        plan.mana = self
            .plan_mana(player, &need, &planned, &helpers, ManaPurpose::Spell(cast.card))
            .ok_or_else(|| Refusal::new("601.2h", RefusalReason::CannotPayMana))?;
        self.keep_surplus(&mut plan.mana, &planned, &cast.payment);
        Ok(plan)
    }

    /// Creatures for convoke, artifacts for improvise, cards for delve.
    pub(super) fn helpers(&self, player: PlayerId, cast: &CastAction, face: &CardFace) -> Helpers {
        let view = self.view();
        let mut taps = Vec::new();
        let convoke = has_printed_keyword(face, Keyword::Convoke);
        let improvise = has_printed_keyword(face, Keyword::Improvise);
        if convoke || improvise {
            let able = self.state.battlefield.iter().copied().filter(|id| {
                let own = view.characteristics(*id);
                own.controller == player
                    && !self.state.object(*id).tapped
                    && ((convoke && own.is_creature()) || (improvise && own.is(CardType::Artifact)))
            });
            match &cast.payment.convoke {
                Some(named) => taps.extend(able.filter(|id| named.contains(id))),
                None => taps.extend(able),
            }
        }
        let mut cards = Vec::new();
        if has_printed_keyword(face, Keyword::Delve) {
            cards.extend(self.state.player(player).graveyard.iter().copied().filter(|id| *id != cast.card));
        }
        Helpers { convoke: taps, delve: cards, is_named: cast.payment.convoke.is_some() }
    }

    /// Increases, then reductions (601.2f).
    pub(super) fn change_cost(
        &self,
        player: PlayerId,
        card: ObjectId,
        face: &CardFace,
        need: &mut ManaNeed,
        context: &Context,
    ) {
        let view = self.view();
        let mut less = 0u32;
        let mut affinity = 0u32;
        let mut less_mana: Vec<ManaCost> = Vec::new();
        let mut apply = |change: &crate::ability::CostChange, inner: &Context| {
            let whose = view.matches(&change.who, Entity::Player(player), inner);
            let holds = change.condition.as_ref().is_none_or(|condition| view.condition(condition, inner));
            let is_aimed = |filter: &Filter| {
                let mut aims = context.targets.iter().flat_map(|choice| choice.entities.iter());
                aims.any(|target| view.matches(filter, *target, inner))
            };
            if change.abilities
                || !whose
                || !holds
                || !view.object_matches(&spell_filter(&change.spells), card, inner)
                || !target_filters(&change.spells).into_iter().all(is_aimed)
            {
                return;
            }
            match &change.change {
                CostChangeAmount::More(amount) => {
                    need.generic += u32::try_from(view.amount(amount, inner)).unwrap_or(0);
                }
                CostChangeAmount::MoreMana(mana) => need.add(mana, 0),
                CostChangeAmount::Less(amount) => {
                    less += u32::try_from(view.amount(amount, inner)).unwrap_or(0);
                }
                CostChangeAmount::LessMana(mana) => less_mana.push(mana.clone()),
                CostChangeAmount::Free => *need = ManaNeed::default(),
            }
        };
        if self.projection().has_class(AbilityClass::CostChange) {
            for id in &self.state.battlefield {
                let own = view.characteristics(*id);
                if !own.has_class(AbilityClass::CostChange) {
                    continue;
                }
                for reference in &own.abilities {
                    if let Some(Ability::CostChange(change)) = self.ability(*reference) {
                        apply(change, &Context::new(*id, own.controller));
                    }
                }
            }
        }
        for ability in &face.abilities {
            match ability {
                Ability::CostChange(change) if mentions_this(&change.spells) => apply(change, context),
                Ability::KeywordAbility(keyword) => {
                    if let KeywordAbility::Affinity(filter) = &**keyword {
                        let own = filter.clone().and(Filter::yours());
                        let count = view.select(&crate::ability::Selector::permanents(own), context).len();
                        affinity += u32::try_from(count).unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
        for mana in &less_mana {
            need.remove(mana);
        }
        need.generic = need.generic.saturating_sub(less + affinity);
    }
}

/// What a spell must have a target for, if its cost changes with its targets.
fn target_filters(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::HasTarget(wanted) => vec![wanted],
        Filter::All(parts) => parts.iter().flat_map(target_filters).collect(),
        _ => Vec::new(),
    }
}

/// Kicker costs that are paid. Of a card with two kickers each bit stands for one of them (702.33b).
pub(super) fn kicker_costs(face: &CardFace, kicked: u8) -> Result<Vec<&Cost>, Refusal> {
    let kickers: Vec<(&Cost, bool)> = face
        .abilities
        .iter()
        .filter_map(|ability| match ability {
            Ability::KeywordAbility(keyword) => match &**keyword {
                KeywordAbility::Kicker { cost, multi } => Some((cost, *multi)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let is_possible = match kickers.as_slice() {
        [] => kicked == 0,
        [(_, multi)] => kicked < 2 || *multi,
        several => u32::from(kicked) < 1 << several.len().min(7),
    };
    if !is_possible {
        return Err(Refusal::new("702.33d", RefusalReason::NoSuchWay));
    }
    Ok(match kickers.as_slice() {
        [(cost, _)] => vec![*cost; usize::from(kicked)],
        several => {
            let is_paid = |index: usize| u32::from(kicked) & (1 << index) != 0;
            several
                .iter()
                .enumerate()
                .filter(|(index, _)| is_paid(*index))
                .map(|(_, kicker)| kicker.0)
                .collect()
        }
    })
}

/// Permanents that a cost taps.
pub(super) fn tapped_objects(plan: &CostPlan) -> Vec<ObjectId> {
    let tapped = |part: &PaidPart| match part {
        PaidPart::Move(ids, Zone::Battlefield, _) => ids.clone(),
        PaidPart::Tap(id) => vec![*id],
        _ => Vec::new(),
    };
    plan.parts.iter().flat_map(tapped).collect()
}

/// Permanents that a cost sacrifices.
fn sacrificed_objects(plan: &CostPlan) -> Vec<ObjectId> {
    let sacrificed = |part: &PaidPart| match part {
        PaidPart::Move(ids, Zone::Graveyard, MoveCauseTag::Sacrifice) => ids.clone(),
        _ => Vec::new(),
    };
    plan.parts.iter().flat_map(sacrificed).collect()
}

/// Filters of cost changes say "spell"; the card is not one yet when the cost is determined.
pub(crate) fn spell_filter(filter: &Filter) -> Cow<'_, Filter> {
    // A spell that is being planned is not on the stack yet, and its targets are in the plan.
    let is_for_stack = |part: &Filter| matches!(part, Filter::Spell | Filter::HasTarget(_));
    match filter {
        Filter::Spell | Filter::HasTarget(_) => Cow::Owned(Filter::Any),
        Filter::All(parts) if parts.iter().any(is_for_stack) => {
            Cow::Owned(Filter::All(parts.iter().filter(|part| !is_for_stack(part)).cloned().collect()))
        }
        other => Cow::Borrowed(other),
    }
}

pub(crate) fn mentions_this(filter: &Filter) -> bool {
    match filter {
        Filter::This => true,
        Filter::All(parts) => parts.iter().any(mentions_this),
        _ => false,
    }
}
