//! Sagas: lore counters, chapters and the end of a Saga (714).

use crate::ability::{Ability, CounterKind, EventPattern};
use crate::card::Subtype;
use crate::engine::MTGEngine;
use crate::event::Event;
use crate::ids::{ObjectId, PlayerId};

impl MTGEngine {
    /// A lore counter for each Saga of the active player, after the draw step (714.3b).
    pub(crate) fn lore_events(&self, active: PlayerId) -> Vec<Event> {
        let Some(saga) = Subtype::saga() else { return Vec::new() };
        let own = |id: &ObjectId| {
            let permanent = self.view().characteristics(*id);
            permanent.controller == active && permanent.has_subtype(saga)
        };
        let sagas = self.state.battlefield.iter().copied().filter(own);
        sagas.map(|id| Event::Counters { on: id.into(), kind: CounterKind::Lore, amount: 1 }).collect()
    }

    /// Whether the counters that were put on a Saga reach one of these chapters (714.2c).
    pub(crate) fn reaches_chapter(&self, saga: ObjectId, added: i32, chapters: &[u8]) -> bool {
        let lore = self.view().object(saga).counter(CounterKind::Lore);
        chapters.iter().any(|chapter| (lore - added + 1..=lore).contains(&i32::from(*chapter)))
    }

    /// Whether a Saga has no chapter left to come and none on the stack (714.4).
    pub(crate) fn is_saga_over(&self, id: ObjectId) -> bool {
        let lore = self.state.object(id).counter(CounterKind::Lore);
        let is_saga =
            || Subtype::saga().is_some_and(|saga| self.view().characteristics(id).has_subtype(saga));
        if lore == 0 || !is_saga() {
            return false;
        }
        let last = self.view().characteristics(id).abilities.iter().filter_map(|reference| {
            let Some(Ability::Triggered(ability)) = self.ability(*reference) else { return None };
            ability.events.iter().find_map(|event| match event {
                EventPattern::Chapter(chapters) => chapters.iter().copied().max(),
                _ => None,
            })
        });
        let Some(last) = last.max() else { return false };
        let waits = self.state.triggers.iter().any(|trigger| trigger.source == id)
            || self.state.stack.iter().any(|item| item.ability.is_some() && item.context.source == id);
        lore >= i32::from(last) && !waits
    }
}
