//! Offers to players other than the controller: "each player may put a card onto the battlefield".

use super::EffectResult;
use crate::ability::{Destination, Effect, Instruction, Selector};
use crate::context::Context;
use crate::decision::{DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine};
use crate::event::Event;
use crate::ids::PlayerId;
use crate::stack::queue_of;
use crate::task::Operation;

impl MTGEngine {
    /// Asks players in turn order whether they do something; `Iterated` is the one who does it.
    pub(super) fn offer_to_players(
        &mut self,
        who: &Selector,
        then: &[Instruction],
        context: &Context,
    ) -> Flow<EffectResult> {
        let mut players = self.players_of(who, context);
        if players.is_empty() {
            players.push(context.controller);
        }
        if let [Instruction { effect: Effect::Move { what, to }, bind: None }] = then {
            return self.offer_move(&players, what, to, context);
        }
        let mut willing = Vec::new();
        for player in players {
            if self.accepts(player, context)? {
                willing.push(player);
            }
        }
        let mut next = vec![Operation::SetIterated(context.iterated)];
        for player in willing.iter().rev() {
            next.extend(queue_of(then));
            next.push(Operation::SetIterated(Some((*player).into())));
        }
        Ok(EffectResult { next, accepted: Some(!willing.is_empty()), ..EffectResult::default() })
    }

    /// Each player chooses what to move, then everything moves together (101.4).
    fn offer_move(
        &mut self,
        players: &[PlayerId],
        what: &Selector,
        to: &Destination,
        context: &Context,
    ) -> Flow<EffectResult> {
        let mut events = Vec::new();
        let mut is_accepted = false;
        for player in players {
            if !self.accepts(*player, context)? {
                continue;
            }
            is_accepted = true;
            let mut inner = context.clone();
            // The player who accepts chooses, and controls what enters.
            inner.controller = *player;
            inner.iterated = Some((*player).into());
            let chosen = self.pick_selector(what, &inner)?;
            for id in self.follow(&chosen, &inner) {
                events.push(Event::Move(self.destination_event(id, to, &inner)));
            }
        }
        let moved = EffectResult::moved(&self.apply(events)?);
        Ok(EffectResult { accepted: Some(is_accepted), ..moved })
    }

    fn accepts(&mut self, player: PlayerId, context: &Context) -> Flow<bool> {
        let labels = [OptionLabel::Accept, OptionLabel::Decline];
        self.choose_label(player, DecisionKind::May, Some(context.source), labels)
    }
}
