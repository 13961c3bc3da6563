//! The matching between mana symbols and units of mana.

use super::{
    ALL_COLORS, ManaNeed, ManaOption, ManaPlan, ManaSource, ManaTap, Supply, Unit, bit, color_bit,
    symbol_mask,
};
use crate::card::{ManaKind, ManaSymbol};
use crate::ids::ObjectId;
use smallvec::{SmallVec, smallvec};

pub(super) struct Solver<'a> {
    pub(super) sources: &'a [ManaSource],
    pub(super) need: &'a ManaNeed,
    /// Whether options with a drawback may be used.
    pub(super) costly: bool,
    pub(super) life: i32,
    pub(super) any: bool,
    /// Sources that can be tapped for convoke or improvise instead, with the colours they pay for.
    pub(super) helpers: SmallVec<[(ObjectId, u8); 4]>,
}

type Active = SmallVec<[(usize, usize, ManaKind); 2]>;

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
                if option.amount < 2 || (option.costly && !self.costly) {
                    continue;
                }
                let kinds: SmallVec<[ManaKind; 6]> = if option.list.is_empty() {
                    ManaKind::ALL.into_iter().filter(|kind| option.mask & bit(*kind) != 0).collect()
                } else {
                    smallvec![ManaKind::Colorless]
                };
                for kind in kinds {
                    active.push((index, position, kind));
                    if let Some(plan) = self.with_several(pool, index + 1, active) {
                        return Some(plan);
                    }
                    active.pop();
                }
            }
        }
        None
    }

    fn units(&self, pool: &[Unit], active: &Active) -> Vec<Unit> {
        let mut units = pool.to_vec();
        for (index, source) in self.sources.iter().enumerate() {
            if let Some((_, position, kind)) = active.iter().find(|entry| entry.0 == index) {
                let Some(option) = source.options.get(*position) else { continue };
                let kinds: SmallVec<[ManaKind; 4]> = if option.list.is_empty() {
                    (0..option.amount).map(|_| *kind).collect()
                } else {
                    option.list.iter().copied().collect()
                };
                units.extend(kinds.into_iter().map(|kind| Unit {
                    supply: Supply::Several(index, *position, kind),
                    mask: bit(kind),
                    generic: true,
                    rank: 1,
                    wanted: 0,
                }));
                continue;
            }
            let usable = |option: &&ManaOption| option.amount == 1 && (self.costly || !option.costly);
            let own = source.options.iter().filter(usable).fold(0, |mask, option| mask | option.mask);
            let helper = self.helpers.iter().find(|helper| helper.0 == source.id);
            let mask = own | helper.map_or(0, |helper| helper.1);
            if mask != 0 || helper.is_some() {
                // Less flexible sources of the same rank, and those that no other card in the hand
                // needs, are used first.
                let kinds = u16::try_from(mask.count_ones()).unwrap_or(0);
                let rank = 1 + u16::from(source.rank) * 8 + kinds;
                let wanted = self.wanted(source, mask);
                units.push(Unit { supply: Supply::Source(index), mask, generic: true, rank, wanted });
            }
        }
        units.sort_by_key(|unit| (unit.rank / 8, unit.wanted, unit.rank));
        units
    }

    /// How many cards in hand, without the one that is paid for, need mana of the source.
    fn wanted(&self, source: &ManaSource, mask: u8) -> u8 {
        let own = self.need.symbols.iter().fold(0, |own, symbol| own | symbol_mask(*symbol));
        let counts = source.wanted.iter().enumerate().filter(|(index, _)| mask & (1 << index) != 0);
        let others = counts.map(|(index, count)| count.saturating_sub(u8::from(own & (1 << index) != 0)));
        others.max().unwrap_or(0)
    }

    /// Tries mana for symbols that leave a choice, then two generic or life.
    fn with_symbols(&self, pool: &[Unit], active: &Active) -> Option<ManaPlan> {
        let units = self.units(pool, active);
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
            let mut masks: SmallVec<[u8; 8]> = SmallVec::new();
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
                    | ManaSymbol::Phyrexian(color) => {
                        masks.push(color_bit(*color));
                    }
                    ManaSymbol::Hybrid(first, second) | ManaSymbol::HybridPhyrexian(first, second) => {
                        masks.push(color_bit(*first) | color_bit(*second));
                    }
                    ManaSymbol::Colorless => masks.push(bit(ManaKind::Colorless)),
                    ManaSymbol::Generic(_) | ManaSymbol::X => {}
                }
            }
            if life > self.life {
                return None;
            }
            self.assign(&units, &masks, generic, life, active)
        })
    }

    /// Matches symbols with units (augmenting paths), then generic mana with what is left.
    fn assign(
        &self,
        units: &[Unit],
        masks: &[u8],
        generic: u32,
        life: i32,
        active: &Active,
    ) -> Option<ManaPlan> {
        let mut owner: Vec<Option<usize>> = vec![None; units.len()];
        let mut order: SmallVec<[usize; 8]> = (0..masks.len()).collect();
        order.sort_by_key(|index| masks.get(*index).map_or(0, |mask| mask.count_ones()));
        for need in order {
            let mut visited = vec![false; units.len()];
            if !self.augment(need, units, masks, &mut owner, &mut visited) {
                return None;
            }
        }
        let mut left = generic;
        let mut paid: Vec<(usize, u8)> = Vec::new();
        for (index, entry) in owner.iter().enumerate() {
            if let Some(need) = entry {
                paid.push((index, masks.get(*need).copied().unwrap_or(0)));
            }
        }
        for (index, unit) in units.iter().enumerate() {
            if left == 0 {
                break;
            }
            if owner.get(index).is_some_and(Option::is_none) && unit.generic {
                paid.push((index, 0));
                left -= 1;
            }
        }
        (left == 0).then(|| self.plan(units, &paid, life, active))
    }

    fn augment(
        &self,
        need: usize,
        units: &[Unit],
        masks: &[u8],
        owner: &mut [Option<usize>],
        visited: &mut [bool],
    ) -> bool {
        let mask = masks.get(need).copied().unwrap_or(0);
        for (index, unit) in units.iter().enumerate() {
            let fits = unit.mask & mask != 0 || (self.any && unit.mask != 0);
            let Some(seen) = visited.get_mut(index) else { continue };
            if !fits || *seen {
                continue;
            }
            *seen = true;
            let current = owner.get(index).copied().flatten();
            let free = match current {
                None => true,
                Some(other) => self.augment(other, units, masks, owner, visited),
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

    fn plan(&self, units: &[Unit], paid: &[(usize, u8)], life: i32, active: &Active) -> ManaPlan {
        let mut plan = ManaPlan { life, ..ManaPlan::default() };
        let mut spent_several: SmallVec<[(usize, ManaKind); 4]> = SmallVec::new();
        for (index, mask) in paid {
            let Some(unit) = units.get(*index) else { continue };
            let wanted = if unit.mask & mask == 0 { unit.mask } else { unit.mask & mask };
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
                Supply::Several(source, _, kind) => spent_several.push((source, kind)),
                Supply::Creature(id) => plan.convoke.push(id),
                Supply::Card(id) => plan.delve.push(id),
            }
            if !matches!(unit.supply, Supply::Creature(_) | Supply::Card(_)) {
                plan.colors_spent |= bit(kind) & ALL_COLORS;
            }
        }
        for (source, position, kind) in active {
            let Some(own) = self.sources.get(*source) else { continue };
            let Some(option) = own.options.get(*position) else { continue };
            plan.taps.push(ManaTap { source: own.id, ability: option.ability, kind: *kind });
        }
        for unit in units {
            if let Supply::Several(source, position, kind) = unit.supply {
                let option = self.sources.get(source).and_then(|own| own.options.get(position));
                if let Some(position) = spent_several.iter().position(|entry| *entry == (source, kind)) {
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
            option.amount == 1 && option.mask & bit(kind) != 0 && (self.costly || !option.costly)
        };
        let mut options: SmallVec<[&ManaOption; 2]> = own.options.iter().filter(fits).collect();
        options.sort_by_key(|option| option.costly);
        let option = options.first()?;
        Some(ManaTap { source: own.id, ability: option.ability, kind })
    }
}
