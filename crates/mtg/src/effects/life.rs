//! Damage, life and mana.

use super::EffectResult;
use crate::ability::{Effect, Filter, Instruction, ManaOutput, ManaUse, Selector};
use crate::card::ManaKind;
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Choosable, Decision, DecisionKind};
use crate::engine::{Flow, MTGEngine};
use crate::event::Event;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::RestrictedMana;

impl MTGEngine {
    pub(super) fn execute_life(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::DealDamage { source, amount, to } => {
                let sources = self.view().select(source, context);
                // "Each other creature" is each but the one that deals the damage.
                let to = match sources.as_slice() {
                    [Entity::Object(id)] if mentions_other(to) => {
                        self.pick_selector(to, &Context { source: *id, ..context.clone() })?
                    }
                    _ => self.pick_selector(to, context)?,
                };
                let mut events = Vec::new();
                for source in sources.iter().filter_map(|entity| entity.object()) {
                    for target in &to {
                        let mut inner = context.clone();
                        if inner.iterated.is_none() {
                            inner.iterated = Some(if sources.len() > 1 { source.into() } else { *target });
                        }
                        let amount = self.view().amount(amount, &inner);
                        events.push(Event::Damage { source, to: *target, amount, combat: false });
                    }
                }
                self.deal(events)
            }
            Effect::DealDividedDamage { source, slot } => {
                let Some(source) =
                    self.view().select(source, context).first().and_then(|entity| entity.object())
                else {
                    return Ok(EffectResult::default());
                };
                let Some(choice) = context.target(*slot) else { return Ok(EffectResult::default()) };
                let parts = choice.entities.iter().zip(&choice.division);
                let events = parts
                    .map(|(to, amount)| Event::Damage { source, to: *to, amount: *amount, combat: false })
                    .collect();
                self.deal(events)
            }
            Effect::Fight { first, second } => {
                let one = self.pick_selector(first, context)?.first().and_then(|entity| entity.object());
                let two = self.pick_selector(second, context)?.first().and_then(|entity| entity.object());
                self.fight(one, two)
            }
            Effect::GainLife { who, amount } => {
                let gain = |player: PlayerId, amount: i32| Event::GainLife { player, amount };
                self.change_life(who, amount, context, EventKind::LifeGained, gain)
            }
            Effect::LoseLife { who, amount } => {
                let lose = |player: PlayerId, amount: i32| Event::LoseLife { player, amount };
                self.change_life(who, amount, context, EventKind::LifeLost, lose)
            }
            Effect::SetLife { who, amount } => {
                let mut events = Vec::new();
                for player in self.players_of(who, context) {
                    let wanted = self.amount_for(amount, player, context);
                    events.extend(self.life_change(player, wanted));
                }
                self.apply(events)?;
                Ok(EffectResult::default())
            }
            Effect::ExchangeLife { first, second } => {
                let one = self.player_of(first, context);
                let two = self.player_of(second, context);
                let (life_one, life_two) = (self.state.player(one).life, self.state.player(two).life);
                let mut events: Vec<Event> = self.life_change(one, life_two).into_iter().collect();
                events.extend(self.life_change(two, life_one));
                self.apply(events)?;
                Ok(EffectResult::default())
            }
            Effect::AddMana { who, mana, only } => {
                let player = self.player_of(who, context);
                let kinds = self.choose_mana(player, mana, context)?;
                self.add_mana(player, &kinds, only.as_ref());
                Ok(EffectResult::default())
            }
            _ => Ok(EffectResult::default()),
        }
    }

    /// Setting a life total is gaining or losing the difference (119.5).
    fn life_change(&self, player: PlayerId, wanted: i32) -> Option<Event> {
        let life = self.state.player(player).life;
        if wanted > life {
            Some(Event::GainLife { player, amount: wanted - life })
        } else if wanted < life {
            Some(Event::LoseLife { player, amount: life - wanted })
        } else {
            None
        }
    }

    fn change_life(
        &mut self,
        who: &crate::ability::Selector,
        amount: &crate::ability::Amount,
        context: &Context,
        kind: EventKind,
        event: impl Fn(PlayerId, i32) -> Event,
    ) -> Flow<EffectResult> {
        let mut events = Vec::new();
        for player in self.players_of(who, context) {
            let amount = self.amount_for(amount, player, context);
            if amount > 0 {
                events.push(event(player, amount));
            }
        }
        let records = self.apply(events)?;
        let changed = records.iter().filter(|record| record.kind == kind);
        Ok(EffectResult::amount(changed.map(|record| record.amount).sum()))
    }

    fn deal(&mut self, events: Vec<Event>) -> Flow<EffectResult> {
        let records = self.apply(events)?;
        let dealt: Vec<&EventRecord> =
            records.iter().filter(|record| record.kind == EventKind::Damage).collect();
        Ok(EffectResult {
            entities: dealt.iter().filter_map(|record| record.subject).collect(),
            amount: dealt.iter().map(|record| record.amount).sum(),
            ..EffectResult::default()
        })
    }

    fn fight(&mut self, one: Option<ObjectId>, two: Option<ObjectId>) -> Flow<EffectResult> {
        let (Some(one), Some(two)) = (one, two) else { return Ok(EffectResult::default()) };
        let ready =
            |id: ObjectId| self.state.is_on_battlefield(id) && self.view().characteristics(id).is_creature();
        if !ready(one) || !ready(two) {
            return Ok(EffectResult::default());
        }
        let hit = |source: ObjectId, to: ObjectId| Event::Damage {
            source,
            to: to.into(),
            amount: self.view().power(source),
            combat: false,
        };
        let events = vec![hit(one, two), hit(two, one)];
        let done = self.deal(events)?;
        let before = self.shared_projection();
        let records = [one, two].map(|id| EventRecord::new(EventKind::Fight).subject(id));
        self.collect_triggers(&before, &records);
        Ok(done)
    }

    /// Kinds of mana to add; asks where there is a choice.
    fn choose_mana(&mut self, player: PlayerId, mana: &ManaOutput, context: &Context) -> Flow<Vec<ManaKind>> {
        let (mask, amount, list) = self.mana_output(mana, context);
        if !list.is_empty() {
            return Ok(list.into_vec());
        }
        let kinds: Vec<ManaKind> =
            ManaKind::ALL.into_iter().filter(|kind| mask & (1 << kind.index()) != 0).collect();
        let mut chosen = Vec::new();
        let separate =
            matches!(mana, ManaOutput::Combination { .. } | ManaOutput::AnyColor { same: false, .. });
        let questions = if separate { amount } else { amount.min(1) };
        for _ in 0..questions {
            let mut decision = Decision::new(player, DecisionKind::ChooseOption).source(context.source);
            decision.options = kinds
                .iter()
                .map(|kind| kind.color().map_or(Choosable::Number(5), Choosable::Color))
                .collect();
            let kind = match self.choose_options(decision)?.first() {
                Some(Choosable::Color(color)) => ManaKind::from(*color),
                _ => ManaKind::Colorless,
            };
            let times = if separate { 1 } else { amount };
            chosen.extend((0..times).map(|_| kind));
        }
        Ok(chosen)
    }

    fn add_mana(&mut self, player: PlayerId, kinds: &[ManaKind], only: Option<&ManaUse>) {
        if let Some(only) = only {
            let mana = kinds.iter().map(|kind| RestrictedMana { kind: *kind, only: only.clone() });
            self.state.player_mut(player).restricted_mana.extend(mana);
            return;
        }
        for kind in kinds {
            if let Some(place) = self.state.player_mut(player).mana.get_mut(kind.index()) {
                *place = place.saturating_add(1);
            }
        }
    }

    /// Mana of an activated mana ability; `choice` is the position among the possible kinds.
    pub(crate) fn add_mana_now(&mut self, effects: &[Instruction], context: &Context, choice: u8) {
        for instruction in effects {
            let Effect::AddMana { who, mana, only } = &instruction.effect else { continue };
            let player = self.player_of(who, context);
            let (mask, amount, list) = self.mana_output(mana, context);
            if !list.is_empty() {
                self.add_mana(player, &list, only.as_ref());
                continue;
            }
            let kinds = crate::mana::kinds_in(mask);
            let kind = kinds.get(usize::from(choice)).or(kinds.first()).copied();
            let added: Vec<ManaKind> = (0..amount).filter_map(|_| kind).collect();
            self.add_mana(player, &added, only.as_ref());
        }
    }

    /// Controller of a damaged object or the damaged player.
    pub(crate) fn owner_of_damage(&self, to: Entity) -> PlayerId {
        match to {
            Entity::Player(player) => player,
            Entity::Object(id) => self.view().controller(id),
        }
    }
}

/// Whether a selector means all objects but one.
fn mentions_other(selector: &Selector) -> bool {
    match selector {
        Selector::All { filter: Filter::All(parts), .. } => parts.contains(&Filter::Other),
        Selector::Union(parts) => parts.iter().any(mentions_other),
        _ => false,
    }
}
