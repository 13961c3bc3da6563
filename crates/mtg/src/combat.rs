//! Combat: declarations with their restrictions and requirements, damage (506 to 511).
//!
//! A declaration is one decision with a validator. Restrictions must hold; of the requirements as
//! many as possible without paying costs must be obeyed (508.1d, 509.1c). Damage of a creature is
//! divided freely among what it fights (510.1c); with trample, blockers come first (702.19b).

use crate::ability::{Ability, Cost, Filter, Keyword, KeywordAbility, Restriction, TurnStatistic};
use crate::card::CardType;
use crate::characteristics::{AbilityClass, RuleFlag};
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Answer, Decision, DecisionKind, Refusal, RefusalReason};
use crate::engine::{Flow, MTGEngine};
use crate::event::Event;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::layers::find_restriction;
use crate::mana::ManaNeed;
use crate::state::{Attacker, ObjectFlag};
use crate::task::Task;
use smallvec::SmallVec;

impl MTGEngine {
    /// Players and planeswalkers that can be attacked.
    pub(crate) fn defenders(&self) -> Vec<Entity> {
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
    pub(crate) fn check_attacker(&self, player: PlayerId, id: ObjectId) -> Result<(), Refusal> {
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
    pub(crate) fn check_attack(
        &self,
        player: PlayerId,
        attack: &[(ObjectId, Entity)],
    ) -> Result<(), Refusal> {
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
        self.plan_attack_cost(player, attack)?;
        let obeyed = attack.iter().filter(|(id, _)| self.must_attack(*id)).count();
        if obeyed < self.most_required_attackers(player) {
            return Err(Refusal::new("508.1d", RefusalReason::RequirementIgnored));
        }
        Ok(())
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
        bound.count()
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
        let sources: Vec<_> = self
            .mana_sources(player)
            .into_iter()
            .filter(|source| !attack.iter().any(|(id, _)| *id == source.id))
            .collect();
        let plan = self.plan_mana(player, &need, &sources, &[], &[]);
        plan.map(Some).ok_or_else(|| Refusal::new("508.1j", RefusalReason::CannotPayMana))
    }

    /// Creatures that can be declared as attackers, alone or with others.
    pub(crate) fn possible_attackers(&self, player: PlayerId) -> Vec<ObjectId> {
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
                object.flags |= ObjectFlag::Attacked as u16;
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
        self.touch();
        self.collect_triggers(&before, &records);
        if self.state.combat.attackers.is_empty() {
            // Nobody attacks: the rest of combat is skipped, but triggers of the step are not.
            let task = if self.state.triggers.is_empty() { Task::EndStep } else { Task::Priority };
            self.state.tasks.push(task);
        } else {
            self.state.tasks.push(Task::Priority);
        }
        Ok(())
    }

    /// Why a creature cannot block at all.
    pub(crate) fn check_blocker(&self, player: PlayerId, id: ObjectId) -> Result<(), Refusal> {
        let own = self.view().characteristics(id);
        if !self.state.is_on_battlefield(id) || !own.is_creature() || own.controller != player {
            return Err(Refusal::new("509.1a", RefusalReason::CannotBlock));
        }
        if self.state.object(id).tapped {
            return Err(Refusal::new("509.1a", RefusalReason::AlreadyTapped));
        }
        if own.has_rule(RuleFlag::CantBlock) || own.has(Keyword::Decayed) {
            return Err(Refusal::new("509.1b", RefusalReason::CannotBlock));
        }
        Ok(())
    }

    /// Whether evasion and restrictions let a creature block an attacker.
    pub(crate) fn can_block(&self, blocker: ObjectId, attacker: ObjectId) -> bool {
        let view = self.view();
        let one = view.characteristics(blocker);
        let two = view.characteristics(attacker);
        if two.has_rule(RuleFlag::CantBeBlocked) || two.has(Keyword::Shadow) != one.has(Keyword::Shadow) {
            return false;
        }
        if two.has(Keyword::Flying)
            && !one.has(Keyword::Flying)
            && !one.has(Keyword::Reach)
            && !one.has_rule(RuleFlag::BlocksAsFlying)
        {
            return false;
        }
        let artifact = one.is(CardType::Artifact);
        if (two.has(Keyword::Horsemanship) && !one.has(Keyword::Horsemanship))
            || (two.has(Keyword::Fear) && !artifact && !one.colors.contains(crate::card::Color::Black))
            || (two.has(Keyword::Intimidate) && !artifact && !one.colors.intersects(two.colors))
            || (two.has(Keyword::Skulk) && one.power > two.power)
        {
            return false;
        }
        if two.has_class(AbilityClass::Protection)
            && (self.is_protected_from(attacker, blocker) || self.has_landwalk(attacker, one.controller))
        {
            return false;
        }
        self.restrictions_allow_block(blocker, attacker)
    }

    fn has_landwalk(&self, attacker: ObjectId, defender: PlayerId) -> bool {
        let view = self.view();
        let context = Context::new(attacker, view.controller(attacker));
        let walks = |filter: &Filter| {
            self.state.battlefield.iter().any(|id| {
                let own = view.characteristics(*id);
                own.controller == defender
                    && own.is(CardType::Land)
                    && view.object_matches(filter, *id, &context)
            })
        };
        view.characteristics(attacker).abilities.iter().any(|reference| match self.ability(*reference) {
            Some(Ability::KeywordAbility(keyword)) => match &**keyword {
                KeywordAbility::Landwalk(filter) => walks(filter),
                _ => false,
            },
            _ => false,
        })
    }

    fn restrictions_allow_block(&self, blocker: ObjectId, attacker: ObjectId) -> bool {
        let view = self.view();
        let attacker_allows = view.characteristics(attacker).restrictions.iter().all(|reference| {
            let Some((restriction, mut context)) = find_restriction(&view, *reference) else { return true };
            context.iterated = Some(attacker.into());
            match restriction {
                Restriction::CantBeBlockedBy(filter) => !view.object_matches(filter, blocker, &context),
                Restriction::CantBeBlockedExceptBy(filter) => view.object_matches(filter, blocker, &context),
                _ => true,
            }
        });
        attacker_allows
            && view.characteristics(blocker).restrictions.iter().all(|reference| {
                match find_restriction(&view, *reference) {
                    Some((Restriction::CanBlockOnly(filter), context)) => {
                        view.object_matches(filter, attacker, &context)
                    }
                    Some((Restriction::CantBlockThat(filter), context)) => {
                        !view.object_matches(filter, attacker, &context)
                    }
                    _ => true,
                }
            })
    }

    fn restriction_number(&self, id: ObjectId, pick: impl Fn(&Restriction) -> Option<u8>) -> Option<u8> {
        let view = self.view();
        let numbers = view.characteristics(id).restrictions.iter();
        numbers.filter_map(|reference| pick(find_restriction(&view, *reference)?.0)).max()
    }

    /// Number of creatures that must block an attacker together, if any does.
    pub(crate) fn min_blockers(&self, attacker: ObjectId) -> usize {
        let least = self.restriction_number(attacker, |restriction| match restriction {
            Restriction::MinBlockers(least) => Some(*least),
            _ => None,
        });
        let menace = if self.view().characteristics(attacker).has(Keyword::Menace) { 2 } else { 1 };
        usize::from(least.unwrap_or(1)).max(menace)
    }

    fn max_blocked(&self, blocker: ObjectId) -> usize {
        let more = self.restriction_number(blocker, |restriction| match restriction {
            Restriction::BlocksAdditional(more) => Some(*more),
            _ => None,
        });
        1 + usize::from(more.unwrap_or(0))
    }

    /// Checks a declaration of blockers.
    pub(crate) fn check_block(
        &self,
        player: PlayerId,
        block: &[(ObjectId, ObjectId)],
    ) -> Result<(), Refusal> {
        self.check_block_restrictions(player, block)?;
        if self.requirements_obeyed(block) < self.most_block_requirements(player) {
            return Err(Refusal::new("509.1c", RefusalReason::RequirementIgnored));
        }
        Ok(())
    }

    fn check_block_restrictions(
        &self,
        player: PlayerId,
        block: &[(ObjectId, ObjectId)],
    ) -> Result<(), Refusal> {
        let mut blockers: SmallVec<[ObjectId; 8]> = SmallVec::new();
        for (position, (blocker, attacker)) in block.iter().enumerate() {
            self.check_blocker(player, *blocker)?;
            if self.state.attacker(*attacker).is_none() {
                return Err(Refusal::new("509.1a", RefusalReason::NoSuchObject));
            }
            let times = block.iter().filter(|pair| pair.0 == *blocker).count();
            let repeated = block.iter().take(position).any(|pair| pair == &(*blocker, *attacker));
            if repeated || times > self.max_blocked(*blocker) || !self.can_block(*blocker, *attacker) {
                return Err(Refusal::new("509.1b", RefusalReason::CannotBlockThat));
            }
            if !blockers.contains(blocker) {
                blockers.push(*blocker);
            }
        }
        for attacker in &self.state.combat.attackers {
            let count = block.iter().filter(|pair| pair.1 == attacker.object).count();
            let most = self.restriction_number(attacker.object, |restriction| match restriction {
                Restriction::MaxBlockers(most) => Some(*most),
                _ => None,
            });
            if count > 0
                && (count < self.min_blockers(attacker.object)
                    || most.is_some_and(|most| count > usize::from(most)))
            {
                return Err(Refusal::new("509.1b", RefusalReason::BlockerCount));
            }
        }
        if let [alone] = blockers.as_slice()
            && self.view().characteristics(*alone).has_rule(RuleFlag::CantBlockAlone)
        {
            return Err(Refusal::new("509.1b", RefusalReason::CannotBlockAlone));
        }
        Ok(())
    }

    fn requirements_obeyed(&self, block: &[(ObjectId, ObjectId)]) -> usize {
        let mut count = 0;
        for (position, (blocker, attacker)) in block.iter().enumerate() {
            let first = !block.iter().take(position).any(|pair| pair.0 == *blocker);
            count +=
                usize::from(first && self.view().characteristics(*blocker).has_rule(RuleFlag::MustBlock));
            let own = self.view().characteristics(*attacker);
            count += usize::from(own.has_rule(RuleFlag::MustBeBlockedByAll));
            let first = !block.iter().take(position).any(|pair| pair.1 == *attacker);
            count += usize::from(first && own.has_rule(RuleFlag::MustBeBlocked));
        }
        count
    }

    /// The greatest number of requirements that a legal declaration can obey, found by trying
    /// blockers one after the other; each takes the attacker that obeys most.
    fn most_block_requirements(&self, player: PlayerId) -> usize {
        let attackers: SmallVec<[ObjectId; 8]> =
            self.state.combat.attackers.iter().map(|attacker| attacker.object).collect();
        let any = attackers.iter().any(|id| {
            let own = self.view().characteristics(*id);
            own.has_rule(RuleFlag::MustBeBlocked) || own.has_rule(RuleFlag::MustBeBlockedByAll)
        });
        let able = self.possible_blockers(player);
        let bound = able.iter().any(|id| self.view().characteristics(*id).has_rule(RuleFlag::MustBlock));
        if !any && !bound {
            return 0;
        }
        let mut block: Vec<(ObjectId, ObjectId)> = Vec::new();
        loop {
            let current = self.requirements_obeyed(&block);
            let mut best: Option<(usize, Vec<(ObjectId, ObjectId)>)> = None;
            for attacker in &attackers {
                let free: Vec<ObjectId> = able
                    .iter()
                    .copied()
                    .filter(|id| !block.iter().any(|pair| pair.0 == *id) && self.can_block(*id, *attacker))
                    .collect();
                let present = block.iter().filter(|pair| pair.1 == *attacker).count();
                let need = self.min_blockers(*attacker).saturating_sub(present).max(1);
                if free.len() < need {
                    continue;
                }
                let mut trial = block.clone();
                trial.extend(free.iter().take(need).map(|id| (*id, *attacker)));
                let value = self.requirements_obeyed(&trial);
                if value > current
                    && self.check_block_restrictions(player, &trial).is_ok()
                    && best.as_ref().is_none_or(|known| value > known.0)
                {
                    best = Some((value, trial));
                }
            }
            match best {
                Some((_, better)) => block = better,
                None => return current,
            }
        }
    }

    /// A declaration that obeys as many requirements as the rules demand.
    #[must_use]
    pub fn required_block(&self, player: PlayerId) -> Vec<(ObjectId, ObjectId)> {
        let mut block: Vec<(ObjectId, ObjectId)> = Vec::new();
        if self.check_block(player, &block).is_ok() {
            return block;
        }
        let able = self.possible_blockers(player);
        for _ in 0..able.len() {
            for attacker in &self.state.combat.attackers {
                let free = able.iter().copied().filter(|id| {
                    !block.iter().any(|pair| pair.0 == *id) && self.can_block(*id, attacker.object)
                });
                let need = self.min_blockers(attacker.object);
                let mut trial = block.clone();
                trial.extend(free.take(need).map(|id| (id, attacker.object)));
                if self.requirements_obeyed(&trial) > self.requirements_obeyed(&block)
                    && self.check_block_restrictions(player, &trial).is_ok()
                {
                    block = trial;
                }
            }
            if self.check_block(player, &block).is_ok() {
                break;
            }
        }
        block
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
        if self.check_attack(player, &attack).is_err() {
            // A creature that cannot attack alone takes another one along.
            let partner = able.into_iter().find(|id| !attack.iter().any(|entry| entry.0 == *id));
            attack.extend(partner.and_then(|id| free(id).map(|defender| (id, defender))));
        }
        attack
    }

    pub(crate) fn possible_blockers(&self, player: PlayerId) -> Vec<ObjectId> {
        let all = self.state.battlefield.iter().copied();
        all.filter(|id| {
            self.check_blocker(player, *id).is_ok()
                && self.state.combat.attackers.iter().any(|attacker| self.can_block(*id, attacker.object))
        })
        .collect()
    }

    pub(crate) fn run_declare_blockers(&mut self) -> Flow<()> {
        let player = self.state.active.opponent();
        let able = self.possible_blockers(player);
        let block = if able.is_empty() {
            Vec::new()
        } else {
            let count = able.len();
            let mut decision = Decision::new(player, DecisionKind::DeclareBlockers)
                .range(0, count)
                .entities(able.into_iter().map(Entity::Object));
            decision.subjects = self.state.combat.attackers.iter().map(|attacker| attacker.object).collect();
            match self.choose(decision)? {
                Answer::Block(block) => block,
                _ => Vec::new(),
            }
        };
        let mut records = Vec::new();
        for (blocker, attacker) in &block {
            if let Some(object) = self.state.object_mut(*blocker) {
                object.flags |= ObjectFlag::Blocked as u16;
            }
            if let Some(entry) =
                self.state.combat.attackers.iter_mut().find(|entry| entry.object == *attacker)
            {
                entry.blocked = true;
                entry.blockers.push(*blocker);
            }
            records
                .push(EventRecord::new(EventKind::Block).subject(*blocker).other(*attacker).player(player));
            records
                .push(EventRecord::new(EventKind::Blocked).subject(*attacker).other(*blocker).player(player));
        }
        for attacker in &self.state.combat.attackers {
            let kind = if attacker.blocked { EventKind::Blocked } else { EventKind::Unblocked };
            records.push(EventRecord::new(kind).subject(attacker.object).player(player));
        }
        self.state.combat.blockers_declared = true;
        self.touch();
        let before = self.shared_projection();
        self.collect_triggers(&before, &records);
        self.state.tasks.push(Task::Priority);
        Ok(())
    }

    fn strikes_first(&self, id: ObjectId) -> bool {
        let own = self.view().characteristics(id);
        own.has(Keyword::FirstStrike) || own.has(Keyword::DoubleStrike)
    }

    pub(crate) fn has_first_strikers(&self) -> bool {
        self.state.combat.attackers.iter().any(|attacker| {
            self.strikes_first(attacker.object) || attacker.blockers.iter().any(|id| self.strikes_first(*id))
        })
    }

    /// Whether a creature deals damage in this step (702.4b, 702.7b).
    fn deals_now(&self, id: ObjectId, first: bool) -> bool {
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

    fn combat_power(&self, id: ObjectId) -> i32 {
        let own = self.view().characteristics(id);
        if own.has_rule(RuleFlag::DamageByToughness) { own.toughness } else { own.power }
    }

    /// Damage that is lethal for a blocker, seen from an attacker (702.2c, 702.19b).
    fn lethal_for(&self, blocker: ObjectId, attacker: ObjectId) -> i32 {
        let own = self.view().characteristics(blocker);
        let left = (own.toughness - self.state.object(blocker).damage).max(0);
        if self.view().characteristics(attacker).has(Keyword::Deathtouch) { left.min(1) } else { left }
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

    fn assign_attacker_damage(&mut self, attacker: &Attacker, events: &mut Vec<Event>) -> Flow<()> {
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
        let minimums: Vec<i32> =
            attacker.blockers.iter().map(|blocker| self.lethal_for(*blocker, source)).collect();
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

    fn assign_blocker_damage(
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
