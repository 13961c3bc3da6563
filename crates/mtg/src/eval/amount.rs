//! Amounts and conditions.

use super::{View, statistic};
use crate::ability::{Amount, Condition, Selector};
use crate::card::{CardType, Color, ManaSymbol, TypeSet};
use crate::context::Context;
use crate::faces::land_mana;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::{GameState, STARTING_LIFE};

impl View<'_> {
    /// Value of an amount.
    #[must_use]
    pub fn amount(&self, amount: &Amount, context: &Context) -> i32 {
        let sum = |selector: &Selector, value: &dyn Fn(ObjectId) -> i32| -> i32 {
            self.objects(selector, context).into_iter().map(value).sum()
        };
        let most = |selector: &Selector, value: &dyn Fn(ObjectId) -> i32| -> i32 {
            self.objects(selector, context).into_iter().map(value).max().unwrap_or(0)
        };
        match amount {
            Amount::Fixed(value) => *value,
            Amount::X if context.x != 0 => context.x,
            Amount::X => self.object(context.source).cast.x,
            Amount::Count(selector) => {
                i32::try_from(self.select(selector, context).len()).unwrap_or(i32::MAX)
            }
            Amount::Power(selector) => sum(selector, &|id| self.power(id)),
            Amount::Toughness(selector) => sum(selector, &|id| self.toughness(id)),
            Amount::ManaValue(selector) => sum(selector, &|id| self.mana_value(id)),
            Amount::GreatestPower(selector) => most(selector, &|id| self.power(id)),
            Amount::GreatestToughness(selector) => most(selector, &|id| self.toughness(id)),
            Amount::GreatestManaValue(selector) => most(selector, &|id| self.mana_value(id)),
            Amount::Counters(selector, kind) => {
                self.select(selector, context).into_iter().map(|entity| self.counters_on(entity, *kind)).sum()
            }
            Amount::Life(selector) => {
                self.sum_players(selector, context, |state, player| state.player(player).life)
            }
            Amount::HandSize(selector) => self.sum_players(selector, context, |state, player| {
                i32::try_from(state.player(player).hand.len()).unwrap_or(i32::MAX)
            }),
            Amount::Binding(slot) => context.binding(*slot).map_or(0, |bound| bound.amount),
            Amount::Event => context.event.as_ref().map_or(0, |event| event.amount),
            Amount::Sum(parts) => parts.iter().map(|part| self.amount(part, context)).sum(),
            Amount::Difference(first, second) => self.amount(first, context) - self.amount(second, context),
            Amount::Times(of, factor) => self.amount(of, context).saturating_mul(*factor),
            Amount::Half { of, round_up } => {
                let value = self.amount(of, context);
                if *round_up { (value + 1).div_euclid(2) } else { value.div_euclid(2) }
            }
            Amount::Divided { of, by } => {
                self.amount(of, context).checked_div_euclid(self.amount(by, context)).unwrap_or(0)
            }
            Amount::Smallest(parts) => parts.iter().map(|part| self.amount(part, context)).min().unwrap_or(0),
            Amount::Greatest(parts) => parts.iter().map(|part| self.amount(part, context)).max().unwrap_or(0),
            Amount::ThisTurn(which, selector) => {
                self.sum_players(selector, context, |state, player| statistic(state, player, *which))
            }
            Amount::LastTurn(which, selector) => self.sum_players(selector, context, |state, player| {
                state.player(player).last_statistics.get(*which as usize).copied().unwrap_or(0)
            }),
            Amount::SpellsBefore => self.spells_before(context),
            Amount::StartingLife => STARTING_LIFE,
            Amount::ColorsSpent => {
                let spent = self.object(context.source).cast.colors_spent;
                i32::try_from(spent.count_ones()).unwrap_or(0)
            }
            Amount::KickerCount => i32::from(context.kicked.max(self.object(context.source).cast.kicked)),
            Amount::If(condition, yes, no) => {
                self.amount(if self.condition(condition, context) { yes } else { no }, context)
            }
            _ => self.amount_among(amount, context),
        }
    }

    fn spells_before(&self, context: &Context) -> i32 {
        let spell = context.event.as_ref().and_then(|event| event.subject).and_then(Entity::object);
        spell.map_or(0, |spell| self.object(spell).chosen.number)
    }

    pub(super) fn amount_among(&self, amount: &Amount, context: &Context) -> i32 {
        match amount {
            Amount::ColorsAmong(selector) => {
                let colors =
                    self.objects(selector, context).into_iter().map(|id| self.characteristics(id).colors);
                let all = colors.fold(crate::card::ColorSet::EMPTY, crate::card::ColorSet::union);
                i32::try_from(all.count()).unwrap_or(0)
            }
            Amount::CardTypesAmong(selector) => {
                let types =
                    self.objects(selector, context).into_iter().map(|id| self.characteristics(id).types);
                i32::try_from(types.fold(TypeSet::EMPTY, TypeSet::union).count()).unwrap_or(0)
            }
            Amount::Domain(selector) => {
                let players = self.select(selector, context);
                let lands = self.state.battlefield.iter().filter(|id| {
                    self.characteristics(**id).is(CardType::Land)
                        && players.contains(&Entity::Player(self.controller(**id)))
                });
                let mut kinds = 0u32;
                for subtype in lands.flat_map(|id| &self.characteristics(*id).subtypes) {
                    kinds |= land_mana(*subtype).map_or(0, |color| 1 << color);
                }
                i32::try_from(kinds.count_ones()).unwrap_or(0)
            }
            Amount::Devotion(selector, colors) => {
                let players = self.select(selector, context);
                let own = self
                    .state
                    .battlefield
                    .iter()
                    .filter(|id| players.contains(&Entity::Player(self.controller(**id))));
                own.map(|id| self.devotion(*id, colors)).sum()
            }
            _ => 0,
        }
    }

    pub(super) fn devotion(&self, id: ObjectId, colors: &[Color]) -> i32 {
        let symbols = self.face(id).and_then(|face| face.face.mana_cost.as_ref());
        let counts = |symbol: &&ManaSymbol| colors.iter().any(|color| symbol.colors().contains(*color));
        symbols.map_or(0, |cost| i32::try_from(cost.symbols.iter().filter(counts).count()).unwrap_or(0))
    }

    pub(super) fn counters_on(&self, entity: Entity, kind: Option<crate::ability::CounterKind>) -> i32 {
        let counters = match entity {
            Entity::Player(player) => &self.state.player(player).counters,
            Entity::Object(id) => &self.object(id).counters,
        };
        counters.iter().filter(|entry| kind.is_none_or(|kind| kind == entry.0)).map(|entry| entry.1).sum()
    }

    /// Whether two of the objects have a card type in common.
    fn share_card_type(&self, objects: &[ObjectId]) -> bool {
        objects.iter().enumerate().any(|(position, one)| {
            let types = self.characteristics(*one).types;
            let earlier = objects.iter().take(position);
            earlier.into_iter().any(|two| types.intersects(self.characteristics(*two).types))
        })
    }

    pub(super) fn sum_players(
        &self,
        selector: &Selector,
        context: &Context,
        value: impl Fn(&GameState, PlayerId) -> i32,
    ) -> i32 {
        let players = self.select(selector, context).into_iter().filter_map(Entity::player);
        players.map(|player| value(self.state, player)).sum()
    }

    /// Value of a condition.
    #[must_use]
    pub fn condition(&self, condition: &Condition, context: &Context) -> bool {
        match condition {
            Condition::All(parts) => parts.iter().all(|part| self.condition(part, context)),
            Condition::Any(parts) => parts.iter().any(|part| self.condition(part, context)),
            Condition::Not(part) => !self.condition(part, context),
            Condition::Compare(left, comparison, right) => {
                comparison.holds(self.amount(left, context), self.amount(right, context))
            }
            Condition::Exists(selector) => !self.select(selector, context).is_empty(),
            Condition::Matches(selector, filter) => {
                let found = self.select(selector, context);
                !found.is_empty() && found.iter().all(|entity| self.matches(filter, *entity, context))
            }
            Condition::TurnOf(selector) => {
                self.select(selector, context).contains(&Entity::Player(self.state.active))
            }
            Condition::During(step) => self.state.step == *step,
            Condition::BeforeStep(step) => self.state.step < *step,
            Condition::DuringCombat => {
                self.state.step >= crate::ability::TurnStep::BeginCombat
                    && self.state.step <= crate::ability::TurnStep::EndCombat
            }
            Condition::Kicked => context.kicked > 0 || self.object(context.source).cast.kicked > 0,
            Condition::KickedWith(place) => {
                let kicked = context.kicked | self.object(context.source).cast.kicked;
                u32::from(kicked) & (1 << (*place).min(7)) != 0
            }
            Condition::WasCast => self.object(context.source).cast.from.is_some(),
            Condition::CastFrom(zone) => self.object(context.source).cast.from == Some(*zone),
            Condition::ManaSpent(color) => {
                self.object(context.source).cast.colors_spent & (1 << (*color as u8)) != 0
            }
            Condition::CoinWon | Condition::Accepted => context.accepted,
            Condition::CityBlessing(selector) => {
                let players = self.select(selector, context).into_iter().filter_map(Entity::player);
                players.into_iter().any(|player| self.state.player(player).has_blessing)
            }
            Condition::ShareCardType(selector) => self.share_card_type(&self.objects(selector, context)),
        }
    }
}
