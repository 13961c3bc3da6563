//! Declaration of blockers (509).

use crate::ability::{Ability, Filter, Keyword, KeywordAbility, PlayerRule, Restriction};
use crate::card::CardType;
use crate::characteristics::{AbilityClass, RuleFlag};
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Answer, Decision, DecisionKind, Refusal, RefusalReason};
use crate::engine::{Flow, MTGEngine};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::layers::find_restriction;
use crate::state::ObjectFlag;
use crate::task::Task;
use smallvec::SmallVec;

impl MTGEngine {
    /// Why a creature cannot block at all.
    pub fn check_blocker(&self, player: PlayerId, id: ObjectId) -> Result<(), Refusal> {
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
    #[must_use]
    pub fn can_block(&self, blocker: ObjectId, attacker: ObjectId) -> bool {
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

    pub(super) fn has_landwalk(&self, attacker: ObjectId, defender: PlayerId) -> bool {
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

    pub(super) fn restrictions_allow_block(&self, blocker: ObjectId, attacker: ObjectId) -> bool {
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

    pub(super) fn restriction_number(
        &self,
        id: ObjectId,
        pick: impl Fn(&Restriction) -> Option<u8>,
    ) -> Option<u8> {
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

    /// How many attackers a creature can block at once.
    #[must_use]
    pub fn block_limit(&self, blocker: ObjectId) -> usize {
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

    pub(super) fn check_block_restrictions(
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
            if repeated || times > self.block_limit(*blocker) || !self.can_block(*blocker, *attacker) {
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
        let most = self.combatant_limit(|rule| match rule {
            PlayerRule::MaxBlockers(most) => Some(*most),
            _ => None,
        });
        if blockers.len() > most {
            return Err(Refusal::new("509.1b", RefusalReason::BlockerCount));
        }
        if let [alone] = blockers.as_slice()
            && self.view().characteristics(*alone).has_rule(RuleFlag::CantBlockAlone)
        {
            return Err(Refusal::new("509.1b", RefusalReason::CannotBlockAlone));
        }
        Ok(())
    }

    pub(super) fn requirements_obeyed(&self, block: &[(ObjectId, ObjectId)]) -> usize {
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
    pub(super) fn most_block_requirements(&self, player: PlayerId) -> usize {
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

    /// Creatures that can block one of the attackers.
    #[must_use]
    pub fn possible_blockers(&self, player: PlayerId) -> Vec<ObjectId> {
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
                object.flags |= ObjectFlag::Blocked.bit();
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
        self.touch_circumstances();
        let before = self.shared_projection();
        self.collect_triggers(&before, &records);
        self.state.tasks.push(Task::Priority);
        Ok(())
    }
}
