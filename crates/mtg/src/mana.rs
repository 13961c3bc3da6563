//! Mana: what permanents can add, and the exact payer.
//!
//! The payer is a matching between symbols and units of mana: mana in the pool, untapped sources, and
//! for convoke and delve creatures and cards. It finds a payment whenever there is one, so the list
//! of legal actions and the payment itself use it and never disagree. Sources that add several mana
//! are tried only when single ones do not suffice. Mana abilities that cost mana are left to the
//! player, who can activate them by hand.

use crate::ability::{
    Ability, ActivatedAbility, Amount, Body, Cost, CostPart, Effect, Filter, Instruction, ManaOutput,
    Selector,
};
use crate::card::{CardType, Color, ManaCost, ManaKind, ManaSymbol};
use crate::characteristics::{AbilityClass, RuleFlag};
use crate::context::{Context, EventKind, EventRecord};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, ObjectId, PlayerId};
use smallvec::{SmallVec, smallvec};
use std::sync::LazyLock;

const ALL_COLORS: u8 = 0b01_1111;

static LAND_ABILITIES: LazyLock<Vec<Ability>> = LazyLock::new(|| {
    let build = |kind: &ManaKind| {
        let add = Effect::AddMana { who: Selector::You, mana: ManaOutput::Fixed(vec![*kind]) };
        Ability::Activated(Box::new(ActivatedAbility {
            cost: Cost::tap(),
            body: Body { effects: vec![Instruction::from(add)], ..Body::default() },
            sorcery_speed: false,
            condition: None,
            per_turn: None,
            zone: crate::ability::Zone::Battlefield,
            any_player: false,
            text: format!("{{T}}: Add {{{}}}.", kind.letter()),
        }))
    };
    ManaKind::ALL.iter().take(5).map(build).collect()
});

/// Mana ability of a basic land type, by colour.
#[must_use]
pub(crate) fn land_ability(color: u8) -> Option<&'static Ability> {
    LAND_ABILITIES.get(usize::from(color))
}

/// Mana that one activation adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManaOption {
    pub ability: AbilityRef,
    /// Kinds of which one is added.
    pub mask: u8,
    pub amount: u8,
    /// Fixed list, if the mana is not all of one kind.
    pub list: SmallVec<[ManaKind; 2]>,
    /// Has a cost or a drawback besides tapping.
    pub costly: bool,
}

/// Untapped permanent that can add mana now.
#[derive(Debug, Clone)]
pub(crate) struct ManaSource {
    pub id: ObjectId,
    pub options: SmallVec<[ManaOption; 2]>,
    /// Lands are tapped before creatures.
    pub rank: u8,
}

/// Where a unit of mana comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    Pool(ManaKind),
    Source(usize),
    /// Part of what a source with several mana adds: source, option, kind.
    Several(usize, usize, ManaKind),
    Creature(ObjectId),
    Card(ObjectId),
}

#[derive(Debug, Clone, Copy)]
struct Unit {
    supply: Supply,
    mask: u8,
    generic: bool,
    rank: u8,
}

/// One mana of this ability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ManaTap {
    pub source: ObjectId,
    pub ability: AbilityRef,
    pub kind: ManaKind,
}

/// Payment of a mana cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManaPlan {
    pub taps: Vec<ManaTap>,
    pub from_pool: [u16; 6],
    pub convoke: Vec<ObjectId>,
    pub delve: Vec<ObjectId>,
    pub life: i32,
    /// Mana that stays in the pool.
    pub surplus: [u16; 6],
    pub colors_spent: u8,
}

/// What is to be paid: symbols without generic ones, and generic mana.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManaNeed {
    pub symbols: SmallVec<[ManaSymbol; 6]>,
    pub generic: u32,
}

impl ManaNeed {
    pub(crate) fn of(cost: &ManaCost, x: u32) -> Self {
        let mut need = Self::default();
        need.add(cost, x);
        need
    }

    pub(crate) fn add(&mut self, cost: &ManaCost, x: u32) {
        for symbol in &cost.symbols {
            match symbol {
                ManaSymbol::Generic(amount) => self.generic += u32::from(*amount),
                ManaSymbol::X => self.generic += x,
                other => self.symbols.push(*other),
            }
        }
    }

    pub(crate) fn remove(&mut self, cost: &ManaCost) {
        for symbol in &cost.symbols {
            match symbol {
                ManaSymbol::Generic(amount) => self.generic = self.generic.saturating_sub(u32::from(*amount)),
                other => {
                    if let Some(position) = self.symbols.iter().position(|known| known == other) {
                        self.symbols.remove(position);
                    }
                }
            }
        }
    }

    pub(crate) fn is_free(&self) -> bool {
        self.symbols.is_empty() && self.generic == 0
    }

    fn least_mana(&self) -> usize {
        let free = |symbol: &&ManaSymbol| {
            !matches!(symbol, ManaSymbol::Phyrexian(_) | ManaSymbol::HybridPhyrexian(..))
        };
        self.symbols.iter().filter(free).count() + self.generic as usize
    }
}

fn bit(kind: ManaKind) -> u8 {
    1 << kind.index()
}

fn color_bit(color: Color) -> u8 {
    bit(ManaKind::from(color))
}

impl MTGEngine {
    /// Sources of mana that a player can use now.
    pub(crate) fn mana_sources(&self, player: PlayerId) -> Vec<ManaSource> {
        let mut sources = Vec::new();
        let view = self.view();
        for id in &self.state.battlefield {
            let own = view.characteristics(*id);
            if own.controller != player || !own.has_class(AbilityClass::Mana) {
                continue;
            }
            let mut options: SmallVec<[ManaOption; 2]> = SmallVec::new();
            for reference in &own.abilities {
                let Some(Ability::Activated(ability)) = self.ability(*reference) else { continue };
                if ability.is_mana_ability()
                    && ability.cost.mana.is_empty()
                    && self.can_activate_mana(*id, *reference, ability, player)
                {
                    options.extend(self.mana_option(*id, *reference, ability));
                }
            }
            if !options.is_empty() {
                let rank = u8::from(own.is_creature()) * 2 + u8::from(!own.is(CardType::Land));
                sources.push(ManaSource { id: *id, options, rank });
            }
        }
        sources
    }

    /// Whether a mana ability without a mana cost can be activated now.
    pub(crate) fn can_activate_mana(
        &self,
        id: ObjectId,
        reference: AbilityRef,
        ability: &ActivatedAbility,
        player: PlayerId,
    ) -> bool {
        let object = self.state.object(id);
        let own = self.view().characteristics(id);
        if own.has_rule(RuleFlag::CantActivate) {
            return false;
        }
        let context = Context::new(id, player);
        let payable = ability.cost.parts.iter().all(|part| match part {
            CostPart::Tap => !object.tapped && !self.is_summoning_sick(id),
            CostPart::SacrificeThis => true,
            CostPart::PayLife(amount) => {
                self.state.player(player).life >= self.view().amount(amount, &context)
            }
            CostPart::RemoveCounters { kind, count } => {
                object.counter(*kind) >= self.view().amount(count, &context)
            }
            _ => false,
        });
        let used = object.uses.iter().find(|used| used.0 == reference).map_or(0, |used| used.1);
        payable
            && ability.per_turn.is_none_or(|limit| used < limit)
            && ability.condition.as_ref().is_none_or(|condition| self.view().condition(condition, &context))
    }

    fn mana_option(
        &self,
        id: ObjectId,
        reference: AbilityRef,
        ability: &ActivatedAbility,
    ) -> Option<ManaOption> {
        let context = self.context_of(id);
        let simple =
            ability.cost.parts.iter().all(|part| *part == CostPart::Tap) && ability.body.effects.len() == 1;
        let output = ability.body.effects.iter().find_map(|instruction| match &instruction.effect {
            Effect::AddMana { mana, .. } => Some(mana),
            _ => None,
        })?;
        let (mask, amount, list) = self.mana_output(output, &context);
        (mask != 0 && amount > 0).then_some(ManaOption {
            ability: reference,
            mask,
            amount,
            list,
            costly: !simple,
        })
    }

    /// Kinds and amount of mana of an output.
    pub(crate) fn mana_output(
        &self,
        output: &ManaOutput,
        context: &Context,
    ) -> (u8, u8, SmallVec<[ManaKind; 2]>) {
        let view = self.view();
        let number = |amount: &Amount| u8::try_from(view.amount(amount, context).max(0)).unwrap_or(u8::MAX);
        let mask_of = |kinds: &[ManaKind]| kinds.iter().fold(0, |mask, kind| mask | bit(*kind));
        match output {
            ManaOutput::Fixed(kinds) => {
                let amount = u8::try_from(kinds.len()).unwrap_or(u8::MAX);
                (mask_of(kinds), amount, kinds.iter().copied().collect())
            }
            ManaOutput::OneOf { kinds, amount } | ManaOutput::Combination { kinds, amount } => {
                (mask_of(kinds), number(amount), SmallVec::new())
            }
            ManaOutput::AnyColor { amount, .. } => (ALL_COLORS, number(amount), SmallVec::new()),
            ManaOutput::ChosenColor(amount) => {
                let chosen = context.color.or(view.object(context.source).chosen.color);
                (chosen.map_or(0, color_bit), number(amount), SmallVec::new())
            }
            ManaOutput::LikeLands { filter, color_only } => {
                let mask = self.mask_of_lands(filter, context);
                (if *color_only { mask & ALL_COLORS } else { mask }, 1, SmallVec::new())
            }
            ManaOutput::ColorAmong(selector) => {
                let found = view.select(selector, context);
                let objects = found.iter().filter_map(|entity| entity.object());
                let colors = objects.flat_map(|id| view.characteristics(id).colors.iter());
                (colors.fold(0, |mask, color| mask | color_bit(color)), 1, SmallVec::new())
            }
        }
    }

    fn mask_of_lands(&self, filter: &Filter, context: &Context) -> u8 {
        let view = self.view();
        let mut mask = 0;
        for id in self.state.battlefield.iter().filter(|id| view.object_matches(filter, **id, context)) {
            for reference in &view.characteristics(*id).abilities {
                let Some(Ability::Activated(ability)) = self.ability(*reference) else { continue };
                for instruction in &ability.body.effects {
                    if let Effect::AddMana { mana, .. } = &instruction.effect
                        && !matches!(mana, ManaOutput::LikeLands { .. })
                    {
                        mask |= self.mana_output(mana, &self.context_of(*id)).0;
                    }
                }
            }
        }
        mask
    }

    /// Finds a payment, or none if there is none.
    pub(crate) fn plan_mana(
        &self,
        player: PlayerId,
        need: &ManaNeed,
        sources: &[ManaSource],
        convoke: &[ObjectId],
        delve: &[ObjectId],
    ) -> Option<ManaPlan> {
        if need.is_free() {
            return Some(ManaPlan::default());
        }
        let own = self.state.player(player);
        let mut units: Vec<Unit> = Vec::new();
        for kind in ManaKind::ALL {
            let amount = own.mana.get(kind.index()).copied().unwrap_or(0);
            let unit = Unit { supply: Supply::Pool(kind), mask: bit(kind), generic: true, rank: 0 };
            units.extend((0..amount).map(|_| unit));
        }
        for id in convoke {
            let colors = self.view().characteristics(*id).colors;
            let mask = colors.iter().fold(0, |mask, color| mask | color_bit(color));
            units.push(Unit { supply: Supply::Creature(*id), mask, generic: true, rank: 6 });
        }
        for id in delve {
            units.push(Unit { supply: Supply::Card(*id), mask: 0, generic: true, rank: 7 });
        }
        // More mana than sources could ever give is refused before anything is tried.
        let supply: usize = sources
            .iter()
            .map(|source| source.options.iter().map(|option| usize::from(option.amount)).max().unwrap_or(0))
            .sum();
        if units.len() + supply < need.least_mana() {
            return None;
        }
        let any = self.has_rule(player, |rule| *rule == crate::ability::PlayerRule::SpendManaAsAnyColor);
        for costly in [false, true] {
            let mut solver = Solver { sources, need, costly, life: own.life, any };
            if let Some(plan) = solver.with_several(&units, 0, &mut SmallVec::new()) {
                return Some(plan);
            }
        }
        None
    }

    pub(crate) fn can_pay_mana(&self, player: PlayerId, cost: &ManaCost, x: u32) -> bool {
        let sources = self.mana_sources(player);
        self.plan_mana(player, &ManaNeed::of(cost, x), &sources, &[], &[]).is_some()
    }

    /// Pays a cost that was found payable.
    pub(crate) fn pay_mana_automatically(
        &mut self,
        player: PlayerId,
        cost: &ManaCost,
        _source: ObjectId,
    ) -> bool {
        let sources = self.mana_sources(player);
        let Some(plan) = self.plan_mana(player, &ManaNeed::of(cost, 0), &sources, &[], &[]) else {
            return false;
        };
        self.pay_plan(player, &plan);
        true
    }

    /// Activates the mana abilities of a plan and spends the mana.
    pub(crate) fn pay_plan(&mut self, player: PlayerId, plan: &ManaPlan) {
        let mut records = Vec::new();
        let mut seen: SmallVec<[ObjectId; 8]> = SmallVec::new();
        for tap in &plan.taps {
            if seen.contains(&tap.source) {
                continue;
            }
            seen.push(tap.source);
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
        if plan.life > 0 {
            self.commit_loss(player, plan.life, &mut records);
        }
        self.touch();
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
                    self.touch();
                    records.push(EventRecord::new(EventKind::Tapped).subject(id));
                    records.push(EventRecord::new(EventKind::TappedForMana).subject(id).player(player));
                }
                CostPart::PayLife(amount) => {
                    let amount = self.view().amount(amount, &context);
                    self.commit_loss(player, amount, records);
                }
                CostPart::RemoveCounters { kind, count } => {
                    let count = self.view().amount(count, &context);
                    if let Some(object) = self.state.object_mut(id) {
                        object.add_counters(*kind, -count);
                    }
                    self.touch();
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
            let queue = others.into_iter().rev().map(crate::task::Operation::Run).collect();
            self.defer(crate::task::Frame { context, queue });
        }
    }
}

struct Solver<'a> {
    sources: &'a [ManaSource],
    need: &'a ManaNeed,
    /// Whether options with a drawback may be used.
    costly: bool,
    life: i32,
    any: bool,
}

type Active = SmallVec<[(usize, usize, ManaKind); 2]>;

impl Solver<'_> {
    /// Tries without sources of several mana from `first` on, then with each of them.
    fn with_several(&mut self, pool: &[Unit], first: usize, active: &mut Active) -> Option<ManaPlan> {
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
                }));
                continue;
            }
            let usable = |option: &&ManaOption| option.amount == 1 && (self.costly || !option.costly);
            let mask = source.options.iter().filter(usable).fold(0, |mask, option| mask | option.mask);
            if mask != 0 {
                // Less flexible sources of the same rank are used first.
                let rank = 1 + source.rank * 8 + u8::try_from(mask.count_ones()).unwrap_or(0);
                units.push(Unit { supply: Supply::Source(index), mask, generic: true, rank });
            }
        }
        units.sort_by_key(|unit| unit.rank);
        units
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
                Supply::Source(source) => plan.taps.extend(self.tap(source, kind)),
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
            if let Supply::Several(source, _, kind) = unit.supply {
                if let Some(position) = spent_several.iter().position(|entry| *entry == (source, kind)) {
                    spent_several.remove(position);
                } else if let Some(place) = plan.surplus.get_mut(kind.index()) {
                    *place += 1;
                }
            }
        }
        plan
    }

    fn tap(&self, source: usize, kind: ManaKind) -> Option<ManaTap> {
        let own = self.sources.get(source)?;
        let fits = |option: &&ManaOption| option.amount == 1 && option.mask & bit(kind) != 0;
        let mut options: SmallVec<[&ManaOption; 2]> = own.options.iter().filter(fits).collect();
        options.sort_by_key(|option| option.costly);
        let option = options.first()?;
        Some(ManaTap { source: own.id, ability: option.ability, kind })
    }
}
