//! Turn structure, priority and the beginning of the game (103, 117, 500 to 514).

use crate::ability::{Ability, CounterKind, Duration, PlayerRule, TurnStep};
use crate::characteristics::RuleFlag;
use crate::context::{EventKind, EventRecord};
use crate::decision::{Decision, DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine};
use crate::event::{Event, MoveCause, MoveEvent};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::{Combat, GameState, ObjectFlag, Until};
use crate::task::Task;
use std::sync::Arc;

/// Cards of an opening hand (103.5).
const OPENING_HAND: u8 = 7;

impl MTGEngine {
    /// State-based actions, triggered abilities, then a player gets priority (117.5).
    pub(crate) fn run_priority(&mut self) -> Flow<()> {
        if !std::mem::take(&mut self.is_settled) && self.settle_position()? {
            return Ok(());
        }
        self.state.decisions += 1;
        let mut decision = Decision::new(self.state.priority, DecisionKind::Priority);
        decision.number = self.state.decisions;
        self.state.pending = Some(decision);
        Ok(())
    }

    /// True if something happens before a player gets priority.
    fn settle_position(&mut self) -> Flow<bool> {
        self.notice_control();
        self.grant_blessings();
        self.prune_combat();
        if self.check_state_based()? {
            self.state.tasks.push(Task::Priority);
            return Ok(true);
        }
        self.check_state_triggers();
        if !self.state.triggers.is_empty() {
            self.state.tasks.push(Task::Priority);
            self.order_triggers()?;
            return Ok(true);
        }
        if self.state.step == TurnStep::Cleanup && self.state.stack.is_empty() && self.state.passes == 0 {
            // What happened in the cleanup step is settled: another cleanup step follows (514.3a).
            self.state.tasks.push(Task::BeginStep(TurnStep::Cleanup));
            return Ok(true);
        }
        Ok(false)
    }

    /// Both pass in succession: the top resolves, or the step ends (117.4).
    pub(crate) fn pass(&mut self, player: PlayerId) {
        self.state.passes += 1;
        if self.state.passes < 2 {
            self.state.priority = player.opponent();
            self.state.tasks.push(Task::Priority);
            // The other player gets priority in the same position.
            self.is_settled = true;
            return;
        }
        self.state.passes = 0;
        self.state.priority = self.state.active;
        let task = if self.state.stack.is_empty() { Task::EndStep } else { Task::ResolveTop };
        self.state.tasks.push(task);
    }

    pub(crate) fn begin_turn(&mut self, player: PlayerId) {
        self.state.turn += 1;
        self.state.active = player;
        self.state.priority = player;
        self.state.passes = 0;
        self.state.combat = Combat::default();
        let turn = self.state.turn;
        let own = self.state.player_mut(player);
        own.turn_before = std::mem::replace(&mut own.latest_turn, turn);
        for seat in PlayerId::BOTH {
            let own = self.state.player_mut(seat);
            own.last_statistics = std::mem::take(&mut own.statistics);
            own.damaged_by.clear();
        }
        for object in &mut self.state.objects {
            if object.flags & ObjectFlag::TURN != 0 || !object.uses.is_empty() {
                let object = Arc::make_mut(object);
                object.flags &= !ObjectFlag::TURN;
                object.uses.clear();
            }
        }
        self.state.snapshots.retain(|(_, snapshot)| snapshot.turn + 2 > turn);
        // Players are listed from the active one on.
        self.touch();
        self.expire(|until, controller| until.duration == Duration::YourNextTurn && controller == player);
        self.state.tasks.push(Task::BeginStep(TurnStep::Untap));
    }

    /// Ends effects whose time is over; the controller of an effect is given.
    fn expire(&mut self, over: impl Fn(Until, PlayerId) -> bool) {
        let count = |state: &GameState| (state.effects.len(), state.rules.len());
        let before = count(&self.state);
        self.state.effects.retain(|effect| !over(effect.until, effect.controller));
        self.state.rules.retain(|rule| !over(rule.until, rule.controller));
        self.state.shields.retain(|shield| !over(shield.until, shield.context.controller));
        self.state.delayed.retain(|delayed| !over(delayed.until, delayed.context.controller));
        self.state.grants.retain(|grant| !over(grant.until, grant.controller));
        if count(&self.state) == before {
            self.touch_circumstances();
        } else {
            self.touch();
        }
    }

    /// Ends effects that last as long as their source does.
    fn expire_with_sources(&mut self) {
        let gone = |engine: &Self, source: ObjectId, controller: PlayerId, until: Until| match until.duration
        {
            Duration::WhileSource => !engine.state.is_on_battlefield(source),
            Duration::WhileYouControlSource => {
                !engine.state.is_on_battlefield(source) || engine.view().controller(source) != controller
            }
            Duration::WhileSourceTapped => {
                !engine.state.is_on_battlefield(source) || !engine.state.object(source).tapped
            }
            _ => false,
        };
        let over: Vec<u32> = self
            .state
            .effects
            .iter()
            .filter(|effect| gone(self, effect.source, effect.controller, effect.until))
            .map(|effect| effect.number)
            .collect();
        if !over.is_empty() {
            self.state.effects.retain(|effect| !over.contains(&effect.number));
            self.touch();
        }
        let over: Vec<u32> = self
            .state
            .shields
            .iter()
            .filter(|shield| gone(self, shield.context.source, shield.context.controller, shield.until))
            .map(|shield| shield.number)
            .collect();
        self.state.shields.retain(|shield| !over.contains(&shield.number));
    }

    /// Removes from combat what may not be in it any more (506.4).
    pub(crate) fn prune_combat(&mut self) {
        self.expire_with_sources();
        let stays = |engine: &Self, id: ObjectId| {
            engine.state.is_on_battlefield(id) && engine.view().characteristics(id).is_creature()
        };
        let leaving: Vec<ObjectId> = self
            .state
            .combat
            .attackers
            .iter()
            .flat_map(|attacker| attacker.blockers.iter().copied().chain([attacker.object]))
            .filter(|id| !stays(self, *id))
            .collect();
        for id in leaving {
            self.leave_combat(id);
        }
    }

    fn is_skipped(&mut self, step: TurnStep) -> bool {
        let active = self.state.active;
        if self.has_rule(active, |rule| *rule == PlayerRule::SkipStep(step)) {
            return true;
        }
        let skips = &mut self.state.player_mut(active).skips;
        match skips.iter().position(|skipped| *skipped == step) {
            Some(position) => {
                skips.remove(position);
                true
            }
            None => false,
        }
    }

    /// Turn-based actions of a step, then priority (703.4).
    pub(crate) fn begin_step(&mut self, step: TurnStep) -> Flow<()> {
        let active = self.state.active;
        if self.state.step != step && self.is_skipped(step) {
            self.state.step = if step == TurnStep::BeginCombat { TurnStep::EndCombat } else { step };
            self.state.tasks.push(Task::EndStep);
            return Ok(());
        }
        match step {
            TurnStep::Untap => {
                self.enter_step(step);
                self.untap_all();
                self.state.tasks.push(Task::BeginStep(TurnStep::Upkeep));
                return Ok(());
            }
            TurnStep::Draw => {
                // The starting player skips the draw of the first turn (103.8a).
                let first = self.state.turn == 1 && active == self.state.starting_player;
                if !first {
                    self.state.step = step;
                    self.apply(vec![Event::Draw { player: active, amount: 1 }])?;
                }
            }
            TurnStep::DeclareAttackers => {
                self.enter_step(step);
                self.state.tasks.push(Task::DeclareAttackers);
                return Ok(());
            }
            TurnStep::DeclareBlockers => {
                self.enter_step(step);
                self.state.tasks.push(Task::DeclareBlockers);
                return Ok(());
            }
            TurnStep::FirstStrikeDamage | TurnStep::CombatDamage => {
                self.enter_step(step);
                self.state.tasks.push(Task::CombatDamage { first: step == TurnStep::FirstStrikeDamage });
                return Ok(());
            }
            TurnStep::Cleanup => {
                self.enter_step(step);
                self.state.tasks.push(Task::CleanupDiscard);
                return Ok(());
            }
            TurnStep::Main1 => {
                let lore = self.lore_events(active);
                if !lore.is_empty() {
                    self.state.step = step;
                    self.apply(lore)?;
                }
            }
            TurnStep::BeginCombat => self.state.combat = Combat::default(),
            _ => {}
        }
        self.enter_step(step);
        self.state.tasks.push(Task::Priority);
        Ok(())
    }

    fn enter_step(&mut self, step: TurnStep) {
        self.state.step = step;
        self.state.priority = self.state.active;
        self.state.passes = 0;
        self.touch_circumstances();
        self.grant_blessings();
        let mut record =
            EventRecord::new(EventKind::StepBegan).player(self.state.active).subject(self.state.active);
        record.step = Some(step);
        let before = self.shared_projection();
        self.collect_triggers(&before, &[record]);
    }

    fn untap_all(&mut self) {
        let active = self.state.active;
        let mut records = Vec::new();
        for id in self.state.battlefield.clone() {
            let own = self.view().characteristics(id);
            if own.controller != active
                || !self.state.object(id).tapped
                || own.has_rule(RuleFlag::DoesntUntap)
            {
                continue;
            }
            if let Some(object) = self.state.object_mut(id)
                && object.counter(CounterKind::Stun) > 0
            {
                object.add_counters(CounterKind::Stun, -1);
                continue;
            }
            self.set_tapped(id, false, &mut records);
        }
        // "Doesn't untap during its next untap step" ends for permanents of this player.
        let over: Vec<u32> = self
            .state
            .effects
            .iter()
            .filter(|effect| effect.until.duration == Duration::NextUntap)
            .filter(|effect| effect.affected.iter().all(|id| self.view().controller(*id) == active))
            .map(|effect| effect.number)
            .collect();
        self.state.effects.retain(|effect| !over.contains(&effect.number));
        self.state.rules.retain(|rule| rule.until.duration != Duration::NextUntap || rule.player != active);
        self.touch();
        let before = self.shared_projection();
        self.collect_triggers(&before, &records);
    }

    /// The step is over: mana empties, the next step or turn begins.
    pub(crate) fn end_step(&mut self) {
        for player in PlayerId::BOTH {
            let own = self.state.player_mut(player);
            own.mana = [0; 6];
            own.restricted_mana.clear();
        }
        let step = self.state.step;
        if step == TurnStep::EndCombat {
            self.expire(|until, _| until.duration == Duration::EndOfCombat);
            self.state.combat = Combat::default();
            self.touch_circumstances();
        }
        if step == TurnStep::Cleanup {
            let next = self.state.extra_turns.pop().unwrap_or(self.state.active.opponent());
            self.state.tasks.push(Task::BeginTurn(next));
            return;
        }
        let next = self.next_step(step);
        self.state.tasks.push(Task::BeginStep(next));
    }

    fn next_step(&mut self, step: TurnStep) -> TurnStep {
        let ends_phase = matches!(step, TurnStep::Main1 | TurnStep::EndCombat | TurnStep::Main2);
        if ends_phase && let Some(extra) = self.state.extra_steps.pop() {
            return extra;
        }
        match step {
            TurnStep::Untap => TurnStep::Upkeep,
            TurnStep::Upkeep => TurnStep::Draw,
            TurnStep::Draw => TurnStep::Main1,
            TurnStep::Main1 => TurnStep::BeginCombat,
            TurnStep::BeginCombat => TurnStep::DeclareAttackers,
            // Without attackers the blocking and damage steps are skipped (508.8).
            TurnStep::DeclareAttackers if self.state.combat.attackers.is_empty() => TurnStep::EndCombat,
            TurnStep::DeclareAttackers => TurnStep::DeclareBlockers,
            TurnStep::DeclareBlockers if self.has_first_strikers() => TurnStep::FirstStrikeDamage,
            TurnStep::DeclareBlockers | TurnStep::FirstStrikeDamage => TurnStep::CombatDamage,
            TurnStep::CombatDamage => TurnStep::EndCombat,
            TurnStep::EndCombat => TurnStep::Main2,
            TurnStep::Main2 => TurnStep::End,
            TurnStep::End | TurnStep::Cleanup => TurnStep::Cleanup,
        }
    }

    /// Cleanup: discard to hand size, then damage and "until end of turn" end together (514).
    pub(crate) fn run_cleanup(&mut self) -> Flow<()> {
        let active = self.state.active;
        let hand = self.state.player(active).hand.clone();
        if let Some(limit) = self.maximum_hand_size(active)
            && hand.len() > limit
        {
            let count = hand.len() - limit;
            let decision = Decision::new(active, DecisionKind::Discard)
                .range(count, count)
                .entities(hand.into_iter().map(Entity::Object));
            let cards = self.choose_objects(decision)?;
            let events = cards
                .into_iter()
                .map(|card| {
                    Event::Move(
                        MoveEvent::new(card, crate::ability::Zone::Graveyard).cause(MoveCause::Discard),
                    )
                })
                .collect();
            self.apply(events)?;
        }
        for id in self.state.battlefield.clone() {
            if let Some(object) = self.state.object_mut(id) {
                object.damage = 0;
                object.deathtouched = false;
                object.damaged_by.clear();
            }
        }
        let turn = self.state.turn;
        self.expire(|until, controller| match until.duration {
            Duration::EndOfTurn => true,
            Duration::EndOfYourNextTurn => controller == active && until.turn < turn,
            _ => false,
        });
        self.state.rules.retain(|rule| {
            rule.until.duration != Duration::TheirNextTurn || rule.player != active || rule.until.turn >= turn
        });
        self.notice_control();
        // If something triggers or a state-based action happens, players get priority and another
        // cleanup step follows (514.3a).
        if self.check_state_based()? || !self.state.triggers.is_empty() {
            self.state.tasks.push(Task::Priority);
            return Ok(());
        }
        self.state.tasks.push(Task::EndStep);
        Ok(())
    }

    fn maximum_hand_size(&self, player: PlayerId) -> Option<usize> {
        let mut limit = Some(usize::from(OPENING_HAND));
        for (who, rule, source) in &self.projection().rules {
            if *who != player {
                continue;
            }
            match rule {
                PlayerRule::NoMaximumHandSize => limit = None,
                PlayerRule::MaximumHandSize(amount) => {
                    limit = usize::try_from(self.view().amount(amount, &self.context_of(*source))).ok();
                }
                _ => {}
            }
        }
        limit
    }

    /// "End the turn": the stack is exiled and the cleanup step begins (724.1).
    pub(crate) fn end_turn_now(&mut self) {
        let mut records = Vec::new();
        for item in self.state.stack.clone() {
            if item.ability.is_some() {
                self.remove_ability(item.object);
            } else {
                self.commit_move(&MoveEvent::new(item.object, crate::ability::Zone::Exile), &mut records);
            }
        }
        self.state.triggers.clear();
        self.state.combat = Combat::default();
        self.state.tasks.clear();
        self.state.tasks.push(Task::BeginStep(TurnStep::Cleanup));
        self.touch();
    }

    /// The player who won the toss chooses (103.1).
    pub(crate) fn choose_start(&mut self, player: PlayerId) -> Flow<()> {
        let labels = [OptionLabel::PlayFirst, OptionLabel::DrawFirst];
        let first = self.choose_label(player, DecisionKind::PlayOrDraw, None, labels)?;
        self.state.starting_player = if first { player } else { player.opponent() };
        self.state.active = self.state.starting_player;
        self.deal_hands();
        Ok(())
    }

    /// Deals opening hands and begins the mulligan process.
    pub(crate) fn deal_hands(&mut self) {
        for player in self.state.turn_order() {
            self.redraw(player);
        }
        self.state.tasks.push(Task::StartFirstTurn);
        self.state.tasks.push(Task::Mulligan);
    }

    fn redraw(&mut self, player: PlayerId) {
        let mut records = Vec::new();
        for card in self.state.player(player).hand.clone() {
            self.commit_move(&MoveEvent::new(card, crate::ability::Zone::Library), &mut records);
        }
        self.shuffle_library(player);
        for _ in 0..OPENING_HAND {
            let Some(card) = self.state.player(player).library.last().copied() else { break };
            self.commit_move(
                &MoveEvent::new(card, crate::ability::Zone::Hand).cause(MoveCause::Draw),
                &mut records,
            );
        }
    }

    /// London mulligan: players declare in turn order, then redraw together; who keeps puts a card on
    /// the bottom for each mulligan taken (103.5).
    pub(crate) fn run_mulligan(&mut self) -> Flow<()> {
        let labels = [OptionLabel::Keep, OptionLabel::Mulligan];
        let mut again = Vec::new();
        let mut kept = Vec::new();
        for player in self.state.turn_order() {
            let own = self.state.player(player);
            if own.kept {
                continue;
            }
            if own.mulligans >= OPENING_HAND
                || self.choose_label(player, DecisionKind::Mulligan, None, labels)?
            {
                kept.push(player);
            } else {
                again.push(player);
            }
        }
        if !again.is_empty() {
            self.state.tasks.push(Task::Mulligan);
        }
        for player in again {
            self.redraw(player);
            self.state.player_mut(player).mulligans += 1;
        }
        for player in kept.into_iter().rev() {
            let own = self.state.player_mut(player);
            own.kept = true;
            if own.mulligans > 0 {
                let count = own.mulligans;
                self.state.tasks.push(Task::Bottom(player, count));
            }
        }
        Ok(())
    }

    pub(crate) fn run_bottom(&mut self, player: PlayerId, count: u8) -> Flow<()> {
        let hand = self.state.player(player).hand.clone();
        let count = usize::from(count).min(hand.len());
        let decision = Decision::new(player, DecisionKind::Bottom)
            .range(count, count)
            .entities(hand.into_iter().map(Entity::Object));
        let mut records = Vec::new();
        for card in self.choose_objects(decision)? {
            let mut moving = MoveEvent::new(card, crate::ability::Zone::Library);
            moving.position = crate::ability::LibraryPosition::Bottom;
            self.commit_move(&moving, &mut records);
        }
        Ok(())
    }

    pub(crate) fn start_first_turn(&mut self) {
        self.state.tasks.push(Task::BeginTurn(self.state.starting_player));
        for player in self.state.turn_order().into_iter().rev() {
            for card in self.state.player(player).hand.clone() {
                let face = self.state.faces.get(self.state.object(card).face);
                if face.is_some_and(|face| face.face.abilities.contains(&Ability::BeginsInPlay)) {
                    self.state.tasks.push(Task::BeginInPlay(card, player));
                }
            }
        }
    }

    pub(crate) fn begin_in_play(&mut self, card: ObjectId, player: PlayerId) -> Flow<()> {
        let labels = [OptionLabel::Accept, OptionLabel::Decline];
        if self.choose_label(player, DecisionKind::May, Some(card), labels)? {
            self.apply(vec![Event::Move(MoveEvent::new(card, crate::ability::Zone::Battlefield))])?;
        }
        Ok(())
    }
}
