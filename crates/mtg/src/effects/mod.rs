//! Execution of instructions: one function per group of verbs.
//!
//! An instruction asks all its questions before it changes anything (see [`crate::task`]).

mod cards;
mod continuous;
mod life;
mod offers;
mod permanents;
mod spells;

use crate::ability::{Amount, Cost, CostPart, Effect, Instruction, Selector, Zone};
use crate::casting::announce::payable_part;
use crate::context::{Binding, Context, EventKind, EventRecord};
use crate::decision::{Choosable, Decision, DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::stack::queue_of;
use crate::state::{EndReason, Outcome};
use crate::task::Operation;

/// Greatest X of a cost that is paid on resolution, exclusive.
const MAX_CHOSEN_X: i32 = 100;

/// Repetitions of instructions in one resolution, so that one without an end stops.
const MAX_REPETITIONS: u32 = 10_000;

/// What an instruction did: what later ones may refer to, and instructions to follow next.
#[derive(Debug, Default)]
pub(crate) struct EffectResult {
    pub entities: Vec<Entity>,
    pub amount: i32,
    pub next: Vec<Operation>,
    pub accepted: Option<bool>,
    /// The X that was chosen for a cost.
    pub x: Option<i32>,
}

impl EffectResult {
    fn amount(amount: i32) -> Self {
        Self { amount, ..Self::default() }
    }

    fn entities(entities: Vec<Entity>) -> Self {
        Self { amount: i32::try_from(entities.len()).unwrap_or(i32::MAX), entities, ..Self::default() }
    }

    fn next(next: Vec<Operation>) -> Self {
        Self { next, ..Self::default() }
    }

    /// The objects that moved, by their new ids.
    fn moved(records: &[EventRecord]) -> Self {
        let moved = records.iter().filter(|record| record.kind == EventKind::ZoneChange);
        Self::entities(moved.filter_map(|record| record.became.map(Entity::Object)).collect())
    }
}

impl MTGEngine {
    /// Executes an instruction and returns what is to be done next.
    pub(crate) fn execute(
        &mut self,
        instruction: &Instruction,
        context: &mut Context,
    ) -> Flow<Vec<Operation>> {
        let done = self.execute_effect(&instruction.effect, context)?;
        if let Some(accepted) = done.accepted {
            context.accepted = accepted;
        }
        context.x = done.x.unwrap_or(context.x);
        if let Some(slot) = instruction.bind {
            context
                .bind(slot, Binding { entities: done.entities.into_iter().collect(), amount: done.amount });
        }
        Ok(done.next)
    }

    fn execute_effect(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::If { condition, then, otherwise } => {
                let holds = self.view().condition(condition, context);
                Ok(EffectResult::next(queue_of(if holds { then } else { otherwise })))
            }
            Effect::May { who, then, otherwise } if *who != Selector::You && otherwise.is_empty() => {
                self.offer_to_players(who, then, context)
            }
            Effect::May { who, then, otherwise } => {
                let player = self.player_of(who, context);
                let labels = [OptionLabel::Accept, OptionLabel::Decline];
                let yes = self.choose_label(player, DecisionKind::May, Some(context.source), labels)?;
                let next = queue_of(if yes { then } else { otherwise });
                Ok(EffectResult { next, accepted: Some(yes), ..EffectResult::default() })
            }
            Effect::MayPay { who, cost, then, otherwise } => {
                self.may_pay(who, cost, then, otherwise, context)
            }
            Effect::ForEach { over, then } => {
                let over = self.pick_selector(over, context)?;
                let mut next = vec![Operation::SetIterated(context.iterated)];
                for entity in over.into_iter().rev() {
                    next.extend(queue_of(then));
                    next.push(Operation::SetIterated(Some(entity)));
                }
                Ok(EffectResult::next(next))
            }
            Effect::Repeat { times, then } => {
                let times = self.view().amount(times, context).clamp(0, 1000);
                Ok(EffectResult::next((0..times).flat_map(|_| queue_of(then)).collect()))
            }
            Effect::While { condition, then } => {
                let holds = self.view().condition(condition, context) && self.may_repeat();
                Ok(EffectResult::next(if holds { queue_again(effect, then) } else { Vec::new() }))
            }
            Effect::ChooseOne { who, options } => {
                let player = self.player_of(who, context);
                let mut decision = Decision::new(player, DecisionKind::ChooseOption).source(context.source);
                decision.options = (0u8..).take(options.len()).map(Choosable::Index).collect();
                let chosen = self.choose_options(decision)?;
                let index = match chosen.first() {
                    Some(Choosable::Index(index)) => usize::from(*index),
                    _ => 0,
                };
                Ok(EffectResult::next(options.get(index).map(|option| queue_of(option)).unwrap_or_default()))
            }
            Effect::Select { what } => Ok(EffectResult::entities(self.pick_selector(what, context)?)),
            Effect::Compute { amount } => Ok(EffectResult::amount(self.view().amount(amount, context))),
            Effect::DealDamage { .. }
            | Effect::DealDividedDamage { .. }
            | Effect::GainLife { .. }
            | Effect::LoseLife { .. }
            | Effect::SetLife { .. }
            | Effect::ExchangeLife { .. }
            | Effect::Fight { .. }
            | Effect::AddMana { .. } => self.execute_life(effect, context),
            Effect::Draw { .. }
            | Effect::Discard { .. }
            | Effect::DiscardHand { .. }
            | Effect::DiscardCards { .. }
            | Effect::Mill { .. }
            | Effect::Scry { .. }
            | Effect::Surveil { .. }
            | Effect::LookAtTop { .. }
            | Effect::RevealUntil { .. }
            | Effect::Search { .. }
            | Effect::Shuffle { .. }
            | Effect::ShuffleInto { .. }
            | Effect::Reveal { .. }
            | Effect::RevealHand { .. }
            | Effect::LookAtHand { .. }
            | Effect::Explore { .. } => self.execute_cards(effect, context),
            Effect::Counter { .. }
            | Effect::CopySpell { .. }
            | Effect::ChangeTargets { .. }
            | Effect::CastNow { .. }
            | Effect::AllowPlay { .. } => self.execute_spells(effect, context),
            Effect::Continuous { .. }
            | Effect::PlayerRule { .. }
            | Effect::AddReplacement { .. }
            | Effect::DelayedTrigger { .. }
            | Effect::ReflexiveTrigger { .. }
            | Effect::Emblem { .. }
            | Effect::Choose { .. }
            | Effect::Regenerate { .. }
            | Effect::Goad { .. } => self.execute_continuous(effect, context),
            Effect::ExtraTurn { .. }
            | Effect::ExtraCombat { .. }
            | Effect::SkipNext { .. }
            | Effect::EndTurn
            | Effect::WinGame { .. }
            | Effect::LoseGame { .. }
            | Effect::DrawGame
            | Effect::FlipCoin { .. }
            | Effect::RollDie { .. } => self.execute_game(effect, context),
            _ => self.execute_permanents(effect, context),
        }
    }

    /// The first player of a selector, or the controller.
    pub(crate) fn player_of(&self, who: &Selector, context: &Context) -> PlayerId {
        self.view().select_player(who, context).unwrap_or(context.controller)
    }

    /// All players of a selector, in turn order as the selector has them.
    pub(crate) fn players_of(&self, who: &Selector, context: &Context) -> Vec<PlayerId> {
        self.view().select(who, context).into_iter().filter_map(Entity::player).collect()
    }

    /// Amount for a player: `Iterated` is the player unless a loop has set it.
    pub(crate) fn amount_for(&self, amount: &Amount, player: PlayerId, context: &Context) -> i32 {
        if context.iterated.is_some() || matches!(amount, Amount::Fixed(_)) {
            return self.view().amount(amount, context);
        }
        let mut inner = context.clone();
        inner.iterated = Some(player.into());
        self.view().amount(amount, &inner)
    }

    /// Objects to move: an object that changed zones in the event is found where it went (400.7).
    pub(crate) fn follow(&self, entities: &[Entity], context: &Context) -> Vec<ObjectId> {
        let follow = |id: ObjectId| {
            if self.state.exists(id) {
                return Some(id);
            }
            let event = context.event.as_ref()?;
            let moved = event.subject == Some(Entity::Object(id)) || context.source == id;
            let became = event
                .became
                .filter(|became| moved && became.slot() == id.slot() && self.state.exists(*became));
            became.or_else(|| self.buried_attachment(id, context))
        };
        entities.iter().filter_map(|entity| entity.object()).filter_map(follow).collect()
    }

    /// An Aura whose ability triggered when what it enchanted left is found in the graveyard (400.7e).
    fn buried_attachment(&self, id: ObjectId, context: &Context) -> Option<ObjectId> {
        let event = context.event.as_ref().filter(|_| context.source == id)?;
        let host = self.state.snapshot(id)?.object.attached_to;
        let card = self.state.moved_card(id).filter(|card| card.zone == Zone::Graveyard)?;
        (host.is_some() && host == event.subject).then_some(card.id)
    }

    fn may_pay(
        &mut self,
        who: &Selector,
        cost: &Cost,
        then: &[Instruction],
        otherwise: &[Instruction],
        context: &Context,
    ) -> Flow<EffectResult> {
        let player = self.player_of(who, context);
        let mut inner = context.clone();
        inner.controller = player;
        let refused =
            EffectResult { next: queue_of(otherwise), accepted: Some(false), ..EffectResult::default() };
        if self.plan_cost(cost, &inner, &[]).is_err() {
            return Ok(refused);
        }
        let counters = otherwise.iter().any(|next| matches!(next.effect, Effect::Counter { .. }));
        let kind = if counters && then.is_empty() { DecisionKind::PayWard } else { DecisionKind::PayCost };
        let labels = [OptionLabel::Pay, OptionLabel::DoNotPay];
        if !self.choose_label(player, kind, Some(context.source), labels)? {
            return Ok(refused);
        }
        let x = self.choose_cost_x(cost, &inner)?;
        inner.x = x.unwrap_or(inner.x);
        let given = self.choose_payment(cost, &inner)?;
        let Ok(plan) = self.plan_cost(cost, &inner, &given) else { return Ok(refused) };
        let paid = self.pay(player, &plan);
        Ok(EffectResult {
            entities: paid.into_iter().map(Entity::Object).collect(),
            next: queue_of(then),
            accepted: Some(true),
            x,
            ..EffectResult::default()
        })
    }

    /// Asks for the X of a cost that is paid on resolution; `None` if it has none or it was announced
    /// with the spell or ability (107.3e).
    fn choose_cost_x(&mut self, cost: &Cost, context: &Context) -> Flow<Option<i32>> {
        let is_announced = context.x != 0 || self.state.object(context.source).zone == Zone::Stack;
        if is_announced || cost.mana.x_count() == 0 {
            return Ok(None);
        }
        let mut trial = context.clone();
        let payable = |x: &i32| {
            trial.x = *x;
            self.plan_cost(cost, &trial, &[]).is_ok()
        };
        let options: Vec<Choosable> = (0..MAX_CHOSEN_X).take_while(payable).map(Choosable::Number).collect();
        let mut decision = Decision::new(context.controller, DecisionKind::Number).source(context.source);
        decision.options = options;
        Ok(self.choose_options(decision)?.first().map(|choice| match choice {
            Choosable::Number(x) => *x,
            _ => 0,
        }))
    }

    /// Counts a repetition of a resolution; false at the limit of the loop guard (104.4b).
    fn may_repeat(&mut self) -> bool {
        self.state.quiet_steps += 1;
        self.state.quiet_steps < MAX_REPETITIONS
    }

    /// Asks which objects pay the parts of a cost that leave a choice.
    pub(crate) fn choose_payment(&mut self, cost: &Cost, context: &Context) -> Flow<Vec<ObjectId>> {
        let mut given = Vec::new();
        for part in &cost.parts {
            let Some((zone, filter, count)) = payable_part(part) else { continue };
            let kind = match part {
                CostPart::Sacrifice { .. } | CostPart::SacrificeAny(_) => DecisionKind::Sacrifice,
                CostPart::Discard { .. } => DecisionKind::Discard,
                _ => DecisionKind::Choose,
            };
            let mut options = self.payable_objects(zone, filter, context);
            if matches!(part, CostPart::TapPermanents { .. }) {
                options.retain(|id| !self.state.object(*id).tapped);
            }
            let exact = |count| usize::try_from(self.view().amount(count, context)).unwrap_or(0);
            let (least, most) = count.map_or((0, options.len()), |count| (exact(count), exact(count)));
            let decision = Decision::new(context.controller, kind)
                .source(context.source)
                .range(least, most)
                .entities(options.into_iter().map(Entity::Object));
            given.extend(self.choose_objects(decision)?);
        }
        Ok(given)
    }

    fn execute_game(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::ExtraTurn { who } => {
                for player in self.players_of(who, context) {
                    if self.state.extra_turns.is_empty() {
                        // The turn that would have come next follows the extra ones (500.7).
                        self.state.extra_turns.push(self.state.active.opponent());
                    }
                    self.state.extra_turns.push(player);
                }
            }
            Effect::ExtraCombat { with_main } => {
                use crate::ability::TurnStep;
                if self.state.step == TurnStep::Main1 && self.state.extra_steps.is_empty() {
                    // The combat phase that would have come next follows the extra phases (500.8).
                    self.state.extra_steps.push(TurnStep::BeginCombat);
                }
                if *with_main {
                    self.state.extra_steps.push(TurnStep::Main2);
                }
                self.state.extra_steps.push(TurnStep::BeginCombat);
            }
            Effect::SkipNext { who, step } => {
                for player in self.players_of(who, context) {
                    self.state.player_mut(player).skips.push(*step);
                }
            }
            Effect::EndTurn => self.end_turn_now(),
            Effect::WinGame { who } => {
                let player = self.player_of(who, context);
                let cant = |rule: &crate::ability::PlayerRule| *rule == crate::ability::PlayerRule::CantWin;
                if !self.has_rule(player, cant) {
                    self.state.outcome = Some(Outcome { winner: Some(player), reason: EndReason::Effect });
                }
            }
            Effect::LoseGame { who } => {
                let mut players = self.players_of(who, context);
                let cant = |rule: &crate::ability::PlayerRule| *rule == crate::ability::PlayerRule::CantLose;
                players.retain(|player| !self.has_rule(*player, cant));
                let winner = match players.as_slice() {
                    [player] => Some(player.opponent()),
                    [] => return Ok(EffectResult::default()),
                    _ => None,
                };
                self.state.outcome = Some(Outcome { winner, reason: EndReason::Effect });
            }
            Effect::DrawGame => {
                self.state.outcome = Some(Outcome { winner: None, reason: EndReason::Effect });
            }
            Effect::FlipCoin { win, lose, .. } => {
                let won = self.state.random.below(2) == 0;
                let next = queue_of(if won { win } else { lose });
                return Ok(EffectResult { next, accepted: Some(won), ..EffectResult::default() });
            }
            Effect::RollDie { sides } => {
                let roll = self.state.random.below(usize::from(*sides)) + 1;
                return Ok(EffectResult::amount(i32::try_from(roll).unwrap_or(1)));
            }
            _ => {}
        }
        self.touch();
        Ok(EffectResult::default())
    }
}

/// Instructions that are followed now, and the effect that repeats them.
fn queue_again(effect: &Effect, then: &[Instruction]) -> Vec<Operation> {
    let mut next = vec![Operation::Run(Box::new(effect.clone().into()))];
    next.extend(queue_of(then));
    next
}
