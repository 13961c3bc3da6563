//! Cards in hidden zones: drawing, discarding, searching, looking.

use super::EffectResult;
use crate::ability::{
    Ability, Amount, CounterKind, Destination, Effect, Filter, LibraryPosition, Replacement,
    ReplacementPattern, RestOfCards, Selector, Zone,
};
use crate::card::CardType;
use crate::characteristics::AbilityClass;
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Decision, DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine};
use crate::event::{Event, MoveCause, MoveEvent};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::task::Operation;

impl MTGEngine {
    pub(super) fn execute_cards(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::Draw { who, amount } => {
                let mut draws = Vec::new();
                for player in self.players_of(who, context) {
                    let amount = self.amount_for(amount, player, context).clamp(0, 500);
                    draws.extend((0..amount).map(|_| player));
                }
                if draws.len() > 1 && self.replaces_draws() {
                    return Ok(draw_one_by_one(&draws, context));
                }
                let events = draws.into_iter().map(|player| Event::Draw { player, amount: 1 }).collect();
                let records = self.apply(events)?;
                let drawn = records.iter().filter(|record| record.kind == EventKind::Draw);
                Ok(EffectResult::entities(drawn.filter_map(|record| record.subject).collect()))
            }
            Effect::Discard { who, amount, filter, random, chooser } => {
                let mut cards = Vec::new();
                for player in self.players_of(who, context) {
                    let amount = self.amount_for(amount, player, context);
                    let chooser = chooser.as_ref().map_or(player, |chooser| self.player_of(chooser, context));
                    cards.extend(self.choose_discard(player, chooser, amount, filter, *random, context)?);
                }
                self.discard(cards, context)
            }
            Effect::DiscardHand { who } => {
                let players = self.players_of(who, context);
                let cards =
                    players.iter().flat_map(|player| self.state.player(*player).hand.clone()).collect();
                self.discard(cards, context)
            }
            Effect::DiscardCards { what } => {
                let cards =
                    self.pick_selector(what, context)?.into_iter().filter_map(Entity::object).collect();
                self.discard(cards, context)
            }
            Effect::Mill { who, amount } => {
                let mut events = Vec::new();
                for player in self.players_of(who, context) {
                    let amount = usize::try_from(self.amount_for(amount, player, context)).unwrap_or(0);
                    let cards = self.state.player(player).library.iter().rev().take(amount);
                    events.extend(cards.map(|card| {
                        Event::Move(MoveEvent::new(*card, Zone::Graveyard).cause(MoveCause::Mill))
                    }));
                }
                Ok(EffectResult::moved(&self.apply(events)?))
            }
            Effect::Scry { who, amount } => {
                let player = self.player_of(who, context);
                let amount = self.amount_for(amount, player, context);
                self.scry(player, amount, Zone::Library, context)
            }
            Effect::Surveil { who, amount } => {
                let player = self.player_of(who, context);
                let amount = self.amount_for(amount, player, context);
                self.scry(player, amount, Zone::Graveyard, context)
            }
            Effect::LookAtTop { who, amount, reveal: _, filter, min, max, to, rest } => {
                let player = self.player_of(who, context);
                let amount = usize::try_from(self.amount_for(amount, player, context)).unwrap_or(0);
                let cards: Vec<ObjectId> =
                    self.state.player(player).library.iter().rev().take(amount).copied().collect();
                let range = (self.view().amount(min, context), self.view().amount(max, context));
                self.look_at(player, &cards, filter, range, (to, *rest), context)
            }
            Effect::RevealUntil { who, filter, to, rest } => {
                let player = self.player_of(who, context);
                let mut cards = Vec::new();
                for card in self.state.player(player).library.iter().rev() {
                    cards.push(*card);
                    if self.view().object_matches(filter, *card, context) {
                        break;
                    }
                }
                self.look_at(player, &cards, filter, (1, 1), (to, *rest), context)
            }
            _ => self.execute_library(effect, context),
        }
    }

    /// Whether an effect could replace a draw: each draw is then looked at when it comes (121.2).
    fn replaces_draws(&self) -> bool {
        let is_draw =
            |replacement: &Replacement| matches!(replacement.pattern, ReplacementPattern::Draw { .. });
        let has_one = |id: &ObjectId| {
            self.view().characteristics(*id).abilities.iter().any(|reference| {
                matches!(self.ability(*reference), Some(Ability::Replacement(own)) if is_draw(own))
            })
        };
        self.state.shields.iter().any(|shield| is_draw(&shield.replacement))
            || self.state.command.iter().any(has_one)
            || (self.projection().has_class(AbilityClass::Replacement)
                && self.state.battlefield.iter().any(has_one))
    }

    /// Searching, shuffling and revealing.
    fn execute_library(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::Search { .. } => self.search(effect, context),
            Effect::Shuffle { who } => {
                for player in self.players_of(who, context) {
                    self.shuffle_library(player);
                }
                Ok(EffectResult::default())
            }
            Effect::ShuffleInto { what } => {
                let what = self.pick_selector(what, context)?;
                let objects = self.follow(&what, context);
                let owners: Vec<PlayerId> = objects.iter().map(|id| self.state.object(*id).owner).collect();
                let events =
                    objects.iter().map(|id| Event::Move(MoveEvent::new(*id, Zone::Library))).collect();
                let records = self.apply(events)?;
                for player in PlayerId::BOTH {
                    if owners.contains(&player) {
                        self.shuffle_library(player);
                    }
                }
                Ok(EffectResult::moved(&records))
            }
            Effect::Reveal { what } => {
                let what = self.pick_selector(what, context)?;
                for id in what.iter().filter_map(|entity| entity.object()) {
                    if let Some(object) = self.state.object_mut(id) {
                        object.flags |= crate::state::ObjectFlag::Revealed.bit();
                    }
                }
                Ok(EffectResult::entities(what))
            }
            Effect::RevealHand { who } | Effect::LookAtHand { who } => {
                let players = self.players_of(who, context);
                let hand: Vec<Entity> = players
                    .iter()
                    .flat_map(|player| self.state.player(*player).hand.iter().copied().map(Entity::Object))
                    .collect();
                Ok(EffectResult::entities(hand))
            }
            Effect::Explore { what } => {
                let what = self.pick_selector(what, context)?;
                match what.first() {
                    Some(Entity::Object(id)) => self.explore(*id),
                    _ => Ok(EffectResult::default()),
                }
            }
            _ => Ok(EffectResult::default()),
        }
    }

    fn choose_discard(
        &mut self,
        player: PlayerId,
        chooser: PlayerId,
        amount: i32,
        filter: &Filter,
        random: bool,
        context: &Context,
    ) -> Flow<Vec<ObjectId>> {
        let mut hand: Vec<ObjectId> = self.state.player(player).hand.clone();
        hand.retain(|card| self.view().object_matches(filter, *card, context));
        let amount = usize::try_from(amount).unwrap_or(0).min(hand.len());
        if random {
            self.state.random.shuffle(&mut hand);
            hand.truncate(amount);
            return Ok(hand);
        }
        let decision = Decision::new(chooser, DecisionKind::Discard)
            .source(context.source)
            .range(amount, amount)
            .entities(hand.into_iter().map(Entity::Object));
        self.choose_objects(decision)
    }

    fn discard(&mut self, cards: Vec<ObjectId>, context: &Context) -> Flow<EffectResult> {
        let events = cards
            .into_iter()
            .filter(|card| self.state.object(*card).zone == Zone::Hand)
            .map(|card| {
                let mut moving = MoveEvent::new(card, Zone::Graveyard).cause(MoveCause::Discard);
                moving.by = Some(context.controller);
                Event::Move(moving)
            })
            .collect();
        Ok(EffectResult::moved(&self.apply(events)?))
    }

    /// Scry (701.18) and surveil (701.42): cards to the bottom or graveyard, the rest back in order.
    fn scry(&mut self, player: PlayerId, amount: i32, away: Zone, context: &Context) -> Flow<EffectResult> {
        let amount = usize::try_from(amount).unwrap_or(0);
        let cards: Vec<ObjectId> =
            self.state.player(player).library.iter().rev().take(amount).copied().collect();
        if cards.is_empty() {
            return Ok(EffectResult::default());
        }
        let (kind, event) = if away == Zone::Library {
            (DecisionKind::Scry, EventKind::Scry)
        } else {
            (DecisionKind::Surveil, EventKind::Surveil)
        };
        let decision = Decision::new(player, kind)
            .source(context.source)
            .range(0, cards.len())
            .entities(cards.iter().copied().map(Entity::Object));
        let gone = self.choose_objects(decision)?;
        let kept: Vec<ObjectId> = cards.iter().copied().filter(|card| !gone.contains(card)).collect();
        let count = kept.len();
        let decision = Decision::new(player, DecisionKind::ScryOrder)
            .source(context.source)
            .range(count, count)
            .entities(kept.into_iter().map(Entity::Object));
        let kept = self.choose_objects(decision)?;
        let library = &mut self.state.player_mut(player).library;
        library.retain(|card| !kept.contains(card));
        library.extend(kept.iter().rev());
        let done = if away == Zone::Library {
            library.retain(|card| !gone.contains(card));
            for card in &gone {
                library.insert(0, *card);
            }
            EffectResult::entities(gone.into_iter().map(Entity::Object).collect())
        } else {
            let events =
                gone.into_iter().map(|card| Event::Move(MoveEvent::new(card, Zone::Graveyard))).collect();
            // All questions are answered, so a question in here would only be about replacements.
            EffectResult::moved(&self.apply(events)?)
        };
        let before = self.shared_projection();
        self.collect_triggers(&before, &[EventRecord::new(event).player(player)]);
        Ok(done)
    }

    fn look_at(
        &mut self,
        player: PlayerId,
        cards: &[ObjectId],
        filter: &Filter,
        range: (i32, i32),
        (to, rest): (&Destination, RestOfCards),
        context: &Context,
    ) -> Flow<EffectResult> {
        let able: Vec<ObjectId> =
            cards.iter().copied().filter(|card| self.view().object_matches(filter, *card, context)).collect();
        let min = usize::try_from(range.0).unwrap_or(0).min(able.len());
        let max = usize::try_from(range.1).unwrap_or(0).min(able.len());
        let decision = Decision::new(player, DecisionKind::LookAtTop)
            .source(context.source)
            .range(min, max)
            .entities(able.into_iter().map(Entity::Object));
        let taken = self.choose_objects(decision)?;
        let mut others: Vec<ObjectId> = cards.iter().copied().filter(|card| !taken.contains(card)).collect();
        if matches!(rest, RestOfCards::BottomAnyOrder | RestOfCards::TopAnyOrder) {
            let count = others.len();
            let decision = Decision::new(player, DecisionKind::OrderCards)
                .source(context.source)
                .range(count, count)
                .entities(others.into_iter().map(Entity::Object));
            others = self.choose_objects(decision)?;
        }
        let mut events = Vec::new();
        for card in &taken {
            events.push(Event::Move(self.destination_event(*card, to, context)));
        }
        let zone = match rest {
            RestOfCards::Graveyard => Some(Zone::Graveyard),
            RestOfCards::Hand => Some(Zone::Hand),
            RestOfCards::Exile => Some(Zone::Exile),
            _ => None,
        };
        if let Some(zone) = zone {
            events.extend(others.iter().map(|card| Event::Move(MoveEvent::new(*card, zone))));
        }
        let records = self.apply(events)?;
        self.place_rest(player, others, rest);
        let moved = records.iter().filter(|record| record.kind == EventKind::ZoneChange).take(taken.len());
        Ok(EffectResult::entities(moved.filter_map(|record| record.became.map(Entity::Object)).collect()))
    }

    fn place_rest(&mut self, player: PlayerId, mut others: Vec<ObjectId>, rest: RestOfCards) {
        if matches!(rest, RestOfCards::BottomRandom) {
            self.state.random.shuffle(&mut others);
        }
        let library = &mut self.state.player_mut(player).library;
        match rest {
            RestOfCards::BottomRandom | RestOfCards::BottomAnyOrder => {
                library.retain(|card| !others.contains(card));
                for card in others {
                    library.insert(0, card);
                }
            }
            RestOfCards::TopAnyOrder => {
                library.retain(|card| !others.contains(card));
                library.extend(others.iter().rev());
            }
            RestOfCards::Shuffle => self.shuffle_library(player),
            RestOfCards::Graveyard | RestOfCards::Hand | RestOfCards::Exile => {}
        }
    }

    fn search(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        let Effect::Search { who, library, filter, min, max, reveal: _, to, shuffle_before } = effect else {
            return Ok(EffectResult::default());
        };
        let player = self.player_of(who, context);
        let owner = self.player_of(library, context);
        let mut cards: Vec<ObjectId> = self.state.player(owner).library.clone();
        cards.retain(|card| self.view().object_matches(filter, *card, context));
        // The order of the library is hidden from the searcher (401.2): cards are listed by name.
        cards.sort_by(|one, two| (self.view().name(*one), *one).cmp(&(self.view().name(*two), *two)));
        // A player may fail to find a card with stated qualities (701.23b).
        let least = if *filter == Filter::Any { self.view().amount(min, context) } else { 0 };
        let min = usize::try_from(least).unwrap_or(0).min(cards.len());
        let max = usize::try_from(self.view().amount(max, context)).unwrap_or(0).min(cards.len());
        let decision = Decision::new(player, DecisionKind::Search)
            .source(context.source)
            .range(min, max)
            .entities(cards.into_iter().map(Entity::Object));
        let found = self.choose_objects(decision)?;
        let events: Vec<Event> =
            found.iter().map(|card| Event::Move(self.destination_event(*card, to, context))).collect();
        let events = self.replace_events(events)?;
        if *shuffle_before {
            self.shuffle_library(owner);
        }
        let before = self.shared_projection();
        let mut records = self.commit_all(events);
        if !shuffle_before {
            self.shuffle_library(owner);
        }
        let done = EffectResult::moved(&records);
        records.push(EventRecord::new(EventKind::Search).player(player));
        self.collect_triggers(&before, &records);
        Ok(done)
    }

    pub(crate) fn shuffle_library(&mut self, player: PlayerId) {
        let mut library = std::mem::take(&mut self.state.player_mut(player).library);
        self.state.random.shuffle(&mut library);
        self.state.player_mut(player).library = library;
    }

    /// Explore (701.44).
    fn explore(&mut self, id: ObjectId) -> Flow<EffectResult> {
        let player = self.view().controller(id);
        let Some(card) = self.state.player(player).library.last().copied() else {
            return Ok(EffectResult::default());
        };
        if self.view().characteristics(card).is(CardType::Land) {
            let records = self.apply(vec![Event::Move(MoveEvent::new(card, Zone::Hand))])?;
            return Ok(EffectResult::moved(&records));
        }
        let labels = [OptionLabel::Keep, OptionLabel::Decline];
        let keep = self.choose_label(player, DecisionKind::Explore, Some(id), labels)?;
        let mut events = vec![Event::Counters { on: id.into(), kind: CounterKind::PlusOne, amount: 1 }];
        if !keep {
            events.push(Event::Move(MoveEvent::new(card, Zone::Graveyard)));
        }
        self.apply(events)?;
        Ok(EffectResult::default())
    }

    /// The move that a destination describes.
    pub(crate) fn destination_event(&self, id: ObjectId, to: &Destination, context: &Context) -> MoveEvent {
        let mut moving = MoveEvent::new(id, to.zone);
        moving.position = to.position;
        let view = self.view();
        moving.controller = to.controller.as_ref().and_then(|who| view.select_player(who, context));
        moving.tapped = to.tapped;
        moving.by = Some(context.controller);
        let mut inner = context.clone();
        inner.iterated = inner.iterated.or(Some(id.into()));
        for (kind, amount) in &to.counters {
            moving.counters.push((*kind, view.amount(amount, &inner)));
        }
        if to.attacking {
            moving.attacking = Some(self.state.active.opponent().into());
        }
        if let Some(host) = &to.attached_to {
            moving.attach = view.select(host, context).first().copied();
        }
        if to.zone != Zone::Library {
            moving.position = LibraryPosition::Top;
        }
        moving
    }
}

/// Draws of single cards, in order; the next operation is the last.
fn draw_one_by_one(draws: &[PlayerId], context: &Context) -> EffectResult {
    let draw = Effect::Draw { who: Selector::Iterated, amount: Amount::Fixed(1) };
    let mut next = vec![Operation::SetIterated(context.iterated)];
    for player in draws.iter().rev() {
        next.push(Operation::Run(Box::new(draw.clone().into())));
        next.push(Operation::SetIterated(Some((*player).into())));
    }
    EffectResult::next(next)
}
