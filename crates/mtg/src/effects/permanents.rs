//! Permanents: destroying, moving, tapping, counters, tokens, attachments.

use super::EffectResult;
use crate::ability::{Amount, Change, CounterKind, Effect, ObjectMark, Selector, TokenSpec, Zone};
use crate::card::CardFace;
use crate::characteristics::RuleFlag;
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Decision, DecisionKind};
use crate::engine::{Flow, MTGEngine};
use crate::eval::mark_flag;
use crate::event::{Event, MoveCause, MoveEvent};
use crate::ids::{Entity, ObjectId, PlayerId};

impl MTGEngine {
    pub(super) fn execute_permanents(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::Destroy { what, regenerate } => {
                let what = self.pick_selector(what, context)?;
                let events = what
                    .into_iter()
                    .filter_map(Entity::object)
                    .filter(|id| self.state.is_on_battlefield(*id))
                    .map(|object| Event::Destroy { object, regenerate: *regenerate, by_effect: true })
                    .collect();
                Ok(EffectResult::moved(&self.apply(events)?))
            }
            Effect::Exile { what } => {
                let what = self.pick_selector(what, context)?;
                self.move_all(&what, context, |id| MoveEvent::new(id, Zone::Exile))
            }
            Effect::ExileUntilLeaves { what } => {
                // If the source has left already, nothing is exiled (610.3a).
                if !self.state.is_on_battlefield(context.source) {
                    return Ok(EffectResult::default());
                }
                let what = self.pick_selector(what, context)?;
                let source = context.source;
                self.move_all(&what, context, |id| {
                    let mut moving = MoveEvent::new(id, Zone::Exile);
                    moving.held_by = Some(source);
                    moving
                })
            }
            Effect::ExileLinked { what } => {
                let what = self.pick_selector(what, context)?;
                let source = context.source;
                self.move_all(&what, context, |id| {
                    let mut moving = MoveEvent::new(id, Zone::Exile);
                    moving.held_by = Some(source);
                    moving.is_linked = true;
                    moving
                })
            }
            Effect::Move { what, to } => {
                let what = self.pick_selector(what, context)?;
                let objects = self.follow(&what, context);
                let events = objects
                    .into_iter()
                    .map(|id| Event::Move(self.destination_event(id, to, context)))
                    .collect();
                Ok(EffectResult::moved(&self.apply(events)?))
            }
            Effect::Sacrifice { who, filter, amount } => {
                let mut chosen = Vec::new();
                for player in self.players_of(who, context) {
                    let amount = self.amount_for(amount, player, context);
                    chosen.extend(self.choose_sacrifice(player, filter, amount, context)?);
                }
                self.sacrifice(&chosen, context)
            }
            Effect::SacrificeObjects { what } => {
                let what = self.pick_selector(what, context)?;
                let mut objects: Vec<ObjectId> = what.into_iter().filter_map(Entity::object).collect();
                // A player sacrifices only what they control (701.21a).
                objects.retain(|id| self.view().controller(*id) == context.controller);
                self.sacrifice(&objects, context)
            }
            Effect::Tap { what } => self.change_all(what, context, |object| Event::Tap { object }),
            Effect::Untap { what } => self.change_all(what, context, |object| Event::Untap { object }),
            Effect::CreateToken { who, token, amount } => self.create_tokens(who, token, amount, context),
            Effect::CopyToken { who, of, amount, except, tapped } => {
                self.copy_tokens(who, of, amount, except, *tapped, context)
            }
            Effect::Attach { what, to } => {
                let what = self.pick_selector(what, context)?;
                let to = self.pick_selector(to, context)?;
                if let (Some(Entity::Object(id)), Some(host)) = (what.first(), to.first()) {
                    self.attach(*id, *host);
                }
                Ok(EffectResult::default())
            }
            Effect::Unattach { what } => {
                for id in self.pick_selector(what, context)?.into_iter().filter_map(Entity::object) {
                    if let Some(object) = self.state.object_mut(id) {
                        object.attached_to = None;
                    }
                }
                self.touch();
                Ok(EffectResult::default())
            }
            Effect::RemoveFromCombat { what } => {
                for id in self.pick_selector(what, context)?.into_iter().filter_map(Entity::object) {
                    self.leave_combat(id);
                }
                Ok(EffectResult::default())
            }
            Effect::Mark { what, mark } => {
                let what = self.pick_selector(what, context)?;
                self.mark(&what, *mark);
                Ok(EffectResult::entities(what))
            }
            _ => self.execute_counters(effect, context),
        }
    }

    /// The same event for each object of a selector.
    fn change_all(
        &mut self,
        what: &Selector,
        context: &Context,
        event: impl Fn(ObjectId) -> Event,
    ) -> Flow<EffectResult> {
        let what = self.pick_selector(what, context)?;
        let events = what.iter().filter_map(|entity| entity.object()).map(event).collect();
        self.apply(events)?;
        Ok(EffectResult::entities(what))
    }

    fn execute_counters(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::PutCounters { what, kind, amount } => {
                let what = self.pick_selector(what, context)?;
                let mut events = Vec::new();
                for on in &what {
                    let mut inner = context.clone();
                    inner.iterated = inner.iterated.or(Some(*on));
                    let amount = self.view().amount(amount, &inner);
                    if amount > 0 {
                        events.push(Event::Counters { on: *on, kind: *kind, amount });
                    }
                }
                let records = self.apply(events)?;
                let put = records.iter().filter(|record| record.kind == EventKind::Counters);
                Ok(EffectResult {
                    amount: put.map(|record| record.amount).sum(),
                    entities: what,
                    ..EffectResult::default()
                })
            }
            Effect::PutDividedCounters { kind, slot } => {
                let Some(choice) = context.target(*slot) else { return Ok(EffectResult::default()) };
                let parts = choice.entities.iter().zip(&choice.division);
                let events = parts
                    .map(|(on, amount)| Event::Counters { on: *on, kind: *kind, amount: *amount })
                    .collect();
                self.apply(events)?;
                Ok(EffectResult::default())
            }
            Effect::RemoveCounters { what, kind, amount } => {
                let what = self.pick_selector(what, context)?;
                let amount = self.view().amount(amount, context);
                let mut removed = 0;
                for id in what.iter().filter_map(|entity| entity.object()) {
                    removed += self.remove_counters(id, *kind, amount);
                }
                Ok(EffectResult::amount(removed))
            }
            Effect::MoveCounters { from, to, kind, amount } => {
                let from = self.pick_selector(from, context)?;
                let to = self.pick_selector(to, context)?;
                let amount = self.view().amount(amount, context);
                let (Some(Entity::Object(from)), Some(on)) = (from.first(), to.first()) else {
                    return Ok(EffectResult::default());
                };
                let held = self.state.object(*from).counters.clone();
                let kind = kind.or(held.first().map(|entry| entry.0)).unwrap_or(CounterKind::PlusOne);
                let amount = amount.min(self.state.object(*from).counter(kind));
                let events = self.replace_events(vec![Event::Counters { on: *on, kind, amount }])?;
                self.remove_counters(*from, Some(kind), amount);
                let before = self.shared_projection();
                let records = self.commit_all(events);
                self.collect_triggers(&before, &records);
                Ok(EffectResult::amount(amount))
            }
            Effect::Proliferate { who } => {
                let player = self.player_of(who, context);
                let permanents =
                    self.state.battlefield.iter().filter(|id| !self.state.object(**id).counters.is_empty());
                let players = PlayerId::BOTH
                    .into_iter()
                    .filter(|player| !self.state.player(*player).counters.is_empty());
                let options: Vec<Entity> =
                    permanents.copied().map(Entity::Object).chain(players.map(Entity::Player)).collect();
                let most = options.len();
                let decision = Decision::new(player, DecisionKind::Choose)
                    .source(context.source)
                    .range(0, most)
                    .entities(options);
                let mut events = Vec::new();
                for on in self.choose_entities(decision)? {
                    let counters = match on {
                        Entity::Object(id) => self.state.object(id).counters.clone(),
                        Entity::Player(player) => self.state.player(player).counters.clone(),
                    };
                    events.extend(counters.into_iter().map(|(kind, _)| Event::Counters {
                        on,
                        kind,
                        amount: 1,
                    }));
                }
                self.apply(events)?;
                Ok(EffectResult::default())
            }
            _ => Ok(EffectResult::default()),
        }
    }

    pub(crate) fn remove_counters(&mut self, id: ObjectId, kind: Option<CounterKind>, amount: i32) -> i32 {
        let Some(object) = self.state.object_mut(id) else { return 0 };
        let kinds: Vec<(CounterKind, i32)> = object.counters.iter().copied().collect();
        let mut removed = 0;
        let mut last = Vec::new();
        for (held, count) in kinds {
            if kind.is_some_and(|kind| kind != held) || removed >= amount {
                continue;
            }
            let take = count.min(amount - removed);
            object.add_counters(held, -take);
            removed += take;
            if take == count {
                let mut record = EventRecord::new(EventKind::LastCounter).subject(id);
                record.counter = Some(held);
                last.push(record);
            }
        }
        self.touch();
        let before = self.shared_projection();
        self.collect_triggers(&before, &last);
        removed
    }

    fn move_all(
        &mut self,
        what: &[Entity],
        context: &Context,
        event: impl Fn(ObjectId) -> MoveEvent,
    ) -> Flow<EffectResult> {
        let objects = self.follow(what, context);
        let events = objects
            .into_iter()
            .map(|id| {
                let mut moving = event(id);
                moving.by = Some(context.controller);
                Event::Move(moving)
            })
            .collect();
        Ok(EffectResult::moved(&self.apply(events)?))
    }

    fn choose_sacrifice(
        &mut self,
        player: PlayerId,
        filter: &crate::ability::Filter,
        amount: i32,
        context: &Context,
    ) -> Flow<Vec<ObjectId>> {
        let view = self.view();
        let options: Vec<ObjectId> = self
            .state
            .battlefield
            .iter()
            .copied()
            .filter(|id| {
                let own = view.characteristics(*id);
                own.controller == player
                    && !own.has_rule(RuleFlag::CantBeSacrificed)
                    && view.object_matches(filter, *id, context)
            })
            .collect();
        let amount = usize::try_from(amount).unwrap_or(0).min(options.len());
        let decision = Decision::new(player, DecisionKind::Sacrifice)
            .source(context.source)
            .range(amount, amount)
            .entities(options.into_iter().map(Entity::Object));
        self.choose_objects(decision)
    }

    fn sacrifice(&mut self, objects: &[ObjectId], context: &Context) -> Flow<EffectResult> {
        let events: Vec<Event> = objects
            .iter()
            .copied()
            .filter(|id| {
                self.state.is_on_battlefield(*id)
                    && !self.view().characteristics(*id).has_rule(RuleFlag::CantBeSacrificed)
            })
            .map(|id| {
                let mut moving = MoveEvent::new(id, Zone::Graveyard).cause(MoveCause::Sacrifice);
                moving.by = Some(context.controller);
                Event::Move(moving)
            })
            .collect();
        let count = events.len();
        let records = self.apply(events)?;
        // "The sacrificed creature" is the permanent as it was, not the card in the graveyard (608.2h).
        let moved = records.iter().filter(|record| record.kind == EventKind::ZoneChange);
        Ok(EffectResult {
            entities: moved.filter_map(|record| record.subject).collect(),
            amount: i32::try_from(count).unwrap_or(i32::MAX),
            accepted: Some(count > 0),
            ..EffectResult::default()
        })
    }

    fn token_model(&self, token: &TokenSpec, context: &Context) -> MoveEvent {
        let mut model = MoveEvent::new(ObjectId::NONE, Zone::Battlefield);
        model.tapped = token.tapped || token.attacking;
        if token.attacking {
            model.attacking = Some(self.state.active.opponent().into());
        }
        for (kind, amount) in &token.counters {
            model.counters.push((*kind, self.view().amount(amount, context)));
        }
        if let Some(host) = &token.attached_to {
            model.attach = self.view().select(host, context).first().copied();
        }
        model
    }

    fn create_tokens(
        &mut self,
        who: &crate::ability::Selector,
        token: &TokenSpec,
        amount: &Amount,
        context: &Context,
    ) -> Flow<EffectResult> {
        let mut face: CardFace = token.face.clone();
        if let Some(size) = &token.size {
            let size = self.view().amount(size, context);
            face.power = Some(size);
            face.toughness = Some(size);
        }
        let model = self.token_model(token, context);
        let face = self.state.faces.intern(&face);
        let mut events = Vec::new();
        for player in self.players_of(who, context) {
            let amount = self.amount_for(amount, player, context);
            events.push(Event::Tokens { player, face, amount, model: model.clone() });
        }
        Ok(EffectResult::moved(&self.apply(events)?))
    }

    fn copy_tokens(
        &mut self,
        who: &crate::ability::Selector,
        of: &crate::ability::Selector,
        amount: &Amount,
        except: &[Change],
        tapped: bool,
        context: &Context,
    ) -> Flow<EffectResult> {
        let of = self.pick_selector(of, context)?;
        let player = self.player_of(who, context);
        let amount = self.amount_for(amount, player, context);
        let mut model = MoveEvent::new(ObjectId::NONE, Zone::Battlefield);
        model.tapped = tapped;
        let mut events = Vec::new();
        for id in of.into_iter().filter_map(Entity::object) {
            let face = self.copied_face(id, except, context);
            events.push(Event::Tokens { player, face, amount, model: model.clone() });
        }
        Ok(EffectResult::moved(&self.apply(events)?))
    }

    /// Attaches an Aura or Equipment if that is legal (701.3).
    pub(crate) fn attach(&mut self, id: ObjectId, host: Entity) {
        let player = self.view().controller(id);
        let legal = match host {
            Entity::Object(to) if self.has_subtype_named(id, "Equipment") => self.can_equip(id, to),
            _ => self.can_enchant(id, host, player),
        };
        if !legal || !self.state.is_on_battlefield(id) {
            return;
        }
        let timestamp = self.state.next_timestamp();
        if let Some(object) = self.state.object_mut(id) {
            if object.attached_to == Some(host) {
                return;
            }
            object.attached_to = Some(host);
            object.timestamp = timestamp;
        }
        self.touch();
        let record = EventRecord::new(EventKind::Attachment).subject(id).other(host);
        let before = self.shared_projection();
        self.collect_triggers(&before, &[record]);
    }

    fn mark(&mut self, what: &[Entity], mark: ObjectMark) {
        let mut records = Vec::new();
        for id in what.iter().filter_map(|entity| entity.object()) {
            if let Some(object) = self.state.object_mut(id) {
                object.flags |= mark_flag(mark).bit();
                records.push(EventRecord::new(EventKind::Marked).subject(id));
            }
        }
        self.touch();
        let before = self.shared_projection();
        self.collect_triggers(&before, &records);
    }
}
