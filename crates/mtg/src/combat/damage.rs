//! Combat damage: who deals it when, and how it is divided (510).

use crate::ability::Keyword;
use crate::characteristics::RuleFlag;
use crate::decision::{Answer, Decision, DecisionKind, Refusal, RefusalReason};
use crate::engine::{Flow, MTGEngine};
use crate::event::Event;
use crate::ids::{Entity, ObjectId};
use crate::state::Attacker;
use crate::task::Task;
use smallvec::SmallVec;

impl MTGEngine {
    pub(super) fn strikes_first(&self, id: ObjectId) -> bool {
        let own = self.view().characteristics(id);
        own.has(Keyword::FirstStrike) || own.has(Keyword::DoubleStrike)
    }

    pub(crate) fn has_first_strikers(&self) -> bool {
        self.state.combat.attackers.iter().any(|attacker| {
            self.strikes_first(attacker.object) || attacker.blockers.iter().any(|id| self.strikes_first(*id))
        })
    }

    /// Whether a creature deals damage in this step (702.4b, 702.7b).
    pub(super) fn deals_now(&self, id: ObjectId, first: bool) -> bool {
        if !self.state.is_on_battlefield(id)
            || self.view().characteristics(id).has_rule(RuleFlag::DealsNoCombatDamage)
        {
            return false;
        }
        if first {
            return self.strikes_first(id);
        }
        !self.state.combat.first_strikers.contains(&id)
            || self.view().characteristics(id).has(Keyword::DoubleStrike)
    }

    pub(super) fn combat_power(&self, id: ObjectId) -> i32 {
        let own = self.view().characteristics(id);
        if own.has_rule(RuleFlag::DamageByToughness) { own.toughness } else { own.power }
    }

    /// Damage that is lethal for a blocker, seen from an attacker (702.2c, 702.19b).
    pub(super) fn lethal_for(&self, blocker: ObjectId, attacker: ObjectId) -> i32 {
        let own = self.view().characteristics(blocker);
        let left = (own.toughness - self.state.object(blocker).damage).max(0);
        if self.view().characteristics(attacker).has(Keyword::Deathtouch) { left.min(1) } else { left }
    }

    /// What is left of lethal damage after what other creatures assign in the same step (702.19b).
    fn still_lethal(&self, lethal: i32, to: ObjectId, events: &[Event]) -> i32 {
        let mut left = lethal;
        for event in events {
            if let Event::Damage { source, to: hurt, amount, .. } = event
                && *hurt == Entity::Object(to)
            {
                let deadly = self.view().characteristics(*source).has(Keyword::Deathtouch) && *amount > 0;
                left = if deadly { 0 } else { (left - amount).max(0) };
            }
        }
        left
    }

    pub(crate) fn run_combat_damage(&mut self, first: bool) -> Flow<()> {
        let attackers = self.state.combat.attackers.clone();
        let mut events = Vec::new();
        for attacker in &attackers {
            if self.deals_now(attacker.object, first) {
                self.assign_attacker_damage(attacker, &mut events)?;
            }
        }
        let mut blockers: Vec<ObjectId> = Vec::new();
        for blocker in attackers.iter().flat_map(|attacker| attacker.blockers.iter()) {
            if !blockers.contains(blocker) {
                blockers.push(*blocker);
            }
        }
        for blocker in blockers {
            if self.deals_now(blocker, first) {
                self.assign_blocker_damage(blocker, &attackers, &mut events)?;
            }
        }
        let strikers: SmallVec<[ObjectId; 4]> = attackers
            .iter()
            .flat_map(|attacker| attacker.blockers.iter().copied().chain([attacker.object]))
            .filter(|id| first && self.strikes_first(*id))
            .collect();
        self.apply(events)?;
        if first {
            self.state.combat.first_strikers = strikers;
        }
        self.state.tasks.push(Task::Priority);
        Ok(())
    }

    pub(super) fn assign_attacker_damage(
        &mut self,
        attacker: &Attacker,
        events: &mut Vec<Event>,
    ) -> Flow<()> {
        let source = attacker.object;
        let power = self.combat_power(source);
        if power <= 0 {
            return Ok(());
        }
        let own = self.view().characteristics(source);
        let trample = own.has(Keyword::Trample);
        let free = !attacker.blocked || own.has_rule(RuleFlag::DamageAsUnblocked);
        let defender = match attacker.defender {
            Entity::Player(_) => Some(attacker.defender),
            Entity::Object(id) => self.state.is_on_battlefield(id).then_some(attacker.defender),
        };
        let hit = |to: Entity, amount: i32| Event::Damage { source, to, amount, combat: true };
        if free || (attacker.blockers.is_empty() && trample) {
            events.extend(defender.map(|to| hit(to, power)));
            return Ok(());
        }
        let defender = defender.filter(|_| trample);
        let mut options: Vec<Entity> = attacker.blockers.iter().copied().map(Entity::Object).collect();
        let minimums: Vec<i32> = attacker
            .blockers
            .iter()
            .map(|blocker| self.still_lethal(self.lethal_for(*blocker, source), *blocker, events))
            .collect();
        options.extend(defender);
        if let [only] = options.as_slice() {
            events.push(hit(*only, power));
            return Ok(());
        }
        if options.is_empty() {
            return Ok(());
        }
        let mut decision = Decision::new(self.state.active, DecisionKind::DamageAssignment)
            .source(source)
            .entities(options.iter().copied());
        decision.total = power;
        decision.minimums = minimums;
        decision.subjects = vec![source];
        if let Answer::Division(amounts) = self.choose(decision)? {
            events.extend(
                options
                    .into_iter()
                    .zip(amounts)
                    .filter(|part| part.1 > 0)
                    .map(|(to, amount)| hit(to, amount)),
            );
        }
        Ok(())
    }

    pub(super) fn assign_blocker_damage(
        &mut self,
        blocker: ObjectId,
        attackers: &[Attacker],
        events: &mut Vec<Event>,
    ) -> Flow<()> {
        let power = self.combat_power(blocker);
        let fought: Vec<ObjectId> = attackers
            .iter()
            .filter(|attacker| {
                attacker.blockers.contains(&blocker) && self.state.is_on_battlefield(attacker.object)
            })
            .map(|attacker| attacker.object)
            .collect();
        if power <= 0 || fought.is_empty() {
            return Ok(());
        }
        let hit = |to: ObjectId, amount: i32| Event::Damage {
            source: blocker,
            to: to.into(),
            amount,
            combat: true,
        };
        if let [only] = fought.as_slice() {
            events.push(hit(*only, power));
            return Ok(());
        }
        let player = self.view().controller(blocker);
        let mut decision = Decision::new(player, DecisionKind::DamageAssignment)
            .source(blocker)
            .entities(fought.iter().copied().map(Entity::Object));
        decision.total = power;
        decision.subjects = vec![blocker];
        decision.minimums = fought.iter().map(|attacker| self.lethal_for(*attacker, blocker)).collect();
        if let Answer::Division(amounts) = self.choose(decision)? {
            events.extend(
                fought.into_iter().zip(amounts).filter(|part| part.1 > 0).map(|(to, amount)| hit(to, amount)),
            );
        }
        Ok(())
    }

    /// Checks a division of combat damage (510.1c, 702.19b).
    pub(crate) fn check_damage_division(&self, decision: &Decision, amounts: &[i32]) -> Result<(), Refusal> {
        if amounts.len() != decision.options.len() {
            let reason = RefusalReason::WrongCount {
                got: amounts.len(),
                min: u32::try_from(decision.options.len()).unwrap_or(0),
                max: u32::try_from(decision.options.len()).unwrap_or(0),
            };
            return Err(Refusal::new("510.1c", reason));
        }
        let got = amounts.iter().sum::<i32>();
        if got != decision.total || amounts.iter().any(|amount| *amount < 0) {
            return Err(Refusal::new("510.1c", RefusalReason::WrongTotal { got, want: decision.total }));
        }
        let beyond: i32 = amounts.iter().skip(decision.minimums.len()).sum();
        if beyond > 0 {
            for (position, (amount, least)) in amounts.iter().zip(&decision.minimums).enumerate() {
                if amount < least {
                    return Err(Refusal::new("702.19b", RefusalReason::TooSmall(position)));
                }
            }
        }
        Ok(())
    }

    /// Lethal damage to each blocker in order, the rest to the defender or the last blocker.
    #[must_use]
    pub fn usual_damage(decision: &Decision) -> Vec<i32> {
        let mut left = decision.total;
        let count = decision.options.len();
        let mut amounts: Vec<i32> = Vec::with_capacity(count);
        for position in 0..count {
            let last = position + 1 == count;
            let least = decision.minimums.get(position).copied().unwrap_or(left);
            let amount = if last { left } else { least.min(left) };
            amounts.push(amount);
            left -= amount;
        }
        amounts
    }
}
