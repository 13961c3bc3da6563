//! Paying: the plan of a payment is carried out.

use super::{Helpers, ManaNeed, ManaPlan, ManaPurpose};
use crate::ability::{Ability, CostPart, Effect, Instruction};
use crate::card::ManaCost;
use crate::context::{Context, EventKind, EventRecord};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, ObjectId, PlayerId};

impl MTGEngine {
    /// Pays a cost that was found payable.
    pub(crate) fn pay_mana_automatically(
        &mut self,
        player: PlayerId,
        cost: &ManaCost,
        _source: ObjectId,
    ) -> bool {
        let sources = self.mana_sources(player);
        let need = ManaNeed::new(cost, 0);
        let plan = self.plan_mana(player, &need, &sources, &Helpers::default(), ManaPurpose::Other);
        let Some(plan) = plan else { return false };
        self.pay_plan(player, &plan);
        true
    }

    /// Activates the mana abilities of a plan and spends the mana.
    pub(crate) fn pay_plan(&mut self, player: PlayerId, plan: &ManaPlan) {
        let mut records = Vec::new();
        for id in &plan.helpers {
            self.set_tapped(*id, true, &mut records);
        }
        for tap in &plan.taps {
            self.pay_mana_ability_cost(player, tap.source, tap.ability, &mut records);
        }
        for id in &plan.convoke {
            if let Some(object) = self.state.object_mut(*id) {
                object.tapped = true;
                records.push(EventRecord::new(EventKind::Tapped).subject(*id));
            }
        }
        for id in &plan.delve {
            let moving = crate::event::MoveEvent::new(*id, crate::ability::Zone::Exile);
            self.commit_move(&moving, &mut records);
        }
        let own = self.state.player_mut(player);
        for (have, (spend, more)) in own.mana.iter_mut().zip(plan.from_pool.iter().zip(&plan.surplus)) {
            *have = have.saturating_sub(*spend) + more;
        }
        let mut place = 0;
        own.restricted_mana.retain(|_| {
            place += 1;
            !plan.from_restricted.contains(&(place - 1))
        });
        own.restricted_mana.extend(plan.restricted_surplus.iter().cloned());
        if plan.life > 0 {
            self.commit_loss(player, plan.life, &mut records);
        }
        self.touch_circumstances();
        let before = self.shared_projection();
        self.collect_triggers(&before, &records);
    }

    /// Cost and side effects of a mana ability, without its mana.
    pub(crate) fn pay_mana_ability_cost(
        &mut self,
        player: PlayerId,
        id: ObjectId,
        reference: AbilityRef,
        records: &mut Vec<EventRecord>,
    ) {
        let Some(Ability::Activated(ability)) = self.ability(reference) else { return };
        let parts = ability.cost.parts.clone();
        let others: Vec<Instruction> = ability
            .body
            .effects
            .iter()
            .filter(|instruction| !matches!(instruction.effect, Effect::AddMana { .. }))
            .cloned()
            .collect();
        let context = Context::new(id, player);
        for part in &parts {
            match part {
                CostPart::Tap => {
                    if let Some(object) = self.state.object_mut(id) {
                        object.tapped = true;
                    }
                    self.touch_circumstances();
                    records.push(EventRecord::new(EventKind::Tapped).subject(id));
                    records.push(EventRecord::new(EventKind::TappedForMana).subject(id).player(player));
                }
                CostPart::PayLife(amount) => {
                    let amount = self.view().amount(amount, &context);
                    self.commit_loss(player, amount, records);
                }
                CostPart::RemoveCounters { kind, count } => {
                    let count = self.view().amount(count, &context);
                    self.remove_counters(id, Some(*kind), count);
                }
                CostPart::SacrificeThis => {
                    let moving = crate::event::MoveEvent::new(id, crate::ability::Zone::Graveyard)
                        .cause(crate::event::MoveCause::Sacrifice);
                    let before = self.shared_projection();
                    let mut own = Vec::new();
                    self.commit_move(&moving, &mut own);
                    self.collect_triggers(&before, &own);
                }
                _ => {}
            }
        }
        self.note_use(id, reference, 1);
        if !others.is_empty() {
            let queue = others.into_iter().rev().map(Box::new).map(crate::task::Operation::Run).collect();
            self.defer(crate::task::Frame { context, queue });
        }
    }
}
