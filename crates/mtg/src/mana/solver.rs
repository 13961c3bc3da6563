//! The matching between mana symbols and units of mana.

use super::{
    ALL_COLORS, ManaNeed, ManaOption, ManaPlan, ManaSource, ManaTap, Supply, Unit, bit, color_bit,
    symbol_mask,
};
use crate::card::{ManaKind, ManaSymbol};
use crate::ids::ObjectId;
use smallvec::{SmallVec, smallvec};

/// Any mana.
const ANY_MANA: u8 = 0b11_1111;

/// Mana abilities that cost mana or tap other permanents, in one payment.
const MAX_CONVERSIONS: usize = 4;

pub(super) struct Solver<'a> {
    pub(super) sources: &'a [ManaSource],
    pub(super) need: &'a ManaNeed,
    /// Whether options with a drawback may be used.
    pub(super) costly: bool,
    /// Whether options that cost mana or tap other permanents may be used.
    pub(super) converts: bool,
    pub(super) life: i32,
    pub(super) any: bool,
    /// Sources that can be tapped for convoke or improvise instead, with the colours they pay for.
    pub(super) helpers: SmallVec<[(ObjectId, u8); 4]>,
}

/// Source that adds several mana, or whose ability costs mana or taps others.
#[derive(Debug, Clone)]
pub(super) struct ActiveSource {
    source: usize,
    option: usize,
    kind: ManaKind,
    /// Permanents that its ability taps.
    tapped: SmallVec<[ObjectId; 3]>,
}

type Active = SmallVec<[ActiveSource; 2]>;

/// Mana that is needed: for the cost, or for an active source.
#[derive(Debug, Clone, Copy)]
struct UnitNeed {
    mask: u8,
    /// Place of the active source that needs it; the cost comes after all.
    stage: usize,
    is_input: bool,
}

impl Solver<'_> {
    /// Tries without sources of several mana from `first` on, then with each of them.
    pub(super) fn with_several(
        &mut self,
        pool: &[Unit],
        first: usize,
        active: &mut Active,
    ) -> Option<ManaPlan> {
        if let Some(plan) = self.with_symbols(pool, active) {
            return Some(plan);
        }
        for (index, source) in self.sources.iter().enumerate().skip(first) {
            for (position, option) in source.options.iter().enumerate() {
                if !self.may_use(option) || (option.amount < 2 && !option.converts()) {
                    continue;
                }
                let Some(tapped) = self.free_helpers(index, option, active) else { continue };
                let kinds: SmallVec<[ManaKind; 6]> = if option.list.is_empty() {
                    self.kinds_to_try(option)
                } else {
                    smallvec![ManaKind::Colorless]
                };
                for kind in kinds {
                    active.push(ActiveSource {
                        source: index,
                        option: position,
                        kind,
                        tapped: tapped.clone(),
                    });
                    if self.conversions(active) <= MAX_CONVERSIONS
                        && let Some(plan) = self.with_several(pool, index + 1, active)
                    {
                        return Some(plan);
                    }
                    active.pop();
                }
            }
        }
        None
    }

    /// Kinds of mana of an option that make a difference: of a conversion to any colour only those that
    /// are needed, so that a board of filters does not multiply the attempts.
    fn kinds_to_try(&self, option: &ManaOption) -> SmallVec<[ManaKind; 6]> {
        let all = ManaKind::ALL.into_iter().filter(|kind| option.mask & bit(*kind) != 0);
        if !option.converts() {
            return all.collect();
        }
        let inputs = self.sources.iter().flat_map(|source| &source.options).flat_map(|other| &other.input);
        let symbols = self.need.symbols.iter().chain(inputs);
        let needed = symbols.fold(0, |needed, symbol| needed | symbol_mask(*symbol));
        let useful: SmallVec<[ManaKind; 6]> = all.clone().filter(|kind| needed & bit(*kind) != 0).collect();
        if useful.is_empty() { all.take(1).collect() } else { useful }
    }

    fn may_use(&self, option: &ManaOption) -> bool {
        (self.costly || !option.costly) && (self.converts || !option.converts())
    }

    fn option(&self, active: &ActiveSource) -> Option<&ManaOption> {
        self.sources.get(active.source)?.options.get(active.option)
    }

    fn conversions(&self, active: &Active) -> usize {
        active.iter().filter(|entry| self.option(entry).is_some_and(ManaOption::converts)).count()
    }

    /// Permanents that an option can tap, apart from those that are in use.
    fn free_helpers(
        &self,
        index: usize,
        option: &ManaOption,
        active: &Active,
    ) -> Option<SmallVec<[ObjectId; 3]>> {
        let own = self.sources.get(index)?.id;
        let is_used = |id: &ObjectId| {
            active.iter().any(|entry| {
                entry.tapped.contains(id)
                    || self.sources.get(entry.source).is_some_and(|source| source.id == *id)
            })
        };
        if self.is_tapped_by(active, own) {
            return None;
        }
        let free = option.helpers.iter().copied().filter(|id| !is_used(id));
        let tapped: SmallVec<[ObjectId; 3]> = free.take(option.helper_count).collect();
        (tapped.len() == option.helper_count).then_some(tapped)
    }

    /// Whether an active source taps a permanent for its ability.
    fn is_tapped_by(&self, active: &Active, id: ObjectId) -> bool {
        active.iter().any(|entry| entry.tapped.contains(&id))
    }

    fn units(&self, pool: &[Unit], active: &Active) -> Vec<Unit> {
        let is_free = |unit: &&Unit| match unit.supply {
            Supply::Creature(id) => !self.is_tapped_by(active, id),
            _ => true,
        };
        let mut units: Vec<Unit> = pool.iter().filter(is_free).copied().collect();
        for (index, source) in self.sources.iter().enumerate() {
            if let Some(place) = active.iter().position(|entry| entry.source == index) {
                units.extend(self.active_units(active, place));
                continue;
            }
            if self.is_tapped_by(active, source.id) {
                continue;
            }
            let usable = |option: &&ManaOption| {
                option.amount == 1 && !option.converts() && (self.costly || !option.costly)
            };
            let own = source.options.iter().filter(usable).fold(0, |mask, option| mask | option.mask);
            let helper = self.helpers.iter().find(|helper| helper.0 == source.id);
            let mask = own | helper.map_or(0, |helper| helper.1);
            if mask != 0 || helper.is_some() {
                // Less flexible sources of the same rank, and those that no other card in the hand
                // needs, are used first.
                let kinds = u16::try_from(mask.count_ones()).unwrap_or(0);
                let rank = 1 + u16::from(source.rank) * 8 + kinds;
                let wanted = self.wanted(source, mask);
                let is_free = helper.is_none() && source.options.iter().all(|option| option.only.is_none());
                units.push(Unit { wanted, is_free, ..Unit::new(Supply::Source(index), mask, rank) });
            }
        }
        units.sort_by_key(|unit| (unit.rank / 8, unit.wanted, unit.rank));
        units
    }

    /// Mana that an active source adds; it is there for the active ones after it.
    fn active_units(&self, active: &Active, place: usize) -> Vec<Unit> {
        let Some(entry) = active.get(place) else { return Vec::new() };
        let Some(option) = self.option(entry) else { return Vec::new() };
        let kinds: SmallVec<[ManaKind; 4]> = if option.list.is_empty() {
            (0..option.amount).map(|_| entry.kind).collect()
        } else {
            option.list.iter().copied().collect()
        };
        let stage = if option.converts() { place + 1 } else { 0 };
        let unit = |kind| Unit {
            stage,
            is_free: option.only.is_none(),
            ..Unit::new(Supply::Several(place, kind), bit(kind), 1)
        };
        kinds.into_iter().map(unit).collect()
    }

    /// How many cards in hand, without the one that is paid for, need mana of the source.
    fn wanted(&self, source: &ManaSource, mask: u8) -> u8 {
        let own = self.need.symbols.iter().fold(0, |own, symbol| own | symbol_mask(*symbol));
        let counts = source.wanted.iter().enumerate().filter(|(index, _)| mask & (1 << index) != 0);
        let others = counts.map(|(index, count)| count.saturating_sub(u8::from(own & (1 << index) != 0)));
        others.max().unwrap_or(0)
    }

    /// What the active sources need.
    fn inputs(&self, active: &Active) -> SmallVec<[UnitNeed; 8]> {
        let mut inputs = SmallVec::new();
        for (stage, entry) in active.iter().enumerate() {
            let Some(option) = self.option(entry) else { continue };
            inputs.extend(option.input.iter().map(|symbol| {
                let mask = symbol_mask(*symbol);
                UnitNeed { mask: if mask == 0 { ANY_MANA } else { mask }, stage, is_input: true }
            }));
        }
        inputs
    }

    /// Tries mana for symbols that leave a choice, then two generic or life.
    fn with_symbols(&self, pool: &[Unit], active: &Active) -> Option<ManaPlan> {
        let units = self.units(pool, active);
        let inputs = self.inputs(active);
        let flexible: SmallVec<[usize; 4]> = (0..self.need.symbols.len())
            .filter(|index| {
                matches!(
                    self.need.symbols.get(*index),
                    Some(
                        ManaSymbol::TwoHybrid(_) | ManaSymbol::Phyrexian(_) | ManaSymbol::HybridPhyrexian(..)
                    )
                )
            })
            .collect();
        let ways = 1u32 << flexible.len().min(10);
        (0..ways).find_map(|way| {
            let mut needs = inputs.clone();
            let mut pay = |mask: u8| needs.push(UnitNeed { mask, stage: usize::MAX, is_input: false });
            let mut generic = self.need.generic;
            let mut life = 0;
            for (index, symbol) in self.need.symbols.iter().enumerate() {
                let order = flexible.iter().position(|entry| *entry == index);
                let other_way = order.is_some_and(|order| way & (1 << order) != 0);
                match symbol {
                    ManaSymbol::TwoHybrid(_) if other_way => generic += 2,
                    ManaSymbol::Phyrexian(_) | ManaSymbol::HybridPhyrexian(..) if other_way => life += 2,
                    ManaSymbol::Colored(color)
                    | ManaSymbol::TwoHybrid(color)
                    | ManaSymbol::Phyrexian(color) => pay(color_bit(*color)),
                    ManaSymbol::Hybrid(first, second) | ManaSymbol::HybridPhyrexian(first, second) => {
                        pay(color_bit(*first) | color_bit(*second));
                    }
                    ManaSymbol::Colorless => pay(bit(ManaKind::Colorless)),
                    ManaSymbol::Generic(_) | ManaSymbol::X => {}
                }
            }
            if life > self.life || units.len() < needs.len() + generic as usize {
                return None;
            }
            self.assign(&units, &needs, generic, life, active)
        })
    }

    /// Matches symbols with units (augmenting paths), then generic mana with what is left.
    fn assign(
        &self,
        units: &[Unit],
        needs: &[UnitNeed],
        generic: u32,
        life: i32,
        active: &Active,
    ) -> Option<ManaPlan> {
        let mut owner: Vec<Option<usize>> = vec![None; units.len()];
        let mut order: SmallVec<[usize; 8]> = (0..needs.len()).collect();
        order.sort_by_key(|index| needs.get(*index).map_or(0, |need| need.mask.count_ones()));
        for need in order {
            let mut visited = vec![false; units.len()];
            if !self.augment(need, units, needs, &mut owner, &mut visited) {
                return None;
            }
        }
        let mut left = generic;
        let mut paid: Vec<(usize, Option<UnitNeed>)> = Vec::new();
        for (index, entry) in owner.iter().enumerate() {
            if let Some(need) = entry {
                paid.push((index, needs.get(*need).copied()));
            }
        }
        for index in 0..units.len() {
            if left == 0 {
                break;
            }
            if owner.get(index).is_some_and(Option::is_none) {
                paid.push((index, None));
                left -= 1;
            }
        }
        (left == 0).then(|| self.plan(units, &paid, life, active))
    }

    /// Whether a unit can pay for a need.
    fn fits(&self, unit: &Unit, need: UnitNeed) -> bool {
        let is_usable = !need.is_input || unit.is_free;
        (unit.mask & need.mask != 0 || (self.any && unit.mask != 0)) && unit.stage <= need.stage && is_usable
    }

    fn augment(
        &self,
        need: usize,
        units: &[Unit],
        needs: &[UnitNeed],
        owner: &mut [Option<usize>],
        visited: &mut [bool],
    ) -> bool {
        let Some(wanted) = needs.get(need).copied() else { return false };
        for (index, unit) in units.iter().enumerate() {
            let Some(seen) = visited.get_mut(index) else { continue };
            if *seen || !self.fits(unit, wanted) {
                continue;
            }
            *seen = true;
            let current = owner.get(index).copied().flatten();
            let free = match current {
                None => true,
                Some(other) => self.augment(other, units, needs, owner, visited),
            };
            if free {
                if let Some(place) = owner.get_mut(index) {
                    *place = Some(need);
                }
                return true;
            }
        }
        false
    }

    fn plan(
        &self,
        units: &[Unit],
        paid: &[(usize, Option<UnitNeed>)],
        life: i32,
        active: &Active,
    ) -> ManaPlan {
        let mut plan = ManaPlan { life, ..ManaPlan::default() };
        let mut spent_several: SmallVec<[(usize, ManaKind); 4]> = SmallVec::new();
        for (index, need) in paid {
            let Some(unit) = units.get(*index) else { continue };
            let common = unit.mask & need.map_or(0, |need| need.mask);
            let wanted = if common == 0 { unit.mask } else { common };
            let kind = ManaKind::ALL
                .into_iter()
                .find(|kind| wanted & bit(*kind) != 0)
                .unwrap_or(ManaKind::Colorless);
            match unit.supply {
                Supply::Pool(kind) => {
                    if let Some(place) = plan.from_pool.get_mut(kind.index()) {
                        *place += 1;
                    }
                }
                Supply::Restricted(place) => plan.from_restricted.push(place),
                Supply::Source(source) => match self.tap(source, kind) {
                    Some(tap) => plan.taps.push(tap),
                    None => plan.convoke.extend(self.sources.get(source).map(|own| own.id)),
                },
                Supply::Several(place, kind) => spent_several.push((place, kind)),
                Supply::Creature(id) => plan.convoke.push(id),
                Supply::Card(id) => plan.delve.push(id),
            }
            let is_mana = !matches!(unit.supply, Supply::Creature(_) | Supply::Card(_));
            if is_mana && !need.is_some_and(|need| need.is_input) {
                plan.colors_spent |= bit(kind) & ALL_COLORS;
            }
        }
        for entry in active {
            let Some(own) = self.sources.get(entry.source) else { continue };
            let Some(option) = self.option(entry) else { continue };
            plan.taps.push(ManaTap { source: own.id, ability: option.ability, kind: entry.kind });
            plan.helpers.extend(entry.tapped.iter().copied());
        }
        for unit in units {
            if let Supply::Several(place, kind) = unit.supply {
                let option = active.get(place).and_then(|entry| self.option(entry));
                if let Some(position) = spent_several.iter().position(|entry| *entry == (place, kind)) {
                    spent_several.remove(position);
                } else if let Some(option) = option {
                    plan.keep(kind, option);
                }
            }
        }
        plan
    }

    fn tap(&self, source: usize, kind: ManaKind) -> Option<ManaTap> {
        let own = self.sources.get(source)?;
        let fits = |option: &&ManaOption| {
            option.amount == 1
                && !option.converts()
                && option.mask & bit(kind) != 0
                && (self.costly || !option.costly)
        };
        let mut options: SmallVec<[&ManaOption; 2]> = own.options.iter().filter(fits).collect();
        options.sort_by_key(|option| option.costly);
        let option = options.first()?;
        Some(ManaTap { source: own.id, ability: option.ability, kind })
    }
}
