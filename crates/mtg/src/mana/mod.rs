//! Mana: what permanents can add, and the exact payer.
//!
//! The payer is a matching between symbols and units of mana: mana in the pool, untapped sources, and
//! for convoke and delve creatures and cards. It finds a payment whenever there is one, so the list
//! of legal actions and the payment itself use it and never disagree. Sources that add several mana
//! are tried only when single ones do not suffice, and after them those whose ability costs mana or taps
//! other permanents. What triggered mana abilities add to the mana of a permanent is part of what it adds.
//! Mana abilities that sacrifice, discard or exile something else are left to the player, who can
//! activate them by hand.

mod payment;
mod solver;
mod sources;

use crate::ability::{Ability, Amount, Cost, Effect, Filter, ManaOutput, ManaUse};
use crate::action::Payment;
use crate::card::{Color, ManaCost, ManaKind, ManaSymbol};
use crate::casting::cost::spell_filter;
use crate::context::Context;
use crate::decision::{Refusal, RefusalReason};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, ObjectId, PlayerId};
use crate::state::RestrictedMana;
use smallvec::{SmallVec, smallvec};
use solver::Solver;
use std::borrow::Cow;

const ALL_COLORS: u8 = 0b01_1111;

/// Symbols that an X of one colour is written as; no pool has more.
const MAX_COLORED_X: usize = 1_000;

/// Creatures that convoke are tapped after lands.
const CREATURE_RANK: u16 = 8;

/// What mana is spent on (106.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ManaPurpose {
    Spell(ObjectId),
    /// Ability of this source.
    Ability(ObjectId),
    Other,
}

/// Permanents and cards that pay instead of mana.
#[derive(Debug, Clone, Default)]
pub(crate) struct Helpers {
    /// Creatures for convoke, artifacts for improvise.
    pub convoke: Vec<ObjectId>,
    pub delve: Vec<ObjectId>,
    /// The player named the creatures: they are tapped before lands.
    pub is_named: bool,
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
    /// Has a cost or a drawback other than tapping.
    pub costly: bool,
    /// Mana that the ability costs, `X` excluded.
    pub input: SmallVec<[ManaSymbol; 2]>,
    /// Untapped permanents of which the ability taps some, and how many.
    pub helpers: SmallVec<[ObjectId; 4]>,
    pub helper_count: usize,
    /// What the mana may be spent on; `None` is anything.
    pub only: Option<Box<ManaUse>>,
}

impl ManaOption {
    /// Whether the ability costs mana or taps other permanents.
    pub(crate) fn converts(&self) -> bool {
        !self.input.is_empty() || self.helper_count > 0
    }
}

/// Untapped permanent that can add mana now.
#[derive(Debug, Clone)]
pub(crate) struct ManaSource {
    pub id: ObjectId,
    pub options: SmallVec<[ManaOption; 2]>,
    /// Lands are tapped before creatures.
    pub rank: u8,
    /// Cards in hand that need one of its colours, by colour bit; see [`ManaDemand`].
    pub wanted: ManaDemand,
}

impl ManaSource {
    pub(crate) fn converts(&self) -> bool {
        self.options.iter().any(ManaOption::converts)
    }
}

/// Permanents that pay another part of a cost are not tapped for mana abilities of others.
pub(crate) fn spare_helpers(sources: &mut Vec<ManaSource>, busy: &[ObjectId]) {
    for source in sources.iter_mut() {
        for option in &mut source.options {
            option.helpers.retain(|id| !busy.contains(id));
        }
        source.options.retain(|option| option.helpers.len() >= option.helper_count);
    }
    sources.retain(|source| !source.options.is_empty());
}

/// How many cards in a player's hand need mana of each kind.
pub(crate) type ManaDemand = [u8; 6];

/// Where a unit of mana comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    Pool(ManaKind),
    /// Restricted mana in the pool, by its place.
    Restricted(usize),
    Source(usize),
    /// Part of what an active source adds: its place among the active ones, kind.
    Several(usize, ManaKind),
    Creature(ObjectId),
    Card(ObjectId),
}

#[derive(Debug, Clone, Copy)]
struct Unit {
    supply: Supply,
    mask: u8,
    rank: u16,
    /// Cards in hand that need it; fewer are used first among equals.
    wanted: u8,
    /// Mana abilities that are activated before there is this mana.
    stage: usize,
    /// Whether it can pay for a mana ability: it is mana, and not only for certain uses.
    is_free: bool,
}

impl Unit {
    fn new(supply: Supply, mask: u8, rank: u16) -> Self {
        Self { supply, mask, rank, wanted: 0, stage: 0, is_free: false }
    }
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
    /// Places of restricted mana in the pool that is spent.
    pub from_restricted: Vec<usize>,
    pub convoke: Vec<ObjectId>,
    pub delve: Vec<ObjectId>,
    /// Permanents that mana abilities of others tap.
    pub helpers: Vec<ObjectId>,
    pub life: i32,
    /// Mana that stays in the pool.
    pub surplus: [u16; 6],
    pub restricted_surplus: Vec<RestrictedMana>,
    pub colors_spent: u8,
}

impl ManaPlan {
    /// Leaves one mana of an option in the pool.
    fn keep(&mut self, kind: ManaKind, option: &ManaOption) {
        if let Some(only) = &option.only {
            self.restricted_surplus.push(RestrictedMana { kind, only: (**only).clone() });
        } else if let Some(place) = self.surplus.get_mut(kind.index()) {
            *place += 1;
        }
    }
}

/// What is to be paid: symbols without generic ones, and generic mana.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManaNeed {
    pub symbols: SmallVec<[ManaSymbol; 6]>,
    pub generic: u32,
}

impl ManaNeed {
    pub(crate) fn new(cost: &ManaCost, x: u32) -> Self {
        let mut need = Self::default();
        need.add(cost, x);
        need
    }

    /// The mana of a cost; X is generic unless the cost names a colour for it.
    pub(crate) fn of_cost(cost: &Cost, x: u32) -> Self {
        let Some(color) = cost.x_color else { return Self::new(&cost.mana, x) };
        let mut need = Self::new(&cost.mana, 0);
        let count = usize::try_from(cost.mana.x_count().saturating_mul(x)).unwrap_or(usize::MAX);
        let colored = count.min(MAX_COLORED_X);
        need.symbols.extend(std::iter::repeat_n(ManaSymbol::Colored(color), colored));
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

/// Kinds of mana in a mask, in the order in which they are chosen.
pub(crate) fn kinds_in(mask: u8) -> Vec<ManaKind> {
    ManaKind::ALL.into_iter().filter(|kind| mask & bit(*kind) != 0).collect()
}

fn color_bit(color: Color) -> u8 {
    bit(ManaKind::from(color))
}

/// Kinds of mana that pay for a symbol, if it needs certain ones.
fn symbol_mask(symbol: ManaSymbol) -> u8 {
    match symbol {
        ManaSymbol::Colored(color) | ManaSymbol::TwoHybrid(color) | ManaSymbol::Phyrexian(color) => {
            color_bit(color)
        }
        ManaSymbol::Hybrid(first, second) | ManaSymbol::HybridPhyrexian(first, second) => {
            color_bit(first) | color_bit(second)
        }
        ManaSymbol::Colorless => bit(ManaKind::Colorless),
        ManaSymbol::Generic(_) | ManaSymbol::X => 0,
    }
}

impl MTGEngine {
    /// Whether restricted mana of a player may be spent on something.
    fn may_spend(&self, player: PlayerId, only: &ManaUse, purpose: ManaPurpose) -> bool {
        let (filter, id) = match purpose {
            ManaPurpose::Spell(card) => (&only.spells, card),
            ManaPurpose::Ability(source) => (&only.abilities, source),
            ManaPurpose::Other => return false,
        };
        let context = Context::new(id, player);
        filter.as_ref().is_some_and(|filter| self.view().object_matches(&spell_filter(filter), id, &context))
    }

    /// The sources without mana that may not be spent on this.
    fn usable_sources<'s>(
        &self,
        player: PlayerId,
        sources: &'s [ManaSource],
        purpose: ManaPurpose,
    ) -> Cow<'s, [ManaSource]> {
        let is_barred = |option: &ManaOption| {
            option.only.as_ref().is_some_and(|only| !self.may_spend(player, only, purpose))
        };
        if !sources.iter().any(|source| source.options.iter().any(is_barred)) {
            return Cow::Borrowed(sources);
        }
        let mut usable = sources.to_vec();
        for source in &mut usable {
            source.options.retain(|option| !is_barred(option));
        }
        usable.retain(|source| !source.options.is_empty());
        Cow::Owned(usable)
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
        payers: &Helpers,
        purpose: ManaPurpose,
    ) -> Option<ManaPlan> {
        if need.is_free() {
            return Some(ManaPlan::default());
        }
        let sources = &*self.usable_sources(player, sources, purpose);
        let (units, helpers) = self.units_without_sources(player, sources, payers, purpose);
        // More mana than sources could ever give is refused before anything is tried.
        let supply: usize = sources
            .iter()
            .map(|source| source.options.iter().map(|option| usize::from(option.amount)).max().unwrap_or(0))
            .sum();
        if units.len() + supply < need.least_mana() {
            return None;
        }
        let any = self.has_rule(player, |rule| *rule == crate::ability::PlayerRule::SpendManaAsAnyColor);
        let can_convert = sources.iter().any(ManaSource::converts);
        for (costly, converts) in [(false, false), (false, true), (true, false), (true, true)] {
            if converts && !can_convert {
                continue;
            }
            let helpers = helpers.clone();
            let life = self.payable_life(player);
            let mut solver = Solver { sources, need, costly, converts, life, any, helpers };
            if let Some(plan) = solver.with_several(&units, 0, &mut SmallVec::new()) {
                return Some(plan);
            }
        }
        None
    }

    /// Mana in the pool, and creatures and cards that pay; sources that could also convoke are apart,
    /// with the colours that they pay for: a permanent is tapped once.
    fn units_without_sources(
        &self,
        player: PlayerId,
        sources: &[ManaSource],
        payers: &Helpers,
        purpose: ManaPurpose,
    ) -> (Vec<Unit>, SmallVec<[(ObjectId, u8); 4]>) {
        let own = self.state.player(player);
        let mut units: Vec<Unit> = Vec::new();
        for (place, mana) in own.restricted_mana.iter().enumerate() {
            if self.may_spend(player, &mana.only, purpose) {
                units.push(Unit::new(Supply::Restricted(place), bit(mana.kind), 0));
            }
        }
        for kind in ManaKind::ALL {
            let amount = own.mana.get(kind.index()).copied().unwrap_or(0);
            let unit = Unit { is_free: true, ..Unit::new(Supply::Pool(kind), bit(kind), 0) };
            units.extend((0..amount).map(|_| unit));
        }
        let mut helpers: SmallVec<[(ObjectId, u8); 4]> = SmallVec::new();
        for id in &payers.convoke {
            let colors = self.view().characteristics(*id).colors;
            let mask = colors.iter().fold(0, |mask, color| mask | color_bit(color));
            if sources.iter().any(|source| source.id == *id) {
                helpers.push((*id, mask));
            } else {
                let rank = if payers.is_named { 0 } else { CREATURE_RANK };
                units.push(Unit::new(Supply::Creature(*id), mask, rank));
            }
        }
        let cards = payers.delve.iter();
        units.extend(cards.map(|id| Unit::new(Supply::Card(*id), 0, CREATURE_RANK + 1)));
        (units, helpers)
    }

    /// The sources of an explicit plan, each with the one kind of mana it is to add; all sources
    /// without a plan (601.2g).
    pub(crate) fn planned_sources<'s>(
        &self,
        sources: &'s [ManaSource],
        payment: &Payment,
    ) -> Result<Cow<'s, [ManaSource]>, Refusal> {
        let Some(named) = &payment.mana else { return Ok(Cow::Borrowed(sources)) };
        let refusal = || Refusal::new("601.2g", RefusalReason::CannotPayMana);
        let mut planned: Vec<ManaSource> = Vec::with_capacity(named.len());
        for (id, ability, position) in named {
            let source = sources.iter().find(|source| source.id == *id).ok_or_else(refusal)?;
            let mut options = source.options.iter().filter(|option| option.ability == *ability);
            let first = options.next().ok_or_else(refusal)?;
            // Where each choice of mana is an option of its own, the position is that of the option.
            let place = usize::from(*position).checked_sub(1).filter(|_| !first.list.is_empty());
            let mut option = place.and_then(|place| options.nth(place)).unwrap_or(first).clone();
            if option.list.is_empty() {
                let mut kinds = ManaKind::ALL.into_iter().filter(|kind| option.mask & bit(*kind) != 0);
                option.mask = bit(kinds.nth(usize::from(*position)).ok_or_else(refusal)?);
            }
            option.costly = false;
            if planned.iter().any(|known| known.id == *id) {
                return Err(refusal());
            }
            planned.push(ManaSource { id: *id, options: smallvec![option], ..source.clone() });
        }
        Ok(Cow::Owned(planned))
    }

    /// Sources of an explicit plan that the cost does not need are tapped too; their mana stays.
    pub(crate) fn keep_surplus(&self, plan: &mut ManaPlan, planned: &[ManaSource], payment: &Payment) {
        if payment.mana.is_none() {
            return;
        }
        for source in planned {
            let used =
                plan.taps.iter().any(|tap| tap.source == source.id) || plan.convoke.contains(&source.id);
            let Some(option) = source.options.first().filter(|_| !used) else { continue };
            let kind = ManaKind::ALL.into_iter().find(|kind| option.mask & bit(*kind) != 0);
            let Some(kind) = kind else { continue };
            plan.taps.push(ManaTap { source: source.id, ability: option.ability, kind });
            let added: SmallVec<[ManaKind; 2]> = if option.list.is_empty() {
                (0..option.amount).map(|_| kind).collect()
            } else {
                option.list.clone()
            };
            added.into_iter().for_each(|kind| plan.keep(kind, option));
        }
    }

    pub(crate) fn can_pay_mana(&self, player: PlayerId, cost: &ManaCost, x: u32) -> bool {
        let sources = self.mana_sources(player);
        self.plan_mana(player, &ManaNeed::new(cost, x), &sources, &Helpers::default(), ManaPurpose::Other)
            .is_some()
    }
}
