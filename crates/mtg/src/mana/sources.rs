//! Sources of mana: what permanents can add now, with what triggered mana abilities add to it.

use super::{ManaDemand, ManaOption, ManaSource, kinds_in, symbol_mask};
use crate::ability::{Ability, ActivatedAbility, CostPart, Effect, Filter, ManaOutput, Zone};
use crate::card::{CardType, ManaKind, ManaSymbol};
use crate::characteristics::AbilityClass;
use crate::context::{Context, EventKind, EventRecord};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, ObjectId, PlayerId};
use crate::task::{Frame, Operation};
use smallvec::SmallVec;

/// Activations of an ability without a tap that one payment may use.
const MAX_REPEATED_USES: i32 = 8;

/// Mana of an output: kinds of which one is chosen, how much of it, and a fixed list.
type OutputMana = (u8, u8, SmallVec<[ManaKind; 2]>);

impl MTGEngine {
    /// Sources of mana that a player can use now.
    pub(crate) fn mana_sources(&self, player: PlayerId) -> Vec<ManaSource> {
        let mut sources = Vec::new();
        let view = self.view();
        let wanted = self.wanted_mana(player);
        for id in &self.state.battlefield {
            let own = view.characteristics(*id);
            if own.controller != player || !own.has_class(AbilityClass::Mana) {
                continue;
            }
            let rank = u8::from(own.is_creature()) * 2 + u8::from(!own.is(CardType::Land));
            let mut options: SmallVec<[ManaOption; 2]> = SmallVec::new();
            for reference in &own.abilities {
                let Some(Ability::Activated(ability)) = self.ability(*reference) else { continue };
                if !ability.is_mana_ability() || !self.can_activate_mana(*id, *reference, ability, player) {
                    continue;
                }
                let Some(option) = self.mana_option(*id, *reference, ability, player) else { continue };
                let taps = ability.cost.parts.contains(&CostPart::Tap);
                let added = if taps { self.added_mana(*id, player) } else { Vec::new() };
                // Counters can be removed several times.
                for _ in 1..self.repeated_uses(*id, ability) {
                    let options = std::iter::once(option.clone()).collect();
                    sources.push(ManaSource { id: *id, options, rank, wanted });
                }
                options.extend(with_added_mana(option, &added));
            }
            if !options.is_empty() {
                sources.push(ManaSource { id: *id, options, rank, wanted });
            }
        }
        sources
    }

    /// The kinds of mana that the cards in hand need, so that a payment leaves them.
    fn wanted_mana(&self, player: PlayerId) -> ManaDemand {
        let mut wanted = ManaDemand::default();
        for card in &self.state.player(player).hand {
            let cost = self.state.faces.get(self.state.object(*card).face);
            let Some(cost) = cost.and_then(|face| face.face.mana_cost.as_ref()) else { continue };
            let mask = cost.symbols.iter().fold(0, |mask, symbol| mask | symbol_mask(*symbol));
            for (index, count) in wanted.iter_mut().enumerate() {
                *count += u8::from(mask & (1 << index) != 0);
            }
        }
        wanted
    }

    /// Whether a mana ability can be activated now; its mana cost is not looked at.
    pub(crate) fn can_activate_mana(
        &self,
        id: ObjectId,
        reference: AbilityRef,
        ability: &ActivatedAbility,
        player: PlayerId,
    ) -> bool {
        let object = self.state.object(id);
        let own = self.view().characteristics(id);
        if own.has_rule(crate::characteristics::RuleFlag::CantActivate) || self.bars_activation(player, id) {
            return false;
        }
        let context = Context::new(id, player);
        let payable = ability.cost.parts.iter().all(|part| match part {
            CostPart::Tap => !object.tapped && !self.is_summoning_sick(id),
            CostPart::SacrificeThis => true,
            CostPart::PayLife(amount) => self.payable_life(player) >= self.view().amount(amount, &context),
            CostPart::RemoveCounters { kind, count } => {
                object.counter(*kind) >= self.view().amount(count, &context)
            }
            CostPart::TapPermanents { .. } => true,
            _ => false,
        });
        let used = object.uses.iter().find(|used| used.0 == reference).map_or(0, |used| used.1);
        payable
            && ability.cost.mana.x_count() == 0
            && (!ability.sorcery_speed || self.is_sorcery_time(player))
            && ability.per_turn.is_none_or(|limit| used < limit)
            && ability.condition.as_ref().is_none_or(|condition| self.view().condition(condition, &context))
    }

    fn mana_option(
        &self,
        id: ObjectId,
        reference: AbilityRef,
        ability: &ActivatedAbility,
        player: PlayerId,
    ) -> Option<ManaOption> {
        let context = self.context_of(id);
        let is_plain = |part: &CostPart| matches!(part, CostPart::Tap | CostPart::TapPermanents { .. });
        let simple = ability.cost.parts.iter().all(is_plain) && ability.body.effects.len() == 1;
        let (output, only) =
            ability.body.effects.iter().find_map(|instruction| match &instruction.effect {
                Effect::AddMana { mana, only, .. } => Some((mana, only)),
                _ => None,
            })?;
        let (mask, amount, list) = self.mana_output(output, &context);
        let (helpers, helper_count) = self.mana_helpers(id, ability, player)?;
        (mask != 0 && amount > 0).then_some(ManaOption {
            ability: reference,
            mask,
            amount,
            list,
            costly: !simple,
            input: unit_symbols(&ability.cost.mana.symbols),
            helpers,
            helper_count,
            only: only.clone().map(Box::new),
        })
    }

    /// Permanents of which a mana ability taps some, those that add no mana first; none if they do not
    /// suffice.
    fn mana_helpers(
        &self,
        id: ObjectId,
        ability: &ActivatedAbility,
        player: PlayerId,
    ) -> Option<(SmallVec<[ObjectId; 4]>, usize)> {
        let part = ability.cost.parts.iter().find_map(|part| match part {
            CostPart::TapPermanents { filter, count } => Some((filter, count)),
            _ => None,
        });
        let Some((filter, count)) = part else { return Some((SmallVec::new(), 0)) };
        let context = Context::new(id, player);
        let count = usize::try_from(self.view().amount(count, &context)).unwrap_or(0);
        let filter = filter.clone().and(Filter::Untapped);
        let mut able = self.payable_objects(Zone::Battlefield, &filter, &context);
        if ability.cost.parts.contains(&CostPart::Tap) {
            able.retain(|other| *other != id);
        }
        able.sort_by_key(|other| self.view().characteristics(*other).has_class(AbilityClass::Mana));
        (count > 0 && able.len() >= count).then(|| (able.into_iter().collect(), count))
    }

    /// How often one payment may use an ability: more than once if it only removes counters.
    fn repeated_uses(&self, id: ObjectId, ability: &ActivatedAbility) -> i32 {
        let [CostPart::RemoveCounters { kind, count }] = ability.cost.parts.as_slice() else { return 1 };
        let each = self.view().amount(count, &self.context_of(id));
        if each < 1 || ability.per_turn.is_some() || !ability.cost.mana.is_empty() {
            return 1;
        }
        (self.state.object(id).counter(*kind) / each).clamp(1, MAX_REPEATED_USES)
    }

    /// Triggered mana abilities that see a permanent being tapped for mana: ability, with its context.
    fn added_abilities(&self, record: &EventRecord) -> Vec<(AbilityRef, Context)> {
        let mut found = Vec::new();
        if self.projection().triggers & EventKind::TappedForMana.bit() == 0 {
            return found;
        }
        let view = self.view();
        for id in &self.state.battlefield {
            for reference in &view.characteristics(*id).abilities {
                let Some(Ability::Triggered(ability)) = self.ability(*reference) else { continue };
                let mut context = self.context_of(*id);
                if !ability.is_mana_ability()
                    || !ability.events.iter().any(|event| self.pattern_matches(event, record, &context))
                {
                    continue;
                }
                context.event = Some(Box::new(record.clone()));
                let holds = ability.condition.as_ref();
                if holds.is_none_or(|condition| view.condition(condition, &context)) {
                    found.push((*reference, context));
                }
            }
        }
        found
    }

    /// What triggered mana abilities add for a player when a permanent is tapped for mana (605.1b).
    fn added_mana(&self, id: ObjectId, player: PlayerId) -> Vec<OutputMana> {
        let record = EventRecord::new(EventKind::TappedForMana).subject(id).player(player);
        let mut added = Vec::new();
        for (reference, context) in self.added_abilities(&record) {
            let Some(Ability::Triggered(ability)) = self.ability(reference) else { continue };
            for instruction in &ability.body.effects {
                if let Effect::AddMana { who, mana, only: None } = &instruction.effect
                    && self.player_of(who, &context) == player
                    && !matches!(mana, ManaOutput::LikeLands { .. })
                {
                    added.push(self.mana_output(mana, &context));
                }
            }
        }
        added
    }

    /// Lets triggered mana abilities add their mana: they do not use the stack (605.4a).
    pub(crate) fn run_added_mana(&mut self, record: &EventRecord) {
        for (reference, context) in self.added_abilities(record) {
            let Some(Ability::Triggered(ability)) = self.ability(reference) else { continue };
            let queue =
                ability.body.effects.iter().rev().cloned().map(Box::new).map(Operation::Run).collect();
            self.defer(Frame { context, queue });
        }
    }
}

/// The symbols of a mana cost, a generic one for each mana.
fn unit_symbols(symbols: &[ManaSymbol]) -> SmallVec<[ManaSymbol; 2]> {
    let mut units = SmallVec::new();
    for symbol in symbols {
        match symbol {
            ManaSymbol::Generic(amount) => {
                units.extend(std::iter::repeat_n(ManaSymbol::Generic(1), usize::from(*amount)));
            }
            other => units.push(*other),
        }
    }
    units
}

/// The option with the mana that is added to its own, for each choice of mana an option.
fn with_added_mana(option: ManaOption, added: &[OutputMana]) -> Vec<ManaOption> {
    if added.is_empty() {
        return vec![option];
    }
    let same = |kind: ManaKind, amount: u8| (0..amount).map(move |_| kind);
    let mut lists: Vec<SmallVec<[ManaKind; 2]>> = if option.list.is_empty() {
        kinds_in(option.mask).into_iter().map(|kind| same(kind, option.amount).collect()).collect()
    } else {
        vec![option.list.clone()]
    };
    for (mask, amount, list) in added {
        let choices: Vec<SmallVec<[ManaKind; 2]>> = if list.is_empty() {
            kinds_in(*mask).into_iter().map(|kind| same(kind, *amount).collect()).collect()
        } else {
            vec![list.clone()]
        };
        if choices.is_empty() {
            continue;
        }
        let mut joined: Vec<SmallVec<[ManaKind; 2]>> = Vec::new();
        for list in &lists {
            joined.extend(choices.iter().map(|more| list.iter().chain(more).copied().collect()));
        }
        lists = joined;
    }
    let options = lists.into_iter().map(|list| ManaOption {
        mask: list.iter().fold(0, |mask, kind| mask | 1 << kind.index()),
        amount: u8::try_from(list.len()).unwrap_or(u8::MAX),
        list,
        ..option.clone()
    });
    options.collect()
}
