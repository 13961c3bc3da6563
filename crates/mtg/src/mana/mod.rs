//! Mana: what permanents can add, and the exact payer.
//!
//! The payer is a matching between symbols and units of mana: mana in the pool, untapped sources, and
//! for convoke and delve creatures and cards. It finds a payment whenever there is one, so the list
//! of legal actions and the payment itself use it and never disagree. Sources that add several mana
//! are tried only when single ones do not suffice. Mana abilities that cost mana are left to the
//! player, who can activate them by hand.

mod payment;
mod solver;

use crate::ability::{
    Ability, ActivatedAbility, Amount, Cost, CostPart, Effect, Filter, ManaOutput, ManaUse,
};
use crate::action::Payment;
use crate::card::{CardType, Color, ManaCost, ManaKind, ManaSymbol};
use crate::casting::cost::spell_filter;
use crate::characteristics::{AbilityClass, RuleFlag};
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
    /// What the mana may be spent on; `None` is anything.
    pub only: Option<Box<ManaUse>>,
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

/// How many cards in a player's hand need mana of each kind.
pub(crate) type ManaDemand = [u8; 6];

/// Where a unit of mana comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    Pool(ManaKind),
    /// Restricted mana in the pool, by its place.
    Restricted(usize),
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
    rank: u16,
    /// Cards in hand that need it; fewer are used first among equals.
    wanted: u8,
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
        if own.has_rule(RuleFlag::CantActivate) || self.bars_activation(player, id) {
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
        let (output, only) =
            ability.body.effects.iter().find_map(|instruction| match &instruction.effect {
                Effect::AddMana { mana, only, .. } => Some((mana, only)),
                _ => None,
            })?;
        let (mask, amount, list) = self.mana_output(output, &context);
        (mask != 0 && amount > 0).then_some(ManaOption {
            ability: reference,
            mask,
            amount,
            list,
            costly: !simple,
            only: only.clone().map(Box::new),
        })
    }

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
        let own = self.state.player(player);
        let mut units: Vec<Unit> = Vec::new();
        for (place, mana) in own.restricted_mana.iter().enumerate() {
            if self.may_spend(player, &mana.only, purpose) {
                let supply = Supply::Restricted(place);
                units.push(Unit { supply, mask: bit(mana.kind), generic: true, rank: 0, wanted: 0 });
            }
        }
        for kind in ManaKind::ALL {
            let amount = own.mana.get(kind.index()).copied().unwrap_or(0);
            let unit =
                Unit { supply: Supply::Pool(kind), mask: bit(kind), generic: true, rank: 0, wanted: 0 };
            units.extend((0..amount).map(|_| unit));
        }
        let mut helpers: SmallVec<[(ObjectId, u8); 4]> = SmallVec::new();
        for id in &payers.convoke {
            let colors = self.view().characteristics(*id).colors;
            let mask = colors.iter().fold(0, |mask, color| mask | color_bit(color));
            // A permanent is tapped once: for its mana or for convoke.
            if sources.iter().any(|source| source.id == *id) {
                helpers.push((*id, mask));
            } else {
                units.push(Unit {
                    supply: Supply::Creature(*id),
                    mask,
                    generic: true,
                    rank: CREATURE_RANK,
                    wanted: 0,
                });
            }
        }
        for id in &payers.delve {
            units.push(Unit {
                supply: Supply::Card(*id),
                mask: 0,
                generic: true,
                rank: CREATURE_RANK + 1,
                wanted: 0,
            });
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
            let helpers = helpers.clone();
            let mut solver = Solver { sources, need, costly, life: own.life, any, helpers };
            if let Some(plan) = solver.with_several(&units, 0, &mut SmallVec::new()) {
                return Some(plan);
            }
        }
        None
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
            let option = source.options.iter().find(|option| option.ability == *ability);
            let mut option = option.ok_or_else(refusal)?.clone();
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
