//! Resolution of spells and abilities (608).

use crate::ability::{
    Ability, Body, Cost, Duration, Effect, EventPattern, Filter, Instruction, Keyword, Selector,
    TriggeredAbility, TurnStep, Zone,
};
use crate::action::CastAction;
use crate::casting::spell_body;
use crate::context::Context;
use crate::decision::{DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine, Suspend};
use crate::event::{Event, MoveCause, MoveEvent};
use crate::faces::has_printed_keyword;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::{CastWay, DelayedTrigger, ObjectKind, StackItem, Until};
use crate::targets::target_specs;
use crate::task::{Frame, Operation, Task};
use smallvec::SmallVec;

impl MTGEngine {
    /// Body of a spell or ability on the stack.
    pub(crate) fn stack_body(&self, item: &StackItem) -> Body {
        match item.ability {
            None => {
                let face = self.state.faces.get(self.view().object(item.object).shown_face());
                face.map_or_else(Body::default, |face| spell_body(&face.face).into_owned())
            }
            Some(reference) => match self.ability(reference) {
                Some(Ability::Activated(ability)) => ability.body.clone(),
                Some(Ability::Triggered(ability)) => ability.body.clone(),
                _ => Body::default(),
            },
        }
    }

    /// Begins the resolution of the top of the stack.
    pub(crate) fn resolve_top(&mut self) -> Flow<()> {
        let Some(item) = self.state.stack.last().cloned() else { return Ok(()) };
        let body = self.stack_body(&item);
        let mut context = item.context.clone();
        self.state.tasks.push(Task::FinishResolution(item.object));
        // An intervening "if" is checked again (603.4).
        if let Some(reference) = item.ability
            && let Some(Ability::Triggered(ability)) = self.ability(reference)
            && let Some(condition) = &ability.condition
            && !self.view().condition(condition, &context)
        {
            return Ok(());
        }
        if !self.keep_legal_targets(&body, &item, &mut context) {
            if item.ability.is_none() {
                let moving = MoveEvent::new(item.object, Zone::Graveyard);
                self.apply(vec![Event::Move(moving)])?;
            }
            return Ok(());
        }
        if let Some(own) = self.state.stack.last_mut() {
            own.context.targets.clone_from(&context.targets);
        }
        let face = self.state.faces.get(self.state.object(item.object).shown_face());
        if item.ability.is_none()
            && face.is_some_and(|face| {
                has_printed_keyword(&face.face, Keyword::Ascend) && !face.face.is_permanent_card()
            })
        {
            self.bless(item.context.controller);
        }
        let queue = operations(&body, &item.modes);
        if !queue.is_empty() {
            self.state.tasks.push(Task::Frame(Box::new(Frame { context, queue })));
        }
        Ok(())
    }

    /// Removes illegal targets; false if there were targets and none is legal (608.2b).
    fn keep_legal_targets(&self, body: &Body, item: &StackItem, context: &mut Context) -> bool {
        let specs = target_specs(body, &item.modes);
        let before = context.clone();
        let mut had = false;
        let mut left = false;
        for (choice, spec) in context.targets.iter_mut().zip(&specs) {
            let legal: SmallVec<[bool; 4]> =
                choice.entities.iter().map(|target| self.is_legal_target(spec, *target, &before)).collect();
            had |= !legal.is_empty();
            left |= legal.iter().any(|is_legal| *is_legal);
            let mut position = 0;
            let keep = |index: usize| legal.get(index).copied().unwrap_or(false);
            choice.division.retain(|_| {
                position += 1;
                keep(position - 1)
            });
            position = 0;
            choice.entities.retain(|_| {
                position += 1;
                keep(position - 1)
            });
        }
        !had || left
    }

    /// Follows the instructions of a resolution until one needs an answer.
    pub(crate) fn run_frame(&mut self, mut frame: Frame) -> Flow<()> {
        while let Some(operation) = frame.queue.last().cloned() {
            match operation {
                Operation::SetIterated(entity) => {
                    frame.context.iterated = entity;
                    frame.queue.pop();
                }
                Operation::SetTargetBase(base) => {
                    frame.context.target_base = base;
                    frame.queue.pop();
                }
                Operation::Run(instruction) => {
                    let random = self.state.random;
                    match self.execute(&instruction, &mut frame.context) {
                        Ok(next) => {
                            frame.queue.pop();
                            frame.queue.extend(next);
                            self.clear_answers();
                            // A state may last only until the next instruction (603.8).
                            self.check_state_triggers();
                        }
                        Err(Suspend) => {
                            self.state.random = random;
                            self.state.tasks.push(Task::Frame(Box::new(frame)));
                            return Err(Suspend);
                        }
                    }
                    if self.state.outcome.is_some() {
                        return Ok(());
                    }
                    if !self.deferred.is_empty() {
                        self.state.tasks.push(Task::Frame(Box::new(frame)));
                        self.run_deferred();
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// The spell or ability leaves the stack (608.2n, 608.3).
    pub(crate) fn finish_resolution(&mut self, id: ObjectId) -> Flow<()> {
        let item = self.state.stack.iter().find(|item| item.object == id).cloned();
        if let Some(item) = item {
            if item.ability.is_some() {
                self.remove_ability(id);
            } else {
                self.finish_spell(&item)?;
            }
        }
        self.state.priority = self.state.active;
        self.state.passes = 0;
        self.state.tasks.push(Task::Priority);
        Ok(())
    }

    /// Removes an ability from the stack.
    pub(crate) fn remove_ability(&mut self, id: ObjectId) {
        self.state.stack.retain(|item| item.object != id);
        if let Some(object) = self.state.object_mut(id) {
            object.kind = ObjectKind::Gone;
        }
        self.touch_circumstances();
    }

    fn finish_spell(&mut self, item: &StackItem) -> Flow<()> {
        let object = self.state.object(item.object);
        let Some(face) = self.state.faces.get(object.shown_face()) else { return Ok(()) };
        let cast = object.cast;
        if face.face.is_permanent_card() {
            let mut moving = MoveEvent::new(item.object, Zone::Battlefield);
            moving.controller = Some(object.controller);
            moving.copy_of = if object.kind == ObjectKind::SpellCopy { object.copy_of } else { None };
            moving.attach = item.context.targets.first().and_then(|choice| choice.entities.first().copied());
            let records = self.apply(vec![Event::Move(moving)])?;
            // An Aura that cannot enter goes to the graveyard (303.4g is for other ways; 608.3c).
            if records.is_empty() && self.state.exists(item.object) {
                self.apply(vec![Event::Move(MoveEvent::new(item.object, Zone::Graveyard))])?;
            }
            return Ok(());
        }
        let rebounds = cast.from == Some(Zone::Hand)
            && object.kind == ObjectKind::Card
            && (has_printed_keyword(&face.face, Keyword::Rebound)
                || self.is_granted_on_stack(item.object, Keyword::Rebound));
        let to = if rebounds {
            Zone::Exile
        } else if cast.buyback {
            Zone::Hand
        } else {
            Zone::Graveyard
        };
        let records = self.apply(vec![Event::Move(MoveEvent::new(item.object, to))])?;
        if rebounds && let Some(card) = records.first().and_then(|record| record.became) {
            self.wait_for_rebound(card, item.context.controller);
        }
        Ok(())
    }

    /// Rebound (702.88a): the card may be cast from exile at the beginning of the next upkeep.
    fn wait_for_rebound(&mut self, card: ObjectId, player: PlayerId) {
        let cast = Effect::CastNow { who: Selector::You, what: Selector::This, free: true, cost: None };
        let you = Filter::Is(Box::new(Selector::You));
        let trigger = TriggeredAbility {
            events: vec![EventPattern::Step { step: TurnStep::Upkeep, whose: you }],
            batch: false,
            condition: None,
            body: Body { effects: vec![cast.into()], ..Body::default() },
            per_turn: None,
            zone: None,
            text: Keyword::Rebound.text(),
        };
        let ability = self.state.keep_ability(&Ability::Triggered(Box::new(trigger)));
        self.state.delayed.push(DelayedTrigger {
            ability,
            context: Context::new(card, player),
            once: true,
            until: Until { duration: Duration::Forever, turn: self.state.turn },
            created: self.state.timestamp,
        });
    }

    /// A land that is played enters.
    pub(crate) fn run_enter(&mut self, card: ObjectId, player: PlayerId) -> Flow<()> {
        let mut moving = MoveEvent::new(card, Zone::Battlefield).cause(MoveCause::PlayLand);
        moving.controller = Some(player);
        self.apply(vec![Event::Move(moving)])?;
        Ok(())
    }

    /// A player may cast a card as part of a resolution (608.2g).
    pub(crate) fn run_cast_now(
        &mut self,
        player: PlayerId,
        card: ObjectId,
        free: bool,
        other_cost: Option<&Cost>,
    ) -> Flow<()> {
        let object = self.state.object(card);
        let Some(face) = self.state.faces.get(object.face) else { return Ok(()) };
        if object.is_gone() || face.face.has_type(crate::card::CardType::Land) {
            return Ok(());
        }
        let face = face.face.clone();
        let body = spell_body(&face).into_owned();
        let mana = face.mana_cost.clone().filter(|_| !free).map(Cost::mana).unwrap_or_default();
        let base = other_cost.cloned().unwrap_or(mana);
        let mut context = Context::new(card, player);
        let mut cast = CastAction {
            card,
            way: match (free, other_cost) {
                (true, _) => CastWay::Free,
                (false, Some(_)) => CastWay::Madness,
                (false, None) => CastWay::Normal,
            },
            modes: Vec::new(),
            targets: Vec::new(),
            x: 0,
            kicked: 0,
            buyback: false,
            additional: 0,
            payment: crate::action::Payment::default(),
            ask: false,
        };
        // Additional costs and increases are paid even if the mana cost is not (118.9d).
        let plan = |engine: &Self, cast: &CastAction, context: &Context| {
            let sources = engine.mana_sources(player);
            engine.plan_cast_cost(player, cast, &face, &base, context, &sources)
        };
        if self.check_cast_allowed(player, card, &face).is_err() || plan(&*self, &cast, &context).is_err() {
            return Ok(());
        }
        let labels = [OptionLabel::Accept, OptionLabel::Decline];
        if !self.choose_label(player, DecisionKind::CastNow, Some(card), labels)? {
            return Ok(());
        }
        let Some(modes) = self.choose_trigger_modes(&body, &context)? else { return Ok(()) };
        let specs: Vec<_> = target_specs(&body, &modes).into_iter().cloned().collect();
        if !self.choose_trigger_targets(&specs, &mut context, DecisionKind::TriggerTargets)? {
            return Ok(());
        }
        let additional = face.abilities.iter().filter_map(|ability| match ability {
            Ability::AdditionalCost(choices) => choices.first(),
            _ => None,
        });
        let mut asked = base.clone();
        asked.parts.extend(additional.flat_map(|cost| cost.parts.iter().cloned()));
        cast.payment.objects = self.choose_payment(&asked, &context)?;
        cast.modes = modes;
        cast.targets = context.targets.iter().cloned().collect();
        let Ok(cost) = plan(&*self, &cast, &context) else { return Ok(()) };
        self.carry_out_cast(player, &cast, crate::casting::CastPlan { cost, context });
        Ok(())
    }

    /// Asks for the choices inside a selector and returns what it selects.
    pub(crate) fn pick_selector(&mut self, selector: &Selector, context: &Context) -> Flow<Vec<Entity>> {
        match selector {
            Selector::Choice { from, min, max, chooser } => {
                let options = self.pick_selector(from, context)?;
                let view = self.view();
                let min = usize::try_from(view.amount(min, context)).unwrap_or(0).min(options.len());
                let max = usize::try_from(view.amount(max, context)).unwrap_or(0).min(options.len());
                let player = view.select_player(chooser, context).unwrap_or(context.controller);
                let decision = crate::decision::Decision::new(player, DecisionKind::Choose)
                    .source(context.source)
                    .range(min, max)
                    .entities(options);
                self.choose_entities(decision)
            }
            Selector::Random { from, count } => {
                let mut options = self.pick_selector(from, context)?;
                let count = usize::try_from(self.view().amount(count, context)).unwrap_or(0);
                self.state.random.shuffle(&mut options);
                options.truncate(count);
                Ok(options)
            }
            Selector::Matching { from, filter } => {
                let mut found = self.pick_selector(from, context)?;
                found.retain(|entity| self.view().matches(filter, *entity, context));
                Ok(found)
            }
            other => Ok(self.view().select(other, context).into_vec()),
        }
    }
}

/// Queue of a body with chosen modes; the next operation is the last.
fn operations(body: &Body, modes: &[u8]) -> Vec<Operation> {
    let mut queue: Vec<Operation> = body.effects.iter().cloned().map(Box::new).map(Operation::Run).collect();
    if let Some(choices) = &body.modes {
        let mut base = u8::try_from(body.targets.len()).unwrap_or(u8::MAX);
        for mode in modes {
            let Some(mode) = choices.choices.get(usize::from(*mode)) else { continue };
            queue.push(Operation::SetTargetBase(base));
            queue.extend(mode.effects.iter().cloned().map(Box::new).map(Operation::Run));
            base = base.saturating_add(u8::try_from(mode.targets.len()).unwrap_or(0));
        }
    }
    queue.reverse();
    queue
}

/// Instructions as operations, in the order of a queue.
pub(crate) fn queue_of(instructions: &[Instruction]) -> Vec<Operation> {
    instructions.iter().rev().cloned().map(Box::new).map(Operation::Run).collect()
}
