//! Costs: which objects pay them, and paying them (118, 601.2f to 601.2h).

use crate::ability::{Amount, Cost, CostPart, CounterKind, Filter, PlayerRule, Zone};
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{CostProblem, Refusal, RefusalReason};
use crate::engine::MTGEngine;
use crate::event::{MoveCause, MoveEvent};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::mana::{Helpers, ManaPlan, ManaPurpose};
use crate::state::ObjectFlag;
use smallvec::SmallVec;

/// Part of a cost with what pays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PaidPart {
    Tap(ObjectId),
    Untap(ObjectId),
    Life(i32),
    Move(Vec<ObjectId>, Zone, MoveCauseTag),
    DiscardRandom(usize, Filter),
    Counters(ObjectId, CounterKind, i32),
    Loyalty(ObjectId, i32),
    Mill(i32),
    Energy(i32),
}

/// Reason of a move that pays a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveCauseTag {
    Sacrifice,
    Discard,
    Cycle,
    Other,
}

/// Everything that pays for a spell or ability.
#[derive(Debug, Clone, Default)]
pub(crate) struct CostPlan {
    pub mana: ManaPlan,
    pub parts: Vec<PaidPart>,
}

fn refuse(problem: CostProblem) -> Refusal {
    Refusal::new("118.3", RefusalReason::CannotPay(problem))
}

/// Objects of a payment that are not used yet.
struct Purse<'a> {
    given: &'a [ObjectId],
    used: SmallVec<[ObjectId; 4]>,
}

impl MTGEngine {
    /// Finds what pays the parts of a cost other than mana.
    pub(crate) fn plan_parts(
        &self,
        cost: &Cost,
        context: &Context,
        given: &[ObjectId],
        plan: &mut Vec<PaidPart>,
    ) -> Result<(), Refusal> {
        let mut purse = Purse { given, used: SmallVec::new() };
        for part in &cost.parts {
            let paid = self.plan_part(part, context, &mut purse)?;
            plan.extend(paid);
        }
        Ok(())
    }

    fn plan_part(
        &self,
        part: &CostPart,
        context: &Context,
        purse: &mut Purse<'_>,
    ) -> Result<Option<PaidPart>, Refusal> {
        let this = context.source;
        let player = context.controller;
        let object = self.state.object(this);
        let number = |amount: &Amount| self.view().amount(amount, context);
        Ok(Some(match part {
            CostPart::Tap => {
                if object.tapped {
                    return Err(Refusal::new("118.3", RefusalReason::AlreadyTapped));
                }
                if self.is_summoning_sick(this) {
                    return Err(Refusal::new("302.6", RefusalReason::SummoningSick));
                }
                PaidPart::Tap(this)
            }
            CostPart::Untap => {
                if !object.tapped || self.is_summoning_sick(this) {
                    return Err(refuse(CostProblem::Untap));
                }
                PaidPart::Untap(this)
            }
            CostPart::PayLife(amount) => {
                let amount = number(amount);
                if amount > 0 && self.payable_life(player) < amount {
                    return Err(refuse(CostProblem::Life));
                }
                PaidPart::Life(amount)
            }
            CostPart::SacrificeThis => {
                if !self.state.is_on_battlefield(this) {
                    return Err(refuse(CostProblem::Sacrifice));
                }
                PaidPart::Move(vec![this], Zone::Graveyard, MoveCauseTag::Sacrifice)
            }
            CostPart::Sacrifice { filter, count } => {
                let found = self.pick(
                    Zone::Battlefield,
                    filter,
                    number(count),
                    context,
                    purse,
                    CostProblem::Sacrifice,
                )?;
                PaidPart::Move(found, Zone::Graveyard, MoveCauseTag::Sacrifice)
            }
            CostPart::SacrificeAny(filter) => {
                let able = self.payable_objects(Zone::Battlefield, filter, context);
                let named = purse.given.iter().copied();
                let found: Vec<ObjectId> =
                    named.filter(|id| able.contains(id) && !purse.used.contains(id)).collect();
                purse.used.extend(found.iter().copied());
                PaidPart::Move(found, Zone::Graveyard, MoveCauseTag::Sacrifice)
            }
            CostPart::DiscardThis => {
                if object.zone != Zone::Hand {
                    return Err(refuse(CostProblem::Discard));
                }
                PaidPart::Move(vec![this], Zone::Graveyard, MoveCauseTag::Cycle)
            }
            CostPart::Discard { filter, count, random: true } => {
                let count = usize::try_from(number(count)).unwrap_or(0);
                if self.state.player(player).hand.iter().filter(|card| **card != this).count() < count {
                    return Err(refuse(CostProblem::Discard));
                }
                PaidPart::DiscardRandom(count, filter.clone())
            }
            CostPart::Discard { filter, count, random: false } => {
                let found =
                    self.pick(Zone::Hand, filter, number(count), context, purse, CostProblem::Discard)?;
                PaidPart::Move(found, Zone::Graveyard, MoveCauseTag::Discard)
            }
            CostPart::DiscardHand => {
                let hand =
                    self.state.player(player).hand.iter().copied().filter(|card| *card != this).collect();
                PaidPart::Move(hand, Zone::Graveyard, MoveCauseTag::Discard)
            }
            CostPart::ExileThis => PaidPart::Move(vec![this], Zone::Exile, MoveCauseTag::Other),
            CostPart::ExileFromGraveyard { filter, count } => {
                let found =
                    self.pick(Zone::Graveyard, filter, number(count), context, purse, CostProblem::Exile)?;
                PaidPart::Move(found, Zone::Exile, MoveCauseTag::Other)
            }
            CostPart::ExileFromHand { filter, count } => {
                let found =
                    self.pick(Zone::Hand, filter, number(count), context, purse, CostProblem::Exile)?;
                PaidPart::Move(found, Zone::Exile, MoveCauseTag::Other)
            }
            CostPart::ExilePermanent { filter, count } => {
                let zone = filter.exile_zone();
                let found = self.pick(zone, filter, number(count), context, purse, CostProblem::Exile)?;
                PaidPart::Move(found, Zone::Exile, MoveCauseTag::Other)
            }
            _ => return self.plan_rare_part(part, context, purse),
        }))
    }

    fn plan_rare_part(
        &self,
        part: &CostPart,
        context: &Context,
        purse: &mut Purse<'_>,
    ) -> Result<Option<PaidPart>, Refusal> {
        let this = context.source;
        let player = context.controller;
        let object = self.state.object(this);
        let number = |amount: &Amount| self.view().amount(amount, context);
        Ok(Some(match part {
            CostPart::ReturnThisToHand => PaidPart::Move(vec![this], Zone::Hand, MoveCauseTag::Other),
            CostPart::ReturnToHand { filter, count } => {
                let found =
                    self.pick(Zone::Battlefield, filter, number(count), context, purse, CostProblem::Return)?;
                PaidPart::Move(found, Zone::Hand, MoveCauseTag::Other)
            }
            CostPart::RemoveCounters { kind, count } => {
                let count = number(count);
                if object.counter(*kind) < count {
                    return Err(refuse(CostProblem::Counters));
                }
                PaidPart::Counters(this, *kind, -count)
            }
            CostPart::PutCounters { kind, count } => PaidPart::Counters(this, *kind, number(count)),
            CostPart::TapPermanents { filter, count } => {
                let filter = filter.clone().and(Filter::Untapped);
                let problem = CostProblem::TapPermanents;
                let found = self.pick(Zone::Battlefield, &filter, number(count), context, purse, problem)?;
                PaidPart::Move(found, Zone::Battlefield, MoveCauseTag::Other)
            }
            CostPart::TapPower(power) => PaidPart::Move(
                self.pick_power(i32::from(*power), context, purse)?,
                Zone::Battlefield,
                MoveCauseTag::Other,
            ),
            CostPart::RemoveCountersFrom { filter, kind, count } => {
                let count = number(count);
                let full = filter.clone().and(Filter::Counters(
                    Some(*kind),
                    crate::ability::Comparison::AtLeast,
                    Box::new(Amount::Fixed(count)),
                ));
                let found = self.pick(Zone::Battlefield, &full, 1, context, purse, CostProblem::Counters)?;
                PaidPart::Counters(found.first().copied().unwrap_or(this), *kind, -count)
            }
            CostPart::Loyalty(change) => self.plan_loyalty(this, i32::from(*change))?,
            CostPart::LoyaltyX => self.plan_loyalty(this, -context.x)?,
            CostPart::Mill(amount) => {
                let amount = number(amount);
                if self.state.player(player).library.len() < usize::try_from(amount).unwrap_or(0) {
                    return Err(refuse(CostProblem::Mill));
                }
                PaidPart::Mill(amount)
            }
            CostPart::Reveal { filter, count } => {
                self.pick(Zone::Hand, filter, number(count), context, purse, CostProblem::Reveal)?;
                return Ok(None);
            }
            CostPart::PayEnergy(amount) => {
                let amount = number(amount);
                if self.state.player(player).counter(CounterKind::Energy) < amount {
                    return Err(refuse(CostProblem::Energy));
                }
                PaidPart::Energy(amount)
            }
            _ => return Ok(None),
        }))
    }

    /// Life that a player can pay (119.4): none if the player cannot lose life (119.8).
    pub(crate) fn payable_life(&self, player: PlayerId) -> i32 {
        let is_fixed = self.has_rule(player, |rule| *rule == PlayerRule::CantLoseLife);
        if is_fixed { 0 } else { self.state.player(player).life }
    }

    fn plan_loyalty(&self, this: ObjectId, change: i32) -> Result<PaidPart, Refusal> {
        let object = self.state.object(this);
        if object.has_flag(ObjectFlag::LoyaltyUsed) {
            return Err(Refusal::new("606.3", RefusalReason::UsedUp));
        }
        if object.counter(CounterKind::Loyalty) + change < 0 {
            return Err(Refusal::new("606.6", RefusalReason::CannotPay(CostProblem::Loyalty)));
        }
        Ok(PaidPart::Loyalty(this, change))
    }

    /// Objects that a part of a cost may take.
    pub(crate) fn payable_objects(&self, zone: Zone, filter: &Filter, context: &Context) -> Vec<ObjectId> {
        let view = self.view();
        let own = |id: &ObjectId| view.controller(*id) == context.controller;
        // The spell or card that is being paid for cannot pay for itself.
        let free = |id: &ObjectId| zone == Zone::Battlefield || *id != context.source;
        let found = self.state.zone_objects(zone).into_iter();
        found.filter(|id| own(id) && free(id) && view.object_matches(filter, *id, context)).collect()
    }

    fn pick(
        &self,
        zone: Zone,
        filter: &Filter,
        count: i32,
        context: &Context,
        purse: &mut Purse<'_>,
        problem: CostProblem,
    ) -> Result<Vec<ObjectId>, Refusal> {
        let count = usize::try_from(count).unwrap_or(0);
        let mut able = self.payable_objects(zone, filter, context);
        able.retain(|id| !purse.used.contains(id));
        let wanted: Vec<ObjectId> =
            purse.given.iter().copied().filter(|id| able.contains(id)).take(count).collect();
        // What was not named is taken in the order of the zone, the source last.
        able.sort_by_key(|id| *id == context.source);
        let mut chosen = wanted;
        for id in able {
            if chosen.len() < count && !chosen.contains(&id) {
                chosen.push(id);
            }
        }
        if chosen.len() < count {
            return Err(refuse(problem));
        }
        purse.used.extend(chosen.iter().copied());
        Ok(chosen)
    }

    /// Creatures to tap with a total power of at least so much (702.122a).
    fn pick_power(
        &self,
        power: i32,
        context: &Context,
        purse: &mut Purse<'_>,
    ) -> Result<Vec<ObjectId>, Refusal> {
        let filter = Filter::All(vec![Filter::creature(), Filter::Untapped, Filter::Other]);
        let able = self.payable_objects(Zone::Battlefield, &filter, context);
        let total = |ids: &[ObjectId]| -> i32 { ids.iter().map(|id| self.view().power(*id).max(0)).sum() };
        if !purse.given.is_empty() {
            let legal = purse.given.iter().all(|id| able.contains(id));
            return if legal && total(purse.given) >= power {
                Ok(purse.given.to_vec())
            } else {
                Err(Refusal::new("702.122a", RefusalReason::CannotPay(CostProblem::TapPermanents)))
            };
        }
        let mut chosen: Vec<ObjectId> = Vec::new();
        for id in able {
            if total(&chosen) < power {
                chosen.push(id);
            }
        }
        if total(&chosen) < power { Err(refuse(CostProblem::TapPermanents)) } else { Ok(chosen) }
    }

    /// Generic mana that parts of a cost add.
    pub(crate) fn generic_parts(&self, cost: &Cost, context: &Context) -> u32 {
        let amount = |part: &CostPart| match part {
            CostPart::GenericMana(amount) => u32::try_from(self.view().amount(amount, context)).unwrap_or(0),
            _ => 0,
        };
        cost.parts.iter().map(amount).sum()
    }

    /// Pays a plan and returns the objects that paid.
    pub(crate) fn pay(&mut self, player: PlayerId, plan: &CostPlan) -> Vec<ObjectId> {
        self.pay_plan(player, &plan.mana);
        let before = self.shared_projection();
        let mut records: Vec<EventRecord> = Vec::new();
        let mut paid = Vec::new();
        for part in &plan.parts {
            self.pay_part(player, part, &mut records, &mut paid);
            self.touch();
        }
        self.collect_triggers(&before, &records);
        paid
    }

    fn pay_part(
        &mut self,
        player: PlayerId,
        part: &PaidPart,
        records: &mut Vec<EventRecord>,
        paid: &mut Vec<ObjectId>,
    ) {
        match part {
            PaidPart::Tap(id) => self.set_tapped(*id, true, records),
            PaidPart::Untap(id) => self.set_tapped(*id, false, records),
            PaidPart::Life(amount) => self.commit_loss(player, *amount, records),
            PaidPart::Move(ids, Zone::Battlefield, _) => {
                for id in ids {
                    self.set_tapped(*id, true, records);
                    paid.push(*id);
                }
            }
            PaidPart::Move(ids, zone, tag) => {
                let cause = match tag {
                    MoveCauseTag::Sacrifice => MoveCause::Sacrifice,
                    MoveCauseTag::Discard => MoveCause::Discard,
                    MoveCauseTag::Cycle => MoveCause::Cycle,
                    MoveCauseTag::Other => MoveCause::Other,
                };
                for id in ids {
                    let permanent = self.state.is_on_battlefield(*id);
                    let moved = self.commit_move(&MoveEvent::new(*id, *zone).cause(cause), records);
                    paid.push(if permanent { *id } else { moved.unwrap_or(*id) });
                }
            }
            PaidPart::DiscardRandom(count, _) => {
                for _ in 0..*count {
                    let hand = &self.state.player(player).hand;
                    let size = hand.len();
                    let position = self.state.random.below(size);
                    let Some(card) = self.state.player(player).hand.get(position).copied() else { break };
                    let moving = MoveEvent::new(card, Zone::Graveyard).cause(MoveCause::Discard);
                    paid.extend(self.commit_move(&moving, records));
                }
            }
            PaidPart::Counters(id, kind, change) => {
                if let Some(object) = self.state.object_mut(*id) {
                    object.add_counters(*kind, *change);
                    if *change < 0 && object.counter(*kind) == 0 {
                        let mut record = EventRecord::new(EventKind::LastCounter).subject(*id);
                        record.counter = Some(*kind);
                        records.push(record);
                    }
                }
            }
            PaidPart::Loyalty(id, change) => {
                if let Some(object) = self.state.object_mut(*id) {
                    object.add_counters(CounterKind::Loyalty, *change);
                    object.flags |= ObjectFlag::LoyaltyUsed.bit();
                }
            }
            PaidPart::Mill(amount) => {
                for _ in 0..*amount {
                    let Some(card) = self.state.player(player).library.last().copied() else { break };
                    self.commit_move(&MoveEvent::new(card, Zone::Graveyard).cause(MoveCause::Mill), records);
                }
            }
            PaidPart::Energy(amount) => {
                for entry in &mut self.state.player_mut(player).counters {
                    if entry.0 == CounterKind::Energy {
                        entry.1 -= amount;
                    }
                }
            }
        }
    }

    pub(crate) fn set_tapped(&mut self, id: ObjectId, tapped: bool, records: &mut Vec<EventRecord>) {
        if let Some(object) = self.state.object_mut(id)
            && object.tapped != tapped
        {
            object.tapped = tapped;
            let kind = if tapped { EventKind::Tapped } else { EventKind::Untapped };
            records.push(EventRecord::new(kind).subject(Entity::Object(id)));
            self.touch_circumstances();
        }
    }

    /// Plan for a cost that is paid on resolution: mana automatically, other parts as given.
    pub(crate) fn plan_cost(
        &self,
        cost: &Cost,
        context: &Context,
        given: &[ObjectId],
    ) -> Result<CostPlan, Refusal> {
        let mut plan = CostPlan::default();
        self.plan_parts(cost, context, given, &mut plan.parts)?;
        let mut need = crate::mana::ManaNeed::of_cost(cost, u32::try_from(context.x).unwrap_or(0));
        need.generic += self.generic_parts(cost, context);
        let sources = self.mana_sources(context.controller);
        plan.mana = self
            .plan_mana(context.controller, &need, &sources, &Helpers::default(), ManaPurpose::Other)
            .ok_or_else(|| Refusal::new("118.3", RefusalReason::CannotPayMana))?;
        Ok(plan)
    }
}
