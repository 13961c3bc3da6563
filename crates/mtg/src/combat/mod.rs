//! Combat: declarations with their restrictions and requirements, damage (506 to 511).
//!
//! A declaration is one decision with a validator. Restrictions must hold; of the requirements as
//! many as possible without paying costs must be obeyed (508.1d, 509.1c). Damage of a creature is
//! divided freely among what it fights (510.1c); with trample, blockers come first (702.19b).

mod block;
mod damage;

use crate::ability::{Cost, Keyword, PlayerRule, Restriction, TurnStatistic};
use crate::card::CardType;
use crate::characteristics::RuleFlag;
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Answer, Decision, DecisionKind, Refusal, RefusalReason};
use crate::engine::{Flow, MTGEngine};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::layers::find_restriction;
use crate::mana::{Helpers, ManaNeed, ManaPurpose, spare_helpers};
use crate::state::{Attacker, ObjectFlag};
use crate::task::Task;
use smallvec::SmallVec;

impl MTGEngine {
    /// Players and planeswalkers that can be attacked.
    #[must_use]
    pub fn defenders(&self) -> Vec<Entity> {
        let defender = self.state.active.opponent();
        let mut all = vec![Entity::Player(defender)];
        all.extend(self.state.battlefield.iter().copied().map(Entity::Object).filter(|entity| {
            entity.object().is_some_and(|id| {
                let own = self.view().characteristics(id);
                own.is(CardType::Planeswalker) && own.controller == defender
            })
        }));
        all
    }

    /// Why a creature cannot attack at all.
    ///
    /// # Errors
    /// The rule that forbids it.
    pub fn check_attacker(&self, player: PlayerId, id: ObjectId) -> Result<(), Refusal> {
        let own = self.view().characteristics(id);
        if !self.state.is_on_battlefield(id) || !own.is_creature() || own.controller != player {
            return Err(Refusal::new("508.1a", RefusalReason::CannotAttack));
        }
        if self.state.object(id).tapped {
            return Err(Refusal::new("508.1a", RefusalReason::AlreadyTapped));
        }
        if self.is_summoning_sick(id) && !own.has_rule(RuleFlag::AttacksAsThoughHaste) {
            return Err(Refusal::new("302.6", RefusalReason::SummoningSick));
        }
        let defender = own.has(Keyword::Defender) && !own.has_rule(RuleFlag::AttacksDespiteDefender);
        if defender || own.has_rule(RuleFlag::CantAttack) {
            return Err(Refusal::new("508.1c", RefusalReason::CannotAttack));
        }
        Ok(())
    }

    fn check_defender(&self, id: ObjectId, defender: Entity) -> Result<(), Refusal> {
        if !self.defenders().contains(&defender) {
            return Err(Refusal::new("508.1b", RefusalReason::IllegalDefender));
        }
        let view = self.view();
        let attacked = match defender {
            Entity::Player(player) => player,
            Entity::Object(planeswalker) => view.controller(planeswalker),
        };
        for reference in &view.characteristics(id).restrictions {
            if let Some((Restriction::CantAttackDefender(filter), context)) =
                find_restriction(&view, *reference)
                && view.matches(filter, Entity::Player(attacked), &context)
            {
                return Err(Refusal::new("508.1c", RefusalReason::CannotAttack));
            }
        }
        Ok(())
    }

    /// Cost of one creature attacking a player (508.1h).
    fn attack_cost(&self, id: ObjectId, defender: Entity) -> Vec<Cost> {
        let view = self.view();
        let costs =
            view.characteristics(id).restrictions.iter().filter_map(|reference| {
                match find_restriction(&view, *reference) {
                    Some((Restriction::AttackCost(cost), context))
                        if defender == Entity::Player(context.controller)
                            || context.controller == view.controller(id) =>
                    {
                        Some(cost.clone())
                    }
                    _ => None,
                }
            });
        costs.collect()
    }

    /// Checks a declaration of attackers.
    ///
    /// # Errors
    /// The rule that refuses it.
    pub fn check_attack(&self, player: PlayerId, attack: &[(ObjectId, Entity)]) -> Result<(), Refusal> {
        for (position, (id, defender)) in attack.iter().enumerate() {
            if attack.iter().take(position).any(|earlier| earlier.0 == *id) {
                return Err(Refusal::new("508.1a", RefusalReason::CannotAttack));
            }
            self.check_attacker(player, *id)?;
            self.check_defender(*id, *defender)?;
            if attack.len() == 1 && self.view().characteristics(*id).has_rule(RuleFlag::CantAttackAlone) {
                return Err(Refusal::new("508.1c", RefusalReason::CannotAttackAlone));
            }
        }
        self.check_attacker_count(attack)?;
        self.plan_attack_cost(player, attack)?;
        let obeyed = attack.iter().filter(|(id, _)| self.must_attack(*id)).count();
        if obeyed < self.most_required_attackers(player) {
            return Err(Refusal::new("508.1d", RefusalReason::RequirementIgnored));
        }
        Ok(())
    }

    /// "No more than two creatures can attack each combat" (508.1c).
    fn check_attacker_count(&self, attack: &[(ObjectId, Entity)]) -> Result<(), Refusal> {
        let is_exceeded = self.projection().rules.iter().any(|(who, rule, _)| match rule {
            PlayerRule::MaxAttackers(most) => attack.len() > usize::from(*most),
            PlayerRule::MaxAttackersHere(most) => {
                let here = attack.iter().filter(|(_, defender)| *defender == Entity::Player(*who));
                here.count() > usize::from(*most)
            }
            _ => false,
        });
        if is_exceeded { Err(Refusal::new("508.1c", RefusalReason::CannotAttack)) } else { Ok(()) }
    }

    /// The most creatures that can attack or block in one combat, if a rule limits them.
    pub(super) fn combatant_limit(&self, limit: impl Fn(&PlayerRule) -> Option<u8>) -> usize {
        let limits = self.projection().rules.iter().filter_map(|(_, rule, _)| limit(rule));
        limits.min().map_or(usize::MAX, usize::from)
    }

    fn must_attack(&self, id: ObjectId) -> bool {
        self.view().characteristics(id).has_rule(RuleFlag::MustAttack)
    }

    /// The greatest number of requirements that can be obeyed without paying.
    fn most_required_attackers(&self, player: PlayerId) -> usize {
        let able: Vec<ObjectId> = self
            .state
            .battlefield
            .iter()
            .copied()
            .filter(|id| {
                self.check_attacker(player, *id).is_ok()
                    && self.defenders().into_iter().any(|defender| {
                        self.check_defender(*id, defender).is_ok()
                            && self.attack_cost(*id, defender).is_empty()
                    })
            })
            .collect();
        let alone = able.len() == 1;
        let bound = able.iter().filter(|id| {
            let own = self.view().characteristics(**id);
            own.has_rule(RuleFlag::MustAttack) && !(alone && own.has_rule(RuleFlag::CantAttackAlone))
        });
        let most = self.combatant_limit(|rule| match rule {
            PlayerRule::MaxAttackers(most) | PlayerRule::MaxAttackersHere(most) => Some(*most),
            _ => None,
        });
        bound.count().min(most)
    }

    fn plan_attack_cost(
        &self,
        player: PlayerId,
        attack: &[(ObjectId, Entity)],
    ) -> Result<Option<crate::mana::ManaPlan>, Refusal> {
        let mut need = ManaNeed::default();
        for (id, defender) in attack {
            for cost in self.attack_cost(*id, *defender) {
                need.add(&cost.mana, 0);
                need.generic += self.generic_parts(&cost, &Context::new(*id, player));
            }
        }
        if need.is_free() {
            return Ok(None);
        }
        let attackers: Vec<ObjectId> = attack.iter().map(|(id, _)| *id).collect();
        let mut sources = self.mana_sources(player);
        sources.retain(|source| !attackers.contains(&source.id));
        spare_helpers(&mut sources, &attackers);
        let plan = self.plan_mana(player, &need, &sources, &Helpers::default(), ManaPurpose::Other);
        plan.map(Some).ok_or_else(|| Refusal::new("508.1j", RefusalReason::CannotPayMana))
    }

    /// Creatures that can be declared as attackers, alone or with others.
    #[must_use]
    pub fn possible_attackers(&self, player: PlayerId) -> Vec<ObjectId> {
        let all = self.state.battlefield.iter().copied();
        all.filter(|id| self.check_attacker(player, *id).is_ok()).collect()
    }

    pub(crate) fn run_declare_attackers(&mut self) -> Flow<()> {
        let player = self.state.active;
        let able = self.possible_attackers(player);
        let attack = if able.is_empty() {
            Vec::new()
        } else {
            let count = able.len();
            let decision = Decision::new(player, DecisionKind::DeclareAttackers)
                .range(0, count)
                .entities(able.into_iter().map(Entity::Object));
            match self.choose(decision)? {
                Answer::Attack(attack) => attack,
                _ => Vec::new(),
            }
        };
        if let Ok(Some(plan)) = self.plan_attack_cost(player, &attack) {
            self.pay_plan(player, &plan);
        }
        let before = self.shared_projection();
        let mut records = Vec::new();
        for (id, defender) in &attack {
            if !self.view().characteristics(*id).has(Keyword::Vigilance) {
                self.set_tapped(*id, true, &mut records);
            }
            if let Some(object) = self.state.object_mut(*id) {
                object.flags |= ObjectFlag::Attacked.bit();
            }
            self.state.combat.attackers.push(Attacker {
                object: *id,
                defender: *defender,
                blocked: false,
                blockers: SmallVec::new(),
            });
            let attacked = self.owner_of_damage(*defender);
            records.push(EventRecord::new(EventKind::Attack).subject(*id).other(*defender).player(attacked));
        }
        self.count(player, TurnStatistic::Attackers, i32::try_from(attack.len()).unwrap_or(0));
        self.state.combat.attackers_declared = true;
        self.touch_circumstances();
        self.collect_triggers(&before, &records);
        if self.state.combat.attackers.is_empty() {
            // No creature attacks: the rest of combat is skipped, but triggers of the step are not.
            let task = if self.state.triggers.is_empty() { Task::EndStep } else { Task::Priority };
            self.state.tasks.push(task);
        } else {
            self.state.tasks.push(Task::Priority);
        }
        Ok(())
    }

    /// A declaration with exactly the creatures that must attack.
    #[must_use]
    pub fn required_attack(&self, player: PlayerId) -> Vec<(ObjectId, Entity)> {
        let free = |id: ObjectId| {
            self.defenders().into_iter().find(|defender| {
                self.check_defender(id, *defender).is_ok() && self.attack_cost(id, *defender).is_empty()
            })
        };
        let able = self.possible_attackers(player);
        let bound = able.iter().copied().filter(|id| self.must_attack(*id));
        let mut attack: Vec<(ObjectId, Entity)> =
            bound.filter_map(|id| free(id).map(|defender| (id, defender))).collect();
        attack.truncate(self.most_required_attackers(player));
        if self.check_attack(player, &attack).is_err() {
            // A creature that cannot attack alone takes another one along.
            let partner = able.into_iter().find(|id| !attack.iter().any(|entry| entry.0 == *id));
            attack.extend(partner.and_then(|id| free(id).map(|defender| (id, defender))));
        }
        attack
    }
}
